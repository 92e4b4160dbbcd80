//! Queries as trees.

use crate::Error;

/// The deepest tree.
pub const MAX_DEPTH: usize = 64;
/// The most leaves of a tree.
pub const MAX_LEAVES: usize = 1024;
/// The most terms of a tree.
pub const MAX_TERMS: usize = 8192;

/// What a document must have to match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// A term, or a phrase.
    Leaf(Leaf),
    /// All of them.
    All(Vec<Query>),
    /// One of them at least.
    Any(Vec<Query>),
    /// The first, and not the second.
    Without(Box<Query>, Box<Query>),
}

/// Terms that follow one another; one alone is a term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// The terms, as analysis makes them.
    pub terms: Vec<String>,
    /// Whether only what is in the title counts.
    pub title: bool,
}

impl Query {
    /// The leaves that score, from left to right: those that are not in what must not match.
    pub fn positive(&self) -> Vec<&Leaf> {
        let mut leaves = Vec::new();
        self.collect(&mut leaves);
        leaves
    }

    fn collect<'a>(&'a self, leaves: &mut Vec<&'a Leaf>) {
        match self {
            Self::Leaf(leaf) => leaves.push(leaf),
            Self::All(children) | Self::Any(children) => {
                for child in children {
                    child.collect(leaves);
                }
            }
            Self::Without(child, _) => child.collect(leaves),
        }
    }

    /// Checks that the tree says something, and is not too large.
    ///
    /// # Errors
    /// With what is wrong with it.
    pub fn validate(&self) -> Result<(), Error> {
        let mut size = Size { leaves: 0, terms: 0 };
        self.measure(MAX_DEPTH, &mut size)
    }

    fn measure(&self, depth: usize, size: &mut Size) -> Result<(), Error> {
        let depth = depth.checked_sub(1).ok_or_else(too_deep)?;
        match self {
            Self::Leaf(leaf) => {
                size.leaves += 1;
                size.terms += leaf.terms.len();
                if leaf.terms.is_empty() {
                    return Err(Error::Asked("query: a phrase has no terms".to_owned()));
                }
                if size.leaves > MAX_LEAVES || size.terms > MAX_TERMS {
                    let what = format!("{MAX_LEAVES} leaves and {MAX_TERMS} terms are the most");
                    return Err(Error::Asked(format!("query: too large ({what})")));
                }
                Ok(())
            }
            Self::All(children) | Self::Any(children) if children.is_empty() => {
                Err(Error::Asked("query: \"all\" or \"any\" of nothing".to_owned()))
            }
            Self::All(children) | Self::Any(children) => {
                children.iter().try_for_each(|child| child.measure(depth, size))
            }
            Self::Without(child, not) => {
                child.measure(depth, size)?;
                not.measure(depth, size)
            }
        }
    }
}

struct Size {
    leaves: usize,
    terms: usize,
}

/// The error of a tree that is deeper than [`MAX_DEPTH`].
pub fn too_deep() -> Error {
    Error::Asked(format!("query: more than {MAX_DEPTH} deep"))
}
