"""Margins by least squares add up, err as little as the formula says, and their intervals cover the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.release import consistency
from prdp.release.bias import Clipping, Dropped
from prdp.release.consistency import Lattice, Margin, consistent, from_zero, margins_to_ask, subsets
from prdp.release.release import Release
from prdp.testing import Seeded

SIZES = (4, 3)
MARGINS: list[Margin] = [(0, 1), (0,), (1,), ()]
TRUTH = np.arange(12).reshape(SIZES) * 7 + 50


def margin_of(margin: Margin) -> np.ndarray:
    return np.ravel(TRUTH.sum(axis=tuple(axis for axis in (0, 1) if axis not in margin)))


def drawn(scales: Mapping[Margin, Fraction], entropy: Seeded) -> dict[Margin, list[Release]]:
    found = {}
    for margin, scale in scales.items():
        found[margin] = noisy(margin_of(margin) if len(margin) < 2 else np.ravel(TRUTH), scale, entropy)
    return found


def noisy(true: np.ndarray, scale: Fraction, entropy: Seeded) -> list[Release]:
    noise = DiscreteLaplace(scale).draw_many(entropy, len(true))
    return [
        Release("count", int(n) + int(e), Fraction(1), (scale,), Fraction(1, 10), "clip", whole=True)
        for n, e in zip(true, noise, strict=True)
    ]


ALIKE = dict.fromkeys(MARGINS, Fraction(3))
APART = {(0, 1): Fraction(2), (0,): Fraction(5), (): Fraction(1)}


@pytest.mark.parametrize("scales", [ALIKE, APART], ids=["alike", "apart"])
def test_errors_are_what_the_formula_says_and_intervals_cover(scales: Mapping[Margin, Fraction]) -> None:
    entropy = Seeded(3)
    errors: dict[Margin, list[float]] = {margin: [] for margin in MARGINS}
    covered: list[bool] = []
    for run in range(300):
        found = consistent(SIZES, drawn(scales, entropy), MARGINS)
        for margin in MARGINS:
            true = margin_of(margin) if len(margin) < 2 else np.ravel(TRUTH)
            for one, wanted in zip(found[margin], true, strict=True):
                errors[margin].append(float(one.exact + getattr(one, "off", 0)) - int(wanted))
                if run < 40:
                    low, high = one.interval()
                    covered.append(low <= wanted <= high)
        _assert_added_up(found)
    lattice = Lattice(SIZES, {margin: _variance(scale) for margin, scale in scales.items()})
    for margin in MARGINS:
        stated = lattice.variance(margin)
        assert stated is not None
        assert np.mean(np.square(errors[margin])) == pytest.approx(float(stated), rel=0.25)
    assert np.mean(covered) > 0.95


def _variance(scale: Fraction) -> Fraction:
    ratio = np.exp(-1 / float(scale))
    return Fraction(2 * ratio / (1 - ratio) ** 2)


def _assert_added_up(found: Mapping[Margin, list[Release]]) -> None:
    finest = np.array([one.value for one in found[0, 1]]).reshape(SIZES)
    assert [one.value for one in found[(0,)]] == finest.sum(axis=1).tolist()
    assert [one.value for one in found[(1,)]] == finest.sum(axis=0).tolist()
    assert found[()][0].value == finest.sum()


def test_noise_has_less_of_the_failures_where_a_threshold_was_chosen() -> None:
    """Nothing was clipped, by the draw; at another place something might have been."""
    scales = {margin: Fraction(3) for margin in MARGINS}
    plain = drawn(scales, Seeded(4))
    facts = Clipping(Fraction(9), Fraction(9), Fraction(1), Fraction(2), 2, blind=False)
    chosen = {margin: [replace(one, clipping=facts) for one in cells] for margin, cells in plain.items()}
    one, other = (consistent(SIZES, cells, MARGINS)[0, 1][0] for cells in (plain, chosen))
    level = Fraction(19, 20)
    least = one.between(1 - Fraction(7, 10) * (1 - level))
    assert one.between(level)[1] < other.between(level)[1]
    assert other.between(level) == least


def test_where_noise_was_seen_before_dropping_intervals_are_a_cell_s_own() -> None:
    plain = drawn(ALIKE, Seeded(4))
    facts = Dropped(0, Fraction(0), tiers=2)
    kept = {margin: [replace(one, clipping=facts) for one in cells] for margin, cells in plain.items()}
    found = consistent(SIZES, kept, MARGINS)[0, 1][0]
    own = kept[0, 1][0].between(Fraction(19, 20))
    assert found.between(Fraction(19, 20)) == (min(own[0], found.exact), max(own[1], found.exact))


def test_without_noise_nothing_changes() -> None:
    scales = dict.fromkeys(MARGINS, Fraction(1, 1000))
    found = consistent(SIZES, drawn(scales, Seeded(1)), MARGINS)
    assert [one.value for one in found[0, 1]] == np.ravel(TRUTH).tolist()
    assert found[()][0].value == TRUTH.sum()


def test_the_estimate_is_the_solution_of_the_normal_equations() -> None:
    margins: list[Margin] = [(0, 1), (0,), ()]
    variances = {(0, 1): 4.0, (0,): 2.0, (): 1.0}
    rows, weights = [], []
    for margin in margins:
        for key in np.ndindex(*(SIZES[axis] for axis in margin)):
            row = np.zeros(SIZES)
            index = [slice(None)] * 2
            for axis, place in zip(margin, key, strict=True):
                index[axis] = place
            row[tuple(index)] = 1
            rows.append(row.ravel())
            weights.append(1 / variances[margin])
    design, weight = np.array(rows), np.diag(weights)
    seen = np.random.default_rng(2).integers(0, 99, len(rows))
    wanted = np.linalg.solve(design.T @ weight @ design, design.T @ weight @ seen)
    tables = {
        (0, 1): np.array([Fraction(int(n)) for n in seen[:12]], dtype=object).reshape(SIZES),
        (0,): np.array([Fraction(int(n)) for n in seen[12:16]], dtype=object),
        (): np.array(Fraction(int(seen[16])), dtype=object),
    }
    lattice = Lattice(SIZES, {margin: Fraction(variances[margin]) for margin in margins})
    found = lattice.estimates(tables, [(0, 1)])[0, 1]
    assert np.ravel(found).astype(float) == pytest.approx(wanted)


def test_few_finest_cells_are_asked_alone_and_many_with_their_margins() -> None:
    rollup: list[Margin] = [(0, 1), (0,), ()]
    assert list(margins_to_ask((3, 2), rollup)) == [(0, 1)]
    assert list(margins_to_ask((60, 40), rollup)) == rollup
    assert list(margins_to_ask((200, 200), [(0,), (1,)])) == [(0,), (1,)]


SPARSE_SIZES = (20, 8, 5)
CUBE = subsets((0, 1, 2))
SPARSE = np.where(np.arange(800) % 11 == 0, 4 * (np.arange(800) % 100), 0).reshape(SPARSE_SIZES)
"""Nine cells in ten are empty, and noise makes half of those negative."""


def sparse_margin(margin: Margin) -> np.ndarray:
    return np.ravel(SPARSE.sum(axis=tuple(axis for axis in range(3) if axis not in margin)))


def sparse_draws(entropy: Seeded) -> dict[Margin, list[Release]]:
    return {margin: noisy(sparse_margin(margin), Fraction(12), entropy) for margin in CUBE}


def errors_of(found: Mapping[Margin, Sequence[Release]], columns: int) -> list[float]:
    return [
        float(one.exact) - true
        for margin in CUBE
        if len(margin) == columns
        for one, true in zip(found[margin], sparse_margin(margin), strict=True)
    ]


Margins = Mapping[Margin, Sequence[Release]]


@pytest.fixture(scope="module")
def sparse() -> list[Margins]:
    """Return the least-squares estimates of a few draws."""
    entropy = Seeded(11)
    return [consistent(SPARSE_SIZES, sparse_draws(entropy), CUBE) for _ in range(5)]


def mean_squares(found: Sequence[Margins]) -> list[float]:
    """Return the mean squared errors of tables by their numbers of columns."""
    return [
        float(np.mean(np.square([error for one in found for error in errors_of(one, columns)])))
        for columns in range(4)
    ]


def moved(sparse: Sequence[Margins]) -> list[Margins]:
    return [from_zero(SPARSE_SIZES, least, add_up=True) for least in sparse]


def test_numbers_from_zero_on_add_up_keep_the_total_and_cover_what_was_covered(sparse: list[Margins]) -> None:
    for least, found in zip(sparse, moved(sparse), strict=True):
        finest = np.array([one.value for one in found[0, 1, 2]]).reshape(SPARSE_SIZES)
        assert min(one.value for one in least[0, 1, 2]) < 0 <= finest.min()
        assert found[()][0].value == max(0, least[()][0].value)
        for margin in CUBE:
            sums = np.ravel(finest.sum(axis=tuple(axis for axis in range(3) if axis not in margin)))
            assert [one.value for one in found[margin]] == sums.tolist()
            for before, one, true in zip(least[margin], found[margin], sparse_margin(margin), strict=True):
                (low, high), (own_low, own_high) = one.interval(), before.interval()
                assert 0 <= low <= one.value <= high
                assert (low <= true <= high) >= (own_low <= true <= own_high)


def test_numbers_from_zero_on_err_less_in_cells_and_hardly_more_in_margins(sparse: list[Margins]) -> None:
    before, after = mean_squares(sparse), mean_squares(moved(sparse))
    assert after[0] == before[0]
    assert after[1] < 1.25 * before[1]
    assert after[2] < before[2]
    assert after[3] < 0.75 * before[3]


def test_parts_lowered_axis_by_axis_alone_would_spoil_the_margins(
    sparse: list[Margins], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consistency, "least_squares_from_zero", lambda terms: terms[0][0])
    assert mean_squares(moved(sparse))[1] > 2 * mean_squares(sparse)[1]


def test_without_the_finest_margin_each_negative_number_is_moved_for_itself() -> None:
    own: list[Margin] = [(0, 1), (2,), (0, 2)]
    draws = sparse_draws(Seeded(13))
    least = consistent(SPARSE_SIZES, {margin: draws[margin] for margin in own}, own)
    found = from_zero(SPARSE_SIZES, least, add_up=True)
    for margin in own:
        assert [one.exact for one in found[margin]] == [max(0, one.exact) for one in least[margin]]


def test_an_answer_of_its_own_that_is_not_negative_stays_what_it_is() -> None:
    draws = sparse_draws(Seeded(14))
    found = from_zero(SPARSE_SIZES, draws, add_up=False)
    for margin in CUBE:
        for before, one in zip(draws[margin], found[margin], strict=True):
            assert one is before if before.value >= 0 else (one.value, one.interval()[0]) == (0, 0)
