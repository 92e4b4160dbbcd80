//! Behaviour of `parse` on whole pages.

use super::{LinkKind, Page, PageInput, RobotsFlags, Wanted, parse, read};

fn html(body: &str) -> Page {
    page("text/html; charset=utf-8", body.as_bytes())
}

fn page(content_type: &str, body: &[u8]) -> Page {
    parse(&PageInput { content_type: Some(content_type), body }, "crivello")
}

fn hrefs(page: &Page) -> Vec<(&str, &str)> {
    page.links.iter().map(|link| (link.href.as_str(), link.kind.as_str())).collect()
}

#[test]
fn a_page_gives_its_title_metadata_text_and_links() {
    let page = html(
        "<!doctype html><html lang=it><head><title>A &amp;\n B</title>\
         <meta name=Description content='what  it is'><base href=/x/><base href=/y/>\
         <link rel='Canonical' href=' /c '><link rel=stylesheet href=s.css>\
         <style>p { background: url(bg.png) }</style><script src=a.js>if (a<b) 'no text'</script>\
         </head><body><h1>Head</h1><p>One<br>two &lt;three&gt;  four</p>\
         <a href='p.html#x' rel='NoFollow ugc'>go <img src=i.png alt='to  it'> <b>now</b></a> \
         <a href=p.html#x>again</a></body></html>",
    );
    assert_eq!(page.mime, "text/html");
    assert_eq!(page.charset, "UTF-8");
    assert_eq!(page.title, "A & B");
    assert_eq!(page.description, "what it is");
    assert_eq!(page.base.as_deref(), Some("/x/"));
    assert_eq!(page.canonical.as_deref(), Some("/c"));
    assert_eq!(page.lang.as_deref(), Some("it"));
    assert_eq!(page.text, "Head\nOne\ntwo <three> four\ngo now again");
    let expected = [
        ("/c", "link"),
        ("s.css", "css"),
        ("bg.png", "img"),
        ("a.js", "script"),
        ("p.html#x", "a"),
        ("i.png", "img"),
    ];
    assert_eq!(hrefs(&page), expected);
    assert_eq!(page.links[4].anchor, "go to it now");
    assert_eq!(page.links[4].rel, "nofollow ugc");
    assert_eq!(page.links[5].anchor, "to it");
}

#[test]
fn every_kind_of_reference_is_found_once() {
    let page = html(
        "<meta http-equiv=refresh content='5; URL=\"next\"'><area href=ar alt=map>\
         <iframe src=if></iframe><frame src=fr><img srcset='s1 1x, s2 2x' data-src=lazy>\
         <form action=f method=POST><link rel=alternate type=application/rss+xml href=feed>\
         <link rel=sitemap href=sm><p style=\"background:url('st.png')\"><object data=ob>\
         <video poster=po src=vi><source src=so></video><input type=image src=in>\
         <style>@import 'im.css'; @import url(im2.css);</style><q cite=ci>x</q>\
         <meta property=og:image content=og><body background=bg><a href=a>1</a><a href=a>2</a>\
         <a href='data:text/html,x'></a><a href=''></a>",
    );
    let mut found = hrefs(&page);
    found.sort_unstable();
    let expected = [
        ("a", "a"),
        ("ar", "area"),
        ("bg", "img"),
        ("ci", "link"),
        ("f", "form"),
        ("feed", "feed"),
        ("fr", "frame"),
        ("if", "iframe"),
        ("im.css", "css"),
        ("im2.css", "css"),
        ("in", "img"),
        ("lazy", "img"),
        ("next", "meta-refresh"),
        ("ob", "link"),
        ("og", "img"),
        ("po", "img"),
        ("s1", "img"),
        ("s2", "img"),
        ("sm", "sitemap"),
        ("so", "link"),
        ("st.png", "img"),
        ("vi", "link"),
    ];
    assert_eq!(found, expected);
    let form = page.links.iter().find(|link| link.kind == LinkKind::Form).unwrap();
    assert_eq!(form.rel, "post");
}

#[test]
fn an_href_is_what_the_url_parser_begins_with() {
    let page = html("<a href='\u{1} a\n\tb c\r\n?x=1&amp;y=2&copy=3 \u{1f}'>x</a>");
    assert_eq!(page.links[0].href, "ab c?x=1&y=2&copy=3");
}

#[test]
fn markup_in_comments_scripts_and_raw_text_is_no_markup() {
    let page = html(
        "<!-- <a href=1> --><script><!-- <script> <a href=2> </script> --> </script>\
         <style><a href=3></style><textarea><a href=4></textarea><noscript><a href=5>\
         </noscript><xmp><a href=6></xmp><noframes><a href=7></noframes>\
         <title><a href=8></title><svg><style><a href=9></style></svg>\
         <svg><![CDATA[<a href=10>]]></svg><![CDATA[<a href=11>]]><a href=12",
    );
    let found: Vec<_> = page.links.iter().map(|link| link.href.as_str()).collect();
    assert_eq!(found, ["5", "9"]);
    assert_eq!(page.text, "<a href=4>\n<a href=6>\n<a href=10>]]>");
}

