use super::*;

const BIG: usize = 300_000;

fn open(fault: Option<&str>, fsync: bool) -> (tempfile::TempDir, Files) {
    let dir = tempfile::tempdir().unwrap();
    let files = Files::open(dir.path(), fsync).unwrap();
    let files = match fault {
        Some(plan) => files.with_fault(plan.parse().unwrap()),
        None => files,
    };
    (dir, files)
}

#[test]
fn an_appender_knows_offsets_length_and_checksum() {
    for fsync in [false, true] {
        let (_dir, files) = open(None, fsync);
        let mut log = files.appender("a/b/log").unwrap();
        assert!(log.is_empty());
        assert_eq!(log.append(b"one").unwrap(), 0);
        assert_eq!(log.append(&vec![7; BIG]).unwrap(), 3);
        assert_eq!(log.append(b"two").unwrap(), 3 + BIG as u64);
        let (len, crc) = log.flush().unwrap();
        let content = files.read("a/b/log").unwrap();
        assert_eq!((len, crc), (content.len() as u64, crc32fast::hash(&content)));

        let mut again = files.appender("a/b/log").unwrap();
        assert_eq!(again.flush().unwrap(), (len, crc));
        assert_eq!(again.append(b"three").unwrap(), len);
    }
}

#[test]
fn a_frame_is_length_checksum_and_bytes() {
    let (_dir, files) = open(None, false);
    let mut log = files.appender("log").unwrap();
    let (small, large) = (b"small".to_vec(), vec![7; BIG]);
    assert_eq!(log.append_frame(&small).unwrap(), 0);
    assert_eq!(log.append_frame(&large).unwrap(), 13);
    assert_eq!(log.append_frame(b"").unwrap(), 21 + BIG as u64);
    let (len, crc) = log.flush().unwrap();
    let content = files.read("log").unwrap();
    assert_eq!((len, crc), (content.len() as u64, crc32fast::hash(&content)));
    let mut expected = Vec::new();
    for bytes in [&small, &large, &Vec::new()] {
        expected.extend((bytes.len() as u32).to_le_bytes());
        expected.extend(crc32fast::hash(bytes).to_le_bytes());
        expected.extend(bytes);
    }
    assert_eq!(content, expected);
}

#[test]
fn a_frame_that_fails_has_added_nothing() {
    // Creation is operation 1, the first frame 2, its length and checksum alone 3, its bytes 4.
    for fault in ["error:3", "error:4"] {
        let (_dir, files) = open(Some(fault), false);
        let mut log = files.appender("log").unwrap();
        log.append_frame(b"a").unwrap();
        assert!(log.append_frame(&vec![b'b'; BIG]).is_err(), "{fault}");
        assert_eq!(log.len(), 9);
        assert_eq!(log.append_frame(&vec![b'b'; BIG]).unwrap(), 9);
        let (len, crc) = log.flush().unwrap();
        let content = files.read("log").unwrap();
        assert_eq!((content.len() as u64, crc32fast::hash(&content)), (len, crc));
        assert_eq!(len, 17 + BIG as u64);
    }
}

#[test]
fn what_was_not_flushed_is_dropped() {
    let (_dir, files) = open(None, false);
    let mut log = files.appender("log").unwrap();
    log.append(b"kept").unwrap();
    log.flush().unwrap();
    log.append(b"lost").unwrap();
    drop(log);
    assert_eq!(files.read("log").unwrap(), b"kept");
}

#[test]
fn restoring_cuts_back_to_the_checkpoint() {
    let (_dir, files) = open(None, false);
    let mut log = files.appender("log").unwrap();
    log.append(b"promised").unwrap();
    let (len, crc) = log.flush().unwrap();
    log.append(b" and torn").unwrap();
    log.flush().unwrap();

    let mut log = files.resume("log", len, crc).unwrap();
    log.append(b" again").unwrap();
    log.flush().unwrap();
    assert_eq!(files.read("log").unwrap(), b"promised again");

    let short = files.restore("log", 99, crc).unwrap_err().to_string();
    assert!(short.ends_with("log: shorter than its checkpoint: 14 < 99 bytes"), "{short}");
    let wrong = files.restore("log", len, crc ^ 1).unwrap_err().to_string();
    assert!(wrong.contains("log: damaged"), "{wrong}");
    assert_eq!(files.len("log").unwrap(), 14, "a refused file is not cut");
    files.restore("never written", 0, 0).unwrap();
}

