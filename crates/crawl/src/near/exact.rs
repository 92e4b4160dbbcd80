//! Digests seen, in two generations: open addressing over an array of entries.
//!
//! A slot is 0 or one more than the number of an entry. There are two slots for an entry, the
//! home of a digest is its first 8 bytes scaled to their number, and probing is linear. Digests
//! are BLAKE3: nobody can aim them at one slot without aiming at the text's digest itself.

use std::mem;

/// Digest and URL hash, and two slots.
pub(super) const BYTES_PER_ENTRY: usize = 24 + 2 * 4;

#[derive(Debug)]
struct Generation {
    entries: Vec<([u64; 2], u64)>,
    slots: Vec<u32>,
}

impl Generation {
    fn new(capacity: usize) -> Self {
        Self { entries: Vec::with_capacity(capacity), slots: vec![0; 2 * capacity] }
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.slots.fill(0);
    }

    /// The entry of a digest, or the free slot where it belongs.
    fn find(&self, digest: [u64; 2]) -> Result<u64, usize> {
        let mut slot = ((u128::from(digest[0]) * self.slots.len() as u128) >> 64) as usize;
        loop {
            let Some(at) = (self.slots[slot] as usize).checked_sub(1) else { return Err(slot) };
            let (other, url_hash) = self.entries[at];
            if other == digest {
                return Ok(url_hash);
            }
            slot = if slot + 1 == self.slots.len() { 0 } else { slot + 1 };
        }
    }

    fn insert(&mut self, slot: usize, digest: [u64; 2], url_hash: u64) {
        self.entries.push((digest, url_hash));
        self.slots[slot] = self.entries.len() as u32;
    }
}

#[derive(Debug)]
pub(super) struct Exact {
    capacity: usize,
    current: Generation,
    previous: Generation,
}

impl Exact {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, current: Generation::new(capacity), previous: Generation::new(capacity) }
    }

    /// The URL hash first seen with this digest; a digest not seen is remembered with this one.
    pub(super) fn find_or_insert(&mut self, digest: [u8; 16], url_hash: u64) -> Option<u64> {
        let digest = u128::from_le_bytes(digest);
        let digest = [digest as u64, (digest >> 64) as u64];
        let slot = match self.current.find(digest) {
            Ok(first) => return Some(first),
            Err(slot) => slot,
        };
        let first = self.previous.find(digest).ok();
        self.current.insert(slot, digest, first.unwrap_or(url_hash));
        if self.current.entries.len() == self.capacity {
            mem::swap(&mut self.current, &mut self.previous);
            self.current.clear();
        }
        first
    }

    pub(super) fn memory_bytes(&self) -> usize {
        2 * self.capacity * BYTES_PER_ENTRY
    }
}
