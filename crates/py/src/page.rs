//! Border of `page`.

use crivello_crawl::page::tokeniser::Content;
use crivello_crawl::page::tokens::{Token, tokens};
use crivello_crawl::page::{self, PageInput};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

/// A link as the page states it.
#[pyclass(frozen, get_all, module = "crivello._native")]
struct Link {
    href: String,
    kind: &'static str,
    rel: String,
    anchor: String,
}

#[pymethods]
impl Link {
    fn __repr__(&self) -> String {
        format!("Link({:?}, kind={:?}, anchor={:?})", self.href, self.kind, self.anchor)
    }
}

/// What a body says.
#[pyclass(frozen, module = "crivello._native")]
struct Page {
    page: page::Page,
    links: Vec<Py<Link>>,
}

#[pymethods]
impl Page {
    #[getter]
    fn mime(&self) -> &str {
        &self.page.mime
    }

    #[getter]
    fn charset(&self) -> &str {
        self.page.charset
    }

    #[getter]
    fn title(&self) -> &str {
        &self.page.title
    }

    #[getter]
    fn description(&self) -> &str {
        &self.page.description
    }

    #[getter]
    fn canonical(&self) -> Option<&str> {
        self.page.canonical.as_deref()
    }

    #[getter]
    fn base(&self) -> Option<&str> {
        self.page.base.as_deref()
    }

    #[getter]
    fn lang(&self) -> Option<&str> {
        self.page.lang.as_deref()
    }

    #[getter]
    fn robots_flags(&self) -> u16 {
        self.page.robots_flags.0
    }

    #[getter]
    fn noindex(&self) -> bool {
        self.page.robots_flags.contains(page::RobotsFlags::NOINDEX)
    }

    #[getter]
    fn nofollow(&self) -> bool {
        self.page.robots_flags.contains(page::RobotsFlags::NOFOLLOW)
    }

    #[getter]
    fn text(&self) -> &str {
        &self.page.text
    }

    #[getter]
    fn links(&self, py: Python<'_>) -> Vec<Py<Link>> {
        self.links.iter().map(|link| link.clone_ref(py)).collect()
    }

    #[getter]
    fn text_digest<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.page.text_digest)
    }

    #[getter]
    fn simhash(&self) -> u64 {
        self.page.simhash
    }

    fn __repr__(&self) -> String {
        let (mime, title) = (&self.page.mime, &self.page.title);
        format!("Page({mime}, {title:?}, {} links)", self.links.len())
    }
}

/// Reads a body whose content-coding has been removed.
#[pyfunction]
#[pyo3(signature = (body, content_type=None, agent="crivello"))]
fn parse_page(
    py: Python<'_>,
    body: &[u8],
    content_type: Option<&str>,
    agent: &str,
) -> PyResult<Page> {
    let mut page = py.detach(|| page::parse(&PageInput { content_type, body }, agent));
    let links = std::mem::take(&mut page.links)
        .into_iter()
        .map(|link| {
            let page::Link { href, kind, rel, anchor } = link;
            Py::new(py, Link { href, kind: kind.as_str(), rel, anchor })
        })
        .collect::<PyResult<_>>()?;
    Ok(Page { page, links })
}

/// A body, its content-coding removed, as Markdown with absolute links.
#[pyfunction]
#[pyo3(signature = (body, url, content_type=None))]
fn to_markdown(
    py: Python<'_>,
    body: &[u8],
    url: &str,
    content_type: Option<&str>,
) -> PyResult<String> {
    let url = crate::url::parse(url)?;
    Ok(py.detach(|| page::to_markdown(&PageInput { content_type, body }, &url)))
}

/// The tokens of a text, read from one state of the tokeniser.
#[pyfunction]
#[pyo3(signature = (html, state="data", last_start_tag=""))]
fn tokenise<'py>(
    py: Python<'py>,
    html: &str,
    state: &str,
    last_start_tag: &str,
) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    let content = match state {
        "data" => Content::Data,
        "rcdata" => Content::Rcdata,
        "rawtext" => Content::Rawtext,
        "script" => Content::Script,
        "plaintext" => Content::Plaintext,
        "cdata" => Content::Cdata,
        other => {
            return Err(PyValueError::new_err(format!(
                "tokenise: unknown state {other:?}; give data, rcdata, rawtext, script, plaintext or cdata"
            )));
        }
    };
    tokens(html, content, last_start_tag)
        .into_iter()
        .map(|token| match token {
            Token::Start(name, attributes, self_closing) => {
                let dict = PyDict::new(py);
                for (name, value) in attributes {
                    dict.set_item(name, value)?;
                }
                ("StartTag", name, dict, self_closing).into_pyobject(py)
            }
            Token::End(name) => ("EndTag", name).into_pyobject(py),
            Token::Text(text) => ("Character", text).into_pyobject(py),
            Token::Comment(text) => ("Comment", text).into_pyobject(py),
            Token::Doctype(text) => ("DOCTYPE", text).into_pyobject(py),
        })
        .collect()
}

/// The encoding that a `meta` element near the start declares, by its WHATWG name.
#[pyfunction]
fn prescan(body: &[u8]) -> Option<&'static str> {
    let encoding = page::prescan(body)?;
    Some(encoding.name())
}

/// Similarity hash of the set of words of a text.
#[pyfunction]
fn simhash(py: Python<'_>, text: &str) -> u64 {
    py.detach(|| page::simhash(text))
}

/// BLAKE3-128 of a text without digits and with its white space collapsed.
#[pyfunction]
fn text_digest<'py>(py: Python<'py>, text: &str) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &py.detach(|| page::text_digest(text)))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(to_markdown, module)?)?;
    module.add_class::<Link>()?;
    module.add_class::<Page>()?;
    module.add_function(wrap_pyfunction!(parse_page, module)?)?;
    module.add_function(wrap_pyfunction!(tokenise, module)?)?;
    module.add_function(wrap_pyfunction!(prescan, module)?)?;
    module.add_function(wrap_pyfunction!(simhash, module)?)?;
    module.add_function(wrap_pyfunction!(text_digest, module)?)
}
