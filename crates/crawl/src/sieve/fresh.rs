//! The URLs that a flush lets out: the rows of A that a bitmap marks.
//!
//! The bitmap's file is: header · number of rows, u64 · ⌈rows / 64⌉ words, u64, row r being bit
//! r mod 64 of word ⌊r / 64⌋ · CRC-32 of all before, u32; little-endian.

use std::io;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{Float32Array, RecordBatch, UInt16Array, UInt64Array};

use super::log::{LogReader, Offer};
use super::{header, signature};
use crate::batch;
use crate::files::{FileState, Files, damaged};

const KIND: u8 = b'F';
const START: usize = header::LEN + 8;

/// Text in a batch, at most (and one URL more): batches stay small whatever the URLs are.
const BATCH_BYTES: usize = 16 << 20;

/// A set of rows.
pub(super) struct Bitmap {
    rows: u64,
    words: Vec<u64>,
}

impl Bitmap {
    pub(super) fn new(rows: usize) -> Self {
        Self { rows: rows as u64, words: vec![0; rows.div_ceil(64)] }
    }

    pub(super) fn mark(&mut self, row: u32) {
        self.words[row as usize / 64] |= 1 << (row % 64);
    }

    fn marked(&self, row: u64) -> bool {
        self.words[row as usize / 64] >> (row % 64) & 1 == 1
    }

    pub(super) fn write(&self, files: &Files, path: &str, key: u64) -> io::Result<FileState> {
        let mut bytes = Vec::with_capacity(START + self.words.len() * 8 + 4);
        bytes.extend_from_slice(&header::make(KIND, key));
        bytes.extend_from_slice(&self.rows.to_le_bytes());
        bytes.extend(self.words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        files.write_atomic(path, &bytes)?;
        let (len, crc) = (bytes.len() as u64, crc32fast::hash(&bytes));
        Ok(FileState { path: path.to_owned(), len, crc })
    }

    fn read(files: &Files, path: &str, key: u64) -> io::Result<Self> {
        let bytes = files.read(path)?;
        let path = files.path(path);
        let truncated = || damaged(&path, "truncated: not a whole bitmap");
        let (body, crc) = bytes.split_last_chunk::<4>().ok_or_else(truncated)?;
        let (head, body) = body.split_first_chunk().ok_or_else(truncated)?;
        header::check(&path, head, KIND, key)?;
        if crc32fast::hash(&bytes[..bytes.len() - 4]) != u32::from_le_bytes(*crc) {
            return Err(damaged(&path, "damaged: wrong checksum"));
        }
        let (rows, body) = body.split_first_chunk().ok_or_else(truncated)?;
        let rows = u64::from_le_bytes(*rows);
        let (words, rest) = body.as_chunks::<8>();
        if !rest.is_empty() || rows.div_ceil(64) != words.len() as u64 {
            return Err(truncated());
        }
        Ok(Self { rows, words: words.iter().map(|word| u64::from_le_bytes(*word)).collect() })
    }
}

/// Reads the fresh rows of one generation of A, in order.
pub struct FreshReader {
    log: LogReader,
    fresh: Bitmap,
    row: u64,
    key: u64,
}

impl FreshReader {
    /// Opens the generation whose first `row` rows have been dealt with.
    ///
    /// # Errors
    /// When a file cannot be read or is damaged.
    pub fn open(
        files: &Files,
        log: &FileState,
        fresh: &str,
        key: u64,
        row: u64,
    ) -> io::Result<Self> {
        let fresh = Bitmap::read(files, fresh, key)?;
        let log = LogReader::open(files, log, key)?;
        let mut reader = Self { log, fresh, row: 0, key };
        while reader.row < row.min(reader.fresh.rows) {
            reader.advance()?;
        }
        Ok(reader)
    }

    /// Rows dealt with: where to go on after a crash.
    pub fn row(&self) -> u64 {
        self.row
    }

    /// Up to `max_rows` fresh URLs ([`batch::URLS`]); none when all have come out.
    ///
    /// # Errors
    /// When a file cannot be read or is damaged.
    pub fn next_batch(&mut self, max_rows: usize) -> io::Result<Option<RecordBatch>> {
        let mut out = Columns::default();
        while out.hashes.len() < max_rows && out.text < BATCH_BYTES && self.row < self.fresh.rows {
            let fresh = self.fresh.marked(self.row);
            self.advance()?;
            if fresh {
                let offer = self.log.offer()?;
                if offer.signature != signature(offer.url, self.key) {
                    return Err(self.log.damaged("a URL does not fit its signature"));
                }
                out.push(&offer);
            }
        }
        if out.hashes.is_empty() && self.row == self.fresh.rows && self.log.advance()? {
            return Err(self.log.damaged("more rows than its bitmap"));
        }
        Ok(out.finish())
    }

    fn advance(&mut self) -> io::Result<()> {
        if !self.log.advance()? {
            return Err(self.log.damaged("fewer rows than its bitmap"));
        }
        self.row += 1;
        Ok(())
    }
}

#[derive(Default)]
struct Columns {
    urls: StringBuilder,
    hashes: Vec<u64>,
    depths: Vec<u16>,
    scores: Vec<f32>,
    from_hashes: Vec<u64>,
    from_urls: StringBuilder,
    text: usize,
}

impl Columns {
    fn push(&mut self, offer: &Offer<'_>) {
        self.urls.append_value(offer.url);
        self.hashes.push(offer.url_hash);
        self.depths.push(offer.depth);
        self.scores.push(offer.score);
        self.from_hashes.push(offer.from_hash);
        self.from_urls.append_value(offer.from_url);
        self.text += offer.url.len() + offer.from_url.len();
    }

    fn finish(mut self) -> Option<RecordBatch> {
        if self.hashes.is_empty() {
            return None;
        }
        let batch = RecordBatch::try_new(
            batch::URLS.clone(),
            vec![
                Arc::new(self.urls.finish()),
                Arc::new(UInt64Array::from(self.hashes)),
                Arc::new(UInt16Array::from(self.depths)),
                Arc::new(Float32Array::from(self.scores)),
                Arc::new(UInt64Array::from(self.from_hashes)),
                Arc::new(self.from_urls.finish()),
            ],
        );
        Some(batch.expect("columns of one length in the order of the schema"))
    }
}
