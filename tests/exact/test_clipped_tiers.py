"""clipped_tiers on every small table: no output's log-ratio passes share · E(r)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import pytest

from prdp.cells.summary import Ratios, Summary
from prdp.mechanisms._threshold import PointFinder, RecordCandidates, Tuning, noisy_total
from prdp.mechanisms.clipped_tiers import ClippedTiers
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Gated, Law, Noisy, Then, Together
from prdp.testing.mechanism_contract import Twin
from tests.exact.test_clip import quieter
from tests.exact.universe import (
    LEVELS,
    ODD,
    RECORDS,
    OnThisUniverse,
    Record,
    summary_of,
    with_budgets_raised,
)

BITS = 2
GATE, CHOICE, ANSWER = Fraction(10, 100), Fraction(36, 100), Fraction(54, 100)
TUNING = Tuning(CHOICE, ANSWER, fall=Fraction(1, 2), stride=2)
TUNINGS = ((0, TUNING), (None, replace(TUNING, fall=Fraction(1, 5))))
TIERS = ClippedTiers(PointFinder(GATE, TUNINGS, gate_bits=10))
COARSE = ClippedTiers(PointFinder(GATE, TUNINGS, gate_bits=6))
"""On a coarser lattice different tables draw the same more often: answers that tell more are seen."""
ENDS = ((2, 5), (20, 30), (120, 125))
SPANS = tuple((low * LEVELS.quantum, high * LEVELS.quantum) for low, high in ENDS)
"""Two wide spans and a narrow one; values of 12 with budgets of 3 and 0.2 are in the first and the last."""


def law(summary: Summary, share: Fraction) -> Together:
    return TIERS.law(summary, share)


def quiet(summary: Summary, share: Fraction) -> Together:
    """Draw with all noise 15 % too small."""
    *wide, narrow = law(summary, share).laws
    assert isinstance(narrow, Noisy)
    noises = tuple(DiscreteLaplace(noise.scale * Fraction(85, 100)) for noise in narrow.noises)
    return Together((*(quieter(one) for one in wide if isinstance(one, Gated)), Noisy(narrow.values, noises)))


@dataclass(frozen=True, slots=True)
class InBoth(ClippedTiers):
    """Lets a record that its tier clips count in the tier above as well: it pays twice."""

    def parts(self, summary: Summary) -> list[Summary]:
        first, *others = super(InBoth, self).parts(summary)
        return [first, *(replace(part, cells=summary.cells) for part in others)]


@dataclass(frozen=True, slots=True)
class FirstSeen(ClippedTiers):
    """Leaves tiers away in which there is nobody."""

    def law(self, summary: Summary, share: Fraction) -> Together:
        laws = zip(self.parts(summary), super(FirstSeen, self).law(summary, share).laws, strict=True)
        return Together(tuple(one for part, one in laws if len(part.cells.high)))


@dataclass(frozen=True, slots=True)
class Unclipped(ClippedTiers):
    """Chooses the noise for a clipping point, and then does not clip."""

    def tier(self, part: Summary, share: Fraction) -> Gated | Noisy:
        def unclipped(tuning: Tuning, place: int) -> Noisy:
            total = sum(cell.total for cell in part.cells)
            return Noisy((total,), noisy_total(part, share, tuning, place).noises)

        right = super(Unclipped, self).tier(part, share)
        return (
            right if isinstance(right, Noisy) else self.finder.law(RecordCandidates(part), share, unclipped)
        )


def showing_the_heaviest(summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> Iterable[object]:
    """Keep tiers by their exact totals."""
    totals = [abs(sum(cell.total for cell in part.cells)) for part in COARSE.parts(summary)]
    step = Fraction(1, 1 << BITS)
    return [
        replace(answer, noises=answer.noises[: totals.index(max(totals)) + 1])
        for answer in COARSE.answers(summary, share, entropy, runs, step)
    ]


def of_tier(tier: int, step: Callable[[Any], Law]) -> Callable[[Any], Law]:
    """Return from a law to a step of one tier's."""
    return lambda whole: step(whole.laws[tier])


