"""What is refused before a record is read, and the way that works in its place."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import pyarrow
import pyarrow.compute
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest

import prdp
from prdp.engines.duckdb import database as _database
from prdp.engines.duckdb.engine import open_source
from prdp.engines.sources import readers
from prdp.errors import InvalidRequest
from tests.engines import kept

TABLE = pyarrow.table({"v": [1, 2, 3], "ok": [True, False, None]})


def rows(source: Any, table: str | None = None, **stated: Any) -> int:
    ((found,),) = open_source(source, None, table=table, **stated).rows_of(
        "SELECT count(*) FROM prdp_records"
    )
    return int(found)


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for file in files:
        pyarrow.parquet.write_table(TABLE, file)
    return files


def test_a_list_names_every_file_once(parts: list[Path], tmp_path: Path) -> None:
    assert rows(parts) == rows(tuple(map(str, parts))) == 6
    (tmp_path / "link.parquet").symlink_to(parts[0])
    for twice in (
        [*parts, parts[0]],
        [*parts, tmp_path / "link.parquet"],
        [parts[1], tmp_path / "?.parquet"],
    ):
        with pytest.raises(InvalidRequest, match="are one file, whose records would count twice"):
            rows(twice)


def test_a_list_holds_files_of_one_format_and_nothing_else(parts: list[Path], tmp_path: Path) -> None:
    pyarrow.feather.write_feather(TABLE, tmp_path / "c.feather")
    (tmp_path / "d.json").write_text("[]")
    for given, words in (
        ([], "one or more"),
        ([1, 2], "one or more"),
        ([parts[0], tmp_path / "c.feather"], "several formats"),
        ([tmp_path / "gone.parquet"], "is no file"),
        (tmp_path / "d.json", "name it .jsonl"),
    ):
        with pytest.raises(InvalidRequest, match=words):
            rows(given)
    pyarrow.parquet.write_table(TABLE.drop_columns("v"), tmp_path / "e.parquet")
    with pytest.raises(InvalidRequest, match="different columns"):
        rows([parts[0], tmp_path / "e.parquet"])


def test_what_can_be_read_once_is_refused_with_what_can_be_read_again(parts: list[Path]) -> None:
    with pytest.raises(InvalidRequest, match=r"Give reader.read_all\(\)"):
        rows(TABLE.to_reader())
    with pytest.raises(InvalidRequest, match=r"Give scanner.to_table\(\)"):
        rows(pyarrow.dataset.dataset(parts[0]).scanner())
    assert rows(TABLE.to_reader().read_all()) == 3


def test_files_of_a_delta_table_are_refused_since_deleted_rows_are_in_them(tmp_path: Path) -> None:
    folder = tmp_path / "accounts"
    deltalake.write_deltalake(str(folder), TABLE, partition_by=["ok"])
    deltalake.DeltaTable(str(folder)).delete("v = 2")
    inside = [str(file) for file in folder.rglob("*.parquet")]
    (tmp_path / "link.parquet").symlink_to(inside[0])
    connection = duckdb.connect()
    scan = f"SELECT v FROM read_parquet('{folder}/*/*.parquet', hive_partitioning = false)"
    for given in (
        str(folder / "**" / "*.parquet"),
        inside,
        inside[0],
        tmp_path / "link.parquet",
        pyarrow.dataset.dataset(inside),
        connection.sql(scan),
    ):
        with pytest.raises(InvalidRequest, match=r"a file of a Delta table.*Give the table's folder"):
            rows(given)
    assert connection.sql(scan).fetchall() != [(1,), (3,)]  # a deleted row is still there
    for whole in (folder, str(folder), deltalake.DeltaTable(str(folder))):
        assert rows(whole) == 2


def test_files_of_an_iceberg_table_are_refused_since_deleted_rows_are_in_them(tmp_path: Path) -> None:
    table = kept.iceberg_table(TABLE, tmp_path)
    table.append(TABLE)
    table.delete("v == 2")
    with pytest.raises(InvalidRequest, match=r"a file of an Iceberg table.*Give the table's folder"):
        rows(str(tmp_path / "t" / "data" / "*.parquet"))
    assert rows(tmp_path / "t") == rows(table) == rows(table.metadata_location.removeprefix("file://")) == 2


def _spellings(file: Path) -> list[str]:
    """Return three paths of one file: its own, one with a detour, and a link."""
    link = file.with_name("link.parquet")
    link.symlink_to(file)
    return [str(file), f"{file.parent}/../{file.parent.name}/./{file.name}", str(link)]


def test_an_iceberg_table_lists_every_file_once_whatever_its_spelling(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    file = tmp_path / "files" / "a.parquet"
    pyarrow.parquet.write_table(TABLE, file)
    own, detour, link = _spellings(file)
    for number, other in enumerate((detour, link, f"file://{own}")):
        folder = tmp_path / str(number)
        folder.mkdir()
        table = kept.iceberg_table(TABLE, folder)
        table.add_files([own])
        assert rows(folder / "t") == rows(table) == 3
        table.add_files([other])
        for given in (folder / "t", table):
            with pytest.raises(InvalidRequest, match="are one file, whose records would count twice"):
                rows(given)


def test_a_delta_table_lists_every_file_once_whatever_its_spelling(tmp_path: Path) -> None:
    for number, spelled in enumerate(("./{}", "%2E/{}", "link.parquet", "{folder}/{}")):
        folder = tmp_path / str(number)
        deltalake.write_deltalake(str(folder), TABLE)
        (log,) = (folder / "_delta_log").glob("*0.json")
        assert rows(folder) == 3
        (added,) = (
            action["add"] for line in log.read_text().splitlines() if "add" in (action := json.loads(line))
        )
        (folder / "link.parquet").symlink_to(folder / added["path"])
        again = {"add": added | {"path": spelled.format(added["path"], folder=folder)}}
        log.with_name(f"{1:020}.json").write_text(json.dumps(again))
        with pytest.raises(InvalidRequest, match="are one file, whose records would count twice"):
            rows(folder)


def test_an_iceberg_folder_without_its_last_version_s_name_is_refused(tmp_path: Path) -> None:
    kept.iceberg(TABLE, tmp_path)
    (tmp_path / "t/metadata/version-hint.text").unlink()
    with pytest.raises(
        InvalidRequest, match=r"catalog.load_table\(...\), or a version of it: .*metadata.json"
    ):
        rows(tmp_path / "t")


def test_a_delta_table_with_a_feature_that_is_not_known_is_refused(tmp_path: Path) -> None:
    kept.delta_with_deleted_rows(TABLE, tmp_path)
    (log,) = (tmp_path / "t/_delta_log").glob("*0.json")
    log.write_text(log.read_text().replace('"readerFeatures":[', '"readerFeatures":["catalogManaged",'))
    with pytest.raises(InvalidRequest, match=r"catalogManaged|cannot be read as a Delta table's"):
        rows(tmp_path / "t")


def test_a_data_set_is_over_whole_files_and_declares_its_types(parts: list[Path], tmp_path: Path) -> None:
    files = pyarrow.dataset.dataset(parts)
    whole = next(files.get_fragments())
    some = pyarrow.dataset.FileSystemDataset(
        [whole.subset(row_group_ids=[])], files.schema, files.format, files.filesystem
    )
    (tmp_path / "t.csv").write_text("v\n1\n")
    for given, words in (
        (files.filter(pyarrow.compute.field("v") < 3), r"filter with .filter\(\)"),
        (some, "some row groups"),
        (pyarrow.dataset.dataset([files, pyarrow.dataset.dataset(parts[0])]), "are one file"),
        (pyarrow.dataset.dataset(TABLE), "give the Arrow table itself"),
        (pyarrow.dataset.dataset(tmp_path / "t.csv", format="csv"), "with types="),
    ):
        with pytest.raises(InvalidRequest, match=words):
            rows(given)


def test_folders_types_in_a_data_set_are_declared_and_not_guessed(tmp_path: Path) -> None:
    for year in ("2024", "2025"):
        (tmp_path / f"year={year}").mkdir()
        pyarrow.parquet.write_table(TABLE, tmp_path / f"year={year}" / "t.parquet")
    with pytest.raises(InvalidRequest, match="guessed the types of 'year'"):
        rows(pyarrow.dataset.dataset(tmp_path, partitioning="hive"))
    stated = pyarrow.dataset.partitioning(pyarrow.schema([("year", pyarrow.int32())]), flavor="hive")
    engine = open_source(pyarrow.dataset.dataset(tmp_path, partitioning=stated), None)
    assert engine.rows_of("SELECT sum(year) FROM prdp_records") == [(3 * 2024 + 3 * 2025,)]


def test_a_database_is_asked_for_one_of_its_tables(parts: list[Path], tmp_path: Path) -> None:
    duck, lite = kept.duckdb_file(TABLE, tmp_path), kept.sqlite_file(TABLE, tmp_path)
    with pytest.raises(InvalidRequest, match=r"say table='accounts'. It has main.accounts, main.others"):
        rows(duck.source)
    with pytest.raises(InvalidRequest, match=r"say table='accounts'. It has accounts"):
        rows(lite.source)
    for kind in (duck, lite):
        with pytest.raises(InvalidRequest, match="has no table 'loans'"):
            rows(kind.source, "loans")
        assert rows(kind.source, "ACCOUNTS") == 3
    assert rows(duck.source, "main.accounts") == 3
    (tmp_path / "t.duckdb").rename(tmp_path / "bank.db")
    assert rows(tmp_path / "bank.db", "accounts") == 3
    for other in (parts[0], parts, TABLE, duckdb.connect().from_arrow(TABLE)):
        with pytest.raises(InvalidRequest, match="table= is for a database"):
            rows(other, "accounts")
    parts[0].rename(tmp_path / "no.sqlite")
    with pytest.raises(InvalidRequest, match="is no SQLite database"):
        rows(tmp_path / "no.sqlite", "accounts")


def test_a_table_in_a_database_is_called_by_its_name_there(tmp_path: Path) -> None:
    table = prdp.open(kept.duckdb_file(TABLE, tmp_path).source, table="accounts", policy="1")
    assert table.name == "accounts"


def test_a_view_in_a_duckdb_file_is_read_if_its_rows_are_records(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS v FROM range(10)")
        connection.execute("CREATE VIEW few AS SELECT * FROM t WHERE v < 4")
        connection.execute("CREATE VIEW sums AS SELECT sum(v) AS v FROM t")
    engine = open_source(tmp_path / "t.duckdb", None, table="few")
    assert engine.rows_of("SELECT count(*) FROM prdp_records") == [(4,)]
    assert "v < 4" in engine.source
    assert open_source(tmp_path / "t.duckdb", None, table="t").source == ""
    with pytest.raises(InvalidRequest, match="its rows need not be records"):
        rows(tmp_path / "t.duckdb", "sums")
    assert rows(tmp_path / "t.duckdb", "sums", rows_are_records=True) == 1


def test_a_duckdb_file_is_held_only_while_it_is_read(tmp_path: Path) -> None:
    given = kept.duckdb_file(TABLE, tmp_path)
    table = prdp.open(given.source, table="accounts", policy="1", name="accounts")
    with duckdb.connect(str(given.source)) as connection:
        with pytest.raises(InvalidRequest, match=r"is open elsewhere.*connection.table\('accounts'\)"):
            table.count(share="1/10")
        assert not table.ledger.entries
        connection.execute("INSERT INTO accounts SELECT range, true FROM range(1000)")
        assert list(open_source(connection.table("accounts"), None).schema) == ["v", "ok"]
    assert table.count(share="1/10").value > 500


def test_a_duckdb_file_that_another_process_writes_to_is_refused(tmp_path: Path) -> None:
    given = kept.duckdb_file(TABLE, tmp_path)
    held = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", held, str(given.source)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(InvalidRequest, match="is open elsewhere"):
            given.opened()
        other.communicate()
    assert rows(given.source, "accounts") == 3


def test_views_and_virtual_tables_of_sqlite_are_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as database:
        database.execute("CREATE TABLE t (v INTEGER)")
        database.execute("INSERT INTO t VALUES (1), (2)")
        database.execute("CREATE VIEW w AS SELECT v FROM t")
        database.execute("CREATE VIRTUAL TABLE words USING fts5(word)")
        database.commit()
    with pytest.raises(InvalidRequest, match=r"is a view.*rows_are_records=True"):
        rows(tmp_path / "t.sqlite", "w")
    with pytest.raises(InvalidRequest, match=r"virtual table.*CREATE TABLE copy AS"):
        rows(tmp_path / "t.sqlite", "words")
    engine = open_source(tmp_path / "t.sqlite", {"v": "BIGINT"}, table="w", rows_are_records=True)
    assert engine.rows_of("SELECT sum(v) FROM prdp_records") == [(3,)]


@pytest.mark.parametrize(
    ("form", "missing", "extra"),
    [
        (kept.feather, "pyarrow", "arrow"),
        (kept.sqlite_file, "pyarrow", "arrow"),
        (kept.delta, "deltalake", "delta"),
        (kept.iceberg, "pyiceberg", "iceberg"),
    ],
)
def test_a_missing_extra_is_named_by_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, form: kept.Keep, missing: str, extra: str
) -> None:
    given = form(TABLE, tmp_path)
    monkeypatch.setattr(readers, "find_spec", lambda name: None if name == missing else find_spec(name))
    with pytest.raises(InvalidRequest, match=rf"pip install 'prdp\[{extra}\]'"):
        given.opened()


def test_a_condition_never_reaches_what_gives_batches(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever applied it could do so by statistics; were it dropped, other rows would be counted too."""
    engine = kept.data_set(TABLE, tmp_path).opened()
    query = "SELECT count(*) FROM prdp_records WHERE v < 3"
    assert engine.rows_of(query) == [(2,)]
    monkeypatch.setattr(_database, "left_off", lambda *_: "")
    careless: Any = kept.data_set(TABLE, tmp_path).opened().database
    with pytest.raises(duckdb.Error):
        careless.run(query)


