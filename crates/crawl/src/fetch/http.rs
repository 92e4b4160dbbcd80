//! Framing of HTTP/1.x answers (RFC 9112), lenient as the web is.
//!
//! The head is kept byte by byte as it came; the body has its transfer-coding removed and
//! its content-coding left on. What ends a body, in order:
//!
//! 1. status 204 or 304: there is none;
//! 2. `Transfer-Encoding: chunked`: the last chunk, and the trailers after it are passed over;
//! 3. one `Content-Length` (or several that agree): that many bytes;
//! 4. the end of the connection.
//!
//! A body that breaks off is kept as far as it came, with the reason in `truncated`. Only an
//! answer whose end was certain, from a server that does not close, lets the connection live.

use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, timeout_at};

use super::limits::{BodyBudget, Permit, SMALL_BODY};
use super::outcome::{FetchError, Response};

/// What is read at a time, and the size of a connection's buffer.
const READ: usize = 16 << 10;
/// A chunk's size and its extensions fit well within this.
const MAX_CHUNK_LINE: usize = 4 << 10;
/// Interim (1xx) answers before the real one.
const MAX_INTERIM: usize = 16;

const LENGTH: &str = "length";
const TIME: &str = "time";
const DISCONNECT: &str = "disconnect";

/// Bounds of one exchange.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) max_head: usize,
    pub(super) max_body: usize,
    /// Between two bytes.
    pub(super) silence: Duration,
    pub(super) total: Duration,
}

/// An answer, and whether the connection may carry another request.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) response: Response,
    pub(super) permit: Option<Permit>,
    pub(super) reusable: bool,
}

/// No answer. `unheard`: the connection broke before a single byte came back, as happens
/// when a server closes an idle connection while the request is on its way.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) error: FetchError,
    pub(super) unheard: bool,
}

impl From<FetchError> for Broken {
    fn from(error: FetchError) -> Self {
        Self { error, unheard: false }
    }
}

/// A byte stream, and what has been read of it but not used.
#[derive(Debug)]
pub(super) struct Wire<S> {
    pub(super) stream: S,
    buffer: BytesMut,
    received: u64,
    /// Nobody knows where the next answer would begin.
    spoiled: bool,
}

/// Why no more bytes came.
enum Gap {
    Silence,
    Closed,
    Lost,
}

impl<S> Wire<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, buffer: BytesMut::new(), received: 0, spoiled: false }
    }

    /// Bytes received since the last time this was asked.
    pub(super) fn take_received(&mut self) -> u64 {
        std::mem::take(&mut self.received)
    }
}

/// When to give up.
struct Patience {
    silence: Duration,
    end: Instant,
}

