//! A segment built in memory.

use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{Array, RecordBatch};
use crivello_crawl::batch::{hashes, numbers, strings};
use crivello_crawl::files::Files;

use crate::Error;
use crate::analysis::{MAX_TERM, Tokens};
use crate::dictionary::DictionaryWriter;
use crate::inverter::Inverter;
use crate::list::{ListWriter, Posting};
use crate::segment::{self, Info, TITLE_WEIGHT, Writer};
use crate::store::{StoreWriter, Stored};

/// Bytes of lists that are written at a time.
pub(crate) const CHUNK: usize = 256 << 10;

/// The greatest length of a document; no weight of a title takes it beyond.
const MAX_LENGTH: u64 = u32::MAX as u64 - 1;

/// Documents on their way into a segment.
pub struct Builder {
    positions: bool,
    store: Option<StoreWriter>,
    inverter: Inverter,
    columns: Columns,
}

/// What is kept of each document beside its terms.
#[derive(Default)]
pub(crate) struct Columns {
    pub hashes: Vec<u64>,
    pub visits: Vec<u64>,
    pub times: Vec<i64>,
    pub lengths: Vec<u32>,
    pub titles: Vec<u32>,
}

impl Columns {
    pub fn len(&self) -> u32 {
        self.hashes.len() as u32
    }

    fn memory_bytes(&self) -> usize {
        8 * (self.hashes.capacity() + self.visits.capacity() + self.times.capacity())
            + 4 * (self.lengths.capacity() + self.titles.capacity())
    }

    /// Writes them as sections; the sum of the lengths.
    pub fn write(&self, writer: &mut Writer) -> Result<u64, Error> {
        fn bytes<T: Copy, const N: usize>(values: &[T], le: impl Fn(T) -> [u8; N]) -> Vec<u8> {
            values.iter().flat_map(|&value| le(value)).collect()
        }
        writer.section(segment::HASHES, &bytes(&self.hashes, u64::to_le_bytes))?;
        writer.section(segment::VISITS, &bytes(&self.visits, u64::to_le_bytes))?;
        writer.section(segment::TIMES, &bytes(&self.times, i64::to_le_bytes))?;
        writer.section(segment::LENGTHS, &bytes(&self.lengths, u32::to_le_bytes))?;
        writer.section(segment::TITLES, &bytes(&self.titles, u32::to_le_bytes))?;
        Ok(self.lengths.iter().map(|&length| u64::from(length)).sum())
    }
}

/// Writes what follows the lists.
pub(crate) fn finish(
    mut writer: Writer,
    dictionary: DictionaryWriter,
    columns: &Columns,
    positions: bool,
    store: bool,
) -> Result<(u64, u32), Error> {
    let (terms, bytes, index) = dictionary.finish();
    writer.section(segment::TERMS, &bytes)?;
    writer.section(segment::TERM_INDEX, &index)?;
    let length = columns.write(&mut writer)?;
    writer.finish(Info { documents: columns.len(), terms, length, positions, store })
}

impl Builder {
    /// A builder of a segment with positions (for phrases), and with the documents themselves
    /// (for reading them back), or without.
    ///
    /// # Errors
    /// When there is no memory for the compressor.
    pub fn new(positions: bool, store: bool) -> Result<Self, Error> {
        let store = store.then(StoreWriter::new).transpose()?;
        let (inverter, columns) = (Inverter::new(), Columns::default());
        Ok(Self { positions, store, inverter, columns })
    }

