use super::*;

fn allowed(body: &str, agent: &str, path: &str) -> bool {
    Robots::parse(body.as_bytes()).rules(agent).allowed(path)
}

#[test]
fn groups_of_one_agent_are_merged_and_others_ignored() {
    let body =
        "User-agent: a\nDisallow: /1\nUser-agent: b\nDisallow: /2\n\nUser-agent: A\nDisallow: /3";
    assert!(!allowed(body, "a", "/1"));
    assert!(allowed(body, "a", "/2"));
    assert!(!allowed(body, "A/2.0 (+http://a)", "/3"));
    assert!(allowed(body, "c", "/1"));
}

#[test]
fn a_group_of_ones_own_replaces_the_one_for_all() {
    let body = "User-agent: *\nDisallow: /\nUser-agent: a\nUser-agent: b\nDisallow: /b";
    assert!(allowed(body, "a", "/x"));
    assert!(!allowed(body, "a", "/b"));
    assert!(!allowed(body, "c", "/x"));
    assert!(allowed(
        "User-agent: a\n\nUser-agent: *\nDisallow: /\nUser-agent: b\nAllow: /",
        "b",
        "/"
    ));
}

#[test]
fn the_product_token_of_a_browser_like_name_is_found() {
    let body = "User-agent: Bot\nDisallow: /b\nUser-agent: mozilla/4.0 (compatible; Old/1.0)\nDisallow: /o";
    for (agent, path) in [
        ("Mozilla/5.0 (compatible; bot/1.1; +http://bot)", "/b"),
        ("BOT/2 (x)", "/b"),
        ("old", "/o"),
    ] {
        assert!(!allowed(body, agent, path), "{agent}");
    }
    assert!(allowed(body, "Mozilla/5.0 (X11)", "/o"));
}

#[test]
fn the_longest_match_wins_and_allow_wins_ties() {
    let body =
        "User-agent: *\nAllow: /p\nDisallow: /\nDisallow: /p*.htm\nAllow: /same\nDisallow: /same";
    for (path, expected) in [("/p", true), ("/page.htm", false), ("/q", false), ("/same/x", true)] {
        assert_eq!(allowed(body, "x", path), expected, "{path}");
    }
}

#[test]
fn stars_match_anything_and_a_final_dollar_the_end() {
    for (pattern, path, expected) in [
        ("/*.php$", "/a/b.php", true),
        ("/*.php$", "/a/b.php?x", false),
        ("/*a*b*c", "/xaybzc!", true),
        ("/*a*b*c", "/xaycb", false),
        ("/a*a$", "/a", false),
        ("/a*a$", "/aa", true),
        ("*x", "/yx", true),
        ("/**", "/", true),
        ("/x$y", "/x$yz", true),
        ("/x%24", "/x$", true),
        ("/x%2Ay", "/x*y", true),
        ("/x%2Ay", "/xzy", false),
        ("$", "/", false),
        ("fish", "/fish", false),
        ("/long/literal", "/long/literally", true),
        ("/long/literal$", "/long/literally", false),
        ("/1234567", "/1234567x", true),
        ("/12345678", "/1234567x", false),
        ("/", "", false),
    ] {
        let body = format!("User-agent: *\nDisallow: {pattern}");
        assert_eq!(!allowed(&body, "x", path), expected, "{pattern} {path}");
    }
}

#[test]
fn percent_escapes_are_compared_in_one_form() {
    for (pattern, path, expected) in [
        ("/ツ", "/%E3%83%84", true),
        ("/%e3%83%84", "/ツ", true),
        ("/%62%61%7A", "/baz", true),
        ("/a%2fb", "/a/b", false),
        ("/a%2fb", "/a%2Fb", true),
        ("/a{b", "/a%7bb", true),
        ("/a%zz", "/a%zz", true),
        ("/?q='a'", "/?q=%27a%27", true),
    ] {
        let body = format!("User-agent: *\nDisallow: {pattern}");
        assert_eq!(!allowed(&body, "x", path), expected, "{pattern} {path}");
    }
}

#[test]
fn line_ends_marks_comments_and_slips_do_not_matter() {
    for body in [
        "User-agent: *\rDisallow: /x\r",
        "\u{feff}User-agent: *\r\n\r\nDisallow: /x",
        "  user-AGENT :*  # all\n disalow:/x#y",
        "user-agent *\ndisallow /x",
        "User-agent: *\nSitemap: http://a/s.xml\nFoo: bar\nCrawl-delay: 1\nDisallow: /x",
    ] {
        assert!(!allowed(body, "bot", "/xyz"), "{body:?}");
        assert!(allowed(body, "bot", "/y"), "{body:?}");
    }
}

#[test]
fn records_beyond_the_rfc_are_read() {
    let body = "Sitemap: http://a/1.xml\nUser-agent: a\nCrawl-delay: 0.5\nCrawl-delay: 2\nUser-agent: b\n\
        Request-rate: 100/15m 0600-0845\nVisit-time: 0200 0630\nDisallow:\nSITEMAP: /2.xml";
    let robots = Robots::parse(body.as_bytes());
    assert_eq!(robots.sitemaps(), ["http://a/1.xml", "/2.xml"]);
    let (a, b) = (robots.rules("a"), robots.rules("b"));
    assert_eq!((a.crawl_delay(), b.crawl_delay()), (Some(2.0), None));
    let window = Some(Window { start: 360, end: 525 });
    assert_eq!(a.request_rate(), Some(RequestRate { requests: 100, seconds: 900, window }));
    assert_eq!(b.visit_time(), Some(Window { start: 120, end: 390 }));
    for nonsense in ["x", "-1", "NaN", "inf", ""] {
        let body = format!("User-agent: *\nCrawl-delay: {nonsense}\nRequest-rate: 0/{nonsense}");
        let rules = Robots::parse(body.as_bytes()).rules("a");
        assert_eq!((rules.crawl_delay(), rules.request_rate()), (None, None));
    }
}

