//! Faults on purpose: what a crash test asks the door to durable bytes to do.
//!
//! Durable operations (a write to the operating system, a creation, a rename, a removal, a
//! truncation, a sync) are numbered from 1 as they happen. A plan names one of them, so a test
//! that counts the operations of a good run can then break each of them in turn.

use std::io::{self, Write};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// What goes wrong, and at which durable operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process dies instead of doing the operation; nothing in user space is saved.
    Kill(u64),
    /// A write gets half of its bytes out, then the process dies (other operations: as `Kill`).
    Torn(u64),
    /// The disk is full: the write fails half-way, and every later write fails too.
    Full(u64),
    /// The operation fails once with an input/output error and does nothing.
    Error(u64),
}

/// A fault plan that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("fault plan {0:?} is not one of kill:N, torn:N, full:N, error:N with N from 1")]
pub struct FaultError(String);

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let wrong = || FaultError(text.to_owned());
        let (kind, at) = text.split_once(':').ok_or_else(wrong)?;
        let at = at.parse().ok().filter(|&at| at > 0).ok_or_else(wrong)?;
        match kind {
            "kill" => Ok(Self::Kill(at)),
            "torn" => Ok(Self::Torn(at)),
            "full" => Ok(Self::Full(at)),
            "error" => Ok(Self::Error(at)),
            _ => Err(wrong()),
        }
    }
}

/// Numbers the operations and breaks the one that the plan names.
#[derive(Debug, Default)]
pub(super) struct Plan {
    fault: Option<Fault>,
    done: AtomicU64,
}

impl Plan {
    pub(super) fn new(fault: Fault) -> Self {
        Self { fault: Some(fault), done: AtomicU64::new(0) }
    }

    /// How many durable operations there have been.
    pub(super) fn operations(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Writes all the bytes, or what the plan leaves of them.
    pub(super) fn write(&self, file: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
        let number = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let half = &bytes[..bytes.len() / 2];
        match self.fault {
            Some(Fault::Kill(at)) if number == at => std::process::abort(),
            Some(Fault::Torn(at)) if number == at => {
                let _ = file.write_all(half);
                std::process::abort()
            }
            Some(Fault::Full(at)) if number >= at => {
                if number == at {
                    file.write_all(half)?;
                }
                Err(io::Error::from_raw_os_error(ENOSPC))
            }
            Some(Fault::Error(at)) if number == at => Err(io::Error::from_raw_os_error(EIO)),
            _ => file.write_all(bytes),
        }
    }

    /// Does an operation that the operating system does whole or not at all. A full disk still
    /// allows it.
    pub(super) fn act<T>(&self, operation: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let number = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        match self.fault {
            Some(Fault::Kill(at) | Fault::Torn(at)) if number == at => std::process::abort(),
            Some(Fault::Error(at)) if number == at => Err(io::Error::from_raw_os_error(EIO)),
            _ => operation(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_from_its_text() {
        assert_eq!("kill:17".parse::<Fault>().unwrap(), Fault::Kill(17));
        assert_eq!("torn:1".parse::<Fault>().unwrap(), Fault::Torn(1));
        assert_eq!("full:3".parse::<Fault>().unwrap(), Fault::Full(3));
        assert_eq!("error:9".parse::<Fault>().unwrap(), Fault::Error(9));
        for wrong in ["", "kill", "kill:", "kill:0", "kill:-1", "melt:3"] {
            assert!(wrong.parse::<Fault>().is_err(), "{wrong}");
        }
    }
}
