"""Owners that are folded once for both looks: the same answers, nothing left behind, and no stale owner."""

from __future__ import annotations

import gc
import os
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prdp
from prdp.cells.owners import Caps, Look
from prdp.engines.duckdb import DuckDBEngine, open_source
from prdp.plan.owner_reads import OwnersRead
from prdp.plan.plan import Plan
from prdp.run.reader import Reader
from prdp.testing import Seeded

ROWS, OWNERS, LISTED = 2_000, 200, 10
LONG_AGO = 1_000_000_000


def columns(seed: int = 2, scale: float = 4) -> dict[str, Any]:
    """Return rows of owners, some in no listed group, with odd budgets and with values beyond the bounds."""
    random = np.random.default_rng(seed)
    budgets = random.uniform(0.001, 2, ROWS)
    budgets[random.random(ROWS) < 0.002] = np.nan
    return {
        "id": random.integers(0, OWNERS, ROWS),
        "g": random.integers(0, LISTED + 2, ROWS),
        "v": random.lognormal(scale, 2, ROWS).round().astype(np.int64),
        "e": budgets,
    }


def write(path: Path, rows: dict[str, Any], written: float = LONG_AGO) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table(rows), path)
    os.utime(path, (written, written))


def plan_of(source: object, **options: Any) -> Plan:
    table = prdp.open(
        source,
        policy=prdp.Policy("e", at_most=1, at_least="1e-3"),
        bounds={"v": (0, 500), "e": ("1e-3", 2)},
        protect="id",
        most_rows=30,
        stand_in=True,
    )
    asked = table.where(options["where"]) if "where" in options else table
    return asked.group_by("g", keys=range(LISTED)).plan(prdp.count(), prdp.sum("v"), share="1/2")


def engine_of(source: object) -> DuckDBEngine:
    return open_source(source, None)


def tables(engine: DuckDBEngine) -> list[Any]:
    return engine.rows_of("SELECT table_name FROM duckdb_tables()")


@pytest.mark.parametrize("options", [{}, {"where": "v > 20"}], ids=str)
def test_answers_are_those_of_two_statements_that_fold(options: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write(path, columns())
    plan = plan_of(path, **options)
    held, folded = engine_of(path), engine_of(columns())
    (read,) = set(plan.reads.values())
    assert isinstance(read, OwnersRead)
    assert held._owners.holds(read.wide)
    assert not folded._owners.holds(read.wide)
    drawn = [plan.draw(Reader(engine, stand_in=True), Seeded(5), 4) for engine in (held, folded)]
    assert drawn[0] == drawn[1]


def test_nothing_is_held_once_a_question_is_answered(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write(path, columns())
    engine = engine_of(path)
    reader = Reader(engine, stand_in=True)
    first = plan_of(path).draw(reader, Seeded(5), 1)
    assert tables(engine) == []
    assert plan_of(path).draw(reader, Seeded(5), 1) == first  # with a second look anew
    assert tables(engine) == []


class Failing:
    """Entropy that fails once something was read."""

    def __init__(self, error: type[BaseException], engine: DuckDBEngine) -> None:
        self.error, self.engine = error, engine
        self.seen: list[Any] = []

    def bytes(self, count: int) -> bytes:
        del count
        self.seen = tables(self.engine)
        raise self.error("no noise")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_nothing_is_held_once_a_question_has_failed(error: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write(path, columns())
    engine = engine_of(path)
    failing = Failing(error, engine)
    with pytest.raises(error):
        plan_of(path).draw(Reader(engine, stand_in=True), failing, 1)
    assert len(failing.seen) == 1  # it was there when the noise was wanted
    assert tables(engine) == []


def looks(plan: Plan) -> tuple[Any, list[Look]]:
    """Return what is read, and looks with caps that many owners are above."""
    (read,) = set(plan.reads.values())
    assert isinstance(read, OwnersRead)
    top = read.wide.levels.top + 1
    return read.wide, [Look(Caps((3,) * top), True, 0), Look(Caps((400,) * top), False, 1)]


def test_owners_of_a_file_that_has_changed_since_are_folded_anew(tmp_path: Path) -> None:
    """Whoever has become large since the first look counts for no more than the cap."""
    path = tmp_path / "rows.parquet"
    write(path, columns(scale=0))
    plan, engine = plan_of(path), engine_of(path)
    reading, wanted = looks(plan)
    _, look = engine.fold_and_look(reading)
    write(path, columns(seed=3, scale=7), LONG_AGO + 1)
    found = look(wanted)
    assert found == engine_of(columns(seed=3, scale=7)).scale_together(reading, wanted)
    engine.let_go()
    assert look(wanted) == found


def test_a_file_that_was_written_just_now_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write(path, columns())
    os.utime(path)
    reading, wanted = looks(plan_of(path))
    engine = engine_of(path)
    _, look = engine.fold_and_look(reading)
    assert tables(engine) == []
    assert look(wanted) == engine.scale_together(reading, wanted)


def test_what_is_said_is_what_is_run(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write(path, columns())
    plan, engine = plan_of(path), engine_of(path)
    reading, _ = looks(plan)
    fold, cells = engine.shown(reading)
    later = engine.shown_together(reading, [(0, True), (1, False)])
    assert fold.startswith("CREATE TEMP TABLE prdp_owners AS SELECT id")
    assert "FROM prdp_owners" in cells
    assert "FROM prdp_owners" in later
    assert "min(budget)" not in cells + later  # owners are folded once


def test_an_engine_goes_away_with_its_last_user(tmp_path: Path) -> None:
    """It is in no cycle: a connection to records does not wait for the collector of garbage."""
    path = tmp_path / "rows.parquet"
    write(path, columns())
    engine = engine_of(path)
    plan_of(path).draw(Reader(engine, stand_in=True), Seeded(5), 1)
    gone = weakref.ref(engine)
    gc.disable()
    try:
        del engine
        assert gone() is None
    finally:
        gc.enable()
