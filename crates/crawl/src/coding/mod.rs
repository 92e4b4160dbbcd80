//! Content codings with limits (RFC 9110 §8.4): gzip, deflate, br, zstd, alone or stacked.
//!
//! `Content-Encoding: a, b` says that `a` was applied first, so layers are taken off from the
//! last to the first. What the web sends is seldom what it declares, hence the rules:
//!
//! - a body that does not look like its declared coding stays as it is ([`CodingError::Absent`]);
//!   `deflate` may be zlib (RFC 1950), bare deflate (RFC 1951) or even gzip;
//! - an unknown coding leaves the whole body as it is ([`CodingError::Unknown`]);
//! - of a broken or unfinished stream, what came before the break is kept;
//! - concatenated gzip members and zstd frames are one body; junk after the last is ignored.
//!
//! No layer yields more than `limit` bytes plus the little by which a compressed form can be
//! larger than its content, and windows are bounded by the format (32 KiB, 16 MiB of br) or
//! here (zstd), so a bomb costs bounded memory and time whatever its ratio: output stops at
//! the limit, and there are at most [`MAX_LAYERS`] layers.

mod brotli;
mod deflate;
mod zstd;

use std::borrow::Cow;

/// More declared layers than this are taken for an attack and none is removed.
pub const MAX_LAYERS: usize = 8;

/// A body after its content codings.
#[derive(Debug)]
pub struct Decoded<'a> {
    /// At most `limit` bytes; borrowed when there was nothing to decode.
    pub body: Cow<'a, [u8]>,
    /// The body is a prefix of what was meant: the limit was hit, or a stream was broken.
    pub truncated: bool,
    /// What was wrong, outermost layer first; the body is usable all the same.
    pub error: Option<CodingError>,
}

/// What can be wrong with a coded body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodingError {
    /// The header names a coding that nobody defined.
    #[error("unknown content coding {0:?}")]
    Unknown(String),
    /// The header lists more than [`MAX_LAYERS`] codings.
    #[error("more than {MAX_LAYERS} content codings")]
    TooMany,
    /// The body is not in the coding that the header declares.
    #[error("declared {0}, but the body is not")]
    Absent(&'static str),
    /// The stream contradicts itself or its checksum.
    #[error("corrupt {0} stream")]
    Corrupt(&'static str),
    /// The stream ends before its end.
    #[error("unfinished {0} stream")]
    Unfinished(&'static str),
}

impl CodingError {
    /// One word for statistics and the `error` column.
    pub fn class(&self) -> &'static str {
        match self {
            Self::Unknown(_) => "coding-unknown",
            Self::TooMany => "coding-layers",
            Self::Absent(_) => "coding-absent",
            Self::Corrupt(_) => "coding-corrupt",
            Self::Unfinished(_) => "coding-unfinished",
        }
    }
}

#[derive(Clone, Copy)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// How a layer's stream ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Complete,
    /// More was to come, but the output has passed its limit.
    Limit,
    /// The body is not in this coding; nothing was decoded.
    Absent,
    Corrupt,
    Unfinished,
}

/// Output of one layer: it may hold one byte more than `limit`, which proves that there was more.
struct Sink {
    bytes: Vec<u8>,
    limit: usize,
}

impl Sink {
    fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit }
    }

    fn is_over(&self) -> bool {
        self.bytes.len() > self.limit
    }

    /// Makes room to write on, twice as much each time, never past the limit and its one byte.
    fn grow(&mut self, hint: usize) {
        if self.bytes.len() == self.bytes.capacity() {
            let room = self.limit.saturating_add(1).saturating_sub(self.bytes.len());
            self.bytes.reserve_exact(hint.max(self.bytes.len()).max(4096).min(room));
        }
    }
}

