//! The truth: every URL of a web and what becomes of it.
//!
//! Rows come from the generator, host by host, never from a crawl. On a host that gives
//! nothing (all denied, unreachable) the pages below the front page are known only if another
//! page happens to link to them: their rows are not `certain`.

use std::sync::Arc;

use crate::World;
use crate::answer::write_hop;
use crate::hosts::{Host, Role};
use crate::language::LANGUAGES;
use crate::odd::{Odd, Outcome};
use crate::slots::{Mark, Slot};
use crate::traps::Trap;

/// What is true of a URL.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The URL, as WHATWG writes it.
    pub url: String,
    /// The status in the end; none when there is no answer.
    pub status: Option<u16>,
    /// What it is.
    pub kind: &'static str,
    /// What is special about it; empty for nothing.
    pub reason: &'static str,
    /// What a crawler that does everything right ends with.
    pub outcome: Outcome,
    /// The host.
    pub host: String,
    /// Language of its text.
    pub lang: Option<&'static str>,
    /// Encoding of its text.
    pub charset: Option<&'static str>,
    /// Where it redirects to, as the Location header says.
    pub location: Option<String>,
    /// The URL whose text, or bytes, it has.
    pub duplicate_of: Option<String>,
    /// Words that differ from that.
    pub distance: Option<u32>,
    /// Mean number of changes in a day.
    pub changes_per_day: f64,
    /// Refusals before the status is the final one.
    pub refusals: u8,
    /// URLs in the trap that it belongs to.
    pub trap: u32,
    /// A crawler that starts at the seed URL is sure to learn of it.
    pub certain: bool,
}

/// The rows of a web, in order; made host by host.
pub struct Truth {
    world: Arc<World>,
    host: Host,
    next: u32,
    index: u32,
    ready: std::vec::IntoIter<Row>,
}

impl World {
    /// The rows of the truth.
    pub fn truth(self: &Arc<Self>) -> Truth {
        let ready = Vec::new().into_iter();
        Truth { world: Arc::clone(self), host: self.hosts.get(0), next: 1, index: 0, ready }
    }
}

impl Iterator for Truth {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        loop {
            if let Some(row) = self.ready.next() {
                return Some(row);
            }
            let rows = if self.index < self.host.size {
                self.index += 1;
                page_rows(&self.world, &self.host, self.index - 1)
            } else if self.index == self.host.size {
                self.index += 1;
                trap_rows(&self.world, &self.host)
            } else if self.next < self.world.hosts.count() {
                self.host = self.world.hosts.get(self.next);
                (self.next, self.index) = (self.next + 1, 0);
                continue;
            } else {
                return None;
            };
            self.ready = rows.into_iter();
        }
    }
}

fn url(world: &World, host: u32, path: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = b"http://".to_vec();
    world.write_host(host, &mut out);
    path(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// The rows of a page: its own and those of the hops of its redirect.
fn page_rows(world: &World, host: &Host, index: u32) -> Vec<Row> {
    let face = world.hosts.get(host.face);
    let slot = world.slot(&face, index);
    let text = slot.kind.is_html() && !matches!(slot.odd, Some(Odd::Binary | Odd::Empty));
    let mut row = Row {
        url: url(world, host.id, |out| world.write_path(&face, index, out)),
        status: Some(200),
        kind: slot.kind.name(),
        reason: "",
        outcome: Outcome::Stored,
        host: world.host_name(host.id),
        lang: text.then_some(LANGUAGES[face.language].code),
        charset: text.then(|| slot.charset.label()),
        location: None,
        duplicate_of: None,
        distance: None,
        changes_per_day: slot.changes_per_day,
        refusals: 0,
        trap: 0,
        certain: !host.role.is_closed() || index == 0,
    };
    let mut hops = Vec::new();
    if let Some(odd) = slot.odd {
        oddity(world, host, &face, &slot, odd, &mut row);
        hops = hop_rows(world, host, &face, &slot, &row);
    } else if slot.mark == Mark::Denied {
        (row.reason, row.outcome) = ("robots", Outcome::Denied);
    }
    match host.role {
        Role::Refused => {
            (row.kind, row.reason) = ("refused", "connection");
            (row.outcome, row.status) = (Outcome::Failed, None);
        }
        Role::RobotsServerError => {
            (row.reason, row.outcome) = ("robots unreachable", Outcome::Denied);
        }
        Role::RobotsDenyAll => (row.reason, row.outcome) = ("robots", Outcome::Denied),
        Role::Mirror if row.outcome == Outcome::Stored => {
            row.duplicate_of = Some(url(world, face.id, |out| world.write_path(&face, index, out)));
            row.distance = Some(0);
            if slot.odd.is_none() {
                row.kind = "mirror";
            }
        }
        Role::Slow if row.reason.is_empty() => row.reason = "slow host",
        Role::Http10 => row.reason = "http/1.0 host",
        _ => {}
    }
    hops.insert(0, row);
    hops
}

fn oddity(world: &World, host: &Host, face: &Host, slot: &Slot, odd: Odd, row: &mut Row) {
    (row.kind, row.reason) = odd.names();
    row.outcome = odd.outcome();
    row.status = odd.status(slot.seed);
    match odd {
        Odd::Near | Odd::Copy => {
            let (source, words) = world.source(face, slot);
            row.duplicate_of = Some(url(world, host.id, |out| world.write_path(face, source, out)));
            row.distance = Some(words);
            row.charset = Some(world.slot(face, source).charset.label());
        }
        Odd::CharsetLie => row.charset = Some(LANGUAGES[face.language].legacy[0].label()),
        Odd::Busy => row.refusals = 1,
        Odd::Down => row.refusals = 2,
        _ => {}
    }
    if odd.outcome() == Outcome::Redirect {
        row.location = world.location(face, slot, 0);
    }
    if !matches!(row.outcome, Outcome::Stored | Outcome::Damaged) {
        (row.lang, row.charset) = (None, None);
    }
}

fn hop_rows(world: &World, host: &Host, face: &Host, slot: &Slot, row: &Row) -> Vec<Row> {
    (1..=world.hops(slot))
        .map(|hop| Row {
            url: url(world, host.id, |out| write_hop(slot.index, hop, out)),
            status: Odd::RedirectSelf.status(slot.seed.wrapping_add(u64::from(hop))),
            location: world.location(face, slot, hop),
            ..row.clone()
        })
        .collect()
}

fn trap_rows(world: &World, host: &Host) -> Vec<Row> {
    let face = world.hosts.get(host.face);
    let traps = Trap::all(world, &face);
    let size = traps.len() as u32;
    let row = |trap: &Trap| {
        let (kind, reason) = trap.names();
        let stream = matches!(trap, Trap::Stream(_));
        let address = |host: u32, trap: Trap| url(world, host, |out| trap.write_path(&face, out));
        let mirrored = (host.id != face.id && !stream).then(|| address(face.id, *trap));
        let duplicate_of =
            mirrored.or_else(|| trap.original().map(|first| address(host.id, first)));
        Row {
            url: address(host.id, *trap),
            status: Some(200),
            kind,
            reason,
            outcome: if stream { Outcome::Truncated } else { Outcome::Stored },
            host: world.host_name(host.id),
            lang: Some(LANGUAGES[face.language].code),
            charset: Some("utf-8"),
            location: None,
            distance: duplicate_of.is_some().then_some(0),
            duplicate_of,
            changes_per_day: 0.0,
            refusals: 0,
            trap: size,
            certain: true,
        }
    };
    traps.iter().map(row).collect()
}
