//! The HTTP message in a `response` record, as others have written it.
//!
//! Some archives hold the bytes of the wire, chunks and all; some have removed the chunks and
//! left the header; some have neither a true `Content-Length` nor any. The block's length is the
//! truth: the head ends at the first empty line, the rest is the body, and chunks are taken off
//! when they are announced and there.

use memchr::{memchr, memmem};

use crate::warc::head;

/// An HTTP response found in a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Status code.
    pub status: u16,
    /// The head in the strict form in which it is stored (see the module `head`).
    pub head: Vec<u8>,
    /// The body without its transfer-coding, with its content-coding.
    pub body: Vec<u8>,
    /// Whether the last chunk is there, or there are none.
    pub whole: bool,
}

/// Reads a block; `None` when it does not begin with the status line of an HTTP response.
pub fn message(block: &[u8]) -> Option<Message> {
    let block = block.trim_ascii_start();
    let status = status(block)?;
    let (raw, body) = split(block);
    let chunked = raw.split(|&byte| byte == b'\n').any(|line| {
        let lower = line.to_ascii_lowercase();
        lower.starts_with(b"transfer-encoding") && memmem::find(&lower, b"chunked").is_some()
    });
    let dechunked = if chunked { dechunk(body) } else { None };
    let (body, whole) = dechunked.unwrap_or_else(|| (body.to_vec(), true));
    let mut strict = Vec::with_capacity(raw.len() + 32);
    head::store(raw, body.len(), &mut strict);
    Some(Message { status, head: strict, body, whole })
}

fn status(block: &[u8]) -> Option<u16> {
    let line = &block[..memchr(b'\n', block).unwrap_or(block.len()).min(256)];
    let rest = line.strip_prefix(b"HTTP/")?;
    let code = rest[memchr(b' ', rest)?..].trim_ascii_start();
    let digits = code.get(..3)?;
    if !digits.iter().all(u8::is_ascii_digit) || code.get(3).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let code = digits.iter().fold(0, |code, &digit| code * 10 + u16::from(digit - b'0'));
    (code >= 100).then_some(code)
}

/// Head and body; the empty line is with neither.
fn split(block: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    while let Some(end) = memchr(b'\n', &block[at..]) {
        let line = &block[at..at + end];
        if line.is_empty() || line == b"\r" {
            return (&block[..at], &block[at + end + 1..]);
        }
        at += end + 1;
    }
    (block, &[])
}

/// Takes the chunks off a body; `None` when it does not begin with one, false when it breaks off.
fn dechunk(body: &[u8]) -> Option<(Vec<u8>, bool)> {
    let (mut rest, mut out) = (body, Vec::with_capacity(body.len()));
    let mut first = true;
    loop {
        let Some((size, after)) = chunk_size(rest) else {
            return if first { None } else { Some((out, false)) };
        };
        first = false;
        if size == 0 {
            return Some((out, true));
        }
        if after.len() < size {
            out.extend_from_slice(after);
            return Some((out, false));
        }
        out.extend_from_slice(&after[..size]);
        rest = &after[size..];
        rest = rest.strip_prefix(b"\r").unwrap_or(rest);
        rest = rest.strip_prefix(b"\n").unwrap_or(rest);
    }
}

fn chunk_size(body: &[u8]) -> Option<(usize, &[u8])> {
    let end = memchr(b'\n', &body[..body.len().min(4096)])?;
    let line = body[..end].split(|&byte| byte == b';').next()?.trim_ascii();
    if line.is_empty() || line.len() > 8 {
        return None;
    }
    let size = usize::from_str_radix(std::str::from_utf8(line).ok()?, 16).ok()?;
    Some((size, &body[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn body_of(block: &str, body: &str, whole: bool) {
        let message = message(block.as_bytes()).unwrap();
        assert_eq!((message.body.as_slice(), message.whole), (body.as_bytes(), whole));
    }

    #[test]
    fn chunks_are_taken_off() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        body_of(&format!("{head}4\r\nsiev\r\n1;x=y\r\ne\r\n0\r\n\r\n"), "sieve", true);
        body_of(&format!("{head}4\nsiev\n1\ne\n0\n\n"), "sieve", true);
    }

    #[test]
    fn chunks_that_break_off_are_kept_as_far_as_they_go() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        body_of(&format!("{head}4\r\nsiev\r\nff\r\ne"), "sieve", false);
        body_of(&format!("{head}4\r\nsiev\r\nnot a size\r\n"), "siev", false);
    }

    #[test]
    fn chunks_that_somebody_has_taken_off_already_are_not_missed() {
        body_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n<p>sieve", "<p>sieve", true);
        body_of("HTTP/1.1 200 OK\n\nsieve", "sieve", true);
        body_of("HTTP/1.1 204 None", "", true);
    }

    #[test]
    fn the_head_is_made_strict_and_true() {
        let read = message(b"HTTP/2 404\r\nContent-Length: 99\r\n\r\nno").unwrap();
        assert_eq!(read.status, 404);
        assert_eq!(
            String::from_utf8(read.head).unwrap(),
            "HTTP/1.1 404 \r\nX-Crivello-Status-Line: HTTP/2 404\r\n\
             X-Crivello-Content-Length: 99\r\nContent-Length: 2\r\n\r\n"
        );
    }

    #[test]
    fn what_is_no_response_is_none() {
        for block in ["", "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 OK\r\n\r\n", "HTTP/1.1 2000 x\r\n"] {
            assert_eq!(message(block.as_bytes()), None, "{block:?}");
        }
    }
}
