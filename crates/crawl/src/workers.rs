//! Page workers: from fetched bytes to Arrow batches.
//!
//! A few threads take what the visits fetched, do all per-byte work (archive record, content
//! coding, parsing, joining, hashing, scope) and leave rows in a bounded outbox. The agent's
//! loop takes them a batch at a time, with the leases that ended and the robots.txt that were
//! read meanwhile. When the outbox is full the workers wait, then the visits wait: memory is
//! bounded by back-pressure, never by dropping.
//!
//! *Links.* Of some hundred links on a page one or two are new. Raw hrefs are deduplicated
//! within their page by the parser, joined and normalised here, tested against the scope, and
//! passed through a cache of recently offered URLs; what is left is offered to the sieve.
//!
//! *Invariant.* A URL enters the recent cache with the page whose batch offers it. If a crash
//! loses that batch, the page is still in flight at the last checkpoint: it is fetched and its
//! links are offered again (the cache lives in memory only, so it is empty then).

use std::collections::HashSet;
use std::net::IpAddr;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use async_channel::Receiver;

use crate::coding;
use crate::fetch::{End, Fetched, Outcome, Response, RobotsFetched, Visits};
use crate::page::{self, LinkKind, PageInput, RobotsFlags, Wanted};
use crate::scope::{Bounds, Scope};
use crate::url::{self, Joiner, Url, UrlRef};
use crate::warc::{Compression, Exchange, LevelError, RecordWriter};

mod feed;
mod outbox;
mod rows;
#[cfg(test)]
mod tests;

pub use feed::{Feed, FeedError};
use outbox::{Outbox, Rows, outbox};

/// A batch ends at this many pages …
const BATCH_PAGES: usize = 1024;
/// … or at this many bytes of text and archive records.
const BATCH_BYTES: usize = 16 << 20;
/// What the links of a page may take, joined: a long base would make gigabytes of a few
/// megabytes of hrefs. Those after them are left out, like those after the
/// [`MAX_LINKS`](page::links::MAX_LINKS)th.
const LINK_BYTES: usize = 8 << 20;
/// After the first row a batch waits this long for company: fewer, larger batches.
const LINGER: Duration = Duration::from_millis(40);

/// What the page workers do with a page.
#[derive(Clone)]
pub struct WorkersConfig {
    /// Number of threads.
    pub threads: usize,
    /// Product token, for `<meta name="TOKEN">` directives.
    pub token: String,
    /// Kinds of link that are offered to the sieve.
    pub follow: HashSet<LinkKind>,
    /// Where links may lead.
    pub scope: Scope,
    /// Links from pages of this depth are not offered.
    pub max_depth: u16,
    /// Keep a row for every link.
    pub keep_links: bool,
    /// Keep rows of pages with digests: where only links count, no text is read.
    pub keep_pages: bool,
    /// Keep the visible text in them.
    pub keep_text: bool,
    /// Make archive records, compressed like this.
    pub archive: Option<Compression>,
    /// Key of this crawl, from which record identifiers are made.
    pub crawl_key: u64,
    /// A decoded body ends here.
    pub max_decoded: usize,
    /// Bytes of the cache of recently offered URLs.
    pub recent_bytes: usize,
}

/// Why page workers cannot start.
#[derive(Debug, thiserror::Error)]
pub enum WorkersError {
    /// The system refuses a thread.
    #[error("a page worker cannot start: {0}")]
    Thread(#[from] std::io::Error),
    /// The compression level is out of range.
    #[error(transparent)]
    Level(#[from] LevelError),
}

/// Everything that happened since the last call of [`PageWorkers::take`].
pub struct Taken {
    /// Pages, one row a visit.
    pub pages: RecordBatch,
    /// Their links.
    pub links: RecordBatch,
    /// URLs offered to the sieve by these pages ([`crate::batch::URLS`]).
    pub offers: RecordBatch,
    /// robots.txt read.
    pub robots: RecordBatch,
    /// Leases ended ([`crate::batch::ENDS`]).
    pub ends: RecordBatch,
}

impl Taken {
    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        [&self.pages, &self.robots, &self.ends].iter().all(|batch| batch.num_rows() == 0)
    }
}

/// Where page workers take from: what visits fetched, or a [`Feed`] of what others did.
pub struct Source {
    fetched: Receiver<Fetched>,
    ends: Receiver<End>,
    robots: Receiver<RobotsFetched>,
}

impl From<&Visits> for Source {
    fn from(visits: &Visits) -> Self {
        Self { fetched: visits.fetched(), ends: visits.ends(), robots: visits.robots() }
    }
}

/// URLs one behind another in one text, with their hashes: a page has dozens.
#[derive(Default)]
struct Urls {
    text: String,
    ends: Vec<usize>,
    hashes: Vec<u64>,
}

impl Urls {
    fn push(&mut self, url: &str, hash: u64) {
        self.text.push_str(url);
        self.ends.push(self.text.len());
        self.hashes.push(hash);
    }

