//! The 24 bytes at the head of every file of a sieve.
//!
//! `CRVSIEV` and a letter for the kind (`A`, `Z`, `F`) · version, u32 · zero, u32 · a fingerprint of
//! the sieve's key, u64; all little-endian. The fingerprint tells a file made with another key, whose
//! signatures would all look new, from one that belongs here.

use std::io;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::files::damaged;

pub(super) const LEN: usize = 24;
const MAGIC: &[u8; 7] = b"CRVSIEV";
const VERSION: u32 = 1;

pub(super) fn make(kind: u8, key: u64) -> [u8; LEN] {
    let mut header = [0; LEN];
    header[..7].copy_from_slice(MAGIC);
    header[7] = kind;
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[16..].copy_from_slice(&xxh3_64_with_seed(b"crivello sieve", key).to_le_bytes());
    header
}

pub(super) fn check(path: &Path, found: &[u8; LEN], kind: u8, key: u64) -> io::Result<()> {
    let expected = make(kind, key);
    let what = if found[..8] != expected[..8] {
        format!("not a sieve's file of kind {}", char::from(kind))
    } else if found[8..16] != expected[8..16] {
        let version = u32::from_le_bytes([found[8], found[9], found[10], found[11]]);
        format!("version {version} of the sieve's format is unknown here")
    } else if found[16..] != expected[16..] {
        "made with another key than this sieve's".to_owned()
    } else {
        return Ok(());
    };
    Err(damaged(path, what))
}
