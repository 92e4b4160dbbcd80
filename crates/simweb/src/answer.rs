//! Answers: which status, header lines and body a request gets, and how they are to be sent.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use libdeflater::{CompressionLvl, Compressor};

use crate::World;
use crate::dates;
use crate::feeds;
use crate::hosts::{Host, Role, write_number};
use crate::language::Charset;
use crate::odd::Odd;
use crate::page::{self, Variation};
use crate::rng::{Rng, mix};
use crate::robots::Robots;
use crate::slots::{Kind, Slot, put};
use crate::traps::Trap;

/// Pages whose refusals are remembered at one time.
const REMEMBERED: usize = 1 << 16;

/// A request, as far as answers depend on it.
#[derive(Clone, Copy, Default)]
pub struct Request<'a> {
    /// The host asked, with or without a port.
    pub host: &'a [u8],
    /// Path and query.
    pub path: &'a [u8],
    /// HEAD.
    pub head: bool,
    /// gzip is accepted.
    pub gzip: bool,
    /// HTTP/1.0.
    pub old: bool,
    /// If-None-Match.
    pub none_match: Option<&'a [u8]>,
    /// If-Modified-Since.
    pub modified_since: Option<&'a [u8]>,
    /// When it came, in microseconds since 1970.
    pub now_us: i64,
}

/// How an answer is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// With its length.
    Length,
    /// In chunks.
    Chunked,
    /// In an odd way.
    Odd(Odd),
    /// For ever, nearly.
    Stream,
    /// Not at all.
    Refused,
}

/// An answer; its buffers are used again for the next one.
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Header lines, each with its line end, without those of the framing.
    pub headers: Vec<u8>,
    /// The body, content coding applied.
    pub body: Vec<u8>,
    /// Time to wait before it is sent.
    pub wait: Duration,
    /// How it is sent.
    pub shape: Shape,
}

impl Default for Answer {
    fn default() -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            body: Vec::new(),
            wait: Duration::ZERO,
            shape: Shape::Length,
        }
    }
}

impl Answer {
    /// Turns it into the answer to a method that is neither GET nor HEAD.
    pub fn refuse_method(&mut self) {
        *self = Self { status: 405, body: b"GET or HEAD\n".to_vec(), ..Self::default() };
    }
}

/// Makes answers; all that it remembers is which pages have just refused.
pub struct Answers {
    world: Arc<World>,
    packer: Compressor,
    refusals: HashMap<u64, u8>,
}

impl Answers {
    /// The answers of a web.
    pub fn new(world: Arc<World>) -> Self {
        let packer = Compressor::new(CompressionLvl::fastest());
        Self { world, packer, refusals: HashMap::new() }
    }

    /// Answers a request.
    pub fn answer(&mut self, request: &Request, out: &mut Answer) {
        out.headers.clear();
        out.body.clear();
        (out.status, out.wait, out.shape) = (200, Duration::ZERO, Shape::Length);
        let Some(id) = self.world.find_host(request.host) else {
            return plain(out, 404, b"no such host\n");
        };
        let host = self.world.hosts.get(id);
        if host.role == Role::Refused {
            out.shape = Shape::Refused;
            return;
        }
        if host.role == Role::Slow {
            let draw = mix(host.seed, xxhash_rust::xxh3::xxh3_64(request.path));
            out.wait = self.scaled(0.01 + 0.04 * (draw % 1000) as f64 / 1000.0);
        }
        let face = self.world.hosts.get(host.face);
        if let Some(robots) = Robots::find(&self.world, &face, request.path) {
            plain(out, robots.status, &robots.body);
            if let Some(location) = robots.location {
                put(&mut out.headers, &[b"Location: ", location.as_bytes(), b"\r\n"]);
            }
        } else if let Some(index) = self.world.find_slot(&face, request.path) {
            let slot = self.world.slot(&face, index);
            self.slot(request, &host, &face, &slot, out);
        } else if let Some(trap) = Trap::find(&self.world, &face, request.path) {
            out.headers.extend_from_slice(b"Content-Type: text/html; charset=utf-8\r\n");
            trap.write(&self.world, &face, &mut out.body);
            if matches!(trap, Trap::Stream(_)) {
                out.shape = Shape::Stream;
            }
        } else if let Some((index, hop)) = find_hop(&self.world, &face, request.path) {
            self.redirect(&face, &self.world.slot(&face, index), hop, out);
        } else if request.path.starts_with(b"/style/") {
            out.headers.extend_from_slice(b"Content-Type: text/css\r\n");
            out.body.extend_from_slice(b"body{color:#222}\n");
        } else if request.path.starts_with(b"/js/") {
            out.headers.extend_from_slice(b"Content-Type: text/javascript\r\n");
            out.body.extend_from_slice(b"'use strict';\n");
        } else {
            plain(out, 404, b"no such page\n");
        }
    }

