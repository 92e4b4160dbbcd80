//! One visit: what is done under a lease, from resolving to its end.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::connect::Stream;
use super::date::hold_until;
use super::http::{Exchange, Limits, Wire};
use super::outcome::{End, FetchError, Fetched, Outcome, RobotsFetched};
use super::pool::Key;
use super::resolve::Place;
use super::robots::Policy;
use super::visits::Shared;
use crate::clock::now_us;
use crate::coding;
use crate::robots::Robots;
use crate::url::Url;

/// RFC 9309 §2.5: at least 500 KiB of a robots.txt are read.
const MAX_ROBOTS: usize = 500 << 10;
/// RFC 9309 §2.3.1.2: at least five redirects are followed.
const MAX_HOPS: usize = 5;
/// How long a robots.txt that is not to be had forbids everything.
const UNREACHABLE_US: i64 = 600 * 1_000_000;

/// A URL of a lease.
pub(super) struct Row {
    pub(super) visit: u64,
    pub(super) url: Url,
    pub(super) depth: u16,
    pub(super) score: f32,
    pub(super) attempt: u8,
}

/// A host's token, the URLs it is for, and the numbers in force.
pub(super) struct Lease {
    pub(super) id: u64,
    pub(super) host: Arc<str>,
    pub(super) ip: Option<IpAddr>,
    pub(super) rows: Vec<Row>,
    pub(super) burst_us: u64,
    pub(super) delay_us: u64,
    pub(super) ip_delay_us: u64,
}

/// Sends the lease's end when dropped, so that none is ever lost: not by an early return,
/// not by a panic, not when the task is thrown away at [`stop`](super::Visits::stop).
pub(super) struct Ending {
    shared: Arc<Shared>,
    end: End,
}

impl Ending {
    pub(super) fn new(shared: &Arc<Shared>, lease: &Lease) -> Self {
        shared.counters.in_flight.fetch_add(1, Relaxed);
        let end = End {
            lease: lease.id,
            ended_at: 0,
            ip: lease.ip,
            consumed: 0,
            requests: 0,
            busy_us: 0,
            hold_until: 0,
            failed: false,
            error: None,
        };
        Self { shared: Arc::clone(shared), end }
    }

    fn fail(&mut self, error: FetchError) {
        self.end.failed = true;
        self.end.error = Some(error);
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.end.ended_at = now_us();
        self.end.failed |= std::thread::panicking();
        // The channel has no bound; it is closed only when nobody listens any more.
        let _ = self.shared.ends.try_send(self.end.clone());
        self.shared.counters.in_flight.fetch_sub(1, Relaxed);
    }
}

/// A connection in hand.
struct Line {
    wire: Wire<Stream>,
    key: Key,
    /// It has carried an answer before.
    used: bool,
}

/// Whom a request goes to.
struct Asked {
    host: Arc<str>,
    address: SocketAddr,
}

/// Why a request brought nothing.
enum Fault {
    Fetch(FetchError),
    /// The ledger could not be written; the request has not left.
    Ledger,
}

impl From<FetchError> for Fault {
    fn from(error: FetchError) -> Self {
        Self::Fetch(error)
    }
}

/// A lease being spent.
pub(super) struct Visit {
    pub(super) shared: Arc<Shared>,
    pub(super) lease: Lease,
    pub(super) ending: Ending,
    line: Option<Line>,
}

impl Visit {
    pub(super) fn new(shared: Arc<Shared>, lease: Lease) -> Self {
        let ending = Ending::new(&shared, &lease);
        Self { shared, lease, ending, line: None }
    }

    pub(super) async fn run(mut self) {
        let rows = std::mem::take(&mut self.lease.rows);
        let Some(first) = rows.first() else { return };
        let place = match self.place(&first.url).await {
            Ok(place) => place,
            Err(error) => return self.ending.fail(error),
        };
        let ip = self.shared.pick(&place, &self.lease.host, first.url.host());
        self.ending.end.ip = Some(ip);
        if let Err(refusal) = self.shared.admit(ip, place.ruled, &self.lease.host, first.url.host())
        {
            for row in rows {
                self.hand_over(row, now_us(), 0, Outcome::Failed(refusal.clone()), None).await;
            }
            self.ending.end.error = Some(refusal);
            return;
        }
        if self.lease.ip.is_some() {
            self.spend(rows, ip).await;
        }
        if let Some(line) = self.line.take() {
            self.shared.pool.put(line.key, line.wire);
        }
    }

