//! A queued URL as bytes.
//!
//! ```text
//! length varint · attempt u8 · form u8 · depth u16 · score f32 · url_hash u64 · rest
//! ```
//! Little endian; `length` counts what follows it. The queue knows its host, hence `form` 1
//! (`http://host`) and 2 (`https://host`) leave only the path and query in `rest`; 0 keeps the
//! whole URL.

use super::wire::{put_varint, take_varint};

const FIXED: usize = 16;
const SCHEMES: [&str; 3] = ["", "http://", "https://"];

/// One URL with what travels beside it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Record<'a> {
    pub(super) attempt: u8,
    pub(super) depth: u16,
    pub(super) score: f32,
    pub(super) hash: u64,
    form: u8,
    rest: &'a str,
}

impl<'a> Record<'a> {
    /// A URL of `host`, never tried before.
    pub(super) fn new(host: &str, url: &'a str, hash: u64, depth: u16, score: f32) -> Self {
        let (form, rest) = (1..3)
            .find_map(|form: u8| {
                let path = url.strip_prefix(SCHEMES[form as usize])?.strip_prefix(host)?;
                Some((form, path))
            })
            .unwrap_or((0, url));
        Self { attempt: 0, depth, score, hash, form, rest }
    }

    /// Appends the encoded record.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        put_varint(out, (FIXED + self.rest.len()) as u64);
        out.push(self.attempt);
        out.push(self.form);
        out.extend_from_slice(&self.depth.to_le_bytes());
        out.extend_from_slice(&self.score.to_le_bytes());
        out.extend_from_slice(&self.hash.to_le_bytes());
        out.extend_from_slice(self.rest.as_bytes());
    }

    /// Reads the record that fills `bytes`; `None` if they are no record.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut body = bytes;
        let length = take_varint(&mut body)? as usize;
        if body.len() != length {
            return None;
        }
        let (fixed, rest) = body.split_first_chunk::<FIXED>()?;
        let form = fixed[1];
        if form as usize >= SCHEMES.len() {
            return None;
        }
        Some(Self {
            attempt: fixed[0],
            form,
            depth: u16::from_le_bytes(*fixed[2..].first_chunk()?),
            score: f32::from_le_bytes(*fixed[4..].first_chunk()?),
            hash: u64::from_le_bytes(*fixed[8..].first_chunk()?),
            rest: std::str::from_utf8(rest).ok()?,
        })
    }

    /// Appends the whole URL.
    pub(super) fn write_url(&self, host: &str, out: &mut String) {
        if self.form > 0 {
            out.push_str(SCHEMES[self.form as usize]);
            out.push_str(host);
        }
        out.push_str(self.rest);
    }
}

/// One more attempt at the URL of a whole record.
pub(super) fn count_attempt(record: &mut [u8]) {
    let mut body = &*record;
    let prefix = take_varint(&mut body).map_or(0, |_| record.len() - body.len());
    if let Some(attempt) = record.get_mut(prefix) {
        *attempt = attempt.saturating_add(1);
    }
}

/// Length of the first record in `bytes`, its prefix included; `None` if it is not whole.
pub(super) fn first_len(bytes: &[u8]) -> Option<usize> {
    let mut body = bytes;
    let length = usize::try_from(take_varint(&mut body)?).ok()?;
    (length >= FIXED && length <= body.len()).then(|| bytes.len() - body.len() + length)
}

/// Byte length of the first `count` records; `None` if there are fewer.
pub(super) fn run_len(bytes: &[u8], count: u64) -> Option<usize> {
    let mut at = 0;
    for _ in 0..count {
        at += first_len(&bytes[at..])?;
    }
    Some(at)
}

/// How many records fill `bytes` exactly; `None` if the last is not whole.
pub(super) fn count(bytes: &[u8]) -> Option<u64> {
    let (mut at, mut records) = (0, 0);
    while at < bytes.len() {
        at += first_len(&bytes[at..])?;
        records += 1;
    }
    Some(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_this_sequence_of_bytes() {
        let mut bytes = Vec::new();
        Record::new("a.b", "https://a.b/c", 0x0102, 3, 0.5).write(&mut bytes);
        let expected = [18, 0, 2, 3, 0, 0, 0, 0, 0x3f, 2, 1, 0, 0, 0, 0, 0, 0, b'/', b'c'];
        assert_eq!(bytes, expected);
        assert_eq!(first_len(&bytes), Some(bytes.len()));
    }

    #[test]
    fn urls_of_any_form_come_back_whole() {
        for url in ["http://h:81/x?y", "https://h:81/", "ftp://h:81/a", "http://h:8/", ""] {
            let mut bytes = Vec::new();
            Record::new("h:81", url, 1, 2, 3.0).write(&mut bytes);
            let mut back = String::new();
            Record::read(&bytes).unwrap().write_url("h:81", &mut back);
            assert_eq!(back, url);
        }
    }

    #[test]
    fn hostile_bytes_are_no_record() {
        for bytes in [&b""[..], &[255; 20], &[3, 0, 0, 0], &[200, 1, 0], &[128; 11]] {
            assert_eq!(first_len(bytes), None);
            assert_eq!(Record::read(bytes), None);
        }
    }
}
