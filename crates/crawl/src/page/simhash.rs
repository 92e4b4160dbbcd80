//! Charikar's similarity hash of the *set* of words of a text.
//!
//! A word is a maximal run of letters in lower case; digits and everything else separate words,
//! so that dates and counters weigh nothing. Scripts without spaces have words of two characters:
//! an ideograph or kana with the one that follows it (alone, too many pages have the same set).
//! Each distinct word votes with its xxh3-64 (unkeyed: simhashes of different crawls compare);
//! a bit of the result is 1 when more than half of the words have it, so a tie gives 0 and so
//! does a text without words.
//!
//! Votes are counted bit-sliced: plane *k* holds bit *k* of 64 counters, and a word is added to
//! all of them by a ripple of carries, two steps on average.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use xxhash_rust::xxh3::xxh3_64;

/// Multiplier of the set's slots, secret per process: words cannot be chosen to collide.
static SECRET: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(1) | 1);

/// The similarity hash of a text.
pub fn simhash(text: &str) -> u64 {
    let mut votes = Votes::new(text.len());
    words(text, |word| votes.add(xxh3_64(word)));
    votes.majority()
}

/// Distinct hashes and the count of each of their bits.
struct Votes {
    slots: Vec<u64>,
    shift: u32,
    secret: u64,
    count: usize,
    planes: [u64; 32],
}

impl Votes {
    /// A set for a text of so many bytes: texts have a distinct word for every 16 bytes at most,
    /// or the table grows.
    fn new(bytes: usize) -> Self {
        let bits = (bytes / 8).clamp(64, 1 << 16).next_power_of_two().trailing_zeros();
        Self {
            slots: vec![0; 1 << bits],
            shift: 64 - bits,
            secret: *SECRET,
            count: 0,
            planes: [0; 32],
        }
    }

    #[inline]
    fn add(&mut self, hash: u64) {
        let hash = hash.max(1); // 0 marks a free slot
        if !insert(&mut self.slots, self.shift, self.secret, hash) {
            return;
        }
        self.count += 1;
        let mut carry = hash;
        for plane in &mut self.planes {
            let both = *plane & carry;
            *plane ^= carry;
            carry = both;
            if carry == 0 {
                break;
            }
        }
        if self.count * 2 > self.slots.len() {
            self.grow();
        }
    }

    fn grow(&mut self) {
        self.shift -= 2;
        let mut slots = vec![0; self.slots.len() * 4];
        for &hash in self.slots.iter().filter(|&&hash| hash != 0) {
            insert(&mut slots, self.shift, self.secret, hash);
        }
        self.slots = slots;
    }

    fn majority(&self) -> u64 {
        (0..64).fold(0, |result, bit| {
            let ones = self.planes.iter().rev().fold(0, |n, plane| n << 1 | (plane >> bit & 1));
            result | u64::from(2 * ones > self.count as u64) << bit
        })
    }
}

/// Puts a hash into an open-addressed set; whether it is new.
#[inline]
fn insert(slots: &mut [u64], shift: u32, secret: u64, hash: u64) -> bool {
    let mask = slots.len() - 1;
    let mut slot = (hash.wrapping_mul(secret) >> shift) as usize & mask;
    loop {
        match slots[slot] {
            0 => {
                slots[slot] = hash;
                return true;
            }
            held if held == hash => return false,
            _ => slot = (slot + 1) & mask,
        }
    }
}

/// The longest word kept in one piece, in bytes.
const LONGEST: usize = 64;

/// Hands over the words of a text, longer ones cut.
fn words(text: &str, mut each: impl FnMut(&[u8])) {
    let bytes = text.as_bytes();
    // Eight bytes are written at a time, of which the word takes the letters.
    let mut word = [0; LONGEST + 8];
    let (mut at, mut length) = (0, 0);
    while at < bytes.len() {
        let (lower, letters) = match bytes[at..].first_chunk() {
            Some(eight) => fold(*eight),
            None => fold_last(&bytes[at..]),
        };
        word[length..length + 8].copy_from_slice(&lower);
        let taken = letters.min(LONGEST - length);
        length += taken;
        at += taken;
        if letters == 8 && length < LONGEST {
            continue;
        }
        let next = if length < LONGEST { bytes.get(at).copied() } else { None };
        if next.is_some_and(|byte| byte >= 0x80) {
            at += foreign(&text[at..], &mut word, &mut length, &mut each);
            continue;
        }
        if length > 0 {
            each(&word[..length]);
            length = 0;
        }
        at += usize::from(next.is_some());
    }
    if length > 0 {
        each(&word[..length]);
    }
}

