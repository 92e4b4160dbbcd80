//! The queue of one host: its head in memory, the rest on disk, first in, first out.
//!
//! Records are numbered as they are pushed; the queue holds those of `head..end`, preceded by
//! the `returned` ones, which were leased and came back. In order:
//!
//! ```text
//! returned │ front: memory │ chunks: disk │ back: memory
//! ```
//! Invariants: without chunks `back` is empty; when the first chunk holds record `head`, the
//! front is either empty or the rest of that chunk, so that it can be dropped without writing.
//! The cost in memory of what is on disk is one [`Chunk`] a run of records.
//!
//! A checkpoint logs of a queue `head`, `end`, the returned records, and only the chunks and
//! records that no earlier checkpoint has logged ([`Queue::log`]). Reading the entries back
//! ([`Replay`]) lays numbered pieces over each other, newest on top: a chunk covers the records
//! that had been logged before they were spilled.

use std::collections::{BTreeMap, VecDeque};

use super::Result;
use super::record;
use super::segments::{Chunk, Segments};
use super::wire::{put_bytes, put_varint, take_bytes, take_u32, take_varint};

/// Records in memory: `bytes[start..]`, of which those before `logged` are in the state log.
#[derive(Debug, Default)]
struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    logged: usize,
}

impl Buffer {
    fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }

    fn append(&mut self, record: &[u8]) {
        if self.bytes.capacity() - self.bytes.len() < record.len() {
            let more = record.len().max(self.bytes.len() / 4);
            self.bytes.reserve_exact(more);
        }
        self.bytes.extend_from_slice(record);
    }

    /// Takes the first record.
    fn pop(&mut self) -> Option<Box<[u8]>> {
        let length = record::first_len(&self.bytes[self.start..])?;
        let record = Box::from(&self.bytes[self.start..self.start + length]);
        self.start += length;
        if self.is_empty() {
            *self = Self::default();
        } else if self.start >= 1024 && self.start * 2 >= self.bytes.len() {
            self.bytes.drain(..self.start);
            self.bytes.shrink_to_fit();
            self.logged = self.logged.saturating_sub(self.start);
            self.start = 0;
        }
        Some(record)
    }
}

/// What a queue has that does not fit in memory, and what was pushed behind it.
#[derive(Debug, Default)]
struct Spilled {
    chunks: VecDeque<Chunk>,
    back: Buffer,
}

