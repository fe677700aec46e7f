"""Draw a publication: a dry run on made-up records, or one transaction that charges all tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from statistics import quantiles
from typing import Any

from prdp.errors import BudgetExhausted, InvalidRequest, PrdpError, offered_share
from prdp.plan.plan import Plan
from prdp.publish.charges import charge_facts
from prdp.publish.declaration import Publication
from prdp.publish.draws import PrivateTable, TableDraws, draws_of
from prdp.publish.folder import refuse_folder, write_folder
from prdp.publish.series import EarlierEdition, refuse_same_answers
from prdp.publish.signature import Signer
from prdp.publish.table import LOW_RELIABILITY, NORMAL, FinishedTable
from prdp.run.answer import answer_together


@dataclass(frozen=True)
class Edition:
    """A publication that has been drawn.

    Attributes:
        publication: Its declaration.
        tables: Its tables.
        at: When it was drawn, in UTC.
        charges: For each private table its ledger's name, the row that was its newest, and the charges.
    """

    publication: Publication
    tables: tuple[FinishedTable, ...]
    at: str
    charges: tuple[dict[str, Any], ...] = ()

    @property
    def simulated(self) -> bool:
        """True if the records were synthetic: nothing was charged."""
        return any(table.simulated for table in self.tables)

    def __getitem__(self, name: str) -> FinishedTable:
        """Return a table by its name."""
        return next(table for table in self.tables if table.name == name)

    def write(self, folder: Path | str, signer: Signer, previous: Sequence[EarlierEdition] = ()) -> Path:
        """Write all files to a folder that is not there yet, at once.

        Args:
            folder: The folder.
            signer: The key that signs it.
            previous: Earlier editions, the oldest first, that it is compared with.
        """
        return write_folder(self, Path(folder), signer, previous)


@dataclass(frozen=True, slots=True)
class Precision:
    """Cost and precision of a column of a table, on made-up records.

    Attributes:
        table: The table.
        column: The column.
        share: The share of the table.
        cells: The number of its figures.
        median: The median coefficient of variation; None where no figure has one.
        often: The coefficient of variation that 90 of 100 figures keep.
        published: How many figures are published.
    """

    table: str
    column: str
    share: Fraction
    cells: int
    median: float | None
    often: float | None
    published: int


def publish(
    publication: Publication,
    tables: Mapping[str, PrivateTable],
    folder: Path | str,
    signer: Signer,
    previous: Sequence[Path | str] = (),
) -> Edition:
    """Charge all tables of a publication in one step, draw them, and write its folder.

    Again, with the same declaration, it costs nothing: recorded answers are written anew.

    Args:
        publication: The declaration.
        tables: The private tables by name.
        folder: Where it is written; there is no such folder yet.
        signer: The key that signs it.
        previous: Folders of earlier editions, the oldest first, that it is compared with.

    Raises:
        BudgetExhausted: A table has less left than its part needs; nothing was charged.
    """
    refuse_folder(Path(folder))
    earlier = [EarlierEdition.of(one) for one in previous]
    edition = drawn(publication, tables, earlier)
    edition.write(folder, signer, earlier)
    return edition


def drawn(
    publication: Publication, tables: Mapping[str, PrivateTable], previous: Sequence[EarlierEdition] = ()
) -> Edition:
    """Charge all tables of a publication, in one step for each ledger, and draw them.

    Args:
        publication: The declaration.
        tables: The private tables by name.
        previous: Earlier editions; one with the same answers is refused before anything is charged.
    """
    every = draws_of(publication, tables)
    answers: dict[int, dict[str, Any]] = {}
    charges = []
    for private, plans in _by_table(every):
        _refuse_unless_left(private, plans)
        recorded = _charged(private, plans) if previous else {}
        if len(recorded.get("charges", ())) == len(plans):
            refuse_same_answers([recorded], previous)
    for private, plans in _by_table(every):
        found = answer_together(private.table.ledger, list(plans.values()), private.table._reader)  # noqa: SLF001
        answers[id(private)] = dict(zip(plans, found, strict=True))
        charges.append(_charged(private, plans))
    finished = tuple(
        FinishedTable.of(
            publication,
            one,
            [plan.tabled(answers[id(one.private)][plan.text]) for plan in one.plans.values()],
        )
        for one in every
    )
    charges = [account for account in charges if account]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    at = max((one["at"] for account in charges for one in account["charges"]), default=now)
    return Edition(publication, finished, at, tuple(charges))


def dry_run(publication: Publication, tables: Mapping[str, PrivateTable]) -> list[Precision]:
    """Return the cost of each table, and its precision on synthetic records; nothing is charged."""
    if not all(private.table.synthetic for private in tables.values()):
        raise InvalidRequest("a dry run takes synthetic tables: open them with synthetic=.")
    return [
        _precision(
            table, name, [one.cv for one in cells if one.cv is not None], [one.status for one in cells]
        )
        for table in drawn(publication, tables).tables
        for name, cells in table.columns.items()
    ]


def _precision(table: FinishedTable, name: str, cvs: Sequence[float], statuses: Sequence[str]) -> Precision:
    ordered = sorted(cvs)
    deciles = quantiles(ordered, n=10, method="inclusive") if len(ordered) > 1 else ordered * 9
    return Precision(
        table.name,
        name,
        table.draws.share,
        len(statuses),
        deciles[4] if deciles else None,
        deciles[8] if deciles else None,
        sum(status in (NORMAL, LOW_RELIABILITY) for status in statuses),
    )


def _by_table(every: Sequence[TableDraws]) -> Iterator[tuple[PrivateTable, dict[str, Plan]]]:
    """Yield each private table with the plans about it, each question once."""
    for private in {id(one.private): one.private for one in every}.values():
        mine = [one for one in every if one.private is private]
        yield private, {plan.text: plan for one in mine for plan in one.plans.values()}


def _refuse_unless_left(private: PrivateTable, plans: Mapping[str, Plan]) -> None:
    """Refuse a publication that does not fit, before the first of its private tables is charged."""
    table = private.table
    if table.synthetic:
        return
    new = [plan for plan in plans.values() if plan.standing(table.ledger) is None]
    needed = sum((plan.share for plan in new), Fraction(0))
    waiting = {(one.purpose, one.share) for one in table.ledger.entries if one.release is None}
    needed -= sum((plan.share for plan in new if (plan.text, plan.share) in waiting), Fraction(0))
    regions = {plan.region for plan in new}
    remaining = table.ledger.remaining
    if regions <= {None} and needed > remaining:
        advice = (
            f" Publish with share = {offered_share(remaining)} or less." if offered_share(remaining) else ""
        )
        raise BudgetExhausted(
            needed,
            remaining,
            f"the tables from {table.name} need {needed} of every record's budget, and {remaining} is left. "
            f"Nothing was charged.{advice}",
        )


def _charged(private: PrivateTable, plans: Mapping[str, Plan]) -> dict[str, Any]:
    """Return the charges of a publication, as its manifest has them."""
    ledger = private.table.ledger
    if private.table.synthetic:
        return {}
    wanted = {(plan.text, plan.share) for plan in plans.values()}
    newest = {(entry.purpose, entry.share): entry for entry in ledger.entries if entry.release is not None}
    rows = [charge_facts(entry) for known, entry in newest.items() if known in wanted]
    found: dict[str, Any] = {
        "table": private.table.name,
        "charges": sorted(rows, key=lambda row: row["number"]),
    }
    for fact in ("identity", "head"):
        try:
            found[fact] = getattr(ledger, fact)
        except (AttributeError, PrdpError):  # an account in memory has neither
            continue
    return found
