//! URLs: parsing, joining, identity.
//!
//! The identity of a URL is the WHATWG serialisation of an `http` or `https` URL without its
//! fragment and userinfo; nothing else is touched (no sorting of parameters, no case folding
//! of paths). It is at most [`MAX_LENGTH`] bytes of ASCII, of the form
//!
//! ```text
//! https :// host [: port] / path [? query]
//!           ^host  ^host_end ^path             (byte offsets kept beside the text, `Parts`)
//! ```
//!
//! so that every component is a slice. [`hash`] (xxh3-64 of these bytes) names the URL in all
//! tables. The parser (`parse.rs`) is our own, as a crawler joins a hundred links for each page
//! it stores; only hosts that are not plain ASCII names (IDN, IP addresses, percent escapes)
//! go to the `url` crate, which is also the oracle of the tests.
//!
//! Reference: <https://url.spec.whatwg.org/>.

mod domain;
mod parse;

use std::fmt;

pub use domain::domain;
pub use parse::Joiner;

/// Longest URL, in bytes of its normalised form; longer ones are refused.
pub const MAX_LENGTH: usize = 8192;

/// Why a string is not the URL of a page that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// The host or the port breaks the syntax.
    #[error("not a valid URL: its host or port is malformed")]
    Invalid,
    /// There is no scheme, and no base to join to.
    #[error("not an absolute URL: it does not begin with http:// or https://")]
    Relative,
    /// Another scheme: `mailto:`, `javascript:`, `ftp:`…
    #[error("the URL's scheme is not http or https")]
    Scheme,
    /// Nothing stands where the host should.
    #[error("the URL has no host")]
    NoHost,
    /// More than [`MAX_LENGTH`] bytes.
    #[error("the URL is longer than 8192 bytes")]
    TooLong,
}

/// Where the components of a normalised URL begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Parts {
    host: u16,
    host_end: u16,
    path: u16,
}

/// A normalised URL that somebody else keeps: the text and where its components begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UrlRef<'a> {
    text: &'a str,
    parts: Parts,
}

impl<'a> UrlRef<'a> {
    /// Puts together what [`Joiner::join_into`] gave.
    pub fn new(text: &'a str, parts: Parts) -> Self {
        Self { text, parts }
    }

    /// Finds the components of a text that is already normalised, say one read from a table.
    /// A text that is not gives `None` or components without meaning, never a panic.
    pub fn of_normalised(text: &'a str) -> Option<Self> {
        let host = if text.starts_with("http://") {
            7
        } else if text.starts_with("https://") {
            8
        } else {
            return None;
        };
        if text.len() > MAX_LENGTH {
            return None;
        }
        let path = host + memchr::memchr(b'/', &text.as_bytes()[host..])?;
        let authority = &text[host..path];
        let name = authority.rfind(']').map_or(0, |bracket| bracket + 1);
        let name_end = authority[name..].find(':').map_or(authority.len(), |colon| name + colon);
        let parts =
            Parts { host: host as u16, host_end: (host + name_end) as u16, path: path as u16 };
        Some(Self { text, parts })
    }

    /// The whole URL.
    pub fn as_str(&self) -> &'a str {
        self.text
    }

    /// `http` or `https`.
    pub fn scheme(&self) -> &'a str {
        &self.text[..usize::from(self.parts.host) - 3]
    }

    /// The host without its port: a lower-case name, an IPv4 address or `[` an IPv6 address `]`.
    pub fn host(&self) -> &'a str {
        &self.text[self.parts.host.into()..self.parts.host_end.into()]
    }

    /// The host, with `:port` unless that is the scheme's default: what politeness is owed to.
    pub fn authority(&self) -> &'a str {
        &self.text[self.parts.host.into()..self.parts.path.into()]
    }

    /// The port to connect to.
    pub fn port(&self) -> u16 {
        let written = &self.text[self.parts.host_end.into()..self.parts.path.into()];
        let default = if self.scheme() == "https" { 443 } else { 80 };
        written.strip_prefix(':').and_then(|digits| digits.parse().ok()).unwrap_or(default)
    }

    /// Scheme and authority: what a robots.txt and a connection belong to.
    pub fn origin(&self) -> &'a str {
        &self.text[..self.parts.path.into()]
    }

    /// What a request line asks for; begins with `/`.
    pub fn path_and_query(&self) -> &'a str {
        &self.text[self.parts.path.into()..]
    }

    /// The path alone; begins with `/`.
    pub fn path(&self) -> &'a str {
        let target = self.path_and_query();
        memchr::memchr(b'?', target.as_bytes()).map_or(target, |query| &target[..query])
    }

    /// The registrable domain of the host.
    pub fn domain(&self) -> &'a str {
        domain(self.host())
    }

    /// The URL's name in all tables.
    pub fn hash(&self) -> u64 {
        hash(self.text)
    }

    /// The URL without `http:` or `https:` and the slashes.
    pub(crate) fn after_scheme(&self) -> &'a str {
        &self.text[self.parts.host.into()..]
    }
}

/// A normalised URL.
///
/// # Examples
/// ```
/// use crivello_crawl::url::Url;
/// let page = Url::parse("HTTPS://Example.ORG:443/a/./b?q=1#top")?;
/// assert_eq!(page.as_str(), "https://example.org/a/b?q=1");
/// assert_eq!(page.join("../c d")?.as_str(), "https://example.org/c%20d");
/// # Ok::<(), crivello_crawl::url::UrlError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Url {
    text: Box<str>,
    parts: Parts,
}

