//! What a frontier is at a checkpoint: a state log, `state-<n>.log`.
//!
//! ```text
//! magic "crvfrn\0\1", then frames: length u32 (LE) · entries
//! entry 1  new host        name
//! entry 2  host            id · ip+1 · own delay+1 · ended · busy · hold_until · failures · queue
//! entry 3  new IP          name
//! entry 4  IP              id · own delay+1 · ended · hold_until
//! entry 5  last visit      number
//! ```
//! Numbers are LEB128 (times zigzag), names have their length before them, 0 in a `+1` field
//! means none; the queue is as in [`super::queue`]. Hosts and IPs are numbered as they come.
//! A log begins with a snapshot, and every checkpoint appends what has changed since; a new
//! snapshot begins a new log. Entries say what is, not what happened: the last one holds.
//! The checkpoint has the length and CRC-32 of the log, which cover every byte of it.

use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use super::queue::Replay;
use super::wire::{
    put_bytes, put_signed, put_varint, take_bytes, take_signed, take_u32, take_varint,
};
use super::{Frontier, FrontierError, Result};
use crate::files::{Appender, Files};

const MAGIC: &[u8; 8] = b"crvfrn\0\x01";
/// Frames end at the entry that makes them this long.
const FRAME: usize = 1 << 20;

const NEW_HOST: u8 = 1;
const HOST: u8 = 2;
const NEW_IP: u8 = 3;
const IP: u8 = 4;
const VISIT: u8 = 5;

/// A checkpoint of a frontier: what [`Frontier::open`] needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Name of the state log in the frontier's directory.
    pub log: String,
    /// Its length.
    pub len: u64,
    /// CRC-32 of that many bytes.
    pub crc: u32,
    /// Length of the snapshot that it begins with.
    pub snapshot_len: u64,
    /// Number of the segment of the queue log that comes next.
    pub next_segment: u32,
    /// Length of the segment before that.
    pub segment_len: u64,
}

/// The state log being written.
pub(super) struct Log {
    files: Files,
    dir: PathBuf,
    number: u32,
    appender: Option<Appender>,
    frame: Vec<u8>,
    snapshot_len: u64,
    /// How many hosts and IPs it has named.
    hosts: usize,
    ips: usize,
    dead: Vec<PathBuf>,
}

