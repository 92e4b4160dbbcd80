//! Border of `simweb`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::builder::{
    BooleanBuilder, Float64Builder, StringBuilder, UInt8Builder, UInt16Builder, UInt32Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use crivello_simweb::answer::{Answer, Answers, Request};
use crivello_simweb::server::{Server, ServerError};
use crivello_simweb::truth::{Row, Truth};
use crivello_simweb::{Config, Profile, World};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrow::PyBatch;

/// Rows in a batch of the truth.
const BATCH: usize = 65_536;

/// A simulated web and its running server.
#[pyclass(frozen, module = "crivello._native")]
pub struct SimWebServer {
    world: Arc<World>,
    server: Mutex<Server>,
    port: u16,
    resolve: Vec<String>,
}

#[pymethods]
impl SimWebServer {
    #[new]
    #[pyo3(signature = (*, hosts, pages, seed, profile, port, addresses, time_scale, log))]
    #[allow(clippy::too_many_arguments)] // one option each, by name
    fn new(
        py: Python<'_>,
        hosts: u32,
        pages: u64,
        seed: u64,
        profile: &str,
        port: u16,
        addresses: u8,
        time_scale: f64,
        log: Option<PathBuf>,
    ) -> PyResult<Self> {
        let profile = match profile {
            "clean" => Profile::Clean,
            "wild" => Profile::Wild,
            other => {
                let message = format!("profile {other:?}: give clean or wild");
                return Err(PyValueError::new_err(message));
            }
        };
        let config = Config { hosts, pages, seed, profile, addresses, time_scale };
        py.detach(|| {
            let world = World::new(config).map_err(|e| PyValueError::new_err(e.to_string()))?;
            let world = Arc::new(world);
            let server = Server::start(Arc::clone(&world), port, log.as_deref())
                .map_err(|e: ServerError| PyOSError::new_err(e.to_string()))?;
            let (port, resolve) = (server.port(), server.resolve());
            Ok(Self { world, server: Mutex::new(server), port, resolve })
        })
    }

    #[getter]
    fn port(&self) -> u16 {
        self.port
    }

    #[getter]
    fn seed_url(&self) -> String {
        self.world.seed_url()
    }

    #[getter]
    fn pages(&self) -> u64 {
        self.world.hosts.pages()
    }

    #[getter]
    fn resolve(&self) -> Vec<String> {
        self.resolve.clone()
    }

    #[getter]
    fn served(&self) -> u64 {
        self.server.lock().unwrap_or_else(PoisonError::into_inner).served()
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let flush = || self.server.lock().unwrap_or_else(PoisonError::into_inner).flush();
        Ok(py.detach(flush)?)
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.server.lock().unwrap_or_else(PoisonError::into_inner).stop());
    }

    fn truth(&self) -> SimWebTruth {
        SimWebTruth(Mutex::new(self.world.truth()))
    }

    /// Status and body that the generator makes for a host and a path, without the network.
    fn page<'py>(
        &self,
        py: Python<'py>,
        host: &str,
        path: &str,
        now_us: i64,
    ) -> (u16, Bound<'py, PyBytes>) {
        let mut answer = Answer::default();
        py.detach(|| {
            let request = Request {
                host: host.as_bytes(),
                path: path.as_bytes(),
                now_us,
                ..Request::default()
            };
            Answers::new(Arc::clone(&self.world)).answer(&request, &mut answer);
        });
        (answer.status, PyBytes::new(py, &answer.body))
    }
}

/// The truth of a web in batches of bounded size.
#[pyclass(frozen, module = "crivello._native")]
pub struct SimWebTruth(Mutex<Truth>);

#[pymethods]
impl SimWebTruth {
    const fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyBatch>> {
        let batch = py.detach(|| {
            let mut truth = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            batch(truth.by_ref().take(BATCH))
        });
        let batch = batch.map_err(|e| PyValueError::new_err(e.to_string()))?;
        Ok((batch.num_rows() > 0).then_some(PyBatch(batch)))
    }
}

fn batch(rows: impl Iterator<Item = Row>) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let [mut url, mut host, mut kind, mut reason, mut outcome, mut lang, mut charset]: [_; 7] =
        std::array::from_fn(|_| StringBuilder::new());
    let (mut location, mut duplicate_of) = (StringBuilder::new(), StringBuilder::new());
    let (mut status, mut refusals) = (UInt16Builder::new(), UInt8Builder::new());
    let (mut distance, mut trap) = (UInt32Builder::new(), UInt32Builder::new());
    let (mut changes, mut certain) = (Float64Builder::new(), BooleanBuilder::new());
    for row in rows {
        url.append_value(row.url);
        host.append_value(row.host);
        status.append_option(row.status);
        kind.append_value(row.kind);
        reason.append_value(row.reason);
        outcome.append_value(row.outcome.name());
        lang.append_option(row.lang);
        charset.append_option(row.charset);
        location.append_option(row.location);
        duplicate_of.append_option(row.duplicate_of);
        distance.append_option(row.distance);
        changes.append_value(row.changes_per_day);
        refusals.append_value(row.refusals);
        trap.append_value(row.trap);
        certain.append_value(row.certain);
    }
    let columns: [(&str, ArrayRef, bool); 15] = [
        ("url", Arc::new(url.finish()), false),
        ("host", Arc::new(host.finish()), false),
        ("status", Arc::new(status.finish()), true),
        ("kind", Arc::new(kind.finish()), false),
        ("reason", Arc::new(reason.finish()), false),
        ("outcome", Arc::new(outcome.finish()), false),
        ("lang", Arc::new(lang.finish()), true),
        ("charset", Arc::new(charset.finish()), true),
        ("location", Arc::new(location.finish()), true),
        ("duplicate_of", Arc::new(duplicate_of.finish()), true),
        ("distance", Arc::new(distance.finish()), true),
        ("changes_per_day", Arc::new(changes.finish()), false),
        ("refusals", Arc::new(refusals.finish()), false),
        ("trap", Arc::new(trap.finish()), false),
        ("certain", Arc::new(certain.finish()), false),
    ];
    RecordBatch::try_from_iter_with_nullable(columns)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<SimWebServer>()?;
    module.add_class::<SimWebTruth>()
}
