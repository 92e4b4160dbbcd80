//! WARC/1.1 records (ISO 28500:2017), each a compressed member of its own.
//!
//! One [`RecordWriter`] a thread turns exchanges into finished records; whoever owns the file
//! appends them. A record is a pure function of its exchange and of the crawl's key: after a
//! crash the same visit gives the same bytes, `WARC-Record-ID` included (a version 8 UUID from
//! BLAKE3 of key, visit and kind).
//!
//! What is stored of an HTTP message: the head in strict form (see [`head`]), the body without
//! its transfer-coding but with its content-coding. `WARC-Payload-Digest` is therefore the SHA-1
//! of the body as stored, which is what readers recompute; `WARC-Block-Digest` that of head and
//! body. The identity of content inside crivello is BLAKE3-128 of the same body.
//!
//! gzip members are made by libdeflate, zstd frames with a context that lives as long as the
//! writer; both state the size of their content.

mod cdxj;
mod head;
pub mod read;
mod text;

use std::io;
use std::net::IpAddr;

use libdeflater::{CompressionLvl, Compressor};
use sha1::{Digest, Sha1};

pub use cdxj::{Capture, cdxj_line, surt};
pub use read::parse_date;
pub use text::{base32, date, timestamp};

/// Profile of a revisit record whose payload is the same bytes as the original's.
pub const IDENTICAL_PAYLOAD: &str =
    "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

/// How records are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// A gzip member a record, at a level from 0 to 12.
    Gzip(u8),
    /// A zstd frame a record, at a level from -7 to 22.
    Zstd(i8),
}

impl Compression {
    /// What files of such records are called.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Gzip(_) => "warc.gz",
            Self::Zstd(_) => "warc.zst",
        }
    }
}

/// A compression level outside the codec's range.
#[derive(Debug, thiserror::Error)]
#[error("compression level {level} is not in {range}")]
pub struct LevelError {
    level: i32,
    range: &'static str,
}

/// One HTTP message, on its way into a record.
#[derive(Debug, Clone, Copy)]
pub struct Exchange<'a> {
    /// Key of the visit, unique in the crawl.
    pub visit: u64,
    /// What was asked for.
    pub url: &'a str,
    /// When, in microseconds of UTC.
    pub date_us: i64,
    /// Who answered.
    pub ip: Option<IpAddr>,
    /// Start line and header fields as they came, with or without the blank line.
    pub head: &'a [u8],
    /// The body without its transfer-coding.
    pub body: &'a [u8],
    /// Why the body is not whole: `length`, `time`, `disconnect` or `unspecified`.
    pub truncated: Option<&'a str>,
}

/// The capture that a revisit repeats.
#[derive(Debug, Clone, Copy)]
pub struct Original<'a> {
    /// Its URL.
    pub url: &'a str,
    /// Its date, in microseconds of UTC.
    pub date_us: i64,
}

/// A finished record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The compressed member, ready to append.
    pub bytes: Vec<u8>,
    /// SHA-1 of the payload: `sha1:` and 32 letters.
    pub payload_sha1: String,
    /// BLAKE3-128 of the payload.
    pub payload_blake3: [u8; 16],
}

enum Codec {
    Gzip(Compressor),
    Zstd(zstd::bulk::Compressor<'static>),
}

/// Makes records; holds its buffers and compression state from one to the next.
pub struct RecordWriter {
    key: u64,
    codec: Codec,
    head: Vec<u8>,
    raw: Vec<u8>,
    packed: Vec<u8>,
}

impl RecordWriter {
    /// A writer for the crawl with this key.
    ///
    /// # Errors
    /// When the level is outside the codec's range.
    pub fn new(key: u64, compression: Compression) -> Result<Self, LevelError> {
        let codec = match compression {
            Compression::Gzip(level) => {
                let level = CompressionLvl::new(i32::from(level))
                    .map_err(|_| LevelError { level: i32::from(level), range: "0 to 12" })?;
                Codec::Gzip(Compressor::new(level))
            }
            Compression::Zstd(level) => {
                let error = || LevelError { level: i32::from(level), range: "-7 to 22" };
                if !(-7..=22).contains(&level) {
                    return Err(error());
                }
                Codec::Zstd(zstd::bulk::Compressor::new(i32::from(level)).map_err(|_| error())?)
            }
        };
        Ok(Self { key, codec, head: Vec::new(), raw: Vec::new(), packed: Vec::new() })
    }

