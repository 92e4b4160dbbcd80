use std::collections::HashSet;

use super::*;
use crate::batch::strings;
use crate::files::{FileState, Files};

const KEY: u64 = 42;
const MIB: usize = 1 << 20;

fn open() -> (tempfile::TempDir, Files) {
    let dir = tempfile::tempdir().unwrap();
    let files = Files::open(dir.path(), false).unwrap();
    (dir, files)
}

fn names(numbers: impl IntoIterator<Item = u32>) -> Vec<String> {
    numbers.into_iter().map(|number| format!("http://h{}.sim/{number}", number % 7)).collect()
}

fn offer(buffer: &mut SieveBuffer, urls: &[String]) {
    assert_eq!(buffer.offer(&rows(urls), 0).unwrap(), urls.len());
}

fn take(files: &Files, merged: &Merged, max_rows: usize) -> Vec<String> {
    let mut out = Vec::new();
    let mut reader = FreshReader::open(files, &merged.log, &merged.fresh.path, KEY, 0).unwrap();
    while let Some(batch) = reader.next_batch(max_rows).unwrap() {
        assert!(batch.num_rows() <= max_rows);
        out.extend(strings(&batch, "url").unwrap().iter().flatten().map(str::to_owned));
    }
    assert_eq!(out.len() as u64, merged.count);
    out
}

/// Two generations: the numbers below 1000 backwards, then those below 2000.
fn two_generations(files: &Files) -> (SieveBuffer, Merged, Merged) {
    let mut buffer = SieveBuffer::create(files.clone(), "a0", KEY, MIB).unwrap();
    offer(&mut buffer, &names((0..1000).rev()));
    let first = buffer.merge(None, "z1", "f0", "a1").unwrap();
    offer(&mut buffer, &names(0..2000));
    let second = buffer.merge(Some("z1"), "z2", "f1", "a2").unwrap();
    (buffer, first, second)
}

#[test]
fn a_url_comes_out_once_in_order_of_first_appearance() {
    let (_dir, files) = open();
    let (_, first, second) = two_generations(&files);
    assert_eq!(take(&files, &first, 64), names((0..1000).rev()));
    assert_eq!(take(&files, &second, 10_000), names(1000..2000));
    assert_eq!((first.known, second.known), (1000, 2000));
}

#[test]
fn the_first_of_equal_offers_is_the_one_that_comes_out() {
    let (_dir, files) = open();
    let mut buffer = SieveBuffer::create(files.clone(), "a", KEY, MIB).unwrap();
    let noise = names(1000..21_000); // more than the recent cache holds
    offer(&mut buffer, &names([1, 1, 1]));
    offer(&mut buffer, &noise);
    offer(&mut buffer, &noise[..10_000]);
    offer(&mut buffer, &names([2, 1, 1, 1]));
    assert!(buffer.dropped() >= 4, "neighbours are dropped before they cost a row");
    assert!(buffer.pending() > 20_100, "some repetitions reach S");
    let merged = buffer.merge(None, "z", "f", "a2").unwrap();
    let mut expected = names([1]);
    expected.extend(noise);
    expected.extend(names([2]));
    assert_eq!(take(&files, &merged, 1000), expected);
}

#[test]
fn rows_keep_what_was_known_of_them() {
    let (_dir, files) = open();
    let mut buffer = SieveBuffer::create(files.clone(), "a", KEY, MIB).unwrap();
    let urls = names(0..4);
    let columns = rows(&urls);
    let mut arrays = columns.columns().to_vec();
    arrays[2] = Arc::new(UInt16Array::from(vec![1, 2, 3, u16::MAX]));
    arrays[3] = Arc::new(Float32Array::from(vec![0.5, -1.0, f32::INFINITY, 0.0]));
    arrays[4] = Arc::new(UInt64Array::from(vec![7, 7, 8, u64::MAX]));
    arrays[5] = Arc::new(StringArray::from(vec!["http://p/7", "http://p/7", "http://p/8", ""]));
    let batch = RecordBatch::try_new(columns.schema(), arrays).unwrap();
    buffer.offer(&batch, 0).unwrap();
    let merged = buffer.merge(None, "z", "f", "a2").unwrap();
    for row in 0..4 {
        let mut reader = FreshReader::open(&files, &merged.log, "f", KEY, row).unwrap();
        let out = reader.next_batch(1).unwrap().unwrap();
        assert_eq!(out, batch.slice(row as usize, 1), "from row {row} on");
        assert_eq!(reader.row(), row + 1);
    }
}

