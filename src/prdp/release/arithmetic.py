"""Arithmetic between answers: sums, differences and ratios, with a sound interval. Pure post-processing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from prdp.errors import InvalidRequest
from prdp.release import formatting
from prdp.release.derived import NumberLike, plain_fraction
from prdp.release.interval import ENDLESS, Ends, as_number
from prdp.release.release import MovedRelease, Release, chance_of, tail_factor_of


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ComputedRelease(NumberLike):
    """A number computed from answers that were released; it charges nothing.

    Its interval holds all answers at once: with n of them, each lies in its own interval except with
    probability 1/n of the allowed failure, and exact interval arithmetic does the rest (proofs/computed.md).

    >>> terms = (Fraction(1), (Fraction(9),), Fraction(1, 10), "clip")
    >>> men, women = Release("count", 400, *terms), Release("count", 600, *terms)
    >>> print(women - men)
    count - count: 200, from 134 to 266 (95 %; no cost, computed)
    >>> (women + men - men).exact, ratio(women, men).value
    (Fraction(600, 1), 1.5)

    Attributes:
        question: What was asked, and what was done to it.
        terms: Answers and ratios, each with what it is multiplied by.
        plus: What is added to them.
    """

    question: str
    terms: tuple[tuple[Answer | _Ratio, Fraction], ...]
    plus: Fraction = Fraction(0)

    @property
    def exact(self) -> Fraction:
        """The answer as an exact fraction."""
        return sum((term.exact * times for term, times in self.terms), self.plus)

    @property
    def value(self) -> int | float:
        """The answer, as an int where the truth is whole."""
        return formatting.value_of(self)

    @property
    def whole(self) -> bool:
        """True if the truth is a whole number."""
        whole = all(getattr(term, "whole", False) and times.denominator == 1 for term, times in self.terms)
        return whole and self.plus.denominator == 1

    @property
    def parts(self) -> tuple[Answer, ...]:
        """The answers that it is computed from, each once."""
        return tuple({id(part): part for term, _ in self.terms for part in _answers(term)}.values())

    def interval(
        self, level: float | Fraction | str = 0.95, *, tail_factor: float | Fraction | str | None = None
    ) -> tuple[float, float]:
        """Return the ends between which the true value lies with this probability, as those of a release."""
        low, high = self.between(
            chance_of(level), None if tail_factor is None else tail_factor_of(tail_factor)
        )
        return as_number(low), as_number(high)

    def between(self, chance: Fraction, tail_factor: Fraction | None = None) -> Ends:
        """Return the ends of ``interval``, exactly; where there is none, ``ENDLESS`` away."""
        each = 1 - (1 - chance) / max(1, len(self.parts))  # all parts at once
        return self.ends({id(part): _ends_of(part, each, tail_factor) for part in self.parts})

    def ends(self, of: dict[int, Ends]) -> Ends:
        """Return ends that contain the value whenever every answer lies between its own."""
        low = high = self.plus
        for term, times in self.terms:
            least, most = of[id(term)] if not isinstance(term, _Ratio) else term.ends(of)
            least, most = (least, most) if times > 0 else (most, least)
            low, high = low + _times(least, times), high + _times(most, times)
            low, high = _end(low), _end(high)
        return low, high

    def moved(self, times: object, plus: object) -> ComputedRelease:  # type: ignore[override]
        """Return the answer times one number plus another."""
        by, more = plain_fraction(times), plain_fraction(plus)
        terms = tuple((term, factor * by) for term, factor in self.terms if factor * by)
        question = MovedRelease(_named(self.question), by, more).question
        return ComputedRelease(question, terms, self.plus * by + more)

    @property
    def share(self) -> Fraction:
        """Nothing: the shares of its parts were charged when they were released."""
        return Fraction(0)

    @property
    def method(self) -> str:
        """That it is computed."""
        return "computed"

    @property
    def caveat(self) -> str:
        """Causes besides noise that may have moved its parts."""
        return "; ".join(dict.fromkeys(part.caveat for part in self.parts if part.caveat))

    @property
    def general_caveat(self) -> str:
        """The same without the numbers in which rows of a table differ."""
        return "; ".join(dict.fromkeys(part.general_caveat for part in self.parts if part.caveat))

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """Nothing: what was chosen is found with the parts."""
        return ()

    @property
    def simulated(self) -> bool:
        """True for a simulation without privacy."""
        return any(part.simulated for part in self.parts)

    @property
    def even(self) -> bool:
        """Never: the answer need not be the middle of its interval."""
        return False

    @property
    def kind(self) -> str:
        """Kind of the interval."""
        kinds = {part.kind for part in self.parts}
        return formatting.NOISE_ALONE if formatting.NOISE_ALONE in kinds else "95 %"

    @property
    def flag(self) -> str:
        """Quality flag: that of its own coefficient of variation, or of a part that says nothing."""
        flags = {part.flag for part in self.parts}
        if formatting.INSUFFICIENT_BUDGET in flags:
            return formatting.INSUFFICIENT_BUDGET
        return formatting.precision_flag(self.std_error, float(self.exact))

    @property
    def excludes(self) -> str:
        """Exclusions of the interval, and the number of intervals that hold at once."""
        chosen = (part.excludes for part in self.parts if getattr(part, "chosen", None) is not None)
        stated = (formatting.simultaneous(self.among), *dict.fromkeys(chosen), formatting.excludes(self))
        return "; ".join(filter(None, stated))

    @property
    def excluded_clause(self) -> str:
        """Exclusions of the parts' intervals, as a clause."""
        noisy = (part for part in self.parts if getattr(part, "chosen", None) is None)
        return " and ".join(
            dict.fromkeys(part.excluded_clause for part in noisy if part.excludes and part.excluded_clause)
        )

    @property
    def among(self) -> int:
        """Number of answers from which its parts were selected by value."""
        return max((part.among for part in self.parts), default=1)

    @property
    def left_out(self) -> str:
        """Records that its parts exclude."""
        return "; ".join(formatting.notes_of(*(part.left_out for part in self.parts)))

    @property
    def left_away(self) -> tuple[float | None, float | None]:
        """The ends that are not shown because one of a part lies too far away; None for those that are."""
        far = self.between(formatting.LEVEL, formatting.TAIL_FACTOR)
        pairs = zip(map(as_number, far), self.interval(formatting.LEVEL), strict=True)
        low, high = (end if math.isfinite(end) and math.isinf(kept) else None for end, kept in pairs)
        return low, high