/// The queue of one host.
#[derive(Debug, Default)]
pub(super) struct Queue {
    head: u64,
    end: u64,
    front: Buffer,
    // Boxed, because most hosts have neither and there are very many hosts.
    spilled: Option<Box<Spilled>>,
    #[allow(clippy::box_collection)]
    returned: Option<Box<Vec<u8>>>,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.head == self.end && self.returned.is_none()
    }

    /// Records in it.
    pub(super) fn len(&self) -> u64 {
        let returned = self.returned.as_ref().and_then(|bytes| record::count(bytes));
        self.end - self.head + returned.unwrap_or(0)
    }

    /// Heap bytes of the buffers and chunk pointers.
    pub(super) fn bytes(&self) -> usize {
        let spilled = self.spilled.as_ref().map_or(0, |spilled| {
            size_of::<Spilled>()
                + spilled.back.bytes.capacity()
                + spilled.chunks.capacity() * size_of::<Chunk>()
        });
        let returned = self.returned.as_ref().map_or(0, |bytes| bytes.capacity());
        self.front.bytes.capacity() + spilled + returned
    }

    /// Bytes that spilling would write, and bytes that it would drop without writing.
    pub(super) fn spillable(&self) -> (usize, usize) {
        match &self.spilled {
            None => (self.front.bytes.capacity(), 0),
            Some(spilled) if self.on_first_chunk(spilled) => {
                (spilled.back.bytes.capacity(), self.front.bytes.capacity())
            }
            Some(spilled) => (spilled.back.bytes.capacity() + self.front.bytes.capacity(), 0),
        }
    }

    fn on_first_chunk(&self, spilled: &Spilled) -> bool {
        spilled.chunks.front().is_some_and(|chunk| chunk.first <= self.head)
    }

    /// Appends a record at the tail.
    pub(super) fn push(&mut self, record: &[u8]) {
        match &mut self.spilled {
            None => self.front.append(record),
            Some(spilled) => spilled.back.append(record),
        }
        self.end += 1;
    }

    /// Puts whole records back before all others.
    pub(super) fn give_back(&mut self, mut records: Vec<u8>) {
        if records.is_empty() {
            return;
        }
        if let Some(returned) = self.returned.take() {
            records.extend_from_slice(&returned);
        }
        self.returned = Some(Box::new(records));
    }

    /// Takes up to `limit` records from the head.
    pub(super) fn pop(
        &mut self,
        limit: usize,
        segments: &mut Segments,
        out: &mut Vec<Box<[u8]>>,
    ) -> Result<()> {
        let wanted = out.len() + limit;
        if let Some(returned) = self.returned.take() {
            let mut rest = &returned[..];
            while out.len() < wanted && !rest.is_empty() {
                let Some(length) = record::first_len(rest) else { break };
                out.push(Box::from(&rest[..length]));
                rest = &rest[length..];
            }
            if !rest.is_empty() {
                self.returned = Some(Box::new(rest.to_vec()));
            }
        }
        while out.len() < wanted && self.head < self.end {
            if self.front.is_empty() {
                self.refill(segments)?;
            }
            let Some(record) = self.front.pop() else {
                return Err(segments.lost(self.spilled.as_ref().and_then(|s| s.chunks.front())));
            };
            out.push(record);
            self.head += 1;
            self.leave_first_chunk(segments);
        }
        Ok(())
    }

    fn refill(&mut self, segments: &mut Segments) -> Result<()> {
        let Some(chunk) = self.spilled.as_ref().and_then(|spilled| spilled.chunks.front()) else {
            return Ok(());
        };
        let bytes = segments.read(chunk)?;
        let start = record::run_len(&bytes, self.head - chunk.first)
            .filter(|_| record::count(&bytes) == Some(u64::from(chunk.count)))
            .ok_or_else(|| segments.lost(Some(chunk)))?;
        self.front = Buffer { logged: bytes.len(), bytes, start };
        Ok(())
    }

    fn leave_first_chunk(&mut self, segments: &mut Segments) {
        let Some(spilled) = &mut self.spilled else { return };
        if let Some(chunk) = spilled.chunks.pop_front_if(|chunk| chunk.end() <= self.head) {
            segments.release(&chunk);
        }
        if spilled.chunks.is_empty() {
            self.front = std::mem::take(&mut spilled.back);
            self.spilled = None;
        }
    }

    /// Moves what is only in memory to disk, in chunks of about `size` bytes; with `all`, the
    /// records read back from the first chunk are dropped too.
    pub(super) fn spill(&mut self, segments: &mut Segments, size: usize, all: bool) -> Result<()> {
        let end = self.end;
        let Some(spilled) = &mut self.spilled else {
            if !self.front.is_empty() {
                let mut chunks = VecDeque::new();
                write(&self.front, self.head, segments, size, &mut chunks)?;
                self.front = Buffer::default();
                let back = Buffer::default();
                self.spilled = Some(Box::new(Spilled { chunks, back }));
            }
            return Ok(());
        };
        if !spilled.back.is_empty() {
            let first = spilled.chunks.back().map_or(end, Chunk::end);
            write(&spilled.back, first, segments, size, &mut spilled.chunks)?;
            spilled.back = Buffer::default();
        }
        let on_disk = spilled.chunks.front().is_some_and(|chunk| chunk.first <= self.head);
        if !on_disk && !self.front.is_empty() {
            let mut chunks = VecDeque::new();
            write(&self.front, self.head, segments, size, &mut chunks)?;
            chunks.append(&mut spilled.chunks);
            spilled.chunks = chunks;
            self.front = Buffer::default();
        } else if all && on_disk {
            self.front = Buffer::default();
        }
        Ok(())
    }

    /// Copies the chunks that live in some segments to where the log is written now; says
    /// whether there were any.
    pub(super) fn rewrite(&mut self, from: &[u32], segments: &mut Segments) -> Result<bool> {
        let mut moved = false;
        for chunk in self.spilled.iter_mut().flat_map(|spilled| &mut spilled.chunks) {
            if from.contains(&chunk.segment) {
                let records = segments.read(chunk)?;
                let copy = segments.append(&records, chunk.first, chunk.count)?;
                segments.release(chunk);
                *chunk = copy;
                moved = true;
            }
        }
        Ok(moved)
    }

    /// Writes what the state log does not know yet (with `whole`, everything), `in_flight`
    /// before the returned records: after a crash they come back.
    pub(super) fn log(&mut self, in_flight: &[u8], whole: bool, out: &mut Vec<u8>) {
        put_varint(out, self.head);
        put_varint(out, self.end);
        let returned = self.returned.as_ref().map_or(&[][..], |bytes| &bytes[..]);
        put_varint(out, (in_flight.len() + returned.len()) as u64);
        out.extend_from_slice(in_flight);
        out.extend_from_slice(returned);

        let mut runs = [(0, &[][..]), (0, &[][..])];
        let mut front_end = self.end;
        let mut on_disk = false;
        let mut count = 0;
        if let Some(spilled) = &mut self.spilled {
            on_disk = spilled.chunks.front().is_some_and(|chunk| chunk.first <= self.head);
            front_end = spilled.chunks.front().map_or(self.end, |chunk| chunk.first);
            count = spilled.chunks.iter().filter(|chunk| whole || !chunk.logged).count();
        }
        put_varint(out, count as u64);
        if let Some(spilled) = &mut self.spilled {
            for chunk in spilled.chunks.iter_mut().filter(|chunk| whole || !chunk.logged) {
                for number in [chunk.first, chunk.offset, u64::from(chunk.len)] {
                    put_varint(out, number);
                }
                put_varint(out, u64::from(chunk.count));
                put_varint(out, u64::from(chunk.segment));
                chunk.logged = true;
            }
        }
        let new = |buffer: &'_ Buffer| -> std::ops::Range<usize> {
            let from = if whole { buffer.start } else { buffer.logged.max(buffer.start) };
            from..buffer.bytes.len()
        };
        if !on_disk {
            runs[0] = (front_end, &self.front.bytes[new(&self.front)]);
        }
        if let Some(spilled) = &self.spilled {
            runs[1] = (self.end, &spilled.back.bytes[new(&spilled.back)]);
        }
        for (end, bytes) in runs {
            put_varint(out, end - record::count(bytes).unwrap_or(0));
            put_bytes(out, bytes);
        }
        self.front.logged = self.front.bytes.len();
        if let Some(spilled) = &mut self.spilled {
            spilled.back.logged = spilled.back.bytes.len();
        }
    }
}

