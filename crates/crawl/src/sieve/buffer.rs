//! S and A together, and their merge with Z.

use std::io;

use arrow_array::types::{Float32Type, UInt16Type};
use arrow_array::{Array, RecordBatch};

use super::fresh::Bitmap;
use super::log::{LogReader, LogWriter, Offer};
use super::recent::Recent;
use super::signature;
use super::signatures::{SignatureReader, SignatureWriter};
use super::sort::sorted_indices;
use crate::batch::{self, ColumnError};
use crate::files::{FileState, Files};

/// Input and output buffers of a merge, with room for the frames on their way to A.
const BUFFERS: usize = 512 << 10;
/// Frames go to A in pieces of about this size.
const PIECE: usize = 64 << 10;
/// The least that a sieve can work with.
const LEAST: usize = 1 << 20;

/// An offer that could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum SieveError {
    /// The batch is not one of [`batch::URLS`].
    #[error(transparent)]
    Column(#[from] ColumnError),
    /// A could not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What a merge made.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The new Z.
    pub z: FileState,
    /// Signatures in it.
    pub known: u64,
    /// A as it was merged.
    pub log: FileState,
    /// The bitmap of its fresh rows.
    pub fresh: FileState,
    /// Number of fresh rows.
    pub count: u64,
}

/// The memory of a sieve: S, and the recent cache in front of it.
///
/// The invariant: the rows of A are the signatures of S, one to one and in order; every signature
/// in the recent cache is in S or in Z.
#[derive(Debug)]
pub struct SieveBuffer {
    files: Files,
    key: u64,
    capacity: usize,
    signatures: Vec<u64>,
    recent: Recent,
    log: LogWriter,
    dropped: u64,
}

impl SieveBuffer {
    /// An empty buffer whose offers go to a new file A.
    ///
    /// Of `memory` bytes an eighth (rounded down to a power of two) is the recent cache. An offer
    /// takes 8 bytes in S, 4 for its index while S is sorted, and a bit in each of two bitmaps:
    /// that of the flush and that of the rows that are being let out.
    ///
    /// # Errors
    /// When A cannot be created, or `memory` is below 1 MiB.
    pub fn create(files: Files, log: &str, key: u64, memory: usize) -> io::Result<Self> {
        let (recent, capacity) = plan(memory)?;
        let log = LogWriter::create(&files, log, key)?;
        let signatures = Vec::with_capacity(capacity);
        Ok(Self { files, key, capacity, signatures, recent, log, dropped: 0 })
    }

    /// The buffer of a checkpoint: A is cut back to it and S is read from A.
    ///
    /// # Errors
    /// When A does not fit the checkpoint, or `memory` is below 1 MiB.
    pub fn resume(files: Files, log: &FileState, key: u64, memory: usize) -> io::Result<Self> {
        let (recent, capacity) = plan(memory)?;
        let writer = LogWriter::resume(&files, log)?;
        let mut signatures = Vec::with_capacity(capacity);
        let mut reader = LogReader::open(&files, log, key)?;
        while reader.advance()? {
            signatures.push(reader.signature());
        }
        Ok(Self { files, key, capacity, signatures, recent, log: writer, dropped: 0 })
    }

    /// Takes the rows of a batch from row `start` on, until S is full, and returns the first row
    /// that it did not take. Offering a row twice does no harm.
    ///
    /// # Errors
    /// When the batch lacks a column, or A cannot be written: the offers not yet in A are then
    /// forgotten, and the batch may be offered again.
    pub fn offer(&mut self, batch: &RecordBatch, start: usize) -> Result<usize, SieveError> {
        let urls = batch::strings(batch, "url")?;
        let url_hashes = batch::hashes(batch, "url_hash")?;
        let depths = batch::numbers::<UInt16Type>(batch, "depth")?;
        let scores = batch::numbers::<Float32Type>(batch, "score")?;
        let from_hashes = batch::hashes(batch, "from_hash")?;
        let from_urls = batch::strings(batch, "from_url")?;
        let mut committed = self.signatures.len();
        let mut row = start;
        while row < urls.len() && !self.is_full() {
            let url = urls.value(row);
            let signature = signature(url, self.key);
            if self.recent.seen(signature) {
                self.dropped += 1;
            } else {
                self.signatures.push(signature);
                self.log.push(&Offer {
                    signature,
                    url,
                    url_hash: url_hashes.value(row),
                    depth: depths.value(row),
                    score: scores.value(row),
                    from_hash: from_hashes.value(row),
                    from_url: from_urls.value(row),
                });
            }
            row += 1;
            if self.log.uncommitted() >= PIECE {
                self.commit(committed)?;
                committed = self.signatures.len();
            }
        }
        self.commit(committed)?;
        Ok(row)
    }

