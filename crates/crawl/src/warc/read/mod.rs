//! Reading WARC files (ISO 28500, versions 0.17 to 1.1) that anybody has written.
//!
//! A [`Reader`] gives record after record in bounded memory: a gzip member or zstd frame a
//! record, a whole file in one member, members that do not end where records end, or no
//! compression. What is wrong with a file is said as a [`Problem`] with its place, and reading
//! goes on:
//!
//! | what is found | what is done |
//! |---|---|
//! | bytes between records | skipped up to the next `WARC/` at the start of a line |
//! | a member that does not decode | the next member that begins with a record is looked for |
//! | the file ends inside a record | the record is given as far as it goes, `cut` |
//! | `Content-Length` too large | the block ends where the next record begins |
//! | `Content-Length` missing | the same |
//! | a block above the limit | its first bytes are given, `cut` |
//!
//! Nothing here panics or allocates by what a file claims: a block grows as its bytes come.

mod batch;
mod http;
mod members;

use std::io::{self, Read, Seek};
use std::net::IpAddr;

use memchr::{memchr, memmem};

pub use batch::batch;
pub use http::{Message, message};
use members::{Members, WARC};

use crate::fetch::days_from_civil;

/// The most bytes of a record's own head.
const MAX_HEAD: usize = 1 << 20;
/// The end of a block and the beginning of the next record.
const SEAM: &[u8] = b"\r\n\r\nWARC/";
/// How far is looked for the next record after a block: a few line ends and its `WARC/`.
const LOOK: usize = 16;

/// What is wrong with a file, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Offset in the file: of the member, where it is compressed.
    pub offset: u64,
    /// In words.
    pub what: String,
}

/// A record as it stands in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Where it begins: in a compressed file, where its member begins.
    pub offset: u64,
    /// Its named fields in order; values without the white space around them.
    pub fields: Vec<(String, String)>,
    /// Its block.
    pub block: Vec<u8>,
    /// The block is not whole.
    pub cut: bool,
}

impl Record {
    /// The value of the first field of that name, letter case aside.
    pub fn field(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// `WARC-Type` in lower case; empty without one.
    pub fn kind(&self) -> String {
        self.field("WARC-Type").unwrap_or_default().to_ascii_lowercase()
    }

    /// The target URI; some writers put it in angle brackets.
    pub fn url(&self) -> Option<&str> {
        let uri = self.field("WARC-Target-URI")?;
        Some(uri.strip_prefix('<').and_then(|uri| uri.strip_suffix('>')).unwrap_or(uri))
    }

    /// `WARC-Date` in microseconds of UTC.
    pub fn date_us(&self) -> Option<i64> {
        parse_date(self.field("WARC-Date")?)
    }

    /// Who answered.
    pub fn ip(&self) -> Option<IpAddr> {
        self.field("WARC-IP-Address")?.parse().ok()
    }
}

/// Reads the records of one file.
pub struct Reader<R: Read> {
    members: Members<R>,
    /// Decoded bytes of the stretch that is being read, from `at` on.
    buffer: Vec<u8>,
    at: usize,
    /// The first bytes of the member after it, when that begins with a record.
    ahead: Option<Vec<u8>>,
    /// Where the stretch begins in the file, and how many of its bytes have left the buffer.
    start: u64,
    gone: u64,
    plain: bool,
    /// The stretch has no more bytes than the buffer.
    ended: bool,
    /// What is read now belongs to a record that has begun.
    inside: bool,
    limit: usize,
    problems: Vec<Problem>,
}

impl<R: Read + Seek> Reader<R> {
    /// A reader that gives at most `limit` bytes of a block.
    pub fn new(file: R, limit: usize) -> Self {
        Self {
            members: Members::new(file),
            buffer: Vec::new(),
            at: 0,
            ahead: None,
            start: 0,
            gone: 0,
            plain: false,
            ended: true,
            inside: false,
            limit,
            problems: Vec::new(),
        }
    }

    /// Bytes of the file read so far.
    pub fn position(&self) -> u64 {
        self.members.position()
    }

    /// What was found wrong since the last call.
    pub fn problems(&mut self) -> Vec<Problem> {
        std::mem::take(&mut self.problems)
    }

    /// The next record; `None` at the end of the file.
    ///
    /// # Errors
    /// When the file itself cannot be read.
    pub fn next_record(&mut self) -> io::Result<Option<Record>> {
        while self.find_start()? {
            let offset = self.offset();
            self.inside = true;
            let Some(fields) = self.head(offset)? else { continue };
            let mut record = Record { offset, fields, block: Vec::new(), cut: false };
            let length = record.field("Content-Length").map(str::parse::<u64>);
            if let Some(Ok(length)) = length {
                self.block(&mut record, length)?;
            } else {
                self.problem(offset, "a record without a Content-Length".to_owned());
                let block = self.up_to(b"\r\nWARC/", 2)?;
                self.keep(&mut record, &block);
            }
            return Ok(Some(record));
        }
        Ok(None)
    }