/// Takes the codings of a `Content-Encoding` header (several joined by commas) off `body`.
pub fn decode<'a>(content_encoding: &str, body: &'a [u8], limit: usize) -> Decoded<'a> {
    let mut codings = Vec::new();
    for name in content_encoding.split(',').map(str::trim) {
        codings.push(match name.to_ascii_lowercase().as_str() {
            "" | "identity" => continue,
            "gzip" | "x-gzip" => Coding::Gzip,
            "deflate" => Coding::Deflate,
            "br" => Coding::Brotli,
            "zstd" => Coding::Zstd,
            _ => return as_is(body, limit, Some(CodingError::Unknown(name.to_owned()))),
        });
    }
    if codings.len() > MAX_LAYERS {
        return as_is(body, limit, Some(CodingError::TooMany));
    }
    let mut decoded = Decoded { body: Cow::Borrowed(body), truncated: false, error: None };
    for (left, coding) in codings.into_iter().enumerate().rev() {
        if decoded.body.is_empty() {
            break; // answers to HEAD, 204, 304 declare codings of bodies that they do not have
        }
        let slack = if left == 0 { 0 } else { limit / 64 + 1024 };
        let mut sink = Sink::new(limit.saturating_add(slack));
        let (name, end) = match coding {
            Coding::Gzip => ("gzip", deflate::gzip(&decoded.body, &mut sink)),
            Coding::Deflate => ("deflate", deflate::deflate(&decoded.body, &mut sink)),
            Coding::Brotli => ("br", brotli::brotli(&decoded.body, &mut sink)),
            Coding::Zstd => ("zstd", zstd::zstd(&decoded.body, &mut sink)),
        };
        let error = match end {
            End::Complete | End::Limit => None,
            End::Absent => Some(CodingError::Absent(name)),
            End::Corrupt => Some(CodingError::Corrupt(name)),
            End::Unfinished => Some(CodingError::Unfinished(name)),
        };
        decoded.error = decoded.error.or(error);
        if end != End::Absent {
            decoded.truncated |= end != End::Complete;
            decoded.body = Cow::Owned(sink.bytes);
        }
    }
    cut(decoded, limit)
}

fn as_is(body: &[u8], limit: usize, error: Option<CodingError>) -> Decoded<'_> {
    cut(Decoded { body: Cow::Borrowed(body), truncated: false, error }, limit)
}

