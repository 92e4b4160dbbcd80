//! One segment of several.
//!
//! Lists are read term by term, in the order of terms, and written anew; in memory are the
//! columns of the documents, the new dictionary, and the new number of each document.

use std::cmp::Ordering;

use crivello_crawl::files::Files;

use crate::Error;
use crate::builder::{CHUNK, Columns, finish};
use crate::cursor::{Cursor, END};
use crate::dictionary::{DictionaryWriter, List, Terms};
use crate::list::{ListWriter, Posting};
use crate::live::{Bits, superseded};
use crate::segment::{self, Segment, Writer, length};
use crate::store::{StoreReader, StoreWriter};

/// Writes the live documents of segments, in their order, as one: its length and CRC-32.
/// Superseded documents are left out. `paths` and `path` are of `files`.
///
/// # Errors
/// When a segment cannot be read or is damaged, some have positions or documents and others have
/// not, there would be too many documents, or a file operation fails; there is then no new
/// segment.
pub fn merge(files: &Files, paths: &[impl AsRef<str>], path: &str) -> Result<(u64, u32), Error> {
    let open = |path: &_| Segment::open(&files.path(AsRef::<str>::as_ref(path)));
    let segments = paths.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let Some(info) = segments.first().map(|segment| *segment.info()) else {
        return Err(Error::Asked("merge: no segments".to_owned()));
    };
    let alike = |s: &Segment| (s.info().positions, s.info().store) == (info.positions, info.store);
    if !segments.iter().all(alike) {
        let what = "merge: some segments have positions or documents, others have not";
        return Err(Error::Asked(what.to_owned()));
    }
    // Damage that can be decoded must not go on under new checksums.
    segments.iter().try_for_each(Segment::check)?;
    let gone = superseded(&segments);
    let mut writer = Writer::new(files, path)?;
    let columns = write_documents(&segments, &gone, info.store, &mut writer)?;
    let mut dictionary = DictionaryWriter::default();
    write_lists(&segments, &gone, &columns, info.positions, &mut writer, &mut dictionary)?;
    finish(writer, dictionary, &columns, info.positions, info.store)
}

fn write_documents(
    segments: &[Segment],
    gone: &[Bits],
    store: bool,
    writer: &mut Writer,
) -> Result<Columns, Error> {
    let mut columns = Columns::default();
    let mut out = StoreWriter::new()?;
    writer.begin(segment::STORE);
    for (segment, gone) in segments.iter().zip(gone) {
        let mut reader = StoreReader::new(segment)?;
        for document in (0..segment.info().documents).filter(|&document| !gone.get(document)) {
            let number = columns.len();
            if number == u32::MAX - 1 {
                return Err(Error::Full("2^32 documents"));
            }
            if store {
                out.add(number, reader.get(document)?)?;
                if out.memory_bytes() >= CHUNK {
                    writer.write(&out.take())?;
                }
            }
            columns.hashes.push(segment.url_hash(document));
            columns.visits.push(segment.visit(document));
            columns.times.push(segment.fetched_at(document));
            columns.lengths.push(length(segment.lengths(), document));
            columns.titles.push(length(segment.titles(), document));
        }
    }
    let index = out.finish()?;
    writer.write(&out.take())?;
    writer.section(segment::STORE_INDEX, &index)?;
    Ok(columns)
}

fn write_lists(
    segments: &[Segment],
    gone: &[Bits],
    columns: &Columns,
    positions: bool,
    writer: &mut Writer,
    dictionary: &mut DictionaryWriter,
) -> Result<(), Error> {
    let mut numbers = Vec::with_capacity(segments.len());
    let mut next = 0;
    for (segment, gone) in segments.iter().zip(gone) {
        let number = |document| {
            let live = !gone.get(document);
            next += u32::from(live);
            if live { next - 1 } else { END }
        };
        numbers.push((0..segment.info().documents).map(number).collect::<Vec<u32>>());
    }
    let mut terms: Vec<Terms<'_>> = segments.iter().map(Terms::new).collect();
    let mut live = Vec::new();
    for (place, terms) in terms.iter_mut().enumerate() {
        if terms.advance()? {
            live.push(place);
        }
    }
    let (mut lists, mut out) = (ListWriter::new(positions), Vec::new());
    let mut term = Vec::new();
    writer.begin(segment::LISTS);
    while !live.is_empty() {
        // Segments are few: the least of their terms is found by looking at each.
        let least = live.iter().map(|&place| terms[place].term()).min().unwrap_or_default();
        term.clear();
        term.extend_from_slice(least);
        let mut any = false;
        for &place in live.iter().filter(|&&place| terms[place].term() == term) {
            let list = Source { segment: &segments[place], list: terms[place].list(), positions };
            any |= list.copy(&numbers[place], &columns.lengths, &mut lists)?;
        }
        if any {
            let extent = lists.finish(&columns.lengths, &mut out);
            dictionary.add(&term, extent);
        }
        if out.len() >= CHUNK {
            writer.write(&out)?;
            out.clear();
        }
        let mut failed = Ok(());
        live.retain(|&place| {
            let terms = &mut terms[place];
            if terms.term() != term || failed.is_err() {
                return true;
            }
            match terms.advance() {
                Ok(more) if !more || terms.term().cmp(&term) == Ordering::Greater => more,
                Ok(_) => {
                    failed = Err(segments[place].damaged("its terms are not in order"));
                    false
                }
                Err(error) => {
                    failed = Err(error);
                    false
                }
            }
        });
        failed?;
    }
    writer.write(&out)
}

/// A list to be copied.
struct Source<'a> {
    segment: &'a Segment,
    list: List<'a>,
    positions: bool,
}

impl Source<'_> {
    /// Copies the postings of live documents under their new numbers; whether there are any.
    fn copy(
        &self,
        numbers: &[u32],
        lengths: &[u32],
        lists: &mut ListWriter,
    ) -> Result<bool, Error> {
        let info = self.segment.info();
        let mut cursor = Cursor::new(self.list, info.documents, info.positions);
        let (mut places, mut any) = (Vec::new(), false);
        while cursor.document() != END && !cursor.failed {
            let document = numbers[cursor.document() as usize];
            if document != END {
                let (count, titles) = cursor.counts();
                if self.positions {
                    cursor.positions(&mut places);
                    distances(&mut places);
                }
                lists.push(Posting { document, count, titles }, &places, lengths);
                any = true;
            }
            cursor.advance();
        }
        if cursor.failed {
            return Err(self.segment.damaged("a list cannot be decoded"));
        }
        Ok(any)
    }
}

/// Positions as lists have them: all but the first as the distance to the one before, less one.
fn distances(positions: &mut [u32]) {
    for at in (1..positions.len()).rev() {
        positions[at] -= positions[at - 1] + 1;
    }
}
