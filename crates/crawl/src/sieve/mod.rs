//! The Mercator sieve: every URL comes out exactly once, in order of first appearance.
//!
//! A sieve is told every link that is found and lets each URL out once. Mercator's (Heydon and
//! Najork, *Mercator: a scalable, extensible web crawler*, WWW 1999) does so in constant memory
//! and with sequential input/output only. It keeps
//!
//! - **S**, in memory: the 64-bit signatures of the last offers ([`SieveBuffer`]);
//! - **A**, on disk: the offers themselves, in the same order ([`Offer`]);
//! - **Z**, on disk: the sorted signatures of all URLs ever offered before those of S.
//!
//! When S is full, it is sorted *indirectly and stably*, so that of equal signatures the first
//! appearance comes first, and merged with Z in one sequential pass that writes the next Z. A
//! signature of S that Z lacks marks the position of its first appearance as *fresh* in a bitmap;
//! at last A is read along the bitmap, and the fresh offers come out, in the order of A.
//!
//! Signatures are xxh3-64 seeded with a secret key of the crawl, so that nobody can craft URLs
//! that shadow others. With n URLs known, a new one is mistaken for an old one with probability
//! n/2^64; over a crawl of n URLs n²/2^65 are expected to be lost: 0.03 at 10^9, 2.7 at 10^10.
//!
//! Everything on disk is a generation: A, Z and the bitmap of a flush are new files, and the old
//! ones stay as they are until the caller reclaims them, so that any checkpoint since then can be
//! returned to. When to flush, what to keep and what to forget is the caller's policy; this
//! module is the mechanism. Formats: `docs/formats/sieve.md`.

mod buffer;
mod fresh;
mod header;
mod log;
mod recent;
mod signatures;
mod sort;

use std::sync::Arc;

use arrow_array::{Float32Array, RecordBatch, StringArray, UInt16Array, UInt64Array};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

pub use buffer::{Merged, SieveBuffer, SieveError};
pub use fresh::FreshReader;
pub use log::Offer;
pub use signatures::{SignatureReader, contains};
pub use sort::sorted_indices;

use crate::batch;

/// The signature under which a sieve knows a URL.
pub fn signature(url: &str, key: u64) -> u64 {
    xxh3_64_with_seed(url.as_bytes(), key)
}

/// Offers that come from no page: depth 0, score 0, no origin. The URLs are taken as they are.
///
/// # Panics
/// When the URLs together exceed 2 GiB, the most that a batch can hold.
pub fn rows(urls: &[String]) -> RecordBatch {
    let hashes = urls.iter().map(|url| xxh3_64(url.as_bytes()));
    let count = urls.len();
    RecordBatch::try_new(
        batch::URLS.clone(),
        vec![
            Arc::new(StringArray::from_iter_values(urls)),
            Arc::new(UInt64Array::from_iter_values(hashes)),
            Arc::new(UInt16Array::from_value(0, count)),
            Arc::new(Float32Array::from_value(0.0, count)),
            Arc::new(UInt64Array::from_value(0, count)),
            Arc::new(StringArray::from_iter_values(std::iter::repeat_n("", count))),
        ],
    )
    .expect("columns of one length in the order of the schema")
}

#[cfg(test)]
mod tests;
