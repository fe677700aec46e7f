"""The account that a verified chain of rows adds up to; every decision about a budget is taken from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any

from prdp.declare.exact import fraction_of
from prdp.declare.strict_json import strict_json
from prdp.errors import InvalidRequest, LedgerError
from prdp.ledger.account import NO_NOTES, Charge, Entry, Notes, Spent, are_source_facts, charged_region
from prdp.ledger.binding import Binding
from prdp.ledger.layout import FACTS, VERSION, Head, Row
from prdp.regions.region import Region
from prdp.release.table import Released

if TYPE_CHECKING:
    from prdp.ledger.storage import LedgerTables


Question = tuple[str, str]
"""A purpose and the text of a share."""


class Unsound(ValueError):  # noqa: N818  (reads as what it is)
    """A row that no prdp wrote where it is."""


_BROKEN = "a row was changed, removed, inserted or moved, so its hash does not follow from the rows before it"
_SUMS = "its sums do not add up"


@dataclass(frozen=True, slots=True)
class KeptCharge(Spent):
    """A charge with all that its row says."""

    who: str = ""
    at: str = ""
    token: str = ""
    notes: Notes = NO_NOTES

    def entry(self, release: Released | None) -> Entry:
        """Return the charge as it is read back."""
        return Entry(self.number, self.purpose, self.share, self.who, self.at, release, self.notes)

    def awaiting(self) -> Charge:
        """Return the charge as one that awaits its release."""
        return Charge(self.number, self.purpose, self.token, self.notes)


@dataclass(frozen=True, slots=True)
class Account:
    """Contents of verified rows; it grows with new rows, and never reads old ones again.

    Attributes:
        hashes: The hash of each row, by its place in the chain.
        facts: The facts of the ledger.
        binding: The public facts that it is bound to.
        charges: All charges, by number.
        total: The sum of all shares, for any charged records.
        of_everybody: With immutable columns, the sum of the shares that are charged to everybody.
        answers: For each charge that has a release, the release's place in the chain.
        questions: The charges of each question, the oldest first.
        quotas: The newest limit of each name.
        quota_rows: How often a limit was set.
    """

    hashes: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    binding: Binding = field(default_factory=lambda: Binding({}))
    charges: Sequence[KeptCharge] = ()
    total: Fraction = Fraction(0)
    of_everybody: Fraction = Fraction(0)
    answers: Mapping[int, int] = field(default_factory=dict)
    questions: Mapping[Question, tuple[int, ...]] = field(default_factory=dict)
    quotas: Mapping[str, Fraction] = field(default_factory=dict)
    quota_rows: int = 0

    @property
    def head(self) -> Head:
        """The newest row."""
        return Head(len(self.hashes) - 1, self.hashes[-1])

    @property
    def identity(self) -> str:
        """A random word of the ledger's own."""
        return self.facts["identity"]

    def includes(self, head: Head) -> bool:
        """Return whether a row that was the newest once is still there."""
        return head.place < len(self.hashes) and self.hashes[head.place] == head.hash

    def holds(self, row: Row) -> bool:
        """Return whether a row is one of those that were verified, field by field."""
        place = row.place
        if not isinstance(place, int) or not 0 <= place < len(self.hashes):
            return False
        return row.hash == self.hashes[place] and row.follows(self.hashes[place - 1] if place else "")

    def standing(self, purpose: str, share: Fraction) -> int | None:
        """Return the newest charge of a question that has a release."""
        numbers = reversed(self.questions.get((purpose, str(share)), ()))
        return next((number for number in numbers if number in self.answers), None)

    def unanswered(self, purpose: str, share: Fraction) -> list[KeptCharge]:
        """Return the charges of a question that await a release, the oldest first."""
        numbers = self.questions.get((purpose, str(share)), ())
        return [self.charges[number] for number in numbers if number not in self.answers]

    def extended(self, rows: Iterable[Row]) -> Account:
        """Return the account with rows that follow, each of them verified.

        Raises:
            Unsound: A row does not continue the chain, or says what no prdp writes.
        """
        following = iter(rows)
        first = next(following, None)
        if first is None and self.hashes:
            return self
        growing = _Growing(self)
        for row in chain(() if first is None else (first,), following):
            growing.add(row)
        return growing.account()