    /// Goes to the next `WARC/`; false at the end of the file.
    fn find_start(&mut self) -> io::Result<bool> {
        self.inside = false;
        loop {
            self.blank()?;
            if self.fill(WARC.len())? < WARC.len() && self.left().is_empty() {
                if !self.next_stretch()? {
                    return Ok(false);
                }
                continue;
            }
            if self.left().starts_with(WARC) {
                return Ok(true);
            }
            let (offset, start) = (self.offset(), self.consumed());
            self.up_to(b"\nWARC/", 1)?;
            let skipped = self.consumed() - start;
            self.problem(offset, format!("{skipped} bytes that are no record are skipped"));
        }
    }

    /// Line ends between records.
    fn blank(&mut self) -> io::Result<()> {
        while self.fill(1)? > 0 {
            let blank = self.left().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            self.at += blank;
            if !self.left().is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// The version line and the named fields, up to the empty line.
    fn head(&mut self, offset: u64) -> io::Result<Option<Vec<(String, String)>>> {
        let mut seen = 0;
        let end = loop {
            if let Some(end) = head_end(&self.left()[seen..]) {
                break seen + end;
            }
            seen = self.left().len().saturating_sub(3);
            let before = self.left().len();
            if before > MAX_HEAD || self.fill(before + 1)? == before {
                let size = self.left().len().min(MAX_HEAD);
                self.at += size;
                self.problem(offset, "a record whose head has no end".to_owned());
                return Ok(None);
            }
        };
        let fields = fields(&self.left()[..end]);
        self.at += end;
        Ok(Some(fields))
    }

    /// A block of stated length, which may be wrong.
    fn block(&mut self, record: &mut Record, length: u64) -> io::Result<()> {
        let mut missing = length;
        while missing > 0 && self.fill(1)? > 0 {
            let size = (self.left().len() as u64).min(missing) as usize;
            let kept = size.min(self.limit.saturating_sub(record.block.len()));
            record.block.extend_from_slice(&self.buffer[self.at..self.at + kept]);
            record.cut |= kept < size;
            self.at += size;
            missing -= size as u64;
        }
        if record.cut {
            self.problem(record.offset, format!("a block of {length} bytes is cut"));
            return Ok(());
        }
        self.fill(LOOK)?;
        let next = self.left().trim_ascii_start();
        if missing == 0 && (next.is_empty() || next.starts_with(WARC)) {
            return Ok(());
        }
        let size = record.block.len();
        let over = self.left().len().min(SEAM.len() - 1); // the seam may lie across the end
        record.block.extend_from_slice(&self.buffer[self.at..self.at + over]);
        if let Some(seam) = memmem::find(&record.block, SEAM) {
            self.at += over;
            let mut rest = record.block.split_off(seam);
            self.problem(
                record.offset,
                format!("Content-Length says {length} bytes, the next record begins after {seam}"),
            );
            self.gone = (self.gone + self.at as u64).saturating_sub(rest.len() as u64);
            rest.extend_from_slice(self.left());
            self.buffer = rest;
            self.at = 0;
            return Ok(());
        }
        record.block.truncate(size);
        if missing > 0 {
            record.cut = true;
            let there = length - missing;
            self.problem(
                record.offset,
                format!("the record is cut short: {there} of {length} bytes are there"),
            );
        }
        Ok(())
    }

    /// Puts a block of unknown length into a record.
    fn keep(&mut self, record: &mut Record, block: &[u8]) {
        let block = block.strip_suffix(b"\r\n").unwrap_or(block);
        record.cut = block.len() > self.limit;
        record.block = block[..block.len().min(self.limit)].to_vec();
    }

    /// Consumes and gives (at most `limit` and a little of) what comes before `mark`, with its
    /// first `with` bytes; the rest of the stretch when it does not come.
    fn up_to(&mut self, mark: &[u8], with: usize) -> io::Result<Vec<u8>> {
        let mut taken = Vec::new();
        loop {
            let found = memmem::find(self.left(), mark);
            let size = match found {
                Some(place) => place + with,
                None if self.ended => self.left().len(),
                None => self.left().len().saturating_sub(mark.len() - 1),
            };
            let room = (self.limit + mark.len()).saturating_sub(taken.len()).min(size);
            taken.extend_from_slice(&self.buffer[self.at..self.at + room]);
            self.at += size;
            let before = self.left().len();
            if found.is_some() || (self.fill(before + 1)? == before && before < mark.len()) {
                if found.is_none() {
                    taken.extend_from_slice(&self.buffer[self.at..]);
                    self.at = self.buffer.len();
                }
                return Ok(taken);
            }
        }
    }

    fn left(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    fn consumed(&self) -> u64 {
        self.gone + self.at as u64
    }

    fn offset(&self) -> u64 {
        if self.plain { self.start + self.consumed() } else { self.start }
    }

    fn problem(&mut self, offset: u64, what: String) {
        self.problems.push(Problem { offset, what });
    }

    /// Decodes until `wanted` bytes are left or the stretch ends; how many are.
    fn fill(&mut self, wanted: usize) -> io::Result<usize> {
        while self.left().len() < wanted && !self.ended {
            if self.at > 0 {
                self.buffer.drain(..self.at);
                self.gone += self.at as u64;
                self.at = 0;
            }
            match self.members.read(&mut self.buffer) {
                Ok(0) => self.join_next()?,
                Ok(_) => {}
                Err(error) => self.damage(error)?,
            }
        }
        Ok(self.left().len())
    }

    /// The member has ended: one that goes on with this stretch is joined to it.
    fn join_next(&mut self) -> io::Result<()> {
        self.ended = true;
        match self.members.open_next() {
            Ok(false) => return Ok(()),
            Ok(true) => {}
            Err(error) => return self.damage(error),
        }
        let mut first = Vec::new();
        while first.len() < WARC.len() {
            match self.members.read(&mut first) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => {
                    self.damage(error)?;
                    break;
                }
            }
        }
        let begins = first.trim_ascii_start().starts_with(WARC);
        if begins || (self.left().is_empty() && !self.inside) {
            self.ahead = Some(first);
        } else {
            self.buffer.extend_from_slice(&first);
            self.ended = false;
        }
        Ok(())
    }

    /// Says what is damaged and goes to the next member; an error of the file itself is raised.
    fn damage(&mut self, error: io::Error) -> io::Result<()> {
        if error.raw_os_error().is_some() {
            return Err(error);
        }
        let what = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the file ends inside a member".to_owned(),
            _ => "bytes that cannot be decoded are skipped".to_owned(),
        };
        self.problem(self.members.start(), what);
        self.ended = true;
        self.members.recover()
    }

    /// Begins the next stretch: what was read ahead, or the next member.
    fn next_stretch(&mut self) -> io::Result<bool> {
        let first = match self.ahead.take() {
            Some(first) => first,
            None => loop {
                match self.members.open_next() {
                    Ok(true) => break Vec::new(),
                    Ok(false) => return Ok(false),
                    Err(error) => self.damage(error)?,
                }
            },
        };
        self.buffer = first;
        self.start = self.members.start();
        self.plain = self.members.is_plain();
        (self.at, self.gone, self.ended) = (0, 0, false);
        Ok(true)
    }
}

/// The end of a head: after its empty line.
fn head_end(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(end) = memchr(b'\n', &bytes[at..]) {
        at += end + 1;
        let rest = &bytes[at..];
        if rest.starts_with(b"\n") {
            return Some(at + 1);
        }
        if rest.starts_with(b"\r\n") {
            return Some(at + 2);
        }
    }
    None
}

/// The fields after the version line; folded lines are joined with a space.
fn fields(head: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(head);
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in text.lines().skip(1).filter(|line| !line.is_empty()) {
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = fields.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            fields.push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
    fields
}

/// A date as WARC writes it, to the second or finer, or the 14 digits of older files; from the
/// year 1 to the year 9999, which are the bounds of those who will read it.
///
/// # Examples
/// ```
/// use crivello_crawl::warc::parse_date;
/// assert_eq!(parse_date("2025-11-18T21:35:43.000042Z"), Some(1_763_501_743_000_042));
/// assert_eq!(parse_date("20251118213543"), Some(1_763_501_743_000_000));
/// assert_eq!(parse_date("yesterday"), None);
/// assert_eq!(parse_date("00000101000000"), None);
/// ```
pub fn parse_date(text: &str) -> Option<i64> {
    let (whole, fraction) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    let digits: Vec<i64> =
        whole.chars().filter_map(|letter| letter.to_digit(10).map(i64::from)).collect();
    if digits.len() != 14 || !whole.is_ascii() || whole.len() > 20 {
        return None;
    }
    let number = |range: std::ops::Range<usize>| digits[range].iter().fold(0, |n, d| n * 10 + d);
    let (month, day) = (number(4..6), number(6..8));
    let (hour, minute, second) = (number(8..10), number(10..12), number(12..14));
    let valid = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !valid {
        return None;
    }
    let mut micros: i64 = 0;
    let mut finer = fraction.bytes().take_while(u8::is_ascii_digit);
    for _ in 0..6 {
        micros = micros * 10 + finer.next().map_or(0, |digit| i64::from(digit - b'0'));
    }
    let days = days_from_civil(number(0..4), month, day);
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
    let bounds = days_from_civil(1, 1, 1)..days_from_civil(10_000, 1, 1);
    bounds.contains(&seconds.div_euclid(86_400)).then_some(seconds * 1_000_000 + micros)
}

#[cfg(test)]
mod tests;
