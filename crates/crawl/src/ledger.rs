//! The politeness ledger: every request, on record before it leaves.
//!
//! An *intent* is handed to the operating system before the first byte of its request, an
//! *end* when the answer is there. The ledger is never rolled back: whatever the crawl forgets
//! in a crash, it remembers whom it asked when. Two uses:
//!
//! - on start ([`last_by_host`]), every host and IP waits until max(last intent + its delay,
//!   restart + its delay, stored Retry-After);
//! - the audit ([`replay`]) compares each intent with the end before it.
//!
//! # Format
//!
//! A directory of segments `NNNNNNNN-T.ledger`: eight digits of sequence number, T the time
//! of its first record in microseconds of UTC, so that a reader can begin at the segment it needs. All
//! integers little-endian. A segment is `CRVLEDG1`, then frames:
//!
//! ```text
//! length u16 (of the payload) · CRC-32 u32 (of the payload) · payload
//! payload: kind u8 · at i64 · rest
//!   intent (1): delay u64 · IP delay u64 · address · host
//!   end    (2): status u16 (0: no answer) · hold until i64 (0: none) · address · host
//! address: 0 (none) | 4, four bytes | 6, sixteen bytes;   host: UTF-8 to the end of the payload
//! ```
//!
//! A kind with bit 7 set is *carried over*: when a segment is full, the records of the old
//! one that still bind somebody are repeated at the head of the new one. So the newest
//! segment alone says who must wait, and old ones serve the audit only.
//!
//! Reading ends at the first frame that is cut short or whose checksum fails: a torn tail is
//! what a crash leaves. A writer never continues a segment, it opens the next.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::files::{Appender, Files};

const MAGIC: &[u8; 8] = b"CRVLEDG1";
const SUFFIX: &str = ".ledger";
const INTENT: u8 = 1;
const END: u8 = 2;
const CARRIED: u8 = 0x80;
/// A full segment; also what the turn to the next one has to read again.
const SEGMENT: u64 = 8 << 20;
/// No host name is longer (RFC 1035 says 253, and a port).
const MAX_HOST: usize = 1024;

/// What the ledger says of one request, or of its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Authority asked.
    pub host: String,
    /// Address asked.
    pub ip: Option<IpAddr>,
    /// When.
    pub at: i64,
    /// Repeated from an older segment.
    pub carried: bool,
    /// Which of the two.
    pub event: Event,
}

/// The two kinds of record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A request is about to leave, under these delays.
    Intent {
        /// To the host's next request.
        delay_us: u64,
        /// To the address's next request.
        ip_delay_us: u64,
    },
    /// It has been answered, or given up.
    End {
        /// 0 when there was no answer.
        status: u16,
        /// Retry-After as a time; 0 for none.
        hold_until: i64,
    },
}

impl Record {
    /// Until when the record binds somebody.
    fn binds_until(&self) -> i64 {
        match self.event {
            Event::Intent { delay_us, ip_delay_us } => {
                self.at.saturating_add_unsigned(delay_us.max(ip_delay_us))
            }
            Event::End { hold_until, .. } => hold_until,
        }
    }

    /// Appends the record as a frame.
    fn write(&self, into: &mut Vec<u8>) {
        write_frame(into, &self.host, self.ip, self.at, self.carried, self.event);
    }

