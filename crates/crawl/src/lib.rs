//! Kernels of the crivello crawler.
//!
//! Each module is usable without the others and without Python; `ARCHITECTURE.md` has the map.

pub mod clock;
pub mod files;
pub mod budget;
pub mod url;
pub mod scope;
pub mod robots;
pub mod sieve;
pub mod frontier;
pub mod fetch;
pub mod ledger;
pub mod page;
pub mod near;
pub mod warc;
pub mod coding;
pub mod batch;
pub mod workers;
