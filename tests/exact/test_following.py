"""A sum that chooses a point and a total that follows it, on every small table: nobody loses too much."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import pyarrow
import pytest

from prdp.cells.measure import Measure
from prdp.cells.paired_points import PairedPoints
from prdp.cells.summary import Summary
from prdp.engines.duckdb.engine import open_source
from prdp.mechanisms._candidates import Points
from prdp.mechanisms._threshold import PointFinder, RecordCandidates, Tuning
from prdp.mechanisms.clip import Clip
from prdp.mechanisms.following import Following
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Gated, Noisy
from prdp.plan.reads import CellRead
from prdp.policy import Policy
from prdp.testing.exact_loss import TOLERANCE, Record, worst_loss

ONE = Fraction(1)
LEADER, FOLLOWER = Fraction(3, 4), Fraction(1, 4)
POLICY = Policy("12 / greatest(v, 4)", at_most=3, at_least="1/8")
MEASURE = Measure("v", ONE, 0, 48, squares=True)
UNIVERSE: tuple[Record, ...] = tuple({"v": v} for v in (0, 3, 4, 9, 20, 48, 60, None))  # 60 is out of bounds
CENTER = Fraction(15, 2)  # between two rounding steps, as a drawn mean may be
QUARTER, HALF = Fraction(1, 4), Fraction(1, 2)
FINDER = PointFinder(
    gate=QUARTER,
    tunings=((2, Tuning(QUARTER, HALF, ONE, 4)), (None, Tuning(QUARTER, HALF, HALF, 8))),
    gate_bits=4,
)
PAIRS = next(filter(None, [PairedPoints.of(POLICY, POLICY.levels, MEASURE)]))
FOLLOWING = Following(PAIRS, Clip(FINDER))

Follower = Callable[[Summary, Fraction, Fraction], Noisy]
"""From cells, a share and the sum's point to the law of what follows."""


def cells_of(records: Sequence[Record]) -> Summary:
    """Return the cells of some records, as DuckDB finds them."""
    values = pyarrow.array([record["v"] for record in records], pyarrow.int64())
    engine = open_source(pyarrow.table({"v": values}), None)
    policy = POLICY.within(engine.schema, {})
    return engine.summarise(CellRead(policy, policy.levels, {}, MEASURE, None))[0]


def budget(record: Record) -> float:
    """Return what a record is promised: 0 for one that is left out."""
    return POLICY.budget(record) or 0.0


def count(summary: Summary, share: Fraction, point: Fraction) -> Noisy:
    """Return the law of the count that follows a sum, at a lattice of sixteenths."""
    return FOLLOWING.law(summary.valued().counted().refined(4), share, 16 * PAIRS.counted(point))


def squares(summary: Summary, share: Fraction, point: Fraction) -> Noisy:
    """Return the law of the squares that follow a sum."""
    (at,) = PAIRS.squared([point], CENTER)
    return FOLLOWING.law(summary.valued().squared_around(int(2 * CENTER), 1), share, 4 * at)


# Twins: each breaks one step of the proof, and the same measurement must find it.


def quieter(follower: Follower) -> Follower:
    """Draw with noise 15 % too small."""

    def law(summary: Summary, share: Fraction, point: Fraction) -> Noisy:
        right = follower(summary, share, point)
        return Noisy(right.values, tuple(DiscreteLaplace(noise.scale * 17 / 20) for noise in right.noises))

    return law


def noise_of_the_sum(summary: Summary, share: Fraction, point: Fraction) -> Noisy:
    """Hide squares, clipped at what follows, by the noise of the sum's own point."""
    return Noisy(squares(summary, share, point).values, (DiscreteLaplace(point / share),))


def whole_where_the_sum_is(summary: Summary, share: Fraction, point: Fraction) -> Noisy:
    """Let whoever the sum counts in full count in full, and trust that the point allows for it."""
    right = count(summary, share, point / 4)
    return Noisy((16 * summary.valued().records,), right.noises)


def point_of_the_records(summary: Summary, share: Fraction, point: Fraction) -> Noisy:
    """Follow the sum no further than there are records."""
    cells = summary.valued().counted().cells
    least = min(cells.quanta.tolist(), default=None)
    needed = 1 / (least * summary.levels.quantum) if least else ONE
    return FOLLOWING.law(summary.valued().counted().refined(4), share, 16 * min(PAIRS.counted(point), needed))


def excess(follower: Follower, share: Fraction, parts: Fraction = FOLLOWER) -> float:
    """Return by how much the worst loss of sum and follower together is above what is promised."""

    def law(summary: Summary) -> Gated:
        def both(tuning: Tuning, place: int) -> Noisy:
            point = Points.spanning(summary, tuning.stride).per_quantum(place) / summary.levels.quantum
            first = Clip(FINDER).total(summary, LEADER * share, tuning, place)
            second = follower(summary, parts * share, point)
            return Noisy(first.values + second.values, first.noises + second.noises)

        return FINDER.law(RecordCandidates(summary), LEADER * share, both)

    return worst_loss(UNIVERSE, law, cells_of, lambda record: float(share) * budget(record), 2).excess


@pytest.mark.parametrize("share", [ONE, Fraction(1, 3)])
@pytest.mark.parametrize("follower", [count, squares])
def test_a_sum_and_what_follows_it_keep_the_promise_together(follower: Follower, share: Fraction) -> None:
    assert excess(follower, share) <= TOLERANCE


def follower_excess(follower: Follower, point: Fraction) -> float:
    """Return the same of what follows alone, after a sum with this point, at the share 1."""
    return worst_loss(UNIVERSE, lambda cells: follower(cells, ONE, point), cells_of, budget, 2).excess


POINTS = [Fraction(1), Fraction(12), Fraction(100), Fraction(500)]


@pytest.mark.parametrize("follower", [count, squares])
def test_what_follows_keeps_its_own_share_and_some_record_nearly_uses_it(follower: Follower) -> None:
    found = [follower_excess(follower, point) for point in POINTS]
    assert max(found) <= TOLERANCE
    assert max(found) > -0.05


@pytest.mark.parametrize(
    "twin",
    [quieter(count), quieter(squares), noise_of_the_sum, whole_where_the_sum_is, point_of_the_records],
    ids=["count, noise 15 % off", "squares, noise 15 % off", "sum's noise", "whole", "records' point"],
)
def test_a_twin_that_breaks_a_step_of_the_proof_is_found(twin: Follower) -> None:
    assert max(follower_excess(twin, point) for point in POINTS) > TOLERANCE


def test_a_follower_that_takes_more_than_is_left_of_the_share_is_found() -> None:
    assert excess(quieter(count), ONE, parts=Fraction(3, 4)) > TOLERANCE
