//! A file that only grows, and knows its length and checksum at every moment.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

use super::{Shared, at};

const BUFFER: usize = 64 << 10;
const FRAME_HEAD: usize = 8;

/// Appends to one file through a 64 KiB buffer.
///
/// What is appended is promised to nobody before [`Appender::flush`] has returned. Dropping an
/// appender throws its buffer away: a destructor could not report the error, and the paths that
/// drop without flushing are those of a crash or a roll-back, where the bytes must not count.
///
/// A failed `append` or `flush` adds nothing: the bytes that were accepted before stay in the
/// buffer, the file is rewritten from its last good length at the next attempt, and a disk that
/// was full may be tried again.
#[derive(Debug)]
pub struct Appender {
    shared: Arc<Shared>,
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
    /// Bytes and checksum of what the operating system holds; the buffer follows.
    written: u64,
    crc: crc32fast::Hasher,
}

impl Appender {
    pub(super) fn new(
        shared: Arc<Shared>,
        path: PathBuf,
        file: File,
        written: u64,
        crc: crc32fast::Hasher,
    ) -> Self {
        Self { shared, path, file, buffer: Vec::with_capacity(BUFFER), written, crc }
    }

    /// Adds bytes and tells at which offset of the file they stand.
    ///
    /// # Errors
    /// When the buffer had to go to the operating system and could not.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<u64> {
        if self.buffer.len() + bytes.len() > BUFFER {
            self.drain()?;
        }
        let offset = self.len();
        if bytes.len() < BUFFER {
            self.buffer.extend_from_slice(bytes);
        } else {
            self.write(bytes)?;
        }
        Ok(offset)
    }

    /// Adds a frame: the length and the CRC-32 of the bytes, both u32 and little-endian, and the
    /// bytes; tells at which offset of the file it begins.
    ///
    /// # Errors
    /// As [`Appender::append`]; `InvalidInput` for 4 GiB or more.
    pub fn append_frame(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let length = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut head = [0; FRAME_HEAD];
        head[..4].copy_from_slice(&length.to_le_bytes());
        head[4..].copy_from_slice(&crc32fast::hash(bytes).to_le_bytes());
        if self.buffer.len() + FRAME_HEAD + bytes.len() > BUFFER {
            self.drain()?;
        }
        let offset = self.len();
        if FRAME_HEAD + bytes.len() <= BUFFER {
            self.buffer.extend_from_slice(&head);
            self.buffer.extend_from_slice(bytes);
        } else {
            let crc = self.crc.clone();
            if let Err(error) = self.write(&head).and_then(|()| self.write(bytes)) {
                (self.written, self.crc) = (offset, crc);
                return Err(error);
            }
        }
        Ok(offset)
    }

    /// Hands everything to the operating system (with `fsync`, to the disk) and returns the
    /// length of the file and the CRC-32 of its whole content.
    ///
    /// # Errors
    /// When a write or the sync fails.
    pub fn flush(&mut self) -> io::Result<(u64, u32)> {
        self.drain()?;
        if self.shared.fsync {
            self.shared.plan.act(|| self.file.sync_data()).map_err(at(&self.path))?;
        }
        Ok((self.written, self.crc.clone().finalize()))
    }

    /// Length of the file, with what is still in the buffer.
    pub fn len(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Whether nothing has been appended yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn drain(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let buffer = std::mem::take(&mut self.buffer);
        let outcome = self.write(&buffer);
        self.buffer = buffer;
        if outcome.is_ok() {
            self.buffer.clear();
        }
        outcome
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file
            .seek(SeekFrom::Start(self.written))
            .and_then(|_| self.shared.plan.write(&mut self.file, bytes))
            .map_err(at(&self.path))?;
        self.crc.update(bytes);
        self.written += bytes.len() as u64;
        Ok(())
    }
}
