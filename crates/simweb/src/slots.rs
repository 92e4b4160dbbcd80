//! Pages: the tree that spans a host, what each page is, and its path.
//!
//! The pages of a host are numbered from 0, the front page. Page p links to its children
//! b·p + 1 ..= b·p + b, so every page is reachable from the front page; pages without children
//! (most of them) may be anything: feeds, sitemaps, UTF-16, and in the wild profile all that is
//! odd or denied. A path is made from the page's number and ends with it, so the page of a path
//! is found by reading the last number and making its path again.

use crate::World;
use crate::hosts::{Host, Role, write_number};
use crate::language::{Charset, LANGUAGES};
use crate::odd::Odd;
use crate::rng::{Rng, mix};

/// What a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The front page.
    Front,
    /// An article.
    Page,
    /// A list of many pages.
    Archive,
    /// A frameset: links by `frame`, no `a`.
    Frames,
    /// RSS.
    Rss,
    /// Atom.
    Atom,
    /// A sitemap.
    Sitemap,
}

impl Kind {
    /// Its name in the truth.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Front => "front",
            Self::Page => "page",
            Self::Archive => "archive",
            Self::Frames => "frames",
            Self::Rss | Self::Atom => "feed",
            Self::Sitemap => "sitemap",
        }
    }

    /// Text in HTML.
    pub const fn is_html(self) -> bool {
        matches!(self, Self::Front | Self::Page | Self::Archive | Self::Frames)
    }
}

/// What robots.txt has to do with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Nothing.
    Free,
    /// It is denied by a rule.
    Denied,
    /// A rule nearly denies it.
    Spared,
}

/// A page of a host and what follows from its number.
#[derive(Clone, Copy)]
pub struct Slot {
    /// Its number in the host.
    pub index: u32,
    /// What it is.
    pub kind: Kind,
    /// What is odd about it.
    pub odd: Option<Odd>,
    /// What robots.txt says of it.
    pub mark: Mark,
    /// The seed of its content.
    pub seed: u64,
    /// The encoding it is written in.
    pub charset: Charset,
    /// Mean number of changes of its text in a day; 0 for never.
    pub changes_per_day: f64,
}

impl Host {
    /// The children of a page in the host's tree.
    pub fn children(&self, index: u32) -> std::ops::Range<u32> {
        let first = u64::from(index) * u64::from(self.branching) + 1;
        let clamp = |number: u64| number.min(u64::from(self.size)) as u32;
        clamp(first)..clamp(first + u64::from(self.branching))
    }

    /// Pages with children: those below this number (and the front page always).
    pub fn interior(&self) -> u32 {
        (self.size - 1).div_ceil(self.branching).max(1)
    }

    /// Pages of text: those below this number.
    pub fn text_end(&self) -> u32 {
        self.sitemap().or(self.feed()).unwrap_or(self.size)
    }

    /// The page that is the host's feed.
    pub fn feed(&self) -> Option<u32> {
        (self.size >= 8 && self.size > self.interior()).then(|| self.size - 1)
    }

    /// The page that is the host's sitemap.
    pub fn sitemap(&self) -> Option<u32> {
        (self.size >= 8 && self.size - 1 > self.interior()).then(|| self.size - 2)
    }
}

impl World {
    /// What follows from a page's number.
    pub fn slot(&self, host: &Host, index: u32) -> Slot {
        let seed = mix(host.seed, u64::from(index));
        let mut rng = Rng::new(seed, 0x5107);
        let leaf = index >= host.interior();
        let mut charset = host.charset;
        let legacy = LANGUAGES[host.language].legacy;
        match rng.below(48) {
            0 if leaf => charset = [Charset::Utf16Le, Charset::Utf16Be][rng.below(2) as usize],
            1..4 => charset = legacy[rng.below(legacy.len() as u64) as usize],
            _ => {}
        }
        let kind = if index == 0 {
            Kind::Front
        } else if host.feed() == Some(index) {
            [Kind::Rss, Kind::Atom][rng.below(2) as usize]
        } else if host.sitemap() == Some(index) {
            Kind::Sitemap
        } else {
            match rng.below(400) {
                0..10 => Kind::Archive,
                10..12 if leaf => Kind::Frames,
                _ => Kind::Page,
            }
        };
        let mut slot = Slot {
            index,
            kind,
            odd: None,
            mark: self.mark(host, index),
            seed,
            charset,
            changes_per_day: 0.0,
        };
        if !kind.is_html() {
            slot.charset = Charset::Utf8;
        } else if leaf && index > 0 && self.is_wild() && slot.mark == Mark::Free {
            slot.odd = Odd::of(host, index);
            if slot.odd.is_none() && rng.below(100) < 15 {
                slot.changes_per_day = 0.05 * (rng.unit() * 10.0).exp();
            }
        }
        slot
    }

    fn mark(&self, host: &Host, index: u32) -> Mark {
        let plain = (host.interior()..host.text_end()).contains(&index);
        if !self.is_wild() || !host.role.has_sections() || !plain {
            return Mark::Free;
        }
        // Odd numbers: the pages that are odd themselves have even ones.
        match index % 10 {
            1 | 5 => Mark::Denied,
            3 => Mark::Spared,
            _ => Mark::Free,
        }
    }

