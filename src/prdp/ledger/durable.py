"""An account in a SQLite file: exact, append-only, safe between threads, processes and crashes."""

from __future__ import annotations

import getpass
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from prdp.declare.exact import MOST_DENOMINATOR, Exact, exact, fraction_of, spelled, told
from prdp.errors import InvalidRequest, LedgerError
from prdp.expressions.spelling import is_writable
from prdp.ledger.account import (
    NO_NOTES,
    Charge,
    Entry,
    Notes,
    left_after,
    refuse_unless_a_charge,
    sum_with,
    total_with,
)
from prdp.ledger.binding import Binding
from prdp.ledger.by_region import Spent, left_in, refuse_past_a_quota, refuse_what_does_not_fit, whom
from prdp.ledger.drafts import draft, without_drafts
from prdp.ledger.export import as_csv, as_json
from prdp.ledger.file_format import BACKUPS, connected, create, decoded, explained, upgrade, verify
from prdp.ledger.notebook import account_html
from prdp.ledger.release_form import release_from_json, release_to_json
from prdp.regions.region import Region
from prdp.release.table import Released
from prdp.safety.transaction import writing

_NOTES = "region, edition, hint, quota"
_SELECT = (
    f"SELECT charges.number, purpose, share, who, at, release, {_NOTES} FROM charges "
    "LEFT JOIN releases ON releases.number = charges.number"
)


