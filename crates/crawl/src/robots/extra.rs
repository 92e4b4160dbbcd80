//! Values of the records that are not in the RFC.

/// A part of the day, in minutes of UTC since midnight; may pass midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// First minute.
    pub start: u16,
    /// First minute after it.
    pub end: u16,
}

impl Window {
    /// Reads `0600-0845` or `0600 0845`.
    pub(super) fn parse(value: &[u8]) -> Option<Self> {
        let value = std::str::from_utf8(value).ok()?;
        let mut times = value.split(['-', ' ', '\t']).filter(|time| !time.is_empty());
        let window = Self { start: minutes(times.next()?)?, end: minutes(times.next()?)? };
        times.next().is_none().then_some(window)
    }
}

fn minutes(time: &str) -> Option<u16> {
    if time.len() != 4 || !time.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (hour, minute): (u16, u16) = (time[..2].parse().ok()?, time[2..].parse().ok()?);
    (hour < 24 && minute < 60).then_some(hour * 60 + minute)
}

/// So many requests in so many seconds, perhaps only at some hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestRate {
    /// Requests; at least 1.
    pub requests: u32,
    /// Seconds; at least 1.
    pub seconds: u32,
    /// When it holds.
    pub window: Option<Window>,
}

impl RequestRate {
    /// Reads `1/10s`, `100/15m 0600-0845`; units s, m, h, d, and none for seconds.
    pub(super) fn parse(value: &[u8]) -> Option<Self> {
        let value = std::str::from_utf8(value).ok()?;
        let (rate, rest) = value.split_once([' ', '\t']).unwrap_or((value, ""));
        let (requests, time) = rate.split_once('/')?;
        let unit = time.as_bytes().last()?.to_ascii_lowercase();
        let scale = match unit {
            b's' => 1,
            b'm' => 60,
            b'h' => 3600,
            b'd' => 86400,
            _ => 0,
        };
        let digits = if scale == 0 { time } else { &time[..time.len() - 1] };
        let requests: u32 = requests.parse().ok()?;
        let seconds = digits.parse::<u32>().ok()?.checked_mul(scale.max(1))?;
        let window = Window::parse(rest.trim().as_bytes());
        (requests > 0 && seconds > 0).then_some(Self { requests, seconds, window })
    }
}

/// Seconds of a `Crawl-delay`.
pub(super) fn seconds(value: &[u8]) -> Option<f64> {
    let word = value.split(u8::is_ascii_whitespace).next()?;
    let delay: f64 = std::str::from_utf8(word).ok()?.parse().ok()?;
    (delay.is_finite() && delay >= 0.0).then_some(delay)
}
