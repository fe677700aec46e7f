"""An account that lasts: exact, append-only, safe between threads, processes, machines and crashes."""

from __future__ import annotations

import getpass
import uuid
from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
from datetime import UTC, datetime
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeVar

from prdp.declare.exact import MAX_DENOMINATOR, Exact, exact, short_repr
from prdp.errors import InvalidRequest, LedgerError
from prdp.expressions.tokens import is_writable
from prdp.ledger.account import (
    LATEST,
    NO_NOTES,
    Charge,
    Entry,
    Notes,
    Wanted,
    account_html,
    charged_region,
    refuse_past_a_quota,
    refuse_unless_a_charge,
    refuse_what_does_not_fit,
    remaining_after,
    remaining_in,
    sum_with,
    total_with,
)
from prdp.ledger.binding import Binding
from prdp.ledger.export import as_csv, as_frame, as_json
from prdp.ledger.layout import (
    FACTS,
    VERSION,
    Head,
    Row,
    all_seen,
    chained,
    insert,
    newest_seen,
    next_row,
    remember,
    rows_from,
    rows_of,
)
from prdp.ledger.release_codec import release_from_json, release_to_json
from prdp.ledger.storage import Beside, LedgerTables, Storage, storage_of
from prdp.ledger.verified import Account, Unsound, damaged, decoded, fact, rolled_back
from prdp.regions.region import Region
from prdp.release.table import Released, ReleaseTable

Done = TypeVar("Done")


