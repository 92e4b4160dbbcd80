//! The positional inverted index of crivello, usable without Python.
//!
//! Documents are pages of a crawl. [`builder::Builder`] makes a *segment* of them in memory: an
//! immutable file (`docs/formats/segment.md`) of their terms, where each occurs, and the documents
//! themselves. [`merge::merge`] makes one segment of several. [`searcher::Searcher`] answers
//! queries over segments, ranked by BM25, with results identical to exhaustive scoring.

pub mod analysis;
pub mod builder;
mod cursor;
mod dictionary;
mod error;
mod inverter;
mod leaf;
mod lexicon;
mod list;
mod live;
mod map;
mod matcher;
pub mod merge;
pub mod query;
mod score;
pub mod searcher;
pub mod segment;
pub mod snippet;
mod store;
mod topk;

pub use error::Error;

#[cfg(test)]
mod tests;
