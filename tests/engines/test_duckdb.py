"""DuckDB meets the contract, whatever the records come in."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest

from prdp.cells.measure import Measure
from prdp.declare.groups import date_trunc, read_grouping
from prdp.engines.duckdb.database import connected
from prdp.engines.duckdb.engine import open_source
from prdp.engines.sql_engine import SqlEngine
from prdp.errors import EngineFailure, InvalidRequest
from prdp.expressions.check import check
from prdp.expressions.nodes import Arithmetic, Column, Number
from prdp.expressions.parse import parse
from prdp.levels import Levels
from prdp.plan.reads import CellRead, KeyRead
from prdp.policy import Policy
from prdp.schema import Kind
from prdp.testing.engine_contract import PERSONAL, VALUE, EngineContract
from prdp.testing.engine_equality import EqualityContract

SCHEMA = pyarrow.schema(
    [
        ("eps", pyarrow.float64()),
        ("v", pyarrow.int64()),
        ("x", pyarrow.float64()),
        ("job", pyarrow.string()),
        ("day", pyarrow.timestamp("us")),
    ]
)
TYPES = {"eps": "DOUBLE", "v": "BIGINT", "x": "DOUBLE", "job": "VARCHAR"}


def arrow(records: Sequence[Mapping[str, Any]]) -> pyarrow.Table:
    return pyarrow.Table.from_pylist([dict(record) for record in records], schema=SCHEMA)


class InMemory(EngineContract):
    """A table that cannot be lost: the engine holds it, and nobody can change its columns."""

    def lost(self, _: Sequence[Mapping[str, Any]]) -> None:
        return None

    def changed(self, _: Sequence[Mapping[str, Any]]) -> None:
        return None


class TestArrow(InMemory):
    def engine(self, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        return open_source(arrow(records), None)


class TestTwoKeys(InMemory):
    brief = True

    def engine(self, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        return open_source(arrow(records), None, own_column=False)


class TestParquet(EngineContract, EqualityContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def engine(self, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        half = len(records) // 2
        for number, part in enumerate((records[:half], records[half:])):
            pyarrow.parquet.write_table(arrow(part), self.folder / f"part{number}.parquet")
        return open_source(str(self.folder / "part*.parquet"), None)

    def lost(self, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        engine = self.engine(records)
        for part in self.folder.glob("part*.parquet"):
            part.unlink()
        return engine

    def changed(self, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        engine = self.engine(records)
        for part in self.folder.glob("part*.parquet"):
            pyarrow.parquet.write_table(arrow(records).drop_columns("v"), part)
        return engine


class TestRelation(EngineContract):
    """Also with the setting that turns a division by zero into NULL."""

    brief = True

    def engine(self, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        connection = duckdb.connect()
        connection.execute("SET ieee_floating_point_ops = false")
        return open_source(connection.from_arrow(arrow(records)), None)

    def lost(self, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        return self.after("DROP TABLE accounts", records)

    def changed(self, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        return self.after("ALTER TABLE accounts ALTER v TYPE DOUBLE", records)

    def after(self, statement: str, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        connection = duckdb.connect()
        connection.from_arrow(arrow(records)).create("accounts")
        engine = open_source(connection.table("accounts"), None)
        connection.execute(statement)
        return engine


@pytest.mark.slow
class TestRelationInFull(TestRelation):
    brief = False


class TestPolars(InMemory):
    brief = True

    def engine(self, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        return open_source(pl.from_arrow(arrow(records)), None)


class TestPandas(InMemory):
    brief = True

    def engine(self, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        frame = arrow(records).to_pandas(types_mapper=pd.ArrowDtype)
        return open_source(frame, None)


def test_csv_cells_that_do_not_fit_are_missing_and_lines_that_do_not_are_no_records(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        'eps,v,x,job\n0.5,1,2.5,clerk\n0.5,oops,2.5,"a,b"\nnan,3,x\n,,,\n1,2,3,4,5\n', encoding="utf-8"
    )
    engine = open_source(path, TYPES)
    assert [kind.native for kind in engine.schema.values()] == list(TYPES.values())
    assert engine.rows_of("SELECT v, job FROM prdp_records") == [
        (1, "clerk"),
        (None, "a,b"),
        (None, None),
    ]


def test_csv_without_declared_types_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("balance,age\n1,2\n", encoding="utf-8")
    with pytest.raises(InvalidRequest, match=r"types=\{'balance': 'BIGINT'"):
        open_source(path, None)


def test_numpy_columns_can_be_opened() -> None:
    engine = open_source({"v": np.arange(5), "eps": np.ones(5)}, None)
    assert list(engine.schema) == ["v", "eps"]


def test_columns_of_python_objects_are_not_read_and_texts_are_cast_as_declared() -> None:
    objects = pd.DataFrame({"v": pd.Series(["1", "2", "x"], dtype=object), "w": [1, 2, 3]})
    assert open_source(objects, None).schema["v"].kind is Kind.OTHER
    with pytest.raises(InvalidRequest, match="holds Python objects"):
        open_source(objects, {"v": "BIGINT"})
    texts = objects.astype({"v": "string"})
    found = open_source(texts, {"v": "BIGINT"}).rows_of("SELECT v FROM prdp_records")
    assert found == [(1,), (2,), (None,)]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("nowhere.parquet", "is no file"),
        ("none*.csv", "is no file"),
        (42, "cannot read this builtins.int"),
        ("s3://bucket/t.parquet", "not a local file"),
        (".", "is a folder"),
        ({"v": [1, 2]}, "numpy.asarray"),
        ({"v": np.arange(2), "w": np.arange(3)}, "all of one length"),
        (__file__, "neither Parquet"),
    ],
)
def test_a_source_that_cannot_be_opened_is_refused_by_public_facts(source: object, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        open_source(source, None)


def test_a_failure_while_reading_says_nothing_about_the_records(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    records = [{"v": k, "eps": 0.5, "x": k / 7} for k in range(1000)]
    pyarrow.parquet.write_table(arrow(records), path, compression="none")
    engine = open_source(path, None)
    raw = bytearray(path.read_bytes())
    footer = int.from_bytes(raw[-8:-4], "little")
    raw[4 : -footer - 8] = b"\xff" * (len(raw) - footer - 12)
    path.write_bytes(raw)
    contract = TestArrow()
    contract.engine = lambda records: engine  # type: ignore[method-assign]
    with pytest.raises(EngineFailure) as caught:
        contract.summary([], PERSONAL, VALUE)
    assert str(caught.value) == str(EngineFailure())
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize("native", ["UBIGINT", "HUGEINT"])
def test_whole_numbers_beyond_64_bits_are_moved_into_their_bounds(native: str) -> None:
    connection = duckdb.connect()
    values = [0, 1, 7, 2**64 - 1] + ([2**120] if "HUGE" in native else [])
    listed = ", ".join(f"({value}::{native})" for value in values)
    relation = connection.sql(f"SELECT v, 0.5::DOUBLE AS eps FROM (VALUES {listed}, (NULL)) AS t(v)")
    engine = open_source(relation, None, rows_are_records=True)
    policy = PERSONAL.within(engine.schema, {})
    measure = Measure("v", Fraction(1), -5, 10)
    levels = Levels(Fraction(1, 10), Fraction(10))
    (summary,) = engine.summarise(CellRead(policy, levels, {}, measure, None))
    assert sum(cell.total for cell in summary.cells) == sum(min(value, 10) for value in values)
    assert sum(cell.count for cell in summary.cells) == len(values) + 1


def test_a_filter_with_or_does_not_reach_around_the_bounds() -> None:
    source = {"v": np.array([-5, 5, 50, 500]), "age": np.array([70, 10, 70, 70])}
    engine = open_source(source, None)
    bounds = {"v": (Fraction(0), Fraction(100))}
    policy = Policy("10 / v", at_most=10).within(engine.schema, bounds)
    condition = check(parse("age > 60 OR v > 40"), engine.schema, Kind.BOOLEAN, "")
    levels = Levels(Fraction(1, 10), Fraction(10))
    reading = CellRead(policy, levels, bounds, Measure("v", Fraction(1), 0, 100), condition)
    assert [cell.total for cell in engine.summarise(reading)[0].cells] == [50]


def test_the_values_of_a_categorical_column_are_no_part_of_its_type() -> None:
    frame = pd.DataFrame({"job": pd.Categorical(["spy", "clerk"])})
    for source in (frame, {"job": np.array(["spy", "clerk"])}):
        assert "spy" not in repr(open_source(source, None).schema)


@pytest.mark.parametrize(
    "odd",
    [b'1,3,"x"y', b'"', b'1,3,"abc', b'1,3,"a"""b"', b"1,3,b\r", b"1,3,caf\xe9", b"\x01", b"1,3", b"1,2,3,4"],
)
def test_one_line_of_a_csv_file_never_changes_how_another_is_read(tmp_path: Path, odd: bytes) -> None:
    types = {"eps": "DOUBLE", "v": "BIGINT", "job": "VARCHAR"}
    good = [f'0.5,{k},"job, {k}"'.encode() for k in range(2000)]
    counts = []
    for name, lines in (("with", [*good[:1000], odd, *good[1000:]]), ("without", good)):
        path = tmp_path / f"{name}.csv"
        path.write_bytes(b"eps,v,job\n" + b"\n".join(lines) + b"\n")
        rows = open_source(path, types).rows_of("SELECT v, job FROM prdp_records")
        assert set(rows) >= {(k, f"job, {k}") for k in range(2000)}
        counts.append(len(rows))
    assert counts[0] - counts[1] in {0, 1}


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        (b"eps,v\n1,2\n", b"v,eps\n1,2\n", "different columns"),
        (b"\xff\xfe\n1,2\n", b"", "no readable first line"),
        (b"", b"", "no readable first line"),
    ],
)
def test_csv_headers_that_disagree_or_cannot_be_read_are_refused(
    tmp_path: Path, first: bytes, second: bytes, says: str
) -> None:
    (tmp_path / "a.csv").write_bytes(first)
    if second:
        (tmp_path / "b.csv").write_bytes(second)
    with pytest.raises(InvalidRequest, match=says):
        open_source(str(tmp_path / "*.csv"), {"eps": "DOUBLE", "v": "BIGINT"})


