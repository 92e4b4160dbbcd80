//! Idle connections, kept for the next lease of their host.
//!
//! A host has one lease at a time, so one connection a place suffices: the newer replaces
//! the older. The pool holds at most its capacity; the one idle longest goes first.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What a connection is good for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) secure: bool,
    pub(super) authority: Arc<str>,
    pub(super) address: SocketAddr,
}

struct Idle<C> {
    connection: C,
    since: Instant,
    turn: u64,
}

/// Turns are in the order of `since`; a turn whose entry was taken or replaced is stale.
struct State<C> {
    idle: HashMap<Key, Idle<C>>,
    turns: VecDeque<(u64, Key)>,
    turn: u64,
}

pub(super) struct Pool<C> {
    state: Mutex<State<C>>,
    capacity: usize,
    patience: Duration,
}

impl<C> Pool<C> {
    pub(super) fn new(capacity: usize, patience: Duration) -> Self {
        let state = State { idle: HashMap::new(), turns: VecDeque::new(), turn: 0 };
        Self { state: Mutex::new(state), capacity, patience }
    }

    pub(super) fn take(&self, key: &Key) -> Option<C> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let found = state.idle.remove(key)?;
        (found.since.elapsed() < self.patience).then_some(found.connection)
    }

    pub(super) fn put(&self, key: Key, connection: C) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.turn += 1;
        let (turn, since) = (state.turn, Instant::now());
        state.idle.insert(key.clone(), Idle { connection, since, turn });
        state.turns.push_back((turn, key));
        state.shrink(self.capacity, self.patience);
    }

    /// Closes what has been idle for too long.
    pub(super) fn sweep(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.shrink(self.capacity, self.patience);
    }
}

impl<C> State<C> {
    fn shrink(&mut self, capacity: usize, patience: Duration) {
        while let Some((turn, key)) = self.turns.front() {
            let live = self.idle.get(key).filter(|idle| idle.turn == *turn);
            let keep = live
                .is_some_and(|idle| self.idle.len() <= capacity && idle.since.elapsed() < patience);
            if keep {
                break;
            }
            if live.is_some() {
                self.idle.remove(key);
            }
            self.turns.pop_front();
        }
        // Stale turns behind a live front would otherwise gather.
        if self.turns.len() > 2 * self.idle.len() + 64 {
            let idle = &self.idle;
            self.turns.retain(|(turn, key)| idle.get(key).is_some_and(|one| one.turn == *turn));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        let address = SocketAddr::from(([127, 0, 0, 1], 80));
        Key { secure: false, authority: name.into(), address }
    }

    #[test]
    fn a_connection_is_taken_once_and_only_for_its_place() {
        let pool = Pool::new(8, Duration::from_mins(1));
        pool.put(key("a"), 1);
        assert_eq!(pool.take(&key("b")), None);
        assert_eq!(pool.take(&key("a")), Some(1));
        assert_eq!(pool.take(&key("a")), None);
    }

    #[test]
    fn the_one_idle_longest_makes_room() {
        let pool = Pool::new(2, Duration::from_mins(1));
        for (turn, name) in ["a", "b", "a", "c"].into_iter().enumerate() {
            pool.put(key(name), turn);
        }
        assert_eq!(pool.take(&key("b")), None);
        assert_eq!(pool.take(&key("a")), Some(2));
        assert_eq!(pool.take(&key("c")), Some(3));
    }

    #[test]
    fn what_was_idle_too_long_is_closed() {
        let pool = Pool::new(8, Duration::ZERO);
        let watched = Arc::new(());
        pool.put(key("a"), Arc::clone(&watched));
        pool.sweep();
        assert_eq!(Arc::strong_count(&watched), 1);
    }

    #[test]
    fn taking_and_putting_for_ever_keeps_no_more_than_is_idle() {
        let pool = Pool::new(8, Duration::from_mins(1));
        pool.put(key("still"), 0);
        for turn in 0..10_000 {
            pool.put(key("a"), turn);
            assert_eq!(pool.take(&key("a")), Some(turn));
        }
        assert!(pool.state.lock().unwrap().turns.len() <= 70);
    }
}
