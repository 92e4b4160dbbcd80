//! The list of a term: which documents have it, how often, and where.
//!
//! Postings go in blocks of 128, the last block of a list has the rest. A posting is a document,
//! its number of occurrences, and how many of them are in the title.
//!
//! ```text
//! list       when df > 128: points of the whole list, and for each block the last document and
//!            the offset of the block (u32 each, from the end of this table on)
//!            blocks
//!            positions, when the segment has them
//! block      when df > 128: points of the block, and the offset of its positions (vbyte)
//!            documents: d − (previous + 1), `previous` running through the list from −1 (pack)
//!            occurrences − 1 (pack), occurrences in the title (pack)
//! positions  those of the block's occurrences, in packs of 128: at a posting's first occurrence
//!            the position, at the others the distance to the one before, − 1
//! points     number (vbyte), then tf and length rising, as differences (vbytes)
//! ```
//!
//! *Points* are what bounds scores: the Pareto frontier of (weighted tf, document length).

use crivello_codes::pack::{self, BLOCK};
use crivello_codes::vbyte;

use crate::score::{Frontier, Point, write_points};
use crate::segment::TITLE_WEIGHT;

/// Bytes of a block's entry in the table of a list.
pub const SKIP: usize = 8;

/// Occurrences as scores count them.
#[inline]
pub fn weighted(count: u32, titles: u32) -> u32 {
    count.saturating_add(titles.saturating_mul(TITLE_WEIGHT - 1))
}

/// A posting without its positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    /// The document.
    pub document: u32,
    /// Occurrences, those in the title included.
    pub count: u32,
    /// Occurrences in the title.
    pub titles: u32,
}

/// What the dictionary says of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extent {
    /// Documents that have the term.
    pub df: u32,
    /// Bytes of its postings.
    pub postings: u64,
    /// Bytes of its positions, which follow.
    pub positions: u64,
}

/// Encodes lists, one after the other.
pub struct ListWriter {
    positions: bool,
    documents: Vec<u32>,
    counts: Vec<u32>,
    titles: Vec<u32>,
    places: Vec<u32>,
    points: Vec<Point>,
    frontier: Frontier,
    /// The document behind the last one of the block before.
    base: u32,
    df: u32,
    table: Vec<u8>,
    blocks: Vec<u8>,
    all: Frontier,
    out_positions: Vec<u8>,
}

impl ListWriter {
    pub fn new(positions: bool) -> Self {
        Self {
            positions,
            documents: Vec::with_capacity(BLOCK),
            counts: Vec::with_capacity(BLOCK),
            titles: Vec::with_capacity(BLOCK),
            places: Vec::new(),
            points: Vec::new(),
            frontier: Frontier::default(),
            base: 0,
            df: 0,
            table: Vec::new(),
            blocks: Vec::new(),
            all: Frontier::default(),
            out_positions: Vec::new(),
        }
    }

    /// Adds a posting; documents rise. Of `places` the first is as it is, the others are the
    /// distances to those before, less one. `lengths` are the documents'.
    #[inline]
    pub fn push(&mut self, posting: Posting, places: &[u32], lengths: &[u32]) {
        if self.documents.len() == BLOCK {
            self.flush(true, lengths);
        }
        if self.positions {
            self.places.extend_from_slice(places);
        }
        self.documents.push(posting.document);
        self.counts.push(posting.count - 1);
        self.titles.push(posting.titles);
        self.df += 1;
    }

    /// Ends a block: one of many, or the only one.
    fn flush(&mut self, many: bool, lengths: &[u32]) {
        if many {
            for ((&document, &count), &titles) in
                self.documents.iter().zip(&self.counts).zip(&self.titles)
            {
                let tf = weighted(count + 1, titles);
                self.frontier.add(Point { tf, length: lengths[document as usize] });
            }
            self.frontier.take(&mut self.points);
            for point in &self.points {
                self.all.add(*point);
            }
            let last = self.documents[self.documents.len() - 1];
            self.table.extend(last.to_le_bytes());
            self.table.extend((self.blocks.len() as u32).to_le_bytes());
            write_points(&self.points, &mut self.blocks);
            if self.positions {
                vbyte::write(self.out_positions.len() as u64, &mut self.blocks);
            }
        }
        let mut next = self.base;
        for document in &mut self.documents {
            let gap = *document - next;
            next = *document + 1;
            *document = gap;
        }
        self.base = next;
        pack::write(&self.documents, &mut self.blocks);
        pack::write(&self.counts, &mut self.blocks);
        pack::write(&self.titles, &mut self.blocks);
        for chunk in self.places.chunks(BLOCK) {
            pack::write(chunk, &mut self.out_positions);
        }
        self.places.clear();
        self.documents.clear();
        self.counts.clear();
        self.titles.clear();
    }

    /// Ends the list, and appends its postings and positions to `out`.
    pub fn finish(&mut self, lengths: &[u32], out: &mut Vec<u8>) -> Extent {
        let start = out.len();
        let many = self.df as usize > BLOCK;
        if !self.documents.is_empty() {
            self.flush(many, lengths);
        }
        if many {
            self.all.take(&mut self.points);
            write_points(&self.points, out);
            out.append(&mut self.table);
        }
        out.append(&mut self.blocks);
        let postings = (out.len() - start) as u64;
        let positions = self.out_positions.len() as u64;
        out.append(&mut self.out_positions);
        let extent = Extent { df: self.df, postings, positions };
        (self.df, self.base) = (0, 0);
        extent
    }
}
