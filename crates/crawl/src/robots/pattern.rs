//! Paths and patterns in one canonical percent form, and the matching of the two.
//!
//! Canonical form (RFC 9309 §2.2.2): escapes of unreserved characters are decoded, all other
//! escapes are written in upper case, bytes that a URI cannot hold are escaped. Reserved
//! characters stay as they are given, except three: `*` and `$` are escaped, as they are
//! special in patterns (`%2A` in a pattern means a star in the path), and `'`, as URLs are
//! normalised so in queries.

use std::borrow::Cow;

const STAYS: u8 = 0;
const ENCODE: u8 = 1;
const ESCAPE: u8 = 2;

static CLASS: [u8; 256] = {
    let mut class = [ENCODE; 256];
    let stays = b"-._~:/?#[]@!&()+,;=";
    let mut at = 0;
    while at < stays.len() {
        class[stays[at] as usize] = STAYS;
        at += 1;
    }
    let mut byte = 0;
    while byte < 128 {
        if (byte as u8).is_ascii_alphanumeric() {
            class[byte] = STAYS;
        }
        byte += 1;
    }
    class[b'%' as usize] = ESCAPE;
    class
};

/// The canonical form of a path and query.
pub(super) fn canonical_path(path: &[u8]) -> Cow<'_, [u8]> {
    match path.iter().position(|byte| CLASS[usize::from(*byte)] != STAYS) {
        None => Cow::Borrowed(path),
        Some(first) => Cow::Owned(canonical(path, first, false)),
    }
}

/// The canonical form of a pattern without its final `$`; `*` stays a wildcard.
pub(super) fn canonical_pattern(pattern: &[u8]) -> Vec<u8> {
    canonical(pattern, 0, true)
}

fn canonical(input: &[u8], clean: usize, wildcards: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(input.len() + 16);
    out.extend_from_slice(&input[..clean]);
    let mut rest = &input[clean..];
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        match CLASS[usize::from(byte)] {
            STAYS => out.push(byte),
            ENCODE if byte == b'*' && wildcards => out.push(byte),
            ENCODE => escape(byte, &mut out),
            _ => match tail {
                [high, low, after @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                    rest = after;
                    let octet = hex(*high) << 4 | hex(*low);
                    if octet.is_ascii_alphanumeric() || b"-._~".contains(&octet) {
                        out.push(octet);
                    } else {
                        escape(octet, &mut out);
                    }
                }
                _ => out.push(byte),
            },
        }
    }
    out
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

fn escape(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    out.extend_from_slice(&[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
}

/// Does a canonical pattern match a canonical path from its beginning, and to its end when it
/// is anchored? Taking the first occurrence of each literal between two stars never spoils a
/// later one, so there is no backtracking: the work is linear in path and pattern.
pub(super) fn matches(pattern: &[u8], anchored: bool, path: &[u8]) -> bool {
    let mut literals = pattern.split(|byte| *byte == b'*');
    let first = literals.next().unwrap_or(pattern);
    let Some(mut rest) = path.strip_prefix(first) else { return false };
    let Some(last) = literals.next_back() else { return !anchored || rest.is_empty() };
    for literal in literals {
        let Some(found) = memchr::memmem::find(rest, literal) else { return false };
        rest = &rest[found + literal.len()..];
    }
    if anchored { rest.ends_with(last) } else { memchr::memmem::find(rest, last).is_some() }
}