def test_a_delta_table_whose_columns_have_other_names_in_its_files_is_read_by_its_own(tmp_path: Path) -> None:
    kept.delta(TABLE, tmp_path)
    rename_columns(tmp_path / "t", {"v": "number of it", "ok": "fine"})
    engine = open_source(tmp_path / "t", None)
    assert sorted(engine.rows_of('SELECT "number of it", fine FROM prdp_records')) == [
        (1, True),
        (2, False),
        (3, None),
    ]


def rename_columns(folder: Path, names: dict[str, str]) -> None:
    """Rename columns in a Delta table's log alone, as Spark's column mapping does."""
    log = folder / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "protocol" in action:
            action["protocol"] = {"minReaderVersion": 2, "minWriterVersion": 5}
        if meta := action.get("metaData"):
            schema = json.loads(meta["schemaString"])
            for number, field in enumerate(schema["fields"]):
                field["metadata"] = {
                    "delta.columnMapping.id": number + 1,
                    "delta.columnMapping.physicalName": field["name"],
                }
                field["name"] = names[field["name"]]
            meta["schemaString"] = json.dumps(schema)
            meta["configuration"] = {
                "delta.columnMapping.mode": "name",
                "delta.columnMapping.maxColumnId": str(len(names)),
            }
    log.write_text("".join(json.dumps(action) + "\n" for action in actions))