    /// A `response` record.
    ///
    /// # Errors
    /// When the compressor fails, which only lack of memory explains.
    pub fn response(&mut self, exchange: &Exchange<'_>) -> io::Result<Record> {
        self.set_head(exchange);
        self.begin("response", &self.id(exchange.visit, "response"), exchange.date_us);
        self.exchange_fields(exchange);
        let (payload_sha1, payload_blake3) = self.payload_fields(exchange.body);
        self.field("Content-Type", "application/http;msgtype=response");
        let bytes = self.finish(exchange.body)?;
        Ok(Record { bytes, payload_sha1, payload_blake3 })
    }

    /// The `request` record that belongs to the response of the same visit; its bytes are
    /// stored as they were sent.
    ///
    /// # Errors
    /// When the compressor fails, which only lack of memory explains.
    pub fn request(&mut self, exchange: &Exchange<'_>) -> io::Result<Record> {
        self.head.clear();
        self.head.extend_from_slice(exchange.head);
        self.begin("request", &self.id(exchange.visit, "request"), exchange.date_us);
        self.exchange_fields(exchange);
        let (payload_sha1, payload_blake3) = self.payload_fields(exchange.body);
        let response = self.id(exchange.visit, "response");
        self.field("WARC-Concurrent-To", &response);
        self.field("Content-Type", "application/http;msgtype=request");
        let bytes = self.finish(exchange.body)?;
        Ok(Record { bytes, payload_sha1, payload_blake3 })
    }

    /// A `revisit` record: the head of a response whose payload is already stored elsewhere.
    ///
    /// # Errors
    /// When the compressor fails, which only lack of memory explains.
    pub fn revisit(
        &mut self,
        exchange: &Exchange<'_>,
        original: &Original<'_>,
    ) -> io::Result<Record> {
        self.set_head(exchange);
        self.begin("revisit", &self.id(exchange.visit, "revisit"), exchange.date_us);
        self.exchange_fields(exchange);
        let (payload_sha1, payload_blake3) = self.payload_fields(exchange.body);
        self.field("WARC-Profile", IDENTICAL_PAYLOAD);
        self.field("WARC-Refers-To-Target-URI", original.url);
        self.field("WARC-Refers-To-Date", &date(original.date_us));
        self.field("Content-Type", "application/http;msgtype=response");
        let bytes = self.finish(&[])?;
        Ok(Record { bytes, payload_sha1, payload_blake3 })
    }

    /// The `warcinfo` record that opens a file.
    ///
    /// # Errors
    /// When the compressor fails, which only lack of memory explains.
    pub fn warcinfo(
        &mut self,
        filename: &str,
        date_us: i64,
        fields: &[(&str, &str)],
    ) -> io::Result<Record> {
        let mut body = Vec::new();
        for (name, value) in fields {
            text::field(&mut body, name, value);
        }
        self.head.clear();
        self.begin("warcinfo", &self.id_of(filename.as_bytes(), "warcinfo"), date_us);
        self.field("WARC-Filename", filename);
        let (payload_sha1, payload_blake3) = (sha1_text(&body), blake3_128(&body));
        self.field("Content-Type", "application/warc-fields");
        let bytes = self.finish(&body)?;
        Ok(Record { bytes, payload_sha1, payload_blake3 })
    }

    fn set_head(&mut self, exchange: &Exchange<'_>) {
        self.head.clear();
        head::store(exchange.head, exchange.body.len(), &mut self.head);
    }

    fn begin(&mut self, kind: &str, id: &str, date_us: i64) {
        self.raw.clear();
        self.raw.extend_from_slice(b"WARC/1.1\r\n");
        self.field("WARC-Type", kind);
        self.field("WARC-Record-ID", id);
        self.field("WARC-Date", &date(date_us));
    }

