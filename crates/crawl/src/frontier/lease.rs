//! Leases: a host's token and its first URLs, out and back.

use arrow_array::builder::{
    Float32Builder, StringBuilder, UInt8Builder, UInt16Builder, UInt64Builder,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch, UInt64Array};

use super::host::Token;
use super::record::Record;
use super::{Frontier, FrontierError, PER_FLIGHT, Result};
use crate::batch::{self, LEASES};

/// A lease is named by its first visit; its rows are the visits that follow.
#[derive(Debug)]
pub(super) struct Lease {
    pub(super) host: u32,
    /// The IP whose token went with it.
    ip: Option<u32>,
    rows: u32,
}

/// A URL in flight.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) host: u32,
    pub(super) record: Box<[u8]>,
}

/// One row of [`batch::ENDS`].
struct End<'a> {
    lease: u64,
    ended_at: i64,
    ip: Option<&'a str>,
    consumed: u32,
    requests: u32,
    busy_us: u64,
    hold_until: i64,
    failed: bool,
}

/// Columns of [`batch::LEASES`] in the making.
#[derive(Default)]
struct Rows {
    lease: UInt64Builder,
    visit: UInt64Builder,
    host: StringBuilder,
    ip: StringBuilder,
    url: StringBuilder,
    url_hash: UInt64Builder,
    depth: UInt16Builder,
    score: Float32Builder,
    attempt: UInt8Builder,
    burst_us: UInt64Builder,
    delay_us: UInt64Builder,
    ip_delay_us: UInt64Builder,
    text: String,
}

impl Rows {
    fn finish(mut self) -> Result<RecordBatch> {
        let columns: Vec<arrow_array::ArrayRef> = vec![
            std::sync::Arc::new(self.lease.finish()),
            std::sync::Arc::new(self.visit.finish()),
            std::sync::Arc::new(self.host.finish()),
            std::sync::Arc::new(self.ip.finish()),
            std::sync::Arc::new(self.url.finish()),
            std::sync::Arc::new(self.url_hash.finish()),
            std::sync::Arc::new(self.depth.finish()),
            std::sync::Arc::new(self.score.finish()),
            std::sync::Arc::new(self.attempt.finish()),
            std::sync::Arc::new(self.burst_us.finish()),
            std::sync::Arc::new(self.delay_us.finish()),
            std::sync::Arc::new(self.ip_delay_us.finish()),
        ];
        RecordBatch::try_new(LEASES.clone(), columns)
            .map_err(|e| FrontierError::Misuse(e.to_string()))
    }
}

impl Frontier {
    /// Gives out up to `room` hosts whose lawful time has come at `now`, each with its first
    /// URLs ([`batch::LEASES`]).
    ///
    /// # Errors
    /// When a queue cannot be read back from disk.
    pub fn lease(&mut self, room: usize, now: i64) -> Result<RecordBatch> {
        self.clock = self.clock.max(now);
        let mut rows = Rows::default();
        for _ in 0..room {
            let Some(host) = self.first(now) else { break };
            let numbers = self.hosts[host as usize].numbers;
            let ip_delay = numbers.ip.map_or(0, |ip| self.ips[ip as usize].delay_us);
            let (limit, burst_us) = numbers.burst(&self.options, ip_delay);
            if let Some(ip) = numbers.ip {
                self.ips[ip as usize].busy += 1;
            }
            self.withdraw(host, Token::Leased);
            let lease = self.next_visit();
            let count = self.take_off(host, lease, limit, burst_us, &mut rows)?;
            self.leases.insert(lease, Lease { host, ip: numbers.ip, rows: count });
        }
        rows.finish()
    }

