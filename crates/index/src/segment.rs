//! The segment file: `docs/formats/segment.md` is its specification.
//!
//! A header, sections one behind the other, a directory of them and a footer that says where the
//! directory is: it is written from front to back, and read through a memory map. Opening checks
//! header, footer, directory and the section of statistics; the others have checksums that
//! [`Segment::check`] reads, and decoders that accept any bytes.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crivello_codes::{Corrupt, Reader};
use crivello_crawl::files::{Appender, Files};

use crate::Error;
use crate::map::Map;

const MAGIC: [u8; 8] = *b"crivseg\n";
const END: [u8; 8] = *b"\ngesvirc";
const VERSION: u32 = 1;
const HEADER: usize = 16;
const FOOTER: usize = 24;
const ENTRY: usize = 24;

/// What a title's occurrence of a term counts, in occurrences in the text.
pub const TITLE_WEIGHT: u32 = 4;

/// Name of a section.
pub type Tag = [u8; 4];

pub(crate) const LISTS: Tag = *b"list";
pub(crate) const TERMS: Tag = *b"term";
pub(crate) const TERM_INDEX: Tag = *b"tidx";
pub(crate) const STORE: Tag = *b"docs";
pub(crate) const STORE_INDEX: Tag = *b"didx";
pub(crate) const HASHES: Tag = *b"hash";
pub(crate) const VISITS: Tag = *b"visi";
pub(crate) const TIMES: Tag = *b"time";
pub(crate) const LENGTHS: Tag = *b"leng";
pub(crate) const TITLES: Tag = *b"titl";
const INFO: Tag = *b"info";

/// Statistics and settings of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Info {
    /// Documents.
    pub documents: u32,
    /// Terms of the dictionary.
    pub terms: u64,
    /// Sum of the documents' lengths.
    pub length: u64,
    /// Whether lists have positions.
    pub positions: bool,
    /// Whether the documents themselves are there.
    pub store: bool,
}

impl Info {
    fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&self.documents.to_le_bytes());
        bytes[4..8].copy_from_slice(&TITLE_WEIGHT.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.terms.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.length.to_le_bytes());
        bytes[24] = u8::from(self.positions) | u8::from(self.store) << 1;
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; 32] = bytes.try_into().ok()?;
        let known = u32_at(bytes, 4) == TITLE_WEIGHT && bytes[24] < 4;
        known.then(|| Self {
            documents: u32_at(bytes, 0),
            terms: u64_at(bytes, 8),
            length: u64_at(bytes, 16),
            positions: bytes[24] & 1 != 0,
            store: bytes[24] & 2 != 0,
        })
    }
}

/// The little-endian number at a place; 0 behind the end.
#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b))
}

/// The little-endian number at a place; 0 behind the end.
#[inline]
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}

/// The length of a document, of a column of them.
#[inline]
pub(crate) fn length(lengths: &[u8], document: u32) -> u32 {
    u32_at(lengths, 4 * document as usize)
}

struct Section {
    tag: Tag,
    range: Range<usize>,
    crc: u32,
}

/// Writes a segment under a temporary name, and gives it its own at the end.
pub(crate) struct Writer {
    files: Files,
    path: String,
    temporary: String,
    out: Appender,
    sections: Vec<Section>,
    crc: crc32fast::Hasher,
}

impl Writer {
    pub fn new(files: &Files, path: &str) -> Result<Self, Error> {
        let temporary = format!("{path}.tmp");
        files.remove(&temporary)?;
        let mut out = files.appender(&temporary)?;
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let crc = crc32fast::hash(&header[..12]);
        header[12..].copy_from_slice(&crc.to_le_bytes());
        out.append(&header)?;
        Ok(Self {
            files: files.clone(),
            path: path.to_owned(),
            temporary,
            out,
            sections: Vec::new(),
            crc: crc32fast::Hasher::new(),
        })
    }

    /// Begins a section; the one before it ends.
    pub fn begin(&mut self, tag: Tag) {
        self.end();
        let at = self.out.len() as usize;
        self.crc = crc32fast::Hasher::new();
        self.sections.push(Section { tag, range: at..at, crc: 0 });
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.crc.update(bytes);
        self.out.append(bytes)?;
        Ok(())
    }