fn cut(mut decoded: Decoded<'_>, limit: usize) -> Decoded<'_> {
    if decoded.body.len() > limit {
        decoded.truncated = true;
        match &mut decoded.body {
            Cow::Borrowed(body) => *body = &body[..limit],
            Cow::Owned(body) => body.truncate(limit),
        }
    }
    decoded
}

/// Whether a body that failed to decode is really text: codings without a magic number (br,
/// bare deflate) can only be told from plain HTML by the control bytes that text has not.
fn looks_like_text(body: &[u8]) -> bool {
    let head = &body[..body.len().min(512)];
    head.iter().all(|&byte| byte >= 0x20 || matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const HTML: &[u8] =
        b"<!DOCTYPE html><title>A sieve</title><p>Every URL comes out exactly once.";

    fn gz(data: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(data).unwrap();
        out.finish().unwrap()
    }

    fn zlib(data: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(data).unwrap();
        out.finish().unwrap()
    }

    fn raw(data: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(data).unwrap();
        out.finish().unwrap()
    }

    fn br(data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        ::brotli::BrotliCompress(
            &mut &data[..],
            &mut out,
            &::brotli::enc::BrotliEncoderParams::default(),
        )
        .unwrap();
        out
    }

    fn zst(data: &[u8]) -> Vec<u8> {
        ::zstd::bulk::compress(data, 3).unwrap()
    }

    fn text(n: usize) -> Vec<u8> {
        let word = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50;
        (0..n).flat_map(|i| format!("word{} ", word(i)).into_bytes()).collect()
    }

    #[track_caller]
    fn whole(coding: &str, coded: &[u8], plain: &[u8]) {
        let decoded = decode(coding, coded, 1 << 24);
        assert_eq!(decoded.error, None, "{coding}");
        assert!(!decoded.truncated, "{coding}");
        assert!(*decoded.body == *plain, "{coding}");
    }

    #[test]
    fn every_coding_gives_back_the_body() {
        for plain in [HTML.to_vec(), text(20_000)] {
            whole("gzip", &gz(&plain), &plain);
            whole("X-GZip", &gz(&plain), &plain);
            whole("deflate", &zlib(&plain), &plain);
            whole("deflate", &raw(&plain), &plain);
            whole("deflate", &gz(&plain), &plain);
            whole("br", &br(&plain), &plain);
            whole("zstd", &zst(&plain), &plain);
            whole("identity", &plain, &plain);
            whole("", &plain, &plain);
        }
    }

    #[test]
    fn layers_come_off_from_the_last_to_the_first() {
        let plain = text(3000);
        whole("gzip, deflate", &zlib(&gz(&plain)), &plain);
        whole("br,identity , zstd", &zst(&br(&plain)), &plain);
    }

    #[test]
    fn members_and_frames_in_a_row_are_one_body_and_junk_after_them_is_ignored() {
        let (a, b) = (text(500), text(70));
        let both = [&a[..], &b].concat();
        whole("gzip", &[gz(&a), gz(&b)].concat(), &both);
        whole("gzip", &[gz(&a), gz(&a)].concat(), &[&a[..], &a].concat());
        whole("gzip", &[gz(&a), b"junk after the end".to_vec()].concat(), &a);
        whole("gzip", &[gz(&a), vec![0; 512]].concat(), &a);
        whole("zstd", &[zst(&a), zst(&b)].concat(), &both);
        whole("zstd", &[zst(&a), b"junk".to_vec()].concat(), &a);
        whole("deflate", &[zlib(&a), b"junk".to_vec()].concat(), &a);
    }

    #[test]
    fn a_body_that_is_not_coded_stays_as_it_is() {
        for (header, coding) in
            [("gzip", "gzip"), ("deflate", "deflate"), ("br", "br"), ("zstd", "zstd")]
        {
            let decoded = decode(header, HTML, 1 << 20);
            assert_eq!(decoded.error, Some(CodingError::Absent(coding)));
            assert_eq!(&*decoded.body, HTML);
            assert!(!decoded.truncated);
        }
        let coded_once = gz(HTML);
        let decoded = decode("gzip, gzip", &coded_once, 1 << 20);
        assert_eq!(&*decoded.body, HTML);
        assert_eq!(decoded.error, Some(CodingError::Absent("gzip")));
    }

    #[test]
    fn an_unknown_coding_leaves_the_body_as_it_is() {
        let coded = gz(HTML);
        let decoded = decode("gzip, rot13", &coded, 1 << 20);
        assert_eq!(&*decoded.body, &coded[..]);
        assert_eq!(decoded.error, Some(CodingError::Unknown("rot13".into())));
        assert_eq!(decoded.error.unwrap().class(), "coding-unknown");
        let many = "gzip,".repeat(MAX_LAYERS + 1);
        assert_eq!(decode(&many, &coded, 1 << 20).error, Some(CodingError::TooMany));
    }

    #[test]
    fn an_empty_body_is_whole_in_every_coding() {
        for coding in ["gzip", "deflate", "br", "zstd", "gzip, br"] {
            whole(coding, b"", b"");
        }
    }

    #[test]
    fn output_stops_at_the_limit_and_says_so() {
        let plain = vec![b'a'; 1 << 20];
        for (coding, coded) in [
            ("gzip", gz(&plain)),
            ("deflate", zlib(&plain)),
            ("deflate", raw(&plain)),
            ("br", br(&plain)),
            ("zstd", zst(&plain)),
            ("gzip, gzip", gz(&gz(&plain))),
            ("identity", plain.clone()),
        ] {
            let decoded = decode(coding, &coded, 1000);
            assert_eq!(&*decoded.body, &plain[..1000], "{coding}");
            assert!(decoded.truncated, "{coding}");
            assert_eq!(decoded.error, None, "{coding}");
            let exact = decode(coding, &coded, plain.len());
            assert!(!exact.truncated && exact.body.len() == plain.len(), "{coding}");
            assert!(decode(coding, &coded, 0).body.is_empty());
        }
    }

    #[test]
    fn what_came_before_a_break_is_kept() {
        let plain = text(20_000);
        for (coding, coded) in [
            ("gzip", gz(&plain)),
            ("deflate", zlib(&plain)),
            ("deflate", raw(&plain)),
            ("br", br(&plain)),
            ("zstd", zst(&plain)),
        ] {
            let half = decode(coding, &coded[..coded.len() - coded.len() / 8], 1 << 24);
            assert!(half.truncated, "{coding}");
            assert!(
                matches!(half.error, Some(CodingError::Unfinished(_))),
                "{coding} {:?}",
                half.error
            );
            assert!(plain.starts_with(&half.body), "{coding}");
            assert!(
                coding == "zstd" || half.body.len() > plain.len() / 4,
                "{coding} {}",
                half.body.len()
            );
        }
        let mut wrong_sum = gz(&plain);
        let at = wrong_sum.len() - 6;
        wrong_sum[at] ^= 1;
        let decoded = decode("gzip", &wrong_sum, 1 << 24);
        assert_eq!(decoded.error, Some(CodingError::Corrupt("gzip")));
        assert_eq!(&*decoded.body, &plain[..]);
    }

    #[test]
    fn hostile_bytes_never_panic_and_never_pass_the_limit() {
        let seed = 0x5eed_u64;
        let mut state = seed;
        let mut next = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize
        };
        let plain = text(300);
        let whole = [
            ("gzip", gz(&plain)),
            ("deflate", zlib(&plain)),
            ("br", br(&plain)),
            ("zstd", zst(&plain)),
        ];
        for round in 0..4000 {
            let (coding, coded) = &whole[round % whole.len()];
            let mut coded = coded.clone();
            for _ in 0..=next() % 4 {
                let at = next() % coded.len();
                coded[at] ^= 1 << (next() % 8);
            }
            coded.truncate(1 + next() % coded.len());
            assert!(
                decode(coding, &coded, 1500).body.len() <= 1500,
                "seed {seed:#x} round {round}"
            );
        }
    }
}
