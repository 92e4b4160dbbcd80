//! Tokenisation of HTML as the WHATWG standard defines it (§13.2.5), pushed into a [`Sink`].
//!
//! The states of the standard are folded into what a byte-wise automaton needs: text runs to the
//! next `<` (`memchr`), quoted values to their quote (`memchr`), and only names are walked byte by
//! byte. Every slice handed out borrows from the input and is *raw*: entities, carriage returns
//! and NULs are still in it, so that a consumer pays for decoding only what it keeps (see
//! [`decode`](super::decode)). Splitting the text at a `<` never splits a character reference,
//! because no reference contains one.
//!
//! The automaton knows nothing of trees. What the tree would decide, namely whether `<title>`
//! starts RCDATA or `<![CDATA[` is allowed, is the sink's answer to [`Sink::open`] and
//! [`Sink::foreign`].
//!
//! Time is linear in the input: no construct is scanned twice, and one that is never closed is
//! consumed to the end of the input, as the standard asks.

use memchr::memchr;

use super::raw;

/// A tag's or attribute's name as it stands in the input.
#[derive(Clone, Copy, Debug)]
pub struct Name<'a> {
    /// The bytes of the input; case not folded.
    pub raw: &'a str,
    /// The name in lower case packed big-endian into a word when it has at most eight bytes,
    /// else 0: names are told apart by comparing words.
    pub key: u64,
}

impl Name<'_> {
    /// Whether this is the name `lower`, given in lower case.
    pub fn is(&self, lower: &str) -> bool {
        self.raw.eq_ignore_ascii_case(lower)
    }
}

/// The packed form of a name in lower case.
///
/// # Panics
/// When the name is longer than eight bytes; names are constants.
pub const fn key(name: &str) -> u64 {
    let bytes = name.as_bytes();
    assert!(bytes.len() <= 8, "a packed name has at most eight bytes");
    let mut packed = 0;
    let mut i = 0;
    while i < bytes.len() {
        packed = packed << 8 | bytes[i] as u64;
        i += 1;
    }
    packed
}

/// What a stretch of text may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// Character references; NULs stay (a tree drops them).
    Data,
    /// Character references; NULs become U+FFFD.
    Rcdata,
    /// Neither references nor markup; NULs become U+FFFD.
    Raw,
    /// A CDATA section: neither references nor markup; NULs stay.
    Cdata,
}

/// How the input after a start tag is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Markup.
    Data,
    /// Text with references up to the element's end tag (`title`, `textarea`).
    Rcdata,
    /// Text up to the element's end tag (`style`, `xmp`, `iframe`, `noembed`, `noframes`).
    Rawtext,
    /// A script, with its escaped and doubly escaped parts.
    Script,
    /// Text to the end of the input.
    Plaintext,
    /// Inside a CDATA section.
    Cdata,
}

/// Receives the tokens. A start tag arrives as `start`, its `attribute`s, then `open`; when the
/// input ends inside the tag, `open` is never called and the tag does not exist.
pub trait Sink<'a> {
    /// A stretch of character data.
    fn text(&mut self, raw: &'a str, kind: Text);
    /// A start tag begins.
    fn start(&mut self, name: Name<'a>);
    /// An attribute of the tag begun; repeated names are handed over as they come, the first
    /// is the one that counts.
    fn attribute(&mut self, name: Name<'a>, value: &'a str);
    /// The start tag is complete; says how to go on.
    fn open(&mut self, self_closing: bool) -> Content;
    /// An end tag.
    fn close(&mut self, name: Name<'a>);
    /// A comment's or bogus comment's data.
    fn comment(&mut self, _raw: &'a str) {}
    /// A document type declaration, without `<!doctype` and `>`.
    fn doctype(&mut self, _raw: &'a str) {}
    /// Whether the current node is foreign (svg, math), where CDATA sections are.
    fn foreign(&self) -> bool {
        false
    }
}

/// Tokenises a document into `sink`.
pub fn tokenise<'a>(input: &'a str, sink: &mut impl Sink<'a>) {
    resume(input, Content::Data, "", sink);
}

/// Tokenises from the given state; `last` is the name of the last start tag, which an end tag
/// must bear to leave RCDATA, RAWTEXT or a script.
pub fn resume<'a>(input: &'a str, content: Content, last: &'a str, sink: &mut impl Sink<'a>) {
    let mut cursor = Cursor { input, bytes: input.as_bytes(), at: 0, last };
    let mut content = content;
    while cursor.at < cursor.bytes.len() {
        content = match content {
            Content::Data => cursor.data(sink),
            Content::Rcdata => cursor.until_end_tag(raw::end_of_text(&cursor), Text::Rcdata, sink),
            Content::Rawtext => cursor.until_end_tag(raw::end_of_text(&cursor), Text::Raw, sink),
            Content::Script => cursor.until_end_tag(raw::end_of_script(&cursor), Text::Raw, sink),
            Content::Plaintext => {
                cursor.text_until(cursor.bytes.len(), Text::Raw, sink);
                Content::Plaintext
            }
            Content::Cdata => {
                let end = memchr::memmem::find(&cursor.bytes[cursor.at..], b"]]>");
                let stop = end.map_or(cursor.bytes.len(), |n| cursor.at + n);
                cursor.text_until(stop, Text::Cdata, sink);
                cursor.at = (stop + 3).min(cursor.bytes.len());
                Content::Data
            }
        };
    }
}

/// Whether a byte ends a name: white space of the standard, or carriage return, which stands
/// for a line feed.
pub(super) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r' | 0x0c)
}

pub(super) struct Cursor<'a> {
    input: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) last: &'a str,
}

