//! What a body is: the media type stated, or found in its first bytes.

use crate::coding;

/// How a body is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Html,
    Xml,
    Plain,
    Binary,
}

/// The bytes at which sniffing looks.
const SNIFFED: usize = 1445;

/// The parameter `charset` of a Content-Type.
pub(super) fn charset_of(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim_ascii()
            .eq_ignore_ascii_case("charset")
            .then(|| value.trim_ascii().trim_matches(|c| c == '"' || c == '\''))
    })
}

/// Whether it is `type/subtype` in the characters of RFC 9110 §5.6.2 and, as RFC 6838 §4.2 has
/// it, of at most 127 each: anything else is as good as unstated.
fn well_formed(essence: &str) -> bool {
    let token = |name: &str| {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        (1..=127).contains(&name.len()) && name.bytes().all(allowed)
    };
    essence.split_once('/').is_some_and(|(main, sub)| token(main) && token(sub))
}

/// The media type in lower case, and how to read the body. A type stated is believed, except
/// that XML says by its root what it is, and that HTML is often the label of a feed.
pub(super) fn classify(content_type: Option<&str>, body: &[u8]) -> (String, Form) {
    let stated = content_type
        .and_then(|value| value.split([';', ',']).next())
        .map(|essence| essence.trim_ascii().to_ascii_lowercase())
        .filter(|essence| well_formed(essence))
        .filter(|essence| {
            !matches!(essence.as_str(), "unknown/unknown" | "application/unknown" | "*/*")
        });
    let Some(mime) = stated else {
        let (mime, form) = sniff(body);
        return (mime.to_owned(), form);
    };
    match mime.as_str() {
        "text/html" => match root(body) {
            Some((mime, Form::Xml)) => (mime.to_owned(), Form::Xml),
            _ => (mime, Form::Html),
        },
        "application/xhtml+xml" => (mime, Form::Html),
        "text/xml" | "application/xml" | "text/x-xml" | "application/x-xml" => {
            let form = root(body).map_or(Form::Xml, |(_, form)| form);
            (mime, form)
        }
        "application/octet-stream" => (mime, Form::Binary),
        _ if mime.ends_with("+xml") => (mime, Form::Xml),
        "application/json" | "application/javascript" | "application/x-javascript" => {
            (mime, Form::Plain)
        }
        _ if mime.starts_with("text/") => (mime, Form::Plain),
        _ => (mime, Form::Binary),
    }
}

/// The kind of document that the first element names, past a byte order mark, the XML
/// declaration and comments.
fn root(body: &[u8]) -> Option<(&'static str, Form)> {
    let mut rest = &body[..body.len().min(SNIFFED)];
    rest = rest.strip_prefix(b"\xef\xbb\xbf").unwrap_or(rest);
    let mut declared = false;
    loop {
        rest = rest.trim_ascii_start();
        let end: &[u8] = if rest.starts_with(b"<?") {
            declared |= rest.starts_with(b"<?xml");
            b"?>"
        } else if rest.starts_with(b"<!--") {
            b"-->"
        } else if rest.starts_with(b"<!") {
            b">"
        } else {
            break;
        };
        let length = memchr::memmem::find(rest, end)?;
        if rest.get(..9).is_some_and(|word| word.eq_ignore_ascii_case(b"<!doctype"))
            && rest[9..]
                .trim_ascii_start()
                .get(..4)
                .is_some_and(|w| w.eq_ignore_ascii_case(b"html"))
        {
            return Some(("text/html", Form::Html));
        }
        rest = &rest[length + end.len()..];
    }
    let name = rest.strip_prefix(b"<")?;
    let begins = |word: &[u8]| {
        name.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
            && !name.get(word.len()).is_some_and(u8::is_ascii_alphanumeric)
    };
    match () {
        () if begins(b"html") => Some(("text/html", Form::Html)),
        () if begins(b"rss") => Some(("application/rss+xml", Form::Xml)),
        () if begins(b"rdf:RDF") => Some(("application/rdf+xml", Form::Xml)),
        () if begins(b"feed") => Some(("application/atom+xml", Form::Xml)),
        () if begins(b"urlset") || begins(b"sitemapindex") => Some(("application/xml", Form::Xml)),
        () if declared => Some(("text/xml", Form::Xml)),
        () => None,
    }
}

/// The content of a file packed with gzip, if it is one that is read for its links: sitemaps and
/// feeds are often served so, with a type that says no more than that they are packed.
pub(super) fn unpacked(body: &[u8], limit: usize) -> Option<(Vec<u8>, Form)> {
    if !body.starts_with(b"\x1f\x8b") {
        return None;
    }
    let (_, form) = sniff(&coding::decode("gzip", body, SNIFFED).body);
    matches!(form, Form::Xml | Form::Plain)
        .then(|| (coding::decode("gzip", body, limit).body.into_owned(), form))
}

/// The type of a body that nobody stated.
fn sniff(body: &[u8]) -> (&'static str, Form) {
    const TAGS: [&[u8]; 17] = [
        b"<!doctype html",
        b"<html",
        b"<head",
        b"<script",
        b"<iframe",
        b"<h1",
        b"<div",
        b"<font",
        b"<table",
        b"<a",
        b"<style",
        b"<title",
        b"<b",
        b"<body",
        b"<br",
        b"<p",
        b"<!--",
    ];
    if let Some(found) = root(body) {
        return found;
    }
    let start = &body[..body.len().min(SNIFFED)];
    let first = start.trim_ascii_start();
    let tag = |tag: &&[u8]| {
        first.get(..tag.len()).is_some_and(|word| word.eq_ignore_ascii_case(tag))
            && (tag.ends_with(b"-") || matches!(first.get(tag.len()), Some(b' ' | b'>')))
    };
    if TAGS.iter().any(tag) {
        return ("text/html", Form::Html);
    }
    if start.starts_with(b"%PDF-") {
        return ("application/pdf", Form::Binary);
    }
    if start.starts_with(b"\xfe\xff") || start.starts_with(b"\xff\xfe") {
        return ("text/plain", Form::Plain);
    }
    let binary = |&b: &u8| matches!(b, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f);
    if start.iter().any(binary) {
        return ("application/octet-stream", Form::Binary);
    }
    ("text/plain", Form::Plain)
}
