//! References inside values: `srcset`, style sheets, `meta refresh`.

use memchr::{memchr_iter, memchr2};

/// The references of a `srcset`, as the standard splits it: each ends at white space, loses the
/// commas at its end, and is followed by a descriptor up to a comma outside parentheses.
pub fn srcset(value: &str, mut each: impl FnMut(&str)) {
    let mut rest = value;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        if rest.is_empty() {
            return;
        }
        let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        let url = &rest[..end];
        rest = &rest[end..];
        let bare = url.trim_end_matches(',');
        each(bare);
        if bare.len() == url.len() {
            let mut depth = 0_u32;
            let comma = rest.bytes().position(|b| {
                match b {
                    b'(' => depth = 1,
                    b')' => depth = 0,
                    _ => {}
                }
                b == b',' && depth == 0
            });
            rest = &rest[comma.unwrap_or(rest.len())..];
        }
    }
}

/// The references of a style sheet or `style` attribute: `each(url, imported)`.
pub fn css(style: &str, mut each: impl FnMut(&str, bool)) {
    let bytes = style.as_bytes();
    for open in memchr_iter(b'(', bytes) {
        let before = &bytes[..open];
        if before.len() < 3 || !before[open - 3..].eq_ignore_ascii_case(b"url") {
            continue;
        }
        let inside = style[open + 1..].trim_start();
        let url = if inside.starts_with(['"', '\'']) {
            quoted(inside)
        } else {
            let end = inside.find(|c: char| "()\"'".contains(c) || c.is_ascii_whitespace());
            end.map(|end| &inside[..end])
        };
        if let Some(url) = url {
            let imported = before[..open - 3].trim_ascii_end();
            let imported = imported.len() >= 7
                && imported[imported.len() - 7..].eq_ignore_ascii_case(b"@import");
            each(url, imported);
        }
    }
    for at in memchr_iter(b'@', bytes) {
        let rest = &bytes[at..];
        if rest.len() > 7 && rest[..7].eq_ignore_ascii_case(b"@import") {
            let rest = style[at + 7..].trim_start();
            if let Some(url) = quoted(rest) {
                each(url, true);
            }
        }
    }
}

/// What stands between a quote at the start and the next one like it, on one line: a quote
/// left open ends with its line, which keeps the scan short.
fn quoted(text: &str) -> Option<&str> {
    let quote = *text.as_bytes().first()?;
    let rest = text.strip_prefix(['"', '\''])?;
    let end = memchr2(quote, b'\n', rest.as_bytes())?;
    (rest.as_bytes()[end] == quote).then(|| &rest[..end])
}

/// The reference of a `meta refresh`: `5; url='next.html'`, as the standard reads it.
pub fn refresh(value: &str) -> Option<&str> {
    let space = |c: char| c.is_ascii_whitespace();
    let rest = value.trim_start_matches(space);
    let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    if digits.len() == rest.len() && !rest.starts_with('.') {
        return None;
    }
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !rest.starts_with(|c: char| space(c) || c == ';' || c == ',') {
        return None;
    }
    let rest = rest.trim_start_matches(space);
    let rest = rest.strip_prefix([';', ',']).unwrap_or(rest).trim_start_matches(space);
    let rest = prefixed(rest)
        .and_then(|rest| rest.trim_start_matches(space).strip_prefix('='))
        .map_or(rest, |rest| rest.trim_start_matches(space));
    let url = match rest.chars().next() {
        Some(quote @ ('"' | '\'')) => rest[1..].split(quote).next().unwrap_or_default(),
        _ => rest,
    };
    (!url.is_empty()).then_some(url)
}

fn prefixed(rest: &str) -> Option<&str> {
    let word = rest.as_bytes().get(..3)?;
    word.eq_ignore_ascii_case(b"url").then(|| &rest[3..])
}

#[cfg(test)]
mod tests {
    use super::{css, refresh, srcset};

    #[test]
    fn a_refresh_is_read_as_browsers_read_it() {
        assert_eq!(refresh("5; url=next.html"), Some("next.html"));
        assert_eq!(refresh(" 0.5 , URL = 'a b' c"), Some("a b"));
        assert_eq!(refresh("1 next"), Some("next"));
        assert_eq!(refresh("1;url"), Some("url"));
        assert_eq!(refresh("1; url=\"open"), Some("open"));
        assert_eq!(refresh("5"), None);
        assert_eq!(refresh("5;"), None);
        assert_eq!(refresh("url=x"), None);
        assert_eq!(refresh("5x; url=y"), None);
    }

    #[test]
    fn a_srcset_is_split_at_commas_outside_urls_and_parentheses() {
        let list = |value| {
            let mut urls = Vec::new();
            srcset(value, |url| urls.push(url.to_owned()));
            urls
        };
        assert_eq!(list("a 1x, b 2x"), ["a", "b"]);
        assert_eq!(list(",, a,b,, c (x, y), d"), ["a,b", "c", "d"]);
        assert_eq!(list(" , "), Vec::<String>::new());
    }

    #[test]
    fn a_style_sheet_gives_its_urls_and_imports() {
        let mut found = Vec::new();
        let sheet = "@import 'a'; @IMPORT  url( b ); x{background:URL(\"c d\")} y{z:url(e";
        css(sheet, |url, imported| found.push((url.to_owned(), imported)));
        found.sort();
        let expected = [("a", true), ("b", true), ("c d", false)];
        assert_eq!(found, expected.map(|(url, imported)| (url.to_owned(), imported)));
    }
}
