//! A server of scripted connections, and visits to it.

#![allow(dead_code, missing_docs)] // each test file uses its part

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use arrow_array::{
    ArrayRef, Float32Array, RecordBatch, StringArray, UInt8Array, UInt16Array, UInt64Array,
};
use crivello_crawl::batch;
use crivello_crawl::fetch::{End, Fetched, Outcome, Response, RobotsFetched, Visits, VisitsConfig};
use crivello_crawl::files::Files;
use crivello_crawl::ledger::Ledger;

/// What the server has seen: request lines, with the number of their connection.
pub type Seen = Arc<Mutex<Vec<(usize, String)>>>;

/// A server that answers each request by a function of its path. What the function returns is
/// sent as it is; `None` closes the connection without a word.
pub struct Server {
    pub port: u16,
    pub seen: Seen,
}

pub struct Answer {
    pub bytes: Vec<u8>,
    pub close: bool,
    /// Waits until the client goes away before closing.
    pub stall: bool,
}

impl<B: AsRef<[u8]> + ?Sized> From<&B> for Answer {
    fn from(bytes: &B) -> Self {
        Self { bytes: bytes.as_ref().to_vec(), close: false, stall: false }
    }
}

pub fn ok(body: &str) -> Answer {
    Answer::from(&format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

pub fn closing(bytes: &str) -> Answer {
    Answer { close: true, ..Answer::from(bytes) }
}

pub fn stalling(bytes: &str) -> Answer {
    Answer { stall: true, ..Answer::from(bytes) }
}

pub fn not_found() -> Answer {
    Answer::from("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
}

impl Server {
    /// `answer` gets the path and how often it has been asked for.
    pub fn new(answer: impl Fn(&str, usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Seen::default();
        let (answer, log) = (Arc::new(answer), Arc::clone(&seen));
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let (answer, log) = (Arc::clone(&answer), Arc::clone(&log));
                thread::spawn(move || converse(&stream.unwrap(), number, &*answer, &log));
            }
        });
        Self { port, seen }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://a.test:{}{path}", self.port)
    }

    pub fn paths(&self) -> Vec<String> {
        self.seen.lock().unwrap().iter().map(|(_, path)| path.clone()).collect()
    }

    pub fn connections(&self) -> usize {
        self.seen.lock().unwrap().iter().map(|(number, _)| number + 1).max().unwrap_or(0)
    }
}

fn converse(
    stream: &TcpStream,
    number: usize,
    answer: &(dyn Fn(&str, usize) -> Answer + Send + Sync),
    log: &Seen,
) {
    let mut reader = BufReader::new(stream);
    while let Some(head) = read_head(&mut reader) {
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let times = {
            let mut log = log.lock().unwrap();
            log.push((number, path.clone()));
            log.iter().filter(|(_, asked)| *asked == path).count()
        };
        let answer = answer(&path, times);
        if (&mut &*stream).write_all(&answer.bytes).is_err() || answer.close {
            return;
        }
        if answer.stall {
            let _ = reader.read(&mut [0]);
            return;
        }
    }
}

pub fn read_head(reader: &mut impl BufRead) -> Option<String> {
    let mut head = String::new();
    loop {
        let start = head.len();
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
        if &head[start..] == "\r\n" {
            return Some(head);
        }
    }
}

/// Settings with which `*.test` is this machine and nobody waits long.
pub fn config() -> VisitsConfig {
    VisitsConfig {
        agent: "crivello-test/1 (+test@example.org)".into(),
        token: "crivello-test".into(),
        resolve: vec!["*.test=127.0.0.1".parse().unwrap()],
        obey_robots: false,
        connect_timeout: Duration::from_secs(5),
        first_byte_timeout: Duration::from_secs(5),
        total_timeout: Duration::from_secs(10),
        ..VisitsConfig::default()
    }
}

pub struct Bench {
    pub visits: Visits,
    pub ledger: Arc<Ledger>,
    pub dir: tempfile::TempDir,
    next: std::cell::Cell<u64>,
}

/// A lease to start.
#[derive(Clone)]
pub struct Ask<'a> {
    pub urls: Vec<String>,
    pub ip: Option<&'a str>,
    pub burst_us: u64,
    pub delay_us: u64,
}

