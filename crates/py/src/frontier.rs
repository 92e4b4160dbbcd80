//! Border of `frontier`.

use arrow_array::Array;
use arrow_array::types::{Int64Type, UInt64Type};
use crivello_crawl::batch;
use crivello_crawl::frontier::{Frontier, FrontierError, Options, State};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrow::{PyBatch, import};
use crate::files::{PyFiles, os_error};

fn error(error: FrontierError) -> PyErr {
    match error {
        FrontierError::Io(error) => os_error(error),
        FrontierError::Damaged { .. } => pyo3::exceptions::PyOSError::new_err(error.to_string()),
        FrontierError::Column(_) | FrontierError::Misuse(_) => {
            PyValueError::new_err(error.to_string())
        }
    }
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Restored {
    log: String,
    len: u64,
    crc: u32,
    snapshot_len: u64,
    next_segment: u32,
    segment_len: u64,
}

#[pyclass(module = "crivello._native", name = "Frontier")]
struct PyFrontier(Frontier);

#[pymethods]
impl PyFrontier {
    #[expect(clippy::too_many_arguments)]
    #[new]
    #[pyo3(signature = (files, dir, *, delay_us, ip_delay_us, local_ip_delay_us, ratio, burst,
        burst_us, backoff_us, agent, segment_bytes, state))]
    fn new(
        py: Python<'_>,
        files: &PyFiles,
        dir: &str,
        delay_us: u64,
        ip_delay_us: u64,
        local_ip_delay_us: u64,
        ratio: Option<f64>,
        burst: usize,
        burst_us: u64,
        backoff_us: u64,
        agent: u16,
        segment_bytes: u64,
        state: Option<Restored>,
    ) -> PyResult<Self> {
        let options = Options {
            delay_us,
            ip_delay_us,
            local_ip_delay_us,
            ratio,
            burst,
            burst_us,
            backoff_us,
            agent,
            segment_bytes,
            ..Options::default()
        };
        let state = state.map(|state| State {
            log: state.log,
            len: state.len,
            crc: state.crc,
            snapshot_len: state.snapshot_len,
            next_segment: state.next_segment,
            segment_len: state.segment_len,
        });
        let files = files.0.clone();
        py.detach(|| Frontier::open(files, dir, options, state.as_ref())).map(Self).map_err(error)
    }

    fn push(&mut self, py: Python<'_>, urls: &Bound<'_, PyAny>) -> PyResult<()> {
        let urls = import(urls)?;
        py.detach(|| self.0.push(&urls)).map_err(error)
    }

    fn lease(&mut self, py: Python<'_>, room: usize, now: i64) -> PyResult<PyBatch> {
        py.detach(|| self.0.lease(room, now)).map(PyBatch).map_err(error)
    }

    fn settle(&mut self, py: Python<'_>, ends: &Bound<'_, PyAny>) -> PyResult<()> {
        let ends = import(ends)?;
        py.detach(|| self.0.settle(&ends)).map_err(error)
    }

    fn reserve(&mut self, count: u32) -> u64 {
        self.0.reserve(count)
    }

    fn stored(&mut self, py: Python<'_>, visits: &Bound<'_, PyAny>) -> PyResult<()> {
        let visits = import(visits)?;
        py.detach(|| self.0.stored(batch::hashes(&visits, "visit")?)).map_err(error)
    }

    fn retry(
        &mut self,
        py: Python<'_>,
        visits: &Bound<'_, PyAny>,
        not_before: i64,
    ) -> PyResult<()> {
        let visits = import(visits)?;
        py.detach(|| self.0.retry(batch::hashes(&visits, "visit")?, not_before)).map_err(error)
    }

    #[pyo3(signature = (host, *, delay_us=None, hold_until=None))]
    fn set_host(&mut self, host: &str, delay_us: Option<u64>, hold_until: Option<i64>) {
        self.0.set_host(host, delay_us, hold_until);
    }

    fn set_ip(&mut self, ip: &str, delay_us: u64) {
        self.0.set_ip(ip, delay_us);
    }

    fn retire(&mut self, py: Python<'_>, host: &str, limit: usize) -> PyResult<PyBatch> {
        py.detach(|| self.0.retire(host, limit)).map(PyBatch).map_err(error)
    }

    fn restore_clocks(&mut self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<()> {
        let rows = import(rows)?;
        py.detach(|| {
            let hosts = batch::strings(&rows, "host")?;
            let ips = batch::strings(&rows, "ip")?;
            let times = batch::numbers::<Int64Type>(&rows, "not_before")?;
            let delays = batch::numbers::<UInt64Type>(&rows, "delay_us")?;
            for row in 0..rows.num_rows() {
                if hosts.is_valid(row) {
                    self.0.restore_host(hosts.value(row), times.value(row), delays.value(row));
                }
                if ips.is_valid(row) {
                    self.0.restore_ip(ips.value(row), times.value(row), delays.value(row));
                }
            }
            Ok(())
        })
        .map_err(error)
    }

    fn failures(&self, host: &str) -> u32 {
        self.0.failures(host)
    }

    fn next_ready(&self) -> Option<i64> {
        self.0.next_ready()
    }

    fn spill(&mut self, py: Python<'_>, target: usize, chunk: usize) -> PyResult<()> {
        py.detach(|| self.0.spill(target, chunk)).map_err(error)
    }

    fn compact(&mut self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.compact()).map_err(error)
    }

    fn checkpoint<'py>(&mut self, py: Python<'py>, snapshot: bool) -> PyResult<Bound<'py, PyDict>> {
        let state = py.detach(|| self.0.checkpoint(snapshot)).map_err(error)?;
        let dict = PyDict::new(py);
        dict.set_item("log", state.log)?;
        dict.set_item("len", state.len)?;
        dict.set_item("crc", state.crc)?;
        dict.set_item("snapshot_len", state.snapshot_len)?;
        dict.set_item("next_segment", state.next_segment)?;
        dict.set_item("segment_len", state.segment_len)?;
        Ok(dict)
    }

    fn reclaim(&mut self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.reclaim()).map_err(error)
    }

    #[getter]
    fn queued(&self) -> u64 {
        self.0.queued()
    }

    #[getter]
    fn in_flight(&self) -> usize {
        self.0.in_flight()
    }

    #[getter]
    fn hosts(&self) -> usize {
        self.0.hosts()
    }

    #[getter]
    fn active(&self) -> usize {
        self.0.active()
    }

    #[getter]
    fn memory_bytes(&self) -> usize {
        self.0.memory_bytes()
    }

    #[getter]
    fn buffered_bytes(&self) -> usize {
        self.0.buffered_bytes()
    }

    #[getter]
    fn disk_bytes(&self) -> (u64, u64) {
        self.0.disk_bytes()
    }

    #[getter]
    fn log_bytes(&self) -> (u64, u64) {
        self.0.log_bytes()
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyFrontier>()
}
