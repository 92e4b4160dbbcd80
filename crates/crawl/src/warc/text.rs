//! The small notations of WARC: fields, dates, base 32, UUIDs.

use std::fmt::Write;

/// Appends `name: value` and its line end; a control character becomes a space.
pub(super) fn field(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend(value.bytes().map(|byte| if byte.is_ascii_control() { b' ' } else { byte }));
    out.extend_from_slice(b"\r\n");
}

/// A moment as W3C-ISO8601 with microseconds: `2026-11-18T21:35:43.000042Z`.
pub fn date(us: i64) -> String {
    let (year, month, day, [hour, minute, second], micros) = civil(us);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// A moment as the 14 digits of a capture index: `20261118213543`.
pub fn timestamp(us: i64) -> String {
    let (year, month, day, [hour, minute, second], _) = civil(us);
    format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}")
}

/// Gregorian date and time of day. Days are counted in eras of 400 years from 1 March 0000, so
/// that the leap day is the last of its year (Hinnant, *chrono-compatible low-level date
/// algorithms*).
fn civil(us: i64) -> (i64, i64, i64, [i64; 3], i64) {
    let (seconds, micros) = (us.div_euclid(1_000_000), us.rem_euclid(1_000_000));
    let (days, time) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day, [time / 3600, time / 60 % 60, time % 60], micros)
}

/// Base 32 of RFC 4648 without padding: 20 bytes give 32 letters.
pub fn base32(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut out = String::with_capacity(bytes.len().div_ceil(5) * 8);
    for group in bytes.chunks(5) {
        let mut word = [0; 8];
        word[3..3 + group.len()].copy_from_slice(group);
        let word = u64::from_be_bytes(word);
        for letter in 0..(group.len() * 8).div_ceil(5) {
            out.push(char::from(ALPHABET[(word >> (35 - 5 * letter)) as usize & 31]));
        }
    }
    out
}

/// A version 8 UUID (RFC 9562: bits of one's own making) as a URN in angle brackets.
pub(super) fn uuid(bits: u128) -> String {
    let bits = bits & !(0xf << 76) & !(0b11 << 62) | 8 << 76 | 0b10 << 62;
    let hex = format!("{bits:032x}");
    let mut out = String::from("<urn:uuid:");
    for (at, digit) in hex.char_indices() {
        if matches!(at, 8 | 12 | 16 | 20) {
            out.push('-');
        }
        out.push(digit);
    }
    out.push('>');
    out
}

/// Appends a JSON string.
pub(super) fn json(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => {
                out.push('\\');
                out.push(letter);
            }
            '\0'..='\x1f' | '\x7f' => {
                let _ = write!(out, "\\u{:04x}", letter as u32);
            }
            _ => out.push(letter),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_gregorian() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_399, "2000-02-28T23:59:59.000000Z"),
            (951_782_400, "2000-02-29T00:00:00.000000Z"),
            (951_868_800, "2000-03-01T00:00:00.000000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000000Z"),
            (-1, "1969-12-31T23:59:59.000000Z"),
        ] {
            assert_eq!(date(seconds * 1_000_000), text);
        }
        assert_eq!(timestamp(1_763_501_743_999_999), "20251118213543");
    }

    #[test]
    fn base_32_is_that_of_rfc_4648() {
        for (bytes, text) in
            [("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foobar", "MZXW6YTBOI")]
        {
            assert_eq!(base32(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn a_uuid_carries_version_and_variant() {
        assert_eq!(uuid(0), "<urn:uuid:00000000-0000-8000-8000-000000000000>");
        assert_eq!(uuid(u128::MAX), "<urn:uuid:ffffffff-ffff-8fff-bfff-ffffffffffff>");
    }
}
