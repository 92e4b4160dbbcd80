//! What visits hand over: exchanges, ends of leases, robots.txt files, failures.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;

use super::limits::Permit;
use crate::url::Url;

/// One URL dealt with: exactly one of these for each consumed row of a lease.
#[derive(Debug)]
pub struct Fetched {
    /// The lease under which the URL was asked.
    pub lease: u64,
    /// Identity of the visit, the key of the table `pages`.
    pub visit: u64,
    /// Authority: lower-case host, with its port where that is not the scheme's own.
    pub host: Arc<str>,
    /// What was asked.
    pub url: Url,
    /// Links from a seed.
    pub depth: u16,
    /// Score given at admission.
    pub score: f32,
    /// 0 for the first try.
    pub attempt: u8,
    /// When the request left (when the decision fell, if none did).
    pub started_at: i64,
    /// From there to the last byte of the answer.
    pub elapsed_us: u64,
    /// The address asked.
    pub ip: Option<IpAddr>,
    /// What came of it.
    pub outcome: Outcome,
    /// The share of the body budget that a large body holds until this is dropped.
    pub permit: Option<Permit>,
}

/// What came of a URL.
#[derive(Debug)]
pub enum Outcome {
    /// The server answered, with whatever status.
    Response(Response),
    /// No answer that makes sense.
    Failed(FetchError),
    /// robots.txt forbids it; nothing was sent.
    Denied,
}

/// An HTTP/1.x answer, with the bytes of its head exactly as they came.
#[derive(Debug, Clone)]
pub struct Response {
    /// 10 or 11.
    pub version: u8,
    /// Status code.
    pub status: u16,
    /// Status line and header fields as received, with the empty line that ends them.
    pub head: Bytes,
    /// The payload: transfer-coding removed, content-coding kept.
    pub body: Bytes,
    /// Why `body` is not whole, in the words of `WARC-Truncated`: `length`, `time` or `disconnect`.
    pub truncated: Option<&'static str>,
    /// The head of the request as sent.
    pub request: Bytes,
    fields: Box<[Field]>,
}

/// Offsets of a header field in the head.
#[derive(Debug, Clone, Copy)]
struct Field {
    name: (u32, u32),
    value: (u32, u32),
}

/// More header fields than this are an attack or a loop.
const MAX_FIELDS: usize = 256;

impl Response {
    /// Reads a head that is complete, and joins it to its body.
    ///
    /// Lenient as the web is: folded lines are kept in their field's value, lines that are no
    /// header field are passed over.
    ///
    /// # Errors
    /// [`FetchError::Protocol`] when there is no status line of HTTP/1.0 or 1.1.
    ///
    /// # Examples
    /// ```
    /// use crivello_crawl::fetch::Response;
    /// let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n";
    /// let answer = Response::new(head.into(), "hello".into(), None, "GET / HTTP/1.1\r\n\r\n".into())?;
    /// assert_eq!(answer.status, 200);
    /// assert_eq!(answer.first("Content-Type"), Some(&b"text/plain"[..]));
    /// # Ok::<(), crivello_crawl::fetch::FetchError>(())
    /// ```
    pub fn new(
        head: Bytes,
        body: Bytes,
        truncated: Option<&'static str>,
        request: Bytes,
    ) -> Result<Self, FetchError> {
        let mut slots = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut parsed = httparse::Response::new(&mut slots);
        let mut lenient = httparse::ParserConfig::default();
        lenient
            .allow_spaces_after_header_name_in_responses(true)
            .allow_obsolete_multiline_headers_in_responses(true)
            .allow_multiple_spaces_in_response_status_delimiters(true)
            .ignore_invalid_headers_in_responses(true);
        let status = lenient.parse_response(&mut parsed, &head).map_err(|error| match error {
            httparse::Error::TooManyHeaders => FetchError::TooLarge,
            httparse::Error::Version => FetchError::Protocol("not HTTP/1.0 or HTTP/1.1"),
            _ => FetchError::Protocol("broken response head"),
        })?;
        if status.is_partial() {
            return Err(FetchError::Protocol("response head cut short"));
        }
        let (Some(version), Some(code)) = (parsed.version, parsed.code) else {
            return Err(FetchError::Protocol("no status line"));
        };
        if code < 100 {
            return Err(FetchError::Protocol("no status code"));
        }
        let base = head.as_ptr().addr();
        let span = |part: &[u8]| {
            let start = part.as_ptr().addr().wrapping_sub(base) as u32;
            (start, start + part.len() as u32)
        };
        let fields = parsed
            .headers
            .iter()
            .filter(|field| !field.name.is_empty())
            .map(|field| Field {
                name: span(field.name.as_bytes()),
                // An empty value may be a static slice from outside the head.
                value: if field.value.is_empty() { (0, 0) } else { span(field.value) },
            })
            .collect();
        Ok(Self { version: 10 + version, status: code, body, truncated, request, fields, head })
    }