def test_opening_a_csv_file_reads_no_more_than_its_first_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"eps,v\n1,caf\xe9 SECRET\n")
    assert list(open_source(path, {"v": "BIGINT"}).schema) == ["v"]
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(b"eps,v\n" + b"1,2\n" * 100_000)[:400])
    assert list(open_source(packed, {"v": "BIGINT"}).schema) == ["v"]


def test_parquet_files_of_different_types_are_refused(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"v": [1]}), tmp_path / "a.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"v": ["SECRET"]}), tmp_path / "b.parquet")
    with pytest.raises(InvalidRequest, match="different columns or types") as caught:
        open_source(str(tmp_path / "*.parquet"), None)
    assert "SECRET" not in str(caught.value)


def test_parquet_files_of_different_writers_are_one_table(tmp_path: Path) -> None:
    moment = datetime(2025, 3, 1, tzinfo=UTC)
    table = pyarrow.table(
        {
            "whole": [1], "small": pyarrow.array([1], pyarrow.int8()), "x": [1.5], "s": ["a"], "b": [True],
            "bytes": [b"a"], "day": [moment.date()], "at": [moment.replace(tzinfo=None)], "zoned": [moment],
            "money": [Decimal("1.50")], "list": [[1]],
        }
    )  # fmt: skip
    pyarrow.parquet.write_table(table, tmp_path / "arrow.parquet")
    pl.from_arrow(table).write_parquet(tmp_path / "polars.parquet")  # type: ignore[union-attr]
    duckdb.from_arrow(table).write_parquet(str(tmp_path / "duckdb.parquet"))
    files = [tmp_path / f"{writer}.parquet" for writer in ("arrow", "polars", "duckdb")]
    for given in ([files[0], files[1]], [files[1], files[2]], [files[2], files[0]], files[::-1]):
        engine = open_source([str(file) for file in given], None)
        assert engine.schema == open_source(files[0], None).schema
        policy = Policy.constant(1).within(engine.schema, {})
        (whole,) = engine.summarise(CellRead(policy, policy.levels, {}, None, None))
        assert sum(cell.count for cell in whole.cells) == len(given)


