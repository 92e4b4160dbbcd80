//! Duplicates found during the crawl, within a byte budget.
//!
//! A page is an *exact* duplicate when the digest of its text was seen before, else a *near* one
//! when the simhash of some page seen before is within Hamming distance `k` of its own: of those
//! the closest, then the earliest. Pages are marked in the order given, each against all before
//! it, so the marks depend on the sequence alone and not on how it is cut into batches.
//!
//! *Recall.* Two words within distance `k ≤ 3` agree on one of any `k + 1` blocks of their bits
//! at least (pigeonhole). Simhashes are filed under each of their `k + 1` blocks, a page looks
//! through the lists of its own blocks and compares whole words: nothing within `k` is missed
//! (Manku, Jain, Das Sarma, *Detecting near-duplicates for web crawling*, WWW 2007). A simhash
//! is filed once: later pages with the same one could never be the earlier witness.
//!
//! A text without words has the simhash 0, which says nothing: it is compared exactly only.
//!
//! *Memory.* Digests and simhashes live in two generations each ([`exact`], [`lists`]). When the
//! current one is full the previous is forgotten and the current takes its place. A witness
//! found in the previous generation alone moves into the current one with its URL, so a cluster
//! keeps its representative for as long as pages keep joining it. Duplicates are therefore found
//! among at least the latest [`Duplicates::window`] = n pages with text, where
//!
//! > n = bytes / (2 · (24 + 8 + 16 + 4(k + 1) + 4(k + 1)))
//!
//! is `bytes / 160` at `k = 3` (a 64 MiB budget: the latest 419 thousand pages or more), and
//! among twice as many at best. Everything is allocated at the start.
//!
//! Marks restart from stored pages: feeding the columns of the latest 2n pages to
//! [`Duplicates::mark`] rebuilds the memory.
//!
//! *Cost.* A page compares itself with the simhashes that share one of its blocks: about
//! `2n (k + 1) / 2^16` at `k = 3` if simhashes are spread evenly; many distinct simhashes that
//! share a block make its list as long as they are many.

mod exact;
mod lists;

use exact::Exact;
use lists::Lists;

/// Why a page is a duplicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Its text has the same digest.
    Exact,
    /// Its simhash is within the distance.
    Near,
}

impl Kind {
    /// The word used in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Near => "near",
        }
    }
}

/// A page's verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Exact or near.
    pub kind: Kind,
    /// URL hash of the page that it repeats.
    pub duplicate_of: u64,
    /// Hamming distance of the simhashes; 0 for an exact duplicate.
    pub distance: u8,
}

/// What is looked at in a page.
#[derive(Debug, Clone, Copy)]
pub struct Fingerprint {
    /// BLAKE3-128 of the normalised text.
    pub text_digest: [u8; 16],
    /// Simhash of the normalised text.
    pub simhash: u64,
    /// The page's own name, given to those that repeat it.
    pub url_hash: u64,
}

/// A wrong size or distance.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum DuplicatesError {
    /// Four blocks bear distances up to 3.
    #[error("near: k = {0} is not between 0 and 3")]
    Distance(u8),
    /// Too little memory to remember anything.
    #[error("near: {0} bytes are not between 64 KiB and 512 GiB")]
    Memory(usize),
}

/// The memory of texts seen.
#[derive(Debug)]
pub struct Duplicates {
    k: u8,
    window: usize,
    seen: u64,
    exact: Exact,
    lists: Lists,
}

impl Duplicates {
    /// A memory of at most this many bytes for near duplicates within distance `k`, 0 to 3.
    ///
    /// # Errors
    /// When `k` or the size is out of range.
    pub fn new(bytes: usize, k: u8) -> Result<Self, DuplicatesError> {
        if k > 3 {
            return Err(DuplicatesError::Distance(k));
        }
        if !(1 << 16..=1 << 39).contains(&bytes) {
            return Err(DuplicatesError::Memory(bytes));
        }
        let blocks = usize::from(k) + 1;
        let window = bytes / (2 * (exact::BYTES_PER_ENTRY + lists::bytes_per_entry(blocks)));
        Ok(Self {
            k,
            window,
            seen: 0,
            exact: Exact::new(window),
            lists: Lists::new(window, blocks),
        })
    }

    /// Marks the next page and remembers it.
    pub fn mark(&mut self, page: &Fingerprint) -> Option<Mark> {
        self.seen += 1;
        let wordless = page.simhash == 0;
        if let Some(duplicate_of) = self.exact.find_or_insert(page.text_digest, page.url_hash) {
            if !wordless {
                self.lists.find_or_insert(page.simhash, page.url_hash, 0);
            }
            return Some(Mark { kind: Kind::Exact, duplicate_of, distance: 0 });
        }
        if wordless {
            return None;
        }
        let (duplicate_of, distance) =
            self.lists.find_or_insert(page.simhash, page.url_hash, self.k)?;
        Some(Mark { kind: Kind::Near, duplicate_of, distance })
    }

    /// How many of the latest pages, at least, a new page is compared with.
    pub fn window(&self) -> usize {
        self.window
    }

