"""Margins by least squares add up, err as little as the formula says, and their intervals cover the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.release.bias import Clipping, Dropped
from prdp.release.consistency import Lattice, Margin, consistent, margins_to_ask
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
        true = margin_of(margin) if len(margin) < 2 else np.ravel(TRUTH)
        noise = DiscreteLaplace(scale).draw_many(entropy, len(true))
        found[margin] = [
            Release("count", int(n) + int(e), Fraction(1), (scale,), Fraction(1, 10), "clip", whole=True)
            for n, e in zip(true, noise, strict=True)
        ]
    return found


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
