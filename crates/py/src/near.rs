//! Border of `near`: fingerprints in, marks out, a row a page.

use std::sync::Arc;

use arrow_array::builder::{StringBuilder, UInt8Builder, UInt64Builder};
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{Array, FixedSizeBinaryArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use crivello_crawl::batch::{hashes, numbers};
use crivello_crawl::near::{Duplicates, Fingerprint};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;

use crate::arrow::{PyBatch, import};

/// Marks pages whose text repeats, exactly or nearly, that of an earlier page.
#[pyclass(module = "crivello._native", name = "Duplicates")]
pub struct PyDuplicates(Duplicates);

#[pymethods]
impl PyDuplicates {
    #[new]
    #[pyo3(signature = (memory, *, k=3))]
    fn new(memory: usize, k: u8) -> PyResult<Self> {
        Duplicates::new(memory, k).map(Self).map_err(invalid)
    }

    fn mark(&mut self, py: Python<'_>, pages: &Bound<'_, PyAny>) -> PyResult<PyBatch> {
        let pages = import(pages)?;
        py.detach(|| mark(&mut self.0, &pages)).map(PyBatch)
    }

    /// At least so many of the latest pages are compared with.
    #[getter]
    fn window(&self) -> usize {
        self.0.window()
    }

    /// Bytes allocated, at most the budget.
    #[getter]
    fn memory_bytes(&self) -> usize {
        self.0.memory_bytes()
    }

    fn __len__(&self) -> PyResult<usize> {
        usize::try_from(self.0.seen()).map_err(|e| PyOverflowError::new_err(e.to_string()))
    }
}

fn mark(duplicates: &mut Duplicates, pages: &RecordBatch) -> PyResult<RecordBatch> {
    let digests = pages
        .column_by_name("text_digest")
        .and_then(|column| column.as_any().downcast_ref::<FixedSizeBinaryArray>())
        .filter(|digests| digests.value_length() == 16)
        .ok_or_else(|| {
            PyValueError::new_err(
                "batch: column \"text_digest\" is missing or not fixed_size_binary 16",
            )
        })?;
    let simhashes = numbers::<UInt64Type>(pages, "simhash").map_err(invalid)?;
    let urls = hashes(pages, "url_hash").map_err(invalid)?;
    let lengths = numbers::<UInt32Type>(pages, "text_len").map_err(invalid)?;
    let rows = pages.num_rows();
    let mut kinds = StringBuilder::with_capacity(rows, 8 * rows);
    let mut originals = UInt64Builder::with_capacity(rows);
    let mut distances = UInt8Builder::with_capacity(rows);
    for row in 0..rows {
        let known = digests.is_valid(row) && simhashes.is_valid(row) && lengths.is_valid(row);
        let mark = if known && lengths.value(row) > 0 {
            let mut text_digest = [0; 16];
            text_digest.copy_from_slice(digests.value(row));
            let (simhash, url_hash) = (simhashes.value(row), urls.value(row));
            duplicates.mark(&Fingerprint { text_digest, simhash, url_hash })
        } else {
            None
        };
        kinds.append_option(mark.map(|mark| mark.kind.as_str()));
        originals.append_option(mark.map(|mark| mark.duplicate_of));
        distances.append_option(mark.map(|mark| mark.distance));
    }
    let schema = Schema::new(vec![
        Field::new("kind", DataType::Utf8, true),
        Field::new("duplicate_of", DataType::UInt64, true),
        Field::new("distance", DataType::UInt8, true),
    ]);
    RecordBatch::try_new(
        Arc::new(schema),
        vec![Arc::new(kinds.finish()), Arc::new(originals.finish()), Arc::new(distances.finish())],
    )
    .map_err(invalid)
}

fn invalid(error: impl std::error::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyDuplicates>()
}
