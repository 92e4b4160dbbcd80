use super::super::{Url, UrlError, UrlRef};
use super::Joiner;

/// The identity as the `url` crate gives it.
fn oracle(base: Option<&Url>, input: &str) -> Option<String> {
    let base = base.map(|base| url::Url::parse(base.as_str()).unwrap());
    let mut parsed = url::Url::options().base_url(base.as_ref()).parse(input).ok()?;
    matches!(parsed.scheme(), "http" | "https").then_some(())?;
    parsed.set_fragment(None);
    parsed.set_username("").ok()?;
    parsed.set_password(None).ok()?;
    Some(parsed.into())
}

/// Where the crate is known to leave the standard, for `http` as if the scheme were `file`.
fn crate_deviates(input: &str, base: Option<&Url>) -> bool {
    let flat: String = input
        .trim_matches(|c| c <= ' ')
        .chars()
        .filter(|c| !matches!(c, '\t' | '\n' | '\r'))
        .map(|c| if c == '\\' { '/' } else { c })
        .collect();
    // `///host` on a base: the standard skips every slash, the crate finds no host.
    let slashes = |text: &str| text.starts_with("///");
    let after_scheme = flat.split_once(':').is_some_and(|(_, rest)| slashes(rest));
    // A segment like `c:` or `c|` that `..` should remove: the crate keeps a drive letter.
    let drive = |text: &str| {
        text.as_bytes()
            .windows(3)
            .any(|w| w[0] == b'/' && w[1].is_ascii_alphabetic() && matches!(w[2], b':' | b'|'))
            || matches!(text.as_bytes(), [a, b':' | b'|', ..] if a.is_ascii_alphabetic())
    };
    // A caret in a path: the standard has it percent-encoded since 2025.
    flat.contains('^')
        || base.is_some() && (slashes(&flat) || after_scheme)
        || drive(&flat)
        || base.is_some_and(|base| drive(base.path()))
}

/// xorshift64*: a sequence that a printed seed repeats.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }

    fn text(&mut self, alphabet: &[&str], longest: usize) -> String {
        (0..self.below(longest + 1)).map(|_| alphabet[self.below(alphabet.len())]).collect()
    }
}

const TOKENS: &[&str] = &[
    "/",
    "/",
    "/",
    "\\",
    "?",
    "#",
    ".",
    "..",
    "/../",
    "/./",
    "%2e",
    "%2E",
    ":",
    "@",
    "a",
    "b",
    "c",
    "index.html",
    "Example.COM",
    "http:",
    "https://",
    "HTTP://",
    "http://",
    "//",
    "www.",
    "x.org",
    ":80",
    ":443",
    ":8080",
    ":",
    "0",
    "1",
    "127.0.0.1",
    "0x7f",
    "[::1]",
    "xn--",
    "xn--nxasmq6b",
    "é",
    "ß",
    "日本",
    "\u{ad}",
    "。",
    "%C3%A9",
    "%zz",
    "%",
    " ",
    "\t",
    "\n",
    "\r",
    "\0",
    "\x1f",
    "\x7f",
    "'",
    "\"",
    "<",
    ">",
    "`",
    "{",
    "}",
    "|",
    "^",
    "~",
    "!",
    "$",
    "&",
    "=",
    "+",
    "*",
    "(",
    ")",
    ";",
    ",",
    "_",
    "-",
    "mailto:",
    "ftp://",
    "data:,",
    "user:pw@",
    "🦀",
    "ä.com",
];