class _Growing:
    """An account while rows are added to it."""

    def __init__(self, account: Account) -> None:
        self.hashes = list(account.hashes)
        self.facts = dict(account.facts)
        self.binding = account.binding
        self.charges = list(account.charges)
        self.total, self.of_everybody = account.total, account.of_everybody
        self.answers = dict(account.answers)
        self.questions = dict(account.questions)
        self.quotas = dict(account.quotas)
        self.quota_rows = account.quota_rows
        self._immutable = account.binding.immutable
        self._shares: dict[str, Fraction] = {}
        self._regions: dict[str | None, Region] = {}

    def account(self) -> Account:
        if len(self.facts) < len(FACTS):
            raise Unsound("its first rows are missing")
        return Account(
            self.hashes,
            self.facts,
            self.binding,
            self.charges,
            self.total,
            self.of_everybody,
            self.answers,
            self.questions,
            self.quotas,
            self.quota_rows,
        )

    def add(self, row: Row) -> None:
        previous = self.hashes[-1] if self.hashes else ""
        if row.place != len(self.hashes) or not row.follows(previous):
            raise Unsound(_BROKEN)
        fields = row.values[:-2]
        match row.table:
            case "facts":
                self._fact(*fields)
            case "charges":
                self._charge(*fields)
            case "releases":
                self._release(fields[0], row.place)
            case "quotas":
                self._quota(*fields)
        self.hashes.append(row.hash)

    def _fact(self, name: str, value: str) -> None:
        place = len(self.hashes)
        if place >= len(FACTS) or name != FACTS[place]:
            raise Unsound("its facts are not those that a ledger begins with")
        self.facts[name] = value
        if name == "binding":
            self.binding = Binding.from_json(value)
            self._immutable = self.binding.immutable

    def _charge(  # noqa: PLR0917  (each is a column)
        self, number: int, purpose: str, share: str, who: str, at: str, token: str, *notes: Any
    ) -> None:
        part, kept = self._share(share), Notes(*notes)
        if number != len(self.charges) or not 0 < part <= 1:
            raise Unsound(_SUMS)
        if kept.quota is not None and kept.quota not in self.quotas:
            raise Unsound("a charge names a quota that is not there")
        if not are_source_facts(kept.source):
            raise Unsound("a charge says nothing of its source's columns")
        region = self._region(kept.region)
        self.total += part
        if self._immutable and kept.region is None:
            self.of_everybody += part
        if (self.of_everybody if self._immutable else self.total) > 1:
            raise Unsound(_SUMS)
        charge = KeptCharge(number, purpose, part, region, kept.quota, who, at, token, kept)
        self.charges.append(charge)
        question = purpose, str(part)
        self.questions[question] = (*self.questions.get(question, ()), number)

    def _release(self, number: int, place: int) -> None:
        if not isinstance(number, int) or not 0 <= number < len(self.charges):
            raise Unsound("an answer has no charge")
        if number in self.answers:
            raise Unsound("a charge has two answers")
        self.answers[number] = place

    def _quota(self, number: int, name: str, share: str, *_: str) -> None:
        limit = self._share(share)
        if number != self.quota_rows or not 0 <= limit <= 1:
            raise Unsound("what it says of quotas is not as it was")
        self.quotas[name] = limit
        self.quota_rows += 1

    def _share(self, text: str) -> Fraction:
        if text not in self._shares:
            self._shares[text] = fraction_of(text)
        return self._shares[text]

    def _region(self, text: str | None) -> Region:
        if text not in self._regions:
            try:
                strict_json("{}" if text is None else text)
                self._regions[text] = charged_region(text, self._immutable)
            except (InvalidRequest, ValueError, RecursionError):
                raise Unsound("what it says of regions is not as it was") from None
        return self._regions[text]


BACKUPS = (
    "A backup does not know what was spent since it was made: before anything is asked under one, charge it "
    "with at least that much, or with all that it has left if nobody knows."
)


def fact(database: LedgerTables, name: str) -> str:
    """Return a fact of a ledger by its name; empty if it has none."""
    row = database.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return str(row[0]) if row else ""


@contextmanager
def decoded(shown: object) -> Iterator[None]:
    """Raise an error for a ledger that cannot be trusted or read; errors of storage pass through."""
    try:
        yield
    except Unsound as error:
        raise damaged(shown, str(error)) from None
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError):
        raise damaged(shown, "a text in it cannot be read, or a newer prdp wrote it") from None


def damaged(shown: object, why: str) -> LedgerError:
    """Return the refusal of a ledger that cannot be trusted."""
    return LedgerError(
        f"the ledger {shown} is damaged ({why}), so what is left cannot be known and nothing may be spent. "
        f"Keep it, and see whether a newer prdp reads it. {BACKUPS}"
    )


def rolled_back(shown: object, why: str) -> LedgerError:
    """Return the refusal of a ledger that has forgotten charges which were seen in it."""
    return LedgerError(
        f"the ledger {shown} was put back to an older state or replaced ({why}), so its budget would be "
        f"spent twice and nothing may be spent. Put the newer ledger back. {BACKUPS} Then begin a new "
        "process."
    )


def refuse_other_versions(shown: object, version: int) -> None:
    """Refuse a ledger of another format than the one that this release writes."""
    if version > VERSION:
        raise LedgerError(
            f"{shown} was written by a newer prdp (format {version}; this one knows {VERSION}). Upgrade prdp."
        )
    if version < VERSION:
        raise LedgerError(
            f"{shown} is of format {version}, from before prdp's first release, and this prdp reads format "
            f"{VERSION} alone."
        )
