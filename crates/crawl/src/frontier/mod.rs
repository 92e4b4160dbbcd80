//! The frontier: URLs that wait to be visited, and the tokens that make visiting them polite.
//!
//! Every host has a queue, first in, first out, its head in memory and the rest on disk
//! ([`queue`], [`segments`]). Hosts with URLs wait in priority queues by the first instant at
//! which they may lawfully be asked. A host is a token: *leasing* takes it out of the queue
//! together with its first URLs, *settling* the lease puts it back with a new lawful time, and
//! therefore no two visits are ever at one host.
//!
//! IPs are tokens too. A host whose address is known waits in the queue of its IP, and the IP
//! waits among the others with the key
//!
//! > max(IP's lawful time, its first host's lawful time), then that host's turn
//!
//! unless its token is out. Hence the top of the frontier can always be fetched when its time
//! has come, without looking at what is behind it, and the hosts of a crowded IP (a *whale*)
//! share it in order and hold up nobody else. An IP whose delay is 0 limits nothing; its queue
//! only orders. Hosts not yet resolved wait beside the IPs.
//!
//! URLs that were leased stay *in flight* until their page rows are stored; a checkpoint counts
//! them among the queued, so that after a crash they return to the head of their queue, in order.
//!
//! Mechanism only: the frontier obeys the numbers of each host ([`host::Numbers`]); who computes
//! them, when memory is spilled, when a checkpoint is a snapshot, is decided above. Order is
//! deterministic in the calls and the times passed in. Cost: *O*(log hosts) a lease; in memory
//! one record a host and IP, whatever the number of URLs.
//!
//! Reference: the host queue of Mercator (Heydon & Najork 1999) and `BUbiNG`'s workbench
//! (Boldi, Marino, Santini & Vigna 2014), where visit states queue by IP in the same way.

mod heap;
mod host;
mod lease;
mod queue;
mod record;
mod segments;
mod state;
mod wire;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::types::{Float32Type, UInt16Type};
use arrow_array::{Array, RecordBatch, UInt64Array};

use crate::batch::{self, ColumnError};
use crate::files::Files;
use heap::{Heap, NOWHERE};
use host::{Host, Ip, Numbers, Token, Turn};
use lease::{Flight, Lease};
use queue::Queue;
use record::Record;
use segments::Segments;
use state::Log;
pub use state::State;

/// What can go wrong in a frontier.
#[derive(Debug, thiserror::Error)]
pub enum FrontierError {
    /// A file could not be read or written.
    #[error("frontier: {0}")]
    Io(#[from] std::io::Error),
    /// A file does not hold what a checkpoint says.
    #[error("frontier: {} {what}: go back to a snapshot of the crawl", file.display())]
    Damaged {
        /// Which one.
        file: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A batch of the wrong shape.
    #[error(transparent)]
    Column(#[from] ColumnError),
    /// A call that the frontier's state does not allow; nothing was changed.
    #[error("frontier: {0}")]
    Misuse(String),
}

type Result<T> = std::result::Result<T, FrontierError>;

/// Numbers that hold for all hosts; times in microseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Silence between the end of a lease and the next to the same host.
    pub delay_us: u64,
    /// The same for an IP; 0: IPs do not limit.
    pub ip_delay_us: u64,
    /// The same for loopback addresses.
    pub local_ip_delay_us: u64,
    /// Ratio mode: time on the wire divided by the silence after it.
    pub ratio: Option<f64>,
    /// URLs in a lease when no delay is due between them.
    pub burst: usize,
    /// URLs in a lease in ratio mode, where time ends the lease.
    pub ratio_burst: usize,
    /// The time that ends a lease in ratio mode.
    pub burst_us: u64,
    /// Silence after a first failure to reach a host; it doubles up to 60 times this.
    pub backoff_us: u64,
    /// The agent's number, in the top 16 bits of visits.
    pub agent: u16,
    /// Length at which a segment of the queue log is left for a new one.
    pub segment_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            delay_us: 1_000_000,
            ip_delay_us: 1_000_000,
            local_ip_delay_us: 0,
            ratio: None,
            burst: 32,
            ratio_burst: 1024,
            burst_us: 1_000_000,
            backoff_us: 1_000_000,
            agent: 0,
            segment_bytes: 64 << 20,
        }
    }
}

