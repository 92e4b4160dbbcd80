//! Border of `url`.

use std::sync::Arc;

use arrow_array::builder::{StringBuilder, UInt64Builder};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use crivello_crawl::batch;
use crivello_crawl::url::{self, Joiner, Url};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrow::{PyBatch, import};

/// Parses with a message that names the URL.
pub fn parse(text: &str) -> PyResult<Url> {
    Url::parse(text).map_err(|reason| refused(text, reason))
}

fn refused(text: &str, reason: url::UrlError) -> PyErr {
    let shown: String = text.chars().take(200).collect();
    PyValueError::new_err(format!("{reason}: {shown:?}"))
}

#[pyfunction]
#[pyo3(signature = (url, base=None))]
fn normalise(url: &str, base: Option<&str>) -> PyResult<String> {
    let parsed = match base {
        Some(base) => parse(base)?.join(url).map_err(|reason| refused(url, reason))?,
        None => parse(url)?,
    };
    Ok(parsed.as_str().to_owned())
}

#[pyfunction]
fn url_hash(url: &str) -> PyResult<u64> {
    Ok(parse(url)?.hash())
}

#[pyfunction]
fn url_parts(url: &str) -> PyResult<(String, String, String, u16, String)> {
    let parsed = parse(url)?;
    let [scheme, host, authority, target] =
        [parsed.scheme(), parsed.host(), parsed.authority(), parsed.path_and_query()]
            .map(str::to_owned);
    Ok((scheme, host, authority, parsed.port(), target))
}

#[pyfunction]
fn domain(host: &str) -> String {
    url::domain(&host.to_ascii_lowercase()).to_owned()
}

/// Joins the links of column `url` to a base, or parses them: columns `url` and `url_hash`,
/// null where a link leads to nothing that can be asked for.
#[pyfunction]
#[pyo3(signature = (links, base=None))]
fn normalise_batch(
    py: Python<'_>,
    links: &Bound<'_, PyAny>,
    base: Option<&str>,
) -> PyResult<PyBatch> {
    let links = import(links)?;
    let base = base.map(parse).transpose()?.map(|base| Joiner::new(&base));
    py.detach(|| {
        let hrefs =
            batch::strings(&links, "url").map_err(|e| PyValueError::new_err(e.to_string()))?;
        let mut urls = StringBuilder::with_capacity(hrefs.len(), hrefs.values().len());
        let mut hashes = UInt64Builder::with_capacity(hrefs.len());
        let mut text = String::new();
        for href in hrefs {
            let href = href.unwrap_or("");
            let joined = match &base {
                Some(base) => base.join_into(href, &mut text),
                None => url::parse_into(href, &mut text),
            };
            urls.append_option(joined.is_ok().then_some(text.as_str()));
            hashes.append_option(joined.is_ok().then(|| url::hash(&text)));
        }
        let schema = Schema::new(vec![
            Field::new("url", DataType::Utf8, true),
            Field::new("url_hash", DataType::UInt64, true),
        ]);
        RecordBatch::try_new(
            Arc::new(schema),
            vec![Arc::new(urls.finish()), Arc::new(hashes.finish())],
        )
        .map(PyBatch)
        .map_err(|e| PyValueError::new_err(e.to_string()))
    })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(normalise, module)?)?;
    module.add_function(wrap_pyfunction!(url_hash, module)?)?;
    module.add_function(wrap_pyfunction!(url_parts, module)?)?;
    module.add_function(wrap_pyfunction!(domain, module)?)?;
    module.add_function(wrap_pyfunction!(normalise_batch, module)?)
}
