"""One source has one account: a second one is refused, a new one is stated, one in memory warned of."""

from __future__ import annotations

import gc
import os
import warnings
import weakref
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import prdp
from prdp.engines.sources.memory_origins import memory_origins
from prdp.errors import InvalidRequest, LedgerBegun, LedgerError, NoLedgerFile
from prdp.tables import arguments

ROWS = 50
POLICY = prdp.Policy.constant(1)


def columns() -> dict[str, Any]:
    return {"id": np.arange(ROWS), "other": (np.arange(ROWS) + 1) % ROWS}


def table(source: Any, **options: Any) -> Any:
    return prdp.open(source, policy=POLICY, name="t", **options)


def join(source: Any, **options: Any) -> Any:
    return prdp.open_join({"t": source}, private="t", key="id", references={}, policy=POLICY, **options)


def links(source: Any, **options: Any) -> Any:
    records = {"id": prdp.graphs.Records({"id": np.arange(ROWS)}, "id", POLICY)}
    return prdp.graphs.open_links(source, records=records, name="t", **options)


def graph(source: Any, **options: Any) -> Any:
    nodes = range(ROWS)
    return prdp.graphs.open(
        source, source="id", target="other", nodes=nodes, policy=POLICY, name="t", **options
    )


ENTRIES = [table, join, links, graph]


def parquet(folder: Path) -> Any:
    pd.DataFrame(columns()).to_parquet(folder / "t.parquet")
    return folder / "t.parquet"


def relation(folder: Path) -> Any:
    database = duckdb.connect(str(folder / "t.duckdb"))
    database.execute(
        f"CREATE TABLE t AS SELECT range AS id, (range + 1) % {ROWS} AS other FROM range({ROWS})"
    )
    return database.table("t")


SOURCES: dict[str, Callable[[Path], Any]] = {
    "file": parquet,
    "files": lambda folder: [str(parquet(folder))],
    "arrays": lambda folder: columns(),
    "pandas": lambda folder: pd.DataFrame(columns()),
    "polars": lambda folder: pl.DataFrame(columns()),
    "arrow": lambda folder: pa.table(columns()),
    "relation": relation,
}

SECOND: dict[str, Callable[[Path], dict[str, Any]]] = {
    "a ledger elsewhere": lambda folder: {"ledger": folder / "second.ledger"},
    "a copy": lambda folder: {"ledger": folder / "copy.ledger"},
    "another ledger that is there": lambda folder: {"ledger": folder / "begun.ledger"},
    "an account in memory": lambda folder: {},
    "a ledger object in memory": lambda folder: {"ledger": prdp.ledger.MemoryLedger()},
    "a synthetic table": lambda folder: {"synthetic": True},
}


def begun(entry: Any, folder: Path) -> None:
    """Begin another ledger of the same public facts, from rows of its own."""
    entry(columns(), ledger=folder / "begun.ledger")


@pytest.mark.slow
@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("second", SECOND)
def test_a_second_account_of_a_source_under_a_ledger_is_refused_with_what_to_do(
    kind: str, second: str, tmp_path: Path
) -> None:
    source = SOURCES[kind](tmp_path)
    begun(table, tmp_path)
    ledger = tmp_path / "t.ledger"
    first = table(source, ledger=ledger)
    first.ledger.backup(tmp_path / "copy.ledger")
    options = SECOND[second](tmp_path)
    files = set(os.listdir(tmp_path))
    with pytest.raises(InvalidRequest, match=r"open under the ledger .*t\.ledger.* separate_account=True"):
        table(source, **options)
    assert set(os.listdir(tmp_path)) == files, "nothing is begun by what is refused"
    assert table(source, ledger=str(ledger)).remaining == first.remaining
    if not isinstance(options.get("ledger"), prdp.ledger.MemoryLedger):
        assert table(source, **options, separate_account=True).remaining == 1


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_point_refuses_a_second_account_and_takes_the_word_of_who_means_it(
    entry: Any, tmp_path: Path
) -> None:
    source = columns()
    entry(source, ledger=tmp_path / "t.ledger")
    for other in ENTRIES:
        with pytest.raises(InvalidRequest, match="separate_account=True"):
            other(source, ledger=tmp_path / "second.ledger")
        other(source, ledger=tmp_path / f"{other.__name__}.ledger", separate_account=True)
    with pytest.raises(InvalidRequest, match="is True or False"):
        entry(source, ledger=tmp_path / "t.ledger", separate_account=1)