    /// The header fields in the order received: name as written, value without outer blanks.
    pub fn headers(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.fields.iter().map(|field| (self.part(field.name), self.part(field.value)))
    }

    /// The values of every field of that name, letter case aside.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.headers()
            .filter(move |(key, _)| key.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
    }

    /// The value of the first field of that name, letter case aside.
    pub fn first(&self, name: &str) -> Option<&[u8]> {
        self.fields
            .iter()
            .find(|field| self.part(field.name).eq_ignore_ascii_case(name.as_bytes()))
            .map(|field| self.part(field.value))
    }

    /// As [`first`](Self::first), as text: UTF-8, or else read as ISO-8859-1.
    pub fn text(&self, name: &str) -> Option<String> {
        self.first(name).map(|value| match std::str::from_utf8(value) {
            Ok(text) => text.to_owned(),
            Err(_) => value.iter().map(|&byte| char::from(byte)).collect(),
        })
    }

    fn part(&self, (start, end): (u32, u32)) -> &[u8] {
        self.head.get(start as usize..end as usize).unwrap_or_default()
    }
}

/// A lease that has ended; a row of [`ENDS`](crate::batch::ENDS).
#[derive(Debug, Clone)]
pub struct End {
    /// Which lease.
    pub lease: u64,
    /// When.
    pub ended_at: i64,
    /// The address resolved or used.
    pub ip: Option<IpAddr>,
    /// Rows dealt with, from the first; the others go back to their queue.
    pub consumed: u32,
    /// Requests that left, robots.txt included: with 0 no delay is due.
    pub requests: u32,
    /// Time spent in requests.
    pub busy_us: u64,
    /// The server's Retry-After as a time; 0 for none.
    pub hold_until: i64,
    /// The host itself could not be reached.
    pub failed: bool,
    /// Why the lease ended before its rows did.
    pub error: Option<FetchError>,
}

/// A robots.txt that was asked for, whatever came of it.
#[derive(Debug, Clone)]
pub struct RobotsFetched {
    /// Authority.
    pub host: Arc<str>,
    /// Scheme and authority: what the file speaks for.
    pub origin: String,
    /// Where it was found, after redirects.
    pub url: String,
    /// When it was asked for.
    pub fetched_at: i64,
    /// Status of the last answer; none when there was none.
    pub status: Option<u16>,
    /// The file, content-coding removed, at most 500 KiB of it.
    pub body: Bytes,
    /// Until when it holds.
    pub expires: i64,
    /// Seconds between requests that it asks of us.
    pub crawl_delay: Option<f64>,
    /// The sitemaps it names.
    pub sitemaps: Vec<String>,
    /// Why there is no answer.
    pub error: Option<FetchError>,
}

