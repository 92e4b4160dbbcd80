//! Character references: `&name;` and `&#number;`.
//!
//! `entities.txt` holds the 2,125 names of the standard in byte order, one a line: the name
//! without its semicolon, `*` if it also stands without one (106 do, the longest of six bytes),
//! and the one or two code points it means. A name with its semicolon ends where the run of
//! letters and digits ends, so the longest match needs one search for it, and only if that fails
//! one for each shorter prefix among the 106.

use std::sync::LazyLock;

/// A reference found: the characters that it means and the bytes that it takes, `&` included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// What it stands for.
    pub first: char,
    /// A second code point, for the few that have one.
    pub second: Option<char>,
    /// Its length in bytes.
    pub length: usize,
}

type Entity = (&'static str, char, Option<char>);

struct Table {
    all: Vec<Entity>,
    bare: Vec<Entity>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table { all: Vec::with_capacity(2125), bare: Vec::with_capacity(106) };
    for line in include_str!("entities.txt").lines() {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default();
        let mut points =
            words.map(|hex| u32::from_str_radix(hex, 16).ok().and_then(char::from_u32));
        let entity = (name.trim_end_matches('*'), points.next().flatten().unwrap_or('\u{fffd}'));
        let entity = (entity.0, entity.1, points.next().flatten());
        table.all.push(entity);
        if name.ends_with('*') {
            table.bare.push(entity);
        }
    }
    table
});

const LONGEST_NAME: usize = 31;
const LONGEST_BARE: usize = 6;

/// The reference at the start of `bytes`, which begin with `&`; nothing when the `&` is a
/// character like any other. In an attribute a name without semicolon is one only if neither `=`
/// nor a letter or digit follows, so that `?a=1&copy=2` keeps its meaning.
pub fn reference(bytes: &[u8], in_attribute: bool) -> Option<Reference> {
    let rest = bytes.get(1..)?;
    if rest.first() == Some(&b'#') {
        return numeric(rest);
    }
    let run = rest.iter().take(LONGEST_NAME + 1).take_while(|b| b.is_ascii_alphanumeric()).count();
    let name = std::str::from_utf8(&rest[..run]).ok()?;
    if rest.get(run) == Some(&b';')
        && let Some((first, second)) = find(&TABLE.all, name)
    {
        return Some(Reference { first, second, length: run + 2 });
    }
    (2..=run.min(LONGEST_BARE)).rev().find_map(|length| {
        let (first, second) = find(&TABLE.bare, &name[..length])?;
        let next = rest.get(length).copied().unwrap_or(b' ');
        let literal = in_attribute && (next == b'=' || next.is_ascii_alphanumeric());
        (!literal).then_some(Reference { first, second, length: length + 1 })
    })
}

fn find(table: &[Entity], name: &str) -> Option<(char, Option<char>)> {
    let at = table.binary_search_by(|entity| entity.0.cmp(name)).ok()?;
    Some((table[at].1, table[at].2))
}

/// `#123;` or `#x7b;`; the semicolon may lack.
fn numeric(rest: &[u8]) -> Option<Reference> {
    let hex = matches!(rest.get(1), Some(b'x' | b'X'));
    let (begin, radix) = if hex { (2, 16) } else { (1, 10) };
    let mut end = begin;
    let mut number = 0_u32;
    while let Some(digit) = rest.get(end).and_then(|&b| char::from(b).to_digit(radix)) {
        number = number.saturating_mul(radix).saturating_add(digit);
        end += 1;
    }
    if end == begin {
        return None;
    }
    let semicolon = usize::from(rest.get(end) == Some(&b';'));
    Some(Reference { first: code_point(number), second: None, length: 1 + end + semicolon })
}

/// What a number means: those of the C1 controls are read as windows-1252, and NUL, surrogates
/// and numbers out of range as U+FFFD.
fn code_point(number: u32) -> char {
    const WINDOWS_1252: [u32; 32] = [
        0x20ac, 0x81, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
        0x2039, 0x0152, 0x8d, 0x017d, 0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013,
        0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d, 0x017e, 0x0178,
    ];
    let number = match number {
        0 => 0xfffd,
        0x80..=0x9f => WINDOWS_1252[number as usize - 0x80],
        other => other,
    };
    char::from_u32(number).unwrap_or('\u{fffd}')
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_BARE, LONGEST_NAME, TABLE, reference};

    fn read(text: &str, in_attribute: bool) -> Option<(char, usize)> {
        reference(text.as_bytes(), in_attribute).map(|found| (found.first, found.length))
    }

    #[test]
    fn the_table_is_sorted_and_complete() {
        assert_eq!((TABLE.all.len(), TABLE.bare.len()), (2125, 106));
        assert!(TABLE.all.is_sorted_by(|a, b| a.0 < b.0));
        assert!(TABLE.all.iter().all(|entity| entity.0.len() <= LONGEST_NAME));
        assert!(TABLE.bare.iter().all(|entity| entity.0.len() <= LONGEST_BARE));
    }

    #[test]
    fn the_longest_name_wins_and_some_need_no_semicolon() {
        assert_eq!(read("&notin;", false), Some(('\u{2209}', 7)));
        assert_eq!(read("&notit;", false), Some(('\u{ac}', 4)));
        assert_eq!(read("&hellip", false), None);
        assert_eq!(read("&copy=2", true), None);
        assert_eq!(read("&copy=2", false), Some(('\u{a9}', 5)));
        let two = reference(b"&acE;", false).unwrap();
        assert_eq!((two.first, two.second), ('\u{223e}', Some('\u{333}')));
    }

    #[test]
    fn numbers_are_read_as_the_web_writes_them() {
        assert_eq!(read("&#128;", false), Some(('\u{20ac}', 6)));
        assert_eq!(read("&#x41", true), Some(('A', 5)));
        assert_eq!(read("&#xD800;", false), Some(('\u{fffd}', 8)));
        assert_eq!(read("&#99999999999;", false), Some(('\u{fffd}', 14)));
        assert_eq!(read("&#;", false), None);
        assert_eq!(read("&#xg;", false), None);
    }
}
