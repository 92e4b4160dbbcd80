//! Kernels of the crivello crawler.
//!
//! Each module is usable without the others and without Python; `ARCHITECTURE.md` has the map.

pub mod batch;
pub mod budget;
pub mod clock;
pub mod coding;
pub mod fetch;
pub mod files;
pub mod frontier;
pub mod ledger;
pub mod near;
pub mod page;
pub mod robots;
pub mod scope;
pub mod sieve;
pub mod url;
pub mod warc;
pub mod workers;
