"""An answer for people: one line, a cell of a table, a notebook; all of them with the same interval."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, Protocol

from prdp.safety.plain_text import safe_json

LEVEL = Fraction(19, 20)
TAIL_FACTOR = Fraction(8)
"""The level and the reach of every interval that is shown."""
FAR = 2
"""How many times the answer an end may lie away that leaves records aside; beyond, it is not shown."""
LEFT_AWAY = "or more: an end that lies further away than twice the answer; a row's `excludes` has it"
FAR_EXCLUDED = f"would count for more than {TAIL_FACTOR} times what it was allowed"
ANY_EXCLUDED = f"any record beyond {TAIL_FACTOR} times what it was allowed"
BY_ROW = f"{FAR_EXCLUDED}; a row's `excludes` says which"

_MAX_DECIMALS = 6
_MAX_WRITTEN = 10**9
_CELL = "text-align: left; padding: 0.2em 0.8em 0.2em 0"

LOW_PRECISION = "low precision"
INSUFFICIENT_BUDGET = "insufficient budget"
UNRELIABLE = "unreliable"
FLAGS = {
    LOW_PRECISION: "the noise is larger than the answer",
    UNRELIABLE: "the interval spans nearly all that the public bounds allow",
    INSUFFICIENT_BUDGET: "budgets, times the share, add up to too little to tell how much was clipped",
}
"""What may be wrong with an answer, and what that means."""

OF_NOTHING = "there may be no such values, and then no such answer: its noisy count does not tell"
"""What is said of a mean or a variance whose count may be below 1."""

RANGE, NOISE_ALONE = "no confidence interval", "95 % of the noise"

KINDS = {
    "95 %": "the truth lies between them with a probability of 95 %",
    RANGE: "no confidence interval: a range was chosen, and nothing bounds how often it holds the truth",
    NOISE_ALONE: "95 % of the noise alone",
}
"""What the ends of an interval are."""

CLIPPED, CLIPPED_WHERE = "clipped", "clipped where"
"""What choices call the records that counted for less: in words, and as a condition in SQL."""


class Published(Protocol):
    """What is shown of an answer."""

    @property
    def question(self) -> str:
        """What was asked, in words."""

    @property
    def exact(self) -> Fraction:
        """The answer."""

    @property
    def whole(self) -> bool:
        """Whether the truth is a whole number."""

    @property
    def share(self) -> Fraction:
        """The part of every record's budget that it used."""

    @property
    def method(self) -> str:
        """Which mechanism answered."""

    @property
    def caveat(self) -> str:
        """What else than noise may have moved it, in words."""

    @property
    def general_caveat(self) -> str:
        """The same without the numbers in which rows of a table differ."""

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """What the mechanism chose on the way."""

    @property
    def simulated(self) -> bool:
        """Whether it protects nobody."""

    @property
    def even(self) -> bool:
        """Whether the answer is the middle of its interval, because nothing can be clipped or dropped."""

    @property
    def kind(self) -> str:
        """What the interval is: ``"95 %"``, or the range that was chosen."""

    @property
    def flag(self) -> str:
        """What is wrong with the answer, one of ``FLAGS``; empty where nothing is."""

    @property
    def excludes(self) -> str:
        """What the interval takes for granted, in words; empty where that is nothing."""

    @property
    def excluded_clause(self) -> str:
        """What the interval leaves aside, as a clause."""

    @property
    def left_out(self) -> str:
        """Which records it is not about, in words; empty where that is nobody."""

    @property
    def left_away(self) -> tuple[float | None, float | None]:
        """The ends that are not shown because they lie too far away; None for those that are."""

    @property
    def among(self) -> int:
        """Of how many answers it was selected by what they are; 1 where it was not."""

    def interval(self) -> tuple[float, float]:
        """Return the ends of the interval that is shown."""


