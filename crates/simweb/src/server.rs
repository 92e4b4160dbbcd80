//! The server: every host on one port of one or more loopback addresses.
//!
//! One thread, one task a connection. The `Host` header (or an absolute request target) says
//! which host is meant, whatever the address. Each request is one line of the log: when its
//! head had been read (UTC µs, never running backwards), host, address it came in on, path,
//! status, number of the connection, separated by tabs.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{JoinSet, LocalSet};

use crate::World;
use crate::answer::{Answer, Answers, Request};
use crate::hosts::{Role, write_number};
use crate::slots::put;
use crate::wire::{Step, Wire};

/// The longest request head that is read.
const HEAD_BYTES: usize = 64 << 10;
/// A stalling body waits so long, times the time scale.
const STALL: f64 = 0.5;
/// The log reaches its file at least so often.
const LOG_EVERY: Duration = Duration::from_millis(200);
const BACKLOG: u32 = 1024;

/// A server that could not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The port is taken, or may not be used.
    #[error("cannot listen on {address}: {error}; give another port, or 0 for any that is free")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system says.
        error: io::Error,
    },
    /// The log cannot be written.
    #[error("cannot write the log {}: {error}", path.display())]
    Log {
        /// The log.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// No thread or no event queue.
    #[error("cannot start the server: {0}")]
    Start(#[from] io::Error),
}

struct Log {
    file: Option<Mutex<BufWriter<File>>>,
    served: AtomicU64,
}

impl Log {
    fn line(&self, line: &[u8]) {
        self.served.fetch_add(1, Ordering::Relaxed);
        if let Some(file) = &self.file {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            drop(file.write_all(line)); // a full disk must not stop the web
        }
    }

    fn flush(&self) -> io::Result<()> {
        match &self.file {
            None => Ok(()),
            Some(file) => file.lock().unwrap_or_else(PoisonError::into_inner).flush(),
        }
    }
}

/// A running server; it ends when dropped.
pub struct Server {
    world: Arc<World>,
    log: Arc<Log>,
    port: u16,
    /// Bound but not listening: connections to it are refused.
    refusing: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Server {
    /// Serves a web on a port (0: any that is free), with a log if a path is given.
    ///
    /// # Errors
    ///
    /// When the port is taken, the log cannot be made, or the system has no thread left.
    pub fn start(world: Arc<World>, port: u16, log: Option<&Path>) -> Result<Self, ServerError> {
        let file = match log {
            None => None,
            Some(path) => {
                let file = File::options().create(true).append(true).open(path);
                let file = file.map_err(|error| ServerError::Log { path: path.into(), error })?;
                Some(Mutex::new(BufWriter::new(file)))
            }
        };
        let log = Arc::new(Log { file, served: AtomicU64::new(0) });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let guard = runtime.enter();
        let listeners = bind(port, world.config.addresses)?;
        let port = listeners[0].local_addr()?.port();
        let refusing = TcpSocket::new_v4()?;
        refusing.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let refusing_at = refusing.local_addr()?;
        drop(guard);
        let (stop, stopped) = oneshot::channel();
        let (web, lines) = (Arc::clone(&world), Arc::clone(&log));
        let thread = std::thread::Builder::new().name("simweb".into()).spawn(move || {
            let _refusing = refusing;
            LocalSet::new().block_on(&runtime, serve(web, Arc::clone(&lines), listeners, stopped));
            drop(lines.flush());
        })?;
        Ok(Self { world, log, port, refusing: refusing_at, stop: Some(stop), thread: Some(thread) })
    }

    /// The web that is served.
    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Requests answered so far.
    pub fn served(&self) -> u64 {
        self.log.served.load(Ordering::Relaxed)
    }

    /// Hands the lines of the log to its file.
    ///
    /// # Errors
    ///
    /// When they cannot be written.
    pub fn flush(&self) -> io::Result<()> {
        self.log.flush()
    }

    /// Where hosts are, as `PATTERN=ADDRESS:PORT`: the exceptions first, then `*.sim`.
    pub fn resolve(&self) -> Vec<String> {
        let hosts = &self.world.hosts;
        let exception = |id: u32| {
            if hosts.role(id) == Role::Refused {
                return Some(format!("{}={}", self.world.host_name(id), self.refusing));
            }
            let address = hosts.address(id);
            (address > 0)
                .then(|| format!("{}={}:{}", self.world.host_name(id), ip(address), self.port))
        };
        (0..hosts.count())
            .filter_map(exception)
            .chain([format!("*.sim={}:{}", ip(0), self.port)])
            .collect()
    }

    /// Ends the server and waits until its sockets are closed.
    pub fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.send(()).unwrap_or_default(); // it may have ended already
        }
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

const fn ip(address: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, address + 1)
}

fn bind(port: u16, addresses: u8) -> Result<Vec<TcpListener>, ServerError> {
    let listen = |address: u8, port: u16| {
        let address = SocketAddr::from((ip(address), port));
        let listener = TcpSocket::new_v4().and_then(|socket| {
            socket.set_reuseaddr(true)?;
            socket.bind(address)?;
            socket.listen(BACKLOG)
        });
        listener.map_err(|error| ServerError::Listen { address, error })
    };
    let mut attempts = 0;
    loop {
        attempts += 1;
        let first = listen(0, port)?;
        let chosen = first.local_addr()?.port();
        let others: Result<Vec<_>, _> =
            (1..addresses).map(|address| listen(address, chosen)).collect();
        match others {
            Ok(others) => return Ok(std::iter::once(first).chain(others).collect()),
            Err(error) if port != 0 || attempts == 16 => return Err(error),
            Err(_) => {} // the free port is taken on another address: choose again
        }
    }
}

/// Microseconds of UTC that never run backwards.
struct Clock(i64, Instant);

impl Clock {
    fn new() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(since_epoch.as_micros() as i64, Instant::now())
    }

    fn now_us(&self) -> i64 {
        self.0 + self.1.elapsed().as_micros() as i64
    }
}

