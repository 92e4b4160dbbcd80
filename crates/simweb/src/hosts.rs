//! Hosts: how many pages each holds, what it is called, and what is odd about it.
//!
//! Sizes follow a power law: the host of rank r holds about λ/(r + 1)^0.9 pages, at least one
//! and, with forty hosts or more, at most a twentieth of all; ranks are shuffled over hosts.
//! Two prefix sums over the hosts are all the memory that a web takes. Everything else about a host
//! is a function of the seed and its number, which its name ends with.
//!
//! The hosts form a tree by number: the front page of host p links to those of hosts
//! `FANOUT · p + 1 ..= FANOUT · p + FANOUT`. Host 0 is the portal, `www.sim`. Hosts with
//! children are always ordinary, so that an odd one hides nobody but itself.

use crate::language::{Charset, LANGUAGES};
use crate::rng::{Rng, mix};
use crate::{Config, Profile};

/// Front pages that a front page links to.
pub const FANOUT: u32 = 4;

/// What is odd about a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nothing.
    Ordinary,
    /// `Disallow: /private/`, `Allow: /private/open/`.
    RobotsSections,
    /// `Disallow: /*.cgi$`.
    RobotsWildcard,
    /// All is denied to everyone, but `crivello` has a group of its own, with a delay.
    RobotsAgent,
    /// `Disallow: /`.
    RobotsDenyAll,
    /// robots.txt answers 401, 403 or 410: all is allowed.
    RobotsClientError,
    /// robots.txt answers 503: nothing is allowed.
    RobotsServerError,
    /// robots.txt is two redirects away.
    RobotsRedirect,
    /// 600 KiB of robots.txt, the rules first.
    RobotsHuge,
    /// Byte order mark, carriage returns alone at line ends.
    RobotsBomCr,
    /// Connections are refused.
    Refused,
    /// Every answer waits.
    Slow,
    /// Answers HTTP/1.0 and closes.
    Http10,
    /// The same bytes as another host.
    Mirror,
}

/// The odd roles, in the order in which the first hosts without children take them.
pub const ROLES: [Role; 13] = [
    Role::RobotsSections,
    Role::Mirror,
    Role::RobotsWildcard,
    Role::RobotsAgent,
    Role::Slow,
    Role::RobotsClientError,
    Role::RobotsRedirect,
    Role::Http10,
    Role::RobotsHuge,
    Role::RobotsBomCr,
    Role::RobotsServerError,
    Role::Refused,
    Role::RobotsDenyAll,
];

impl Role {
    /// robots.txt denies some pages of the host, not all.
    pub const fn has_sections(self) -> bool {
        matches!(
            self,
            Self::RobotsSections
                | Self::RobotsWildcard
                | Self::RobotsAgent
                | Self::RobotsRedirect
                | Self::RobotsHuge
                | Self::RobotsBomCr
        )
    }

    /// No page of the host can be had.
    pub const fn is_closed(self) -> bool {
        matches!(self, Self::RobotsDenyAll | Self::RobotsServerError | Self::Refused)
    }

    /// Some pages of the host may be odd themselves.
    pub const fn has_odd_pages(self) -> bool {
        !self.is_closed() && !matches!(self, Self::Mirror | Self::Http10)
    }
}

/// A host and what follows from its number.
#[derive(Clone, Copy)]
pub struct Host {
    /// Its number.
    pub id: u32,
    /// The host whose content it serves: itself, or what it mirrors.
    pub face: u32,
    /// Pages.
    pub size: u32,
    /// Number of its first page among all pages.
    pub start: u64,
    /// The seed of its content.
    pub seed: u64,
    /// What is odd about it.
    pub role: Role,
    /// Its language, in [`LANGUAGES`].
    pub language: usize,
    /// The encoding of most of its pages.
    pub charset: Charset,
    /// Children of a page in the tree of pages.
    pub branching: u32,
    /// Odd pages on the hosts before it.
    pub odd_before: u64,
}

/// All hosts of a web.
pub struct Hosts {
    seed: u64,
    profile: Profile,
    addresses: u8,
    /// Number of the first page of each host, and of all pages at the end.
    starts: Vec<u64>,
    /// Odd pages on the hosts before each host; empty in the clean profile.
    odd_before: Vec<u64>,
}

