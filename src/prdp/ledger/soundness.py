"""Refusals of a ledger that cannot be trusted, wherever it is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prdp.errors import LedgerError
from prdp.ledger.layout import VERSION
from prdp.ledger.verified import Unsound

if TYPE_CHECKING:
    from prdp.ledger.storage import LedgerTables

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
    """Say that a ledger cannot be trusted or read; nothing is written in here, whose errors are others."""
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
