//! Column builders of the batches that page workers hand to the loop.

use std::sync::{Arc, LazyLock};

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, FixedSizeBinaryBuilder, Float32Builder, Float64Builder,
    Int64Builder, ListBuilder, StringBuilder, UInt8Builder, UInt16Builder, UInt32Builder,
    UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::PageRow;
use crate::batch;
use crate::fetch::{End, FetchError, RobotsFetched};

/// Pages as the loop sees them: the columns of the table `pages` that a fetch decides, the
/// compressed archive record, and what the loop needs to judge a failure.
static PAGES: LazyLock<SchemaRef> = LazyLock::new(|| {
    let field = |name: &str, kind: DataType, null: bool| Field::new(name, kind, null);
    Arc::new(Schema::new(vec![
        field("visit", DataType::UInt64, false),
        field("url", DataType::Utf8, false),
        field("url_hash", DataType::UInt64, false),
        field("host", DataType::Utf8, false),
        field("domain", DataType::Utf8, false),
        field("attempt", DataType::UInt8, false),
        field("depth", DataType::UInt16, false),
        field("score", DataType::Float32, false),
        field("fetched_at", DataType::Int64, false),
        field("fetch_ms", DataType::Float32, false),
        field("status", DataType::UInt16, true),
        field("error", DataType::Utf8, true),
        field("redirect_to", DataType::Utf8, true),
        field("mime", DataType::Utf8, true),
        field("charset", DataType::Utf8, true),
        field("ip", DataType::Utf8, true),
        field("http", DataType::Utf8, true),
        field("bytes", DataType::UInt64, false),
        field("truncated", DataType::Utf8, true),
        field("etag", DataType::Utf8, true),
        field("last_modified", DataType::Utf8, true),
        field("payload_digest", DataType::FixedSizeBinary(16), true),
        field("text_digest", DataType::FixedSizeBinary(16), true),
        field("simhash", DataType::UInt64, true),
        field("title", DataType::Utf8, true),
        field("description", DataType::Utf8, true),
        field("lang", DataType::Utf8, true),
        field("canonical", DataType::Utf8, true),
        field("robots_flags", DataType::UInt16, true),
        field("text", DataType::Utf8, true),
        field("text_len", DataType::UInt32, false),
        field("warc_record", DataType::Binary, true),
        field("warc_digest", DataType::Utf8, true),
    ]))
});

static LINKS: LazyLock<SchemaRef> = LazyLock::new(|| {
    Arc::new(Schema::new(vec![
        Field::new("src_hash", DataType::UInt64, false),
        Field::new("visit", DataType::UInt64, false),
        Field::new("dst_url", DataType::Utf8, false),
        Field::new("dst_hash", DataType::UInt64, false),
        Field::new("anchor", DataType::Utf8, false),
        Field::new("rel", DataType::Utf8, false),
        Field::new("kind", DataType::Utf8, false),
    ]))
});

static ROBOTS: LazyLock<SchemaRef> = LazyLock::new(|| {
    let item = Arc::new(Field::new("item", DataType::Utf8, true));
    Arc::new(Schema::new(vec![
        Field::new("host", DataType::Utf8, false),
        Field::new("origin", DataType::Utf8, false),
        Field::new("url", DataType::Utf8, false),
        Field::new("fetched_at", DataType::Int64, false),
        Field::new("status", DataType::UInt16, true),
        Field::new("error", DataType::Utf8, true),
        Field::new("body", DataType::Binary, false),
        Field::new("expires", DataType::Int64, false),
        Field::new("crawl_delay", DataType::Float64, true),
        Field::new("sitemaps", DataType::List(item), false),
    ]))
});

fn finish(schema: &SchemaRef, columns: Vec<ArrayRef>) -> RecordBatch {
    RecordBatch::try_new(Arc::clone(schema), columns).expect("the builders follow the schema")
}

