//! Capture index lines (CDXJ): `SURT timestamp {json}`; sorted bytewise, they are an index.
//!
//! The SURT key is a canonical form of the URL that brings a site's pages together:
//! `http://www.Example.org:80/B//a/?y&x=1` is `org,example)/b/a?x=1&y`. It follows the Internet
//! Archive's usual canonicalisation, so that lines merge with other tools' indexes: percent
//! escapes undone until nothing changes and only the needed ones put back, lower case, `www1.`
//! and its like, default ports, doubled and final slashes, session ids and an empty query
//! removed, parameters sorted. It is a key to look things up by, not an identity.

use super::text::{json, timestamp};

/// What an index says of a record.
#[derive(Debug, Clone, Copy)]
pub struct Capture<'a> {
    /// The record's target URI.
    pub url: &'a str,
    /// Its date, in microseconds of UTC.
    pub date_us: i64,
    /// HTTP status code.
    pub status: u16,
    /// Media type; `warc/revisit` for a revisit.
    pub mime: &'a str,
    /// The payload digest as in the record, `sha1:…`.
    pub digest: &'a str,
    /// File that holds the record.
    pub filename: &'a str,
    /// Where the compressed record starts.
    pub offset: u64,
    /// How long it is, compressed.
    pub length: u64,
}

/// The line of a capture, without a line end.
pub fn cdxj_line(capture: &Capture<'_>) -> String {
    let mut line = surt(capture.url);
    line.push(' ');
    line.push_str(&timestamp(capture.date_us));
    let numbers =
        [capture.status.to_string(), capture.length.to_string(), capture.offset.to_string()];
    let fields = [
        (" {\"url\": ", capture.url),
        (", \"mime\": ", capture.mime),
        (", \"status\": ", &numbers[0]),
        (", \"digest\": ", capture.digest),
        (", \"length\": ", &numbers[1]),
        (", \"offset\": ", &numbers[2]),
        (", \"filename\": ", capture.filename),
    ];
    for (name, value) in fields {
        line.push_str(name);
        json(&mut line, value);
    }
    line.push('}');
    line
}

/// The SURT key of an http or https URL.
pub fn surt(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let rest = rest.split('#').next().unwrap_or_default();
    let (authority, tail) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (path, query) = tail.split_once('?').unwrap_or((tail, ""));
    let mut key = host_key(scheme, &authority.to_ascii_lowercase());
    key.push(')');
    push_path(&escape(path), &mut key);
    push_query(&escape(query), &mut key);
    key
}

fn host_key(scheme: &str, authority: &str) -> String {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (name, port),
        _ => (host, ""),
    };
    let mut key = if let Some(v6) = host.strip_prefix('[') {
        v6.trim_end_matches(']').to_owned()
    } else {
        let labels: Vec<&str> = strip_www(host.trim_end_matches('.')).rsplit('.').collect();
        labels.join(",")
    };
    if !matches!((scheme, port), (_, "") | ("http", "80") | ("https", "443")) {
        key.push(':');
        key.push_str(port);
    }
    key
}

/// `www.`, `www2.` and so on are the site itself.
fn strip_www(host: &str) -> &str {
    host.strip_prefix("www")
        .map(|rest| rest.trim_start_matches(|digit: char| digit.is_ascii_digit()))
        .and_then(|rest| rest.strip_prefix('.'))
        .unwrap_or(host)
}

fn push_path(path: &str, key: &mut String) {
    let path = match path.rsplit_once(";jsessionid=") {
        Some((before, id)) if is_session(id) => before,
        _ => path,
    };
    let start = key.len();
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        key.push('/');
        key.push_str(segment);
    }
    if key.len() == start {
        key.push('/');
    }
}

fn push_query(query: &str, key: &mut String) {
    let mut parameters: Vec<&str> =
        query.split('&').filter(|parameter| !is_session_parameter(parameter)).collect();
    parameters.sort_unstable();
    let sorted = parameters.join("&");
    if !sorted.is_empty() {
        key.push('?');
        key.push_str(&sorted);
    }
}

