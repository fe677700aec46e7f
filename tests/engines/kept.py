"""The same Arrow table in every form that prdp.open takes beside single files and frames."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import pyarrow
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.table import CommitTableResponse, StaticTable, Table

from prdp.engines.duckdb.engine import open_source
from prdp.engines.sql_engine import SqlEngine


@dataclass(frozen=True)
class Kept:
    """A source, and what has to be stated of it."""

    source: Any
    types: Mapping[str, str] | None = None
    table: str | None = None

    def opened(self) -> SqlEngine:
        return open_source(self.source, self.types, table=self.table)


Keep = Callable[[pyarrow.Table, Path], Kept]

_SQL = {
    "double": "DOUBLE",
    "float": "FLOAT",
    "int64": "BIGINT",
    "string": "VARCHAR",
    "bool": "BOOLEAN",
    "timestamp[us]": "TIMESTAMP",
    "timestamp[us, tz=UTC]": "TIMESTAMPTZ",
    "decimal128(18, 2)": "DECIMAL(18,2)",
}


def sql_types(table: pyarrow.Table) -> dict[str, str]:
    return {field.name: _SQL[str(field.type)] for field in table.schema}


def _thirds(table: pyarrow.Table) -> list[pyarrow.Table]:
    third = -(-max(len(table), 3) // 3)
    return [table.slice(start * third, third) for start in range(3)]


def list_of_files(table: pyarrow.Table, folder: Path) -> Kept:
    for number, part in enumerate(_thirds(table)):
        pyarrow.parquet.write_table(part, folder / f"{number}.parquet")
    return Kept([folder / "0.parquet", str(folder / "1.parquet"), str(folder / "[2-9].parquet")])


def list_of_csv_files(table: pyarrow.Table, folder: Path) -> Kept:
    parts = _thirds(table)
    for number, part in enumerate(parts):
        texts = [[_written(value) for value in column.to_pylist()] for column in part.columns]
        as_texts = pyarrow.table(dict(zip(part.column_names, map(_text_array, texts), strict=True)))
        pyarrow.csv.write_csv(as_texts, folder / f"{number}.csv")
    return Kept([folder / f"{number}.csv" for number in range(len(parts))], sql_types(table))


def _text_array(texts: list[str | None]) -> Any:
    return pyarrow.array(texts, pyarrow.string())


def _written(value: Any) -> str | None:
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return None if value is None else repr(value) if isinstance(value, float) else str(value)


def json_lines(table: pyarrow.Table, folder: Path) -> Kept:
    with (folder / "t.jsonl").open("w", encoding="utf-8") as file:
        for record in table.to_pylist():
            kept = {key: value for key, value in record.items() if value is not None}
            file.write(json.dumps(kept, default=_json, ensure_ascii=False) + "\n")
    return Kept(folder / "t.jsonl", sql_types(table))


def _json(value: Any) -> str:
    return str(value) if isinstance(value, Decimal) else value.isoformat(sep=" ")


def feather(table: pyarrow.Table, folder: Path) -> Kept:
    for number, part in enumerate(_thirds(table)):
        pyarrow.feather.write_feather(part, folder / f"{number}.feather", chunksize=7)
    return Kept(str(folder / "*.feather"))


def feather_of_dictionaries(table: pyarrow.Table, folder: Path) -> Kept:
    place = table.schema.get_field_index("job")
    coded = table.set_column(place, "job", table["job"].dictionary_encode())
    pyarrow.feather.write_feather(coded, folder / "t.arrow", compression="uncompressed")
    return Kept(folder / "t.arrow")


def data_set(table: pyarrow.Table, folder: Path) -> Kept:
    for number, part in enumerate(_thirds(table)):
        pyarrow.parquet.write_table(part, folder / f"{number}.parquet", row_group_size=5)
    return Kept(pyarrow.dataset.dataset(folder))


def data_sets_in_one(table: pyarrow.Table, folder: Path) -> Kept:
    first, *rest = _thirds(table)
    pyarrow.parquet.write_table(first, folder / "first.parquet", write_page_index=True)
    pyarrow.feather.write_feather(pyarrow.concat_tables(rest), folder / "rest.feather")
    parts = [
        pyarrow.dataset.dataset(folder / "first.parquet"),
        pyarrow.dataset.dataset(folder / "rest.feather", format="feather"),
    ]
    return Kept(pyarrow.dataset.dataset(parts))


def duckdb_file(table: pyarrow.Table, folder: Path) -> Kept:
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE accounts AS SELECT * FROM given")
        connection.execute("CREATE TABLE others AS SELECT 1 AS one")
    return Kept(folder / "t.duckdb", table="accounts")


def sqlite_file(table: pyarrow.Table, folder: Path) -> Kept:
    """Keep numbers as numbers: NaN and -0.0 are NULL and 0.0 to SQLite, and decimals are texts."""
    declared = {
        "DOUBLE": "REAL",
        "BIGINT": "INTEGER",
        "VARCHAR": "TEXT",
        "TIMESTAMP": "DATETIME",
        "DECIMAL(18,2)": "TEXT",
    }
    types = sql_types(table)
    _write_sqlite(table, folder, {name: declared.get(kind, kind) for name, kind in types.items()})
    return Kept(
        folder / "t.sqlite", {name: kind for name, kind in types.items() if "(" in kind}, table="accounts"
    )


def sqlite_file_of_texts(table: pyarrow.Table, folder: Path) -> Kept:
    """Keep everything as text, in a file whose ending does not say whose it is."""
    _write_sqlite(table, folder, dict.fromkeys(table.column_names, "TEXT"))
    (folder / "t.sqlite").rename(folder / "t.db")
    return Kept(folder / "t.db", sql_types(table), table="Accounts")


def _write_sqlite(table: pyarrow.Table, folder: Path, declared: Mapping[str, str]) -> None:
    columns = ", ".join(f'"{name}" {kind}' for name, kind in declared.items())
    marks = ", ".join("?" for _ in declared)
    as_text = {"TEXT", "DATETIME", "TIMESTAMPTZ"}
    with closing(sqlite3.connect(folder / "t.sqlite")) as database:
        database.execute(f"CREATE TABLE accounts ({columns})")
        rows = [
            [_written(value) if declared[name] in as_text else value for name, value in record.items()]
            for record in table.to_pylist()
        ]
        database.executemany(f"INSERT INTO accounts VALUES ({marks})", rows)
        database.commit()


def delta(table: pyarrow.Table, folder: Path) -> Kept:
    for part in _thirds(table):
        deltalake.write_deltalake(str(folder / "t"), part, mode="append")
    return Kept(folder / "t")


def delta_in_folders(table: pyarrow.Table, folder: Path) -> Kept:
    """Keep the table in folders by its truth values, of which NULL is one."""
    deltalake.write_deltalake(str(folder / "t"), table, partition_by=["ok"])
    return Kept(deltalake.DeltaTable(str(folder / "t")))


def delta_with_deleted_rows(table: pyarrow.Table, folder: Path) -> Kept:
    """Keep three rows more, and mark them as deleted, as Spark does by default."""
    more = pyarrow.concat_tables([*(table.slice(0, 1) for _ in range(3)), table]).combine_chunks()
    deltalake.write_deltalake(str(folder / "t"), more, configuration={"delta.enableDeletionVectors": "true"})
    if len(table):
        delete_by_vector(folder / "t", [0, 1, 2])
    return Kept(folder / "t")


def delete_by_vector(folder: Path, rows: list[int]) -> None:
    """Mark rows of a Delta table's one file as deleted: by a bitmap in the log, in Delta's own format."""
    (first,) = (folder / "_delta_log").glob("*0.json")
    added = next(a["add"] for a in map(json.loads, first.read_text().splitlines()) if "add" in a)
    bitmap = struct.pack("<II", 12346, 1) + struct.pack("<HHI", 0, len(rows) - 1, 16)
    bitmap += struct.pack(f"<{len(rows)}H", *rows)
    vector = struct.pack("<IQI", 1681511377, 1, 0) + bitmap
    marked = {
        "storageType": "i",
        "pathOrInlineDv": _base85(vector),
        "sizeInBytes": len(vector),
        "cardinality": len(rows),
    }
    removed = {"path": added["path"], "deletionTimestamp": 1, "dataChange": True}
    actions = [{"remove": removed}, {"add": {**added, "deletionVector": marked}}]
    text = "".join(json.dumps(action) + "\n" for action in actions)
    (folder / "_delta_log" / f"{1:020}.json").write_text(text)


def _base85(data: bytes) -> str:
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    padded = data + bytes(-len(data) % 4)
    words = (word for (word,) in struct.iter_unpack(">I", padded))
    return "".join(digits[word // 85**place % 85] for word in words for place in (4, 3, 2, 1, 0))


class FolderCatalog(MetastoreCatalog, NoopCatalog):  # type: ignore[misc]
    """A catalog that keeps, in a table's folder, which of its versions is the last."""

    def created(self, folder: Path, schema: pyarrow.Schema) -> Any:
        staged = self._create_staged_table(("bank", "accounts"), schema, f"file://{folder}")
        self._commit(staged)
        return self.load_table(("bank", "accounts"))

    def load_table(self, identifier: Any) -> Any:
        found = StaticTable.from_metadata(self._last)
        return Table(identifier, found.metadata, self._last, found.io, self)

    def commit_table(self, table: Any, requirements: Any, updates: Any) -> CommitTableResponse:
        current = self.load_table(table.name())
        staged = self._update_and_stage_table(current, table.name(), requirements, updates)
        self._commit(staged)
        return CommitTableResponse(metadata=staged.metadata, metadata_location=staged.metadata_location)

    def _commit(self, staged: Any) -> None:
        self._write_metadata(staged.metadata, staged.io, staged.metadata_location)
        self._last = staged.metadata_location
        file = Path(self._last.removeprefix("file://"))
        (file.parent / "version-hint.text").write_text(file.name)


def iceberg_table(table: pyarrow.Table, folder: Path) -> Any:
    return FolderCatalog("folder").created(folder / "t", table.schema)


def iceberg(table: pyarrow.Table, folder: Path) -> Kept:
    written = iceberg_table(table, folder)
    for part in _thirds(table):
        written.append(part)
    return Kept(str(folder / "t"))


def iceberg_in_folders(table: pyarrow.Table, folder: Path) -> Kept:
    written = iceberg_table(table, folder)
    with written.update_spec() as spec:
        spec.add_identity("ok")
    written.append(table)
    return Kept(written)


FORMS: Mapping[str, Keep] = {
    "list of files": list_of_files,
    "list of CSV files": list_of_csv_files,
    "JSON lines": json_lines,
    "feather": feather,
    "feather of dictionaries": feather_of_dictionaries,
    "data set": data_set,
    "data sets in one": data_sets_in_one,
    "DuckDB file": duckdb_file,
    "SQLite file": sqlite_file,
    "SQLite file of texts": sqlite_file_of_texts,
    "Delta": delta,
    "Delta in folders": delta_in_folders,
    "Delta with deleted rows": delta_with_deleted_rows,
    "Iceberg": iceberg,
    "Iceberg in folders": iceberg_in_folders,
}