#[test]
fn the_parser_agrees_with_the_url_crate_on_random_input() {
    let seed = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(7, |since| since.as_nanos() as u64)
        | 1;
    println!("seed {seed}");
    let mut random = Random(seed);
    let mut compared = 0;
    let bases = [
        "http://example.com/",
        "https://www.x.org/a/b/c.html?q=1",
        "http://h:8080/a//b/?x",
        "http://127.0.0.1/x",
        "https://[::1]:1/a/../b/",
        "http://example.com/a/b;p=1/%2f/é?ü",
    ]
    .map(|base| Url::parse(base).unwrap());
    for round in 0..60_000 {
        let mut input = random.text(TOKENS, 10);
        if round % 3 == 0 {
            input.insert_str(
                0,
                ["http://", "https://", "http://a.com/", "//", "/"][random.below(5)],
            );
        }
        let base = (round % 4 != 0).then(|| &bases[random.below(bases.len())]);
        if crate_deviates(&input, base) {
            continue;
        }
        compared += 1;
        let ours = base.map_or_else(|| Url::parse(&input), |base| base.join(&input));
        let theirs = oracle(base, &input);
        assert_eq!(ours.as_ref().ok().map(Url::as_str), theirs.as_deref(), "{input:?} on {base:?}");
        if let Ok(url) = ours {
            assert_eq!(Url::parse(url.as_str()).as_ref(), Ok(&url), "not a fixed point");
            assert_eq!(UrlRef::of_normalised(url.as_str()), Some(url.view()));
        }
    }
    assert!(compared > 40_000, "{compared}");
}

#[test]
fn the_parser_follows_the_standard_where_the_crate_does_not() {
    let base = Url::parse("http://example.org/foo/bar").unwrap();
    assert_eq!(base.join("///test/x").unwrap().as_str(), "http://test/x");
    assert_eq!(base.join("/c:/../x").unwrap().as_str(), "http://example.org/x");
    assert_eq!(base.join("http:///h/").unwrap().as_str(), "http://h/");
    assert_eq!(base.join("/a^b?c^d").unwrap().as_str(), "http://example.org/a%5Eb?c^d");
}

#[test]
fn links_are_joined_as_browsers_do() {
    let joiner = Joiner::new(&Url::parse("https://ex.org/a/b/c.html?q#f").unwrap());
    let mut out = String::new();
    for (href, expected) in [
        ("", "https://ex.org/a/b/c.html?q"),
        ("#top", "https://ex.org/a/b/c.html?q"),
        ("?", "https://ex.org/a/b/c.html?"),
        ("?x=1#y", "https://ex.org/a/b/c.html?x=1"),
        ("d", "https://ex.org/a/b/d"),
        (".", "https://ex.org/a/b/"),
        ("..", "https://ex.org/a/"),
        ("../../../../d", "https://ex.org/d"),
        ("./%2e%2E/d/", "https://ex.org/a/d/"),
        ("/x\\y", "https://ex.org/x/y"),
        ("\\\\other.org", "https://other.org/"),
        ("//other.org:443/x", "https://other.org/x"),
        ("https:d", "https://ex.org/a/b/d"),
        ("http:d", "http://d/"),
        ("https://ex.org", "https://ex.org/"),
        ("https://ex.org?x", "https://ex.org/?x"),
        ("https://ex.org.evil/", "https://ex.org.evil/"),
        ("https://ex.org@evil/", "https://evil/"),
        ("https://ex.org:8/", "https://ex.org:8/"),
        (" \n/a b\tc'?a b'\u{e9}", "https://ex.org/a%20bc'?a%20b%27%C3%A9"),
        ("HTTP://B\u{fc}cher.de", "http://xn--bcher-kva.de/"),
        ("http://0x7f.1", "http://127.0.0.1/"),
        ("...", "https://ex.org/a/b/..."),
        ("x:y", ""),
    ] {
        let joined = joiner.join_into(href, &mut out);
        assert_eq!(joined.is_ok(), !expected.is_empty(), "{href:?}");
        assert_eq!(out, expected, "{href:?}");
        assert!(joined.is_ok() || joined == Err(UrlError::Scheme));
    }
}

#[test]
fn megabytes_in_an_attribute_are_refused() {
    let base = Url::parse("http://a/").unwrap();
    let huge = "a/".repeat(1 << 20);
    for input in [huge.clone(), format!("?{huge}"), format!("/{huge}"), format!("//{huge}")] {
        assert_eq!(base.join(&input), Err(UrlError::TooLong));
    }
    let late_tab = format!("http://{}@h/a\tb", "u".repeat(1 << 16));
    assert_eq!(base.join(&late_tab), Err(UrlError::TooLong));
    assert_eq!(base.join(&format!("javascript:{huge}")), Err(UrlError::Scheme));
    assert_eq!(base.join(&format!("//{}", "a".repeat(1 << 20))), Err(UrlError::TooLong));
    assert_eq!(base.join(&"../".repeat(10_000)).unwrap().as_str(), "http://a/");
}
