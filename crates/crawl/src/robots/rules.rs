//! What one agent has to obey, compiled.
//!
//! The longest matching pattern decides (in bytes of its canonical form), `Allow` before
//! `Disallow` when two are equally long, and no match allows (RFC 9309 §2.2.2). Patterns are
//! therefore kept in that order and the first match ends the search. The first eight literal
//! bytes of each stand beside its bounds in one word, so that nearly all are passed over by
//! one comparison of words.

use super::extra::{self, RequestRate, Window};
use super::parse::Kind;
use super::pattern;

/// The rules of one agent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rules {
    heads: Box<[Head]>,
    text: Box<[u8]>,
    crawl_delay: Option<f64>,
    request_rate: Option<RequestRate>,
    visit_time: Option<Window>,
}

/// A pattern: `text[start..end]`, and its first literal bytes under a mask.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Head {
    bits: u64,
    mask: u64,
    start: u32,
    end: u32,
    /// Where the value of its line begins in the file.
    at: u32,
    allow: bool,
    anchored: bool,
    /// The head is the whole pattern.
    whole: bool,
}

struct Pattern {
    canonical: Vec<u8>,
    anchored: bool,
    allow: bool,
    at: u32,
}

/// What the groups of one name say together.
#[derive(Default)]
struct Group {
    named: bool,
    patterns: Vec<Pattern>,
    crawl_delay: Option<f64>,
    request_rate: Option<RequestRate>,
    visit_time: Option<Window>,
}

impl Rules {
    /// May the agent ask for this path and query? `/robots.txt` is always allowed.
    pub fn allowed(&self, path_and_query: &str) -> bool {
        self.decide(path_and_query).is_none_or(|(allow, _)| allow)
    }

    /// The rule that decides, if one matches: whether it allows, and where the value of its line
    /// begins in the file.
    pub(super) fn decide(&self, path_and_query: &str) -> Option<(bool, u32)> {
        if self.heads.is_empty() || path_and_query == "/robots.txt" {
            return None;
        }
        let path = pattern::canonical_path(path_and_query.as_bytes());
        let head = word(&path);
        for rule in &self.heads {
            if (head ^ rule.bits) & rule.mask != 0 {
                continue;
            }
            let text = || &self.text[rule.start as usize..rule.end as usize];
            if rule.whole || pattern::matches(text(), rule.anchored, &path) {
                return Some((rule.allow, rule.at));
            }
        }
        None
    }

    /// Seconds to leave between two requests; the longest if several are given.
    pub fn crawl_delay(&self) -> Option<f64> {
        self.crawl_delay
    }

    /// Requests per time; the first if several are given.
    pub fn request_rate(&self) -> Option<RequestRate> {
        self.request_rate
    }

    /// When visits are welcome; the first if several are given.
    pub fn visit_time(&self) -> Option<Window> {
        self.visit_time
    }

    /// A group is a run of user-agent lines and the rules up to the next such run; only a rule
    /// ends the run. Other records go to the agents that the run has named so far.
    pub(super) fn compile<'a>(
        records: impl Iterator<Item = (Kind, &'a [u8], u32)>,
        agent: &str,
    ) -> Self {
        let token = token(agent.as_bytes());
        let (mut ours, mut all) = (Group::default(), Group::default());
        let (mut for_us, mut for_all, mut rule_seen) = (false, false, false);
        for (kind, value, at) in records {
            match kind {
                Kind::UserAgent => {
                    if rule_seen {
                        (for_us, for_all, rule_seen) = (false, false, false);
                    }
                    let everybody = matches!(value, [b'*'] | [b'*', b' ' | b'\t', ..]);
                    let name = self::token(value);
                    for_all |= everybody;
                    for_us |= !name.is_empty() && name.eq_ignore_ascii_case(token);
                    ours.named |= for_us;
                    continue;
                }
                Kind::Allow | Kind::Disallow => rule_seen = true,
                _ => {}
            }
            if for_us {
                ours.add(kind, value, at);
            }
            if for_all && !ours.named {
                all.add(kind, value, at);
            }
        }
        if ours.named { ours.compile() } else { all.compile() }
    }
}

