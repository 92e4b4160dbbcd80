//! Visits: what is asked of a host under one lease, over HTTP/1.x.
//!
//! A *lease* is a host's token and some of its URLs; a *visit* is the asynchronous task that
//! spends it. It does the next step only, so that the frontier applies delays between steps:
//!
//! 1. the lease has no address: resolve the host and end (`requests = 0`, no delay is due);
//! 2. robots.txt of the URL's origin is unknown or has expired: fetch it and end;
//! 3. otherwise ask for the URLs one after another over a kept-alive connection. A URL that
//!    robots.txt forbids is consumed with [`Outcome::Denied`] and no request.
//!
//! Invariants:
//!
//! - one [`End`] a lease, whatever happens (it is sent by a destructor), after the last of
//!   its [`Fetched`]; `consumed` counts those that were handed over;
//! - an intent stands in the [ledger](crate::ledger) before the first byte of a request leaves;
//! - the address connected to is the address the [guard](guard) has passed;
//! - memory is bounded: [`VisitsConfig::visits`] leases at a time, a bounded channel to the
//!   page workers, and [`limits`] for the bodies.
//!
//! Reading order: `outcome` (what comes out), `http` (framing), `guard`, `resolve`, `connect`,
//! `pool`, `robots`, then `visit` (one lease) and `visits` (all of them).

mod config;
mod connect;
mod date;
pub mod guard;
mod http;
pub mod limits;
mod outcome;
mod pool;
mod resolve;
mod robots;
mod visit;
mod visits;

pub use config::{ConfigError, VisitsConfig};
pub(crate) use date::days_from_civil;
pub use date::parse_http_date;
pub use limits::Permit;
pub use outcome::{End, FetchError, Fetched, Outcome, Response, RobotsFetched};
pub use resolve::{ResolveRule, ResolveRuleError};
pub use visits::{StartError, VisitStats, Visits};
