"""The estimate after the last round, with its noise, its bias and what was not heard."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from prdp.declare.exact import Exact, exact
from prdp.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class Above:
    """The reported mass in one octave of |value| / budget above the cut.

    Of values that were cut, reports say a size: they pull the sum by at most ``amount`` · (end - 1). Of
    values that were left out, they say the sum, which has a sign. Both but for the noise in ``amount``.

    Attributes:
        end: The octave's upper end, in multiples of the cut.
        amount: What the octave's budget is worth at the cut: an estimate that may be too high, never too low
            but for noise. Of an octave that was left out: its sum.
        deviation: The standard deviation of its noise.
        left_out: Whether ``amount`` is the sum of all values in the octave, none of which is in the answer.
    """

    end: float
    amount: float
    deviation: float
    left_out: bool = False

    def weight(self, tail_factor: float) -> float:
        """Return by what ``amount`` counts for values up to ``tail_factor`` times the cut.

        A sum counts in whole or not at all: the part of it below ``tail_factor`` is unknown.

        >>> Above(4.0, 9.0, 1.0).weight(3.0), Above(4.0, 9.0, 1.0, left_out=True).weight(3.0)
        (2.0, 1.0)
        """
        if self.end / 2 >= tail_factor:
            return 0.0
        return 1.0 if self.left_out else max(0.0, min(self.end, tail_factor) - 1)


def pulled(octaves: Sequence[Above], tail_factor: float) -> tuple[float, float]:
    """Return the bias of a sum by values up to ``tail_factor`` times the cut at most, and its deviation.

    >>> pulled([Above(2.0, 10.0, 3.0), Above(4.0, -1.0, 1.0)], tail_factor=4)  # 10 · 1 - 1 · 3
    (7.0, 4.242640687119285)
    """
    weighed = [(octave, octave.weight(tail_factor)) for octave in octaves]
    total = math.fsum(octave.amount * weight for octave, weight in weighed if weight)
    return total, math.hypot(*(octave.deviation * weight for octave, weight in weighed if weight))


def ends_of(
    value: float, deviation: float, octaves: Sequence[Above], tail_factor: float, z: float, *, signed: bool
) -> tuple[float, float]:
    """Return the ends of an interval for the sum of values up to ``tail_factor`` times the cut.

    Where no value is below zero, that is noise below the answer, and noise and pull above. Of values of both
    signs, what was cut may have pulled either way; what was left out has the sign of its sum.

    >>> ends_of(100.0, 3.0, [Above(2.0, 10.0, 4.0)], 2.0, 2.0, signed=False)
    (94.0, 120.0)
    >>> ends_of(100.0, 3.0, [Above(2.0, 10.0, 4.0)], 2.0, 2.0, signed=True)
    (80.0, 120.0)
    >>> ends_of(100.0, 3.0, [Above(2.0, -10.0, 4.0, left_out=True)], 2.0, 2.0, signed=True)
    (80.0, 106.0)
    """
    pull, own = pulled(octaves, tail_factor)
    noise, both = z * deviation, z * math.hypot(deviation, own)
    high = value + max(noise, pull + both)
    if not signed:
        return value - noise, high
    down = pull if any(octave.left_out for octave in octaves) else -pull
    return value + min(-noise, down - both), high


TAIL_FACTOR = 8.0
"""Tail factor by default: how many times their cut values may reach."""

_MAX_PRINTED = 40


@dataclass(frozen=True, slots=True)
class Part:
    """One number of an answer that has several."""

    label: str
    value: float
    deviation: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """An answer of the local model; everything in it may be published.

    >>> print(Estimate("count", 1000.0, 100.0, 5000, Fraction(1, 2), "domains, bits"))  # 1.96 deviations
    count: 1,000 ± 196 (95 % of the noise; 5,000 clients, share 1/2, domains, bits)

    Attributes:
        question: The question, in words.
        value: The answer; for a table of counts, their sum.
        deviation: The standard deviation of the noise in it, or a little more; infinite if nothing was heard.
        clients: The number of reports of the last round, which the answer is about.
        share: The part of every record's budget that all rounds together used.
        method: The method, in words.
        choices: The choices made on the way, in words.
        parts: The numbers of an answer that has several.
        simulated: Whether it was made from records that somebody could see: such an answer is not private.
        rounds: The number of reports of each round.
        bias: The errors that the interval does not cover, in words.
        unheard: Why the answer says nothing, where it does not: no reports, or none louder than the noise.
        above: What the rounds say of values beyond the cut of a sum, by octaves; empty where that is nothing.
        signed: Whether values may be negative, so that what was cut may have pulled either way.
        candidates: Among how many answers this one was chosen by its own noise: the interval holds for all of
            them at once.
        most: The number of clients, which a count does not pass; infinite for other questions.
    """

    question: str
    value: float
    deviation: float
    clients: int
    share: Fraction
    method: str
    choices: tuple[tuple[str, str], ...] = ()
    parts: tuple[Part, ...] = ()
    simulated: bool = False
    rounds: tuple[int, ...] = ()
    bias: str = ""
    unheard: str = ""
    above: tuple[Above, ...] = ()
    signed: bool = False
    candidates: int = 1
    most: float = math.inf

    @property
    def caveat(self) -> str:
        """The errors that the interval does not cover."""
        sentences = ["The interval is that of the noise alone.", self.bias]
        if self.above:
            sentences[0] = (
                f"The interval has the noise and what is cut of values up to {TAIL_FACTOR:g} times their "
                "cut. It excludes values further out, which may be most of the sum."
            )
        if self.candidates > 1:
            sentences.append(
                f"The first domain was chosen among {self.candidates} by their noise: the interval "
                "is wide enough to hold for each of them."
            )
        if self.unheard:
            sentences.insert(
                0, f"{self.unheard[0].upper()}{self.unheard[1:]}. The answer is nothing but noise."
            )
        if len(set(self.rounds)) > 1:
            *early, last = (f"{clients:,}" for clients in self.rounds)
            sentences.append(
                f"The rounds had {', '.join(early)} and {last} clients. The answer is about the last "
                "round's, and right only if clients stayed away whatever their records were."
            )
        return " ".join(filter(None, sentences))

    def interval(
        self, level: float | Exact = 0.95, *, tail_factor: float = TAIL_FACTOR
    ) -> tuple[float, float]:
        """Return the ends between which the answer lies with about this probability.

        For a sum or a mean, it also allows for values that were cut or left out: of those that go no further
        than ``tail_factor`` times their cut, the rounds say how much that is at most. Values further out are
        excluded. It widens the upper end, and where values may be negative the lower one. For all else, and
        with ``tail_factor=1``, it is the interval of the noise alone.

        >>> low, high = Estimate("count", 1000.0, 100.0, 5000, Fraction(1, 2), "domains, bits").interval()
        >>> round(low), round(high)
        (804, 1196)

        Args:
            level: The probability.
            tail_factor: Up to how many times their cut values are taken to go, 1 or more.
        """
        chance = probability(level, "level")
        if chance == 1:
            raise InvalidRequest(f"level={level!r} is not a probability below 1, such as 0.95.")
        if not tail_factor >= 1:
            raise InvalidRequest(f"tail_factor={tail_factor!r} is not 1 or more, such as 8.")
        if self.unheard:
            return -math.inf, math.inf
        z = NormalDist().inv_cdf(1 - (1 - chance) / (2 * self.candidates))
        low, high = ends_of(self.value, self.deviation, self.above, tail_factor, z, signed=self.signed)
        return (max(0.0, low), min(self.most, high)) if self.most < math.inf else (low, high)

    def __str__(self) -> str:
        mark = "; simulated" if self.simulated else ""
        facts = f"{self.clients:,} clients, share {self.share}, {self.method}{mark}"
        if self.unheard:
            return f"{self.question}: {self.unheard} ({facts})"
        low, high = self.interval()
        head = f"{self.question}: {_shown(self.value)}, from {_shown(low)} to {_shown(high)} (95 %; {facts})"
        if not self.above and math.isclose(self.value - low, high - self.value):
            margin = f"{_shown(self.value)} ± {_shown(high - self.value)}"
            head = f"{self.question}: {margin} (95 % of the noise; {facts})"
        elif self.above:
            head = (
                f"{self.question}: {_shown(self.value)}, from {_shown(low)} to {_shown(high)} "
                f"(95 % if no value is beyond {TAIL_FACTOR:g} times its cut; {facts})"
            )
        lines = [
            f"  {part.label}: {_with_margin(part.value, part.deviation)}"
            for part in self.parts[:_MAX_PRINTED]
        ]
        more = len(self.parts) - len(lines)
        return "\n".join([head, *lines, *([f"  ... and {more:,} more, in .parts"] if more else [])])


def probability(given: float | Exact, name: str) -> float:
    """Return a number from 0 to 1 as a float, whether it is written as one or exactly.

    >>> probability("1/4", "level"), probability(0.5, "level")
    (0.25, 0.5)
    """
    number = given if isinstance(given, float) else float(exact(given, name))
    if not 0 <= number <= 1:
        raise InvalidRequest(f"{name}: {given!r} is not between 0 and 1, such as 0.5.")
    return number


def _with_margin(value: float, deviation: float) -> str:
    return f"{_shown(value)} ± {_shown(NormalDist().inv_cdf(0.975) * deviation)}"


def _shown(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"
