"""Wherever the same rows are kept, DuckDB gives the same cells: no facts about other records are used."""

from __future__ import annotations

import csv
import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pyarrow.compute
import pyarrow.dataset
import pyarrow.parquet
import pytest

from prdp.declare.groups import read_grouping
from prdp.engines.duckdb import database
from prdp.engines.duckdb.engine import open_source
from prdp.engines.sources import relations
from prdp.engines.sql_engine import SqlEngine
from prdp.errors import InvalidRequest
from prdp.plan.reads import CellRead
from prdp.policy import Policy
from prdp.testing.storage_contract import COLUMNS, Record, Storage, StorageCase, StorageContract

SCHEMA = pyarrow.schema(
    [
        ("x", pyarrow.float64()),
        ("f", pyarrow.float32()),
        ("v", pyarrow.int64()),
        ("d", pyarrow.decimal128(18, 2)),
        ("job", pyarrow.string()),
        ("day", pyarrow.timestamp("us")),
        ("ok", pyarrow.bool_()),
    ]
)


def arrow(records: Sequence[Record]) -> pyarrow.Table:
    return pyarrow.Table.from_pylist([dict(record) for record in records], schema=SCHEMA)


def as_numpy(records: Sequence[Record], _folder: Path) -> SqlEngine:
    """Keep records as arrays: NULL is NaN, NaT, or in a text that is not a number or truth value."""
    kinds = {"x": "f8", "f": "f4", "day": "M8[us]"}
    arrays = {
        name: np.array(
            [record[name] for record in records] if name in kinds else [_written(r[name]) for r in records],
            dtype=kinds.get(name, "U"),
        )
        for name in COLUMNS
    }
    return open_source(arrays, {name: COLUMNS[name] for name in ("v", "d", "ok")})


def as_pandas(records: Sequence[Record], _folder: Path) -> SqlEngine:
    return open_source(arrow(records).to_pandas(types_mapper=pd.ArrowDtype), None)


def by_pyarrow(**options: Any) -> Storage:
    def keep(records: Sequence[Record], folder: Path) -> SqlEngine:
        pyarrow.parquet.write_table(arrow(records), folder / "t.parquet", **options)
        return open_source(folder / "t.parquet", None)

    return keep


def by_polars(**options: Any) -> Storage:
    def keep(records: Sequence[Record], folder: Path) -> SqlEngine:
        pl.DataFrame(arrow(records)).write_parquet(folder / "t.parquet", **options)
        return open_source(folder / "t.parquet", None)

    return keep


def by_duckdb(options: str) -> Storage:
    def keep(records: Sequence[Record], folder: Path) -> SqlEngine:
        connection = duckdb.connect()
        connection.register("given", arrow(records))
        connection.execute(f"COPY (SELECT * FROM given) TO '{folder}/t.parquet' ({options})")
        return open_source(folder / "t.parquet", None)

    return keep


