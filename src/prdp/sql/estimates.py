"""An answer that is computed from other answers, with its interval: post-processing costs nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from prdp.expressions.evaluate import Value, evaluate
from prdp.expressions.intervals import Interval, bound
from prdp.expressions.nodes import Node
from prdp.release import shown
from prdp.release.ends import ENDLESS
from prdp.release.number import NumberLike
from prdp.release.release import Release, chance_of, reach_of


@dataclass(frozen=True, slots=True, repr=False)
class ComputedAnswer(NumberLike):
    """A number computed from released ones.

    Its interval holds all parts at once: with n parts, each lies in its own interval but for 1/n of the
    allowed failure, and interval arithmetic does the rest.

    Attributes:
        question: What was asked, in SQL.
        node: How it is computed, over the names of the parts.
        parts: The releases by the names that the expression has for them.
        known: Other values by name: the keys of the group.
        share: The part of every record's budget that its parts used.
        whole: Whether the truth is a whole number.
    """

    question: str
    node: Node
    parts: Mapping[str, Release]
    known: Mapping[str, Value]
    share: Fraction
    whole: bool = False

    @property
    def exact(self) -> Fraction:
        """The answer; 0 where it is unknown, which no estimate that is shown is."""
        value = self.computed
        return Fraction(value) if isinstance(value, int | float) and math.isfinite(value) else Fraction(0)

    @property
    def computed(self) -> Value:
        """What the expression gives for the released values; None where that is unknown."""
        values = {name: float(shown.value_of(part)) for name, part in self.parts.items()}
        return evaluate(self.node, {**self.known, **values})

    @property
    def value(self) -> int | float:
        """The answer, as an int where the truth is whole."""
        return int(self.exact) if self.whole and self.exact.denominator == 1 else float(self.exact)

    def interval(
        self, level: float | Fraction | str = 0.95, *, reach: float | Fraction | str = 8
    ) -> tuple[float, float]:
        """Return ends between which the true answer lies with this probability."""
        chance = 1 - (1 - chance_of(level)) / max(1, len(self.parts))
        ranges = {name: _outward(part.between(chance, reach_of(reach))) for name, part in self.parts.items()}
        fixed = {
            name: Interval(float(value), float(value))
            for name, value in self.known.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }
        found = bound(self.node, {**fixed, **ranges})
        return (-math.inf, math.inf) if found.empty else (found.low, found.high)

    @property
    def method(self) -> str:
        """Which mechanisms answered."""
        return ", ".join(dict.fromkeys(part.method for part in self.parts.values()))

    @property
    def caveat(self) -> str:
        """What else than noise may have moved the parts."""
        return "; ".join(dict.fromkeys(part.caveat for part in self.parts.values() if part.caveat))

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """Nothing: what was chosen stands with the parts."""
        return ()

    @property
    def simulated(self) -> bool:
        """Whether it protects nobody."""
        return any(part.simulated for part in self.parts.values())

    @property
    def even(self) -> bool:
        """Never: the answer need not be the middle of its interval."""
        return False

    @property
    def kind(self) -> str:
        """What the interval is."""
        kinds = {part.kind for part in self.parts.values()}
        return next((kind for kind in (shown.NOISE_ALONE, shown.RANGE) if kind in kinds), "95 %")

    @property
    def flag(self) -> str:
        """What is wrong with the answer: a part is too poor, or what is noise of it is wider than the answer.

        As with a release, what clipping may have taken beyond what was allowed is not taken for noise.
        """
        if any(part.flag == shown.TOO_POOR for part in self.parts.values()):
            return shown.TOO_POOR
        low, high = self.interval(shown.LEVEL, reach=1)
        return shown.MOSTLY_NOISE if high - low >= 2 * abs(self.exact) else ""

    @property
    def condition(self) -> str:
        """What the interval leaves aside, in words."""
        meanings = dict.fromkeys(part.condition for part in self.parts.values() if part.chosen is not None)
        return "; ".join(filter(None, (*meanings, shown.condition(self))))

    @property
    def aside(self) -> str:
        """What the intervals of the parts leave aside, as a clause."""
        clauses = dict.fromkeys(part.aside for part in self.parts.values() if part.chosen is None)
        return " and what ".join(filter(None, clauses))

    @property
    def left_out(self) -> str:
        """Which records its parts are not about."""
        return "; ".join(dict.fromkeys(part.left_out for part in self.parts.values() if part.left_out))

    @property
    def left_away(self) -> tuple[None, None]:
        """No end: all are shown."""
        return None, None


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
