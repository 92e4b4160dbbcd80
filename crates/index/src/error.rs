//! What can go wrong.

use std::io;
use std::path::{Path, PathBuf};

use crivello_crawl::batch::ColumnError;

/// An error of the index, as one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system's.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A file that is no segment, or whose bytes have changed.
    #[error("{}: {what}", path.display())]
    Damaged {
        /// The segment.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A batch that lacks a column.
    #[error(transparent)]
    Column(#[from] ColumnError),
    /// What was asked cannot be: a query without meaning, a number out of range.
    #[error("{0}")]
    Asked(String),
    /// A segment that would become larger than its numbers reach.
    #[error("segment: too large ({0}); finish it and begin another")]
    Full(&'static str),
}

impl Error {
    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), what: what.into() }
    }
}
