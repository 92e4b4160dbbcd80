//! The memory map: the one place where this crate is not safe Rust.

#![expect(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

use crivello_crawl::files::at;
use memmap2::Mmap;

/// A file in memory, read by the operating system page by page as it is needed.
///
/// # Contract
/// The bytes must not change while they are mapped. Segments are written under another name and
/// renamed, never written again, and removed by unlinking, after which a map stays valid; nothing
/// but a person who overwrites or cuts a segment in place can break this. Decoders read every
/// byte once and check it, so changed bytes are an error; a file that was cut ends the process
/// (SIGBUS), as with every memory map.
#[derive(Debug)]
pub struct Map(Mmap);

impl Map {
    /// Maps a whole file.
    ///
    /// # Errors
    /// When it cannot be opened or mapped.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path).map_err(at(path))?;
        // SAFETY: the contract above.
        unsafe { Mmap::map(&file) }.map(Self).map_err(at(path))
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
