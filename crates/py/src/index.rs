//! Border of `index`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::builder::{
    Float64Builder, Int64Builder, StringBuilder, UInt32Builder, UInt64Builder,
};
use arrow_array::types::UInt32Type;
use arrow_array::{ArrayRef, RecordBatch, TimestampMicrosecondArray};
use arrow_schema::{Field, Schema};
use crivello_crawl::batch::numbers;
use crivello_index::analysis::Tokens;
use crivello_index::builder::Builder;
use crivello_index::query::{self, Leaf, Query};
use crivello_index::searcher::Searcher;
use crivello_index::segment::Segment;
use crivello_index::snippet::snippet as best_window;
use crivello_index::{Error, merge};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::arrow::{PyBatch, import};
use crate::files::{PyFiles, os_error};

fn wrong(error: Error) -> PyErr {
    match error {
        Error::Io(error) => os_error(error),
        error => PyValueError::new_err(error.to_string()),
    }
}

/// Builds one segment in memory.
#[pyclass(frozen, module = "crivello._native", name = "IndexBuilder")]
pub struct PyIndexBuilder(Mutex<Builder>);

impl PyIndexBuilder {
    /// A panic in the kernel may have left a document half inverted: it stays an error.
    fn lock(&self) -> MutexGuard<'_, Builder> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyIndexBuilder {
    #[new]
    #[pyo3(signature = (*, positions=true, store=true))]
    fn new(positions: bool, store: bool) -> PyResult<Self> {
        Builder::new(positions, store).map(|builder| Self(Mutex::new(builder))).map_err(wrong)
    }

    fn add(&self, py: Python<'_>, documents: &Bound<'_, PyAny>) -> PyResult<()> {
        let documents = import(documents)?;
        py.detach(|| self.lock().add(&documents)).map_err(wrong)
    }

    fn finish(&self, py: Python<'_>, files: &PyFiles, path: &str) -> PyResult<(u64, u32)> {
        py.detach(|| self.lock().finish(&files.0, path)).map_err(wrong)
    }

    #[getter]
    fn memory_bytes(&self, py: Python<'_>) -> usize {
        py.detach(|| self.lock().memory_bytes())
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| self.lock().len()) as usize
    }

    /// An empty builder is a builder all the same.
    #[expect(clippy::unused_self)]
    fn __bool__(&self) -> bool {
        true
    }
}

#[pyfunction]
fn merge_segments(
    py: Python<'_>,
    files: &PyFiles,
    paths: Vec<String>,
    path: &str,
) -> PyResult<(u64, u32)> {
    py.detach(|| merge::merge(&files.0, &paths, path)).map_err(wrong)
}

/// Open segments, memory-mapped.
#[pyclass(frozen, module = "crivello._native", name = "Searcher")]
pub struct PySearcher(Searcher);

#[pymethods]
impl PySearcher {
    #[new]
    fn new(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Self> {
        py.detach(|| Searcher::open(&paths)).map(Self).map_err(wrong)
    }

    #[pyo3(signature = (query, k, *, k1=1.2, b=0.75))]
    fn search(
        &self,
        py: Python<'_>,
        query: &Bound<'_, PyAny>,
        k: usize,
        k1: f64,
        b: f64,
    ) -> PyResult<PyBatch> {
        let query = tree(query)?;
        let hits = py.detach(|| self.0.search(&query, k, k1, b)).map_err(wrong)?;
        let mut segments = UInt32Builder::with_capacity(hits.len());
        let mut documents = UInt32Builder::with_capacity(hits.len());
        let mut scores = Float64Builder::with_capacity(hits.len());
        for hit in hits {
            segments.append_value(hit.segment);
            documents.append_value(hit.document);
            scores.append_value(hit.score);
        }
        batch(vec![
            ("segment", Arc::new(segments.finish()), false),
            ("document", Arc::new(documents.finish()), false),
            ("score", Arc::new(scores.finish()), false),
        ])
    }

    fn count(&self, py: Python<'_>, query: &Bound<'_, PyAny>) -> PyResult<u64> {
        let query = tree(query)?;
        py.detach(|| self.0.count(&query)).map_err(wrong)
    }

    fn documents(&self, py: Python<'_>, hits: &Bound<'_, PyAny>) -> PyResult<PyBatch> {
        let hits = import(hits)?;
        py.detach(|| documents(&self.0, &hits))
    }

    fn check(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.check()).map_err(wrong)
    }

    #[getter]
    fn documents_total(&self) -> u64 {
        self.0.documents_total()
    }

    #[getter]
    fn live_total(&self) -> u64 {
        self.0.live_total()
    }

    #[getter]
    fn terms_total(&self) -> u64 {
        self.0.segments().iter().map(|segment| segment.info().terms).sum()
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.0.segments().iter().map(Segment::bytes).sum()
    }
}

