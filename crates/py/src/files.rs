//! Border of `files`.

use std::io;
use std::ops::Range;
use std::path::PathBuf;

use arrow_array::BinaryArray;
use arrow_array::cast::AsArray;
use crivello_crawl::files::{Appender, Fault, FileState, Files, PathError};
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrow;

/// The `OSError` of an input/output error, with `errno` and `filename` where they are known.
#[expect(clippy::needless_pass_by_value)] // the shape that `map_err` wants
pub fn os_error(error: io::Error) -> PyErr {
    let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<PathError>());
    let Some((cause, code)) = cause.and_then(|c| Some((c, c.source.raw_os_error()?))) else {
        return PyOSError::new_err(error.to_string());
    };
    let said = cause.source.to_string();
    let said = said.split(" (os error").next().unwrap_or_default().to_owned();
    PyOSError::new_err((code, said, cause.path.display().to_string()))
}

/// What a checkpoint keeps of a file, as a dictionary that goes into JSON.
#[derive(FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
pub struct State {
    path: String,
    len: u64,
    crc: u32,
}

impl From<FileState> for State {
    fn from(FileState { path, len, crc }: FileState) -> Self {
        Self { path, len, crc }
    }
}

impl From<State> for FileState {
    fn from(State { path, len, crc }: State) -> Self {
        Self { path, len, crc }
    }
}

/// A directory of durable files: the one door to bytes that must survive a crash.
#[pyclass(frozen, module = "crivello._native", name = "Files")]
pub struct PyFiles(pub Files);

#[pymethods]
impl PyFiles {
    #[new]
    #[pyo3(signature = (root, *, fsync=false, fault=None))]
    fn new(root: PathBuf, fsync: bool, fault: Option<&str>) -> PyResult<Self> {
        let plan = fault.map(str::parse::<Fault>).transpose();
        let plan = plan.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let files = Files::open(root, fsync).map_err(os_error)?;
        Ok(Self(plan.map_or(files.clone(), |fault| files.with_fault(fault))))
    }

    /// Root directory.
    #[getter]
    fn root(&self) -> PathBuf {
        self.0.path("")
    }

    /// Whether flushed bytes are forced to the disk.
    #[getter]
    fn fsync(&self) -> bool {
        self.0.fsync()
    }

    /// Number of durable operations so far: what the N of a fault plan counts.
    #[getter]
    fn operations(&self) -> u64 {
        self.0.operations()
    }

    fn appender(&self, py: Python<'_>, path: PathBuf) -> PyResult<PyAppender> {
        py.detach(|| self.0.appender(path)).map(PyAppender).map_err(os_error)
    }

    fn resume(&self, py: Python<'_>, path: PathBuf, len: u64, crc: u32) -> PyResult<PyAppender> {
        py.detach(|| self.0.resume(path, len, crc)).map(PyAppender).map_err(os_error)
    }

    fn restore(&self, py: Python<'_>, path: PathBuf, len: u64, crc: u32) -> PyResult<()> {
        py.detach(|| self.0.restore(path, len, crc)).map_err(os_error)
    }

    fn write_atomic(&self, py: Python<'_>, path: PathBuf, data: &[u8]) -> PyResult<()> {
        py.detach(|| self.0.write_atomic(path, data)).map_err(os_error)
    }

    fn rename(&self, py: Python<'_>, old: PathBuf, new: PathBuf) -> PyResult<()> {
        py.detach(|| self.0.rename(old, new)).map_err(os_error)
    }

    fn remove(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.0.remove(path)).map_err(os_error)
    }

    fn truncate(&self, py: Python<'_>, path: PathBuf, len: u64) -> PyResult<()> {
        py.detach(|| self.0.truncate(path, len)).map_err(os_error)
    }

    fn read<'py>(&self, py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.0.read(path)).map_err(os_error)?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn exists(&self, path: PathBuf) -> bool {
        self.0.exists(path)
    }

    fn len(&self, path: PathBuf) -> PyResult<u64> {
        self.0.len(path).map_err(os_error)
    }

    #[pyo3(signature = (dir=PathBuf::new()))]
    fn list(&self, py: Python<'_>, dir: PathBuf) -> PyResult<Vec<String>> {
        py.detach(|| self.0.list(dir)).map_err(os_error)
    }

    fn path(&self, path: PathBuf) -> PathBuf {
        self.0.path(path)
    }

    fn __repr__(&self) -> String {
        format!("Files({}, fsync={})", self.0.path("").display(), self.0.fsync())
    }
}

/// A file that only grows; bytes count once `flush` has returned.
#[pyclass(module = "crivello._native", name = "Appender")]
pub struct PyAppender(pub Appender);

#[pymethods]
impl PyAppender {
    fn append(&mut self, py: Python<'_>, data: &[u8]) -> PyResult<u64> {
        py.detach(|| self.0.append(data)).map_err(os_error)
    }

    /// Adds the values of a binary column one after another; where the first stands.
    fn append_values(&mut self, py: Python<'_>, column: &Bound<'_, PyAny>) -> PyResult<u64> {
        let (column, values) = binary(column)?;
        py.detach(|| self.0.append(&column.value_data()[values])).map_err(os_error)
    }

    /// Adds the values of a binary column as one frame: length and CRC-32, little-endian, bytes.
    fn append_frame(&mut self, py: Python<'_>, column: &Bound<'_, PyAny>) -> PyResult<u64> {
        let (column, values) = binary(column)?;
        py.detach(|| self.0.append_frame(&column.value_data()[values])).map_err(os_error)
    }

    fn flush(&mut self, py: Python<'_>) -> PyResult<(u64, u32)> {
        py.detach(|| self.0.flush()).map_err(os_error)
    }

    fn __len__(&self) -> usize {
        self.0.len() as usize
    }

    /// An empty appender is an appender all the same.
    #[expect(clippy::unused_self)]
    fn __bool__(&self) -> bool {
        true
    }
}

/// The only column of a batch, which is binary, and where its values lie: one behind another, as
/// the workers' builders and pyarrow write them.
fn binary(batch: &Bound<'_, PyAny>) -> PyResult<(BinaryArray, Range<usize>)> {
    let batch = arrow::import(batch)?;
    let column = batch.columns().first().and_then(|column| column.as_binary_opt::<i32>());
    let column = column.ok_or_else(|| PyTypeError::new_err("expected one binary column"))?;
    let ends = column.value_offsets();
    let values = ends[0] as usize..ends[ends.len() - 1] as usize;
    Ok((column.clone(), values))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyFiles>()?;
    module.add_class::<PyAppender>()
}
