"""An answer that is computed from other answers, with its interval: post-processing costs nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from itertools import product

from prdp.expressions.evaluate import Value, evaluate
from prdp.expressions.intervals import Interval, bound
from prdp.expressions.nodes import Arithmetic, Call, Column, Negate, Node, columns
from prdp.release import formatting
from prdp.release.derived import PARTS, NumberLike
from prdp.release.interval import ENDLESS, Ends
from prdp.release.raw_answer import Caveat, Overshoot
from prdp.release.release import Release, chance_of, tail_factor_of

_MAX_CORNERS = 6  # parts, of which 64 combinations of ends are tried
_FAR_AWAY = 1e100  # represents an end that is not there


@dataclass(frozen=True, slots=True, repr=False)
class ComputedAnswer(NumberLike):
    """A number computed from released ones.

    Its interval holds all parts at once: with n releases, each lies in its own interval but for 1/n of the
    allowed failure, and interval arithmetic does the rest. Where a part's end is not shown, what is computed
    from it has none either.

    Attributes:
        question: What was asked, in SQL.
        node: How it is computed, over the names of the parts.
        parts: The releases by the names that the expression has for them.
        known: Other values by name: the keys of the group.
        share: The part of every record's budget that its parts used.
        whole: Whether the truth is a whole number.
        day: Whether it is a day, counted from the year 1 on.
    """

    question: str
    node: Node
    parts: Mapping[str, Release]
    known: Mapping[str, Value]
    share: Fraction
    whole: bool = False
    day: bool = False

    @property
    def exact(self) -> Fraction:
        """The answer; 0 where it is unknown, which no estimate that is shown is."""
        value = self.computed
        return Fraction(value) if isinstance(value, int | float) and math.isfinite(value) else Fraction(0)

    @property
    def computed(self) -> Value:
        """Value of the expression for the released values; None where that is unknown."""
        values = {
            name: None if is_of_nothing(part) else float(formatting.value_of(part))
            for name, part in self.parts.items()
        }
        return evaluate(self.node, {**self.known, **values})

    @property
    def value(self) -> int | float | datetime | None:
        """The answer, as an int where the truth is whole, and as a date where it is a day."""
        if self.day:
            return formatting.day_of(float(self.exact))
        return int(self.exact) if self.whole and self.exact.denominator == 1 else float(self.exact)

    @property
    def low(self) -> float | datetime | None:  # type: ignore[override]
        """The lower end of the 95 % confidence interval; of a day a date, None where there is none."""
        return formatting.plain_ends(self)[0]

    @property
    def high(self) -> float | datetime | None:  # type: ignore[override]
        """The upper end of the 95 % confidence interval; of a day a date, None where there is none."""
        return formatting.plain_ends(self)[1]

    def interval(
        self, level: float | Fraction | str = 0.95, *, tail_factor: float | Fraction | str | None = None
    ) -> tuple[float, float]:
        """Return ends between which the true answer lies with this probability, as a release does."""
        chance = chance_of(level)
        if tail_factor is None:
            return self._between(chance, lambda part, each: part.shown_between(each))
        far = tail_factor_of(tail_factor)
        return self._between(chance, lambda part, each: part.between(each, far))

    def _between(self, chance: Fraction, of: Callable[[Release, Fraction], Ends]) -> tuple[float, float]:
        """Return the ends that follow from those of the parts, each asked for with its own probability."""
        ranges = {name: _outward(of(part, self._chance(name, chance))) for name, part in self.parts.items()}
        fixed = {
            name: Interval(float(value), float(value))
            for name, value in self.known.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }
        found = bound(self.node, {**fixed, **ranges})
        return (-math.inf, math.inf) if found.empty else (found.low, found.high)

    def _chance(self, name: str, chance: Fraction) -> Fraction:
        """Return the probability with which a part lies in its interval, so that all do with ``chance``.

        A part of a release that is used itself lies in its own wherever the release does.
        """
        each = (1 - chance) / max(1, len(self._apart))
        return 1 - each if name in self._apart else 1 - each / len(self.parts[_whole_of(name)].parts)

    @property
    def _apart(self) -> dict[str, Release]:
        """The parts but for those of a release that is a part itself."""
        named = self.parts.items()
        return {
            name: part for name, part in named if _whole_of(name) == name or _whole_of(name) not in self.parts
        }

    @property
    def method(self) -> str:
        """Mechanisms that answered."""
        return ", ".join(dict.fromkeys(part.method for part in self.parts.values()))

    @property
    def caveat(self) -> str:
        """Causes besides noise that may have moved it; with a direction where one answer alone moves it."""
        return "; ".join(dict.fromkeys(map(str, self._biases)))

    @property
    def general_caveat(self) -> str:
        """The same without the numbers in which rows of a table differ."""
        return "; ".join(dict.fromkeys(str(bias.in_general) for bias in self._biases))

    @property
    def _biases(self) -> list[Caveat]:
        if self.day:
            return [self._beyond(part.chosen) for part in self.parts.values() if part.bias is not None]
        by = affine(self.node, self.known) if len(self.parts) == 1 else None
        return [part.bias.moved(part.clipping, by) for part in self.parts.values() if part.bias is not None]

    def _beyond(self, chosen: object) -> Caveat:
        """Return on which side of a first or last day others may lie."""
        assert isinstance(self.node, Arithmetic)  # noqa: S101  (a day is a public one and a number)
        lowest = isinstance(chosen, Overshoot) and chosen.lowest
        side = "after" if lowest == isinstance(self.node.right, Negate) else "before"
        return Caveat(f"records with small budgets may lie {side} it")

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """Nothing: what was chosen is with the parts."""
        return ()

    @property
    def simulated(self) -> bool:
        """True for a simulation without privacy."""
        return any(part.simulated for part in self.parts.values())

    @property
    def even(self) -> bool:
        """Never: the answer need not be the middle of its interval."""
        return False

    @property
    def kind(self) -> str:
        """Kind of the interval."""
        kinds = {part.kind for part in self.parts.values()}
        return next((kind for kind in (formatting.NOISE_ALONE, formatting.RANGE) if kind in kinds), "95 %")

    @property
    def flag(self) -> str:
        """Quality flag: that of its own coefficient of variation, or of a part that says nothing."""
        flags = {part.flag for part in self.parts.values()}
        bad = (formatting.INSUFFICIENT_BUDGET, formatting.UNRELIABLE)
        for flag in bad[: 1 if self.day else 2]:
            if flag in flags:
                return flag
        if self.kind == formatting.RANGE:
            return ""
        if self.day:  # from which day days are counted says nothing of how precise one is
            ends = (end for part in self.parts.values() for end in part.interval())
            return formatting.UNRELIABLE if all(map(math.isinf, ends)) else ""
        return formatting.precision_flag(self.std_error, float(self.exact))

    @property
    def excludes(self) -> str:
        """Exclusions of the interval, in words."""
        of_nothing = formatting.OF_NOTHING if self.perhaps_of_nothing else ""
        return "; ".join(filter(None, (formatting.simultaneous(self.among), of_nothing, self.excluded_text)))

    @property
    def perhaps_of_nothing(self) -> bool:
        """True if a part may be of no values at all, or the truth where the expression has no value."""
        return any(part.perhaps_of_nothing for part in self.parts.values()) or self._perhaps_unknown

    @property
    def _perhaps_unknown(self) -> bool:
        """True if the expression is unknown where some parts are at an end of their intervals.

        A root of what may be below zero is 0 or more by interval arithmetic, and may not be there at all.
        """
        if isinstance(self.node, Column) or len(self.parts) > _MAX_CORNERS:
            return False
        ranges = (
            _outward(part.shown_between(self._chance(name, formatting.LEVEL)))
            for name, part in self.parts.items()
        )
        ends = [(max(one.low, -_FAR_AWAY), min(one.high, _FAR_AWAY)) for one in ranges]
        return any(
            evaluate(self.node, {**self.known, **dict(zip(self.parts, corner, strict=True))}) is None
            for corner in product(*ends)
        )

    @property
    def excluded_text(self) -> str:
        """Exclusions of the interval, in words; empty where there are none."""
        chosen = (part.excluded_text for part in self.parts.values() if part.chosen is not None)
        return "; ".join(filter(None, (*dict.fromkeys(chosen), formatting.excludes(self))))

    @property
    def among(self) -> int:
        """Number of answers from which its parts were selected by value."""
        return max((part.among for part in self.parts.values()), default=1)

    @property
    def excluded_clause(self) -> str:
        """Exclusions of the parts' intervals, as a clause."""
        noisy_parts = (part for part in self._apart.values() if part.chosen is None and part.excluded_text)
        clauses = dict.fromkeys(part.excluded_clause for part in noisy_parts)
        return " and ".join(filter(None, clauses))

    @property
    def left_out(self) -> str:
        """Records that its parts exclude."""
        return "; ".join(formatting.notes_of(*(part.left_out for part in self.parts.values())))

    @property
    def left_away(self) -> tuple[float | None, float | None]:
        """The ends that are not shown because one of a part lies too far away; None for those that are."""
        ends = self.interval(formatting.LEVEL, tail_factor=formatting.TAIL_FACTOR)
        pairs = zip(ends, self.interval(formatting.LEVEL), strict=True)
        low, high = (end if math.isfinite(end) and math.isinf(kept) else None for end, kept in pairs)
        return low, high


