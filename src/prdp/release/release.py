"""The answer with its honest label: what it is, how sure, and at what price."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from prdp.declare.exact import exact
from prdp.errors import InvalidRequest
from prdp.release import shown
from prdp.release.bias import Clipping, Dropped
from prdp.release.chosen import Overshoot, Ranked
from prdp.release.derived import combined_interval
from prdp.release.number import NumberLike
from prdp.release.strays import strays

if TYPE_CHECKING:
    from prdp.release.moved import MovedRelease

ENDLESS = Fraction(10) ** 400
"""Further than any answer that bounds allow: an end that far away is no end."""

_ENDLESS_HALF = ENDLESS / 2
_LEAST_FAILURE = Fraction(1, 10**100)
_QUOTED = 60


@dataclass(frozen=True, slots=True, repr=False)
class Release(NumberLike):
    """A private answer; everything in it may be published.

    >>> noisy = Release("count", 1042, Fraction(1), (Fraction(100),), Fraction(1, 10), "clip", caveat="")
    >>> print(noisy)  # one draw of twenty is further away than about 100 · ln(20)
    count: 1,042 ± 300 (95 %; share 1/10, clip)

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
        whole: Whether the truth is a whole number: such an answer is printed as one.
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
    whole: bool = False

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
        low, high = self.between(chance_of(level), _reach(reach))
        return _number(low), _number(high)

    def between(self, chance: Fraction, reach: Fraction = Fraction(1)) -> tuple[Fraction, Fraction]:
        """Return the ends of ``interval``, exactly; where there is none, ``ENDLESS`` away."""
        if self.parts and self.ends is not None:
            each = 1 - (1 - chance) / len(self.parts)  # all parts at once
            ends = [part.between(each, reach) for part in self.parts]
            return combined_interval(self.rule, ends, self.ends)
        if self.chosen is not None:
            low, high = self.chosen.between(1 - chance)
            return (
                -ENDLESS if low is None else low * self.step,
                ENDLESS if high is None else high * self.step,
            )
        if self.ends is not None:
            return self.ends
        return self._moved_by_noise(1 - chance, reach)

    def _moved_by_noise(self, failure: Fraction, reach: Fraction) -> tuple[Fraction, Fraction]:
        """Return the ends around an answer that noise was added to."""
        found = strays(self.noise_scales, self.noise, self.clipping, failure, reach)
        low, high = found.around(self.steps)
        return (
            -ENDLESS if low is None else low * self.step,
            ENDLESS if high is None else high * self.step,
        )

    @property
    def even(self) -> bool:
        """Whether the answer is the middle of its interval, because nothing can be clipped or dropped."""
        if self.ends is not None or self.parts or self.chosen is not None:
            return False
        return self.clipping.nothing if self.clipping is not None else not self.caveat

    @property
    def kind(self) -> str:
        """What the interval is: ``"95 %"``, the range that was chosen, or that of the noise alone.

        The last is what answers have that were written down before intervals covered what was clipped.
        """
        if self.ends is not None and not self.parts:
            return shown.RANGE
        told = (part for part in self.parts or (self,) if part.chosen is None)
        noise_alone = any(part.caveat and part.clipping is None for part in told)
        return shown.NOISE_ALONE if noise_alone else "95 %"

    @property
    def flag(self) -> str:
        """What is wrong with the answer: ``"too poor"``, ``"mostly noise"``; empty where nothing is.

        >>> Release("count", 3, Fraction(1), (Fraction(100),), Fraction(1, 10), "naive", "").flag
        'mostly noise'
        """
        pulls = [part.clipping for part in (self, *self.parts) if part.clipping is not None]
        if any(pull.too_poor for pull in pulls):
            return shown.TOO_POOR
        if self.chosen is not None:
            return shown.MOSTLY_NOISE if self.chosen.between(1 - shown.LEVEL) == (None, None) else ""
        if self.ends is not None and not self.parts:
            return ""
        low, high = self.between(shown.LEVEL)
        return shown.MOSTLY_NOISE if high - low >= 2 * abs(self.exact) else ""

    @property
    def condition(self) -> str:
        """What the interval takes for granted, in words; empty where that is nothing."""
        if self.chosen is not None:
            return self.chosen.meaning
        pulls = [part.clipping for part in (self, *self.parts) if part.clipping is not None]
        if not any(pull.needs(shown.REACH) for pull in pulls):
            return ""
        return f"holds if nothing that was clipped would count for more than {shown.REACH} times as much"

    def moved(self, times: object, plus: object) -> MovedRelease:
        """Return the answer times one number plus another; the ends of its interval move along."""
        from prdp.release.moved import MovedRelease  # noqa: PLC0415  (it is made of releases)

        return MovedRelease(self).moved(times, plus)


def chance_of(level: float | Fraction | str) -> Fraction:
    """Return the probability that a caller asks of an interval; refuse what is none."""
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
    return int(exact) if exact.denominator == 1 and abs(exact) < _ENDLESS_HALF else as_float(exact)


def as_float(exact: Fraction) -> float:
    """Return an end as a float; one that is ``ENDLESS`` away is infinite."""
    if abs(exact) >= _ENDLESS_HALF:
        return math.inf if exact > 0 else -math.inf
    return float(exact)
