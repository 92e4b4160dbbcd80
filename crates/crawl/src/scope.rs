//! Which URLs a crawl may admit: the neighbourhood of its seeds.
//!
//! | kind     | a URL is inside when it has…                                     |
//! |----------|------------------------------------------------------------------|
//! | `page`   | the very URL of a seed                                           |
//! | `prefix` | a seed's authority and path up to its last `/`, on http or https |
//! | `host`   | a seed's authority, on http or https                             |
//! | `domain` | a seed's registrable domain (public suffix list)                 |
//! | `any`    | nothing in particular                                            |
//!
//! Seeds come later too (`crivello add`, a seed that redirects), so a scope is shared and
//! grows: readers take an immutable [`Bounds`] snapshot, say one a page, and ask it without
//! locks or allocation; a writer replaces the snapshot.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, PoisonError, RwLock};

use crate::url::{Url, UrlRef};

/// How far from its seeds a crawl goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The seeds alone.
    Page,
    /// The directories of the seeds.
    Prefix,
    /// The hosts of the seeds.
    Host,
    /// The registrable domains of the seeds.
    Domain,
    /// Everywhere.
    Any,
}

/// A word that names no kind of scope.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown scope {0:?}: use page, prefix, host, domain or any")]
pub struct UnknownKind(String);

const NAMES: [(&str, Kind); 5] = [
    ("page", Kind::Page),
    ("prefix", Kind::Prefix),
    ("host", Kind::Host),
    ("domain", Kind::Domain),
    ("any", Kind::Any),
];

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        let found = NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, kind)| *kind).ok_or_else(|| UnknownKind(name.to_owned()))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, kind)| kind == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

/// What a scope was at one moment.
#[derive(Debug, Clone)]
pub struct Bounds {
    kind: Kind,
    keys: HashSet<Box<str>>,
    longest: usize,
}

impl Bounds {
    /// Is the URL inside?
    pub fn contains(&self, url: UrlRef<'_>) -> bool {
        match self.kind {
            Kind::Page => self.keys.contains(url.as_str()),
            Kind::Prefix => self.below(url),
            Kind::Host => self.keys.contains(url.authority()),
            Kind::Domain => self.keys.contains(url.domain()),
            Kind::Any => true,
        }
    }

    /// Is one of the URL's directories a key? Looks no deeper than the longest key goes.
    fn below(&self, url: UrlRef<'_>) -> bool {
        let text = url.after_scheme();
        let path_end = url.authority().len() + url.path().len();
        let head = &text.as_bytes()[..path_end.min(self.longest)];
        memchr::memchr_iter(b'/', head).any(|slash| self.keys.contains(&text[..=slash]))
    }

    fn key(&self, url: UrlRef<'_>) -> Option<Box<str>> {
        match self.kind {
            Kind::Page => Some(url.as_str().into()),
            Kind::Prefix => {
                let path = url.path();
                let directory = path.rfind('/').map_or(0, |slash| slash + 1);
                Some(url.after_scheme()[..url.authority().len() + directory].into())
            }
            Kind::Host => Some(url.authority().into()),
            Kind::Domain => Some(url.domain().into()),
            Kind::Any => None,
        }
    }

    fn add(&mut self, url: UrlRef<'_>) -> bool {
        let Some(key) = self.key(url) else { return false };
        self.longest = self.longest.max(key.len());
        self.keys.insert(key)
    }
}

/// A scope that threads share; clones are the same scope.
///
/// # Examples
/// ```
/// use crivello_crawl::{scope::{Kind, Scope}, url::Url};
/// let seed = Url::parse("http://example.org/docs/index.html")?;
/// let scope = Scope::new(Kind::Prefix, std::slice::from_ref(&seed));
/// assert!(scope.contains(seed.join("guide/a.html")?.view()));
/// assert!(!scope.contains(seed.join("/blog/")?.view()));
/// # Ok::<(), crivello_crawl::url::UrlError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Scope(Arc<RwLock<Arc<Bounds>>>);

impl Scope {
    /// The scope of these seeds.
    pub fn new(kind: Kind, seeds: &[Url]) -> Self {
        let mut bounds = Bounds { kind, keys: HashSet::new(), longest: 0 };
        for seed in seeds {
            bounds.add(seed.view());
        }
        Self(Arc::new(RwLock::new(Arc::new(bounds))))
    }

