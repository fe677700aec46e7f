"""How accurate the local model is beyond the paper's table: sums, and errors of counts against n.

Run ``python -m experiments.local --data FOLDER``. One virtual client for each record, all of whose budget is
used (share 1), β = 0.1. For counts the noise is exact, by ``prdp.local.simulate``; for sums it is normal, by
``carried`` below (``--exact`` draws it as it is, and has the paper's framework too). Counts on every set are
Table 4 of the paper: ``python -m experiments.paper --only table_4``.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from experiments.choosing.cases import synthetic_sets
from experiments.datasets import DataSet, normal, real
from experiments.paper.report.figures import png
from experiments.paper.report.parts import Figure, Line, Panel
from experiments.studies import COUNT_WAYS, POLICY, SUMS, errors_among
from experiments.yardsticks import slope, trimmed
from prdp.local import Bit, Campaign, Crowd, Estimate, Study, Tally, simulate
from prdp.local.protocols.counting import laplace_deviation
from prdp.local.protocols.summing import ProportionalSum, RatioGrid, RatioMass, RatioSum

SIZES = (1_000, 3_162, 10_000, 31_623, 100_000, 316_228, 1_000_000)


def sums(sets: list[DataSet], runs: int, seed: int, share: str, *, exactly: bool) -> Iterator[str]:
    """Yield the table of sums: relative errors in percent, 20 % trimmed each side, and what intervals cover.

    An interval without ends, of a run that heard nothing, covers; how many runs heard is a column. Widths are
    medians in percent of the truth.
    """
    yield f"sum, inverse policy, share {share}, β = 0.1, {runs} runs, seed {seed}: error in %, 20 % trimmed"
    names = ("error", "± s.e.", "p90", "p99", "mean", "heard", "covers", "noise", "width")
    yield f"{'set':14}{'clients':>9}  {'method':26}" + "".join(f"{name:>10}" for name in names)
    for data in sets:
        crowd, truth = Crowd.of({"v": data.values}, POLICY), float(data.values.sum())
        for name, given in SUMS.items() if exactly else list(SUMS.items())[:2]:
            study = replace(given, share=share)
            found = (
                simulate(study, crowd, runs=runs, seed=seed) if exactly else carried(study, crowd, runs, seed)
            )
            off = np.array([100 * abs(estimate.value - truth) / truth for estimate in found])
            middle, error = trimmed(off)
            yield (
                f"{data.name:14}{data.values.size:9,}  {name:26}{middle:10.2f}{error:10.2f}"
                f"{np.quantile(off, 0.9):10.4g}{np.quantile(off, 0.99):10.4g}{off.mean():10.4g}"
                + "".join(f"{figure:10.3g}" for figure in coverage(found, truth))
            )


def carried(study: Study, crowd: Crowd, runs: int, seed: int) -> list[Estimate]:
    """Carry a study through, with totals that are normal variables of the right mean and variance.

    Of tens of thousands of clients they have nearly that law, and are drawn a thousand times as fast. All
    that follows from them is the library's.
    """
    random, found = np.random.default_rng(seed), []
    known: dict[str, list[tuple[int | float, float]]] = {}
    for _ in range(runs):
        going = study.rounds()
        campaign = next(going)
        while True:
            if campaign.text not in known:
                known[campaign.text] = moments(campaign, crowd)
            reported = known[campaign.text]
            drawn = tuple(round(mean + noise * random.standard_normal()) for mean, noise in reported)
            try:
                campaign = going.send(Tally(len(crowd), drawn))
            except StopIteration as done:
                found.append(done.value)
                break
    return found


def moments(campaign: Campaign, crowd: Crowd) -> list[tuple[int | float, float]]:
    """Return mean and deviation of each total, for the rounds of sums by ratio and in proportion."""
    protocol, terms = campaign.protocol, campaign.terms
    if isinstance(protocol, ProportionalSum):
        levels = range(crowd.grid.top + 1)
        limits = [min(2**62, protocol.limit(terms, crowd.quanta(level))) for level in levels]
        cut = np.array([*limits, 0], np.int64)[crowd.levels]
        kept = np.clip(crowd.steps(protocol.measure), -cut, cut)
        return [(int(kept.sum()), laplace_deviation(len(crowd), float(protocol.scale(terms))))]
    if not isinstance(protocol, RatioSum | RatioMass):
        raise TypeError(f"{type(protocol).__name__} has no moments here")
    octaves = crowd.octaves(RatioGrid(terms, protocol.measure))
    places = range(len(campaign.fields))
    if isinstance(protocol, RatioSum):
        values = crowd.steps(protocol.measure)
        noises = [laplace_deviation(len(crowd), float(scale)) for scale in protocol.scales(terms)]
        return [(int(values[octaves == place].sum()), noises[place]) for place in places]
    nothing = float(Bit.of(protocol.most(terms)).heads(64)[0] / 2**64)
    bits = [protocol.bit(terms, crowd.quanta(level)) for level in range(crowd.grid.top + 1)]
    own = [bit.heads(64)[0] / 2**64 for bit in bits]
    chances = np.array([*own, nothing])[crowd.levels]
    inside = [chances[octaves == place] for place in places]
    rest = [len(crowd) - part.size for part in inside]
    return [
        (part.sum() + left * nothing, math.sqrt((part * (1 - part)).sum() + left * nothing * (1 - nothing)))
        for part, left in zip(inside, rest, strict=True)
    ]


def coverage(found: Sequence[Estimate], truth: float) -> tuple[float, float, float, float]:
    """Return the parts of runs that heard, that intervals cover, that the noise's cover, and the width."""
    ends = [estimate.interval() for estimate in found]
    heard = [estimate for estimate in found if not estimate.unheard]
    held = float(np.mean([low <= truth <= high for low, high in ends]))
    noise = [bool(one.unheard) or abs(one.value - truth) <= 1.96 * one.deviation for one in found]
    widths = [high - low for low, high in ends if np.isfinite(high)]
    width = 100 * float(np.median(widths)) / truth if widths else np.nan
    return len(heard) / len(found), held, float(np.mean(noise)), width


