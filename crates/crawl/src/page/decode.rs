//! From raw slices of the tokeniser to characters.

use std::borrow::Cow;

use super::entities::reference;
use super::tokeniser::Text;

/// An attribute's value: references, carriage returns and NULs resolved.
pub fn attribute(raw: &str) -> Cow<'_, str> {
    decode(raw, true, true, true)
}

/// A stretch of text, by its kind.
pub fn text(raw: &str, kind: Text) -> Cow<'_, str> {
    let references = matches!(kind, Text::Data | Text::Rcdata);
    let replace_nul = matches!(kind, Text::Rcdata | Text::Raw);
    decode(raw, references, false, replace_nul)
}

/// A comment's data, or a name (whose case the caller folds).
pub fn plain(raw: &str) -> Cow<'_, str> {
    decode(raw, false, false, true)
}

fn decode(raw: &str, references: bool, in_attribute: bool, replace_nul: bool) -> Cow<'_, str> {
    let bytes = raw.as_bytes();
    let special = |b: u8| b == b'\r' || (b == b'&' && references) || (b == 0 && replace_nul);
    let Some(first) = bytes.iter().position(|&b| special(b)) else {
        return Cow::Borrowed(raw);
    };
    let mut decoded = String::with_capacity(raw.len());
    let (mut from, mut at) = (0, first);
    while at < bytes.len() {
        if !special(bytes[at]) {
            at += 1;
            continue;
        }
        decoded.push_str(&raw[from..at]);
        at += match bytes[at] {
            b'\r' => {
                decoded.push('\n');
                if bytes.get(at + 1) == Some(&b'\n') { 2 } else { 1 }
            }
            0 => {
                decoded.push('\u{fffd}');
                1
            }
            _ => {
                if let Some(found) = reference(&bytes[at..], in_attribute) {
                    decoded.push(found.first);
                    decoded.extend(found.second);
                    found.length
                } else {
                    decoded.push('&');
                    1
                }
            }
        };
        from = at;
    }
    decoded.push_str(&raw[from..]);
    Cow::Owned(decoded)
}

/// The most characters of a title, a description and other values on one line.
pub const MAX_LINE: usize = 4096;

/// A value on one line: references resolved, white space at the ends dropped and within
/// collapsed, at most [`MAX_LINE`] characters.
pub fn line(raw: &str) -> String {
    collapse(&attribute(raw), MAX_LINE)
}

/// Collapses white space to single spaces and drops it at both ends; keeps at most `limit`
/// characters.
pub fn collapse(text: &str, limit: usize) -> String {
    let mut line = String::with_capacity(text.len().min(limit.saturating_mul(4)));
    let mut room = limit;
    for word in text.split_ascii_whitespace() {
        if !line.is_empty() {
            if room < 2 {
                break;
            }
            line.push(' ');
            room -= 1;
        }
        if word.len() <= room {
            line.push_str(word);
            room -= word.chars().count();
        } else {
            for character in word.chars().take(room) {
                line.push(character);
                room -= 1;
            }
        }
        if room == 0 {
            break;
        }
    }
    line
}
