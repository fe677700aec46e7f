"""Tamper with a ledger: flip bits, edit, delete and swap rows; and say whether any budget came back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from prdp.errors import BudgetExhausted, LedgerError
from prdp.ledger import Binding, Charge, DurableLedger, Entry, Notes
from prdp.ledger.layout import COLUMNS, Row, insertion, row_hash
from prdp.release.raw_answer import Caveat
from prdp.release.release import Release
from prdp.release.table import Released
from tests.ledger.places import FilePlace, Place, PostgresPlace

FACTS = Binding({"name": "t", "immutable": ["week"]})
WEEKS = [f'[{{"week": {{"whole": [{week}]}}}}]' for week in range(4)]
ASKED = Fraction(1, 5)


def answer(steps: int) -> Release:
    return Release("count", steps, Fraction(1), (Fraction(2),), Fraction(1, 4), "clip", Caveat("none"))


def filled(place: Place) -> DurableLedger:
    """Begin a ledger with rows in every table and a value in every column."""
    ledger = DurableLedger.opened(place.given, FACTS, who="ana")
    ledger.set_quota("ana", "9/10")
    ledger.set_quota("bob", "1/2")
    for week, region in enumerate(WEEKS[:3]):
        notes = Notes(region, "2026-W46", '{"place": "17/4"}', "ana", '{"columns": ["week"], "files": 2}')
        charge = ledger.charge(f"of {week}", ASKED, notes=notes)
        assert isinstance(charge, Charge)
        ledger.record(charge, answer(week))
    charge = ledger.charge("of all", ASKED)
    assert isinstance(charge, Charge)
    ledger.record(charge, answer(9))
    ledger.charge("unanswered", ASKED, notes=Notes(WEEKS[1]))
    return ledger


@dataclass(frozen=True)
class Facts:
    """All that a ledger says."""

    entries: tuple[Entry, ...]
    remaining: tuple[Fraction, ...]
    quotas: dict[str, Fraction]


def facts_of(ledger: DurableLedger) -> Facts:
    remaining = tuple(map(ledger.remaining_in, [None, *WEEKS]))
    return Facts(ledger.entries, remaining, ledger.quotas)


def misuse(ledger: DurableLedger, before: Facts) -> str:
    """Use a ledger that was tampered with; say how budget came back or an answer changed, if any did."""
    if _value(lambda: facts_of(ledger)) not in (None, before):
        return "it says something else"
    for entry in before.entries:
        again = _value(partial(_asked, ledger, entry))
        expected = entry.release if entry.release is not None else entry.number
        if again is not None and again != expected:
            return f"{entry.purpose} was asked again: {again}"
    for region, remaining in zip([None, *WEEKS], before.remaining, strict=True):
        more = partial(ledger.charge, "more", remaining + Fraction(1, 100), notes=Notes(region))
        if _value(more) is not None:
            return f"more was charged than {remaining}"
    return ""


def _asked(ledger: DurableLedger, entry: Entry) -> Released | int:
    asked = ledger.charge(entry.purpose, entry.share, notes=entry.notes)
    return asked.number if isinstance(asked, Charge) else asked


def _value(act: Any) -> Any:
    """Return what an act returns; None where it is refused."""
    try:
        return act()
    except (LedgerError, BudgetExhausted):
        return None


def is_refused(act: Any) -> bool:
    try:
        act()
    except LedgerError:
        return True
    return False


def as_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what this process has seen of any ledger."""
    monkeypatch.setattr("prdp.ledger.layout._SEEN", {})


