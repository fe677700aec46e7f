"""Quantiles, maxima, counts within tight bounds: how far off they are, how often their intervals cover.

Run ``python -m experiments.quantiles --data FOLDER``; ``--only maxima`` (quantiles, bounds, distinct)
for one table. A quantile is *lost* where its rank is off by more than 40 % of the records. Rank errors are in
percent of the records; *covered* is how often ``interval()`` at 95 % holds the truth, for the noise alone
(reach 1), and *width* the median width of such an interval in ranks, in percent; open ends reach to the end.
The parameters of quantiles were chosen on synthetic sets alone, before these were looked at. So were those of
maxima, after a first choice had doubled the rank error on Bank; the price of points beyond the bounds was set
on Bank.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from math import isinf, sqrt
from pathlib import Path

import numpy as np
import pyarrow.parquet

import prdp
from experiments.yardsticks import Floats
from prdp.testing import simulate

QUANTILES = ("0.01", "0.1", "0.5", "0.9", "0.99")
SHARES = ("1/100", "1/20", "1/5", "1")
LOST = 40.0
PAY = (-1000, 10**7)
POLICIES = {
    "inverse": prdp.Policy("10000 / greatest(total_pay, 100)"),
    "root": prdp.Policy("30 / sqrt(greatest(total_pay, 100))"),
    "constant": prdp.Policy.constant("1/10"),
}
BUDGETS = (1, 10, 100, 10**4, 10**6, 10**9)


@dataclass(frozen=True, slots=True)
class Ranks:
    """The ranks of answers to one quantile of one group.

    Attributes:
        off: By how much each answer's rank is off, in percent.
        covered: Whether each interval holds the quantile.
        width: How wide each interval is, in percent of the records.
    """

    off: Floats
    covered: Floats
    width: Floats


def ranks(values: Floats, part: float, releases: list[prdp.Release]) -> Ranks:
    """Return what answers are worth; within ties an answer is off by nothing."""
    ordered = np.sort(values)
    answers = np.array([float(release.value) for release in releases])
    low, high = np.array([release.interval(tail_factor=1) for release in releases]).T
    below = np.searchsorted(ordered, answers, side="left") / ordered.size
    up_to = np.searchsorted(ordered, answers, side="right") / ordered.size
    truth = np.quantile(ordered, part, method="inverted_cdf")
    from_, to = np.searchsorted(ordered, low, side="left"), np.searchsorted(ordered, high, side="right")
    return Ranks(
        off=100 * np.maximum(0, np.maximum(below - part, part - up_to)),
        covered=((low <= truth) & (truth <= high)).astype(float),
        width=100 * (to - from_) / ordered.size,
    )


def asked_quantiles(path: Path, runs: int, seed: int) -> Iterator[str]:
    """Yield the lines of the table of quantiles."""
    read = pyarrow.parquet.read_table(path, columns=["total_pay", "year"])
    pay, year = read["total_pay"].to_numpy(), read["year"].to_numpy()
    years = sorted(set(year.tolist()))
    yield f"SF pay, bounds {PAY}, rounding step 0.01; {runs} runs, seed {seed}; by year, all years together"
    yield "policy    groups  share  q      lost ± s.e.      median      p95     covered     width"
    for name, policy in POLICIES.items():
        table = prdp.open(
            path, policy=policy, bounds={"total_pay": PAY}, round_to={"total_pay": "0.01"}, synthetic=True
        )
        for grouped in (False, True):
            parts = [pay[year == one] for one in years] if grouped else [pay]
            source = table.group_by("year", keys=years) if grouped else table
            for share in SHARES:
                for quantile in QUANTILES:
                    drawn = simulate(
                        source, prdp.quantile("total_pay", quantile), share=share, runs=runs, seed=seed
                    )
                    found = [
                        ranks(part, float(quantile), [_of(one, place) for one in drawn])
                        for place, part in enumerate(parts)
                    ]
                    where = f"{name:10}{'year' if grouped else 'all':8}{share:7}{quantile:5}"
                    yield where + _line(found)


def _of(drawn: prdp.Release | prdp.ReleaseTable, place: int) -> prdp.Release:
    return drawn if isinstance(drawn, prdp.Release) else drawn.releases[place][0]


def _line(found: list[Ranks]) -> str:
    off = np.concatenate([each.off for each in found])
    lost = float(np.mean(off > LOST))
    error = sqrt(lost * (1 - lost) / off.size)
    covered = float(np.mean(np.concatenate([each.covered for each in found])))
    width = float(np.median(np.concatenate([each.width for each in found])))
    figures = f"{np.median(off):10.2f}{np.quantile(off, 0.95):9.2f}{100 * covered:10.1f} %{width:9.1f}"
    return f"{100 * lost:8.1f} ± {100 * error:.1f} %{figures}"


def asked_maxima(runs: int, seed: int) -> Iterator[str]:
    """Yield the lines of the table of maxima: of a thousand made-up numbers, one budget for all."""
    rng = np.random.default_rng(seed)
    sets = {
        "even": np.append(rng.integers(1, 999, 999), 999),
        "tailed": np.append(np.minimum(998, np.rint(rng.lognormal(4, 1, 999))), 999).astype(np.int64),
    }
    yield f"largest of 1,000 numbers, true maximum 999, bounds 0 to 10^9; {runs} runs, seed {seed}, share 1"
    yield "set       budget      median      p5      p95    largest   covered   median low end"
    for name, values in sets.items():
        for budget in BUDGETS:
            table = prdp.open(
                {"v": values}, policy=prdp.Policy.constant(budget), bounds={"v": (0, 10**9)}, synthetic=True
            )
            drawn = simulate(table, prdp.max("v"), runs=runs, seed=seed)
            answers = np.array([float(release.value) for release in drawn])
            low, high = np.array([release.interval() for release in drawn]).T
            covered = 100 * np.mean((low <= 999) & (high >= 999))
            five, ninety_five = np.quantile(answers, [0.05, 0.95])
            yield (
                f"{name:8}{budget:8.0e}{np.median(answers):12.0f}{five:9.0f}{ninety_five:9.0f}{answers.max():11.0f}"
                f"{covered:9.1f} %{np.median(low):12.0f}"
            )


def asked_within_bounds(path: Path, runs: int, seed: int) -> Iterator[str]:
    """Yield the lines of the table of counts and sums whose bounds are narrower than the data."""
    balance = pyarrow.parquet.read_table(path, columns=["balance"])["balance"].to_numpy()
    policy = prdp.Policy("10000 / greatest(abs(balance), 100)")
    yield f"Bank, 10000 / greatest(abs(balance), 100); {runs} runs, seed {seed}; errors: median, p95"
    yield "bounds        records      share  question     truth         median answer    median error     p95"
    for most in (1000, 10**5, 10**8):
        for tight in (False, True):
            table = prdp.open(path, policy=policy, bounds={"balance": (-most, most)}, synthetic=True)
            kept = np.abs(balance) <= most if tight else np.full(balance.size, fill_value=True)
            source = table.filter(f"abs(balance) <= {most}") if tight else table
            values = np.clip(balance[kept], -most, most)
            for share in ("1", "1/10", "1/100"):
                for query, truth in ((prdp.count(), values.size), (prdp.sum("balance"), int(values.sum()))):
                    drawn = simulate(source, query, share=share, runs=runs, seed=seed)
                    answers = np.array([float(release.value) for release in drawn])
                    off = np.abs(answers - truth)
                    yield (
                        f"±{most:<12.0e}{'within' if tight else 'all':12}{share:6} {query!s:16}{truth:12,}"
                        f"{np.median(answers):18,.0f}{np.median(off):16,.1f}{np.quantile(off, 0.95):14,.1f}"
                    )


def asked_distinct(path: Path, runs: int, seed: int) -> Iterator[str]:
    """Yield the lines of the table of distinct counts."""
    titles = pyarrow.parquet.read_table(path, columns=["job_title"])["job_title"].to_pylist()
    truth = len(set(titles))
    yield f"SF, distinct job_title: {truth:,}; {runs} runs, seed {seed}; covered and median ends by reach"
    for name, policy in POLICIES.items():
        table = prdp.open(path, policy=policy, bounds={"total_pay": PAY}, synthetic=True)
        for share in ("1", "1/10", "1/100"):
            drawn = simulate(table, prdp.count_distinct("job_title"), share=share, runs=runs, seed=seed)
            answers = np.median([float(release.value) for release in drawn])
            line = f"{name:10}{share:7}{answers:8.0f}"
            for tail_factor in (1, 2, 8):
                low, high = np.array([release.interval(tail_factor=tail_factor) for release in drawn]).T
                covered = 100 * np.mean((low <= truth) & (truth <= high))
                end = float(np.median(high))
                ends = f"{np.median(low):6.0f} .. {'open' if isinf(end) else f'{end:.0f}'}"
                line += f"  |{tail_factor:2}: {covered:5.1f} % {ends}"
            yield line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the real sets' Parquet files")
    parser.add_argument("--runs", type=int, default=200, help="how often each question is asked")
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument("--only", choices=("quantiles", "maxima", "bounds", "distinct"), action="append")
    arguments = parser.parse_args()
    reported = arguments.runs, arguments.seed
    tables = {"quantiles": (asked_quantiles, "sf_salary"), "bounds": (asked_within_bounds, "bank")}
    tables["distinct"] = (asked_distinct, "sf_salary")
    for name in arguments.only or ("quantiles", "maxima", "bounds", "distinct"):
        if name == "maxima":
            lines = asked_maxima(*reported)
        else:
            asked, file = tables[name]
            path = arguments.data / f"{file}.parquet" if arguments.data else None
            if path is None or not path.exists():
                print(f"{name}: left out, {file}.parquet is not in a folder given by --data")
                continue
            lines = asked(path, *reported)
        for line in lines:
            print(line, flush=True)


if __name__ == "__main__":
    main()
