//! Traps of the wild profile, each of a stated finite size: a calendar, a shop that puts
//! session ids into its URLs, streams that hardly end.
//!
//! They hang on the front pages of ordinary hosts: of every sixteen, one has a calendar, one a
//! shop, one streams.

use crate::World;
use crate::hosts::{Host, Role, trailing_number, write_number};
use crate::language::Charset;
use crate::page::write_title;
use crate::rng::{Rng, mix};
use crate::slots::put;

/// Months of a calendar.
pub const MONTHS: u32 = 60;
/// Things in a shop.
pub const ITEMS: u32 = 6;
/// Session ids of a shop.
pub const SESSIONS: u32 = 12;
/// Streams of a host.
pub const STREAMS: u32 = 2;
/// Bytes after which a stream does end.
pub const STREAM_BYTES: u64 = 64 << 20;

/// A page of a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    /// A month of a calendar.
    Month(u32),
    /// The shop's entrance.
    Shop,
    /// A thing in the shop, as seen in a session.
    Item {
        /// Which thing.
        item: u32,
        /// Which session.
        session: u32,
    },
    /// A body that hardly ends.
    Stream(u32),
}

impl Trap {
    /// All trap pages of a host.
    pub fn all(world: &World, host: &Host) -> Vec<Self> {
        if !world.is_wild() || host.role != Role::Ordinary {
            return Vec::new();
        }
        match host.id % 16 {
            1 => (0..MONTHS).map(Self::Month).collect(),
            2 => {
                let items = (0..SESSIONS)
                    .flat_map(|session| (0..ITEMS).map(move |item| Self::Item { item, session }));
                std::iter::once(Self::Shop).chain(items).collect()
            }
            3 => (0..STREAMS).map(Self::Stream).collect(),
            _ => Vec::new(),
        }
    }

    /// The trap page that has a path.
    pub fn find(world: &World, host: &Host, path: &[u8]) -> Option<Self> {
        let number = trailing_number(path);
        let candidate = if path.starts_with(b"/calendar?") {
            Self::Month(number?)
        } else if path == b"/shop/" {
            Self::Shop
        } else if path.starts_with(b"/shop/") {
            let session = number? % 1000;
            let from = path.iter().position(|&byte| byte == b'=')? + 1;
            let digits = path[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            Self::Item { item: trailing_number(&path[from..from + digits])?, session }
        } else if path.starts_with(b"/stream/") {
            Self::Stream(number?)
        } else {
            return None;
        };
        let mut expected = Vec::new();
        candidate.write_path(host, &mut expected);
        (expected == path && Self::all(world, host).contains(&candidate)).then_some(candidate)
    }

    /// Appends the page's path.
    pub fn write_path(self, host: &Host, out: &mut Vec<u8>) {
        match self {
            Self::Month(month) => {
                out.extend_from_slice(b"/calendar?month=");
                write_number(out, u64::from(month));
            }
            Self::Shop => out.extend_from_slice(b"/shop/"),
            Self::Item { item, session } => {
                out.extend_from_slice(b"/shop/item?id=");
                write_number(out, u64::from(item));
                out.extend_from_slice(b"&sid=");
                let key = 1_000_000 + mix(host.seed, u64::from(session)) % 3_000_000;
                write_number(out, key * 1000 + u64::from(session));
            }
            Self::Stream(number) => {
                out.extend_from_slice(b"/stream/");
                write_number(out, u64::from(number));
            }
        }
    }

    /// Kind and reason in the truth.
    pub const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Month(_) => ("calendar", "trap"),
            Self::Shop | Self::Item { .. } => ("session", "trap"),
            Self::Stream(_) => ("endless", "64 MiB"),
        }
    }

    /// What the page's text is a copy of.
    pub const fn original(self) -> Option<Self> {
        match self {
            Self::Item { item, session } if session > 0 => Some(Self::Item { item, session: 0 }),
            _ => None,
        }
    }

    /// Appends the page's HTML; of a stream, its beginning.
    pub fn write(self, world: &World, host: &Host, out: &mut Vec<u8>) {
        let words = world.lexicon.vocabulary(host.language, Charset::Utf8);
        let subject = match self {
            Self::Month(month) => mix(0xca1, u64::from(month)),
            Self::Item { item, .. } => mix(0x17e, u64::from(item)),
            Self::Shop => 0x540,
            Self::Stream(number) => mix(0x572, u64::from(number)),
        };
        let seed = mix(host.seed, subject);
        put(out, &[b"<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>"]);
        write_title(world, words, seed, u64::MAX, out);
        put(out, &[b"</title></head><body>\n"]);
        let mut rng = Rng::new(seed, 0x7e7);
        for _ in 0..12 {
            put(out, &[b"<p>"]);
            for _ in 0..2 {
                write_title(world, words, rng.next(), u64::MAX, out);
                put(out, &[&words.stop, b" "]);
            }
            put(out, &[b"</p>\n"]);
        }
        for next in self.links() {
            let mut path = Vec::new();
            next.write_path(host, &mut path);
            put(out, &[b"<a href=\""]);
            crate::href::escape(&path, out);
            put(out, &[b"\">&rarr;</a>\n"]);
        }
        if !matches!(self, Self::Stream(_)) {
            put(out, &[b"</body></html>\n"]);
        }
    }

    fn links(self) -> Vec<Self> {
        match self {
            Self::Month(month) => [month.checked_sub(1), Some(month + 1), Some(month + 12)]
                .into_iter()
                .flatten()
                .filter(|&month| month < MONTHS)
                .map(Self::Month)
                .collect(),
            Self::Shop => (0..ITEMS).map(|item| Self::Item { item, session: 0 }).collect(),
            Self::Item { item, session } => (0..ITEMS)
                .map(|item| Self::Item { item, session })
                .chain(
                    (session + 1 < SESSIONS).then_some(Self::Item { item, session: session + 1 }),
                )
                .collect(),
            Self::Stream(_) => Vec::new(),
        }
    }
}

/// The paths by which a front page leads into its host's traps.
pub fn entrances(world: &World, host: &Host) -> Vec<Vec<u8>> {
    let enters = |trap: &Trap| matches!(trap, Trap::Month(0) | Trap::Shop | Trap::Stream(_));
    let path = |trap: Trap| {
        let mut path = Vec::new();
        trap.write_path(host, &mut path);
        path
    };
    Trap::all(world, host).into_iter().filter(enters).map(path).collect()
}
