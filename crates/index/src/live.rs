//! Which documents are live: of those with the same URL hash one, the latest.

use std::borrow::Borrow;
use std::collections::HashMap;

use crate::segment::Segment;

/// A bit for each document of a segment.
#[derive(Debug, Clone)]
pub struct Bits(Vec<u64>);

impl Bits {
    /// None set, of so many documents.
    pub fn new(documents: u32) -> Self {
        Self(vec![0; documents.div_ceil(64) as usize])
    }

    /// Sets a document's bit.
    #[inline]
    pub fn set(&mut self, document: u32) {
        self.0[document as usize / 64] |= 1 << (document % 64);
    }

    /// Whether a document's bit is set; false beyond the segment.
    #[inline]
    pub fn get(&self, document: u32) -> bool {
        self.0.get(document as usize / 64).is_some_and(|word| word >> (document % 64) & 1 != 0)
    }

    /// How many are set that are not set in `other`.
    pub fn without(&self, other: &Self) -> u32 {
        self.0.iter().zip(&other.0).map(|(word, other)| (word & !other).count_ones()).sum()
    }

    /// How many are set.
    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

/// For each segment, which documents another one with the same URL hash has superseded: kept is
/// that of the greatest visit, of equal visits the last.
pub fn superseded(segments: &[impl Borrow<Segment>]) -> Vec<Bits> {
    let documents = |segment: &Segment| segment.info().documents;
    let mut gone: Vec<Bits> =
        segments.iter().map(|segment| Bits::new(documents(segment.borrow()))).collect();
    let total = segments.iter().map(|segment| documents(segment.borrow()) as usize).sum();
    let mut latest: HashMap<u64, (u64, usize, u32)> = HashMap::with_capacity(total);
    for (place, segment) in segments.iter().enumerate() {
        let segment = segment.borrow();
        for document in 0..documents(segment) {
            let new = (segment.visit(document), place, document);
            let hash = segment.url_hash(document);
            if let Some(old) = latest.insert(hash, new) {
                let kept = old.max(new);
                let lost = old.min(new);
                latest.insert(hash, kept);
                gone[lost.1].set(lost.2);
            }
        }
    }
    gone
}
