//! Where the text of RCDATA, RAWTEXT and script elements ends.

use memchr::{memchr_iter, memchr2};

use super::tokeniser::{Cursor, is_space};

/// Whether `bytes` begins with `name` in any case and a byte that ends a tag's name.
fn named(bytes: &[u8], name: &[u8]) -> bool {
    !name.is_empty()
        && bytes.get(..name.len()).is_some_and(|word| word.eq_ignore_ascii_case(name))
        && bytes.get(name.len()).is_some_and(|&b| is_space(b) || b == b'/' || b == b'>')
}

/// The position of the end tag of the last start tag, or of the end of the input.
pub(super) fn end_of_text(cursor: &Cursor<'_>) -> usize {
    let rest = &cursor.bytes[cursor.at..];
    let found = memchr_iter(b'<', rest)
        .find(|&n| rest.get(n + 1) == Some(&b'/') && named(&rest[n + 2..], cursor.last.as_bytes()));
    cursor.at + found.unwrap_or(rest.len())
}

/// The depth of escapes in a script: `<!--` escapes, `<script` inside that escapes again, and
/// only then is `</script>` not the end but a step back. `-->` undoes both; its dashes may be
/// those of `<!--`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escape {
    None,
    Once,
    Twice,
}

/// The position of the end tag of a script, or of the end of the input.
pub(super) fn end_of_script(cursor: &Cursor<'_>) -> usize {
    let bytes = cursor.bytes;
    let name = cursor.last.as_bytes();
    let mut escape = Escape::None;
    let mut at = cursor.at;
    while let Some(n) = memchr2(b'<', b'-', &bytes[at..]) {
        at += n;
        let rest = &bytes[at..];
        at += 1;
        if rest[0] == b'-' {
            if rest.starts_with(b"-->") {
                escape = Escape::None;
            }
            continue;
        }
        match (escape, rest.get(1)) {
            (Escape::Twice, Some(b'/')) if named(&rest[2..], b"script") => escape = Escape::Once,
            (Escape::None | Escape::Once, Some(b'/')) if named(&rest[2..], name) => return at - 1,
            (Escape::None, Some(b'!')) if rest.starts_with(b"<!--") => {
                escape = Escape::Once;
                at += 1;
            }
            (Escape::Once, _) if named(&rest[1..], b"script") => escape = Escape::Twice,
            _ => {}
        }
    }
    bytes.len()
}