/// Writes the records of a buffer as chunks.
fn write(
    buffer: &Buffer,
    mut first: u64,
    segments: &mut Segments,
    size: usize,
    chunks: &mut VecDeque<Chunk>,
) -> Result<()> {
    let mut rest = &buffer.bytes[buffer.start..];
    while !rest.is_empty() {
        let (mut length, mut count) = (0, 0);
        while length < rest.len() && (count == 0 || length < size) {
            length += record::first_len(&rest[length..]).unwrap_or(rest.len() - length);
            count += 1;
        }
        chunks.push_back(segments.append(&rest[..length], first, count)?);
        first += u64::from(count);
        rest = &rest[length..];
    }
    chunks.shrink_to_fit();
    Ok(())
}

#[derive(Debug)]
enum Piece {
    Memory(Vec<u8>),
    Disk(Chunk),
}

/// A queue being read back from the state log.
#[derive(Debug, Default)]
pub(super) struct Replay {
    head: u64,
    end: u64,
    returned: Vec<u8>,
    pieces: BTreeMap<u64, (u64, Piece)>,
}

impl Replay {
    /// Takes one entry that [`Queue::log`] wrote; `None` if the bytes are none.
    pub(super) fn apply(&mut self, bytes: &mut &[u8]) -> Option<()> {
        self.head = take_varint(bytes)?;
        self.end = take_varint(bytes)?;
        self.returned = take_bytes(bytes)?.to_vec();
        record::count(&self.returned)?;
        for _ in 0..take_varint(bytes)? {
            let chunk = Chunk {
                first: take_varint(bytes)?,
                offset: take_varint(bytes)?,
                len: take_u32(bytes)?,
                count: take_u32(bytes)?,
                segment: take_u32(bytes)?,
                logged: true,
            };
            self.lay(chunk.first, u64::from(chunk.count), Piece::Disk(chunk))?;
        }
        for _ in 0..2 {
            let first = take_varint(bytes)?;
            let records = take_bytes(bytes)?;
            self.lay(first, record::count(records)?, Piece::Memory(records.to_vec()))?;
        }
        while let Some(entry) = self.pieces.first_entry() {
            if entry.key().checked_add(entry.get().0)? > self.head {
                break;
            }
            entry.remove();
        }
        Some(())
    }

