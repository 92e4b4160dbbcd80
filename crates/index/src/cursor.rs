//! A place in a term's list, which moves forward.
//!
//! A cursor decodes a block when it comes to it: the documents at once, occurrences and positions
//! when they are asked for. Bytes that cannot be decoded end the list and leave `failed` behind;
//! whoever has finished with a cursor looks at it.

use crivello_codes::pack::{self, BLOCK};
use crivello_codes::{Corrupt, Reader, vbyte};

use crate::dictionary::List;
use crate::list::{SKIP, weighted};
use crate::score::{Bm25, Point, read_points};
use crate::segment::{length, u32_at};

/// Behind the last document.
pub const END: u32 = u32::MAX;

const NONE: u32 = u32::MAX;

/// A place in a list.
pub struct Cursor<'a> {
    df: u32,
    /// The documents of the segment: no list goes beyond.
    documents: u32,
    blocks: u32,
    /// Points of the list; none when it has one block.
    points: Reader<'a>,
    table: &'a [u8],
    area: &'a [u8],
    positions: &'a [u8],
    has_positions: bool,
    /// The block under the cursor, and how many postings it has.
    block: u32,
    loaded: u32,
    length: usize,
    at: usize,
    document: u32,
    numbers: Box<Numbers>,
    /// Occurrences of the block, once they are asked for.
    counts: Reader<'a>,
    counted: bool,
    places: Places<'a>,
    /// The last document of the block whose bound is known, and that bound.
    bounded: (u32, f64),
    scratch: Vec<Point>,
    /// Whether bytes could not be decoded.
    pub failed: bool,
}

struct Numbers {
    documents: [u32; BLOCK],
    counts: [u32; BLOCK],
    titles: [u32; BLOCK],
}

/// Positions of the block, as far as they have been asked for.
struct Places<'a> {
    start: Reader<'a>,
    reader: Reader<'a>,
    /// Occurrences of the block, and of its postings before each.
    total: usize,
    before: Vec<usize>,
    chunk: usize,
    loaded: Option<usize>,
    values: [u32; BLOCK],
}

impl<'a> Cursor<'a> {
    /// Before the first document of a list. `has_positions` is the segment's.
    pub fn new(list: List<'a>, documents: u32, has_positions: bool) -> Self {
        let blocks = list.df.div_ceil(BLOCK as u32);
        let mut cursor = Self {
            df: list.df,
            documents,
            blocks,
            points: Reader::new(&[]),
            table: &[],
            area: list.postings,
            positions: list.positions,
            has_positions,
            block: 0,
            loaded: NONE,
            length: 0,
            at: 0,
            document: 0,
            numbers: Box::new(Numbers {
                documents: [0; BLOCK],
                counts: [0; BLOCK],
                titles: [0; BLOCK],
            }),
            counts: Reader::new(&[]),
            counted: false,
            places: Places {
                start: Reader::new(&[]),
                reader: Reader::new(&[]),
                total: 0,
                before: Vec::new(),
                chunk: 0,
                loaded: None,
                values: [0; BLOCK],
            },
            bounded: (0, 0.0),
            scratch: Vec::new(),
            failed: false,
        };
        if cursor.many() && cursor.begin(list.postings).is_err() {
            cursor.fail();
        } else {
            cursor.enter(0);
        }
        cursor
    }

    fn begin(&mut self, postings: &'a [u8]) -> Result<(), Corrupt> {
        let mut reader = Reader::new(postings);
        self.points = reader;
        read_points(&mut reader, &mut self.scratch)?;
        self.table = reader.take(SKIP * self.blocks as usize)?;
        self.area = reader.rest();
        Ok(())
    }

    fn fail(&mut self) {
        self.failed = true;
        self.document = END;
        self.block = self.blocks;
    }

    /// Documents of the segment.
    pub fn limit(&self) -> u32 {
        self.documents
    }

    /// Documents of the list.
    pub fn df(&self) -> u32 {
        self.df
    }

    /// The document under the cursor, or [`END`].
    #[inline]
    pub fn document(&self) -> u32 {
        self.document
    }

    /// Whether the list has a table of its blocks.
    #[inline]
    fn many(&self) -> bool {
        self.blocks > 1
    }

    /// The last document of a block; of an only one the last of the segment.
    #[inline]
    fn last(&self, block: u32) -> u32 {
        if self.many() { u32_at(self.table, SKIP * block as usize) } else { self.documents - 1 }
    }

    /// Moves to the first document that is not below `target`.
    #[inline]
    pub fn seek(&mut self, target: u32) -> u32 {
        if self.document >= target {
            return self.document;
        }
        if self.loaded != self.block || self.numbers.documents[self.length - 1] < target {
            self.block += u32::from(self.loaded == self.block);
            self.shallow(target);
            if self.block == self.blocks {
                self.document = END;
                return END;
            }
            self.enter(self.block);
            if self.document >= target {
                return self.document;
            }
        }
        self.find(target);
        self.document
    }

