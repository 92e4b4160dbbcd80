//! From bytes to text: byte order mark, Content-Type, `meta`, guess, in this order.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

use super::tokeniser::is_space;

/// The bytes in which a declaration is looked for.
const PRESCAN: usize = 1024;
/// The bytes from which an encoding is guessed.
const GUESSED: usize = 64 << 10;

/// Decodes a body; `declared` is the label of the Content-Type and `html` says whether a `meta`
/// element may declare another. Text that is UTF-8 already is borrowed.
pub(super) fn decode<'a>(
    body: &'a [u8],
    declared: Option<&str>,
    html: bool,
) -> (Cow<'a, str>, &'static Encoding) {
    if let Some((encoding, length)) = Encoding::for_bom(body) {
        return (encoding.decode_without_bom_handling(&body[length..]).0, encoding);
    }
    let stated = declared
        .and_then(|label| Encoding::for_label(label.as_bytes()))
        .or_else(|| if html { prescan(body) } else { xml_declaration(body) });
    let encoding = stated.unwrap_or_else(|| undeclared(body, html));
    (encoding.decode_without_bom_handling(body).0, encoding)
}

/// Bytes that are UTF-8 beyond ASCII are nothing else; otherwise a parser that meets a late
/// `meta` changes to its encoding, and only then is it a guess.
fn undeclared(body: &[u8], html: bool) -> &'static Encoding {
    let valid = Encoding::utf8_valid_up_to(body) == body.len();
    if valid && !body.is_ascii() {
        return UTF_8;
    }
    let start = &body[..body.len().min(GUESSED)];
    let late = if html { Prescan { bytes: start, at: 0 }.find() } else { None };
    late.unwrap_or_else(|| if valid { UTF_8 } else { guess(body) })
}

fn guess(body: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    let start = &body[..body.len().min(GUESSED)];
    detector.feed(start, start.len() == body.len());
    detector.guess(None, Utf8Detection::Allow)
}

/// The encoding that an XML declaration names, else that of its first bytes.
fn xml_declaration(body: &[u8]) -> Option<&'static Encoding> {
    match body.get(..6)? {
        b"<\0?\0x\0" => return Some(UTF_16LE),
        b"\0<\0?\0x" => return Some(UTF_16BE),
        _ => {}
    }
    let start = &body[..body.len().min(PRESCAN)];
    let declaration = start.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..memchr::memchr(b'>', declaration)?];
    let at = memchr::memmem::find(declaration, b"encoding")?;
    let value = declaration[at + 8..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let (quote, value) = value.split_first()?;
    let end = memchr::memchr(*quote, value)?;
    Some(not_wide(Encoding::for_label(&value[..end])?))
}

/// A declaration that can be read as ASCII is not in UTF-16.
fn not_wide(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    }
}

/// The encoding that a `meta` element in the first 1,024 bytes declares: "prescan a byte stream
/// to determine its encoding" (§13.2.3.2), with an XML declaration where the standard looks
/// for one.
pub fn prescan(body: &[u8]) -> Option<&'static Encoding> {
    match body.get(..6) {
        Some(b"<\0?\0x\0") => return Some(UTF_16LE),
        Some(b"\0<\0?\0x") => return Some(UTF_16BE),
        _ => {}
    }
    let mut scan = Prescan { bytes: &body[..body.len().min(PRESCAN)], at: 0 };
    scan.find().or_else(|| xml_declaration(body))
}

