"""Clipped records in the user's own terms: from the public policy and the drawn threshold."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from prdp.expressions.intervals import Interval, bound
from prdp.expressions.nodes import Number, walk
from prdp.expressions.tokens import shown_name
from prdp.policy import Policy
from prdp.release.formatting import CLIPPED, CLIPPED_WHERE, NOTHING_EXCLUDED

_EIGHTH = 2 ** (1 / 8) * 1.0005
_CELL = _EIGHTH**2
"""A budget and a value are each rounded by up to an eighth of an octave..."""
_OWN_CELL = _EIGHTH**3
"""... where budgets follow from the summed values alone, a budget by up to two: see ``cell_budget``."""
_SQUARED = 2
"""More than rounding adds to a square, but for values so near the center that theirs are small."""
_PER_OCTAVE = 2
_HALVINGS = 40
_MAX_PIECES = 2_000
_NARROW = 1e-6
_DIGITS = 4

_RECORDS = " times the record's budget"

Choices = tuple[tuple[str, str], ...]


class ClippedEnd(NamedTuple):
    """A value of a column beyond which records are clipped.

    Attributes:
        column: The column.
        above: Whether records above it are clipped, not those below.
        value: The value.
    """

    column: str
    above: bool
    value: float

    def __str__(self) -> str:
        """Return which values are clipped, in words."""
        return f"{'above' if self.above else 'below'} {_number(self.value)}"

    @property
    def sql(self) -> str:
        """The same as a condition in SQL."""
        return f"{shown_name(self.column)} {'>' if self.above else '<'} {_plain(self.value)}"


_CONDITION = re.compile(
    r"CAST\((.*) AS INTEGER\)|CASE WHEN (.*) THEN 1 ELSE 0 END|CASE WHEN (.*) IS NULL THEN 0 ELSE 1 END"
)
Counted = Literal["rows", "units", "groups"]
_HELD = re.compile(r"\((.*)\) IS TRUE")
_NESTED = re.compile(r"\bCASE\b|\bEND\b|[()]")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


def condition_text(expression: str) -> str:
    """Return the condition that an expression counts as 0 or 1, as a reader knows it; any other as it is.

    >>> condition_text("CAST(vip AS INTEGER)"), condition_text("CASE WHEN cost IS NULL THEN 0 ELSE 1 END")
    ('vip', 'cost IS NOT NULL')
    >>> condition_text("CASE WHEN (sex = 'f') IS TRUE THEN 1 ELSE 0 END")
    "sex = 'f'"
    """
    found = _CONDITION.fullmatch(expression)
    if found is None or not _is_one(found[1] or found[2] or found[3]):
        return expression
    if found[3]:
        return f"{found[3]} IS NOT NULL"
    held = _HELD.fullmatch(found[1] or found[2])
    return held[1] if held and _is_one(held[1]) else found[1] or found[2]


def _is_one(text: str) -> bool:
    """Return whether a text is one expression, whose brackets and CASE it opens and closes itself."""
    depth = 0
    for sign in _NESTED.findall(_QUOTED.sub("", text)):
        depth += 1 if sign in {"CASE", "("} else -1
        if depth < 0:
            return False
    return depth == 0


@dataclass(frozen=True, slots=True)
class ClippedTerms:
    """Public facts about the records that a clipping threshold affects.

    Attributes:
        policy: The policy.
        bounds: The public bounds of its only column, if it has one alone that has bounds.
        column: The column that is added up; None where records are counted.
        round_to: What its values are counted in.
        privacy_unit: The column that names the units of rows; None where a row is a record.
        computed: Whether ``column`` is the text of an expression.
        below: Whether what is added up may be below zero.
        above: Whether it may be above zero.
        center: Where squared distances of the column's values are added up, what they are measured from; None
            where it is not squares.
        zero_or_one: Whether every value is 0 or 1.
        counted: What is counted of a unit where nothing is added up: its rows, itself, or its groups.
    """

    policy: Policy
    bounds: tuple[tuple[str, tuple[Fraction, Fraction]], ...]
    column: str | None
    round_to: Fraction = Fraction(1)
    privacy_unit: str | None = None
    computed: bool = False
    below: bool = False
    above: bool = True
    center: Fraction | None = None
    zero_or_one: bool = False
    counted: Counted = "rows"

    def at(self, point: Fraction, *, dropped: bool = False) -> Choices:
        """Return which records counted for less where a unit of budget may count for ``point``.

        >>> terms = ClippedTerms(Policy("10000 / v"), (("v", (Fraction(1), Fraction(10**9))),), "v")
        >>> for _, text in terms.at(Fraction(10**6)):  # v / (10000 / v) is 10^6 at v = 10^5
        ...     print(text)
        v above 91,650 may be clipped
        v > 91650

        Args:
            point: In units of the answer.
            dropped: Whether such records were left out altogether.
        """
        return _facts(self, point, "are dropped" if dropped else "may be clipped")

    def ends_at(self, point: Fraction) -> tuple[ClippedEnd, ...]:
        """Return the values beyond which records count for less; none where there is no such value."""
        return tuple(_sides(self, float(point), float(point)) or ()) if self.only else ()

    def records_beyond(self, below: Fraction, above: Fraction) -> str:
        """Return in words which records would count for more than so much for each unit of their budgets.

        >>> terms = ClippedTerms(Policy("10000 / v"), (("v", (Fraction(1), Fraction(10**9))),), "v")
        >>> terms.records_beyond(Fraction(10**6), Fraction(10**6))
        'v above 91,650'

        Args:
            below: How much values below zero would count for, in units of the answer.
            above: The same for values above zero, and for records that are counted.
        """
        if self.center is not None:  # squares are above zero, on whichever side of it their values are
            return _records_beyond(self, above, above)
        return _records_beyond(self, below, above)

    @property
    def shown(self) -> str:
        """Summed expression as SQL; empty where records are counted."""
        return (self.column or "") if self.computed else shown_name(self.column or "")

    @property
    def words(self) -> str:
        """Summed expression as a reader knows it: of a condition that counts 0 or 1, the condition.

        >>> ClippedTerms(Policy("1"), (), "CAST(vip AS INTEGER)", computed=True).words
        'vip'
        >>> ClippedTerms(Policy("1"), (), "CASE WHEN cost IS NULL THEN 0 ELSE 1 END", computed=True).words
        'cost IS NOT NULL'
        """
        return condition_text(self.shown)

    @property
    def condition(self) -> str:
        """Condition that counts 0 or 1; empty where anything else is added up.

        >>> terms = ClippedTerms(Policy("x + y"), (), "CAST(vip AS INTEGER)", computed=True, zero_or_one=True)
        >>> terms.records_beyond(Fraction(20), Fraction(20))
        'rows with vip and a budget below 0.05952'
        """
        return self.words if self.zero_or_one and _CONDITION.fullmatch(self.shown) else ""

    @property
    def only(self) -> tuple[str, Fraction, Fraction] | None:
        """The only column that decides who is clipped, and its bounds: the policy's, or what is added up."""
        if len(self.bounds) != 1 or not self.policy.columns <= {self.bounds[0][0]}:
            return None
        name, (low, high) = self.bounds[0]
        return (name, low, high) if self.column in (None, name) else None

    @property
    def budget(self) -> float | None:
        """Budget of every record, where the policy gives all the same.

        >>> unit = ClippedTerms(Policy("2"), (), None, privacy_unit="customer")
        >>> unit.records_beyond(Fraction(10), Fraction(10))
        'units (customer) with more than 16 rows'
        """
        return None if self.policy.columns else self.policy.budget({})

    def clips(self, value: float, point: float) -> bool:
        """Return whether a record whose only column has this value may be clipped."""
        (name, _) = self.bounds[0]
        budget = self.policy.budget({name: value})
        return budget is not None and self._counted(value) > self.cell_budget(budget, value, value) * point

    def clips_none(self, low: float, high: float, point: float) -> bool:
        """Return whether surely no record counts for less whose column is between two values of one sign."""
        least = self._least(low, high)
        if least is None:
            return True
        allowed = self.cell_budget(max(least, float(self.policy.at_least or 0)), low, high) * point
        return max(self._counted(low), self._counted(high)) <= allowed

    def cell_budget(self, budget: float, low: float, high: float) -> float:
        """Return the least budget that such a one is rounded down to, of a value between two of one sign.

        It may be that of a level, an eighth of an octave lower; or the least one of a cell of values, between
        which budgets differ by up to two eighths.

        >>> bounds = (("v", (Fraction(1), Fraction(10**9))),)
        >>> for policy in ("1", "100 / v", "10000 / (v * v)"):  # all of them give 1 to 100
        ...     terms = ClippedTerms(Policy(policy, at_most=100), bounds, "v")
        ...     print(round(terms.cell_budget(1.0, 100.0, 100.0), 2))
        0.92
        0.92
        0.84
        """
        if self.column is None:
            return budget / _CELL
        near, far = sorted((abs(low), abs(high)))
        sign = 1 if max(low, high) > 0 else -1
        around = self._least(sign * near / _EIGHTH, sign * far * _EIGHTH)
        return max(min(budget / _EIGHTH, budget if around is None else around), budget / _CELL)

    def _least(self, one: float, other: float) -> float | None:
        """Return the least budget of values between two, in bounds or not; None where none has a budget."""
        (name, _) = self.bounds[0]
        budgets = bound(self.policy.expression, {name: Interval(min(one, other), max(one, other))})
        return None if budgets.empty else min(budgets.low, float(self.policy.at_most or math.inf))

    def _counted(self, value: float) -> float:
        """Return what a record may count for at most, as if the value were the end of its cell."""
        if self.column is None:
            return 1
        if self.center is None:
            return abs(value) * _EIGHTH
        center = float(self.center)
        return max(abs(value * _EIGHTH - center), abs(value / _EIGHTH - center)) ** 2

    @property
    def rounding(self) -> float:
        """By how much rounding may raise the ratio of what a record counts for to its budget."""
        return _CELL if self.only is None or self.column is None else _OWN_CELL


