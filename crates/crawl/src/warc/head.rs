//! The head of an HTTP response in the strict form that every archive reader takes.
//!
//! Servers send bare line feeds, folded lines, no reason, bytes above 127, lines that are no
//! field. Stored is `HTTP/1.x code reason`, one `name: value` a line, CRLF throughout, and a
//! `Content-Length` that is true of the stored body. Nothing is dropped: what would mislead a
//! reader moves to a field of ours —
//!
//! | as sent | as stored |
//! |---|---|
//! | `Transfer-Encoding` (removed from the body) | `X-Crivello-Transfer-Encoding` |
//! | a `Content-Length` that is not the stored body's | `X-Crivello-Content-Length` |
//! | a start line that is not HTTP/1.x | `X-Crivello-Status-Line` |
//! | a line without a field name | `X-Crivello-Malformed` |
//!
//! Bytes above 127 stay as they are; other control bytes become spaces.

/// Appends the strict form of `raw` for a body of `body_len` bytes, blank line included.
pub(super) fn store(raw: &[u8], body_len: usize, out: &mut Vec<u8>) {
    let body_len = body_len.to_string();
    let mut lines = raw
        .split(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .skip_while(|line| line.is_empty());
    status_line(lines.next().unwrap_or_default(), out);
    let mut lines = lines.take_while(|line| !line.is_empty()).peekable();
    while let Some(line) = lines.next() {
        let (name, value) = field(line);
        let start = out.len();
        out.extend_from_slice(b": ");
        push_clean(value, out);
        while let Some(more) = lines.next_if(|line| matches!(line[0], b' ' | b'\t')) {
            out.push(b' ');
            push_clean(more.trim_ascii(), out);
        }
        let name = if name.eq_ignore_ascii_case(b"content-length") {
            if out[start + 2..] == *body_len.as_bytes() {
                out.truncate(start);
                continue;
            }
            b"X-Crivello-Content-Length"
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            b"X-Crivello-Transfer-Encoding"
        } else {
            name
        };
        out.splice(start..start, name.iter().copied());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"Content-Length: ");
    out.extend_from_slice(body_len.as_bytes());
    out.extend_from_slice(b"\r\n\r\n");
}

fn status_line(line: &[u8], out: &mut Vec<u8>) {
    let (version, rest) = match line.iter().position(u8::is_ascii_whitespace) {
        Some(at) => (&line[..at], line[at..].trim_ascii()),
        None => (line, &line[line.len()..]),
    };
    let strict = matches!(version, b"HTTP/1.0" | b"HTTP/1.1");
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (code, reason) = if digits == 3 { rest.split_at(3) } else { (&b"200"[..], &b""[..]) };
    out.extend_from_slice(if strict { version } else { b"HTTP/1.1" });
    out.push(b' ');
    out.extend_from_slice(code);
    out.push(b' ');
    push_clean(reason.trim_ascii(), out);
    out.extend_from_slice(b"\r\n");
    let understood = strict && digits == 3;
    if !understood && !line.is_empty() {
        out.extend_from_slice(b"X-Crivello-Status-Line: ");
        push_clean(line.trim_ascii(), out);
        out.extend_from_slice(b"\r\n");
    }
}

/// Splits a line at its colon; a line whose name is no token (RFC 9110 §5.1) is all value.
fn field(line: &[u8]) -> (&[u8], &[u8]) {
    if let Some(colon) = memchr::memchr(b':', line) {
        let name = line[..colon].trim_ascii();
        if !name.is_empty() && name.iter().copied().all(is_token) {
            return (name, line[colon + 1..].trim_ascii());
        }
    }
    (b"X-Crivello-Malformed", line.trim_ascii())
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn push_clean(text: &[u8], out: &mut Vec<u8>) {
    out.extend(text.iter().map(
        |&byte| {
            if byte.is_ascii_control() && byte != b'\t' { b' ' } else { byte }
        },
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn stored(raw: &[u8], body_len: usize, expected: &[u8]) {
        let mut out = Vec::new();
        store(raw, body_len, &mut out);
        assert_eq!(out.escape_ascii().to_string(), expected.escape_ascii().to_string());
    }

    #[test]
    fn a_plain_head_gains_only_a_content_length() {
        stored(
            b"HTTP/1.1 404 Not Found\r\nServer: x\r\n\r\n",
            3,
            b"HTTP/1.1 404 Not Found\r\nServer: x\r\nContent-Length: 3\r\n\r\n",
        );
    }

    #[test]
    fn framing_of_the_transfer_moves_to_fields_of_ours() {
        stored(
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nContent-Length : 9\r\nContent-length: 5\r\n\r\n",
            5,
            b"HTTP/1.1 200 OK\r\nX-Crivello-Transfer-Encoding: chunked\r\nX-Crivello-Content-Length: 9\r\nContent-Length: 5\r\n\r\n",
        );
    }

    #[test]
    fn bare_line_feeds_folded_lines_and_control_bytes_become_strict() {
        stored(
            b"\r\nHTTP/1.0   200\nX-A: one\n two\r\n\tthree\nX-B:\x00b\rc\n\nbody",
            0,
            b"HTTP/1.0 200 \r\nX-A: one two three\r\nX-B:  b c\r\nContent-Length: 0\r\n\r\n",
        );
    }

    #[test]
    fn bytes_above_127_stay() {
        stored(
            b"HTTP/1.1 200 D\xe9j\xe0\r\nX: \xff\r\n\r\n",
            0,
            b"HTTP/1.1 200 D\xe9j\xe0\r\nX: \xff\r\nContent-Length: 0\r\n\r\n",
        );
    }

    #[test]
    fn what_is_not_http_is_kept_in_a_field() {
        stored(
            b"ICY 200 OK\r\nno colon here\r\nbad name: x\r\n: y\r\n",
            1,
            b"HTTP/1.1 200 OK\r\nX-Crivello-Status-Line: ICY 200 OK\r\n\
              X-Crivello-Malformed: no colon here\r\nX-Crivello-Malformed: bad name: x\r\n\
              X-Crivello-Malformed: : y\r\nContent-Length: 1\r\n\r\n",
        );
        stored(
            b"HTTP/2 200\r\n",
            0,
            b"HTTP/1.1 200 \r\nX-Crivello-Status-Line: HTTP/2 200\r\nContent-Length: 0\r\n\r\n",
        );
        stored(b"", 0, b"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n");
    }
}