    /// Merges S with `old`, the present Z, into the file `new`, writes the bitmap of the fresh rows
    /// to `fresh`, and starts again, empty, with the file `log` as A. The old files stay.
    ///
    /// # Errors
    /// When a file cannot be written, or the old Z is damaged: the buffer is then as it was.
    pub fn merge(
        &mut self,
        old: Option<&str>,
        new: &str,
        fresh: &str,
        log: &str,
    ) -> io::Result<Merged> {
        let merged = self.merge_files(old, new, fresh).and_then(|merged| {
            self.log = LogWriter::create(&self.files, log, self.key)?;
            Ok(merged)
        });
        match &merged {
            Ok(_) => self.signatures.clear(),
            Err(_) => {
                // Space for the next attempt; the error to tell is the first one.
                let _ = [new, fresh, log].map(|path| self.files.remove(path));
            }
        }
        merged
    }

    /// Hands A to the operating system and tells what a checkpoint must keep of it.
    ///
    /// # Errors
    /// When A cannot be written.
    pub fn flush_log(&mut self) -> io::Result<FileState> {
        self.log.flush()
    }

    /// Whether the URL was offered since the last merge. Reads all of S: not for hot paths.
    pub fn holds(&self, url: &str) -> bool {
        self.signatures.contains(&signature(url, self.key))
    }

    /// Offers since the last merge.
    pub fn pending(&self) -> usize {
        self.signatures.len()
    }

    /// Offers that S has room for.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Whether the next offer needs a merge first.
    pub fn is_full(&self) -> bool {
        self.pending() >= self.capacity
    }

    /// Offers that the recent cache saved.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Bytes in use at the height of a merge, buffers and bitmaps included.
    pub fn memory_bytes(&self) -> usize {
        let offers = self.signatures.capacity().max(self.capacity);
        self.recent.bytes() + BUFFERS + offers * 49 / 4
    }

    /// Makes the offers pushed since S had `committed` signatures rows of A, or forgets them.
    fn commit(&mut self, committed: usize) -> io::Result<()> {
        self.log.commit().inspect_err(|_| {
            self.signatures.truncate(committed);
            self.recent.clear();
        })
    }

    fn merge_files(&mut self, old: Option<&str>, new: &str, fresh: &str) -> io::Result<Merged> {
        let log = self.log.flush()?;
        let order = sorted_indices(&self.signatures);
        let mut bitmap = Bitmap::new(order.len());
        let mut z =
            old.map(|path| SignatureReader::open(&self.files, path, self.key)).transpose()?;
        let mut next = || z.as_mut().map_or(Ok(None), SignatureReader::next_signature);
        let mut out = SignatureWriter::create(&self.files, new, self.key)?;
        let mut known = next()?;
        let mut previous = None;
        let mut count = 0;
        for index in order {
            let signature = self.signatures[index as usize];
            if previous.replace(signature) == Some(signature) {
                continue;
            }
            while let Some(smaller) = known.filter(|&known| known < signature) {
                out.push(smaller)?;
                known = next()?;
            }
            if known != Some(signature) {
                out.push(signature)?;
                bitmap.mark(index);
                count += 1;
            }
        }
        while let Some(rest) = known {
            out.push(rest)?;
            known = next()?;
        }
        let (z, known) = out.finish()?;
        let fresh = bitmap.write(&self.files, fresh, self.key)?;
        Ok(Merged { z, known, log, fresh, count })
    }
}

/// Shares out the memory: the recent cache, and how many offers S holds.
fn plan(memory: usize) -> io::Result<(Recent, usize)> {
    if memory < LEAST {
        let what = format!("a sieve needs at least 1 MiB of memory, not {memory} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    let recent = Recent::new(memory / 8);
    let capacity = (memory - BUFFERS - recent.bytes()) * 4 / 49;
    Ok((recent, capacity.min(u32::MAX as usize)))
}
