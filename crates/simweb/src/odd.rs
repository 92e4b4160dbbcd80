//! Oddities of single pages in the wild profile, and what a careful crawler makes of them.
//!
//! Every eighth page, if nothing hangs on it, takes the next oddity of the list, host after
//! host: two thousand pages show all of them.

use crate::hosts::Host;

/// What is odd about a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Odd {
    /// Redirect with a relative reference.
    RedirectRelative,
    /// Redirect with a whole URL.
    RedirectAbsolute,
    /// Redirect to another host.
    RedirectHost,
    /// Redirect to a reference with a fragment.
    RedirectFragment,
    /// Redirects one after the other, then a page.
    RedirectChain,
    /// Two redirects to each other.
    RedirectLoop,
    /// Redirect to itself.
    RedirectSelf,
    /// Redirect without Location.
    RedirectNowhere,
    /// 404.
    NotFound,
    /// 410.
    Gone,
    /// 403.
    Forbidden,
    /// 500.
    ServerError,
    /// 429 with Retry-After once, then the page.
    Busy,
    /// 503 with Retry-After twice, then the page.
    Down,
    /// 503 for ever.
    DownForEver,
    /// The answer waits.
    Slow,
    /// Half of the body waits.
    Stall,
    /// The connection closes without an answer.
    CloseEmpty,
    /// The connection is reset without an answer.
    ResetEmpty,
    /// The connection closes in the middle of the body.
    CloseEarly,
    /// The connection is reset in the middle of the body.
    ResetBody,
    /// The answer is not HTTP.
    BadHead,
    /// A gzip body with wrong bytes in it.
    GzipCorrupt,
    /// Half a gzip body, in whole framing.
    GzipCut,
    /// Content-Encoding says gzip, the body is plain.
    GzipPlain,
    /// A chunk size that is none.
    ChunkBad,
    /// Chunks without an end.
    ChunkCut,
    /// Neither length nor chunks: the connection's end is the body's.
    NoLength,
    /// HTTP/1.0.
    Version10,
    /// 103 before the answer.
    EarlyHints,
    /// Bare line feeds and no reason phrase.
    BareHead,
    /// Chunk extensions and trailers.
    Trailers,
    /// No Content-Type.
    NoType,
    /// Not text.
    Binary,
    /// A body of no bytes.
    Empty,
    /// The header says UTF-8, the body is in another encoding.
    CharsetLie,
    /// The text of another page, some words changed.
    Near,
    /// The text of another page.
    Copy,
}

/// What a crawler that does everything right ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A page of status 200, whole.
    Stored,
    /// A redirect.
    Redirect,
    /// A status from 400 on.
    Error,
    /// No request: robots.txt denies it.
    Denied,
    /// No answer.
    Failed,
    /// Status 200 and a body that is broken.
    Damaged,
    /// Status 200 and a body that is cut at the crawler's limit.
    Truncated,
}

impl Outcome {
    /// Its name in the truth.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Redirect => "redirect",
            Self::Error => "error",
            Self::Denied => "denied",
            Self::Failed => "failed",
            Self::Damaged => "damaged",
            Self::Truncated => "truncated",
        }
    }
}

const ODDITIES: [Odd; 40] = [
    Odd::RedirectRelative,
    Odd::NotFound,
    Odd::Near,
    Odd::CloseEmpty,
    Odd::GzipCorrupt,
    Odd::Busy,
    Odd::RedirectChain,
    Odd::NoLength,
    Odd::Slow,
    Odd::Gone,
    Odd::Copy,
    Odd::RedirectAbsolute,
    Odd::ChunkBad,
    Odd::Near,
    Odd::ResetEmpty,
    Odd::Stall,
    Odd::RedirectLoop,
    Odd::Version10,
    Odd::Down,
    Odd::RedirectHost,
    Odd::CloseEarly,
    Odd::ServerError,
    Odd::Near,
    Odd::GzipCut,
    Odd::EarlyHints,
    Odd::RedirectSelf,
    Odd::ResetBody,
    Odd::Forbidden,
    Odd::Trailers,
    Odd::GzipPlain,
    Odd::DownForEver,
    Odd::RedirectFragment,
    Odd::BareHead,
    Odd::ChunkCut,
    Odd::Binary,
    Odd::RedirectNowhere,
    Odd::NoType,
    Odd::BadHead,
    Odd::Empty,
    Odd::CharsetLie,
];

/// Odd pages have numbers that leave a remainder of `FIRST` when divided by `STEP`.
const STEP: u32 = 8;
const FIRST: u32 = 4;

/// Such numbers below `end`.
const fn below(end: u32) -> u32 {
    end.saturating_add(STEP - 1 - FIRST) / STEP
}

