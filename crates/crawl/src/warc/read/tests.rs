use std::io::{Cursor, Write};

use super::*;
use crate::warc::{Compression, Exchange, RecordWriter};

fn record(url: &str, body: &str) -> Vec<u8> {
    let block = format!("HTTP/1.1 200 OK\r\n\r\n{body}");
    format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: <{url}>\r\n\
         WARC-Date: 2025-11-18T21:35:43Z\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
        block.len()
    )
    .into_bytes()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Offset, URL, body and `cut` of a record.
type Row = (u64, String, String, bool);

/// The records of a file, and its problems in words.
fn read(file: &[u8]) -> (Vec<Row>, Vec<(u64, String)>) {
    let mut reader = Reader::new(Cursor::new(file), 1 << 20);
    let mut records = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        let body = message(&record.block).map_or(Vec::new(), |message| message.body);
        let body = String::from_utf8_lossy(&body).into_owned();
        records.push((record.offset, record.url().unwrap_or("").to_owned(), body, record.cut));
    }
    let problems = reader.problems().into_iter().map(|problem| (problem.offset, problem.what));
    (records, problems.collect())
}

fn row(offset: usize, url: &str, body: &str) -> Row {
    (offset as u64, url.to_owned(), body.to_owned(), false)
}

#[test]
fn a_file_is_the_same_in_every_compression() {
    let records = [record("http://a/", "one"), record("http://b/", &"two".repeat(100_000))];
    let plain = records.concat();
    let expected = |offsets: [usize; 2]| {
        vec![row(offsets[0], "http://a/", "one"), {
            row(offsets[1], "http://b/", &"two".repeat(100_000))
        }]
    };
    assert_eq!(read(&plain), (expected([0, records[0].len()]), vec![]));
    let members: Vec<_> = records.iter().map(|record| gzip(record)).collect();
    assert_eq!(read(&members.concat()), (expected([0, members[0].len()]), vec![]));
    assert_eq!(read(&gzip(&plain)), (expected([0, 0]), vec![]));
    let frames: Vec<_> =
        records.iter().map(|record| zstd::bulk::compress(record, 3).unwrap()).collect();
    assert_eq!(read(&frames.concat()), (expected([0, frames[0].len()]), vec![]));
    let blocks: Vec<u8> = plain.chunks(1000).flat_map(gzip).collect();
    let (found, problems) = read(&blocks);
    assert_eq!(problems, vec![]);
    assert_eq!(found.len(), 2);
    assert_eq!(found[1].2, "two".repeat(100_000));
}

#[test]
fn a_zstd_file_may_bring_its_dictionary() {
    let samples: Vec<_> =
        (0..500).map(|n| record(&format!("http://h/{n}"), &format!("page {n}"))).collect();
    let dictionary = samples.concat();
    for packed in [dictionary.clone(), zstd::bulk::compress(&dictionary, 3).unwrap()] {
        let mut file = vec![0x5d, 0x2a, 0x4d, 0x18];
        file.extend_from_slice(&(packed.len() as u32).to_le_bytes());
        file.extend_from_slice(&packed);
        let mut compressor = zstd::bulk::Compressor::with_dictionary(3, &dictionary).unwrap();
        for record in &samples[..3] {
            file.extend(compressor.compress(record).unwrap());
        }
        let (records, problems) = read(&file);
        assert_eq!(problems, vec![]);
        let bodies: Vec<_> = records.iter().map(|record| record.2.as_str()).collect();
        assert_eq!(bodies, ["page 0", "page 1", "page 2"]);
    }
}

#[test]
fn what_our_writer_wrote_is_read_back() {
    let mut writer = RecordWriter::new(1, Compression::Gzip(1)).unwrap();
    let exchange = Exchange {
        visit: 7,
        url: "http://example.org/",
        date_us: 1_763_501_743_000_042,
        ip: Some("192.0.2.1".parse().unwrap()),
        head: b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
        body: b"<p>sieve",
        truncated: Some("time"),
    };
    let bytes = writer.response(&exchange).unwrap().bytes;
    let mut reader = Reader::new(Cursor::new(bytes), 1 << 20);
    let record = reader.next_record().unwrap().unwrap();
    assert_eq!(record.kind(), "response");
    assert_eq!(record.url(), Some(exchange.url));
    assert_eq!(record.date_us(), Some(exchange.date_us));
    assert_eq!(record.ip(), exchange.ip);
    assert_eq!(record.field("warc-truncated"), Some("time"));
    assert_eq!(message(&record.block).unwrap().body, exchange.body);
    assert_eq!(reader.next_record().unwrap(), None);
}

#[test]
fn garbage_between_records_is_skipped_and_told_with_its_place() {
    let (one, two) = (record("http://a/", "one"), record("http://b/", "two"));
    let file = [&one[..], b"some garbage\n", &two].concat();
    let (records, problems) = read(&file);
    assert_eq!(records, [row(0, "http://a/", "one"), row(one.len() + 13, "http://b/", "two")]);
    let told = "13 bytes that are no record are skipped".to_owned();
    assert_eq!(problems, [(one.len() as u64, told)]);
}

