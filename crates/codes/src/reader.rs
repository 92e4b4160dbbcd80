//! A place in bytes that are being decoded.

use crate::Corrupt;

/// Bytes that are read from front to back.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Reads `bytes` from their beginning.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// What has not been read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// One byte.
    ///
    /// # Errors
    /// At the end.
    #[inline]
    pub fn byte(&mut self) -> Result<u8, Corrupt> {
        let (&first, rest) = self.0.split_first().ok_or(Corrupt)?;
        self.0 = rest;
        Ok(first)
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// When there are fewer.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Corrupt> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Corrupt)?;
        self.0 = rest;
        Ok(taken)
    }
}
