//! Z: the sorted signatures of all URLs that have come out or wait to.
//!
//! Header, then the signatures, u64 little-endian in strictly ascending order, then a trailer: their
//! number, u64 · CRC-32 of everything before the trailer, u32 · `ZEND`. A file is written once, from
//! one merge, and verified whole by the next merge, which reads it all; opening looks at its ends.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::{header, signature};
use crate::files::{Appender, FileState, Files, at, damaged};

const KIND: u8 = b'Z';
const TRAILER: usize = 16;
const END: &[u8; 4] = b"ZEND";
const CHUNK: usize = 64 << 10;

/// Writes one generation.
pub(super) struct SignatureWriter {
    path: String,
    out: Appender,
    count: u64,
}

impl SignatureWriter {
    pub(super) fn create(files: &Files, path: &str, key: u64) -> io::Result<Self> {
        files.remove(path)?;
        let mut out = files.appender(path)?;
        out.append(&header::make(KIND, key))?;
        Ok(Self { path: path.to_owned(), out, count: 0 })
    }

    pub(super) fn push(&mut self, signature: u64) -> io::Result<()> {
        self.count += 1;
        self.out.append(&signature.to_le_bytes()).map(drop)
    }

    /// Closes the file and tells how many signatures it holds.
    pub(super) fn finish(mut self) -> io::Result<(FileState, u64)> {
        let (_, crc) = self.out.flush()?;
        let mut trailer = [0; TRAILER];
        trailer[..8].copy_from_slice(&self.count.to_le_bytes());
        trailer[8..12].copy_from_slice(&crc.to_le_bytes());
        trailer[12..].copy_from_slice(END);
        self.out.append(&trailer)?;
        let (len, crc) = self.out.flush()?;
        Ok((FileState { path: self.path, len, crc }, self.count))
    }
}

/// Reads one generation from its beginning.
pub struct SignatureReader {
    path: PathBuf,
    file: File,
    count: u64,
    left: u64,
    chunk: Vec<u8>,
    position: usize,
    crc: crc32fast::Hasher,
    expected: u32,
}

impl SignatureReader {
    /// Opens a file and checks its header, trailer and length.
    ///
    /// # Errors
    /// When it cannot be read, or is not a whole file of this sieve.
    pub fn open(files: &Files, path: &str, key: u64) -> io::Result<Self> {
        let mut file = files.reader(path)?;
        let path = files.path(path);
        let len = file.metadata().map_err(at(&path))?.len();
        if len < (header::LEN + TRAILER) as u64 {
            return Err(damaged(&path, format!("truncated: {len} bytes are no signature file")));
        }
        let mut head = [0; header::LEN];
        let mut trailer = [0; TRAILER];
        file.read_exact(&mut head)
            .and_then(|()| file.seek(SeekFrom::End(-(TRAILER as i64))))
            .and_then(|_| file.read_exact(&mut trailer))
            .and_then(|()| file.seek(SeekFrom::Start(header::LEN as u64)))
            .map_err(at(&path))?;
        header::check(&path, &head, KIND, key)?;
        let count = word(&trailer[..8]);
        let body = len - (header::LEN + TRAILER) as u64;
        if trailer[12..] != *END || count.checked_mul(8) != Some(body) {
            return Err(damaged(&path, "truncated or damaged: its trailer does not fit"));
        }
        let mut crc = crc32fast::Hasher::new();
        crc.update(&head);
        let expected = word(&trailer[8..12]) as u32;
        Ok(Self { path, file, count, left: count, chunk: Vec::new(), position: 0, crc, expected })
    }

    /// How many signatures the file holds.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The next signature.
    ///
    /// # Errors
    /// When the file cannot be read, or its checksum, known after the last one, is wrong.
    pub fn next_signature(&mut self) -> io::Result<Option<u64>> {
        if self.position == self.chunk.len() && !self.refill()? {
            return Ok(None);
        }
        let end = self.position + 8;
        let signature = word(&self.chunk[self.position..end]);
        self.position = end;
        Ok(Some(signature))
    }

    fn refill(&mut self) -> io::Result<bool> {
        let size = CHUNK.min(usize::try_from(self.left * 8).unwrap_or(CHUNK));
        if size == 0 {
            let found = self.crc.clone().finalize();
            return if found == self.expected {
                Ok(false)
            } else {
                Err(damaged(&self.path, "damaged: wrong checksum"))
            };
        }
        self.chunk.resize(size, 0);
        self.file.read_exact(&mut self.chunk).map_err(at(&self.path))?;
        self.crc.update(&self.chunk);
        self.left -= (size / 8) as u64;
        self.position = 0;
        Ok(true)
    }
}

/// Whether the signature of a URL is in the file: a binary search, log₂ n small reads.
///
/// # Errors
/// When the file cannot be read, or is not a whole file of this sieve.
pub fn contains(files: &Files, path: &str, url: &str, key: u64) -> io::Result<bool> {
    let SignatureReader { path, mut file, count, .. } = SignatureReader::open(files, path, key)?;
    let wanted = signature(url, key);
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        match read_at(&mut file, middle, &path)? {
            found if found == wanted => return Ok(true),
            found if found < wanted => low = middle + 1,
            _ => high = middle,
        }
    }
    Ok(false)
}

fn read_at(file: &mut File, index: u64, path: &Path) -> io::Result<u64> {
    let mut bytes = [0; 8];
    file.seek(SeekFrom::Start(header::LEN as u64 + index * 8))
        .and_then(|_| file.read_exact(&mut bytes))
        .map_err(at(path))?;
    Ok(u64::from_le_bytes(bytes))
}

/// A little-endian number of up to 8 bytes.
fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}