def as_csv(records: Sequence[Record], folder: Path) -> SqlEngine:
    with (folder / "t.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([_written(record[name]) for name in COLUMNS] for record in records)
    return open_source(folder / "t.csv", COLUMNS)


def _written(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def as_relation(make: Callable[[duckdb.DuckDBPyConnection, Path], str]) -> Storage:
    def keep(records: Sequence[Record], folder: Path) -> SqlEngine:
        connection = duckdb.connect(str(folder / "t.db"))
        connection.register("given", arrow(records))
        return open_source(connection.sql(make(connection, folder)), None)

    return keep


def _table(connection: duckdb.DuckDBPyConnection, folder: Path) -> str:
    connection.execute("CREATE TABLE t AS SELECT * FROM given")
    connection.execute("CHECKPOINT")
    return "SELECT * FROM t"


def _sorted_and_indexed(connection: duckdb.DuckDBPyConnection, folder: Path) -> str:
    connection.execute("CREATE TABLE t AS SELECT * FROM given ORDER BY x, v")
    connection.execute("CREATE INDEX i ON t (v)")
    return "SELECT * FROM t"


def _file_of_pyarrow(connection: duckdb.DuckDBPyConnection, folder: Path) -> str:
    pyarrow.parquet.write_table(connection.table("given").to_arrow_table(), folder / "t.parquet")
    return f"SELECT * FROM '{folder}/t.parquet'"


def _fields_of_a_struct(connection: duckdb.DuckDBPyConnection, folder: Path) -> str:
    fields = connection.sql("SELECT {'x': x, 'f': f} AS s, * EXCLUDE (x, f) FROM given").to_arrow_table()
    pyarrow.parquet.write_table(fields, folder / "t.parquet")
    return f"SELECT s.x AS x, s.f AS f, * EXCLUDE (s) FROM '{folder}/t.parquet'"


def _view(connection: duckdb.DuckDBPyConnection, folder: Path) -> str:
    connection.execute(f"CREATE VIEW w AS {_file_of_pyarrow(connection, folder)}")
    return "SELECT * FROM w"


def data_set(records: Sequence[Record], folder: Path) -> SqlEngine:
    pyarrow.parquet.write_table(arrow(records), folder / "t.parquet", row_group_size=5)
    files = pyarrow.dataset.dataset(folder / "t.parquet")
    connection = duckdb.connect()
    connection.register("files", files)
    return open_source(connection.table("files"), None)


def forge(records: Sequence[Record], folder: Path) -> Path:
    """Keep records in a file whose statistics are wrong, as some writers' have been."""
    table = arrow(records)
    path = folder / "t.parquet"
    pyarrow.parquet.write_table(table, path, use_dictionary=False)
    raw = path.read_bytes()
    start = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    footer = raw[start:]
    for column, code in (("x", "<d"), ("f", "<f"), ("v", "<q")):
        ends = pyarrow.compute.min_max(table[column]).as_py()
        if ends["max"] not in {None, 0, ends["min"]}:  # zeros are everywhere in a footer
            footer = footer.replace(struct.pack(code, ends["max"]), struct.pack(code, ends["min"]))
    path.write_bytes(raw[:start] + footer)
    return path


def forged(records: Sequence[Record], folder: Path) -> SqlEngine:
    return open_source(forge(records, folder), None)


def several_files(records: Sequence[Record], folder: Path) -> SqlEngine:
    for number in range(3):
        pyarrow.parquet.write_table(arrow(records[number::3]), folder / f"part{number}.parquet")
    return open_source(str(folder / "part*.parquet"), None)


STORAGES: Mapping[str, Storage] = {
    "arrow": lambda records, _: open_source(arrow(records), None),
    "arrow in chunks": lambda records, _: open_source(
        pyarrow.Table.from_batches(arrow(records).to_batches(max_chunksize=3), schema=SCHEMA), None
    ),
    "pandas": as_pandas,
    "polars": lambda records, _: open_source(pl.DataFrame(arrow(records)), None),
    "csv": as_csv,
    "pyarrow": by_pyarrow(),
    "pyarrow, no statistics": by_pyarrow(write_statistics=False),
    "pyarrow, statistics by page": by_pyarrow(write_page_index=True, data_page_size=64),
    "pyarrow, many row groups": by_pyarrow(row_group_size=4, write_page_index=True),
    "pyarrow, no dictionaries": by_pyarrow(use_dictionary=False, data_page_version="2.0"),
    "pyarrow, sorted by its word": by_pyarrow(
        row_group_size=6, sorting_columns=[pyarrow.parquet.SortingColumn(0)]
    ),
    "polars file": by_polars(),
    "polars file, all statistics": by_polars(statistics="full", row_group_size=5),
    "polars file, no statistics": by_polars(statistics=False),
    "duckdb file": by_duckdb("FORMAT parquet"),
    "duckdb file, bloom filters": by_duckdb("FORMAT parquet, ROW_GROUP_SIZE 2048, PARQUET_VERSION v2"),
    "wrong statistics": forged,
    "several files": several_files,
    "table": as_relation(_table),
    "sorted table with an index": as_relation(_sorted_and_indexed),
    "relation over a file": as_relation(_file_of_pyarrow),
    "view over a file": as_relation(_view),
    "relation over a struct's fields": as_relation(_fields_of_a_struct),
    "data set": data_set,
}


class TestStorage(StorageContract):
    brief = True

    def storages(self) -> Mapping[str, Storage]:
        some = (
            "arrow",
            "pyarrow, many row groups",
            "wrong statistics",
            "sorted table with an index",
            "data set",
        )
        return {name: STORAGES[name] for name in some}


@pytest.mark.slow
class TestStorageInFull(StorageContract):
    def storages(self) -> Mapping[str, Storage]:
        return STORAGES


class TestArrays(StorageContract):
    def storages(self) -> Mapping[str, Storage]:
        return {"numpy": as_numpy}

    def hold(self, records: Sequence[Record], cases: Sequence[StorageCase]) -> None:
        """Leave out records without a job: an array of texts has no NULL."""
        kept = [record for record in records if record["job"] is not None]
        if kept:
            super().hold(kept, cases)


@pytest.mark.parametrize(
    "kept_off",
    [
        "",
        "statistics_propagation",
        "filter_pushdown,join_filter_pushdown",
    ],
)
@pytest.mark.parametrize(
    "storage",
    ["pyarrow", "polars file", "wrong statistics", "relation over a file", "relation over a struct's fields"],
)
def test_an_engine_whose_optimiser_is_left_on_is_caught(
    monkeypatch: pytest.MonkeyPatch, kept_off: str, storage: str
) -> None:
    for module in (database, relations):
        monkeypatch.setattr(module, "left_off", lambda *_: kept_off)

    class Careless(StorageContract):
        def storages(self) -> Mapping[str, Storage]:
            return {storage: STORAGES[storage]}

    with pytest.raises(AssertionError, match=r"StorageCase\("):
        Careless().test_one_extreme_record_changes_nothing_about_the_others()


def test_every_optimiser_that_is_not_known_is_left_off() -> None:
    engine = open_source({"x": np.ones(3)}, None)
    ((setting,),) = engine.rows_of("SELECT current_setting('disabled_optimizers')")
    every = {name for (name,) in engine.rows_of("SELECT name FROM duckdb_optimizers()")}
    assert every - set(setting.split(",")) == every & set(database.KEPT)
    assert {"statistics_propagation", "filter_pushdown", "join_filter_pushdown"} <= set(setting.split(","))


def test_what_folders_are_called_is_text_unless_a_type_is_declared(tmp_path: Path) -> None:
    def opened(extra: list[str], types: Mapping[str, str] | None) -> SqlEngine:
        for year in ("2024", "2025", *extra):
            (tmp_path / f"year={year}").mkdir(exist_ok=True)
            pyarrow.parquet.write_table(pyarrow.table({"x": [1.0]}), tmp_path / f"year={year}/t.parquet")
        return open_source(str(tmp_path / "*" / "*.parquet"), types)

    texts, whole = opened([], None), opened([], {"year": "BIGINT"})
    assert texts.schema["year"].native == "VARCHAR"
    assert whole.schema["year"].native == "BIGINT"
    odd = opened(["abc"], {"year": "BIGINT"})
    assert odd.schema == whole.schema
    assert opened(["abc"], None).schema == texts.schema
    assert sorted(odd.rows_of("SELECT year FROM prdp_records"), key=str) == [(2024,), (2025,), (None,)]
    with pytest.raises(InvalidRequest, match="states its own types"):
        opened([], {"x": "DOUBLE"})


def test_a_column_of_the_files_is_read_from_them_whatever_folders_are_called(tmp_path: Path) -> None:
    (tmp_path / "x=7").mkdir()
    pyarrow.parquet.write_table(pyarrow.table({"x": [1.0], "v": [1]}), tmp_path / "x=7" / "t.parquet")
    engine = open_source(tmp_path / "x=7" / "t.parquet", None)
    assert engine.rows_of("SELECT x, v FROM prdp_records") == [(1.0, 1)]


def test_an_odd_value_in_the_statistics_of_a_column_that_nobody_reads_is_nothing(
    tmp_path: Path,
) -> None:
    times = pyarrow.array([0, 2**62], pyarrow.int64()).cast(pyarrow.timestamp("ms"))
    pyarrow.parquet.write_table(pyarrow.table({"k": [1, 2], "c": times}), tmp_path / "t.parquet")
    engine = open_source(tmp_path / "t.parquet", None)
    keys = read_grouping(["k"], [1, 2], engine.schema)
    policy = Policy.constant(1).within(engine.schema, {})
    found = engine.summarise(CellRead(policy, policy.levels, {}, None, None, keys))
    assert [summary.records for summary in found] == [1, 1]