@contextmanager
def unguarded(place: Place) -> Iterator[Act]:
    """Yield what runs statements on a ledger whose guards and foreign keys are switched off meanwhile."""
    if isinstance(place, FilePlace):
        with closing(sqlite3.connect(place.given)) as database, database:
            guards = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
            for name, _ in guards:
                database.execute(f"DROP TRIGGER {name}")
            yield database.execute
            for _, text in guards:
                database.execute(text)
        return
    assert isinstance(place, PostgresPlace)
    with place.connected() as server:
        server.execute("SET synchronous_commit = off")
        for table in COLUMNS:
            server.execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL".encode())
        yield lambda act, values: server.execute(act.replace("?", "%s").encode(), values)
        for table in COLUMNS:
            server.execute(f"ALTER TABLE {table} ENABLE TRIGGER ALL".encode())
            for event in ("update", "delete", "truncate"):
                server.execute(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_no_{event}".encode())


@contextmanager
def tampered(place: Place, edits: Edits) -> Iterator[None]:
    """Apply edits to a ledger, and put all of its rows back afterwards."""
    content = place.given.read_bytes() if isinstance(place, FilePlace) else b""
    rows = {} if isinstance(place, FilePlace) else rows_of(place)
    with unguarded(place) as act:
        for statement, values in edits:
            act(statement, values)
    yield
    if isinstance(place, FilePlace):
        place.given.write_bytes(content)
        return
    with unguarded(place) as act:
        for table in reversed(COLUMNS):
            act(f"DELETE FROM {table}", ())
        for table in COLUMNS:
            for row in rows[table]:
                act(insertion(table), row.values)


Act = Callable[[str, tuple[Any, ...]], object]
Edits = list[tuple[str, tuple[Any, ...]]]
"""Statements with their values."""


def other(value: Any) -> Any:
    """Return another value of the same type; of NULL, a text."""
    if isinstance(value, int):
        return value + 1000
    return "x" if value is None else value[:-1] + chr(ord(value[-1]) ^ 1) if value else "x"


def rows_of(place: Place) -> dict[str, list[Row]]:
    return {
        table: [
            Row(table, tuple(row))
            for row in place.run(f"SELECT {', '.join(columns)} FROM {table} ORDER BY place")
        ]
        for table, columns in COLUMNS.items()
    }


def edits(rows: dict[str, list[Row]]) -> Iterator[tuple[str, Edits]]:
    """Yield every edit of one field, every deletion of a row and every swap of two rows, with a name."""
    for table, columns in COLUMNS.items():
        key = columns[0]
        for row in rows[table]:
            at = row.values[0]
            yield f"delete {table} {at}", [(f"DELETE FROM {table} WHERE {key} = ?", (at,))]
            for column, value in zip(columns, row.values, strict=True):
                may_be_null = column in {"region", "snapshot", "warm_start", "quota", "source"}
                changes = [other(value)] + [None] * may_be_null
                for change in changes:
                    if change != value:
                        act = f"UPDATE {table} SET {column} = ? WHERE {key} = ?"
                        yield f"edit {table}.{column} of {at}", [(act, (change, at))]
        for first, second in zip(rows[table], rows[table][1:], strict=False):
            yield f"swap {table} {first.values[0]}", list(_swap(table, key, first, second))


def _swap(table: str, key: str, first: Row, second: Row) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield what gives two rows each other's place and hash, so that they are in the other order."""
    act = f"UPDATE {table} SET place = ?, hash = ? WHERE {key} = ?"
    yield act, (-1, "", first.values[0])
    yield act, (first.place, first.hash, second.values[0])
    yield act, (second.place, second.hash, first.values[0])


def rehashed(rows: dict[str, list[Row]], table: str, at: Any, column: str, value: Any) -> Edits:
    """Return an edit of one field, and the updates that give every row the hash that it then calls for."""
    ordered = sorted((row for found in rows.values() for row in found), key=lambda row: row.place)
    place = COLUMNS[table].index(column)
    act = f"UPDATE {table} SET {column} = ? WHERE {COLUMNS[table][0]} = ?"
    updates: Edits = [(act, (value, at))]
    hashes: list[str] = []
    for row in ordered:
        values = list(row.values)
        if (row.table, values[0]) == (table, at):
            values[place] = value
        hashes.append(row_hash(hashes[-1] if hashes else "", row.table, values[:-1]))
        key = COLUMNS[row.table][0]
        updates.append((f"UPDATE {row.table} SET hash = ? WHERE {key} = ?", (hashes[-1], values[0])))
    return updates


def flipped(content: bytes, random: Random) -> tuple[int, bytes]:
    """Return a bit's number and the content with it flipped; half of the bits are in bytes that are not 0."""
    used = [place for place, byte in enumerate(content) if byte]
    at = random.choice(used) if random.random() < 0.5 else random.randrange(len(content))
    bit = random.randrange(8)
    changed = bytearray(content)
    changed[at] ^= 1 << bit
    return 8 * at + bit, bytes(changed)


def flip_bits(path: Path, ledger: DurableLedger, seed: int, times: int, monkeypatch: Any) -> dict[str, Any]:
    """Flip one bit of a file at a time, while it is open and before it is opened; count what follows."""
    before, content, random = facts_of(ledger), path.read_bytes(), Random(seed)
    counts: dict[str, Any] = {"refused open": 0, "refused opening": 0, "harmless": 0, "misused": []}
    for _ in range(times):
        bit, changed = flipped(content, random)
        path.write_bytes(changed)
        open_one = is_refused(lambda: facts_of(ledger))
        found = [misuse(ledger, before)]
        path.write_bytes(changed)
        as_a_new_process(monkeypatch)
        try:
            again = DurableLedger(path)
        except LedgerError:
            counts["refused opening"] += 1
        else:
            found.append(misuse(again, before))
            counts["harmless"] += not any(found) and not open_one
        counts["refused open"] += open_one
        counts["misused"] += [(bit, one) for one in found if one]
        path.with_name(f"{path.name}-journal").unlink(missing_ok=True)
        path.write_bytes(content)
    return counts
