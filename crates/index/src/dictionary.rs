//! The dictionary: all terms of a segment, sorted bytewise, in front-coded blocks of 16.
//!
//! ```text
//! block   offset of its first list in the section of lists (vbyte), then 16 entries
//! entry   bytes shared with the term before (vbyte; 0 at a block's first), bytes of the rest
//!         (vbyte), the rest, df, bytes of postings, bytes of positions (vbytes)
//! index   offset of each block (u64)
//! ```
//!
//! Lists stand in the order of their terms, without gaps. A term is found by bisection over the
//! first terms of the blocks, and a walk through one block.

use crivello_codes::{Corrupt, Reader, vbyte};

use crate::Error;
use crate::list::Extent;
use crate::segment::{Segment, u64_at};

const BLOCK: u64 = 16;

/// Encodes a dictionary.
#[derive(Default)]
pub struct DictionaryWriter {
    bytes: Vec<u8>,
    index: Vec<u8>,
    last: Vec<u8>,
    terms: u64,
    list: u64,
}

impl DictionaryWriter {
    /// Adds a term, greater than all before, whose list follows theirs.
    pub fn add(&mut self, term: &[u8], extent: Extent) {
        let first = self.terms.is_multiple_of(BLOCK);
        if first {
            self.index.extend((self.bytes.len() as u64).to_le_bytes());
            vbyte::write(self.list, &mut self.bytes);
        }
        let shared = if first {
            0
        } else {
            self.last.iter().zip(term).take_while(|(one, other)| one == other).count()
        };
        vbyte::write(shared as u64, &mut self.bytes);
        vbyte::write((term.len() - shared) as u64, &mut self.bytes);
        self.bytes.extend(&term[shared..]);
        vbyte::write(u64::from(extent.df), &mut self.bytes);
        vbyte::write(extent.postings, &mut self.bytes);
        vbyte::write(extent.positions, &mut self.bytes);
        self.last.clear();
        self.last.extend(term);
        self.terms += 1;
        self.list += extent.postings + extent.positions;
    }

    /// Terms, their blocks and the index of those.
    pub fn finish(self) -> (u64, Vec<u8>, Vec<u8>) {
        (self.terms, self.bytes, self.index)
    }
}

/// Walks through the terms of a segment.
pub struct Terms<'a> {
    segment: &'a Segment,
    reader: Reader<'a>,
    number: u64,
    term: Vec<u8>,
    extent: Extent,
    list: u64,
}

impl<'a> Terms<'a> {
    /// From the first term on.
    pub fn new(segment: &'a Segment) -> Self {
        Self::at(segment, segment.terms(), 0)
    }

    fn at(segment: &'a Segment, bytes: &'a [u8], number: u64) -> Self {
        let (term, extent) = (Vec::new(), Extent::default());
        Self { segment, reader: Reader::new(bytes), number, term, extent, list: 0 }
    }

    /// Moves to the next term; false behind the last one.
    ///
    /// # Errors
    /// When the dictionary is damaged.
    pub fn advance(&mut self) -> Result<bool, Error> {
        if self.number == self.segment.info().terms {
            return Ok(false);
        }
        self.entry().map_err(self.segment.corrupt("the dictionary"))?;
        self.number += 1;
        Ok(true)
    }

    fn entry(&mut self) -> Result<(), Corrupt> {
        let reader = &mut self.reader;
        self.list += self.extent.postings + self.extent.positions;
        if self.number.is_multiple_of(BLOCK) {
            self.list = vbyte::read(reader)?;
        }
        let shared = vbyte::read(reader)? as usize;
        let rest = vbyte::read(reader)? as usize;
        if shared > self.term.len() {
            return Err(Corrupt);
        }
        self.term.truncate(shared);
        self.term.extend(reader.take(rest)?);
        let df = vbyte::read_u32(reader)?;
        let (postings, positions) = (vbyte::read(reader)?, vbyte::read(reader)?);
        self.extent = Extent { df, postings, positions };
        let room = self.segment.lists().len() as u64;
        let end = self.list.checked_add(postings).and_then(|end| end.checked_add(positions));
        if df == 0 || df > self.segment.info().documents || end.is_none_or(|end| end > room) {
            return Err(Corrupt);
        }
        Ok(())
    }

    /// The term.
    pub fn term(&self) -> &[u8] {
        &self.term
    }

    /// Its list.
    pub fn list(&self) -> List<'a> {
        let Extent { df, postings, positions } = self.extent;
        let rest = &self.segment.lists()[self.list as usize..];
        let (postings, rest) = rest.split_at(postings as usize);
        List { df, postings, positions: &rest[..positions as usize] }
    }
}

/// A term's list, as bytes.
#[derive(Debug, Clone, Copy)]
pub struct List<'a> {
    /// Documents that have the term.
    pub df: u32,
    /// Its postings.
    pub postings: &'a [u8],
    /// Its positions.
    pub positions: &'a [u8],
}

/// The list of a term; none if no document has it.
///
/// # Errors
/// When the dictionary is damaged.
pub fn find<'a>(segment: &'a Segment, term: &[u8]) -> Result<Option<List<'a>>, Error> {
    let blocks = segment.term_index().len() / 8;
    let bad = || segment.corrupt("the dictionary");
    // The last block whose first term is not greater.
    let (mut low, mut high) = (0, blocks);
    while low < high {
        let middle = low.midpoint(high);
        if first_term(segment, middle).map_err(bad())? <= term {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let Some(block) = low.checked_sub(1) else { return Ok(None) };
    let bytes = block_bytes(segment, block).map_err(bad())?;
    let mut terms = Terms::at(segment, bytes, block as u64 * BLOCK);
    for _ in 0..BLOCK {
        if !terms.advance()? || terms.term() > term {
            return Ok(None);
        }
        if terms.term() == term {
            return Ok(Some(terms.list()));
        }
    }
    Ok(None)
}

fn block_bytes(segment: &Segment, block: usize) -> Result<&[u8], Corrupt> {
    let at = usize::try_from(u64_at(segment.term_index(), 8 * block)).map_err(|_| Corrupt)?;
    segment.terms().get(at..).ok_or(Corrupt)
}

fn first_term(segment: &Segment, block: usize) -> Result<&[u8], Corrupt> {
    let mut reader = Reader::new(block_bytes(segment, block)?);
    vbyte::read(&mut reader)?;
    vbyte::read(&mut reader)?;
    let length = vbyte::read(&mut reader)? as usize;
    reader.take(length)
}
