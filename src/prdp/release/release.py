"""The answer with its honest label: what it is, how sure, and at what price."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from prdp.declare.exact import exact
from prdp.errors import InvalidRequest
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.quartic import spread as quartic_spread
from prdp.noise.spread import spread
from prdp.release.bias import Clipping, Dropped
from prdp.release.chosen import Overshoot, Ranked
from prdp.release.derived import combined_interval

ENDLESS = Fraction(10) ** 400
"""Further than any answer that bounds allow: an end that far away is no end."""

_LEAST_FAILURE = Fraction(1, 10**100)
_QUOTED = 60


@dataclass(frozen=True, slots=True, repr=False)
class Release:
    """A private answer; everything in it may be published.

    >>> noisy = Release("count", 1042, Fraction(1), (Fraction(100),), Fraction(1, 10), "clip", caveat="")
    >>> print(noisy)  # one draw of twenty is further away than about 100 · ln(20)
    count: 1,042 ± 300 (95 % of the noise; share 1/10, clip)

    Attributes:
        question: What was asked, in words.
        steps: The answer, as a whole number of steps.
        step: What one step is worth.
        noise_scales: The scales of the independent discrete Laplace noises in it, in steps.
        share: The part of every record's budget that it used.
        method: Which mechanism answered.
        caveat: What else than noise may have moved the answer, in words; empty if nothing else has.
        choices: What the mechanism chose on the way, in words.
        simulated: Whether the records were a stand-in's, and the noise perhaps seeded: it protects nobody.
        ends: For a value that was chosen from a range instead of hidden by noise, the range; for one that was
            computed from parts, its public limits.
        parts: The releases that the answer was computed from; their shares add up to its own.
        rule: How it was computed: ``"mean"``, ``"variance"`` or ``"std"``; empty for an answer without parts.
        clipping: What was clipped or dropped, and how it was chosen; None where it says nothing of the pull.
        noise: ``"laplace"``; or ``"quartic"``, whose scale is private and at most what ``noise_scales`` says.
        chosen: For a largest, smallest or middle value that was chosen, what its law tells of the true one.
    """

    question: str
    steps: int
    step: Fraction
    noise_scales: tuple[Fraction, ...]
    share: Fraction
    method: str
    caveat: str
    choices: tuple[tuple[str, str], ...] = ()
    simulated: bool = False
    ends: tuple[Fraction, Fraction] | None = None
    parts: tuple[Release, ...] = ()
    rule: str = ""
    clipping: Clipping | Dropped | None = None
    noise: str = "laplace"
    chosen: Overshoot | Ranked | None = None

    @property
    def exact(self) -> Fraction:
        """The answer as an exact fraction.

        >>> Release("sum of price", 250, Fraction(1, 100), (), Fraction(1, 10), "clip", "").exact
        Fraction(5, 2)
        """
        return self.steps * self.step

    @property
    def value(self) -> int | float:
        """The answer: an int where its lattice is whole, else the nearest float.

        >>> Release("count", 1042, Fraction(1), (), Fraction(1, 10), "clip", "").value
        1042
        >>> Release("sum of price", 250, Fraction(1, 100), (), Fraction(1, 10), "clip", "").value
        2.5
        """
        exact = self.exact
        return int(exact) if self.step.denominator == 1 else float(exact)

    def interval(
        self, level: float | Fraction | str = 0.95, *, reach: float | Fraction | str = 8
    ) -> tuple[float, float]:
        """Return the ends between which the true answer lies with this probability.

        Where records were clipped it covers the noise, the choice of the clipping point and the pull of
        clipping, provided that no record would count for more than ``reach`` times what it was allowed to;
        no private interval can do without such a condition (proofs/clip.md). An end is infinite where the
        table is so poor in budget that nearly all of it may have been clipped. ``reach=1`` is the interval
        of the noise alone.

        What other mechanisms drop or clip is outside of what it covers: see ``caveat``. For a value that was
        chosen from a range it is the range, whatever the probability.

        >>> noisy = Release("count", 1042, Fraction(1), (Fraction(100),), Fraction(1, 10), "clip", caveat="")
        >>> noisy.interval(), noisy.interval() == noisy.interval("0.95")
        ((742, 1342), True)
        >>> noisy.interval(95)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        prdp.errors.InvalidRequest: interval(95) is not a probability: ...
        """
        low, high = self.between(_chance(level), _reach(reach))
        return _number(low), _number(high)

    def between(self, chance: Fraction, reach: Fraction = Fraction(1)) -> tuple[Fraction, Fraction]:
        """Return the ends of ``interval``, exactly; where there is none, ``ENDLESS`` away."""
        if self.parts and self.ends is not None:
            each = 1 - (1 - chance) / len(self.parts)  # all parts at once
            ends = [part.between(each, reach) for part in self.parts]
            return combined_interval(self.rule, ends, self.ends)
        if self.chosen is not None:
            low, high = self.chosen.between(1 - chance, reach)
            return (
                -ENDLESS if low is None else low * self.step,
                ENDLESS if high is None else high * self.step,
            )
        if self.ends is not None:
            return self.ends
        below, above = self._strays(1 - chance, reach)
        return self.exact - below, self.exact + above

    def _strays(self, failure: Fraction, reach: Fraction) -> tuple[Fraction, Fraction]:
        """Return how far below and above the answer the truth may lie.

        Noise alone fails on either side half of the time. Where clipping pulls one way, noise and pull
        each have half of that side's failures; where it pulls both ways, half of all. What was clipped or
        dropped says how much of the failures is there to be had.
        """
        if self.noise == "quartic":
            reach = sum(quartic_spread(scale, 1 - failure) for scale in self.noise_scales) * self.step
            return reach, reach
        clipping = self.clipping
        own, pulled = clipping.failures(failure, reach) if clipping else (failure, failure)
        noise = _spread(self.noise_scales, 1 - own) * self.step
        if clipping is None or clipping.pull(pulled, reach) == 0:
            return noise, noise
        pull = clipping.pull(pulled / 2 if clipping.below and clipping.above else pulled / 4, reach)
        far = ENDLESS if pull is None else (_spread(self.noise_scales, 1 - own / 2) + pull) * self.step
        return far if clipping.below else noise, far if clipping.above else noise

    def __str__(self) -> str:
        """Return the answer on one line."""
        value, reach, kind = self._shown()
        caveat = f"; {self.caveat}" if self.caveat else ""
        if self._together():
            caveat += f": 95 % of both, {self._together()}"
        mark = " [simulated: not private]" if self.simulated else ""
        label = f"{kind}; share {self.share}, {self.method}"
        return f"{self.question}: {value} {reach} ({label}){caveat}{mark}"

    def __repr__(self) -> str:
        return f"Release({self})"

    @property
    def short(self) -> str:
        """The answer and how sure it is, for a cell of a table."""
        value, reach, _ = self._shown()
        return f"{value} {reach}"

    @property
    def kind(self) -> str:
        """The kind of interval that ``short`` shows."""
        return self._shown()[2]

    def _shown(self) -> tuple[str, str, str]:
        """Return the value, how sure it is, and what that means; with digits that make sense together."""
        low, high = self.interval(reach=1)
        digits = _digits(high - low)
        value = f"{self.value:,.{digits}f}"
        if self.parts:
            return value, f"in {low:,.{digits}f} to {high:,.{digits}f}", "95 % of the noise"
        if self.ends is not None:
            return value, f"in {low:,.{digits}f} to {high:,.{digits}f}", "the range that was chosen"
        return value, f"± {(high - low) / 2:,.{digits}f}", "95 % of the noise"

    def _together(self) -> str:
        """Return the interval with what was clipped, in words; nothing where that is the noise's."""
        low, high = self.interval()
        if (low, high) == self.interval(reach=1):
            return ""
        digits = _digits(high - low)
        if math.isinf(high):
            return "any number" if math.isinf(low) else f"{low:,.{digits}f} or more"
        return f"up to {high:,.{digits}f}" if math.isinf(low) else f"{low:,.{digits}f} to {high:,.{digits}f}"

    def _repr_html_(self) -> str:
        value, reach, kind = self._shown()
        rows = [
            (self.question, value),
            (kind, reach),
            ("share", str(self.share)),
            ("method", self.method),
            *self.choices,
        ]
        if self.caveat:
            rows.append(("not in that", self.caveat))
        if self._together():
            rows.append(("95 % of both", self._together()))
        if self.simulated:
            rows.append(("simulated", "from a stand-in's records: this answer protects nobody"))
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for name, text in rows
        )
        return f"<table>{cells}</table>"


