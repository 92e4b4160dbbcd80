//! Border of `visits`.

use std::sync::Arc;
use std::time::Duration;

use crivello_crawl::fetch::{StartError, Visits, VisitsConfig};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrow::import;
use crate::ledger::PyLedger;

/// The fetching half of an agent: leases in, pages and ends out (by the page workers).
#[pyclass(frozen, module = "crivello._native", name = "Visits")]
pub struct PyVisits(Arc<Visits>);

impl PyVisits {
    /// The visits, for the page workers that take from their channels.
    #[allow(dead_code)] // used by the border of `workers`
    pub(crate) fn inner(&self) -> Arc<Visits> {
        Arc::clone(&self.0)
    }
}

fn value_error(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn seconds(name: &str, value: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value)
        .map_err(|_| value_error(format!("{name}: {value} is not a number of seconds")))
}

#[pymethods]
impl PyVisits {
    #[new]
    #[pyo3(signature = (
        ledger, *, agent, token, resolve=Vec::new(), allow_private=false, local_hosts=Vec::new(),
        identified=false, visits=256, max_body=10 << 20, max_head=64 << 10, connect_timeout=10.0,
        first_byte_timeout=20.0, total_timeout=120.0, idle_timeout=10.0, body_budget=128 << 20,
        obey_robots=true, robots_ttl=86_400.0, robots_budget=32 << 20,
    ))]
    #[allow(clippy::too_many_arguments, clippy::fn_params_excessive_bools)] // keywords in Python
    fn new(
        py: Python<'_>,
        ledger: &PyLedger,
        agent: String,
        token: String,
        resolve: Vec<String>,
        allow_private: bool,
        local_hosts: Vec<String>,
        identified: bool,
        visits: usize,
        max_body: usize,
        max_head: usize,
        connect_timeout: f64,
        first_byte_timeout: f64,
        total_timeout: f64,
        idle_timeout: f64,
        body_budget: usize,
        obey_robots: bool,
        robots_ttl: f64,
        robots_budget: usize,
    ) -> PyResult<Self> {
        let rules = resolve.iter().map(|rule| rule.parse().map_err(value_error));
        let config = VisitsConfig {
            agent,
            token,
            resolve: rules.collect::<PyResult<_>>()?,
            allow_private,
            local_hosts,
            identified,
            visits,
            max_body,
            max_head,
            connect_timeout: seconds("connect_timeout", connect_timeout)?,
            first_byte_timeout: seconds("first_byte_timeout", first_byte_timeout)?,
            total_timeout: seconds("total_timeout", total_timeout)?,
            idle_timeout: seconds("idle_timeout", idle_timeout)?,
            body_budget,
            obey_robots,
            robots_ttl: seconds("robots_ttl", robots_ttl)?,
            robots_budget,
        };
        let ledger = ledger.inner();
        py.detach(|| Visits::new(config, ledger)).map(|it| Self(Arc::new(it))).map_err(value_error)
    }

    /// Leases that may still start.
    fn room(&self) -> usize {
        self.0.room()
    }

    fn start(&self, py: Python<'_>, leases: &Bound<'_, PyAny>) -> PyResult<()> {
        let leases = import(leases)?;
        py.detach(|| self.0.start(&leases)).map_err(|error| match error {
            StartError::Ledger(_) => PyOSError::new_err(error.to_string()),
            StartError::Stopped => PyRuntimeError::new_err(error.to_string()),
            other => value_error(other),
        })
    }

    fn seed_robots(
        &self,
        py: Python<'_>,
        origin: &str,
        status: Option<u16>,
        body: &[u8],
        expires: i64,
    ) {
        py.detach(|| self.0.seed_robots(origin, status, body, expires));
    }

    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.0.stop());
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.0.stats();
        let counters = PyDict::new(py);
        for (name, value) in [
            ("requests", stats.requests),
            ("bytes", stats.bytes),
            ("connections", stats.connections),
            ("reused", stats.reused),
            ("handshakes", stats.handshakes),
            ("lookups", stats.lookups),
            ("retries", stats.retries),
            ("in_flight", stats.in_flight),
        ] {
            counters.set_item(name, value)?;
        }
        Ok(counters)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyVisits>()
}
