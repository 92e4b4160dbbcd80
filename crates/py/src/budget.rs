//! Border of `budget`.

use std::collections::BTreeMap;

use crivello_crawl::budget::{Account, Budget, parse_size};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Memory as a budget in bytes, drawn by named accounts.
#[pyclass(frozen, module = "crivello._native", name = "Budget")]
pub struct PyBudget(pub Budget);

#[pymethods]
impl PyBudget {
    #[new]
    fn new(total: u64) -> Self {
        Self(Budget::new(total))
    }

    fn account(&self, name: &str, limit: u64) -> PyAccount {
        PyAccount(self.0.account(name, limit))
    }

    fn report(&self) -> BTreeMap<String, u64> {
        self.0.report().into_iter().collect()
    }

    #[getter]
    fn total(&self) -> u64 {
        self.0.total()
    }

    #[getter]
    fn used(&self) -> u64 {
        self.0.used()
    }

    #[getter]
    fn over(&self) -> bool {
        self.0.over()
    }

    fn __repr__(&self) -> String {
        format!("Budget({} of {} bytes)", self.0.used(), self.0.total())
    }
}

/// What one structure holds of a budget.
#[pyclass(frozen, module = "crivello._native", name = "Account")]
pub struct PyAccount(pub Account);

#[pymethods]
impl PyAccount {
    fn set(&self, bytes: u64) {
        self.0.set(bytes);
    }

    fn add(&self, bytes: u64) {
        self.0.add(bytes);
    }

    fn sub(&self, bytes: u64) {
        self.0.sub(bytes);
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    #[getter]
    fn used(&self) -> u64 {
        self.0.used()
    }

    #[getter]
    fn limit(&self) -> u64 {
        self.0.limit()
    }

    #[getter]
    fn over(&self) -> bool {
        self.0.over()
    }

    fn __repr__(&self) -> String {
        format!("Account({:?}, {} of {} bytes)", self.0.name(), self.0.used(), self.0.limit())
    }
}

/// Bytes of a size such as "256MiB".
#[pyfunction(name = "parse_size")]
fn py_parse_size(text: &str) -> PyResult<u64> {
    parse_size(text).map_err(|error| PyValueError::new_err(error.to_string()))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyBudget>()?;
    module.add_class::<PyAccount>()?;
    module.add_function(wrap_pyfunction!(py_parse_size, module)?)
}