    /// Pages marked so far.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Bytes allocated, never more than the budget.
    pub fn memory_bytes(&self) -> usize {
        self.exact.memory_bytes() + self.lists.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            x ^ x >> 31
        }
    }

    fn page(text: u64, simhash: u64, url_hash: u64) -> Fingerprint {
        Fingerprint { text_digest: u128::from(text).to_le_bytes(), simhash, url_hash }
    }

    /// Pages of which many repeat an earlier text, or differ from an earlier one in up to 5 bits.
    fn pages(random: &mut Random, n: usize) -> Vec<Fingerprint> {
        let mut pages: Vec<Fingerprint> = Vec::new();
        for url_hash in 0..n as u64 {
            let earlier = if pages.is_empty() {
                page(0, 0, 0)
            } else {
                pages[random.next() as usize % pages.len()]
            };
            let mut next = page(url_hash, random.next(), url_hash);
            match random.next() % 4 {
                0 => next = Fingerprint { url_hash, ..earlier },
                1 | 2 => {
                    next.simhash = earlier.simhash;
                    for _ in 0..random.next() % 6 {
                        next.simhash ^= 1 << (random.next() % 64);
                    }
                }
                _ => {}
            }
            pages.push(next);
        }
        pages
    }

    fn brute_force(before: &[Fingerprint], page: &Fingerprint, k: u8) -> Option<Mark> {
        if let Some(same) = before.iter().find(|other| other.text_digest == page.text_digest) {
            return Some(Mark { kind: Kind::Exact, duplicate_of: same.url_hash, distance: 0 });
        }
        let distance = |other: &Fingerprint| (other.simhash ^ page.simhash).count_ones() as u8;
        let worded = before.iter().filter(|other| other.simhash != 0);
        let closest = worded.min_by_key(|other| distance(other)).filter(|_| page.simhash != 0)?;
        let distance = distance(closest);
        (distance <= k).then_some(Mark {
            kind: Kind::Near,
            duplicate_of: closest.url_hash,
            distance,
        })
    }

    #[test]
    fn marks_are_those_of_comparing_with_every_earlier_page() {
        let seed = 0x51e7e;
        for k in 0..=3 {
            let pages = pages(&mut Random(seed), 3000);
            let mut duplicates = Duplicates::new(4 << 20, k).unwrap();
            assert!(duplicates.window() > pages.len());
            let mut near = 0;
            for (at, page) in pages.iter().enumerate() {
                let mark = duplicates.mark(page);
                assert_eq!(
                    mark,
                    brute_force(&pages[..at], page, k),
                    "seed {seed:#x} k {k} at {at}"
                );
                near += u32::from(mark.is_some_and(|mark| mark.kind == Kind::Near));
            }
            assert!(near > 200, "k {k}: {near}");
        }
    }

    #[test]
    fn pages_without_words_are_duplicates_only_when_equal() {
        let mut duplicates = Duplicates::new(1 << 16, 3).unwrap();
        assert_eq!(duplicates.mark(&page(1, 0, 10)), None);
        assert_eq!(duplicates.mark(&page(2, 0, 11)), None);
        let mark = duplicates.mark(&page(1, 0, 12)).unwrap();
        assert_eq!((mark.kind, mark.duplicate_of), (Kind::Exact, 10));
    }

    #[test]
    fn within_the_window_nothing_is_missed_and_no_mark_is_false() {
        let seed = 0xb0_17d;
        for k in 0..=3 {
            let mut duplicates = Duplicates::new(1 << 16, k).unwrap();
            let window = duplicates.window();
            let pages = pages(&mut Random(seed), 12 * window);
            for (at, page) in pages.iter().enumerate() {
                let mark = duplicates.mark(page);
                let due = brute_force(&pages[at.saturating_sub(window)..at], page, k);
                let context = format!("seed {seed:#x} k {k} at {at}: {mark:?}, due {due:?}");
                match (mark, due) {
                    (Some(mark), Some(due)) => {
                        let closer = mark.distance <= due.distance;
                        assert!(
                            mark.kind == Kind::Exact || (due.kind == Kind::Near && closer),
                            "{context}"
                        );
                    }
                    (None, Some(_)) => panic!("{context}"),
                    _ => {}
                }
                if let Some(mark) = mark {
                    let other = &pages[mark.duplicate_of as usize];
                    assert!(mark.duplicate_of < at as u64, "{context}");
                    let apart = (other.simhash ^ page.simhash).count_ones() as u8;
                    match mark.kind {
                        Kind::Exact => assert_eq!(other.text_digest, page.text_digest, "{context}"),
                        Kind::Near => assert_eq!(apart, mark.distance, "{context}"),
                    }
                }
            }
        }
    }

    #[test]
    fn a_cluster_that_goes_on_keeps_its_representative() {
        let mut duplicates = Duplicates::new(1 << 16, 3).unwrap();
        let mut random = Random(3);
        assert_eq!(duplicates.mark(&page(u64::MAX, 0xffff, 77)), None);
        for url_hash in 0..20 * duplicates.window() as u64 {
            if url_hash % 50 == 0 {
                let text = if url_hash % 100 == 0 { u64::MAX } else { url_hash };
                let mark = duplicates.mark(&page(text, 0xffff, url_hash)).unwrap();
                assert_eq!(mark.duplicate_of, 77);
            } else {
                duplicates.mark(&page(url_hash, random.next(), url_hash));
            }
        }
    }

    #[test]
    fn memory_stays_within_the_budget() {
        for k in 0..=3 {
            for bytes in [1 << 16, 100_000, 3 << 20] {
                let mut duplicates = Duplicates::new(bytes, k).unwrap();
                let before = duplicates.memory_bytes();
                assert!(before <= bytes && before > bytes * 9 / 10, "{before} of {bytes}");
                for next in pages(&mut Random(1), 3000) {
                    duplicates.mark(&next);
                }
                assert_eq!(duplicates.memory_bytes(), before);
                assert_eq!(duplicates.seen(), 3000);
            }
        }
    }

    #[test]
    fn sizes_and_distances_out_of_range_are_refused() {
        assert_eq!(Duplicates::new(1 << 20, 4).unwrap_err(), DuplicatesError::Distance(4));
        assert_eq!(Duplicates::new(100, 3).unwrap_err(), DuplicatesError::Memory(100));
    }
}