/// Builds the batch of pages.
pub(super) fn pages(rows: &[PageRow]) -> RecordBatch {
    let bytes_of = |of: fn(&PageRow) -> usize| rows.iter().map(of).sum();
    let text_bytes = bytes_of(|row| row.text.as_ref().map_or(0, String::len));
    let record_bytes = bytes_of(|row| row.warc_record.as_ref().map_or(0, Vec::len));
    macro_rules! column {
        ($builder:expr, $row:ident => $value:expr) => {{
            let mut builder = $builder;
            for $row in rows {
                builder.append_value($value);
            }
            Arc::new(builder.finish()) as ArrayRef
        }};
    }
    macro_rules! nullable {
        ($builder:expr, $row:ident => $value:expr) => {{
            let mut builder = $builder;
            for $row in rows {
                builder.append_option($value);
            }
            Arc::new(builder.finish()) as ArrayRef
        }};
    }
    let digests = |of: fn(&PageRow) -> Option<[u8; 16]>| {
        let mut builder = FixedSizeBinaryBuilder::with_capacity(rows.len(), 16);
        for row in rows {
            match of(row) {
                Some(digest) => builder.append_value(digest).expect("a digest has 16 bytes"),
                None => builder.append_null(),
            }
        }
        Arc::new(builder.finish()) as ArrayRef
    };
    finish(
        &PAGES,
        vec![
            column!(UInt64Builder::new(), row => row.visit),
            column!(StringBuilder::new(), row => &row.url),
            column!(UInt64Builder::new(), row => row.url_hash),
            column!(StringBuilder::new(), row => &*row.host),
            column!(StringBuilder::new(), row => &row.domain),
            column!(UInt8Builder::new(), row => row.attempt),
            column!(UInt16Builder::new(), row => row.depth),
            column!(Float32Builder::new(), row => row.score),
            column!(Int64Builder::new(), row => row.fetched_at),
            column!(Float32Builder::new(), row => row.fetch_ms),
            nullable!(UInt16Builder::new(), row => row.status),
            nullable!(StringBuilder::new(), row => row.error.as_deref()),
            nullable!(StringBuilder::new(), row => row.redirect_to.as_deref()),
            nullable!(StringBuilder::new(), row => row.mime.as_deref()),
            nullable!(StringBuilder::new(), row => row.charset),
            nullable!(StringBuilder::new(), row => row.address.map(|address| address.to_string())),
            nullable!(StringBuilder::new(), row => row.http),
            column!(UInt64Builder::new(), row => row.bytes),
            nullable!(StringBuilder::new(), row => row.truncated),
            nullable!(StringBuilder::new(), row => row.etag.as_deref()),
            nullable!(StringBuilder::new(), row => row.last_modified.as_deref()),
            digests(|row| row.payload_digest),
            digests(|row| row.text_digest),
            nullable!(UInt64Builder::new(), row => row.simhash),
            nullable!(StringBuilder::new(), row => row.title.as_deref()),
            nullable!(StringBuilder::new(), row => row.description.as_deref()),
            nullable!(StringBuilder::new(), row => row.lang.as_deref()),
            nullable!(StringBuilder::new(), row => row.canonical.as_deref()),
            nullable!(UInt16Builder::new(), row => row.robots_flags),
            nullable!(StringBuilder::with_capacity(rows.len(), text_bytes), row => row.text.as_deref()),
            column!(UInt32Builder::new(), row => row.text_len),
            nullable!(BinaryBuilder::with_capacity(rows.len(), record_bytes), row => row.warc_record.as_deref()),
            nullable!(StringBuilder::new(), row => row.warc_digest.as_deref()),
        ],
    )
}

/// Builds the batch of links of the same pages.
pub(super) fn links(rows: &[PageRow]) -> RecordBatch {
    let count = rows.iter().map(|row| row.links.ends.len()).sum();
    let bytes = rows.iter().map(|row| row.links.text.len()).sum();
    let (mut src, mut visit) =
        (UInt64Builder::with_capacity(count), UInt64Builder::with_capacity(count));
    let (mut url, mut hash) =
        (StringBuilder::with_capacity(count, bytes), UInt64Builder::with_capacity(count));
    let texts = || StringBuilder::with_capacity(count, 8 * count);
    let (mut anchor, mut rel, mut kind) = (texts(), texts(), texts());
    for row in rows {
        for ((link, link_hash), label) in row.links.iter().zip(&row.labels) {
            src.append_value(row.url_hash);
            visit.append_value(row.visit);
            url.append_value(link);
            hash.append_value(link_hash);
            anchor.append_value(&label.anchor);
            rel.append_value(&label.rel);
            kind.append_value(label.kind);
        }
    }
    finish(
        &LINKS,
        vec![
            Arc::new(src.finish()),
            Arc::new(visit.finish()),
            Arc::new(url.finish()),
            Arc::new(hash.finish()),
            Arc::new(anchor.finish()),
            Arc::new(rel.finish()),
            Arc::new(kind.finish()),
        ],
    )
}

