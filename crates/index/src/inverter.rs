//! One-pass inversion in memory: from terms in the order of texts to lists in the order of terms.
//!
//! A term is found in a table of hashes (keyed, so that nobody can craft collisions) and owns a
//! stream of bytes in a pool: for each of its documents the distance to the one before (vbyte;
//! the first counts from −1), then its positions (the first + 1, the others as distances; vbytes),
//! then a 0. A stream is a chain of slices of 16, 32, … bytes whose last four say where the next
//! begins, so nothing is ever moved, and a term that occurs once costs one small slice.

use std::hash::{BuildHasher, RandomState};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::Error;

const PAGE_BITS: u32 = 20;
const PAGE: usize = 1 << PAGE_BITS;
/// Bytes of the slices of a chain, of which four are the link.
const SLICES: [u16; 9] = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096];
const LINK: usize = 4;

/// What is known of a term.
#[derive(Clone, Copy)]
struct Term {
    /// Where its bytes are.
    start: u32,
    length: u8,
    /// Which slice of the chain is being written, and how many of its bytes are free.
    slice: u8,
    left: u16,
    /// Where its stream begins, and where it goes on.
    head: u32,
    end: u32,
    document: u32,
    position: u32,
    df: u32,
}

/// Pages of bytes, addressed as one.
#[derive(Default)]
struct Pool {
    pages: Vec<Box<[u8]>>,
    free: usize,
}

impl Pool {
    fn allocate(&mut self, bytes: usize) -> Result<u32, Error> {
        if self.free < bytes {
            if self.pages.len() == 1 << (32 - PAGE_BITS) {
                return Err(Error::Full("4 GiB of postings in memory"));
            }
            self.pages.push(vec![0; PAGE].into_boxed_slice());
            self.free = PAGE;
        }
        let at = PAGE - self.free;
        self.free -= bytes;
        Ok(((self.pages.len() - 1) << PAGE_BITS | at) as u32)
    }

    #[inline]
    fn at(&self, at: u32) -> &[u8] {
        &self.pages[(at >> PAGE_BITS) as usize][at as usize & (PAGE - 1)..]
    }

    #[inline]
    fn at_mut(&mut self, at: u32) -> &mut [u8] {
        &mut self.pages[(at >> PAGE_BITS) as usize][at as usize & (PAGE - 1)..]
    }
}

/// The terms of documents, inverted.
pub struct Inverter {
    seed: u64,
    /// Upper half of the hash, and the number of the term + 1; 0 is free.
    table: Vec<u64>,
    terms: Vec<Term>,
    bytes: Vec<u8>,
    pool: Pool,
}

impl Inverter {
    pub fn new() -> Self {
        let (terms, bytes) = (Vec::new(), Vec::new());
        let seed = RandomState::new().hash_one(0);
        Self { seed, table: vec![0; 1 << 12], terms, bytes, pool: Pool::default() }
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        8 * self.table.capacity()
            + size_of::<Term>() * self.terms.capacity()
            + self.bytes.capacity()
            + PAGE * self.pool.pages.len()
    }

    /// Adds an occurrence. Documents rise, and positions in a document.
    #[inline]
    pub fn add(&mut self, term: &[u8], document: u32, position: u32) -> Result<(), Error> {
        let id = self.find(term)?;
        let term = &mut self.terms[id];
        let (gap, first);
        if term.document == document && term.df > 0 {
            (gap, first) = (position - term.position, false);
        } else {
            (gap, first) = (position + 1, true);
        }
        term.position = position;
        let mut coded = [0_u8; 11];
        let mut length = 0;
        if first {
            // Ends the document before, whose positions have no end yet.
            length += usize::from(term.df > 0);
            length = vbyte(document.wrapping_sub(term.document), &mut coded, length);
            term.document = document;
            term.df += 1;
        }
        length = vbyte(gap, &mut coded, length);
        if usize::from(term.left) >= length {
            let end = self.pool.at_mut(term.end);
            end[..length].copy_from_slice(&coded[..length]);
            term.left -= length as u16;
            term.end += length as u32;
            return Ok(());
        }
        self.spill(id, &coded[..length])
    }

    /// Appends bytes that go over the end of a slice.
    #[cold]
    fn spill(&mut self, id: usize, bytes: &[u8]) -> Result<(), Error> {
        for &byte in bytes {
            let term = &mut self.terms[id];
            if term.left == 0 {
                term.slice = (term.slice + 1).min(SLICES.len() as u8 - 1);
                let size = SLICES[usize::from(term.slice)];
                let next = self.pool.allocate(usize::from(size))?;
                self.pool.at_mut(term.end)[..LINK].copy_from_slice(&next.to_le_bytes());
                term.end = next;
                term.left = size - LINK as u16;
            }
            self.pool.at_mut(term.end)[0] = byte;
            term.end += 1;
            term.left -= 1;
        }
        Ok(())
    }

