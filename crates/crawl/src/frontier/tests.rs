//! Files and hostile bytes; what a frontier does is in `tests/unit/test_frontier.py`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Float32Array, RecordBatch, StringArray, UInt16Array, UInt64Array};

use super::*;
use crate::batch::URLS;

fn urls(names: &[String]) -> RecordBatch {
    let rows = names.len();
    let columns: Vec<arrow_array::ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(names)),
        Arc::new(UInt64Array::from_iter_values(0..rows as u64)),
        Arc::new(UInt16Array::from(vec![1; rows])),
        Arc::new(Float32Array::from(vec![0.5; rows])),
        Arc::new(UInt64Array::from(vec![0; rows])),
        Arc::new(StringArray::from(vec![""; rows])),
    ];
    RecordBatch::try_new(URLS.clone(), columns).unwrap()
}

fn open(dir: &std::path::Path, state: Option<&State>) -> Result<Frontier> {
    Frontier::open(Files::open(dir, false)?, "f", Options::default(), state)
}

/// A frontier with records in memory, on disk and in flight, after several checkpoints.
fn lived_in(dir: &std::path::Path) -> (Frontier, State) {
    let mut frontier = open(dir, None).unwrap();
    let mut state = None;
    for round in 0..6 {
        let names = (0..40).map(|n| format!("http://h{}.x:8/{round}/{n}", n % 5));
        frontier.push(&urls(&names.collect::<Vec<_>>())).unwrap();
        if round % 2 == 0 {
            frontier.spill(0, 200).unwrap();
        }
        frontier.retire("h1.x:8", 7).unwrap();
        frontier.set_host("h2.x:8", Some(round), Some(77));
        frontier.set_ip("192.0.2.1", 5);
        state = Some(frontier.checkpoint(round == 3).unwrap());
    }
    (frontier, state.unwrap())
}

fn drain(frontier: &mut Frontier) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for host in 0..5 {
        let rows = frontier.retire(&format!("h{host}.x:8"), 1000)?;
        all.extend(rows["url"].as_string::<i32>().iter().flatten().map(str::to_owned));
    }
    Ok(all)
}

#[test]
fn what_was_in_flight_returns_to_the_head_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let (frontier, state) = lived_in(dir.path());
    assert_eq!((frontier.queued(), frontier.in_flight()), (240 - 42, 42));
    drop(frontier);
    let mut again = open(dir.path(), Some(&state)).unwrap();
    assert_eq!((again.queued(), again.in_flight()), (240, 0));
    let expected: Vec<String> = (0..5)
        .flat_map(|host| (0..6).map(move |round| (host, round)))
        .flat_map(|(host, round)| {
            (0..8).map(move |n| format!("http://h{host}.x:8/{round}/{}", n * 5 + host))
        })
        .collect();
    assert_eq!(drain(&mut again).unwrap(), expected);
}

#[test]
fn an_older_checkpoint_can_be_opened_until_space_is_reclaimed() {
    let dir = tempfile::tempdir().unwrap();
    let mut frontier = open(dir.path(), None).unwrap();
    let names: Vec<String> = (0..50).map(|n| format!("http://h0.x:8/{n}")).collect();
    frontier.push(&urls(&names)).unwrap();
    frontier.spill(0, 100).unwrap();
    let state = frontier.checkpoint(false).unwrap();
    let rows = frontier.retire("h0.x:8", 50).unwrap();
    frontier.stored(rows["visit"].as_primitive()).unwrap();
    frontier.checkpoint(true).unwrap();
    drop(frontier);
    assert_eq!(drain(&mut open(dir.path(), Some(&state)).unwrap()).unwrap(), names);
}

#[test]
fn cut_and_flipped_bytes_are_an_error_and_no_panic() {
    let dir = tempfile::tempdir().unwrap();
    let (_, state) = lived_in(dir.path());
    let read = |name: String| {
        let path = dir.path().join("f").join(name);
        let bytes = std::fs::read(&path).unwrap();
        (path, bytes)
    };
    let (path, bytes) = read(state.log.clone());
    let queue = read("queue-000001.log".to_owned());
    let mut refused = 0;
    for place in (0..bytes.len()).step_by(1 + bytes.len() / 300) {
        // The checksum is made to fit, so that the entries themselves are read.
        let cut = bytes[..place].to_vec();
        let mut flipped = bytes.clone();
        flipped[place] ^= 1 << (place % 8);
        for damaged in [cut, flipped] {
            std::fs::write(&queue.0, &queue.1).unwrap();
            std::fs::write(&path, &damaged).unwrap();
            let crc = crc32fast::hash(&damaged);
            let state = State { len: damaged.len() as u64, crc, ..state.clone() };
            let outcome = open(dir.path(), Some(&state)).and_then(|mut f| drain(&mut f));
            refused += usize::from(outcome.is_err());
        }
        let short = State { len: bytes.len() as u64 + 1, ..state.clone() };
        assert!(open(dir.path(), Some(&short)).is_err());
    }
    assert!(refused > 300, "{refused} damaged logs were refused");
}
