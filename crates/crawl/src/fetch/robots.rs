//! The robots.txt files remembered, by origin.
//!
//! Bounded by an estimate of bytes; second chance (Corbató's clock) decides what goes.
//! An origin that was dropped is simply asked again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use crate::robots::Rules;

/// What an origin's robots.txt says to us.
#[derive(Debug, Clone)]
pub(super) enum Policy {
    /// The file speaks: these are the rules for us.
    File(Arc<Rules>),
    /// A server error stood in its place: nothing may be asked meanwhile.
    Unreachable,
}

struct Entry {
    policy: Policy,
    expires: i64,
    bytes: usize,
    used: bool,
}

#[derive(Default)]
struct State {
    known: HashMap<Arc<str>, Entry>,
    clock: VecDeque<Arc<str>>,
    bytes: usize,
}

pub(super) struct RobotsCache {
    state: Mutex<State>,
    budget: usize,
}

impl RobotsCache {
    pub(super) fn new(budget: usize) -> Self {
        Self { state: Mutex::default(), budget }
    }

    /// What holds for the origin now.
    pub(super) fn get(&self, origin: &str, now: i64) -> Option<Policy> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = state.known.get_mut(origin)?;
        entry.used = true;
        (now < entry.expires).then(|| entry.policy.clone())
    }

    /// Remembers what the origin's file of `len` bytes says.
    pub(super) fn put(&self, origin: &str, policy: Policy, len: usize, expires: i64) {
        // The rules, of which a file has more bytes, the origin twice, and the tables' own bytes.
        let bytes = 2 * len + 2 * origin.len() + 256;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let origin: Arc<str> = origin.into();
        let entry = Entry { policy, expires, bytes, used: false };
        state.bytes += bytes;
        match state.known.insert(Arc::clone(&origin), entry) {
            Some(old) => state.bytes -= old.bytes,
            None => state.clock.push_back(origin),
        }
        while state.bytes > self.budget && state.clock.len() > 1 {
            state.turn();
        }
    }
}

impl State {
    /// Drops the origin at the hand, or gives it its second chance.
    fn turn(&mut self) {
        let Some(origin) = self.clock.pop_front() else { return };
        match self.known.get_mut(&origin) {
            Some(entry) if entry.used => {
                entry.used = false;
                self.clock.push_back(origin);
            }
            _ => {
                if let Some(entry) = self.known.remove(&origin) {
                    self.bytes -= entry.bytes;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_holds_until_it_expires() {
        let cache = RobotsCache::new(1 << 20);
        cache.put("http://a", Policy::Unreachable, 0, 10);
        assert!(cache.get("http://a", 9).is_some());
        assert!(cache.get("http://a", 10).is_none());
        assert!(cache.get("http://b", 9).is_none());
        cache.put("http://a", Policy::Unreachable, 0, 20);
        assert!(cache.get("http://a", 10).is_some());
    }

    #[test]
    fn what_is_not_used_goes_first_and_the_budget_holds() {
        let cache = RobotsCache::new(10 * (2 * 1000 + 2 * 9 + 256));
        cache.put("http://00", Policy::Unreachable, 1000, 10);
        for turn in 1..100 {
            assert!(cache.get("http://00", 0).is_some(), "{turn}");
            cache.put(&format!("http://{turn:02}"), Policy::Unreachable, 1000, 10);
        }
        let state = cache.state.lock().unwrap();
        assert_eq!((state.known.len(), state.clock.len()), (10, 10));
        assert!(state.bytes <= cache.budget);
    }
}