    /// A whole section.
    pub fn section(&mut self, tag: Tag, bytes: &[u8]) -> Result<(), Error> {
        self.begin(tag);
        self.write(bytes)
    }

    fn end(&mut self) {
        if let Some(last) = self.sections.last_mut() {
            last.range.end = self.out.len() as usize;
            last.crc = self.crc.clone().finalize();
        }
    }

    /// Ends the file: its length and CRC-32.
    pub fn finish(mut self, info: Info) -> Result<(u64, u32), Error> {
        self.section(INFO, &info.to_bytes())?;
        self.end();
        let mut directory = Vec::with_capacity(ENTRY * self.sections.len());
        for section in &self.sections {
            directory.extend(section.tag);
            directory.extend(section.crc.to_le_bytes());
            directory.extend((section.range.start as u64).to_le_bytes());
            directory.extend((section.range.len() as u64).to_le_bytes());
        }
        let at = self.out.len();
        let mut footer = at.to_le_bytes().to_vec();
        footer.extend((directory.len() as u32).to_le_bytes());
        footer.extend(crc32fast::hash(&directory).to_le_bytes());
        footer.extend(END);
        self.out.append(&directory)?;
        self.out.append(&footer)?;
        let made = self.out.flush()?;
        drop(self.out);
        self.files.rename(&self.temporary, &self.path)?;
        Ok(made)
    }
}

/// An open segment.
pub struct Segment {
    path: PathBuf,
    map: Map,
    sections: Vec<Section>,
    info: Info,
    ranges: Ranges,
}

/// Where the sections are that queries read.
struct Ranges {
    lists: Range<usize>,
    terms: Range<usize>,
    term_index: Range<usize>,
    store: Range<usize>,
    store_index: Range<usize>,
    hashes: Range<usize>,
    visits: Range<usize>,
    times: Range<usize>,
    lengths: Range<usize>,
    titles: Range<usize>,
}

