"""How many keys a search finds, beside the (ε, δ) selection of others; groups by them; time and memory.

Run ``python -m experiments.found_keys --data FOLDER``; for the parts of TPC-H, put its ``lineitem.parquet``
there too (``tpchgen-cli parquet -s 0.1 --tables lineitem --output-dir=FOLDER``). ``--large`` measures time
and memory on ten million rows instead.

The others' numbers are expectations by what they state of themselves, for one record in one group, ε = share
and δ = 1e-9: OpenDP's and Tumult's noisy counts from a threshold on, PipelineDP's optimal selection. The
formulas agree with opendp 0.16, tmlt.core 0.20 and pipeline-dp 0.3.1. They promise less (a δ), and find keys
of any form.
"""

from __future__ import annotations

import argparse
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import prdp
from prdp.declare.key_search import KeySearch
from prdp.mechanisms.keys import threshold
from prdp.plan.key_plan import KeysPlan
from prdp.tables.base import reader_of
from prdp.testing import Seeded, simulate

SHARES = ("1/100", "1/10", "1")
DELTA = 1e-9
RUNS = 10
SEED = 20261117


@dataclass(frozen=True, slots=True)
class KeySet:
    """A column of a file whose keys are looked for, and budgets by another column."""

    name: str
    file: str
    column: str
    stated: dict[str, Any]
    by: str
    bounds: tuple[int, int]
    inverse: str
    growing: str

    def policies(self) -> dict[str, prdp.Policy]:
        """Return the three policies."""
        return {
            "constant": prdp.Policy("1"),
            "inverse": prdp.Policy(self.inverse, at_least="1/100000", at_most=10),
            "growing": prdp.Policy(self.growing, at_least="1/100000", at_most=10),
        }


PAY = ("total_pay", (1, 10**6), "10000 / total_pay", "total_pay / 100000")
CELLS = ("payroll_kusd", (1, 10**7), "1000 / payroll_kusd", "payroll_kusd / 10000")
PRICE = ("l_extendedprice", (1, 10**6), "10000 / l_extendedprice", "l_extendedprice / 100000")
SETS = (
    KeySet("SF job titles", "sf_salary.parquet", "job_title", {}, *PAY),
    KeySet("  95 letters alike", "sf_salary.parquet", "job_title", {"longest": 50}, *PAY),
    KeySet("CBP NAICS", "cbp_2021.parquet", "naics", {"pattern": "[0-9]{6}"}, *CELLS),
    KeySet("CBP FIPS", "cbp_2021.parquet", "fips", {"pattern": "[0-9]{5}"}, *CELLS),
    KeySet("TPC-H parts", "lineitem.parquet", "l_partkey", {"between": (1, 20_000)}, *PRICE),
)


def opened(one: KeySet, policy: prdp.Policy, folder: Path) -> prdp.Table:
    """Open a set as a synthetic table: its records are public."""
    facts: dict[str, Any] = {"policy": policy, "bounds": {one.by: one.bounds}, "round_to": {one.by: 1}}
    return prdp.open(folder / one.file, synthetic=True, **facts)


def kept(counts: np.ndarray[Any, Any], chance: np.ndarray[Any, Any]) -> float:
    """Return how many keys are expected, where a key of n records has the n-th chance."""
    return float(chance[np.minimum(counts, len(chance) - 1)].sum())


def others(counts: np.ndarray[Any, Any], epsilon: float) -> dict[str, float]:
    """Return how many keys others are expected to find, by library."""
    most = int(60 / epsilon)
    n = np.arange(most)
    a = math.exp(-epsilon)
    least = math.ceil(math.log(1 / (DELTA * (1 + a))) / epsilon)  # the least t with Pr[Z >= t] <= δ
    found = {}
    for name, limit in (("OpenDP", least), ("Tumult", least + 1)):
        gap = limit - n
        chance = np.where(gap > 0, a ** np.maximum(gap, 0), 1 + a - a ** (1 - np.minimum(gap, 0))) / (1 + a)
        found[name] = kept(counts, chance)
    optimal, chances = 0.0, []
    for _ in range(most):
        chances.append(optimal)
        optimal = min(math.exp(epsilon) * optimal + DELTA, 1 - a * (1 - optimal - DELTA), 1)
    found["PipelineDP"] = kept(counts, np.array(chances))
    return found


def selection(folder: Path) -> Iterator[str]:
    """Yield the table of keys found, line by line."""
    heads = ("share", "mass/key", "needed", "found", "false", "OpenDP", "Tumult", "PipelineDP")
    yield f"{'set':20}{'keys':>6} {'policy':9}" + "".join(f"{head:>11}" for head in heads)
    for one in SETS:
        if not (folder / one.file).exists():
            yield f"{one.name}: left out, {one.file} is not in {folder}"
            continue
        counted = duckdb.execute(
            f"SELECT {one.column}, count(*) FROM '{folder / one.file}' GROUP BY 1"
        ).fetchall()
        counts = np.array([number for _, number in counted])
        true = {key for key, _ in counted}
        for name, policy in one.policies().items():
            table = opened(one, policy, folder)
            for share in SHARES:
                plan: KeysPlan = table.plan_keys(one.column, KeySearch(**one.stated), share=share)
                drawn = plan.draw(reader_of(table), Seeded(SEED), RUNS)
                keys = [{key for (key,) in release.keys} for release in drawn]  # type: ignore[union-attr]
                found = np.mean([len(shown & true) for shown in keys])
                false = np.mean([len(shown - true) for shown in keys])
                masses = _masses(table, plan)
                cells = [
                    f"{np.median(masses):,.1f}",
                    f"{_needed(plan, true):,.1f}",
                    f"{found:,.1f}",
                    f"{false:.2f}",
                ]
                peers = others(counts, float(Fraction(share))) if name == "constant" else {}
                cells += [f"{number:,.1f}" for number in peers.values()]
                yield f"{one.name:20}{len(true):>6} {name:9}{share:>11}" + "".join(
                    f"{cell:>11}" for cell in cells
                )