    fn weight(&self) -> usize {
        self.text.len() + size_of::<(usize, u64)>() * self.ends.len()
    }

    fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        let texts = begins.zip(&self.ends).map(|(begin, &end)| &self.text[begin..end]);
        texts.zip(self.hashes.iter().copied())
    }
}

/// What a link says of itself beside its URL.
struct Label {
    anchor: String,
    rel: String,
    kind: &'static str,
}

impl Label {
    fn weight(&self) -> usize {
        size_of::<Self>() + self.anchor.len() + self.rel.len()
    }
}

#[derive(Default)]
pub(crate) struct PageRow {
    visit: u64,
    url: String,
    url_hash: u64,
    host: Arc<str>,
    domain: String,
    attempt: u8,
    depth: u16,
    score: f32,
    fetched_at: i64,
    fetch_ms: f32,
    status: Option<u16>,
    error: Option<String>,
    redirect_to: Option<String>,
    mime: Option<String>,
    charset: Option<&'static str>,
    address: Option<IpAddr>,
    http: Option<&'static str>,
    bytes: u64,
    truncated: Option<&'static str>,
    etag: Option<String>,
    last_modified: Option<String>,
    payload_digest: Option<[u8; 16]>,
    text_digest: Option<[u8; 16]>,
    simhash: Option<u64>,
    title: Option<String>,
    description: Option<String>,
    lang: Option<String>,
    canonical: Option<String>,
    robots_flags: Option<u16>,
    text: Option<String>,
    text_len: u32,
    warc_record: Option<Vec<u8>>,
    warc_digest: Option<String>,
    links: Urls,
    /// One for each of the links.
    labels: Vec<Label>,
    offers: Urls,
    /// Of the URLs offered.
    offer_depth: u16,
}

impl PageRow {
    fn weight(&self) -> usize {
        self.text.as_ref().map_or(0, String::len)
            + self.warc_record.as_ref().map_or(0, Vec::len)
            + self.links.weight()
            + self.labels.iter().map(Label::weight).sum::<usize>()
            + self.offers.weight()
    }
}

/// A direct-mapped cache of the URLs offered last: a hit was certainly offered before, a miss
/// says nothing. One relaxed word a slot, shared by all workers.
struct RecentCache {
    slots: Box<[AtomicU64]>,
}

impl RecentCache {
    fn new(bytes: usize) -> Self {
        let slots =
            (bytes / 8).max(1).next_power_of_two() >> usize::from(!(bytes / 8).is_power_of_two());
        Self { slots: (0..slots.max(1)).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Enters a hash; says whether it was there.
    fn seen(&self, hash: u64) -> bool {
        let slot = &self.slots[hash as usize & (self.slots.len() - 1)];
        slot.swap(hash, Ordering::Relaxed) == hash
    }
}

/// Threads that turn fetched bytes into rows.
pub struct PageWorkers {
    outbox: Rows,
    ends: Receiver<End>,
    robots: Receiver<RobotsFetched>,
    waiter: tokio::runtime::Runtime,
    threads: Vec<JoinHandle<()>>,
}

impl PageWorkers {
    /// Starts the threads on what comes from `source`.
    ///
    /// # Errors
    /// When the system refuses a thread, or the compression level is out of range.
    pub fn new(source: Source, config: &WorkersConfig) -> Result<Self, WorkersError> {
        let (sender, outbox) = outbox(BATCH_PAGES / 2);
        let recent = Arc::new(RecentCache::new(config.recent_bytes));
        let threads = (0..config.threads.max(1))
            .map(|number| {
                let worker = Worker::new(config.clone(), Arc::clone(&recent))?;
                let (fetched, sender) = (source.fetched.clone(), sender.clone());
                let thread = std::thread::Builder::new().name(format!("page-{number}"));
                Ok(thread.spawn(move || worker.run(&fetched, &sender))?)
            })
            .collect::<Result<_, WorkersError>>()?;
        let waiter = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        Ok(Self { outbox, ends: source.ends, robots: source.robots, waiter, threads })
    }

    /// Waits up to `wait` for something to happen, and a moment longer for company unless
    /// `enough_ends` leases have ended or there are `enough_pages`; takes all there is, within
    /// a batch.
    pub fn take(&self, wait: Duration, enough_ends: usize, enough_pages: usize) -> Taken {
        let (mut rows, mut ends, mut robots) = (Vec::new(), Vec::new(), Vec::new());
        let mut weight = 0;
        let mut deadline = Instant::now() + wait;
        let mut lingering = false;
        loop {
            while let Ok(end) = self.ends.try_recv() {
                ends.push(end);
            }
            while let Ok(read) = self.robots.try_recv() {
                robots.push(read);
            }
            while rows.len() < BATCH_PAGES
                && weight < BATCH_BYTES
                && let Some(row) = self.outbox.try_take()
            {
                weight += row.weight();
                rows.push(row);
            }
            let full = rows.len() >= BATCH_PAGES.min(enough_pages)
                || weight >= BATCH_BYTES
                || ends.len() >= enough_ends.max(1);
            let now = Instant::now();
            let nothing = rows.is_empty() && ends.is_empty() && robots.is_empty();
            if !lingering && !nothing {
                deadline = deadline.min(now + LINGER);
                lingering = true;
            }
            if full || now >= deadline || !self.wait(deadline, &mut rows, &mut ends, &mut robots) {
                break;
            }
        }
        Taken {
            pages: rows::pages(&rows),
            links: rows::links(&rows),
            offers: rows::offers(&rows),
            robots: rows::robots(&robots),
            ends: rows::ends(&ends),
        }
    }

    /// Sleeps until one more thing arrives or the deadline has passed; false when it has.
    fn wait(
        &self,
        deadline: Instant,
        rows: &mut Vec<PageRow>,
        ends: &mut Vec<End>,
        robots: &mut Vec<RobotsFetched>,
    ) -> bool {
        self.waiter.block_on(async {
            tokio::select! {
                Some(row) = self.outbox.take() => rows.push(row),
                Ok(end) = self.ends.recv() => ends.push(end),
                Ok(read) = self.robots.recv() => robots.push(read),
                () = tokio::time::sleep_until(deadline.into()) => return false,
            }
            true
        })
    }

    /// Waits for the threads to end; the visits must have been stopped.
    pub fn join(&mut self) {
        self.outbox.close();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                eprintln!("crivello: a page worker panicked");
            }
        }
    }
}