def test_columns_that_differ_in_capitals_alone_are_refused(tmp_path: Path) -> None:
    table = pyarrow.table({"eps": [1.0], "EPS": [2.0]})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    nested = pyarrow.table({"v": [{"eps": 1, "w": [1]}], "eps": [2.0]})
    pyarrow.parquet.write_table(nested, tmp_path / "nested.parquet")
    for source in (table, tmp_path / "t.parquet", {"v": np.ones(1), "V": np.ones(1)}):
        with pytest.raises(InvalidRequest, match="except for upper and lower case"):
            open_source(source, None)
    assert list(open_source(tmp_path / "nested.parquet", None).schema) == ["v", "eps"]


def test_types_whose_values_an_engine_may_fail_on_are_not_read() -> None:
    connection = duckdb.connect()
    assert open_source(connection.sql("SELECT 1::UHUGEINT AS v"), None).schema["v"].kind is Kind.OTHER
    for source in (pl.LazyFrame({"v": [1]}), arrow([]).to_reader()):
        with pytest.raises(InvalidRequest, match="cannot read this"):
            open_source(source, None)


@pytest.mark.parametrize(
    "name", ["code", "level", "budget", "value", "records", "CODE", "prdp_records", 'a"b']
)
def test_a_column_may_have_any_name(name: str) -> None:
    engine = open_source({name: np.arange(1, 50)}, None)
    bounds = {name: (Fraction(0), Fraction(100))}
    policy = Policy.of(Arithmetic("/", Number(10.0), Column(name)), at_most=10).within(engine.schema, bounds)
    levels = Levels(Fraction(1, 10), Fraction(10))
    (summary,) = engine.summarise(CellRead(policy, levels, bounds, Measure(name, Fraction(1), 0, 100), None))
    assert sum(cell.total for cell in summary.cells) == sum(range(1, 50))


