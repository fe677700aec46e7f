"""Columns hold whole numbers of any size, and what is computed with them is what Python's integers give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prdp.cells.columns import (
    exact_column,
    from_halves,
    over,
    plus,
    product,
    runs,
    same,
    shifted,
    total,
    totals_at,
    totals_from,
    widest,
)

EDGES = [
    0,
    1,
    -1,
    2**31,
    2**62,
    2**63 - 1,
    -(2**63) + 1,
    -(2**63),
    2**63,
    2**64 - 1,
    2**64,
    2**126,
    -(2**100),
]
numbers = st.sampled_from(EDGES) | st.integers(-(2**70), 2**70) | st.integers(-9, 9)
columns = st.lists(numbers, max_size=8)
pairs = st.lists(st.tuples(numbers, numbers), max_size=8)


@pytest.mark.parametrize(
    ("values", "form"),
    [
        ([], "int64"),
        ([2**63 - 1], "int64"),
        ([-(2**63)], "int64"),
        ([2**63], "object"),
        ([-(2**63) - 1], "object"),
        ([1, 2**80], "object"),
    ],
)
def test_a_column_has_64_bits_exactly_where_all_its_numbers_fit(values: list[int], form: str) -> None:
    column = exact_column(values)
    assert column.dtype.name == form
    assert column.tolist() == values


def test_nobody_can_write_to_a_column() -> None:
    for column in (exact_column([1, 2]), exact_column([2**90]), exact_column([1, 2])[:1]):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 5


@given(values=columns)
def test_every_number_comes_back_from_its_two_halves(values: list[int]) -> None:
    high = np.array([value >> 64 for value in values], dtype=np.int64)
    low = np.array([value & (2**64 - 1) for value in values], dtype=np.uint64)
    found = from_halves(high, low)
    assert found.tolist() == values
    assert found.dtype == exact_column(values).dtype


@given(values=columns)
def test_the_widest_number_is_the_largest_size(values: list[int]) -> None:
    assert widest(exact_column(values)) == max(map(abs, values), default=0)


@given(values=pairs)
def test_sums_and_products_of_two_columns_do_not_wrap_around(values: list[tuple[int, int]]) -> None:
    one, other = (exact_column(value[place] for value in values) for place in (0, 1))
    assert plus(one, other).tolist() == [a + b for a, b in values]
    assert product(one, other).tolist() == [a * b for a, b in values]


@given(values=columns, factor=numbers)
def test_one_number_meets_every_place_of_a_column(values: list[int], factor: int) -> None:
    column, single = exact_column(values), exact_column([factor])
    assert plus(column, single).tolist() == [value + factor for value in values]
    assert product(column, single).tolist() == [value * factor for value in values]


@given(values=columns, bits=st.sampled_from([0, 1, 20, 62, 63, 64, 100]))
def test_shifting_multiplies_by_a_power_of_two(values: list[int], bits: int) -> None:
    assert shifted(exact_column(values), bits).tolist() == [value << bits for value in values]


@given(values=columns, divisor=st.sampled_from([1, 3, 2**40, 2**63 - 1, 2**63, 2**90]))
def test_dividing_rounds_down(values: list[int], divisor: int) -> None:
    assert over(exact_column(values), divisor).tolist() == [value // divisor for value in values]


@given(values=columns)
def test_a_total_is_exact(values: list[int]) -> None:
    assert total(exact_column(values)) == sum(values)


@given(values=st.lists(st.tuples(st.integers(0, 3), numbers), max_size=12))
def test_totals_at_places_are_exact(values: list[tuple[int, int]]) -> None:
    places = np.array([place for place, _ in values], dtype=np.intp)
    expected = [sum(value for place, value in values if place == each) for each in range(5)]
    assert totals_at(places, exact_column(value for _, value in values), 5) == expected


@given(segments=st.lists(st.lists(numbers, min_size=1, max_size=4), max_size=5))
def test_totals_of_segments_are_exact(segments: list[list[int]]) -> None:
    column = exact_column(value for segment in segments for value in segment)
    lengths = [0, *map(len, segments)][: len(segments)]
    starts = np.cumsum(np.array(lengths, dtype=np.intp))
    assert totals_from(starts, column).tolist() == list(map(sum, segments))


@given(rows=st.lists(st.tuples(st.integers(0, 2), st.sampled_from([0, 2**70])), max_size=10))
def test_runs_begin_where_a_row_differs(rows: list[tuple[int, int]]) -> None:
    ordered = sorted(rows)
    found = runs([exact_column(row[place] for row in ordered) for place in (0, 1)], len(ordered))
    assert found.tolist() == sorted(ordered.index(row) for row in set(ordered))


def test_the_same_numbers_are_the_same_in_either_form() -> None:
    narrow, wide = exact_column([1, 2]), exact_column([1, 2**70])
    assert same([narrow], [np.array([1, 2], dtype=object)])
    assert not same([narrow], [wide])
    assert not same([narrow], [exact_column([1])])
    assert not same([exact_column([2**63 - 1])], [exact_column([2**63])])


def test_numbers_of_64_bits_add_up_to_more() -> None:
    column, whole = exact_column([2**63 - 1, 2**63 - 1]), 2**64 - 2
    together = np.array([0, 0])
    assert total(column) == whole
    assert totals_at(together, column, 2) == [whole, 0]
    assert totals_from(together[:1], column).tolist() == [whole]