struct Worker {
    config: WorkersConfig,
    recent: Arc<RecentCache>,
    records: Option<RecordWriter>,
}

impl Worker {
    fn new(config: WorkersConfig, recent: Arc<RecentCache>) -> Result<Self, LevelError> {
        let records =
            config.archive.map(|codec| RecordWriter::new(config.crawl_key, codec)).transpose()?;
        Ok(Self { config, recent, records })
    }

    fn run(mut self, fetched: &Receiver<Fetched>, outbox: &Outbox) {
        while let Ok(item) = fetched.recv_blocking() {
            // The loop waits for a row of every visit, so a panic must leave one, too.
            let row = panic::catch_unwind(AssertUnwindSafe(|| self.row(&item)))
                .unwrap_or_else(|_| PageRow { error: Some("panic".to_owned()), ..Self::of(&item) });
            drop(item); // and with it its share of the body budget
            if !outbox.put(row) {
                return;
            }
        }
    }

    /// The row of a visit of which nothing is known but that it took place.
    fn of(fetched: &Fetched) -> PageRow {
        PageRow {
            visit: fetched.visit,
            url: fetched.url.as_str().to_owned(),
            url_hash: fetched.url.hash(),
            domain: url::domain(fetched.url.host()).to_owned(),
            host: Arc::clone(&fetched.host),
            attempt: fetched.attempt,
            depth: fetched.depth,
            score: fetched.score,
            fetched_at: fetched.started_at,
            fetch_ms: fetched.elapsed_us as f32 / 1000.0,
            address: fetched.ip,
            ..PageRow::default()
        }
    }

    fn row(&mut self, fetched: &Fetched) -> PageRow {
        let mut row = Self::of(fetched);
        match &fetched.outcome {
            Outcome::Response(response) => self.response(&fetched.url, response, &mut row),
            Outcome::Failed(error) => row.error = Some(error.class().to_owned()),
            Outcome::Denied => row.error = Some("robots".to_owned()),
        }
        row
    }

