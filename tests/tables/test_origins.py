"""Files, relations and frames that are derived from private rows are no public tables, keys or nodes."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.dataset
import pyarrow.fs
import pyarrow.parquet
import pytest

import prdp
from prdp.engines.tracing import source_origins
from prdp.errors import InvalidRequest
from tests.origins import PRIVATE, TWIN, answered, assert_told_apart, joined, verdict

BASE = "CREATE TABLE {t} AS SELECT range AS id, range AS town FROM range(6)"
CODES = "CREATE TABLE codes AS SELECT range AS code FROM range(6)"
VIEWS = {
    "view": "CREATE VIEW {d} AS SELECT id AS code FROM {t}",
    "view with columns": "CREATE VIEW {d} (code) AS SELECT id FROM {t} WHERE id >= 0",
    "view of a view": "CREATE VIEW {d}_0 AS FROM {t}; CREATE VIEW {d} AS SELECT id AS code FROM {d}_0",
    "under its full name": "CREATE VIEW {d} AS SELECT id AS code FROM main.{t}",
    "in other letters": "CREATE VIEW {d} AS SELECT id AS code FROM {u}",
    "CTE of the same name": "CREATE VIEW {d} AS WITH {t} AS (FROM main.{t}) SELECT id AS code FROM {t}",
    "odd name": 'CREATE VIEW "{d} AS SELECT 1; --" AS FROM {t};'
    'CREATE VIEW {d} AS SELECT id AS code FROM "{d} AS SELECT 1; --"',
    "file": "CREATE VIEW {d} AS SELECT id AS code FROM '{f}'",
    "hard link": "CREATE VIEW {d} AS SELECT id AS code FROM read_parquet(['{l}'])",
    "glob": "CREATE VIEW {d} AS SELECT id AS code FROM read_parquet('{g}')",
}
"""Views that a join reads: filters and columns of one table."""

QUERIES = {
    "in": "SELECT code FROM codes WHERE code IN (SELECT id FROM {t})",
    "scalar": "SELECT code FROM codes WHERE code <= (SELECT max(id) FROM {t})",
    "exists": "SELECT code FROM codes WHERE EXISTS (FROM {t} WHERE id = code)",
    "union": "SELECT code FROM codes UNION SELECT id FROM {t}",
    "join": "SELECT code FROM codes JOIN {t} ON id = code",
    "aggregate": "SELECT id AS code FROM {t} GROUP BY id",
    "window": "SELECT row_number() OVER (ORDER BY id) AS code FROM {t}",
    "lateral": "SELECT DISTINCT x AS code FROM codes, LATERAL (SELECT id AS x FROM {t})",
    "recursive": "WITH RECURSIVE r AS (SELECT min(id) AS code FROM {t} "
    "UNION SELECT code + 1 FROM r WHERE code < 5) SELECT code FROM r",
    "sample": "SELECT id AS code FROM {t} USING SAMPLE 100%",
    "macro": "SELECT id AS code FROM table_{t}()",
    "scalar macro": "SELECT code FROM codes WHERE code <= scalar_{t}(1)",
    "file read in a subquery": "SELECT code FROM codes WHERE code IN (SELECT id FROM '{f}')",
    "limit": "SELECT code FROM codes LIMIT (SELECT count(*) FROM {t})",
    "temporary view": "SELECT code FROM temp_{t}",
    "CTE over a file of its name": 'WITH "{f}" AS (FROM \'{f}\') SELECT id AS code FROM "{f}"',
    "recursive CTE over a file of its name": "WITH RECURSIVE \"{f}\" AS (SELECT id AS code FROM '{f}' "
    'UNION SELECT code + 1 FROM "{f}" WHERE code < 5) SELECT code FROM "{f}"',
    "CTE of a file's name elsewhere": "SELECT id AS code FROM '{f}' WHERE EXISTS "
    '(WITH "{f}" AS (SELECT 1) FROM "{f}")',
    "CTE of a file's name after it": "WITH a AS (FROM '{f}'), \"{f}\" AS (SELECT 1) SELECT id AS code FROM a",
}
HIDDEN = {
    "query()": "SELECT id AS code FROM query('FROM {t}')",
    "query_table()": "SELECT id AS code FROM query_table('{t}')",
    "variable": "SELECT unnest(getvariable('held_{t}')) AS code",
    "variable as a file": "SELECT id AS code FROM read_parquet(getvariable('file_{t}'))",
    "function in Python": "SELECT code FROM codes WHERE python_{t}(code) > 0",
    "sizes": "SELECT estimated_size AS code FROM duckdb_tables() WHERE table_name = '{t}'",
    "frame": "SELECT id AS code FROM frame_{t}",
    "sequence": "SELECT code FROM codes WHERE code < currval('numbers_{t}')",
    "pivot": "SELECT code FROM (PIVOT {t} ON id USING count(*)), codes",
}
"""Through these no catalogue sees; the twin's are refused as well."""