impl Patience {
    fn next(&self) -> Instant {
        self.end.min(Instant::now() + self.silence)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    /// Sends a request head (of a GET) and reads the answer.
    pub(super) async fn exchange(
        &mut self,
        request: &Bytes,
        limits: &Limits,
        budget: &BodyBudget,
    ) -> Result<Exchange, Broken> {
        let mut patience = Patience { silence: limits.silence, end: Instant::now() + limits.total };
        let sent = timeout_at(patience.next(), async {
            self.stream.write_all(request).await?;
            self.stream.flush().await
        });
        match sent.await {
            Err(_) => return Err(FetchError::Timeout("sending the request").into()),
            // The server may have answered and closed without reading it all: go and see.
            Ok(Err(_)) if self.buffer.is_empty() => patience.silence = Duration::from_secs(1),
            Ok(_) => {}
        }
        let mut response = self.head(limits.max_head, &patience, request).await?;
        let framing = Framing::of(&response);
        let mut body = Body::new(budget, limits.max_body);
        let truncated = match framing {
            Framing::Empty => None,
            Framing::Chunked => self.chunked(&mut body, &mut patience).await,
            Framing::Length(length) => match usize::try_from(length) {
                Ok(length) if length <= self.buffer.len() && length <= limits.max_body => {
                    body.bytes = self.buffer.split_to(length);
                    None
                }
                _ => self.copy(&mut body, length, &mut patience).await,
            },
            Framing::Close => match self.copy(&mut body, u64::MAX, &mut patience).await {
                Some(DISCONNECT) if !body.lost => None,
                truncated => truncated,
            },
        };
        let reusable = truncated.is_none()
            && !matches!(framing, Framing::Close)
            && !self.spoiled
            && self.buffer.is_empty()
            && stays_open(&response);
        response.body = body.bytes.freeze();
        response.truncated = truncated;
        Ok(Exchange { response, permit: body.permit, reusable })
    }

    /// Reads more into the buffer.
    async fn fill(&mut self, until: Instant) -> Result<(), Gap> {
        if self.buffer.capacity() - self.buffer.len() < READ / 4 {
            self.buffer.reserve(READ);
        }
        match timeout_at(until, self.stream.read_buf(&mut self.buffer)).await {
            Err(_) => Err(Gap::Silence),
            Ok(read) => self.count(read),
        }
    }

    fn count(&mut self, read: std::io::Result<usize>) -> Result<(), Gap> {
        match read {
            Ok(0) => Err(Gap::Closed),
            Ok(read) => {
                self.received += read as u64;
                Ok(())
            }
            // Many servers end TLS without saying so.
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Err(Gap::Closed),
            Err(_) => Err(Gap::Lost),
        }
    }

    /// Reads heads until one that is final.
    async fn head(
        &mut self,
        max_head: usize,
        patience: &Patience,
        request: &Bytes,
    ) -> Result<Response, Broken> {
        let mut heard = !self.buffer.is_empty();
        for _ in 0..MAX_INTERIM {
            let mut scanned = 0;
            let end = loop {
                while self.buffer.first().is_some_and(|byte| matches!(byte, b'\r' | b'\n')) {
                    self.buffer.advance(1);
                }
                if let Some(end) = head_end(&self.buffer, scanned) {
                    break end;
                }
                let begun = self.buffer.len().min(5);
                if self.buffer[..begun] != b"HTTP/"[..begun] {
                    return Err(FetchError::Protocol("no status line (HTTP/0.9?)").into());
                }
                if self.buffer.len() >= max_head {
                    return Err(FetchError::TooLarge.into());
                }
                scanned = self.buffer.len().saturating_sub(3);
                match self.fill(patience.next()).await {
                    Ok(()) => heard = true,
                    Err(Gap::Silence) => {
                        return Err(FetchError::Timeout("waiting for the answer").into());
                    }
                    Err(Gap::Closed | Gap::Lost) => {
                        return Err(Broken { error: FetchError::Reset, unheard: !heard });
                    }
                }
            };
            if end > max_head {
                return Err(FetchError::TooLarge.into());
            }
            let head = self.buffer.split_to(end).freeze();
            let response = Response::new(head, Bytes::new(), None, request.clone())?;
            match response.status {
                101 => return Err(FetchError::Protocol("protocol switched unasked").into()),
                100..200 => {}
                _ => return Ok(response),
            }
        }
        Err(FetchError::Protocol("interim answers without end").into())
    }

    /// Moves `length` bytes, or all until the end of the connection, into the body; says
    /// why it stopped short.
    async fn copy(
        &mut self,
        body: &mut Body<'_>,
        length: u64,
        patience: &mut Patience,
    ) -> Option<&'static str> {
        let mut left = length;
        loop {
            let room = body.max - body.bytes.len();
            let here = self.buffer.len().min(room).min(clamp(left));
            if here > 0 {
                body.reserve(here, clamp(left), patience).await;
                body.bytes.put(self.buffer.split_to(here));
                left -= here as u64;
            }
            if left == 0 {
                return None;
            }
            if body.bytes.len() == body.max {
                return Some(LENGTH);
            }
            // Large bodies are read where they stay, not through the buffer.
            let room = (body.max - body.bytes.len()).min(clamp(left));
            body.reserve(room.min(READ), clamp(left), patience).await;
            let mut into = (&mut body.bytes).limit(room.min(READ * 4));
            let read = timeout_at(patience.next(), self.stream.read_buf(&mut into)).await;
            let Ok(read) = read else { return Some(TIME) };
            let count = *read.as_ref().unwrap_or(&0);
            match self.count(read) {
                Ok(()) => left -= count as u64,
                Err(gap) => {
                    body.lost = matches!(gap, Gap::Lost);
                    return Some(DISCONNECT);
                }
            }
        }
    }