def test_tables_of_one_connection_are_never_taken_for_each_other() -> None:
    """Relations share their connection's names and its one statement at a time."""
    connection = duckdb.connect()
    sizes = (100, 300, 7)
    engines = [open_source(connection.sql(f"SELECT 0.5::DOUBLE AS eps FROM range({n})"), None) for n in sizes]
    found: dict[int, set[int]] = {n: set() for n in sizes}

    def ask(engine: SqlEngine, size: int) -> None:
        reading = CellRead(
            PERSONAL.within(engine.schema, {}), Levels(Fraction(1, 10), Fraction(10)), {}, None, None
        )
        for _ in range(40):
            found[size].add(sum(cell.count for cell in engine.summarise(reading)[0].cells))

    threads = [
        threading.Thread(target=ask, args=(engine, size)) for engine, size in zip(engines, sizes, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: {n} for n in sizes}


@pytest.mark.parametrize(
    ("values", "by", "keys", "counts"),
    [
        ("(18446744073709551615::UBIGINT), (7)", "c", [7, 9], [1, 0]),
        ("(170141183460469231731687303715884105727::HUGEINT), (7)", "c", [7], [1]),
        ("(1.50::DECIMAL(38,2)), (-7)", "c", [Fraction(3, 2), -7], [1, 1]),
        ("(0.1::FLOAT), ('nan'), ('inf')", "c", [0.1], [1]),  # a key is rounded as the column's values are
        ("(0.5::FLOAT), ('-0.0'), ('-inf')", "c", [0.5, 0], [1, 1]),
        ("('a'::ENUM ('a', 'b')), ('b'), (NULL)", "c", ["a", "c"], [1, 0]),
        ("(TRUE), (NULL)", "c", [True, False], [1, 0]),
        ("('infinity'::TIMESTAMP), ('-infinity'), ('290309-12-22 (BC) 00:00:00'), ('2025-05-05')", "month",
         ["2025-05-01"], [1]),
        ("('infinity'::DATE), ('5877642-06-25 (BC)'), ('2025-05-05')", "month", ["2025-05-01"], [1]),
        ("('infinity'::TIMESTAMP_S), ('2025-05-05')", "c", ["2025-05-05"], [1]),
    ],
)  # fmt: skip
def test_keys_of_every_type_are_distinguished_and_none_makes_the_statement_fail(
    values: str, by: str, keys: list[Any], counts: list[int]
) -> None:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'Pacific/Kiritimati'")
    engine = open_source(
        connection.sql(f"SELECT c, 1.0::DOUBLE AS eps FROM (VALUES {values}) AS t(c)"),
        None,
        rows_are_records=True,
    )
    policy = Policy.constant(1).within(engine.schema, {})
    grouping = read_grouping([by if by == "c" else date_trunc(by, "c")], keys, engine.schema)
    found = engine.summarise(CellRead(policy, policy.levels, {}, None, None, grouping))
    assert [sum(cell.count for cell in summary.cells) for summary in found] == counts
    totals = engine.key_totals(KeyRead(policy, policy.levels, "c", None))
    assert totals[0].keys >= 1


@pytest.mark.parametrize(
    "setting",
    ["CREATE TABLE t (k VARCHAR COLLATE NOCASE)", "CREATE TABLE t (k VARCHAR COLLATE NOACCENT)",
     "SET default_collation = 'nocase'; CREATE TABLE t (k VARCHAR)",
     "SET default_collation = 'nocase'; CREATE TABLE t (k ENUM ('a', 'A', 'é', 'e'))"],
)  # fmt: skip
def test_no_collation_puts_a_record_into_two_groups_or_two_values_into_one(setting: str) -> None:
    connection = duckdb.connect()
    for statement in setting.split(";"):
        connection.execute(statement)
    connection.execute("INSERT INTO t VALUES ('a'), ('é')")
    engine = open_source(connection.table("t"), None)
    policy = Policy.constant(1).within(engine.schema, {})
    grouping = read_grouping(["k"], ["a", "A", "é", "e"], engine.schema)
    found = engine.summarise(CellRead(policy, policy.levels, {}, None, None, grouping))
    assert [sum(cell.count for cell in summary.cells) for summary in found] == [1, 0, 1, 0]
    connection.execute("INSERT INTO t VALUES ('A'), ('e')")
    totals = engine.key_totals(KeyRead(policy, policy.levels, "k", None))
    assert totals[0].keys == 4
    for text in ("k = 'A'", "'A' = k", "k IN ('A')"):
        condition = check(parse(text), engine.schema, Kind.BOOLEAN, text)
        (one,) = engine.summarise(CellRead(policy, policy.levels, {}, None, condition))
        assert sum(cell.count for cell in one.cells) == 1


@pytest.mark.parametrize(
    "native", ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"]
)
@pytest.mark.parametrize("own_column", [False, True])
def test_squares_of_every_whole_type_fit(native: str, own_column: bool) -> None:
    """A square that did not fit would fail, and so say that a record has such a value."""
    top = {"TINYINT": 127, "SMALLINT": 2**15 - 1, "UTINYINT": 255, "USMALLINT": 2**16 - 1}.get(native, 10**7)
    connection = duckdb.connect()
    engine = open_source(connection.sql(f"SELECT {top}::{native} AS v"), None, own_column=own_column)
    bounds = {"v": (Fraction(0), Fraction(10**7))}
    policy = Policy("10000 / v", at_most=100).within(engine.schema, bounds)
    measure = Measure("v", Fraction(1), 0, 10**7, squares=True)
    (found,) = engine.summarise(CellRead(policy, policy.levels, bounds, measure, None))
    assert [cell.squares for cell in found.cells] == [top**2]


@pytest.mark.parametrize("setting", ["autoinstall_known_extensions", "autoload_known_extensions"])
def test_a_database_of_our_own_loads_no_code_that_a_file_asks_for(setting: str) -> None:
    assert connected().execute(f"SELECT current_setting('{setting}')").fetchone() == (False,)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_file_whose_name_looks_like_a_glob_is_read_as_itself(tmp_path: Path, ending: str) -> None:
    sizes = {"a1": 3, "a[1]": 5, "b*": 7, "bx": 11, "c?": 13, "cy": 17, "d[!1]": 19}
    for name, size in sizes.items():
        table, path = pyarrow.table({"v": range(size)}), tmp_path / f"{name}.{ending}"
        (pyarrow.parquet.write_table if ending == "parquet" else pyarrow.csv.write_csv)(table, path)
    types = None if ending == "parquet" else {"v": "BIGINT"}
    read = Policy.constant(1)

    def rows(source: Path) -> int:
        (cells,) = open_source(source, types).summarise(CellRead(read, read.levels, {}, None, None))
        return sum(cell.count for cell in cells.cells)

    for name, size in sizes.items():
        assert rows(tmp_path / f"{name}.{ending}") == size, name
    assert rows(tmp_path / f"*.{ending}") == sum(sizes.values())  # no record twice
