//! Border of `scope`.

use crivello_crawl::scope::Scope;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::url::parse;

/// Which URLs a crawl may admit; shared by all kernels that are given it.
#[pyclass(frozen, module = "crivello._native", name = "Scope")]
pub struct PyScope(pub Scope);

#[pymethods]
impl PyScope {
    #[new]
    fn new(kind: &str, seeds: Vec<String>) -> PyResult<Self> {
        let kind = kind.parse().map_err(|e: crivello_crawl::scope::UnknownKind| {
            PyValueError::new_err(e.to_string())
        })?;
        let seeds = seeds.into_iter().map(|seed| parse(&seed)).collect::<PyResult<Vec<_>>>()?;
        Ok(Self(Scope::new(kind, &seeds)))
    }

    fn contains(&self, url: &str) -> PyResult<bool> {
        Ok(self.0.contains(parse(url)?.view()))
    }

    fn add(&self, url: &str) -> PyResult<bool> {
        Ok(self.0.add(parse(url)?.view()))
    }

    #[getter]
    fn kind(&self) -> String {
        self.0.kind().to_string()
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyScope>()
}
