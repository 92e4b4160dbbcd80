//! The documents themselves, in compressed blocks.
//!
//! ```text
//! block    bytes of it when read (vbyte), then a zstd frame of records
//! record   url (string), language, title, text (optional strings)
//! string   bytes (vbyte), the bytes; optional: bytes + 1, or 0 for none
//! index    for each block the number of its first document (u32) and its offset (u64)
//! ```
//!
//! A block ends when 32 KiB are full, so a document is read by decompressing little more than
//! itself.

use crivello_codes::{Corrupt, Reader, vbyte};
use zstd::bulk::{Compressor, Decompressor};

use crate::Error;
use crate::segment::{Segment, u32_at, u64_at};

const BLOCK: usize = 32 << 10;
const LEVEL: i32 = 1;
const ENTRY: usize = 12;

/// A document as it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored<'a> {
    /// Its URL.
    pub url: &'a str,
    /// Its language.
    pub lang: Option<&'a str>,
    /// Its title.
    pub title: Option<&'a str>,
    /// Its text.
    pub text: Option<&'a str>,
}

/// Compresses documents in the order of their numbers.
pub struct StoreWriter {
    compressor: Compressor<'static>,
    block: Vec<u8>,
    first: u32,
    index: Vec<u8>,
    written: u64,
    out: Vec<u8>,
}

impl StoreWriter {
    pub fn new() -> Result<Self, Error> {
        let compressor = Compressor::new(LEVEL)?;
        let (block, index, out) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { compressor, block, first: 0, index, written: 0, out })
    }

    /// Adds the document of a number.
    pub fn add(&mut self, number: u32, stored: Stored<'_>) -> Result<(), Error> {
        if self.block.is_empty() {
            self.first = number;
        }
        let block = &mut self.block;
        vbyte::write(stored.url.len() as u64, block);
        block.extend(stored.url.as_bytes());
        for field in [stored.lang, stored.title, stored.text] {
            vbyte::write(field.map_or(0, |field| field.len() as u64 + 1), block);
            block.extend(field.unwrap_or_default().as_bytes());
        }
        if self.block.len() >= BLOCK { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Error> {
        if self.block.is_empty() {
            return Ok(());
        }
        let frame = self.compressor.compress(&self.block)?;
        self.index.extend(self.first.to_le_bytes());
        self.index.extend((self.written + self.out.len() as u64).to_le_bytes());
        vbyte::write(self.block.len() as u64, &mut self.out);
        self.out.extend(frame);
        self.block.clear();
        Ok(())
    }

    /// Takes away the blocks that are done, for their section.
    pub fn take(&mut self) -> Vec<u8> {
        self.written += self.out.len() as u64;
        std::mem::take(&mut self.out)
    }

    /// Ends the last block; `take` has the rest. The index of the blocks.
    pub fn finish(&mut self) -> Result<Vec<u8>, Error> {
        self.flush()?;
        Ok(std::mem::take(&mut self.index))
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.block.capacity() + self.index.capacity() + self.out.capacity()
    }
}

/// Reads documents of a segment; fast for those of one block in order.
pub struct StoreReader<'a> {
    segment: &'a Segment,
    decompressor: Decompressor<'static>,
    loaded: Option<usize>,
    block: Vec<u8>,
    /// Where the records of the block begin.
    records: Vec<usize>,
}

impl<'a> StoreReader<'a> {
    pub fn new(segment: &'a Segment) -> Result<Self, Error> {
        let decompressor = Decompressor::new()?;
        let (block, records) = (Vec::new(), Vec::new());
        Ok(Self { segment, decompressor, loaded: None, block, records })
    }

    /// A document.
    ///
    /// # Errors
    /// When the segment has no store, no such document, or is damaged.
    pub fn get(&mut self, number: u32) -> Result<Stored<'_>, Error> {
        if !self.segment.info().store {
            let what = "the segment was built without the documents themselves";
            return Err(Error::Asked(what.to_owned()));
        }
        let index = self.segment.store_index();
        let blocks = index.len() / ENTRY;
        let first = |block: usize| u32_at(index, ENTRY * block);
        let (mut low, mut high) = (0, blocks);
        while low < high {
            let middle = low.midpoint(high);
            if first(middle) <= number {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let bad = |_| self.segment.damaged("the store cannot be decoded");
        let block = low.checked_sub(1).ok_or(Corrupt).map_err(bad)?;
        if self.loaded != Some(block) {
            self.loaded = None;
            load(self.segment, &mut self.decompressor, block, &mut self.block).map_err(bad)?;
            index_records(&self.block, &mut self.records).map_err(bad)?;
            self.loaded = Some(block);
        }
        let record = (number - first(block)) as usize;
        let at = *self.records.get(record).ok_or(Corrupt).map_err(bad)?;
        read_record(&mut Reader::new(&self.block[at..])).map_err(bad)
    }
}

fn load(
    segment: &Segment,
    decompressor: &mut Decompressor<'_>,
    block: usize,
    into: &mut Vec<u8>,
) -> Result<(), Corrupt> {
    let index = segment.store_index();
    let store = segment.store();
    let at = |block| usize::try_from(u64_at(index, ENTRY * block + 4)).map_err(|_| Corrupt);
    let end = if ENTRY * (block + 1) < index.len() { at(block + 1)? } else { store.len() };
    let mut reader = Reader::new(store.get(at(block)?..end).ok_or(Corrupt)?);
    let length = usize::try_from(vbyte::read(&mut reader)?).map_err(|_| Corrupt)?;
    into.clear();
    into.try_reserve_exact(length).map_err(|_| Corrupt)?;
    decompressor.decompress_to_buffer(reader.rest(), into).map_err(|_| Corrupt)?;
    if into.len() == length { Ok(()) } else { Err(Corrupt) }
}

fn index_records(block: &[u8], records: &mut Vec<usize>) -> Result<(), Corrupt> {
    records.clear();
    let mut reader = Reader::new(block);
    while !reader.rest().is_empty() {
        records.push(block.len() - reader.rest().len());
        read_record(&mut reader)?;
    }
    Ok(())
}

fn read_record<'a>(reader: &mut Reader<'a>) -> Result<Stored<'a>, Corrupt> {
    let length = vbyte::read(reader)?;
    let url = string(reader, length)?;
    let mut optional = || match vbyte::read(reader)? {
        0 => Ok(None),
        more => string(reader, more - 1).map(Some),
    };
    Ok(Stored { url, lang: optional()?, title: optional()?, text: optional()? })
}

fn string<'a>(reader: &mut Reader<'a>, length: u64) -> Result<&'a str, Corrupt> {
    let length = usize::try_from(length).map_err(|_| Corrupt)?;
    std::str::from_utf8(reader.take(length)?).map_err(|_| Corrupt)
}
