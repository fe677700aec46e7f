"""Cells, octaves and choices of ranks in whole columns: each is what its definition says one by one."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest

from prdp.cells.summary import Cell, Summary, magnitude_key, magnitudes
from prdp.levels import FINE_PER_OCTAVE, Levels
from prdp.mechanisms._axis import ranges_between
from prdp.mechanisms._threshold import PointFinder, Tuning
from prdp.mechanisms.rank import Price, Rank, whereabouts
from prdp.noise.choice import ExponentialChoice, weights
from prdp.noise.permute_and_flip import PermuteAndFlip
from prdp.testing import Seeded

LEVELS = Levels(Fraction(1, 100), Fraction(1))
BOUNDS = [(0, 10**6), (-500, 70), (1, 3), (-(10**12), 10**12), (0, 2**70)]


def summary_between(low: int, high: int) -> Summary:
    """Return cells all over the bounds, each with a few records of several budgets."""
    random = np.random.default_rng(4)
    codes = [code for code, _, _ in magnitudes(low, high, FINE_PER_OCTAVE)]
    largest = max(abs(low), abs(high))
    cells = []
    for code in random.choice(codes, 300).tolist():
        level = int(random.integers(0, LEVELS.top + 1))
        key = magnitude_key(LEVELS.quanta(level), code, largest, FINE_PER_OCTAVE)
        count = int(random.integers(1, 9))
        cells.append(Cell(key, count, count * key.sign * key.low))
    return Summary.of(LEVELS, 1, largest, cells)


@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_a_cell_is_in_the_range_that_has_its_ends(low: int, high: int) -> None:
    summary = summary_between(low, high)
    ranges = ranges_between(low, high, summary.largest, FINE_PER_OCTAVE)
    cells = summary.cells
    ends = zip(cells.low.tolist(), cells.high.tolist(), cells.sign.tolist(), strict=True)
    assert ranges.of(cells).tolist() == [ranges.places[each] for each in ends]


def test_a_cell_that_no_range_has_is_a_mistake() -> None:
    ranges = ranges_between(0, 100, 100, FINE_PER_OCTAVE)
    with pytest.raises(KeyError):
        ranges.of(summary_between(-500, -200).cells)


@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_the_mass_of_an_octave_is_that_of_its_cells(low: int, high: int) -> None:
    summary = summary_between(low, high)
    ranges = ranges_between(low, high, summary.largest, FINE_PER_OCTAVE)
    masses = [0] * (len(ranges.octaves) - 1)
    for cell, place in zip(summary.cells, ranges.of(summary.cells).tolist(), strict=True):
        octave = max(at for at, first in enumerate(ranges.octaves[:-1]) if first <= place)
        masses[octave] += cell.key.quanta * cell.count
    assert ranges.masses(summary) == masses


@pytest.mark.parametrize("masses", [[7], [0, 0, 0], [0, 3, 0, 10**30, 0, 1, 0], list(range(30))], ids=str)
def test_an_octave_costs_what_the_cheapest_run_that_holds_it_does(masses: list[int]) -> None:
    number = len(masses)
    runs = [(first, last) for first in range(number) for last in range(first, number)]
    costs = {
        (first, last): 5 * (last - first) + 2 * sum(masses[:first] + masses[last + 1 :])
        for first, last in runs
    }
    expected = [min(costs[run] for run in runs if run[0] <= octave <= run[1]) for octave in range(number)]
    assert whereabouts(masses, per_quantum=2, per_octave=5) == expected


@pytest.mark.parametrize("quantile", [Fraction(1, 2), Fraction(1, 100), Fraction(3, 4)])
def test_the_parts_of_a_choice_cost_no_more_than_the_whole_and_hardly_less(quantile: Fraction) -> None:
    """A weight is charged half of it, either way; mass is charged rounded down, by less than a thousandth."""
    ranges = ranges_between(0, 1000, 1000, FINE_PER_OCTAVE)
    empty, full = [0] * (len(ranges.octaves) - 1), [0] * (len(ranges.octaves) - 1)
    full[3] = 1
    rank, right = Rank((quantile,), 0, 1000), np.zeros(len(ranges.ends), np.int64)
    for part, point in ((Fraction(1, 7), Fraction(3, 10**7)), (Fraction(1, 10**9), Fraction(10**5))):
        looked = rank.whereabouts * abs(2 * quantile - 1)
        none = rank.choice(0, ranges, empty, right, Price(part, part * point))
        worst = max(quantile.numerator, quantile.denominator - quantile.numerator)
        wrong = rank.choice(0, ranges, empty, right + worst, Price(part, part * point))
        assert (wrong.penalties[0] - none.penalties[0]) * wrong.unit == part * (1 - looked) / 2
        massive = rank.choice(0, ranges, full, right, Price(part, part * point))
        charged = (massive.penalties[-1] - none.penalties[-1]) * massive.unit
        assert looked * part * point * Fraction(999, 1000) <= charged <= looked * part * point


def test_multiples_are_proposed_by_the_sixteenths_of_their_penalties() -> None:
    penalties, multiples = (Fraction(1, 3), Fraction(7, 2), Fraction(100), 0), (1, 5, 2, 1)
    table = weights()
    at = [table[min(int(each * 3 * 16), len(table) - 1)] for each in penalties]
    wanted = accumulate(times * each for times, each in zip(multiples, at, strict=True))
    assert ExponentialChoice(penalties, Fraction(3), multiples)._sums(0) == list(wanted)


@pytest.mark.parametrize("kind", [PermuteAndFlip, ExponentialChoice])
@pytest.mark.parametrize("scale", [1, 10**6, 10**30])
def test_whole_penalties_of_any_size_are_drawn_as_fractions_are(
    scale: int, kind: type[PermuteAndFlip | ExponentialChoice]
) -> None:
    """However fine the lattice of penalties is: the same bytes give the same draws."""
    whole = tuple(np.random.default_rng(5).integers(0, 200, 60).tolist())
    laws = [
        kind(tuple(each * scale for each in whole), Fraction(1, 13 * scale)),
        kind(tuple(Fraction(each, 13) for each in whole)),
    ]
    drawn, other = (law.draw(Seeded(3), 500) for law in laws)
    assert drawn == other


def test_a_point_is_drawn_by_what_it_clips_and_how_high_it_is() -> None:
    masses, heights = (10**25, 10**7, 3, 0), (0, 2, 4, 6)
    tuning = Tuning(Fraction(1, 5), Fraction(3, 5), Fraction(8, 5))
    weight = Fraction(7, 10**6)
    law = PointFinder().choice(masses, weight, tuning, heights)
    climbs = tuning.climbs(heights)
    charged = tuple(penalty * law.unit for penalty in law.penalties)
    assert charged == tuple(weight * mass + climb for mass, climb in zip(masses, climbs, strict=True))


@pytest.mark.parametrize("kind", [PermuteAndFlip, ExponentialChoice])
def test_draws_are_the_same_for_penalties_that_are_all_moved(
    kind: type[PermuteAndFlip | ExponentialChoice],
) -> None:
    """Only differences of penalties count: the same bytes give the same draws."""
    penalties = tuple(Fraction(each, 7) for each in (3, 3, 9, 40, 5000, 11))
    moved = tuple(penalty + Fraction(10**40, 3) for penalty in penalties)
    drawn = [kind(each).draw(Seeded(3), 500) for each in (penalties, moved)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) > 2
