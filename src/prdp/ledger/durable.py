"""An account that lasts: exact, append-only, safe between threads, processes, machines and crashes."""

from __future__ import annotations

import getpass
import uuid
from collections.abc import Callable
from dataclasses import astuple, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeVar

from prdp.declare.exact import MOST_DENOMINATOR, Exact, exact, fraction_of, spelled, told
from prdp.errors import InvalidRequest, LedgerError
from prdp.expressions.spelling import is_writable
from prdp.ledger.account import (
    LATEST,
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
from prdp.ledger.export import as_csv, as_json
from prdp.ledger.layout import FACTS, insertion
from prdp.ledger.notebook import account_html
from prdp.ledger.release_form import release_from_json, release_to_json
from prdp.ledger.soundness import decoded, fact
from prdp.ledger.storage import Database, storage_of
from prdp.regions.region import Region
from prdp.release.table import Released

_NOTES = "region, edition, hint, quota"
_SELECT = (
    f"SELECT charges.number, purpose, share, who, at, release, {_NOTES} FROM charges "
    "LEFT JOIN releases ON releases.number = charges.number"
)
Done = TypeVar("Done")


class DurableLedger:
    """An account that outlives the process, in one file or in a PostgreSQL database.

    Every operation opens it anew, so threads and forked processes share nothing but what is written.
    A charge is one transaction that is on disk before it returns; what a crash cut short is undone. The
    tables refuse updates and deletions: a guard against accidents, not against somebody who may write them.
    """

    def __init__(self, path: Path | str, *, who: str | None = None) -> None:
        """Open a ledger that exists.

        Args:
            path: A file, or an address such as ``postgresql://user@host/database?ledger=accounts``.
            who: Who asks; by default the name of whoever runs the process.

        Raises:
            LedgerError: There is none, or it cannot be trusted.
        """
        self._storage = storage_of(path)
        self.who = _label(who)
        self._kept: tuple[str, tuple[Spent, ...]] = ("", ())
        self._identity = self._storage.checked()

    @classmethod
    def opened(cls, path: Path | str, binding: Binding, *, who: str | None = None) -> DurableLedger:
        """Open the ledger of a table, or begin one where there is none."""
        storage = storage_of(path)
        if not is_writable(binding.to_json()):
            raise InvalidRequest(
                "a name or a fact of this table cannot be written: it holds half of a character."
            )
        if not storage.is_begun():
            facts = zip(FACTS, (binding.to_json(), _now(), uuid.uuid4().hex), strict=True)
            storage.begin({"facts": list(facts)})
        return cls(path, who=who)

    @property
    def path(self) -> Path | None:
        """The file that it is in; None where it is in a database."""
        return self._storage.path

    @property
    def shown(self) -> str:
        """Where it is, for people: the file, or the database's address without user and password."""
        return self._storage.shown

    def attach(self, binding: Binding) -> None:
        """Refuse a table whose public facts are not those that the ledger is bound to."""
        differences = self.binding.differences(binding)
        if differences:
            listed = "\n".join(f"  {line}" for line in differences)
            raise LedgerError(
                f"the ledger {self.shown} belongs to other public facts than this table's "
                f"(in the ledger -> here):\n{listed}\n"
                "Open the table as it was, or give what is a new data set its own name and ledger. "
                "Whoever is in both then loses up to a whole budget under each."
            )

    @property
    def binding(self) -> Binding:
        """The public facts that the ledger is bound to."""
        with decoded(self.shown):
            return Binding.from_json(self._reading(lambda database: fact(database, "binding")))

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

        def read(database: Database) -> Fraction:
            fixed = self._fixed(database)
            if not fixed:
                return left_after(self._last(database)[1])
            return left_in(whom(region, fixed), self._charges(database, fixed))

        return self._reading(read)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All charges, the oldest first."""
        statement = f"{_SELECT} ORDER BY charges.number"
        rows = self._reading(lambda database: database.execute(statement).fetchall())
        with decoded(self.shown):
            return tuple(map(_entry, rows))

    def standing(self, purpose: str, share: Fraction) -> Released | None:
        """Return the newest release that a purpose has had for a share."""
        return self._reading(lambda database: self._standing(database, purpose, share))

    def _standing(self, database: Database, purpose: str, share: Fraction) -> Released | None:
        row = database.execute(
            "SELECT release FROM releases JOIN charges USING (number) WHERE purpose = ? AND share = ? "
            "ORDER BY number DESC LIMIT 1",
            (purpose, str(share)),
        ).fetchone()
        return self._read(row[0]) if row else None

    def answered(self, wanted: Callable[[str], bool]) -> tuple[Entry, ...]:
        """Return the newest charges that have a release and whose purpose passes a test, newest first."""
        statement = f"{_SELECT} WHERE release IS NOT NULL ORDER BY charges.number DESC LIMIT {LATEST}"
        rows = self._reading(lambda database: database.execute(statement).fetchall())
        with decoded(self.shown):
            return tuple(_entry(row) for row in rows if wanted(row[1]))

    @property
    def quotas(self) -> dict[str, Fraction]:
        """What each name may spend of any record's budget, by the newest word on it."""
        return self._reading(self._quotas)

    def _quotas(self, database: Database) -> dict[str, Fraction]:
        with decoded(self.shown):
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
        row = (name, str(limit), self.who, _now())

        def write(database: Database, retried: bool) -> None:
            last = database.execute(
                "SELECT number, name, share, who, at FROM quotas ORDER BY number DESC LIMIT 1"
            )
            number, *before = last.fetchone() or (-1,)
            if not (retried and row == tuple(before)):
                database.execute(insertion("quotas"), (number + 1, *row))

        self._writing(write, "no quota was written")

    def refuse_past_quota(self, share: Fraction, region: str | None) -> None:
        """Refuse what would take whoever asks past a quota; charges nothing.

        Raises:
            BudgetExhausted: The quota has less left.
        """

        def read(database: Database) -> None:
            fixed = self._fixed(database)
            self._within_quota(database, share, whom(region, fixed), NO_NOTES, fixed)

        self._reading(read)

    def charge(
        self, purpose: str, share: Fraction, *, fresh: bool = False, notes: Notes = NO_NOTES
    ) -> Charge | Released:
        """Return the standing release, or a charge that is on disk: an unanswered one, or a new one."""
        refuse_unless_a_charge(purpose, share, notes)
        token = uuid.uuid4().hex

        def write(database: Database, retried: bool) -> Charge | Released:
            mine = self._landed(database, token) if retried else None
            if mine is not None:
                return mine
            standing = None if fresh else self._standing(database, purpose, share)
            if standing is not None:
                return standing
            fixed = self._fixed(database)
            unanswered = database.execute(
                f"SELECT number, token, {_NOTES} FROM charges WHERE purpose = ? AND share = ? "
                "AND number NOT IN (SELECT number FROM releases) ORDER BY number",
                (purpose, str(share)),
            )
            for number, known, *kept in unanswered:
                if not fixed or kept[0] in {None, notes.region}:
                    return Charge(number, purpose, known, Notes(*kept))
            return self._new_charge(database, Charge(0, purpose, token, notes), share, fixed)

        return self._writing(write, "nothing was charged")

    def _landed(self, database: Database, token: str) -> Charge | None:
        """Return the charge with a token: its transaction was committed, and nobody could say so."""
        row = database.execute(
            f"SELECT number, purpose, {_NOTES} FROM charges WHERE token = ?", (token,)
        ).fetchone()
        return Charge(row[0], row[1], token, Notes(*row[2:])) if row else None

    def _new_charge(
        self, database: Database, charge: Charge, share: Fraction, fixed: tuple[str, ...]
    ) -> Charge:
        region = whom(charge.notes.region, fixed)
        notes = self._within_quota(database, share, region, charge.notes, fixed)
        last, spent = self._last(database)
        if fixed:
            refuse_what_does_not_fit(share, region, self._charges(database, fixed), fixed)
            spent = total_with(spent, share)
        else:
            spent = sum_with(spent, share)
        number = last + 1  # said, not counted by the statement: who read other rows before it is refused
        row = (number, charge.purpose, str(share), spelled(spent), self.who, _now(), charge.token)
        database.execute(insertion("charges"), (*row, *astuple(notes)))
        return replace(charge, number=number, notes=notes)

    def _within_quota(
        self,
        database: Database,
        share: Fraction,
        region: Region,
        notes: Notes,
        fixed: tuple[str, ...],
    ) -> Notes:
        """Return the notes with out of whose quota it is paid: the one named, or that of whoever asks."""
        quotas = self._quotas(database)
        if notes.quota is not None and notes.quota not in quotas:
            raise InvalidRequest(f"{self.shown} has no quota {notes.quota!r}. Nothing was charged.")
        name = notes.quota or (self.who if self.who in quotas else None)
        if name is None:
            return notes
        refuse_past_a_quota(name, quotas[name], share, region, self._charges(database, fixed))
        return replace(notes, quota=name)

    def record(self, charge: Charge, release: Released) -> Released:
        """Attach a release to a charge and sync it, unless it has one; return the one that stands."""

        def write(database: Database, _: bool) -> Released:
            known = database.execute(
                "SELECT 1 FROM charges WHERE number = ? AND token = ?", (charge.number, charge.token)
            ).fetchone()
            if not known:
                raise LedgerError(
                    f"the ledger {self.shown} does not know the charge any more: it was replaced meanwhile. "
                    "The answer is not shown. Ask again, under the ledger as it is now."
                )
            standing = database.execute(
                "SELECT release FROM releases WHERE number = ?", (charge.number,)
            ).fetchone()
            if standing:
                return self._read(standing[0])
            database.execute(insertion("releases"), (charge.number, release_to_json(release)))
            return release

        trouble = "the charge stands unanswered; ask the same question again, it costs nothing more"
        return self._writing(write, trouble)

    def backup(self, to: Path | str) -> None:
        """Copy the ledger, exactly and even while others write to it, to where there is none yet.

        Args:
            to: A file, or the address of a PostgreSQL database. From then on there are two accounts:
                ask under one of them only.
        """
        target = storage_of(to)
        folder = target.path.parent if target.path else None
        if folder is not None and not folder.is_dir():
            raise LedgerError(f"there is no folder {folder} for a backup.")
        if target.is_begun() or not target.begin(self._storage.contents()):
            raise LedgerError(f"{target.shown} exists already; a backup does not overwrite.")
        target.checked()

    def export(self, form: Literal["json", "csv"]) -> str:
        """Return everything as JSON, or the charges as CSV."""
        if form == "csv":
            return as_csv(self.entries)
        return as_json(self.shown, self.binding.facts, self.entries, self.left)

    def __repr__(self) -> str:
        return f"DurableLedger({self.shown!r})"

    def _repr_html_(self) -> str:
        return account_html(self.path.name if self.path else self.shown, self.left, self.entries)

    def _last(self, database: Database) -> tuple[int, Fraction]:
        """Return the newest charge's number and the sum of all shares up to it; -1 and 0 without any."""
        row = database.execute("SELECT number, spent FROM charges ORDER BY number DESC LIMIT 1").fetchone()
        with decoded(self.shown):
            return (row[0], fraction_of(row[1])) if row else (-1, Fraction(0))

    def _fixed(self, database: Database) -> tuple[str, ...]:
        with decoded(self.shown):
            return Binding.from_json(fact(database, "binding")).fixed

    def _charges(self, database: Database, fixed: tuple[str, ...]) -> tuple[Spent, ...]:
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
            with decoded(self.shown):
                shares = {text: fraction_of(text) for text in {row[2] for row in rows}}
                charges += tuple(
                    Spent(number, purpose, shares[share], whom(region, fixed), quota)
                    for number, purpose, share, region, quota, _ in rows
                )
            self._kept = rows[-1][-1], charges
        return charges

    def _read(self, text: str) -> Released:
        with decoded(self.shown):
            return release_from_json(text)

    def _reading(self, work: Callable[[Database], Done]) -> Done:
        trouble = "nothing was read"
        return self._storage.reading(lambda database: work(self._same(database, trouble)), trouble)

    def _writing(self, work: Callable[[Database, bool], Done], trouble: str) -> Done:
        return self._storage.writing(
            lambda database, retried: work(self._same(database, trouble), retried), trouble
        )

    def _same(self, database: Database, trouble: str) -> Database:
        """Refuse another ledger in the place of the one that was opened."""
        if fact(database, "identity") != self._identity:
            raise LedgerError(f"{self.shown} is another ledger than the one that was opened: {trouble}.")
        return database


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


def _entry(row: tuple[Any, ...]) -> Entry:
    number, purpose, share, who, at, text, *notes = row
    release = release_from_json(text) if text else None
    return Entry(number, purpose, fraction_of(share), who, at, release, Notes(*notes))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
