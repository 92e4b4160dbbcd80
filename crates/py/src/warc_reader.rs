//! Border of `warc::read`: the records of a file, in batches.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::PathBuf;

use crivello_crawl::warc::read::{Reader, batch};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::arrow::PyBatch;

enum Input {
    File(File),
    Bytes(Cursor<PyBackedBytes>),
}

impl Read for Input {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(out),
            Self::Bytes(bytes) => bytes.read(out),
        }
    }
}

impl Seek for Input {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(file) => file.seek(to),
            Self::Bytes(bytes) => bytes.seek(to),
        }
    }
}

#[derive(FromPyObject)]
enum Given {
    Bytes(PyBackedBytes),
    Path(PathBuf),
}

/// Reads the records of a WARC file that anybody has written.
#[pyclass(module = "crivello._native", name = "WarcReader")]
struct PyWarcReader {
    reader: Reader<Input>,
    size: u64,
}

#[pymethods]
impl PyWarcReader {
    #[new]
    #[pyo3(signature = (source, *, max_block=64 << 20))]
    fn new(source: Given, max_block: usize) -> PyResult<Self> {
        let (input, size) = match source {
            Given::Bytes(bytes) => {
                let size = bytes.len() as u64;
                (Input::Bytes(Cursor::new(bytes)), size)
            }
            Given::Path(path) => {
                let file = File::open(&path)?;
                let size = file.metadata()?.len();
                (Input::File(file), size)
            }
        };
        Ok(Self { reader: Reader::new(input, max_block), size })
    }

    /// Up to `max_records` records, or about `max_bytes` of blocks; None at the end.
    #[pyo3(signature = (max_records=256, max_bytes=8 << 20))]
    fn next_batch(
        &mut self,
        py: Python<'_>,
        max_records: usize,
        max_bytes: usize,
    ) -> PyResult<Option<PyBatch>> {
        let read = py.detach(|| batch(&mut self.reader, max_records, max_bytes));
        Ok(read.map_err(|error| PyOSError::new_err(error.to_string()))?.map(PyBatch))
    }

    /// What was found wrong since the last call: offset and words.
    fn problems(&mut self) -> Vec<(u64, String)> {
        let problems = self.reader.problems().into_iter();
        problems.map(|problem| (problem.offset, problem.what)).collect()
    }

    /// Bytes of the file read so far.
    #[getter]
    fn position(&self) -> u64 {
        self.reader.position()
    }

    /// Bytes of the file.
    #[getter]
    fn size(&self) -> u64 {
        self.size
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyWarcReader>()
}
