//! The queue log: what does not fit in memory, in append-only segments.
//!
//! A segment `queue-<n>.log` is a sequence of frames `crc32 u32 (LE) · records`; a frame is
//! found by the [`Chunk`] that its queue keeps, which also says its length. Segments count
//! the chunks that live in them: one that has been left behind by the writer and holds no
//! living chunk is dead, and is removed once a checkpoint stands that no longer refers to it.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::{FrontierError, Result};
use crate::files::{Appender, Files};

/// Bytes before the records of a frame.
const CRC: u64 = 4;

/// A run of records of one queue, on disk. `first` numbers the first of them in its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) first: u64,
    pub(super) offset: u64,
    pub(super) len: u32,
    pub(super) count: u32,
    pub(super) segment: u32,
    /// Whether the state log knows of it.
    pub(super) logged: bool,
}

impl Chunk {
    /// One past the number of its last record.
    pub(super) fn end(&self) -> u64 {
        self.first + u64::from(self.count)
    }
}

#[derive(Debug, Default)]
struct Segment {
    len: u64,
    /// Bytes of the chunks that live in it.
    living: u64,
    chunks: u64,
    reader: Option<File>,
}

struct Writer {
    number: u32,
    appender: Appender,
    flushed: u64,
}

/// All segments of a frontier.
pub(super) struct Segments {
    files: Files,
    dir: PathBuf,
    /// A segment is left behind when it is this long.
    limit: u64,
    all: BTreeMap<u32, Segment>,
    writer: Option<Writer>,
    next: u32,
    /// Dead at the last checkpoint: `reclaim` removes them.
    dead: Vec<u32>,
}

impl Segments {
    pub(super) fn new(files: Files, dir: PathBuf, limit: u64) -> Self {
        Self { files, dir, limit, all: BTreeMap::new(), writer: None, next: 1, dead: Vec::new() }
    }

    fn name(&self, number: u32) -> PathBuf {
        self.dir.join(file_name(number))
    }

    /// The number that the next new segment will have.
    pub(super) fn next(&self) -> u32 {
        self.next
    }

    /// Bytes on disk.
    pub(super) fn bytes(&self) -> u64 {
        self.all.values().map(|segment| segment.len).sum()
    }

    fn damaged(&self, number: u32, what: &'static str) -> FrontierError {
        FrontierError::Damaged { file: self.files.path(self.name(number)), what }
    }

    /// The error for records of a queue that are not where they should be.
    pub(super) fn lost(&self, chunk: Option<&Chunk>) -> FrontierError {
        self.damaged(
            chunk.map_or(self.next, |chunk| chunk.segment),
            "does not hold the records of its queue",
        )
    }

    /// Writes records and says where they are.
    pub(super) fn append(&mut self, records: &[u8], first: u64, count: u32) -> Result<Chunk> {
        if self.writer.as_ref().is_some_and(|writer| writer.appender.len() >= self.limit) {
            self.flush()?;
            self.writer = None;
        }
        if self.writer.is_none() {
            let appender = self.files.appender(self.name(self.next))?;
            self.all.insert(self.next, Segment::default());
            self.writer = Some(Writer { number: self.next, appender, flushed: 0 });
            self.next += 1;
        }
        let Some(writer) = &mut self.writer else { return Err(self.lost(None)) };
        let number = writer.number;
        let crc = crc32fast::hash(records).to_le_bytes();
        let offset = writer.appender.append(&crc)?;
        writer.appender.append(records)?;
        let segment = self.all.entry(number).or_default();
        segment.len = writer.appender.len();
        segment.living += CRC + records.len() as u64;
        segment.chunks += 1;
        Ok(Chunk {
            first,
            offset,
            len: records.len() as u32,
            count,
            segment: number,
            logged: false,
        })
    }

