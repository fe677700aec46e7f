"""The answer with its honest label: what it is, how sure, and at what price."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

from prdp.declare.exact import exact
from prdp.errors import InvalidRequest
from prdp.noise.concave import ConcaveNoise
from prdp.release import formatting
from prdp.release.clipped import Choices, ClippedEnd, ClippedTerms
from prdp.release.derived import (
    PARTS,
    NumberLike,
    combined_interval,
    plain_fraction,
    quotient_interval,
    quotient_laws,
)
from prdp.release.interval import (
    ENDLESS,
    PUBLIC_NOISE,
    Around,
    Ends,
    ErrorBounds,
    Horizon,
    Pull,
    as_number,
    error_bounds,
    spans_limits,
)
from prdp.release.ratio import TotalLaw, total_law
from prdp.release.raw_answer import Caveat, Overshoot, Ranked

_LEAST_FAILURE = Fraction(1, 10**100)
_QUOTED = 60


@dataclass(frozen=True, slots=True, repr=False)
class Release(NumberLike):
    """A private answer; everything in it may be published.

    >>> noisy = Release("count", 1042, Fraction(1), (Fraction(100),), Fraction(1, 10), "clip")
    >>> print(noisy)  # one draw of twenty is further away than about 100 · ln(20)
    count: 1,042 ± 300 (95 %; share 1/10, clip)

    Attributes:
        question: What was asked, in words.
        steps: The answer, as a whole number of steps.
        step: What one step is worth.
        noise_scales: The scales of the independent discrete Laplace noises in it, in steps.
        share: The part of every record's budget that it used.
        method: Which mechanism answered.
        bias: What else than noise may have moved the answer; None if nothing else has.
        decisions: What the mechanism chose on the way, in words.
        simulated: Whether the records were a synthetic table's, and the noise perhaps seeded: it is not
            private.
        ends: For a value that was chosen from a range instead of hidden by noise, the range; for one that was
            computed from parts, its public limits.
        parts: The releases that the answer was computed from; their shares add up to its own.
        rule: How it was computed: ``"mean"``, ``"variance"`` or ``"std"``; empty for an answer without parts.
        clipping: What was clipped or dropped, and how it was chosen; None where it says nothing of the pull.
        noise: ``"laplace"``; ``"gaussian"``, whose scales are those of wider Laplace noise and hold the
            variance; or ``"quartic"``, whose scale is private and at most what ``noise_scales`` says.
        chosen: For a largest, smallest or middle value that was chosen, what its law tells of the true one.
        whole: Whether the truth is a whole number: such an answer is printed as one.
        clipped: What is public about which records the clipping point lets count for less: `choices` and
            `beyond` name them by it, when they are looked at. None where it is unknown.
        shape: For noise that is not Laplace's and public, all of it, in steps.
        left_out: Which records it is not about, since the policy gives them no budget, and which values count
            as a bound; empty where that is nobody. Sources differ in which columns may be NULL, and answers
            are compared without it.
        center: Of a variance, what the squared distances in its parts were taken from.
        among: Of how many answers this one was selected by what they are; 1 where it was not. Its interval is
            then simultaneous: with the probability that it states, those of all of them hold at once.
        recorded_at: When it was charged (ISO 8601, UTC), for an answer that was recorded before and cost
            nothing now; empty for a new one.
    """

    internals: ClassVar = frozenset(
        {
            *("among", "around", "between", "bias", "center", "chosen", "clipped", "clipping", "decisions"),
            *("ends", "even", "excluded_clause", "excluded_records", "excluded_text", "exclusion_of_part"),
            *("has_impossible_sign", "sign"),
            *(
                "day",
                "general_caveat",
                "horizon",
                "insufficient_budget",
                "law",
                "left_away",
                "moved",
                "noise",
            ),
            *("perhaps_of_nothing", "rule", "selected", "shape", "shown_between", "stated_exclusion"),
            *("step", "steps", "whole"),
        }
    )

    question: str
    steps: int
    step: Fraction
    noise_scales: tuple[Fraction, ...]
    share: Fraction
    method: str
    bias: Caveat | None = None
    decisions: Choices = ()
    simulated: bool = False
    ends: tuple[Fraction, Fraction] | None = None
    parts: tuple[Release, ...] = ()
    rule: str = ""
    clipping: Pull | None = None
    noise: str = "laplace"
    chosen: Overshoot | Ranked | None = None
    whole: bool = False
    clipped: ClippedTerms | None = None
    shape: ConcaveNoise | None = None
    left_out: str = field(default="", compare=False)
    center: Fraction | None = None
    among: int = 1
    recorded_at: str = field(default="", compare=False)

    @property
    def exact(self) -> Fraction:
        """The answer as an exact fraction.

        >>> Release("sum of price", 250, Fraction(1, 100), (), Fraction(1, 10), "clip").exact
        Fraction(5, 2)
        """
        return self.steps * self.step

    @property
    def caveat(self) -> str:
        """Causes besides noise that may have moved the answer, in words; empty if there are none."""
        return "" if not self.bias else str(self.bias)

    @property
    def general_caveat(self) -> str:
        """The same without the numbers in which rows of a table differ."""
        return "" if not self.bias else str(self.bias.in_general)

    @property
    def choices(self) -> Choices:
        """Choices of the mechanism, in words, and the records that they clip."""
        if self.clip_threshold is None or self.clipped is None or self.clipped.center is not None:
            return self.decisions  # of squares, `beyond` says which records: the choices name the point
        dropped = self.clipping is not None and self.clipping.drops
        return self.decisions + self.clipped.at(self.clip_threshold, dropped=dropped)

    @property
    def clip_threshold(self) -> Fraction | None:
        """Clipping threshold for a unit of budget; None where nothing was clipped, or it is unknown."""
        pull = self.clipping
        return None if pull is None or pull.nothing or pull.at is None else pull.at * self.step

    @property
    def clipped_from(self) -> tuple[ClippedEnd, ...]:
        """The values of a column beyond which records counted for less; none where there is no such value."""
        threshold = self.clip_threshold
        return () if self.clipped is None or threshold is None else self.clipped.ends_at(threshold)

    @property
    def excluded_records(self) -> str:
        """The records that the interval excludes, in the user's terms.

        Empty where there are none, or where there is no such value.
        """
        ends = self.clipping.excludes(formatting.TAIL_FACTOR) if self.clipping is not None else None
        if ends is None or self.clipped is None:
            return ""
        return self.clipped.records_beyond(*(end * self.step for end in ends))

    @property
    def value(self) -> int | float:
        """The answer: an int where the truth or its lattice is whole, else the nearest float.

        >>> Release("count", 1042, Fraction(1), (), Fraction(1, 10), "clip").value
        1042
        >>> Release("sum of price", 250, Fraction(1, 100), (), Fraction(1, 10), "clip").value
        2.5
        """
        exact = self.exact
        return round(exact) if self.whole or self.step.denominator == 1 else float(exact)

    def interval(
        self, level: float | Fraction | str = 0.95, *, tail_factor: float | Fraction | str | None = None
    ) -> tuple[float, float]:
        """Return the ends between which the true answer lies with this probability.

        Where records were clipped it covers the noise, the choice of the clipping point and the pull of
        clipping, excluding what records would add that count for more than ``tail_factor`` times what they
        were allowed to (see ``excludes``); no private interval can do without that (proofs/clip.md). An end
        is infinite where the table is so short of budget that nearly all of it may have been clipped. Without
        a ``tail_factor`` it is the one that was selected by the measured tail of the records; or 8 where no
        tail was measured, and an end that lies further away than twice the answer is infinite then.
        ``tail_factor=1`` is the interval of the noise alone. One of your own must be fixed before the answer
        is looked at: of several that were tried, the best-looking one holds less often than it says.

        What other mechanisms drop or clip is outside of what it covers: see ``caveat``. A value that the
        framework chose from a range has no interval: nothing bounds how often such a range holds the truth,
        so both ends are infinite, whatever the probability. The range itself is ``ends``.

        >>> noisy = Release("count", 1042, Fraction(1), (Fraction(100),), Fraction(1, 10), "clip")
        >>> noisy.interval(), noisy.interval() == noisy.interval("0.95")
        ((742, 1342), True)
        >>> noisy.interval(95)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        prdp.errors.InvalidRequest: interval(95) is not a probability: ...
        """
        chance = chance_of(level)
        low, high = (
            self.shown_between(chance)
            if tail_factor is None
            else self.between(chance, tail_factor_of(tail_factor))
        )
        return as_number(low), as_number(high)

    def shown_between(self, chance: Fraction) -> Ends:
        """Return the ends that are shown: one that lies further away than twice the answer is not."""
        return self.horizon.shown(self.exact, self.between(chance, formatting.TAIL_FACTOR))

    @property
    def horizon(self) -> Horizon:
        """Limit of the ends that are shown.

        A sum of both signs may be near zero whatever its values are, so that its size is no measure.
        """
        limits = self.ends if self.parts and self.ends is not None else (-ENDLESS, ENDLESS)
        sides = [
            pull.pulled(formatting.TAIL_FACTOR)
            for pull in self._pulls
            if pull.excludes(formatting.TAIL_FACTOR) and not pull.selects
        ]
        if self.chosen is not None or not sides or any(below and above for below, above in sides):
            return Horizon(limits, below=False, above=False)
        below, above = (True, True) if self.parts else sides[0]
        return Horizon(limits, below, above)

    @property
    def _pulls(self) -> list[Pull]:
        """Clipping and dropping in the answer or in its parts."""
        pulls = (part.clipping for part in self.parts or (self,))
        return [pull for pull in pulls if pull is not None]

    @property
    def left_away(self) -> tuple[float | None, float | None]:
        """The ends that are not shown because they lie too far away; None for those that are."""
        ends = self.between(formatting.LEVEL, formatting.TAIL_FACTOR)
        pairs = zip(ends, self.horizon.shown(self.exact, ends), strict=True)
        low, high = (as_number(end) if end != kept else None for end, kept in pairs)
        return low, high

    def between(self, chance: Fraction, tail_factor: Fraction | None = Fraction(1)) -> Ends:
        """Return the ends of ``interval``, exactly; where there is none, ``ENDLESS`` away."""
        chance = 1 - (1 - chance) / self.among  # any of so many may be selected (proofs/computed.md)
        if self.parts and self.ends is not None:
            return self._computed_between(1 - chance, tail_factor)
        if self.chosen is not None:
            low, high = self.chosen.between(1 - chance)
            return (  # a quantile's may lie beside its answer: widened, it covers no less
                -ENDLESS if low is None else min(low * self.step, self.exact),
                ENDLESS if high is None else max(high * self.step, self.exact),
            )
        if self.ends is not None:
            return -ENDLESS, ENDLESS  # a range that was chosen has no level, so there is no interval
        return self.around(1 - chance, tail_factor).ends(self.steps)

    def _computed_between(self, failure: Fraction, tail_factor: Fraction | None) -> Ends:
        """Return the ends of an answer that was computed from parts: proofs/computed.md."""
        limits = self.ends or (-ENDLESS, ENDLESS)
        laws = quotient_laws([part.law(tail_factor) for part in self.parts], limits)
        if laws is None:
            each = 1 - failure / len(self.parts)  # all parts at once
            ends = [part.between(each, tail_factor) for part in self.parts]
            return combined_interval(self.rule, ends, limits, self.center)
        if self.parts[1].between(1 - failure / len(self.parts))[0] < 1:
            return limits
        totals = [part.exact for part in self.parts]
        return quotient_interval(self.rule, laws, totals, failure, limits=limits, center=self.center)

    def law(self, tail_factor: Fraction | None) -> TotalLaw | None:
        """Return the law of its error as a part of an answer; None where that is not simple."""
        if self.noise not in PUBLIC_NOISE or self.shape is not None or self.chosen is not None or self.ends:
            return None
        signed = self.clipped is None or (self.clipped.below and self.clipped.above)
        return total_law(self.noise_scales, self.step, self.clipping, tail_factor, signed=signed)

    def around(self, failure: Fraction, tail_factor: Fraction | None) -> Around:
        """Return where the ends lie around an answer that noise was added to, whatever its number is."""
        if self.shape is not None:
            far = Fraction(self.shape.spread(1 - failure))
            return Around(ErrorBounds(far, far), self.step)
        found = error_bounds(self.noise_scales, self.noise, self.clipping, failure, tail_factor)
        known = self.clipping is not None and tail_factor != 1 and not self.even
        return Around(found, self.step, self.clipping.sign if self.clipping and known else 0, self.whole)

    @property
    def even(self) -> bool:
        """True if the answer is the middle of its interval, because nothing can be clipped or dropped."""
        if self.ends is not None or self.parts or self.chosen is not None:
            return False
        return self.clipping.nothing if self.clipping is not None else not self.bias

    @property
    def kind(self) -> str:
        """Kind of the interval: ``"95 %"``, the range that was chosen, or that of the noise alone.

        The last is what answers have that were written down before intervals covered what was clipped.
        """
        if self.ends is not None and not self.parts:
            return formatting.RANGE
        noisy_parts = (part for part in self.parts or (self,) if part.chosen is None)
        noise_alone = any(part.bias and part.clipping is None for part in noisy_parts)
        return formatting.NOISE_ALONE if noise_alone else "95 %"

    @property
    def flag(self) -> str:
        """Quality flag: one of ``formatting.FLAGS``; empty where there is none.

        >>> scales = (Fraction(100),)  # the standard error is 153
        >>> [Release("count", n, Fraction(1), scales, Fraction(1, 10), "clip").flag for n in (99, 300, 900)]
        ['unreliable', 'low precision', '']
        """
        if self.insufficient_budget:
            return formatting.INSUFFICIENT_BUDGET
        if self.kind == formatting.RANGE:
            return ""
        limits = self.ends if self.parts else None
        wide = limits is not None and spans_limits(
            self.between(formatting.LEVEL, formatting.TAIL_FACTOR), limits
        )
        if wide or self.perhaps_of_nothing or self.has_impossible_sign:
            return formatting.UNRELIABLE
        if isinstance(self.chosen, Overshoot) and self.std_error is None:
            return ""  # a largest value has one end
        return formatting.precision_flag(self.std_error, float(self.exact))

    @property
    def cv(self) -> float | None:
        """The coefficient of variation; None where there is none, as of a sum below 0 of values that are not.

        The interval of such an answer ends at the answer itself, so that its width says too little.
        """
        return None if self.has_impossible_sign else super(Release, self).cv

    @property
    def sign(self) -> int:
        """The sign that the true value has, unless it is zero; 0 where it is not known."""
        pulled = self.clipping is not None and self.chosen is None and self.ends is None and not self.parts
        return self.clipping.sign if self.clipping is not None and pulled else 0

    @property
    def has_impossible_sign(self) -> bool:
        """True if noise has moved the answer to where the true value cannot be, such as a count below 0."""
        return self.sign * self.exact < 0

    @property
    def perhaps_of_nothing(self) -> bool:
        """True if a mean, a variance or a chosen value may be of no values at all: noise does not tell."""
        failure = (1 - formatting.LEVEL) / self.among
        if self.chosen is not None:
            return self.chosen.between(failure) == (None, None)
        if not self.parts:
            return False
        failure /= len(self.parts)
        return self.parts[1].between(1 - failure)[0] < 1

    @property
    def insufficient_budget(self) -> bool:
        """True if the clipped amount is unknown, of the answer or of a part of it."""
        return any(pull.insufficient_budget for pull in self._pulls)

    @property
    def excludes(self) -> str:
        """Exclusions of the interval, and the number of simultaneous intervals; empty without any."""
        of_nothing = formatting.OF_NOTHING if self.perhaps_of_nothing else ""
        return "; ".join(filter(None, (formatting.simultaneous(self.among), of_nothing, self.excluded_text)))

    @property
    def excluded_text(self) -> str:
        """Exclusions of the interval, in words; empty where there are none."""
        if self.chosen is not None:
            return ""
        if self.parts and self.between(formatting.LEVEL, formatting.TAIL_FACTOR) == self.ends:
            return ""  # all that the bounds allow: nothing is excluded
        return formatting.excludes(self)

    @property
    def excluded_clause(self) -> str:
        """Exclusions of the interval, as a clause in the user's terms where possible."""
        if self.excluded_records:
            return self.excluded_records
        names = [name for name, _ in PARTS.get(self.rule, ())]
        known = [(part.exclusion_of_part, name) for part, name in zip(self.parts, names, strict=True)]
        parts = [(beyond, name) for beyond, name in known if beyond not in ("", formatting.NOTHING_EXCLUDED)]
        if parts:
            (first, name), *others = parts
            more = "".join(f", {beyond} from the {other}" for beyond, other in others)
            return f"{first} from the {name}{more}"
        if any(beyond for beyond, _ in known):
            return formatting.NOTHING_EXCLUDED
        return self._far_excluded

    @property
    def _far_excluded(self) -> str:
        """Exclusions in multiples of the clipping threshold, or by budgets of a key; empty for none."""
        for pull in self._pulls:
            ends = pull.excludes(formatting.TAIL_FACTOR)
            if ends is not None and pull.at and self.method == "distinct":
                return formatting.keys_excluded(float(1 / (max(ends) * self.step)))
            if ends is not None and pull.at:
                return formatting.far_excluded(float(max(ends) / pull.at))
        return ""

    @property
    def stated_exclusion(self) -> str:
        """The same where its condition says it; of means, one of which may represent many, whatever it is."""
        clause = self.excluded_clause if self.excluded_text or self.rule == "mean" else ""
        return "" if clause == formatting.NOTHING_EXCLUDED else clause

    @property
    def exclusion_of_part(self) -> str:
        """Records whose contribution to a computed answer the interval of this part excludes."""
        return self.excluded_records or self._far_excluded

    def selected(self, among: int) -> Release:
        """Return the answer as one of so many that rows were selected from, or sorted, by what they are."""
        return self if among <= self.among else replace(self, among=among)

    def moved(self, times: object, plus: object) -> MovedRelease:
        """Return the answer times one number plus another; the ends of its interval move along."""
        return MovedRelease(self).moved(times, plus)