/// Queues by host, tokens by host and IP.
pub struct Frontier {
    options: Options,
    hosts: Vec<Host>,
    host_ids: HashMap<Arc<str>, u32>,
    ips: Vec<Ip>,
    ip_ids: HashMap<Arc<str>, u32>,
    /// Resolved hosts wait in their IP's queue, IPs here.
    waiting: Heap<(i64, Turn)>,
    unresolved: Heap<Turn>,
    host_places: Vec<u32>,
    ip_places: Vec<u32>,
    /// The latest time that a lease was asked for: a host that joins stands behind those whose
    /// time had come before.
    clock: i64,
    turns: u64,
    visits: u64,
    leases: HashMap<u64, Lease>,
    flight: HashMap<u64, Flight>,
    queued: u64,
    segments: Segments,
    log: Log,
    dirty_hosts: Vec<u32>,
    dirty_ips: Vec<u32>,
    /// Bytes of buffers of queues, of URLs in flight, and of names and records.
    buffered: usize,
    flying: usize,
    fixed: usize,
}

/// Bytes a host or IP costs beside its buffers, its name left out: record, id, places, turn.
const PER_TOKEN: usize = size_of::<Host>() + 2 * size_of::<(Arc<str>, u32)>() + 64;
/// Bytes a URL in flight costs beside its record.
const PER_FLIGHT: usize = size_of::<(u64, Flight)>() * 2;

impl Frontier {
    /// A frontier whose files are in the directory `dir` of `files`: empty without a state, or
    /// as it was at the checkpoint that gave the state. Whatever came after is removed.
    ///
    /// # Errors
    /// When a file cannot be read or written, or is damaged.
    pub fn open(
        files: Files,
        dir: impl Into<PathBuf>,
        options: Options,
        state: Option<&State>,
    ) -> Result<Self> {
        let dir = dir.into();
        let mut frontier = Self {
            segments: Segments::new(files.clone(), dir.clone(), options.segment_bytes),
            log: Log::new(files, dir),
            options,
            hosts: Vec::new(),
            host_ids: HashMap::new(),
            ips: Vec::new(),
            ip_ids: HashMap::new(),
            waiting: Heap::default(),
            unresolved: Heap::default(),
            host_places: Vec::new(),
            ip_places: Vec::new(),
            clock: 0,
            turns: 0,
            visits: 0,
            leases: HashMap::new(),
            flight: HashMap::new(),
            queued: 0,
            dirty_hosts: Vec::new(),
            dirty_ips: Vec::new(),
            buffered: 0,
            flying: 0,
            fixed: 0,
        };
        frontier.restore(state)?;
        Ok(frontier)
    }

    /// Appends URLs (of the [`batch::URLS`] schema) at the tails of their hosts' queues.
    ///
    /// # Errors
    /// When a column is missing or a URL has no authority; nothing was pushed then.
    pub fn push(&mut self, urls: &RecordBatch) -> Result<()> {
        let texts = batch::strings(urls, "url")?;
        let hashes = batch::hashes(urls, "url_hash")?;
        let depths = batch::numbers::<UInt16Type>(urls, "depth")?;
        let scores = batch::numbers::<Float32Type>(urls, "score")?;
        let valid = texts.null_count() == 0;
        if let Some(row) =
            (0..urls.num_rows()).find(|&row| !valid || authority(texts.value(row)).is_none())
        {
            let url = texts.value(row);
            return Err(FrontierError::Misuse(format!("push: {url:?} has no host")));
        }
        let mut record = Vec::new();
        let mut last = None;
        for row in 0..urls.num_rows() {
            let url = texts.value(row);
            let name = authority(url).unwrap_or_default();
            let host = match last {
                Some((last_name, host)) if last_name == name => host,
                _ => self.host_id(name),
            };
            last = Some((name, host));
            record.clear();
            Record::new(name, url, hashes.value(row), depths.value(row), scores.value(row))
                .write(&mut record);
            self.append(host, &record);
        }
        Ok(())
    }

    /// Changes a host's numbers: its own delay (the longer of it and the frontier's counts), and
    /// until when it is left alone (an earlier time than before lifts a hold).
    pub fn set_host(&mut self, host: &str, delay_us: Option<u64>, hold_until: Option<i64>) {
        let host = self.host_id(host);
        self.change(host, |numbers| {
            numbers.delay_us = delay_us.or(numbers.delay_us);
            numbers.hold_until = hold_until.unwrap_or(numbers.hold_until);
        });
    }

    /// Gives an IP a delay of its own; 0: it does not limit.
    pub fn set_ip(&mut self, ip: &str, delay_us: u64) {
        let ip = self.ip_id(ip);
        self.ips[ip as usize].delay_us = delay_us;
        self.ips[ip as usize].own_delay = true;
        self.touch_ip(ip);
        self.place_ip(ip);
    }

