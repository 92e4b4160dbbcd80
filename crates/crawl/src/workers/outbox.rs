//! Rows on their way to the loop: bounded in number, and in bytes.
//!
//! A row can be a thousand times as large as another: a page of links, or one that was a few
//! kilobytes on the wire. So workers wait not only while there are many rows but also while
//! those there are weigh [`BYTES`]; a single one may weigh more.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use async_channel::{Receiver, Sender};

use super::PageRow;

/// What rows that nobody has taken yet may weigh together: as much as a batch.
const BYTES: usize = super::BATCH_BYTES;

#[derive(Default)]
struct Held {
    bytes: usize,
    closed: bool,
}

#[derive(Default)]
struct Room {
    held: Mutex<Held>,
    more: Condvar,
}

impl Room {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end that workers put rows into.
#[derive(Clone)]
pub(super) struct Outbox {
    rows: Sender<PageRow>,
    room: Arc<Room>,
}

/// The end that the loop takes them from.
pub(super) struct Rows {
    rows: Receiver<PageRow>,
    room: Arc<Room>,
}

/// An empty outbox for at most so many rows.
pub(super) fn outbox(rows: usize) -> (Outbox, Rows) {
    let (sender, receiver) = async_channel::bounded(rows);
    let room = Arc::new(Room::default());
    (Outbox { rows: sender, room: Arc::clone(&room) }, Rows { rows: receiver, room })
}

impl Outbox {
    /// Waits for room; false when nobody takes rows any more.
    pub(super) fn put(&self, row: PageRow) -> bool {
        let weight = row.weight();
        let full = |held: &mut Held| {
            !held.closed && held.bytes > 0 && held.bytes.saturating_add(weight) > BYTES
        };
        let held = self.room.more.wait_while(self.room.held(), full);
        held.unwrap_or_else(PoisonError::into_inner).bytes += weight;
        self.rows.send_blocking(row).is_ok()
    }
}

impl Rows {
    /// The next row, if there is one.
    pub(super) fn try_take(&self) -> Option<PageRow> {
        self.rows.try_recv().ok().map(|row| self.taken(row))
    }

    /// Waits for the next row; `None` when no more will come.
    pub(super) async fn take(&self) -> Option<PageRow> {
        self.rows.recv().await.ok().map(|row| self.taken(row))
    }

    /// Lets the workers go.
    pub(super) fn close(&self) {
        self.rows.close();
        self.room.held().closed = true;
        self.room.more.notify_all();
    }

    fn taken(&self, row: PageRow) -> PageRow {
        self.room.held().bytes -= row.weight();
        self.room.more.notify_all();
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(bytes: usize) -> PageRow {
        PageRow { text: Some("x".repeat(bytes)), ..PageRow::default() }
    }

    #[test]
    fn heavy_rows_wait_for_those_before_them_and_none_waits_for_ever() {
        let (outbox, rows) = outbox(8);
        assert!(outbox.put(row(2 * BYTES)), "a row that is too heavy goes alone");
        let worker = {
            let outbox = outbox.clone();
            std::thread::spawn(move || {
                assert!(outbox.put(row(BYTES / 2)));
                assert!(outbox.put(row(BYTES / 2)));
                outbox.put(row(1))
            })
        };
        assert_eq!(rows.try_take().map(|row| row.text.unwrap().len()), Some(2 * BYTES));
        while rows.rows.len() < 2 {
            std::thread::yield_now();
        }
        assert!(rows.try_take().is_some());
        while rows.rows.len() < 2 {
            std::thread::yield_now();
        }
        assert!(worker.join().unwrap());
        assert!(rows.room.held().bytes <= BYTES);
        rows.close();
        assert!(!outbox.put(row(2 * BYTES)), "nobody takes it any more");
    }
}