class TestSum(OnThisUniverse):
    """Records beyond all spans, of either sign and beyond their bounds among them."""

    records = (*RECORDS, ODD[-1])
    tied_at = Fraction(40)
    runs = 160
    loose: ClassVar[Mapping[str, str]] = {"a narrow tier": "its noise is for the largest ratio of its span"}
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "whole": (lambda law: law, Fraction(1)),
        "a tier's gate": (of_tier(0, lambda law: law.first), GATE),
        "a tier's choice": (of_tier(0, lambda law: law.laws[0].first), CHOICE),
        "the next tier's choice": (of_tier(1, lambda law: law.laws[1].first), CHOICE),
        "a tier's answer": (of_tier(1, lambda law: law.laws[0].then(1)), ANSWER),
        "a narrow tier": (of_tier(2, lambda law: law), Fraction(1)),
    }

    def law(self, summary: Summary, share: Fraction) -> Together:
        return law(summary, share)

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> Iterable[object]:
        return TIERS.answers(summary, share, entropy, runs, Fraction(1, 1 << BITS))

    def summarise(self, records: Sequence[Record]) -> Summary:
        return replace(summary_of(records), ratios=Ratios(SPANS, None)).refined(BITS)

    def twins(self) -> Mapping[str, Twin]:
        raised = lambda summary, share: law(  # noqa: E731
            replace(with_budgets_raised(summary, 4), ratios=summary.ratios), share
        )
        return {
            "noise 15 % too small": Twin(quiet),
            "a choice 15 % too sharp": Twin(quiet, part="a tier's choice"),
            "counted in two tiers": Twin(InBoth(TIERS.finder).law),
            "empty tiers left away": Twin(FirstSeen(TIERS.finder).law),
            "not clipped": Twin(Unclipped(TIERS.finder).law),
            "levels rounded up": Twin(raised),
        }


@pytest.mark.slow
class TestCoarseGate(TestSum):
    variant_of = TestSum
    runs = 400  # its twin of answers is caught with so many, and not with 160

    def law(self, summary: Summary, share: Fraction) -> Together:
        return COARSE.law(summary, share)

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> Iterable[object]:
        return COARSE.answers(summary, share, entropy, runs, Fraction(1, 1 << BITS))

    def twins(self) -> Mapping[str, Twin]:
        return {"kept by exact totals": Twin(answers=showing_the_heaviest)}


def test_every_record_is_in_one_tier_and_by_itself_in_the_same() -> None:
    universe = TestSum()
    whole = TIERS.parts(universe.summarise(universe.records))
    for place, part in enumerate(whole):
        alone = [TIERS.parts(universe.summarise([record]))[place] for record in universe.records]
        assert sum(one.records for one in alone) == part.records
    assert sum(part.records for part in whole) == universe.summarise(universe.records).records
    assert min(part.records for part in whole) > 0


@pytest.mark.parametrize("spans", [0, 1, 9])
def test_one_span_or_too_many_are_not_tiers(spans: int) -> None:
    summary = TestSum().summarise(RECORDS)
    ratios = tuple((Fraction(64**place), Fraction(2 * 64**place)) for place in range(spans))
    found = replace(summary, ratios=Ratios(ratios, None) if spans else None)
    assert ClippedTiers.of(found, Fraction(1)) is None


def test_a_tiers_answer_follows_its_own_choice_alone() -> None:
    laws = law(TestSum().summarise(RECORDS), Fraction(1)).laws
    assert [type(one) for one in laws] == [Gated, Gated, Noisy]
    gated = laws[0]
    assert isinstance(gated, Gated)
    assert all(isinstance(gated.laws[which], Then) for which in range(len(gated.laws)))