    /// True for a host that speaks HTTP/1.0 only.
    pub fn is_http10(&self, host: &[u8]) -> bool {
        self.world.is_wild()
            && self
                .world
                .find_host(host)
                .is_some_and(|id| self.world.hosts.role(id) == Role::Http10)
    }

    fn scaled(&self, seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds * self.world.config.time_scale)
    }

    fn slot(&mut self, request: &Request, host: &Host, face: &Host, slot: &Slot, out: &mut Answer) {
        let Some(odd) = slot.odd else {
            return self.page(request, face, slot, slot.index, 0, out);
        };
        out.shape = Shape::Odd(odd);
        let status = odd.status(slot.seed).unwrap_or(200);
        match odd {
            Odd::RedirectRelative
            | Odd::RedirectAbsolute
            | Odd::RedirectHost
            | Odd::RedirectFragment
            | Odd::RedirectChain
            | Odd::RedirectLoop
            | Odd::RedirectSelf
            | Odd::RedirectNowhere => self.redirect(face, slot, 0, out),
            Odd::NotFound | Odd::Gone | Odd::Forbidden | Odd::ServerError => {
                plain(out, status, b"no such page\n");
                out.shape = Shape::Length;
            }
            Odd::Busy | Odd::Down | Odd::DownForEver => {
                let (refused, refusals) = match odd {
                    Odd::Busy => (429, 1),
                    Odd::Down => (503, 2),
                    _ => (503, u8::MAX),
                };
                out.shape = Shape::Length;
                if self.asked(mix(slot.seed, u64::from(host.id))) < refusals {
                    plain(out, refused, b"later, please\n");
                    let seconds = (0.5 * self.world.config.time_scale).ceil() as u64;
                    out.headers.extend_from_slice(b"Retry-After: ");
                    write_number(&mut out.headers, seconds);
                    out.headers.extend_from_slice(b"\r\n");
                } else {
                    self.page(request, face, slot, slot.index, 0, out);
                }
            }
            Odd::Near | Odd::Copy => {
                let (source, words) = self.world.source(face, slot);
                let source = self.world.slot(face, source);
                out.shape = Shape::Length;
                self.page(request, face, &source, slot.index, words, out);
            }
            Odd::Empty => out.headers.extend_from_slice(b"Content-Type: text/html\r\n"),
            Odd::Binary => {
                out.headers.extend_from_slice(b"Content-Type: application/octet-stream\r\n");
                let mut rng = Rng::new(slot.seed, 0xb19);
                for _ in 0..2000 {
                    out.body.extend_from_slice(&rng.next().to_le_bytes());
                }
            }
            Odd::CharsetLie => {
                let mut slot = *slot;
                slot.charset = crate::language::LANGUAGES[face.language].legacy[0];
                page::write(
                    &self.world,
                    face,
                    &slot,
                    slot.index,
                    Variation::default(),
                    &mut out.body,
                );
                out.headers.extend_from_slice(b"Content-Type: text/html; charset=utf-8\r\n");
            }
            Odd::GzipCorrupt | Odd::GzipCut | Odd::GzipPlain => {
                page::write(
                    &self.world,
                    face,
                    slot,
                    slot.index,
                    Variation::default(),
                    &mut out.body,
                );
                out.headers
                    .extend_from_slice(b"Content-Type: text/html\r\nContent-Encoding: gzip\r\n");
                if odd != Odd::GzipPlain {
                    self.pack(&mut out.body);
                    let half = out.body.len() / 2;
                    if odd == Odd::GzipCut {
                        out.body.truncate(half);
                    } else {
                        out.body[half..half + 64].fill(0xa5);
                    }
                }
            }
            Odd::NoType => {
                page::write(
                    &self.world,
                    face,
                    slot,
                    slot.index,
                    Variation::default(),
                    &mut out.body,
                );
            }
            _ => {
                if odd == Odd::Slow {
                    out.wait = self.scaled(0.1 + 0.2 * (slot.seed % 1000) as f64 / 1000.0);
                    out.shape = Shape::Length;
                }
                page::write(
                    &self.world,
                    face,
                    slot,
                    slot.index,
                    Variation::default(),
                    &mut out.body,
                );
                write_type(slot, &mut out.headers);
            }
        }
    }

    /// How often a page has been asked before.
    fn asked(&mut self, key: u64) -> u8 {
        if self.refusals.len() == REMEMBERED {
            self.refusals.clear();
        }
        let count = self.refusals.entry(key).or_default();
        let before = *count;
        *count = count.saturating_add(1).min(u8::MAX - 1);
        before
    }

    fn page(
        &mut self,
        request: &Request,
        face: &Host,
        slot: &Slot,
        at: u32,
        changed_words: u32,
        out: &mut Answer,
    ) {
        let version = (slot.changes_per_day > 0.0)
            .then(|| dates::version(slot.seed, slot.changes_per_day, request.now_us));
        let id = version.map_or(0, |version| version.id);
        let modified =
            version.map_or_else(|| dates::published(slot.seed), |v| v.since_us / 1_000_000);
        let draw = mix(slot.seed, 0x4ead);
        let (tagged, dated) = (draw & 1 == 0, draw & 2 == 0);
        let tag = format!("\"{:016x}\"", mix(mix(slot.seed, id), u64::from(at)));
        let mut date = Vec::with_capacity(29);
        dates::write_http(modified, &mut date);
        write_type(slot, &mut out.headers);
        if tagged {
            put(&mut out.headers, &[b"ETag: ", tag.as_bytes(), b"\r\n"]);
        }
        if dated {
            put(&mut out.headers, &[b"Last-Modified: ", &date, b"\r\n"]);
        }
        let unchanged = match (request.none_match, request.modified_since) {
            (Some(theirs), _) => tagged && theirs == tag.as_bytes(),
            (None, Some(theirs)) => dated && theirs == date.as_slice(),
            (None, None) => false,
        };
        if unchanged {
            out.status = 304;
            return;
        }
        if slot.kind.is_html() {
            let variation = Variation { changed_words, version: id };
            page::write(&self.world, face, slot, at, variation, &mut out.body);
            if request.gzip && draw & 0x70 == 0 {
                out.headers
                    .extend_from_slice(b"Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n");
                self.pack(&mut out.body);
            }
        } else {
            feeds::write(&self.world, face, slot, &mut out.body);
        }
        if draw & 0x700 == 0 {
            out.shape = Shape::Chunked;
        }
    }

    fn pack(&mut self, body: &mut Vec<u8>) {
        let mut packed = vec![0; self.packer.gzip_compress_bound(body.len())];
        if let Ok(length) = self.packer.gzip_compress(body, &mut packed) {
            packed.truncate(length);
            *body = packed;
        }
    }

    fn redirect(&self, face: &Host, slot: &Slot, hop: u32, out: &mut Answer) {
        plain(
            out,
            Odd::RedirectSelf.status(slot.seed.wrapping_add(u64::from(hop))).unwrap_or(302),
            b"moved\n",
        );
        out.shape = Shape::Length;
        if let Some(location) = self.world.location(face, slot, hop) {
            put(&mut out.headers, &[b"Location: ", location.as_bytes(), b"\r\n"]);
        }
    }
}

