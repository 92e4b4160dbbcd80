//! Border of `workers`: page workers on the visits, and the batches they hand over.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crivello_crawl::page::LinkKind;
use crivello_crawl::workers::{Feed, PageWorkers, Source, Taken, WorkersConfig};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrow::{PyBatch, import};
use crate::scope::PyScope;
use crate::visits::PyVisits;
use crate::warc;

/// Waiting gives way to Python's signal handlers this often.
const SIGNALS: Duration = Duration::from_millis(100);

/// What happened since the last `take`.
#[pyclass(frozen, module = "crivello._native", name = "Taken")]
struct PyTaken(Taken);

#[pymethods]
impl PyTaken {
    /// Pages, one row a visit.
    #[getter]
    fn pages(&self) -> PyBatch {
        PyBatch(self.0.pages.clone())
    }

    /// Links of these pages.
    #[getter]
    fn links(&self) -> PyBatch {
        PyBatch(self.0.links.clone())
    }

    /// URLs that these pages offer to the sieve.
    #[getter]
    fn offers(&self) -> PyBatch {
        PyBatch(self.0.offers.clone())
    }

    /// robots.txt files read.
    #[getter]
    fn robots(&self) -> PyBatch {
        PyBatch(self.0.robots.clone())
    }

    /// Leases ended.
    #[getter]
    fn ends(&self) -> PyBatch {
        PyBatch(self.0.ends.clone())
    }
}

/// Pages that somebody else fetched, for page workers in the place of visits.
#[pyclass(frozen, module = "crivello._native", name = "Feed")]
struct PyFeed(Feed);

#[pymethods]
impl PyFeed {
    #[new]
    fn new() -> Self {
        Self(Feed::default())
    }

    /// Hands over pages; how many.
    fn put(&self, py: Python<'_>, pages: &Bound<'_, PyAny>) -> PyResult<usize> {
        let pages = import(pages)?;
        py.detach(|| self.0.put(&pages)).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Nothing more comes: the workers end.
    fn close(&self) {
        self.0.close();
    }
}

#[derive(FromPyObject)]
enum Given<'py> {
    Visits(PyRef<'py, PyVisits>),
    Feed(PyRef<'py, PyFeed>),
}

/// Threads that turn fetched bytes into batches of pages, links and offers.
#[pyclass(frozen, module = "crivello._native", name = "PageWorkers")]
struct PyPageWorkers(Mutex<PageWorkers>);

impl PyPageWorkers {
    fn locked(&self) -> std::sync::MutexGuard<'_, PageWorkers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyPageWorkers {
    #[new]
    #[pyo3(signature = (source, scope, *, follow, threads=1, token="crivello", max_depth=u16::MAX,
        keep_links=true, keep_pages=true, keep_text=true, warc_compression=Some("gzip"),
        warc_level=None, crawl_key=0, max_decoded=64 << 20, recent_bytes=16 << 20))]
    #[allow(clippy::too_many_arguments)] // keyword arguments of a Python class
    fn new(
        source: Given<'_>,
        scope: &PyScope,
        follow: Vec<String>,
        threads: usize,
        token: &str,
        max_depth: u16,
        keep_links: bool,
        keep_pages: bool,
        keep_text: bool,
        warc_compression: Option<&str>,
        warc_level: Option<i8>,
        crawl_key: u64,
        max_decoded: usize,
        recent_bytes: usize,
    ) -> PyResult<Self> {
        let follow = follow
            .iter()
            .map(|name| {
                LinkKind::from_name(name).ok_or_else(|| {
                    PyValueError::new_err(format!("no kind of link is called {name:?}"))
                })
            })
            .collect::<PyResult<HashSet<_>>>()?;
        let config = WorkersConfig {
            threads,
            token: token.to_owned(),
            follow,
            scope: scope.0.clone(),
            max_depth,
            keep_links,
            keep_pages,
            keep_text,
            archive: warc_compression
                .map(|name| warc::compression(name, warc_level))
                .transpose()?,
            crawl_key,
            max_decoded,
            recent_bytes,
        };
        let source = match source {
            Given::Visits(visits) => Source::from(&*visits.inner()),
            Given::Feed(feed) => Source::from(&feed.0),
        };
        PageWorkers::new(source, &config)
            .map(|workers| Self(Mutex::new(workers)))
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Waits up to `wait_ms` for something to happen and takes all there is, with what comes in
    /// the next moments unless `enough_ends` leases have ended or there are `enough_pages`.
    #[pyo3(signature = (wait_ms, *, enough_ends=1, enough_pages=usize::MAX))]
    fn take(
        &self,
        py: Python<'_>,
        wait_ms: u64,
        enough_ends: usize,
        enough_pages: usize,
    ) -> PyResult<PyTaken> {
        let mut left = Duration::from_millis(wait_ms);
        loop {
            let slice = left.min(SIGNALS);
            let taken = py.detach(|| self.locked().take(slice, enough_ends, enough_pages));
            py.check_signals()?;
            left -= slice;
            if left.is_zero() || !taken.is_empty() {
                return Ok(PyTaken(taken));
            }
        }
    }

    /// Waits for the threads to end; the visits must have been stopped before.
    fn join(&self, py: Python<'_>) {
        py.detach(|| self.locked().join());
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyTaken>()?;
    module.add_class::<PyFeed>()?;
    module.add_class::<PyPageWorkers>()
}
