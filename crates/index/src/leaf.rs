//! A leaf of a query on a segment: the documents that have a term or a phrase.

use crate::Error;
use crate::cursor::{Cursor, END};
use crate::lexicon::Lexicon;
use crate::list::weighted;
use crate::query;
use crate::score::Bm25;
use crate::segment::{Segment, TITLE_WEIGHT, length};

/// The documents of a leaf, moving forward.
pub struct Leaf<'a> {
    segment: &'a Segment,
    /// For each term of the phrase its cursor; terms that stand in it twice share one.
    order: Vec<usize>,
    /// The cursors, that of the rarest term first.
    cursors: Vec<Cursor<'a>>,
    title: bool,
    idf: f64,
    document: u32,
    /// Occurrences in the document as scores count them, of a phrase.
    tf: u32,
    positions: Vec<Vec<u32>>,
}

impl<'a> Leaf<'a> {
    /// Before the first document of a leaf on a segment.
    ///
    /// # Errors
    /// When it is a phrase, and the segment has no positions.
    pub fn open(
        lexicon: &Lexicon<'_, 'a>,
        segment: usize,
        leaf: &query::Leaf,
    ) -> Result<Self, Error> {
        let idf = lexicon.idf(leaf);
        let mut terms: Vec<&str> = leaf.terms.iter().map(String::as_str).collect();
        terms.sort_unstable();
        terms.dedup();
        let lists = terms.iter().map(|&term| Some((term, lexicon.list(segment, term)?)));
        // One term that no document has is enough for none.
        let mut lists: Vec<_> = lists.collect::<Option<_>>().unwrap_or_default();
        lists.sort_by_key(|(_, list)| list.df);
        let order = leaf.terms.iter().map_while(|term| lists.iter().position(|l| l.0 == term));
        let order = order.collect();
        let segment = lexicon.segment(segment);
        let info = segment.info();
        if leaf.terms.len() > 1 && !info.positions {
            let what = "query: the index has no positions, so no phrases can be found";
            return Err(Error::Asked(what.to_owned()));
        }
        let open = |(_, list)| Cursor::new(list, info.documents, info.positions);
        let cursors: Vec<_> = lists.into_iter().map(open).collect();
        let document = if cursors.is_empty() { END } else { 0 };
        let positions = vec![Vec::new(); cursors.len()];
        let mut leaf =
            Self { segment, order, cursors, title: leaf.title, idf, document, tf: 0, positions };
        if !leaf.cursors.is_empty() {
            leaf.accept(0);
        }
        Ok(leaf)
    }

    /// The document that it is at, or [`END`].
    #[inline]
    pub fn document(&self) -> u32 {
        self.document
    }

    /// About how many documents it has, at most.
    pub fn cost(&self) -> u32 {
        self.cursors.first().map_or(0, Cursor::df)
    }

    /// Whether it is a term anywhere in the document.
    #[inline]
    fn is_plain(&self) -> bool {
        self.order.len() == 1 && !self.title
    }

    /// Its cursor, when it is a term anywhere in the document: then the cursor says all.
    pub fn plain(&mut self) -> Option<&mut Cursor<'a>> {
        if self.is_plain() { self.cursors.first_mut() } else { None }
    }

    /// Moves to the first document that is not below `target`.
    #[inline]
    pub fn seek(&mut self, target: u32) -> u32 {
        if self.document >= target {
            return self.document;
        }
        if self.is_plain() {
            self.document = self.cursors[0].seek(target);
            return self.document;
        }
        self.accept(target)
    }

    fn accept(&mut self, mut target: u32) -> u32 {
        if self.order.len() == 1 {
            let cursor = &mut self.cursors[0];
            self.document = cursor.seek(target);
            while self.title && self.document != END && cursor.counts().1 == 0 {
                self.document = cursor.advance();
            }
            return self.document;
        }
        loop {
            self.document = self.together(target);
            if self.document == END || self.occurs() {
                return self.document;
            }
            target = self.document + 1;
        }
    }

    /// The first document from `target` on that has all terms.
    fn together(&mut self, mut target: u32) -> u32 {
        'next: loop {
            target = self.cursors[0].seek(target);
            if target == END {
                return END;
            }
            for cursor in &mut self.cursors[1..] {
                let document = cursor.seek(target);
                if document != target {
                    target = document;
                    continue 'next;
                }
            }
            return target;
        }
    }

    /// Counts the phrase in the document that all its cursors are at.
    fn occurs(&mut self) -> bool {
        for (cursor, positions) in self.cursors.iter_mut().zip(&mut self.positions) {
            cursor.positions(positions);
        }
        let titles = length(self.segment.titles(), self.document);
        let (mut count, mut in_title) = (0, 0);
        let rarest = self.order.iter().position(|&cursor| cursor == 0).unwrap_or(0) as u32;
        let mut at = vec![0; self.order.len()];
        'start: for &position in &self.positions[0] {
            let Some(start) = position.checked_sub(rarest) else { continue };
            for (place, &cursor) in self.order.iter().enumerate() {
                let Some(wanted) = start.checked_add(place as u32) else { break 'start };
                let positions = &self.positions[cursor];
                while at[place] < positions.len() && positions[at[place]] < wanted {
                    at[place] += 1;
                }
                if at[place] == positions.len() {
                    break 'start;
                }
                if positions[at[place]] != wanted {
                    continue 'start;
                }
            }
            count += 1;
            in_title += u32::from(start < titles);
        }
        self.tf = if self.title { in_title * TITLE_WEIGHT } else { weighted(count, in_title) };
        self.tf > 0
    }

    /// The lengths of the segment's documents.
    pub fn lengths(&self) -> &'a [u8] {
        self.segment.lengths()
    }

    /// Its idf.
    pub fn idf(&self) -> f64 {
        self.idf
    }

    /// The score of the document that it is at.
    #[inline]
    pub fn score(&mut self, bm25: &Bm25) -> f64 {
        let tf = if self.order.len() > 1 {
            self.tf
        } else if self.title {
            self.cursors[0].counts().1.saturating_mul(TITLE_WEIGHT)
        } else {
            self.cursors[0].tf()
        };
        bm25.score(self.idf, tf, length(self.segment.lengths(), self.document))
    }

    /// What no score of the leaf is above.
    pub fn bound(&mut self, bm25: &Bm25) -> f64 {
        let (idf, lengths) = (self.idf, self.segment.lengths());
        let bounds = self.cursors.iter_mut().map(|c| c.list_bound(bm25, idf, lengths));
        bounds.reduce(f64::min).unwrap_or(0.0)
    }

    /// What no score from `target` on is above, and the last document for which that holds.
    /// Nothing below `target` may be sought afterwards.
    pub fn block(&mut self, target: u32, bm25: &Bm25) -> (f64, u32) {
        let (idf, lengths) = (self.idf, self.segment.lengths());
        let (mut bound, mut last) = (f64::INFINITY, END);
        for cursor in &mut self.cursors {
            last = last.min(cursor.shallow(target));
            bound = bound.min(cursor.block_bound(bm25, idf, lengths));
        }
        if self.cursors.is_empty() { (0.0, END) } else { (bound, last) }
    }

    /// Whether bytes of its lists could not be decoded.
    pub fn failed(&self) -> bool {
        self.cursors.iter().any(|cursor| cursor.failed)
    }
}
