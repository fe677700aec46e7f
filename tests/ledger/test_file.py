"""What is so of a ledger's file alone: its disk, its names, other formats, and what is no ledger."""

from __future__ import annotations

import os
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

from prdp.errors import InvalidRequest, LedgerError
from prdp.ledger import Binding, Charge, DurableLedger, storage
from prdp.ledger.layout import VERSION
from prdp.release.raw_answer import Caveat
from prdp.release.release import Release

FACTS = Binding({"name": "t", "bounds": {"v": ["0", "9"]}})
ANSWER = Release("count", 10, Fraction(1), (Fraction(2),), Fraction(1, 4), "clip", Caveat("none"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.ledger"


@pytest.fixture
def ledger(path: Path) -> DurableLedger:
    return DurableLedger.opened(path, FACTS, who="ana")


def charged(ledger: DurableLedger, purpose: str, share: Fraction, *, redraw: bool = False) -> Charge:
    charge = ledger.charge(purpose, share, redraw=redraw)
    assert isinstance(charge, Charge)
    return charge


def test_whoever_opens_a_ledger_while_another_begins_it_disturbs_neither(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one opens it between the file's having its name and its draft's having none."""
    others: list[DurableLedger] = []
    link = os.link

    def linked(draft: Path, to: Path) -> None:
        link(draft, to)
        others.append(DurableLedger.opened(path, FACTS))

    monkeypatch.setattr(os, "link", linked)
    mine = DurableLedger.opened(path, FACTS)
    assert mine.begun
    assert [other.begun for other in others] == [False]
    assert mine.identity == others[0].identity
    assert list(path.parent.iterdir()) == [path]


def test_a_draft_that_a_crash_left_is_removed_whatever_the_ledger_is_called(tmp_path: Path) -> None:
    path = tmp_path / "a[1]*.ledger"
    DurableLedger.opened(path, FACTS)
    os.link(path, tmp_path / f".{path.name}.0123")
    assert DurableLedger(path).remaining == 1
    assert list(tmp_path.iterdir()) == [path]


def test_no_row_of_a_file_can_be_replaced(ledger: DurableLedger, path: Path) -> None:
    ledger.charge("a", Fraction(1, 4))
    with sqlite3.connect(path) as database:
        database.execute("INSERT INTO quotas VALUES (0, 'ana', '1/2', 'ana', '2026', 5, '')")
        for act in (
            "INSERT OR REPLACE INTO charges VALUES (0, '', '0', '', '', '', '', '', '', '', '', 9, '')",
            "INSERT OR REPLACE INTO charges VALUES (9, '', '0', '', '', '', '', '', '', '', '', 4, '')",
            "INSERT OR REPLACE INTO facts VALUES ('binding', '{}', 9, '')",
            "INSERT OR REPLACE INTO quotas VALUES (0, 'ana', '1', 'ana', '2026', 9, '')",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                database.execute(act)
    database.close()


def test_a_missing_an_empty_and_a_foreign_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="there is no ledger"):
        DurableLedger(tmp_path / "none.ledger")
    empty = tmp_path / "empty.ledger"
    empty.touch()
    with pytest.raises(LedgerError, match="a ledger never is"):
        DurableLedger.opened(empty, FACTS)
    text = tmp_path / "text.ledger"
    text.write_text("spent: nothing, I promise\n" * 100, encoding="utf-8")
    with pytest.raises(LedgerError, match="no ledger of prdp's"):
        DurableLedger(text)
    other = tmp_path / "other.ledger"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE t (x)")
    database.close()
    with pytest.raises(LedgerError, match="no ledger of prdp's"):
        DurableLedger(other)


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.9, 0.99])
def test_a_truncated_ledger_is_refused(ledger: DurableLedger, path: Path, kept: float) -> None:
    for turn in range(60):
        ledger.record(charged(ledger, f"question {turn}", Fraction(1, 100)), ANSWER)
    os.truncate(path, int(path.stat().st_size * kept))
    with pytest.raises(LedgerError, match="is damaged"):
        DurableLedger(path)


def test_a_ledger_of_a_newer_format_is_refused(ledger: DurableLedger, path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA user_version = {VERSION + 1}")
    database.close()
    with pytest.raises(LedgerError, match="newer prdp"):
        DurableLedger(path)


@pytest.mark.parametrize("version", [1, VERSION - 1])
def test_a_ledger_of_an_older_format_is_refused_in_one_sentence(
    ledger: DurableLedger, path: Path, version: int
) -> None:
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA user_version = {version}")
    database.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=rf"is of format {version}, from before") as refusal:
        DurableLedger(path)
    assert str(refusal.value).count(". ") == 0
    assert path.read_bytes() == before


def test_a_table_keeps_its_ledger_wherever_the_process_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    ledger = DurableLedger.opened("t.ledger", FACTS)
    monkeypatch.chdir(tmp_path / "elsewhere")
    ledger.charge("a", Fraction(1, 5))
    assert DurableLedger(tmp_path / "t.ledger").remaining == Fraction(4, 5)


def test_a_second_name_and_a_leftover_journal_are_refused(
    ledger: DurableLedger, path: Path, tmp_path: Path
) -> None:
    os.link(path, tmp_path / "second")
    with pytest.raises(LedgerError, match="second name"):
        ledger.charge("a", Fraction(1, 5))
    (tmp_path / "second").unlink()
    os.link(path, tmp_path / f".{path.name}.left-by-a-crash")
    assert ledger.remaining == 1
    (tmp_path / "u.ledger-journal").touch()
    with pytest.raises(LedgerError, match="was a ledger that is gone"):
        DurableLedger.opened(tmp_path / "u.ledger", FACTS)


@pytest.mark.parametrize(
    "edit", ["DELETE FROM releases", "DROP TRIGGER facts_no_update", "PRAGMA user_version = 0"]
)
def test_guards_that_are_missing_are_noticed(ledger: DurableLedger, path: Path, edit: str) -> None:
    ledger.record(charged(ledger, "a", Fraction(1, 3)), ANSWER)
    with sqlite3.connect(path) as database:
        if edit.startswith("DELETE"):
            database.execute("DROP TRIGGER releases_no_delete")
        database.execute(edit)
    database.close()
    with pytest.raises(LedgerError):
        DurableLedger(path)


@pytest.mark.parametrize("place", ["", "no/such/folder/x.ledger", "nul\0"])
def test_a_place_for_no_ledger_is_refused(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((LedgerError, InvalidRequest)):
        DurableLedger.opened(place, FACTS)
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_can_be_shared_as_other_files_can(ledger: DurableLedger, path: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    ledger.backup(tmp_path / "copy")
    assert path.stat().st_mode == (tmp_path / "copy").stat().st_mode == plain.stat().st_mode


def test_a_charge_waits_for_the_disk_and_on_macos_for_its_cache_too(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with storage.connected(tmp_path / "x") as database:
        assert database.execute("PRAGMA synchronous").fetchone() == (3,)
        assert database.execute("PRAGMA fullfsync").fetchone() == (1,)