class DurableLedger:
    """An account that outlives the process, in one file.

    Every operation opens the file anew, so threads and forked processes share nothing but the file.
    A charge is one transaction that is on disk before it returns; SQLite undoes what a crash cut
    short. The tables refuse updates and deletions: a guard against accidents, not against somebody who
    may write the file.
    """

    def __init__(self, path: Path | str, *, who: str | None = None) -> None:
        """Open a ledger that exists.

        Raises:
            LedgerError: There is none, or it cannot be trusted.
        """
        self.path = _placed(path)
        self.who = _label(who)
        self._identity: str | None = None
        self._kept: tuple[str, tuple[Spent, ...]] = ("", ())
        self._refuse_unless_there()
        upgrade(self.path)
        with self._operating("nothing was read") as database:
            verify(database, self.path)
            self._identity = _fact(database, "identity")

    @classmethod
    def opened(cls, path: Path | str, binding: Binding, *, who: str | None = None) -> DurableLedger:
        """Open the ledger of a table, or begin one where there is none."""
        placed = _placed(path)
        if not is_writable(binding.to_json()):
            raise InvalidRequest(
                "a name or a fact of this table cannot be written: it holds half of a character."
            )
        with explained(placed, "no ledger was begun"):
            if not placed.exists():
                _begin(placed, binding)
        return cls(placed, who=who)

    def attach(self, binding: Binding) -> None:
        """Refuse a table whose public facts are not those that the ledger is bound to."""
        differences = self.binding.differences(binding)
        if differences:
            listed = "\n".join(f"  {line}" for line in differences)
            raise LedgerError(
                f"the ledger {self.path} belongs to other public facts than this table's "
                f"(in the ledger -> here):\n{listed}\n"
                "Open the table as it was, or give what is a new data set its own name and ledger. "
                "Whoever is in both then loses up to a whole budget under each."
            )

    @property
    def binding(self) -> Binding:
        """The public facts that the ledger is bound to."""
        with self._operating("nothing was read") as database, decoded(self.path):
            return Binding.from_json(_fact(database, "binding"))

    @property
    def fixed(self) -> tuple[str, ...]:
        """The columns that narrow whom a question is charged to; said when the ledger was begun."""
        return self.binding.fixed

    @property
    def left(self) -> Fraction:
        """The part of every record's budget that is not spent."""
        return self.left_in(None)

    def left_in(self, region: str | None) -> Fraction:
        """Return the part of their budgets that all records of a region have left."""
        with self._operating("nothing was read") as database:
            fixed = self._fixed(database)
            if not fixed:
                return left_after(self._spent(database))
            return left_in(whom(region, fixed), self._charges(database, fixed))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All charges, the oldest first."""
        with self._operating("nothing was read") as database, decoded(self.path):
            return tuple(_entry(row) for row in database.execute(f"{_SELECT} ORDER BY charges.number"))

    def standing(self, purpose: str, share: Fraction) -> Released | None:
        """Return the newest release that a purpose has had for a share."""
        with self._operating("nothing was read") as database:
            return self._standing(database, purpose, share)

    def _standing(self, database: sqlite3.Connection, purpose: str, share: Fraction) -> Released | None:
        row = database.execute(
            "SELECT release FROM releases JOIN charges USING (number) WHERE purpose = ? AND share = ? "
            "ORDER BY number DESC LIMIT 1",
            (purpose, str(share)),
        ).fetchone()
        return self._read(row[0]) if row else None

    @property
    def quotas(self) -> dict[str, Fraction]:
        """What each name may spend of any record's budget, by the newest word on it."""
        with self._operating("nothing was read") as database:
            return self._quotas(database)

    def _quotas(self, database: sqlite3.Connection) -> dict[str, Fraction]:
        with decoded(self.path):
            rows = database.execute("SELECT name, share FROM quotas ORDER BY number").fetchall()
            return {name: fraction_of(share) for name, share in rows}

    def set_quota(self, name: str, share: Exact) -> None:
        """Limit what a name may spend of any record's budget, from now on; 0 lets it spend nothing more.

        A limit for people. The promise comes from the one account that all share.
        """
        if not name or _label(name) != name:
            raise InvalidRequest(f"{name!r} is no name for a quota: write a text.")
        limit = exact(share, "share")
        if not 0 <= limit <= 1 or limit.denominator > MOST_DENOMINATOR:
            raise InvalidRequest(
                f"share={told(share)} is no quota: a part of any budget, from 0 to 1, such as 0.25 or '1/4'."
            )
        with self._writing("no quota was written") as database:
            database.execute(
                "INSERT INTO quotas (number, name, share, who, at) "
                "SELECT coalesce(max(number) + 1, 0), ?, ?, ?, ? FROM quotas",
                (name, str(limit), self.who, _now()),
            )

    def charge(
        self, purpose: str, share: Fraction, *, fresh: bool = False, notes: Notes = NO_NOTES
    ) -> Charge | Released:
        """Return the standing release, or a charge that is on disk: an unanswered one, or a new one."""
        refuse_unless_a_charge(purpose, share, notes)
        asked = (purpose, str(share))
        with self._writing("nothing was charged") as database:
            standing = None if fresh else self._standing(database, purpose, share)
            if standing is not None:
                return standing
            fixed = self._fixed(database)
            unanswered = database.execute(
                f"SELECT number, token, {_NOTES} FROM charges WHERE purpose = ? AND share = ? "
                "AND number NOT IN (SELECT number FROM releases) ORDER BY number",
                asked,
            )
            for number, token, *kept in unanswered:
                if not fixed or kept[0] in {None, notes.region}:
                    return Charge(number, purpose, token, Notes(*kept))
            return self._new_charge(database, purpose, share, notes, fixed)

    def _new_charge(
        self,
        database: sqlite3.Connection,
        purpose: str,
        share: Fraction,
        notes: Notes,
        fixed: tuple[str, ...],
    ) -> Charge:
        region = whom(notes.region, fixed)
        notes = self._within_quota(database, share, region, notes, fixed)
        if fixed:
            refuse_what_does_not_fit(share, region, self._charges(database, fixed), fixed)
            spent = total_with(self._spent(database), share)
        else:
            spent = sum_with(self._spent(database), share)
        token = uuid.uuid4().hex
        ((number,),) = database.execute(
            f"INSERT INTO charges (number, purpose, share, spent, who, at, token, {_NOTES}) "
            "SELECT coalesce(max(number) + 1, 0), ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM charges RETURNING number",
            (purpose, str(share), spelled(spent), self.who, _now(), token, *astuple(notes)),
        ).fetchall()
        return Charge(number, purpose, token, notes)

    def _within_quota(
        self,
        database: sqlite3.Connection,
        share: Fraction,
        region: Region,
        notes: Notes,
        fixed: tuple[str, ...],
    ) -> Notes:
        """Return the notes with out of whose quota it is paid: the one named, or that of whoever asks."""
        quotas = self._quotas(database)
        if notes.quota is not None and notes.quota not in quotas:
            raise InvalidRequest(f"{self.path} has no quota {notes.quota!r}. Nothing was charged.")
        name = notes.quota or (self.who if self.who in quotas else None)
        if name is None:
            return notes
        refuse_past_a_quota(name, quotas[name], share, region, self._charges(database, fixed))
        return replace(notes, quota=name)

    def record(self, charge: Charge, release: Released) -> Released:
        """Attach a release to a charge and sync it, unless it has one; return the one that stands."""
        trouble = "the charge stands unanswered; ask the same question again, it costs nothing more"
        with self._writing(trouble) as database:
            known = database.execute(
                "SELECT 1 FROM charges WHERE number = ? AND token = ?", (charge.number, charge.token)
            ).fetchone()
            if not known:
                raise LedgerError(
                    f"the ledger {self.path} does not know the charge any more: it was replaced meanwhile. "
                    "The answer is not shown. Ask again, under the ledger as it is now."
                )
            standing = database.execute(
                "SELECT release FROM releases WHERE number = ?", (charge.number,)
            ).fetchone()
            if standing:
                return self._read(standing[0])
            written = (charge.number, release_to_json(release))
            database.execute("INSERT INTO releases (number, release) VALUES (?, ?)", written)
            return release

    def backup(self, to: Path | str) -> None:
        """Copy the ledger, consistently even while others write to it, to a file that is not there yet."""
        target = _placed(to)
        if target.exists():
            raise LedgerError(f"{target} exists already; a backup does not overwrite.")
        if not target.parent.is_dir():
            raise LedgerError(f"there is no folder {target.parent} for a backup.")
        with (
            self._operating("nothing was copied") as database,
            draft(target) as drafted,
            connected(drafted) as copy,
        ):
            database.backup(copy)

    def export(self, form: Literal["json", "csv"]) -> str:
        """Return everything as JSON, or the charges as CSV."""
        if form == "csv":
            return as_csv(self.entries)
        return as_json(self.path, self.binding.facts, self.entries, self.left)

    def __repr__(self) -> str:
        return f"DurableLedger({str(self.path)!r})"

    def _repr_html_(self) -> str:
        return account_html(self.path.name, self.left, self.entries)

    def _refuse_unless_there(self) -> None:
        with explained(self.path, "nothing was done"):
            if not self.path.is_file():
                raise LedgerError(f"there is no ledger {self.path}.")
            facts = self.path.stat()
        if facts.st_size == 0:
            raise LedgerError(
                f"{self.path} is empty, and a ledger never is. If it never was one, give a name that is not "
                f"taken; if it was, what was spent is lost. {BACKUPS}"
            )
        if facts.st_nlink > 1 and not without_drafts(self.path):
            raise LedgerError(
                f"{self.path} has a second name (a hard link). After a crash the file could be rolled back "
                "under one name and not under the other. Keep one name and remove the others."
            )

    def _spent(self, database: sqlite3.Connection) -> Fraction:
        row = database.execute("SELECT spent FROM charges ORDER BY number DESC LIMIT 1").fetchone()
        with decoded(self.path):
            return fraction_of(row[0]) if row else Fraction(0)

    def _fixed(self, database: sqlite3.Connection) -> tuple[str, ...]:
        with decoded(self.path):
            return Binding.from_json(_fact(database, "binding")).fixed

    def _charges(self, database: sqlite3.Connection, fixed: tuple[str, ...]) -> tuple[Spent, ...]:
        """Return all charges that decide what is left; those that were read before are not read again.

        A ledger only grows; one that was put back to an older state does not know the last charge's token.
        """
        token, charges = self._kept
        known = database.execute("SELECT token FROM charges WHERE number = ?", (len(charges) - 1,)).fetchone()
        if known != (token,):
            charges = ()
        rows = database.execute(
            "SELECT number, purpose, share, region, quota, token FROM charges WHERE number >= ? "
            "ORDER BY number",
            (len(charges),),
        ).fetchall()
        if rows:
            with decoded(self.path):
                shares = {text: fraction_of(text) for text in {row[2] for row in rows}}
                charges += tuple(
                    Spent(number, purpose, shares[share], whom(region, fixed), quota)
                    for number, purpose, share, region, quota, _ in rows
                )
            self._kept = rows[-1][-1], charges
        return charges

    def _read(self, text: str) -> Released:
        with decoded(self.path):
            return release_from_json(text)

    @contextmanager
    def _operating(self, trouble: str) -> Iterator[sqlite3.Connection]:
        self._refuse_unless_there()
        with explained(self.path, trouble), connected(self.path) as database:
            if self._identity is not None and _fact(database, "identity") != self._identity:
                raise LedgerError(f"{self.path} is another ledger than the one that was opened: {trouble}.")
            yield database

    @contextmanager
    def _writing(self, trouble: str) -> Iterator[sqlite3.Connection]:
        """Hold the write lock from before the first read to after the sync."""
        with self._operating(trouble) as database, writing(database):
            yield database