def is_of_nothing(part: Release) -> bool:
    """Return whether an answer is NULL: a mean or a variance whose released count is below 1."""
    return part.rule in PARTS and part.parts[1].exact < 1


def _whole_of(name: str) -> str:
    """Return the name of the release that a part of one belongs to: a0 of a0_1."""
    return name.partition("_")[0]


def affine(node: Node, known: Mapping[str, Value]) -> tuple[Fraction, Fraction] | None:
    """Return what the only answer in an expression is multiplied by, and what is added; None if it is not so.

    A root and rounding keep zero where it is and move the way that what is in them does.
    """
    match node:
        case Column():
            return Fraction(1), Fraction(0)
        case Negate():
            inner = affine(node.operand, known)
            return None if inner is None else (-inner[0], -inner[1])
        case Call(name="sqrt" | "round"):
            inner = affine(node.args[0], known)
            return inner if inner is not None and inner[1] == 0 and inner[0] > 0 else None
        case Arithmetic():
            return _of_arithmetic(node, known)
        case _:
            return None


def _of_arithmetic(node: Arithmetic, known: Mapping[str, Value]) -> tuple[Fraction, Fraction] | None:
    left, right = (_constant(side, known) for side in (node.left, node.right))
    number, inner = (right, affine(node.left, known)) if left is None else (left, affine(node.right, known))
    if number is None or inner is None:
        return None
    times, plus = inner
    match node.op:
        case "+":
            return times, plus + number
        case "-":
            return (times, plus - number) if left is None else (-times, number - plus)
        case "*":
            return times * number, plus * number
        case "/" if left is None and number:
            return times / number, plus / number
        case _:
            return None


def _constant(node: Node, known: Mapping[str, Value]) -> Fraction | None:
    """Return the number that an expression without answers is; None for any other."""
    if not columns(node) <= known.keys():
        return None
    value = evaluate(node, known)
    plain = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return Fraction(value) if plain else None  # type: ignore[arg-type]


def _outward(ends: tuple[Fraction, Fraction]) -> Interval:
    """Return ends as doubles, none of them moved inward."""
    low, high = ends
    least = -math.inf if low <= -ENDLESS / 2 else math.nextafter(float(low), -math.inf)
    most = math.inf if high >= ENDLESS / 2 else math.nextafter(float(high), math.inf)
    if low.denominator == 1 and abs(low) < 2**53:
        least = float(low)
    if high.denominator == 1 and abs(high) < 2**53:
        most = float(high)
    return Interval(least, most)
