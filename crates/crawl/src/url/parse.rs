//! The parser: one pass over the bytes, output already normalised.
//!
//! WHATWG percent-encoding works byte by byte outside the host, so that paths and queries in
//! any script need no decoding. States are those of the specification for special schemes,
//! without the ones that lead to a fragment, userinfo or another scheme: these are dropped or
//! refused on sight. The work is linear in the input but for `..`, which looks back over the
//! segment that it removes, once.

use std::borrow::Cow;

use super::{MAX_LENGTH, Parts, Url, UrlError};

/// Inputs beyond this are refused unread, even if most of one is a fragment: a page may carry
/// megabytes in one attribute.
const MAX_INPUT: usize = 8 * MAX_LENGTH;

const PLAIN: u8 = 0;
const ENCODE: u8 = 1;
const SLASH: u8 = 2;
const END: u8 = 3;

/// What a byte does in a path: stands, is percent-encoded, separates, or ends the path.
static PATH: [u8; 256] = {
    let mut class = encoded(b" \"<>^`{}");
    class[b'/' as usize] = SLASH;
    class[b'\\' as usize] = SLASH;
    class[b'?' as usize] = END;
    class[b'#' as usize] = END;
    class
};

/// The same for a query.
static QUERY: [u8; 256] = {
    let mut class = encoded(b" \"<>'");
    class[b'#' as usize] = END;
    class
};

/// The lower-case form of the bytes of a plain host name; 0 for all others.
static HOST: [u8; 256] = {
    let mut lower = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        let plain = byte as u8;
        if plain.is_ascii_alphanumeric() || matches!(plain, b'-' | b'.' | b'_') {
            lower[byte] = plain.to_ascii_lowercase();
        }
        byte += 1;
    }
    lower
};

const fn encoded(set: &[u8]) -> [u8; 256] {
    let mut class = [PLAIN; 256];
    let mut byte = 0;
    while byte < 256 {
        if byte < 0x20 || byte > 0x7e {
            class[byte] = ENCODE;
        }
        byte += 1;
    }
    let mut at = 0;
    while at < set.len() {
        class[set[at] as usize] = ENCODE;
        at += 1;
    }
    class
}

/// A page's base URL, ready to have many links joined to it.
#[derive(Debug, Clone)]
pub struct Joiner {
    base: Url,
    query: usize,
    directory: usize,
}

impl Joiner {
    /// Prepares the base: the page's URL, or what its `<base href>` joined to it gives.
    pub fn new(base: &Url) -> Self {
        let path_end = base.view().origin().len() + base.path().len();
        let directory = base.as_str()[..path_end].rfind('/').map_or(path_end, |slash| slash + 1);
        Self { base: base.clone(), query: path_end, directory }
    }

    /// The base URL.
    pub fn base(&self) -> &Url {
        &self.base
    }

    /// Joins a link as it stands in the page; the normalised URL replaces what `out` held.
    ///
    /// # Errors
    /// As [`Url::join`]; `out` is then empty.
    pub fn join_into(&self, href: &str, out: &mut String) -> Result<Parts, UrlError> {
        parse_into(Some(self), href, out)
    }
}

/// Parses `input`, relative to a base if there is one, into `out`.
pub(super) fn parse_into(
    base: Option<&Joiner>,
    input: &str,
    out: &mut String,
) -> Result<Parts, UrlError> {
    let mut bytes = std::mem::take(out).into_bytes();
    bytes.clear();
    let result = write(base, strip(input.as_bytes()).as_ref(), &mut bytes);
    let result = if bytes.len() > MAX_LENGTH { result.and(Err(UrlError::TooLong)) } else { result };
    if result.is_err() {
        bytes.clear();
    }
    *out = String::from_utf8(bytes).map_err(|_| UrlError::Invalid)?;
    result
}

/// Removes leading and trailing controls and spaces, and tabs and line ends everywhere.
fn strip(input: &[u8]) -> Cow<'_, [u8]> {
    let start = input.iter().position(|byte| *byte > b' ').unwrap_or(input.len());
    let end = input.iter().rposition(|byte| *byte > b' ').map_or(start, |last| last + 1);
    let input = &input[start..end];
    if memchr::memchr3(b'\t', b'\n', b'\r', &input[..input.len().min(MAX_INPUT)]).is_none() {
        return Cow::Borrowed(input);
    }
    let kept = input.iter().copied().filter(|byte| !matches!(byte, b'\t' | b'\n' | b'\r'));
    Cow::Owned(kept.take(MAX_INPUT + 1).collect())
}