    /// Reads the records of a chunk.
    pub(super) fn read(&mut self, chunk: &Chunk) -> Result<Vec<u8>> {
        let number = chunk.segment;
        let end = chunk.offset + CRC + u64::from(chunk.len);
        if self.writer.as_ref().is_some_and(|w| w.number == number && w.flushed < end) {
            self.flush()?;
        }
        let mut frame = vec![0; CRC as usize + chunk.len as usize];
        if !self.all.contains_key(&number) {
            return Err(self.damaged(number, "is not there, but a queue refers to it"));
        }
        let segment = self.all.entry(number).or_default();
        if segment.reader.is_none() {
            let path = self.dir.join(file_name(number));
            segment.reader = Some(self.files.reader(path)?);
        }
        let read = segment.reader.as_ref().map(|file| file.read_exact_at(&mut frame, chunk.offset));
        if !matches!(read, Some(Ok(()))) {
            return Err(self.damaged(number, "cannot be read where a queue refers to"));
        }
        let crc = u32::from_le_bytes([frame[0], frame[1], frame[2], frame[3]]);
        frame.drain(..CRC as usize);
        if crc32fast::hash(&frame) != crc {
            return Err(self.damaged(number, "a checksum differs"));
        }
        Ok(frame)
    }

    /// A chunk has been consumed.
    pub(super) fn release(&mut self, chunk: &Chunk) {
        if let Some(segment) = self.all.get_mut(&chunk.segment) {
            segment.chunks -= 1;
            segment.living -= CRC + u64::from(chunk.len);
        }
    }

    /// A queue that is being restored refers to a chunk.
    pub(super) fn retain(&mut self, chunk: &Chunk) -> Result<()> {
        let number = chunk.segment;
        if !self.all.contains_key(&number) {
            if !self.files.exists(self.name(number)) {
                return Err(self.damaged(number, "is not there, but a queue refers to it"));
            }
            let len = self.files.len(self.name(number))?;
            self.all.insert(number, Segment { len, ..Segment::default() });
        }
        let segment = self.all.entry(number).or_default();
        if chunk.offset.saturating_add(CRC + u64::from(chunk.len)) > segment.len {
            return Err(self.damaged(number, "is shorter than its queues say"));
        }
        segment.chunks += 1;
        segment.living += CRC + u64::from(chunk.len);
        Ok(())
    }

    /// After all chunks were retained: what no queue refers to goes away, what a crash left
    /// after the checkpoint is cut off, and new chunks go to new segments.
    pub(super) fn restored(&mut self, next: u32, last_len: u64) -> Result<()> {
        self.next = next.max(1);
        let last = self.next - 1;
        if let Some(segment) = self.all.get_mut(&last) {
            if segment.len < last_len {
                return Err(self.damaged(last, "is shorter than at its checkpoint"));
            }
            segment.len = last_len;
            self.files.truncate(self.name(last), last_len)?;
        }
        Ok(())
    }

    /// Everything appended so far reaches the operating system (and the disk, if asked).
    pub(super) fn flush(&mut self) -> Result<()> {
        if let Some(writer) = &mut self.writer {
            (writer.flushed, _) = writer.appender.flush()?;
        }
        Ok(())
    }

    /// Length of the segment that was begun last.
    pub(super) fn last_len(&self) -> u64 {
        self.all.get(&(self.next - 1)).map_or(0, |segment| segment.len)
    }

    /// A checkpoint is being taken: what is dead now, it does not refer to.
    pub(super) fn mark_dead(&mut self) {
        let writing = self.writer.as_ref().map(|writer| writer.number);
        if writing.is_some_and(|number| self.all[&number].chunks == 0) {
            self.writer = None;
        }
        let dead = self.all.iter().filter(|(_, segment)| segment.chunks == 0);
        self.dead = dead.map(|(number, _)| *number).collect();
    }

    /// The checkpoint stands: removes what was dead then.
    pub(super) fn reclaim(&mut self) -> Result<()> {
        for number in std::mem::take(&mut self.dead) {
            self.all.remove(&number);
            self.files.remove(self.name(number))?;
        }
        Ok(())
    }

    /// Whether a file of that name is a segment that a queue refers to.
    pub(super) fn needs(&self, name: &str) -> bool {
        self.all.keys().any(|&number| file_name(number) == name)
    }

    /// Bytes of all living chunks.
    pub(super) fn living_bytes(&self) -> u64 {
        self.all.values().map(|segment| segment.living).sum()
    }

    /// Segments that are no longer written, of which less than a quarter lives.
    pub(super) fn sparse(&self) -> Vec<u32> {
        let writing = self.writer.as_ref().map(|writer| writer.number);
        let sparse = |(&number, segment): (&u32, &Segment)| {
            let few = segment.chunks > 0 && segment.living < segment.len / 4;
            (few && Some(number) != writing).then_some(number)
        };
        self.all.iter().filter_map(sparse).collect()
    }
}

fn file_name(number: u32) -> String {
    format!("queue-{number:06}.log")
}
