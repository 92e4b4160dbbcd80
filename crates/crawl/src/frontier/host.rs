//! Hosts and IPs as records of numbers: what politeness obeys.

use std::sync::Arc;

use super::Options;
use super::heap::Heap;
use super::queue::Queue;

/// An exponential back-off stops doubling after this many times its unit.
const LONGEST_BACKOFF: i64 = 60;

/// How a host may be asked, and how that went so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    /// The host's address, once resolved: an index of the frontier's IPs.
    pub(super) ip: Option<u32>,
    /// A delay of its own, if longer than the frontier's.
    pub(super) delay_us: Option<u64>,
    /// When a lease under which something was requested ended last (0: never).
    pub(super) ended: i64,
    /// How long that lease was on the wire.
    pub(super) busy_us: u64,
    /// Silence asked by the server, by policy or by back-off.
    pub(super) hold_until: i64,
    /// Leases in a row that could not reach the host.
    pub(super) failures: u32,
}

impl Numbers {
    pub(super) fn delay(&self, options: &Options) -> u64 {
        self.delay_us.map_or(options.delay_us, |own| own.max(options.delay_us))
    }

    /// Whether bursts are measured by time: not at a host with a delay of its own.
    fn in_ratio(&self, options: &Options) -> Option<f64> {
        options.ratio.filter(|_| self.delay_us.is_none_or(|delay| delay == 0))
    }

    /// The first instant at which the host may lawfully be asked again.
    pub(super) fn lawful(&self, options: &Options) -> i64 {
        if self.ended == 0 {
            return self.hold_until;
        }
        let delay = self.delay(options);
        let pause = self
            .in_ratio(options)
            .map_or(delay, |ratio| delay.max((self.busy_us as f64 / ratio) as u64));
        self.ended.saturating_add_unsigned(pause).max(self.hold_until)
    }

    /// How many URLs a lease holds at most, and the time that ends it (0: none). A host that is
    /// not resolved gets one, because its visit does no more than resolve.
    pub(super) fn burst(&self, options: &Options, ip_delay: u64) -> (usize, u64) {
        if self.ip.is_none() {
            (1, 0)
        } else if self.in_ratio(options).is_some() {
            (options.ratio_burst, options.burst_us)
        } else if self.delay(options) == 0 && ip_delay == 0 {
            (options.burst, 0)
        } else {
            (1, 0)
        }
    }

    /// The host could not be reached: 1, 2, 4 ... times the unit of silence.
    pub(super) fn back_off(&mut self, ended: i64, options: &Options) {
        let doubling = 1_i64 << self.failures.min(32);
        let pause = (options.backoff_us as i64).saturating_mul(doubling.min(LONGEST_BACKOFF));
        self.hold_until = self.hold_until.max(ended.saturating_add(pause));
        self.failures = self.failures.saturating_add(1);
    }
}

/// Where a host's token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    /// It has no URLs.
    Idle,
    /// In the queue of its IP, or among the unresolved.
    Waiting,
    /// With a visit.
    Leased,
}

/// A host: its token, its numbers, its queue.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) name: Arc<str>,
    pub(super) numbers: Numbers,
    pub(super) queue: Queue,
    pub(super) token: Token,
    /// Changed since the last checkpoint.
    pub(super) dirty: bool,
}

/// When a waiting host's turn comes: by lawful time, then first come, first served.
pub(super) type Turn = (i64, u64);

/// An IP: the queue of its hosts and, when its delay is positive, a token that limits them.
#[derive(Debug)]
pub(super) struct Ip {
    pub(super) name: Arc<str>,
    pub(super) delay_us: u64,
    /// Whether the delay was set for this IP alone.
    pub(super) own_delay: bool,
    pub(super) ended: i64,
    pub(super) hold_until: i64,
    /// Leases that are out.
    pub(super) busy: u32,
    pub(super) hosts: Heap<Turn>,
    pub(super) dirty: bool,
}

impl Ip {
    pub(super) fn new(name: Arc<str>, options: &Options) -> Self {
        let local =
            name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback());
        Self {
            name,
            delay_us: if local { options.local_ip_delay_us } else { options.ip_delay_us },
            own_delay: false,
            ended: 0,
            hold_until: 0,
            busy: 0,
            hosts: Heap::default(),
            dirty: true,
        }
    }

    /// The key of the IP among the others, if one of its hosts may be leased when its time comes:
    /// the lawful time of both, then the turn of the host.
    pub(super) fn key(&self) -> Option<(i64, Turn)> {
        let (turn, _) = self.hosts.peek()?;
        if self.busy > 0 && self.delay_us > 0 {
            return None;
        }
        let mut free = self.hold_until;
        if self.ended > 0 {
            free = free.max(self.ended.saturating_add_unsigned(self.delay_us));
        }
        Some((turn.0.max(free), turn))
    }
}
