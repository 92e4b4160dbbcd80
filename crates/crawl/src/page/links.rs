//! The links of a page, each (href, kind) once.
//!
//! Two thirds of the hrefs of a page repeat another: they are dropped here, before anything is
//! joined or normalised. The set is an open-addressed table of positions in the list, probed by
//! an xxh3-64 keyed per process, so that a page cannot be made whose hrefs collide.

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::decode;

/// The most links kept of a page.
pub const MAX_LINKS: usize = 100_000;
/// The longest href kept, in bytes: longer ones are data or traps, no addresses.
pub const MAX_HREF: usize = 8192;
/// The most characters of an anchor's text.
pub const MAX_ANCHOR: usize = 256;

/// Where a link was found, which decides whether it is followed or only recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// `a`, and items of feeds and sitemaps.
    A,
    /// `area` of an image map.
    Area,
    /// `iframe`.
    Iframe,
    /// `frame`.
    Frame,
    /// `meta http-equiv=refresh`.
    MetaRefresh,
    /// An RSS, Atom or JSON feed.
    Feed,
    /// A sitemap.
    Sitemap,
    /// The target of an HTTP redirect; pages hold none.
    Redirect,
    /// Images: `img`, `srcset`, `poster`, `background`, `url()` of styles.
    Img,
    /// `script src`.
    Script,
    /// Style sheets: `link rel=stylesheet`, `@import`.
    Css,
    /// `form action`; the link's `rel` is the method.
    Form,
    /// Any other `link`, and what `object`, `embed`, `video`, `cite`, `og:` properties refer to.
    Link,
}

impl LinkKind {
    /// All kinds.
    pub const ALL: [Self; 13] = [
        Self::A,
        Self::Area,
        Self::Iframe,
        Self::Frame,
        Self::MetaRefresh,
        Self::Feed,
        Self::Sitemap,
        Self::Redirect,
        Self::Img,
        Self::Script,
        Self::Css,
        Self::Form,
        Self::Link,
    ];

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The name used in tables and settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::Area => "area",
            Self::Iframe => "iframe",
            Self::Frame => "frame",
            Self::MetaRefresh => "meta-refresh",
            Self::Feed => "feed",
            Self::Sitemap => "sitemap",
            Self::Redirect => "redirect",
            Self::Img => "img",
            Self::Script => "script",
            Self::Css => "css",
            Self::Form => "form",
            Self::Link => "link",
        }
    }
}

/// A link as the page states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The reference, not joined: entities decoded, controls and spaces stripped from its ends,
    /// tabs and newlines removed, as the URL standard begins.
    pub href: String,
    /// Where it was found.
    pub kind: LinkKind,
    /// Link types in lower case, separated by spaces (`nofollow`, `canonical`, …).
    pub rel: String,
    /// The text that stands for it: of the element with the `alt` of images in it, or `alt`
    /// or `title`.
    pub anchor: String,
}

/// Whether a reference says that it is a URL of the web.
pub fn is_absolute(href: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        href.as_bytes()
            .get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme.as_bytes()))
    })
}

/// What the URL parser does first with a reference.
pub fn clean_href(raw: &str) -> Cow<'_, str> {
    let odd = |b: u8| b <= b' ' || b == b'&';
    if !raw.bytes().fold(false, |found, b| found | odd(b)) {
        return Cow::Borrowed(raw);
    }
    clean_decoded(decode::attribute(raw))
}

/// The same for a reference without entities.
pub fn clean_decoded(href: Cow<'_, str>) -> Cow<'_, str> {
    let broken = |c: char| matches!(c, '\t' | '\n' | '\r');
    let blank = |c: char| c <= ' ';
    if href.contains(broken) {
        return Cow::Owned(href.trim_matches(blank).replace(broken, ""));
    }
    match href {
        Cow::Borrowed(href) => Cow::Borrowed(href.trim_matches(blank)),
        Cow::Owned(href) => Cow::Owned(href.trim_matches(blank).to_owned()),
    }
}

static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0));

/// Collects links and drops repeated ones.
pub struct LinkSet {
    links: Vec<Link>,
    hashes: Vec<u64>,
    table: Vec<u32>,
    seed: u64,
}

impl Default for LinkSet {
    fn default() -> Self {
        let (links, hashes) = (Vec::with_capacity(64), Vec::with_capacity(64));
        Self { links, hashes, table: vec![0; 256], seed: *SEED }
    }
}

impl LinkSet {
    /// Adds a link; its position if it is new. Empty, overlong and `data:` references are none.
    pub fn add(&mut self, href: &str, kind: LinkKind) -> Option<usize> {
        let scheme = href.as_bytes().get(..5);
        if href.is_empty()
            || href.len() > MAX_HREF
            || self.links.len() >= MAX_LINKS
            || scheme.is_some_and(|s| s.eq_ignore_ascii_case(b"data:"))
        {
            return None;
        }
        let hash = xxh3_64_with_seed(href.as_bytes(), self.seed ^ kind as u64);
        let mask = self.table.len() - 1;
        let mut slot = hash as usize & mask;
        while self.table[slot] != 0 {
            let n = self.table[slot] as usize - 1;
            let same = self.hashes[n] == hash;
            if same && self.links[n].kind == kind && self.links[n].href == href {
                return None;
            }
            slot = (slot + 1) & mask;
        }
        self.links.push(Link {
            href: href.to_owned(),
            kind,
            rel: String::new(),
            anchor: String::new(),
        });
        self.hashes.push(hash);
        self.table[slot] = self.links.len() as u32;
        if self.links.len() * 2 > self.table.len() {
            self.grow();
        }
        Some(self.links.len() - 1)
    }

    fn grow(&mut self) {
        let mask = self.table.len() * 4 - 1;
        let mut table = vec![0; mask + 1];
        for (n, &hash) in self.hashes.iter().enumerate() {
            let mut slot = hash as usize & mask;
            while table[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            table[slot] = n as u32 + 1;
        }
        self.table = table;
    }

    /// The link at a position that `add` gave.
    pub fn get_mut(&mut self, position: usize) -> &mut Link {
        &mut self.links[position]
    }

    /// The links in the order of their first occurrence.
    pub fn into_links(self) -> Vec<Link> {
        self.links
    }
}