def test_a_ledger_that_was_removed_before_any_charge_may_be_begun_anew(tmp_path: Path) -> None:
    source, ledger = columns(), tmp_path / "t.ledger"
    table(source, ledger=ledger)
    ledger.unlink()
    second = prdp.open(source, policy="1/2", name="t", ledger=ledger)
    second.count(share="1/4")
    ledger.unlink()
    with pytest.raises(InvalidRequest, match="separate_account=True"):
        table(source, ledger=ledger)


@pytest.mark.slow
def test_a_source_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    for turn in range(5):
        table(pd.DataFrame(columns()), ledger=tmp_path / f"{turn}.ledger")
        gc.collect()
    for turn in range(5, 10):
        path = parquet(tmp_path)
        moved = path.rename(tmp_path / f"{turn}.parquet")
        table(moved, ledger=tmp_path / f"{turn}.ledger")
        moved.unlink()


MANY = 20_000
LETTERS = ["a", "b", "c"]

FRAMES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame({"id": np.arange(MANY)}),
    "pandas Int64": lambda: pd.DataFrame({"id": pd.array([None, *range(MANY)], dtype="Int64")}),
    "pandas boolean": lambda: pd.DataFrame({"id": pd.array([None, *[True] * MANY], dtype="boolean")}),
    "pandas string": lambda: pd.DataFrame({"id": pd.array(LETTERS * MANY, dtype="string")}),
    "pandas Arrow": lambda: pd.DataFrame({"id": pd.array([None, *range(MANY)], dtype="int64[pyarrow]")}),
    "pandas categories": lambda: pd.DataFrame({"id": pd.Categorical(LETTERS * MANY)}),
    "pandas moments": lambda: pd.DataFrame({"id": pd.date_range("2026-01-01", periods=MANY, freq="min")}),
    "polars": lambda: pl.DataFrame({"id": np.arange(MANY)}),
    "polars NULL": lambda: pl.DataFrame({"id": [None, *range(MANY)]}),
    "polars texts": lambda: pl.DataFrame({"id": LETTERS * MANY}),
    "polars categories": lambda: pl.DataFrame({"id": LETTERS * MANY}, schema={"id": pl.Categorical}),
    "polars enum": lambda: pl.DataFrame({"id": LETTERS * MANY}, schema={"id": pl.Enum(LETTERS)}),
    "arrow": lambda: pa.table({"id": np.arange(MANY)}),
    "arrow categories": lambda: pa.table({"id": pa.array(LETTERS * MANY).dictionary_encode()}),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_their_own_memory_are_sources_of_their_own(kind: str, tmp_path: Path) -> None:
    frames = [FRAMES[kind]() for _ in range(6)]
    for turn, frame in enumerate(frames):
        table(frame, ledger=tmp_path / f"{turn}.ledger")
    with pytest.raises(InvalidRequest, match="separate_account=True"):
        table(frames[0], ledger=tmp_path / "second.ledger")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_memory_that_a_frame_has_given_back_is_not_its_own(kind: str, tmp_path: Path) -> None:
    changed = FRAMES[kind]()
    table(changed, ledger=tmp_path / "changed.ledger")
    others = []
    for turn in range(6):
        if kind == "pandas":
            changed["id"] = changed["id"] + 1
        else:
            changed.replace_column(0, changed["id"] + 1)
        gc.collect()
        others.append(FRAMES[kind]())
        table(others[-1], ledger=tmp_path / f"{turn}.ledger")


def test_frames_with_one_type_of_categories_have_no_memory_in_common() -> None:
    letters = pl.Enum(LETTERS)
    private = pl.DataFrame({"id": [1, 2, 3], "letter": LETTERS}, schema_overrides={"letter": letters})
    public = pl.DataFrame({"letter": LETTERS, "vowel": [1, 0, 0]}, schema_overrides={"letter": letters})
    assert not memory_origins(private).shared(memory_origins(public))
    assert memory_origins(private).shared(memory_origins(private.select(pl.col("letter").alias("l"))))


def test_a_ledger_is_one_account_whichever_path_leads_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    (tmp_path / "t.ledger").symlink_to(tmp_path / "real" / "t.ledger")
    monkeypatch.chdir(tmp_path)
    source = columns()
    table(source, ledger="t.ledger").count(share="1/4")
    ways = ["real/t.ledger", "linked/t.ledger", "linked/../t.ledger", "./t.ledger", tmp_path / "t.ledger"]
    assert [table(source, ledger=way).remaining for way in ways] == [Fraction(3, 4)] * len(ways)


