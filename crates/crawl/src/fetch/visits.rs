//! All visits: their runtime, what they share, and the channels out.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use arrow_array::types::{Float32Type, UInt8Type, UInt16Type};
use arrow_array::{Array, RecordBatch};
use async_channel::{Receiver, Sender};
use bytes::Bytes;
use tokio::runtime::{Builder, Runtime};

use super::config::{ConfigError, VisitsConfig};
use super::connect::{Connector, Stream};
use super::guard::is_private;
use super::http::{Limits, Wire};
use super::limits::BodyBudget;
use super::outcome::{End, FetchError, Fetched, RobotsFetched};
use super::pool::Pool;
use super::resolve::{Place, Resolver};
use super::robots::{Policy, RobotsCache};
use super::visit::{Lease, Row, Visit};
use crate::batch::{self, ColumnError};
use crate::ledger::Ledger;
use crate::robots::{Robots, Rules};
use crate::url::{Url, UrlError};

/// Pages that may wait for a worker; beyond, visits wait.
const WAITING_PAGES: usize = 128;
/// The system's resolver blocks a thread a lookup.
const RESOLVER_THREADS: usize = 32;

/// Leases that cannot be started; none of the batch was.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The batch is not one of leases.
    #[error(transparent)]
    Column(#[from] ColumnError),
    /// A URL that no frontier should hold.
    #[error("lease of {url:?}: {source}")]
    Url {
        /// The text in its place.
        url: String,
        /// What is wrong with it.
        source: UrlError,
    },
    /// An address that is none.
    #[error("lease of {host}: {ip:?} is not an IP address")]
    Ip {
        /// Whose.
        host: String,
        /// The text in its place.
        ip: String,
    },
    /// More leases than there is room for.
    #[error("{asked} leases started where there is room for {room}")]
    Full {
        /// In the batch.
        asked: usize,
        /// See [`Visits::room`].
        room: usize,
    },
    /// Nothing may be sent without a ledger.
    #[error("ledger cannot be written, so that nothing may be fetched: {0}")]
    Ledger(String),
    /// Too late.
    #[error("the visits have been stopped")]
    Stopped,
}

/// Counters since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VisitStats {
    /// Requests sent, those for robots.txt and second tries included.
    pub requests: u64,
    /// Bytes of answers as received (after TLS).
    pub bytes: u64,
    /// Connections opened.
    pub connections: u64,
    /// Requests over a connection that had carried one before.
    pub reused: u64,
    /// TLS handshakes.
    pub handshakes: u64,
    /// Questions to DNS.
    pub lookups: u64,
    /// Requests sent again because a kept connection was dead.
    pub retries: u64,
    /// Leases started and not ended.
    pub in_flight: u64,
}

#[derive(Default)]
pub(super) struct Counters {
    pub(super) requests: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) connections: AtomicU64,
    pub(super) reused: AtomicU64,
    pub(super) handshakes: AtomicU64,
    pub(super) lookups: AtomicU64,
    pub(super) retries: AtomicU64,
    pub(super) in_flight: AtomicU64,
}

/// What visits have in common.
pub(super) struct Shared {
    pub(super) config: VisitsConfig,
    pub(super) limits: Limits,
    pub(super) robots_ttl_us: i64,
    pub(super) ledger: Arc<Ledger>,
    pub(super) resolver: Resolver,
    pub(super) connector: Arc<Connector>,
    pub(super) pool: Pool<Wire<Stream>>,
    pub(super) robots: RobotsCache,
    pub(super) budget: BodyBudget,
    pub(super) counters: Counters,
    pub(super) fetched: Sender<Fetched>,
    pub(super) ends: Sender<End>,
    pub(super) robots_out: Sender<RobotsFetched>,
    /// Why the ledger could not be written.
    pub(super) fault: OnceLock<String>,
    /// What an empty file says: everything is allowed.
    no_robots: Arc<Rules>,
    local: HashSet<String>,
    head_tail: String,
}

impl Shared {
    /// The head of a request.
    pub(super) fn request(&self, url: &Url) -> Bytes {
        let (path, authority) = (url.path_and_query(), url.authority());
        let length = path.len() + authority.len() + self.head_tail.len() + 24;
        let mut head = String::with_capacity(length);
        head.push_str("GET ");
        head.push_str(path);
        head.push_str(" HTTP/1.1\r\nHost: ");
        head.push_str(authority);
        head.push_str(&self.head_tail);
        head.into()
    }

    /// What the URL's robots.txt says; `None` when it has to be asked for.
    pub(super) fn policy(&self, url: &Url) -> Option<Policy> {
        if self.config.obey_robots {
            self.robots.get(url.origin(), crate::clock::now_us())
        } else {
            Some(Policy::File(Arc::clone(&self.no_robots)))
        }
    }