fn documents(searcher: &Searcher, hits: &RecordBatch) -> PyResult<PyBatch> {
    let invalid = |error: crivello_crawl::batch::ColumnError| wrong(error.into());
    let segments = numbers::<UInt32Type>(hits, "segment").map_err(invalid)?;
    let numbers = numbers::<UInt32Type>(hits, "document").map_err(invalid)?;
    let (mut url, mut lang) = (StringBuilder::new(), StringBuilder::new());
    let (mut title, mut text) = (StringBuilder::new(), StringBuilder::new());
    let (mut hash, mut visit) = (UInt64Builder::new(), UInt64Builder::new());
    let mut times = Int64Builder::new();
    let places = segments.values().iter().copied().zip(numbers.values().iter().copied());
    searcher
        .documents(places, |segment, document, stored| {
            url.append_value(stored.url);
            hash.append_value(segment.url_hash(document));
            visit.append_value(segment.visit(document));
            times.append_value(segment.fetched_at(document));
            lang.append_option(stored.lang);
            title.append_option(stored.title);
            text.append_option(stored.text);
        })
        .map_err(wrong)?;
    let times: TimestampMicrosecondArray = times.finish().reinterpret_cast();
    batch(vec![
        ("url", Arc::new(url.finish()), false),
        ("url_hash", Arc::new(hash.finish()), false),
        ("visit", Arc::new(visit.finish()), false),
        ("fetched_at", Arc::new(times.with_timezone("UTC")), false),
        ("lang", Arc::new(lang.finish()), true),
        ("title", Arc::new(title.finish()), true),
        ("text", Arc::new(text.finish()), true),
    ])
}

fn batch(columns: Vec<(&str, ArrayRef, bool)>) -> PyResult<PyBatch> {
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, column, null)| Field::new(*name, column.data_type().clone(), *null))
        .collect();
    let columns = columns.into_iter().map(|(_, column, _)| column).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .map(PyBatch)
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The tree that nested tuples or lists are.
fn tree(node: &Bound<'_, PyAny>) -> PyResult<Query> {
    let query = branch(node, query::MAX_DEPTH)?;
    query.validate().map_err(wrong)?;
    Ok(query)
}

fn branch(node: &Bound<'_, PyAny>, depth: usize) -> PyResult<Query> {
    let depth = depth.checked_sub(1).ok_or_else(|| wrong(query::too_deep()))?;
    let unknown = || {
        let shapes = "(\"term\", t), (\"phrase\", [t, ...]), (\"title\", leaf), \
                      (\"all\" or \"any\", [node, ...]) or (\"without\", node, node)";
        PyTypeError::new_err(format!("query: a node is {shapes}"))
    };
    let kind: String = node.get_item(0).and_then(|kind| kind.extract()).map_err(|_| unknown())?;
    let expected = if kind == "without" { 3 } else { 2 };
    if node.len()? != expected {
        return Err(unknown());
    }
    let item = node.get_item(1)?;
    let children = |item: &Bound<'_, PyAny>| {
        let nodes: Vec<Bound<'_, PyAny>> = item.extract().map_err(|_| unknown())?;
        if nodes.len() > query::MAX_LEAVES {
            return Err(PyValueError::new_err("query: too large"));
        }
        nodes.iter().map(|node| branch(node, depth)).collect::<PyResult<Vec<_>>>()
    };
    match kind.as_str() {
        "term" => {
            let term = item.extract().map_err(|_| unknown())?;
            Ok(Query::Leaf(Leaf { terms: vec![term], title: false }))
        }
        "phrase" => {
            let terms = item.extract().map_err(|_| unknown())?;
            Ok(Query::Leaf(Leaf { terms, title: false }))
        }
        "title" => match branch(&item, depth)? {
            Query::Leaf(leaf) => Ok(Query::Leaf(Leaf { title: true, ..leaf })),
            _ => Err(unknown()),
        },
        "all" => Ok(Query::All(children(&item)?)),
        "any" => Ok(Query::Any(children(&item)?)),
        "without" => {
            let not = branch(&node.get_item(2)?, depth)?;
            Ok(Query::Without(Box::new(branch(&item, depth)?), Box::new(not)))
        }
        _ => Err(unknown()),
    }
}

/// The terms of a text: term, first character, character behind it.
#[pyfunction]
fn analyse(text: &str) -> Vec<(String, usize, usize)> {
    let mut tokens = Tokens::new(text);
    let (mut found, mut byte, mut character) = (Vec::new(), 0, 0);
    while let Some(token) = tokens.next() {
        let start = character + text[byte..token.start].chars().count();
        let end = start + text[token.start..token.end].chars().count();
        (byte, character) = (token.end, end);
        found.push((token.term.to_owned(), start, end));
    }
    found
}

/// A text's window of at most `width` characters, and the characters of it to mark.
#[pyfunction]
#[pyo3(signature = (text, query, *, width=240))]
fn snippet(
    text: &str,
    query: &Bound<'_, PyAny>,
    width: usize,
) -> PyResult<(String, Vec<(usize, usize)>)> {
    let found = best_window(text, &tree(query)?, width);
    let marks = found.marks.into_iter().map(|mark| (mark.start, mark.end)).collect();
    Ok((found.text, marks))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyIndexBuilder>()?;
    module.add_class::<PySearcher>()?;
    module.add_function(wrap_pyfunction!(merge_segments, module)?)?;
    module.add_function(wrap_pyfunction!(analyse, module)?)?;
    module.add_function(wrap_pyfunction!(snippet, module)?)
}
