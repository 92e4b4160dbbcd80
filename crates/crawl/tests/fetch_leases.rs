//! What is done under a lease: robots.txt, politeness, the guard, the ledger, failures.

mod support;

use std::time::Duration;

use crivello_crawl::batch;
use crivello_crawl::clock::now_us;
use crivello_crawl::fetch::{Outcome, VisitsConfig};
use crivello_crawl::ledger;
use support::{Answer, Ask, Server, bench, closing, config, leases, not_found, ok, stalling, word};

fn obedient() -> VisitsConfig {
    VisitsConfig { obey_robots: true, ..config() }
}

#[test]
fn a_lease_does_the_next_step_only() {
    let server = Server::new(|path, _| match path {
        "/robots.txt" => {
            ok("User-agent: *\nDisallow: /no\nCrawl-delay: 3\nSitemap: http://a.test/map\n")
        }
        path => ok(path),
    });
    let bench = bench(obedient());
    let ask = Ask::of(&["/no/1", "/yes", "/no/2"].map(|path| server.url(path)));

    let resolved = bench.spend(&Ask { ip: None, ..ask.clone() });
    assert_eq!((resolved.end.consumed, resolved.end.requests, resolved.end.failed), (0, 0, false));
    assert_eq!(resolved.end.ip, Some("127.0.0.1".parse().unwrap()));

    let told = bench.spend(&ask);
    assert_eq!((told.end.consumed, told.end.requests), (0, 1));
    let robots = &told.robots[0];
    assert_eq!((robots.status, robots.crawl_delay), (Some(200), Some(3.0)));
    assert_eq!(robots.origin, format!("http://a.test:{}", server.port));
    assert_eq!(robots.sitemaps, ["http://a.test/map"]);

    let fetched = bench.spend(&ask);
    assert_eq!(fetched.words(), ["denied", "200", "denied"]);
    assert_eq!((fetched.end.consumed, fetched.end.requests), (3, 1));
    assert_eq!(server.paths(), ["/robots.txt", "/yes"], "what is denied is never sent");
}

#[test]
fn a_seeded_robots_is_obeyed_until_it_expires() {
    let server = Server::new(|path, _| if path == "/robots.txt" { not_found() } else { ok("") });
    let bench = bench(obedient());
    let origin = format!("http://a.test:{}", server.port);
    let all = b"User-agent: *\nDisallow: /";
    bench.visits.seed_robots(&origin, Some(200), all, now_us() + 60_000_000);
    assert_eq!(bench.get(&server.url("/")).words(), ["denied"]);
    bench.visits.seed_robots(&origin, Some(200), all, now_us() - 1);
    assert_eq!(bench.get(&server.url("/")).robots[0].status, Some(404));
    assert_eq!(bench.get(&server.url("/")).words(), ["200"]);
}

#[test]
fn redirects_of_robots_are_followed_to_other_hosts_and_on_record() {
    let server = Server::new(|path, times| match (path, times) {
        ("/robots.txt", 1) => {
            Answer::from("HTTP/1.1 301 Moved\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n")
        }
        ("/there", _) => ok("User-agent: *\nDisallow: /"),
        _ => ok(""),
    });
    let away = Server::new(move |_, _| {
        Answer::from(&format!(
            "HTTP/1.1 302 Found\r\nLocation: http://b.test:{}/there\r\nContent-Length: 0\r\n\r\n",
            server.port
        ))
    });
    let bench = bench(obedient());
    let told = bench.get(&away.url("/"));
    assert_eq!((told.end.requests, told.robots[0].status), (2, Some(200)));
    assert_eq!(bench.get(&away.url("/")).words(), ["denied"]);
    let hosts: Vec<String> =
        ledger::requests(&bench.ledger_dir(), 0).unwrap().into_iter().map(|r| r.host).collect();
    assert_eq!(hosts, [format!("a.test:{}", away.port), format!("b.test:{}", server.port)]);
}

#[test]
fn endless_redirects_of_robots_stand_for_no_robots() {
    let server = Server::new(|path, times| match path {
        "/page" => ok("page"),
        _ => Answer::from(&format!(
            "HTTP/1.1 302 Found\r\nLocation: /robots.txt?{times}\r\nContent-Length: 0\r\n\r\n"
        )),
    });
    let bench = bench(obedient());
    assert_eq!(bench.get(&server.url("/page")).end.requests, 6);
    assert_eq!(bench.get(&server.url("/page")).words(), ["200"]);
}

