//! The terms of a query, looked up in all segments.

use crate::Error;
use crate::dictionary::{List, find};
use crate::query::{Leaf, Query};
use crate::score::idf;
use crate::segment::Segment;

/// The lists of a query's terms.
pub struct Lexicon<'q, 'a> {
    segments: &'a [Segment],
    documents: u64,
    terms: Vec<Term<'q, 'a>>,
}

struct Term<'q, 'a> {
    word: &'q str,
    lists: Vec<Option<List<'a>>>,
    df: u64,
}

impl<'q, 'a> Lexicon<'q, 'a> {
    /// Looks up all terms of a query.
    ///
    /// # Errors
    /// When a dictionary is damaged.
    pub fn new(segments: &'a [Segment], query: &'q Query) -> Result<Self, Error> {
        let mut words = Vec::new();
        collect(query, &mut words);
        words.sort_unstable();
        words.dedup();
        let mut terms = Vec::with_capacity(words.len());
        for word in words {
            let mut lists = Vec::with_capacity(segments.len());
            for segment in segments {
                lists.push(find(segment, word.as_bytes())?);
            }
            let df = lists.iter().flatten().map(|list| u64::from(list.df)).sum();
            terms.push(Term { word, lists, df });
        }
        let documents = segments.iter().map(|s| u64::from(s.info().documents)).sum();
        Ok(Self { segments, documents, terms })
    }

    fn term(&self, term: &str) -> Option<&Term<'q, 'a>> {
        self.terms.binary_search_by_key(&term, |t| t.word).ok().map(|at| &self.terms[at])
    }

    /// A segment by its number.
    pub fn segment(&self, segment: usize) -> &'a Segment {
        &self.segments[segment]
    }

    /// The list of a term in a segment.
    pub fn list(&self, segment: usize, term: &str) -> Option<List<'a>> {
        self.term(term)?.lists[segment]
    }

    /// idf of a leaf: the sum of its terms'.
    pub fn idf(&self, leaf: &Leaf) -> f64 {
        let df = |term: &String| self.term(term).map_or(0, |term| term.df);
        leaf.terms.iter().fold(0.0, |sum, term| sum + idf(self.documents, df(term)))
    }
}

fn collect<'q>(query: &'q Query, words: &mut Vec<&'q str>) {
    match query {
        Query::Leaf(leaf) => words.extend(leaf.terms.iter().map(String::as_str)),
        Query::All(children) | Query::Any(children) => {
            for child in children {
                collect(child, words);
            }
        }
        Query::Without(child, not) => {
            collect(child, words);
            collect(not, words);
        }
    }
}
