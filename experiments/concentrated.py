"""Errors of pure and of concentrated privacy by the number of tables, at matched promises.

Run ``python -m experiments.concentrated [--data FOLDER] [--runs N]``, or one of ``--ranks``,
``--margins``, ``--one-budget`` and ``--tumult``. Each of k tables has the
share 1/k, and all of them are drawn alike, so that one is drawn often. An error is the median of
|answer - truth| over the truth, in percent.

Two promises are matched. *Within the notion*: P = E·tanh(E/2), which a pure policy E keeps. *At (ε, δ)*: the
P whose loss is (E, 10^-6)-private; where E differs by record by the formula P + 2·√(P·ln(1/δ)) = E, which
favours pure privacy a little.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
from numpy.typing import NDArray

import prdp
from experiments.baselines.tumult.environment import FOLDER, Job
from experiments.baselines.tumult.environment import drawn as drawn_by_tumult
from experiments.baselines.tumult.samplers import samplers
from prdp.concentrated import epsilon_at
from prdp.testing import Seeded

TABLES = (1, 4, 8, 16, 50, 100, 200)
SEED = 20261119
SIZE = 200_000
DELTA = 1e-6
LN = -math.log(DELTA)
ANCHOR = 10_000
"""The size of a record that may lose P = 1/2 to a transformation."""

FILES = {
    "CBP": ("cbp_2021.parquet", "payroll_kusd"),
    "Bank": ("bank.parquet", "balance"),
    "SF": ("sf_salary.parquet", "total_pay"),
}
POLICIES: dict[str, float | str] = {
    "E = 0.1": 0.1,
    "E = 1": 1.0,
    "E = 10": 10.0,
    "E = 10000 / v": "least(10000 / greatest(v, 1000), 10)",
}


def policies(budget: float | str) -> Iterator[tuple[str, prdp.Policy]]:
    """Yield a pure policy, and its concentrated twins at matched promises."""
    yield "pure", prdp.Policy(str(budget))
    if isinstance(budget, str):
        odds, root = f"exp({budget})", f"sqrt({budget} + {LN!r}) - {math.sqrt(LN)!r}"
        within, same = f"({budget}) * ({odds} - 1) / ({odds} + 1)", f"power({root}, 2)"
    else:
        within, same = repr(budget * math.tanh(budget / 2)), repr(matched(budget))
    yield "within the notion", prdp.Policy(within, notion="zcdp")
    yield "equal (ε, δ)", prdp.Policy(same, notion="zcdp")


def matched(epsilon: float) -> float:
    """Return the P whose loss is (epsilon, δ)-private."""
    low, high = 0.0, epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_at(middle, DELTA) < epsilon else (low, middle)
    return low


def sets(data: Path | None) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the names and the values of data sets."""
    made = np.random.default_rng(SEED).lognormal(8, 1, SIZE)
    yield "made up", np.maximum(made.astype(np.int64), 1)
    if data is None:
        return
    for name, (file, column) in FILES.items():
        values = pyarrow.parquet.read_table(data / file, columns=[column])[column].drop_null().to_numpy()
        yield name, np.maximum(values.astype(np.int64), 0)


RANKED = ("E = 1", "E = 10000 / v")
DECILES = [tenth / 10 for tenth in range(1, 10)]


def queries(values: NDArray[Any], *, ranks: bool) -> Iterator[tuple[Any, Any]]:
    """Yield queries and their true answers."""
    if not ranks:
        yield prdp.count(), len(values)
        yield prdp.sum("v"), int(values.sum())
        return
    yield prdp.median("v"), np.median(values)
    yield prdp.quantile("v", DECILES), np.quantile(values, DECILES)
    yield prdp.max("v"), values.max()


def errors(table: prdp.Table, query: Any, truth: Any, runs: int) -> list[float]:
    """Return the errors in percent, by the number of tables; of several answers the median error of all."""
    found = []
    for k in TABLES:
        drawn: Any = table.plan(query, share=Fraction(1, k)).draw(table._reader, Seeded(SEED + k), runs)  # noqa: SLF001
        answers = np.array([[float(answer.exact) for answer in one.releases[0]] for one in drawn])
        found.append(float(np.median(np.abs(answers - truth) / truth)) * 100)
    return found


def of_one_budget(data: Path | None, runs: int) -> None:
    """Print the errors of OpenDP's discrete Gaussian noise, with the least P of all records for everybody.

    Sums are clamped at the true maximum, which favours it.
    """
    import opendp.prelude as dp  # noqa: PLC0415  (of this table alone)

    dp.enable_features("contrib")
    space = dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")
    for name, values in sets(data):
        most = 10 ** math.ceil(math.log10(values.max()))
        for policy in RANKED:
            for notion, one in list(policies(POLICIES[policy]))[1:]:
                least = one.budget({"v": float(most)}) or math.nan
                for query, truth, moved in (
                    ("count", len(values), 1),
                    ("sum of v", int(values.sum()), int(values.max())),
                ):
                    shown = []
                    for k in TABLES:
                        noise = dp.m.make_gaussian(*space, scale=moved / math.sqrt(2 * least / k))
                        drawn = [abs(noise(truth) - truth) for _ in range(runs)]
                        shown.append(f"{np.median(drawn) / truth * 100:.2g}")
                    print(f"| {name} | {query} | {policy} | {notion} |", " | ".join(shown), "|", flush=True)