    fn read(payload: &[u8]) -> Option<Self> {
        let mut rest = payload;
        let [kind] = take(&mut rest)?;
        let at = i64::from_le_bytes(take(&mut rest)?);
        let event = match kind & !CARRIED {
            INTENT => Event::Intent {
                delay_us: u64::from_le_bytes(take(&mut rest)?),
                ip_delay_us: u64::from_le_bytes(take(&mut rest)?),
            },
            END => Event::End {
                status: u16::from_le_bytes(take(&mut rest)?),
                hold_until: i64::from_le_bytes(take(&mut rest)?),
            },
            _ => return None,
        };
        let ip = match take(&mut rest)? {
            [0] => None,
            [4] => Some(IpAddr::from(take::<4>(&mut rest)?)),
            [6] => Some(IpAddr::from(take::<16>(&mut rest)?)),
            _ => return None,
        };
        let host = std::str::from_utf8(rest).ok()?.to_owned();
        Some(Self { host, ip, at, carried: kind & CARRIED != 0, event })
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk()?;
    *rest = tail;
    Some(*head)
}

fn write_frame(
    into: &mut Vec<u8>,
    host: &str,
    ip: Option<IpAddr>,
    at: i64,
    carried: bool,
    event: Event,
) {
    let start = into.len();
    into.extend_from_slice(&[0; 6]);
    let carried = if carried { CARRIED } else { 0 };
    match event {
        Event::Intent { delay_us, ip_delay_us } => {
            into.push(INTENT | carried);
            into.extend_from_slice(&at.to_le_bytes());
            into.extend_from_slice(&delay_us.to_le_bytes());
            into.extend_from_slice(&ip_delay_us.to_le_bytes());
        }
        Event::End { status, hold_until } => {
            into.push(END | carried);
            into.extend_from_slice(&at.to_le_bytes());
            into.extend_from_slice(&status.to_le_bytes());
            into.extend_from_slice(&hold_until.to_le_bytes());
        }
    }
    match ip {
        None => into.push(0),
        Some(IpAddr::V4(ip)) => {
            into.push(4);
            into.extend_from_slice(&ip.octets());
        }
        Some(IpAddr::V6(ip)) => {
            into.push(6);
            into.extend_from_slice(&ip.octets());
        }
    }
    into.extend_from_slice(&host.as_bytes()[..host.floor_char_boundary(MAX_HOST)]);
    let length = (into.len() - start - 6) as u16;
    let crc = crc32fast::hash(&into[start + 6..]);
    into[start..start + 2].copy_from_slice(&length.to_le_bytes());
    into[start + 2..start + 6].copy_from_slice(&crc.to_le_bytes());
}

/// The records of a segment, up to where it is torn.
struct Frames {
    bytes: Vec<u8>,
    at: usize,
}

impl Frames {
    fn new(bytes: Vec<u8>) -> Self {
        let at = if bytes.starts_with(MAGIC) { MAGIC.len() } else { bytes.len() };
        Self { bytes, at }
    }
}

impl Iterator for Frames {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        let mut rest = self.bytes.get(self.at..)?;
        let length = usize::from(u16::from_le_bytes(take(&mut rest)?));
        let crc = u32::from_le_bytes(take(&mut rest)?);
        let payload = rest.get(..length).filter(|payload| crc32fast::hash(payload) == crc)?;
        self.at += 6 + length;
        Record::read(payload)
    }
}

/// Sequence number and time of the first record.
fn segment_of(name: &str) -> Option<(u64, i64)> {
    let (sequence, at) = name.strip_suffix(SUFFIX)?.split_once('-')?;
    Some((sequence.parse().ok()?, at.parse().ok()?))
}

struct State {
    segment: Appender,
    path: String,
    sequence: u64,
    /// Bytes at the head that repeat older records. A segment has at least as many of its
    /// own, or else many hosts that wait long would make every record turn the segment.
    carried: u64,
    frame: Vec<u8>,
}

/// The ledger of an agent, open for writing.
///
/// It asks for nothing but that the system has the bytes (`write(2)`): a process may die at
/// any point. Against power loss the restart's own wait suffices, since every host then waits
/// its delay from the restart on; give it [`Files`] without fsync.
pub struct Ledger {
    files: Files,
    dir: String,
    capacity: u64,
    state: Mutex<State>,
}

impl Ledger {
    /// Opens the next segment in `dir`.
    ///
    /// # Errors
    /// When the directory cannot be read or written.
    pub fn open(files: &Files, dir: &str) -> io::Result<Self> {
        Self::with_segments(files, dir, SEGMENT)
    }