/// What the connections of the one thread share: none keeps an answer of its own while it
/// waits, unless its client reads slowly.
struct Shared {
    workshop: RefCell<Workshop>,
    log: Arc<Log>,
    clock: Clock,
    stall: Duration,
}

struct Workshop {
    answers: Answers,
    answer: Answer,
    wire: Wire,
    line: Vec<u8>,
}

async fn serve(
    world: Arc<World>,
    log: Arc<Log>,
    listeners: Vec<TcpListener>,
    mut stopped: oneshot::Receiver<()>,
) {
    let stall = Duration::from_secs_f64(STALL * world.config.time_scale);
    let workshop = RefCell::new(Workshop {
        answers: Answers::new(world),
        answer: Answer::default(),
        wire: Wire::default(),
        line: Vec::new(),
    });
    let shared = Rc::new(Shared { workshop, log, clock: Clock::new(), stall });
    let mut tasks = JoinSet::new();
    let (sender, mut accepted) = tokio::sync::mpsc::unbounded_channel();
    for listener in listeners {
        let sender = sender.clone();
        tasks.spawn_local(async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => drop(sender.send(stream)),
                    // Out of file descriptors: those in use come free.
                    Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        });
    }
    let mut tick = tokio::time::interval(LOG_EVERY);
    let mut number = 0;
    loop {
        tokio::select! {
            _ = &mut stopped => break,
            _ = tick.tick() => drop(shared.log.flush()),
            Some(stream) = accepted.recv() => {
                number += 1;
                let shared = Rc::clone(&shared);
                tasks.spawn_local(async move { drop(shared.connection(stream, number).await) });
            }
            Some(_) = tasks.join_next() => {}
        }
    }
}

/// What is left to do for an answer after its first bytes.
struct Rest {
    /// Length of the request head.
    used: usize,
    wait: Duration,
    bytes: Vec<u8>,
    steps: Vec<Step>,
    keep: bool,
}

