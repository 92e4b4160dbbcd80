//! Answers of every shape, from servers that do as they please.

mod support;

use std::time::Duration;

use support::{Answer, Ask, Server, bench, closing, config, ok, stalling};

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

#[test]
fn a_burst_goes_over_one_connection_and_so_does_the_next_lease() {
    let server = Server::new(|path, _| ok(path));
    let bench = bench(config());
    for _ in 0..2 {
        let got = bench.spend(&Ask::of(&["/a", "/b", "/c"].map(|path| server.url(path))));
        assert_eq!(got.words(), ["200", "200", "200"]);
        assert_eq!(got.response(2).body, "/c");
        assert_eq!((got.end.consumed, got.end.requests, got.end.failed), (3, 3, false));
        assert_eq!(got.end.ip, Some("127.0.0.1".parse().unwrap()));
    }
    assert_eq!(server.connections(), 1);
    let stats = bench.visits.stats();
    assert_eq!((stats.requests, stats.connections, stats.reused), (6, 1, 5));
}

#[test]
fn the_head_is_kept_byte_by_byte_and_the_request_beside_it() {
    let head =
        "HTTP/1.1 200  Fine\r\nX-Odd :  value \r\nx-fold: a\r\n\tb\r\nContent-Length: 2\r\n\r\n";
    let server = Server::new(move |_, _| Answer::from(&format!("{head}hi")));
    let bench = bench(config());
    let got = bench.get(&server.url("/?q=1"));
    assert_eq!(got.response(0).head, head);
    assert_eq!(got.response(0).body, "hi");
    let request = String::from_utf8(got.response(0).request.to_vec()).unwrap();
    let expected = format!(
        "GET /?q=1 HTTP/1.1\r\nHost: a.test:{}\r\nUser-Agent: crivello-test/1 (+test@example.org)\r\n",
        server.port
    );
    assert!(request.starts_with(&expected), "{request}");
    assert!(request.ends_with("\r\n\r\n"), "{request}");
}

#[test]
fn chunks_are_joined_extensions_and_trailers_passed_over_and_the_connection_lives() {
    let server = Server::new(|_, _| {
        Answer::from(&format!(
            "{CHUNKED}5;name=\"v\"\r\nhello\r\n 001 \r\n \r\n5\nworld\n0\r\nX-Trailer: 1\r\n\r\n"
        ))
    });
    let bench = bench(config());
    let got = bench.spend(&Ask::of(&[server.url("/1"), server.url("/2")]));
    for at in 0..2 {
        assert_eq!(got.response(at).body, "hello world");
        assert_eq!(got.response(at).truncated, None);
    }
    assert_eq!(server.connections(), 1);
}

#[test]
fn a_body_that_breaks_off_is_kept_as_far_as_it_came() {
    let server = Server::new(|path, _| match path {
        "/chunk" => Answer::from(&format!("{CHUNKED}5\r\nhello\r\nbroken\r\n")),
        "/no-crlf" => Answer::from(&format!("{CHUNKED}5\r\nhelloworld\r\n0\r\n\r\n")),
        "/cut-chunk" => closing(&format!("{CHUNKED}10\r\nhello")),
        "/no-last" => closing(&format!("{CHUNKED}5\r\nhello\r\n")),
        _ => closing("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello"),
    });
    let bench = bench(config());
    for path in ["/chunk", "/no-crlf", "/cut-chunk", "/no-last", "/length"] {
        let got = bench.get(&server.url(path));
        assert_eq!(got.response(0).body, "hello", "{path}");
        assert_eq!(got.response(0).truncated, Some("disconnect"), "{path}");
    }
    assert_eq!(server.connections(), 5, "a broken connection is not used again");
}

#[test]
fn what_ends_with_the_connection_is_whole() {
    let server = Server::new(|path, _| match path {
        "/11" => closing("HTTP/1.1 200 OK\r\n\r\nhello"),
        "/10" => closing("HTTP/1.0 200 OK\nContent-Type: text/plain\n\nhello"),
        "/many" => {
            closing("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nhello")
        }
        _ => closing(&format!("{CHUNKED}5\r\nhello\r\n0\r\n")),
    });
    let bench = bench(config());
    for (path, version) in [("/11", 11), ("/10", 10), ("/many", 11), ("/no-trailer", 11)] {
        let got = bench.get(&server.url(path));
        assert_eq!(got.response(0).body, "hello", "{path}");
        assert_eq!((got.response(0).truncated, got.response(0).version), (None, version), "{path}");
    }
}