def of_tumult(data: Path | None, runs: int, env: Path) -> None:
    """Print the errors of sums by Tumult Core's transformations, and ours, at one promise: their own P(r).

    A transformation's noise is as wide as 1/sqrt(share), so that it keeps share · P(r).
    """
    every = [one for one in samplers(ANCHOR) if not one.psi]
    cases = [(name, values, one) for name, values in sets(data) for one in every]
    jobs = [
        Job(one.function, {**one.given(float(values.sum())), "sigma": one.arguments["sigma"] * k**0.5}, runs)
        for _, values, one in cases
        for k in TABLES
    ]
    drawn = iter(drawn_by_tumult(jobs, env))
    for name, values, one in cases:
        truth = int(values.sum())
        policy = prdp.Policy(f"power({one.policy}, 2) / 2", at_least="1e-12", notion="zcdp")
        most = 10 ** math.ceil(math.log10(values.max()))
        table = prdp.open({"v": values}, policy=policy, bounds={"v": (0, most)}, synthetic=True)
        theirs = [float(np.median(np.abs(next(drawn) - truth) / truth)) * 100 for _ in TABLES]
        for whose, found in (("theirs", theirs), ("ours", errors(table, prdp.sum("v"), truth, runs))):
            shown = (f"{error:.2g}" for error in found)
            print(f"| {name} | {one.name} | {whose} |", " | ".join(shown), "|", flush=True)


def margins(data: Path) -> None:
    """Print the errors of 50 tables of CBP: counts and payrolls by one, two and three of five columns."""
    rows = cbp(data)
    domains = {name: np.unique(rows[name]).tolist() for name in rows if name != "v"}
    print("| query | policy | notion | one column | two | three |")
    print("|---|---|---|---|---|---|")
    for policy in RANKED:
        for notion, one in policies(POLICIES[policy]):
            table = prdp.open(rows, policy=one, bounds={"v": (0, 10**8)}, synthetic=True)
            for query, values in ((prdp.count(), None), (prdp.sum("v"), rows["v"])):
                found: dict[int, list[NDArray[Any]]] = {1: [], 2: [], 3: []}
                for by in (some for size in found for some in combinations(domains, size)):
                    places = [np.searchsorted(domains[name], rows[name]) for name in by]
                    sizes = [len(domains[name]) for name in by]
                    truth = np.bincount(np.ravel_multi_index(places, sizes), values, math.prod(sizes))
                    keys = list(product(*(domains[name] for name in by)))
                    grouped = table.group_by(*by, keys=[key[0] for key in keys] if len(by) == 1 else keys)
                    found[len(by)].append(cells(grouped, query, truth))
                shown = (f"{np.median(np.concatenate(each)):.2g}" for each in found.values())
                print(f"| {query} | {policy} | {notion} |", " | ".join(shown), "|", flush=True)


def cbp(data: Path) -> dict[str, NDArray[Any]]:
    """Return five columns of CBP with 5 to 51 values each, and payrolls."""
    file, measure = FILES["CBP"]
    read = pyarrow.parquet.read_table(data / file).to_pandas()
    by_head = read[measure] / read["emp"].clip(lower=1)
    return {
        "state": np.array(read["state"].tolist()),
        "sector": np.array([code[:2] for code in read["naics"].tolist()]),
        "estab": np.searchsorted([2, 5, 10, 50], read["estab"], side="right"),
        "emp": np.searchsorted([5, 20, 100, 500], read["emp"], side="right"),
        "ratio": np.searchsorted([20, 35, 50, 80], by_head, side="right"),
        "v": read[measure].astype(np.int64).to_numpy(),
    }


def cells(grouped: Any, query: Any, truth: NDArray[Any]) -> NDArray[Any]:
    """Return the errors in percent of the cells of a table that hold something, of one draw at share 1/50."""
    plan: Any = grouped.plan(query, share=Fraction(1, 50))
    (drawn,) = plan.draw(grouped._reader, Seeded(SEED), 1)  # noqa: SLF001
    answers = np.array([float(row[0].exact) for row in drawn.releases])
    return np.asarray(np.abs(answers - truth)[truth > 0] / truth[truth > 0] * 100)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--ranks", action="store_true", help="quantiles and maxima, under two policies")
    parser.add_argument("--one-budget", action="store_true", help="OpenDP's noise at the least P of all")
    parser.add_argument("--tumult", action="store_true", help="Tumult Core's transformations at their P(r)")
    parser.add_argument("--env", type=Path, default=FOLDER, help="where Tumult Core is, or is to be put")
    parser.add_argument("--margins", action="store_true", help="of CBP, 50 tables at share 1/50 each")
    given = parser.parse_args()
    if given.margins:
        margins(given.data)
        return
    if given.one_budget:
        of_one_budget(given.data, given.runs)
        return
    if given.tumult:
        of_tumult(given.data, given.runs, given.env)
        return
    print("| set | query | policy | notion |", " | ".join(map(str, TABLES)), "|")
    print("|---|---|---|---|" + "---|" * len(TABLES))
    for name, values in sets(given.data):
        for policy, expression in POLICIES.items():
            if given.ranks and policy not in RANKED:
                continue
            for notion, one in policies(expression):
                most = 10 ** math.ceil(math.log10(values.max()))
                table = prdp.open({"v": values}, policy=one, bounds={"v": (0, most)}, synthetic=True)
                for query, truth in queries(values, ranks=given.ranks):
                    shown = (f"{error:.2g}" for error in errors(table, query, truth, given.runs))
                    print(f"| {name} | {query} | {policy} | {notion} |", " | ".join(shown), "|", flush=True)


if __name__ == "__main__":
    main()