#[test]
fn a_member_that_is_damaged_costs_itself_alone() {
    let members: Vec<_> =
        (0..3).map(|n| gzip(&record(&format!("http://{n}/"), &"body ".repeat(n + 9)))).collect();
    let mut file = members.concat();
    file[members[0].len() + 20..members[0].len() + 60].fill(0xff);
    let (records, problems) = read(&file);
    let urls: Vec<_> = records.iter().map(|record| record.1.as_str()).collect();
    assert_eq!(urls, ["http://0/", "http://2/"]);
    let told = "bytes that cannot be decoded are skipped".to_owned();
    assert_eq!(problems, [(members[0].len() as u64, told)]);
}

#[test]
fn bytes_that_are_no_member_are_skipped() {
    let member = gzip(&record("http://a/", "one"));
    let file = [&member[..], &[0; 1000], &member].concat();
    let (records, problems) = read(&file);
    assert_eq!(records, [row(0, "http://a/", "one"), row(member.len() + 1000, "http://a/", "one")]);
    assert_eq!(problems.len(), 1);
}

#[test]
fn a_file_that_ends_inside_a_record_gives_what_there_is() {
    let body = "a long body, ".repeat(10);
    let whole = [record("http://a/", "one"), record("http://b/", &body)].concat();
    let (records, problems) = read(&whole[..whole.len() - 14]);
    assert_eq!(records[0], row(0, "http://a/", "one"));
    assert_eq!(records[1].2, body[..body.len() - 10]);
    assert!(records[1].3);
    assert!(problems[0].1.starts_with("the record is cut short"), "{problems:?}");
    let packed = gzip(&whole);
    let (records, problems) = read(&packed[..packed.len() - 12]);
    assert_eq!(records[0], row(0, "http://a/", "one"));
    assert!(problems.iter().any(|(_, told)| told.contains("ends inside")), "{problems:?}");
}

#[test]
fn a_content_length_that_is_wrong_or_missing_costs_no_other_record() {
    let text = String::from_utf8(record("http://a/", "one")).unwrap();
    let other = record("http://b/", "two");
    for wrong in ["Content-Length: 9999\r\n", "Content-Length: 30\r\n", ""] {
        let broken = text.replace("Content-Length: 22\r\n", wrong);
        assert_ne!(broken, text);
        for file in [
            [broken.as_bytes(), &other, &other].concat(),
            [gzip(broken.as_bytes()), gzip(&other), gzip(&other)].concat(),
        ] {
            let (records, problems) = read(&file);
            let bodies: Vec<_> = records.iter().map(|record| record.2.trim_end()).collect();
            assert_eq!(bodies, ["one", "two", "two"], "{wrong:?} {problems:?}");
            assert_eq!(problems.len(), 1, "{wrong:?} {problems:?}");
        }
    }
    let short = text.replace("Content-Length: 22\r\n", "Content-Length: 21\r\n");
    let (records, problems) = read(&[short.as_bytes(), &other].concat());
    let bodies: Vec<_> = records.iter().map(|record| record.2.as_str()).collect();
    assert_eq!(bodies, ["on", "two"]);
    assert_eq!(problems.len(), 1);
}

#[test]
fn a_block_above_the_limit_is_cut_and_the_next_record_found() {
    let file = [record("http://a/", &"x".repeat(300_000)), record("http://b/", "two")].concat();
    let mut reader = Reader::new(Cursor::new(file), 1000);
    let first = reader.next_record().unwrap().unwrap();
    assert_eq!((first.block.len(), first.cut), (1000, true));
    assert_eq!(reader.next_record().unwrap().unwrap().url(), Some("http://b/"));
    assert_eq!(reader.next_record().unwrap(), None);
}

#[test]
fn hostile_bytes_neither_panic_nor_loop() {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |bound: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % bound.max(1) as u64) as usize
    };
    let plain = [
        record("http://a/", "one"),
        record("http://b/", &"text ".repeat(200)),
        record("http://c/", "three"),
    ];
    let sources = [
        plain.concat(),
        gzip(&plain.concat()),
        plain.iter().flat_map(|record| gzip(record)).collect(),
        plain.iter().flat_map(|record| zstd::bulk::compress(record, 1).unwrap()).collect(),
    ];
    for round in 0..4000 {
        let mut file = sources[round % sources.len()].clone();
        for _ in 0..=next(8) {
            match next(4) {
                0 => {
                    let at = next(file.len());
                    if let Some(byte) = file.get_mut(at) {
                        *byte = next(256) as u8;
                    }
                }
                1 => file.truncate(next(file.len() + 1)),
                2 => {
                    let (from, to) = (next(file.len() + 1), next(file.len() + 1));
                    file.drain(from.min(to)..from.max(to).min(from.min(to) + 40));
                }
                _ => {
                    let at = next(file.len() + 1);
                    let piece: Vec<u8> = (0..next(30)).map(|_| next(256) as u8).collect();
                    file.splice(at..at, piece);
                }
            }
        }
        let (records, _) = read(&file);
        assert!(records.len() < 100, "round {round}");
    }
}
