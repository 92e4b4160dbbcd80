//! robots.txt: RFC 9309.