#[test]
fn a_robots_that_fails_forbids_and_a_host_that_fails_keeps_its_urls() {
    let server = Server::new(|path, _| match path {
        "/robots.txt" => Answer::from("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"),
        path => ok(path),
    });
    let silent = Server::new(|_, _| closing(""));
    let bench = bench(obedient());
    let told = bench.get(&server.url("/"));
    assert!(!told.end.failed);
    let expires = told.robots[0].expires - now_us();
    assert!((1..=600_000_000).contains(&expires), "{expires}");
    assert_eq!(bench.get(&server.url("/")).words(), ["robots-unreachable"]);
    assert_eq!(server.paths(), ["/robots.txt"]);

    let lost = bench.get(&silent.url("/"));
    assert_eq!((lost.end.consumed, lost.end.requests, lost.end.failed), (0, 1, true));
    assert_eq!(lost.robots[0].error.as_ref().unwrap().class(), "reset");
}

#[test]
fn retry_after_ends_the_lease_and_holds_the_host() {
    let server = Server::new(|path, _| match path {
        "/busy" => {
            Answer::from("HTTP/1.1 503 Busy\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n")
        }
        path => ok(path),
    });
    let bench = bench(config());
    let before = now_us();
    let got = bench.spend(&Ask::of(&["/a", "/busy", "/b"].map(|path| server.url(path))));
    assert_eq!(got.words(), ["200", "503"]);
    let hold = got.end.hold_until;
    assert!((before + 120_000_000..=now_us() + 120_000_000).contains(&hold));
    let last = ledger::last_by_host(&bench.ledger_dir(), before).unwrap();
    assert_eq!(last.hosts[&format!("a.test:{}", server.port)].hold_until, hold);
}

#[test]
fn with_a_delay_one_request_ends_the_lease_and_with_a_burst_time_its_time_does() {
    let server = Server::new(|path, _| ok(path));
    let bench = bench(config());
    let ask = Ask::of(&["/a", "/b", "/c"].map(|path| server.url(path)));
    let slow = bench.spend(&Ask { delay_us: 60_000_000, ..ask.clone() });
    assert_eq!((slow.end.consumed, slow.end.requests), (1, 1));
    let burst = bench.spend(&Ask { delay_us: 60_000_000, burst_us: 1, ..ask.clone() });
    assert_eq!(burst.end.consumed, 1);
    let burst = bench.spend(&Ask { delay_us: 60_000_000, burst_us: 60_000_000, ..ask });
    assert_eq!(burst.end.consumed, 3);
}

#[test]
fn private_and_public_addresses_pass_the_guard_only_with_leave() {
    let server = Server::new(|path, _| ok(path));
    let local = format!("http://127.0.0.1:{}/", server.port);
    let guarded = bench(config());
    for ip in [None, Some("127.0.0.1")] {
        let got = guarded.spend(&Ask { ip, ..Ask::of(&[&local, &local]) });
        assert_eq!(got.words(), ["private", "private"], "each row is refused");
        assert_eq!((got.end.requests, got.end.failed), (0, false));
    }
    let public = Ask { ip: Some("93.184.215.14"), ..Ask::of(&["http://example.org/"]) };
    assert_eq!(guarded.spend(&public).words(), ["identity"]);
    // A name outside that points inside, as after DNS rebinding.
    let rebound = Ask { ip: Some("169.254.169.254"), ..Ask::of(&["http://example.org/"]) };
    assert_eq!(guarded.spend(&rebound).words(), ["private"]);
    assert!(server.paths().is_empty());
    assert_eq!(guarded.visits.stats().connections, 0);

    let mine = VisitsConfig { local_hosts: vec!["127.0.0.1".into()], ..config() };
    assert_eq!(bench(mine).get(&local).words(), ["200"]);
    let open = VisitsConfig { allow_private: true, ..config() };
    assert_eq!(bench(open).get(&local).words(), ["200"]);
}

#[test]
fn the_intent_is_in_the_file_before_the_server_hears_of_the_request() {
    let path = std::sync::Arc::new(std::sync::OnceLock::<std::path::PathBuf>::new());
    let ledger_dir = std::sync::Arc::clone(&path);
    let server = Server::new(move |_, times| {
        let seen = ledger::requests(ledger_dir.get().unwrap(), 0).unwrap();
        ok(&format!("{} {}", seen.len(), times))
    });
    let bench = bench(config());
    path.set(bench.ledger_dir()).unwrap();
    let url = server.url("/");
    let got = bench.spend(&Ask::of(&[&url, &url, &url]));
    for at in 0..3 {
        assert_eq!(got.response(at).body, format!("{0} {0}", at + 1));
    }
    bench.ledger.flush().unwrap();
    let requests = ledger::requests(&bench.ledger_dir(), 0).unwrap();
    assert!(requests.iter().all(|one| one.status == 200 && one.ended_at >= Some(one.intent_at)));
}

