"""Settings for a question that starts from a known point, by integration: error and width, after over before.

``python -m experiments.choosing.known``: the known point is that of the same question at the same share;
``--first 1/10`` is that of another share, ``--octaves 2`` one that is 2 octaves too high (``-2`` too low),
``--keeping chance`` that of all records for a fifth of them, drawn by chance, and ``--keeping small`` for one
that keeps small values. ``--choice``, ``--beyond``, ``--up`` and ``--down`` are the settings. See README.md;
``hints.py`` draws from the library itself.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from fractions import Fraction
from unittest import mock

import numpy as np

from experiments.choosing import cases as made_up
from experiments.choosing.cases import SHARES, Case, cases
from experiments.choosing.figures import Branch, figures
from experiments.choosing.laws import Floats, flips
from experiments.choosing.rules import now, strided
from experiments.datasets import DataSet
from prdp.mechanisms._threshold import PointFinder, Tuning
from prdp.release.bias import Clipping
from prdp.release.excluded_tail import OCTAVES
from prdp.release.interval import error_bounds

WHOLE = Tuning(Fraction(1), Fraction(1), Fraction(5, 2))
FAILURE, TAIL_FACTOR = Fraction(1, 20), Fraction(8)
FINE = 10**6  # steps of the lattice on which widths are worked out, for a point of 1


def width(tuning: Tuning, *, blind: bool) -> float:
    """Return the width of an interval by the choice alone, for a point and a share of 1."""
    at = Fraction(FINE)
    clipping = Clipping(at, at * FINE, tuning.choice, tuning.fall, tuning.stride, blind=blind)
    found = error_bounds((at / tuning.answer,), "laplace", clipping, FAILURE, TAIL_FACTOR)
    return np.inf if found.above is None else float((found.below or 0) + found.above) / FINE


def measured_width(beyond: Fraction, answer: Fraction) -> float:
    """Return that of an interval for which it was measured that nothing lies beyond the point."""
    scales = [1 / answer, *(times / beyond for times in OCTAVES)]
    noise, both = (
        error_bounds(tuple(scale * FINE for scale in each), "laplace", None, 2 * failure, Fraction(1)).above
        for each, failure in ((scales[:1], FAILURE / 5), (scales, FAILURE * 4 / 5))
    )
    return float((noise or 0) + (both or 0)) / FINE


def excess(case: Case) -> Floats:
    """Return what records up to 8 times beyond each point have there."""
    masses = -np.diff(case.masses)
    middles = np.sqrt(case.points[1:] * case.points[:-1])
    within = (middles > case.points[:, None]) & (case.points[1:] <= 8.001 * case.points[:, None])
    return np.asarray(np.where(within, masses * (middles - case.points[:, None]), 0.0).sum(axis=1))


def warm(case: Case, share: float, known: int, asked: argparse.Namespace) -> Floats:
    """Return the chances of points, of which one is known."""
    places = strided(case, 2)
    octaves = case.heights[places] / 4
    away = octaves - case.heights[known] / 4 - asked.octaves
    near = np.where(away > 0, asked.up * away, -asked.down * away)
    whole = 3 + np.array(WHOLE.climbs(tuple(case.heights[places].tolist())), float)
    found = np.zeros(case.points.size)
    found[places] = flips(float(asked.choice) * share * case.masses[places] + np.minimum(near, whole))
    return found


def median(values: Floats, chances: Floats) -> float:
    """Return the value that lies in the middle of a distribution."""
    order = np.argsort(values)
    return float(values[order][np.searchsorted(np.cumsum(chances[order]), chances.sum() / 2)])


def compared(case: Case, earlier: Case, place: int, asked: argparse.Namespace) -> tuple[float, float]:
    """Return errors and widths, after over before; no width where most have no end before."""
    share = float(SHARES[place])
    finder = PointFinder.for_totals(SHARES[place])
    own, first = now(case, share), now(earlier, float(asked.first or share))
    answer = 1 - asked.choice - asked.beyond
    chances = np.zeros(case.points.size)
    for branch in first[:-1]:  # the last is too poor to tell
        for known in np.flatnonzero(branch.chances > 1e-5):
            chances += branch.chances[known] * warm(case, share, int(known), asked)
    lost = float(first[-1].chances.sum())
    after = [Branch(chances, float(answer)), *(Branch(lost * one.chances, one.part) for one in own)]
    errors = [figures(case, share, case.oracles[place], each).trimmed for each in (after, own)]
    by_choice = np.concatenate(
        [width(tuning, blind=margin is None) * case.points / share for margin, tuning in finder.tunings]
    )
    old = np.concatenate([branch.chances for branch in own])
    new = measured_width(asked.beyond, answer) * case.points / share + excess(case)
    widths = median(np.append(new, by_choice), np.append(chances, lost * old)), median(by_choice, old)
    return errors[0] / errors[1], widths[0] / widths[1] if np.isfinite(widths).all() else np.nan


def kept(keeping: str) -> Iterator[DataSet]:
    """Yield the synthetic sets, a fifth of each."""
    random = np.random.default_rng(7)
    for data in made_up.synthetic_sets():
        rank = np.argsort(np.argsort(data.values, kind="stable"), kind="stable") / data.values.size
        chance = 0.6 * (1 - rank) ** 2 if keeping == "small" else 0.2
        yield DataSet(data.name, data.values[random.random(rank.size) < chance])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--first", type=Fraction, help="the share that the known point is from")
    parser.add_argument("--octaves", type=float, default=0.0, help="by how many octaves it is off")
    parser.add_argument("--keeping", choices=("chance", "small"), help="ask about a fifth of the records")
    for name, value in (("choice", "0.06"), ("beyond", "0.07")):
        parser.add_argument(f"--{name}", type=Fraction, default=Fraction(value), help="a part of the share")
    for name in ("up", "down"):
        parser.add_argument(f"--{name}", type=float, default=4.0, help="the fall an octave")
    asked = parser.parse_args()
    whole = {case.name: case for case in cases(None) if case.above_foot.any()}
    found = whole
    if asked.keeping:
        with mock.patch.object(made_up, "sets", return_value=kept(asked.keeping)):
            found = {case.name: case for case in cases(None) if case.above_foot.any()}
    for place, share in enumerate(SHARES):
        rows = np.array([compared(case, whole[name], place, asked) for name, case in found.items()])
        logs, worst = np.log(rows[:, 0]), rows[:, 0].max()
        print(
            f"share {share!s:6} {len(rows)} cases: error {np.exp(logs.mean()):.3f} (worst {worst:.2f}), "
            f"width {np.nanmedian(rows[:, 1]):.2f}"
        )


if __name__ == "__main__":
    main()
