"""Errors of ROLLUP: margins by least squares, beside each margin's own query and sums of the finest table.

Run ``python -m experiments.sql.margins --runs 200``: three made-up tables of counts under a constant policy,
all margins of a ROLLUP asked with equal parts of the share. Errors are root mean squares, in units of the
noise that one query with the whole share has.
"""

from __future__ import annotations

import argparse
from fractions import Fraction

import numpy as np

from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.release.consistency import Lattice, Margin, consistent, margins_to_ask
from prdp.release.release import Release
from prdp.testing import Seeded

TABLES = {"3 x 2": (3, 2), "16 x 12": (16, 12), "51 x 20 x 4": (51, 20, 4)}
ALONE = Fraction(20)


def drawn(true: np.ndarray, scale: Fraction, entropy: Seeded) -> list[Release]:
    noise = DiscreteLaplace(scale).draw_many(entropy, true.size)
    facts = (Fraction(1), (scale,), Fraction(1, 10), "clip")
    numbers = (int(n) + int(e) for n, e in zip(true.ravel(), noise, strict=True))
    return [Release("count", number, *facts, whole=True) for number in numbers]


def margin_of(table: np.ndarray, margin: Margin) -> np.ndarray:
    return np.asarray(table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in margin)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    runs = parser.parse_args().runs
    entropy = Seeded(38)
    print("| table | margin | own query | sums of the finest | least squares | interval / own | covered |")
    print("|---|---|---|---|---|---|---|")
    for name, sizes in TABLES.items():
        table = np.random.default_rng(1).integers(0, 400, sizes)
        wanted = [tuple(range(size)) for size in range(len(sizes), -1, -1)]
        asked = margins_to_ask(sizes, wanted)
        scale = ALONE * len(asked)
        errors: dict[Margin, list[np.ndarray]] = {margin: [] for margin in wanted}
        held: dict[Margin, list[bool]] = {margin: [] for margin in wanted}
        width: dict[Margin, float] = {}
        for _ in range(runs if np.prod(sizes) < 1000 else max(2, runs // 40)):
            released = {margin: drawn(margin_of(table, margin), scale, entropy) for margin in asked}
            found = consistent(sizes, released, wanted)
            for margin in wanted:
                true = margin_of(table, margin).ravel()
                errors[margin].append(np.array([float(one.exact) for one in found[margin]]) - true)
                low, high = found[margin][0].interval()
                held[margin].append(bool(low <= true[0] <= high))
                width[margin] = high - low
            totals = [sum(one.exact for one in found[margin]) for margin in wanted]
            if len(set(totals)) > 1:
                raise RuntimeError("margins do not add up")
        own = float(ALONE * len(wanted))
        lattice = Lattice(sizes, {wanted[0]: Fraction(1)})
        for margin in wanted:
            finest = float(ALONE * Fraction(lattice.variance(margin) or 0) ** Fraction(1, 2))
            error = np.sqrt(np.mean(np.square(np.concatenate(errors[margin])))) / np.sqrt(2)
            print(
                f"| {name} ({len(asked)} asked) | {len(margin)} columns | {own / 20:.2f} | "
                f"{finest / 20:.2f} | {error / 20:.2f} | {width[margin] / (2 * 3 * own):.2f} | "
                f"{np.mean(held[margin]):.2f} |"
            )


if __name__ == "__main__":
    main()