    /// Takes up to `limit` URLs from the queue of a host that is given up, as rows of
    /// [`batch::LEASES`] with lease 0: they are in flight until their rows are stored.
    ///
    /// # Errors
    /// When the queue cannot be read back from disk.
    pub fn retire(&mut self, host: &str, limit: usize) -> Result<RecordBatch> {
        let mut rows = Rows::default();
        if let Some(&host) = self.host_ids.get(host) {
            self.take_off(host, 0, limit, 0, &mut rows)?;
            let record = &self.hosts[host as usize];
            if record.token == Token::Waiting && record.queue.is_empty() {
                self.withdraw(host, Token::Idle);
            }
        }
        rows.finish()
    }

    /// The waiting host at the top, if its time has come.
    fn first(&self, now: i64) -> Option<u32> {
        let host = self.unresolved.peek().map(|(turn, host)| ((turn.0, turn), host));
        let ip = self.waiting.peek().and_then(|(key, ip)| {
            let (_, host) = self.ips[ip as usize].hosts.peek()?;
            Some((key, host))
        });
        let (key, host) = host.into_iter().chain(ip).min()?;
        (key.0 <= now).then_some(host)
    }

    /// Takes `count` numbers of visits for pages that came by another way; the first of them.
    pub fn reserve(&mut self, count: u32) -> u64 {
        let first = self.next_visit();
        self.visits += u64::from(count);
        first
    }

    fn next_visit(&self) -> u64 {
        (u64::from(self.options.agent) << 48) | (self.visits + 1)
    }

    /// Takes URLs off a queue into flight and appends their rows.
    fn take_off(
        &mut self,
        host: u32,
        lease: u64,
        limit: usize,
        burst_us: u64,
        rows: &mut Rows,
    ) -> Result<u32> {
        let mut records = Vec::with_capacity(limit.min(1024));
        self.with_queue(host, |queue, segments| queue.pop(limit, segments, &mut records))?;
        self.touch(host);
        self.queued -= records.len() as u64;
        let numbers = self.hosts[host as usize].numbers;
        let delay_us = numbers.delay(&self.options);
        let name = self.hosts[host as usize].name.clone();
        let ip = numbers.ip.map(|ip| self.ips[ip as usize].name.clone());
        let ip_delay_us =
            numbers.ip.map_or(self.options.ip_delay_us, |ip| self.ips[ip as usize].delay_us);
        let count = records.len() as u32;
        for bytes in records {
            let visit = self.next_visit();
            let Some(record) = Record::read(&bytes) else {
                return Err(self.segments.lost(None));
            };
            rows.text.clear();
            record.write_url(&name, &mut rows.text);
            rows.lease.append_value(lease);
            rows.visit.append_value(visit);
            rows.host.append_value(&name);
            rows.ip.append_option(ip.as_deref());
            rows.url.append_value(&rows.text);
            rows.url_hash.append_value(record.hash);
            rows.depth.append_value(record.depth);
            rows.score.append_value(record.score);
            rows.attempt.append_value(record.attempt);
            rows.burst_us.append_value(burst_us);
            rows.delay_us.append_value(delay_us);
            rows.ip_delay_us.append_value(ip_delay_us);
            self.visits += 1;
            self.flying += PER_FLIGHT + bytes.len();
            self.flight.insert(visit, Flight { host, record: bytes });
        }
        Ok(count)
    }

    /// Takes the tokens of ended leases back ([`batch::ENDS`]). URLs past the consumed ones
    /// return to the head of their queue in order, unless they were stored meanwhile.
    ///
    /// # Errors
    /// When a lease is not out, is named twice, or less URLs were leased than consumed; nothing
    /// was changed then.
    pub fn settle(&mut self, ends: &RecordBatch) -> Result<()> {
        let ends = read_ends(ends)?;
        let mut seen = std::collections::HashSet::new();
        for end in &ends {
            let rows = self.leases.get(&end.lease).map(|lease| lease.rows);
            if rows.is_none_or(|rows| end.consumed > rows) || !seen.insert(end.lease) {
                let (lease, consumed) = (end.lease, end.consumed);
                return Err(FrontierError::Misuse(match rows {
                    Some(rows) if end.consumed > rows => {
                        format!("settle: lease {lease} has {rows} URLs, {consumed} were consumed")
                    }
                    _ => format!("settle: lease {lease} is not out"),
                }));
            }
        }
        for end in &ends {
            self.end(end);
        }
        Ok(())
    }