impl Shared {
    async fn connection(&self, mut stream: TcpStream, number: u64) -> io::Result<()> {
        let local = stream.local_addr()?.ip().to_string();
        stream.set_nodelay(true)?;
        let mut input = Vec::with_capacity(2048);
        loop {
            let Some(rest) = self.respond(&input, &stream, number, &local) else {
                if input.len() > HEAD_BYTES || stream.read_buf(&mut input).await? == 0 {
                    return Ok(());
                }
                continue;
            };
            input.drain(..rest.used);
            if !rest.wait.is_zero() {
                tokio::time::sleep(rest.wait).await;
            }
            stream.write_all(&rest.bytes).await?;
            for step in rest.steps {
                match step {
                    Step::Send(bytes) => stream.write_all(&bytes).await?,
                    Step::Wait(pause) => tokio::time::sleep(pause).await,
                    Step::Repeat(bytes, total) => {
                        for _ in 0..total / bytes.len() as u64 {
                            stream.write_all(&bytes).await?;
                        }
                    }
                    Step::Reset => return stream.set_zero_linger(),
                }
            }
            if !rest.keep {
                return stream.shutdown().await;
            }
        }
    }

    /// Answers the request that the input begins with; none while its head is incomplete.
    fn respond(&self, input: &[u8], stream: &TcpStream, number: u64, ip: &str) -> Option<Rest> {
        let workshop = &mut *self.workshop.borrow_mut();
        let Workshop { answers, answer, wire, line } = workshop;
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut head = httparse::Request::new(&mut headers);
        let used = match head.parse(input) {
            Ok(httparse::Status::Partial) => return None,
            Ok(httparse::Status::Complete(used)) => used,
            Err(_) => {
                let bytes = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec();
                let (wait, steps) = (Duration::ZERO, Vec::new());
                return Some(Rest { used: input.len(), wait, bytes, steps, keep: false });
            }
        };
        let now_us = self.clock.now_us();
        let request = read(&head, now_us);
        let method = head.method.unwrap_or("");
        answers.answer(&request, answer);
        if !matches!(method, "GET" | "HEAD") {
            answer.refuse_method();
        }
        let http10 = answers.is_http10(request.host);
        wire.write(answer, &request, self.stall, http10);
        if method != "GET" && method != "HEAD" {
            wire.keep = false; // its body has not been read
        }
        line.clear();
        write_number(line, now_us as u64);
        put(line, &[b"\t", request.host, b"\t", ip.as_bytes(), b"\t", request.path, b"\t"]);
        write_number(line, u64::from(answer.status));
        line.push(b'\t');
        write_number(line, number);
        line.push(b'\n');
        self.log.line(line);
        let sent =
            if answer.wait.is_zero() { stream.try_write(&wire.bytes).unwrap_or(0) } else { 0 };
        Some(Rest {
            used,
            wait: answer.wait,
            bytes: wire.bytes[sent..].to_vec(),
            steps: std::mem::take(&mut wire.steps),
            keep: wire.keep && !closes(&head),
        })
    }
}

fn header<'a>(head: &httparse::Request<'_, 'a>, name: &str) -> Option<&'a [u8]> {
    head.headers.iter().find(|h| h.name.eq_ignore_ascii_case(name)).map(|h| h.value)
}

fn closes(head: &httparse::Request) -> bool {
    header(head, "connection").is_some_and(|value| value.eq_ignore_ascii_case(b"close"))
}

/// The request of a parsed head; an absolute target overrules the Host header.
fn read<'a>(head: &httparse::Request<'_, 'a>, now_us: i64) -> Request<'a> {
    let target = head.path.unwrap_or("/");
    let (host, path) = match target.strip_prefix("http://") {
        Some(rest) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            (Some(host.as_bytes()), if path.is_empty() { "/" } else { path })
        }
        None => (header(head, "host"), target),
    };
    Request {
        host: host.unwrap_or(b""),
        path: path.as_bytes(),
        head: head.method == Some("HEAD"),
        gzip: header(head, "accept-encoding")
            .is_some_and(|value| value.windows(4).any(|word| word.eq_ignore_ascii_case(b"gzip"))),
        old: head.version == Some(0),
        none_match: header(head, "if-none-match"),
        modified_since: header(head, "if-modified-since"),
        now_us,
    }
}