impl Log {
    pub(super) fn new(files: Files, dir: PathBuf) -> Self {
        Self {
            files,
            dir,
            number: 0,
            appender: None,
            frame: Vec::new(),
            snapshot_len: 0,
            hosts: 0,
            ips: 0,
            dead: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.appender.as_ref().map_or(0, Appender::len)
    }

    pub(super) fn snapshot_len(&self) -> u64 {
        self.snapshot_len
    }

    fn name(&self) -> String {
        format!("state-{:06}.log", self.number)
    }

    fn damaged(&self, log: &str, what: &'static str) -> FrontierError {
        FrontierError::Damaged { file: self.files.path(self.dir.join(log)), what }
    }

    /// Begins a new log.
    fn begin(&mut self) -> Result<()> {
        if self.appender.take().is_some() {
            self.dead.push(self.dir.join(self.name()));
        }
        self.number += 1;
        let mut appender = self.files.appender(self.dir.join(self.name()))?;
        appender.append(MAGIC)?;
        self.appender = Some(appender);
        (self.hosts, self.ips) = (0, 0);
        Ok(())
    }

    /// Ends an entry; a long frame is written.
    fn entry(&mut self) -> Result<()> {
        if self.frame.len() >= FRAME { self.write_frame() } else { Ok(()) }
    }

    fn write_frame(&mut self) -> Result<()> {
        if let Some(appender) = &mut self.appender {
            appender.append(&(self.frame.len() as u32).to_le_bytes())?;
            appender.append(&self.frame)?;
        }
        self.frame.clear();
        self.frame.shrink_to(2 * FRAME);
        Ok(())
    }

    /// Calls `entries` with each frame of the log of a state.
    fn read(&mut self, state: &State, mut entries: impl FnMut(&[u8]) -> Option<()>) -> Result<()> {
        let number = state.log.strip_prefix("state-").and_then(|n| n.strip_suffix(".log"));
        let number = number.and_then(|number| number.parse().ok());
        self.number = number.ok_or_else(|| self.damaged(&state.log, "is no state log's name"))?;
        let path = self.dir.join(self.name());
        if !self.files.exists(&path) {
            return Err(self.damaged(&state.log, "is not there"));
        }
        self.appender = Some(self.files.resume(&path, state.len, state.crc)?);
        self.snapshot_len = state.snapshot_len;
        let mut file = BufReader::new(self.files.reader(&path)?);
        let mut left = state.len;
        let mut take = |frame: &mut Vec<u8>, size: usize| {
            left = left.checked_sub(size as u64)?;
            frame.resize(size, 0);
            file.read_exact(frame).ok()?;
            Some(left)
        };
        let mut frame = Vec::new();
        let cut = || self.damaged(&state.log, "ends within a frame");
        let mut left = take(&mut frame, MAGIC.len()).ok_or_else(cut)?;
        if frame != MAGIC {
            return Err(self.damaged(&state.log, "is not a state log of this version"));
        }
        while left > 0 {
            take(&mut frame, 4).ok_or_else(cut)?;
            let size = u32::from_le_bytes([frame[0], frame[1], frame[2], frame[3]]);
            left = take(&mut frame, size as usize).ok_or_else(cut)?;
            entries(&frame).ok_or_else(|| self.damaged(&state.log, "has an entry that is none"))?;
        }
        Ok(())
    }

    fn reclaim(&mut self) -> Result<()> {
        for path in std::mem::take(&mut self.dead) {
            self.files.remove(path)?;
        }
        Ok(())
    }
}

/// One more than a number, 0 for none.
fn put_option(out: &mut Vec<u8>, value: Option<u64>) {
    put_varint(out, value.map_or(0, |value| value.saturating_add(1)));
}

/// Reads what `put_option` wrote, into `value`; `None` if it is cut.
fn take_option(bytes: &mut &[u8], value: &mut Option<u64>) -> Option<()> {
    *value = take_varint(bytes)?.checked_sub(1);
    Some(())
}

impl Frontier {
    /// Brings what has changed since the last checkpoint to disk (with `snapshot`, everything,
    /// in a new log), and says what [`open`](Self::open) needs to come back to this point.
    ///
    /// # Errors
    /// When a file cannot be written; the frontier must then be opened anew.
    pub fn checkpoint(&mut self, snapshot: bool) -> Result<State> {
        let whole = snapshot || self.log.appender.is_none();
        if whole {
            self.log.begin()?;
        }
        self.segments.mark_dead();
        self.log_ips(whole)?;
        self.log_hosts(whole)?;
        self.log.frame.push(VISIT);
        put_varint(&mut self.log.frame, self.visits);
        self.log.write_frame()?;
        self.segments.flush()?;
        let Some(appender) = &mut self.log.appender else {
            return Err(self.log.damaged("state", "was not begun"));
        };
        let (len, crc) = appender.flush()?;
        if whole {
            self.log.snapshot_len = len;
        }
        Ok(State {
            log: self.log.name(),
            len,
            crc,
            snapshot_len: self.log.snapshot_len,
            next_segment: self.segments.next(),
            segment_len: self.segments.last_len(),
        })
    }

    /// The last checkpoint stands: removes the files that only earlier ones needed.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn reclaim(&mut self) -> Result<()> {
        self.segments.reclaim()?;
        self.log.reclaim()
    }

    fn log_ips(&mut self, whole: bool) -> Result<()> {
        for ip in &self.ips[self.log.ips..] {
            self.log.frame.push(NEW_IP);
            put_bytes(&mut self.log.frame, ip.name.as_bytes());
            self.log.entry()?;
        }
        self.log.ips = self.ips.len();
        let dirty = std::mem::take(&mut self.dirty_ips);
        let ids = if whole { (0..self.ips.len() as u32).collect() } else { dirty };
        for id in ids {
            let ip = &mut self.ips[id as usize];
            ip.dirty = false;
            let out = &mut self.log.frame;
            out.push(IP);
            put_varint(out, u64::from(id));
            put_option(out, ip.own_delay.then_some(ip.delay_us));
            put_signed(out, ip.ended);
            put_signed(out, ip.hold_until);
            self.log.entry()?;
        }
        Ok(())
    }