impl Url {
    /// Parses an absolute URL and normalises it.
    ///
    /// # Errors
    /// When it is not an absolute `http` or `https` URL, or longer than [`MAX_LENGTH`].
    pub fn parse(input: &str) -> Result<Self, UrlError> {
        let mut text = String::with_capacity(input.len().min(MAX_LENGTH) + 1);
        let parts = parse::parse_into(None, input, &mut text)?;
        Ok(Self { text: text.into(), parts })
    }

    /// The URL that a link on this page leads to. [`Joiner`] does many without allocating.
    ///
    /// # Errors
    /// As [`Url::parse`], but relative links are welcome.
    pub fn join(&self, href: &str) -> Result<Self, UrlError> {
        let mut text = String::new();
        let parts = Joiner::new(self).join_into(href, &mut text)?;
        Ok(Self { text: text.into(), parts })
    }

    /// The URL as a borrowed view.
    pub fn view(&self) -> UrlRef<'_> {
        UrlRef { text: &self.text, parts: self.parts }
    }

    /// See [`UrlRef::as_str`].
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// See [`UrlRef::scheme`].
    pub fn scheme(&self) -> &str {
        self.view().scheme()
    }

    /// See [`UrlRef::host`].
    pub fn host(&self) -> &str {
        self.view().host()
    }

    /// See [`UrlRef::authority`].
    pub fn authority(&self) -> &str {
        self.view().authority()
    }

    /// See [`UrlRef::port`].
    pub fn port(&self) -> u16 {
        self.view().port()
    }

    /// See [`UrlRef::origin`].
    pub fn origin(&self) -> &str {
        self.view().origin()
    }

    /// See [`UrlRef::path_and_query`].
    pub fn path_and_query(&self) -> &str {
        self.view().path_and_query()
    }

    /// See [`UrlRef::path`].
    pub fn path(&self) -> &str {
        self.view().path()
    }

    /// See [`UrlRef::domain`].
    pub fn domain(&self) -> &str {
        self.view().domain()
    }

    /// See [`UrlRef::hash`].
    pub fn hash(&self) -> u64 {
        hash(&self.text)
    }
}

impl From<UrlRef<'_>> for Url {
    fn from(url: UrlRef<'_>) -> Self {
        Self { text: url.text.into(), parts: url.parts }
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Url({})", self.text)
    }
}

/// Parses an absolute URL into a string that is used again; see [`Url::parse`].
///
/// # Errors
/// As [`Url::parse`]; `out` is then empty.
pub fn parse_into(input: &str, out: &mut String) -> Result<Parts, UrlError> {
    parse::parse_into(None, input, out)
}

/// xxh3-64 of a normalised URL (seed 0): `url_hash` in every table.
pub fn hash(url: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(url.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_slices_of_the_text() {
        let url = Url::parse("http://user:pw@Example.com:8080/a/b;c?q=1&r#f").unwrap();
        assert_eq!(url.as_str(), "http://example.com:8080/a/b;c?q=1&r");
        assert_eq!((url.scheme(), url.host(), url.port()), ("http", "example.com", 8080));
        assert_eq!(
            (url.authority(), url.origin()),
            ("example.com:8080", "http://example.com:8080")
        );
        assert_eq!((url.path_and_query(), url.path()), ("/a/b;c?q=1&r", "/a/b;c"));
        assert_eq!(Url::parse("https://[::1]:443/").unwrap().port(), 443);
    }

    #[test]
    fn a_stored_url_gives_back_its_components() {
        for text in [
            "http://a/",
            "https://a.b:1/?x:y@z]",
            "http://[1::2]:99/a:b",
            "http://[1::2]/",
            "https://example.com/a/b?c=d/e",
        ] {
            let parsed = Url::parse(text).unwrap();
            assert_eq!(UrlRef::of_normalised(text), Some(parsed.view()));
        }
        for text in ["", "http://", "ftp://a/", "http:/a/", "https://é"] {
            assert_eq!(UrlRef::of_normalised(text), None, "{text}");
        }
    }

    #[test]
    fn the_hash_is_xxh3_with_seed_zero() {
        assert_eq!(hash(""), 0x2d06_8005_38d3_94c2);
        assert_eq!(Url::parse("http://a").unwrap().hash(), hash("http://a/"));
    }

    #[test]
    fn an_error_says_what_is_wrong_in_one_line() {
        for (input, reason) in [
            ("mailto:a@b.c", UrlError::Scheme),
            ("javascript:void(0)", UrlError::Scheme),
            ("ftp://a/", UrlError::Scheme),
            ("example.org/x", UrlError::Relative),
            ("", UrlError::Relative),
            ("http://", UrlError::NoHost),
            ("http://u:p@/", UrlError::NoHost),
            ("http://:80/", UrlError::NoHost),
            ("http://a:b/", UrlError::Invalid),
            ("http://a:65536/", UrlError::Invalid),
            ("http://a b/", UrlError::Invalid),
            ("http://1.2.3.256/", UrlError::Invalid),
        ] {
            assert_eq!(Url::parse(input), Err(reason), "{input}");
            assert!(!reason.to_string().contains('\n'));
        }
    }

    #[test]
    fn length_is_limited_after_normalisation() {
        let base = "http://a/";
        let longest = format!("{base}{}", "x".repeat(MAX_LENGTH - base.len()));
        assert_eq!(Url::parse(&longest).unwrap().as_str(), longest);
        assert_eq!(Url::parse(&format!("{longest}x")), Err(UrlError::TooLong));
        assert!(Url::parse(&format!("{longest}#{longest}")).is_ok());
        let grows = format!("{base}{}", " .".repeat(MAX_LENGTH / 3));
        assert_eq!(Url::parse(&grows), Err(UrlError::TooLong));
        assert_eq!(Url::parse(&format!("data:{longest}{longest}")), Err(UrlError::Scheme));
    }
}
