//! Records as a batch: what a reader of archives hands to the loop.

use std::io::{self, Read, Seek};
use std::sync::{Arc, LazyLock};

use arrow_array::RecordBatch;
use arrow_array::builder::{
    BinaryBuilder, Int64Builder, StringBuilder, UInt16Builder, UInt64Builder,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::{Reader, message};

/// One row a record. `status` is null where the block is no HTTP response; otherwise `head` is
/// its head in strict form and `body` its body without transfer-coding. Without a status `head`
/// is empty and `body` the block.
static RECORDS: LazyLock<SchemaRef> = LazyLock::new(|| {
    Arc::new(Schema::new(vec![
        Field::new("offset", DataType::UInt64, false),
        Field::new("kind", DataType::Utf8, false),
        Field::new("url", DataType::Utf8, true),
        Field::new("date", DataType::Int64, true),
        Field::new("ip", DataType::Utf8, true),
        Field::new("content_type", DataType::Utf8, true),
        Field::new("truncated", DataType::Utf8, true),
        Field::new("status", DataType::UInt16, true),
        Field::new("head", DataType::Binary, false),
        Field::new("body", DataType::Binary, false),
    ]))
});

/// Kinds of record whose block may hold an HTTP response.
const RESPONSES: [&str; 2] = ["response", "revisit"];

/// Reads up to `max_records` records, or about `max_bytes` of blocks; `None` at the end.
///
/// # Errors
/// When the file itself cannot be read.
///
/// # Panics
/// Never: the builders follow the schema.
pub fn batch<R: Read + Seek>(
    reader: &mut Reader<R>,
    max_records: usize,
    max_bytes: usize,
) -> io::Result<Option<RecordBatch>> {
    let (mut offsets, mut dates, mut statuses) =
        (UInt64Builder::new(), Int64Builder::new(), UInt16Builder::new());
    let (mut kinds, mut urls, mut ips) =
        (StringBuilder::new(), StringBuilder::new(), StringBuilder::new());
    let (mut types, mut truncated) = (StringBuilder::new(), StringBuilder::new());
    let (mut heads, mut bodies) = (BinaryBuilder::new(), BinaryBuilder::new());
    let (mut records, mut bytes) = (0, 0);
    while records < max_records && bytes < max_bytes {
        let Some(record) = reader.next_record()? else { break };
        records += 1;
        bytes += record.block.len();
        let kind = record.kind();
        let response =
            if RESPONSES.contains(&kind.as_str()) { message(&record.block) } else { None };
        let broken = record.cut || response.as_ref().is_some_and(|message| !message.whole);
        let stated = record.field("WARC-Truncated").filter(|reason| !reason.is_empty());
        offsets.append_value(record.offset);
        kinds.append_value(&kind);
        urls.append_option(record.url());
        dates.append_option(record.date_us());
        ips.append_option(record.ip().map(|ip| ip.to_string()));
        types.append_option(record.field("Content-Type"));
        truncated.append_option(stated.or(broken.then_some("unspecified")));
        statuses.append_option(response.as_ref().map(|message| message.status));
        heads.append_value(response.as_ref().map_or(&[][..], |message| &message.head));
        bodies.append_value(response.as_ref().map_or(&record.block[..], |message| &message.body));
    }
    if records == 0 {
        return Ok(None);
    }
    let columns: Vec<arrow_array::ArrayRef> = vec![
        Arc::new(offsets.finish()),
        Arc::new(kinds.finish()),
        Arc::new(urls.finish()),
        Arc::new(dates.finish()),
        Arc::new(ips.finish()),
        Arc::new(types.finish()),
        Arc::new(truncated.finish()),
        Arc::new(statuses.finish()),
        Arc::new(heads.finish()),
        Arc::new(bodies.finish()),
    ];
    let schema = Arc::clone(&RECORDS);
    Ok(Some(RecordBatch::try_new(schema, columns).expect("the builders follow the schema")))
}