    fn log_hosts(&mut self, whole: bool) -> Result<()> {
        for host in &self.hosts[self.log.hosts..] {
            self.log.frame.push(NEW_HOST);
            put_bytes(&mut self.log.frame, host.name.as_bytes());
            self.log.entry()?;
        }
        self.log.hosts = self.hosts.len();
        let mut ids = std::mem::take(&mut self.dirty_hosts);
        if whole {
            ids = (0..self.hosts.len() as u32).collect();
        }
        let flight = self.flight.iter().map(|(visit, flight)| (flight.host, *visit));
        let mut flight: Vec<(u32, u64)> =
            flight.filter(|(host, _)| whole || self.hosts[*host as usize].dirty).collect();
        flight.sort_unstable();
        for id in ids {
            let first = flight.partition_point(|(host, _)| *host < id);
            let mine = flight[first..].iter().take_while(|(host, _)| *host == id);
            let mut in_flight = Vec::new();
            for (_, visit) in mine {
                in_flight.extend_from_slice(&self.flight[visit].record);
            }
            let host = &mut self.hosts[id as usize];
            host.dirty = false;
            let out = &mut self.log.frame;
            out.push(HOST);
            put_varint(out, u64::from(id));
            let numbers = &host.numbers;
            put_option(out, numbers.ip.map(u64::from));
            put_option(out, numbers.delay_us);
            put_signed(out, numbers.ended);
            put_varint(out, numbers.busy_us);
            put_signed(out, numbers.hold_until);
            put_varint(out, u64::from(numbers.failures));
            host.queue.log(&in_flight, whole, out);
            self.log.entry()?;
        }
        Ok(())
    }

    /// Comes back to a state, or to none, and removes all files that are not part of it.
    pub(super) fn restore(&mut self, state: Option<&State>) -> Result<()> {
        let mut log = Log::new(self.log.files.clone(), self.log.dir.clone());
        if let Some(state) = state {
            let mut queues = Vec::new();
            log.read(state, |entries| self.replay(entries, &mut queues))?;
            for (id, queue) in queues.into_iter().enumerate() {
                let missing = || log.damaged(&state.log, "lacks records of a queue");
                let queue = queue.finish(&mut self.segments)?.ok_or_else(missing)?;
                self.queued += queue.len();
                self.buffered += queue.bytes();
                self.hosts[id].queue = queue;
            }
            self.segments.restored(state.next_segment, state.segment_len)?;
            (log.hosts, log.ips) = (self.hosts.len(), self.ips.len());
        }
        self.log = log;
        for name in self.log.files.list(&self.log.dir)? {
            let ours = name.starts_with("state-") || name.starts_with("queue-");
            let needed = state.is_some_and(|state| state.log == name) || self.segments.needs(&name);
            if ours && !needed && Path::new(&name).extension().is_some_and(|e| e == "log") {
                self.log.files.remove(self.log.dir.join(name))?;
            }
        }
        self.dirty_hosts.clear();
        self.dirty_ips.clear();
        for id in 0..self.hosts.len() {
            self.hosts[id].dirty = false;
            self.awake(id as u32);
        }
        self.ips.iter_mut().for_each(|ip| ip.dirty = false);
        Ok(())
    }

    /// Takes entries over; `None` if the bytes are none.
    fn replay(&mut self, mut entries: &[u8], queues: &mut Vec<Replay>) -> Option<()> {
        let bytes = &mut entries;
        while let Some((&kind, rest)) = bytes.split_first() {
            *bytes = rest;
            match kind {
                NEW_HOST => {
                    self.host_id(std::str::from_utf8(take_bytes(bytes)?).ok()?);
                    queues.push(Replay::default());
                }
                HOST => {
                    let id = take_u32(bytes)? as usize;
                    let numbers = &mut self.hosts.get_mut(id)?.numbers;
                    let mut ip = None;
                    take_option(bytes, &mut ip)?;
                    if ip.is_some_and(|ip| ip >= self.ips.len() as u64) {
                        return None;
                    }
                    numbers.ip = ip.map(|ip| ip as u32);
                    take_option(bytes, &mut numbers.delay_us)?;
                    numbers.ended = take_signed(bytes)?;
                    numbers.busy_us = take_varint(bytes)?;
                    numbers.hold_until = take_signed(bytes)?;
                    numbers.failures = take_u32(bytes)?;
                    queues.get_mut(id)?.apply(bytes)?;
                }
                NEW_IP => {
                    self.ip_id(std::str::from_utf8(take_bytes(bytes)?).ok()?);
                }
                IP => {
                    let ip = self.ips.get_mut(take_u32(bytes)? as usize)?;
                    let mut own = None;
                    take_option(bytes, &mut own)?;
                    ip.own_delay = own.is_some();
                    ip.delay_us = own.unwrap_or(ip.delay_us);
                    ip.ended = take_signed(bytes)?;
                    ip.hold_until = take_signed(bytes)?;
                }
                VISIT => self.visits = take_varint(bytes).filter(|visits| visits >> 48 == 0)?,
                _ => return None,
            }
        }
        (queues.len() == self.hosts.len()).then_some(())
    }
}
