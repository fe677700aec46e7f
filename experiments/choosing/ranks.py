"""How a quantile finds its range: rank errors of several ways, by integration over synthetic sets.

``python -m experiments.choosing.ranks``: one budget for all, ``--richness`` units of budget over the share.
``--several 5`` asks for five quantiles at once. *error* is the mean rank error over that of ``before``
(octaves first and then a range within them), its geometric mean over sets, bounds and quantiles with its
standard error, and the worst case; *lost* is how often the rank is off by more than 40 %, *far* how often the
answer is more than 2 octaves away, both in percent. ``--started`` compares with choices that know an earlier
answer of the quantile (``--first`` times as rich, ``--moved`` by so many octaves). See README.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from experiments.choosing.cases import synthetic_sets
from experiments.choosing.laws import Floats, choice

FINE = 32
AROUND = 0.2
BOUNDS = ((40, False), (40, True), (27, False))
"""Octaves on each side of zero, and whether there is a side below zero."""
QUANTILES = ((0.5,), (0.25, 0.75), (0.05, 0.95), (0.01, 0.99))
RICHNESS = (20.0, 40.0, 60.0, 200.0, 600.0, 2000.0, 20_000.0)
LEAST = 1e-3  # percent: what is off by less is off by nothing

_EDGES = np.concatenate([[0], 10.0 ** np.arange(-5, -0.4, 0.5), [0.5, 0.75, 1]])
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_TIMES = np.concatenate([(b - a) / 2 * _NODES + (a + b) / 2 for a, b in pairwise(_EDGES)])
_PARTS = np.concatenate([(b - a) / 2 * _WEIGHTS for a, b in pairwise(_EDGES)])


def flips(penalties: Floats) -> Floats:
    """Return the chances of permute-and-flip among thousands, of which many are alike."""
    distinct, which, count = np.unique(np.round(penalties, 9), return_inverse=True, return_counts=True)
    weights = np.exp(distinct.min() - distinct)
    left = 1 - weights[:, None] * _TIMES
    rest = np.exp((count[:, None] * np.log(left)).sum(axis=0))
    chances = (weights * ((rest / left) @ _PARTS))[which]
    return np.asarray(chances / chances.sum())


@dataclass(frozen=True, slots=True)
class Table:
    """A made-up table: which part of its records lies in each range, of which an octave has ``FINE``.

    Attributes:
        parts: Of each range.
        octaves: The octave of each range; zero is one of its own.
        places: Where each range is, in octaves.
    """

    parts: Floats
    octaves: NDArray[np.int64]
    places: Floats

    @property
    def masses(self) -> Floats:
        """The part of the records in each octave."""
        return np.bincount(self.octaves, self.parts).astype(float)

    def off(self, quantile: float) -> Floats:
        """Return by how much each range's rank is off."""
        up_to = np.cumsum(self.parts)
        return np.asarray(np.maximum(0, np.maximum(up_to - self.parts - quantile, quantile - up_to)))

    def true(self, quantile: float) -> int:
        """Return the range that holds the quantile."""
        return int(np.searchsorted(np.cumsum(self.parts), quantile - 1e-12))