    /// The number of a term, which is new if it must be.
    #[inline]
    fn find(&mut self, term: &[u8]) -> Result<usize, Error> {
        let hash = xxh3_64_with_seed(term, self.seed);
        let mask = self.table.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.table[at];
            if slot == 0 {
                return self.insert(term, hash, at);
            }
            if (slot ^ hash) >> 32 == 0 {
                let id = (slot as u32 - 1) as usize;
                let Term { start, length, .. } = self.terms[id];
                if self.bytes[start as usize..][..usize::from(length)] == *term {
                    return Ok(id);
                }
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn insert(&mut self, term: &[u8], hash: u64, at: usize) -> Result<usize, Error> {
        let id = self.terms.len();
        let room = u32::MAX as usize - 256;
        if id >= room || self.bytes.len() >= room {
            return Err(Error::Full("4 GiB of terms in memory"));
        }
        let head = self.pool.allocate(usize::from(SLICES[0]))?;
        self.terms.push(Term {
            start: self.bytes.len() as u32,
            length: term.len() as u8,
            slice: 0,
            left: SLICES[0] - LINK as u16,
            head,
            end: head,
            document: u32::MAX,
            position: 0,
            df: 0,
        });
        self.bytes.extend_from_slice(term);
        self.table[at] = hash >> 32 << 32 | (id as u64 + 1);
        if 2 * self.terms.len() > self.table.len() {
            self.grow();
        }
        Ok(id)
    }

    fn grow(&mut self) {
        let mut table = vec![0; 4 * self.table.len()];
        let mask = table.len() - 1;
        for (id, &Term { start, length, .. }) in self.terms.iter().enumerate() {
            let term = &self.bytes[start as usize..][..usize::from(length)];
            let hash = xxh3_64_with_seed(term, self.seed);
            let mut at = hash as usize & mask;
            while table[at] != 0 {
                at = (at + 1) & mask;
            }
            table[at] = hash >> 32 << 32 | (id as u64 + 1);
        }
        self.table = table;
    }

    /// The terms in the order of their bytes.
    pub fn sorted(&self) -> Vec<u32> {
        let mut order: Vec<(u64, u32)> = (0..self.terms.len() as u32)
            .map(|id| {
                let term = self.term(id);
                let mut head = [0; 8];
                let length = term.len().min(8);
                head[..length].copy_from_slice(&term[..length]);
                (u64::from_be_bytes(head), id)
            })
            .collect();
        order.sort_unstable_by(|one, other| {
            one.0.cmp(&other.0).then_with(|| self.term(one.1).cmp(self.term(other.1)))
        });
        order.into_iter().map(|(_, id)| id).collect()
    }

    /// The bytes of a term.
    pub fn term(&self, id: u32) -> &[u8] {
        let Term { start, length, .. } = self.terms[id as usize];
        &self.bytes[start as usize..][..usize::from(length)]
    }

    /// Calls `posting` for each document of a term: the document, and its positions, of which the
    /// first is as it is and the others are distances, less one.
    pub fn postings(&self, id: u32, places: &mut Vec<u32>, mut posting: impl FnMut(u32, &[u32])) {
        let term = &self.terms[id as usize];
        let mut stream = Stream::new(&self.pool, term);
        let mut document = u32::MAX;
        for _ in 0..term.df {
            document = document.wrapping_add(stream.vbyte());
            places.clear();
            loop {
                let place = stream.vbyte();
                if place == 0 {
                    break;
                }
                places.push(place - 1);
            }
            posting(document, places);
        }
    }
}

/// Writes a number from `at` on; where it ends.
#[inline]
fn vbyte(mut value: u32, out: &mut [u8; 11], mut at: usize) -> usize {
    while value >= 0x80 {
        out[at] = value as u8 | 0x80;
        value >>= 7;
        at += 1;
    }
    out[at] = value as u8;
    at + 1
}

/// Reads a chain of slices.
struct Stream<'a> {
    pool: &'a Pool,
    slice: usize,
    bytes: &'a [u8],
    at: usize,
    /// Where the last slice ends.
    end: u32,
    last: bool,
}

impl<'a> Stream<'a> {
    fn new(pool: &'a Pool, term: &Term) -> Self {
        let mut stream = Self { pool, slice: 0, bytes: &[], at: 0, end: term.end, last: false };
        stream.enter(term.head);
        stream
    }

    fn enter(&mut self, start: u32) {
        let room = usize::from(SLICES[self.slice]) - LINK;
        self.last = (start..=start + room as u32).contains(&self.end);
        let length = if self.last { (self.end - start) as usize } else { room };
        self.bytes = &self.pool.at(start)[..length + LINK];
        self.at = 0;
    }

    /// The next byte; 0 behind the end, which ends the last document.
    #[inline]
    fn byte(&mut self) -> u8 {
        if self.at + LINK == self.bytes.len() {
            if self.last {
                return 0;
            }
            let mut link = [0; LINK];
            link.copy_from_slice(&self.bytes[self.at..]);
            self.slice = (self.slice + 1).min(SLICES.len() - 1);
            self.enter(u32::from_le_bytes(link));
        }
        self.at += 1;
        self.bytes[self.at - 1]
    }

    #[inline]
    fn vbyte(&mut self) -> u32 {
        let mut value = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.byte();
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    }
}
