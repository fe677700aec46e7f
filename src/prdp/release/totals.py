"""Totals of released answers that were drawn apart, such as the counts of a table's groups."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from prdp.noise.spread import weighted_spread
from prdp.release import formatting
from prdp.release.interval import ENDLESS, PUBLIC_NOISE, Ends, Horizon, Pull, noise_spread
from prdp.release.release import Release

_FEW = 40
"""So many noises are added up exactly."""


@dataclass(frozen=True, slots=True, repr=False)
class Total(Release):
    """A sum of answers to one query for different groups, whose noises are independent of each other.

    Where nothing but noise can have moved any of them, the interval is that of the noises' sum. Else each
    answer lies in its own interval except with an equal part of the failure, and the ends add up. Which of
    the two it is was drawn, so that the failures are split between them by public facts (proofs/computed.md).

    Attributes:
        terms: What is added up.
    """

    internals: ClassVar = Release.internals | {"terms"}

    terms: tuple[Release, ...] = ()

    @property
    def even(self) -> bool:
        """True if nothing but noise can have moved any of the answers."""
        return all(term.even for term in self.terms)

    @property
    def kind(self) -> str:
        """Kind of the interval: the weakest of the terms' kinds."""
        kinds = {term.kind for term in self.terms}
        return next((kind for kind in (formatting.NOISE_ALONE, formatting.RANGE) if kind in kinds), "95 %")

    @property
    def insufficient_budget(self) -> bool:
        """True if the clipped amount of a term is unknown."""
        return any(term.insufficient_budget for term in self.terms)

    @property
    def perhaps_of_nothing(self) -> bool:
        """True if a term may be of no values at all."""
        return any(term.perhaps_of_nothing for term in self.terms)

    @property
    def _pulls(self) -> list[Pull]:
        return [term.clipping for term in self.terms if term.clipping is not None]

    @property
    def horizon(self) -> Horizon:
        """Limit of the ends that are shown: as of one answer, where the clipping has one direction."""
        pulls = [pull for pull in self._pulls if pull.excludes(formatting.TAIL_FACTOR) and not pull.selects]
        sides = [pull.pulled(formatting.TAIL_FACTOR) for pull in pulls]
        below, above = any(below for below, _ in sides), any(above for _, above in sides)
        one_sided = below != above
        return Horizon((-ENDLESS, ENDLESS), below=one_sided and below, above=one_sided and above)

    @property
    def _is_of_noise(self) -> bool:
        """True if all that can have moved any term is Laplace noise of its own."""
        return all(term.even and term.noise in PUBLIC_NOISE and term.shape is None for term in self.terms)

    @property
    def _parts(self) -> tuple[Fraction, Fraction]:
        """Return what of the failures is for the noises' sum, and what for the answers' own intervals.

        Noise that was drawn after all points fails alike wherever they are, so that what it has of the
        answers' own failures is its own here; noise that was seen before is not, and both have a part.
        """
        alone = min((pull.noise_part for pull in self._pulls), default=Fraction(1))
        seen = any(pull.noise_seen for pull in self._pulls)
        return alone, 1 - alone if seen else Fraction(1)

    def _noise_spread(self, failure: Fraction) -> Fraction:
        """Return how far the noises' sum deviates, in steps; many are bounded together."""
        if len(self.noise_scales) <= _FEW:
            return Fraction(noise_spread(tuple(sorted(self.noise_scales)), failure))
        each = Counter(self.noise_scales)
        parts = tuple((count, Fraction(1), scale) for scale, count in sorted(each.items()))
        return Fraction(math.ceil(weighted_spread(parts, failure)))

    def between(self, chance: Fraction, tail_factor: Fraction | None = Fraction(1)) -> Ends:
        """Return the ends of ``interval``, exactly; where there is none, ``ENDLESS`` away."""
        alone, added = self._parts
        if self._is_of_noise:
            far = self._noise_spread(alone * (1 - chance) / self.among) * self.step
            return self.exact - far, self.exact + far
        each = 1 - added * (1 - chance) / len(self.terms)
        ends = [term.between(each, tail_factor) for term in self.terms]
        low, high = (sum(side, Fraction(0)) for side in zip(*ends, strict=True))
        return (
            -ENDLESS if any(end[0] <= -ENDLESS for end in ends) else low,
            ENDLESS if any(end[1] >= ENDLESS for end in ends) else high,
        )


def total_of(terms: Sequence[Release]) -> Release:
    """Return the sum of answers to one query for different groups.

    >>> facts = Fraction(1), (Fraction(2),), Fraction(1, 10), "clip"
    >>> men, women = Release("count", 400, *facts), Release("count", 600, *facts)
    >>> both = total_of([men, women])
    >>> both.value, men.interval(), both.interval()  # narrower than twice as wide
    (1000, (394, 406), (992, 1008))
    """
    first = terms[0]
    if len(terms) == 1:
        return first
    step = Fraction(
        math.gcd(*(term.step.numerator for term in terms)),
        math.lcm(*(term.step.denominator for term in terms)),
    )
    scales = [
        scale if term.step == step else scale * (term.step / step)
        for term in terms
        for scale in term.noise_scales
    ]
    biased = next((term.bias for term in terms if term.bias is not None), None)
    return Total(
        question=f"total of {first.question.partition(' for ')[0]}",
        steps=sum(int(term.exact / step) for term in terms),
        step=step,
        noise_scales=tuple(scales),
        share=first.share,
        method=first.method,
        bias=None if biased is None else biased.in_general,
        simulated=first.simulated,
        noise=first.noise,
        whole=all(term.whole for term in terms),
        left_out=first.left_out,
        among=max(term.among for term in terms),
        recorded_at=first.recorded_at,
        terms=tuple(terms),
    )