def table_of(values: Floats, octaves: int, *, signed: bool) -> Table:
    """Return the table of some values within bounds of so many octaves."""
    size = octaves * FINE
    ranges = np.floor(np.log2(np.maximum(1, values)) * FINE).clip(0, size - 1).astype(int)
    parts = np.concatenate([[0.0], np.bincount(ranges, minlength=size) / values.size])
    which = np.concatenate([[0], 1 + np.arange(size) // FINE])
    places = np.concatenate([[-1.0], (np.arange(size) + 0.5) / FINE])
    if signed:
        parts = np.concatenate([np.zeros(size), parts])
        which = np.concatenate([np.arange(size) // FINE, which + octaves])
        places = np.concatenate([-2 - places[:0:-1], places])
    return Table(parts, which, places)


def tables() -> list[Table]:
    """Return the synthetic sets within all bounds."""
    sets = [data.values.astype(float) for data in synthetic_sets()]
    return [table_of(values, many, signed=signed) for (many, signed), values in product(BOUNDS, sets)]


Way = Callable[[Table, float, float, int], Floats]
"""From a table, a quantile, the richness and how many quantiles are asked to the chances of ranges."""


def octaves_first(table: Table, quantile: float, rich: float, several: int) -> Floats:
    """Return the chances where a run of octaves is drawn for 20 % of the share, and then a range for 60 %."""
    number = table.octaves[-1] + 1
    first, last = np.triu_indices(number)
    below = np.concatenate([[0.0], np.cumsum(table.masses)])
    runs = -(0.2 * rich * (below[-1] - below[last + 1] + below[first]) + 0.5 * (last - first))
    runs -= np.logaddexp.reduce(runs)
    wrong = -0.6 * rich / several * table.off(quantile) / (2 * max(quantile, 1 - quantile))
    starts = np.flatnonzero(np.diff(table.octaves, prepend=-1))
    each = np.logaddexp.reduceat(wrong, starts)
    inside = np.concatenate([np.logaddexp.accumulate(each[start:]) for start in range(number)])
    found = np.full((number, number), -np.inf)
    found[first, last] = runs - inside
    holding = np.logaddexp.accumulate(np.logaddexp.accumulate(found, axis=0)[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(np.exp(wrong + np.diagonal(holding)[table.octaves]))


def whereabouts(
    table: Table, price: float, fall: float, quantile: float, *, one_sided: bool = False
) -> Floats:
    """Return the penalty of each octave: what the cheapest run of octaves that holds it costs."""
    below = np.concatenate([[0.0], np.cumsum(table.masses)])
    at = np.arange(below.size - 1)
    start, end = price * below[:-1] - fall * at, fall * at - price * below[1:]
    if one_sided and quantile > 0.5:
        start = price * below[:-1]
    if one_sided and quantile < 0.5:
        end = -price * below[1:]
    found = price + np.minimum.accumulate(start) + np.minimum.accumulate(end[::-1])[::-1]
    return np.asarray(found)


def at_once(
    table: Table,
    quantile: float,
    rich: float,
    several: int,
    *,
    most: float = 1 / 4,
    even: float = 0.0,
    fall: float = 1.0,
    draw: Callable[[Floats], Floats] = flips,
    lean: float = 1.0,
    one_sided: bool = False,
) -> Floats:
    """Return the chances where a range is drawn at once, by its rank and by where the mass lies.

    Args:
        table: The records.
        quantile: Which one is asked for.
        rich: The units of budget over the share.
        several: How many quantiles are asked at once.
        most: What of the choice goes by where the mass lies, for an outermost quantile; none for a median.
        even: The same for all quantiles.
        fall: What an octave costs.
        draw: Permute-and-flip, or the exponential choice.
        lean: How much more a rank too far inward costs than one too far outward.
        one_sided: Whether octaves are counted on the quantile's own side alone.
    """
    part = even or most * abs(2 * quantile - 1)
    share = (1 - AROUND) * rich / several
    outward = 1.0 if quantile > 0.5 else lean if quantile < 0.5 else 1.0
    inward = lean if quantile > 0.5 else 1.0
    up_to = np.cumsum(table.parts)
    too_far = outward * np.maximum(0, up_to - table.parts - quantile) + inward * np.maximum(
        0, quantile - up_to
    )
    top = max(inward * quantile, outward * (1 - quantile))
    spread = max(outward * quantile + top, inward * (1 - quantile) + top)
    octaves = whereabouts(table, part * share, fall, quantile, one_sided=one_sided)
    return draw((1 - part) * share * too_far / spread + octaves[table.octaves])


def warm(
    table: Table,
    quantile: float,
    rich: float,
    several: int,
    *,
    first: float,
    moved: float,
    fall: float,
    beside: float,
    most: float = 1 / 16,
) -> Floats:
    """Return the chances where an earlier answer is known: each of 9 quantiles of its own distribution.

    Args:
        table: The records.
        quantile: Which one is asked for, and was.
        rich: The units of budget over the share.
        several: How many quantiles are asked at once.
        first: How many times as many there were for the earlier answer.
        moved: By how many octaves it is off.
        fall: What an octave between a range and the known answer costs.
        beside: What all ranges cost, beside where the mass lies, that are far from it.
        most: What of the choice goes by where the mass lies, for an outermost quantile.
    """
    part = most * abs(2 * quantile - 1)
    share = (1 - AROUND) * rich / several
    ranks = (1 - part) * share * table.off(quantile) / (2 * max(quantile, 1 - quantile))
    whole = beside + whereabouts(table, part * share, 1.0, quantile)[table.octaves]
    earlier = np.cumsum(at_once(table, quantile, first * rich, several))
    places = np.searchsorted(earlier, (np.arange(9) + 0.5) / 9).clip(0, earlier.size - 1)
    near = [fall * np.abs(table.places - table.places[place] - moved) for place in places]
    return np.asarray(sum(flips(ranks + np.minimum(each, whole)) for each in near) / len(near))


def ways_from(first: float, moved: float) -> dict[str, Way]:
    """Return ways to start from an earlier answer."""
    reported = partial(warm, first=first, moved=moved)
    tried = {
        (1.0, 3.0, 1 / 16),
        (2.0, 3.0, 1 / 16),
        (4.0, 3.0, 1 / 16),
        (2.0, 3.0, 1 / 8),
        (2.0, 6.0, 1 / 16),
    }
    ways: dict[str, Way] = {"not started": at_once}
    return ways | {
        f"fall {fall:g}, {beside:g} beside, {most:g}": partial(reported, fall=fall, beside=beside, most=most)
        for fall, beside, most in sorted(tried | {(1.0, 6.0, 0.0), (2.0, 2.0, 1 / 8)})
    }


WAYS: dict[str, Way] = {
    "before": octaves_first,
    "ranks alone, exponential": partial(at_once, most=0.0, draw=choice),
    "ranks alone": partial(at_once, most=0.0),
    "1/4 |2q-1|, fall 1": at_once,
    "the same, exponential": partial(at_once, draw=choice),
    "1/8 |2q-1|": partial(at_once, most=1 / 8),
    "3/16 |2q-1|": partial(at_once, most=3 / 16),
    "3/8 |2q-1|": partial(at_once, most=3 / 8),
    "1/4 for all": partial(at_once, even=1 / 4),
    "fall 0.7": partial(at_once, fall=0.7),
    "fall 1.4": partial(at_once, fall=1.4),
    "inward 0.7 times": partial(at_once, lean=0.7),
    "one-sided": partial(at_once, one_sided=True),
}


def figures(chances: Floats, table: Table, quantile: float) -> tuple[float, float, float, float]:
    """Return the mean error, its 95th percentile, how often it is lost, and how often far."""
    off = 100 * table.off(quantile)
    order = np.argsort(off)
    high = off[order][min(off.size - 1, int(np.searchsorted(np.cumsum(chances[order]), 0.95)))]
    away = np.abs(table.places - table.places[table.true(quantile)])
    return float(chances @ off), float(high), 100 * chances[off > 40].sum(), 100 * chances[away > 2].sum()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--richness", type=float, nargs="+", default=RICHNESS)
    parser.add_argument("--several", type=int, default=1, help="how many quantiles are asked at once")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--started", action="store_true", help="from an earlier answer")
    parser.add_argument("--first", type=float, default=1.0, help="how many times as rich it was")
    parser.add_argument("--moved", type=float, default=0.0, help="by how many octaves it is off")
    asked = parser.parse_args()
    sets = tables()
    ways = ways_from(asked.first, asked.moved) if asked.warm else {name: WAYS[name] for name in asked.ways}
    ways = ways if asked.warm else {"before": octaves_first} | ways
    base = next(iter(ways))
    for quantiles, rich in product(QUANTILES, asked.richness):
        print(f"quantiles {quantiles}, {rich:g} units: error (± s.e., worst), p95, lost, far", flush=True)
        cases = list(product(sets, quantiles))
        found = {
            name: np.array([figures(way(t, q, rich, asked.several), t, q) for t, q in cases])
            for name, way in ways.items()
        }
        for name, rows in found.items():
            logs = np.log(np.maximum(LEAST, rows[:, 0])) - np.log(np.maximum(LEAST, found[base][:, 0]))
            error = np.exp(logs.mean()) * logs.std() / np.sqrt(logs.size)
            p95, lost, far = rows[:, 1:].mean(axis=0)
            ratio = f"{np.exp(logs.mean()):.2f} ± {error:.2f}, {np.exp(logs.max()):.2f}"
            print(f"  {name:26} {rows[:, 0].mean():7.3f} ({ratio:19}) {p95:6.2f} {lost:6.2f} {far:6.2f}")


if __name__ == "__main__":
    main()
