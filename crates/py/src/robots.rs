//! Border of `robots`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crivello_crawl::robots::{self, Kind, RequestRate, Robots, Rules, Window};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use crate::url::parse;

type Hours = (u16, u16);

/// Agents whose compiled rules are remembered by one `Robots`.
const REMEMBERED: usize = 16;

/// A parsed robots.txt. The rules of an agent are compiled when it first asks.
#[pyclass(frozen, module = "crivello._native", name = "Robots")]
pub struct PyRobots {
    robots: Robots,
    rules: Mutex<HashMap<String, Arc<Rules>>>,
}

impl From<Robots> for PyRobots {
    fn from(robots: Robots) -> Self {
        Self { robots, rules: Mutex::default() }
    }
}

impl PyRobots {
    fn rules(&self, agent: &str) -> Arc<Rules> {
        let mut known = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rules) = known.get(agent) {
            return Arc::clone(rules);
        }
        if known.len() >= REMEMBERED {
            known.clear();
        }
        let rules = Arc::new(self.robots.rules(agent));
        known.insert(agent.to_owned(), Arc::clone(&rules));
        rules
    }
}

#[pymethods]
impl PyRobots {
    #[staticmethod]
    fn parse(body: &[u8]) -> Self {
        Robots::parse(body).into()
    }

    #[staticmethod]
    #[pyo3(signature = (status, body=None))]
    fn for_status(status: Option<u16>, body: Option<&[u8]>) -> Self {
        Robots::for_status(status, body.unwrap_or_default()).into()
    }

    fn allowed(&self, agent: &str, url: &str) -> PyResult<bool> {
        Ok(self.rules(agent).allowed(parse(url)?.path_and_query()))
    }

    fn deciding(&self, agent: &str, url: &str) -> PyResult<Option<(usize, bool)>> {
        Ok(self.robots.deciding(agent, parse(url)?.path_and_query()))
    }

    fn allowed_paths(&self, py: Python<'_>, agent: &str, paths: Vec<PyBackedStr>) -> Vec<bool> {
        let rules = self.rules(agent);
        let decisions = py.detach(|| paths.iter().map(|path| rules.allowed(path)).collect());
        drop(paths); // borrowed from Python's strings: released while its lock is held
        decisions
    }

    fn crawl_delay(&self, agent: &str) -> Option<f64> {
        self.rules(agent).crawl_delay()
    }

    fn request_rate(&self, agent: &str) -> Option<(u32, u32, Option<Hours>)> {
        let rate = self.rules(agent).request_rate()?;
        let RequestRate { requests, seconds, window } = rate;
        Some((requests, seconds, window.map(hours)))
    }

    fn visit_time(&self, agent: &str) -> Option<Hours> {
        self.rules(agent).visit_time().map(hours)
    }

    #[getter]
    fn sitemaps(&self) -> Vec<String> {
        self.robots.sitemaps().to_vec()
    }
}

fn hours(window: Window) -> Hours {
    (window.start, window.end)
}

/// The lines of a file: (kind, key, value, typo, no colon, comment).
#[pyfunction]
fn robots_lines(body: &[u8]) -> Vec<(&'static str, String, String, bool, bool, bool)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    robots::lines(body)
        .map(|line| {
            let kind = match line.kind {
                Kind::UserAgent => "user-agent",
                Kind::Allow => "allow",
                Kind::Disallow => "disallow",
                Kind::Sitemap => "sitemap",
                Kind::CrawlDelay => "crawl-delay",
                Kind::RequestRate => "request-rate",
                Kind::VisitTime => "visit-time",
                Kind::Other => "",
            };
            (kind, text(line.key), text(line.value), line.typo, line.no_colon, line.comment)
        })
        .collect()
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ROBOTS_MAX_BYTES", robots::MAX_BYTES)?;
    module.add_class::<PyRobots>()?;
    module.add_function(wrap_pyfunction!(robots_lines, module)?)
}