fn is_session_parameter(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else { return false };
    match name {
        "jsessionid" | "phpsessid" | "sid" => is_session(value),
        _ => {
            name.strip_prefix("aspsessionid").is_some_and(|rest| rest.len() == 8)
                && value.len() == 24
        }
    }
}

fn is_session(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Undoes escapes until nothing changes, puts back those of bytes that a key must not hold,
/// and lowers the case.
fn escape(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    while unescape(&mut bytes) {}
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte <= b' ' || byte >= 0x7f || matches!(byte, b'#' | b'%') {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        } else {
            out.push(char::from(byte.to_ascii_lowercase()));
        }
    }
    out
}

/// One pass from left to right, in place; says whether there was something to do.
fn unescape(bytes: &mut Vec<u8>) -> bool {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|value| value as u8);
    let (mut read, mut written) = (0, 0);
    while read < bytes.len() {
        let escaped = match bytes[read..] {
            [b'%', high, low, ..] => digit(high).zip(digit(low)).map(|(high, low)| high << 4 | low),
            _ => None,
        };
        bytes[written] = escaped.unwrap_or(bytes[read]);
        read += if escaped.is_some() { 3 } else { 1 };
        written += 1;
    }
    bytes.truncate(written);
    written < read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_other_archives() {
        for (url, key) in [
            ("http://archive.org/", "org,archive)/"),
            ("http://archive.org/goo/", "org,archive)/goo"),
            ("http://archive.org/goo/?", "org,archive)/goo"),
            ("http://archive.org/goo/?b&a", "org,archive)/goo?a&b"),
            ("http://archive.org/goo/?a=2&b&a=1", "org,archive)/goo?a=1&a=2&b"),
            ("http://archive.org:/", "org,archive)/"),
            ("https://archive.org:443/", "org,archive)/"),
            ("http://archive.org:8080/", "org,archive:8080)/"),
            ("https://34.203.211.192/robots.txt", "192,211,203,34)/robots.txt"),
            (
                "https://[2600:1f18:200d:fb00:2b74:867c:ab0c:150a]/robots.txt",
                "2600:1f18:200d:fb00:2b74:867c:ab0c:150a)/robots.txt",
            ),
            ("http://1kr.ua/newslist.html?tag=%E4%EE", "ua,1kr)/newslist.html?tag=%e4%ee"),
            ("http://www.aluroba.com/tags/%C3%CE.htm", "com,aluroba)/tags/%c3%ce.htm"),
            (
                "https://www.insbase.ac/xoops2/modules/xpwiki/?%A4%D5",
                "ac,insbase)/xoops2/modules/xpwiki?%a4%d5",
            ),
            (
                "http://archive.org/index.php?PHPSESSID=0123456789abcdefghijklemopqrstuv&action=profile;u=4221",
                "org,archive)/index.php?action=profile;u=4221",
            ),
            ("http://www2.Example.org/%2525A//b#c", "org,example)/%25a/b"),
        ] {
            assert_eq!(surt(url), key, "{url}");
        }
    }

    #[test]
    fn a_line_is_this_text() {
        let capture = Capture {
            url: "http://example.org/\"a\"",
            date_us: 1_763_501_743_000_042,
            status: 200,
            mime: "text/html",
            digest: "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
            filename: "a.warc.gz",
            offset: 5,
            length: 99,
        };
        assert_eq!(
            cdxj_line(&capture),
            "org,example)/\"a\" 20251118213543 {\"url\": \"http://example.org/\\\"a\\\"\", \
             \"mime\": \"text/html\", \"status\": \"200\", \
             \"digest\": \"sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\", \"length\": \"99\", \
             \"offset\": \"5\", \"filename\": \"a.warc.gz\"}"
        );
    }
}