impl Hosts {
    /// The hosts of a configuration.
    pub fn new(config: &Config) -> Self {
        let mut hosts = Self {
            seed: config.seed,
            profile: config.profile,
            addresses: config.addresses,
            starts: Vec::new(),
            odd_before: Vec::new(),
        };
        let mut sizes = sizes(config);
        hosts.starts = vec![0; sizes.len() + 1];
        for id in 0..config.hosts {
            let face = hosts.face(id);
            sizes[id as usize] = sizes[face as usize];
        }
        for (id, &size) in sizes.iter().enumerate() {
            hosts.starts[id + 1] = hosts.starts[id] + u64::from(size);
        }
        if config.profile == Profile::Wild {
            let mut before = 0;
            let odd_pages = |id| crate::odd::count(&hosts.get(id));
            let counts: Vec<u64> = (0..config.hosts).map(odd_pages).collect();
            hosts.odd_before = counts
                .into_iter()
                .map(|count| {
                    before += count;
                    before - count
                })
                .collect();
        }
        hosts
    }

    /// How many hosts there are.
    pub fn count(&self) -> u32 {
        (self.starts.len() - 1) as u32
    }

    /// How many pages they hold together.
    pub fn pages(&self) -> u64 {
        self.starts[self.starts.len() - 1]
    }

    /// Hosts that have children: the numbers below this one.
    pub fn interior(&self) -> u32 {
        (self.count() - 1).div_ceil(FANOUT).max(1)
    }

    /// The hosts that a host's front page must link to.
    pub fn children(&self, id: u32) -> impl Iterator<Item = u32> + use<> {
        let first = u64::from(id) * u64::from(FANOUT) + 1;
        let end = (first + u64::from(FANOUT)).min(u64::from(self.count()));
        (first..end).map(|child| child as u32)
    }

    /// The host that holds a page, by its number among all pages.
    pub fn holding(&self, page: u64) -> u32 {
        (self.starts.partition_point(|&start| start <= page) - 1) as u32
    }

    /// What follows from a host's number.
    pub fn get(&self, id: u32) -> Host {
        let role = self.role(id);
        let face = self.face(id);
        let seed = mix(self.seed, mix(0x4057, u64::from(face)));
        let mut rng = Rng::new(seed, 0x1a46);
        let language = if rng.one_in(3) { 0 } else { rng.below(LANGUAGES.len() as u64) as usize };
        let legacy = LANGUAGES[language].legacy;
        let charset = if rng.below(5) < 2 {
            legacy[rng.below(legacy.len() as u64) as usize]
        } else {
            Charset::Utf8
        };
        let start = self.starts[id as usize];
        let size = (self.starts[id as usize + 1] - start) as u32;
        let branching = 3 + rng.below(10) as u32;
        let odd_before = self.odd_before.get(id as usize).copied().unwrap_or(0);
        Host { id, face, size, start, seed, role, language, charset, branching, odd_before }
    }

    /// What is odd about a host.
    pub fn role(&self, id: u32) -> Role {
        if self.profile == Profile::Clean || id < self.interior() {
            return Role::Ordinary;
        }
        let leaf = u64::from(id - self.interior());
        let draw = mix(mix(self.seed, 0x401e), leaf);
        if leaf < ROLES.len() as u64 {
            ROLES[leaf as usize]
        } else if draw % 10 < 4 {
            ROLES[(draw >> 8) as usize % ROLES.len()]
        } else {
            Role::Ordinary
        }
    }

    fn face(&self, id: u32) -> u32 {
        if self.role(id) == Role::Mirror {
            (mix(mix(self.seed, 0xface), u64::from(id)) % u64::from(self.interior())) as u32
        } else {
            id
        }
    }

    /// Which of the server's addresses a host is on; the first ones hold most hosts.
    pub fn address(&self, id: u32) -> u8 {
        let draw = mix(mix(self.seed, 0xadd4), u64::from(id));
        let unit = (draw >> 11) as f64 / (1u64 << 53) as f64;
        (unit * unit * f64::from(self.addresses)) as u8
    }

    /// Appends a host's name.
    pub fn write_name(&self, id: u32, words: &crate::language::Vocabulary, out: &mut Vec<u8>) {
        if id == 0 {
            out.extend_from_slice(b"www.sim");
            return;
        }
        let draw = mix(mix(self.seed, 0x4a3e), u64::from(id));
        out.extend_from_slice(match draw % 12 {
            0..3 => b"www.",
            3 => b"blog.",
            4 => b"news.",
            _ => b"",
        });
        out.extend_from_slice(words.word((draw >> 8) & 0xfff));
        write_number(out, u64::from(id));
        out.extend_from_slice(b".sim");
    }