impl Segment {
    /// Maps a segment and checks all but its large sections.
    ///
    /// # Errors
    /// When it cannot be read, is no segment, is of another version, or is damaged.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let map = Map::open(path)?;
        let bad = |what: &str| Error::damaged(path, what);
        let foreign = map.len() < HEADER + FOOTER || map[..8] != MAGIC;
        if foreign {
            return Err(bad("no segment of an index"));
        }
        let version = u32_at(&map, 8);
        if u32_at(&map, 12) != crc32fast::hash(&map[..12]) {
            return Err(bad("damaged: its header is not what was written"));
        }
        if version != VERSION {
            let what = format!("a segment of version {version}; this crivello reads {VERSION}");
            return Err(bad(&what));
        }
        let sections = directory(&map)
            .ok_or_else(|| bad("damaged or cut: its end is not what was written"))?;
        let find = |tag: Tag| {
            sections
                .iter()
                .find(|section| section.tag == tag)
                .map(|section| section.range.clone())
                .ok_or_else(|| {
                    bad(&format!("section {} is missing", String::from_utf8_lossy(&tag)))
                })
        };
        let at = find(INFO)?;
        let entry = sections.iter().find(|section| section.tag == INFO);
        let info = entry
            .filter(|entry| crc32fast::hash(&map[at.clone()]) == entry.crc)
            .and_then(|_| Info::from_bytes(&map[at]))
            .ok_or_else(|| bad("damaged: its statistics are not what was written"))?;
        let ranges = Ranges {
            lists: find(LISTS)?,
            terms: find(TERMS)?,
            term_index: find(TERM_INDEX)?,
            store: find(STORE)?,
            store_index: find(STORE_INDEX)?,
            hashes: find(HASHES)?,
            visits: find(VISITS)?,
            times: find(TIMES)?,
            lengths: find(LENGTHS)?,
            titles: find(TITLES)?,
        };
        let n = info.documents as usize;
        let columns = [&ranges.hashes, &ranges.visits, &ranges.times].map(|range| range.len() / 8);
        let lengths = [&ranges.lengths, &ranges.titles].map(|range| range.len() / 4);
        if columns != [n; 3] || lengths != [n; 2] {
            return Err(bad("damaged: its columns have not a value for each document"));
        }
        Ok(Self { path: path.to_owned(), map, sections, info, ranges })
    }

    /// Reads every section against its checksum.
    ///
    /// # Errors
    /// When one is damaged.
    pub fn check(&self) -> Result<(), Error> {
        for section in &self.sections {
            if crc32fast::hash(&self.map[section.range.clone()]) != section.crc {
                let name = String::from_utf8_lossy(&section.tag).into_owned();
                return Err(self.damaged(&format!("section {name} is not what was written")));
            }
        }
        let sections = self.sections.iter().map(|section| section.range.len()).sum::<usize>();
        if HEADER + sections + ENTRY * self.sections.len() + FOOTER != self.map.len() {
            return Err(self.damaged("it has bytes that belong to nothing"));
        }
        Ok(())
    }

    pub(crate) fn damaged(&self, what: &str) -> Error {
        Error::damaged(&self.path, format!("damaged: {what}"))
    }

    /// The error of a section that a decoder could not read.
    pub(crate) fn corrupt(&self, what: &str) -> impl FnOnce(Corrupt) -> Error + '_ {
        let what = format!("{what} cannot be decoded");
        move |Corrupt| self.damaged(&what)
    }

    /// Statistics and settings.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// Length of the file.
    pub fn bytes(&self) -> u64 {
        self.map.len() as u64
    }

    pub(crate) fn lists(&self) -> &[u8] {
        &self.map[self.ranges.lists.clone()]
    }

    pub(crate) fn terms(&self) -> &[u8] {
        &self.map[self.ranges.terms.clone()]
    }

    pub(crate) fn term_index(&self) -> &[u8] {
        &self.map[self.ranges.term_index.clone()]
    }

    pub(crate) fn store(&self) -> &[u8] {
        &self.map[self.ranges.store.clone()]
    }

    pub(crate) fn store_index(&self) -> &[u8] {
        &self.map[self.ranges.store_index.clone()]
    }

    /// The documents' lengths, four bytes each.
    pub(crate) fn lengths(&self) -> &[u8] {
        &self.map[self.ranges.lengths.clone()]
    }

    /// How many positions the documents' titles have, four bytes each.
    pub(crate) fn titles(&self) -> &[u8] {
        &self.map[self.ranges.titles.clone()]
    }

    /// A document's URL hash.
    pub fn url_hash(&self, document: u32) -> u64 {
        u64_at(&self.map[self.ranges.hashes.clone()], 8 * document as usize)
    }

    /// A document's visit.
    pub fn visit(&self, document: u32) -> u64 {
        u64_at(&self.map[self.ranges.visits.clone()], 8 * document as usize)
    }

    /// When a document was fetched, in microseconds.
    pub fn fetched_at(&self, document: u32) -> i64 {
        u64_at(&self.map[self.ranges.times.clone()], 8 * document as usize).cast_signed()
    }
}

/// The sections that the end of a file names; none if it is not what was written.
fn directory(map: &[u8]) -> Option<Vec<Section>> {
    let (rest, footer) = map.split_at(map.len() - FOOTER);
    let at = usize::try_from(u64_at(footer, 0)).ok()?;
    let directory = rest.get(at..)?;
    let whole = footer[16..] == END
        && directory.len() == u32_at(footer, 8) as usize
        && directory.len().is_multiple_of(ENTRY)
        && crc32fast::hash(directory) == u32_at(footer, 12);
    if !whole {
        return None;
    }
    let mut reader = Reader::new(directory);
    let mut sections = Vec::new();
    while let Ok(entry) = reader.take(ENTRY) {
        let tag = *entry.first_chunk()?;
        let start = usize::try_from(u64_at(entry, 8)).ok()?;
        let end = start.checked_add(usize::try_from(u64_at(entry, 16)).ok()?)?;
        if start < HEADER || end > at {
            return None;
        }
        sections.push(Section { tag, range: start..end, crc: u32_at(entry, 4) });
    }
    Some(sections)
}