def against_n(runs: int, seed: int) -> dict[str, list[tuple[float, float]]]:
    """Return the trimmed error in clients against their number, for some ways of counting."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for n in SIZES:
        values = normal("", 50_000, n, seed).values
        for name, study in COUNT_WAYS.items():
            found, truth = errors_among(values, "count", study, runs, seed)
            lines.setdefault(name, []).append((float(n), trimmed(found)[0] * truth / 100))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the real sets' Parquet files")
    parser.add_argument("--runs", type=int, default=500, help="how often each question is asked")
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument("--share", default="1", help="of every budget, for sums")
    parser.add_argument("--exact", action="store_true", help="sums by exact noise, and the framework's too")
    parser.add_argument("--made-up", action="store_true", help="sums of the sets that rules are chosen on")
    parser.add_argument("--only", choices=("sum", "n"), help="one table instead of both")
    parser.add_argument("--figure", type=Path, help="where to write the figure of errors against n, as PNG")
    arguments = parser.parse_args()
    runs, seed, folder = arguments.runs, arguments.seed, arguments.data
    named = [normal("Normal(50k)", 50_000), *(real(name, folder) for name in ("Bank", "SF", "CBP") if folder)]
    sets = [data for data in named if data is not None]
    if arguments.only in (None, "sum"):
        if arguments.made_up:
            sets = list(synthetic_sets())
        for line in sums(sets, runs, seed, arguments.share, exactly=arguments.exact):
            print(line, flush=True)
        print()
    if arguments.only in (None, "n"):
        show_against_n(max(20, runs // 5), seed, arguments.figure)


def show_against_n(runs: int, seed: int, figure: Path | None) -> None:
    lines = against_n(runs, seed)
    print(f"count, Normal(50k): error in clients against n, {runs} runs, seed {seed}; √n has the slope 0.5")
    print(f"{'n':>26}" + "".join(f"{n:11,}" for n in SIZES) + f"{'slope':>8}")
    for name, points in lines.items():
        print(f"{name:26}" + "".join(f"{error:11,.1f}" for _, error in points) + f"{slope(points)[0]:8.2f}")
    if figure:
        start = lines["1/4 for all, bits"][0][1]
        lines["√n"] = [(float(n), start * math.sqrt(n / SIZES[0])) for n in SIZES]
        drawn = tuple(Line(name, tuple(points)) for name, points in lines.items())
        title = "Counting clients under PrLDP: error against n"
        panel = Panel(title, "clients", "error in clients", drawn)
        figure.write_bytes(png(Figure("local_error", title, (panel,))))


if __name__ == "__main__":
    main()