    /// The host of a name, with or without a port.
    pub fn find(&self, name: &[u8], words: &crate::language::Vocabulary) -> Option<u32> {
        let name = name.split(|&byte| byte == b':').next()?.to_ascii_lowercase();
        let label = name.strip_suffix(b".sim").unwrap_or(b"");
        let id = if label == b"www" { 0 } else { trailing_number(label)? };
        let mut expected = Vec::with_capacity(name.len());
        (id < self.count()).then(|| self.write_name(id, words, &mut expected))?;
        (expected == name).then_some(id)
    }
}

/// The number that some bytes end with.
pub fn trailing_number(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&bytes[bytes.len() - digits..]).ok()?.parse().ok()
}

/// Appends a decimal number.
pub fn write_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Pages of each host: a power law between one and the cap, the exact total.
fn sizes(config: &Config) -> Vec<u32> {
    let (count, total) = (config.hosts as usize, config.pages);
    let cap = if count >= 40 { (total / 20).max(1) } else { total };
    let weight = |rank: usize| ((rank + 1) as f64).powf(-0.9);
    let size = |scale: f64, rank: usize| (scale * weight(rank)).clamp(1.0, cap as f64) as u64;
    let (mut low, mut high) = (0.0f64, total as f64 * (count as f64).powf(0.9));
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        let sum: u64 = (0..count).map(|rank| size(middle, rank)).sum();
        if sum <= total { low = middle } else { high = middle }
    }
    let mut sizes: Vec<u32> = (0..count).map(|rank| size(low, rank) as u32).collect();
    let mut rest = total.saturating_sub(sizes.iter().map(|&size| u64::from(size)).sum());
    while rest > 0 {
        for size in sizes.iter_mut().filter(|size| u64::from(**size) < cap) {
            if rest == 0 {
                break;
            }
            *size += 1;
            rest -= 1;
        }
    }
    let mut rng = Rng::new(config.seed, 0x512e);
    for last in (1..count).rev() {
        sizes.swap(last, rng.below(last as u64 + 1) as usize);
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Lexicon;

    fn config(hosts: u32, pages: u64) -> Config {
        Config { hosts, pages, ..Config::default() }
    }

    #[test]
    fn sizes_have_the_exact_total_and_no_host_is_empty_or_above_a_twentieth() {
        for (hosts, pages) in [(1, 1), (1, 300), (20, 2000), (40, 40), (1000, 100_000), (41, 97)] {
            let sizes = sizes(&config(hosts, pages));
            assert_eq!(sizes.iter().map(|&size| u64::from(size)).sum::<u64>(), pages);
            assert!(sizes.iter().all(|&size| size >= 1));
            if hosts >= 40 {
                assert!(u64::from(*sizes.iter().max().unwrap()) <= (pages / 20).max(1));
            }
        }
    }

    #[test]
    fn sizes_follow_a_power_law() {
        let mut sizes = sizes(&config(1000, 1_000_000));
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let slope = |a: usize, b: usize| {
            (f64::from(sizes[b]) / f64::from(sizes[a])).ln() / (b as f64 / a as f64).ln()
        };
        assert!((slope(20, 500) + 0.9).abs() < 0.05, "{}", slope(20, 500));
    }

    #[test]
    fn a_name_leads_back_to_its_host_and_other_names_to_none() {
        let hosts = Hosts::new(&config(500, 5000));
        let lexicon = Lexicon::new(7);
        let words = lexicon.vocabulary(0, Charset::Utf8);
        for id in 0..500 {
            let mut name = Vec::new();
            hosts.write_name(id, words, &mut name);
            assert_eq!(hosts.find(&name, words), Some(id));
            name.extend_from_slice(b":8080");
            assert_eq!(hosts.find(&name.to_ascii_uppercase(), words), Some(id));
        }
        for name in ["nobody9999.sim", "nobody3.sim", "example.org", "", ".sim", "4294967296.sim"] {
            assert_eq!(hosts.find(name.as_bytes(), words), None, "{name}");
        }
    }

    #[test]
    fn every_host_is_a_descendant_of_the_portal() {
        let hosts = Hosts::new(&config(137, 1000));
        let mut reached = vec![0u32];
        let mut next = 0;
        while next < reached.len() {
            reached.extend(hosts.children(reached[next]));
            next += 1;
        }
        reached.sort_unstable();
        assert_eq!(reached, (0..137).collect::<Vec<_>>());
    }
}
