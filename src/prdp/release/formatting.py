"""An answer for people: one line, a cell of a table, HTML for notebooks; all with the same interval."""

from __future__ import annotations

import html
import importlib
import json
import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any, Protocol

from prdp.errors import InvalidRequest
from prdp.safety.plain_text import printable, safe_json


def optional_library(name: str, extra: str) -> Any:
    """Import a library, or say which extra brings it.

    >>> optional_library("prdp_of_the_future", "future")
    Traceback (most recent call last):
    ...
    prdp.errors.InvalidRequest: this needs prdp_of_the_future, which is not here: pip install 'prdp[future]'.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InvalidRequest(f"this needs {name}, which is not here: pip install 'prdp[{extra}]'.") from None


_STYLE = "<style>.prdp th, .prdp td { padding: 0.2em 0.8em 0.2em 0; text-align: left }</style>"
"""Some notebooks, such as marimo's, leave no room between the columns of a table that has no style."""


def html_table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str] = ()
) -> str:
    """Return a table with a caption, and notes below it, as HTML.

    >>> html_table("a < b", ["n"], [["1"]])  # doctest: +ELLIPSIS
    '<table><caption style="...">a &lt; b</caption><thead class="prdp"><tr><th>n</th></tr></thead><tbody ...'
    """
    head = "".join(f"<th>{_escaped(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{_escaped(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    below = "".join(f"<p>{_escaped(note)}</p>" for note in notes)
    return (
        f'<table><caption style="text-align:left">{_escaped(caption)}</caption>'
        f'<thead class="prdp"><tr>{head}</tr></thead>'
        f'<tbody class="prdp">{body}</tbody></table>{below}{_STYLE}'
    )


def _escaped(text: str) -> str:
    """Return a text for HTML, without what would move the cursor of a terminal that shows it."""
    return html.escape(printable(text, "\n"))


LEVEL = Fraction(19, 20)
TAIL_FACTOR: Fraction | None = None
"""Level and tail factor of every interval that is shown: the one that was selected by what was measured."""
FAR = 2
"""Multiple of the answer beyond which the end of an interval with exclusions is not shown."""
NOTHING_EXCLUDED = "nothing within the bounds"
"""Clause where no value within the bounds is excluded; it is not printed."""

FAR_EXCLUDED = "single values far above the clipping threshold"
ROW_EXCLUDES = "a row's `excludes`"
"""Place in Python where what an interval excludes is shown."""
SCREEN = 120
"""Number of characters of a line beyond which the answers of a single row have a line each."""

NO_LOWER, NO_UPPER = "no lower limit", "no upper limit"
"""Texts in place of the end of an interval."""

_MAX_DECIMALS = 6
_MAX_WRITTEN = 10**9
_CELL = "text-align: left; padding: 0.2em 0.8em 0.2em 0"

LOW_PRECISION = "low precision"
INSUFFICIENT_BUDGET = "insufficient budget"
UNRELIABLE = "unreliable"
LOW_PRECISION_CV, UNRELIABLE_CV = 1 / 3, 1.0
"""Coefficients of variation above which an answer has low precision, or is unreliable."""
FLAGS = {
    LOW_PRECISION: "the coefficient of variation (CV) is above 33 %",
    UNRELIABLE: "the coefficient of variation (CV) is above 100 %, or the interval spans the bounds",
    INSUFFICIENT_BUDGET: "too few records, or too small budgets, to bound what was clipped",
}
"""Quality flags and their meanings."""

OF_NOTHING = "there may be no such values: the noise hides whether there are"
"""Notes on a mean or a variance whose count may be below 1, and on a chosen value that may be any."""

RANGE, NOISE_ALONE = "no confidence interval", "95 % of the noise"

KINDS = {
    "95 %": "95 % confidence",
    RANGE: "no confidence level: a range was chosen, and nothing bounds how often it holds the truth",
    NOISE_ALONE: "95 % of the noise alone",
}
"""Kinds of intervals."""

CLIPPED, CLIPPED_WHERE = "clipped", "clipped where"
"""Names of the choices that describe clipped records: in words, and as a condition in SQL."""


class Published(Protocol):
    """Published facts of an answer."""

    @property
    def question(self) -> str:
        """Query in words."""

    @property
    def exact(self) -> Fraction:
        """The answer."""

    @property
    def whole(self) -> bool:
        """True if the truth is a whole number."""

    @property
    def day(self) -> bool:
        """True if it is a day, counted from the year 1 on."""

    @property
    def share(self) -> Fraction:
        """The part of every record's budget that it used."""

    @property
    def method(self) -> str:
        """Mechanism that answered."""

    @property
    def caveat(self) -> str:
        """Causes besides noise that may have moved it, in words."""

    @property
    def general_caveat(self) -> str:
        """The same without the numbers in which rows of a table differ."""

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """Choices of the mechanism."""

    @property
    def simulated(self) -> bool:
        """True for a simulation without privacy."""

    @property
    def even(self) -> bool:
        """True if the answer is the middle of its interval, because nothing can be clipped or dropped."""

    @property
    def std_error(self) -> float | None:
        """The standard error, of noise and clipping together; None where an end is missing."""

    @property
    def cv(self) -> float | None:
        """The coefficient of variation; None where there is none."""

    @property
    def kind(self) -> str:
        """Kind of the interval: ``"95 %"``, or the range that was chosen."""

    @property
    def flag(self) -> str:
        """Quality flag, one of ``FLAGS``; empty where there is none."""

    @property
    def excludes(self) -> str:
        """Exclusions of the interval, in words; empty where there are none."""

    @property
    def excluded_clause(self) -> str:
        """Exclusions of the interval, as a clause."""

    @property
    def left_out(self) -> str:
        """Excluded records, in words; empty where there are none."""

    @property
    def left_away(self) -> tuple[float | None, float | None]:
        """The ends that are not shown because they lie too far away; None for those that are."""

    @property
    def among(self) -> int:
        """Number of answers from which it was selected by value; 1 where it was not."""

    def interval(self, level: float | Fraction | str = 0.95) -> tuple[float, float]:
        """Return the ends of the interval that is shown."""


def far_excluded(times: float) -> str:
    """Describe values that reach further than so many times their cap.

    >>> far_excluded(2.82837)
    'single values above 2.8 times the clipping threshold'
    """
    return f"single values above {times:.2g} times the clipping threshold"


def keys_excluded(budget: float) -> str:
    """Describe the values of a distinct count whose records have less than so much budget together.

    >>> keys_excluded(0.52499)
    "values whose records' budgets add up to less than 0.525"
    """
    return f"values whose records' budgets add up to less than {budget:.4g}"


NORMAL_95 = 1.96
"""Standard errors on either side of an answer in the 95 % interval of a normal error."""


def std_error_of(low: float, high: float) -> float | None:
    """Return the standard error that goes with the ends of a 95 % interval; None where one is missing."""
    return None if math.isinf(low) or math.isinf(high) else (high - low) / (2 * NORMAL_95)


def precision_flag(std_error: float | None, size: float) -> str:
    """Return the flag that follows from a standard error and the size of the answer.

    >>> precision_flag(30, 100), precision_flag(40, 100), precision_flag(101, 100), precision_flag(None, 100)
    ('', 'low precision', 'unreliable', 'unreliable')
    """
    if std_error is None or std_error > UNRELIABLE_CV * abs(size):
        return UNRELIABLE
    return LOW_PRECISION if std_error > LOW_PRECISION_CV * abs(size) else ""


def simultaneous(among: int) -> str:
    """Describe the number of simultaneous intervals; empty where an answer was not selected by them.

    >>> simultaneous(40)
    'simultaneous over 40 groups, as it was selected by its answer'
    """
    return f"simultaneous over {_many(among)} groups, as it was selected by its answer" if among > 1 else ""


def rows_simultaneous(answers: Iterable[Published]) -> list[str]:
    """Describe the same for rows that were selected by their answers."""
    most = max((answer.among for answer in answers), default=1)
    why = "since rows are selected or sorted by their answers"
    facts = f"intervals are simultaneous over {_many(most)} groups, {why}"
    return [facts] if most > 1 else []


def clamped(low: Fraction, high: Fraction) -> str:
    """Describe which values count as a bound.

    >>> clamped(Fraction(0), Fraction(200_000)), clamped(Fraction(-1, 2), Fraction(10**12))
    ('values outside 0 to 200,000 count as the bound', 'values outside -0.5 to 1e12 count as the bound')
    """
    return f"values outside {_bound(low)} to {_bound(high)} count as the bound"


def notes_of(*texts: str) -> tuple[str, ...]:
    """Return the notes that texts consist of, each once.

    >>> notes_of("leaves out records without cost", "leaves out records without cost; a bound is 9", "")
    ('leaves out records without cost', 'a bound is 9')
    """
    return tuple(dict.fromkeys(note for text in texts for note in text.split("; ") if note))


def _bound(end: Fraction) -> str:
    """Return a bound for reading, with as many digits as it has, up to 12."""
    if end.denominator == 1 and abs(end) < _MAX_WRITTEN:
        return f"{int(end):,}"
    mantissa, raised, exponent = f"{float(end):,.12g}".partition("e")
    if not raised and end.denominator == 1:
        mantissa, raised, exponent = f"{float(end):.11e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(exponent)}" if raised else mantissa


def rows_of_nothing(rows: int) -> str:
    """Describe ``OF_NOTHING`` for some of so many rows."""
    return f"in some groups, {OF_NOTHING}" if rows > 1 else OF_NOTHING


def _many(number: int) -> str:
    """Return a number in digits while it has few, else as a power of ten."""
    return f"{number:,}" if number < _MAX_WRITTEN else f"10^{math.ceil(math.log10(number))}"


def value_and_ends(answer: Published) -> tuple[str, str, str]:
    """Return the answer and the ends of its interval, with digits that make sense together.

    Ends are rounded away from the answer. A missing end is ``NO_LOWER`` or ``NO_UPPER``. With insufficient
    budget, what rounds to nothing has no decimals: what was clipped to nothing is not known to so many.
    """
    low, high = answer.interval()
    if answer.day:
        value, least, most = (shown_day(day_of(end)) for end in (float(answer.exact), low, high))
        return value, least or NO_LOWER, most or NO_UPPER
    digits = _decimals(answer)
    least = NO_LOWER if math.isinf(low) else _written(_rounded(low, digits, math.floor), digits)
    most = NO_UPPER if math.isinf(high) else _written(_rounded(high, digits, math.ceil), digits)
    shown = _written(value_of(answer), digits), least, most
    if not any(map(_is_nothing, shown)) or answer.flag != INSUFFICIENT_BUDGET:
        return shown
    value, least, most = ("0" if _is_nothing(text) else text for text in shown)
    return value, least, most


def _is_nothing(text: str) -> bool:
    return "." in text and not text.strip("0.")


def day_of(number: float) -> datetime | None:
    """Return the day with a number, the year 1 beginning with day 1; None of what is no day.

    >>> day_of(738_000.0), day_of(math.inf), day_of(-3.0)
    (datetime.datetime(2021, 7, 29, 0, 0), None, None)
    """
    within = math.isfinite(number) and 1 <= number <= datetime.max.toordinal()
    return datetime.fromordinal(int(number)) if within else None


def shown_day(day: datetime | None) -> str:
    """Return a day in words; nothing where there is none."""
    return "" if day is None else day.date().isoformat()


def plain_value(answer: Published) -> int | float | datetime | None:
    """Return the answer as a plain value: a count is a whole number, and a day is a date."""
    return day_of(float(answer.exact)) if answer.day else value_of(answer)


def plain_ends(answer: Published) -> tuple[float | datetime | None, float | datetime | None]:
    """Return the ends of the interval as plain values; None where a day has no end."""
    low, high = answer.interval()
    return (day_of(low), day_of(high)) if answer.day else (low, high)


def _written(number: float, digits: int) -> str:
    """Return a number with so many decimals; what rounds to nothing has no sign."""
    text = f"{number:,.{digits}f}"
    return text if text.strip("-0.") else text.removeprefix("-")


def excludes(answer: Published) -> str:
    """Return what an interval excludes, in words; where an end is not shown, with that end."""
    if not answer.excluded_clause:
        return ""
    digits = _decimals(answer)
    low, high = answer.left_away
    ends = [
        f"{word} {_rounded(end, digits, outward):,.{digits}f}"
        for word, end, outward in (("from", low, math.floor), ("up to", high, math.ceil))
        if end is not None
    ]
    if answer.excluded_clause == NOTHING_EXCLUDED:
        return " ".join(ends)
    verb = f"{' '.join(ends)}, excluding" if ends else "excludes"
    return f"{verb} {answer.excluded_clause}"


def far_away(shown_by: str = ROW_EXCLUDES) -> str:
    """Return the note on ends of intervals that are not shown in a table; ``shown_by`` shows them."""
    return f"no upper limit: limits more than twice the answer away are not printed; {shown_by} shows them"


def excluded_by_row(shown_by: str = ROW_EXCLUDES) -> str:
    """Return the note on what the intervals of a table exclude; ``shown_by`` shows it for each row."""
    return f"{FAR_EXCLUDED} (listed in {shown_by})"


def value_of(answer: Published) -> int | float:
    """Return the answer as people read it: a count is a whole number."""
    return round(answer.exact) if answer.whole else float(answer.exact)


def in_words(answer: Published) -> str:
    """Return the answer with its interval, in words."""
    value, interval = value_and_ends(answer)[0], interval_in_words(answer)
    return f"{value}{'' if interval.startswith('±') else ','} {interval}" if interval else value


def interval_in_words(answer: Published) -> str:
    """Return an answer's interval in words; empty where the answer is a range itself.

    A ± is only where nothing can be clipped or dropped: then it is the interval.
    """
    _, least, most = value_and_ends(answer)
    low, high = answer.interval()
    if answer.kind == RANGE:
        return ""
    if answer.even and math.isfinite(high):
        digits = _decimals(answer)
        return f"± {_rounded((high - low) / 2, digits, math.ceil):,.{digits}f}"
    if math.isinf(low) and math.isinf(high):
        return "no limits"
    if math.isinf(high):
        return f"from {least}, {most}"
    return f"up to {most}, {least}" if math.isinf(low) else f"from {least} to {most}"


def in_a_cell(answer: Published) -> str:
    """Return the answer with its ends and its flag, for one cell of a table."""
    value, *_ = value_and_ends(answer)
    return f"{value} ({ends_in_words(answer)}{'; ' if answer.flag else ''}{answer.flag})"


def ends_in_words(answer: Published) -> str:
    """Return the ends of the interval, for one cell of a table."""
    _, least, most = value_and_ends(answer)
    ends = f"from {least}, {most}" if most == NO_UPPER else f"{least} to {most}"
    ends = f"up to {most}, {least}" if least == NO_LOWER and most != NO_UPPER else ends
    return "no limits" if (least, most) == (NO_LOWER, NO_UPPER) else ends


def line(answer: Published) -> str:
    """Return an answer with all its notes, on one line."""
    cost = f"share {answer.share}" if answer.share else "no cost"  # computed from released answers
    facts = [answer.kind, cost, answer.method]
    flag = f"{answer.flag}: {FLAGS[answer.flag]}" if answer.flag else ""
    after = [answer.left_out, answer.caveat, answer.excludes, flag]
    words = "".join(f"; {text}" for text in after if text)
    mark = marks(getattr(answer, "recorded_at", ""), simulated=answer.simulated)
    return f"{answer.question}: {in_words(answer)} ({facts[0]}; {', '.join(facts[1:])}){words}{mark}"


def marks(recorded_at: str, *, simulated: bool) -> str:
    """Return what is printed behind an answer that was recorded before, or that is not private.

    >>> marks("2026-11-03T09:12:44+00:00", simulated=False)
    ' (recorded 2026-11-03)'
    """
    recorded = f" (recorded {recorded_at[:10]})" if recorded_at else ""
    return recorded + (" [simulated: not private]" if simulated else "")


def as_html(answer: Published) -> str:
    """Return an answer as a table for a notebook."""
    value = value_and_ends(answer)[0]
    rows = [
        (answer.question, value),
        (answer.kind, interval_in_words(answer)),
        ("it", answer.left_out),
        ("its interval", answer.excludes),
        (answer.flag, FLAGS.get(answer.flag, "")),
        ("share", str(answer.share)),
        ("recorded", getattr(answer, "recorded_at", "")[:10]),
        ("method", answer.method),
        *(("of the share" if name == "share" else name, text) for name, text in answer.choices),
        ("beside noise", answer.caveat),
        (
            "simulated",
            "from a synthetic table's records: this answer is not private" if answer.simulated else "",
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
    low, high = (None if isinstance(end, float) and math.isinf(end) else end for end in plain_ends(answer))
    form: dict[str, Any] = {
        "question": answer.question,
        "value": plain_value(answer),
        "low": low,
        "high": high,
        "std_error": answer.std_error,
        "cv": answer.cv,
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
    recorded = getattr(answer, "recorded_at", "")
    return form | ({"recorded_at": recorded} if recorded else {})


def as_json(form: object) -> str:
    """Return plain values as JSON; what is not a number there is null."""
    return safe_json(json.dumps(form, allow_nan=False, ensure_ascii=False, default=str))


def _width(answer: Published) -> float:
    """Return how wide the interval is, twice its finite side where it has one end."""
    low, high = answer.interval()
    near = float(answer.exact)
    if math.isinf(low) and math.isinf(high):
        return 0.0
    return 2 * (near - low) if math.isinf(high) else 2 * (high - near) if math.isinf(low) else high - low


def _decimals(answer: Published) -> int:
    """Return how many decimals are shown: none where all are whole, as the quantiles of whole numbers are."""
    if answer.whole:
        return 0
    width = _width(answer)
    low, high = answer.interval()
    numbers = [number for number in (float(answer.exact), low, high) if math.isfinite(number)]
    if (math.isinf(low) or math.isinf(high)) and width == 0 and answer.exact:
        return 0 if _fit(numbers, 0) else _digits(abs(float(answer.exact)))
    if answer.kind != RANGE and low != high:
        return 0 if _fit(numbers, 0) else _digits(width)
    most = _digits(width) if width > 0 else _MAX_DECIMALS
    return next(digits for digits in range(most + 1) if digits == most or _fit(numbers, digits))


def _fit(numbers: Sequence[float], digits: int) -> bool:
    """Return whether numbers have no more than so many decimals."""
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


def in_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cells as lines of text, with columns that are as wide as their widest cell.

    >>> in_columns([("mean", "2.5"), ("q0.25", "1")])
    ['mean   2.5', 'q0.25  1']
    """
    columns = [aligned(column, left=True) for column in zip(*rows, strict=True)]
    return ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]


def aligned(column: Sequence[str], *, left: bool) -> list[str]:
    """Return the cells of a column, all as wide as the widest."""
    width = max(map(len, column))
    return [cell.ljust(width) if left else cell.rjust(width) for cell in column]
