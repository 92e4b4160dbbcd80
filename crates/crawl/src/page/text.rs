//! The visible text of a page, written as its parts come by.
//!
//! White space between two words is the strongest of what stood between them: a line break of a
//! block beats a space. Nothing is written for white space at the ends. Inside `pre` every
//! character stays.

use super::decode;
use super::entities::reference;
use super::tokeniser::Text;

/// The most bytes of text kept of a page.
pub const LIMIT: usize = 16 << 20;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Space,
    Line,
}

/// Collects text and collapses its white space.
pub struct TextWriter {
    text: String,
    gap: Gap,
    pre: u32,
}

/// Classes of bytes: what ends a run that can be copied as it stands.
const PLAIN: u8 = 0;
const SPACE: u8 = 1;
const SPECIAL: u8 = 2;

const CLASS: [u8; 256] = {
    let mut class = [PLAIN; 256];
    class[b' ' as usize] = SPACE;
    class[b'\t' as usize] = SPACE;
    class[b'\n' as usize] = SPACE;
    class[0x0c] = SPACE;
    class[b'\r' as usize] = SPACE;
    class[b'&' as usize] = SPECIAL;
    class[0] = SPECIAL;
    class
};

/// The end of the run from `at` in which all white space is single spaces between other bytes.
#[inline]
fn run_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        while at < bytes.len() && CLASS[bytes[at] as usize] == PLAIN {
            at += 1;
        }
        let single =
            at + 1 < bytes.len() && bytes[at] == b' ' && CLASS[bytes[at + 1] as usize] == PLAIN;
        if !single {
            return at;
        }
        at += 2;
    }
}

impl TextWriter {
    /// An empty text with room for `capacity` bytes.
    pub fn new(capacity: usize) -> Self {
        Self { text: String::with_capacity(capacity.min(LIMIT)), gap: Gap::None, pre: 0 }
    }

    /// What has been written so far.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text.
    pub fn into_string(self) -> String {
        self.text
    }

    /// A line ends: a block begins or ends, or `br`.
    #[inline]
    pub fn line(&mut self) {
        self.gap = Gap::Line;
    }

    /// White space that is not in the text (between table cells).
    pub fn space(&mut self) {
        self.gap = self.gap.max(Gap::Space);
    }

    /// White space counts from here on.
    pub fn begin_pre(&mut self) {
        self.pre = self.pre.saturating_add(1);
    }

    /// White space collapses again, unless an outer `pre` is open.
    pub fn end_pre(&mut self) {
        self.pre = self.pre.saturating_sub(1);
    }

    /// Appends character data as the tokeniser found it.
    pub fn push(&mut self, raw: &str, kind: Text) {
        if self.pre > 0 || !matches!(kind, Text::Data) {
            self.push_decoded(&decode::text(raw, kind));
            return;
        }
        let bytes = raw.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            match bytes[at] {
                b'&' => {
                    if let Some(found) = reference(&bytes[at..], false) {
                        self.character(found.first);
                        found.second.into_iter().for_each(|second| self.character(second));
                        at += found.length;
                    } else {
                        self.write("&");
                        at += 1;
                    }
                }
                0 => at += 1,
                byte if CLASS[byte as usize] == SPACE => {
                    self.space();
                    at += 1;
                }
                _ => {
                    let end = run_end(bytes, at);
                    self.write(&raw[at..end]);
                    at = end;
                }
            }
        }
    }

    /// Appends characters of which none stands for another.
    pub fn push_decoded(&mut self, text: &str) {
        if self.pre == 0 {
            for (n, word) in text.split(|c: char| c.is_ascii_whitespace()).enumerate() {
                if n > 0 {
                    self.space();
                }
                if !word.is_empty() {
                    self.write(word);
                }
            }
            return;
        }
        for part in text.split('\0').filter(|part| !part.is_empty()) {
            if self.gap != Gap::None && part.starts_with('\n') {
                self.gap = Gap::None;
            }
            if self.text.is_empty() && part.trim_ascii().is_empty() {
                continue;
            }
            self.write(part);
        }
    }

    fn character(&mut self, character: char) {
        if character.is_ascii_whitespace() {
            self.space();
        } else {
            self.write(character.encode_utf8(&mut [0; 4]));
        }
    }

    /// Writes the gap that is due and then `part`, as far as there is room.
    #[inline]
    fn write(&mut self, part: &str) {
        let room = LIMIT.saturating_sub(self.text.len() + 1);
        let part = if part.len() <= room { part } else { &part[..part.floor_char_boundary(room)] };
        if part.is_empty() {
            return;
        }
        if self.gap != Gap::None {
            let gap = if self.gap == Gap::Line { '\n' } else { ' ' };
            if !self.text.is_empty() && !self.text.ends_with('\n') {
                self.text.push(gap);
            }
            self.gap = Gap::None;
        }
        self.text.push_str(part);
    }
}
