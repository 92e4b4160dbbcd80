//! Arrow schemas of the batches that rooms hand each other.
//!
//! A batch is the unit of hand-over: Rust makes it, Python passes it on or works on its
//! columns, another kernel takes it back without a copy. Columns are found by name, so a
//! producer may add some. Times are UTC microseconds.

use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, UInt64Type};
use arrow_array::{PrimitiveArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

/// A batch that lacks a column, or holds one of another type.
#[derive(Debug, thiserror::Error)]
#[error("batch: column {column:?} is missing or not {expected}")]
pub struct ColumnError {
    column: String,
    expected: &'static str,
}

impl ColumnError {
    /// A column that is not as `expected`.
    pub fn new(column: &str, expected: &'static str) -> Self {
        Self { column: column.to_owned(), expected }
    }
}

fn schema(fields: &[(&str, DataType, bool)]) -> SchemaRef {
    let fields: Vec<Field> =
        fields.iter().map(|(name, kind, null)| Field::new(*name, kind.clone(), *null)).collect();
    Arc::new(Schema::new(fields))
}

/// URLs on their way: links offered to the sieve, fresh URLs that it lets out, and what the
/// frontier takes. `from_hash` is 0 and `from_url` empty for seeds.
pub static URLS: LazyLock<SchemaRef> = LazyLock::new(|| {
    schema(&[
        ("url", DataType::Utf8, false),
        ("url_hash", DataType::UInt64, false),
        ("depth", DataType::UInt16, false),
        ("score", DataType::Float32, false),
        ("from_hash", DataType::UInt64, false),
        ("from_url", DataType::Utf8, false),
    ])
});

/// Work for the visits: a lease is a host's token and the URLs that may be asked under it.
/// Rows of one lease are contiguous and in queue order. `ip` is null until the host has been
/// resolved. `burst_us` ends a burst by time (0: the rows alone bound it); the delays are
/// those in force, for the ledger.
pub static LEASES: LazyLock<SchemaRef> = LazyLock::new(|| {
    schema(&[
        ("lease", DataType::UInt64, false),
        ("visit", DataType::UInt64, false),
        ("host", DataType::Utf8, false),
        ("ip", DataType::Utf8, true),
        ("url", DataType::Utf8, false),
        ("url_hash", DataType::UInt64, false),
        ("depth", DataType::UInt16, false),
        ("score", DataType::Float32, false),
        ("attempt", DataType::UInt8, false),
        ("burst_us", DataType::UInt64, false),
        ("delay_us", DataType::UInt64, false),
        ("ip_delay_us", DataType::UInt64, false),
    ])
});

/// Leases that have ended. The first `consumed` rows of the lease were dealt with, each with
/// one page row; the others go back to the head of the host's queue. `requests` counts what
/// went over the wire (robots.txt too): with 0 no delay is due. `hold_until` is the server's
/// Retry-After (0: none); `failed` says that the host itself could not be reached, and
/// `error` why.
pub static ENDS: LazyLock<SchemaRef> = LazyLock::new(|| {
    schema(&[
        ("lease", DataType::UInt64, false),
        ("ended_at", DataType::Int64, false),
        ("ip", DataType::Utf8, true),
        ("consumed", DataType::UInt32, false),
        ("requests", DataType::UInt32, false),
        ("busy_us", DataType::UInt64, false),
        ("hold_until", DataType::Int64, false),
        ("failed", DataType::Boolean, false),
        ("error", DataType::Utf8, true),
    ])
});

/// A column of strings.
///
/// # Errors
/// When the column is missing or of another type.
pub fn strings<'a>(batch: &'a RecordBatch, column: &str) -> Result<&'a StringArray, ColumnError> {
    batch
        .column_by_name(column)
        .and_then(|array| array.as_string_opt::<i32>())
        .ok_or_else(|| ColumnError::new(column, "utf8"))
}

/// A column of numbers.
///
/// # Errors
/// When the column is missing or of another type.
pub fn numbers<'a, T: ArrowPrimitiveType>(
    batch: &'a RecordBatch,
    column: &str,
) -> Result<&'a PrimitiveArray<T>, ColumnError> {
    batch
        .column_by_name(column)
        .and_then(|array| array.as_primitive_opt::<T>())
        .ok_or_else(|| ColumnError::new(column, "of the expected number type"))
}

/// A column of hashes or identifiers.
///
/// # Errors
/// When the column is missing or of another type.
pub fn hashes<'a>(
    batch: &'a RecordBatch,
    column: &str,
) -> Result<&'a PrimitiveArray<UInt64Type>, ColumnError> {
    numbers::<UInt64Type>(batch, column)
}