@lru_cache(maxsize=1024)
def _facts(terms: ClippedTerms, point: Fraction, verb: str) -> Choices:
    sides = _sides(terms, float(point), float(point)) if terms.only else None
    if sides is None:
        return _by_ratio(terms, point, verb)
    if not sides:
        return ()
    words, where = " or ".join(map(str, sides)), " OR ".join(end.sql for end in sides)
    return ((CLIPPED, f"{shown_name(sides[0].column)} {words} {verb}"), (CLIPPED_WHERE, where))


@lru_cache(maxsize=1024)
def _records_beyond(terms: ClippedTerms, below: Fraction, above: Fraction) -> str:
    sides = _sides(terms, float(below), float(above)) if terms.only else None
    if sides:
        return f"{shown_name(sides[0].column)} {' or '.join(map(str, sides))}"
    if sides is not None:
        return NOTHING_EXCLUDED
    if terms.center is not None:
        return _any_further(terms, float(above))
    low, high = float(below) / terms.rounding, float(above) / terms.rounding
    if terms.privacy_unit is not None:
        return _units_beyond(terms, low, high)
    if terms.column is None or terms.condition:
        which = f"rows with {terms.condition} and" if terms.condition else "records with"
        return f"{which} a budget below {1 / _rounded_down(high):.{_DIGITS}g}"
    return f"{terms.words} {_beyond(terms, low, high, _RECORDS)}"