    fn with_segments(files: &Files, dir: &str, capacity: u64) -> io::Result<Self> {
        let newest = segments(&files.path(dir))?.pop();
        let now = crate::clock::now_us();
        let (sequence, carried) = match newest {
            Some((sequence, _, name)) => {
                let bytes = files.read(format!("{dir}/{name}"))?;
                (sequence + 1, carry(Frames::new(bytes), now))
            }
            None => (1, Vec::new()),
        };
        let state = begin(files, dir, sequence, now, &carried)?;
        Ok(Self { files: files.clone(), dir: dir.to_owned(), capacity, state: Mutex::new(state) })
    }

    /// Records that a request is about to leave; when this returns the record is with the
    /// operating system.
    ///
    /// # Errors
    /// When it cannot be written: then the request must not leave.
    pub fn intent(
        &self,
        host: &str,
        ip: Option<IpAddr>,
        at_us: i64,
        delay_us: u64,
        ip_delay_us: u64,
    ) -> io::Result<()> {
        let event = Event::Intent { delay_us, ip_delay_us };
        self.append(host, ip, at_us, event, true)
    }

    /// Records that a request has been answered (`status` 0: given up). Without a hold it
    /// may wait for the next intent to be written.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn end(
        &self,
        host: &str,
        ip: Option<IpAddr>,
        at_us: i64,
        status: u16,
        hold_until: i64,
    ) -> io::Result<()> {
        let event = Event::End { status, hold_until };
        self.append(host, ip, at_us, event, hold_until > 0)
    }

    /// Hands over to the operating system what still waits.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn flush(&self) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.segment.flush().map(drop)
    }

    fn append(
        &self,
        host: &str,
        ip: Option<IpAddr>,
        at: i64,
        event: Event,
        at_once: bool,
    ) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *state;
        if state.segment.len() - state.carried >= self.capacity.max(state.carried) {
            state.segment.flush()?;
            let bytes = self.files.read(&state.path)?;
            let carried = carry(Frames::new(bytes), at);
            *state = begin(&self.files, &self.dir, state.sequence + 1, at, &carried)?;
        }
        state.frame.clear();
        write_frame(&mut state.frame, host, ip, at, false, event);
        state.segment.append(&state.frame)?;
        if at_once {
            state.segment.flush()?;
        }
        Ok(())
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // An end that is lost here costs nothing: its intent stands.
        let _ = self.flush();
    }
}

/// Begins a segment with what older ones still demand.
fn begin(
    files: &Files,
    dir: &str,
    sequence: u64,
    now: i64,
    carried: &[Record],
) -> io::Result<State> {
    let path = format!("{dir}/{sequence:08}-{now}{SUFFIX}");
    let mut segment = files.appender(&path)?;
    let mut frame = Vec::with_capacity(256);
    frame.extend_from_slice(MAGIC);
    for record in carried {
        record.write(&mut frame);
    }
    segment.append(&frame)?;
    let (carried, _) = segment.flush()?;
    Ok(State { segment, path, sequence, carried, frame })
}

/// The latest records that still bind a host, for the head of the next segment.
fn carry(records: Frames, now: i64) -> Vec<Record> {
    let mut latest: HashMap<(String, Option<IpAddr>, bool), Record> = HashMap::new();
    for record in records.filter(|record| record.binds_until() > now) {
        let intent = matches!(record.event, Event::Intent { .. });
        latest.insert((record.host.clone(), record.ip, intent), record);
    }
    let mut carried: Vec<Record> =
        latest.into_values().map(|record| Record { carried: true, ..record }).collect();
    carried.sort_by_key(|record| record.at);
    carried
}

