//! The best documents, without scoring all.
//!
//! A document is passed over only when a bound says that its score cannot be above the lowest of
//! the k best so far; as documents come in order and the earlier of equals wins, the result is
//! that of scoring everything. Bounds come from the points of lists and of their blocks.
//!
//! Disjunctions go by `MaxScore` (Turtle and Flood 1995) with blocks (Ding and Suel, *Faster top-k
//! document retrieval using block-max indexes*, SIGIR 2011): leaves are ordered by the bounds of
//! their lists; those first ones that even together cannot lift a document above the floor are
//! not *essential*, and looked at only for documents that an essential one has. Other trees are
//! walked document by document, block by block.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::cursor::END;
use crate::leaf::Leaf;
use crate::list::weighted;
use crate::live::Bits;
use crate::matcher::{Matcher, Tree};
use crate::score::{Bm25, SLACK};
use crate::segment::length;

/// A document and its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Number of the segment.
    pub segment: u32,
    /// Number of the document in it.
    pub document: u32,
    /// Its score.
    pub score: f64,
}

impl Eq for Hit {}

/// The better is the less: higher score, then the earlier.
impl Ord for Hit {
    fn cmp(&self, other: &Self) -> Ordering {
        let place = |hit: &Self| (hit.segment, hit.document);
        other.score.total_cmp(&self.score).then_with(|| place(self).cmp(&place(other)))
    }
}

impl PartialOrd for Hit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The k best so far, the worst of them on top.
pub struct Best {
    k: usize,
    heap: BinaryHeap<Hit>,
    floor: f64,
}

impl Best {
    /// Of none.
    pub fn new(k: usize) -> Self {
        let floor = if k == 0 { f64::INFINITY } else { f64::NEG_INFINITY };
        Self { k, heap: BinaryHeap::with_capacity(k.min(1024)), floor }
    }

    /// What a score must be above.
    #[inline]
    pub fn floor(&self) -> f64 {
        self.floor
    }

    /// Adds a document that comes after all before; whether the floor has risen.
    pub fn offer(&mut self, hit: Hit) -> bool {
        if hit.score.total_cmp(&self.floor).is_le() {
            return false;
        }
        if self.heap.len() == self.k {
            self.heap.pop();
        }
        self.heap.push(hit);
        if self.heap.len() < self.k {
            return false;
        }
        self.floor = self.heap.peek().map_or(self.floor, |worst| worst.score);
        true
    }

    /// From the best to the worst.
    pub fn into_hits(self) -> Vec<Hit> {
        self.heap.into_sorted_vec()
    }
}

/// Offers all documents of a segment that match and may be among the best.
pub fn search(matcher: &mut Matcher<'_>, segment: u32, bm25: &Bm25, gone: &Bits, best: &mut Best) {
    let leaf = |tree: &Tree| matches!(tree, Tree::Leaf(_));
    let disjunction = match &matcher.tree {
        Tree::Any(trees) => trees.iter().all(leaf),
        tree => leaf(tree),
    };
    if matches!(matcher.tree, Tree::Leaf(_)) && matcher.leaves[0].plain().is_some() {
        scan(&mut matcher.leaves[0], segment, bm25, gone, best);
    } else if disjunction {
        MaxScore::new(matcher, bm25).search(segment, gone, best);
    } else {
        walk(matcher, segment, bm25, gone, best);
    }
}

/// How many of the segment's documents match and are live.
pub fn count(matcher: &mut Matcher<'_>, gone: &Bits, documents: u32) -> u64 {
    if gone.count() == 0
        && let Tree::Leaf(_) = matcher.tree
        && let Some(cursor) = matcher.leaves[0].plain()
    {
        return u64::from(cursor.df());
    }
    let leaf = |tree: &Tree| matches!(tree, Tree::Leaf(_));
    if let Tree::Any(trees) = &matcher.tree
        && trees.iter().all(leaf)
        && matcher.leaves.iter_mut().all(|leaf| leaf.plain().is_some() || leaf.cost() == 0)
    {
        let mut found = Bits::new(documents);
        for cursor in matcher.leaves.iter_mut().filter_map(Leaf::plain) {
            cursor.each_block(|documents| documents.iter().for_each(|&d| found.set(d)));
        }
        return u64::from(found.without(gone));
    }
    let (mut count, mut document) = (0, matcher.seek(0));
    while document != END {
        count += u64::from(!gone.get(document));
        document = matcher.seek(document + 1);
    }
    count
}

/// A single term, block by block.
fn scan(leaf: &mut Leaf<'_>, segment: u32, bm25: &Bm25, gone: &Bits, best: &mut Best) {
    let (idf, lengths) = (leaf.idf(), leaf.lengths());
    let Some(cursor) = leaf.plain() else { return };
    let mut target = 0;
    loop {
        let last = cursor.shallow(target);
        if cursor.block_bound(bm25, idf, lengths) * SLACK > best.floor() {
            let mut sieve = bm25.sieve(idf, best.floor());
            let (documents, counts, titles) = cursor.postings();
            for ((&document, &count), &titles) in documents.iter().zip(counts).zip(titles) {
                let (tf, length) = (weighted(count, titles), length(lengths, document));
                if !sieve.passes(tf, length) || gone.get(document) {
                    continue;
                }
                let score = bm25.score(idf, tf, length);
                if best.offer(Hit { segment, document, score }) {
                    sieve = bm25.sieve(idf, best.floor());
                }
            }
        }
        if last == END || cursor.failed || last + 1 == cursor.limit() {
            return;
        }
        target = last + 1;
    }
}

