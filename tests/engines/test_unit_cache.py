"""Rows that are read once for both looks: the same answers, one state of the file, nothing left behind."""

from __future__ import annotations

import gc
import mmap
import os
import threading
import weakref
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import prdp
from prdp.cells.units import Caps, Look
from prdp.engines.duckdb.engine import open_source
from prdp.engines.sql_engine import SqlEngine
from prdp.errors import EngineFailure
from prdp.plan.plan import Plan
from prdp.plan.reads import SharedUnitRead
from prdp.run.reader import Reader
from prdp.testing import Seeded

ROWS, UNITS, LISTED = 2_000, 200, 10


def columns(seed: int = 2, scale: float = 4) -> dict[str, Any]:
    """Return rows of units, some in no listed group, with odd budgets and with values beyond the bounds."""
    random = np.random.default_rng(seed)
    budgets = random.uniform(0.001, 2, ROWS)
    budgets[random.random(ROWS) < 0.002] = np.nan
    return {
        "id": random.integers(0, UNITS, ROWS),
        "g": random.integers(0, LISTED + 2, ROWS),
        "v": random.lognormal(scale, 2, ROWS).round().astype(np.int64),
        "e": budgets,
    }


def write(path: Path, rows: dict[str, Any]) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table(rows), path)


def table_of(source: object, types: dict[str, str] | None = None) -> prdp.Table:
    return prdp.open(
        source,
        types=types,
        policy=prdp.Policy("e", at_most=1, at_least="1e-3"),
        bounds={"v": (0, 500), "e": ("1e-3", 2)},
        privacy_unit="id",
        max_rows=30,
        synthetic=True,
    )


def plan_of(source: object, **options: Any) -> Plan:
    table = table_of(source, options.get("types"))
    asked = table.filter(options["where"]) if "where" in options else table
    return asked.group_by("g", keys=range(LISTED)).plan(prdp.count(), prdp.sum("v"), share="1/2")


def engine_of(source: object, types: dict[str, str] | None = None) -> SqlEngine:
    return open_source(source, types)


def tables(engine: SqlEngine) -> list[Any]:
    return engine.rows_of("SELECT table_name FROM duckdb_tables()")


