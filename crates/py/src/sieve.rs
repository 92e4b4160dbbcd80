//! Border of `sieve`.

use crivello_crawl::sieve::{self, FreshReader, Merged, SieveBuffer, SieveError, SignatureReader};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrow::{PyBatch, import};
use crate::files::{PyFiles, State, os_error};

fn error(error: SieveError) -> PyErr {
    match error {
        SieveError::Io(error) => os_error(error),
        SieveError::Column(error) => PyValueError::new_err(error.to_string()),
    }
}

/// What a merge made.
#[derive(IntoPyObject)]
struct PyMerged {
    z: State,
    known: u64,
    log: State,
    fresh: State,
    count: u64,
}

impl From<Merged> for PyMerged {
    fn from(Merged { z, known, log, fresh, count }: Merged) -> Self {
        Self { z: z.into(), known, log: log.into(), fresh: fresh.into(), count }
    }
}

/// The memory of a Mercator sieve, and its merge with what is on disk.
#[pyclass(module = "crivello._native", name = "SieveBuffer")]
struct PySieveBuffer(SieveBuffer);

#[pymethods]
impl PySieveBuffer {
    #[new]
    #[pyo3(signature = (files, log, *, key, memory, state=None))]
    fn new(
        py: Python<'_>,
        files: &PyFiles,
        log: &str,
        key: u64,
        memory: usize,
        state: Option<State>,
    ) -> PyResult<Self> {
        let files = files.0.clone();
        let buffer = py.detach(|| match state {
            Some(state) => SieveBuffer::resume(files, &state.into(), key, memory),
            None => SieveBuffer::create(files, log, key, memory),
        });
        let buffer = buffer.map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidInput => PyValueError::new_err(error.to_string()),
            _ => os_error(error),
        })?;
        Ok(Self(buffer))
    }

    #[pyo3(signature = (batch, start=0))]
    fn offer(&mut self, py: Python<'_>, batch: &Bound<'_, PyAny>, start: usize) -> PyResult<usize> {
        let batch = import(batch)?;
        py.detach(|| self.0.offer(&batch, start)).map_err(error)
    }

    #[pyo3(signature = (old, *, new, fresh, log))]
    fn merge(
        &mut self,
        py: Python<'_>,
        old: Option<&str>,
        new: &str,
        fresh: &str,
        log: &str,
    ) -> PyResult<PyMerged> {
        let merged = py.detach(|| self.0.merge(old, new, fresh, log));
        merged.map(PyMerged::from).map_err(os_error)
    }

    fn flush_log(&mut self, py: Python<'_>) -> PyResult<State> {
        py.detach(|| self.0.flush_log()).map(State::from).map_err(os_error)
    }

    fn holds(&self, py: Python<'_>, url: &str) -> bool {
        py.detach(|| self.0.holds(url))
    }

    #[getter]
    fn pending(&self) -> usize {
        self.0.pending()
    }

    #[getter]
    fn capacity(&self) -> usize {
        self.0.capacity()
    }

    #[getter]
    fn full(&self) -> bool {
        self.0.is_full()
    }

    #[getter]
    fn dropped(&self) -> u64 {
        self.0.dropped()
    }

    #[getter]
    fn memory_bytes(&self) -> usize {
        self.0.memory_bytes()
    }
}

/// Reads the fresh rows of one generation of A, in order.
#[pyclass(module = "crivello._native", name = "FreshReader")]
struct PyFreshReader(FreshReader);

#[pymethods]
impl PyFreshReader {
    #[new]
    #[pyo3(signature = (files, log, fresh, *, key, row=0))]
    fn new(
        py: Python<'_>,
        files: &PyFiles,
        log: State,
        fresh: &str,
        key: u64,
        row: u64,
    ) -> PyResult<Self> {
        let reader = py.detach(|| FreshReader::open(&files.0, &log.into(), fresh, key, row));
        reader.map(Self).map_err(os_error)
    }

    fn next_batch(&mut self, py: Python<'_>, max_rows: usize) -> PyResult<Option<PyBatch>> {
        let batch = py.detach(|| self.0.next_batch(max_rows)).map_err(os_error)?;
        Ok(batch.map(PyBatch))
    }

    #[getter]
    fn row(&self) -> u64 {
        self.0.row()
    }
}

/// Number of signatures in a file Z, whose header, trailer and length are checked.
#[pyfunction]
#[pyo3(signature = (files, path, *, key))]
fn count_signatures(py: Python<'_>, files: &PyFiles, path: &str, key: u64) -> PyResult<u64> {
    let reader = py.detach(|| SignatureReader::open(&files.0, path, key));
    Ok(reader.map_err(os_error)?.count())
}

/// Whether the signature of a URL is in a file Z.
#[pyfunction]
#[pyo3(signature = (files, path, url, *, key))]
fn find_signature(
    py: Python<'_>,
    files: &PyFiles,
    path: &str,
    url: &str,
    key: u64,
) -> PyResult<bool> {
    py.detach(|| sieve::contains(&files.0, path, url, key)).map_err(os_error)
}

/// Offers of URLs that come from no page, taken as they are.
#[pyfunction]
#[expect(clippy::needless_pass_by_value)] // Python's strings are copied into it
fn offer_rows(urls: Vec<String>) -> PyResult<PyBatch> {
    if urls.iter().map(String::len).sum::<usize>() > i32::MAX as usize {
        return Err(PyValueError::new_err("more than 2 GiB of URLs in one offer"));
    }
    Ok(PyBatch(sieve::rows(&urls)))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PySieveBuffer>()?;
    module.add_class::<PyFreshReader>()?;
    module.add_function(wrap_pyfunction!(count_signatures, module)?)?;
    module.add_function(wrap_pyfunction!(find_signature, module)?)?;
    module.add_function(wrap_pyfunction!(offer_rows, module)?)
}
