"""Rows as JSON can hold them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import pyarrow as pa

_HASHES = ("_hash", "simhash", "duplicate_of")


def json_rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """The rows of a batch as JSON can hold them.

    Hashes of 64 bits are 16 hex digits, times ISO 8601, digests hex, other bytes text where
    they are UTF-8 and base64 otherwise.
    """
    columns = []
    for field, column in zip(batch.schema, batch.columns, strict=True):
        values = column.to_pylist()
        if pa.types.is_uint64(field.type) and field.name.endswith(_HASHES):
            values = [None if value is None else f"{value:016x}" for value in values]
        elif pa.types.is_fixed_size_binary(field.type):
            values = [None if value is None else value.hex() for value in values]
        columns.append(values)
    names = batch.schema.names
    for row in zip(*columns, strict=True):
        yield dict(zip(names, row, strict=True))


def plain(value: object) -> object:
    """A value of a row that JSON does not know: `json.dumps(…, default=plain)`."""
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return base64.b64encode(value).decode()
    return str(value)