/// Eight bytes with ASCII letters in lower case, and how many letters they begin with.
#[inline]
fn fold(eight: [u8; 8]) -> ([u8; 8], usize) {
    const ONES: u64 = u64::MAX / 255;
    const TOPS: u64 = ONES << 7;
    let bytes = u64::from_le_bytes(eight);
    let lower = bytes | (ONES * 0x20);
    // No byte borrows from the next: each has its top bit set before the subtraction.
    let from_a = (lower | TOPS) - ONES * u64::from(b'a');
    let past_z = (lower | TOPS) - ONES * u64::from(b'z' + 1);
    let letters = from_a & !past_z & !bytes & TOPS;
    (lower.to_le_bytes(), (!letters & TOPS).trailing_zeros() as usize / 8)
}

/// The same for the last bytes of a text, less than eight.
fn fold_last(bytes: &[u8]) -> ([u8; 8], usize) {
    let mut eight = [0; 8];
    eight[..bytes.len()].copy_from_slice(bytes);
    fold(eight)
}

/// Takes one character beyond ASCII into the word, or ends the word at it; its length.
fn foreign(
    text: &str,
    word: &mut [u8; LONGEST + 8],
    length: &mut usize,
    each: &mut impl FnMut(&[u8]),
) -> usize {
    /// The most bytes of a character in lower case: three characters of four.
    const LOWER: usize = 12;
    let Some(character) = text.chars().next() else { return 0 };
    let (letter, alone) = (character.is_alphabetic(), ideographic(character));
    if *length > 0 && (alone || !letter || *length + LOWER > LONGEST) {
        each(&word[..*length]);
        *length = 0;
    }
    if letter {
        let partner = text[character.len_utf8()..].chars().next();
        let partner = partner.filter(|&next| alone && ideographic(next));
        for lower in character.to_lowercase().chain(partner) {
            *length += lower.encode_utf8(&mut word[*length..]).len();
        }
    }
    if alone && *length > 0 {
        each(&word[..*length]);
        *length = 0;
    }
    character.len_utf8()
}

/// Scripts written without spaces between words: Han, Hiragana, Katakana.
fn ideographic(character: char) -> bool {
    matches!(character as u32,
        0x3041..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x3134f)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{simhash, words};
    use xxhash_rust::xxh3::xxh3_64;

    fn list(text: &str) -> Vec<String> {
        let mut list = Vec::new();
        words(text, |word| list.push(String::from_utf8_lossy(word).into_owned()));
        list
    }

    /// The definition, word by word.
    fn by_definition(text: &str) -> u64 {
        let set: BTreeSet<String> = list(text).into_iter().collect();
        (0..64).fold(0, |result, bit| {
            let ones = set.iter().filter(|w| xxh3_64(w.as_bytes()) >> bit & 1 == 1).count();
            result | u64::from(2 * ones > set.len()) << bit
        })
    }

    #[test]
    fn words_are_runs_of_letters_in_lower_case() {
        assert_eq!(list("Der Täufer, 12 ABC3d-e"), ["der", "täufer", "abc", "d", "e"]);
        assert_eq!(list("日本語 ÉTÉ カナ"), ["日本", "本語", "語", "été", "カナ", "ナ"]);
        assert_eq!(list(&"a".repeat(130)).iter().map(String::len).collect::<Vec<_>>(), [64, 64, 2]);
    }

    /// The words of an ASCII text, letter by letter.
    fn letter_by_letter(text: &str) -> Vec<String> {
        let runs = text.split(|c: char| !c.is_ascii_alphabetic()).map(str::to_ascii_lowercase);
        runs.flat_map(|run| {
            let pieces: Vec<_> =
                run.as_bytes().chunks(64).map(|p| String::from_utf8_lossy(p).into()).collect();
            pieces
        })
        .collect()
    }

    #[test]
    fn eight_bytes_at_a_time_give_the_same_words_as_letter_by_letter() {
        let every = (0..128_u8).map(char::from).collect::<String>();
        assert_eq!(list(&every), letter_by_letter(&every));
        let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".repeat(4);
        for gap in ["", " ", "-@[", "1234567", "        ", "{`\u{7f}\0"] {
            for length in 0..200 {
                for before in 0..9 {
                    let text = format!("{}{gap}{}{gap}x", &letters[..before], &letters[..length]);
                    assert_eq!(list(&text), letter_by_letter(&text), "{text}");
                }
            }
        }
    }

    #[test]
    fn a_set_of_words_votes_once_each_and_a_tie_gives_zero() {
        assert_eq!(simhash(""), 0);
        assert_eq!(simhash("one"), xxh3_64(b"one"));
        assert_eq!(simhash("one two"), xxh3_64(b"one") & xxh3_64(b"two"));
        assert_eq!(simhash("one ONE one two 17"), simhash("two one"));
    }

    #[test]
    fn counting_by_planes_equals_the_definition_while_the_table_grows() {
        let mut text = String::new();
        for n in 0..5000_u32 {
            for digit in n.to_string().bytes() {
                text.push(char::from(b'a' + digit - b'0'));
            }
            text.push(' ');
            if n % 977 == 0 {
                assert_eq!(simhash(&text), by_definition(&text), "after {n} words");
            }
        }
        assert_eq!(simhash(&text), by_definition(&text));
    }
}
