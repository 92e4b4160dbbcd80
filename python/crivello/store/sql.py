"""SQL over a snapshot: DuckDB in memory, read-only, without files, network or extensions.

Sealed rows are read from their Parquet files, with the pruning that statistics and Bloom
filters allow; rows of the spool are Arrow tables. Only tables that the query names are loaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from crivello.errors import Error, UsageError
from crivello.store.schema import TABLES

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from crivello.store.reader import Snapshot

BATCH_ROWS = 8_192
STATE_VIEW = "urls_state"

# The latest visit decides; a URL that was never visited is in the state of its admission.
URLS_STATE = """
create view urls_state as
select u.* exclude (state),
       case when p.visit is null then u.state
            when p.status between 200 and 299 or p.status = 304 then 'stored'
            when p.status between 300 and 399 then 'redirect'
            when p.error in ('robots', 'robots-unreachable', 'private', 'identity') then 'denied'
            else 'failed' end as state,
       p.visit, p.fetched_at, p.status, p.error, p.redirect_to
from urls u
left join (
    select url_hash, unnest(arg_max(
        {visit: visit, fetched_at: fetched_at, status: status, error: error,
         redirect_to: redirect_to}, {fetched_at: fetched_at, visit: visit}))
    from pages group by url_hash
) p using (url_hash)
"""


class Rows:
    """The result of a query, streamed. Iterating gives tuples."""

    def __init__(self, reader: pa.RecordBatchReader, spill: TemporaryDirectory[str]) -> None:
        self._reader = reader
        self._spill = spill
        self.schema: pa.Schema = reader.schema
        self.columns: list[str] = list(reader.schema.names)

    def __repr__(self) -> str:
        """Its columns, and how to see the rows."""
        return f"<rows of ({', '.join(self.columns)}): iterate, or .to_arrow()>"

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Arrow batches as they come."""
        import duckdb

        while True:
            try:
                batch = self._reader.read_next_batch()
            except StopIteration:
                return
            except (duckdb.Error, OSError) as error:
                raise explained(error) from None
            yield batch

    def to_arrow(self) -> pa.Table:
        """All rows as an Arrow table."""
        import pyarrow as pa

        return pa.Table.from_batches(self.batches(), self.schema)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for batch in self.batches():
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def run(snapshot: Snapshot, query: str, *, memory: int) -> Rows:
    """Begin a query; an error in it is one line in DuckDB's words."""
    import duckdb

    spill = TemporaryDirectory(prefix="crivello-sql-")
    connection = duckdb.connect(":memory:")
    try:
        _check(connection, query)
        _load(connection, snapshot, _named(connection, query))
        _close_doors(connection, spill.name, memory)
        return Rows(connection.sql(query).to_arrow_reader(BATCH_ROWS), spill)
    except duckdb.Error as error:
        raise explained(error) from None


def _check(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    import duckdb

    kinds = [statement.type for statement in connection.extract_statements(query)]
    if len(kinds) != 1:
        raise UsageError(f"sql: give one query, not {len(kinds)}")
    if kinds[0] not in {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}:
        raise UsageError(
            f"sql: the tables are read-only; {kinds[0].name} is not possible, only queries are"
        )


def _named(connection: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    """The tables that the query needs; all of them when it names none (`show tables`)."""
    import duckdb

    try:
        names = {name.lower() for name in connection.get_table_names(query)}
    except duckdb.Error:
        names = set()
    if STATE_VIEW in names:
        names |= {"urls", "pages"}
    return [table for table in TABLES if table in names] or list(TABLES)


def _load(connection: duckdb.DuckDBPyConnection, snapshot: Snapshot, tables: list[str]) -> None:
    paths: list[str] = []
    for table in tables:
        files, recent = snapshot.parts(table)
        connection.register(f"recent_{table}", recent)
        view = f"create view {table} as select * from recent_{table}"
        if files:
            found = [str(path.absolute()) for path in files]
            paths += found
            sealed = f"read_parquet({_literal(found)}, union_by_name = true)"
            view += f" union all by name select * from {sealed}"
        connection.execute(view)
    if "urls" in tables and "pages" in tables:
        connection.execute(URLS_STATE)
    if paths:
        connection.execute(f"set allowed_paths = {_literal(paths)}")


def _close_doors(connection: duckdb.DuckDBPyConnection, spill: str, memory: int) -> None:
    for setting in (
        f"memory_limit = '{memory >> 20}MiB'",
        f"temp_directory = {_literal(spill)}",
        "enable_external_access = false",
        "python_enable_replacements = false",
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "enable_progress_bar = false",
        "lock_configuration = true",
    ):
        connection.execute(f"set {setting}")


def _literal(value: str | list[str]) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return "'" + value.replace("'", "''") + "'"


def explained(error: Exception) -> Error:
    """DuckDB's message as one line, with its candidates and without the drawing of the query."""
    import duckdb

    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if not re.match(r"LINE \d+:|\^", line)]
    text = "; ".join(told[:2]).removeprefix("Invalid Input Error: ")
    kind = UsageError if isinstance(error, duckdb.ProgrammingError) else Error
    return kind(f"sql: {text}")