fn write(base: Option<&Joiner>, input: &[u8], out: &mut Vec<u8>) -> Result<Parts, UrlError> {
    if input.len() > MAX_INPUT {
        return scheme(input).and(Err(UrlError::TooLong));
    }
    let Some(base) = base else {
        let scheme = scheme(input)?.ok_or(UrlError::Relative)?;
        return absolute(scheme.secure, &input[scheme.end..], out);
    };
    let text = base.base.text.as_bytes();
    let parts = base.base.parts;
    let root = usize::from(parts.path);
    // Most absolute links of a page lead to its own origin, spelt in normal form.
    let input = match input.strip_prefix(&text[..root]) {
        Some(rest) if rest.first().is_none_or(|byte| PATH[usize::from(*byte)] >= SLASH) => {
            let path = if rest.first().is_none_or(|byte| PATH[usize::from(*byte)] == END) {
                rest
            } else {
                &rest[1..]
            };
            out.extend_from_slice(&text[..=root]);
            target(path, root, out);
            return Ok(parts);
        }
        _ => match scheme(input)? {
            Some(scheme) => {
                let rest = &input[scheme.end..];
                if slashes(rest) >= 2 || scheme.secure != (base.base.scheme() == "https") {
                    return absolute(scheme.secure, rest, out);
                }
                rest
            }
            None => input,
        },
    };
    match input.first() {
        None | Some(b'#') => out.extend_from_slice(text),
        Some(b'?') => {
            out.extend_from_slice(&text[..base.query]);
            query(input, out);
        }
        Some(b'/' | b'\\') => {
            if slashes(input) >= 2 {
                return absolute(base.base.scheme() == "https", input, out);
            }
            out.extend_from_slice(&text[..=root]);
            target(&input[1..], root, out);
        }
        Some(_) => {
            out.extend_from_slice(&text[..base.directory]);
            target(input, root, out);
        }
    }
    Ok(parts)
}

struct Scheme {
    secure: bool,
    end: usize,
}

/// The scheme that the input begins with, if any.
fn scheme(input: &[u8]) -> Result<Option<Scheme>, UrlError> {
    if !input.first().is_some_and(u8::is_ascii_alphabetic) {
        return Ok(None);
    }
    let in_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let end = input.iter().position(|byte| !in_scheme(byte)).unwrap_or(input.len());
    if input.get(end) != Some(&b':') {
        return Ok(None);
    }
    let secure = match &input[..end] {
        name if name.eq_ignore_ascii_case(b"https") => true,
        name if name.eq_ignore_ascii_case(b"http") => false,
        _ => return Err(UrlError::Scheme),
    };
    Ok(Some(Scheme { secure, end: end + 1 }))
}

fn slashes(input: &[u8]) -> usize {
    input.iter().take_while(|byte| matches!(byte, b'/' | b'\\')).count()
}

/// Everything after the scheme's colon; any number of slashes leads to the authority.
fn absolute(secure: bool, input: &[u8], out: &mut Vec<u8>) -> Result<Parts, UrlError> {
    out.extend_from_slice(if secure { b"https://" } else { b"http://" });
    let start = out.len();
    let input = &input[slashes(input)..];
    let end = input.iter().position(|byte| PATH[usize::from(*byte)] >= SLASH);
    let (authority, rest) = input.split_at(end.unwrap_or(input.len()));
    let authority = memchr::memrchr(b'@', authority).map_or(authority, |at| &authority[at + 1..]);
    let mut bracket = false;
    let colon = authority.iter().position(|byte| {
        bracket = *byte == b'[' || (bracket && *byte != b']');
        *byte == b':' && !bracket
    });
    let (name, port) = authority.split_at(colon.unwrap_or(authority.len()));
    host(name, out)?;
    let host_end = out.len();
    if let Some(port) = self::port(port)?.filter(|port| *port != if secure { 443 } else { 80 }) {
        out.push(b':');
        out.extend_from_slice(port.to_string().as_bytes());
    }
    let root = out.len();
    if root >= MAX_LENGTH {
        return Err(UrlError::TooLong);
    }
    out.push(b'/');
    let separated = rest.first().is_some_and(|byte| PATH[usize::from(*byte)] == SLASH);
    target(&rest[usize::from(separated)..], root, out);
    Ok(Parts { host: start as u16, host_end: host_end as u16, path: root as u16 })
}