    /// Moves to the next document.
    #[inline]
    pub fn advance(&mut self) -> u32 {
        if self.loaded == self.block && self.at + 1 < self.length {
            self.at += 1;
            self.document = self.numbers.documents[self.at];
            return self.document;
        }
        self.seek(self.document.saturating_add(1))
    }

    /// Moves in the block to the first document that is not below `target`; there is one, as
    /// what is behind the last document counts as [`END`].
    #[inline]
    fn find(&mut self, target: u32) {
        let documents = &self.numbers.documents;
        if target == self.document + 1 {
            self.at = (self.at + 1) % BLOCK;
        } else {
            // Without branches, as a processor could not foresee them.
            let mut at = 0;
            for step in [64, 32, 16, 8, 4, 2, 1] {
                at += step * usize::from(documents[(at + step - 1) % BLOCK] < target);
            }
            self.at = at % BLOCK;
        }
        self.document = documents[self.at];
    }

    /// Moves to the block that has the first document not below `target`, and does not decode it:
    /// the last document of the block, or [`END`]. Nothing below `target` may be sought afterwards.
    #[inline]
    pub fn shallow(&mut self, target: u32) -> u32 {
        if self.block == self.blocks {
            return END;
        }
        let last = self.last(self.block);
        if last >= target {
            return last;
        }
        self.skip(target)
    }

