//! Codes for integers, as the structures of crivello need them.
//!
//! Encoders append to a vector of bytes; decoders read from a [`Reader`]. Formats are sequences
//! of bytes, the same on every machine. Decoders accept any bytes: what cannot have been written
//! is [`Corrupt`], and nothing is read out of bounds.

pub mod pack;
mod reader;
pub mod vbyte;

pub use reader::Reader;

/// Bytes that no encoder has written, or fewer than there should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("corrupt or cut code")]
pub struct Corrupt;