@pytest.mark.parametrize("options", [{}, {"where": "v > 20"}], ids=str)
def test_answers_are_those_of_two_statements_that_fold(options: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write(path, columns())
    plan = plan_of(path, **options)
    held, folded = engine_of(path), engine_of(columns())
    (read,) = set(plan.reads.values())
    assert isinstance(read, SharedUnitRead)
    assert held._unit.holds(read.wide)
    assert not folded._unit.holds(read.wide)
    drawn = [plan.draw(Reader(engine, synthetic=True), Seeded(5), 4) for engine in (held, folded)]
    assert drawn[0] == drawn[1]


def test_nothing_is_held_once_a_question_is_answered(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write(path, columns())
    engine = engine_of(path)
    reader = Reader(engine, synthetic=True)
    first = plan_of(path).draw(reader, Seeded(5), 1)
    assert tables(engine) == []
    assert plan_of(path).draw(reader, Seeded(5), 1) == first  # with a second look anew
    assert tables(engine) == []


class Failing:
    """Entropy that fails once something was read."""

    def __init__(self, error: type[BaseException], engine: SqlEngine) -> None:
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
        plan_of(path).draw(Reader(engine, synthetic=True), failing, 1)
    assert len(failing.seen) == 2  # they were there when the noise was wanted
    assert tables(engine) == []


def broken(engine: SqlEngine, beginning: str, error: type[BaseException]) -> list[str]:
    """Let the first statement that begins so fail once it has run; return the list of what is run."""
    database: Any = engine.database
    run, stated, failures = database.run, [], [error]

    def failing(sql: str, *, as_arrays: bool = False) -> Any:
        stated.append(sql)
        found = run(sql, as_arrays=as_arrays)
        if sql.startswith(beginning) and failures:
            raise failures.pop()("a record's value")
        return found

    database.run = failing
    return stated


@pytest.mark.parametrize("error", [duckdb.Error, KeyboardInterrupt])
@pytest.mark.parametrize(
    "beginning",
    ["CREATE TEMP TABLE prdp_rows", "CREATE TEMP TABLE prdp_units", "WITH units AS (SELECT * FROM prdp"],
)
def test_nothing_is_held_once_a_statement_has_failed(
    beginning: str, error: type[BaseException], tmp_path: Path
) -> None:
    path = tmp_path / "rows.parquet"
    write(path, columns())
    engine, plan = engine_of(path), plan_of(path)
    broken(engine, beginning, error)
    with pytest.raises(EngineFailure if error is duckdb.Error else error):
        plan.draw(Reader(engine, synthetic=True), Seeded(5), 1)
    assert tables(engine) == []
    assert not engine._unit.held


@pytest.mark.parametrize("error", [duckdb.Error, KeyboardInterrupt])
def test_what_could_not_be_dropped_is_dropped_by_whoever_is_next(
    error: type[BaseException], tmp_path: Path
) -> None:
    path = tmp_path / "rows.parquet"
    write(path, columns())
    engine = engine_of(path)
    reading, _ = looks(plan_of(path))
    engine.fold_and_look(reading)
    broken(engine, "DROP TABLE", error)
    if error is KeyboardInterrupt:
        with pytest.raises(error):
            engine.let_go()
    else:
        engine.let_go()
    assert engine._unit.held
    in_another_thread(engine.let_go)
    assert tables(engine) == []
    assert not engine._unit.held


def looks(plan: Plan) -> tuple[Any, list[Look]]:
    """Return what is read, and looks with caps that many units are above."""
    (read,) = set(plan.reads.values())
    assert isinstance(read, SharedUnitRead)
    top = read.wide.levels.top + 1
    return read.wide, [Look(Caps((3,) * top), True, 0), Look(Caps((400,) * top), False, 1)]


def test_a_look_is_at_one_state_of_a_file_that_changes(tmp_path: Path) -> None:
    """Whoever has become large since the first look counts for what it was, or for no more than the cap."""
    path = tmp_path / "rows.parquet"
    write(path, columns(scale=0))
    engine = engine_of(path)
    reading, wanted = looks(plan_of(path))
    _, look = engine.fold_and_look(reading)
    write(path, columns(seed=3, scale=7))
    assert look(wanted) == engine_of(columns(scale=0)).scale_together(reading, wanted)
    engine.let_go()
    assert look(wanted) == engine_of(columns(seed=3, scale=7)).scale_together(reading, wanted)


def test_each_look_reads_the_file_at_most_once(tmp_path: Path) -> None:
    """Two reads by one statement could find two states of a file as well."""
    path = tmp_path / "rows.parquet"
    write(path, columns())
    engine = engine_of(path)
    reading, wanted = looks(plan_of(path))
    stated = broken(engine, "nothing", ValueError)
    _, look = engine.fold_and_look(reading)
    assert sum(sql.count("prdp_records") for sql in stated) == 1
    look(wanted)
    assert sum(sql.count("prdp_records") for sql in stated) == 1
    engine.let_go()
    look(wanted)
    assert sum(sql.count("prdp_records") for sql in stated) == 2
    engine.let_go()
    assert tables(engine) == []


@pytest.mark.skipif(os.name != "posix", reason="memory maps that others' reads see are POSIX's")
def test_units_of_a_file_that_is_written_through_a_memory_map_are_capped(tmp_path: Path) -> None:
    """Neither length nor times of the file tell that a unit has become large between the looks."""
    path = tmp_path / "rows.csv"
    small, large = (b"1000,0,%06d,1.0\n" % value for value in (1, 499))
    others = b"".join(b"%d,%d,000001,1.0\n" % (unit, unit % 3) for unit in range(1001, 1050))
    path.write_bytes(b"id,g,v,e\n" + small + others)
    types = dict.fromkeys(("id", "g", "v"), "BIGINT") | {"e": "DOUBLE"}
    reading, _ = looks(plan_of(path, types=types))
    wanted = [Look(Caps((4,) * (reading.levels.top + 1)), False, 1)]
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        at = mapped.find(small)
        mapped[at : at + len(small)] = small  # from now on the page is being written to
        os.utime(path, (1_000_000_000, 1_000_000_000))
        engine = engine_of(path, types)
        _, look = engine.fold_and_look(reading)
        mapped[at : at + len(large)] = large
        (totals,) = look(wanted)
    assert b"000499" in path.read_bytes()
    assert totals[:3] == (17, 16, 17)  # one for each unit of a group, as they were when they were read


def in_another_thread(work: Any) -> None:
    other = threading.Thread(target=work)
    other.start()
    other.join()


def test_a_thread_lets_go_of_its_own_rows_alone(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write(path, columns())
    engine, plan = engine_of(path), plan_of(path)
    reading, wanted = looks(plan)
    _, look = engine.fold_and_look(reading)
    mine = sorted(tables(engine))
    in_another_thread(lambda: plan.draw(Reader(engine, synthetic=True), Seeded(5), 1))
    assert sorted(tables(engine)) == mine
    stated = broken(engine, "nothing", ValueError)
    look(wanted)
    assert "prdp_records" not in "".join(stated)
    engine.let_go()
    assert tables(engine) == []


def test_threads_that_share_a_table_are_all_answered(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write(path, columns())
    table = table_of(path)
    failed: list[BaseException] = []

    def ask(thread: int) -> None:
        try:
            for number in range(10):
                asked = table.filter(f"v < {100 * thread + number}").group_by("g", keys=range(LISTED))
                asked.agg(prdp.count(), prdp.sum("v"), share="1/1000")
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=ask, args=(1 + thread,)) for thread in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert isinstance(table._engine, SqlEngine)
    assert tables(table._engine) == []
    assert not table._engine._unit.held


def test_what_is_stated_is_what_is_run(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write(path, columns())
    plan, engine = plan_of(path), engine_of(path)
    reading, _ = looks(plan)
    rows, fold, cells = engine.shown(reading)
    later = engine.shown_together(reading, [(0, True), (1, False)])
    assert rows.startswith("CREATE TEMP TABLE prdp_rows AS SELECT id")
    assert fold.startswith("CREATE TEMP TABLE prdp_units AS SELECT id")
    assert "FROM prdp_units" in cells
    assert "FROM prdp_units" in later
    assert "FROM prdp_rows" in later
    assert "prdp_records" not in fold + cells + later  # the file is read once
    assert "min(budget)" not in cells + later  # units are folded once


def test_an_engine_goes_away_with_its_last_user(tmp_path: Path) -> None:
    """It is in no cycle: a connection to records does not wait for the collector of garbage."""
    path = tmp_path / "rows.parquet"
    write(path, columns())
    engine = engine_of(path)
    plan_of(path).draw(Reader(engine, synthetic=True), Seeded(5), 1)
    gone = weakref.ref(engine)
    gc.disable()
    try:
        del engine
        assert gone() is None
    finally:
        gc.enable()
