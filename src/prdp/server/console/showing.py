"""Facts of the REST interface as pages show them: answers, shares, times, policies."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from prdp.errors import PrdpError
from prdp.pictures import policy_curve
from prdp.policy import Policy
from prdp.release.formatting import ends_in_words, value_and_ends
from prdp.release.release import Release
from prdp.release.table import shown_key
from prdp.remote import spelled_share
from prdp.safety.plain_text import printable
from prdp.serving.drawings import MAX_LINES, Line, curve_chart, interval_chart, share_bar
from prdp.sql.answers_codec import answers_from_json
from prdp.sql.estimates import ComputedAnswer
from prdp.sql.results import Cell, SqlAnswers, plain

MAX_ROWS = 200
"""Rows of an answer that a page shows; the file has all."""


@dataclass(frozen=True, slots=True)
class ShownCell:
    """One cell of an answer: its text, and of a number its interval and its flag."""

    text: str
    is_number: bool = False
    ends: str = ""
    flag: str = ""


@dataclass(frozen=True, slots=True)
class ShownAnswers:
    """An answer as a page shows it."""

    columns: tuple[str, ...]
    numbers: tuple[bool, ...]
    rows: list[list[ShownCell]]
    more: int
    notes: list[str]
    charts: list[tuple[str, str]]


def shown_answers(form: object) -> ShownAnswers:
    """Return answers that the REST interface gave, for a page."""
    answers = answers_from_json(form)
    rows = [list(map(_cell, row)) for row in answers.rows[:MAX_ROWS]]
    numbers = tuple(
        any(isinstance(row[place], Release | ComputedAnswer) for row in answers.rows)
        for place in range(len(answers.columns))
    )
    return ShownAnswers(
        columns=answers.columns,
        numbers=numbers,
        rows=rows,
        more=max(0, len(answers) - MAX_ROWS),
        notes=answers.notes_on("the JSON file"),
        charts=_charts(answers, numbers),
    )


def _cell(cell: Cell) -> ShownCell:
    if isinstance(cell, Release | ComputedAnswer):
        value, *_ = value_and_ends(cell)
        return ShownCell(value, is_number=True, ends=ends_in_words(cell), flag=cell.flag)
    if cell is None:
        return ShownCell("–")
    value = plain(cell)
    return ShownCell(f"{value:,}" if type(value) in (int, float) else shown_key(value))


def _charts(answers: SqlAnswers, numbers: Sequence[bool]) -> list[tuple[str, str]]:
    """Return a chart for each column of numbers: answers and their intervals by the other columns."""
    found = []
    for place, name in enumerate(answers.columns):
        lines: list[Line] = []
        for row in answers.rows[:MAX_LINES]:
            cell = row[place]
            if isinstance(cell, Release | ComputedAnswer) and not cell.day:
                low, high = cell.interval()
                ends = [end if math.isfinite(end) else None for end in (low, high)]
                keys = [_cell(one).text for one, number in zip(row, numbers, strict=True) if not number]
                lines.append((", ".join(keys) or name, float(cell.exact), ends[0], ends[1]))
        if lines:
            title = f"{name}, with 95 % intervals"
            found.append((name, interval_chart(lines, title, f"chart{place}")))
    return found


@dataclass(frozen=True, slots=True)
class _Declared:
    policy: Policy
    bounds: dict[str, tuple[Fraction, Fraction]]


def policy_picture(table: Mapping[str, Any]) -> str:
    """Return the policy over the first of its bounded columns as a curve; empty where there is none."""
    facts = table["policy"]
    bounds = {
        str(one["name"]): (Fraction(str(one["low"])), Fraction(str(one["high"])))
        for one in table["columns"]
        if one.get("low") is not None and one.get("high") is not None
    }
    try:
        policy = Policy(facts["text"], at_least=facts.get("at_least"), at_most=facts.get("at_most"))
        named = sorted(name for name in policy.columns if name in bounds)
        if not named:
            return ""
        points = policy_curve(_Declared(policy, bounds), named[0])
    except (PrdpError, ValueError):
        return ""
    title = f"The budget of a record over {named[0]}"
    return curve_chart([(x, y) for x, y in points if y is not None], named[0], title, "policy")


def cost_bar(plan: Mapping[str, Any]) -> str:
    """Return what a question would take of a purse, as a bar."""
    purse = plan["purse"]
    granted = Fraction(str(purse["granted"]))
    if not granted:
        return ""
    spent, asked = Fraction(str(purse["spent"])), Fraction(str(plan["cost"]))
    summary = f"of {purse['granted']}, {purse['spent']} is spent, and this question takes {plan['cost']}"
    parts = [("spent", float(spent / granted)), ("asked", float(asked / granted))]
    return share_bar(parts, summary, "cost")


def digits(text: object) -> str:
    """Return a declared number with thousands set apart; what is no number as it is.

    >>> digits("1000000"), digits("0.01"), digits(178934.8136754), digits("north"), digits(None)
    ('1,000,000', '0.01', '178,934.8137', 'north', '–')
    """
    if text is None or isinstance(text, bool):
        return "–" if text is None else str(text).lower()
    if isinstance(text, float) and math.isfinite(text):
        return f"{text:,.4f}".rstrip("0").rstrip(".")
    whole = str(text)
    return f"{int(whole):,}" if whole.removeprefix("-").isdecimal() and len(whole) < 20 else whole


def left_after(left: object, cost: object) -> str:
    """Return what a purse has left once a question is paid; empty where it has too little.

    >>> left_after("0.06", "0.06"), left_after("0.1", "0.03"), left_after("0.1", "0.2")
    ('0', '0.07', '')
    """
    after = Fraction(str(left)) - Fraction(str(cost))
    return "" if after < 0 else spelled_share(after) if after else "0"


def percent(part: str, whole: str) -> str:
    """Return a part in percent of a whole.

    >>> percent("0.005", "0.02"), percent("1", "0")
    ('25 %', '–')
    """
    total = Fraction(whole)
    return f"{float(100 * Fraction(part) / total):.3g} %" if total else "–"


def moment(seconds: float | None) -> str:
    """Return a time of the server's, for people.

    >>> moment(0), moment(None)
    ('1 Jan 1970, 00:00:00 UTC', '–')
    """
    if seconds is None:
        return "–"
    found = datetime.fromtimestamp(seconds, UTC)
    return f"{found.day} {found:%b %Y, %H:%M:%S} UTC"


def seen(value: object) -> object:
    r"""Return what a page shows of a text: letters that hide, or turn the direction of others, as numbers.

    A steward approves a question as it reads, and a key that was found privately is somebody's text.

    >>> print(seen("a < 5 \u202eOR"), seen(41))
    a < 5 \u202eOR 41
    """
    return printable(value, "\n\t") if type(value) is str else value  # markup of ours is another type


_DIGITS = 12
"""Letters of a hash that a page shows; the REST interface has all."""


def facts(body: object) -> list[tuple[str, str]]:
    """Return the facts of an audit line with their names; of a hash, its beginning.

    >>> facts({"share": "0.01", "reason": None, "scopes": ["read", "ask"], "digest": "0" * 64})
    [('share', '0.01'), ('scopes', 'read, ask'), ('digest', '000000000000…')]
    >>> facts(None)  # the text was removed; the chain holds without it
    [('text', 'removed')]
    """
    if not isinstance(body, Mapping):
        return [("text", "removed")]
    return [(str(name), _fact(value)) for name, value in body.items() if value not in (None, "")]


def _fact(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"{text[:_DIGITS]}…" if re.fullmatch("[0-9a-f]{32,}", text) else text


def iso(seconds: float | None) -> str:
    """Return a time as HTML's ``datetime`` attribute has it."""
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
