"""What the error of ``truncate`` is made of on paths of two edges, beside the floor.

``python -m experiments.open_problems.sja_bound --data FOLDER``; reads the graph as it is, and is not private.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import prdp
from experiments.joins.email_graph import found, graph, greedy_floor
from prdp.cells.edges import Pairs
from prdp.graphs.results import CutStars
from prdp.mechanisms.smooth import two_paths
from prdp.mechanisms.truncate import candidate_points
from prdp.testing.truth import raw_cells


def oracle(pairs: Pairs, share: Fraction) -> tuple[float, float]:
    """Return the least of what is cut at b, plus b over the share, over all candidates, and what is cut.

    For every b: E|answer - Q| ≤ (Q - cut count at b) + b / share, the noise's mean size. So this is the error
    of ``truncate`` if somebody knew the best b and the choice cost nothing.
    """
    stars, true = CutStars.of(pairs, 2), two_paths(pairs)
    best = (float("inf"), 0.0)
    for point in candidate_points(stars, 1):
        cut = true - stars.value(point) / stars.steps
        noise = float(point / stars.steps / pairs.levels.quantum / share)
        best = min(best, (cut + noise, cut))
    return best


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    asked = parser.parse_args(arguments)
    opened = graph(found(asked.data))
    (pairs,) = raw_cells(opened, opened.plan(prdp.graphs.edges(), 1))
    true = two_paths(pairs)
    for share in (Fraction(1), Fraction(1, 10)):
        best, cut = oracle(pairs, share)
        floor = greedy_floor(pairs, float(share))
        print(
            f"share {share}: oracle {100 * best / true:.3g} % (of it cut {100 * cut / true:.3g} %), "
            f"floor {100 * floor / true:.3g} %"
        )


if __name__ == "__main__":
    main()