def prepared(database: duckdb.DuckDBPyConnection, folder: Path) -> None:
    database.execute(CODES)
    for table in (PRIVATE, TWIN):
        database.execute(BASE.format(t=table))
        file = folder / f"{table}.parquet"
        if not file.exists():
            database.execute(f"COPY {table} TO '{file}'")
            os.link(file, folder / f"hard_{table}.parquet")


def spelled(form: str, table: str, folder: Path, name: str = "") -> str:
    return form.format(
        t=table,
        d=name,
        u=table.upper(),
        f=folder / f"{table}.parquet",
        l=folder / f"hard_{table}.parquet",
        g=folder / f"{table[:4]}*.parquet",
    )


@pytest.mark.slow
@pytest.mark.parametrize("by_file", [False, True])
def test_a_view_of_a_database_s_file_is_traced_to_its_tables_and_files(tmp_path: Path, by_file: bool) -> None:
    """The private table is a file where the views read one."""
    forms = {
        form: sql for form, sql in VIEWS.items() if by_file is bool({"{f}", "{l}", "{g}"} & set(_fields(sql)))
    }
    found = {}
    for place, (form, sql) in enumerate(forms.items()):
        verdicts = []
        for table in (PRIVATE, TWIN):
            file = tmp_path / f"{table}_{place}.duckdb"
            with duckdb.connect(str(file)) as database:
                prepared(database, tmp_path)
                database.execute(spelled(sql, table, tmp_path, "d"))
            os.link(file, tmp_path / f"other_{table}_{place}.duckdb")
            private = tmp_path / "people.parquet" if by_file else tmp_path / f"other_{table}_{place}.duckdb"
            verdicts.append(verdict(private, file))
        found[form] = (verdicts[0], verdicts[1])
    assert_told_apart(found, {})


def _fields(form: str) -> list[str]:
    return [mark for mark in ("{f}", "{l}", "{g}") if mark in form]


def test_one_path_of_two_tables_is_two_sources(tmp_path: Path) -> None:
    file = tmp_path / "shop.duckdb"
    with duckdb.connect(str(file)) as database:
        prepared(database, tmp_path)
        database.execute("CREATE VIEW d AS SELECT id AS code FROM places")
    answered(file, file)
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as shop:
        shop.execute("CREATE TABLE people (id INTEGER, town INTEGER)")
        shop.execute("CREATE TABLE d (code INTEGER)")
        shop.execute("INSERT INTO d VALUES (1)")
        shop.commit()
    one = str(tmp_path / "shop.sqlite")
    answered(one, one)


def test_views_of_sqlite_are_traced_by_its_authorizer(tmp_path: Path) -> None:
    file = tmp_path / "shop.sqlite"
    with closing(sqlite3.connect(file)) as shop:
        for table in (PRIVATE, TWIN):
            shop.execute(f"CREATE TABLE {table} (id INTEGER, town INTEGER)")
            shop.execute(f"CREATE VIEW v_{table} AS SELECT id FROM {table.upper()}")
            shop.execute(f"CREATE VIEW w_{table} AS SELECT 1 AS one WHERE 1 IN (SELECT id FROM v_{table})")
        shop.execute("CREATE VIEW each AS SELECT value FROM json_each('[1]')")
        shop.commit()
    private = source_origins(file, PRIVATE)
    for view in ("v_people", "w_people", "people", "PEOPLE"):
        assert private.shared(source_origins(file, view))
        assert not source_origins(file, view).untraced
    for view in ("v_places", "w_places", "places"):
        assert not private.shared(source_origins(file, view))
        assert not source_origins(file, view).untraced
    assert source_origins(file, "each").untraced


@pytest.fixture
def database(tmp_path: Path) -> duckdb.DuckDBPyConnection:
    opened = duckdb.connect()
    prepared(opened, tmp_path)
    for table in (PRIVATE, TWIN):
        opened.execute(
            f"CREATE SEQUENCE numbers_{table}; SELECT max(nextval('numbers_{table}')) FROM {table}"
        )
        opened.execute(f"CREATE MACRO table_{table}() AS TABLE FROM {table}")
        opened.execute(f"CREATE MACRO scalar_{table}(x) AS (SELECT max(id) FROM {table})")
        opened.execute(f"CREATE TEMP VIEW temp_{table} AS SELECT id AS code FROM {table}")
        opened.execute(f"SET VARIABLE held_{table} = (SELECT list(id) FROM {table})")
        opened.execute(f"SET VARIABLE file_{table} = '{tmp_path}/{table}.parquet'")
        opened.create_function(f"python_{table}", lambda one: one, ["BIGINT"], "BIGINT")
        opened.register(f"frame_{table}", pyarrow.table({"id": [1, 2]}))
    return opened