def test_an_older_copy_is_refused_whichever_path_leads_to_it(tmp_path: Path) -> None:
    (tmp_path / "linked.ledger").symlink_to(tmp_path / "t.ledger")
    opened = table(columns(), ledger=tmp_path / "t.ledger")
    older = (tmp_path / "t.ledger").read_bytes()
    opened.count(share="1/4")
    (tmp_path / "t.ledger").write_bytes(older)
    with pytest.raises(LedgerError, match="older state"):
        table(columns(), ledger=tmp_path / "linked.ledger")


def test_a_ledger_that_was_moved_is_the_same_account_unless_it_has_forgotten(tmp_path: Path) -> None:
    source, place, moved = columns(), tmp_path / "t.ledger", tmp_path / "moved.ledger"
    opened = table(source, ledger=place)
    older = place.read_bytes()
    opened.count(share="1/4")
    place.rename(moved)
    assert table(source, ledger=moved).remaining == Fraction(3, 4)
    (tmp_path / "older.ledger").write_bytes(older)
    with pytest.raises(InvalidRequest, match="is a copy of it"):
        table(source, ledger=tmp_path / "older.ledger")
    place.write_bytes(moved.read_bytes())
    with pytest.raises(InvalidRequest, match="is a copy of it"):
        table(source, ledger=moved)


def test_a_ledger_that_is_gone_is_stated_to_be_and_no_advice_is_what_was_done(tmp_path: Path) -> None:
    source, place = columns(), tmp_path / "t.ledger"
    table(source, ledger=place).count(share="1/4")
    place.unlink()
    with pytest.raises(InvalidRequest, match=r"which is not there any more.* Put it back") as gone:
        table(source, ledger=place)
    table(source, ledger=place, separate_account=True)
    with pytest.raises(InvalidRequest, match=r"in whose place is another one now.* Put it back") as other:
        table(source, ledger=place)
    assert all("Open it with" not in str(one.value) for one in (gone, other))


def test_tables_of_one_name_in_two_databases_in_memory_are_two_sources(tmp_path: Path) -> None:
    for turn in range(2):
        with duckdb.connect() as database:
            database.execute("CREATE TABLE t AS SELECT range AS id FROM range(5)")
            table(database.table("t"), ledger=tmp_path / f"{turn}.ledger")


def test_the_registry_keeps_no_records_in_memory(tmp_path: Path) -> None:
    held = [np.arange(ROWS)]
    known = weakref.ref(held[0])
    table({"id": held[0]}, ledger=tmp_path / "t.ledger")
    held.clear()
    gc.collect()
    assert known() is None


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_ledger_that_is_begun_is_stated_unless_that_was_meant(entry: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.ledger"
    with pytest.raises(LedgerError, match="there is no ledger"):
        entry(columns(), ledger=path, must_exist=True)
    assert not path.exists()
    with pytest.warns(LedgerBegun, match=r"t\.ledger.* is created") as stated:
        opened = entry(columns(), ledger=path)
    assert stated[0].filename == __file__
    assert opened.ledger.begun
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not entry(columns(), ledger=path).ledger.begun
        assert not entry(columns(), ledger=path, must_exist=True).ledger.begun
        assert entry(columns(), ledger=tmp_path / "other.ledger", must_exist=False).ledger.begun


def test_a_ledger_of_a_mistyped_relative_name_is_stated_with_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.warns(LedgerBegun, match=str(tmp_path / "acounts.ledger")):
        table(columns(), ledger="acounts.ledger")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"must_exist": True}, "needs ledger="),
        ({"must_exist": 1, "ledger": "t.ledger"}, "is True or False"),
        ({"must_exist": True, "synthetic": True}, "needs ledger=|keeps no account"),
    ],
)
def test_odd_words_about_accounts_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        table(columns(), **options)


@pytest.mark.parametrize("kind", SOURCES)
def test_an_account_in_memory_that_is_begun_again_is_warned_of_each_time(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arguments, "_WARNED", ["another"])
    source, reported = SOURCES[kind](tmp_path), []
    with warnings.catch_warnings(record=True) as stated:
        warnings.simplefilter("default")  # which shows the same words at the same line once
        for _ in range(4):
            assert table(source).remaining == Fraction(1)
            reported.append(len([one for one in stated if one.category is NoLedgerFile]))
    assert reported == [0, 1, 2, 3]
    assert "account number 4" in str(stated[-1].message)