/// The segments of a directory, oldest first.
fn segments(dir: &Path) -> io::Result<Vec<(u64, i64, String)>> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if let Some((sequence, at)) = segment_of(&name) {
            found.push((sequence, at, name));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The records of a ledger from the segment that was open at `since` on, in the order
/// written; one segment is in memory at a time.
///
/// # Errors
/// When the directory or a segment cannot be read.
pub fn replay(
    dir: &Path,
    since: i64,
) -> io::Result<impl Iterator<Item = io::Result<Record>> + use<>> {
    let mut found = segments(dir)?;
    let first = found.partition_point(|(_, at, _)| *at <= since).saturating_sub(1);
    let dir = dir.to_owned();
    Ok(found.split_off(first.min(found.len())).into_iter().flat_map(move |(_, _, name)| {
        let (records, fault) = match std::fs::read(dir.join(name)) {
            Ok(bytes) => (Some(Frames::new(bytes)), None),
            Err(error) => (None, Some(Err(error))),
        };
        records.into_iter().flatten().map(Ok).chain(fault)
    }))
}

/// A request with its end, as the audit wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Authority asked.
    pub host: String,
    /// Address asked.
    pub ip: Option<IpAddr>,
    /// When it left.
    pub intent_at: i64,
    /// When it was over; none when the process died meanwhile.
    pub ended_at: Option<i64>,
    /// 0 when there was no answer.
    pub status: u16,
    /// Delay to the host in force.
    pub delay_us: u64,
    /// Delay to the address in force.
    pub ip_delay_us: u64,
    /// Retry-After as a time; 0 for none.
    pub hold_until: i64,
}

/// The requests since a time, in the order in which they left, each joined to its end: the first
/// end of the same host and address that no earlier intent has taken.
///
/// # Errors
/// When the ledger cannot be read.
pub fn requests(dir: &Path, since: i64) -> io::Result<Vec<Request>> {
    let mut requests: Vec<Request> = Vec::new();
    let mut open: HashMap<(String, Option<IpAddr>), VecDeque<usize>> = HashMap::new();
    for record in replay(dir, since)? {
        let Record { host, ip, at, carried, event } = record?;
        if carried || at < since {
            continue;
        }
        match event {
            Event::Intent { delay_us, ip_delay_us } => {
                open.entry((host.clone(), ip)).or_default().push_back(requests.len());
                requests.push(Request {
                    host,
                    ip,
                    intent_at: at,
                    ended_at: None,
                    status: 0,
                    delay_us,
                    ip_delay_us,
                    hold_until: 0,
                });
            }
            Event::End { status, hold_until } => {
                let begun = open.get_mut(&(host, ip)).and_then(VecDeque::pop_front);
                if let Some(request) = begun.and_then(|at| requests.get_mut(at)) {
                    request.ended_at = Some(at);
                    request.status = status;
                    request.hold_until = hold_until;
                }
            }
        }
    }
    Ok(requests)
}

/// What binds a host, or an address, at a restart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Last {
    /// Its last request.
    pub intent_at: i64,
    /// The delay then in force.
    pub delay_us: u64,
    /// The latest Retry-After; 0 for none (always, for an address).
    pub hold_until: i64,
}

/// The last word on every host, and on every address.
#[derive(Debug, Default)]
pub struct LastByHost {
    /// By authority.
    pub hosts: HashMap<String, Last>,
    /// By address.
    pub ips: HashMap<IpAddr, Last>,
}

/// Compacts the ledger for a restart: the records since `since` (the time of the last
/// checkpoint), and whatever older ones still bind.
///
/// # Errors
/// When the ledger cannot be read.
pub fn last_by_host(dir: &Path, since: i64) -> io::Result<LastByHost> {
    let mut last = LastByHost::default();
    for record in replay(dir, since)? {
        let Record { host, ip, at, event, .. } = record?;
        match event {
            Event::Intent { delay_us, ip_delay_us } => {
                let of_host = last.hosts.entry(host).or_default();
                if at >= of_host.intent_at {
                    (of_host.intent_at, of_host.delay_us) = (at, delay_us);
                }
                if let Some(ip) = ip {
                    let of_ip = last.ips.entry(ip).or_default();
                    if at >= of_ip.intent_at {
                        (of_ip.intent_at, of_ip.delay_us) = (at, ip_delay_us);
                    }
                }
            }
            Event::End { hold_until, .. } if hold_until > 0 => {
                let of_host = last.hosts.entry(host).or_default();
                of_host.hold_until = of_host.hold_until.max(hold_until);
            }
            Event::End { .. } => {}
        }
    }
    Ok(last)
}

#[cfg(test)]
mod tests;
