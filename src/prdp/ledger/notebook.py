"""An account for notebooks: what is left, and its newest charges."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from prdp.errors import shown_part
from prdp.ledger.account import Entry
from prdp.plan.question_key import in_words
from prdp.release.html import html_table

_SHOWN = 10


def account_html(called: str, remaining: Fraction, entries: Sequence[Entry]) -> str:
    """Return an account as HTML.

    >>> account_html("t.ledger", Fraction(1), [])  # doctest: +ELLIPSIS
    '<table><caption ...>t.ledger: all of every budget is left</caption>...'
    """
    rows = [
        [str(entry.number), entry.at, entry.who, str(entry.share), in_words(entry.purpose)]
        for entry in entries[-_SHOWN:]
    ]
    older = len(entries) - len(rows)
    notes = [f"... and {older} older"] if older else []
    remaining_text = "all" if remaining == 1 else shown_part(remaining)
    return html_table(
        f"{called}: {remaining_text} of every budget is left",
        ["", "when", "who", "share", "question"],
        rows,
        notes,
    )