def _masses(table: prdp.Table, plan: KeysPlan) -> list[float]:
    found = reader_of(table).read_anew(plan.queries[0].read)
    return [float(mass * found.levels.quantum) for mass in found.mass.tolist()]


def _needed(plan: KeysPlan, true: set[Any]) -> float:
    """Return what the middle one of the true keys needs."""
    domain, levels = plan.query.domain, plan.queries[0].read.levels  # type: ignore[attr-defined]
    scale = 1 / (plan.share * levels.quantum)
    places = [domain.class_of((key.encode() if isinstance(key, str) else key,)) for key in true]
    known = [threshold(domain.classes[place].weight, scale) for place in places if place is not None]
    return float(np.median(known) * float(levels.quantum)) if known else math.inf


def groups(folder: Path) -> Iterator[str]:
    """Yield the errors of counts and means by found keys with all others, beside the public list of keys."""
    one = SETS[0]
    if not (folder / one.file).exists():
        return
    source = f"'{folder / one.file}' WHERE total_pay >= 1"
    truth = duckdb.execute(
        f"SELECT job_title, count(*), avg(least(total_pay, 1000000)) FROM {source} GROUP BY 1"
    ).fetchall()
    number, mean = ({job: row[place] for job, *row in truth} for place in (0, 1))
    yield "SF by job title, keys found with share 1/2, then count and mean of pay with share 1/2"
    heads = f"{'count error':>14}{'mean error':>13}{'in other':>10}{'other error':>13}"
    yield f"{'policy':10}{'keys':16}{'groups':>8}{heads}"
    for name, policy in one.policies().items():
        table = opened(one, policy, folder).filter("total_pay >= 1")
        plan = table.plan_keys("job_title", KeySearch(), share="1/2")
        (found,) = map(plan.tabled, plan.draw(reader_of(table), Seeded(SEED), 1))
        jobs = [job for (job,) in found.keys if job in number]
        rest = sum(number.values()) - sum(number[job] for job in jobs)
        listed = sorted(number)
        for words, keys, share in (
            ("found and other", found, "1/2"),
            ("public list", listed, "1/2"),
            ("public, share 1", listed, "1"),
        ):
            grouped = table.group_by("job_title", keys=keys, other=keys is found)
            asked = [prdp.count(), prdp.mean("total_pay")]
            answers = simulate(grouped, asked, share=share, runs=RUNS, seed=SEED)
            errors: dict[str, list[float]] = {"count": [], "mean": [], "other": []}
            for answer in answers:
                for (job,), (count, pay) in answer:
                    if job in jobs:
                        errors["count"].append(abs(count.value - number[job]))
                        errors["mean"].append(abs(pay.value / mean[job] - 1))
                    elif not isinstance(job, str):
                        errors["other"].append(abs(count.value / rest - 1))
            other = f"{100 * np.median(errors['other']):.2f} %" if errors["other"] else ""
            yield (
                f"{name:10}{words:16}{len(keys):>8}{np.median(errors['count']):>14.1f}"
                f"{100 * np.median(errors['mean']):>11.1f} %{rest if other else '':>10}{other:>13}"
            )


LARGE = {"10M rows, 1M keys": "range % 1000000", "10M rows, 10M keys": "range"}


def large() -> Iterator[str]:
    """Yield time and memory on ten million rows, each in a process of its own, beside plain DuckDB."""
    yield f"{'':20}{'plain GROUP BY':>16}{'find_keys':>12}{'ratio':>8}{'found':>12}{'peak memory':>14}"
    for name, key in LARGE.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.parquet"
            duckdb.execute(f"COPY (SELECT format('{{:08d}}', ({key})) AS k FROM range(10000000)) TO '{path}'")
            ran = subprocess.run(
                [sys.executable, "-m", "experiments.found_keys", "--measure", str(path)],
                capture_output=True,
                text=True,
                check=True,
            )
        plain, search, found, peak = ran.stdout.split()
        ratio = float(search) / float(plain)
        yield (
            f"{name:20}{float(plain):>14.1f} s{float(search):>10.1f} s{ratio:>8.1f}{int(found):>12,}"
            f"{int(peak) / 2**20:>11.2f} GB"
        )


def measure(path: str) -> None:
    """Print the seconds of a plain statement and of a search, the keys found, and the peak memory in kB."""
    start = time.perf_counter()
    duckdb.execute(f"SELECT k, count(*) AS n FROM '{path}' GROUP BY k").fetchnumpy()
    plain = time.perf_counter() - start
    table = prdp.open(path, policy="4", synthetic=True)
    start = time.perf_counter()
    found = table.find_keys("k", pattern="[0-9]{8}", share=1)
    search = time.perf_counter() - start
    print(plain, search, len(found), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(), help="folder with the sets' Parquet files")
    parser.add_argument("--large", action="store_true", help="measure time and memory instead")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure)
        return
    if arguments.large:
        lines: Iterator[str] = large()
    else:
        print(f"means of {RUNS} runs, seed {SEED}; false keys expected: at most 0.01 a run")
        lines = chain(selection(arguments.data), [""], groups(arguments.data))
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
