"""Cells in columns are what plain Python makes of them one by one, however wide their numbers are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prdp.cells.cell import Cell, CellKey, magnitude_key
from prdp.cells.cell_columns import NO_VALUE, CellColumns
from prdp.cells.columns import exact_column
from prdp.cells.summary import Summary
from prdp.levels import Levels
from prdp.mechanisms._candidates import Points
from prdp.mechanisms._threshold import RecordCandidates

LEVELS = Levels(Fraction(1, 8), Fraction(4))

sizes = st.sampled_from([0, 1, 7, 2**62, 2**63 - 1, 2**63, 2**80]) | st.integers(0, 20)
budgets = st.sampled_from([1, 2, 3, 2**63 - 1, 2**63, 2**276])
sums = st.sampled_from([0, 2**63 - 1, -(2**63), -(2**90)]) | st.integers(-50, 50)
counts = st.sampled_from([1, 2**40]) | st.integers(1, 9)


@st.composite
def single_cells(draw: st.DrawFn) -> Cell:
    low, high = sorted((draw(sizes), draw(sizes)))
    sign = draw(st.sampled_from([-1, 0, 1]))
    key = CellKey(draw(budgets), low, high, sign, missing=sign == 0 and draw(st.booleans()))
    return Cell(key, draw(counts), draw(sums), draw(sizes))


cells = st.lists(single_cells(), max_size=8)


def added(some: Iterable[Cell], change: Callable[[Cell], Cell] = lambda cell: cell) -> list[Cell]:
    """Return changed cells, added up and sorted by their keys: one by one."""
    found: dict[CellKey, list[Cell]] = defaultdict(list)
    for cell in map(change, some):
        found[cell.key].append(cell)
    return [
        Cell(key, *(sum(getattr(cell, name) for cell in same) for name in ("count", "total", "squares")))
        for key, same in sorted(found.items())
    ]


def summary(some: Iterable[Cell]) -> Summary:
    return Summary.of(LEVELS, 1, 2**80, some)


@given(some=cells)
def test_cells_are_added_up_and_sorted_by_their_keys(some: list[Cell]) -> None:
    columns = CellColumns.of(some)
    assert list(columns) == added(some)
    assert len(columns) == len(added(some))
    assert columns == CellColumns.of(reversed(some))


@given(some=st.lists(st.tuples(st.integers(0, 3), single_cells()), max_size=12))
def test_groups_side_by_side_hold_what_each_holds_alone(some: list[tuple[int, Cell]]) -> None:
    alone = [[cell for group, cell in some if group == each] for each in range(5)]
    rows = [CellColumns.of([cell]) for _, cell in some] or [CellColumns.of(())]
    raw = CellColumns(*(np.concatenate(column) for column in zip(*(r.columns for r in rows), strict=True)))
    groups = raw.split(exact_column(group for group, _ in some), 5)
    assert [list(group) for group in groups] == [added(each) for each in alone]
    assert Summary.together([summary(each) for each in alone]) == summary(cell for _, cell in some)
    shared = {id(group.total.base) for group in groups}
    assert len(shared) == 1


@given(some=cells)
def test_counting_gives_one_cell_a_budget(some: list[Cell]) -> None:
    def one(cell: Cell) -> Cell:
        return Cell(CellKey(cell.key.quanta, 1, 1, 1), cell.count, cell.count)

    assert list(summary(some).counted().cells) == added(some, one)
    assert summary(some).records == sum(cell.count for cell in some)


@given(some=cells, center=st.sampled_from([0, 5, -7, 2**62, -(2**80)]), bits=st.sampled_from([0, 1, 8]))
def test_squares_around_a_center_are_exact(some: list[Cell], center: int, bits: int) -> None:
    def around(cell: Cell) -> Cell:
        ends = [cell.key.sign * (end << bits) - center for end in (cell.key.low, cell.key.high)]
        near = 0 if min(ends) <= 0 <= max(ends) else min(map(abs, ends))
        key = CellKey(cell.key.quanta, near**2, max(map(abs, ends)) ** 2, 1)
        squares, total = cell.squares << 2 * bits, cell.total << bits
        return Cell(key, cell.count, squares - 2 * center * total + center**2 * cell.count)

    found = summary(some).squared_around(center, bits)
    assert list(found.cells) == added(some, around)
    assert found.largest == ((2**80 << bits) + abs(center)) ** 2
    assert found.smallest == 4**bits


@given(some=cells, bits=st.sampled_from([0, 1, 20, 63]))
def test_refining_shifts_values_and_nothing_else(some: list[Cell], bits: int) -> None:
    def finer(cell: Cell) -> Cell:
        key = cell.key._replace(low=cell.key.low << bits, high=cell.key.high << bits)
        return Cell(key, cell.count, cell.total << bits)

    assert list(summary(some).refined(bits).cells) == added(some, finer)


@given(some=cells, least=budgets)
def test_some_of_the_cells_are_those_that_were_asked_for(some: list[Cell], least: int) -> None:
    whole = summary(some)
    assert list(whole.valued().cells) == [cell for cell in added(some) if not cell.key.missing]
    assert list(whole.from_budget(least).cells) == [c for c in added(some) if c.key.quanta >= least]


@given(some=cells, cap=sizes)
def test_clipped_totals_are_those_of_the_cells_one_by_one(some: list[Cell], cap: int) -> None:
    whole, plain = summary(some), added(some)
    assert whole.clipped_total(cap) == sum(cell.clipped(cap) for cell in plain)
    caps = whole.cells.by_budget(lambda quanta: quanta * cap // 3)
    own = [cell.clipped(cell.key.quanta * cap // 3) for cell in plain]
    assert whole.clipped_total(caps) == sum(own)
    places = whole.cells.by_magnitude(lambda ends: sum(ends) % 3)
    expected = [0, 0, 0]
    for cell, clipped in zip(plain, own, strict=True):
        expected[(cell.key.low + cell.key.high + cell.key.sign) % 3] += clipped
    assert whole.clipped_totals(places, 3, caps) == expected


@given(some=cells, lattice=st.sampled_from([1, 2, 2**40, 2**70]))
def test_the_masses_of_a_candidates_are_those_of_the_cells_one_by_one(some: list[Cell], lattice: int) -> None:
    candidates, plain = RecordCandidates(summary(some)), added(some)
    points = Points.spanning(candidates.summary, 2)
    weights = [cell.key.quanta // lattice * cell.count for cell in plain]
    assert candidates.mass(lattice) == sum(
        weight for cell, weight in zip(plain, weights, strict=True) if cell.key.high
    )
    for place, mass in enumerate(candidates.masses(2, lattice)):
        beyond = (points.cap(place, cell.key.quanta) < cell.key.high for cell in plain)
        assert mass == sum(weight for weight, clips in zip(weights, beyond, strict=True) if clips)


@given(
    rows=st.lists(
        st.tuples(st.integers(-300, 300) | st.none(), st.integers(0, 3), counts, sums, sizes), max_size=12
    ),
    per_octave=st.sampled_from([8, 256]),
)
def test_codes_of_an_engine_become_the_cells_that_they_stand_for(
    rows: list[tuple[int | None, int, int, int, int]], per_octave: int
) -> None:
    columns = [exact_column(row[place] or 0 for row in rows) for place in range(5)]
    code = exact_column(NO_VALUE if row[0] is None else row[0] for row in rows)
    quanta = exact_column(map(LEVELS.quanta, columns[1].tolist()))
    found = CellColumns.coded(quanta, code, columns[2:], largest=10**9, per_octave=per_octave)
    assert list(found.added_up()) == added(
        Cell(magnitude_key(LEVELS.quanta(level), code, 10**9, per_octave), *sums)
        for code, level, *sums in rows
    )


def test_an_empty_table_has_cells_of_no_length() -> None:
    empty = summary(())
    assert len(empty.cells) == empty.records == empty.clipped_total(5) == RecordCandidates(empty).mass(1) == 0
    for changed in (empty.counted(), empty.valued(), empty.refined(20), empty.squared_around(3)):
        assert list(changed.cells) == []
    assert [len(group) for group in empty.cells.split(exact_column(()), 2)] == [0, 0]


def test_cells_are_equal_where_their_numbers_are_and_have_no_hash() -> None:
    cell = Cell(CellKey(1, 2, 3, 1), 5, 12)
    assert summary([cell]) == summary([cell])
    assert summary([cell]) != summary([replace(cell, total=13)])
    assert CellColumns.of([cell]) != [cell]
    with pytest.raises(TypeError, match="unhashable"):
        hash(summary([cell]))


def test_nobody_can_write_to_what_groups_share() -> None:
    raw = CellColumns.of([Cell(CellKey(quanta, 2, 3, 1), 5, 12) for quanta in (1, 2)])
    for group in raw.split(exact_column([0, 1]), 2):
        for column in group.columns:
            with pytest.raises(ValueError, match="read-only"):
                column[0] = 0
