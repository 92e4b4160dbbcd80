//! The budget of bodies.
//!
//! Every visit may hold a *small* body without asking. A body that outgrows [`SMALL_BODY`]
//! needs one of
//!
//! > max(1, (budget − visits · [`SMALL_BODY`]) / max body)
//!
//! permits, and keeps it until the page has been dealt with. A visit waits for at most one
//! permit and holds none while it waits, so that waiting cannot become a circle.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of a body that need no permit.
pub const SMALL_BODY: usize = 256 << 10;

/// A share of the budget; given back when dropped.
#[derive(Debug)]
pub struct Permit {
    _share: OwnedSemaphorePermit,
}

/// The permits for large bodies.
#[derive(Debug, Clone)]
pub(super) struct BodyBudget {
    permits: Arc<Semaphore>,
}

impl BodyBudget {
    pub(super) fn new(budget: usize, visits: usize, max_body: usize) -> Self {
        let large = budget.saturating_sub(visits.saturating_mul(SMALL_BODY)) / max_body.max(1);
        Self { permits: Arc::new(Semaphore::new(large.clamp(1, Semaphore::MAX_PERMITS))) }
    }

    /// Waits for a share; `None` when the visits are shutting down.
    pub(super) async fn acquire(&self) -> Option<Permit> {
        let share = Arc::clone(&self.permits).acquire_owned().await.ok()?;
        Some(Permit { _share: share })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_left_by_small_bodies_is_cut_into_large_ones() {
        let budget = BodyBudget::new(100 << 20, 240, 10 << 20);
        assert_eq!(budget.permits.available_permits(), 4);
        assert_eq!(BodyBudget::new(0, 256, 10 << 20).permits.available_permits(), 1);
    }
}