def simultaneous(among: int) -> str:
    """Say of how many answers the intervals hold at once; nothing where an answer was not selected by them.

    >>> simultaneous(40)
    'simultaneous over 40 groups, as it was selected by its answer'
    """
    return f"simultaneous over {_many(among)} groups, as it was selected by its answer" if among > 1 else ""


def rows_simultaneous(answers: Iterable[Published]) -> list[str]:
    """Say the same of rows that were selected by their answers."""
    most = max((answer.among for answer in answers), default=1)
    facts = f"intervals are simultaneous over {_many(most)} groups: answers select or sort the rows"
    return [facts] if most > 1 else []


def _many(number: int) -> str:
    """Return a number in digits while it has few, else as a power of ten."""
    return f"{number:,}" if number < _MAX_WRITTEN else f"10^{math.ceil(math.log10(number))}"


def value_and_ends(answer: Published) -> tuple[str, str, str]:
    """Return the answer and the ends of its interval, with digits that make sense together.

    Ends are rounded away from the answer. An end that is not there is ``or less`` or ``or more``.
    """
    low, high = answer.interval()
    digits = _decimals(answer)
    least = "or less" if math.isinf(low) else _written(_rounded(low, digits, math.floor), digits)
    most = "or more" if math.isinf(high) else _written(_rounded(high, digits, math.ceil), digits)
    return _written(value_of(answer), digits), least, most


def _written(number: float, digits: int) -> str:
    """Return a number with so many decimals; what rounds to nothing has no sign."""
    text = f"{number:,.{digits}f}"
    return text if text.strip("-0.") else text.removeprefix("-")


def excludes(answer: Published) -> str:
    """Return what an interval leaves aside, in words; where an end is not shown, with that end."""
    if not answer.excluded_clause:
        return ""
    digits = _decimals(answer)
    low, high = answer.left_away
    ends = [
        f"{word} {_rounded(end, digits, outward):,.{digits}f}"
        for word, end, outward in (("from", low, math.floor), ("up to", high, math.ceil))
        if end is not None
    ]
    verb = f"{' '.join(ends)}, leaving aside" if ends else "leaves aside"
    return f"{verb} what {answer.excluded_clause}"


def value_of(answer: Published) -> int | float:
    """Return the answer as people read it: a count is a whole number."""
    return round(answer.exact) if answer.whole else float(answer.exact)


def in_words(answer: Published) -> str:
    """Return the answer with its interval, in words.

    A ± stands only where nothing can be clipped or dropped: then it is the interval.
    """
    value, least, most = value_and_ends(answer)
    low, high = answer.interval()
    if answer.kind == RANGE:
        return value
    if answer.even and math.isfinite(high):
        digits = _decimals(answer)
        return f"{value} ± {_rounded((high - low) / 2, digits, math.ceil):,.{digits}f}"
    if math.isinf(low) and math.isinf(high):
        return f"{value}, or any number"
    if math.isinf(high):
        return f"{value}, {least} or more"
    return f"{value}, up to {most}" if math.isinf(low) else f"{value}, from {least} to {most}"


def in_a_cell(answer: Published) -> str:
    """Return the answer with its ends and its flag, for one cell of a table."""
    value, least, most = value_and_ends(answer)
    ends = f"{least} {most}" if most == "or more" else f"{least} to {most}"
    ends = most + " or less" if least == "or less" and most != "or more" else ends
    ends = "any number" if (least, most) == ("or less", "or more") else ends
    return f"{value} ({ends}{'; ' if answer.flag else ''}{answer.flag})"


def line(answer: Published) -> str:
    """Return everything that must be said of an answer, on one line."""
    facts = [answer.kind, f"share {answer.share}", answer.method]
    flag = f"{answer.flag}: {FLAGS[answer.flag]}" if answer.flag else ""
    after = [answer.left_out, answer.caveat, answer.excludes, flag]
    words = "".join(f"; {text}" for text in after if text)
    mark = " [simulated: not private]" if answer.simulated else ""
    return f"{answer.question}: {in_words(answer)} ({facts[0]}; {', '.join(facts[1:])}){words}{mark}"


