"""Cells contain their records, add up exactly, and print nothing of them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prdp.levels import Levels
from prdp.summary import Cell, CellKey, Summary, magnitude_key, magnitudes
from prdp.testing.reference import magnitude_code

LEVELS = Levels(Fraction(1, 8), Fraction(4))

values = st.integers(-(2**63) + 1, 2**63 - 1) | st.builds(
    lambda exponent, offset: 2**exponent + offset, st.integers(0, 62), st.integers(-60, 60)
)


def summary(*cells: tuple[int, int, int]) -> Summary:
    """Return a summary of (quanta, value, count) triples."""
    return Summary.of(
        LEVELS,
        1,
        100,
        (Cell(magnitude_key(q, magnitude_code(v), 100), n, n * v) for q, v, n in cells),
    )


@given(value=values, per_octave=st.sampled_from([8, 256]))
def test_a_cell_s_ends_contain_its_value(value: int, per_octave: int) -> None:
    key = magnitude_key(1, magnitude_code(value, per_octave), 2**63, per_octave)
    assert key.low <= abs(value) <= key.high
    assert key.sign == (value > 0) - (value < 0)


@pytest.mark.parametrize("per_octave", [8, 256])
def test_magnitudes_cover_the_bounds_in_ever_finer_relation(per_octave: int) -> None:
    ranges = {code: (first, last) for code, first, last in magnitudes(-300, 10**6, per_octave)}
    for value in (*range(-300, 3000), 10**5, 2**17, 2**17 + 1, 10**6):
        first, last = ranges[magnitude_code(value, per_octave)]
        assert first <= value <= last
    widths = [Fraction(last + 1, max(1, first)) for first, last in ranges.values() if first > 1000]
    assert max(widths) ** per_octave < 2 * Fraction(1001, 1000) ** per_octave


def test_small_values_have_a_fine_range_of_their_own() -> None:
    ranges = {(first, last) for _, first, last in magnitudes(-200, 200, 256)}
    assert ranges == {(value, value) for value in range(-200, 201)}


@given(value=values, cap=st.integers(0, 2**63))
def test_a_clipped_record_counts_for_no_more_than_the_cap(value: int, cap: int) -> None:
    cell = Cell(magnitude_key(1, magnitude_code(value), 2**63), 1, value)
    assert abs(cell.clipped(cap)) <= min(cap, abs(value))
    assert cell.clipped(cap) * value >= 0


def test_clipping_beyond_a_cell_s_end_changes_nothing() -> None:
    cell = Cell(magnitude_key(1, magnitude_code(1000), 10**6), 3, 3000)
    assert cell.clipped(cell.key.high) == 3000


parts = st.lists(st.tuples(st.integers(1, 3), st.integers(-100, 100), st.integers(1, 9)))


@given(one=parts, other=parts)
def test_merging_is_the_summary_of_both(
    one: list[tuple[int, int, int]], other: list[tuple[int, int, int]]
) -> None:
    assert summary(*one).merged(summary(*other)) == summary(*one, *other)


@given(cells=parts)
def test_refining_scales_every_total(cells: list[tuple[int, int, int]]) -> None:
    coarse, fine = summary(*cells), summary(*cells).refined(5)
    for cap in (0, 3, 50, 1000):
        assert sum(c.clipped(cap << 5) for c in fine.cells) == 32 * sum(c.clipped(cap) for c in coarse.cells)


def test_counting_gives_every_record_the_value_one() -> None:
    counted = summary((1, 7, 2), (1, -3, 4), (2, 0, 5)).counted()
    assert [(c.key, c.count, c.total) for c in counted.cells] == [
        (CellKey(1, 1, 1, 1), 6, 6),
        (CellKey(2, 1, 1, 1), 5, 5),
    ]


def test_printing_shows_no_number_of_the_records() -> None:
    printed = repr(summary((1, 77, 31337))) + repr(summary((1, 77, 31337)).cells[0])
    assert "31337" not in printed
    assert str(77 * 31337) not in printed