impl Ask<'_> {
    pub fn of<S: ToString>(urls: &[S]) -> Self {
        let urls = urls.iter().map(ToString::to_string).collect();
        Self { urls, ip: Some("127.0.0.1"), burst_us: 0, delay_us: 0 }
    }
}

/// What came of a lease.
#[derive(Debug)]
pub struct Got {
    pub pages: Vec<Fetched>,
    pub robots: Vec<RobotsFetched>,
    pub end: End,
}

impl Got {
    pub fn response(&self, at: usize) -> &Response {
        match &self.pages[at].outcome {
            Outcome::Response(response) => response,
            other => panic!("no response but {other:?}"),
        }
    }

    /// Status or class of failure, a page each.
    pub fn words(&self) -> Vec<String> {
        self.pages.iter().map(|page| word(&page.outcome)).collect()
    }
}

pub fn word(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Response(response) => response.status.to_string(),
        Outcome::Failed(error) => error.class().to_owned(),
        Outcome::Denied => "denied".to_owned(),
    }
}

pub fn bench(config: VisitsConfig) -> Bench {
    let dir = tempfile::tempdir().unwrap();
    let files = Files::open(dir.path(), false).unwrap();
    let ledger = Arc::new(Ledger::open(&files, "ledger").unwrap());
    let visits = Visits::new(config, Arc::clone(&ledger)).unwrap();
    Bench { visits, ledger, dir, next: 1.into() }
}

impl Bench {
    /// Starts a lease and waits for its end.
    pub fn spend(&self, ask: &Ask<'_>) -> Got {
        self.start(ask);
        let end = self.visits.ends().recv_blocking().unwrap();
        let mut pages: Vec<Fetched> = Vec::new();
        while let Ok(page) = self.visits.fetched().try_recv() {
            pages.push(page);
        }
        let mut robots = Vec::new();
        while let Ok(record) = self.visits.robots().try_recv() {
            robots.push(record);
        }
        assert_eq!(pages.len(), end.consumed as usize, "a page for each consumed row");
        Got { pages, robots, end }
    }

    pub fn get(&self, url: &str) -> Got {
        self.spend(&Ask::of(&[url]))
    }

    /// Starts a lease; its number.
    pub fn start(&self, ask: &Ask<'_>) -> u64 {
        let lease = self.next.get();
        self.next.set(lease + 1);
        self.visits.start(&leases(&[(lease, ask.clone())])).unwrap();
        lease
    }

    pub fn ledger_dir(&self) -> std::path::PathBuf {
        self.dir.path().join("ledger")
    }
}

pub fn leases(asks: &[(u64, Ask<'_>)]) -> RecordBatch {
    let rows: Vec<(u64, &Ask<'_>, &String)> = asks
        .iter()
        .flat_map(|(lease, ask)| ask.urls.iter().map(move |url| (*lease, ask, url)))
        .collect();
    let count = rows.len();
    let host = |url: &str| url.split('/').nth(2).unwrap().to_owned();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(rows.iter().map(|(lease, ..)| *lease).collect::<UInt64Array>()),
        Arc::new((0..count as u64).collect::<UInt64Array>()),
        Arc::new(rows.iter().map(|(.., url)| Some(host(url))).collect::<StringArray>()),
        Arc::new(rows.iter().map(|(_, ask, _)| ask.ip).collect::<StringArray>()),
        Arc::new(rows.iter().map(|(.., url)| Some(url.as_str())).collect::<StringArray>()),
        Arc::new(UInt64Array::from(vec![0; count])),
        Arc::new(UInt16Array::from(vec![0; count])),
        Arc::new(Float32Array::from(vec![0.0; count])),
        Arc::new(UInt8Array::from(vec![0; count])),
        Arc::new(rows.iter().map(|(_, ask, _)| ask.burst_us).collect::<UInt64Array>()),
        Arc::new(rows.iter().map(|(_, ask, _)| ask.delay_us).collect::<UInt64Array>()),
        Arc::new(UInt64Array::from(vec![0; count])),
    ];
    RecordBatch::try_new(batch::LEASES.clone(), columns).unwrap()
}

/// Counts by word.
pub fn tally(words: impl IntoIterator<Item = String>) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    counts
}
