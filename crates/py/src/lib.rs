//! The border: thin wrappers that hand Arrow batches between the kernels and Python.

mod arrow;
mod clock;
mod files;
mod budget;
mod url;
mod scope;
mod robots;
mod sieve;
mod frontier;
mod visits;
mod ledger;
mod page;
mod near;
mod warc;
mod workers;
mod simweb;

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
    workers::register(module)?;
    simweb::register(module)?;
    Ok(())
}
