//! WARC records.
