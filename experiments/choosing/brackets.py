"""Quantiles that start from an earlier one's answer: rank errors before and after, by integration.

``python -m experiments.choosing.brackets``: on the made-up sets, thinned out, with one budget for all.
A quantile chooses octaves first and then a range within them (``mechanisms/rank.py``). With an answer that
is known already, of the same question at the same share, octaves around it are likelier and cost less of the
share, or nothing is spent on them and ranges around it are likelier. Errors are means over all draws, in
percent of the records; the known answer is each of 25 quantiles of its own distribution. See README.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from experiments.choosing.cases import synthetic_sets
from experiments.choosing.laws import Floats, choice

RECORDS, BUDGET, OCTAVES, FINE = 2000, 0.1, 40, 32
QUANTILES = (0.1, 0.5, 0.9)
SHARES = (1.0, 0.1, 0.01)
FALL = 0.5
SIDES = 0.2
LEAST = 1e-3  # of ties: a range that holds the quantile is off by nothing


@dataclass(frozen=True, slots=True)
class Table:
    """A made-up table: how many records lie in each range, from 1 on, of which an octave has ``FINE``."""

    name: str
    counts: Floats

    def off(self, quantile: float) -> Floats:
        """Return by how many records each range is wrong."""
        up_to = np.cumsum(self.counts)
        target = quantile * up_to[-1]
        return np.asarray(np.maximum(0.0, np.maximum(up_to - self.counts - target, target - up_to)))


def tables() -> list[Table]:
    """Return the made-up sets, thinned out evenly."""
    found = []
    for data in synthetic_sets():
        values = np.sort(data.values)[np.linspace(0, data.values.size - 1, RECORDS).astype(int)]
        ranges = np.floor(np.log2(np.maximum(1, values)) * FINE).astype(int)
        found.append(Table(data.name, np.bincount(ranges, minlength=OCTAVES * FINE).astype(float)))
    return found


def bracketed(
    table: Table, quantile: float, share: float, parts: tuple[float, float], near: Floats | None = None
) -> Floats:
    """Return the chances of ranges: octaves by the mass outside of them, then a range by its rank.

    Args:
        table: The records.
        quantile: Which one is asked for.
        share: The part of every record's budget.
        parts: What of it chooses octaves, and what chooses a range.
        near: By how much the log-weight of a bracket is lowered that misses a known answer: for each octave,
            how far it is from that one's. None where nothing is known.
    """
    first, last = np.triu_indices(OCTAVES)
    octaves = np.add.reduceat(table.counts, np.arange(0, OCTAVES * FINE, FINE))
    below = np.concatenate([[0.0], np.cumsum(octaves)])
    outside = below[-1] - below[last + 1] + below[first]
    penalties = parts[0] * share * BUDGET * outside + FALL * (last - first)
    if near is not None:
        known = int(near.argmin())
        missed = (last < known) | (first > known)
        penalties += np.where(missed, np.minimum(near[first], near[last]), 0.0)
    wrong = parts[1] * share * BUDGET * table.off(quantile) / (2 * max(quantile, 1 - quantile))
    found = np.zeros(table.counts.size)
    for bracket in np.flatnonzero((chances := choice(penalties)) > 1e-7):
        inside = slice(first[bracket] * FINE, (last[bracket] + 1) * FINE)
        found[inside] += chances[bracket] * choice(wrong[inside])
    return found


def around(fall: float) -> Callable[[int], Floats]:
    """Return penalties of octaves around a known range, which fall off so fast, and no further than 6."""
    return lambda known: np.minimum(6.0, fall * np.abs(np.arange(OCTAVES) - known // FINE))


def ranged(table: Table, quantile: float, share: float, known: int, *, fall: float) -> Floats:
    """Return the chances of ranges by their rank alone, those around a known one likelier."""
    away = np.minimum(8.0, fall * np.abs(np.arange(table.counts.size) - known) / FINE)
    return choice(
        (1 - SIDES) * share * BUDGET * table.off(quantile) / (2 * max(quantile, 1 - quantile)) + away
    )


def mixed(first: Floats, then: Callable[[int], Floats]) -> Floats:
    """Return the chances of a second answer, over 25 first ones that are equally likely."""
    known = np.searchsorted(np.cumsum(first), (np.arange(25) + 0.5) / 25)
    return np.asarray(sum(map(then, map(int, known))) / known.size)


def measured(share: float) -> dict[str, Floats]:
    """Return the mean errors of all sets and quantiles, for each way to ask."""
    rows: dict[str, list[float]] = {name: [] for name in ("before", *WAYS)}
    for table, quantile in product(tables(), QUANTILES):
        off = 100 * table.off(quantile) / RECORDS
        first = bracketed(table, quantile, share, BEFORE)
        rows["before"].append(float(first @ off))
        for name, way in WAYS.items():
            rows[name].append(float(mixed(first, partial(way, table, quantile, share)) @ off))
    return {name: np.array(errors) for name, errors in rows.items()}


BEFORE = (0.2, 0.6)
WAYS: dict[str, Callable[[Table, float, float, int], Floats]] = {
    "octaves 10 %, fall 1": lambda t, q, s, k: bracketed(t, q, s, (0.1, 0.7), around(1.0)(k)),
    "octaves 5 %, fall 2": lambda t, q, s, k: bracketed(t, q, s, (0.05, 0.75), around(2.0)(k)),
    "ranges alone, fall 1/2": lambda t, q, s, k: ranged(t, q, s, k, fall=0.5),
    "ranges alone, fall 2": lambda t, q, s, k: ranged(t, q, s, k, fall=2.0),
    "ranges alone, no fall": lambda t, q, s, k: ranged(t, q, s, k, fall=0.0),
}


def main() -> None:
    print(f"{RECORDS} records of budget {BUDGET}, sides {SIDES}: mean rank error in %, geometric mean over")
    print(f"{len(tables())} sets and quantiles {QUANTILES}; after / before in brackets, the worst last")
    for share in SHARES:
        logs = {name: np.log(np.maximum(LEAST, errors)) for name, errors in measured(share).items()}
        for name, errors in logs.items():
            ratio = errors - logs["before"]
            error = np.exp(ratio.mean()) * ratio.std() / np.sqrt(ratio.size)
            shown = f"({np.exp(ratio.mean()):.3f} ± {error:.3f}, {np.exp(ratio.max()):.2f})"
            print(f"share {share:<5g} {name:24} {np.exp(errors.mean()):8.3f} {shown}", flush=True)


if __name__ == "__main__":
    main()
