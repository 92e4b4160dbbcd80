//! The bytes of an answer on the wire, those of broken ones too.
//!
//! An ordinary answer is one run of bytes. An odd one goes on with steps: wait, send more,
//! close, reset, or send for ever.

use std::time::Duration;

use crate::answer::{Answer, Request, Shape};
use crate::hosts::write_number;
use crate::odd::Odd;
use crate::slots::put;

/// What follows the first bytes of an odd answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// More bytes.
    Send(Vec<u8>),
    /// A pause.
    Wait(Duration),
    /// These bytes again and again, until so many have gone.
    Repeat(Vec<u8>, u64),
    /// The connection is reset.
    Reset,
}

/// An answer ready to be sent; its buffer is used again for the next one.
#[derive(Default)]
pub struct Wire {
    /// The first bytes.
    pub bytes: Vec<u8>,
    /// What follows.
    pub steps: Vec<Step>,
    /// The connection serves further requests afterwards.
    pub keep: bool,
}

impl Wire {
    /// Writes an answer. `stall` is how long a stalling body waits, `old` forces HTTP/1.0.
    pub fn write(&mut self, answer: &Answer, request: &Request, stall: Duration, old: bool) {
        self.bytes.clear();
        self.steps.clear();
        self.keep = !old && !request.old;
        let mut shape = answer.shape;
        if (old || request.old) && shape == Shape::Chunked {
            shape = Shape::Length;
        }
        if request.head && !matches!(shape, Shape::Refused) {
            shape = Shape::Length;
        }
        let body: &[u8] = &answer.body;
        let half = body.len() / 2;
        match shape {
            Shape::Length if old => {
                self.head(b"HTTP/1.0", answer, None);
                self.body(request, body);
            }
            Shape::Length => {
                self.head(b"HTTP/1.1", answer, Some(body.len()));
                self.body(request, body);
            }
            Shape::Chunked => {
                self.chunked(answer);
                for chunk in body.chunks(4096) {
                    self.chunk(chunk);
                }
                self.bytes.extend_from_slice(b"0\r\n\r\n");
            }
            Shape::Refused => self.reset(),
            Shape::Stream => {
                self.keep = false;
                self.head(b"HTTP/1.1", answer, None);
                self.bytes.extend_from_slice(body);
                let more =
                    b"<p>and so on and on and on and on and on and on and on</p>\n".repeat(256);
                self.steps.push(Step::Repeat(more, crate::traps::STREAM_BYTES));
            }
            Shape::Odd(odd) => match odd {
                Odd::CloseEmpty => self.keep = false,
                Odd::ResetEmpty => self.reset(),
                Odd::BadHead => {
                    self.keep = false;
                    self.bytes.extend_from_slice(b"HELO www.sim\r\nthis is not http\r\n\r\n");
                }
                Odd::CloseEarly | Odd::ResetBody => {
                    self.keep = false;
                    self.head(b"HTTP/1.1", answer, Some(body.len()));
                    self.bytes.extend_from_slice(&body[..half]);
                    if odd == Odd::ResetBody {
                        self.steps.push(Step::Wait(Duration::from_millis(20)));
                        self.reset();
                    }
                }
                Odd::Stall => {
                    self.head(b"HTTP/1.1", answer, Some(body.len()));
                    self.bytes.extend_from_slice(&body[..half]);
                    self.steps.push(Step::Wait(stall));
                    self.steps.push(Step::Send(body[half..].to_vec()));
                }
                Odd::ChunkBad | Odd::ChunkCut => {
                    self.keep = false;
                    self.chunked(answer);
                    self.chunk(&body[..half]);
                    if odd == Odd::ChunkBad {
                        self.bytes.extend_from_slice(b"zz\r\nnot a chunk\r\n");
                    }
                }
                Odd::Trailers => {
                    self.chunked(answer);
                    self.bytes.extend_from_slice(format!("{half:X};note=\"half\"\r\n").as_bytes());
                    put(&mut self.bytes, &[&body[..half], b"\r\n"]);
                    self.chunk(&body[half..]);
                    self.bytes.extend_from_slice(b"000\r\nX-Trailer: end\r\n\r\n");
                }
                Odd::NoLength => {
                    self.keep = false;
                    self.head(b"HTTP/1.1", answer, None);
                    self.bytes.extend_from_slice(body);
                }
                Odd::Version10 => {
                    self.keep = false;
                    self.head(b"HTTP/1.0", answer, None);
                    self.bytes.extend_from_slice(body);
                }
                Odd::EarlyHints => {
                    self.bytes.extend_from_slice(
                        b"HTTP/1.1 103 Early Hints\r\nLink: </style/main.css>; rel=preload\r\n\r\n",
                    );
                    self.head(b"HTTP/1.1", answer, Some(body.len()));
                    self.bytes.extend_from_slice(body);
                }
                Odd::BareHead => {
                    self.bytes.extend_from_slice(b"HTTP/1.1 200\ncontent-length:");
                    write_number(&mut self.bytes, body.len() as u64);
                    put(&mut self.bytes, &[b"\nCONTENT-TYPE:text/html\n\n", body]);
                }
                _ => {
                    self.head(b"HTTP/1.1", answer, Some(body.len()));
                    self.bytes.extend_from_slice(body);
                }
            },
        }
    }

    fn head(&mut self, version: &[u8], answer: &Answer, length: Option<usize>) {
        self.status_line(version, answer);
        // 304 has no body whatever its header says.
        if let Some(length) = length.filter(|_| answer.status != 304) {
            self.bytes.extend_from_slice(b"Content-Length: ");
            write_number(&mut self.bytes, length as u64);
            self.bytes.extend_from_slice(b"\r\n");
        }
        self.end_head();
    }

    fn chunked(&mut self, answer: &Answer) {
        self.status_line(b"HTTP/1.1", answer);
        self.bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
        self.end_head();
    }

    fn status_line(&mut self, version: &[u8], answer: &Answer) {
        let mut status = Vec::with_capacity(3);
        write_number(&mut status, u64::from(answer.status));
        let reason: &[u8] = match answer.status {
            200 => b" OK\r\n",
            304 => b" Not Modified\r\n",
            300..400 => b" Moved\r\n",
            404 => b" Not Found\r\n",
            429 => b" Too Many Requests\r\n",
            503 => b" Service Unavailable\r\n",
            _ => b" Error\r\n",
        };
        put(
            &mut self.bytes,
            &[version, b" ", &status, reason, b"Server: simweb\r\n", &answer.headers],
        );
    }

    fn end_head(&mut self) {
        let close: &[u8] = if self.keep { b"\r\n" } else { b"Connection: close\r\n\r\n" };
        self.bytes.extend_from_slice(close);
    }

    fn body(&mut self, request: &Request, body: &[u8]) {
        if !request.head {
            self.bytes.extend_from_slice(body);
        }
    }

    fn chunk(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.bytes.extend_from_slice(format!("{:x}\r\n", bytes.len()).as_bytes());
            put(&mut self.bytes, &[bytes, b"\r\n"]);
        }
    }

    fn reset(&mut self) {
        self.keep = false;
        self.steps.push(Step::Reset);
    }
}