    /// The bounds as they are now; later additions do not show in it.
    pub fn snapshot(&self) -> Arc<Bounds> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Is the URL inside?
    pub fn contains(&self, url: UrlRef<'_>) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains(url)
    }

    /// Widens the scope by one more seed, or by what a seed redirects to; false when it was
    /// inside already.
    pub fn add(&self, url: UrlRef<'_>) -> bool {
        let mut bounds = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if bounds.key(url).is_none_or(|key| bounds.keys.contains(&key)) {
            return false;
        }
        Arc::make_mut(&mut bounds).add(url) // copies only while a snapshot is out
    }

    /// The kind it was made with.
    pub fn kind(&self) -> Kind {
        self.0.read().unwrap_or_else(PoisonError::into_inner).kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(kind: &str, seed: &str) -> Scope {
        Scope::new(kind.parse().unwrap(), &[Url::parse(seed).unwrap()])
    }

    fn inside(scope: &Scope, url: &str) -> bool {
        scope.contains(Url::parse(url).unwrap().view())
    }

    #[test]
    fn page_admits_the_seeds_alone() {
        let scope = scope("page", "http://a.org/x?y#z");
        assert!(inside(&scope, "http://A.org/x?y"));
        assert!(!inside(&scope, "http://a.org/x"));
        assert!(!inside(&scope, "https://a.org/x?y"));
    }

    #[test]
    fn prefix_admits_the_directory_of_a_seed_on_either_scheme() {
        let scope = scope("prefix", "http://a.org/docs/v1/index.html?at=/x/");
        assert!(inside(&scope, "http://a.org/docs/v1/"));
        assert!(inside(&scope, "https://a.org/docs/v1/b/c?d"));
        assert!(!inside(&scope, "http://a.org/docs/v1"));
        assert!(!inside(&scope, "http://a.org/docs/v1b/"));
        assert!(!inside(&scope, "http://a.org/?x=/docs/v1/"));
        assert!(!inside(&scope, "http://www.a.org/docs/v1/"));
        assert!(!inside(&scope, "http://a.org:8080/docs/v1/"));
        assert!(!inside(&scope, "http://b.org/a.org/docs/v1/"));
    }

    #[test]
    fn a_path_of_slashes_costs_a_prefix_scope_no_more_than_its_longest_key() {
        let scope = scope("prefix", "http://a.org/x/");
        let url = Url::parse(&format!("http://a.org/{}", "/".repeat(8_000))).unwrap();
        let start = std::time::Instant::now();
        for _ in 0..1_000 {
            assert!(!scope.contains(url.view()));
        }
        assert!(start.elapsed() < std::time::Duration::from_secs(2));
    }

    #[test]
    fn host_admits_the_same_authority() {
        let scope = scope("host", "https://a.org/docs/");
        assert!(inside(&scope, "http://a.org:80/"));
        assert!(!inside(&scope, "http://a.org:8080/"));
        assert!(!inside(&scope, "http://www.a.org/"));
    }

    #[test]
    fn domain_admits_all_hosts_under_the_registrable_domain() {
        let scope = scope("domain", "http://www.a.co.uk/");
        assert!(inside(&scope, "http://b.c.a.co.uk:99/"));
        assert!(!inside(&scope, "http://b.co.uk/"));
    }

    #[test]
    fn any_admits_everything() {
        let scope = Scope::new(Kind::Any, &[]);
        assert!(inside(&scope, "http://a.org/"));
        assert!(!scope.add(Url::parse("http://a.org/").unwrap().view()));
    }

    #[test]
    fn a_scope_grows_for_all_its_clones_but_not_for_a_snapshot() {
        let scope = scope("host", "http://a.org/");
        let (clone, before) = (scope.clone(), scope.snapshot());
        let target = Url::parse("http://www.a.org/home").unwrap();
        assert!(clone.add(target.view()));
        assert!(!clone.add(target.view()));
        assert!(scope.contains(target.view()));
        assert!(!before.contains(target.view()));
    }

    #[test]
    fn an_unknown_kind_is_refused_with_the_known_ones() {
        let error = "site".parse::<Kind>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown scope \"site\": use page, prefix, host, domain or any"
        );
        for (name, kind) in NAMES {
            assert_eq!(kind.to_string(), name);
        }
    }
}
