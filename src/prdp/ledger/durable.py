"""An account in a SQLite file: append-only, exact, safe between threads, processes and crashes."""

from __future__ import annotations

import getpass
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Literal

from prdp.errors import BudgetExhausted, LedgerError
from prdp.ledger.account import Entry
from prdp.ledger.binding import Binding
from prdp.ledger.export import as_csv, as_json
from prdp.ledger.file_format import create, explained, upgrade, verify
from prdp.ledger.release_form import release_from_json, release_to_json
from prdp.release import Release

_PATIENCE_SECONDS = 120
_SELECT = (
    "SELECT charges.number, purpose, share, who, charges.at, release, releases.at FROM charges "
    "LEFT JOIN releases ON releases.number = charges.number"
)


class DurableLedger:
    """An account that outlives the process, in one file.

    Every operation opens the file anew, so threads and forked processes share nothing but the file.
    A charge is one transaction that is on disk before it returns; SQLite undoes what a crash cut
    short. The tables refuse updates and deletions.
    """

    durable = True

    def __init__(self, path: Path | str, *, who: str | None = None) -> None:
        """Open a ledger that exists.

        Raises:
            LedgerError: There is none, or it cannot be trusted.
        """
        self.path = Path(path)
        self.who = who if who is not None else _user()
        self._refuse_unless_there()
        upgrade(self.path)
        with self._reading() as database:
            verify(database, self.path)

    @classmethod
    def opened(cls, path: Path | str, binding: Binding, *, who: str | None = None) -> DurableLedger:
        """Open the ledger of a table, or begin one where there is none."""
        path = Path(path)
        if not path.exists():
            _begin(path, binding)
        return cls(path, who=who)

    def attach(self, binding: Binding) -> None:
        """Refuse a table whose public facts are not those that the ledger is bound to."""
        differences = self.binding.differences(binding)
        if differences:
            listed = "\n".join(f"  {line}" for line in differences)
            raise LedgerError(
                f"the ledger {self.path} belongs to other public facts than this table's "
                f"(in the ledger -> here):\n{listed}\n"
                "Open the table as it was, or give what is a new data set its own name and ledger."
            )

    @property
    def binding(self) -> Binding:
        """The public facts that the ledger is bound to."""
        with self._reading() as database:
            ((text,),) = database.execute("SELECT value FROM facts WHERE name = 'binding'")
            return Binding.from_json(text)

    @property
    def left(self) -> Fraction:
        """The part of every record's budget that is not spent."""
        with self._reading() as database:
            return 1 - _spent(database)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All charges, the oldest first."""
        with self._reading() as database:
            return tuple(_entry(row) for row in database.execute(f"{_SELECT} ORDER BY charges.number"))

    def charge(self, purpose: str, share: Fraction) -> int:
        """Write a charge down and sync it, or take up an unanswered one for the same purpose."""
        with self._writing("nothing was charged") as database:
            unanswered = database.execute(
                "SELECT min(number) FROM charges WHERE purpose = ? AND share = ? "
                "AND number NOT IN (SELECT number FROM releases)",
                (purpose, str(share)),
            ).fetchone()[0]
            if unanswered is not None:
                return int(unanswered)
            spent = _spent(database)
            if spent + share > 1:
                raise BudgetExhausted(asked=share, left=1 - spent)
            row = (purpose, str(share), str(spent + share), self.who, _now())
            added = database.execute(
                "INSERT INTO charges (number, purpose, share, spent, who, at) "
                "SELECT coalesce(max(number) + 1, 0), ?, ?, ?, ?, ? FROM charges RETURNING number",
                row,
            ).fetchone()
            return int(added[0])

    def record(self, number: int, release: Release) -> Release:
        """Attach a release to a charge and sync it, unless it has one; return the one that stands."""
        trouble = "the charge stands unanswered; ask the same question again, it costs nothing more"
        with self._writing(trouble) as database:
            database.execute(
                "INSERT INTO releases (number, release, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (number, release_to_json(release), _now()),
            )
            ((text,),) = database.execute("SELECT release FROM releases WHERE number = ?", (number,))
        return release_from_json(text)

    def recorded(self, purpose: str) -> Release | None:
        """Return the latest release for a purpose, if there is one."""
        with self._reading() as database:
            row = database.execute(
                "SELECT release FROM releases JOIN charges USING (number) WHERE purpose = ? "
                "ORDER BY number DESC LIMIT 1",
                (purpose,),
            ).fetchone()
        return release_from_json(row[0]) if row else None

    def backup(self, to: Path | str) -> None:
        """Copy the ledger, consistently even while others write to it, to a file that is not there yet."""
        target = Path(to)
        if target.exists():
            raise LedgerError(f"{target} exists already; a backup does not overwrite.")
        if not target.parent.is_dir():
            raise LedgerError(f"there is no folder {target.parent} for a backup.")
        with self._reading() as database, closing(sqlite3.connect(target)) as copy:
            database.backup(copy)

    def export(self, form: Literal["json", "csv"]) -> str:
        """Return everything as JSON, or the charges as CSV."""
        if form == "csv":
            return as_csv(self.entries)
        return as_json(self.path, self.binding.facts, self.entries)

    def __repr__(self) -> str:
        return f"DurableLedger({str(self.path)!r}, entries: {len(self.entries)}, left: {self.left})"

    def _refuse_unless_there(self) -> None:
        if not self.path.is_file():
            raise LedgerError(f"there is no ledger {self.path}.")
        if self.path.stat().st_size == 0:
            raise LedgerError(
                f"{self.path} is empty, and a ledger never is: what was spent may have been lost. Put a "
                "backup in its place. Only if it never was a ledger, remove it and begin anew."
            )

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        self._refuse_unless_there()
        with explained(self.path, "nothing was read"), closing(_connected(self.path)) as database:
            yield database

    @contextmanager
    def _writing(self, trouble: str) -> Iterator[sqlite3.Connection]:
        """Hold the write lock from before the first read to after the sync."""
        self._refuse_unless_there()
        with explained(self.path, trouble), closing(_connected(self.path)) as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
            except BaseException:
                database.rollback()
                raise
            database.execute("COMMIT")


def _connected(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=_PATIENCE_SECONDS, isolation_level=None)
    database.execute("PRAGMA synchronous = EXTRA")
    database.execute("PRAGMA foreign_keys = ON")
    return database


def _begin(path: Path, binding: Binding) -> None:
    """Write a new ledger beside its place and link it there: whole or not at all, and only once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with explained(path, "no ledger was begun"):
        handle, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(handle)
        try:
            with closing(_connected(Path(draft))) as database:
                create(database, binding, _now())
            with suppress(FileExistsError):  # somebody else began it in the meantime
                os.link(draft, path)
        finally:
            os.unlink(draft)


def _spent(database: sqlite3.Connection) -> Fraction:
    row = database.execute("SELECT spent FROM charges ORDER BY number DESC LIMIT 1").fetchone()
    return Fraction(row[0]) if row else Fraction(0)


def _entry(row: tuple[int, str, str, str, str, str | None, str | None]) -> Entry:
    number, purpose, share, who, at, text, answered = row
    release = release_from_json(text) if text else None
    return Entry(number, purpose, Fraction(share), who, at, release, answered)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