#[test]
fn a_full_buffer_takes_what_fits() {
    let (_dir, files) = open();
    let mut buffer = SieveBuffer::create(files, "a", KEY, MIB).unwrap();
    let many = names(0..100_000);
    let taken = buffer.offer(&rows(&many), 0).unwrap();
    assert!(buffer.is_full() && taken < many.len());
    assert_eq!(buffer.pending(), buffer.capacity());
    assert!(buffer.memory_bytes() <= MIB, "{}", buffer.memory_bytes());
    assert!(buffer.memory_bytes() > MIB * 99 / 100, "the budget is used");
    buffer.merge(None, "z", "f", "a2").unwrap();
    assert!(buffer.offer(&rows(&many), taken).unwrap() > taken);
}

#[test]
fn a_checkpoint_is_returned_to() {
    let (_dir, files) = open();
    let (mut buffer, _, _) = two_generations(&files);
    offer(&mut buffer, &names(1500..2500));
    let state = buffer.flush_log().unwrap();
    let pending = buffer.pending();
    offer(&mut buffer, &names(2500..3000));
    buffer.merge(Some("z2"), "z3", "f2", "a3").unwrap();

    let mut again = SieveBuffer::resume(files.clone(), &state, KEY, MIB).unwrap();
    assert_eq!(again.pending(), pending);
    assert!(again.holds(&names([2499])[0]) && !again.holds(&names([2500])[0]));
    let merged = again.merge(Some("z2"), "z3", "f2", "a3").unwrap();
    assert_eq!(take(&files, &merged, 100), names(2000..2500));
}

#[test]
fn signatures_are_found_on_disk() {
    let (_dir, files) = open();
    two_generations(&files);
    let known: HashSet<u32> =
        (0..4000).filter(|&n| contains(&files, "z2", &names([n])[0], KEY).unwrap()).collect();
    assert_eq!(known, (0..2000).collect());
    assert_eq!(SignatureReader::open(&files, "z2", KEY).unwrap().count(), 2000);
}

#[test]
fn a_failed_merge_changes_nothing() {
    let (dir, good) = open();
    let (_, _, _) = two_generations(&good);
    let urls = names(1000..15_000);
    for number in 1..100 {
        let fault = format!("error:{number}").parse().unwrap();
        let files = Files::open(dir.path(), false).unwrap().with_fault(fault);
        let Ok(mut buffer) = SieveBuffer::create(files.clone(), "a9", KEY, MIB) else { continue };
        let Ok(taken) = buffer.offer(&rows(&urls), 0) else {
            offer(&mut buffer, &urls);
            assert_eq!(buffer.merge(Some("z2"), "z9", "f9", "a10").unwrap().count, 13_000);
            continue;
        };
        assert_eq!(taken, urls.len());
        let merged = match buffer.merge(Some("z2"), "z9", "f9", "a10") {
            Ok(merged) if files.operations() < number => {
                assert!(number > 10, "the faults reached the merge");
                assert_eq!(merged.count, 13_000);
                return;
            }
            Ok(merged) => merged,
            Err(error) => {
                assert!(error.to_string().contains(&*dir.path().to_string_lossy()), "{error}");
                assert_eq!(buffer.pending(), urls.len());
                assert!(!files.exists("z9") && !files.exists("f9"));
                buffer.merge(Some("z2"), "z9", "f9", "a10").unwrap()
            }
        };
        assert_eq!(take(&files, &merged, 5000), names(2000..15_000), "after error:{number}");
    }
    panic!("the merge never ran out of faults");
}

#[test]
fn hostile_bytes_are_one_error() {
    let (dir, files) = open();
    let (_, _, merged) = two_generations(&files);
    for name in ["z2", "f1", "a1"] {
        let path = dir.path().join(name);
        let content = std::fs::read(&path).unwrap();
        let cuts =
            (0..content.len()).step_by(content.len() / 50).map(|len| content[..len].to_vec());
        let flips = (0..content.len()).step_by(content.len() / 300 + 1).map(|position| {
            let mut bytes = content.clone();
            bytes[position] ^= 1 << (position % 8);
            bytes
        });
        let zeros = [vec![0; content.len()], vec![0xff; content.len()]];
        for bytes in cuts.chain(flips).chain(zeros) {
            std::fs::write(&path, &bytes).unwrap();
            let error = read_all(&files, &merged).expect_err(name).to_string();
            assert!(error.contains(name) && !error.contains('\n'), "{error}");
        }
        std::fs::write(&path, content).unwrap();
    }
    read_all(&files, &merged).unwrap();
    let other = SignatureReader::open(&files, "z2", KEY + 1).err().unwrap().to_string();
    assert!(other.contains("another key"), "{other}");
}

/// Reads every byte of the second generation.
fn read_all(files: &Files, merged: &Merged) -> std::io::Result<()> {
    let mut z = SignatureReader::open(files, "z2", KEY)?;
    while z.next_signature()?.is_some() {}
    let log = FileState { path: "a1".to_owned(), ..merged.log.clone() };
    let mut reader = FreshReader::open(files, &log, "f1", KEY, 0)?;
    while reader.next_batch(100)?.is_some() {}
    Ok(())
}
