//! Which documents of a segment a query matches.

use crate::Error;
use crate::cursor::END;
use crate::leaf::Leaf;
use crate::lexicon::Lexicon;
use crate::query::Query;
use crate::score::Bm25;

/// A query on a segment: its leaves, and the tree over their numbers.
pub struct Matcher<'a> {
    /// The leaves.
    pub leaves: Vec<Leaf<'a>>,
    /// Which of them score, from left to right.
    pub scoring: Vec<usize>,
    /// The tree.
    pub tree: Tree,
}

/// A tree over leaves.
pub enum Tree {
    /// A leaf.
    Leaf(usize),
    /// All of these leaves, the rarest first.
    Together(Vec<usize>),
    /// All of them, the rarest first.
    All(Vec<Tree>),
    /// One of them at least.
    Any(Vec<Tree>),
    /// The first, and not the second.
    Without(Box<Tree>, Box<Tree>),
}

impl<'a> Matcher<'a> {
    /// Opens a query on a segment of the lexicon.
    ///
    /// # Errors
    /// When a phrase meets a segment without positions.
    pub fn open(lexicon: &Lexicon<'_, 'a>, segment: usize, query: &Query) -> Result<Self, Error> {
        let (leaves, scoring) = (Vec::new(), Vec::new());
        let mut growth = Growth { lexicon, segment, leaves, scoring };
        let tree = growth.grow(query, Place { positive: true, any: false, apart: false })?;
        Ok(Self { leaves: growth.leaves, scoring: growth.scoring, tree })
    }

    /// The first document from `target` on that matches, or [`END`]. Targets do not fall.
    pub fn seek(&mut self, target: u32) -> u32 {
        seek(&self.tree, &mut self.leaves, target)
    }

    /// The score of a document that matches: the sum over all leaves that it has.
    pub fn score(&mut self, document: u32, bm25: &Bm25) -> f64 {
        let mut score = 0.0;
        for &leaf in &self.scoring {
            let leaf = &mut self.leaves[leaf];
            if leaf.seek(document) == document {
                score += leaf.score(bm25);
            }
        }
        score
    }

    /// What no score from `target` on is above, and the last document for which that holds.
    pub fn block(&mut self, target: u32, bm25: &Bm25) -> (f64, u32) {
        let (mut bound, mut last) = (0.0, END);
        for &leaf in &self.scoring {
            let (more, end) = self.leaves[leaf].block(target, bm25);
            bound += more;
            last = last.min(end);
        }
        (bound, last)
    }

    /// Whether bytes of its lists could not be decoded.
    pub fn failed(&self) -> bool {
        self.leaves.iter().any(Leaf::failed)
    }
}

/// Where a leaf stands in the tree.
#[derive(Clone, Copy)]
struct Place {
    /// Not in what must not match.
    positive: bool,
    /// Below an `any`.
    any: bool,
    /// Below an `all` or a `without` that is below an `any`: it may be ahead of a document that
    /// another branch matches, so another cursor scores.
    apart: bool,
}

struct Growth<'q, 'l, 'a> {
    lexicon: &'l Lexicon<'q, 'a>,
    segment: usize,
    leaves: Vec<Leaf<'a>>,
    scoring: Vec<usize>,
}

impl Growth<'_, '_, '_> {
    fn grow(&mut self, query: &Query, place: Place) -> Result<Tree, Error> {
        let inside = Place { apart: place.any, ..place };
        Ok(match query {
            Query::Leaf(leaf) => {
                let number = self.leaves.len();
                self.leaves.push(Leaf::open(self.lexicon, self.segment, leaf)?);
                if place.positive && place.apart {
                    self.leaves.push(Leaf::open(self.lexicon, self.segment, leaf)?);
                }
                if place.positive {
                    self.scoring.push(self.leaves.len() - 1);
                }
                Tree::Leaf(number)
            }
            Query::Any(children) => {
                Tree::Any(self.children(children, Place { any: true, ..place })?)
            }
            Query::All(children) => {
                let mut trees = self.children(children, inside)?;
                trees.sort_by_key(|tree| cost(tree, &self.leaves));
                let leaf =
                    |tree: &Tree| if let Tree::Leaf(leaf) = tree { Some(*leaf) } else { None };
                match trees.iter().map(leaf).collect::<Option<Vec<_>>>() {
                    Some(leaves) => Tree::Together(leaves),
                    None => Tree::All(trees),
                }
            }
            Query::Without(child, not) => {
                let child = self.grow(child, inside)?;
                let not = self.grow(not, Place { positive: false, ..inside })?;
                Tree::Without(Box::new(child), Box::new(not))
            }
        })
    }

    fn children(&mut self, children: &[Query], place: Place) -> Result<Vec<Tree>, Error> {
        children.iter().map(|child| self.grow(child, place)).collect()
    }
}

fn cost(tree: &Tree, leaves: &[Leaf<'_>]) -> u32 {
    match tree {
        Tree::Leaf(leaf) => leaves[*leaf].cost(),
        Tree::Together(numbers) => leaves[numbers[0]].cost(),
        Tree::All(trees) => trees.iter().map(|tree| cost(tree, leaves)).min().unwrap_or(0),
        Tree::Any(trees) => {
            trees.iter().fold(0, |sum: u32, tree| sum.saturating_add(cost(tree, leaves)))
        }
        Tree::Without(tree, _) => cost(tree, leaves),
    }
}

fn together(numbers: &[usize], leaves: &mut [Leaf<'_>], mut target: u32) -> u32 {
    'next: loop {
        for &leaf in numbers {
            let document = leaves[leaf].seek(target);
            if document != target {
                if document == END {
                    return END;
                }
                target = document;
                continue 'next;
            }
        }
        return target;
    }
}

fn seek(tree: &Tree, leaves: &mut [Leaf<'_>], mut target: u32) -> u32 {
    match tree {
        Tree::Leaf(leaf) => leaves[*leaf].seek(target),
        Tree::Together(numbers) => together(numbers, leaves, target),
        Tree::All(trees) => 'next: loop {
            for tree in trees {
                let document = seek(tree, leaves, target);
                if document == END {
                    return END;
                }
                if document != target {
                    target = document;
                    continue 'next;
                }
            }
            return target;
        },
        Tree::Any(trees) => {
            trees.iter().map(|tree| seek(tree, leaves, target)).min().unwrap_or(END)
        }
        Tree::Without(tree, not) => loop {
            target = seek(tree, leaves, target);
            if target == END || seek(not, leaves, target) != target {
                return target;
            }
            target += 1;
        },
    }
}