def test_a_relation_is_traced_to_what_its_sql_reads(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    private = [source_origins(database.table("people")), source_origins(tmp_path / "people.parquet")]
    found: dict[str, tuple[str, str]] = {}
    plain = {
        form: sql.rpartition(" AS SELECT ")[2]
        for form, sql in VIEWS.items()
        if ";" not in sql and "WITH" not in sql
    }
    for form, sql in ({name: f"SELECT {sql}" for name, sql in plain.items()} | QUERIES | HIDDEN).items():
        verdicts = []
        for table in (PRIVATE, TWIN):
            origins = source_origins(database.sql(spelled(sql, table, tmp_path)))
            shared = any(one.shared(origins) for one in private)
            verdicts.append(
                "cannot be traced" if origins.untraced else "have one source" if shared else "answered"
            )
        found[form] = (verdicts[0], verdicts[1])
    assert_told_apart(found, HIDDEN)


def test_a_relation_over_private_rows_is_no_public_node_set(
    database: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    stated: dict[str, Any] = {"source": "id", "target": "town", "policy": "1", "name": "g"}
    for sql in (sql for sql in QUERIES.values() if "{t}" in sql):
        with pytest.raises(InvalidRequest, match=r"one source|cannot be traced"):
            prdp.graphs.open(
                database.table("people"), nodes=database.sql(spelled(sql, PRIVATE, tmp_path)), **stated
            )
    nodes = database.sql("SELECT code FROM codes")
    assert prdp.graphs.open(database.table("people"), nodes=nodes, **stated).ledger.remaining == 1


Lazy = Callable[[Any, Any, Path], Any]
PEOPLE = {"id": [1, 2, 3], "town": [1, 2, 3]}
LAZY: Mapping[str, Lazy] = {
    "lazy again": lambda frame, scan, file: frame.lazy(),
    "select": lambda frame, scan, file: frame.lazy().select(polars.col("id").alias("code")),
    "filter": lambda frame, scan, file: frame.lazy().filter(polars.col("id") > 0),
    "slice": lambda frame, scan, file: frame[1:].lazy(),
    "renamed": lambda frame, scan, file: frame.rename({"town": "t"}).lazy(),
    "scan again": lambda frame, scan, file: polars.scan_parquet(file),
    "scan of text": lambda frame, scan, file: polars.scan_parquet(str(file)).filter(polars.col("id") > 0),
    "scan of a URI": lambda frame, scan, file: polars.scan_parquet(f"file://{file}"),
    "scan of a hard link": lambda frame, scan, file: polars.scan_parquet(file.parent / f"hard_{file.name}"),
    "scan of a glob": lambda frame, scan, file: polars.scan_parquet(
        f"{file.parent}/{file.name[:5]}*.parquet"
    ),
    "scan by a link": lambda frame, scan, file: polars.scan_parquet(file.parent / f"soft_{file.name}"),
}


def as_code(frame: Any) -> Any:
    names = frame.collect_schema().names()
    return frame if names == ["code"] else frame.select(polars.col("id").alias("code"))


def test_lazy_frames_of_polars_are_traced_to_files_and_memory(tmp_path: Path) -> None:
    frames, files = {}, {}
    for table in (PRIVATE, TWIN):
        frames[table] = polars.DataFrame(PEOPLE)
        files[table] = tmp_path / f"{table}.parquet"
        frames[table].write_parquet(files[table])
        os.link(files[table], tmp_path / f"hard_{table}.parquet")
        os.symlink(files[table], tmp_path / f"soft_{table}.parquet")
    found: dict[str, tuple[str, str]] = {}
    for form, derive in LAZY.items():
        private = polars.scan_parquet(files[PRIVATE]) if "scan" in form else frames[PRIVATE].lazy()
        first, second = (
            verdict(private, as_code(derive(frames[table], None, files[table]))) for table in (PRIVATE, TWIN)
        )
        found[form] = (first, second)
    assert_told_apart(found, {})


def test_what_polars_does_not_show_is_untraced(tmp_path: Path) -> None:
    frame = polars.DataFrame(PEOPLE)
    for lazy in (
        frame.lazy().map_batches(lambda one: one),
        polars.LazyFrame({"x": [1]}).with_columns(polars.lit(frame["id"]).first()),
        polars.LazyFrame({"x": [1]}).select(
            polars.col("x").replace_strict(frame["id"], [1, 2, 3], default=0)
        ),
        frame.lazy().select(polars.col("id").map_elements(lambda one: one, return_dtype=polars.Int64)),
    ):
        assert source_origins(lazy).untraced
    frame.write_ipc(tmp_path / "people.arrow")
    scan = source_origins(polars.scan_ipc(tmp_path / "people.arrow"))
    assert scan.shared(source_origins(tmp_path / "people.arrow"))


def test_data_sets_of_arrow_are_traced_to_files_and_memory(tmp_path: Path) -> None:
    table = pyarrow.table(PEOPLE)
    for name in (PRIVATE, TWIN):
        pyarrow.parquet.write_table(table, tmp_path / f"{name}.parquet")
    below = pyarrow.fs.SubTreeFileSystem(str(tmp_path), pyarrow.fs.LocalFileSystem())
    dataset = pyarrow.dataset.dataset
    private = source_origins(tmp_path / "people.parquet")
    for name, is_private in ((PRIVATE, True), (TWIN, False)):
        whole = dataset(tmp_path / f"{name}.parquet")
        for derived in (
            whole,
            whole.filter(pyarrow.dataset.field("id") > 1),
            dataset(f"{name}.parquet", filesystem=below),
            dataset([whole, dataset(tmp_path / f"{name}.parquet")]),
        ):
            origins = source_origins(derived)
            assert bool(private.shared(origins)) is is_private
            assert not origins.untraced
    assert source_origins(table).shared(source_origins(dataset(table)))


def frames_of(columns: Mapping[str, list[int]]) -> dict[str, Any]:
    return {
        "pandas": pandas.DataFrame(columns),
        "polars": polars.DataFrame(columns),
        "arrow": pyarrow.table(columns),
        "numpy": {name: np.array(values) for name, values in columns.items()},
    }


def columns_of(frame: Any) -> dict[str, Any]:
    return {
        "itself": frame,
        "a dict of a column": {"id": frame["id"]},
        "a select": {"id": frame["id"]} if isinstance(frame, dict) else _selected(frame),
    }


def _selected(frame: Any) -> Any:
    return frame.select(["id"]) if hasattr(frame, "select") else frame[["id"]]


@pytest.mark.parametrize("kind", frames_of(PEOPLE))
def test_frames_in_memory_are_refused_at_every_entry_and_their_twins_taken(kind: str) -> None:
    frame, twin = frames_of(PEOPLE)[kind], frames_of(PEOPLE)[kind]
    table = prdp.open(frame, policy="1", name="people", ledger=prdp.ledger.MemoryLedger())
    text = "SELECT COUNT(*) FROM people JOIN p ON people.id = p.id"
    for derived, honest in zip(columns_of(frame).values(), columns_of(twin).values(), strict=True):
        entries: list[Callable[[Any], Any]] = [
            lambda given: table.explain_sql(text, share="1/9", tables={"p": given}),
            lambda given: table.explain_sql(
                "SELECT id, COUNT(*) FROM people GROUP BY id", share="1/9", keys={"id": given["id"]}
            ),
            lambda given: table.group_by("id", keys=given["id"]),
        ]
        for entry in entries:
            with pytest.raises(InvalidRequest, match="have one source"):
                entry(derived)
            entry(honest)


def test_two_maps_of_one_file_are_one_source(tmp_path: Path) -> None:
    for name in (PRIVATE, TWIN):
        np.arange(6).tofile(tmp_path / name)

    def mapped(name: str) -> Any:
        return np.memmap(tmp_path / name, np.int64, "r")

    private = source_origins({"id": mapped(PRIVATE)})
    assert private.shared(source_origins({"code": mapped(PRIVATE)[2:].reshape(2, 2)[:, 1]}))
    assert private.shared(source_origins(pandas.DataFrame({"code": mapped(PRIVATE)}, copy=False)))
    assert not private.shared(source_origins({"code": mapped(TWIN)}))


PANDAS_TYPES = (
    *("int64", "float64", "bool", "Int64", "Float64", "boolean", "category", "int64[pyarrow]"),
    *("string[python]", "string[pyarrow]", "datetime64[ns]", "datetime64[ns, UTC]", "timedelta64[s]"),
)
POLARS_TYPES = (
    *(polars.Int64, polars.UInt8, polars.Float64, polars.Boolean, polars.String, polars.Categorical),
    *(polars.Enum(["0", "1"]), polars.Date, polars.Datetime("us"), polars.Decimal(20, 2), polars.Binary),
)


@pytest.mark.parametrize("kind", PANDAS_TYPES)
def test_a_pandas_column_of_any_type_is_traced_to_its_memory(kind: str) -> None:
    column, twin = (pandas.Series([0, 1, 1] * 100).astype(kind) for _ in range(2))
    private = source_origins(column.to_frame("id"))
    for derived in (
        column.array,
        column.reset_index(drop=True),
        column[3:].reset_index(drop=True).to_frame(),
    ):
        assert private.shared(source_origins(derived))
    for honest in (twin, twin.array, twin.to_frame()):
        assert not private.shared(source_origins(honest))


@pytest.mark.parametrize("kind", POLARS_TYPES, ids=str)
def test_a_polars_column_of_any_type_is_traced_to_its_memory_and_not_to_its_type(kind: Any) -> None:
    values = [0, 1, 1] * 100
    texts = kind in (polars.Categorical, polars.String, polars.Binary) or kind == polars.Enum
    column, twin = (
        polars.Series("id", list(map(str, values)) if texts else values).cast(kind) for _ in range(2)
    )
    private = source_origins(column.to_frame())
    for derived in (column, column[3:], column.to_frame().lazy()):
        assert private.shared(source_origins(derived))
    for honest in (twin, twin.to_frame(), twin.to_frame().lazy()):
        assert not private.shared(source_origins(honest))


def test_an_object_whose_memory_is_unknown_is_written_out_as_lists() -> None:
    class Foreign:
        def to_pydict(self) -> dict[str, list[int]]:
            return {"id": [1, 2]}

    table = prdp.open(pandas.DataFrame(PEOPLE), policy="1", name="people", ledger=prdp.ledger.MemoryLedger())
    text = "SELECT COUNT(*) FROM people JOIN p ON people.id = p.id"
    with pytest.raises(InvalidRequest, match=r"cannot be traced .*as lists"):
        table.explain_sql(text, share="1/9", tables={"p": Foreign()})
    table.explain_sql(text, share="1/9", tables={"p": Foreign().to_pydict()})


def test_a_hard_link_to_a_file_of_a_lake_is_a_part_of_the_lake(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    for name in (PRIVATE, TWIN):
        deltalake.write_deltalake(str(tmp_path / name), pyarrow.table(PEOPLE))
        (file,) = (tmp_path / name).glob("*.parquet")
        os.link(file, tmp_path / f"{name}.parquet")
    private = source_origins(tmp_path / PRIVATE)
    assert private.shared(source_origins(tmp_path / "people.parquet"))
    assert not private.shared(source_origins(tmp_path / "places.parquet"))
    assert private.shared(source_origins(deltalake.DeltaTable(str(tmp_path / PRIVATE))))


def test_a_copy_is_a_source_of_its_own(tmp_path: Path) -> None:
    """Nobody can see that it is one; the pages say so."""
    pyarrow.parquet.write_table(pyarrow.table(PEOPLE), tmp_path / "people.parquet")
    shutil.copy(tmp_path / "people.parquet", tmp_path / "copy.parquet")
    assert not source_origins(tmp_path / "people.parquet").shared(source_origins(tmp_path / "copy.parquet"))
    assert joined(pyarrow.table(PEOPLE), pyarrow.table({"code": PEOPLE["id"]})).ledger.remaining == 1


def test_a_query_that_has_not_been_run_is_refused_by_its_type_at_every_entry() -> None:
    table = prdp.open(pandas.DataFrame(PEOPLE), policy="1", name="people", ledger=prdp.ledger.MemoryLedger())
    grouped, text = (
        "SELECT id, COUNT(*) FROM people GROUP BY id",
        "SELECT COUNT(*) FROM people JOIN p ON 1 = 1",
    )
    for query in (duckdb.sql("SELECT * FROM (VALUES (1), (2)) AS t (id)"), polars.LazyFrame({"id": [1, 2]})):
        entries: list[Callable[[Any], Any]] = [
            lambda given: table.group_by("id", keys=given),
            lambda given: table.group_by("id", keys={"id": given}),
            lambda given: table.explain_sql(grouped, share="1/9", keys={"id": given}),
            lambda given: table.explain_sql(text, share="1/9", tables={"p": given}),
        ]
        for entry in entries:
            with pytest.raises(InvalidRequest, match=f"{type(query).__name__}, a query .* run it yourself"):
                entry(query)