/// Builds the batch of URLs that these pages offer to the sieve.
pub(super) fn offers(rows: &[PageRow]) -> RecordBatch {
    let (mut url, mut hash, mut depth) =
        (StringBuilder::new(), UInt64Builder::new(), UInt16Builder::new());
    let (mut score, mut from_hash, mut from_url) =
        (Float32Builder::new(), UInt64Builder::new(), StringBuilder::new());
    for row in rows {
        for (link, link_hash) in row.offers.iter() {
            url.append_value(link);
            hash.append_value(link_hash);
            depth.append_value(row.offer_depth);
            score.append_value(0.0);
            from_hash.append_value(row.url_hash);
            from_url.append_value(&row.url);
        }
    }
    finish(
        &batch::URLS,
        vec![
            Arc::new(url.finish()),
            Arc::new(hash.finish()),
            Arc::new(depth.finish()),
            Arc::new(score.finish()),
            Arc::new(from_hash.finish()),
            Arc::new(from_url.finish()),
        ],
    )
}

/// Builds the batch of leases that ended.
pub(super) fn ends(rows: &[End]) -> RecordBatch {
    let (mut lease, mut ended_at, mut ip) =
        (UInt64Builder::new(), Int64Builder::new(), StringBuilder::new());
    let (mut consumed, mut requests, mut busy) =
        (UInt32Builder::new(), UInt32Builder::new(), UInt64Builder::new());
    let (mut hold, mut failed, mut error) =
        (Int64Builder::new(), BooleanBuilder::new(), StringBuilder::new());
    for end in rows {
        lease.append_value(end.lease);
        ended_at.append_value(end.ended_at);
        ip.append_option(end.ip.map(|address| address.to_string()));
        consumed.append_value(end.consumed);
        requests.append_value(end.requests);
        busy.append_value(end.busy_us);
        hold.append_value(end.hold_until);
        failed.append_value(end.failed);
        error.append_option(end.error.as_ref().map(FetchError::class));
    }
    finish(
        &batch::ENDS,
        vec![
            Arc::new(lease.finish()),
            Arc::new(ended_at.finish()),
            Arc::new(ip.finish()),
            Arc::new(consumed.finish()),
            Arc::new(requests.finish()),
            Arc::new(busy.finish()),
            Arc::new(hold.finish()),
            Arc::new(failed.finish()),
            Arc::new(error.finish()),
        ],
    )
}

/// Builds the batch of robots.txt that were read.
pub(super) fn robots(rows: &[RobotsFetched]) -> RecordBatch {
    let (mut host, mut origin, mut url) =
        (StringBuilder::new(), StringBuilder::new(), StringBuilder::new());
    let (mut fetched_at, mut status, mut error) =
        (Int64Builder::new(), UInt16Builder::new(), StringBuilder::new());
    let (mut body, mut expires, mut crawl_delay) =
        (BinaryBuilder::new(), Int64Builder::new(), Float64Builder::new());
    let mut sitemaps = ListBuilder::new(StringBuilder::new());
    for row in rows {
        host.append_value(&*row.host);
        origin.append_value(&row.origin);
        url.append_value(&row.url);
        fetched_at.append_value(row.fetched_at);
        status.append_option(row.status);
        error.append_option(row.error.as_ref().map(FetchError::class));
        body.append_value(&row.body);
        expires.append_value(row.expires);
        crawl_delay.append_option(row.crawl_delay);
        for sitemap in &row.sitemaps {
            sitemaps.values().append_value(sitemap);
        }
        sitemaps.append(true);
    }
    finish(
        &ROBOTS,
        vec![
            Arc::new(host.finish()),
            Arc::new(origin.finish()),
            Arc::new(url.finish()),
            Arc::new(fetched_at.finish()),
            Arc::new(status.finish()),
            Arc::new(error.finish()),
            Arc::new(body.finish()),
            Arc::new(expires.finish()),
            Arc::new(crawl_delay.finish()),
            Arc::new(sitemaps.finish()),
        ],
    )
}
