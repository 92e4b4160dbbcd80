//! Border of `warc` and `coding`: finished records and decoded bodies as bytes.

#![allow(clippy::too_many_arguments)] // they are keyword arguments in Python

use std::net::IpAddr;

use arrow_array::types::{Int64Type, UInt16Type, UInt64Type};
use arrow_array::{Array, RecordBatch, StringArray};
use crivello_crawl::batch::{self, ColumnError};
use crivello_crawl::coding;
use crivello_crawl::warc::{self, Capture, Compression, Exchange, Original, RecordWriter};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrow;

/// Makes WARC/1.1 records, each a compressed member of its own.
#[pyclass(module = "crivello._native", name = "WarcRecords")]
pub struct PyWarcRecords {
    writer: RecordWriter,
    compression: Compression,
}

#[pymethods]
impl PyWarcRecords {
    #[new]
    #[pyo3(signature = (*, key=0, compression="gzip", level=None))]
    fn new(key: u64, compression: &str, level: Option<i8>) -> PyResult<Self> {
        let compression = self::compression(compression, level)?;
        let writer = RecordWriter::new(key, compression)
            .map_err(|e| PyValueError::new_err(format!("warc: {e}")))?;
        Ok(Self { writer, compression })
    }

    /// What files of these records are called: `warc.gz` or `warc.zst`.
    #[getter]
    fn extension(&self) -> &'static str {
        self.compression.extension()
    }

    #[pyo3(signature = (url, date_us, ip, head, body, truncated=None, visit=0))]
    fn response<'py>(
        &mut self,
        py: Python<'py>,
        url: &str,
        date_us: i64,
        ip: Option<&str>,
        head: &[u8],
        body: &[u8],
        truncated: Option<&str>,
        visit: u64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let exchange = Exchange { visit, url, date_us, ip: address(ip)?, head, body, truncated };
        finished(py, py.detach(|| self.writer.response(&exchange)))
    }

    #[pyo3(signature = (url, date_us, ip, head, body=b"".as_slice(), visit=0))]
    fn request<'py>(
        &mut self,
        py: Python<'py>,
        url: &str,
        date_us: i64,
        ip: Option<&str>,
        head: &[u8],
        body: &[u8],
        visit: u64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let ip = address(ip)?;
        let exchange = Exchange { visit, url, date_us, ip, head, body, truncated: None };
        finished(py, py.detach(|| self.writer.request(&exchange)))
    }

    #[pyo3(signature = (url, date_us, ip, head, body, *, original_url, original_date_us, visit=0))]
    fn revisit<'py>(
        &mut self,
        py: Python<'py>,
        url: &str,
        date_us: i64,
        ip: Option<&str>,
        head: &[u8],
        body: &[u8],
        original_url: &str,
        original_date_us: i64,
        visit: u64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let ip = address(ip)?;
        let exchange = Exchange { visit, url, date_us, ip, head, body, truncated: None };
        let original = Original { url: original_url, date_us: original_date_us };
        finished(py, py.detach(|| self.writer.revisit(&exchange, &original)))
    }

    #[pyo3(signature = (fields, *, filename, date_us))]
    fn warcinfo<'py>(
        &mut self,
        py: Python<'py>,
        fields: &Bound<'py, PyDict>,
        filename: &str,
        date_us: i64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let fields: Vec<(String, String)> = fields
            .iter()
            .map(|(name, value)| Ok((name.extract()?, value.extract()?)))
            .collect::<PyResult<_>>()?;
        let fields: Vec<(&str, &str)> =
            fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        finished(py, self.writer.warcinfo(filename, date_us, &fields))
    }
}

/// A codec by its name, at its usual level unless another is given.
pub fn compression(name: &str, level: Option<i8>) -> PyResult<Compression> {
    match name {
        "gzip" => Ok(Compression::Gzip(u8::try_from(level.unwrap_or(1)).unwrap_or(u8::MAX))),
        "zstd" => Ok(Compression::Zstd(level.unwrap_or(3))),
        other => Err(PyValueError::new_err(format!(
            "warc: compression {other:?} is neither \"gzip\" nor \"zstd\""
        ))),
    }
}