    /// Where a URL's host is, by DNS if need be.
    pub(super) async fn place(&self, url: &Url) -> Result<Place, FetchError> {
        let count = || {
            self.counters.lookups.fetch_add(1, Relaxed);
        };
        self.resolver.place(url.host(), url.port(), count).await
    }

    /// The socket of a URL at an address already chosen.
    pub(super) fn address(&self, url: &Url, ip: IpAddr) -> SocketAddr {
        let known = self.resolver.known(url.host(), url.port());
        SocketAddr::new(ip, known.map_or(url.port(), |place| place.port))
    }

    /// The first address that the guard admits, or else the first.
    pub(super) fn pick(&self, place: &Place, authority: &str, host: &str) -> IpAddr {
        let admitted =
            place.ips.iter().find(|ip| self.admit(**ip, place.ruled, authority, host).is_ok());
        *admitted.unwrap_or(&place.ips[0])
    }

    /// The guard's word on an address that is about to be asked.
    pub(super) fn admit(
        &self,
        ip: IpAddr,
        ruled: bool,
        authority: &str,
        host: &str,
    ) -> Result<(), FetchError> {
        if is_private(ip) {
            let mine = || self.local.contains(authority) || self.local.contains(host);
            let admitted = self.config.allow_private || ruled || mine();
            if admitted { Ok(()) } else { Err(FetchError::Private(ip)) }
        } else if self.config.identified {
            Ok(())
        } else {
            Err(FetchError::Identity)
        }
    }
}

/// The fetching half of an agent. Leases go in by [`start`](Self::start); pages, ends and
/// robots.txt files come out by channels.
pub struct Visits {
    shared: Arc<Shared>,
    runtime: Mutex<Option<Runtime>>,
    fetched: Receiver<Fetched>,
    ends: Receiver<End>,
    robots: Receiver<RobotsFetched>,
}

impl Visits {
    /// Starts the network thread.
    ///
    /// # Errors
    /// When a setting cannot be, or the thread cannot be made.
    pub fn new(config: VisitsConfig, ledger: Arc<Ledger>) -> Result<Self, ConfigError> {
        config.check()?;
        let (fetched_in, fetched) = async_channel::bounded(WAITING_PAGES);
        let (ends_in, ends) = async_channel::unbounded();
        let (robots_in, robots) = async_channel::bounded(WAITING_PAGES);
        let day = Duration::from_hours(24);
        let shared = Arc::new(Shared {
            limits: Limits {
                max_head: config.max_head,
                max_body: config.max_body,
                silence: config.first_byte_timeout,
                total: config.total_timeout,
            },
            robots_ttl_us: config.robots_ttl.min(day).as_micros() as i64,
            ledger,
            resolver: Resolver::new(config.resolve.clone(), config.connect_timeout),
            connector: Arc::new(Connector::new(config.connect_timeout)),
            pool: Pool::new(config.visits, config.idle_timeout),
            robots: RobotsCache::new(config.robots_budget),
            budget: BodyBudget::new(config.body_budget, config.visits, config.max_body),
            counters: Counters::default(),
            fetched: fetched_in,
            ends: ends_in,
            robots_out: robots_in,
            fault: OnceLock::new(),
            no_robots: Arc::new(Robots::parse(b"").rules(&config.token)),
            local: config.local_hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
            head_tail: format!(
                "\r\nUser-Agent: {}\r\nAccept: text/html,application/xhtml+xml,*/*;q=0.8\r\n\
                 Accept-Encoding: gzip, deflate, br, zstd\r\n\r\n",
                config.agent.trim(),
            ),
            config,
        });
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(RESOLVER_THREADS)
            .thread_name("crivello-visits")
            .enable_all()
            .build()?;
        runtime.spawn(sweep(Arc::clone(&shared)));
        Ok(Self { shared, runtime: Mutex::new(Some(runtime)), fetched, ends, robots })
    }

    /// Leases that may still start.
    pub fn room(&self) -> usize {
        let in_flight = self.shared.counters.in_flight.load(Relaxed) as usize;
        self.shared.config.visits.saturating_sub(in_flight)
    }

