//! A binary min-heap of tokens whose keys can change.
//!
//! The heap holds `(key, token)`; `places[token]` is the token's index in it, so that a token
//! is moved or taken out in *O*(log *n*) and nothing stale is ever left behind. Several heaps
//! may share one `places` as long as a token is in at most one of them: a host waits either
//! for its resolution or in the queue of its IP.

/// Where a token stands that is in no heap.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Tokens by increasing key.
#[derive(Debug)]
pub(super) struct Heap<K> {
    items: Vec<(K, u32)>,
}

impl<K> Default for Heap<K> {
    fn default() -> Self {
        Self { items: Vec::new() }
    }
}

impl<K: Copy + Ord> Heap<K> {
    /// The least key and its token.
    pub(super) fn peek(&self) -> Option<(K, u32)> {
        self.items.first().copied()
    }

    /// Puts in a token that is in no heap.
    pub(super) fn push(&mut self, places: &mut [u32], key: K, token: u32) {
        debug_assert_eq!(places[token as usize], NOWHERE);
        self.items.push((key, token));
        self.rise(places, self.items.len() - 1);
    }

    /// Takes out a token that is in this heap.
    pub(super) fn remove(&mut self, places: &mut [u32], token: u32) {
        let place = places[token as usize] as usize;
        debug_assert_eq!(self.items[place].1, token);
        places[token as usize] = NOWHERE;
        self.items.swap_remove(place);
        if place < self.items.len() {
            let place = self.rise(places, place);
            self.sink(places, place);
        }
        if self.items.len() * 4 < self.items.capacity() {
            self.items.shrink_to(self.items.len() * 2);
        }
    }

    /// Bytes held on the heap of the process.
    pub(super) fn bytes(&self) -> usize {
        self.items.capacity() * size_of::<(K, u32)>()
    }

    fn rise(&mut self, places: &mut [u32], mut place: usize) -> usize {
        let item = self.items[place];
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.items[parent] <= item {
                break;
            }
            self.items[place] = self.items[parent];
            places[self.items[place].1 as usize] = place as u32;
            place = parent;
        }
        self.items[place] = item;
        places[item.1 as usize] = place as u32;
        place
    }

    fn sink(&mut self, places: &mut [u32], mut place: usize) {
        let item = self.items[place];
        loop {
            let mut child = 2 * place + 1;
            if child + 1 < self.items.len() && self.items[child + 1] < self.items[child] {
                child += 1;
            }
            if child >= self.items.len() || item <= self.items[child] {
                break;
            }
            self.items[place] = self.items[child];
            places[self.items[place].1 as usize] = place as u32;
            place = child;
        }
        self.items[place] = item;
        places[item.1 as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_out_by_key_whatever_was_removed_or_moved() {
        let mut places = vec![NOWHERE; 500];
        let mut heap = Heap::default();
        let mut model = std::collections::BTreeSet::new();
        let mut state = 7_u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (token, key) = ((state >> 33) as u32 % 500, (state >> 45) % 50);
            let old = model.iter().copied().find(|&(_, t)| t == token);
            if let Some(old) = old {
                heap.remove(&mut places, token);
                model.remove(&old);
            } else {
                heap.push(&mut places, key, token);
                model.insert((key, token));
            }
            assert_eq!(heap.peek(), model.first().copied());
        }
        for item in model {
            assert_eq!(heap.peek(), Some(item));
            heap.remove(&mut places, item.1);
        }
        assert_eq!(heap.peek(), None);
        assert!(places.iter().all(|&place| place == NOWHERE));
    }
}