def _begin(path: Path, binding: Binding) -> None:
    if not path.parent.is_dir():
        raise LedgerError(f"there is no folder {path.parent} for a ledger.")
    for leftover in (path.with_name(f"{path.name}-journal"), path.with_name(f"{path.name}-wal")):
        if leftover.exists():
            raise LedgerError(
                f"{leftover} is there, so {path} was a ledger that is gone, and what was spent with it. Keep "
                f"{leftover.name} elsewhere: SQLite would merge it into a backup. {BACKUPS}"
            )
    with (
        suppress(FileExistsError),  # somebody else may begin it meanwhile
        draft(path) as drafted,
        connected(drafted) as database,
    ):
        create(database, binding, _now(), uuid.uuid4().hex)


def _placed(path: Path | str) -> Path:
    """Return where a ledger is, wherever the process goes later."""
    if not isinstance(path, str | Path) or not str(path) or not is_writable(str(path)):
        raise InvalidRequest(f"{path!r} is no file name for a ledger.")
    return Path(path).expanduser().absolute()


def _label(who: str | None) -> str:
    if who is None:
        try:
            who = getpass.getuser()
        except (OSError, KeyError):
            who = "unknown"
        return who if is_writable(who) else "unknown"
    if not isinstance(who, str) or not is_writable(who):
        raise InvalidRequest(f"who={who!r} is no label: write a text.")
    return who


def _fact(database: sqlite3.Connection, name: str) -> str:
    row = database.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return str(row[0]) if row else ""


def _entry(row: tuple[Any, ...]) -> Entry:
    number, purpose, share, who, at, text, *notes = row
    release = release_from_json(text) if text else None
    return Entry(number, purpose, fraction_of(share), who, at, release, Notes(*notes))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
