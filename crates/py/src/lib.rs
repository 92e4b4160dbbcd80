//! The border: thin wrappers that hand Arrow batches between the kernels and Python.

#![allow(clippy::needless_pass_by_value)] // PyO3 hands arguments over by value

mod arrow;
mod budget;
mod clock;
mod files;
mod frontier;
mod index;
mod ledger;
mod near;
mod page;
mod robots;
mod scope;
mod sieve;
mod simweb;
mod url;
mod visits;
mod warc;
mod warc_reader;
mod workers;

use pyo3::prelude::*;

/// Everything that Python sees of the kernels; `_native.pyi` is its typed stub.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    arrow::register(module)?;
    clock::register(module)?;
    files::register(module)?;
    budget::register(module)?;
    url::register(module)?;
    scope::register(module)?;
    robots::register(module)?;
    sieve::register(module)?;
    frontier::register(module)?;
    visits::register(module)?;
    ledger::register(module)?;
    page::register(module)?;
    near::register(module)?;
    warc::register(module)?;
    warc_reader::register(module)?;
    workers::register(module)?;
    index::register(module)?;
    simweb::register(module)?;
    Ok(())
}