@lru_cache(maxsize=1024)
def _spread(scales: tuple[Fraction, ...], level: Fraction) -> int:
    """Return how far the noises' sum strays; many groups have the same noises."""
    return spread([DiscreteLaplace(scale) for scale in scales], level)


def _chance(level: float | Fraction | str) -> Fraction:
    chance = _read(level)
    if chance is None or not 0 < chance < 1:
        raise InvalidRequest(
            f"interval({_quoted(level)}) is not a probability: give a number between 0 and 1, such as 0.95."
        )
    if 1 - chance < _LEAST_FAILURE:
        raise InvalidRequest(
            f"interval({_quoted(level)}) is closer to 1 than 10^-100: give less, such as 0.999."
        )
    return chance


def _reach(reach: float | Fraction | str) -> Fraction:
    most = _read(reach)
    if most is None or most < 1:
        raise InvalidRequest(
            f"interval(reach={_quoted(reach)}) says how many times its cap a record may count for: "
            "give 1 or more, up to 1e400."
        )
    return most


def _read(value: object) -> Fraction | None:
    """Return the number that a caller gives, a float for what it prints as; None for what is none."""
    try:
        plain = value.item() if hasattr(value, "item") else value
        number = exact(repr(plain) if isinstance(plain, float) else plain, "interval")  # type: ignore[arg-type]
    except (InvalidRequest, ValueError):
        return None
    return number if abs(number) <= ENDLESS and number.denominator <= ENDLESS else None


def _quoted(value: object) -> str:
    """Return what a caller gave, cut where it is long."""
    try:
        text = repr(value)
    except ValueError:  # an integer of thousands of digits does not print
        return "..."
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}..."


def _number(exact: Fraction) -> float:
    if abs(exact) >= ENDLESS / 2:
        return math.inf if exact > 0 else -math.inf
    return int(exact) if exact.denominator == 1 else float(exact)


def _digits(width: float) -> int:
    """Return how many decimals are worth showing beside an interval of this width."""
    if width <= 0 or math.isinf(width):
        return 0
    return max(0, min(6, 2 - math.floor(math.log10(width)))) if width < 100 else 0