#[test]
fn interim_answers_are_passed_over_and_some_statuses_have_no_body() {
    let server = Server::new(|path, _| match path {
        "/early" => Answer::from(
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n\
             HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        ),
        "/none" => Answer::from("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"),
        _ => Answer::from("HTTP/1.1 304 Not Modified\r\n\r\n"),
    });
    let bench = bench(config());
    let asked = ["/early", "/none", "/same"].map(|path| server.url(path));
    let got = bench.spend(&Ask::of(&asked));
    assert_eq!(got.words(), ["200", "204", "304"]);
    assert_eq!(got.response(0).body, "hello");
    assert_eq!(server.connections(), 1);
}

#[test]
fn what_is_not_http_is_a_failure_of_its_kind() {
    let flood = "X-Flood: 0123456789\r\n".repeat(10_000);
    let server = Server::new(move |path, _| match path {
        "/0.9" => closing("<html>hello</html>"),
        "/2" => closing("HTTP/2.0 200 OK\r\n\r\n"),
        "/switch" => closing("HTTP/1.1 101 Switching Protocols\r\n\r\n"),
        "/interim" => closing(&"HTTP/1.1 100 Continue\r\n\r\n".repeat(100)),
        "/flood" => closing(&format!("HTTP/1.1 200 OK\r\n{flood}")),
        "/half" => closing("HTTP/1.1 200 OK\r\nContent-"),
        _ => closing(""),
    });
    let bench = bench(config());
    for (path, class) in [
        ("/0.9", "protocol"),
        ("/2", "protocol"),
        ("/switch", "protocol"),
        ("/interim", "protocol"),
        ("/flood", "too-large"),
        ("/half", "reset"),
        ("/nothing", "reset"),
    ] {
        let got = bench.get(&server.url(path));
        assert_eq!(got.words(), [class], "{path}");
        assert_eq!((got.end.consumed, got.end.failed), (1, false), "{path}");
    }
}

#[test]
fn a_body_over_the_limit_is_cut_there() {
    let body = "0123456789".repeat(100_000);
    let chunked = format!("{CHUNKED}{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let server = Server::new(move |path, _| match path {
        "/length" => ok(&body),
        "/chunked" => Answer::from(&chunked),
        _ => closing(&format!("HTTP/1.1 200 OK\r\n\r\n{body}")),
    });
    let limit = 300_000;
    let bench = bench(support_config(limit));
    for path in ["/length", "/chunked", "/close"] {
        let got = bench.get(&server.url(path));
        assert_eq!(got.response(0).body.len(), limit, "{path}");
        assert_eq!(got.response(0).truncated, Some("length"), "{path}");
        assert!(got.pages[0].permit.is_some(), "a large body holds a share of the budget");
    }
}

fn support_config(max_body: usize) -> crivello_crawl::fetch::VisitsConfig {
    crivello_crawl::fetch::VisitsConfig { max_body, body_budget: 0, ..config() }
}

#[test]
fn large_bodies_take_turns_when_the_budget_holds_one() {
    let body = "0123456789".repeat(60_000);
    let server = Server::new(move |_, _| ok(&body));
    let bench = bench(support_config(1 << 20));
    let hosts = ["a", "b", "c", "d"];
    for host in hosts {
        bench.start(&Ask::of(&[format!("http://{host}.test:{}/", server.port)]));
    }
    let fetched = bench.visits.fetched();
    for _ in hosts {
        let page = fetched.recv_blocking().unwrap();
        assert!(fetched.is_empty(), "the next waits until this one is dropped");
        assert_eq!(support::word(&page.outcome), "200");
    }
}

#[test]
fn silence_is_a_timeout_and_a_slow_body_is_cut_by_time() {
    let server = Server::new(|path, _| match path {
        "/silent" => stalling(""),
        "/half" => stalling("HTTP/1.1 200 OK\r\n"),
        _ => stalling("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello"),
    });
    let brief = Duration::from_millis(50);
    let bench =
        bench(crivello_crawl::fetch::VisitsConfig { first_byte_timeout: brief, ..config() });
    for path in ["/silent", "/half"] {
        let got = bench.spend(&Ask::of(&[server.url(path), server.url("/never")]));
        assert_eq!(got.words(), ["timeout"], "{path}: the lease ends with it");
    }
    let got = bench.get(&server.url("/slow"));
    assert_eq!(
        (&got.response(0).body[..], got.response(0).truncated),
        (&b"hello"[..], Some("time"))
    );
    assert!(!server.paths().contains(&"/never".to_owned()));
}

#[test]
fn a_drip_is_cut_by_the_total_time() {
    use std::io::Write;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n").unwrap();
        while stream.write_all(b".").is_ok() {
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    let total = Duration::from_millis(100);
    let bench = bench(crivello_crawl::fetch::VisitsConfig { total_timeout: total, ..config() });
    let got = bench.get(&format!("http://a.test:{port}/"));
    assert_eq!(got.response(0).truncated, Some("time"));
    assert!(!got.response(0).body.is_empty());
}