class DurableLedger:
    """An account that outlives the process, in one file or in a PostgreSQL database.

    Every operation opens it anew, so threads and forked processes share nothing but what is written.
    A charge is one transaction that is on disk before it returns; what a crash cut short is undone. Rows are
    chained by hashes: all of them are verified when the ledger is opened, new ones by every operation, and
    every decision is taken from rows that were verified. A process refuses a ledger that has forgotten rows
    which it has seen.

    Attributes:
        who: Who asks.
        begun: Whether there was no ledger yet, so that opening it began one.
    """

    def __init__(self, path: Path | str, *, who: str | None = None, expected_head: str | None = None) -> None:
        """Open a ledger that exists.

        Args:
            path: A file, or an address such as ``postgresql://user@host/database?ledger=accounts``.
            who: Who asks; by default the name of whoever runs the process.
            expected_head: A head of this ledger that was kept elsewhere: its row must be there.

        Raises:
            LedgerError: There is none, or it cannot be trusted.
        """
        self._storage = storage_of(path)
        self.who = _label(who)
        self.begun = False
        self._beside: Beside | None = None
        self._known_rows = [self._verified(None)]
        self._read_before: dict[str, Released] = {}
        if expected_head is not None:
            self._refuse_without(expected_head)

    @classmethod
    def opened(
        cls, path: Path | str, binding: Binding, *, who: str | None = None, must_exist: bool = False
    ) -> DurableLedger:
        """Open the ledger of a table, or begin one where there is none, unless one must exist."""
        storage = storage_of(path)
        if not is_writable(binding.to_json()):
            raise InvalidRequest(
                "a name or a fact of this table cannot be written: it holds half of a character."
            )
        begun = False
        if not must_exist and not storage.is_begun():
            facts = zip(FACTS, (str(VERSION), binding.to_json(), _now(), uuid.uuid4().hex), strict=True)
            begun = storage.begin(chained(("facts", fact) for fact in facts))
        ledger = cls(path, who=who)
        ledger.begun = begun
        return ledger

    def __getstate__(self) -> tuple[Storage, str, Head]:
        """Return the place, who asks and what was seen there; another process verifies the rows itself."""
        return self._storage, self.who, self._account.head

    def __setstate__(self, state: tuple[Storage, str, Head]) -> None:
        self._storage, self.who, seen = state
        self.begun = False
        self._beside = None
        self._known_rows = [self._verified(seen)]
        self._read_before = {}

    def asked_by(self, who: str, *, beside: Beside | None = None) -> DurableLedger:
        """Return the same account for somebody's question: charges carry that name, and quotas apply to it.

        A process that answers several people at once opens the ledger once and takes one of these for each
        question.

        Args:
            who: Who asks.
            beside: What is written in the same transaction as a charge. ``charge`` runs it for a new charge,
                for one that is taken up, and for a release that was recorded meanwhile.
        """
        same = object.__new__(type(self))
        same.who = _label(who)
        same.begun = False
        same._storage, same._known_rows, same._beside = self._storage, self._known_rows, beside
        same._read_before = self._read_before
        return same

    @property
    def _account(self) -> Account:
        """The newest rows that were verified; shared by all who ask."""
        return self._known_rows[0]

    @property
    def path(self) -> Path | None:
        """The file that it is in; None where it is in a database."""
        return self._storage.path

    @property
    def shown(self) -> str:
        """Its location, for people: the file, or the database's address without user and password."""
        return self._storage.shown

    def attach(self, binding: Binding) -> None:
        """Refuse a table whose public facts are not those that the ledger is bound to."""
        differences = self.binding.differences(binding)
        if differences:
            listed = "\n".join(f"  {line}" for line in differences)
            raise LedgerError(
                f"the ledger {self.shown} belongs to other public facts than this table's. Open the table as "
                "it was: cast a column of another type back, and declare what the ledger has (in the ledger "
                f"-> here):\n{listed}\n"
                "Only a new data set has its own name and ledger: whoever is in both loses up to a whole "
                "budget under each."
            )

    @property
    def binding(self) -> Binding:
        """The public facts that the ledger is bound to."""
        return self._account.binding

    @property
    def immutable(self) -> tuple[str, ...]:
        """The columns that narrow the charged region; declared when the ledger was created."""
        return self.binding.immutable

    @property
    def remaining(self) -> Fraction:
        """The part of every record's budget that is not spent."""
        return self.remaining_in(None)

    def remaining_in(self, region: str | None) -> Fraction:
        """Return the part of their budgets that all records of a region have left."""
        account = self._current()
        if not account.binding.immutable:
            return remaining_after(account.total)
        return remaining_in(charged_region(region, account.binding.immutable), account.charges)

    @property
    def identity(self) -> str:
        """A random word of the ledger's own, which its copies have too."""
        return self._account.identity

    @property
    def head(self) -> str:
        """The hash of the newest row: kept elsewhere, it shows whether rows up to it are still there."""
        return self._current().head.hash

    @property
    def charged_by(self) -> tuple[tuple[int, str, str], ...]:
        """The number of each charge, who asked, and its token; answers are not read."""
        return tuple((one.number, one.who, one.token) for one in self._current().charges)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All charges, the oldest first."""

        def read(database: LedgerTables, account: Account) -> tuple[Entry, ...]:
            answers = {row.values[0]: self._release(account, row) for row in rows_of(database, "releases")}
            if answers.keys() != account.answers.keys():
                raise damaged(self.shown, "an answer is lost")
            return tuple(charge.entry(answers.get(charge.number)) for charge in account.charges)

        return self._reading(read)

    def standing(self, purpose: str, share: Fraction) -> Released | None:
        """Return the newest release that a purpose has had for a share."""
        return self._reading(lambda database, account: self._standing(database, account, purpose, share))

    def _standing(
        self, database: LedgerTables, account: Account, purpose: str, share: Fraction
    ) -> Released | None:
        number = account.standing(purpose, share)
        if number is None:
            return None
        return replace(self._answer(database, account, number), recorded_at=account.charges[number].at)

    def answered(self, wanted: Callable[[str], bool]) -> tuple[Entry, ...]:
        """Return the newest charges that have a release and whose purpose passes a test, newest first."""

        def read(database: LedgerTables, account: Account) -> tuple[Entry, ...]:
            newest = (charge for charge in reversed(account.charges) if charge.number in account.answers)
            return tuple(
                charge.entry(self._recent_answer(database, account, charge.number))
                for charge in islice(newest, LATEST)
                if wanted(charge.purpose)
            )

        return self._reading(read)

    @property
    def quotas(self) -> dict[str, Fraction]:
        """The quota of each name, as a part of any record's budget, by its latest entry."""
        return dict(self._current().quotas)

    def set_quota(self, name: str, share: Exact) -> None:
        """Limit what a name may spend of any record's budget, from now on; 0 lets it spend nothing more.

        A limit for people. The promise comes from the one account that all share.
        """
        if not name or _label(name) != name:
            raise InvalidRequest(f"{name!r} is no name for a quota: write a text.")
        limit = exact(share, "share")
        if not 0 <= limit <= 1 or limit.denominator > MAX_DENOMINATOR:
            raise InvalidRequest(
                f"share={short_repr(share)} is no quota: a part of any budget, from 0 to 1, such as 0.25 or "
                "'1/4'."
            )
        row = (name, str(limit), self.who, _now())

        def write(database: LedgerTables, account: Account, retried: bool) -> tuple[None, Account]:
            last = [row.values[1:-2] for row in rows_of(database, "quotas")][-1:] if retried else []
            if last == [row]:
                return None, account  # it was done, and nobody could say so
            return None, self._append(database, account, "quotas", (account.quota_rows, *row))

        self._writing(write, "no quota was written")

    def refuse_past_quota(self, share: Fraction, region: str | None) -> None:
        """Refuse what would take whoever asks past a quota; charges nothing.

        Raises:
            BudgetExhausted: The quota has less left.
        """
        account = self._current()
        self._within_quota(account, share, charged_region(region, account.binding.immutable), NO_NOTES)

    def charge(
        self, purpose: str, share: Fraction, *, redraw: bool = False, notes: Notes = NO_NOTES
    ) -> Charge | Released:
        """Return the standing release, or a charge that is on disk: an unanswered one, or a new one."""
        (charged,) = self._charged([Wanted(purpose, share, notes)], redraw=redraw)
        return charged

    def charge_together(self, wanted: Sequence[Wanted]) -> list[Charge | Released]:
        """Return for each question the standing release, or a charge; all are on disk, or none is."""
        return self._charged(wanted, redraw=False)

    def _charged(self, wanted: Sequence[Wanted], *, redraw: bool) -> list[Charge | Released]:
        for one in wanted:
            refuse_unless_a_charge(one.purpose, one.share, one.notes)
        tokens = [uuid.uuid4().hex for _ in wanted]
        beside = self._beside

        def write(
            database: LedgerTables, account: Account, retried: bool
        ) -> tuple[list[Charge | Released], Account]:
            mine = {one.token: one for one in account.charges} if retried else {}
            found: list[Charge | Released] = []
            for one, token in zip(wanted, tokens, strict=True):
                if token in mine:
                    found.append(mine[token].awaiting())  # it was committed, and nobody could say so
                    continue
                charged, after = self._found_or_new(database, account, one, token, redraw=redraw)
                if beside is not None:
                    beside.write(database, charged, after is not account)
                found, account = [*found, charged], after
            return found, account

        return self._writing(write, "nothing was charged", beside.file if beside else None)

    def _found_or_new(
        self, database: LedgerTables, account: Account, wanted: Wanted, token: str, *, redraw: bool
    ) -> tuple[Charge | Released, Account]:
        purpose, share, notes = wanted.purpose, wanted.share, wanted.notes
        standing = None if redraw else self._standing(database, account, purpose, share)
        if standing is not None:
            return standing, account
        for unanswered in account.unanswered(purpose, share):
            if not account.binding.immutable or unanswered.notes.region in {None, notes.region}:
                return unanswered.awaiting(), account
        return self._new_charge(database, account, Charge(0, purpose, token, notes), share)

    def _new_charge(
        self, database: LedgerTables, account: Account, charge: Charge, share: Fraction
    ) -> tuple[Charge, Account]:
        immutable = account.binding.immutable
        region = charged_region(charge.notes.region, immutable)
        notes = self._within_quota(account, share, region, charge.notes)
        if immutable:
            refuse_what_does_not_fit(share, region, account.charges, immutable)
            total_with(account.total, share)
        else:
            sum_with(account.total, share)
        number = len(account.charges)
        fields = (number, charge.purpose, str(share), self.who, _now(), charge.token, *astuple(notes))
        after = self._append(database, account, "charges", fields)
        return after.charges[number].awaiting(), after

    def _within_quota(self, account: Account, share: Fraction, region: Region, notes: Notes) -> Notes:
        """Return the notes with out of whose quota it is paid: the one named, or that of whoever asks."""
        quotas = account.quotas
        if notes.quota is not None and notes.quota not in quotas:
            raise InvalidRequest(f"{self.shown} has no quota {notes.quota!r}. Nothing was charged.")
        name = notes.quota or (self.who if self.who in quotas else None)
        if name is None:
            return notes
        refuse_past_a_quota(name, quotas[name], share, region, account.charges)
        return replace(notes, quota=name)

    def record(self, charge: Charge, release: Released) -> Released:
        """Attach a release to a charge and sync it, unless it has one; return the recorded release."""

        def write(database: LedgerTables, account: Account, _: bool) -> tuple[Released, Account]:
            known = 0 <= charge.number < len(account.charges)
            if not known or account.charges[charge.number].token != charge.token:
                raise LedgerError(
                    f"the ledger {self.shown} does not know the charge any more: it was replaced meanwhile. "
                    "The answer is not shown. Ask again, under the ledger as it is now."
                )
            if charge.number in account.answers:
                return self._answer(database, account, charge.number), account
            fields = (charge.number, release_to_json(release))
            return release, self._append(database, account, "releases", fields)

        trouble = "the charge is recorded, unanswered; ask the same question again, it costs nothing more"
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
        target.checked(lambda database: self._whole(database, target.shown))

    def export(self, form: Literal["json", "csv"]) -> str:
        """Return everything as JSON, or the charges as CSV."""
        if form == "csv":
            return as_csv(self.entries)
        return as_json(self.shown, self.binding.facts, self.entries, self.remaining)

    def to_pandas(self) -> Any:
        """Return a pandas frame of the charges and their answers, a row for each answer."""
        return as_frame(self.entries)

    def __repr__(self) -> str:
        return f"DurableLedger({self.shown!r})"

    def _repr_html_(self) -> str:
        return account_html(self.path.name if self.path else self.shown, self.remaining, self.entries)

    def _verified(self, seen: Head | None) -> Account:
        """Verify the whole chain; refuse one without the rows that this process has seen here."""
        before = all_seen()  # another thread may charge while this one reads
        account = self._storage.checked(lambda database: self._whole(database, self.shown))
        for head in (seen, before.get((self.shown, account.identity))):
            if head is not None and not account.includes(head):
                raise rolled_back(self.shown, "this process has seen charges that are not in it")
        remember(self.shown, account.identity, account.head)
        return account

    def _whole(self, database: LedgerTables, shown: str) -> Account:
        with decoded(shown):
            return Account().extended(rows_from(database, None))

    def _refuse_without(self, expected_head: str) -> None:
        if not isinstance(expected_head, str) or expected_head not in self._account.hashes:
            raise rolled_back(self.shown, f"no row has the expected head {expected_head!r}")

    def continues(self, shown: str) -> bool:
        """Return whether it has all rows that this process has seen of this ledger at another place."""
        seen = newest_seen(shown, self.identity)
        return seen is not None and self._account.includes(seen)

    def _current(self) -> Account:
        """Return the account as it is now."""
        return self._reading(lambda _, account: account)

    def _reading(self, work: Callable[[LedgerTables, Account], Done]) -> Done:
        known, seen = self._known()

        def read(database: LedgerTables) -> tuple[Done, Account]:
            account = self._followed(database, known, seen, "nothing was read")
            return work(database, account), account

        done, account = self._storage.reading(read, "nothing was read")
        self._see(account)
        return done

    def _writing(
        self,
        work: Callable[[LedgerTables, Account, bool], tuple[Done, Account]],
        trouble: str,
        attached: Path | None = None,
    ) -> Done:
        """Do what writes, in one transaction; what it wrote counts as seen once it is on disk."""
        known, seen = self._known()
        done, account = self._storage.writing(
            lambda database, retried: work(database, self._followed(database, known, seen, trouble), retried),
            trouble,
            attached,
        )
        self._see(account)
        return done

    def _known(self) -> tuple[Account, Head]:
        """Return the rows seen so far; before a transaction begins, which then has at least that."""
        known = self._account
        return known, newest_seen(self.shown, known.identity) or known.head

    def _see(self, account: Account) -> None:
        """Keep what is on disk, unless another thread has seen more of it."""
        remember(self.shown, account.identity, account.head)
        if len(account.hashes) > len(self._account.hashes):
            self._known_rows[0] = account

    def _followed(self, database: LedgerTables, known: Account, seen: Head, trouble: str) -> Account:
        """Verify the rows since those that are known, and that these and what was seen are still there."""
        with decoded(self.shown):
            rows = rows_from(database, known.head.place)
            last = next(rows, None)
            if last is None or last.place != known.head.place or not known.holds(last):
                raise self._replaced(database, last is None, trouble)
            account = known.extended(rows)
        if not account.includes(seen):
            raise self._replaced(database, True, trouble)
        return account

    def _replaced(self, database: LedgerTables, shorter: bool, trouble: str) -> LedgerError:
        """Return the refusal of another ledger, or of another state, in the place of what was opened."""
        if fact(database, "identity") != self._account.identity:
            return LedgerError(f"{self.shown} is another ledger than the one that was opened: {trouble}.")
        why = (
            "charges that this process has seen are not in it" if shorter else "rows that it has seen differ"
        )
        return rolled_back(self.shown, f"{why}: {trouble}")

    def _append(self, database: LedgerTables, account: Account, table: str, fields: Sequence[Any]) -> Account:
        """Write a row at the end of the chain; return the account with it."""
        row = next_row(account.hashes, table, fields)
        insert(database, row)
        return account.extended([row])

    def _answer(self, database: LedgerTables, account: Account, number: int) -> Released:
        """Read the release of a charge."""
        row = next(iter(rows_of(database, "releases", number)), None)
        if row is None or row.place != account.answers[number]:
            raise damaged(self.shown, "an answer is lost")
        return self._release(account, row)

    def _recent_answer(self, database: LedgerTables, account: Account, number: int) -> Released:
        """Read the release of a charge, or take it from memory: a row of that very hash was read before."""
        row_hash = account.hashes[account.answers[number]]
        known = self._read_before.get(row_hash)
        if known is not None:
            return known
        found = self._answer(database, account, number)
        if not isinstance(found, ReleaseTable) or len(found.releases) == 1:  # many groups are not kept
            if len(self._read_before) >= 2 * LATEST:
                self._read_before.clear()
            self._read_before[row_hash] = found
        return found

    def _release(self, account: Account, row: Row) -> Released:
        with decoded(self.shown):
            if not account.holds(row):
                raise Unsound("an answer is not the one that was recorded")
            return release_from_json(row.values[1])


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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