#[test]
fn an_atomic_write_replaces_whole_files() {
    let (_dir, files) = open(None, true);
    files.write_atomic("deep/state.json", b"old").unwrap();
    files.write_atomic("deep/state.json", b"new").unwrap();
    assert_eq!(files.read("deep/state.json").unwrap(), b"new");
    assert_eq!(files.list("deep").unwrap(), ["state.json"]);
}

#[test]
fn a_failed_atomic_write_leaves_the_old_content() {
    for (fault, fsync) in [("full:1", false), ("error:2", false), ("error:3", false)] {
        let (dir, files) = open(Some(fault), fsync);
        std::fs::write(dir.path().join("state"), b"old").unwrap();
        let error = files.write_atomic("state", b"new").unwrap_err().to_string();
        assert!(error.contains("state"), "{error}");
        assert_eq!(files.read("state").unwrap(), b"old", "{fault}");
    }
}

#[test]
fn a_full_disk_can_be_tried_again() {
    // Creation is operation 1; the write of `b` is 2, fails half-way, and is repeated whole.
    let (_dir, files) = open(Some("error:2"), false);
    let mut log = files.appender("log").unwrap();
    log.append(b"a").unwrap();
    assert!(log.append(&vec![b'b'; BIG]).is_err());
    assert_eq!(log.len(), 1, "a failed append has added nothing");
    log.append(&vec![b'b'; BIG]).unwrap();
    let (len, crc) = log.flush().unwrap();
    let content = files.read("log").unwrap();
    assert_eq!((content.len() as u64, crc32fast::hash(&content)), (len, crc));
    assert_eq!(len, 1 + BIG as u64);

    let (_dir, files) = open(Some("full:2"), false);
    let mut log = files.appender("log").unwrap();
    log.append(b"some bytes").unwrap();
    for _ in 0..2 {
        let error = log.flush().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
    assert_eq!(files.read("log").unwrap(), b"some ", "a torn tail lies beyond the good length");
    assert_eq!(log.len(), 10);
}

#[test]
fn renames_removals_and_lists() {
    let (_dir, files) = open(None, true);
    files.write_atomic("b", b"1").unwrap();
    files.write_atomic("a", b"2").unwrap();
    assert_eq!(files.list("").unwrap(), ["a", "b"]);
    files.rename("b", "sub/c").unwrap();
    assert!(files.exists("sub/c") && !files.exists("b"));
    files.remove("sub/c").unwrap();
    files.remove("sub/c").unwrap();
    assert_eq!(files.list("no such directory").unwrap(), Vec::<String>::new());
    files.truncate("a", 0).unwrap();
    assert_eq!(files.len("a").unwrap(), 0);
    assert!(files.truncate("a", 1).is_err(), "never a hole");
}

#[test]
fn paths_stay_below_the_root() {
    let (_dir, files) = open(None, false);
    for path in ["../out", "/etc/passwd", "a/../../b"] {
        assert!(files.write_atomic(path, b"").is_err(), "{path}");
        assert!(files.read(path).is_err(), "{path}");
    }
}

#[test]
fn errors_name_the_file_and_keep_its_kind() {
    let (_dir, files) = open(None, false);
    let error = files.read("not/here").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert!(error.to_string().contains("not/here"), "{error}");
}

#[test]
fn operations_are_counted() {
    let (_dir, files) = open(None, false);
    files.write_atomic("a", b"x").unwrap(); // creation, write, rename
    assert_eq!(files.operations(), 3);
    let mut log = files.appender("log").unwrap();
    log.append(b"x").unwrap();
    log.flush().unwrap();
    log.flush().unwrap();
    assert_eq!(files.operations(), 5, "an empty flush writes nothing");
}