@dataclass(frozen=True, slots=True, repr=False)
class MovedRelease(NumberLike):
    """A release, times a public number, plus another; its interval has moved along.

    >>> people = Release("count", 1042, Fraction(1), (Fraction(100),), Fraction(1, 10), "clip")
    >>> print(people / 1000)
    count / 1000: 1.042 ± 0.300 (95 %; share 1/10, clip)
    >>> (2 * people - 84).value, (2 * people - 84).interval()
    (2000, (1400, 2600))

    Attributes:
        release: What was released.
        times: What it is multiplied by.
        plus: What is added then.
    """

    release: Release
    times: Fraction = Fraction(1)
    plus: Fraction = Fraction(0)

    @property
    def exact(self) -> Fraction:
        """The answer as an exact fraction."""
        return self.release.exact * self.times + self.plus

    @property
    def value(self) -> int | float:
        """The answer, as an int where it is whole."""
        return int(self.exact) if self.exact.denominator == 1 else float(self.exact)

    @property
    def whole(self) -> bool:
        """True if the truth is a whole number."""
        return self.release.whole and self.times.denominator == 1 == self.plus.denominator

    def interval(
        self, level: float | Fraction | str = 0.95, *, tail_factor: float | Fraction | str | None = None
    ) -> tuple[float, float]:
        """Return the release's interval, moved along."""
        ends = [self._moved(end) for end in self.release.interval(level, tail_factor=tail_factor)]
        return min(ends), max(ends)

    def _moved(self, end: float) -> float:
        if math.isinf(end):
            return end if self.times > 0 else -end
        moved = Fraction(end) * self.times + self.plus
        return int(moved) if moved.denominator == 1 else float(moved)

    def moved(self, times: object, plus: object) -> MovedRelease:
        """Return the answer times one number plus another."""
        by, more = plain_fraction(times), plain_fraction(plus)
        return MovedRelease(self.release, self.times * by, self.plus * by + more)

    @property
    def question(self) -> str:
        """Query in words, with the arithmetic applied to it."""
        return self.release.question + _arithmetic(self.times, self.plus)

    @property
    def share(self) -> Fraction:
        """The part of every record's budget that it used."""
        return self.release.share

    @property
    def method(self) -> str:
        """Mechanism that answered."""
        return self.release.method

    @property
    def caveat(self) -> str:
        """Causes besides noise that may have moved the release, and the direction in which they move this."""
        return "" if self._bias is None else str(self._bias)

    @property
    def general_caveat(self) -> str:
        """The same without the numbers in which rows of a table differ."""
        return "" if self._bias is None else str(self._bias.in_general)

    @property
    def _bias(self) -> Caveat | None:
        bias = self.release.bias
        return None if bias is None else bias.moved(self.release.clipping, (self.times, self.plus))

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """Choices of the mechanism."""
        return self.release.choices

    @property
    def simulated(self) -> bool:
        """True for a simulation without privacy."""
        return self.release.simulated

    @property
    def even(self) -> bool:
        """True if the answer is the middle of its interval, because nothing can be clipped or dropped."""
        return self.release.even

    @property
    def kind(self) -> str:
        """Kind of the interval."""
        return self.release.kind

    @property
    def flag(self) -> str:
        """Quality flag of the release."""
        return self.release.flag

    @property
    def excludes(self) -> str:
        """Exclusions of the interval."""
        moved = "; ".join(filter(None, (formatting.simultaneous(self.among), formatting.excludes(self))))
        return moved if formatting.excludes(self) else self.release.excludes

    @property
    def among(self) -> int:
        """Number of answers from which the release was selected by value."""
        return self.release.among

    @property
    def excluded_clause(self) -> str:
        """Exclusions of the interval, as a clause."""
        return self.release.excluded_clause

    @property
    def left_out(self) -> str:
        """Excluded records."""
        return self.release.left_out

    @property
    def left_away(self) -> tuple[float | None, float | None]:
        """The ends that are not shown because they lie too far away; None for those that are."""
        low, high = (None if end is None else self._moved(end) for end in self.release.left_away)
        return (low, high) if self.times > 0 else (high, low)


def chance_of(level: float | Fraction | str) -> Fraction:
    """Return the probability that a caller asks an interval for, or refuse what is none."""
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


def tail_factor_of(tail_factor: float | Fraction | str) -> Fraction:
    """Return how far beyond its cap a clipped record may count, or refuse what says nothing of it."""
    most = _read(tail_factor)
    if most is None or most < 1:
        raise InvalidRequest(
            f"interval(tail_factor={_quoted(tail_factor)}) says how many times its cap a record may count "
            "for: give 1 or more, up to 1e400."
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


def _arithmetic(times: Fraction, plus: Fraction) -> str:
    by = ""
    if times.numerator == 1 and times != 1:
        by = f" / {times.denominator}"
    elif times != 1:
        by = f" * {_shown(times)}"
    return by + (f" {'+' if plus > 0 else '-'} {_shown(abs(plus))}" if plus else "")


def _shown(number: Fraction) -> str:
    return str(number) if number.denominator == 1 else f"{float(number):g}"
