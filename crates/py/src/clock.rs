//! Border of `clock`.

use pyo3::prelude::*;

/// Microseconds of UTC since 1970, never running backwards inside a process.
#[pyfunction]
fn now_us() -> i64 {
    crivello_crawl::clock::now_us()
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(now_us, module)?)
}
