//! Simhashes seen, in two generations, filed under each of their blocks of bits.
//!
//! For every block there is an array of list heads and for every entry a link to the one filed
//! before it under the same bits; 0 ends a list. Wide blocks are scaled to the number of heads
//! by a multiplicative hash, so a list may hold foreign entries: whole words are compared anyway.

use std::mem;

const MAX_BLOCKS: usize = 4;

/// Simhash and URL hash; for each block a link and a head.
pub(super) const fn bytes_per_entry(blocks: usize) -> usize {
    16 + 8 * blocks
}

#[derive(Debug)]
struct Generation {
    /// Simhash and URL hash, in order of arrival.
    entries: Vec<[u64; 2]>,
    /// For entry `i` and block `b`, at `i * blocks + b`.
    links: Vec<u32>,
    /// For block `b` and home `h`, at `b * capacity + h`.
    heads: Vec<u32>,
}

impl Generation {
    fn new(capacity: usize, blocks: usize) -> Self {
        Self {
            entries: Vec::with_capacity(capacity),
            links: Vec::with_capacity(capacity * blocks),
            heads: vec![0; capacity * blocks],
        }
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.links.clear();
        self.heads.fill(0);
    }

    /// The closest entry within `k`, of equals the earliest: its distance and URL hash. Walking
    /// `blocks` lists is enough for distances below `blocks`.
    fn closest(&self, simhash: u64, homes: &[usize], blocks: usize, k: u8) -> Option<(u8, u64)> {
        let mut best: Option<(u8, u32)> = None;
        for (block, &home) in homes.iter().enumerate().take(usize::from(k) + 1) {
            let mut next = self.heads[home];
            while let Some(at) = next.checked_sub(1) {
                let distance = (self.entries[at as usize][0] ^ simhash).count_ones() as u8;
                if distance <= k && best.is_none_or(|best| (distance, at) < best) {
                    best = Some((distance, at));
                }
                next = self.links[at as usize * blocks + block];
            }
            if best.is_some_and(|(distance, _)| distance == 0) {
                break; // a simhash is filed once
            }
        }
        best.map(|(distance, at)| (distance, self.entries[at as usize][1]))
    }

    fn insert(&mut self, simhash: u64, url_hash: u64, homes: &[usize]) {
        self.entries.push([simhash, url_hash]);
        for &home in homes {
            self.links.push(mem::replace(&mut self.heads[home], self.entries.len() as u32));
        }
    }
}

#[derive(Debug)]
pub(super) struct Lists {
    capacity: usize,
    blocks: usize,
    current: Generation,
    previous: Generation,
}

impl Lists {
    pub(super) fn new(capacity: usize, blocks: usize) -> Self {
        Self {
            capacity,
            blocks,
            current: Generation::new(capacity, blocks),
            previous: Generation::new(capacity, blocks),
        }
    }

    /// The closest simhash within `k`, of equals the earliest: its URL hash and distance. The
    /// simhash itself is remembered unless it already is.
    ///
    /// `k` is below the number of blocks; at 0 one list is enough.
    pub(super) fn find_or_insert(
        &mut self,
        simhash: u64,
        url_hash: u64,
        k: u8,
    ) -> Option<(u64, u8)> {
        let mut homes = [0; MAX_BLOCKS];
        let homes = &mut homes[..self.blocks];
        for (block, home) in homes.iter_mut().enumerate() {
            *home = block * self.capacity + self.home(simhash, block);
        }
        let k = if k == 0 { 0 } else { self.blocks as u8 - 1 };
        let recent = self.current.closest(simhash, homes, self.blocks, k);
        let older = self.previous.closest(simhash, homes, self.blocks, k);
        let closest = match (older, recent) {
            (Some(older), Some(recent)) if recent.0 < older.0 => Some(recent),
            (older, recent) => older.or(recent),
        };
        if recent.is_none_or(|(distance, _)| distance > 0) {
            let first = match older {
                Some((0, first)) => first,
                _ => url_hash,
            };
            self.current.insert(simhash, first, homes);
            if self.current.entries.len() == self.capacity {
                mem::swap(&mut self.current, &mut self.previous);
                self.current.clear();
            }
        }
        closest.map(|(distance, first)| (first, distance))
    }

    /// Where the list of a block's bits begins: the block, spread over 64 bits, scaled down.
    fn home(&self, simhash: u64, block: usize) -> usize {
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let width = 64 / self.blocks as u32;
        let last = block + 1 == self.blocks;
        let bits = simhash >> (block as u32 * width);
        let bits = if last { bits } else { bits & ((1 << width) - 1) };
        ((u128::from(bits.wrapping_mul(SPREAD)) * self.capacity as u128) >> 64) as usize
    }

    pub(super) fn memory_bytes(&self) -> usize {
        2 * self.capacity * bytes_per_entry(self.blocks)
    }
}
