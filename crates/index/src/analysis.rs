//! Analysis: how a text becomes terms, for documents, queries and snippets alike.
//!
//! A *term* is a maximal run of alphanumeric characters (Unicode's Alphabetic and Numeric) with
//! the combining marks behind them, each character in lower case (`to_lowercase`). In scripts
//! that are written without spaces (Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar) each
//! character, with the marks behind it, is a term of its own: adjacent characters of a query are
//! then a phrase. There are no stop words and no stemming.
//!
//! A term has a position in its text: 0, 1, 2, …. One longer than [`MAX_TERM`] bytes takes its
//! position, and is not indexed.

use icu_properties::props::{GeneralCategory, Script};
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};

/// The longest term that is indexed, in bytes of its lower case.
pub const MAX_TERM: usize = 255;

const CATEGORY: CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::new();
const SCRIPT: CodePointMapDataBorrowed<'static, Script> = CodePointMapData::new();

/// Classes of bytes, as bits: what a run of them is, is their union.
const LOWER: u8 = 1;
const UPPER: u8 = 2;
const OTHER: u8 = 4;

const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        class[byte] = match byte as u8 {
            b'0'..=b'9' | b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            0x80.. => OTHER,
            _ => 0,
        };
        byte += 1;
    }
    class
};

/// What a character beyond ASCII is to a term.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Ends a term, and is in none.
    Break,
    /// Goes on in a term, or begins one.
    Word,
    /// Goes on in a term, and begins one only if it is alphanumeric.
    Mark { begins: bool },
    /// Is a term.
    Single,
}

fn kind(c: char) -> Kind {
    if c.is_ascii() {
        return if c.is_ascii_alphanumeric() { Kind::Word } else { Kind::Break };
    }
    let category = CATEGORY.get(c);
    let mark = matches!(
        category,
        GeneralCategory::NonspacingMark
            | GeneralCategory::SpacingMark
            | GeneralCategory::EnclosingMark
    );
    if mark {
        return Kind::Mark { begins: c.is_alphanumeric() };
    }
    if !c.is_alphanumeric() {
        return Kind::Break;
    }
    // The long vowel marks of Katakana belong to two scripts, so that Unicode gives them none.
    let unspaced = matches!(c, '\u{30FC}' | '\u{FF70}')
        || matches!(
            SCRIPT.get(c),
            Script::Han
                | Script::Hiragana
                | Script::Katakana
                | Script::Thai
                | Script::Lao
                | Script::Khmer
                | Script::Myanmar
        );
    if unspaced { Kind::Single } else { Kind::Word }
}

/// A term and where it stands, in bytes of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// The term, in lower case.
    pub term: &'a str,
    /// Its first byte.
    pub start: usize,
    /// The byte behind it.
    pub end: usize,
}

/// The terms of a text, in order. It lends each one until the next is asked for.
pub struct Tokens<'a> {
    text: &'a str,
    at: usize,
    lowered: String,
}

impl<'a> Tokens<'a> {
    /// The terms of `text`.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0, lowered: String::new() }
    }

    /// The next term.
    #[inline]
    #[expect(clippy::should_implement_trait)] // an iterator cannot lend from itself
    pub fn next(&mut self) -> Option<Token<'_>> {
        let bytes = self.text.as_bytes();
        loop {
            let mut start = self.at;
            while start < bytes.len() && CLASS[usize::from(bytes[start])] == 0 {
                start += 1;
            }
            if start == bytes.len() {
                self.at = start;
                return None;
            }
            let (mut end, mut union) = (start, 0);
            while end < bytes.len() {
                let class = CLASS[usize::from(bytes[end])];
                if class == 0 {
                    break;
                }
                union |= class;
                end += 1;
            }
            if union == LOWER {
                self.at = end;
                return Some(Token { term: &self.text[start..end], start, end });
            }
            if union & OTHER == 0 {
                self.at = end;
                self.lowered.clear();
                self.lowered.push_str(&self.text[start..end]);
                self.lowered.make_ascii_lowercase();
                return Some(Token { term: &self.lowered, start, end });
            }
            if let Some((start, end)) = self.unicode(start) {
                return Some(Token { term: &self.lowered, start, end });
            }
        }
    }

    /// Reads one term from `start` on by characters, into `lowered`; none if there is only
    /// what ends a term.
    #[cold]
    fn unicode(&mut self, mut start: usize) -> Option<(usize, usize)> {
        self.lowered.clear();
        let mut single = false;
        let mut end = start;
        for c in self.text[start..].chars() {
            let taken = match kind(c) {
                Kind::Word => !single,
                Kind::Single => {
                    let first = self.lowered.is_empty();
                    single = first;
                    first
                }
                Kind::Mark { begins } => begins || !self.lowered.is_empty(),
                Kind::Break => false,
            };
            if taken {
                self.lowered.extend(c.to_lowercase());
            } else if !self.lowered.is_empty() {
                break;
            } else if c.is_ascii() {
                self.at = end;
                return None;
            } else {
                start = end + c.len_utf8();
            }
            end += c.len_utf8();
        }
        self.at = end;
        (!self.lowered.is_empty()).then_some((start, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let mut tokens = Tokens::new(text);
        let mut terms = Vec::new();
        while let Some(token) = tokens.next() {
            assert!(token.start < token.end && token.end <= text.len());
            terms.push(token.term.to_owned());
        }
        terms
    }

    #[test]
    fn a_term_is_a_run_of_letters_and_digits_in_lower_case() {
        assert_eq!(terms(""), [""; 0]);
        assert_eq!(terms(" --- \u{2014}\u{2014} "), [""; 0]);
        assert_eq!(terms("The C99 std::vector, v1.2"), ["the", "c99", "std", "vector", "v1", "2"]);
        assert_eq!(terms("Straße ÉCOLE\u{2014}naïve"), ["straße", "école", "naïve"]);
        assert_eq!(terms("x\u{2014}y \u{2014}z"), ["x", "y", "z"]);
        assert_eq!(terms("ΟΔΟΣ ОРЁЛ"), ["οδοσ", "орёл"]);
    }

    #[test]
    fn combining_marks_belong_to_the_term_that_they_follow() {
        assert_eq!(terms("e\u{301}a"), ["e\u{301}a"]);
        assert_eq!(terms("\u{301}a \u{301}"), ["a"]);
        assert_eq!(terms("हिन्दी"), ["हिन्दी"]);
        assert_eq!(terms("İx"), ["i\u{307}x"]);
    }

    #[test]
    fn scripts_without_spaces_give_a_term_a_character() {
        assert_eq!(terms("漢字とKanji"), ["漢", "字", "と", "kanji"]);
        assert_eq!(terms("abc漢字def"), ["abc", "漢", "字", "def"]);
        assert_eq!(terms("ラーメン2杯"), ["ラ", "ー", "メ", "ン", "2", "杯"]);
        assert_eq!(terms("ที่นี่"), ["ที่", "นี่"]);
        assert_eq!(terms("한국어 검색"), ["한국어", "검색"]);
    }
}