@pytest.mark.parametrize("table", [5, "", b"accounts", ["accounts"]])
def test_a_table_s_name_is_a_text(table: Any) -> None:
    with pytest.raises(InvalidRequest, match="is not a table's name"):
        prdp.open(TABLE, table=table, policy="1")
    with pytest.raises(InvalidRequest, match="table= is for a source"):
        prdp.open(engine=open_source(TABLE, None), table="accounts", policy="1")


@pytest.mark.parametrize("address", ["mariadb://ana@db.example/bank", "mysql+pymysql://ana@db.example/bank"])
@pytest.mark.parametrize("as_database", [True, False])
def test_a_join_in_a_database_of_sqlalchemy_is_refused_with_what_to_do(
    address: str, as_database: bool
) -> None:
    tables = {"people": "people", "orders": "orders" if as_database else address}
    with pytest.raises(InvalidRequest, match=r"one table at a time of MariaDB.*copy the tables into files"):
        prdp.open_join(
            tables,
            private="people",
            key="id",
            references={"orders.buyer": "people.id"},
            policy="1",
            database=address if as_database else None,
        )


@pytest.mark.parametrize("ending", ["parquet", "csv", "feather"])
def test_a_file_whose_name_is_not_utf8_is_refused_with_what_to_do(tmp_path: Path, ending: str) -> None:
    path = os.fsencode(tmp_path / "t") + b"\xff." + ending.encode()
    Path(os.fsdecode(path)).write_bytes(b"eps,v\n1,2\n")
    for given in (os.fsdecode(path), str(tmp_path / f"*.{ending}")):
        with pytest.raises(InvalidRequest, match="its name is not UTF-8"):
            prdp.open(given, policy="1")