impl World {
    /// What a near duplicate is made from, and how many of its words are changed.
    pub fn source(&self, face: &Host, slot: &Slot) -> (u32, u32) {
        let draw = mix(slot.seed, 0x50c);
        let words = if slot.odd == Some(Odd::Near) { 1 + (draw >> 32) as u32 % 24 } else { 0 };
        (self.solid(face, draw), words)
    }

    /// Redirects between a page that redirects and the page at the end.
    pub fn hops(&self, slot: &Slot) -> u32 {
        match slot.odd {
            Some(Odd::RedirectChain) => 1 + (slot.seed >> 32) as u32 % 4,
            Some(Odd::RedirectLoop) => 1,
            _ => 0,
        }
    }

    /// Where a redirect, or one of its further hops, says that it leads.
    pub fn location(&self, face: &Host, slot: &Slot, hop: u32) -> Option<String> {
        let odd = slot.odd?;
        let mut out = Vec::new();
        let target = self.solid(face, mix(slot.seed, 0x10c));
        if hop < self.hops(slot) {
            write_hop(slot.index, hop + 1, &mut out);
        } else if odd == Odd::RedirectNowhere {
            return None;
        } else if matches!(odd, Odd::RedirectLoop | Odd::RedirectSelf) {
            self.write_path(face, slot.index, &mut out);
        } else if odd == Odd::RedirectHost {
            let other = (slot.seed >> 8) as u32 % self.hosts.interior();
            out.extend_from_slice(b"http://");
            self.write_host(other, &mut out);
            out.push(b'/');
        } else {
            if odd == Odd::RedirectAbsolute {
                out.extend_from_slice(b"http://");
                self.write_host(face.id, &mut out);
            }
            self.write_path(face, target, &mut out);
            if odd == Odd::RedirectFragment {
                out.extend_from_slice(b"#main");
            }
        }
        Some(String::from_utf8_lossy(&out).into_owned())
    }
}

