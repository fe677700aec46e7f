"""Concentrated privacy on every small table: each node of a law, by a criterion that holds for all orders."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from itertools import pairwise
from math import isqrt
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prdp.cells.summary import Ratios, Summary
from prdp.cells.units import UnitGroups
from prdp.concentrated import epsilon_at, pure_share, root_below
from prdp.levels import Levels
from prdp.mechanisms._threshold import Fence, RecordCandidates, Tuning
from prdp.mechanisms.clip import Clip
from prdp.mechanisms.rank import Rank
from prdp.mechanisms.tiers import Tiers
from prdp.mechanisms.warm_rank import WarmRank
from prdp.noise.choice import ExponentialChoice
from prdp.noise.discrete_gaussian import DiscreteGaussian
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Gated, Law, Noisy, Then, Together
from prdp.noise.permute_and_flip import PermuteAndFlip
from prdp.policy import Policy
from prdp.testing.exact_concentrated import ORDERS, concentrated_loss, renyi
from prdp.testing.exact_loss import TOLERANCE, largest_log_ratio
from prdp.testing.mechanism_contract import Twin
from tests.exact import test_joint, test_rank, test_warm_rank
from tests.exact.test_choice import HALF, LARGEST, steps_near
from tests.exact.test_clip import FINDER, OffLattice, Unclipped
from tests.exact.test_joint import COARSE as COARSE_JOINT
from tests.exact.test_rank import (
    CHOICE,
    FULL,
    LIGHT,
    MEDIAN,
    ONE_SIDED,
    SIDES,
    Sharper,
    measured_at,
    ranges_at,
    sides_at,
)
from tests.exact.units_universe import UNITS, in_groups, unit
from tests.exact.universe import RECORDS, OnThisUniverse, Record, summary_of, with_budgets_raised

GAUSSIAN = FINDER.with_gaussian()
COARSE = Clip(GAUSSIAN, finest_bits=0, gaussian=True)
GATE_PART, CHOICE_PART, TOTAL_PART = (
    GAUSSIAN.gate,
    GAUSSIAN.tunings[0][1].choice,
    GAUSSIAN.tunings[0][1].answer,
)
FENCE = Fence(below=4, mass=2, times=1)


@dataclass(frozen=True, slots=True)
class UnpaidFence(Tuning):
    """Takes the whole part for choosing for what is clipped, and what lacks for nothing."""

    @property
    def seen(self) -> Fraction:
        return 2 * self.choice


@dataclass(frozen=True, slots=True)
class RootedFence(Tuning):
    """Takes the root of what is lacking for it, as of a part of the share."""

    @property
    def seen(self) -> Fraction:
        assert self.fence is not None
        return 2 * self.choice * root_below(1 / (1 + Fraction(self.fence.max_decrease)))


def fenced(tuning: type[Tuning]) -> Clip:
    """Return a mechanism that chooses its point with a fence."""
    one = GAUSSIAN.tunings[0][1]
    made = tuning(one.choice, one.answer, one.fall, one.stride, FENCE, gaussian=True)
    return Clip(replace(GAUSSIAN, tunings=((None, made),)), finest_bits=0, gaussian=True)


def with_squares(summary: Summary) -> Summary:
    """Return cells whose budgets are P = e² / 2 where the mechanism takes them for e."""
    quantum = summary.levels.quantum
    cells = (
        replace(cell, key=cell.key._replace(quanta=int((cell.key.quanta * quantum) ** 2 / 2 / quantum) or 1))
        for cell in summary.cells
    )
    return Summary.of(summary.levels, summary.smallest, summary.largest, cells)


class Concentrated(OnThisUniverse):
    """Of a share, and of a part of one, its square is what is used of P(r) = e² / 2."""

    compared = staticmethod(concentrated_loss)
    caught_by = 1e-4  # losses are squares: those of small budgets are small

    def promised(self, budget: float, share: float) -> float:
        return (share * budget) ** 2 / 2


def flipped(law: Any) -> PermuteAndFlip:
    """Return a choice drawn by coins, whose log-ratios are in no interval of that width."""
    return PermuteAndFlip(law.penalties, law.unit)


def sharper(law: Any) -> ExponentialChoice:
    """Return a choice whose log-ratios are wider by 1 / 0.85."""
    return ExponentialChoice(law.penalties, law.unit / Fraction(85, 100))


def with_choice(changed: Callable[[Any], Any]) -> Callable[[Summary, Fraction], Law]:
    """Return the law of totals whose points are drawn in another way."""

    def law(summary: Summary, share: Fraction) -> Gated:
        right = COARSE.law(summary, share)
        laws: Any = right.laws
        return replace(right, laws=tuple(replace(each, first=changed(each.first)) for each in laws))

    return law


class TestConcentratedSum(Concentrated):
    """A sum with Gaussian noise: the squares of the parts make 1."""

    mechanism = COARSE
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "whole": (lambda law: law, Fraction(1)),
        "gate": (lambda law: law.first, GATE_PART),
        "choice": (lambda law: law.laws[0].first, CHOICE_PART),
        "total, much clipped": (lambda law: law.laws[0].then(3), TOTAL_PART),
        "total, little clipped": (lambda law: law.laws[0].then(10), TOTAL_PART),
    }

    def summarise(self, records: Sequence[Record]) -> Summary:
        return summary_of(records).refined(4)

    def twins(self) -> Mapping[str, Twin]:
        return {
            "contributions off the lattice": Twin(off_lattice, "total, much clipped"),
            "not clipped": Twin(Unclipped(GAUSSIAN, gaussian=True).law, "total, much clipped"),
            "budgets P in place of e": Twin(
                lambda summary, share: COARSE.law(with_squares(summary), share), "total, much clipped"
            ),
            "masses of P in place of e": Twin(
                lambda summary, share: COARSE.law(with_squares(summary), share), "gate"
            ),
            "levels rounded up": Twin(
                lambda summary, share: COARSE.law(with_budgets_raised(summary, 2), share),
                "total, much clipped",
            ),
            "the noise of a smaller variance": Twin(too_small, "total, much clipped"),
            "a choice 15 % too sharp": Twin(with_choice(sharper), "choice"),
            "a choice by coins, as sharp": Twin(with_choice(flipped), "choice"),
        }


LARGER = replace(LARGEST, concentrated=True)


def wider(factor: Fraction) -> Callable[[Summary, Fraction], Law]:
    """Return the law of a maximum whose log-ratios are so many times as wide."""
    return lambda summary, share: LARGER.law(summary, share * factor)


ROOT_OF_HALF = root_below(HALF)


class TestConcentratedMax(Concentrated):
    """Two exponential choices: each loses an eighth of a squared width, and squares of parts make 1."""

    mechanism = LARGER
    runs, edge_stride = 40, 8
    shares = (Fraction(1),)
    crowded = ("step further in",)
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "eighth": (lambda law: law.first, ROOT_OF_HALF),
        "step": (lambda law: steps_near(law, -1), ROOT_OF_HALF),
        "step further in": (lambda law: steps_near(law, 20), ROOT_OF_HALF),
    }

    def twins(self) -> Mapping[str, Twin]:
        return {
            "eighth 15 % too sharp": Twin(wider(Fraction(100, 85)), "eighth"),
            "step 15 % too sharp": Twin(wider(Fraction(100, 85)), "step"),
            "drawn by coins": Twin(
                lambda summary, share: replace(
                    LARGER.law(summary, share), first=flipped(LARGER.law(summary, share).first)
                ),
                "eighth",
            ),
            "levels rounded up": Twin(
                lambda summary, share: LARGER.law(with_budgets_raised(summary, 3), share), "eighth"
            ),
        }


def ranked(kind: type[Rank] = Rank, **options: Any) -> Any:
    """Return a concentrated median, or a twin of it."""
    given = {field.name: getattr(MEDIAN, field.name) for field in fields(MEDIAN)} | {"concentrated": True}
    return kind(**(given | options))


ROOT_OF_TWO = Fraction(99, 70)


class TestConcentratedMedian(Concentrated):
    """Ranges by exponential choices: the squares of the parts make 1."""

    tied_at, runs, edge_stride = Fraction(10_000), 8, 8
    shares = (Fraction(1),)
    mechanism = ranked()
    records = (*RECORDS, {**RECORDS[2], "v": 12})
    crowded: Sequence[str] = ("range, light weights",)
    loose: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("range, light weights", "range, full weights"), ONE_SIDED
    )
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "gate": (lambda law: law.first, Fraction(10, 100)),
        "range, light weights": (ranges_at(LIGHT), CHOICE),
        "range, full weights": (ranges_at(FULL), CHOICE),
        "weights around": (sides_at(LIGHT, 20), SIDES),
    }

    def twins(self) -> Mapping[str, Twin]:
        return {
            "15 % too sharp": Twin(ranked(Sharper, factor=Fraction(100, 85)).law, "range, light weights"),
            "the factor of both directions rooted": Twin(
                ranked(Sharper, factor=ROOT_OF_TWO).law, "range, light weights"
            ),
            "masses of P in place of e": Twin(
                lambda summary, share: ranked().law(with_squares(summary), share), "gate"
            ),
        }


GAUSSIAN_TUNING = replace(test_rank.TUNING, gaussian=True)


class TestConcentratedPointOfWeights(Concentrated):
    """The clipping point of weights, by an exponential choice that weighs twice its part."""

    variant_of = TestConcentratedMedian
    shares = (Fraction(1),)
    tied_at, runs, edge_stride = Fraction(10_000), 8, 8
    records = RECORDS[1:5]
    mechanism: Any = ranked(
        test_warm_rank.Unsparing, finder=replace(test_rank.FINDER, tunings=((None, GAUSSIAN_TUNING),))
    )
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "point": (lambda law: law.laws[0].first, GAUSSIAN_TUNING.choice),
    }

    def twins(self) -> Mapping[str, Twin]:
        return {"15 % too sharp": self.twin(sharper), "drawn by coins": self.twin(flipped)}

    def twin(self, changed: Callable[[Any], Any]) -> Twin:
        """Return a twin that draws the point in another way."""

        def law(summary: Summary, share: Fraction) -> Law:
            right: Any = self.mechanism.law(summary, share)
            changed_law: Law = replace(
                right, laws=(replace(right.laws[0], first=changed(right.laws[0].first)),)
            )
            return changed_law

        return Twin(law, "point")


class TestConcentratedStart(TestConcentratedPointOfWeights):
    """The same, where the point starts from that of an earlier answer."""

    variant_of = TestConcentratedMedian
    mechanism = replace(
        test_warm_rank.UNSPARING, rank=replace(test_warm_rank.UNSPARING.rank, concentrated=True)
    )
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "point": (lambda law: law.first, test_warm_rank.CHOICE),
    }

    def twin(self, changed: Callable[[Any], Any]) -> Twin:
        def law(summary: Summary, share: Fraction) -> Law:
            right: Any = self.mechanism.law(summary, share)
            return Then(changed(right.first), right.then)

        return Twin(law, "point")


class TestConcentratedQuantiles(Concentrated):
    """Each of k choices may be the root of k times narrower, and not more."""

    tied_at, runs, edge_stride = Fraction(10**6), 8, 8
    mechanism = ranked(quantiles=(Fraction(9, 10), HALF))
    variant_of = TestConcentratedMedian
    shares = (Fraction(1),)
    records = RECORDS[1:5]
    loose: ClassVar[Mapping[str, str]] = {"both": ONE_SIDED}
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "both": (lambda law: Together((ranges_at(LIGHT)(law), measured_at(LIGHT, 20)(law).first)), CHOICE)
    }

    def twins(self) -> Mapping[str, Twin]:
        return {"each as wide as one alone": Twin(self._alike, "both")}

    def _alike(self, summary: Summary, share: Fraction) -> Law:
        law: Law = ranked(Sharper, quantiles=(Fraction(9, 10), HALF), factor=ROOT_OF_TWO).law(summary, share)
        return law


def test_parts_of_ranks_whose_squares_add_up_to_more_than_the_whole_are_refused() -> None:
    for rank in (ranked(), Rank.tuned(Fraction(1), (HALF,), 0, 9, None, concentrated=True)):
        used = rank.answer if rank.finder is None else rank.finder.tunings[0][1].answer
        with pytest.raises(ValueError, match="more than the whole"):
            replace(rank, sides=1 - (used / 4) ** 2)


@pytest.mark.parametrize("levels", [Levels(Fraction(1), Fraction(1)), Levels(Fraction(1), Fraction(9))])
@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 50)])
def test_squares_of_the_parts_of_ranks_leave_next_to_nothing(levels: Levels, share: Fraction) -> None:
    rank = Rank.tuned(share, (HALF,), 0, 9, levels, concentrated=True)
    parts = [rank.scout, rank.sides]
    if rank.finder is None:
        parts.append(rank.answer)
    else:
        tuning = rank.finder.tunings[0][1]
        parts += [rank.finder.gate, tuning.choice, tuning.answer]
    assert 1 - Fraction(1, 10**5) < sum(part * part for part in parts) <= 1
    warm = WarmRank.tuned(rank, (3,), Fraction(2), "charge 1", close=True)
    assert warm.choice**2 + warm.answer**2 + rank.scout**2 + rank.sides**2 <= 1


def by_norm(norm: Callable[[int], int]) -> test_joint.Scaled:
    """Return a way to scale a unit's contributions: by a whole number that is made of their squares' sum."""

    def scaled(added: Sequence[int], cap: int) -> list[int]:
        size = norm(sum(value * value for value in added))
        return list(added) if size <= cap else [int(Fraction(value * cap, size)) for value in added]

    return scaled


class TestConcentratedGroupsOfUnits(test_joint.TestSums):
    """Totals of several groups that a unit moves by its Euclidean norm, each with the noise of one."""

    mechanism = replace(COARSE_JOINT, finder=GAUSSIAN, gaussian=True)
    compared = staticmethod(concentrated_loss)
    caught_by = 1e-4
    variant_of = TestConcentratedSum
    records = test_joint.TestOneUnit.records
    max_records = 1
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "whole": (lambda law: law, Fraction(1)),
        test_joint.MUCH: (lambda law: law.laws[0].then(5), TOTAL_PART),
    }

    def summarise(self, records: Sequence[Mapping[str, Any]]) -> UnitGroups:
        return in_groups(records, self.measure, euclidean=True).refined(4)

    def promised(self, budget: float, share: float) -> float:
        return (share * budget) ** 2 / 2

    def twin(self, how: test_joint.Scaled) -> Twin:
        """Return a twin that scales what a unit adds in another way."""
        return Twin(test_joint.scaled_as(how, self.mechanism), test_joint.MUCH)

    def twins(self) -> Mapping[str, Twin]:
        return {"a cap for each cell": self.twin(test_joint.separately)}

    def test_some_unit_comes_close_to_what_it_may_lose(self) -> None:
        losses = []
        for record in UNITS[1:4]:
            self.records = (record,)
            losses.append(self.worst(self.law, test_joint.MUCH, Fraction(1)))
        assert max(loss.measured / loss.promised for loss in losses) > 0.72  # of e(u), 85 %


class TestConcentratedUnitsInGroups(TestConcentratedGroupsOfUnits):
    """Each unit counts 1 in every group that it has rows in: by the root of their number, rounded up."""

    variant_of = TestConcentratedSum
    records = (unit((7, 0.4, True, "a"), (7, 0.4, True, "b")), UNITS[0])
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        test_joint.MUCH: (lambda law: law.laws[0].then(6), TOTAL_PART),
    }
    loose: ClassVar[Mapping[str, str]] = {test_joint.MUCH: "a cap of 1 leaves nothing of what is halved"}

    def summarise(self, records: Sequence[Mapping[str, Any]]) -> UnitGroups:
        return in_groups(records, None, once=True, euclidean=True)

    def twins(self) -> Mapping[str, Twin]:
        ways = {
            "a cap for each cell": test_joint.separately,
            "the norm rounded down": by_norm(isqrt),
            "the norm rounded to nearest": by_norm(lambda squares: (isqrt(4 * squares) + 1) // 2),
        }
        return {name: self.twin(how) for name, how in ways.items()}

    def test_some_unit_comes_close_to_what_it_may_lose(self) -> None:
        """Not here: where a cap is 1, all that is shared is rounded down to nothing."""


def test_laplace_noise_refuses_contributions_that_are_scaled_by_their_euclidean_norm() -> None:
    with pytest.raises(TypeError, match="Gaussian noise alone"):
        COARSE_JOINT.law(in_groups(UNITS, euclidean=True), Fraction(1))


def with_totals(summary: Summary, share: Fraction, changed: Callable[[Noisy], Noisy]) -> Gated:
    """Return the law with other totals."""
    right = COARSE.law(summary, share)

    def after(law: Any) -> Then:
        return Then(law.first, lambda place: changed(law.then(place)))

    return replace(right, laws=tuple(after(law) for law in right.laws))


def off_lattice(summary: Summary, share: Fraction) -> Gated:
    """Return the law of totals that are moved a lattice step too far by each record."""
    records = sum(cell.count for cell in summary.cells)
    return with_totals(summary, share, lambda law: Noisy((law.values[0] + records,), law.noises))


def quieter(law: Any, factor: Fraction) -> Noisy:
    """Return a law whose deviations are so many times as large."""
    return Noisy(law.values, tuple(DiscreteGaussian(one.variance * factor**2) for one in law.noises))


def too_small(summary: Summary, share: Fraction) -> Gated:
    """Return the law of totals with σ 30 % too small."""
    return with_totals(summary, share, lambda law: quieter(law, Fraction(7, 10)))


def test_parts_whose_squares_add_up_to_more_than_the_whole_are_refused() -> None:
    (_, tuning), *_ = GAUSSIAN.tunings
    with pytest.raises(ValueError, match="more than the whole"):
        replace(GAUSSIAN, tunings=((None, replace(tuning, answer=TOTAL_PART + Fraction(1, 1000))),))


def choices_lost(mechanism: Clip) -> float:
    """Return the largest loss in the choice of a point, over what it may lose, by small tables."""
    found = 0.0
    tables: list[list[Record]] = [[], *([record] * size for record in RECORDS for size in (1, 3))]
    for table in tables:
        for record in RECORDS[:5]:
            before, after = (summary_of(one).refined(2) for one in (table, [*table, record]))
            chosen: Any = [mechanism.law(each, Fraction(1)).laws[0] for each in (before, after)]
            lost, undrawn = concentrated_loss(*(law.first for law in chosen))
            assert not undrawn
            found = max(found, lost / ((float(CHOICE_PART) * float(min(record["eps"], 3.0))) ** 2 / 2))
    return found


def test_a_fence_is_paid_for_and_an_unpaid_or_a_rooted_one_is_caught() -> None:
    assert choices_lost(fenced(Tuning)) <= 1 + TOLERANCE
    for wrong in (UnpaidFence, RootedFence):
        assert choices_lost(fenced(wrong)) > 1.1


def test_gaussian_noise_whose_tail_is_cut_off_loses_without_bound() -> None:
    """However far out: what one table can give, and its neighbour cannot, tells them apart."""

    def noisy(value: int, far: int) -> ExponentialChoice:
        outputs = range(-40, 41)
        possible = tuple(int(abs(output - value) <= far) for output in outputs)
        return ExponentialChoice(tuple((output - value) ** 2 for output in outputs), Fraction(1, 8), possible)

    for far in (1, 10, 30):
        assert concentrated_loss(noisy(0, far), noisy(1, far))[0] == math.inf


def tiers_of(summary: Summary) -> Tiers:
    quantum = summary.levels.quantum
    spans = ((quantum * 3, quantum * 4), (quantum * 60, quantum * 80))
    found = Tiers.of(replace(summary, ratios=Ratios(spans, spans)), gaussian=True)
    assert found is not None
    return found


def test_totals_of_tiers_lose_what_they_may_and_with_less_noise_more() -> None:
    worst = quiet = 0.0
    for record in RECORDS[:5]:
        empty, alone = (summary_of(table).refined(4) for table in ([], [record]))
        laws: Any = [tiers_of(each).law(each, Fraction(1)) for each in (empty, alone)]
        promised = float(min(record["eps"], 3.0)) ** 2 / 2
        worst = max(worst, concentrated_loss(*laws)[0] / promised)
        less = [quieter(law, Fraction(8, 10)) for law in laws]
        quiet = max(quiet, concentrated_loss(*less)[0] / promised)
    assert worst <= 1 + TOLERANCE
    assert quiet > 1.1


LAWS = [
    (Noisy((0,), (DiscreteGaussian(Fraction(7, 2)),)), Noisy((2,), (DiscreteGaussian(Fraction(7, 2)),))),
    (Noisy((0,), (DiscreteLaplace(Fraction(3)),)), Noisy((2,), (DiscreteLaplace(Fraction(3)),))),
    (ExponentialChoice((0, 1, 3), Fraction(1, 2)), ExponentialChoice((1, 1, 4), Fraction(1, 2))),
    (PermuteAndFlip((0, 1, 3), Fraction(1, 2)), PermuteAndFlip((0, 2, 3), Fraction(1, 2))),
    (
        Then(ExponentialChoice((0, 1)), lambda n: Noisy((0,), (DiscreteGaussian(Fraction(1 + n)),))),
        Then(ExponentialChoice((1, 1)), lambda n: Noisy((1,), (DiscreteGaussian(Fraction(1 + n)),))),
    ),
]


@pytest.mark.parametrize("pair", LAWS, ids=["gaussian", "laplace", "exponential", "flip", "then"])
def test_divergences_of_all_orders_are_within_the_criterion(pair: tuple[Law, Law]) -> None:
    for one, other in (pair, pair[::-1]):
        lost, undrawn = concentrated_loss(one, other)
        assert not undrawn
        found = [renyi(one, other, order) / order for order in ORDERS]
        assert max(found) <= lost * (1 + TOLERANCE)
        assert max(found) > lost / 3  # no criterion that lets anything pass


def test_the_criterion_of_a_law_sees_what_is_not_drawn() -> None:
    one, other = (Noisy((0,), (DiscreteGaussian(Fraction(size)),)) for size in (3, 4))
    assert concentrated_loss(one, other)[0] == math.inf


def test_laplace_noise_on_a_vector_scaled_by_its_norm_loses_more_than_gaussian_noise_does() -> None:
    """Four cells that a unit moves by 1: by the L2 norm each is halved, which suits Gaussian noise alone."""
    moved, budget = (5, 5, 5, 5), Fraction(1)  # on a lattice of tenths
    gaussian = (DiscreteGaussian((10 / budget) ** 2),) * 4
    laplace = (DiscreteLaplace(10 / budget),) * 4
    lost = [
        concentrated_loss(Noisy((0,) * 4, noises), Noisy(moved, noises))[0] for noises in (gaussian, laplace)
    ]
    assert lost[0] <= float(budget) ** 2 / 2 + TOLERANCE
    assert lost[1] > float(budget) ** 2 / 2 + 0.1


@given(
    share=st.fractions(min_value=Fraction(1, 10**9), max_value=1), least=st.fractions(Fraction(1, 10**6), 40)
)
def test_a_converted_share_is_within_the_share_that_is_charged(share: Fraction, least: Fraction) -> None:
    root, found = root_below(share), pure_share(share, least)
    assert 0 < root**2 <= share
    assert root <= found
    for e in (least, 2 * least, 10 * least):
        x = float(found * e)
        assert x * math.tanh(x / 2) <= float(share * e * e / 2) * (1 + 1e-12)


def test_a_converted_share_wastes_little() -> None:
    for e in (Fraction(1, 100), Fraction(1), Fraction(5)):
        for share in (Fraction(1), Fraction(1, 7), Fraction(1, 1000)):
            x = float(pure_share(share, e) * e)
            assert x * math.tanh(x / 2) > float(share * e * e / 2) * (1 - 1e-5)


@pytest.mark.parametrize("kept", [Fraction(1, 2), Fraction(19, 20)])
def test_pure_laws_at_a_converted_share_are_within_the_share(kept: Fraction) -> None:
    """Every log-ratio of a pure law is at most share · e; drawn at the converted share it loses share · P."""
    mechanism = Clip(FINDER, finest_bits=0)
    for record in RECORDS[:3]:
        e = min(Fraction(record["eps"]), Fraction(3))
        laws = [
            mechanism.law(summary_of(table), pure_share(kept, Fraction(1, 8))) for table in ([], [record])
        ]
        x = largest_log_ratio(*laws)
        assert x * math.tanh(x / 2) <= float(kept * e * e / 2) + TOLERANCE


def test_an_epsilon_is_no_smaller_than_what_gaussian_noise_truly_loses() -> None:
    """The exact δ of a continuous Gaussian at the stated ε is at most the δ that was asked for."""
    for loss in (0.001, 0.05, 0.5, 5.0, 50.0):
        for delta in (1e-3, 1e-6, 1e-12):
            stated = epsilon_at(loss, delta)
            moved = math.sqrt(2 * loss)  # in deviations
            tails = [math.erfc((stated / moved + sign * moved / 2) / math.sqrt(2)) / 2 for sign in (-1, 1)]
            assert tails[0] - math.exp(stated) * tails[1] <= delta
            assert stated <= loss + 2 * math.sqrt(loss * math.log(1 / delta))
    rising = [epsilon_at(0.5, 10.0**-n) for n in range(1, 15)]
    assert all(one < other for one, other in pairwise(rising))


@given(
    least=st.floats(1e-12, 100, allow_subnormal=False),
    octaves=st.integers(0, 60),
    part=st.floats(1, 2),
    toward=st.sampled_from([-math.inf, math.inf]),
)
def test_no_level_is_above_the_p_that_was_stated(
    least: float, octaves: int, part: float, toward: float
) -> None:
    """From a double P(r) to the budget that is counted: e² / 2 <= P, and whoever takes part has a level."""
    most = least * 2.0**40
    policy = Policy("p", at_least=Fraction(least), at_most=Fraction(most), notion="zcdp")
    stated = max(least, math.nextafter(least * 2.0 ** (octaves / 4) * part, toward))
    levels = policy.counted.deep_levels
    e = math.sqrt(2 * stated)
    assert levels.index(e) is not None
    counted = [Fraction(levels.quanta_each([e])[0]), Fraction(levels.quanta_below(e))]
    for quanta in counted:
        assert (quanta * levels.quantum) ** 2 / 2 <= min(Fraction(stated), Fraction(most))
    assert float(max(counted) * levels.quantum) ** 2 / 2 > 0.9 * min(stated, most)


def test_masses_off_the_lattice_are_caught_at_the_gate() -> None:
    coarse = replace(GAUSSIAN, gate_bits=2)
    worst = max(
        concentrated_loss(
            *(
                coarse.law(OffLattice(each), Fraction(1), COARSE.totals(each, Fraction(1))).first
                for each in (summary_of([]), summary_of([record]))
            )
        )[0]
        / ((float(GATE_PART) * float(min(record["eps"], 3.0))) ** 2 / 2)
        for record in RECORDS[:5]
    )
    assert worst > 1.1


def test_points_of_a_gaussian_total_are_drawn_by_twice_their_part() -> None:
    """Of clipped mass; what they cost by their height is that of every other choice."""
    candidates, tuning = RecordCandidates(summary_of(RECORDS[:3])), GAUSSIAN.tunings[0][1]
    law = GAUSSIAN.drawn(candidates, Fraction(1), tuning)
    assert isinstance(law, ExponentialChoice)
    weight = 2 * CHOICE_PART * candidates.quantum
    climbs = tuning.climbs(candidates.heights(tuning.stride), candidates.usual(tuning.stride))
    masses = candidates.masses(tuning.stride, 1)
    wanted = [weight * mass + climb for mass, climb in zip(masses, climbs, strict=True)]
    assert [penalty * law.unit for penalty in law.penalties] == wanted