def as_html(answer: Published) -> str:
    """Return an answer as a table for a notebook."""
    value = value_and_ends(answer)[0]
    rows = [
        (answer.question, value),
        (answer.kind, in_words(answer).removeprefix(value).lstrip(", ")),
        ("it", answer.left_out),
        ("its interval", answer.excludes),
        (answer.flag, FLAGS.get(answer.flag, "")),
        ("share", str(answer.share)),
        ("method", answer.method),
        *(("of the share" if name == "share" else name, text) for name, text in answer.choices),
        ("beside noise", answer.caveat),
        (
            "simulated",
            "from a synthetic table's records: this answer protects nobody" if answer.simulated else "",
        ),
    ]
    cells = "".join(
        f"<tr><th style='{_CELL}'>{html.escape(name)}</th><td style='{_CELL}'>{html.escape(text)}</td></tr>"
        for name, text in rows
        if text
    )
    return f"<table>{cells}</table>"


def as_dict(answer: Published) -> dict[str, Any]:
    """Return what is shown of an answer as plain values; an end that is not there is None."""
    low, high = answer.interval()
    form: dict[str, Any] = {
        "question": answer.question,
        "value": value_of(answer),
        "low": low if math.isfinite(low) else None,
        "high": high if math.isfinite(high) else None,
        "interval": answer.kind,
        "flag": answer.flag,
        "excludes": answer.excludes,
        "left_out": answer.left_out,
        "caveat": answer.caveat,
        "share": str(answer.share),
        "method": answer.method,
        "choices": dict(answer.choices),
        "exact": str(answer.exact),
        "simulated": answer.simulated,
    }
    return form


def as_json(form: object) -> str:
    """Return plain values as JSON; what is no number there is null."""
    return safe_json(json.dumps(form, allow_nan=False, ensure_ascii=False, default=str))


def _width(answer: Published) -> float:
    """Return how wide the interval is, twice its finite side where it has one end."""
    low, high = answer.interval()
    near = float(answer.exact)
    if math.isinf(low) and math.isinf(high):
        return 0.0
    return 2 * (near - low) if math.isinf(high) else 2 * (high - near) if math.isinf(low) else high - low


def _decimals(answer: Published) -> int:
    """Return how many decimals are shown; of a value without an interval, no more than it has."""
    if answer.whole:
        return 0
    width = _width(answer)
    low, high = answer.interval()
    if answer.kind != RANGE and low != high:
        return _digits(width)
    most = _digits(width) if width > 0 else _MAX_DECIMALS
    numbers = [number for number in (float(answer.exact), low, high) if math.isfinite(number)]
    return next(digits for digits in range(most + 1) if digits == most or _fit(numbers, digits))


def _fit(numbers: Sequence[float], digits: int) -> bool:
    """Say whether numbers have no more than so many decimals."""
    return all(math.isclose(number, round(number, digits), rel_tol=1e-12) for number in numbers)


def _digits(width: float) -> int:
    """Return how many decimals are worth showing beside an interval of this width."""
    if width <= 0 or width >= 100:
        return 0
    return max(0, min(_MAX_DECIMALS, 2 - math.floor(math.log10(width))))


def _rounded(end: float, digits: int, outward: Any) -> float:
    """Return an end with so many decimals, moved outward; one that is whole already stays."""
    if isinstance(end, int) or abs(end) >= 2**53:
        return end
    near = round(end * 10**digits)
    scaled = near if math.isclose(end * 10**digits, near, rel_tol=1e-12) else outward(end * 10**digits)
    return float(Fraction(scaled, 10**digits))


def aligned(column: Sequence[str], *, left: bool) -> list[str]:
    """Return the cells of a column, all as wide as the widest."""
    width = max(map(len, column))
    return [cell.ljust(width) if left else cell.rjust(width) for cell in column]
