//! The compressed members of a WARC file: gzip members, zstd frames, or no compression at all.
//!
//! What a file is shows at each member's first bytes, so a file may change its codec half-way.
//! zstd files may begin with a dictionary in a skippable frame of type 13 (*WARC Zstandard*,
//! IIPC 2021), plain or itself compressed. After damage the next member is looked for byte by
//! byte: it begins with a codec's magic number and decodes to `WARC/`.

use std::io::{self, BufRead, BufReader, Read, Seek};

use flate2::bufread::GzDecoder;
use memchr::memmem;

/// What a WARC record begins with.
pub(super) const WARC: &[u8] = b"WARC/";

const GZIP: &[u8] = &[0x1f, 0x8b, 8];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Skippable zstd frames: `0x184D2A50` to `…5F`, little-endian.
const SKIPPABLE: &[u8] = &[0x2a, 0x4d, 0x18];
const DICTIONARY: u8 = 0x5d;
const MAX_DICTIONARY: u64 = 64 << 20;
const BUFFER: usize = 128 << 10;

type Zstd<R> = zstd::stream::read::Decoder<'static, Source<R>>;

/// A file that knows where it is.
pub(super) struct Source<R> {
    file: BufReader<R>,
    at: u64,
}

impl<R: Read> Read for Source<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let size = self.file.read(out)?;
        self.at += size as u64;
        Ok(size)
    }
}

impl<R: Read> BufRead for Source<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.file.fill_buf()
    }

    fn consume(&mut self, size: usize) {
        self.file.consume(size);
        self.at += size as u64;
    }
}

impl<R: Read + Seek> Source<R> {
    fn seek_to(&mut self, at: u64) -> io::Result<()> {
        self.file.seek_relative(at as i64 - self.at as i64)?; // keeps the buffer when it can
        self.at = at;
        Ok(())
    }
}

enum State<R: Read> {
    Between(Source<R>),
    Plain(Source<R>),
    Gzip(GzDecoder<Source<R>>),
    Zstd(Box<Zstd<R>>),
    /// The file is lost to an error of the decoder's making.
    Gone,
}

impl<R: Read> State<R> {
    fn source(self) -> Option<Source<R>> {
        match self {
            Self::Between(source) | Self::Plain(source) => Some(source),
            Self::Gzip(decoder) => Some(decoder.into_inner()),
            Self::Zstd(decoder) => Some(decoder.finish()),
            Self::Gone => None,
        }
    }
}

/// The members of a file, one after the other.
pub(super) struct Members<R: Read> {
    state: State<R>,
    start: u64,
    dictionary: Vec<u8>,
}

impl<R: Read + Seek> Members<R> {
    pub(super) fn new(file: R) -> Self {
        let source = Source { file: BufReader::with_capacity(BUFFER, file), at: 0 };
        Self { state: State::Between(source), start: 0, dictionary: Vec::new() }
    }