    fn skip(&mut self, target: u32) -> u32 {
        // Gallops, then bisects: the block before `low` ends below the target.
        let (mut low, mut step) = (self.block + 1, 1);
        while low + step < self.blocks && self.last(low + step - 1) < target {
            low += step;
            step *= 2;
        }
        let mut high = (low + step).min(self.blocks);
        while low < high {
            let middle = low.midpoint(high);
            if self.last(middle) < target {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.block = low;
        if low == self.blocks { END } else { self.last(low) }
    }

    /// Decodes the documents of a block, and stands at its first.
    fn enter(&mut self, block: u32) {
        self.block = block;
        if self.load(block).is_err() {
            self.fail();
        }
    }

    fn block_reader(&self, block: u32) -> Result<Reader<'a>, Corrupt> {
        let at = if self.many() { u32_at(self.table, SKIP * block as usize + 4) } else { 0 };
        self.area.get(at as usize..).map(Reader::new).ok_or(Corrupt)
    }

    fn load(&mut self, block: u32) -> Result<(), Corrupt> {
        let mut reader = self.block_reader(block)?;
        self.length = (self.df as usize - BLOCK * block as usize).min(BLOCK);
        let mut positions = 0;
        if self.many() {
            read_points(&mut reader, &mut self.scratch)?;
            if self.has_positions {
                positions = vbyte::read(&mut reader)? as usize;
            }
        }
        pack::read(&mut reader, self.length, &mut self.numbers.documents)?;
        let mut next = if block == 0 { 0 } else { u64::from(self.last(block - 1)) + 1 };
        for document in &mut self.numbers.documents[..self.length] {
            next += u64::from(*document) + 1;
            *document = (next - 1) as u32;
        }
        let last = next - 1;
        let expected = u64::from(self.last(block));
        if last > expected || (self.many() && last != expected) || last >= self.documents.into() {
            return Err(Corrupt);
        }
        self.numbers.documents[self.length..].fill(END);
        self.counts = reader;
        self.counted = false;
        self.places.start = Reader::new(self.positions.get(positions..).ok_or(Corrupt)?);
        self.loaded = block;
        self.at = 0;
        self.document = self.numbers.documents[0];
        Ok(())
    }

    /// The postings of the block that `shallow` came to: documents, occurrences, those in titles.
    pub fn postings(&mut self) -> (&[u32], &[u32], &[u32]) {
        if self.block < self.blocks && self.loaded != self.block {
            self.enter(self.block);
        }
        if self.block == self.blocks {
            return (&[], &[], &[]);
        }
        if !self.counted {
            self.count();
        }
        let Numbers { documents, counts, titles } = &*self.numbers;
        (&documents[..self.length], &counts[..self.length], &titles[..self.length])
    }

    /// The documents from the block that `shallow` came to on, block by block, to the end.
    pub fn each_block(&mut self, mut each: impl FnMut(&[u32])) {
        while self.block < self.blocks {
            if self.loaded != self.block {
                self.enter(self.block);
            }
            if self.loaded == self.block {
                each(&self.numbers.documents[..self.length]);
                self.block += 1;
            }
        }
        self.document = END;
    }

    /// Occurrences in the document, and how many of them are in the title.
    #[inline]
    pub fn counts(&mut self) -> (u32, u32) {
        if !self.counted {
            self.count();
        }
        (self.numbers.counts[self.at], self.numbers.titles[self.at])
    }

    /// Occurrences in the document as scores count them.
    #[inline]
    pub fn tf(&mut self) -> u32 {
        let (count, titles) = self.counts();
        weighted(count, titles)
    }

    fn count(&mut self) {
        let mut reader = self.counts;
        let numbers = &mut *self.numbers;
        let read = pack::read(&mut reader, self.length, &mut numbers.counts)
            .and_then(|()| pack::read(&mut reader, self.length, &mut numbers.titles));
        if read.is_err() {
            self.failed = true;
            numbers.counts[..self.length].fill(0);
            numbers.titles[..self.length].fill(0);
        }
        for count in &mut numbers.counts[..self.length] {
            *count = count.saturating_add(1);
        }
        self.counted = true;
        self.places.before.clear();
    }

    /// Positions in the document, rising.
    pub fn positions(&mut self, into: &mut Vec<u32>) {
        into.clear();
        self.counts();
        if self.places.before.is_empty() {
            let mut total = 0_usize;
            for &count in &self.numbers.counts[..self.length] {
                self.places.before.push(total);
                total += count as usize;
            }
            self.places.total = total;
            (self.places.reader, self.places.chunk) = (self.places.start, 0);
            self.places.loaded = None;
        }
        let count = self.numbers.counts[self.at] as usize;
        let start = self.places.before[self.at];
        if self.places.read(start, count, into).is_err() {
            self.failed = true;
        }
    }

    /// What no score of the list is above, for a leaf of that idf.
    pub fn list_bound(&mut self, bm25: &Bm25, idf: f64, lengths: &[u8]) -> f64 {
        if !self.many() {
            return self.only_bound(bm25, idf, lengths);
        }
        let mut points = self.points;
        if read_points(&mut points, &mut self.scratch).is_err() {
            self.failed = true;
        }
        bm25.bound(idf, &self.scratch)
    }

    /// What no score of the block that `shallow` came to is above.
    #[inline]
    pub fn block_bound(&mut self, bm25: &Bm25, idf: f64, lengths: &[u8]) -> f64 {
        if self.block == self.blocks {
            return 0.0;
        }
        let last = self.last(self.block);
        if self.bounded.0 != last + 1 {
            let bound = if self.many() {
                self.read_bound(bm25, idf)
            } else {
                self.only_bound(bm25, idf, lengths)
            };
            self.bounded = (last + 1, bound);
        }
        self.bounded.1
    }

    fn read_bound(&mut self, bm25: &Bm25, idf: f64) -> f64 {
        let block = self.block;
        let read = self
            .block_reader(block)
            .and_then(|mut reader| read_points(&mut reader, &mut self.scratch));
        if read.is_err() {
            self.failed = true;
        }
        bm25.bound(idf, &self.scratch)
    }

    /// The bound of a list of one block, from its postings: it has no points.
    fn only_bound(&mut self, bm25: &Bm25, idf: f64, lengths: &[u8]) -> f64 {
        if self.failed {
            return 0.0;
        }
        if !self.counted {
            self.count();
        }
        let numbers = &self.numbers;
        self.scratch.clear();
        self.scratch.extend((0..self.length).map(|at| Point {
            tf: weighted(numbers.counts[at], numbers.titles[at]),
            length: length(lengths, numbers.documents[at]),
        }));
        bm25.bound(idf, &self.scratch)
    }
}

impl Places<'_> {
    /// Appends the positions from the occurrence `start` of the block on.
    fn read(&mut self, start: usize, count: usize, into: &mut Vec<u32>) -> Result<(), Corrupt> {
        let mut position = 0_u32;
        let mut at = start;
        while at < start + count {
            let chunk = at / BLOCK;
            self.load(chunk)?;
            let from = at % BLOCK;
            let to = (start + count - chunk * BLOCK).min(BLOCK);
            for &place in &self.values[from..to] {
                let first = into.is_empty();
                position = position.wrapping_add(place).wrapping_add(u32::from(!first));
                if !first && position <= into[into.len() - 1] {
                    return Err(Corrupt);
                }
                into.push(position);
            }
            at = chunk * BLOCK + to;
        }
        Ok(())
    }

    /// Decodes a chunk; those between are passed over.
    fn load(&mut self, chunk: usize) -> Result<(), Corrupt> {
        if self.loaded == Some(chunk) {
            return Ok(());
        }
        if chunk < self.chunk {
            (self.reader, self.chunk) = (self.start, 0);
        }
        while self.chunk < chunk {
            pack::skip(&mut self.reader, BLOCK)?;
            self.chunk += 1;
        }
        let length = (self.total - chunk * BLOCK).min(BLOCK);
        self.loaded = None;
        pack::read(&mut self.reader, length, &mut self.values)?;
        self.loaded = Some(chunk);
        self.chunk = chunk + 1;
        Ok(())
    }
}
