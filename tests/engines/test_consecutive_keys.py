"""Whole-number keys that count up by ones are counted off instead of looked up: the groups are the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

import prdp
from prdp.declare.groups import read_grouping
from prdp.engines.duckdb.engine import open_source
from prdp.engines.statements.groups import joined
from prdp.plan.queries import Query
from prdp.plan.reads import CellRead
from prdp.schema import ColumnType, Kind

TYPES = {
    "TINYINT": (-128, 127),
    "UTINYINT": (0, 255),
    "BIGINT": (-(2**63), 2**63 - 1),
    "HUGEINT": (-(2**127) + 1, 2**127 - 1),
}
KINDS = ["TINYINT", *(pytest.param(kind, marks=pytest.mark.slow) for kind in TYPES if kind != "TINYINT")]


def records(kind: str, folder: Path) -> str:
    """Write a file of keys at both ends of a type and around zero, and none; return its path."""
    low, high = TYPES[kind]
    keys = [*range(max(low, -5), 40), low, high, low + 1, high - 1]
    values = ", ".join(f"(CAST({key} AS {kind}), {place})" for place, key in enumerate(keys))
    path = folder / "records.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE TABLE records AS FROM (VALUES {values}, (NULL, 99)) AS records(k, v)")
    return str(path)


def totals(source: str, keys: Sequence[int], *, other: bool) -> dict[int | None, int]:
    """Return what the values of each group add up to, as they are read; that of all others is at None."""
    table = prdp.open(
        source, table="records", policy=prdp.Policy.constant(1), bounds={"v": (0, 1000)}, synthetic=True
    )
    plan = table.group_by("k", keys=keys, other=other).plan(prdp.sum("v"), share=1)
    (read,) = plan.reads.values()
    assert isinstance(read, CellRead)
    summaries = open_source(source, None, table="records").summarise(read)
    found = (sum(cell.total for cell in one.cells) for one in summaries)
    return dict(zip([*keys, None] if other else keys, found, strict=True))


@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_groups_are_those_of_keys_in_another_order(kind: str, other: bool, tmp_path: Path) -> None:
    source = records(kind, tmp_path)
    low, high = TYPES[kind]
    for first, last in ((-3, 30), (0, 0), (low, low + 2), (high - 2, high), (-128, 127), (0, 300)):
        if not (low <= first and last <= high and first >= -(2**63) and last < 2**63):
            continue
        keys = list(range(first, last + 1))
        looked_up = [*keys[1:], keys[0]]
        assert totals(source, keys, other=other) == totals(source, looked_up, other=other)


@pytest.mark.parametrize(
    ("keys", "counted"),
    [
        ([4, 5, 6], True),
        ([-2, -1, 0], True),
        ([7], True),
        ([6, 5, 4], False),
        ([4, 6, 5], False),
        ([4, 6], False),
        ([2**62, 2**62 + 1], False),
    ],
    ids=str,
)
def test_nothing_is_looked_up_where_keys_count_up_by_ones(keys: list[int], counted: bool) -> None:
    schema = {"k": ColumnType(Kind.NUMBER, integer=True, native="BIGINT")}
    sql = joined("(SELECT k AS key0 FROM records)", read_grouping(["k"], keys, schema), schema)
    assert ("JOIN" not in sql) == counted


@pytest.mark.parametrize("policy", ["10000 / v", "10000 / v * CASE WHEN k > 20 THEN 0.5 ELSE 1 END"])
@pytest.mark.parametrize("keys", [list(range(40)), [7, 3, *range(9, 40)]])
@pytest.mark.parametrize("query", [prdp.count(), prdp.sum("v"), prdp.variance("v")])
def test_cells_of_many_groups_are_the_same_however_many_are_read_at_once(
    policy: str, keys: list[int], query: Query, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = records("BIGINT", tmp_path)
    given = prdp.Policy(policy, at_most=100, at_least="1/100")
    table = prdp.open(
        source, table="records", policy=given, bounds={"v": (0, 1000), "k": (0, 40)}, synthetic=True
    )
    for other in (False, True):
        (read,) = table.group_by("k", keys=keys, other=other).plan(query, share=1).reads.values()
        assert isinstance(read, CellRead)
        engine = open_source(source, None, table="records")
        whole = engine.summarise(read)
        assert sum(each.records for each in whole) > 0
        for at_once in (1, 7, len(keys) - 1):
            monkeypatch.setattr(engine.database, "groups_at_once", at_once)
            assert len(engine.shown(read)) >= -(-(len(keys) + other) // at_once)
            parts = engine.summarise(read)
            assert [list(each.cells) for each in parts] == [list(each.cells) for each in whole]
            monkeypatch.undo()


def test_only_files_are_read_in_parts_and_none_that_changes_between_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A record whose key changed between two parts would be in two groups."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 1::BIGINT AS k, 5::BIGINT AS v")
    assert open_source(connection.table("t"), None).database.groups_at_once is None
    path = tmp_path / "rows.parquet"
    connection.execute(f"COPY t TO '{path}'")
    table = prdp.open(path, policy="1", bounds={"k": (0, 9)}, synthetic=True)
    (read,) = table.group_by("k", keys=[1, 2]).plan(prdp.count(), share=1).reads.values()
    assert isinstance(read, CellRead)
    engine = open_source(path, None)
    assert engine.database.groups_at_once
    monkeypatch.setattr(engine.database, "groups_at_once", 1)
    assert [each.records for each in engine.summarise(read)] == [1, 0]
    columns = engine.columns

    def moved(sql: str) -> object:
        found = columns(sql)
        connection.execute("UPDATE t SET k = 2")
        connection.execute(f"COPY t TO '{path}'")
        return found

    monkeypatch.setattr(engine, "columns", moved)
    with pytest.raises(OSError, match="a file has changed"):
        engine.summarise(read)
