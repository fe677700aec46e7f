"""A reader reads no record twice, and what it keeps serves every question that it can."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prdp
from prdp.plan.methods import Options
from prdp.plan.plan import Plan
from prdp.plan.reads import widened
from prdp.testing import Seeded

N = 200


class Counting:
    """An engine that counts how often it reads."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.reads: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name in {"summarise", "key_totals", "top_levels", "fold_units", "scale_units", "rows"}:
            self.reads.append(name)
        return getattr(self.engine, name)


@pytest.fixture
def opened() -> tuple[prdp.Table, Counting]:
    columns = {"v": np.arange(N) % 9, "w": np.arange(N) % 7, "job": np.array(["a", "b"] * (N // 2))}
    bounds = {"v": (0, 9), "w": (0, 9)}
    table = prdp.open(columns, policy=prdp.Policy.constant("1"), bounds=bounds, synthetic=True)
    engine = Counting(table._engine)
    object.__setattr__(table._reader, "source", engine)
    return table, engine


def drawn(table: prdp.Table, plan: Plan) -> None:
    assert plan.draw(table._reader, Seeded(1), 1)


def test_a_count_is_taken_from_cells_that_were_read_for_a_sum(opened: tuple[prdp.Table, Counting]) -> None:
    table, engine = opened
    for query in (prdp.sum("v"), prdp.count(), prdp.sum("v"), prdp.mean("v"), prdp.count()):
        drawn(table, table.plan(query, share=1))
    assert engine.reads == ["summarise"]


def test_a_sum_is_not_taken_from_a_count_and_squares_are_read_when_they_are_needed(
    opened: tuple[prdp.Table, Counting],
) -> None:
    table, engine = opened
    for query in (prdp.count(), prdp.sum("v"), prdp.variance("v"), prdp.mean("v")):
        drawn(table, table.plan(query, share=1))
    assert engine.reads == ["summarise"] * 3


def test_a_median_adds_nothing_up_and_a_sum_is_not_taken_from_its_cells(
    opened: tuple[prdp.Table, Counting],
) -> None:
    table, engine = opened
    median = table.plan(prdp.median("v"), share=1)
    (found,) = table._reader.read(median.queries[0].read)
    assert found.records == N
    assert not found.cells.total.any()
    drawn(table, median)
    assert engine.reads == ["summarise"]
    for query in (prdp.max("v"), prdp.count(), prdp.median("v"), prdp.sum("v")):
        drawn(table, table.plan(query, share=1))
    assert engine.reads == ["summarise"] * 2
    plan = table.plan(prdp.median("v"), prdp.sum("v"), prdp.max("v"), prdp.std("v"), share=1)
    wide: list[Any] = list(widened([query.read for query in plan.queries]).values())
    assert all(not wider.measure.squares or wider.measure.totals for wider in wide)


def test_queries_of_one_charge_share_the_widest_read(opened: tuple[prdp.Table, Counting]) -> None:
    table, engine = opened
    drawn(table, table.plan(prdp.count(), prdp.sum("v"), prdp.std("v"), prdp.sum("w"), share=1))
    assert engine.reads == ["summarise"] * 2


def test_other_records_and_other_groups_are_read_anew(opened: tuple[prdp.Table, Counting]) -> None:
    table, engine = opened
    some = table.filter("v > 3")
    for asked in (table, some, some.filter("w > 1"), table):
        drawn(asked, asked.plan(prdp.count(), share=1))
    groups = table.group_by("job", keys=["a"])
    drawn(table, groups.plan(prdp.count(), share=1))
    assert engine.reads == ["summarise"] * 4


def test_domains_are_never_found_in_cells_that_took_a_shortcut(opened: tuple[prdp.Table, Counting]) -> None:
    table, engine = opened
    framework = Options("framework")
    drawn(table, table.plan(prdp.sum("v"), share=1))
    drawn(table, table.plan(prdp.sum("v"), share=1, options=framework))
    drawn(table, table.plan(prdp.count(), share=1, options=framework))
    assert engine.reads == ["summarise"] * 2


def test_a_wider_read_serves_what_it_was_widened_from() -> None:
    table = prdp.open({"v": np.arange(9)}, policy=prdp.Policy.constant("1"), bounds={"v": (0, 9)})
    plan = table.plan(prdp.count(), prdp.sum("v"), prdp.variance("v"), prdp.median("v"), share=1)
    reads = [query.read for query in plan.queries]
    for read, wide in widened(reads).items():
        assert wide.serves(read)


class Telling:
    """An engine whose refusals speak of a record."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine

    def __getattr__(self, name: str) -> Any:
        if name == "summarise":
            raise prdp.InvalidRequest("row 7: Ann owes 12345")
        return getattr(self.engine, name)


def test_what_an_engine_says_of_a_record_is_never_heard() -> None:
    table = prdp.open({"v": np.arange(9)}, policy=prdp.Policy.constant("1"), bounds={"v": (0, 9)})
    object.__setattr__(table._reader, "source", Telling(table._engine))
    with pytest.raises(prdp.errors.EngineFailure) as caught:
        table.count(share="1/2")
    assert "Ann" not in str(caught.value)
