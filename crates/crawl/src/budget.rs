//! Memory as a budget in bytes, drawn by named accounts.
//!
//! A structure that grows with the crawl opens an [`Account`] with a limit and keeps it true:
//! it says what it holds, asks whether it is over, and spills to disk when it is. Nothing is
//! taken by force, so an account is two atomic words and costs nothing on a hot path; the sum
//! of all accounts is what `status` shows.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A total and the accounts that draw from it. Clones are the same budget.
#[derive(Clone, Debug)]
pub struct Budget {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    total: u64,
    accounts: Mutex<Vec<Account>>,
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(total: u64) -> Self {
        Self { shared: Arc::new(Shared { total, accounts: Mutex::default() }) }
    }

    /// The account of that name, opened if it is new; the limit given last holds.
    pub fn account(&self, name: &str, limit: u64) -> Account {
        let mut accounts = self.accounts();
        if let Some(account) = accounts.iter().find(|account| account.name() == name) {
            account.inner.limit.store(limit, Ordering::Relaxed);
            return account.clone();
        }
        let inner = Inner { name: name.to_owned(), limit: limit.into(), used: 0.into() };
        let account = Account { inner: Arc::new(inner) };
        accounts.push(account.clone());
        account
    }

    /// Bytes in all.
    pub fn total(&self) -> u64 {
        self.shared.total
    }

    /// Bytes that the accounts say they hold.
    pub fn used(&self) -> u64 {
        self.accounts().iter().map(Account::used).sum()
    }

    /// Whether the accounts together hold more than the total.
    pub fn over(&self) -> bool {
        self.used() > self.total()
    }

    /// Name and bytes of every account, in the order of opening.
    pub fn report(&self) -> Vec<(String, u64)> {
        self.accounts().iter().map(|account| (account.name().to_owned(), account.used())).collect()
    }

    fn accounts(&self) -> std::sync::MutexGuard<'_, Vec<Account>> {
        self.shared.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one structure holds. Clones are the same account.
#[derive(Clone, Debug)]
pub struct Account {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    name: String,
    limit: AtomicU64,
    used: AtomicU64,
}

impl Account {
    /// Its name in reports.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Says how many bytes are held now.
    pub fn set(&self, bytes: u64) {
        self.inner.used.store(bytes, Ordering::Relaxed);
    }

    /// Says that so many bytes more are held.
    pub fn add(&self, bytes: u64) {
        self.inner.used.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Says that so many bytes were given back; never below nothing.
    pub fn sub(&self, bytes: u64) {
        let less = |used: u64| Some(used.saturating_sub(bytes));
        let _ = self.inner.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Bytes held.
    pub fn used(&self) -> u64 {
        self.inner.used.load(Ordering::Relaxed)
    }

    /// Bytes that should not be exceeded.
    pub fn limit(&self) -> u64 {
        self.inner.limit.load(Ordering::Relaxed)
    }

    /// Whether it is time to spill.
    pub fn over(&self) -> bool {
        self.used() > self.limit()
    }
}

/// A size that cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// Not a number followed by a unit.
    #[error("size {0:?} is not a number with a unit, such as 256MiB, 1.5GiB or 64k")]
    Form(String),
    /// More than 2^64 bytes.
    #[error("size {0:?} is too large")]
    Large(String),
}

/// Reads a size in bytes: `1GiB`, `256MiB`, `1.5g`, `64k`, `10MB`, `4096`.
///
/// `KiB`, `MiB`, `GiB`, `TiB` and the bare letters are powers of 1024; `kB`, `MB`, `GB`, `TB` are
/// powers of 1000. Case does not matter.
///
/// # Errors
/// When the text is something else, or beyond 64 bits.
pub fn parse_size(text: &str) -> Result<u64, SizeError> {
    let form = || SizeError::Form(text.to_owned());
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(lower.len());
    let (number, unit) = lower.split_at(digits);
    let unit = match unit.trim_start() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000_u64,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(form()),
    };
    let large = || SizeError::Large(text.to_owned());
    if !number.contains('.') {
        let digits = !number.is_empty();
        let number = number.parse::<u64>().map_err(|_| if digits { large() } else { form() })?;
        return number.checked_mul(unit).ok_or_else(large);
    }
    let bytes = number.parse::<f64>().map_err(|_| form())? * unit as f64;
    if bytes < u64::MAX as f64 { Ok(bytes as u64) } else { Err(large()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_shared_by_name() {
        let budget = Budget::new(100);
        let sieve = budget.account("sieve", 60);
        let same = budget.account("sieve", 50);
        sieve.set(40);
        same.add(15);
        assert_eq!((sieve.used(), sieve.limit(), sieve.over()), (55, 50, true));
        sieve.sub(99);
        assert_eq!(sieve.used(), 0);
        budget.account("frontier", 50).set(101);
        assert_eq!(budget.report(), [("sieve".to_owned(), 0), ("frontier".to_owned(), 101)]);
        assert_eq!((budget.total(), budget.used(), budget.over()), (100, 101, true));
    }

    #[test]
    fn sizes_are_read_with_their_units() {
        let kib = 1 << 10;
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("512 B", 512),
            ("64k", 64 * kib),
            ("64KiB", 64 * kib),
            ("64 kB", 64_000),
            ("1GiB", kib * kib * kib),
            ("1.5g", 3 * kib * kib * kib / 2),
            (" 10MB ", 10_000_000),
            ("2TiB", 2 * kib * kib * kib * kib),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text:?}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "MiB", "-1", "1 1", "1.2.3k", ".", "10x", "1kk", "1kibi", "é", "1é", "mgb"]
        {
            assert!(matches!(parse_size(text), Err(SizeError::Form(_))), "{text:?}");
        }
        for text in ["99999999999999999999", "20000000TiB", "99999999999999999999.9g"] {
            assert!(matches!(parse_size(text), Err(SizeError::Large(_))), "{text:?}");
        }
    }
}
