//! What is promised to the loop.

use super::*;
use crate::scope::Kind;

fn page(visit: u64, body: &'static str) -> Fetched {
    let url = Url::parse("http://a.test/").unwrap();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
    let response = Response::new(head.into(), body.into(), None, "".into()).unwrap();
    Fetched {
        lease: 0,
        visit,
        host: url.authority().into(),
        url,
        depth: 0,
        score: 0.0,
        attempt: 0,
        started_at: 0,
        elapsed_us: 0,
        ip: None,
        outcome: Outcome::Response(response),
        permit: None,
    }
}

#[test]
fn a_page_at_which_a_worker_panics_leaves_a_row_and_the_worker_goes_on() {
    let config = WorkersConfig {
        threads: 1,
        token: "test".to_owned(),
        follow: HashSet::from([LinkKind::A]),
        scope: Scope::new(Kind::Any, &[]),
        max_depth: u16::MAX,
        keep_links: true,
        keep_pages: true,
        keep_text: true,
        archive: None,
        crawl_key: 0,
        max_decoded: 1 << 20,
        recent_bytes: 8,
    };
    let no_cache = Arc::new(RecentCache { slots: Box::new([]) }); // the first link panics
    let worker = Worker::new(config, no_cache).unwrap();
    let (pages, fetched) = async_channel::unbounded();
    pages.try_send(page(1, "<title>A</title><a href=/b>b</a>")).unwrap();
    pages.try_send(page(2, "<title>B</title>")).unwrap();
    pages.close();
    let (sender, rows) = outbox(2);
    worker.run(&fetched, &sender);
    let rows: Vec<PageRow> = std::iter::from_fn(|| rows.try_take()).collect();
    let facts = rows.iter().map(|row| (row.visit, &*row.url, row.error.as_deref()));
    let url = "http://a.test/";
    assert_eq!(facts.collect::<Vec<_>>(), [(1, url, Some("panic")), (2, url, None)]);
    assert_eq!(rows[1].title.as_deref(), Some("B"));
}
