//! The simulated web: hosts, pages and links made from a seed number, and the truth about them.
//!
//! A page is a function of the seed, its host and its path, so that a web of any size takes no
//! memory but sixteen bytes a host. The crate shares no code with the crawler that is judged by it.
//!
//! - [`rng`] numbers, [`language`] words, [`hosts`] and [`slots`] who is there and who links to
//!   whom, [`odd`] and [`traps`] what is wrong with them;
//! - [`page`], [`href`], [`feeds`], [`robots`], [`dates`] what is written;
//! - [`answer`] which answer a request gets, [`wire`] the bytes of it, broken ones too,
//!   [`server`] the sockets and the log;
//! - [`truth`] the list of all URLs with what becomes of them.

pub mod answer;
pub mod dates;
pub mod feeds;
pub mod hosts;
pub mod href;
pub mod language;
pub mod odd;
pub mod page;
pub mod rng;
pub mod robots;
pub mod server;
pub mod slots;
pub mod traps;
pub mod truth;
pub mod wire;

use hosts::Hosts;
use language::{Charset, Lexicon, Vocabulary};

/// How well behaved a web is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Every page is there, every link is good.
    Clean,
    /// With all that crawlers meet.
    Wild,
}

/// What a web is made from.
#[derive(Clone, Debug)]
pub struct Config {
    /// Hosts.
    pub hosts: u32,
    /// Pages of all hosts together.
    pub pages: u64,
    /// The seed of everything.
    pub seed: u64,
    /// How well behaved it is.
    pub profile: Profile,
    /// Loopback addresses over which the hosts are spread.
    pub addresses: u8,
    /// Factor of all waits.
    pub time_scale: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            hosts: 20,
            pages: 2000,
            seed: 7,
            profile: Profile::Clean,
            addresses: 1,
            time_scale: 1.0,
        }
    }
}

/// A configuration that no web can be made from.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// No host.
    #[error("a web has at least one host: give hosts >= 1")]
    NoHosts,
    /// Hosts without pages.
    #[error("{hosts} hosts need at least as many pages, not {pages}: give pages >= hosts")]
    TooFewPages {
        /// Hosts asked for.
        hosts: u32,
        /// Pages asked for.
        pages: u64,
    },
    /// More pages on a host than can be numbered.
    #[error(
        "{pages} pages are too many for {hosts} hosts: give at most 10^9 pages, or 2 * 10^8 a host"
    )]
    TooManyPages {
        /// Hosts asked for.
        hosts: u32,
        /// Pages asked for.
        pages: u64,
    },
    /// Loopback has 254 addresses here.
    #[error("{0} addresses: give 1 to 254")]
    Addresses(u8),
    /// Not a factor.
    #[error("time scale {0}: give a number from 0 to 1000")]
    TimeScale(f64),
}

/// A simulated web.
pub struct World {
    /// What it was made from.
    pub config: Config,
    /// Its hosts.
    pub hosts: Hosts,
    /// Its words.
    pub lexicon: Lexicon,
}

impl World {
    /// Makes a web.
    ///
    /// # Errors
    ///
    /// When the configuration contradicts itself.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let (hosts, pages) = (config.hosts, config.pages);
        if hosts == 0 {
            return Err(ConfigError::NoHosts);
        }
        if pages < u64::from(hosts) {
            return Err(ConfigError::TooFewPages { hosts, pages });
        }
        if pages > 1_000_000_000 || pages / u64::from(hosts) > 200_000_000 {
            return Err(ConfigError::TooManyPages { hosts, pages });
        }
        if config.addresses == 0 || config.addresses == u8::MAX {
            return Err(ConfigError::Addresses(config.addresses));
        }
        if !(0.0..=1000.0).contains(&config.time_scale) {
            return Err(ConfigError::TimeScale(config.time_scale));
        }
        let hosts = Hosts::new(&config);
        let lexicon = Lexicon::new(config.seed);
        Ok(Self { config, hosts, lexicon })
    }

    /// True for the wild profile.
    pub fn is_wild(&self) -> bool {
        self.config.profile == Profile::Wild
    }

    /// The words of host names and paths.
    pub fn path_words(&self) -> &Vocabulary {
        self.lexicon.vocabulary(0, Charset::Utf8)
    }

    /// Appends a host's name.
    pub fn write_host(&self, id: u32, out: &mut Vec<u8>) {
        self.hosts.write_name(id, self.path_words(), out);
    }

    /// A host's name.
    pub fn host_name(&self, id: u32) -> String {
        let mut name = Vec::with_capacity(32);
        self.write_host(id, &mut name);
        String::from_utf8_lossy(&name).into_owned()
    }

    /// The host of a name, with or without a port.
    pub fn find_host(&self, name: &[u8]) -> Option<u32> {
        self.hosts.find(name, self.path_words())
    }

    /// The page from which every page can be reached.
    pub fn seed_url(&self) -> String {
        format!("http://{}/", self.host_name(0))
    }
}