    /// Reads chunks; says why the last one did not come.
    async fn chunked(
        &mut self,
        body: &mut Body<'_>,
        patience: &mut Patience,
    ) -> Option<&'static str> {
        loop {
            let line = match self.line(MAX_CHUNK_LINE, patience).await {
                Ok(line) => line,
                Err(truncated) => return Some(truncated),
            };
            let Some(size) = chunk_size(&line) else { return Some(DISCONNECT) };
            if size == 0 {
                break;
            }
            if let Some(truncated) = self.copy(body, size, patience).await {
                return Some(truncated);
            }
            match self.line(2, patience).await {
                Ok(line) if line.is_empty() => {}
                Ok(_) => return Some(DISCONNECT),
                Err(truncated) => return Some(truncated),
            }
        }
        // The body is whole: trailers that break off only cost the connection.
        for _ in 0..MAX_INTERIM {
            match self.line(MAX_CHUNK_LINE, patience).await {
                Ok(line) if line.is_empty() => return None,
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.spoiled = true;
        None
    }

    /// Reads a line, without its end.
    async fn line(&mut self, max: usize, patience: &Patience) -> Result<Bytes, &'static str> {
        let mut scanned = 0;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[scanned..]) {
                let mut line = self.buffer.split_to(scanned + at + 1);
                line.truncate(line.len() - 1);
                if line.last() == Some(&b'\r') {
                    line.truncate(line.len() - 1);
                }
                return Ok(line.freeze());
            }
            if self.buffer.len() >= max {
                return Err(DISCONNECT);
            }
            scanned = self.buffer.len();
            self.fill(patience.next()).await.map_err(|gap| match gap {
                Gap::Silence => TIME,
                Gap::Closed | Gap::Lost => DISCONNECT,
            })?;
        }
    }
}

/// A body as it grows.
struct Body<'a> {
    bytes: BytesMut,
    permit: Option<Permit>,
    budget: &'a BodyBudget,
    max: usize,
    /// The connection was reset rather than closed.
    lost: bool,
}

impl<'a> Body<'a> {
    fn new(budget: &'a BodyBudget, max: usize) -> Self {
        Self { bytes: BytesMut::new(), permit: None, budget, max, lost: false }
    }

    /// Makes room for `more` bytes of `expected`. Beyond a small body it waits for a permit
    /// first; that time is ours, not the server's.
    async fn reserve(&mut self, more: usize, expected: usize, patience: &mut Patience) {
        let len = self.bytes.len();
        if self.permit.is_none() && len + more > SMALL_BODY {
            let asked = Instant::now();
            self.permit = self.budget.acquire().await;
            patience.end += asked.elapsed();
        }
        if self.bytes.capacity() - len < more {
            let cap = if self.permit.is_some() { self.max } else { SMALL_BODY };
            // What the server announces is believed as far as memory was granted for it.
            let target = len.saturating_mul(2).max(len.saturating_add(expected)).min(cap);
            self.bytes.reserve(target.saturating_sub(len).min(len.max(READ * 4)).max(more));
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Framing {
    Empty,
    Chunked,
    Length(u64),
    Close,
}

impl Framing {
    fn of(response: &Response) -> Self {
        if matches!(response.status, 204 | 304) {
            return Self::Empty;
        }
        if response.all("transfer-encoding").last().is_some() {
            let chunked = response.all("transfer-encoding").any(|codings| has(codings, b"chunked"));
            return if chunked { Self::Chunked } else { Self::Close };
        }
        let mut lengths = response
            .all("content-length")
            .flat_map(|value| value.split(|&byte| byte == b','))
            .map(|value| std::str::from_utf8(value).ok()?.trim().parse::<u64>().ok());
        match lengths.next() {
            Some(Some(length)) if lengths.all(|other| other == Some(length)) => {
                Self::Length(length)
            }
            _ => Self::Close,
        }
    }
}

/// Whether the server keeps the connection after this answer.
fn stays_open(response: &Response) -> bool {
    let says = |word: &[u8]| response.all("connection").any(|options| has(options, word));
    if response.version == 11 { !says(b"close") } else { says(b"keep-alive") }
}

/// Whether a comma-separated list has that word.
fn has(list: &[u8], word: &[u8]) -> bool {
    list.split(|&byte| byte == b',').any(|item| item.trim_ascii().eq_ignore_ascii_case(word))
}

/// Where the head that begins the bytes ends, looking from `from` on.
fn head_end(bytes: &[u8], from: usize) -> Option<usize> {
    memchr::memchr_iter(b'\n', bytes.get(from..)?).map(|at| from + at).find_map(|at| {
        match bytes.get(at + 1..)? {
            [b'\n', ..] => Some(at + 2),
            [b'\r', b'\n', ..] => Some(at + 3),
            _ => None,
        }
    })
}

/// The size at the start of a chunk's line; extensions after it say nothing to us.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let line = line.trim_ascii_start();
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    if !matches!(line.get(digits), None | Some(b';' | b' ' | b'\t')) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(&line[..digits]).ok()?, 16).ok()
}

fn clamp(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}