#[test]
fn a_status_says_what_to_do_without_a_file() {
    let body = b"User-agent: *\nDisallow: /x";
    for (status, x, y) in [
        (Some(200), false, true),
        (Some(304), true, true),
        (Some(404), true, true),
        (Some(403), true, true),
        (Some(429), false, false),
        (Some(503), false, false),
        (None, false, false),
    ] {
        let rules = Robots::for_status(status, body).rules("bot");
        assert_eq!((rules.allowed("/x"), rules.allowed("/y")), (x, y), "{status:?}");
        assert!(rules.allowed("/robots.txt"));
    }
}

#[test]
fn a_file_is_read_up_to_its_last_whole_line_below_the_limit() {
    let mut body = b"User-agent: *\nDisallow: /first\n".to_vec();
    body.resize(MAX_BYTES - 12, b'#');
    body.extend_from_slice(b"\nDisallow: /second");
    let rules = Robots::parse(&body).rules("bot");
    assert!(!rules.allowed("/first"));
    assert!(rules.allowed("/second") && rules.allowed("/"));
}

#[test]
fn hostile_patterns_cost_no_more_than_their_length() {
    let pattern = "/".to_owned() + &"*a".repeat(8_000);
    let path = "/".to_owned() + &"a".repeat(7_999);
    let body = format!("User-agent: *\nDisallow: {pattern}b\nDisallow: {pattern}");
    let rules = Robots::parse(body.as_bytes()).rules("bot");
    let start = std::time::Instant::now();
    for _ in 0..10 {
        assert!(rules.allowed(&path));
    }
    assert!(start.elapsed() < std::time::Duration::from_secs(5), "{:?}", start.elapsed());
}

/// The definition of a match, by trying everything.
fn matches_by_definition(pattern: &[u8], path: &[u8]) -> bool {
    match pattern {
        [] => true,
        [b'$'] => path.is_empty(),
        [b'*', rest @ ..] => (0..=path.len()).any(|at| matches_by_definition(rest, &path[at..])),
        [first, rest @ ..] => {
            path.first() == Some(first) && matches_by_definition(rest, &path[1..])
        }
    }
}

#[test]
fn compiled_rules_decide_as_the_definition_says() {
    let seed = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(7, |since| since.as_nanos() as u64);
    println!("seed {seed}");
    let mut state = seed;
    let mut below = |bound: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    for _ in 0..5_000 {
        let mut rules = Vec::new();
        for _ in 0..=below(6) {
            let mut pattern = "/".to_owned();
            pattern.extend((0..below(12)).map(|_| ['a', 'a', 'b', '/', '*'][below(5)]));
            pattern.push_str(["", "", "$"][below(3)]);
            rules.push((pattern, below(2) == 0));
        }
        let mut path = "/".to_owned();
        path.extend((0..below(14)).map(|_| ['a', 'a', 'b', '/'][below(4)]));
        let mut body = String::from("User-agent: *");
        for (pattern, allow) in &rules {
            body += if *allow { "\nAllow: " } else { "\nDisallow: " };
            body += pattern;
        }
        let best = rules
            .iter()
            .filter(|(pattern, _)| matches_by_definition(pattern.as_bytes(), path.as_bytes()))
            .max_by_key(|(pattern, allow)| (pattern.len(), *allow));
        let expected = best.is_none_or(|(_, allow)| *allow);
        assert_eq!(allowed(&body, "x", &path), expected, "{path}\n{body}");
    }
}

#[test]
fn any_bytes_are_a_robots_txt() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    println!("seed {state}");
    let tokens: [&[u8]; 16] = [
        b"User-agent",
        b"Disallow",
        b"allow",
        b":",
        b"*",
        b"$",
        b"/",
        b"%",
        b"%4",
        b"\n",
        b"\r",
        b"#",
        b" ",
        b"\xff\x00",
        b"Crawl-delay: 1e999",
        b"Request-rate: 1/9\xc3\xa9",
    ];
    for _ in 0..2_000 {
        let mut body = Vec::new();
        for _ in 0..30 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            body.extend_from_slice(tokens[(state >> 60) as usize]);
        }
        let robots = Robots::parse(&body);
        for path in ["/", "/%", "/*$", ""] {
            let _ = robots.rules("*").allowed(path);
        }
    }
}

#[test]
fn the_deciding_line_is_the_one_of_the_longest_match() {
    let body = b"\xef\xbb\xbfUser-agent: *\r\n# all\r\nDisallow: /a\r\nAllow: /a/b\r\n\r\n\
                 User-agent: other\nDisallow: /\n";
    let robots = Robots::parse(body);
    assert_eq!(robots.deciding("crivello", "/a/x"), Some((3, false)));
    assert_eq!(robots.deciding("crivello", "/a/b/c"), Some((4, true)));
    assert_eq!(robots.deciding("crivello", "/c"), None);
    assert_eq!(robots.deciding("other", "/c"), Some((7, false)));
}
