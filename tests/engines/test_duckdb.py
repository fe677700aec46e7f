"""DuckDB meets the contract, whatever the records come in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

from prdp.engines.duckdb import DuckDBEngine, open_source
from prdp.errors import EngineFailure, InvalidRequest
from prdp.expressions.check import check
from prdp.expressions.parse import parse
from prdp.levels import Levels
from prdp.policy import Policy
from prdp.query import Measure, Reading
from prdp.schema import Kind
from prdp.testing.engine_contract import PERSONAL, VALUE, EngineContract

SCHEMA = pyarrow.schema(
    [
        ("eps", pyarrow.float64()),
        ("v", pyarrow.int64()),
        ("x", pyarrow.float64()),
        ("job", pyarrow.string()),
    ]
)
TYPES = {"eps": "DOUBLE", "v": "BIGINT", "x": "DOUBLE", "job": "VARCHAR"}


def arrow(records: Sequence[Mapping[str, Any]]) -> pyarrow.Table:
    return pyarrow.Table.from_pylist([dict(record) for record in records], schema=SCHEMA)


class TestArrow(EngineContract):
    def engine(self, records: Sequence[Mapping[str, Any]]) -> DuckDBEngine:
        return open_source(arrow(records), None)


class TestTwoKeys(EngineContract):
    def engine(self, records: Sequence[Mapping[str, Any]]) -> DuckDBEngine:
        return open_source(arrow(records), None, own_column=False)


class TestParquet(EngineContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def engine(self, records: Sequence[Mapping[str, Any]]) -> DuckDBEngine:
        half = len(records) // 2
        for number, part in enumerate((records[:half], records[half:])):
            pyarrow.parquet.write_table(arrow(part), self.folder / f"part{number}.parquet")
        return open_source(str(self.folder / "part*.parquet"), None)


class TestRelation(EngineContract):
    """Also with the setting that turns a division by zero into NULL."""

    def engine(self, records: Sequence[Mapping[str, Any]]) -> DuckDBEngine:
        connection = duckdb.connect()
        connection.execute("SET ieee_floating_point_ops = false")
        return open_source(connection.from_arrow(arrow(records)), None)


class TestPolars(EngineContract):
    def engine(self, records: Sequence[Mapping[str, Any]]) -> DuckDBEngine:
        return open_source(pl.from_arrow(arrow(records)), None)


class TestPandas(EngineContract):
    def engine(self, records: Sequence[Mapping[str, Any]]) -> DuckDBEngine:
        frame = arrow(records).to_pandas(types_mapper=pd.ArrowDtype)
        return open_source(frame, None)


def test_csv_cells_that_do_not_fit_are_missing_and_lines_that_do_not_are_no_records(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        'eps,v,x,job\n0.5,1,2.5,clerk\n0.5,oops,2.5,"a,b"\nnan,3,x\n,,,\n1,2,3,4,5\n', encoding="utf-8"
    )
    engine = open_source(path, TYPES)
    assert [kind.native for kind in engine.schema.values()] == list(TYPES.values())
    assert engine._run("SELECT v, job FROM prdp_records") == [
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


def test_text_columns_of_a_pandas_frame_are_not_guessed() -> None:
    frame = pd.DataFrame({"v": pd.Series(["1", "2", "x"], dtype=object)})
    assert open_source(frame, None).schema["v"].native == "VARCHAR"
    assert open_source(frame, {"v": "BIGINT"})._run("SELECT v FROM prdp_records") == [
        (1,),
        (2,),
        (None,),
    ]


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
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("native", ["UBIGINT", "HUGEINT", "UHUGEINT"])
def test_whole_numbers_beyond_64_bits_are_moved_into_their_bounds(native: str) -> None:
    connection = duckdb.connect()
    values = [0, 1, 7, 2**64 - 1] + ([2**120] if "HUGE" in native else [])
    listed = ", ".join(f"({value}::{native})" for value in values)
    relation = connection.sql(f"SELECT v, 0.5::DOUBLE AS eps FROM (VALUES {listed}, (NULL)) AS t(v)")
    engine = open_source(relation, None)
    policy = PERSONAL.within(engine.schema, {})
    measure = Measure("v", Fraction(1), -5, 10)
    levels = Levels(Fraction(1, 10), Fraction(10))
    summary = engine.summarise(Reading(policy, levels, {}, measure, None))
    assert sum(cell.total for cell in summary.cells) == sum(min(value, 10) for value in values)
    assert sum(cell.count for cell in summary.cells) == len(values) + 1


def test_a_filter_with_or_does_not_reach_around_the_bounds() -> None:
    source = {"v": np.array([-5, 5, 50, 500]), "age": np.array([70, 10, 70, 70])}
    engine = open_source(source, None)
    bounds = {"v": (Fraction(0), Fraction(100))}
    policy = Policy("10 / v", at_most=10).within(engine.schema, bounds)
    condition = check(parse("age > 60 OR v > 40"), engine.schema, Kind.BOOLEAN, "")
    levels = Levels(Fraction(1, 10), Fraction(10))
    reading = Reading(policy, levels, bounds, Measure("v", Fraction(1), 0, 100), condition)
    assert [cell.total for cell in engine.summarise(reading).cells] == [50]


def test_the_values_of_a_categorical_column_are_no_part_of_its_type() -> None:
    frame = pd.DataFrame({"job": pd.Categorical(["spy", "clerk"])})
    for source in (frame, {"job": np.array(["spy", "clerk"])}):
        assert "spy" not in repr(open_source(source, None).schema)
