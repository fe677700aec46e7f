"""Cells contain their records, add up exactly, and print nothing of them."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prdp.cells.summary import Cell, CellKey, KeySummary, Summary, key_edges, magnitude_key, magnitudes
from prdp.expressions.parse import parse
from prdp.levels import Levels
from prdp.plan.reads import CellRead
from prdp.policy import Policy
from prdp.testing.reference import magnitude_code, reference_keys

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
    whole = summary((1, 77, 31337))
    printed = repr(whole) + repr(whole.cells) + "".join(map(repr, whole.cells))
    assert "31337" not in printed
    assert str(77 * 31337) not in printed


ranges_of_budgets = st.sampled_from([(1, 8), (Fraction(1, 10**8), 100), (Fraction(1, 2**100), 2**100)])


@given(ends=ranges_of_budgets)
def test_edges_of_keys_double_every_octave_and_span_all_sums(ends: tuple[Fraction, Fraction]) -> None:
    levels = Levels(Fraction(ends[0]), Fraction(ends[1]))
    edges = key_edges(levels)
    assert all(edge % 2 == 0 for edge in edges)
    assert all(double == 2 * edge for edge, double in zip(edges, edges[4:], strict=False))
    for edge, following in pairwise(edges):
        assert Fraction(118, 100) < Fraction(following, edge) < Fraction(120, 100)
    assert levels.quanta(0) / Fraction(120, 100) < edges[4] <= levels.quanta(0)
    most = min(1024 * levels.at_most / levels.quantum, Fraction(2**90))
    assert most / Fraction(120, 100) < edges[-1] <= most


sums = st.lists(st.integers(1, 2**20) | st.integers(2**20, 2**36), max_size=20)


@given(sums=sums)
def test_clipped_sums_of_keys_are_exact_at_every_edge(sums: list[int]) -> None:
    summary = KeySummary.of(LEVELS, sums)
    assert summary.mass == sum(sums)
    assert list(summary.clipped()) == [sum(min(edge, key) for key in sums) for edge in key_edges(LEVELS)]


def test_a_key_on_an_edge_is_in_the_cell_that_begins_there() -> None:
    edges = key_edges(LEVELS)
    on_and_below = KeySummary.of(LEVELS, [edges[7], edges[7] - 1, edges[0] - 1, edges[-1] * 5])
    assert on_and_below.edge.tolist() == [-1, 6, 7, len(edges) - 1]


def test_printing_keys_shows_no_number_of_them() -> None:
    summary = KeySummary.of(LEVELS, [31337 * 2**10] * 77)
    assert not {"77", str(31337 * 2**10), str(77 * 31337 * 2**10)} & set(re.findall(r"\d+", repr(summary)))


def test_the_reference_adds_up_the_budgets_of_each_key() -> None:
    policy = Policy.column("eps", at_least="1/8", at_most="4")
    where = parse("keep")
    records = [
        {"k": key, "eps": eps, "keep": keep}
        for key, eps, keep in (
            ("a", 0.5, True),
            ("a", 0.25, True),
            ("a", 4.0, False),
            ("b", 0.5, True),
            ("b", 0.1, True),  # below the least budget
            (None, 1.0, True),
            ("c", float("nan"), True),
            ("d", 9.0, None),
        )
    ]
    found = reference_keys(records, CellRead(policy, LEVELS, {}, None, where), "k")
    half, quarter = (LEVELS.quanta(level) for level in (15, 7))  # on an edge: the level below it
    assert found == KeySummary.of(LEVELS, [half + quarter, half])
