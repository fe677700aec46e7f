"""Arrow tables in every storage that files and frames have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import pandas
import polars
import pyarrow
import pyarrow.dataset
import pyarrow.feather
import pyarrow.ipc
import pyarrow.orc
import pyarrow.parquet

from prdp.engines.duckdb import engine as by_duckdb
from prdp.engines.engine import Engine
from prdp.engines.polars import engine as by_polars
from prdp.expressions.tokens import quoted
from tests.engines import kept

Keep = Callable[[Any, Path], Any]
"""Keeps a table in a folder of its own, and returns what is given to prdp."""


def one_chunk(table: Any, folder: Path) -> Any:
    return table.combine_chunks()


def in_chunks(table: Any, folder: Path) -> Any:
    return pyarrow.Table.from_batches(table.to_batches(max_chunksize=2), table.schema)


def arrow_frame(table: Any, folder: Path) -> Any:
    return table.to_pandas(types_mapper=pandas.ArrowDtype)


def polars_frame(table: Any, folder: Path) -> Any:
    return polars.DataFrame(polars.from_arrow(table))


def lazy_frame(table: Any, folder: Path) -> Any:
    return polars_frame(table, folder).lazy()


def parquet(table: Any, folder: Path) -> Any:
    pyarrow.parquet.write_table(table, folder / "t.parquet", store_schema=False)
    return folder / "t.parquet"


def parquet_of_arrow(table: Any, folder: Path) -> Any:
    pyarrow.parquet.write_table(table, folder / "t.parquet", use_dictionary=False, write_statistics=False)
    return folder / "t.parquet"


def parquet_int96(table: Any, folder: Path) -> Any:
    pyarrow.parquet.write_table(table, folder / "t.parquet", use_deprecated_int96_timestamps=True)
    return folder / "t.parquet"


def feather(table: Any, folder: Path) -> Any:
    half = len(table) // 2
    for number, part in enumerate((table[:half], table[half:])):
        pyarrow.feather.write_feather(part, folder / f"{number}.feather")
    return str(folder / "*.feather")


def ipc_file(table: Any, folder: Path) -> Any:
    with pyarrow.ipc.new_file(folder / "t.arrow", table.schema) as file:
        file.write_table(table)
    return folder / "t.arrow"


def ipc_stream(table: Any, folder: Path) -> Any:
    with pyarrow.ipc.new_stream(folder / "t.stream", table.schema) as file:
        file.write_table(table)
    return pyarrow.ipc.open_stream(folder / "t.stream").read_all()


def data_set_of_parquet(table: Any, folder: Path) -> Any:
    half = len(table) // 2
    for number, part in enumerate((table[:half], table[half:])):
        pyarrow.parquet.write_table(part, folder / f"{number}.parquet")
    return pyarrow.dataset.dataset(folder)


def data_set_of_ipc(table: Any, folder: Path) -> Any:
    feather(table, folder)
    return pyarrow.dataset.dataset(folder, format="ipc")


def data_set_of_orc(table: Any, folder: Path) -> Any:
    if "decimal128(5, -2)" in map(str, table.schema.types):
        raise TypeError("pyarrow's writer ends the process at negative scales")
    pyarrow.orc.write_table(table, folder / "t.orc")
    return pyarrow.dataset.dataset(folder, format="orc")


def relation(table: Any, folder: Path) -> Any:
    connection = _database()
    connection.register("given", table)
    try:
        connection.execute(f"CREATE TABLE {quoted(folder.name)} AS SELECT * FROM given")
    except duckdb.Error:
        _database.cache_clear()  # an error of DuckDB's own ends the database
        raise
    return connection.table(quoted(folder.name))


@cache
def _database() -> Any:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection


STORAGES: Mapping[str, Keep] = {
    name: keep
    for name, keep in globals().items()
    if callable(keep) and not name.startswith("_") and getattr(keep, "__module__", "") == __name__
}
"""All of them, by name."""


def _delta(table: Any, folder: Path) -> Any:
    deltalake.write_deltalake(folder, table)
    return folder


def _iceberg(table: Any, folder: Path) -> Any:
    kept.iceberg_table(table, folder).append(table)
    return folder / "t"


LAKES: Mapping[str, Keep] = {"Delta": _delta, "Iceberg": _iceberg}
"""Storages of few types, of which a library writes few extremes."""

EXCEPTED: Mapping[str, str] = {
    "texts in Delta": "deltalake checks every text of a file, which docs/guarantee.md says",
    "Parquet by Polars": "Polars checks every text of a file, which docs/sources.md says",
    "relations over frames": "DuckDB reads them in the caller's own database, which docs/guarantee.md says",
}
"""Storages that are not tried with all types, and why."""


def opened(given: Any) -> Engine:
    """Open what a storage gave."""
    if isinstance(given, polars.LazyFrame):
        return by_polars.open_source(given, None)
    return by_duckdb.open_source(given, None)