    /// Rules of the user come first; then the lease's address; DNS only when it has none.
    async fn place(&self, url: &Url) -> Result<Place, FetchError> {
        let known = self.shared.resolver.known(url.host(), url.port());
        match (known, self.lease.ip) {
            (Some(place), _) => Ok(place),
            (None, Some(ip)) => Ok(Place { ips: Arc::from([ip]), port: url.port(), ruled: false }),
            (None, None) => self.shared.place(url).await,
        }
    }

    /// Deals with rows until one has to wait for another lease.
    async fn spend(&mut self, rows: Vec<Row>, ip: IpAddr) {
        for row in rows {
            if self.is_over() {
                return;
            }
            let verdict = match self.shared.policy(&row.url) {
                Some(Policy::File(rules)) => {
                    if rules.allowed(row.url.path_and_query()) {
                        None
                    } else {
                        Some(Outcome::Denied)
                    }
                }
                Some(Policy::Unreachable) => Some(Outcome::Failed(FetchError::RobotsUnreachable)),
                None if self.ending.end.consumed == 0 => {
                    return self.fetch_robots(&row.url, ip).await;
                }
                None => return,
            };
            if let Some(outcome) = verdict {
                self.hand_over(row, now_us(), 0, outcome, None).await;
            } else if !self.fetch(row, ip).await {
                return;
            }
        }
    }

    /// Whether the burst has used its time, or the host is owed a delay before anything else.
    fn is_over(&self) -> bool {
        let Lease { burst_us, delay_us, ip_delay_us, .. } = self.lease;
        let end = &self.ending.end;
        if burst_us > 0 {
            end.busy_us >= burst_us
        } else {
            end.requests > 0 && delay_us.max(ip_delay_us) > 0
        }
    }

    /// Asks for one URL; says whether the burst may go on.
    async fn fetch(&mut self, row: Row, ip: IpAddr) -> bool {
        let begun = (now_us(), Instant::now());
        let asked = Asked {
            host: Arc::clone(&self.lease.host),
            address: self.shared.address(&row.url, ip),
        };
        let limits = self.shared.limits;
        let outcome = self.ask(&row.url, &asked, &limits).await;
        let (started, elapsed) = (begun.0, begun.1.elapsed().as_micros() as u64);
        match outcome {
            Ok(Exchange { response, permit, .. }) => {
                let held = self.ending.end.hold_until > now_us();
                let outcome = Outcome::Response(response);
                self.hand_over(row, started, elapsed, outcome, permit).await;
                !held
            }
            Err(Fault::Fetch(error)) => {
                if error.is_of_host() {
                    self.ending.fail(error.clone());
                } else {
                    self.ending.end.error = Some(error.clone());
                }
                self.hand_over(row, started, elapsed, Outcome::Failed(error), None).await;
                false
            }
            Err(Fault::Ledger) => false,
        }
    }

    /// Waits until the page workers take it; only then is the row consumed.
    async fn hand_over(
        &mut self,
        row: Row,
        started_at: i64,
        elapsed_us: u64,
        outcome: Outcome,
        permit: Option<super::Permit>,
    ) {
        let fetched = Fetched {
            lease: self.lease.id,
            visit: row.visit,
            host: Arc::clone(&self.lease.host),
            url: row.url,
            depth: row.depth,
            score: row.score,
            attempt: row.attempt,
            started_at,
            elapsed_us,
            ip: self.ending.end.ip.or(self.lease.ip),
            outcome,
            permit,
        };
        if self.shared.fetched.send(fetched).await.is_ok() {
            self.ending.end.consumed += 1;
        }
    }