struct Prescan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Prescan<'_> {
    fn find(&mut self) -> Option<&'static Encoding> {
        loop {
            self.at += memchr::memchr(b'<', self.bytes.get(self.at..)?)?;
            let rest = &self.bytes[self.at..];
            if rest.starts_with(b"<!--") {
                self.at += 2;
                self.at += memchr::memmem::find(&self.bytes[self.at..], b"-->")? + 3;
            } else if is_meta(rest) {
                self.at += 5;
                let encoding = self.meta();
                if encoding.is_some() {
                    return encoding;
                }
            } else {
                let name = usize::from(rest.get(1) == Some(&b'/')) + 1;
                match rest.get(name)? {
                    byte if byte.is_ascii_alphabetic() => {
                        self.at += rest.iter().position(|&b| is_space(b) || b == b'>')?;
                        while self.attribute().is_some() {}
                    }
                    _ if name == 2 || matches!(rest.get(1), Some(b'!' | b'?')) => {
                        self.at += memchr::memchr(b'>', rest)? + 1;
                    }
                    _ => self.at += 1,
                }
            }
        }
    }

    /// What a `meta` declares, if its tag ends within the bytes.
    fn meta(&mut self) -> Option<&'static Encoding> {
        let mut seen: Vec<Vec<u8>> = Vec::new();
        let (mut got_pragma, mut need_pragma, mut charset) = (false, None, None);
        while let Some((name, value)) = self.attribute() {
            if seen.contains(&name) {
                continue;
            }
            match name.as_slice() {
                b"http-equiv" => got_pragma |= value == b"content-type",
                b"content" if charset.is_none() => {
                    if let Some(encoding) = content_charset(&value) {
                        charset = Some(encoding);
                        need_pragma = Some(true);
                    }
                }
                b"charset" => {
                    charset = Encoding::for_label(&value);
                    need_pragma = Some(false);
                }
                _ => {}
            }
            seen.push(name);
        }
        let usable = need_pragma == Some(false) || (need_pragma == Some(true) && got_pragma);
        self.peek()?;
        charset.filter(|_| usable).map(not_wide)
    }

    /// The standard's "get an attribute": lower-cased name and value; nothing at the end of the
    /// tag, where [`Prescan::peek`] still sees its `>`, and at the end of the bytes.
    fn attribute(&mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        while is_space(self.peek()?) || self.peek()? == b'/' {
            self.at += 1;
        }
        if self.peek()? == b'>' {
            return None;
        }
        let mut name = Vec::new();
        loop {
            let byte = self.peek()?;
            if byte == b'=' && !name.is_empty() {
                break;
            }
            if is_space(byte) {
                self.skip_spaces()?;
                if self.peek()? != b'=' {
                    return Some((name, Vec::new()));
                }
                break;
            }
            if byte == b'/' || byte == b'>' {
                return Some((name, Vec::new()));
            }
            name.push(byte.to_ascii_lowercase());
            self.at += 1;
        }
        self.at += 1;
        self.skip_spaces()?;
        let mut value = Vec::new();
        let quote = self.peek()?;
        if quote == b'"' || quote == b'\'' {
            self.at += 1;
            while self.peek()? != quote {
                value.push(self.peek()?.to_ascii_lowercase());
                self.at += 1;
            }
            self.at += 1;
        } else {
            while !is_space(self.peek()?) && self.peek()? != b'>' {
                value.push(self.peek()?.to_ascii_lowercase());
                self.at += 1;
            }
        }
        Some((name, value))
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_spaces(&mut self) -> Option<()> {
        while is_space(self.peek()?) {
            self.at += 1;
        }
        Some(())
    }
}

fn is_meta(rest: &[u8]) -> bool {
    rest.get(1..5).is_some_and(|word| word.eq_ignore_ascii_case(b"meta"))
        && rest.get(5).is_some_and(|&b| is_space(b) || b == b'/')
}

/// The standard's "extract a character encoding from a meta element", on a value in lower case.
fn content_charset(value: &[u8]) -> Option<&'static Encoding> {
    let mut rest = value;
    loop {
        rest = &rest[memchr::memmem::find(rest, b"charset")? + 7..];
        if let Some(after) = rest.trim_ascii_start().strip_prefix(b"=") {
            rest = after.trim_ascii_start();
            break;
        }
    }
    let (&first, inside) = rest.split_first()?;
    let label = if first == b'"' || first == b'\'' {
        &inside[..memchr::memchr(first, inside)?]
    } else {
        let end = rest.iter().position(|&b| is_space(b) || b == b';').unwrap_or(rest.len());
        &rest[..end]
    };
    Encoding::for_label(label)
}