    /// Lays a piece over those that hold the same records.
    fn lay(&mut self, first: u64, count: u64, piece: Piece) -> Option<()> {
        let end = first.checked_add(count)?;
        if count == 0 {
            return Some(());
        }
        self.cut(first)?;
        self.cut(end)?;
        let covered: Vec<u64> = self.pieces.range(first..end).map(|(first, _)| *first).collect();
        for first in covered {
            self.pieces.remove(&first);
        }
        self.pieces.insert(first, (count, piece));
        Some(())
    }

    /// Makes a piece begin at `number`, if one goes across it.
    fn cut(&mut self, number: u64) -> Option<()> {
        let Some((first, (count, piece))) = self.pieces.range_mut(..number).next_back() else {
            return Some(());
        };
        if *first + *count <= number {
            return Some(());
        }
        let Piece::Memory(bytes) = piece else { return None };
        let tail = bytes.split_off(record::run_len(bytes, number - first)?);
        let rest = *first + *count - number;
        *count = number - first;
        self.pieces.insert(number, (rest, Piece::Memory(tail)));
        Some(())
    }

    /// The queue as it was; `None` if records are missing.
    pub(super) fn finish(mut self, segments: &mut Segments) -> Result<Option<Queue>> {
        let mut queue = Queue { head: self.head, end: self.end, ..Queue::default() };
        queue.give_back(std::mem::take(&mut self.returned));
        let mut next = self.head;
        for (first, (count, piece)) in self.pieces {
            if first > next || first + count <= next || (first < next && next > self.head) {
                return Ok(None);
            }
            match piece {
                Piece::Memory(bytes) => {
                    let Some(skip) = record::run_len(&bytes, next - first) else { return Ok(None) };
                    match &mut queue.spilled {
                        None => queue.front.append(&bytes[skip..]),
                        Some(spilled) => spilled.back.append(&bytes[skip..]),
                    }
                }
                Piece::Disk(chunk) => {
                    let spilled = queue.spilled.get_or_insert_default();
                    if !spilled.back.is_empty() {
                        return Ok(None);
                    }
                    segments.retain(&chunk)?;
                    spilled.chunks.push_back(chunk);
                }
            }
            next = first + count;
        }
        if next != self.end {
            return Ok(None);
        }
        queue.front.logged = queue.front.bytes.len();
        if let Some(spilled) = &mut queue.spilled {
            spilled.back.logged = spilled.back.bytes.len();
        }
        Ok(Some(queue))
    }
}
