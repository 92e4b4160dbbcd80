//! A: the offers since the last flush, in order.
//!
//! Header, then one frame an offer, little-endian: signature u64 · `url_hash` u64 · `from_hash` u64 ·
//! score f32 · depth u16 · length of the URL u32 · length of the page's URL u32 · URL · page's URL.
//! A length of the page's URL of 2^32 − 1 says that it is that of the frame before: the links of a
//! page come together, and its URL is written once. The file only grows; its checksum is kept where
//! its length is, in the checkpoint or beside the bitmap of its flush.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;

use super::header;
use crate::files::{Appender, FileState, Files, at, damaged};

const KIND: u8 = b'A';
const FRAME: usize = 38;
const SAME_PAGE: u32 = u32::MAX;
const CHUNK: usize = 64 << 10;

/// A URL as it is offered, with where it was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offer<'a> {
    /// What the sieve compares.
    pub signature: u64,
    /// The normalised URL.
    pub url: &'a str,
    /// Its public identity.
    pub url_hash: u64,
    /// Links from a seed.
    pub depth: u16,
    /// Priority given where it was found.
    pub score: f32,
    /// Identity of the page that links to it, 0 for a seed.
    pub from_hash: u64,
    /// That page's URL, empty for a seed.
    pub from_url: &'a str,
}

/// Writes offers; they count once they are committed.
#[derive(Debug)]
pub(super) struct LogWriter {
    path: String,
    out: Appender,
    frames: Vec<u8>,
    page: Option<String>,
}

impl LogWriter {
    pub(super) fn create(files: &Files, path: &str, key: u64) -> io::Result<Self> {
        files.remove(path)?;
        let mut out = files.appender(path)?;
        out.append(&header::make(KIND, key))?;
        Ok(Self { path: path.to_owned(), out, frames: Vec::new(), page: None })
    }

    /// Goes on where a checkpoint stopped.
    pub(super) fn resume(files: &Files, state: &FileState) -> io::Result<Self> {
        let out = files.resume(&state.path, state.len, state.crc)?;
        Ok(Self { path: state.path.clone(), out, frames: Vec::new(), page: None })
    }

    pub(super) fn push(&mut self, offer: &Offer<'_>) {
        let frames = &mut self.frames;
        let same = self.page.as_deref() == Some(offer.from_url);
        let from_len = if same { SAME_PAGE } else { offer.from_url.len() as u32 };
        let mut frame = [0; FRAME];
        frame[..8].copy_from_slice(&offer.signature.to_le_bytes());
        frame[8..16].copy_from_slice(&offer.url_hash.to_le_bytes());
        frame[16..24].copy_from_slice(&offer.from_hash.to_le_bytes());
        frame[24..28].copy_from_slice(&offer.score.to_le_bytes());
        frame[28..30].copy_from_slice(&offer.depth.to_le_bytes());
        frame[30..34].copy_from_slice(&(offer.url.len() as u32).to_le_bytes());
        frame[34..].copy_from_slice(&from_len.to_le_bytes());
        frames.extend_from_slice(&frame);
        frames.extend_from_slice(offer.url.as_bytes());
        if !same {
            frames.extend_from_slice(offer.from_url.as_bytes());
            let page = self.page.get_or_insert_default();
            page.clear();
            page.push_str(offer.from_url);
        }
    }

    /// Bytes pushed and not yet committed.
    pub(super) fn uncommitted(&self) -> usize {
        self.frames.len()
    }

    /// Appends what was pushed, or nothing of it.
    pub(super) fn commit(&mut self) -> io::Result<()> {
        let outcome = self.out.append(&self.frames);
        self.frames.clear();
        if outcome.is_err() {
            self.page = None;
        }
        outcome.map(drop)
    }

    pub(super) fn flush(&mut self) -> io::Result<FileState> {
        let (len, crc) = self.out.flush()?;
        Ok(FileState { path: self.path.clone(), len, crc })
    }
}

/// Reads offers back, up to the length and against the checksum that were promised.
pub(super) struct LogReader {
    path: PathBuf,
    input: BufReader<Summed>,
    left: u64,
    expected: u32,
    frame: [u8; FRAME],
    url: Vec<u8>,
    page: Vec<u8>,
}

impl LogReader {
    pub(super) fn open(files: &Files, state: &FileState, key: u64) -> io::Result<Self> {
        let path = files.path(&state.path);
        let found = files.len(&state.path)?;
        if found < state.len || state.len < header::LEN as u64 {
            let what = format!("shorter than its checkpoint: {found} < {} bytes", state.len);
            return Err(damaged(&path, what));
        }
        let file = files.reader(&state.path)?.take(state.len);
        let summed = Summed { file, crc: crc32fast::Hasher::new() };
        let mut input = BufReader::with_capacity(CHUNK, summed);
        let mut head = [0; header::LEN];
        input.read_exact(&mut head).map_err(at(&path))?;
        header::check(&path, &head, KIND, key)?;
        Ok(Self {
            path,
            input,
            left: state.len - header::LEN as u64,
            expected: state.crc,
            frame: [0; FRAME],
            url: Vec::new(),
            page: Vec::new(),
        })
    }

    /// Moves to the next frame; at the end the checksum is looked at.
    pub(super) fn advance(&mut self) -> io::Result<bool> {
        if self.left == 0 {
            let found = self.input.get_ref().crc.clone().finalize();
            return if found == self.expected {
                Ok(false)
            } else {
                Err(self.damaged("wrong checksum"))
            };
        }
        let Some(left) = self.left.checked_sub(FRAME as u64) else {
            return Err(self.damaged("it ends inside a frame"));
        };
        self.input.read_exact(&mut self.frame).map_err(at(&self.path))?;
        let [url, page] = [30, 34].map(|start| u32::from_le_bytes(self.bytes(start)));
        let page = (page != SAME_PAGE).then_some(page);
        let text = u64::from(url) + u64::from(page.unwrap_or(0));
        let Some(left) = left.checked_sub(text) else {
            return Err(self.damaged("a frame is longer than the file"));
        };
        self.left = left;
        self.url.resize(url as usize, 0);
        self.input.read_exact(&mut self.url).map_err(at(&self.path))?;
        if let Some(page) = page {
            self.page.resize(page as usize, 0);
            self.input.read_exact(&mut self.page).map_err(at(&self.path))?;
        }
        Ok(true)
    }

    /// The signature in the current frame.
    pub(super) fn signature(&self) -> u64 {
        u64::from_le_bytes(self.bytes(0))
    }

    /// The offer in the current frame.
    pub(super) fn offer(&self) -> io::Result<Offer<'_>> {
        let text = |bytes| str::from_utf8(bytes).map_err(|_| self.damaged("a URL is not UTF-8"));
        Ok(Offer {
            signature: self.signature(),
            url: text(&self.url)?,
            url_hash: u64::from_le_bytes(self.bytes(8)),
            depth: u16::from_le_bytes(self.bytes(28)),
            score: f32::from_le_bytes(self.bytes(24)),
            from_hash: u64::from_le_bytes(self.bytes(16)),
            from_url: text(&self.page)?,
        })
    }

    pub(super) fn damaged(&self, what: &str) -> io::Error {
        damaged(&self.path, format!("damaged: {what}"))
    }

    fn bytes<const N: usize>(&self, start: usize) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.frame[start..start + N]);
        bytes
    }
}

/// A file that sums up what is read of it.
struct Summed {
    file: io::Take<File>,
    crc: crc32fast::Hasher,
}

impl Read for Summed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.crc.update(&buffer[..count]);
        Ok(count)
    }
}