def _units_beyond(terms: ClippedTerms, low: float, high: float) -> str:
    """Return in words which units would count for more than two ratios to their budgets."""
    units = f"units ({shown_name(terms.privacy_unit or '')})"
    if terms.column is None or terms.condition:
        return f"{units} {_more_than(terms, high)}"
    return f"{units} whose {terms.words} adds up to {_beyond(terms, low, high, ' times the budget')}"


def _more_than(terms: ClippedTerms, ratio: float, times: str = "times the budget") -> str:
    """Describe the units that count for more than a ratio to the budget: by their rows, or their groups.

    >>> for counted in ("rows", "groups", "units"):
    ...     terms = ClippedTerms(Policy("income"), (), None, privacy_unit="person", counted=counted)
    ...     print(terms.records_beyond(Fraction(4), Fraction(4)))
    units (person) with more rows than 3.36 times the budget
    units (person) in more groups than 3.36 times the budget
    units (person) with a budget below 0.2976
    """
    if terms.counted == "units":
        return f"with a budget below {1 / _rounded_down(ratio):.{_DIGITS}g}"
    which = f"where {terms.condition}" if terms.condition else ""
    within, several = ("in", "groups") if terms.counted == "groups" else ("with", f"rows {which}".rstrip())
    if terms.budget is None:
        return f"{within} more {several} than {_number(_rounded_down(ratio))} {times}"
    number = f"{math.floor(ratio * terms.budget):,}"
    return f"{within} more than {number} {several}"


def _any_further(terms: ClippedTerms, point: float) -> str:
    """Describe squares by the ratio of the distance from the center to the budget; of units, nothing."""
    if terms.privacy_unit is not None or terms.center is None:
        return ""
    far = _beyond(replace(terms, above=True, below=False), 0, point / _SQUARED, " times the budget")
    return f"{terms.words} whose squared distance from {_number(float(terms.center))} is {far}"


def _beyond(terms: ClippedTerms, low: float, high: float, times: str) -> str:
    """Return in words which numbers are further from zero than two ratios to a budget, of possible signs."""
    low, high = (_rounded_down(one if terms.budget is None else one * terms.budget) for one in (low, high))
    ends = [f"above {_number(high)}"] * terms.above + [f"below -{_number(low)}"] * terms.below
    return " or ".join(ends) + (times if terms.budget is None else "")


def _by_ratio(terms: ClippedTerms, point: Fraction, verb: str) -> Choices:
    """Describe the ratio of what a record counts for to its budget, which holds for every policy."""
    ratio = _rounded_down(float(point) / terms.rounding)
    expression = terms.policy.text
    if terms.privacy_unit is not None:
        return _by_unit(terms, ratio, verb)
    if terms.column is None:
        least = 1 / ratio
        return (
            (CLIPPED, f"records with budgets below {least:.{_DIGITS}g} {verb}"),
            (CLIPPED_WHERE, f"({expression}) < {least:.{_DIGITS}g}"),
        )
    return (
        (CLIPPED, f"{terms.words} {_beyond(terms, ratio, ratio, _RECORDS)} {verb}"),
        (CLIPPED_WHERE, f"abs({terms.shown}) > {_plain(ratio)} * ({expression})"),
    )


