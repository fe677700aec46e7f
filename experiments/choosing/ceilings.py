"""A wider filter's point as a ceiling for fewer records, by integration: errors, after over before.

``python -m experiments.choosing.ceilings``: a part of the records needs no higher point than all of them, so
points above the known one are charged 3 more, as those beyond the public bounds are; all else is as without
it. ``--gate`` also lets the gate measure a table's richness against the points below the ceiling alone.
See README.md, "Points that are known already".
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from fractions import Fraction
from unittest import mock

import numpy as np

from experiments.choosing import cases as made_up
from experiments.choosing.cases import SHARES, Case, cases
from experiments.choosing.figures import Branch, Figures, figures
from experiments.choosing.known import kept
from experiments.choosing.laws import Floats, flips
from experiments.choosing.rules import gated, lacks, now, strided
from prdp.mechanisms._threshold import PointFinder


def below(case: Case, share: float, ceiling: float, *, gate: bool) -> list[Branch]:
    """Return where the library's finder ends up if points above a height are charged more."""
    finder = PointFinder.for_totals(Fraction(share).limit_denominator(1000))
    leasts, chosen = [], []
    for margin, tuning in finder.tunings:
        places = strided(case, tuning.stride)
        heights = tuple(case.heights[places].tolist())
        usual = min(int(np.searchsorted(heights, ceiling)) + 1, len(heights))
        if margin is not None:
            leasts.append(float(finder.least(margin, tuning, heights[:usual] if gate else heights)))
        climbs = np.array(tuning.climbs(heights, usual), float)
        chances = np.zeros(case.points.size)
        masses = case.masses[places] + lacks(case, share, tuning)
        chances[places] = flips(float(tuning.seen) * share * masses + climbs)
        chosen.append(Branch(chances, float(tuning.answer)))
    ways = gated(case, share, float(finder.gate), leasts)
    return [Branch(way * one.chances, one.part) for way, one in zip(ways, chosen, strict=True)]


def compared(case: Case, earlier: Case, place: int, *, gate: bool) -> tuple[Figures, Figures]:
    """Return the figures with a ceiling, wherever the question about all records clipped, and without."""
    share = float(SHARES[place])
    own, first = now(case, share), now(earlier, share)
    lost = float(first[-1].chances.sum())  # too poor to tell: no ceiling
    chances: dict[float, Floats] = defaultdict(lambda: np.zeros(case.points.size))
    found = np.sum([branch.chances for branch in first[:-1]], axis=0)
    for known in np.flatnonzero(found > 1e-4):
        at = min(int(np.searchsorted(case.points, 0.999 * earlier.points[known])), case.points.size - 1)
        for branch in below(case, share, case.heights[at], gate=gate):
            chances[branch.part] = chances[branch.part] + found[known] * branch.chances
    after = [Branch(each, part) for part, each in chances.items()]
    after += [Branch(lost * branch.chances, branch.part) for branch in own]
    new, old = (figures(case, share, case.oracles[place], each) for each in (after, own))
    return new, old


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--gate", action="store_true", help="measure richness below the ceiling alone")
    gate = parser.parse_args().gate
    whole = {case.name: case for case in cases(None) if case.above_foot.any()}
    for keeping in ("chance", "small"):
        with mock.patch.object(made_up, "sets", return_value=kept(keeping)):
            fewer = [case for case in cases(None) if case.above_foot.any()]
        for place, share in enumerate(SHARES):
            pairs = [compared(case, whole[case.name], place, gate=gate) for case in fewer]
            shown = []
            for name in ("trimmed", "p99", "mean"):
                logs = np.array([np.log(getattr(new, name) / getattr(old, name)) for new, old in pairs])
                ratio, error, worst = np.exp(logs.mean()), logs.std() / np.sqrt(logs.size), np.exp(logs.max())
                shown.append(f"{name} {ratio:.3f} ± {ratio * error:.3f} (worst {worst:.2f})")
            print(f"a fifth, by {keeping}, share {share!s:6} {'; '.join(shown)}", flush=True)


if __name__ == "__main__":
    main()