#[test]
fn the_title_is_that_of_the_document_not_of_a_drawing() {
    let page = html("<svg><title>drawing <b>x</title></svg><title>page</title><title>2</title>");
    assert_eq!(page.title, "page");
}

#[test]
fn the_white_space_of_pre_stays() {
    let page = html("<p>a  b</p><pre>\n x\n  y </pre><p>c");
    assert_eq!(page.text, "a b\n x\n  y \nc");
}

#[test]
fn directives_for_all_and_for_us_add_up() {
    let page = html(
        "<meta name=robots content=noindex><meta name=Crivello content='NOFOLLOW, nosnippet'>\
         <meta name=otherbot content=noarchive>",
    );
    let flags = RobotsFlags::NOINDEX | RobotsFlags::NOFOLLOW | RobotsFlags::NOSNIPPET;
    assert_eq!(page.robots_flags, flags);
}

#[test]
fn feeds_and_sitemaps_give_items_and_further_files() {
    let rss = page(
        "text/html",
        b"<?xml version='1.0'?><rss><channel><title>News</title><link>http://e/</link>\
          <language>fr</language><atom:link rel=self href=http://e/rss />\
          <item><title>One</title><link><![CDATA[http://e/1?a&b]]></link>\
          <guid isPermaLink='false'>http://e/g</guid><enclosure url='e.mp3'/></item></channel></rss>",
    );
    assert_eq!((rss.mime.as_str(), rss.title.as_str()), ("application/rss+xml", "News"));
    assert_eq!(rss.lang.as_deref(), Some("fr"));
    let expected =
        [("http://e/", "a"), ("http://e/rss", "feed"), ("http://e/1?a&b", "a"), ("e.mp3", "link")];
    assert_eq!(hrefs(&rss), expected);
    let index = page(
        "application/xml",
        b"<sitemapindex><sitemap><loc> http://e/s.xml </loc></sitemap></sitemapindex>",
    );
    assert_eq!(hrefs(&index), [("http://e/s.xml", "sitemap")]);
    let urls = page("text/xml", b"<urlset><url><loc>http://e/?a=1&amp;b=2</loc></url></urlset>");
    assert_eq!(hrefs(&urls), [("http://e/?a=1&b=2", "a")]);
    let atom = page("application/atom+xml", b"<feed><entry><link href='/e1'/></entry></feed>");
    assert_eq!(hrefs(&atom), [("/e1", "a")]);
}

#[test]
fn what_stands_in_the_place_of_a_sitemaps_url_is_none_unless_it_is_one() {
    let odd = page(
        "application/x-xml",
        "<urlset><url><loc>&x;</loc></url><url><loc>e.org/</loc></url>\
         <url><loc>\u{a0}http://e/1\u{2000}</loc></url><url><loc><url>http://e/2</url></loc></url>\
         </urlset>"
            .as_bytes(),
    );
    assert_eq!(hrefs(&odd), [("http://e/1", "a"), ("http://e/2", "a")]);
    let index = page("text/xml", b"<sitemapindex><sitemap>http://e/s</sitemap></sitemapindex>");
    assert_eq!(hrefs(&index), [("http://e/s", "sitemap")]);
    let feed = page("text/xml", b"<rss><channel><image><url>http://e/i</url></image></rss>");
    assert_eq!(hrefs(&feed), []);
}

#[test]
fn a_sitemap_may_be_a_list_of_urls_and_be_packed() {
    use std::io::Write as _;
    let gzip = |body: &[u8]| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(body).unwrap();
        out.finish().unwrap()
    };
    let list = b"\xef\xbb\xbfhttp://e/1\r\n\n HTTPS://e/2?a&b\n";
    let expected = [("http://e/1", "a"), ("HTTPS://e/2?a&b", "a")];
    assert_eq!(hrefs(&page("text/plain", list)), expected);
    assert_eq!(hrefs(&page("application/x-gzip", &gzip(list))), expected);
    assert_eq!(hrefs(&page("text/plain", b"http://e/1\nand more")), []);
    let xml = gzip(b"<urlset><url><loc>http://e/1</loc></url></urlset>");
    for content_type in ["application/gzip", "application/octet-stream", "no type"] {
        assert_eq!(hrefs(&page(content_type, &xml)), [("http://e/1", "a")]);
    }
    assert_eq!(hrefs(&page("application/gzip", &gzip(b"<html><a href=http://e/1>"))), []);
    let bomb = page("application/gzip", &gzip(&b"<urlset>".repeat(8 << 20)));
    assert!(bomb.text.len() <= super::text::LIMIT);
}

#[test]
fn a_type_that_is_none_is_as_good_as_unstated() {
    for bad in ["text", "a/b/c", "a /b", &format!("a/{}", "b".repeat(128)), "/", "te\u{e9}t/x"] {
        assert_eq!(page(bad, b"<html>x").mime, "text/html", "{bad}");
    }
}

