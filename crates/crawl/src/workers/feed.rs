//! Pages that somebody else fetched: archives on their way through the page workers.
//!
//! A [`Feed`] stands in the place of visits. Its channel has no bound: whoever puts a batch takes
//! its rows back before putting the next, so a batch is all that it ever holds.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, BinaryArray, RecordBatch, StringArray};
use async_channel::{Receiver, Sender};
use bytes::Bytes;

use super::Source;
use crate::batch::{self, ColumnError};
use crate::fetch::{End, FetchError, Fetched, Outcome, Response, RobotsFetched};
use crate::url::{Url, UrlError};

/// What may be wrong with a batch of pages.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// A column is missing.
    #[error(transparent)]
    Column(#[from] ColumnError),
    /// A URL that is not http or https.
    #[error("{0:?}: {1}")]
    Url(String, UrlError),
    /// The feed was closed.
    #[error("the feed is closed")]
    Closed,
}

/// Hands pages to page workers.
pub struct Feed {
    pages: Sender<Fetched>,
    fetched: Receiver<Fetched>,
}

impl Default for Feed {
    fn default() -> Self {
        let (pages, fetched) = async_channel::unbounded();
        Self { pages, fetched }
    }
}

impl From<&Feed> for Source {
    /// No leases end at a feed and no robots.txt is read: those channels are closed.
    fn from(feed: &Feed) -> Self {
        let (_, ends) = async_channel::bounded::<End>(1);
        let (_, robots) = async_channel::bounded::<RobotsFetched>(1);
        Self { fetched: feed.fetched.clone(), ends, robots }
    }
}

impl Feed {
    /// Hands over a batch (columns `visit`, `url`, `date`, `ip`, `head`, `body`, `truncated`);
    /// the number of its pages, each of which becomes one row.
    ///
    /// # Errors
    /// When a column is missing, a URL is none, or the feed is closed; then nothing was put.
    pub fn put(&self, pages: &RecordBatch) -> Result<usize, FeedError> {
        let visits = batch::hashes(pages, "visit")?;
        let dates = batch::numbers::<Int64Type>(pages, "date")?;
        let (urls, ips) = (batch::strings(pages, "url")?, batch::strings(pages, "ip")?);
        let truncated = batch::strings(pages, "truncated")?;
        let (heads, bodies) = (bytes(pages, "head")?, bytes(pages, "body")?);
        let fetched: Vec<Fetched> = (0..pages.num_rows())
            .map(|row| {
                let url = Url::parse(urls.value(row))
                    .map_err(|error| FeedError::Url(urls.value(row).to_owned(), error))?;
                let response = Response::new(
                    Bytes::copy_from_slice(heads.value(row)),
                    Bytes::copy_from_slice(bodies.value(row)),
                    value(truncated, row).map(reason),
                    Bytes::new(),
                );
                Ok(Fetched {
                    lease: 0,
                    visit: visits.value(row),
                    host: Arc::from(url.authority()),
                    url,
                    depth: 0,
                    score: 0.0,
                    attempt: 0,
                    started_at: dates.value(row),
                    elapsed_us: 0,
                    ip: value(ips, row).and_then(|ip| ip.parse().ok()),
                    outcome: outcome(response),
                    permit: None,
                })
            })
            .collect::<Result<_, FeedError>>()?;
        for page in fetched {
            self.pages.try_send(page).map_err(|_| FeedError::Closed)?;
        }
        Ok(pages.num_rows())
    }

    /// Nothing more comes: the workers end when they have dealt with what is there.
    pub fn close(&self) {
        self.pages.close();
    }
}

fn outcome(response: Result<Response, FetchError>) -> Outcome {
    response.map_or_else(Outcome::Failed, Outcome::Response)
}

/// The words of WARC-Truncated.
fn reason(text: &str) -> &'static str {
    ["length", "time", "disconnect"]
        .into_iter()
        .find(|known| *known == text)
        .unwrap_or("unspecified")
}

fn value(column: &StringArray, row: usize) -> Option<&str> {
    column.is_valid(row).then(|| column.value(row))
}

fn bytes<'a>(batch: &'a RecordBatch, column: &'static str) -> Result<&'a BinaryArray, ColumnError> {
    batch
        .column_by_name(column)
        .and_then(|array| array.as_binary_opt::<i32>())
        .ok_or_else(|| ColumnError::new(column, "binary"))
}
