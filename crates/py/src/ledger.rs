//! Border of `ledger`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt16Array, UInt64Array};
use crivello_crawl::ledger::{self, Last, Ledger, Request};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrow::PyBatch;
use crate::files::{PyFiles, os_error};

/// The politeness ledger of an agent, open for writing.
#[pyclass(frozen, module = "crivello._native", name = "Ledger")]
pub struct PyLedger(Arc<Ledger>);

impl PyLedger {
    /// The ledger, for a kernel that writes to it.
    pub(crate) fn inner(&self) -> Arc<Ledger> {
        Arc::clone(&self.0)
    }
}

fn address(ip: Option<&str>) -> PyResult<Option<IpAddr>> {
    ip.map(|text| {
        text.parse().map_err(|_| PyValueError::new_err(format!("{text:?} is no IP address")))
    })
    .transpose()
}

#[pymethods]
impl PyLedger {
    #[new]
    #[pyo3(signature = (files, dir="ledger"))]
    fn new(py: Python<'_>, files: &PyFiles, dir: &str) -> PyResult<Self> {
        let ledger = py.detach(|| Ledger::open(&files.0, dir)).map_err(os_error)?;
        Ok(Self(Arc::new(ledger)))
    }

    #[pyo3(signature = (host, ip, at, *, delay_us, ip_delay_us))]
    fn intent(
        &self,
        py: Python<'_>,
        host: &str,
        ip: Option<&str>,
        at: i64,
        delay_us: u64,
        ip_delay_us: u64,
    ) -> PyResult<()> {
        let ip = address(ip)?;
        py.detach(|| self.0.intent(host, ip, at, delay_us, ip_delay_us)).map_err(os_error)
    }

    #[pyo3(signature = (host, ip, at, *, status, hold_until=0))]
    fn end(
        &self,
        py: Python<'_>,
        host: &str,
        ip: Option<&str>,
        at: i64,
        status: u16,
        hold_until: i64,
    ) -> PyResult<()> {
        let ip = address(ip)?;
        py.detach(|| self.0.end(host, ip, at, status, hold_until)).map_err(os_error)
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.flush()).map_err(os_error)
    }
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> PyResult<PyBatch> {
    let batch = RecordBatch::try_from_iter(columns);
    batch.map(PyBatch).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn text(ip: Option<IpAddr>) -> Option<String> {
    ip.map(|ip| ip.to_string())
}

/// The requests of a ledger, each joined to its end.
#[pyfunction]
#[pyo3(signature = (path, *, since=i64::MIN))]
fn replay_ledger(py: Python<'_>, path: PathBuf, since: i64) -> PyResult<PyBatch> {
    py.detach(|| {
        let all: Vec<Request> = ledger::requests(&path, since).map_err(os_error)?;
        let numbers = |of: fn(&Request) -> u64| -> ArrayRef {
            Arc::new(all.iter().map(of).collect::<UInt64Array>())
        };
        let times = |of: fn(&Request) -> Option<i64>| -> ArrayRef {
            Arc::new(all.iter().map(of).collect::<Int64Array>())
        };
        let hosts: StringArray = all.iter().map(|request| Some(request.host.as_str())).collect();
        let ips: StringArray = all.iter().map(|request| text(request.ip)).collect();
        let statuses: UInt16Array = all.iter().map(|request| request.status).collect();
        batch(vec![
            ("host", Arc::new(hosts)),
            ("ip", Arc::new(ips)),
            ("intent_at", times(|request| Some(request.intent_at))),
            ("ended_at", times(|request| request.ended_at)),
            ("status", Arc::new(statuses)),
            ("delay_us", numbers(|request| request.delay_us)),
            ("ip_delay_us", numbers(|request| request.ip_delay_us)),
            ("hold_until", times(|request| Some(request.hold_until))),
        ])
    })
}

/// The last word on every host and on every address.
#[pyfunction]
#[pyo3(signature = (path, *, since=i64::MIN))]
fn last_by_host(py: Python<'_>, path: PathBuf, since: i64) -> PyResult<PyBatch> {
    py.detach(|| {
        let last = ledger::last_by_host(&path, since).map_err(os_error)?;
        let mut rows: Vec<(Option<String>, Option<String>, Last)> =
            last.hosts.into_iter().map(|(host, last)| (Some(host), None, last)).collect();
        rows.extend(last.ips.into_iter().map(|(ip, last)| (None, Some(ip.to_string()), last)));
        rows.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        let hosts: StringArray = rows.iter().map(|(host, ..)| host.as_deref()).collect();
        let ips: StringArray = rows.iter().map(|(_, ip, _)| ip.as_deref()).collect();
        let intents: Int64Array = rows.iter().map(|row| row.2.intent_at).collect();
        let delays: UInt64Array = rows.iter().map(|row| row.2.delay_us).collect();
        let holds: Int64Array = rows.iter().map(|row| row.2.hold_until).collect();
        batch(vec![
            ("host", Arc::new(hosts)),
            ("ip", Arc::new(ips)),
            ("intent_at", Arc::new(intents)),
            ("delay_us", Arc::new(delays)),
            ("hold_until", Arc::new(holds)),
        ])
    })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyLedger>()?;
    module.add_function(wrap_pyfunction!(replay_ledger, module)?)?;
    module.add_function(wrap_pyfunction!(last_by_host, module)?)
}