/// Appends the path of a redirect's further hop.
pub fn write_hop(index: u32, hop: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(b"/hop/");
    write_number(out, u64::from(index));
    out.push(b'/');
    write_number(out, u64::from(hop));
}

fn find_hop(world: &World, face: &Host, path: &[u8]) -> Option<(u32, u32)> {
    let text = std::str::from_utf8(path.strip_prefix(b"/hop/")?).ok()?;
    let (index, hop) = text.split_once('/')?;
    let (index, hop): (u32, u32) = (index.parse().ok()?, hop.parse().ok()?);
    let mut expected = Vec::new();
    write_hop(index, hop, &mut expected);
    let real = index < face.size
        && expected == path
        && (1..=world.hops(&world.slot(face, index))).contains(&hop);
    real.then_some((index, hop))
}

fn plain(out: &mut Answer, status: u16, body: &[u8]) {
    out.status = status;
    out.headers.extend_from_slice(b"Content-Type: text/plain\r\n");
    out.body.extend_from_slice(body);
}

fn write_type(slot: &Slot, out: &mut Vec<u8>) {
    out.extend_from_slice(match slot.kind {
        Kind::Rss => b"Content-Type: application/rss+xml\r\n".as_slice(),
        Kind::Atom => b"Content-Type: application/atom+xml\r\n",
        Kind::Sitemap => b"Content-Type: application/xml\r\n",
        _ => b"Content-Type: text/html",
    });
    if slot.kind.is_html() {
        if slot.declared().header || slot.kind == Kind::Frames {
            let label = match slot.charset {
                Charset::Utf16Le | Charset::Utf16Be => "utf-16",
                other => other.label(),
            };
            put(out, &[b"; charset=", label.as_bytes()]);
        }
        out.extend_from_slice(b"\r\n");
    }
}
