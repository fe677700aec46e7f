"""Units that are distinguished only where they are scaled down add up to the same, integer for integer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import prdp
from prdp.cells.units import Caps
from prdp.engines.statements import unit_totals
from prdp.plan.queries import Query
from prdp.plan.reads import UnitRead
from prdp.plan.unit_reads import SharedUnitRead
from prdp.run.reader import Reader
from prdp.tables.base import reader_of
from prdp.testing import Seeded

ROWS, UNITS, LISTED = 2_000, 200, 10


def table(max_rows: int) -> prdp.Table:
    """Return units of whom some have rows in no listed group, without a value, or beyond the bounds."""
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(2)
    values = random.lognormal(4, 2, ROWS).round()
    values[random.random(ROWS) < 0.05] = np.nan
    frame = pandas.DataFrame(
        {
            "id": random.integers(0, UNITS, ROWS),
            "g": random.integers(0, LISTED + 2, ROWS),
            "v": pandas.array(values).astype("Int64"),
            "w": random.integers(0, 40, ROWS),
            "e": random.uniform(0.001, 2, ROWS),
        }
    )
    return prdp.open(
        frame,
        policy=prdp.Policy("e", at_most=1, at_least="1e-3"),
        bounds={"v": (0, 500), "w": (0, 30), "e": ("1e-3", 2)},
        privacy_unit="id",
        max_rows=max_rows,
        synthetic=True,
    )


def looks(engine: Any, read: UnitRead) -> list[Any]:
    """Return what the first look finds, and what second looks find at high and low caps."""
    found: list[Any] = [engine.fold_units(read)]
    top = read.levels.top + 1
    for counts in {True, read.measure is None}:
        most = (read.counted if counts else read.folded).largest
        for part, bits in ((1.0, 0), (0.3, 20), (0.05, 0), (0.001, 20)):
            caps = (max(1, int((most << bits) * part * (level + 1) / top)) for level in range(top))
            found.append(engine.scale_units(read, Caps(tuple(caps), bits), count_rows=counts))
    return found


@pytest.mark.parametrize("max_rows", [3, 1000])
@pytest.mark.parametrize("query", [prdp.count(), prdp.sum("v")], ids=str)
def test_both_statements_find_the_same(query: Query, max_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = table(max_rows)
    read = opened.group_by("g", keys=range(LISTED)).plan(query, share="1/2").queries[0].read
    assert isinstance(read, UnitRead)
    short = looks(opened._engine, read)
    slow: Callable[[UnitRead], bool] = lambda _: False  # noqa: E731  (one line says it)
    monkeypatch.setattr(unit_totals, "_adds_only", slow)
    assert looks(opened._engine, read) == short


class OneByOne:
    """An engine that reads for one question at a time, as engines may."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        if name in {"scale_together", "shown_together"}:
            raise AttributeError(name)
        return getattr(self._engine, name)


ASKED = (
    (prdp.count(), prdp.sum("v"), prdp.mean("w")),
    (prdp.mean("v"),),
    (prdp.sum("v"), prdp.sum("2 * v + w"), prdp.count()),
)


@pytest.mark.parametrize("where", [None, "v > 20 AND e < 1"])
@pytest.mark.parametrize("groups", [True, False], ids=["groups", "all"])
@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_questions_that_are_read_together_have_the_answers_that_they_have_one_by_one(
    asked: tuple[Query, ...], where: str | None, *, groups: bool
) -> None:
    """Draw several runs from the same bytes: a statement for all, and one for each question and look."""
    opened: Any = table(100) if where is None else table(100).filter(where)
    opened = opened.group_by("g", keys=range(LISTED)) if groups else opened
    plan = opened.plan(*asked, share="1/2")
    made = list(plan.reads.values())
    assert any(isinstance(read, SharedUnitRead) for read in made) == (groups or len(asked) > 1)
    engine = reader_of(table(100)).source
    drawn = [plan.draw(Reader(source, synthetic=True), Seeded(5), 4) for source in (engine, OneByOne(engine))]
    assert drawn[0] == drawn[1]


def test_one_statement_folds_for_all_questions_and_one_looks_for_all_of_them() -> None:
    stated = table(100).group_by("g", keys=range(LISTED)).explain(prdp.count(), prdp.sum("v"), share="1/2")
    assert stated.count("WITH units") == 2


def test_values_of_both_signs_are_distinguished_by_unit_and_group() -> None:
    """Of these, what a unit adds to one group may be taken away in another."""
    opened = prdp.open(
        {"id": np.array([1]), "g": np.array([0]), "v": np.array([5])},
        policy="1",
        bounds={"v": (-9, 9)},
        privacy_unit="id",
        synthetic=True,
    )
    read = opened.group_by("g", keys=[0]).plan(prdp.sum("v"), share=1).queries[0].read
    assert isinstance(read, UnitRead)
    assert not unit_totals._adds_only(read)