    /// Where the current member begins.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Whether the current member is the file itself.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self.state, State::Plain(_))
    }

    /// How far the file has been read.
    pub(super) fn position(&self) -> u64 {
        match &self.state {
            State::Between(source) | State::Plain(source) => source.at,
            State::Gzip(decoder) => decoder.get_ref().at,
            State::Zstd(decoder) => decoder.get_ref().at,
            State::Gone => self.start,
        }
    }

    /// Opens the next member; false at the end of the file. After garbage (an error of kind
    /// `InvalidData`) the members stand before the garbage: [`recover`](Self::recover).
    pub(super) fn open_next(&mut self) -> io::Result<bool> {
        loop {
            let Some(mut source) = std::mem::replace(&mut self.state, State::Gone).source() else {
                return Ok(false);
            };
            self.start = source.at;
            let magic = peek(&mut source)?;
            if magic.is_empty() {
                self.state = State::Between(source);
                return Ok(false);
            }
            if magic.starts_with(GZIP) {
                self.state = State::Gzip(GzDecoder::new(source));
                return Ok(true);
            }
            if magic.starts_with(ZSTD) {
                let decoder = match Zstd::try_with_dictionary(source, &self.dictionary) {
                    Ok(decoder) => decoder,
                    Err((_, error)) => return Err(error),
                };
                self.state = State::Zstd(Box::new(decoder.single_frame()));
                return Ok(true);
            }
            if magic[0] & 0xf0 == 0x50 && magic[1..].starts_with(SKIPPABLE) {
                let skipped = self.skippable(&mut source, magic[0] == DICTIONARY);
                self.state = State::Between(source);
                skipped?;
                continue;
            }
            if magic.starts_with(WARC) || self.start == 0 {
                self.state = State::Plain(source);
                return Ok(true);
            }
            self.state = State::Between(source);
            return Err(io::ErrorKind::InvalidData.into());
        }
    }

    fn skippable(&mut self, source: &mut Source<R>, dictionary: bool) -> io::Result<()> {
        let mut head = [0; 8];
        source.read_exact(&mut head)?;
        let size = u64::from(u32::from_le_bytes([head[4], head[5], head[6], head[7]]));
        if !dictionary || size > MAX_DICTIONARY {
            let skipped = io::copy(&mut source.take(size), &mut io::sink())?;
            return if skipped < size { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) };
        }
        let mut content = Vec::new();
        source.take(size).read_to_end(&mut content)?;
        if content.starts_with(ZSTD) {
            let mut plain = Vec::new();
            zstd::stream::read::Decoder::with_buffer(&content[..])?
                .take(MAX_DICTIONARY)
                .read_to_end(&mut plain)?;
            content = plain;
        }
        self.dictionary = content;
        Ok(())
    }

    /// Appends decoded bytes of the current member; 0 when it has ended.
    pub(super) fn read(&mut self, out: &mut Vec<u8>) -> io::Result<usize> {
        let start = out.len();
        out.resize(start + BUFFER, 0);
        let read = match &mut self.state {
            State::Plain(source) => source.read(&mut out[start..]),
            State::Gzip(decoder) => decoder.read(&mut out[start..]),
            State::Zstd(decoder) => decoder.read(&mut out[start..]),
            State::Between(_) | State::Gone => Ok(0),
        };
        out.truncate(start + *read.as_ref().unwrap_or(&0));
        read
    }

    /// After damage: goes to the next place at which a member begins with a record, or to the
    /// end of the file.
    pub(super) fn recover(&mut self) -> io::Result<()> {
        let Some(mut source) = std::mem::replace(&mut self.state, State::Gone).source() else {
            return Ok(());
        };
        let found = self.search(&mut source);
        self.state = State::Between(source);
        found
    }

    fn search(&self, source: &mut Source<R>) -> io::Result<()> {
        let mut at = self.start + 1;
        let mut block = Vec::new();
        loop {
            source.seek_to(at)?;
            block.clear();
            source.take(BUFFER as u64).read_to_end(&mut block)?;
            let candidates = [GZIP, ZSTD, WARC].into_iter().flat_map(|magic| {
                memmem::find_iter(&block, magic).map(|place| at + place as u64).collect::<Vec<_>>()
            });
            let mut candidates: Vec<u64> = candidates.collect();
            candidates.sort_unstable();
            for candidate in candidates {
                source.seek_to(candidate)?;
                if self.begins_a_record(source) {
                    return source.seek_to(candidate);
                }
            }
            if block.len() < BUFFER {
                source.seek_to(at + block.len() as u64)?;
                return Ok(());
            }
            at += (BUFFER - WARC.len()) as u64;
        }
    }

    fn begins_a_record(&self, source: &mut Source<R>) -> bool {
        let mut first = [0; WARC.len()];
        let magic = peek(source).unwrap_or_default();
        let read = if magic.starts_with(GZIP) {
            GzDecoder::new(source).read_exact(&mut first)
        } else if magic.starts_with(ZSTD) {
            zstd::stream::read::Decoder::with_dictionary(source, &self.dictionary)
                .and_then(|mut decoder| decoder.read_exact(&mut first))
        } else {
            source.read_exact(&mut first)
        };
        read.is_ok() && first == WARC
    }
}

/// The next bytes, up to eight, left where they are.
fn peek<R: Read>(source: &mut Source<R>) -> io::Result<Vec<u8>> {
    let bytes = source.fill_buf()?;
    Ok(bytes[..bytes.len().min(8)].to_vec())
}