    fn exchange_fields(&mut self, exchange: &Exchange<'_>) {
        self.field("WARC-Target-URI", exchange.url);
        if let Some(ip) = exchange.ip {
            self.field("WARC-IP-Address", &ip.to_string());
        }
        if let Some(reason) = exchange.truncated {
            let known = ["length", "time", "disconnect"].contains(&reason);
            self.field("WARC-Truncated", if known { reason } else { "unspecified" });
        }
    }

    fn payload_fields(&mut self, payload: &[u8]) -> (String, [u8; 16]) {
        let sha1 = sha1_text(payload);
        self.field("WARC-Payload-Digest", &sha1);
        (sha1, blake3_128(payload))
    }

    fn field(&mut self, name: &str, value: &str) {
        text::field(&mut self.raw, name, value);
    }

    /// Adds what depends on the block, the block itself and the end; compresses.
    fn finish(&mut self, body: &[u8]) -> io::Result<Vec<u8>> {
        let block = Sha1::new().chain_update(&self.head).chain_update(body).finalize();
        self.field("WARC-Block-Digest", &format!("sha1:{}", base32(&block)));
        self.field("Content-Length", &(self.head.len() + body.len()).to_string());
        for part in [b"\r\n", &self.head[..], body, b"\r\n\r\n"] {
            self.raw.extend_from_slice(part);
        }
        let bound = match &mut self.codec {
            Codec::Gzip(gzip) => gzip.gzip_compress_bound(self.raw.len()),
            Codec::Zstd(_) => zstd::zstd_safe::compress_bound(self.raw.len()),
        };
        if self.packed.len() < bound {
            self.packed.resize(bound, 0);
        }
        let size = match &mut self.codec {
            Codec::Gzip(gzip) => {
                gzip.gzip_compress(&self.raw, &mut self.packed).map_err(io::Error::other)?
            }
            Codec::Zstd(zstd) => zstd.compress_to_buffer(&self.raw, &mut self.packed[..])?,
        };
        let bytes = self.packed[..size].to_vec();
        self.shrink();
        Ok(bytes)
    }

    /// One giant body must not leave its buffers behind for the rest of the crawl.
    fn shrink(&mut self) {
        const KEPT: usize = 4 << 20;
        for buffer in [&mut self.head, &mut self.raw, &mut self.packed] {
            if buffer.capacity() > KEPT {
                *buffer = Vec::new();
            }
        }
    }

    fn id(&self, visit: u64, kind: &str) -> String {
        self.id_of(&visit.to_le_bytes(), kind)
    }

    fn id_of(&self, of: &[u8], kind: &str) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.key.to_le_bytes()).update(kind.as_bytes()).update(&[0]).update(of);
        text::uuid(u128::from_be_bytes(first_half(&hasher.finalize())))
    }
}

fn sha1_text(bytes: &[u8]) -> String {
    format!("sha1:{}", base32(&Sha1::digest(bytes)))
}

fn blake3_128(bytes: &[u8]) -> [u8; 16] {
    first_half(&blake3::hash(bytes))
}