impl<'a> Cursor<'a> {
    fn text_until(&mut self, end: usize, kind: Text, sink: &mut impl Sink<'a>) {
        if end > self.at {
            sink.text(&self.input[self.at..end], kind);
        }
        self.at = end;
    }

    /// Text to the next `<`, then what that `<` begins.
    fn data(&mut self, sink: &mut impl Sink<'a>) -> Content {
        let end = self.bytes.len();
        let open = memchr(b'<', &self.bytes[self.at..]).map_or(end, |n| self.at + n);
        self.text_until(open, Text::Data, sink);
        if open == end {
            return Content::Data;
        }
        match self.bytes.get(open + 1) {
            Some(byte) if byte.is_ascii_alphabetic() => return self.start_tag(sink),
            Some(b'/') => match self.bytes.get(open + 2) {
                Some(byte) if byte.is_ascii_alphabetic() => self.end_tag(sink),
                Some(b'>') => self.at = open + 3,
                Some(_) => self.bogus_comment(open + 2, sink),
                None => self.text_until(end, Text::Data, sink),
            },
            Some(b'!') => return self.declaration(sink),
            Some(b'?') => self.bogus_comment(open + 1, sink),
            _ => self.text_until(open + 1, Text::Data, sink),
        }
        Content::Data
    }

    /// The text before an element's end tag, and the tag.
    fn until_end_tag(&mut self, end: usize, kind: Text, sink: &mut impl Sink<'a>) -> Content {
        self.text_until(end, kind, sink);
        if end < self.bytes.len() {
            self.end_tag(sink);
        }
        Content::Data
    }

    fn start_tag(&mut self, sink: &mut impl Sink<'a>) -> Content {
        self.at += 1;
        let name = self.name();
        sink.start(name);
        match self.attributes(|name, value| sink.attribute(name, value)) {
            Some(self_closing) => {
                self.last = name.raw;
                sink.open(self_closing)
            }
            None => Content::Data,
        }
    }

    fn end_tag(&mut self, sink: &mut impl Sink<'a>) {
        self.at += 2;
        let name = self.name();
        if self.attributes(|_, _| ()).is_some() {
            sink.close(name);
        }
    }