/// A plain name is lower-cased here; the `url` crate sees to IDN, addresses and escapes.
fn host(name: &[u8], out: &mut Vec<u8>) -> Result<(), UrlError> {
    if name.is_empty() {
        return Err(UrlError::NoHost);
    }
    if name.len() > MAX_LENGTH {
        return Err(UrlError::TooLong);
    }
    let start = out.len();
    out.extend(name.iter().map(|byte| HOST[usize::from(*byte)]));
    let lower = &out[start..];
    let mut labels = lower.rsplit(|byte| *byte == b'.');
    let last = labels.find(|label| !label.is_empty()).unwrap_or(b"0");
    let plain = !last[0].is_ascii_digit()
        && !lower.contains(&0)
        && !lower.split(|byte| *byte == b'.').any(|label| label.starts_with(b"xn--"));
    if plain {
        return Ok(());
    }
    out.truncate(start);
    let name = std::str::from_utf8(name).map_err(|_| UrlError::Invalid)?;
    let host = url::Host::parse(name).map_err(|_| UrlError::Invalid)?;
    out.extend_from_slice(host.to_string().as_bytes());
    Ok(())
}

/// The port after the host, colon included; `None` when there is none.
fn port(input: &[u8]) -> Result<Option<u16>, UrlError> {
    let Some((_, digits)) = input.split_first() else { return Ok(None) };
    if digits.is_empty() {
        return Ok(None);
    }
    digits
        .iter()
        .try_fold(0u16, |port, digit| {
            let digit = digit.is_ascii_digit().then(|| u16::from(digit - b'0'))?;
            port.checked_mul(10)?.checked_add(digit)
        })
        .map(Some)
        .ok_or(UrlError::Invalid)
}

/// A path relative to the slash that `out` ends with, then the query.
/// Invariant: from `root` on `out` holds a path that begins with `/` and has no dot segment.
fn target(input: &[u8], root: usize, out: &mut Vec<u8>) {
    let mut at = 0;
    loop {
        let segment = out.len();
        let stop = loop {
            at += copy(&input[at..], &PATH, out);
            match input.get(at) {
                Some(byte) if PATH[usize::from(*byte)] == ENCODE => percent(*byte, out),
                other => break other,
            }
            at += 1;
        };
        let separated = stop.is_some_and(|byte| PATH[usize::from(*byte)] == SLASH);
        match dots(&out[segment..]) {
            0 if separated => out.push(b'/'),
            0 => {}
            1 => out.truncate(segment),
            _ => {
                out.truncate(segment);
                let parent = memchr::memrchr(b'/', &out[root..segment - 1]);
                out.truncate(root + parent.unwrap_or(0) + 1);
            }
        }
        if !separated {
            query(&input[at..], out);
            return;
        }
        at += 1;
    }
}

/// How many dots a segment that means a step in the tree has; 0 for an ordinary one.
fn dots(segment: &[u8]) -> usize {
    if segment.len() > 6 || !matches!(segment.first(), Some(b'.' | b'%')) {
        return 0;
    }
    let mut rest = segment;
    let mut dots = 0;
    while !rest.is_empty() {
        rest = match rest {
            [b'.', rest @ ..] | [b'%', b'2', b'e' | b'E', rest @ ..] => rest,
            _ => return 0,
        };
        dots += 1;
    }
    if dots > 2 { 0 } else { dots }
}

/// The query with its question mark, or nothing; stops at the fragment.
fn query(input: &[u8], out: &mut Vec<u8>) {
    let Some((b'?', input)) = input.split_first() else { return };
    out.push(b'?');
    let mut at = 0;
    loop {
        at += copy(&input[at..], &QUERY, out);
        match input.get(at) {
            Some(byte) if QUERY[usize::from(*byte)] == ENCODE => percent(*byte, out),
            _ => return,
        }
        at += 1;
    }
}

/// Copies bytes that stand for themselves; returns how many.
fn copy(input: &[u8], class: &[u8; 256], out: &mut Vec<u8>) -> usize {
    let run = input.iter().position(|byte| class[usize::from(*byte)] != PLAIN);
    let run = run.unwrap_or(input.len());
    out.extend_from_slice(&input[..run]);
    run
}

fn percent(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    out.extend_from_slice(&[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