fn first_half(hash: &blake3::Hash) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&hash.as_bytes()[..16]);
    half
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    const EXCHANGE: Exchange<'_> = Exchange {
        visit: 7,
        url: "http://example.org/",
        date_us: 1_763_501_743_000_042,
        ip: None,
        head: b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
        body: b"<p>sieve",
        truncated: None,
    };

    fn gunzip(bytes: &[u8]) -> String {
        let mut text = String::new();
        flate2::read::GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
        text
    }

    fn writer() -> RecordWriter {
        RecordWriter::new(1, Compression::Gzip(1)).unwrap()
    }

    #[test]
    fn a_response_record_is_this_text() {
        let exchange = Exchange {
            ip: Some("192.0.2.1".parse().unwrap()),
            truncated: Some("length"),
            ..EXCHANGE
        };
        let text = gunzip(&writer().response(&exchange).unwrap().bytes);
        let id = text.lines().find_map(|line| line.strip_prefix("WARC-Record-ID: ")).unwrap();
        assert_eq!(
            text,
            format!(
                "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: {id}\r\n\
                 WARC-Date: 2025-11-18T21:35:43.000042Z\r\nWARC-Target-URI: http://example.org/\r\n\
                 WARC-IP-Address: 192.0.2.1\r\nWARC-Truncated: length\r\n\
                 WARC-Payload-Digest: {}\r\nContent-Type: application/http;msgtype=response\r\n\
                 WARC-Block-Digest: {}\r\nContent-Length: 71\r\n\r\n\
                 HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 8\r\n\r\n\
                 <p>sieve\r\n\r\n",
                sha1_text(b"<p>sieve"),
                sha1_text(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 8\r\n\r\n<p>sieve"
                ),
            )
        );
    }

    #[test]
    fn the_same_visit_gives_the_same_bytes_and_another_visit_or_crawl_another_id() {
        let first = writer().response(&EXCHANGE).unwrap();
        let mut used = writer();
        used.warcinfo("a.warc.gz", 0, &[("software", "crivello")]).unwrap();
        assert_eq!(used.response(&EXCHANGE).unwrap(), first);
        let mut other = RecordWriter::new(2, Compression::Gzip(1)).unwrap();
        assert_ne!(other.response(&EXCHANGE).unwrap(), first);
        assert_ne!(used.response(&Exchange { visit: 8, ..EXCHANGE }).unwrap(), first);
    }

    #[test]
    fn a_request_names_the_response_of_its_visit() {
        let mut writer = writer();
        let response = gunzip(&writer.response(&EXCHANGE).unwrap().bytes);
        let id = response.lines().find_map(|line| line.strip_prefix("WARC-Record-ID: ")).unwrap();
        let asked = Exchange {
            head: b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
            body: b"",
            ..EXCHANGE
        };
        let request = gunzip(&writer.request(&asked).unwrap().bytes);
        assert!(request.contains(&format!("WARC-Concurrent-To: {id}\r\n")), "{request}");
        assert!(request.ends_with("\r\n\r\nGET / HTTP/1.1\r\nHost: example.org\r\n\r\n\r\n\r\n"));
    }

    #[test]
    fn a_revisit_keeps_the_digest_and_leaves_the_body_out() {
        let original = Original { url: "http://example.org/a", date_us: 0 };
        let record = writer().revisit(&EXCHANGE, &original).unwrap();
        let text = gunzip(&record.bytes);
        assert!(text.contains(&format!("WARC-Profile: {IDENTICAL_PAYLOAD}\r\n")));
        assert!(text.contains("WARC-Refers-To-Date: 1970-01-01T00:00:00.000000Z\r\n"));
        assert!(text.contains(&format!("WARC-Payload-Digest: {}\r\n", record.payload_sha1)));
        assert!(!text.contains("<p>sieve"));
        assert_eq!(record.payload_sha1, sha1_text(b"<p>sieve"));
    }

    #[test]
    fn a_zstd_record_is_one_frame_that_states_its_size() {
        let mut writer = RecordWriter::new(1, Compression::Zstd(3)).unwrap();
        let packed = writer.response(&EXCHANGE).unwrap().bytes;
        let size = zstd::zstd_safe::get_frame_content_size(&packed).unwrap().unwrap() as usize;
        let text = zstd::bulk::decompress(&packed, size).unwrap();
        assert_eq!(text, gunzip(&self::writer().response(&EXCHANGE).unwrap().bytes).into_bytes());
    }

    #[test]
    fn a_line_break_in_a_url_cannot_forge_a_field() {
        let exchange = Exchange { url: "http://h/\r\nWARC-Type: warcinfo", ..EXCHANGE };
        let text = gunzip(&writer().response(&exchange).unwrap().bytes);
        assert_eq!(text.matches("\r\nWARC-Type: ").count(), 1);
    }

    #[test]
    fn levels_outside_the_range_are_refused() {
        assert!(RecordWriter::new(0, Compression::Gzip(13)).is_err());
        assert!(RecordWriter::new(0, Compression::Zstd(23)).is_err());
    }
}
