//! Queries over segments.

use std::path::Path;

use crate::Error;
use crate::lexicon::Lexicon;
use crate::live::{Bits, superseded};
use crate::matcher::Matcher;
use crate::query::Query;
use crate::score::Bm25;
use crate::segment::Segment;
use crate::store::StoreReader;
pub use crate::store::Stored;
pub use crate::topk::Hit;
use crate::topk::{Best, count as count_matches, search};

/// Open segments, of whose documents those of the latest visit of each URL are live.
pub struct Searcher {
    segments: Vec<Segment>,
    gone: Vec<Bits>,
    documents: u64,
    length: u64,
}

impl Searcher {
    /// Opens segments; they are numbered in this order.
    ///
    /// # Errors
    /// When one cannot be opened.
    pub fn open(paths: &[impl AsRef<Path>]) -> Result<Self, Error> {
        let open = |path: &_| Segment::open(AsRef::<Path>::as_ref(path));
        let segments = paths.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let gone = superseded(&segments);
        let documents = segments.iter().map(|s| u64::from(s.info().documents)).sum();
        let length = segments.iter().map(|s| s.info().length).sum();
        Ok(Self { segments, gone, documents, length })
    }

    /// The k best live documents, the best first; of equals the first.
    ///
    /// # Errors
    /// When the query or a parameter is wrong, or a segment is damaged.
    pub fn search(&self, query: &Query, k: usize, k1: f64, b: f64) -> Result<Vec<Hit>, Error> {
        query.validate()?;
        if !(0.0..=1000.0).contains(&k1) || !(0.0..=1.0).contains(&b) {
            return Err(Error::Asked(format!("k1 is 0 to 1000 and b is 0 to 1, not {k1} and {b}")));
        }
        let bm25 = Bm25 { k1, b, mean: self.length as f64 / self.documents as f64 };
        let lexicon = Lexicon::new(&self.segments, query)?;
        let mut best = Best::new(k);
        for (number, gone) in self.gone.iter().enumerate() {
            let mut matcher = Matcher::open(&lexicon, number, query)?;
            search(&mut matcher, number as u32, &bm25, gone, &mut best);
            self.finish(number, &matcher)?;
        }
        Ok(best.into_hits())
    }

    /// How many live documents match.
    ///
    /// # Errors
    /// When the query is wrong, or a segment is damaged.
    pub fn count(&self, query: &Query) -> Result<u64, Error> {
        query.validate()?;
        let lexicon = Lexicon::new(&self.segments, query)?;
        let mut count = 0;
        for (number, gone) in self.gone.iter().enumerate() {
            let mut matcher = Matcher::open(&lexicon, number, query)?;
            count += count_matches(&mut matcher, gone, self.segments[number].info().documents);
            self.finish(number, &matcher)?;
        }
        Ok(count)
    }

    fn finish(&self, segment: usize, matcher: &Matcher<'_>) -> Result<(), Error> {
        if matcher.failed() {
            return Err(self.segments[segment].damaged("a list cannot be decoded"));
        }
        Ok(())
    }

    /// Calls `each` with the documents of hits (segment, document), in their order.
    ///
    /// # Errors
    /// When there is no such document, its segment keeps none, or is damaged.
    pub fn documents(
        &self,
        hits: impl IntoIterator<Item = (u32, u32)>,
        mut each: impl FnMut(&Segment, u32, &Stored<'_>),
    ) -> Result<(), Error> {
        let mut readers: Vec<Option<StoreReader<'_>>> =
            self.segments.iter().map(|_| None).collect();
        for (number, document) in hits {
            let segment = self
                .segments
                .get(number as usize)
                .filter(|segment| document < segment.info().documents)
                .ok_or_else(|| {
                    Error::Asked(format!("there is no document {document} in segment {number}"))
                })?;
            let reader = &mut readers[number as usize];
            let reader = match reader {
                Some(reader) => reader,
                None => reader.insert(StoreReader::new(segment)?),
            };
            each(segment, document, &reader.get(document)?);
        }
        Ok(())
    }

    /// Reads all segments against their checksums.
    ///
    /// # Errors
    /// When one is damaged.
    pub fn check(&self) -> Result<(), Error> {
        self.segments.iter().try_for_each(Segment::check)
    }

    /// The segments.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Documents, superseded ones included.
    pub fn documents_total(&self) -> u64 {
        self.documents
    }

    /// Documents that are live.
    pub fn live_total(&self) -> u64 {
        self.documents - self.gone.iter().map(|gone| u64::from(gone.count())).sum::<u64>()
    }
}
