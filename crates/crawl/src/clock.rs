//! One clock: microseconds of UTC that never run backwards inside a process.
//!
//! The wall clock is read once; later times are that anchor plus monotonic time, so that
//! a step of the system clock can neither shorten nor lengthen a delay.

use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

static ANCHOR: LazyLock<(i64, Instant)> = LazyLock::new(|| {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (since_epoch.as_micros() as i64, Instant::now())
});

/// Microseconds of UTC since 1970.
pub fn now_us() -> i64 {
    let (anchor, instant) = *ANCHOR;
    anchor + instant.elapsed().as_micros() as i64
}
