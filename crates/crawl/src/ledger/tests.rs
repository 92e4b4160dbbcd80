use super::*;

const DELAY: u64 = 1_000_000;

fn files() -> (tempfile::TempDir, Files) {
    let dir = tempfile::tempdir().unwrap();
    let files = Files::open(dir.path(), false).unwrap();
    (dir, files)
}

#[expect(clippy::unnecessary_wraps)] // as the ledger takes it
fn ip(text: &str) -> Option<IpAddr> {
    Some(text.parse().unwrap())
}

fn newest(dir: &Path) -> std::path::PathBuf {
    dir.join(segments(dir).unwrap().pop().unwrap().2)
}

#[test]
fn a_frame_has_these_bytes() {
    let mut frame = Vec::new();
    let event = Event::Intent { delay_us: 0x0203, ip_delay_us: 4 };
    write_frame(&mut frame, "a.b", ip("1.2.3.4"), 5, false, event);
    assert_eq!(frame[..2], [33, 0]);
    assert_eq!(frame[2..6], crc32fast::hash(&frame[6..]).to_le_bytes());
    assert_eq!(frame[6..15], [1, 5, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(frame[15..31], [3, 2, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(frame[31..], *b"\x04\x01\x02\x03\x04a.b");
}

#[test]
fn requests_come_back_with_their_ends() {
    let (dir, files) = files();
    let ledger = Ledger::open(&files, "ledger").unwrap();
    ledger.intent("a", ip("10.0.0.1"), 10, DELAY, 7).unwrap();
    ledger.intent("b", ip("::1"), 11, 0, 0).unwrap();
    ledger.end("a", ip("10.0.0.1"), 20, 200, 0).unwrap();
    ledger.intent("a", ip("10.0.0.1"), 30, DELAY, 7).unwrap();
    ledger.end("a", ip("10.0.0.1"), 40, 503, 99).unwrap();
    let requests = requests(&dir.path().join("ledger"), 0).unwrap();
    let told: Vec<_> = requests
        .iter()
        .map(|one| (one.host.as_str(), one.intent_at, one.ended_at, one.status, one.hold_until))
        .collect();
    assert_eq!(
        told,
        [("a", 10, Some(20), 200, 0), ("b", 11, None, 0, 0), ("a", 30, Some(40), 503, 99)]
    );
    assert_eq!((requests[0].delay_us, requests[0].ip_delay_us), (DELAY, 7));
}

#[test]
fn an_intent_is_in_the_file_when_the_call_returns() {
    let (dir, files) = files();
    let ledger = Ledger::open(&files, "ledger").unwrap();
    ledger.intent("a", None, 10, DELAY, 0).unwrap();
    assert_eq!(requests(&dir.path().join("ledger"), 0).unwrap().len(), 1);
}

#[test]
fn a_torn_tail_costs_the_torn_record_only_wherever_it_is_torn() {
    let (dir, files) = files();
    let at = dir.path().join("ledger");
    let ledger = Ledger::open(&files, "ledger").unwrap();
    for turn in 0..3 {
        ledger.intent("host", ip("10.0.0.1"), turn, DELAY, 0).unwrap();
    }
    drop(ledger);
    let segment = newest(&at);
    let whole = std::fs::read(&segment).unwrap();
    let frame = (whole.len() - MAGIC.len()) / 3;
    for cut in 0..=whole.len() {
        std::fs::write(&segment, &whole[..cut]).unwrap();
        let left = cut.saturating_sub(MAGIC.len()) / frame;
        assert_eq!(requests(&at, 0).unwrap().len(), left, "cut at {cut}");
    }
    for flipped in MAGIC.len()..whole.len() {
        let mut damaged = whole.clone();
        damaged[flipped] ^= 0x20;
        std::fs::write(&segment, &damaged).unwrap();
        let left = (flipped - MAGIC.len()) / frame;
        assert_eq!(requests(&at, 0).unwrap().len(), left, "byte {flipped}");
    }
}

#[test]
fn after_a_restart_the_newest_segment_still_says_who_waits() {
    let (dir, files) = files();
    let at = dir.path().join("ledger");
    let now = crate::clock::now_us();
    let hour = 3_600_000_000;
    let first = Ledger::open(&files, "ledger").unwrap();
    first.intent("long", ip("10.0.0.1"), now - 5_000_000, hour as u64, 0).unwrap();
    first.intent("short", ip("10.0.0.2"), now - 5_000_000, DELAY, DELAY).unwrap();
    first.intent("held", ip("10.0.0.3"), now - 5_000_000, 0, 0).unwrap();
    first.end("held", ip("10.0.0.3"), now - 4_000_000, 429, now + hour).unwrap();
    drop(first);
    drop(Ledger::open(&files, "ledger").unwrap());
    assert_eq!(segments(&at).unwrap().len(), 2);

    let last = last_by_host(&at, crate::clock::now_us()).unwrap();
    let mut hosts: Vec<_> = last.hosts.keys().map(String::as_str).collect();
    hosts.sort_unstable();
    assert_eq!(hosts, ["held", "long"], "what binds nobody stays behind");
    let expected = Last { intent_at: now - 5_000_000, delay_us: hour as u64, hold_until: 0 };
    assert_eq!(last.hosts["long"], expected);
    assert_eq!(last.hosts["held"].hold_until, now + hour);

    assert_eq!(requests(&at, 0).unwrap().len(), 3, "what is carried over is not asked twice");
    assert_eq!(last_by_host(&at, 0).unwrap().hosts.len(), 3);
}

#[test]
fn a_full_segment_gives_way_to_the_next() {
    let (dir, files) = files();
    let at = dir.path().join("ledger");
    let now = crate::clock::now_us();
    let ledger = Ledger::with_segments(&files, "ledger", 1_000).unwrap();
    ledger.intent("slow", None, now, 3_600_000_000, 0).unwrap();
    for turn in 1..=100 {
        ledger.intent("fast", None, now + turn, 0, 0).unwrap();
    }
    let found = segments(&at).unwrap();
    assert!(found.len() >= 4, "{found:?}");
    assert_eq!(requests(&at, 0).unwrap().len(), 101);
    let last = last_by_host(&at, now + 100).unwrap();
    assert_eq!(last.hosts["slow"].intent_at, now);
    assert_eq!(last.hosts["fast"].intent_at, now + 100);
}

#[test]
fn many_that_wait_long_do_not_turn_the_segment_at_every_record() {
    let (dir, files) = files();
    let now = crate::clock::now_us();
    let ledger = Ledger::with_segments(&files, "ledger", 1_000).unwrap();
    for turn in 0..1_000 {
        ledger.intent(&format!("h{turn}"), None, now + turn, 3_600_000_000, 0).unwrap();
    }
    let at = dir.path().join("ledger");
    assert!(segments(&at).unwrap().len() < 12);
    assert_eq!(requests(&at, 0).unwrap().len(), 1_000);
    assert_eq!(last_by_host(&at, now + 1_000).unwrap().hosts.len(), 1_000);
}

#[test]
fn a_missing_ledger_is_an_empty_one_and_foreign_files_are_not_read() {
    let (dir, _) = files();
    assert_eq!(requests(&dir.path().join("none"), 0).unwrap(), []);
    std::fs::write(dir.path().join("00000001-5.ledger"), "CRVLEDG9 and more").unwrap();
    std::fs::write(dir.path().join("notes.txt"), "hello").unwrap();
    assert_eq!(requests(dir.path(), 0).unwrap(), []);
}