    /// A host's clock as the ledger has it: its last request was `delay_us` before `not_before`.
    pub fn restore_host(&mut self, host: &str, not_before: i64, delay_us: u64) {
        let host = self.host_id(host);
        self.change(host, |numbers| {
            numbers.ended = numbers.ended.max(not_before.saturating_sub_unsigned(delay_us));
            numbers.hold_until = numbers.hold_until.max(not_before);
        });
    }

    /// An IP's clock as the ledger has it.
    pub fn restore_ip(&mut self, ip: &str, not_before: i64, delay_us: u64) {
        let ip = self.ip_id(ip);
        let record = &mut self.ips[ip as usize];
        record.ended = record.ended.max(not_before.saturating_sub_unsigned(delay_us));
        record.hold_until = record.hold_until.max(not_before);
        self.touch_ip(ip);
        self.place_ip(ip);
    }

    /// Leases in a row that could not reach the host.
    pub fn failures(&self, host: &str) -> u32 {
        self.host_ids.get(host).map_or(0, |&id| self.hosts[id as usize].numbers.failures)
    }

    /// The earliest lawful time of a waiting host; `None` if none waits for time alone.
    pub fn next_ready(&self) -> Option<i64> {
        let ip = self.waiting.peek().map(|((ready, _), _)| ready);
        let host = self.unresolved.peek().map(|((ready, _), _)| ready);
        ip.into_iter().chain(host).min()
    }

    /// URLs in the queues.
    pub fn queued(&self) -> u64 {
        self.queued
    }

    /// URLs leased or retired whose rows are not stored yet.
    pub fn in_flight(&self) -> usize {
        self.flight.len()
    }

    /// Hosts known.
    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// Leases that are out.
    pub fn active(&self) -> usize {
        self.leases.len()
    }

    /// Bytes of memory held: buffers of queues, URLs in flight, hosts and IPs.
    pub fn memory_bytes(&self) -> usize {
        self.buffered + self.flying + self.fixed + self.waiting.bytes() + self.unresolved.bytes()
    }

    /// Bytes of memory that [`spill`](Self::spill) can move to disk.
    pub fn buffered_bytes(&self) -> usize {
        self.buffered
    }

    /// Bytes of the queue log, and those of them that are still to be read.
    pub fn disk_bytes(&self) -> (u64, u64) {
        (self.segments.bytes(), self.segments.living_bytes())
    }

    /// Bytes of the state log, and those of them that its snapshot takes.
    pub fn log_bytes(&self) -> (u64, u64) {
        (self.log.len(), self.log.snapshot_len())
    }

    /// Moves queues to disk, largest first, until about `target` bytes of them are in memory;
    /// `chunk` bytes are read back at a time.
    ///
    /// # Errors
    /// When the queue log cannot be written.
    pub fn spill(&mut self, target: usize, chunk: usize) -> Result<()> {
        for all in [false, true] {
            if self.buffered <= target {
                break;
            }
            let size = |host: &Host| {
                let (written, dropped) = host.queue.spillable();
                if all { written + dropped } else { written }
            };
            let sizes = self.hosts.iter().map(size).zip(0..);
            let mut largest: Vec<(usize, u32)> = sizes.filter(|(size, _)| *size > 0).collect();
            largest.sort_unstable_by(|a, b| b.cmp(a));
            for (_, host) in largest {
                if self.buffered <= target {
                    break;
                }
                self.with_queue(host, |queue, segments| queue.spill(segments, chunk, all))?;
                self.touch(host);
            }
        }
        Ok(())
    }

    /// Writes what lives in mostly dead segments of the queue log anew, so that they can go.
    ///
    /// # Errors
    /// When the queue log cannot be read or written.
    pub fn compact(&mut self) -> Result<()> {
        let sparse = self.segments.sparse();
        if sparse.is_empty() {
            return Ok(());
        }
        for host in 0..self.hosts.len() as u32 {
            if self.with_queue(host, |queue, segments| queue.rewrite(&sparse, segments))? {
                self.touch(host);
            }
        }
        Ok(())
    }

    /// The host of that name, put in the table if it is new.
    fn host_id(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.host_ids.get(name) {
            return id;
        }
        let id = self.hosts.len() as u32;
        let name: Arc<str> = name.into();
        self.fixed += PER_TOKEN + name.len();
        self.host_ids.insert(name.clone(), id);
        self.hosts.push(Host {
            name,
            numbers: Numbers::default(),
            queue: Queue::default(),
            token: Token::Idle,
            dirty: false,
        });
        self.host_places.push(NOWHERE);
        self.touch(id);
        id
    }