    fn end(&mut self, end: &End<'_>) {
        let Some(lease) = self.leases.remove(&end.lease) else { return };
        let host = lease.host;
        let ip = end.ip.map(|name| self.ip_id(name));
        if let Some(held) = lease.ip {
            self.ips[held as usize].busy -= 1;
        }
        if end.requests > 0 {
            for asked in [lease.ip, ip].into_iter().flatten() {
                let record = &mut self.ips[asked as usize];
                record.ended = record.ended.max(end.ended_at);
                self.touch_ip(asked);
            }
        }
        let numbers = &mut self.hosts[host as usize].numbers;
        numbers.hold_until = numbers.hold_until.max(end.hold_until);
        if end.requests > 0 {
            numbers.ended = end.ended_at;
            numbers.busy_us = end.busy_us;
        }
        if end.failed {
            numbers.back_off(end.ended_at, &self.options);
            numbers.ip = ip;
        } else {
            numbers.ip = ip.or(numbers.ip);
            if end.requests > 0 {
                numbers.failures = 0;
            }
        }
        let unconsumed = end.lease + u64::from(end.consumed)..end.lease + u64::from(lease.rows);
        let mut records = Vec::new();
        for visit in unconsumed {
            if let Some(flight) = self.land(visit) {
                records.extend_from_slice(&flight.record);
                self.queued += 1;
            }
        }
        self.with_queue(host, |queue, _| queue.give_back(records));
        self.touch(host);
        self.hosts[host as usize].token = Token::Idle;
        self.awake(host);
        for asked in [lease.ip, ip].into_iter().flatten() {
            self.place_ip(asked);
        }
    }

    pub(super) fn check_flight(&self, visits: &UInt64Array) -> Result<()> {
        let mut seen = std::collections::HashSet::new();
        match visits.values().iter().find(|v| !self.flight.contains_key(v) || !seen.insert(**v)) {
            Some(visit) => Err(FrontierError::Misuse(format!("visit {visit} is not in flight"))),
            None => Ok(()),
        }
    }

    /// Takes a URL out of flight.
    pub(super) fn land(&mut self, visit: u64) -> Option<Flight> {
        let flight = self.flight.remove(&visit)?;
        self.flying -= PER_FLIGHT + flight.record.len();
        self.touch(flight.host);
        Some(flight)
    }
}

fn read_ends(ends: &RecordBatch) -> Result<Vec<End<'_>>> {
    let lease = batch::hashes(ends, "lease")?;
    let ended_at = batch::numbers::<Int64Type>(ends, "ended_at")?;
    let ip = batch::strings(ends, "ip")?;
    let consumed = batch::numbers::<UInt32Type>(ends, "consumed")?;
    let requests = batch::numbers::<UInt32Type>(ends, "requests")?;
    let busy_us = batch::numbers::<UInt64Type>(ends, "busy_us")?;
    let hold_until = batch::numbers::<Int64Type>(ends, "hold_until")?;
    let failed = ends
        .column_by_name("failed")
        .and_then(|column| column.as_boolean_opt())
        .ok_or_else(|| FrontierError::Misuse("settle: column \"failed\" is not boolean".into()))?;
    let row = |row| End {
        lease: lease.value(row),
        ended_at: ended_at.value(row),
        ip: ip.is_valid(row).then(|| ip.value(row)),
        consumed: consumed.value(row),
        requests: requests.value(row),
        busy_us: busy_us.value(row),
        hold_until: hold_until.value(row),
        failed: failed.value(row),
    };
    Ok((0..ends.num_rows()).map(row).collect())
}
