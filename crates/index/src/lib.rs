//! The positional inverted index of crivello.

pub mod analysis;