    fn response(&mut self, url: &Url, response: &Response, row: &mut PageRow) {
        let scope = self.config.scope.snapshot();
        row.status = Some(response.status);
        row.http = Some(if response.version == 10 { "1.0" } else { "1.1" });
        row.bytes = response.body.len() as u64;
        row.truncated = response.truncated;
        row.etag = response.text("etag");
        row.last_modified = response.text("last-modified");
        if response.status >= 400 {
            row.error = Some(format!("http-{}", response.status));
        }
        self.archive(url, response, row);
        if (300..400).contains(&response.status) {
            if let Some(location) = response.text("location") {
                self.redirect(url, &location, &scope, row);
            }
            return;
        }
        let coding = response.all("content-encoding").map(latin1).collect::<Vec<_>>().join(",");
        let decoded = coding::decode(&coding, &response.body, self.config.max_decoded);
        if decoded.truncated {
            row.truncated = row.truncated.or(Some("length"));
        }
        if let Some(error) = &decoded.error {
            row.error.get_or_insert_with(|| error.class().to_owned());
        }
        let content_type = response.text("content-type");
        let input = PageInput { content_type: content_type.as_deref(), body: &decoded.body };
        let wanted = Wanted { text: self.config.keep_pages, anchors: self.config.keep_links };
        let page = page::read(&input, &self.config.token, wanted);
        let mut flags = page.robots_flags;
        for directives in response.all("x-robots-tag") {
            flags |= RobotsFlags::from_header(&latin1(directives), &self.config.token);
        }
        let base = page
            .base
            .as_deref()
            .and_then(|href| url.join(href).ok())
            .unwrap_or_else(|| url.clone());
        if (200..300).contains(&response.status) {
            self.links(&base, page.links, flags, &scope, row);
        }
        row.canonical = page
            .canonical
            .and_then(|href| base.join(&href).ok())
            .map(|url| url.as_str().to_owned());
        row.mime = Some(page.mime);
        row.charset = Some(page.charset);
        row.title = Some(page.title);
        row.description = Some(page.description);
        row.lang = page.lang;
        row.robots_flags = (flags != RobotsFlags::default()).then_some(flags.0);
        row.text_len = page.text.len() as u32;
        row.text_digest = wanted.text.then_some(page.text_digest);
        row.simhash = wanted.text.then_some(page.simhash);
        row.text = (wanted.text && self.config.keep_text).then_some(page.text);
    }

    /// Makes the archive record, and with it the payload's identity.
    fn archive(&mut self, url: &Url, response: &Response, row: &mut PageRow) {
        let Some(records) = &mut self.records else {
            row.payload_digest = self.config.keep_pages.then(|| digest128(&response.body));
            return;
        };
        let exchange = Exchange {
            visit: row.visit,
            url: url.as_str(),
            date_us: row.fetched_at,
            ip: row.address,
            head: &response.head,
            body: &response.body,
            truncated: response.truncated,
        };
        match records.response(&exchange) {
            Ok(record) => {
                row.payload_digest = Some(record.payload_blake3);
                row.warc_record = Some(record.bytes);
                row.warc_digest = Some(record.payload_sha1);
            }
            Err(error) => row.error = Some(format!("archive: {error}")),
        }
    }

    /// A hop is a URL of its own: it passes scope, sieve and robots like any link.
    fn redirect(&self, url: &Url, location: &str, scope: &Bounds, row: &mut PageRow) {
        let Ok(target) = url.join(location) else {
            row.error = Some("bad-redirect".to_owned());
            return;
        };
        row.redirect_to = Some(target.as_str().to_owned());
        let hash = target.hash();
        // A seed that moved takes the crawl's scope with it; the loop widens it, so such a hop
        // is offered whatever the scope says now.
        let in_scope = row.depth == 0 || scope.contains(target.view());
        if in_scope && self.config.follow.contains(&LinkKind::Redirect) && !self.recent.seen(hash) {
            row.offer_depth = row.depth;
            row.offers.push(target.as_str(), hash);
        }
    }

    fn links(
        &self,
        base: &Url,
        links: Vec<page::Link>,
        flags: RobotsFlags,
        scope: &Bounds,
        row: &mut PageRow,
    ) {
        let joiner = Joiner::new(base);
        let mut text = String::new();
        let mut room = LINK_BYTES;
        let deep = row.depth >= self.config.max_depth;
        row.offer_depth = row.depth.saturating_add(1);
        for link in links {
            text.clear();
            let Ok(parts) = joiner.join_into(&link.href, &mut text) else { continue };
            let Some(left) = room.checked_sub(text.len()) else { break };
            room = left;
            let hash = url::hash(&text);
            let follow = !deep
                && !flags.contains(RobotsFlags::NOFOLLOW)
                && self.config.follow.contains(&link.kind)
                && !link.rel.split(' ').any(|word| word == "nofollow")
                && scope.contains(UrlRef::new(&text, parts))
                && !self.recent.seen(hash);
            if follow {
                row.offers.push(&text, hash);
            }
            if self.config.keep_links {
                let page::Link { anchor, rel, kind, .. } = link;
                row.links.push(&text, hash);
                row.labels.push(Label { anchor, rel, kind: kind.as_str() });
            }
        }
    }
}

/// Header values as text: ISO-8859-1 has a character for every byte, and the web sends any.
fn latin1(value: &[u8]) -> String {
    std::str::from_utf8(value)
        .map_or_else(|_| value.iter().map(|&byte| char::from(byte)).collect(), str::to_owned)
}

fn digest128(bytes: &[u8]) -> [u8; 16] {
    let mut digest = [0; 16];
    digest.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
    digest
}