    /// Adds the documents of a batch, in the order of its rows.
    ///
    /// # Errors
    /// When a column is missing, or the segment would become too large; the builder is then of
    /// no more use.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let (urls, text) = (strings(batch, "url")?, strings(batch, "text")?);
        let (lang, title) = (strings(batch, "lang")?, strings(batch, "title")?);
        let (url_hash, visit) = (hashes(batch, "url_hash")?, hashes(batch, "visit")?);
        let fetched_at = numbers::<TimestampMicrosecondType>(batch, "fetched_at")?;
        for row in 0..batch.num_rows() {
            let given = |column: &'_ arrow_array::StringArray| column.is_valid(row);
            let stored = Stored {
                url: urls.value(row),
                lang: given(lang).then(|| lang.value(row)),
                title: given(title).then(|| title.value(row)),
                text: given(text).then(|| text.value(row)),
            };
            self.document(&stored)?;
            self.columns.hashes.push(url_hash.value(row));
            self.columns.visits.push(visit.value(row));
            self.columns.times.push(fetched_at.value(row));
        }
        Ok(())
    }

    fn document(&mut self, stored: &Stored<'_>) -> Result<(), Error> {
        let number = self.columns.len();
        if number == u32::MAX - 1 {
            return Err(Error::Full("2^32 documents"));
        }
        let titles = self.invert(number, stored.title.unwrap_or_default(), 0)?;
        let end = self.invert(number, stored.text.unwrap_or_default(), titles + 1)?;
        let length = u64::from(end - titles - 1) + u64::from(TITLE_WEIGHT) * u64::from(titles);
        self.columns.lengths.push(length.min(MAX_LENGTH) as u32);
        self.columns.titles.push(titles);
        if let Some(store) = &mut self.store {
            store.add(number, *stored)?;
        }
        Ok(())
    }

    /// Inverts a text whose positions begin at `position`; the position behind it.
    fn invert(&mut self, number: u32, text: &str, mut position: u32) -> Result<u32, Error> {
        let mut tokens = Tokens::new(text);
        while let Some(token) = tokens.next() {
            if token.term.len() <= MAX_TERM {
                self.inverter.add(token.term.as_bytes(), number, position)?;
            }
            position += 1;
        }
        Ok(position)
    }

    /// Documents added.
    pub fn len(&self) -> u32 {
        self.columns.len()
    }

    /// Whether none has been added.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory held; writing the segment takes little more.
    pub fn memory_bytes(&self) -> usize {
        self.inverter.memory_bytes()
            + self.columns.memory_bytes()
            + self.store.as_ref().map_or(0, StoreWriter::memory_bytes)
    }

    /// Writes the segment, and begins anew: the file's length and CRC-32.
    ///
    /// # Errors
    /// When a file operation fails; there is then no segment, and the documents are lost.
    pub fn finish(&mut self, files: &Files, path: &str) -> Result<(u64, u32), Error> {
        let next = Self::new(self.positions, self.store.is_some())?;
        let Self { positions, store, inverter, columns } = std::mem::replace(self, next);
        let mut writer = Writer::new(files, path)?;
        let has_store = store.is_some();
        let index = match store {
            Some(mut store) => {
                let index = store.finish()?;
                writer.section(segment::STORE, &store.take())?;
                index
            }
            None => Vec::new(),
        };
        if !has_store {
            writer.section(segment::STORE, &[])?;
        }
        writer.section(segment::STORE_INDEX, &index)?;
        writer.begin(segment::LISTS);
        let mut dictionary = DictionaryWriter::default();
        let mut lists = ListWriter::new(positions);
        let (mut places, mut out) = (Vec::new(), Vec::new());
        for id in inverter.sorted() {
            inverter.postings(id, &mut places, |document, places| {
                let titles = in_title(places, columns.titles[document as usize]);
                let posting = Posting { document, count: places.len() as u32, titles };
                lists.push(posting, places, &columns.lengths);
            });
            let extent = lists.finish(&columns.lengths, &mut out);
            dictionary.add(inverter.term(id), extent);
            if out.len() >= CHUNK {
                writer.write(&out)?;
                out.clear();
            }
        }
        writer.write(&out)?;
        drop(inverter);
        finish(writer, dictionary, &columns, positions, has_store)
    }
}

/// How many of the places, of which all but the first are distances, are in a title of so many
/// positions.
fn in_title(places: &[u32], titles: u32) -> u32 {
    if titles == 0 || places[0] >= titles {
        return 0;
    }
    let mut position = places[0];
    let more = places[1..].iter().take_while(|&&place| {
        position += place + 1;
        position < titles
    });
    1 + more.count() as u32
}