fn walk(matcher: &mut Matcher<'_>, segment: u32, bm25: &Bm25, gone: &Bits, best: &mut Best) {
    let mut document = matcher.seek(0);
    let (mut bound, mut last) = (f64::INFINITY, None);
    while document != END {
        if best.floor() > 0.0 && last.is_none_or(|last| document > last) {
            let (sum, end) = matcher.block(document, bm25);
            (bound, last) = (sum, Some(end));
        }
        if bound * SLACK <= best.floor() {
            match last {
                None | Some(END) => return,
                Some(last) => document = matcher.seek(last + 1),
            }
            continue;
        }
        if !gone.get(document) {
            let score = matcher.score(document, bm25);
            best.offer(Hit { segment, document, score });
        }
        document = matcher.seek(document + 1);
    }
}

/// A disjunction of leaves.
struct MaxScore<'m, 'a> {
    matcher: &'m mut Matcher<'a>,
    bm25: &'m Bm25,
    /// Leaves, the bounds of their lists rising.
    order: Vec<usize>,
    /// Sums of those bounds: of the first 0, 1, 2, … leaves.
    sums: Vec<f64>,
    /// How many leaves are not essential.
    idle: usize,
    /// Scores of the leaves in the document at hand.
    scores: Vec<f64>,
}

impl<'m, 'a> MaxScore<'m, 'a> {
    fn new(matcher: &'m mut Matcher<'a>, bm25: &'m Bm25) -> Self {
        let bounds: Vec<f64> = matcher.leaves.iter_mut().map(|leaf| leaf.bound(bm25)).collect();
        let mut order: Vec<usize> = (0..bounds.len()).collect();
        order.sort_by(|&one, &other| bounds[one].total_cmp(&bounds[other]));
        let mut sums = vec![0.0];
        for &leaf in &order {
            sums.push(sums[sums.len() - 1] + bounds[leaf]);
        }
        let scores = vec![0.0; bounds.len()];
        Self { matcher, bm25, order, sums, idle: 0, scores }
    }

    fn search(&mut self, segment: u32, gone: &Bits, best: &mut Best) {
        self.rest(best.floor());
        let (mut bound, mut last) = (f64::INFINITY, None);
        let mut target = 0;
        loop {
            let document = self.seek(target);
            if document == END {
                return;
            }
            if best.floor() > 0.0 && last.is_none_or(|last| document > last) {
                let (sum, end) = self.block(document);
                (bound, last) = (sum, Some(end));
            }
            if bound * SLACK <= best.floor() {
                match last {
                    None | Some(END) => return,
                    Some(last) => target = last + 1,
                }
                continue;
            }
            target = document + 1;
            if gone.get(document) || !self.score(document, best.floor()) {
                continue;
            }
            let score = self.scores.iter().sum();
            if best.offer(Hit { segment, document, score }) && self.rest(best.floor()) {
                last = None;
            }
        }
    }

    /// Lets leaves rest that the floor has made unessential; whether there are more of them.
    fn rest(&mut self, floor: f64) -> bool {
        let before = self.idle;
        while self.idle < self.order.len() && self.sums[self.idle + 1] * SLACK <= floor {
            self.idle += 1;
        }
        self.idle > before
    }

    /// The first document from `target` on that an essential leaf has.
    fn seek(&mut self, target: u32) -> u32 {
        let leaves = &mut self.matcher.leaves;
        self.order[self.idle..].iter().map(|&leaf| leaves[leaf].seek(target)).min().unwrap_or(END)
    }

    /// What no score from `target` on is above, and the last document for which that holds.
    fn block(&mut self, target: u32) -> (f64, u32) {
        let (mut bound, mut last) = (self.sums[self.idle], END);
        for &leaf in &self.order[self.idle..] {
            let (more, end) = self.matcher.leaves[leaf].block(target, self.bm25);
            bound += more;
            last = last.min(end);
        }
        (bound, last)
    }

    /// Scores a document that an essential leaf has; false when it cannot be above the floor.
    fn score(&mut self, document: u32, floor: f64) -> bool {
        self.scores.fill(0.0);
        let mut sum = 0.0;
        for &number in &self.order[self.idle..] {
            let leaf = &mut self.matcher.leaves[number];
            if leaf.document() == document {
                self.scores[number] = leaf.score(self.bm25);
                sum += self.scores[number];
            }
        }
        for place in (0..self.idle).rev() {
            if (sum + self.sums[place + 1]) * SLACK <= floor {
                return false;
            }
            let number = self.order[place];
            let leaf = &mut self.matcher.leaves[number];
            let (bound, _) = leaf.block(document, self.bm25);
            if (sum + bound + self.sums[place]) * SLACK <= floor {
                return false;
            }
            if leaf.seek(document) == document {
                self.scores[number] = leaf.score(self.bm25);
                sum += self.scores[number];
            }
        }
        true
    }
}