    /// Asks for a robots.txt, through redirects, and remembers what it says.
    async fn fetch_robots(&mut self, url: &Url, ip: IpAddr) {
        let fetched_at = now_us();
        let origin = url.origin().to_owned();
        let mut found = Found { url: format!("{origin}/robots.txt"), ..Found::default() };
        let own = self.seek_robots(&mut found, ip).await;
        let Ok(own) = own else { return };
        let now = now_us();
        let unreachable = found.error.is_some() || matches!(found.status, Some(429 | 500..));
        let robots = Robots::for_status(found.status, &found.body);
        let rules = Arc::new(robots.rules(&self.shared.config.token));
        let crawl_delay = rules.crawl_delay();
        let expires = if unreachable {
            let hold = self.ending.end.hold_until;
            let until = now + UNREACHABLE_US;
            if hold > now { until.min(hold) } else { until }
        } else {
            now + self.shared.robots_ttl_us
        };
        match &found.error {
            // The host will be tried again when the frontier thinks fit.
            Some(error) if own => self.ending.fail(error.clone()),
            _ if unreachable => {
                self.shared.robots.put(&origin, Policy::Unreachable, 0, expires);
            }
            _ => {
                self.shared.robots.put(&origin, Policy::File(rules), found.body.len(), expires);
            }
        }
        let record = RobotsFetched {
            host: Arc::clone(&self.lease.host),
            origin,
            url: found.url,
            fetched_at,
            status: found.status,
            body: found.body,
            expires,
            crawl_delay,
            sitemaps: robots.sitemaps().to_vec(),
            error: found.error,
        };
        // Closed when nobody listens any more.
        let _ = self.shared.robots_out.send(record).await;
    }

    /// Follows `found.url` to a robots.txt. Says whether the last request went to the host
    /// of the lease; `Err` when the ledger cannot be written.
    async fn seek_robots(&mut self, found: &mut Found, ip: IpAddr) -> Result<bool, Fault> {
        let mut limits = self.shared.limits;
        limits.max_body = limits.max_body.min(MAX_ROBOTS);
        let mut own = true;
        for hop in 0..=MAX_HOPS {
            let Ok(target) = Url::parse(&found.url) else { break };
            if hop > 0 {
                self.pause().await;
            }
            own = target.authority() == &*self.lease.host;
            let exchange = match self.asked(&target, own.then_some(ip)).await {
                Ok(asked) => self.ask(&target, &asked, &limits).await,
                Err(error) => Err(error.into()),
            };
            let response = match exchange {
                Ok(exchange) => exchange.response,
                Err(Fault::Fetch(error)) => {
                    (found.status, found.error) = (None, Some(error));
                    break;
                }
                Err(Fault::Ledger) => return Err(Fault::Ledger),
            };
            found.status = Some(response.status);
            let next = match response.status {
                301..=303 | 307 | 308 => {
                    response.text("location").and_then(|to| target.join(to.trim()).ok())
                }
                _ => None,
            };
            if let Some(next) = next.filter(|_| hop < MAX_HOPS) {
                next.as_str().clone_into(&mut found.url);
                continue;
            }
            if response.status < 300 {
                let coding = response.text("content-encoding").unwrap_or_default();
                found.body = if coding.is_empty() {
                    response.body
                } else {
                    coding::decode(&coding, &response.body, MAX_ROBOTS).body.into_owned().into()
                };
            }
            break;
        }
        Ok(own)
    }

    /// Where a hop of a robots.txt goes: to the lease's own address, or past the guard.
    async fn asked(&self, target: &Url, own: Option<IpAddr>) -> Result<Asked, FetchError> {
        let host: Arc<str> = target.authority().into();
        if let Some(ip) = own {
            return Ok(Asked { host, address: self.shared.address(target, ip) });
        }
        let place = self.shared.place(target).await?;
        let ip = self.shared.pick(&place, &host, target.host());
        self.shared.admit(ip, place.ruled, &host, target.host())?;
        Ok(Asked { host, address: SocketAddr::new(ip, place.port) })
    }

    /// The lease's own delay, for a second request under it that no burst allows.
    async fn pause(&self) {
        let Lease { burst_us, delay_us, ip_delay_us, .. } = self.lease;
        if burst_us == 0 {
            tokio::time::sleep(Duration::from_micros(delay_us.max(ip_delay_us))).await;
        }
    }

