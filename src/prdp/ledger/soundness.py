"""What makes a ledger trustworthy, wherever it is kept: its sums add up, and each text says one thing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING

from prdp.declare.exact import fraction_of
from prdp.errors import LedgerError
from prdp.ledger.binding import Binding
from prdp.ledger.release_form import release_from_json
from prdp.ledger.strict_json import strict_json
from prdp.regions.form import region_from_json

if TYPE_CHECKING:
    from prdp.ledger.storage import Database

BACKUPS = (
    "A backup does not know what was spent since it was made: before anything is asked under one, charge it "
    "with at least that much, or with all that it has left if nobody knows."
)


def fact(database: Database, name: str) -> str:
    """Return a fact of a ledger by its name; empty if it has none."""
    row = database.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return str(row[0]) if row else ""


def refuse_unless_it_adds_up(database: Database, shown: object, *, with_regions: bool = True) -> None:
    """Refuse a ledger in which a text cannot be read, or whose sums do not add up."""
    with decoded(shown):
        Binding.from_json(fact(database, "binding"))
        adds_up = _adds_up(database, "region" if with_regions else "NULL")
        for (release,) in database.execute("SELECT release FROM releases"):
            release_from_json(release)
    if not adds_up:
        raise damaged(shown, "its sums do not add up")


def _adds_up(database: Database, region: str) -> bool:
    """Say whether each charge has the sum of all shares before it and its own.

    What everybody is charged never passes 1. All shares together may, once some are charged to regions: then
    nothing is left to spend here, since all of them are counted as everybody's.
    """
    spent, of_everybody, adds_up = Fraction(0), Fraction(0), True
    rows = database.execute(f"SELECT number, share, spent, {region} FROM charges ORDER BY number")
    for expected, (number, text, total, charged_to) in enumerate(rows):
        share = fraction_of(text)
        spent += share
        of_everybody += share if charged_to is None else 0
        by_region = spent > of_everybody
        adds_up &= number == expected and fraction_of(total) == spent and share > 0
        adds_up &= of_everybody <= 1 and (spent <= 1 or by_region)
    return adds_up


def refuse_unless_notes_are_sound(database: Database, shown: object) -> None:
    """Refuse a ledger that says of regions or quotas what nobody writes."""
    with decoded(shown):
        sound = _notes_are_sound(database)
    if not sound:
        raise damaged(shown, "what it says of regions or quotas is not as it was")


def _notes_are_sound(database: Database) -> bool:
    """Say whether regions are JSON, quotas are shares, and charges name quotas that are there."""
    fixed = set(Binding.from_json(fact(database, "binding")).fixed)
    for (region,) in database.execute("SELECT region FROM charges WHERE region IS NOT NULL"):
        if not fixed:
            strict_json(region)
        elif not region_from_json(region).columns <= fixed:
            return False
    quotas = database.execute("SELECT number, share FROM quotas ORDER BY number").fetchall()
    unknown = "SELECT 1 FROM charges WHERE quota IS NOT NULL AND quota NOT IN (SELECT name FROM quotas)"
    return database.execute(unknown).fetchone() is None and all(
        number == expected and 0 <= fraction_of(share) <= 1 for expected, (number, share) in enumerate(quotas)
    )


@contextmanager
def decoded(shown: object) -> Iterator[None]:
    """Say that a text in a ledger cannot be read; nothing is written in here, whose errors are others."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError):
        raise damaged(shown, "a text in it cannot be read, or a newer prdp wrote it") from None


def damaged(shown: object, why: str) -> LedgerError:
    """Return the refusal of a ledger that cannot be trusted."""
    return LedgerError(
        f"the ledger {shown} is damaged ({why}), so what is left cannot be known and nothing may be spent. "
        f"Keep it, and see whether a newer prdp reads it. {BACKUPS}"
    )


def newer(shown: object, version: object, known: int) -> LedgerError:
    """Return the refusal of a ledger that a newer prdp wrote."""
    return LedgerError(
        f"{shown} was written by a newer prdp (format {version}; this one knows {known}). Upgrade prdp."
    )
