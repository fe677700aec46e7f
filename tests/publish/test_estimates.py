"""Figures of margins and hierarchies: they add up, are the least squares ones, and their intervals hold."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import prdp
from prdp.publish import Hierarchy, PrivateTable, Publication, StatisticalTable
from prdp.publish.dimension import DimensionPart, dimension_of
from prdp.publish.draws import Asked, TableDraws, cells_of, draws_of
from prdp.publish.estimates import AskedMargins, figures
from prdp.release.consistency import ConsistentRelease
from prdp.release.projection import least_squares
from prdp.release.release import Release
from prdp.tables.queryable import reader_of
from prdp.testing import Seeded

REGION = Hierarchy("region", "district", {"North": ["a", "c"], "South": ["b"], "West": ["d", "e", "f"]})
LAND = Hierarchy("land", "region", {"Inner": ["North", "West"], "Outer": ["South"]})
KEYS = {"district": list("abcdef"), "sector": ["x", "y"]}
DIMENSIONS = (dimension_of("land", KEYS, [REGION, LAND]), dimension_of("sector", KEYS, []))
CELLS = tuple(product(*(one.parts(margins=True) for one in DIMENSIONS)))
STATISTIC = StatisticalTable("t", by=("land", "sector")).statistics[0]
SCALES = {(0, 0): 4, (0, 1): 6, (1, 0): 5, (1, 1): 3}


def released(seed: int) -> dict[Asked, list[Release]]:
    random = np.random.default_rng(seed)
    return {
        asked: [
            Release("count", int(steps), Fraction(1), (Fraction(scale),), Fraction(1, 4), "clip", whole=True)
            for steps in random.integers(-20, 60, cells_of(asked, DIMENSIONS))
        ]
        for asked, scale in SCALES.items()
    }


def holds(cell: tuple[DimensionPart, ...], place: tuple[int, ...]) -> bool:
    return all(leaf in part.leaves for part, leaf in zip(cell, place, strict=True))


def leaves_of(asked: Asked) -> Iterator[set[tuple[int, ...]]]:
    groups = [one.levels[level].groups for one, level in zip(DIMENSIONS, asked, strict=True)]
    for chosen in product(*groups):
        yield set(product(*chosen))


def test_parts_are_listed_from_the_total_down() -> None:
    listed = [part.labels for part in DIMENSIONS[0].parts(margins=True)]
    assert listed[:4] == [
        ("Total", "Total", "Total"),
        ("Inner", "Total", "Total"),
        ("Inner", "North", "Total"),
        ("Inner", "North", "a"),
    ]
    assert len(listed) == 1 + 2 + 3 + 6


@pytest.mark.parametrize("least", [None, Fraction(0)])
def test_parents_are_the_sums_of_their_children(least: Fraction | None) -> None:
    found = figures(STATISTIC, DIMENSIONS, released(1), CELLS, least=least)
    finest = {
        tuple(p.leaves[0] for p in c): f.exact for c, f in zip(CELLS, found, strict=True) if is_finest(c)
    }
    assert len(finest) == 12
    for cell, figure in zip(CELLS, found, strict=True):
        assert figure.exact == sum(number for place, number in finest.items() if holds(cell, place))
        assert figure.exact.denominator == 1
    if least is not None:
        assert min(finest.values()) == 0
        assert all(figure.low >= 0 and figure.low <= figure.value <= figure.high for figure in found)


def is_finest(cell: tuple[DimensionPart, ...]) -> bool:
    return all(part.level == 0 for part in cell)


def test_estimates_are_those_of_weighted_least_squares() -> None:
    answers = released(2)
    places = list(product(range(6), range(2)))
    rows, numbers = [], []
    for asked, scale in SCALES.items():
        for leaves, one in zip(leaves_of(asked), answers[asked], strict=True):
            rows.append([(place in leaves) / scale for place in places])
            numbers.append(float(one.exact) / scale)
    expected = np.linalg.lstsq(np.array(rows), np.array(numbers), rcond=None)[0]
    found = figures(STATISTIC, DIMENSIONS, answers, CELLS, least=None)
    for cell, figure in zip(CELLS, found, strict=True):
        assert isinstance(figure, ConsistentRelease)
        estimate = sum(expected[k] for k, place in enumerate(places) if holds(cell, place))
        assert float(figure.exact + figure.off) == pytest.approx(estimate, abs=1e-8)


class OfInsufficientBudget(Release):
    """An answer of which only the noise is known."""

    insufficient_budget = True


def without(answers: dict[Asked, list[Release]], asked: Asked, place: int) -> None:
    facts = (Fraction(1), (Fraction(4),), Fraction(1, 4), "clip")
    answers[asked][place] = OfInsufficientBudget("count", 999, *facts, whole=True)


def test_a_cell_of_insufficient_budget_is_the_sum_of_its_parts() -> None:
    answers = released(3)
    values = {
        asked: [int(one.exact) for one in found] for asked, found in answers.items()
    }  # a, ..., f by x, y; and by x + y; North, South, West by x, y; and by x + y
    north = next(
        cell for cell in CELLS if [*cell[0].labels, *cell[1].labels] == ["Inner", "North", "Total", "Total"]
    )
    inner = next(
        cell for cell in CELLS if [*cell[0].labels, *cell[1].labels] == ["Inner", "Total", "Total", "Total"]
    )

    def figure(cell: tuple[DimensionPart, ...]) -> Release:
        return AskedMargins(DIMENSIONS, answers).figure(cell)

    assert figure(north).exact == values[1, 1][0]
    assert figure(inner).exact == values[1, 1][0] + values[1, 1][2]
    without(answers, (1, 1), 0)
    assert figure(north).exact == values[0, 1][0] + values[0, 1][2]
    assert figure(inner).exact == figure(north).exact + values[1, 1][2]
    without(answers, (0, 1), 0)
    assert figure(north).exact == sum(values[0, 0][:2]) + values[0, 1][2]
    assert figure(north).low < figure(north).value < figure(north).high
    without(answers, (0, 0), 0)
    assert figure(north).exact == sum(values[1, 0][:2])
    without(answers, (1, 0), 0)
    assert figure(north).insufficient_budget


SPARSE = {"district": np.array(["a"] * 60 + ["d"] * 30), "sector": np.array(["x"] * 70 + ["y"] * 20)}


def drawn(
    runs: int, records: dict[str, Any] = SPARSE, measure: str = "count", **options: Any
) -> tuple[TableDraws, list[dict[Asked, list[Release]]]]:
    """Draw a table many times, by default one in which most cells are empty, with noise from seeds."""
    table = prdp.open(records, **({"policy": 1} | options), synthetic=True)
    declared = StatisticalTable("t", by=("region", "sector"), measures={"n": measure})
    publication = Publication("t", (declared,), share="1/2", hierarchies=(REGION,))
    (draws,) = draws_of(publication, {"t": PrivateTable(table, KEYS)})
    tables: dict[Asked, Any] = {
        asked: plan.draw(reader_of(table), Seeded(place), runs)
        for place, (asked, plan) in enumerate(draws.plans.items())
    }
    runs_of = [
        {
            asked: [row[0] for row in draws.plans[asked].tabled(found[run]).releases]
            for asked, found in tables.items()
        }
        for run in range(runs)
    ]
    return draws, runs_of


def test_intervals_hold_and_errors_are_smaller_than_those_of_single_answers() -> None:
    draws, runs = drawn(60)
    cells = tuple(product(*(one.parts(margins=True) for one in draws.dimensions)))
    counts = {("a", "x"): 60, ("d", "x"): 10, ("d", "y"): 20}
    truth = [
        sum(
            many
            for (district, sector), many in counts.items()
            if KEYS["district"].index(district) in cell[0].leaves
            and KEYS["sector"].index(sector) in cell[1].leaves
        )
        for cell in cells
    ]
    held, wide, narrow, errors, own = 0, 0, 0, 0.0, 0.0
    for answers in runs:
        found = figures(STATISTIC, draws.dimensions, answers, cells, least=Fraction(0))
        for figure, true, cell in zip(found, truth, cells, strict=True):
            low, high = figure.interval()
            middle, half = (low + high) / 2, (high - low) / 8
            held += low <= true <= high
            least, most = figure.interval(Fraction(39, 40))
            wide += least <= true <= most
            narrow += middle - half <= true <= middle + half
            if is_finest(cell):
                place = [part.leaves[0] for part in cell]
                errors += (figure.value - true) ** 2
                own += (answers[0, 0][place[0] * 2 + place[1]].value - true) ** 2
    every = len(runs) * len(cells)
    assert held / every > 0.94
    assert wide / every > max(0.97, held / every)
    assert narrow / every < 0.94, "an interval a quarter as wide is found out"
    assert errors < 0.8 * own


def earners() -> dict[str, Any]:
    """Make up people whose budgets are small where they earn much; none of them is in district f."""
    random = np.random.default_rng(1)
    return {
        "district": random.choice(KEYS["district"][:5], 6000, p=[0.5, 0.2, 0.2, 0.098, 0.002]),
        "sector": random.choice(KEYS["sector"], 6000, p=[0.7, 0.3]),
        "pay": np.round(random.lognormal(6, 1.2, 6000)),
    }


EARNERS = earners()
BY_PAY = {"policy": "300 / greatest(pay, 100)", "bounds": {"pay": (0, 100_000)}}


@pytest.mark.parametrize("measure", ["count", "sum pay"])
def test_clipped_counts_and_sums_add_up_too_with_the_intervals_of_their_own_answers(measure: str) -> None:
    draws, runs = drawn(4, EARNERS, measure, **BY_PAY)
    cells = tuple(product(*(one.parts(margins=True) for one in draws.dimensions)))
    (statistic,) = draws.declared.statistics
    for answers in runs:
        assert not all(one.even for margin in answers.values() for one in margin), "clipped"
        own = AskedMargins(draws.dimensions, answers)
        for least in (None, Fraction(0)):
            found = dict(
                zip(cells, figures(statistic, draws.dimensions, answers, cells, least=least), strict=True)
            )
            finest = {tuple(p.leaves[0] for p in cell): f for cell, f in found.items() if is_finest(cell)}
            for cell, figure in found.items():
                parts = [one.exact for place, one in finest.items() if holds(cell, place)]
                assert figure.exact == sum(parts)
                low, high = own.figure(cell).interval()
                if least is not None:
                    assert figure.exact >= 0
                    low, high = max(0, min(low, figure.value)), max(high, figure.value)
                assert figure.low == min(low, figure.value)
                assert figure.high == max(high, figure.value)
            whole = measure == "count"
            assert all(figure.exact.denominator == 1 for figure in finest.values()) or not whole


class Biased(Release):
    """An answer that clipping may have moved far."""

    even = False
    std_error = 1e5


def test_an_answer_that_clipping_may_have_moved_far_counts_for_little() -> None:
    facts = (Fraction(1), (Fraction(1),), Fraction(1, 4), "clip")
    dimension = dimension_of("sector", KEYS, [])
    keys, total = [Release("count", number, *facts, whole=True) for number in (300, 700)], 100
    cells = [(part,) for part in dimension.parts(margins=True)]
    found = {}
    for kind in (Release, Biased):
        answers: dict[Asked, list[Release]] = {(0,): keys, (1,): [kind("count", total, *facts, whole=True)]}
        found[kind] = [one.exact for one in figures(STATISTIC, [dimension], answers, cells, least=None)]
    assert found[Release] == [400, 0, 400]
    assert found[Biased] == [1000, 300, 700]


class ClippedAt(Release):
    """An answer with small noise whose records were clipped at a threshold."""

    even = False
    std_error = 1.0

    @property
    def clip_threshold(self) -> Fraction:
        """The threshold: 1000, and for an answer of 5 only 1."""
        return Fraction(1 if self.steps == 5 else 1000)


def test_a_total_that_was_clipped_far_below_its_parts_is_their_sum() -> None:
    """Else a choice that failed would be published with a small standard error, and pull the parts."""
    facts = (Fraction(1), (Fraction(1),), Fraction(1, 4), "clip")
    dimension = dimension_of("sector", KEYS, [])
    cells = [(part,) for part in dimension.parts(margins=True)]
    for total, expected in ((5, [7000, 3000, 4000]), (6700, [6800, 2900, 3900])):
        answers: dict[Asked, list[Release]] = {
            (0,): [ClippedAt("sum", number, *facts, whole=True) for number in (3000, 4000)],
            (1,): [ClippedAt("sum", total, *facts, whole=True)],
        }
        found = figures(STATISTIC, [dimension], answers, cells, least=None)
        assert [one.exact for one in found] == expected
        assert found[0].low <= expected[0] <= found[0].high
        assert not found[0].insufficient_budget
    failed: dict[Asked, list[Release]] = {
        (0,): [
            ClippedAt("sum", 4000, *facts, whole=True),
            OfInsufficientBudget("sum", 3, *facts, whole=True),
        ],
        (1,): [ClippedAt("sum", 5, *facts, whole=True)],
    }
    found = figures(STATISTIC, [dimension], failed, cells, least=None)
    assert [one.insufficient_budget for one in found] == [True, False, True]


def test_margins_of_any_weights_are_those_of_weighted_least_squares() -> None:
    random = np.random.default_rng(4)
    for sizes in ((3,), (4, 3), (2, 3, 2)):
        places = list(np.ndindex(sizes))
        terms, rows, numbers = [], [], []
        for summed in product((False, True), repeat=len(sizes)):
            shape = [1 if one else size for one, size in zip(summed, sizes, strict=True)]
            terms.append((random.normal(50, 30, shape), random.uniform(0.01, 4, shape)))
            for cell in np.ndindex(*shape):
                root = terms[-1][1][cell] ** 0.5
                inside = [
                    all(one or a == b for one, a, b in zip(summed, cell, place, strict=True))
                    for place in places
                ]
                rows.append(np.array(inside) * root)
                numbers.append(terms[-1][0][cell] * root)
        expected = np.linalg.lstsq(np.array(rows), np.array(numbers), rcond=None)[0]
        assert np.ravel(least_squares(terms)) == pytest.approx(expected, abs=1e-4)