fn address(ip: Option<&str>) -> PyResult<Option<IpAddr>> {
    ip.map(|text| {
        text.parse().map_err(|_| PyValueError::new_err(format!("warc: {text:?} is no IP address")))
    })
    .transpose()
}

fn finished(py: Python<'_>, record: std::io::Result<warc::Record>) -> PyResult<Bound<'_, PyBytes>> {
    match record {
        Ok(record) => Ok(PyBytes::new(py, &record.bytes)),
        Err(error) => Err(PyOSError::new_err(format!("warc: {error}"))),
    }
}

/// One line of a capture index, without a line end.
#[pyfunction]
#[pyo3(signature = (url, date_us, *, status, mime, digest, filename, offset, length))]
fn cdxj_line(
    url: &str,
    date_us: i64,
    status: u16,
    mime: &str,
    digest: &str,
    filename: &str,
    offset: u64,
    length: u64,
) -> String {
    warc::cdxj_line(&Capture { url, date_us, status, mime, digest, filename, offset, length })
}

/// The lines of a capture index, each with its line end, for the rows of `pages` that have a
/// record: columns `url`, `fetched_at` (int64), `status`, `mime`, `warc_digest`, `warc_file`,
/// `warc_offset` and `warc_length`.
#[pyfunction]
fn cdxj_lines<'py>(py: Python<'py>, pages: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let pages = arrow::import(pages)?;
    let lines = py.detach(|| lines_of(&pages));
    Ok(PyBytes::new(py, &lines.map_err(|e| PyValueError::new_err(format!("cdxj: {e}")))?))
}

fn known<'a>(column: &'a StringArray, row: usize, unknown: &'a str) -> &'a str {
    if column.is_valid(row) { column.value(row) } else { unknown }
}

fn lines_of(pages: &RecordBatch) -> Result<Vec<u8>, ColumnError> {
    let text = |name| batch::strings(pages, name);
    let (urls, mimes) = (text("url")?, text("mime")?);
    let (digests, files) = (text("warc_digest")?, text("warc_file")?);
    let statuses = batch::numbers::<UInt16Type>(pages, "status")?;
    let dates = batch::numbers::<Int64Type>(pages, "fetched_at")?;
    let offsets = batch::numbers::<UInt64Type>(pages, "warc_offset")?;
    let lengths = batch::numbers::<UInt64Type>(pages, "warc_length")?;
    let mut lines = Vec::new();
    for row in (0..pages.num_rows()).filter(|&row| offsets.is_valid(row)) {
        let line = warc::cdxj_line(&Capture {
            url: urls.value(row),
            date_us: dates.value(row),
            status: if statuses.is_valid(row) { statuses.value(row) } else { 0 },
            mime: known(mimes, row, "unk"),
            digest: known(digests, row, "-"),
            filename: files.value(row),
            offset: offsets.value(row),
            length: lengths.value(row),
        });
        lines.extend_from_slice(line.as_bytes());
        lines.push(b'\n');
    }
    Ok(lines)
}

/// The key under which a capture index files a URL.
#[pyfunction]
fn surt(url: &str) -> String {
    warc::surt(url)
}

/// Takes content codings off a body: `(body, truncated, error class or None)`.
#[pyfunction]
#[pyo3(signature = (content_encoding, body, *, limit))]
fn decode_content<'py>(
    py: Python<'py>,
    content_encoding: &str,
    body: &[u8],
    limit: usize,
) -> (Bound<'py, PyBytes>, bool, Option<&'static str>) {
    let decoded = py.detach(|| coding::decode(content_encoding, body, limit));
    let error = decoded.error.as_ref().map(coding::CodingError::class);
    (PyBytes::new(py, &decoded.body), decoded.truncated, error)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyWarcRecords>()?;
    module.add_function(wrap_pyfunction!(cdxj_line, module)?)?;
    module.add_function(wrap_pyfunction!(cdxj_lines, module)?)?;
    module.add_function(wrap_pyfunction!(surt, module)?)?;
    module.add_function(wrap_pyfunction!(decode_content, module)?)
}