    fn ip_id(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.ip_ids.get(name) {
            return id;
        }
        let id = self.ips.len() as u32;
        let name: Arc<str> = name.into();
        self.fixed += PER_TOKEN + name.len();
        self.ip_ids.insert(name.clone(), id);
        self.ips.push(Ip::new(name, &self.options));
        self.ip_places.push(NOWHERE);
        self.dirty_ips.push(id);
        id
    }

    /// The host is to be written at the next checkpoint.
    fn touch(&mut self, host: u32) {
        if !std::mem::replace(&mut self.hosts[host as usize].dirty, true) {
            self.dirty_hosts.push(host);
        }
    }

    fn touch_ip(&mut self, ip: u32) {
        if !std::mem::replace(&mut self.ips[ip as usize].dirty, true) {
            self.dirty_ips.push(ip);
        }
    }

    /// Works on a queue and keeps the account of its memory.
    fn with_queue<T>(&mut self, host: u32, work: impl FnOnce(&mut Queue, &mut Segments) -> T) -> T {
        let queue = &mut self.hosts[host as usize].queue;
        let before = queue.bytes();
        let result = work(queue, &mut self.segments);
        self.buffered = self.buffered + queue.bytes() - before;
        result
    }

    /// Appends an encoded record to a host's queue; an idle host begins to wait.
    fn append(&mut self, host: u32, record: &[u8]) {
        self.with_queue(host, |queue, _| queue.push(record));
        self.queued += 1;
        self.touch(host);
        self.awake(host);
    }

    /// A host that has URLs and whose token lies idle begins to wait.
    fn awake(&mut self, host: u32) {
        let id = host as usize;
        if self.hosts[id].token != Token::Idle || self.hosts[id].queue.is_empty() {
            return;
        }
        self.hosts[id].token = Token::Waiting;
        self.turns += 1;
        let ready = self.hosts[id].numbers.lawful(&self.options).max(self.clock);
        let turn = (ready, self.turns);
        if let Some(ip) = self.hosts[id].numbers.ip {
            self.ips[ip as usize].hosts.push(&mut self.host_places, turn, host);
            self.place_ip(ip);
        } else {
            self.unresolved.push(&mut self.host_places, turn, host);
        }
    }

    /// A waiting host stops to wait.
    fn withdraw(&mut self, host: u32, token: Token) {
        let id = host as usize;
        debug_assert_eq!(self.hosts[id].token, Token::Waiting);
        self.hosts[id].token = token;
        if let Some(ip) = self.hosts[id].numbers.ip {
            self.ips[ip as usize].hosts.remove(&mut self.host_places, host);
            self.place_ip(ip);
        } else {
            self.unresolved.remove(&mut self.host_places, host);
        }
    }

    /// Puts an IP where its key says.
    fn place_ip(&mut self, ip: u32) {
        if self.ip_places[ip as usize] != NOWHERE {
            self.waiting.remove(&mut self.ip_places, ip);
        }
        if let Some(key) = self.ips[ip as usize].key() {
            self.waiting.push(&mut self.ip_places, key, ip);
        }
    }

    /// Changes a host's numbers; if its lawful time changes, it takes a new turn.
    fn change(&mut self, host: u32, change: impl FnOnce(&mut Numbers)) {
        let record = &mut self.hosts[host as usize];
        let before = record.numbers.lawful(&self.options);
        change(&mut record.numbers);
        let moved = record.numbers.lawful(&self.options) != before;
        self.touch(host);
        if moved && self.hosts[host as usize].token == Token::Waiting {
            self.withdraw(host, Token::Idle);
            self.awake(host);
        }
    }

    /// Their rows are in the store: no longer in flight.
    ///
    /// # Errors
    /// When a visit is not in flight; nothing was changed then.
    pub fn stored(&mut self, visits: &UInt64Array) -> Result<()> {
        self.check_flight(visits)?;
        for &visit in visits.values() {
            self.land(visit);
        }
        Ok(())
    }

    /// Instead of [`stored`](Self::stored): the URLs go to the tail of their queues once more,
    /// and their hosts are left alone until `not_before`.
    ///
    /// # Errors
    /// When a visit is not in flight; nothing was changed then.
    pub fn retry(&mut self, visits: &UInt64Array, not_before: i64) -> Result<()> {
        self.check_flight(visits)?;
        for &visit in visits.values() {
            let Some(flight) = self.land(visit) else { continue };
            let mut record = flight.record;
            record::count_attempt(&mut record);
            self.change(flight.host, |numbers| {
                numbers.hold_until = numbers.hold_until.max(not_before);
            });
            self.append(flight.host, &record);
        }
        Ok(())
    }
}

/// The authority of a normalised URL.
fn authority(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    Some(&rest[..end]).filter(|authority| !authority.is_empty())
}

#[cfg(test)]
mod tests;