/// Why a URL brought no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The name has no address.
    #[error("no address: {0}")]
    Dns(String),
    /// The address does not take connections.
    #[error("cannot connect: {0}")]
    Connect(String),
    /// No secure connection.
    #[error("TLS: {0}")]
    Tls(String),
    /// The server was silent too long.
    #[error("timeout: {0}")]
    Timeout(&'static str),
    /// The connection broke before the head of an answer was whole.
    #[error("connection lost before the answer's head was whole")]
    Reset,
    /// What came is not HTTP/1.x.
    #[error("not HTTP: {0}")]
    Protocol(&'static str),
    /// The head of the answer exceeds the limit.
    #[error("head of the answer too large")]
    TooLarge,
    /// The guard refuses an address inside the user's own network.
    #[error("{0} is an address of a private network; --allow-private lets it through")]
    Private(IpAddr),
    /// A public server may not be asked without saying who asks.
    #[error("public address without identity; give --agent-name and --contact")]
    Identity,
    /// robots.txt answered with a server error: everything is forbidden for a while.
    #[error("robots.txt is not to be had; nothing may be asked meanwhile")]
    RobotsUnreachable,
    /// The ledger cannot be written: nothing may be sent.
    #[error("ledger: {0}")]
    Ledger(String),
}

impl FetchError {
    /// The word for it in tables and statistics.
    pub fn class(&self) -> &'static str {
        match self {
            Self::Dns(_) => "dns",
            Self::Connect(_) => "connect",
            Self::Tls(_) => "tls",
            Self::Timeout(_) => "timeout",
            Self::Reset => "reset",
            Self::Protocol(_) => "protocol",
            Self::TooLarge => "too-large",
            Self::Private(_) => "private",
            Self::Identity => "identity",
            Self::RobotsUnreachable => "robots-unreachable",
            Self::Ledger(_) => "ledger",
        }
    }

    /// Whether the host as a whole is out of reach, not this URL.
    pub fn is_of_host(&self) -> bool {
        matches!(self, Self::Dns(_) | Self::Connect(_) | Self::Tls(_) | Self::Ledger(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(head: &'static str) -> Result<Response, FetchError> {
        Response::new(head.into(), Bytes::new(), None, Bytes::new())
    }

    #[test]
    fn fields_are_found_whatever_their_case_and_in_order() {
        let answer =
            response("HTTP/1.0 301 Moved\r\nLink: a\r\nX-Empty:\r\nLINK:  b \r\n\r\n").unwrap();
        assert_eq!((answer.version, answer.status), (10, 301));
        assert_eq!(answer.all("link").collect::<Vec<_>>(), [b"a", b"b"]);
        assert_eq!(answer.first("x-empty"), Some(&b""[..]));
        assert_eq!(answer.first("absent"), None);
    }

    #[test]
    fn folded_and_broken_lines_do_not_spoil_the_rest() {
        let answer =
            response("HTTP/1.1 200\r\nno colon here\r\nX-Long: one\r\n  two\r\nServer : s\r\n\r\n")
                .unwrap();
        assert_eq!(answer.first("x-long"), Some(&b"one\r\n  two"[..]));
        assert_eq!(answer.first("server"), Some(&b"s"[..]));
    }

    #[test]
    fn bytes_outside_utf8_read_as_latin1() {
        let head = Bytes::from_static(b"HTTP/1.1 302 \r\nLocation: /caf\xe9\r\n\r\n");
        let answer = Response::new(head, Bytes::new(), None, Bytes::new()).unwrap();
        assert_eq!(answer.text("location").unwrap(), "/café");
    }

    #[test]
    fn other_protocols_are_refused() {
        for head in [
            "HTTP/2.0 200 OK\r\n\r\n",
            "ICY 200 OK\r\n\r\n",
            "<html>\n\n",
            "HTTP/1.1 000 Zero\r\n\r\n",
        ] {
            assert_eq!(response(head).unwrap_err().class(), "protocol", "{head:?}");
        }
    }

    #[test]
    fn a_flood_of_fields_is_refused() {
        let head = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(MAX_FIELDS + 1));
        let refused = Response::new(head.into(), Bytes::new(), None, Bytes::new());
        assert_eq!(refused.unwrap_err(), FetchError::TooLarge);
    }
}