    /// Sends a request and waits for its answer, with the ledger told before and after. When
    /// a kept connection turns out to be dead, it is sent once more over a fresh one.
    async fn ask(&mut self, url: &Url, asked: &Asked, limits: &Limits) -> Result<Exchange, Fault> {
        let shared = Arc::clone(&self.shared);
        let ip = asked.address.ip();
        let request = shared.request(url);
        loop {
            let mut line = self.line(url, asked).await?;
            let Lease { delay_us, ip_delay_us, .. } = self.lease;
            let intent =
                shared.ledger.intent(&asked.host, Some(ip), now_us(), delay_us, ip_delay_us);
            intent.map_err(|error| self.ledger_fault(&error))?;
            self.ending.end.requests += 1;
            shared.counters.requests.fetch_add(1, Relaxed);
            let begun = Instant::now();
            let result = line.wire.exchange(&request, limits, &shared.budget).await;
            self.ending.end.busy_us += begun.elapsed().as_micros() as u64;
            shared.counters.bytes.fetch_add(line.wire.take_received(), Relaxed);
            let (status, hold) = match &result {
                Ok(exchange) => (exchange.response.status, hold_of(exchange)),
                Err(_) => (0, 0),
            };
            // Only the lease's own host is held; the ledger keeps the others' word.
            if *asked.host == *self.lease.host {
                self.ending.end.hold_until = self.ending.end.hold_until.max(hold);
            }
            let ended = shared.ledger.end(&asked.host, Some(ip), now_us(), status, hold);
            ended.map_err(|error| self.ledger_fault(&error))?;
            match result {
                Ok(exchange) => {
                    if exchange.reusable {
                        line.used = true;
                        self.line = Some(line);
                    }
                    return Ok(exchange);
                }
                Err(broken) if broken.unheard && line.used => {
                    shared.counters.retries.fetch_add(1, Relaxed);
                    // The next one is fresh: other idle connections will be as dead.
                    shared.pool.take(&line.key);
                    self.pause().await;
                }
                Err(broken) => return Err(broken.error.into()),
            }
        }
    }

    fn ledger_fault(&mut self, error: &std::io::Error) -> Fault {
        self.ending.end.error = Some(FetchError::Ledger(error.to_string()));
        self.shared.fault.get_or_init(|| error.to_string());
        Fault::Ledger
    }

    /// The connection in hand, an idle one, or a new one.
    async fn line(&mut self, url: &Url, asked: &Asked) -> Result<Line, FetchError> {
        let secure = url.scheme() == "https";
        let key = Key { secure, authority: Arc::clone(&asked.host), address: asked.address };
        let shared = &self.shared;
        let in_hand = match self.line.take() {
            Some(line) if line.key == key => Some(line),
            Some(line) => {
                shared.pool.put(line.key, line.wire);
                None
            }
            None => None,
        };
        let idle =
            || shared.pool.take(&key).map(|wire| Line { wire, key: key.clone(), used: true });
        if let Some(line) = in_hand.or_else(idle)
            && line.wire.stream.is_quiet().await
        {
            shared.counters.reused.fetch_add(1, Relaxed);
            return Ok(line);
        }
        let stream = shared.connector.connect(asked.address, secure, url.host()).await;
        let stream = stream.inspect_err(|_| {
            shared.resolver.forget(url.host());
            // The address may be out of date: the host is to be resolved again.
            if *asked.host == *self.lease.host {
                self.ending.end.ip = None;
            }
        })?;
        shared.counters.connections.fetch_add(1, Relaxed);
        shared.counters.handshakes.fetch_add(u64::from(secure), Relaxed);
        Ok(Line { wire: Wire::new(stream), key, used: false })
    }
}

/// What was found in the place of a robots.txt.
#[derive(Default)]
struct Found {
    url: String,
    status: Option<u16>,
    body: Bytes,
    error: Option<FetchError>,
}

/// Retry-After counts where a server says that it is too much for it.
fn hold_of(exchange: &Exchange) -> i64 {
    let response = &exchange.response;
    match response.status {
        429 | 503 => response.text("retry-after").map_or(0, |value| hold_until(&value, now_us())),
        _ => 0,
    }
}