/// How many pages of a host are odd.
pub fn count(host: &Host) -> u64 {
    if host.role.has_odd_pages() {
        u64::from(below(host.text_end()).saturating_sub(below(host.interior())))
    } else {
        0
    }
}

impl Odd {
    /// What is odd about a page without children.
    pub fn of(host: &Host, index: u32) -> Option<Self> {
        let odd = index % STEP == FIRST && (host.interior()..host.text_end()).contains(&index);
        if !odd || !host.role.has_odd_pages() {
            return None;
        }
        let number = host.odd_before + u64::from(below(index) - below(host.interior()));
        Some(ODDITIES[number as usize % ODDITIES.len()])
    }

    /// Kind and reason in the truth.
    pub const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::RedirectRelative => ("redirect", "relative"),
            Self::RedirectAbsolute => ("redirect", "absolute"),
            Self::RedirectHost => ("redirect", "other host"),
            Self::RedirectFragment => ("redirect", "fragment"),
            Self::RedirectChain => ("redirect", "chain"),
            Self::RedirectLoop => ("redirect", "loop"),
            Self::RedirectSelf => ("redirect", "itself"),
            Self::RedirectNowhere => ("redirect", "no location"),
            Self::NotFound => ("error", "not found"),
            Self::Gone => ("error", "gone"),
            Self::Forbidden => ("error", "forbidden"),
            Self::ServerError => ("error", "server error"),
            Self::Busy => ("busy", "429 once"),
            Self::Down => ("busy", "503 twice"),
            Self::DownForEver => ("busy", "503 for ever"),
            Self::Slow => ("slow", "late answer"),
            Self::Stall => ("slow", "stalled body"),
            Self::CloseEmpty => ("broken", "closed without answer"),
            Self::ResetEmpty => ("broken", "reset without answer"),
            Self::CloseEarly => ("broken", "closed in body"),
            Self::ResetBody => ("broken", "reset in body"),
            Self::BadHead => ("broken", "not http"),
            Self::GzipCorrupt => ("broken", "gzip corrupt"),
            Self::GzipCut => ("broken", "gzip cut"),
            Self::GzipPlain => ("broken", "gzip plain"),
            Self::ChunkBad => ("broken", "chunk size"),
            Self::ChunkCut => ("broken", "chunks cut"),
            Self::NoLength => ("framing", "no length"),
            Self::Version10 => ("framing", "http/1.0"),
            Self::EarlyHints => ("framing", "early hints"),
            Self::BareHead => ("framing", "bare head"),
            Self::Trailers => ("framing", "trailers"),
            Self::NoType => ("content", "no type"),
            Self::Binary => ("content", "binary"),
            Self::Empty => ("content", "empty"),
            Self::CharsetLie => ("content", "charset lie"),
            Self::Near => ("near", "words changed"),
            Self::Copy => ("near", "same text"),
        }
    }

    /// What a careful crawler ends with.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::RedirectRelative
            | Self::RedirectAbsolute
            | Self::RedirectHost
            | Self::RedirectFragment
            | Self::RedirectChain
            | Self::RedirectLoop
            | Self::RedirectSelf
            | Self::RedirectNowhere => Outcome::Redirect,
            Self::NotFound
            | Self::Gone
            | Self::Forbidden
            | Self::ServerError
            | Self::DownForEver => Outcome::Error,
            Self::CloseEmpty | Self::ResetEmpty | Self::BadHead => Outcome::Failed,
            Self::CloseEarly
            | Self::ResetBody
            | Self::GzipCorrupt
            | Self::GzipCut
            | Self::GzipPlain
            | Self::ChunkBad
            | Self::ChunkCut => Outcome::Damaged,
            _ => Outcome::Stored,
        }
    }

    /// The final status; none when there is no answer. A redirect's is a function of `seed`.
    pub const fn status(self, seed: u64) -> Option<u16> {
        Some(match self.outcome() {
            Outcome::Redirect => [301, 302, 303, 307, 308][(seed % 5) as usize],
            Outcome::Failed => return None,
            Outcome::Error => match self {
                Self::NotFound => 404,
                Self::Gone => 410,
                Self::Forbidden => 403,
                Self::ServerError => 500,
                _ => 503,
            },
            _ => 200,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Profile, World};

    #[test]
    fn odd_pages_are_numbered_without_a_gap() {
        let config = Config { hosts: 30, profile: Profile::Wild, ..Config::default() };
        let world = World::new(config).unwrap();
        let mut next = 0;
        for id in 0..30 {
            let host = world.hosts.get(id);
            for index in 0..host.size {
                if let Some(odd) = Odd::of(&host, index) {
                    assert_eq!(odd, ODDITIES[next % ODDITIES.len()]);
                    next += 1;
                }
            }
        }
        assert!(next > 3 * ODDITIES.len());
    }
}