    /// Appends the path and query of a page.
    pub fn write_path(&self, host: &Host, index: u32, out: &mut Vec<u8>) {
        if index == 0 {
            out.push(b'/');
            return;
        }
        let seed = mix(host.seed, u64::from(index));
        if host.feed() == Some(index) {
            let names: [&[u8]; 3] = [b"/feed.xml", b"/rss.xml", b"/blog/atom.xml"];
            out.extend_from_slice(names[host.seed as usize % 3]);
            return;
        }
        if host.sitemap() == Some(index) {
            out.extend_from_slice(b"/sitemap.xml");
            return;
        }
        let words = self.path_words();
        let mut rng = Rng::new(seed, 0x9a74);
        let section = words.word(mix(host.seed, rng.below(6)) & 0x3ff);
        let mark = self.mark(host, index);
        if mark != Mark::Free {
            let cgi = host.role == Role::RobotsWildcard;
            out.extend_from_slice(match (mark, cgi) {
                (_, true) => b"/",
                (Mark::Spared, _) => b"/private/open/",
                _ => b"/private/",
            });
            put(out, &[words.word(rng.next() & 0xfff), b"-"]);
            write_number(out, u64::from(index));
            out.extend_from_slice(match (mark, cgi) {
                (Mark::Spared, true) => b".cgi/",
                (_, true) => b".cgi",
                _ => b"",
            });
            return;
        }
        let mut word = || words.word(rng.next() & 0xfff);
        let (one, two) = (word(), word());
        match rng.below(8) {
            0..3 => {
                put(out, &[b"/", section, b"/", one, b"-", two, b"-"]);
                write_number(out, u64::from(index));
                out.extend_from_slice(b".html");
            }
            3 => {
                put(out, &[b"/", section, b"/", one, b"/"]);
                write_number(out, u64::from(index));
                out.push(b'/');
            }
            4 => {
                let (year, month, day) = (2015 + rng.below(11), rng.below(12), rng.below(28));
                put(out, &[b"/", section, b"/"]);
                write_number(out, year);
                let two_digits = |n: u64| [b'/', b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
                put(out, &[&two_digits(month + 1), &two_digits(day + 1), b"/", one, b"-"]);
                write_number(out, u64::from(index));
            }
            5 => {
                put(out, &[b"/index.php?cat=", section, b"&id="]);
                write_number(out, u64::from(index));
            }
            6 => {
                put(out, &[b"/", one, b"_", two, b"_"]);
                write_number(out, u64::from(index));
            }
            _ => {
                let native = self.lexicon.vocabulary(host.language, Charset::Percent);
                put(out, &[b"/", section, b"/", native.word(rng.next() & 0xfff), b"-"]);
                write_number(out, u64::from(index));
            }
        }
    }

    /// The page that has a path, if there is one.
    pub fn find_slot(&self, host: &Host, path: &[u8]) -> Option<u32> {
        let candidate = if path == b"/" {
            Some(0)
        } else if path.ends_with(b".xml") {
            [host.feed(), host.sitemap()].into_iter().flatten().find(|&index| {
                let mut expected = Vec::new();
                self.write_path(host, index, &mut expected);
                expected == path
            })
        } else {
            last_number(path)
        }?;
        let mut expected = Vec::with_capacity(path.len());
        (candidate < host.size).then(|| self.write_path(host, candidate, &mut expected))?;
        (expected == path).then_some(candidate)
    }

    /// A page of the host that is sure to be there and to stay as it is.
    pub fn solid(&self, host: &Host, draw: u64) -> u32 {
        (draw % u64::from(host.interior())) as u32
    }
}

/// The last number in some bytes.
fn last_number(bytes: &[u8]) -> Option<u32> {
    let end = bytes.iter().rposition(u8::is_ascii_digit)? + 1;
    crate::hosts::trailing_number(&bytes[..end])
}

/// Appends pieces.
pub fn put(out: &mut Vec<u8>, pieces: &[&[u8]]) {
    for piece in pieces {
        out.extend_from_slice(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Profile};
    use std::collections::HashSet;

    #[test]
    fn every_path_leads_back_to_its_page_and_no_two_are_equal() {
        for profile in [Profile::Clean, Profile::Wild] {
            let world = World::new(Config { profile, ..Config::default() }).unwrap();
            for id in 0..world.hosts.count() {
                let host = world.hosts.get(id);
                let mut seen = HashSet::new();
                for index in 0..host.size {
                    let mut path = Vec::new();
                    world.write_path(&host, index, &mut path);
                    assert_eq!(world.find_slot(&host, &path), Some(index));
                    assert!(seen.insert(path));
                }
            }
        }
    }

    #[test]
    fn every_page_is_the_child_of_one_page_before_it() {
        let world = World::new(Config::default()).unwrap();
        for id in 0..world.hosts.count() {
            let host = world.hosts.get(id);
            let mut parents = vec![0; host.size as usize];
            for index in 0..host.size {
                for child in host.children(index) {
                    assert!(child > index && index < host.interior());
                    parents[child as usize] += 1;
                }
            }
            assert!(parents[1..].iter().all(|&count| count == 1));
        }
    }

    #[test]
    fn paths_that_no_page_has_lead_nowhere() {
        let world = World::new(Config::default()).unwrap();
        let host = world.hosts.get(0);
        for path in ["/no-such-page-3.html", "/3", "", "/99999999999", "/sitemap2.xml", "/%"] {
            assert_eq!(world.find_slot(&host, path.as_bytes()), None, "{path}");
        }
    }
}
