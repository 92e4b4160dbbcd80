//! From a host to the addresses it may be asked at: rules of the user, literals, DNS.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::OnceCell;
use tokio::time::timeout;

use super::outcome::FetchError;

/// The system's resolver hides the time to live of an answer; this is within what is usual.
const KEEP: Duration = Duration::from_mins(5);
/// Names remembered.
const NAMES: usize = 65_536;

/// A rule `PATTERN=ADDR[:PORT]` that takes the place of DNS. PATTERN is a host name,
/// `*.suffix` (any name below it) or `*`; an IPv6 address stands in brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolveRule {
    pattern: String,
    ip: IpAddr,
    port: Option<u16>,
}

/// A rule that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error(
    "resolve rule {0:?}: give PATTERN=ADDR[:PORT], as in '*.sim=127.0.0.1:8080' or 'x.org=[::1]'"
)]
pub struct ResolveRuleError(String);

impl FromStr for ResolveRule {
    type Err = ResolveRuleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fault = || ResolveRuleError(text.to_owned());
        let (pattern, target) = text.trim().split_once('=').ok_or_else(fault)?;
        let bare = target.trim_start_matches('[').trim_end_matches(']');
        let (ip, port) = if let Ok(ip) = bare.parse::<IpAddr>() {
            (ip, None)
        } else {
            let address = target.parse::<SocketAddr>().map_err(|_| fault())?;
            (address.ip(), Some(address.port()))
        };
        let name = pattern.strip_prefix("*.").unwrap_or(pattern);
        if name.is_empty() || (name.contains('*') && pattern != "*") {
            return Err(fault());
        }
        Ok(Self { pattern: pattern.to_ascii_lowercase(), ip, port })
    }
}

impl ResolveRule {
    /// How closely the pattern fits the host: the longer, the closer.
    fn fit(&self, host: &str) -> Option<usize> {
        if self.pattern == host {
            return Some(usize::MAX);
        }
        let suffix = self.pattern.strip_prefix('*')?;
        host.ends_with(suffix).then_some(suffix.len())
    }
}

/// Where a host may be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) ips: Arc<[IpAddr]>,
    pub(super) port: u16,
    /// By a rule of the user, who answers for the address.
    pub(super) ruled: bool,
}

type Answer = Arc<OnceCell<Result<Arc<[IpAddr]>, FetchError>>>;

/// Rules first, then a cache, then the system's resolver. Askers of one name share a lookup.
pub(super) struct Resolver {
    rules: Vec<ResolveRule>,
    names: Mutex<HashMap<String, (Instant, Answer)>>,
    patience: Duration,
}

impl Resolver {
    pub(super) fn new(rules: Vec<ResolveRule>, patience: Duration) -> Self {
        Self { rules, names: Mutex::default(), patience }
    }

    /// What a rule or the name itself says, with no lookup.
    pub(super) fn known(&self, host: &str, port: u16) -> Option<Place> {
        let rule = self
            .rules
            .iter()
            .filter_map(|rule| rule.fit(host).map(|fit| (fit, rule)))
            .max_by_key(|(fit, _)| *fit);
        if let Some((_, rule)) = rule {
            let ips = Arc::from([rule.ip]);
            return Some(Place { ips, port: rule.port.unwrap_or(port), ruled: true });
        }
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok()?;
        Some(Place { ips: Arc::from([literal]), port, ruled: false })
    }

    /// The host's addresses, IPv4 first; `lookups` is told of each question to DNS.
    pub(super) async fn place(
        &self,
        host: &str,
        port: u16,
        lookups: impl Fn(),
    ) -> Result<Place, FetchError> {
        if let Some(place) = self.known(host, port) {
            return Ok(place);
        }
        let answer = self.answer(host);
        let ips = answer
            .get_or_init(|| async {
                lookups();
                self.lookup(host).await
            })
            .await
            .clone();
        if ips.is_err() {
            self.forget(host);
        }
        Ok(Place { ips: ips?, port, ruled: false })
    }

    /// Drops a name, so that the next asker looks it up again.
    pub(super) fn forget(&self, host: &str) {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).remove(host);
    }

    fn answer(&self, host: &str) -> Answer {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some((since, answer)) = names.get(host)
            && now.duration_since(*since) < KEEP
        {
            return Arc::clone(answer);
        }
        if names.len() >= NAMES {
            names.retain(|_, (since, _)| now.duration_since(*since) < KEEP);
            if names.len() >= NAMES {
                names.clear();
            }
        }
        let answer = Answer::default();
        names.insert(host.to_owned(), (now, Arc::clone(&answer)));
        answer
    }

    async fn lookup(&self, host: &str) -> Result<Arc<[IpAddr]>, FetchError> {
        let found = timeout(self.patience, tokio::net::lookup_host((host, 0)))
            .await
            .map_err(|_| FetchError::Dns("the resolver does not answer".into()))?
            .map_err(|error| FetchError::Dns(error.to_string()))?;
        let mut ips: Vec<IpAddr> = found.map(|address| address.ip()).collect();
        ips.sort_by_key(IpAddr::is_ipv6);
        ips.dedup();
        if ips.is_empty() {
            return Err(FetchError::Dns("the name has no address".into()));
        }
        Ok(ips.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolver(rules: &[&str]) -> Resolver {
        let rules = rules.iter().map(|rule| rule.parse().unwrap()).collect();
        Resolver::new(rules, Duration::from_secs(5))
    }

    #[test]
    fn the_closest_rule_wins() {
        let resolver = resolver(&["*=10.0.0.1", "*.sim=127.0.0.1:8080", "a.sim=[::1]:90"]);
        let place = |host| {
            let place = resolver.known(host, 80).unwrap();
            (place.ips[0].to_string(), place.port, place.ruled)
        };
        assert_eq!(place("a.sim"), ("::1".into(), 90, true));
        assert_eq!(place("b.a.sim"), ("127.0.0.1".into(), 8080, true));
        assert_eq!(place("sim"), ("10.0.0.1".into(), 80, true));
    }

    #[test]
    fn a_literal_needs_no_lookup_and_no_rule() {
        let place = resolver(&["*.sim=127.0.0.1"]).known("[::ffff:10.0.0.1]", 80).unwrap();
        assert_eq!((place.ips[0], place.ruled), ("::ffff:10.0.0.1".parse().unwrap(), false));
        assert_eq!(resolver(&[]).known("example.org", 80), None);
    }

    #[test]
    fn rules_that_say_nothing_are_refused() {
        for text in
            ["a.sim", "=127.0.0.1", "a*.sim=127.0.0.1", "a=b", "a=127.0.0.1:99999", "*.=::1"]
        {
            assert!(text.parse::<ResolveRule>().is_err(), "{text}");
        }
    }

    #[tokio::test]
    async fn askers_of_one_name_share_one_lookup() {
        let resolver = resolver(&[]);
        let lookups = std::cell::Cell::new(0);
        let ask = || resolver.place("localhost", 80, || lookups.set(lookups.get() + 1));
        let (one, two) = tokio::join!(ask(), ask());
        assert!(one.unwrap().ips[0].is_loopback());
        assert!(two.is_ok());
        assert_eq!(lookups.get(), 1);
    }
}