    /// A name up to white space, `/`, `>` or the end.
    #[inline]
    fn name(&mut self) -> Name<'a> {
        let (begin, mut key) = (self.at, 0);
        while let Some(&byte) = self.bytes.get(self.at) {
            if is_space(byte) || byte == b'/' || byte == b'>' {
                break;
            }
            key = key << 8 | u64::from(byte.to_ascii_lowercase());
            self.at += 1;
        }
        Name { raw: &self.input[begin..self.at], key: if self.at - begin > 8 { 0 } else { key } }
    }

    /// An attribute's name: like a tag's, but `=` ends it, unless it comes first.
    #[inline]
    fn attribute_name(&mut self) -> Name<'a> {
        let begin = self.at;
        let mut key = u64::from(self.bytes[begin].to_ascii_lowercase());
        self.at += 1;
        while let Some(&byte) = self.bytes.get(self.at) {
            if is_space(byte) || matches!(byte, b'/' | b'>' | b'=') {
                break;
            }
            key = key << 8 | u64::from(byte.to_ascii_lowercase());
            self.at += 1;
        }
        Name { raw: &self.input[begin..self.at], key: if self.at - begin > 8 { 0 } else { key } }
    }

    #[inline]
    fn skip_spaces(&mut self) -> Option<u8> {
        while let Some(&byte) = self.bytes.get(self.at) {
            if !is_space(byte) {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// The rest of a tag after its name: whether it closes itself, or nothing when the input
    /// ends inside it.
    #[inline]
    fn attributes(&mut self, mut each: impl FnMut(Name<'a>, &'a str)) -> Option<bool> {
        loop {
            match self.skip_spaces()? {
                b'>' => {
                    self.at += 1;
                    return Some(false);
                }
                b'/' => {
                    self.at += 1;
                    if self.bytes.get(self.at) == Some(&b'>') {
                        self.at += 1;
                        return Some(true);
                    }
                }
                _ => {
                    let name = self.attribute_name();
                    let value = if self.skip_spaces()? == b'=' {
                        self.at += 1;
                        self.value()?
                    } else {
                        ""
                    };
                    each(name, value);
                }
            }
        }
    }

    #[inline]
    fn value(&mut self) -> Option<&'a str> {
        match self.skip_spaces()? {
            quote @ (b'"' | b'\'') => {
                let begin = self.at + 1;
                let Some(length) = memchr(quote, &self.bytes[begin..]) else {
                    self.at = self.bytes.len();
                    return None;
                };
                self.at = begin + length + 1;
                Some(&self.input[begin..begin + length])
            }
            b'>' => Some(""),
            _ => {
                let begin = self.at;
                while let Some(&byte) = self.bytes.get(self.at) {
                    if is_space(byte) || byte == b'>' {
                        break;
                    }
                    self.at += 1;
                }
                Some(&self.input[begin..self.at])
            }
        }
    }

    /// `<!`: a comment, a document type, a CDATA section or a bogus comment.
    fn declaration(&mut self, sink: &mut impl Sink<'a>) -> Content {
        let begin = self.at + 2;
        let rest = &self.bytes[begin..];
        if rest.starts_with(b"--") {
            self.comment(begin + 2, sink);
        } else if rest.get(..7).is_some_and(|word| word.eq_ignore_ascii_case(b"doctype")) {
            let end = memchr(b'>', rest).map_or(self.bytes.len(), |n| begin + n);
            sink.doctype(&self.input[begin + 7..end]);
            self.at = (end + 1).min(self.bytes.len());
        } else if rest.starts_with(b"[CDATA[") && sink.foreign() {
            self.at = begin + 7;
            return Content::Cdata;
        } else {
            self.bogus_comment(begin, sink);
        }
        Content::Data
    }

    fn bogus_comment(&mut self, begin: usize, sink: &mut impl Sink<'a>) {
        let end = memchr(b'>', &self.bytes[begin..]).map_or(self.bytes.len(), |n| begin + n);
        sink.comment(&self.input[begin..end]);
        self.at = (end + 1).min(self.bytes.len());
    }

    /// A comment ends at the first `-->` or `--!>`; at once at `>` or `->`; at the end of the
    /// input, where what could have begun such an end is not part of it.
    fn comment(&mut self, begin: usize, sink: &mut impl Sink<'a>) {
        let rest = &self.bytes[begin..];
        let (length, used) = if rest.starts_with(b">") {
            (0, 1)
        } else if rest.starts_with(b"->") {
            (0, 2)
        } else {
            memchr::memchr_iter(b'>', rest)
                .find_map(|n| {
                    let before = &rest[..n];
                    [b"--".as_slice(), b"--!"]
                        .into_iter()
                        .find_map(|end| before.strip_suffix(end))
                        .map(|data| (data.len(), n + 1))
                })
                .unwrap_or_else(|| {
                    let data = [b"--!".as_slice(), b"--", b"-"]
                        .into_iter()
                        .find_map(|end| rest.strip_suffix(end))
                        .unwrap_or(rest);
                    (data.len(), rest.len())
                })
        };
        sink.comment(&self.input[begin..begin + length]);
        self.at = begin + used;
    }
}
