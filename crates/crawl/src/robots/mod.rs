//! robots.txt: RFC 9309 and what the web has added to it.
//!
//! Three steps, each usable alone: [`lines`] classifies the lines of a file (a linter needs no
//! more), [`Robots`] keeps the records of all agents, [`Rules`] is what one agent has to obey,
//! compiled for many decisions. Records outside the RFC never influence how rules are grouped.
//! `docs/robots.md` lists the decisions where published parsers disagree.
//!
//! Reference: <https://www.rfc-editor.org/rfc/rfc9309>.

mod extra;
mod parse;
mod pattern;
mod rules;

pub use extra::{RequestRate, Window};
pub use parse::{Kind, Line, lines};
pub use rules::Rules;

/// Bytes of a file that are read (RFC 9309 §2.5: at least 500 KiB).
pub const MAX_BYTES: usize = 500 * 1024;

/// Bytes of a line that are read: eight times the longest URL of an old browser, as in Google's
/// parser.
pub const MAX_LINE: usize = 8 * 2083 - 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Record {
    kind: Kind,
    start: u32,
    end: u32,
}

/// A parsed robots.txt: the records of all agents.
///
/// # Examples
/// ```
/// use crivello_crawl::robots::Robots;
/// let robots = Robots::parse(b"User-agent: *\nDisallow: /private/\nCrawl-delay: 2.5");
/// let rules = robots.rules("crivello");
/// assert!(!rules.allowed("/private/a"));
/// assert_eq!(rules.crawl_delay(), Some(2.5));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Robots {
    text: Box<[u8]>,
    records: Box<[Record]>,
    sitemaps: Box<[String]>,
}

impl Robots {
    /// Parses the body of a robots.txt; any bytes are one.
    pub fn parse(body: &[u8]) -> Self {
        let text = parse::limited(body);
        let mut records = Vec::with_capacity(text.len() / 32);
        let mut sitemaps = Vec::new();
        for line in lines(text) {
            match line.kind {
                Kind::Other => {}
                Kind::Sitemap => {
                    sitemaps.push(String::from_utf8_lossy(line.value).into_owned());
                }
                kind => {
                    let start = line.start as u32;
                    records.push(Record { kind, start, end: start + line.value.len() as u32 });
                }
            }
        }
        Self { text: text.into(), records: records.into(), sitemaps: sitemaps.into() }
    }

    /// What the answer to the request for robots.txt means (RFC 9309 §2.3.1): a body is obeyed;
    /// any other answer of the 3xx and 4xx classes says that there is none, so that all is
    /// allowed; but 429, 5xx, nonsense and no answer at all (`None`) disallow everything until
    /// the file can be read.
    pub fn for_status(status: Option<u16>, body: &[u8]) -> Self {
        match status {
            Some(200..=299) => Self::parse(body),
            Some(429) => Self::disallow_all(),
            Some(300..=499) => Self::default(),
            _ => Self::disallow_all(),
        }
    }

    fn disallow_all() -> Self {
        Self::parse(b"User-agent: *\nDisallow: /")
    }

    /// What an agent has to obey: the groups that name its product token, merged, or else
    /// those for `*`. The agent may be given as a whole `User-Agent` value.
    pub fn rules(&self, agent: &str) -> Rules {
        Rules::compile(
            self.records.iter().map(|record| {
                let value = &self.text[record.start as usize..record.end as usize];
                (record.kind, value, record.start)
            }),
            agent,
        )
    }

    /// The line, counted from 1, of the rule that decides about a path and query for an agent,
    /// and whether it allows; `None` when no rule matches, so that it may be asked for.
    pub fn deciding(&self, agent: &str, path_and_query: &str) -> Option<(usize, bool)> {
        let (allow, at) = self.rules(agent).decide(path_and_query)?;
        let line = lines(&self.text).find(|line| line.start == at as usize)?;
        Some((line.number, allow))
    }

    /// The values of all `Sitemap` records, as they stand in the file.
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }
}

#[cfg(test)]
mod tests;
