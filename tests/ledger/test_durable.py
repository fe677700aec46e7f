"""The ledger file keeps its word: exact, append-only, bound to public facts, and whole or refused."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prdp
from prdp.errors import BudgetExhausted, EngineFailure, InvalidRequest, LedgerError
from prdp.ledger import Binding, Charge, DurableLedger, Notes, file_format
from prdp.ledger.release_form import release_from_json, release_to_json
from prdp.release.release import Release

FACTS = Binding({"name": "t", "bounds": {"v": ["0", "9"]}})
ANSWER = Release(
    question="count where job = 'é'",
    steps=-(10**30) - 1,
    step=Fraction(1, 3),
    noise_scales=(Fraction(10**20, 7), Fraction(1, 9)),
    share=Fraction(1, 4),
    method="clip",
    caveat="none",
    choices=(("clipped at", "3"),),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.ledger"


@pytest.fixture
def ledger(path: Path) -> DurableLedger:
    return DurableLedger.opened(path, FACTS, who="ana")


def charged(ledger: DurableLedger, purpose: str, share: Fraction, *, fresh: bool = False) -> Charge:
    charge = ledger.charge(purpose, share, fresh=fresh)
    assert isinstance(charge, Charge)
    return charge


def accounts(path: Path, **options: Any) -> prdp.Table:
    chosen: dict[str, Any] = {
        "policy": prdp.Policy("10000 / balance", at_most=100),
        "bounds": {"balance": (0, 10**12)},
        "name": "accounts",
        "ledger": path,
    }
    return prdp.open({"balance": np.arange(1, 3000)}, **(chosen | options))


def test_a_release_survives_the_file_to_the_last_digit() -> None:
    assert release_from_json(release_to_json(ANSWER)) == ANSWER


def test_charges_and_releases_are_there_after_reopening(ledger: DurableLedger, path: Path) -> None:
    ledger.record(charged(ledger, "a", Fraction(1, 3)), ANSWER)
    ledger.charge("b", Fraction(1, 7))
    again = DurableLedger(path)
    assert again.left == 1 - Fraction(1, 3) - Fraction(1, 7)
    assert [(e.purpose, e.share, e.who, e.release) for e in again.entries] == [
        ("a", Fraction(1, 3), "ana", ANSWER),
        ("b", Fraction(1, 7), "ana", None),
    ]
    assert again.charge("a", Fraction(1, 3)) == ANSWER


def test_a_charge_that_would_pass_the_whole_is_refused_and_not_written(ledger: DurableLedger) -> None:
    ledger.charge("a", Fraction(2, 3))
    with pytest.raises(BudgetExhausted, match="1/3 is left"):
        ledger.charge("b", Fraction(1, 2))
    assert len(ledger.entries) == 1


def test_an_unanswered_charge_is_taken_up_and_the_first_release_stands(ledger: DurableLedger) -> None:
    charge = charged(ledger, "a", Fraction(1, 4))
    assert ledger.charge("a", Fraction(1, 4)) == charge
    assert ledger.record(charge, ANSWER) == ANSWER
    assert ledger.record(charge, replace(ANSWER, steps=5)) == ANSWER
    assert ledger.charge("a", Fraction(1, 4)) == ANSWER
    assert charged(ledger, "a", Fraction(1, 4), fresh=True).number == charge.number + 1


def test_nothing_in_the_file_can_be_changed_or_removed(ledger: DurableLedger, path: Path) -> None:
    ledger.charge("a", Fraction(1, 4))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("INSERT INTO quotas VALUES (0, 'ana', '1/2', 'ana', '2026')")
        for act in (
            "UPDATE charges SET share = '0'",
            "DELETE FROM charges",
            "DELETE FROM facts",
            "INSERT OR REPLACE INTO charges SELECT 0, '', '0', '0', '', '', '', '', '', '', '' FROM charges",
            "INSERT OR REPLACE INTO facts VALUES ('binding', '{}')",
            "UPDATE quotas SET share = '1'",
            "DELETE FROM quotas",
            "INSERT OR REPLACE INTO quotas VALUES (0, 'ana', '1', 'ana', '2026')",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                database.execute(act)
    database.close()


def test_the_same_question_in_another_process_s_table_is_free(path: Path) -> None:
    first = accounts(path).count(share="1/10")
    again = accounts(path)
    assert again.count(share="1/10") == first
    assert again.ledger.left == Fraction(9, 10)
    assert again.count(share="1/10", fresh=True) != first
    assert again.ledger.left == Fraction(8, 10)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"policy": prdp.Policy("9000 / balance", at_most=100)}, "policy: 10000 / balance -> 9000 / balance"),
        ({"bounds": {"balance": (1, 10**12)}}, "bounds of balance: 0 to 1000000000000 -> 1 to 1000000000000"),
        ({"name": "accounts-2026-12"}, "name: accounts -> accounts-2026-12"),
        ({"policy": prdp.Policy("10000 / balance", at_most=50)}, "at_most: 100 -> 50"),
    ],
)
def test_a_ledger_of_other_public_facts_is_refused_with_the_difference(
    path: Path, options: dict[str, Any], says: str
) -> None:
    accounts(path)
    with pytest.raises(LedgerError, match=says.replace("/", ".").replace("+", ".")):
        accounts(path, **options)


def test_bounds_and_grains_of_another_column_may_be_added_later(path: Path) -> None:
    source = {"balance": np.arange(1, 3000), "age": np.arange(1, 3000) % 90}
    policy = prdp.Policy("10000 / balance", at_most=100)
    first = {"balance": (0, 10**12)}

    def total(most: int) -> prdp.Release:
        table = prdp.open(
            source, policy=policy, bounds=first | {"age": (0, most)}, name="accounts", ledger=path
        )
        return table.sum("age", share="1/10")

    prdp.open(source, policy=policy, bounds=first, name="accounts", ledger=path).count(share="1/10")
    assert total(100) == total(100) != total(1000)
    assert DurableLedger(path).left == Fraction(7, 10)


def test_other_rows_under_the_same_facts_share_the_ledger(path: Path) -> None:
    """Whatever was computed from rows would confirm a guess about them."""
    accounts(path)
    other = prdp.open(
        {"balance": np.arange(5)},
        policy=prdp.Policy("10000 / balance", at_most=100),
        bounds={"balance": (0, 10**12)},
        name="accounts",
        ledger=path,
    )
    assert other.ledger.left == 1
    facts = DurableLedger(path).binding.to_json()
    assert "2999" not in facts


def test_an_engine_that_fails_leaves_an_unanswered_charge_that_is_taken_up(path: Path) -> None:
    table = accounts(path)
    works = table._engine.summarise

    def fails(reading: object) -> Any:
        raise EngineFailure

    table._engine.summarise = fails  # type: ignore[method-assign]
    with pytest.raises(EngineFailure):
        table.count(share="1/4")
    assert table.ledger.left == Fraction(3, 4)
    table._engine.summarise = works  # type: ignore[method-assign]
    table.count(share="1/4")
    assert table.ledger.left == Fraction(3, 4)


def test_threads_share_one_ledger_object(ledger: DurableLedger) -> None:
    refused = []

    def spend(name: str) -> None:
        try:
            ledger.charge(name, Fraction(1, 5))
        except BudgetExhausted:
            refused.append(name)

    threads = [threading.Thread(target=spend, args=(f"q{k}",)) for k in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(ledger.entries), len(refused), ledger.left) == (5, 7, Fraction(0))


def test_a_backup_is_a_ledger_and_does_not_overwrite(ledger: DurableLedger, tmp_path: Path) -> None:
    ledger.charge("a", Fraction(1, 3))
    ledger.backup(tmp_path / "copy.ledger")
    assert DurableLedger(tmp_path / "copy.ledger").entries == ledger.entries
    with pytest.raises(LedgerError, match="does not overwrite"):
        ledger.backup(tmp_path / "copy.ledger")


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
    with closing(sqlite3.connect(other)) as database, database:
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


def test_a_ledger_whose_sums_do_not_add_up_is_refused(ledger: DurableLedger, path: Path) -> None:
    ledger.charge("a", Fraction(1, 3))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DROP TRIGGER charges_no_update")
        database.execute("UPDATE charges SET spent = '0'")
    database.close()
    with pytest.raises(LedgerError, match="damaged"):
        DurableLedger(path)


def test_a_ledger_of_a_newer_format_is_refused(ledger: DurableLedger, path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"PRAGMA user_version = {file_format.VERSION + 1}")
    database.close()
    with pytest.raises(LedgerError, match="newer prdp"):
        DurableLedger(path)


def test_an_older_format_is_brought_up_to_date_and_kept_beside(
    ledger: DurableLedger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.charge("a", Fraction(1, 3))

    def add_a_note(database: sqlite3.Connection) -> None:
        database.execute("ALTER TABLE charges ADD COLUMN note TEXT")

    monkeypatch.setattr(file_format, "VERSION", file_format.VERSION + 1)
    monkeypatch.setattr(file_format, "MIGRATIONS", {file_format.VERSION - 1: add_a_note})
    assert DurableLedger(path).left == Fraction(2, 3)
    with closing(sqlite3.connect(path)) as database, database:
        assert database.execute("SELECT note FROM charges").fetchall() == [(None,)]
    database.close()
    assert path.with_name(f"{path.name}.format{file_format.VERSION - 1}").exists()


def test_a_clock_that_goes_backwards_changes_no_sum(
    ledger: DurableLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter(["2026-11-16T12:00:00+00:00", "2001-01-01T00:00:00+00:00"])
    monkeypatch.setattr("prdp.ledger.durable._now", lambda: next(times))
    ledger.charge("a", Fraction(1, 3))
    ledger.charge("b", Fraction(1, 3))
    assert [entry.purpose for entry in ledger.entries] == ["a", "b"]
    assert ledger.left == Fraction(1, 3)


def test_the_same_question_from_many_threads_at_once_is_charged_once(path: Path) -> None:
    table = accounts(path)
    shown: list[Release] = []
    threads = [threading.Thread(target=lambda: shown.append(table.count(share="1/50"))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(shown)) == 1
    assert table.ledger.left == Fraction(49, 50)


def test_a_ledger_that_was_replaced_meanwhile_does_not_take_the_answer(
    ledger: DurableLedger, path: Path, tmp_path: Path
) -> None:
    ledger.backup(tmp_path / "early")
    mine = charged(ledger, "a", Fraction(1, 5))
    os.replace(tmp_path / "early", path)
    other = charged(DurableLedger(path), "b", Fraction(1, 7))
    assert other.number == mine.number
    with pytest.raises(LedgerError, match="does not know the charge"):
        ledger.record(mine, ANSWER)
    path.unlink()
    DurableLedger.opened(path, FACTS)
    with pytest.raises(LedgerError, match="another ledger than the one that was opened"):
        ledger.charge("a", Fraction(1, 5))


def test_what_was_read_is_forgotten_when_a_ledger_is_put_back_to_an_older_state(tmp_path: Path) -> None:
    """Charges are read once, since a ledger only grows; a backup that is put in its place has fewer."""
    path, early = tmp_path / "w.ledger", tmp_path / "early"
    ledger = DurableLedger.opened(path, Binding({"name": "t", "fixed": ["week"]}))
    regions = [f'[{{"week": {{"whole": [{week}]}}}}]' for week in range(4)]
    ledger.charge("a", Fraction(1, 5), notes=Notes(regions[0]))
    ledger.backup(early)
    ledger.charge("b", Fraction(1, 2), notes=Notes(regions[1]))
    assert ledger.left_in(regions[1]) == Fraction(1, 2)
    os.replace(early, path)
    assert ledger.left_in(regions[1]) == 1
    other = DurableLedger(path)
    for week in (2, 3):
        other.charge(f"of {week}", Fraction(3, 4), notes=Notes(regions[week]))
    quarter = Fraction(1, 4)
    assert [ledger.left_in(region) for region in regions] == [Fraction(4, 5), 1, quarter, quarter]


def test_a_table_keeps_its_ledger_wherever_the_process_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    ledger = DurableLedger.opened("t.ledger", FACTS)
    monkeypatch.chdir(tmp_path / "elsewhere")
    ledger.charge("a", Fraction(1, 5))
    assert DurableLedger(tmp_path / "t.ledger").left == Fraction(4, 5)


def test_a_second_name_and_a_leftover_journal_are_refused(
    ledger: DurableLedger, path: Path, tmp_path: Path
) -> None:
    os.link(path, tmp_path / "second")
    with pytest.raises(LedgerError, match="second name"):
        ledger.charge("a", Fraction(1, 5))
    (tmp_path / "second").unlink()
    os.link(path, tmp_path / f".{path.name}.left-by-a-crash")
    assert ledger.left == 1
    (tmp_path / "u.ledger-journal").touch()
    with pytest.raises(LedgerError, match="was a ledger that is gone"):
        DurableLedger.opened(tmp_path / "u.ledger", FACTS)


@pytest.mark.parametrize(
    "edit", ["DELETE FROM releases", "DROP TRIGGER facts_no_update", "PRAGMA user_version = 0"]
)
def test_guards_that_are_missing_are_noticed(ledger: DurableLedger, path: Path, edit: str) -> None:
    ledger.record(charged(ledger, "a", Fraction(1, 3)), ANSWER)
    with closing(sqlite3.connect(path)) as database, database:
        if edit.startswith("DELETE"):
            database.execute("DROP TRIGGER releases_no_delete")
        database.execute(edit)
    database.close()
    with pytest.raises(LedgerError):
        DurableLedger(path)


@pytest.mark.parametrize("who", [b"ana", 5, "half \ud800", "nul \0"])
def test_a_label_that_cannot_be_written_is_refused_as_such(path: Path, who: Any) -> None:
    with pytest.raises(InvalidRequest, match="no label"):
        DurableLedger.opened(path, FACTS, who=who)


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
    with file_format.connected(tmp_path / "x") as database:
        assert database.execute("PRAGMA synchronous").fetchone() == (3,)
        assert database.execute("PRAGMA fullfsync").fetchone() == (1,)
