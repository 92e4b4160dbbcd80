//! HTTP dates and `Retry-After` (RFC 9110 §5.6.7, §10.2.3).

/// No server may silence us for longer.
const MAX_HOLD_US: i64 = 24 * 3600 * 1_000_000;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Days from 1970-01-01 to a date of the Gregorian calendar; eras of 400 years, each year
/// beginning in March (Hinnant, *chrono-compatible low-level date algorithms*).
pub(crate) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Reads an HTTP date in any of its three forms (IMF-fixdate, RFC 850, asctime): seconds
/// since 1970.
///
/// # Examples
/// ```
/// use crivello_crawl::fetch::parse_http_date;
/// assert_eq!(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
/// ```
pub fn parse_http_date(text: &str) -> Option<i64> {
    let (mut day, mut month, mut year, mut time) = (None, None, None, None);
    for word in text.split([' ', ',', '-', '\t']).filter(|word| !word.is_empty()) {
        if word.contains(':') {
            let mut parts = word.splitn(3, ':').map(str::parse::<i64>);
            let (hour, minute, second) =
                (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
            let valid =
                (0..24).contains(&hour) && (0..60).contains(&minute) && (0..=60).contains(&second);
            time = valid.then_some(hour * 3600 + minute * 60 + second);
        } else if let Ok(number) = word.parse::<i64>() {
            if day.is_none() {
                day = (1..=31).contains(&number).then_some(number);
            } else {
                year = match (word.len(), number) {
                    (2, 0..70) => Some(2000 + number),
                    (2, 70..) => Some(1900 + number),
                    (4, 1..) => Some(number),
                    _ => None,
                };
            }
        } else if month.is_none() {
            let name = word.to_ascii_lowercase();
            month = MONTHS.iter().position(|&known| name == known).map(|at| at as i64 + 1);
        }
    }
    Some(days_from_civil(year?, month?, day?) * 86_400 + time?)
}

/// When a server that sent this `Retry-After` may be asked again, in microseconds; 0 when
/// the value says nothing.
pub(super) fn hold_until(value: &str, now_us: i64) -> i64 {
    let value = value.trim();
    let wait_us = if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        value.parse::<i64>().unwrap_or(i64::MAX).saturating_mul(1_000_000)
    } else {
        match parse_http_date(value) {
            Some(seconds) => seconds.saturating_mul(1_000_000).saturating_sub(now_us),
            None => 0,
        }
    };
    if wait_us > 0 { now_us + wait_us.min(MAX_HOLD_US) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms_of_rfc_9110_name_the_same_second() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(parse_http_date(text), Some(784_111_777), "{text}");
        }
        assert_eq!(parse_http_date("Thu, 29 Feb 2024 00:00:00 GMT"), Some(1_709_164_800));
    }

    #[test]
    fn nonsense_is_no_date() {
        for text in ["", "soon", "Sun, 99 Nov 1994 08:49:37 GMT", "06 Nov 1994", "1:2 Nov 1 1994"] {
            assert_eq!(parse_http_date(text), None, "{text}");
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_and_at_most_a_day() {
        let now = 784_111_777_000_000;
        assert_eq!(hold_until(" 120 ", now), now + 120_000_000);
        assert_eq!(hold_until("Sun, 06 Nov 1994 08:49:47 GMT", now), now + 10_000_000);
        assert_eq!(hold_until("Sun, 06 Nov 1994 08:49:07 GMT", now), 0);
        assert_eq!(hold_until("99999999999999999999", now), now + MAX_HOLD_US);
        assert_eq!(hold_until("0", now), 0);
        assert_eq!(hold_until("later", now), 0);
    }
}