def _by_unit(terms: ClippedTerms, ratio: float, verb: str) -> Choices:
    """Describe units, whose rows are added up and whose budget is the least of their rows'."""
    assert terms.privacy_unit is not None  # noqa: S101  (see _by_ratio)
    whose = f"where their {terms.shown} is {_beyond(terms, ratio, ratio, ' times their budget')}"
    if terms.column is None or terms.condition:
        whose = _more_than(terms, ratio, "times their budget")
    described = (CLIPPED, f"units ({shown_name(terms.privacy_unit)}) {whose} {verb}")
    if terms.counted == "groups":
        return (described,)
    total = f"abs(sum({terms.shown}))" if terms.column else "count(*)"
    having = f"{total} > {_plain(ratio)} * min({terms.policy.text})"
    if terms.counted == "units":
        having = f"min({terms.policy.text}) < {1 / _rounded_down(ratio):.{_DIGITS}g}"
    return (
        described,
        (CLIPPED_WHERE, f"GROUP BY {shown_name(terms.privacy_unit)} HAVING {having}"),
    )


def _sides(terms: ClippedTerms, below: float, above: float) -> list[ClippedEnd] | None:
    """Return the column's values beyond which records are clipped, on either side of zero.

    None where they are not simply all that are larger in size, or smaller, or cannot be shown to be.
    """
    assert terms.only is not None  # noqa: S101  (see _facts)
    name, low, high = terms.only
    found = []
    ends = ((1, above, max(low, Fraction(0)), high), (-1, below, max(-high, Fraction(0)), -low))
    for sign, point, near, far in ends:
        if far <= 0:
            continue
        sizes = _sizes(terms, float(near), float(far))
        marks = [terms.clips(sign * size, point) for size in sizes]
        changes = [
            (a, b) for (a, one), (b, other) in pairwise(zip(sizes, marks, strict=True)) if one != other
        ]
        if len(changes) > 1 or (changes and marks[0]):
            return None
        end = sizes[-1]
        if some := marks[-1]:
            end = _edge(terms, point, sign, *changes[0]) if changes else _rounded_down(sizes[0])
        if not _none_up_to(terms, point, sign, [size for size in sizes if size < end] + [end]):
            return None
        if some:
            found.append(ClippedEnd(name, above=sign > 0, value=sign * end))
    return found


def _sizes(terms: ClippedTerms, near: float, far: float) -> list[float]:
    """Return sizes to look at, ascending: a few an octave, and where a policy with steps may have one."""
    found = {near, far}
    size = max(near, float(terms.round_to))
    while size < far:
        found.add(size)
        size *= 2 ** (1 / _PER_OCTAVE)
    steps = {abs(part.value) for part in walk(terms.policy.expression) if isinstance(part, Number)}
    found |= {math.nextafter(step, way) for step in steps for way in (0.0, step, math.inf)}
    return sorted(size for size in found if near <= size <= far)


def _none_up_to(terms: ClippedTerms, point: float, sign: int, sizes: list[float]) -> bool:
    """Return whether surely no record up to the last size counts for less; narrow pieces by their ends."""
    waiting = list(pairwise(sizes))
    for _ in range(_MAX_PIECES):
        if not waiting:
            return True
        low, high = waiting.pop()
        if terms.clips_none(sign * low, sign * high, point):
            continue
        if terms.clips(sign * low, point) or terms.clips(sign * high, point):
            return False
        if high - low > _NARROW * high:
            middle = (low + high) / 2
            waiting += [(low, middle), (middle, high)]
    return False


def _edge(terms: ClippedTerms, point: float, sign: int, low: float, high: float) -> float:
    """Return the size, rounded down, between two sizes from which on records count for less."""
    for _ in range(_HALVINGS):
        if _rounded_down(low) == _rounded_down(high):
            break
        middle = (low + high) / 2
        if terms.clips(sign * middle, point):
            high = middle
        else:
            low = middle
    return _rounded_down(low)


def _rounded_down(size: float) -> float:
    """Return a size with a few digits, rounded toward zero: below it, nothing is clipped."""
    if size <= 0:
        return 0.0
    exponent = math.floor(math.log10(size))
    exponent -= 10.0**exponent > size  # the logarithm of what is next to a power of ten is rounded up to it
    unit = 10.0 ** (exponent - _DIGITS + 1)
    return math.floor(size / unit) * unit


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{_DIGITS}g}"


def _plain(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.{_DIGITS}g}"