impl Group {
    fn add(&mut self, kind: Kind, value: &[u8], at: u32) {
        match kind {
            Kind::Allow | Kind::Disallow => self.add_rule(kind == Kind::Allow, value, at),
            Kind::CrawlDelay => {
                let delay = extra::seconds(value);
                self.crawl_delay = delay
                    .map(|delay| self.crawl_delay.map_or(delay, |known| known.max(delay)))
                    .or(self.crawl_delay);
            }
            Kind::RequestRate => {
                self.request_rate = self.request_rate.or_else(|| RequestRate::parse(value));
            }
            Kind::VisitTime => self.visit_time = self.visit_time.or_else(|| Window::parse(value)),
            Kind::UserAgent | Kind::Sitemap | Kind::Other => {}
        }
    }

    fn add_rule(&mut self, allow: bool, value: &[u8], at: u32) {
        if value.is_empty() {
            return;
        }
        let (value, anchored) = value.strip_suffix(b"$").map_or((value, false), |v| (v, true));
        let canonical = pattern::canonical_pattern(value);
        // De facto: allowing a directory's index allows the directory.
        let slash = memchr::memrchr(b'/', &canonical);
        if let Some(slash) =
            slash.filter(|slash| allow && canonical[*slash..].starts_with(b"/index.htm"))
        {
            let directory = canonical[..=slash].to_vec();
            self.patterns.push(Pattern { canonical: directory, anchored: true, allow, at });
        }
        self.patterns.push(Pattern { canonical, anchored, allow, at });
    }

    fn compile(mut self) -> Rules {
        self.patterns.sort_by_key(|pattern| {
            (
                std::cmp::Reverse(pattern.canonical.len() + usize::from(pattern.anchored)),
                !pattern.allow,
            )
        });
        let mut text = Vec::new();
        let mut heads = Vec::with_capacity(self.patterns.len());
        for Pattern { canonical, anchored, allow, at } in self.patterns {
            let literal = memchr::memchr(b'*', &canonical).unwrap_or(canonical.len()).min(8);
            let start = text.len() as u32;
            text.extend_from_slice(&canonical);
            heads.push(Head {
                bits: word(&canonical[..literal]),
                mask: if literal == 8 { u64::MAX } else { (1 << (8 * literal)) - 1 },
                start,
                end: text.len() as u32,
                at,
                allow,
                anchored,
                whole: literal == canonical.len() && !anchored,
            });
        }
        Rules {
            heads: heads.into(),
            text: text.into(),
            crawl_delay: self.crawl_delay,
            request_rate: self.request_rate,
            visit_time: self.visit_time,
        }
    }
}

/// The first eight bytes; canonical texts hold no zero, so that padding never matches.
fn word(bytes: &[u8]) -> u64 {
    if let Some(head) = bytes.first_chunk::<8>() {
        return u64::from_le_bytes(*head);
    }
    let mut head = [0; 8];
    head[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(head)
}

/// The product token that a name begins with. The RFC has letters, `_` and `-`; digits, `.`,
/// `!` and other scripts are taken too, as agents have them in their names. Nobody's name is
/// `Mozilla`: in `Mozilla/5.0 (compatible; Bot/1.0; …)` it is what comes after `compatible;`.
fn token(name: &[u8]) -> &[u8] {
    let name = name.trim_ascii_start();
    let name = match memchr::memmem::find(name, b"compatible;") {
        Some(at) if name.len() > 7 && name[..7].eq_ignore_ascii_case(b"mozilla") => {
            name[at + 11..].trim_ascii_start()
        }
        _ => name,
    };
    let part = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'!' | 0x80..)
    };
    let end = name.iter().position(|byte| !part(byte)).unwrap_or(name.len());
    &name[..end]
}