#[test]
fn a_binary_body_has_no_text_and_plain_text_no_links() {
    let image = page("image/png", b"\x89PNG <a href=x>");
    assert_eq!((image.text.as_str(), image.links.len(), image.charset), ("", 0, ""));
    assert_eq!(image.simhash, 0);
    let plain = page("text/plain", b"<a href=x>\r\nb");
    assert_eq!((plain.text.as_str(), plain.links.len()), ("<a href=x>\nb", 0));
    let unknown = |body| parse(&PageInput { content_type: None, body }, "crivello").mime;
    assert_eq!(unknown(b" <!DOCTYPE html>x"), "text/html");
    assert_eq!(unknown(b"%PDF-1.7"), "application/pdf");
    assert_eq!(unknown(b"\0\x01"), "application/octet-stream");
    assert_eq!(unknown(b"plain"), "text/plain");
}

#[test]
fn the_charset_is_that_of_the_mark_the_header_the_meta_or_the_guess() {
    let charset = |content_type, body| page(content_type, body).charset;
    assert_eq!(charset("text/html; charset=koi8-r", b"\xef\xbb\xbfx"), "UTF-8");
    assert_eq!(charset("text/html; charset=\"koi8-r\"", b"<meta charset=utf-8>"), "KOI8-R");
    assert_eq!(charset("text/html", b"<meta charset=latin1>"), "windows-1252");
    assert_eq!(charset("text/html", b"<meta charset=utf-16>"), "UTF-8");
    assert_eq!(charset("text/html", b"<meta charset=x-user-defined>"), "windows-1252");
    assert_eq!(charset("text/html", "<p>caffè".as_bytes()), "UTF-8");
    let russian = encoding_rs::WINDOWS_1251.encode("<p>Съешь же ещё этих мягких булок").0;
    let page = page("text/html", &russian);
    assert_eq!((page.charset, page.text.starts_with("Съешь")), ("windows-1251", true));
}

/// Each would take minutes if any part were quadratic.
#[test]
fn hostile_pages_cost_no_more_than_their_length() {
    const MIB: usize = 1 << 20;
    let units = [
        "<",
        "<a ",
        "<a href=x",
        "<!--",
        "<!-",
        "--!",
        "</",
        "<div>",
        "<a href='",
        "&",
        "&#",
        "&amp",
        "<svg>",
        "<svg><title>",
        "<script><!--",
        "<title>",
        "<style>",
        "url(",
        "url('",
        "url(\"",
        "@import ",
        "a=b ",
        "<pre>",
        "<table><tr><td>",
        "<a href=x>y",
        "<![CDATA[",
        "<p style='",
        "<img srcset='a, ",
        "\u{0}",
        "\r",
        "é",
        "<a\u{0}",
        "<?",
        "<x y='>",
        "]]>",
        "<math><mi>",
    ];
    for unit in units {
        let body = unit.repeat(4 * MIB / unit.len());
        html(&body);
        html(&format!("<style>{body}"));
        html(&format!("<p style=\"{body}"));
        html(&format!("<img srcset=\"{}\">", body.replace('"', "'")));
        html(&format!("<script>{body}"));
        page("application/xml", body.as_bytes());
    }
}

#[test]
fn what_is_kept_of_a_page_is_bounded() {
    use std::fmt::Write as _;
    let mut body = String::new();
    for n in 0..super::links::MAX_LINKS + 10 {
        write!(body, "<a href={n}>").unwrap();
    }
    body.push_str("<p>");
    body.push_str(&"wörd ".repeat(super::text::LIMIT / 5));
    let page = html(&body);
    assert_eq!(page.links.len(), super::links::MAX_LINKS);
    assert!(page.text.len() <= super::text::LIMIT);
    assert!(page.text.len() > super::text::LIMIT - 8);
    let title = html(&format!(
        "<title>{}</title><meta name=description content='{}'>",
        "t ".repeat(9999),
        "d".repeat(9999)
    ));
    assert_eq!(title.title.len(), 4095);
    assert_eq!(title.description.len(), 4096);
    let long = html(&format!("<a href=x>{}</a><a href={}>", "ab ".repeat(9999), "y".repeat(9999)));
    assert_eq!(long.links.len(), 1);
    assert_eq!(long.links[0].anchor.chars().count(), super::links::MAX_ANCHOR);
}

#[test]
fn what_is_not_wanted_changes_nothing_else() {
    let body = "<title>T</title><p>Words <a href=/a rel=next>to <b>a</b></a> and \
                <a href=/b><img src=i.png alt=picture></a><a href=/a>again</a> 12";
    let input = PageInput { content_type: Some("text/html"), body: body.as_bytes() };
    let whole = parse(&input, "crivello");
    let part = |text, anchors| read(&input, "crivello", Wanted { text, anchors });
    assert_eq!(part(true, true), whole);
    let no_text = Page { text: String::new(), text_digest: [0; 16], simhash: 0, ..whole.clone() };
    assert_eq!(part(false, true), no_text);
    let mut no_anchors = no_text;
    for link in no_anchors.links.iter_mut().filter(|link| link.kind == LinkKind::A) {
        assert!(!link.anchor.is_empty());
        link.anchor.clear();
    }
    assert_eq!(part(false, false), no_anchors);
}
