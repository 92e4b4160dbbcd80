//! gzip (RFC 1952), zlib (RFC 1950) and bare deflate (RFC 1951).
//!
//! A whole, single, sound stream takes the fast path: one call of libdeflate into a buffer of
//! the final size (gzip states it, others are guessed). Everything else — bombs, several
//! members, breaks, junk — goes through a streaming decoder that keeps what it has.

use std::cell::RefCell;

use flate2::{Decompress, FlushDecompress, Status};
use libdeflater::{DecompressionError, Decompressor};
use memchr::memmem;

use super::{End, Sink, looks_like_text};

const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
/// Deflate cannot expand more than this, so a larger stated size is a lie.
const MAX_RATIO: usize = 1032;
/// Space offered to the fast path when the size is not stated; text seldom shrinks further.
const USUAL_RATIO: usize = 8;

thread_local! {
    static FAST: RefCell<Decompressor> = RefCell::new(Decompressor::new());
}

pub(super) fn gzip(body: &[u8], sink: &mut Sink) -> End {
    if !body.starts_with(&MAGIC) {
        return End::Absent;
    }
    if fast_gzip(body, sink) {
        return End::Complete;
    }
    let mut rest = body;
    loop {
        let Some(head) = header_len(rest) else { return End::Unfinished };
        let start = sink.bytes.len();
        let (end, used) = inflate(false, &rest[head..], sink);
        if end != End::Complete {
            return end;
        }
        let Some((trailer, after)) = rest[head + used..].split_first_chunk::<8>() else {
            return End::Unfinished;
        };
        let member = &sink.bytes[start..];
        let sum = libdeflater::crc32(member).to_le_bytes();
        if trailer[..4] != sum || trailer[4..] != (member.len() as u32).to_le_bytes() {
            return End::Corrupt;
        }
        if !after.starts_with(&MAGIC) {
            return End::Complete;
        }
        rest = after;
    }
}

/// `deflate` should mean zlib, often means bare deflate, and sometimes is gzip.
pub(super) fn deflate(body: &[u8], sink: &mut Sink) -> End {
    if body.starts_with(&MAGIC) {
        return gzip(body, sink);
    }
    if is_zlib(body) {
        if fast(body, sink, Decompressor::zlib_decompress) {
            return End::Complete;
        }
        let (end, _) = inflate(true, body, sink);
        if end != End::Corrupt || !sink.bytes.is_empty() {
            return end;
        }
    }
    if fast(body, sink, Decompressor::deflate_decompress) {
        return End::Complete;
    }
    let (end, _) = inflate(false, body, sink);
    let failed = matches!(end, End::Corrupt | End::Unfinished);
    if failed && (sink.bytes.is_empty() || looks_like_text(body)) {
        sink.bytes.clear();
        return End::Absent;
    }
    end
}

/// The trailer of a single member states the size; with another member or junk behind the
/// first, it would state something else, so both are left to the slow path.
fn fast_gzip(body: &[u8], sink: &mut Sink) -> bool {
    let Some(&stated) = body.last_chunk::<4>() else { return false };
    let size = u32::from_le_bytes(stated) as usize;
    if size > sink.limit
        || size > body.len().saturating_mul(MAX_RATIO)
        || memmem::find(&body[1..], &MAGIC).is_some()
    {
        return false;
    }
    let mut out = vec![0; size];
    let result = FAST.with_borrow_mut(|fast| fast.gzip_decompress(body, &mut out));
    if result != Ok(size) {
        return false;
    }
    sink.bytes = out;
    true
}

fn fast(
    body: &[u8],
    sink: &mut Sink,
    decompress: impl FnOnce(&mut Decompressor, &[u8], &mut [u8]) -> Result<usize, DecompressionError>,
) -> bool {
    let mut out = vec![0; body.len().saturating_mul(USUAL_RATIO).min(sink.limit)];
    let Ok(size) = FAST.with_borrow_mut(|fast| decompress(fast, body, &mut out)) else {
        return false;
    };
    out.truncate(size);
    out.shrink_to_fit();
    sink.bytes = out;
    true
}

/// Streams deflate data (inside zlib's frame if asked) into the sink; returns the input used.
fn inflate(zlib: bool, input: &[u8], sink: &mut Sink) -> (End, usize) {
    let mut decoder = Decompress::new(zlib);
    loop {
        sink.grow(input.len().saturating_mul(4));
        let (read, written) = (decoder.total_in() as usize, decoder.total_out());
        let result = decoder.decompress_vec(&input[read..], &mut sink.bytes, FlushDecompress::None);
        let now = decoder.total_in() as usize;
        if sink.is_over() {
            return (End::Limit, now);
        }
        match result {
            Ok(Status::StreamEnd) => return (End::Complete, now),
            Ok(_) if now == read && decoder.total_out() == written => {
                return (End::Unfinished, now);
            }
            Ok(_) => {}
            Err(_) => return (End::Corrupt, now),
        }
    }
}

/// Compression method 8, window up to 32 KiB, check bits right.
fn is_zlib(body: &[u8]) -> bool {
    matches!(body, [method, flags, ..]
        if method & 0x0f == 8 && method >> 4 <= 7
            && u16::from_be_bytes([*method, *flags]) % 31 == 0)
}

/// Length of a member's header, or none when the body ends inside it.
fn header_len(member: &[u8]) -> Option<usize> {
    const HEADER_SUM: u8 = 2;
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    let flags = *member.get(3)?;
    let mut at = 10;
    if flags & EXTRA != 0 {
        let len = member.get(at..at + 2)?;
        at += 2 + usize::from(u16::from_le_bytes([len[0], len[1]]));
    }
    for field in [NAME, COMMENT] {
        if flags & field != 0 {
            at += memchr::memchr(0, member.get(at..)?)? + 1;
        }
    }
    if flags & HEADER_SUM != 0 {
        at += 2;
    }
    (at <= member.len()).then_some(at)
}