Answer = formatting.Published
"""A released answer, or one of SQL that is computed from such."""


@dataclass(frozen=True, slots=True, eq=False)
class _Ratio:
    """The quotient of two computed numbers."""

    above: ComputedRelease
    below: ComputedRelease

    @property
    def exact(self) -> Fraction:
        return self.above.exact / self.below.exact

    def ends(self, of: dict[int, Ends]) -> Ends:
        """Return ends of the quotient; there are none where the divisor may be 0."""
        least, most = self.below.ends(of)
        if least <= 0 <= most:
            return -ENDLESS, ENDLESS
        corners = [_divided(end, by) for end in self.above.ends(of) for by in (least, most)]
        return min(corners), max(corners)


def added(left: object, right: object, sign: int) -> ComputedRelease:
    """Return the sum of two answers, or their difference; what occurs in both is one unknown number."""
    one, other = _linear(left), _linear(right)
    found = {id(term): [term, times] for term, times in one.terms}
    for term, times in other.terms:
        entry = found.setdefault(id(term), [term, Fraction(0)])
        entry[1] += times * sign  # type: ignore[operator]
    terms = tuple((term, times) for term, times in found.values() if times)
    question = f"{one.question} {'+' if sign > 0 else '-'} {_bracketed(other.question, sign)}"
    return ComputedRelease(question, terms, one.plus + sign * other.plus)  # type: ignore[arg-type]


def ratio(numerator: object, denominator: object) -> ComputedRelease:
    """Return the quotient of two answers, or of an answer and a number; it charges nothing.

    Its interval has no ends where the denominator's interval holds 0.

    >>> some, all_of_them = (
    ...     Release("count", n, Fraction(1), (Fraction(2),), Fraction(1, 10), "clip") for n in (300, 1000)
    ... )
    >>> print(ratio(some, all_of_them))
    count / count: 0.3000, from 0.2909 to 0.3092 (95 %; no cost, computed)
    """
    above, below = _linear(numerator), _linear(denominator)
    if not below.exact:
        raise ZeroDivisionError(f"{below.question} was released as 0, by which nothing can be divided.")
    question = f"{_bracketed(above.question)} / {_bracketed(below.question, -1)}"
    return ComputedRelease(question, ((_Ratio(above, below), Fraction(1)),))


def _linear(answer: object) -> ComputedRelease:
    """Return an answer or a number as a sum of terms."""
    match answer:
        case ComputedRelease():
            return answer
        case MovedRelease():
            terms = ((answer.release, answer.times),) if answer.times else ()
            return ComputedRelease(answer.question, terms, answer.plus)
        case NumberLike():
            known = cast("Answer", answer)
            return ComputedRelease(known.question, ((known, Fraction(1)),))
        case _ if hasattr(answer, "__float__") or isinstance(answer, Fraction):
            return ComputedRelease(str(answer), (), plain_fraction(answer))
        case _:
            raise InvalidRequest(f"{answer!r} is neither an answer nor a number.")


def _named(question: str) -> Release:
    """Return a release that lends its question, of several answers in brackets, to a description."""
    return Release(_bracketed(question), 0, Fraction(1), (), Fraction(0), "computed")


def _bracketed(question: str, sign: int = -1) -> str:
    """Return a description in brackets where it would be read otherwise without them."""
    joined = any(f" {op} " in question for op in "+-/*")
    return f"({question})" if joined and sign < 0 else question


def _answers(term: Answer | _Ratio) -> Iterator[Answer]:
    if isinstance(term, _Ratio):
        yield from term.above.parts
        yield from term.below.parts
    else:
        yield term


def _ends_of(answer: Answer, chance: Fraction, tail_factor: Fraction | None) -> Ends:
    """Return between which ends an answer lies with this probability; those shown without a reach."""
    if isinstance(answer, Release):
        return answer.shown_between(chance) if tail_factor is None else answer.between(chance, tail_factor)
    low, high = answer.interval(chance, **({} if tail_factor is None else {"tail_factor": tail_factor}))
    return _exact_end(low), _exact_end(high)


def _exact_end(end: float) -> Fraction:
    return Fraction(end) if math.isfinite(end) else ENDLESS if end > 0 else -ENDLESS


def _end(end: Fraction) -> Fraction:
    """Return an end; one that is half as far as none is none."""
    return end if abs(end) < ENDLESS / 2 else ENDLESS if end > 0 else -ENDLESS


def _times(end: Fraction, times: Fraction) -> Fraction:
    """Return an end times a number; none stays none."""
    return end * times if abs(end) < ENDLESS / 2 else ENDLESS if (end > 0) == (times > 0) else -ENDLESS


def _divided(end: Fraction, by: Fraction) -> Fraction:
    """Return one end by another; of two that are none, 0 is a corner too, and others are larger."""
    if abs(by) >= ENDLESS / 2:
        return Fraction(0)
    return _times(end, 1 / by)
