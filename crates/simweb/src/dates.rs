//! Dates: when a page was published, and when it last changed.
//!
//! A page that changes does so as a Poisson process of known rate that needs no memory: time
//! is cut into units of one mean interval, each unit holds a Poisson(1) number of changes at
//! uniform moments, all of it a function of the page's seed and the unit's number. The version
//! at a time is the last change before it.

use crate::hosts::write_number;
use crate::rng::{Rng, mix};

const DAY_S: i64 = 86_400;
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

/// When the page of a seed was published: seconds since 1970, within 2015 to 2025.
pub const fn published(seed: u64) -> i64 {
    1_420_070_400 + (mix(seed, 0xda7e) % (11 * 365 * DAY_S as u64)) as i64
}

/// Year, month (1 to 12) and day of a day since 1970.
const fn civil(day: i64) -> (i64, i64, i64) {
    // Days since 1 March of year 0; eras of 400 years have 146,097 days.
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    (era * 400 + year + if month <= 2 { 1 } else { 0 }, month, day)
}

fn two(out: &mut Vec<u8>, number: i64) {
    out.extend_from_slice(&[b'0' + (number / 10) as u8, b'0' + (number % 10) as u8]);
}

fn clock(out: &mut Vec<u8>, time: i64) {
    let second = time.rem_euclid(DAY_S);
    two(out, second / 3600);
    out.push(b':');
    two(out, second / 60 % 60);
    out.push(b':');
    two(out, second % 60);
}

/// Appends `2024-05-03T10:00:00Z`.
pub fn write_iso(time: i64, out: &mut Vec<u8>) {
    let (year, month, day) = civil(time.div_euclid(DAY_S));
    write_number(out, year as u64);
    out.push(b'-');
    two(out, month);
    out.push(b'-');
    two(out, day);
    out.push(b'T');
    clock(out, time);
    out.push(b'Z');
}

/// Appends `3 May 2024`.
pub fn write_day(time: i64, out: &mut Vec<u8>) {
    let (year, month, day) = civil(time.div_euclid(DAY_S));
    write_number(out, day as u64);
    out.push(b' ');
    out.extend_from_slice(MONTHS[month as usize - 1].as_bytes());
    out.push(b' ');
    write_number(out, year as u64);
}

/// Appends `Fri, 03 May 2024 10:00:00 GMT`.
pub fn write_http(time: i64, out: &mut Vec<u8>) {
    let days = time.div_euclid(DAY_S);
    let (year, month, day) = civil(days);
    out.extend_from_slice(DAYS[days.rem_euclid(7) as usize].as_bytes());
    out.extend_from_slice(b", ");
    two(out, day);
    out.push(b' ');
    out.extend_from_slice(MONTHS[month as usize - 1].as_bytes());
    out.push(b' ');
    write_number(out, year as u64);
    out.push(b' ');
    clock(out, time);
    out.extend_from_slice(b" GMT");
}

/// The version of a page and the moment (µs) from which it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Identifies the version; never 0.
    pub id: u64,
    /// When it appeared, in microseconds since 1970.
    pub since_us: i64,
}

/// The version at a time of a page that changes so often a day.
pub fn version(seed: u64, changes_per_day: f64, now_us: i64) -> Version {
    let unit = (DAY_S as f64 * 1e6 / changes_per_day) as i64;
    let now_unit = now_us.div_euclid(unit);
    // No change for 64 mean intervals has a probability of e^-64.
    for number in (now_unit - 64..=now_unit).rev() {
        if let Some(since_us) = last_change(seed, number, unit, now_us) {
            return Version { id: mix(seed, since_us as u64) | 1, since_us };
        }
    }
    Version { id: mix(seed, 0x0e5) | 1, since_us: (now_unit - 64) * unit }
}

fn last_change(seed: u64, number: i64, unit: i64, now_us: i64) -> Option<i64> {
    let mut rng = Rng::new(seed, mix(0xc4a6e, number as u64));
    let mut product = rng.unit();
    let mut last = None;
    while product > (-1.0f64).exp() {
        let at = number * unit + (rng.unit() * unit as f64) as i64;
        if at <= now_us {
            last = last.max(Some(at));
        }
        product *= rng.unit();
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let mut out = Vec::new();
        write_http(784_111_777, &mut out);
        assert_eq!(out, b"Sun, 06 Nov 1994 08:49:37 GMT");
        out.clear();
        write_iso(951_782_400, &mut out);
        assert_eq!(out, b"2000-02-29T00:00:00Z");
        out.clear();
        write_day(1_714_730_400, &mut out);
        assert_eq!(out, b"3 May 2024");
    }

    #[test]
    fn a_page_changes_as_often_as_its_rate_says() {
        let (rate, days) = (4.0, 500);
        let hour = 3_600_000_000;
        let mut changes = 0;
        let mut before = version(9, rate, 0);
        for step in 1..days * 24 * 20 {
            let now = version(9, rate, step * hour / 20);
            assert!(now.since_us <= step * hour / 20 && now.since_us >= before.since_us);
            changes += u32::from(now != before);
            before = now;
        }
        let expected = rate * days as f64;
        assert!((f64::from(changes) - expected).abs() < 4.0 * expected.sqrt(), "{changes}");
    }
}
