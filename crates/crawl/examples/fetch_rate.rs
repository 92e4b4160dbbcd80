//! How many small pages a second one network thread fetches over loopback: 64 hosts at delay
//! 0, bursts of 32 over kept connections, robots off, every request in the ledger.
//!
//! `cargo run --release -p crivello-crawl --example fetch_rate`

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{
    ArrayRef, Float32Array, RecordBatch, StringArray, UInt8Array, UInt16Array, UInt64Array,
};
use crivello_crawl::batch;
use crivello_crawl::fetch::{Visits, VisitsConfig};
use crivello_crawl::files::Files;
use crivello_crawl::ledger::Ledger;

const HOSTS: u64 = 64;
const BURST: usize = 32;
const PAGES: u64 = 100_000;

fn serve(stream: &TcpStream) -> std::io::Result<()> {
    let body = "x".repeat(1024);
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let mut line = Vec::new();
    let mut reader = BufReader::new(stream);
    while reader.read_until(b'\n', &mut line)? > 0 {
        if line == b"\r\n" {
            (&mut &*stream).write_all(answer.as_bytes())?;
        }
        line.clear();
    }
    Ok(())
}

fn lease(id: u64, host: u64, port: u16) -> RecordBatch {
    let authority = format!("h{host}.test:{port}");
    let numbers = |value: u64| -> ArrayRef { Arc::new(UInt64Array::from(vec![value; BURST])) };
    let texts = |value: &str| -> ArrayRef { Arc::new(StringArray::from(vec![value; BURST])) };
    let columns: Vec<ArrayRef> = vec![
        numbers(id),
        numbers(id),
        texts(&authority),
        texts("127.0.0.1"),
        texts(&format!("http://{authority}/page")),
        numbers(0),
        Arc::new(UInt16Array::from(vec![0; BURST])),
        Arc::new(Float32Array::from(vec![0.0; BURST])),
        Arc::new(UInt8Array::from(vec![0; BURST])),
        numbers(0),
        numbers(0),
        numbers(0),
    ];
    RecordBatch::try_new(batch::LEASES.clone(), columns).expect("columns of LEASES")
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(&stream));
        }
    });
    let dir = std::env::temp_dir().join(format!("fetch-rate-{}", std::process::id()));
    let ledger = Arc::new(Ledger::open(&Files::open(&dir, false)?, "ledger")?);
    let config = VisitsConfig {
        resolve: vec!["*.test=127.0.0.1".parse()?],
        obey_robots: false,
        ..VisitsConfig::default()
    };
    let visits = Visits::new(config, ledger)?;
    let fetched = visits.fetched();
    let reader = std::thread::spawn(move || {
        let mut pages = 0_u64;
        while fetched.recv_blocking().is_ok() {
            pages += 1;
        }
        pages
    });
    let begun = Instant::now();
    for host in 0..HOSTS {
        visits.start(&lease(host, host, port))?;
    }
    for turn in HOSTS..PAGES / BURST as u64 {
        let host = visits.ends().recv_blocking()?.lease % HOSTS;
        visits.start(&lease(turn * HOSTS + host, host, port))?;
    }
    for _ in 0..HOSTS {
        visits.ends().recv_blocking()?;
    }
    let seconds = begun.elapsed().as_secs_f64();
    visits.stop();
    let pages = reader.join().map_err(|_| "the reader panicked")?;
    println!("{pages} pages in {seconds:.2} s: {:.0} a second", pages as f64 / seconds);
    println!("{:?}", visits.stats());
    std::fs::remove_dir_all(dir)?;
    Ok(())
}
