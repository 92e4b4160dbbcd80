//! Lines and what they say.
//!
//! ```text
//! line  = [key ":" value] ["#" comment] (CR / LF / CRLF)
//! ```
//! Keys are case-insensitive; a few misspellings are understood, and so is a known key that is
//! followed by a space instead of its colon. A byte order mark, even a broken one, is skipped.

use super::{MAX_BYTES, MAX_LINE};

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Names an agent that the following rules are for.
    UserAgent,
    /// Allows the paths that match.
    Allow,
    /// Disallows the paths that match.
    Disallow,
    /// The URL of a sitemap; for everybody.
    Sitemap,
    /// Seconds between requests.
    CrawlDelay,
    /// Requests per time.
    RequestRate,
    /// Hours of the day at which visits are welcome.
    VisitTime,
    /// Nothing that is obeyed: empty, a comment, an unknown key.
    Other,
}

/// A line of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Counted from 1.
    pub number: usize,
    /// What it is about.
    pub kind: Kind,
    /// The key as it is spelt, empty if there is none.
    pub key: &'a [u8],
    /// The value, without the spaces around it.
    pub value: &'a [u8],
    /// Where the value begins in the bytes given to [`lines`].
    pub start: usize,
    /// The key is a known misspelling.
    pub typo: bool,
    /// The colon is missing.
    pub no_colon: bool,
    /// There is a comment.
    pub comment: bool,
}

/// The keys, with what else is understood for them, which begins with the same letter.
const KEYS: [(Kind, &str, &[&str]); 7] = [
    (Kind::Disallow, "disallow", &["dissallow", "dissalow", "disalow", "diasllow", "disallaw"]),
    (Kind::Allow, "allow", &[]),
    (Kind::UserAgent, "user-agent", &["useragent", "user agent"]),
    (Kind::Sitemap, "sitemap", &["site-map"]),
    (Kind::CrawlDelay, "crawl-delay", &["crawldelay", "crawl delay"]),
    (Kind::RequestRate, "request-rate", &["requestrate", "request rate"]),
    (Kind::VisitTime, "visit-time", &["visittime", "visit time"]),
];

/// Cuts what is beyond the limit, together with the line that the limit would cut in two: half
/// a path disallows more than was meant.
pub(super) fn limited(body: &[u8]) -> &[u8] {
    if body.len() <= MAX_BYTES {
        return body;
    }
    let body = &body[..MAX_BYTES];
    memchr::memrchr2(b'\n', b'\r', body).map_or(body, |end| &body[..end])
}

/// All lines of a file.
pub fn lines(text: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let mark = b"\xef\xbb\xbf".iter().zip(text).take_while(|(mark, byte)| mark == byte).count();
    let mut at = mark;
    let mut number = 0;
    std::iter::from_fn(move || {
        if at >= text.len() {
            return None;
        }
        let start = at;
        let end = memchr::memchr2(b'\n', b'\r', &text[at..]).map_or(text.len(), |end| at + end);
        let pair = text[end..].starts_with(b"\r\n");
        at = end + if pair { 2 } else { 1 };
        number += 1;
        Some(line(text, start, end.min(start + MAX_LINE), number))
    })
}

fn line(text: &[u8], start: usize, end: usize, number: usize) -> Line<'_> {
    let hash = memchr::memchr(b'#', &text[start..end]);
    let content = &text[start..hash.map_or(end, |hash| start + hash)];
    let colon = memchr::memchr(b':', content);
    let (key, typo, kind, rest) = if let Some(colon) = colon {
        let key = content[..colon].trim_ascii();
        let (kind, typo) = classify(key);
        (key, typo, kind, colon + 1)
    } else {
        without_colon(content).unwrap_or((&[], false, Kind::Other, content.len()))
    };
    let value = content[rest..].trim_ascii();
    let leading = content[rest..].len() - content[rest..].trim_ascii_start().len();
    Line {
        number,
        kind,
        key,
        value,
        start: start + rest + leading,
        typo,
        no_colon: colon.is_none() && !content.trim_ascii().is_empty(),
        comment: hash.is_some(),
    }
}

fn classify(key: &[u8]) -> (Kind, bool) {
    let Some(first) = key.first().map(u8::to_ascii_lowercase) else { return (Kind::Other, false) };
    for (kind, right, wrong) in &KEYS {
        if right.as_bytes()[0] != first {
            continue;
        }
        if right.as_bytes().eq_ignore_ascii_case(key) {
            return (*kind, false);
        }
        if wrong.iter().any(|wrong| wrong.as_bytes().eq_ignore_ascii_case(key)) {
            return (*kind, true);
        }
    }
    (Kind::Other, false)
}

/// A known key, spaces, and something: (key, misspelt, kind, where the value begins).
fn without_colon(content: &[u8]) -> Option<(&[u8], bool, Kind, usize)> {
    let indent = content.len() - content.trim_ascii_start().len();
    let bytes = &content[indent..];
    for (kind, right, wrong) in KEYS {
        for known in std::iter::once(&right).chain(wrong) {
            let Some((key, rest)) = bytes.split_at_checked(known.len()) else { continue };
            let spaced = rest.first().is_some_and(u8::is_ascii_whitespace);
            if spaced && key.eq_ignore_ascii_case(known.as_bytes()) {
                return Some((key, wrong.contains(known), kind, indent + known.len()));
            }
        }
    }
    None
}