#[test]
fn a_kept_connection_that_died_costs_one_more_request_and_no_page() {
    let server = Server::new(|path, times| match (path, times) {
        // Promises to stay, and goes when asked again.
        ("/b", 1) => closing(""),
        _ => ok(path),
    });
    let bench = bench(config());
    let got = bench.spend(&Ask::of(&["/a", "/b", "/c"].map(|path| server.url(path))));
    assert_eq!(got.words(), ["200", "200", "200"]);
    assert_eq!((got.end.requests, bench.visits.stats().retries), (4, 1));
    assert_eq!(ledger::requests(&bench.ledger_dir(), 0).unwrap().len(), 4);
}

#[test]
fn hosts_that_cannot_be_reached_fail_as_hosts() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let bench = bench(VisitsConfig { allow_private: true, ..config() });
    let refused = format!("http://a.test:{free}/");
    let got = bench.spend(&Ask::of(&[&refused, &refused]));
    assert_eq!(got.words(), ["connect"]);
    assert_eq!((got.end.failed, got.end.requests, got.end.ip), (true, 0, None));

    let nowhere = Ask { ip: None, ..Ask::of(&["http://nowhere.invalid/"]) };
    let got = bench.spend(&nowhere);
    assert_eq!((got.end.failed, got.end.consumed), (true, 0));
    assert_eq!(got.end.error.unwrap().class(), "dns");

    let plain = Server::new(|_, _| closing("HTTP/1.1 400 Bad\r\n\r\n"));
    let got = bench.get(&format!("https://a.test:{}/", plain.port));
    assert_eq!((got.words(), got.end.failed), (vec!["tls".to_owned()], true));
}

#[test]
fn every_lease_has_one_end_whatever_its_server_does() {
    let server = Server::new(|path, times| match times % 4 {
        0 => closing(""),
        1 => closing("garbage\r\n\r\n"),
        2 => closing("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        _ => ok(path),
    });
    let brief = VisitsConfig { first_byte_timeout: Duration::from_millis(200), ..config() };
    let bench = bench(brief);
    let asks: Vec<(u64, Ask<'_>)> = (0..100)
        .map(|host| {
            let url = format!("http://h{host}.test:{}/", server.port);
            (1000 + host, Ask::of(&[&url, &url, &url]))
        })
        .collect();
    bench.visits.start(&leases(&asks)).unwrap();
    assert!(bench.visits.room() >= 156);
    let fetched = bench.visits.fetched();
    let pages = std::thread::spawn(move || {
        let mut pages = 0;
        while let Ok(page) = fetched.recv_blocking() {
            assert!(!matches!(page.outcome, Outcome::Denied), "{}", word(&page.outcome));
            pages += 1;
        }
        pages
    });
    let mut ended = std::collections::BTreeSet::new();
    let mut consumed = 0;
    for _ in 0..100 {
        let end = bench.visits.ends().recv_blocking().unwrap();
        consumed += end.consumed;
        assert!(ended.insert(end.lease), "lease {} ended twice", end.lease);
    }
    bench.visits.stop();
    assert_eq!(pages.join().unwrap(), consumed);
    assert_eq!((bench.visits.room(), bench.visits.stats().in_flight), (256, 0));
}

#[test]
fn stopping_ends_what_is_under_way_and_takes_nothing_new() {
    let server = Server::new(|_, _| stalling(""));
    let bench = bench(config());
    let ask = Ask::of(&[server.url("/")]);
    let lease = bench.start(&ask);
    while server.paths().is_empty() {
        std::thread::yield_now();
    }
    bench.visits.stop();
    let end = bench.visits.ends().recv_blocking().unwrap();
    assert_eq!((end.lease, end.consumed, end.requests), (lease, 0, 1));
    assert!(bench.visits.fetched().recv_blocking().is_err(), "the channel is closed");
    assert!(bench.visits.start(&leases(&[(9, ask)])).is_err());
}

#[test]
fn a_batch_that_is_wrong_starts_nothing() {
    let bench = bench(VisitsConfig { visits: 1, ..config() });
    let start =
        |asks: &[(u64, Ask<'_>)]| bench.visits.start(&leases(asks)).unwrap_err().to_string();
    let good = Ask::of(&["http://a.test/"]);
    let said = start(&[(1, good.clone()), (2, Ask { ip: Some("1.2.3"), ..good.clone() })]);
    assert!(said.contains("1.2.3"), "{said}");
    let said = start(&[(1, good.clone()), (2, good)]);
    assert!(said.contains("room for 1"), "{said}");
    let empty = arrow_array::RecordBatch::new_empty(batch::ENDS.clone());
    assert!(bench.visits.start(&empty).is_err());
    assert_eq!(bench.visits.stats().in_flight, 0);
}