    /// Starts the leases of a batch of [`LEASES`](batch::LEASES): all of them or none.
    ///
    /// # Errors
    /// When the batch is not one of leases, there is no room, or the ledger is out of order.
    pub fn start(&self, leases: &RecordBatch) -> Result<(), StartError> {
        if let Some(fault) = self.shared.fault.get() {
            return Err(StartError::Ledger(fault.clone()));
        }
        let leases = read_leases(leases)?;
        let (asked, room) = (leases.len(), self.room());
        if asked > room {
            return Err(StartError::Full { asked, room });
        }
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        let runtime = runtime.as_ref().ok_or(StartError::Stopped)?;
        for lease in leases {
            runtime.spawn(Visit::new(Arc::clone(&self.shared), lease).run());
        }
        Ok(())
    }

    /// Restores what an origin's robots.txt said in an earlier run.
    pub fn seed_robots(&self, origin: &str, status: Option<u16>, body: &[u8], expires_us: i64) {
        let policy = match status {
            None | Some(429 | 500..) => Policy::Unreachable,
            _ => {
                let rules = Robots::for_status(status, body).rules(&self.shared.config.token);
                Policy::File(Arc::new(rules))
            }
        };
        self.shared.robots.put(origin, policy, body.len(), expires_us);
    }

    /// URLs dealt with. The channel is bounded: visits wait for its readers.
    pub fn fetched(&self) -> Receiver<Fetched> {
        self.fetched.clone()
    }

    /// Leases that have ended.
    pub fn ends(&self) -> Receiver<End> {
        self.ends.clone()
    }

    /// The robots.txt files asked for.
    pub fn robots(&self) -> Receiver<RobotsFetched> {
        self.robots.clone()
    }

    /// Sends no more requests: visits under way are abandoned (their leases end with what
    /// was consumed so far) and the channels close once they are empty.
    pub fn stop(&self) {
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(runtime) = runtime {
            // A lookup that blocks its thread is not waited for.
            runtime.shutdown_timeout(Duration::from_millis(500));
        }
        self.shared.fetched.close();
        self.shared.robots_out.close();
        self.shared.ends.close();
    }

    /// Counters since the start.
    pub fn stats(&self) -> VisitStats {
        let counters = &self.shared.counters;
        VisitStats {
            requests: counters.requests.load(Relaxed),
            bytes: counters.bytes.load(Relaxed),
            connections: counters.connections.load(Relaxed),
            reused: counters.reused.load(Relaxed),
            handshakes: counters.handshakes.load(Relaxed),
            lookups: counters.lookups.load(Relaxed),
            retries: counters.retries.load(Relaxed),
            in_flight: counters.in_flight.load(Relaxed),
        }
    }
}

impl Drop for Visits {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Closes connections that nobody came back for.
async fn sweep(shared: Arc<Shared>) {
    let pace = (shared.config.idle_timeout / 2).max(Duration::from_secs(1));
    loop {
        tokio::time::sleep(pace).await;
        shared.pool.sweep();
    }
}

/// Reads a batch of leases; rows of one lease are contiguous.
fn read_leases(batch: &RecordBatch) -> Result<Vec<Lease>, StartError> {
    let (leases, visits) = (batch::hashes(batch, "lease")?, batch::hashes(batch, "visit")?);
    let (hosts, ips) = (batch::strings(batch, "host")?, batch::strings(batch, "ip")?);
    let urls = batch::strings(batch, "url")?;
    let depths = batch::numbers::<UInt16Type>(batch, "depth")?;
    let scores = batch::numbers::<Float32Type>(batch, "score")?;
    let attempts = batch::numbers::<UInt8Type>(batch, "attempt")?;
    let bursts = batch::hashes(batch, "burst_us")?;
    let delays = batch::hashes(batch, "delay_us")?;
    let ip_delays = batch::hashes(batch, "ip_delay_us")?;
    let mut read: Vec<Lease> = Vec::new();
    for at in 0..batch.num_rows() {
        let id = leases.value(at);
        if read.last().is_none_or(|lease| lease.id != id) {
            let ip = ips.is_valid(at).then(|| ips.value(at));
            let ip = ip.map(|text| {
                text.parse().map_err(|_| StartError::Ip {
                    host: hosts.value(at).to_owned(),
                    ip: text.to_owned(),
                })
            });
            read.push(Lease {
                id,
                host: hosts.value(at).into(),
                ip: ip.transpose()?,
                rows: Vec::new(),
                burst_us: bursts.value(at),
                delay_us: delays.value(at),
                ip_delay_us: ip_delays.value(at),
            });
        }
        let url = Url::parse(urls.value(at))
            .map_err(|source| StartError::Url { url: urls.value(at).to_owned(), source })?;
        let row = Row {
            visit: visits.value(at),
            url,
            depth: depths.value(at),
            score: scores.value(at),
            attempt: attempts.value(at),
        };
        if let Some(lease) = read.last_mut() {
            lease.rows.push(row);
        }
    }
    Ok(read)
}
