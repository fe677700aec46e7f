"""Coverage and width of the interval that is printed beside an answer, before and after it was one.

    python -m experiments.intervals --data FOLDER              # a few minutes; without a folder, no real sets
    python -m experiments.intervals --tail-factor                    # the same for reach 2, 4 and 8
    python -m experiments.intervals --demo 1000                # each row of the demo's table

*Before*: what was printed was the noise alone. *After*: the interval of `Release.interval`, as it is now.
*Width* is the median of (high - low) over (the noise's own 95 % width + what was truly clipped in that
run), of intervals with two ends. *Open* is the part of the intervals that lack an end. *Said* is the coverage
of what the words beside an interval say: the total without what records beyond 8 times their cap would add,
by the ends at reach 8, those that are not shown included. *Printed* is that of the truth by what is shown.
Coverage is over all groups and runs; its standard error is taken over runs, as groups may share a point.
What came of it: intervals.md.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet

import prdp
from prdp.cells.columns import Column
from prdp.cells.summary import CellColumns, Summary
from prdp.cli.demo import POLICY, made_up_accounts
from prdp.mechanisms.clip import FINEST_BITS, finer_bits
from prdp.plan.queries import Count, Sum
from prdp.release.bias import Clipping
from prdp.release.release import Release
from prdp.testing import simulate
from prdp.testing.truth import raw_cells

SHARES = (Fraction(1), Fraction(1, 10), Fraction(1, 100))
REACHES = (2, 4, 8)
SHOWN = 8


@dataclass(frozen=True, slots=True)
class Case:
    """A table, its groups, and a question about both."""

    name: str
    table: prdp.Table
    by: str
    keys: Sequence[object]
    query: Sum | Count
    shares: tuple[Fraction, ...] = SHARES


def real(folder: Path) -> Iterator[Case]:
    """Yield the real sets that are in the folder."""
    for name, file, value, by, policy, bounds, round_to in (
        ("Bank", "bank", "balance", "job", "10000 / greatest(abs(balance), 100)", (-(10**9), 10**9), 1),
        ("CBP", "cbp_2021", "payroll_kusd", "state", "10000 / greatest(payroll_kusd, 100)", (0, 10**12), 1),
        ("SF", "sf_salary", "total_pay", "year", "10000 / greatest(total_pay, 100)", (-1000, 10**7), "0.01"),
    ):
        path = folder / f"{file}.parquet"
        if not path.exists():
            print(f"{name}: left out, {path.name} is not in {folder}")
            continue
        rows = pyarrow.parquet.read_table(path, columns=[value, by])
        table = prdp.open(
            rows,
            policy=prdp.Policy(policy, at_most=100),
            bounds={value: bounds},
            round_to={value: round_to},
            name=name,
            synthetic=True,
        )
        keys = sorted(set(rows[by].to_pylist()))
        yield Case(f"{name} sum", table, by, keys, Sum(value))
        if name == "Bank":
            yield Case(f"{name} count", table, by, keys, Count())


def made_up() -> Iterator[Case]:
    """Yield the demo, the odd group, and five sets that nothing was tuned on."""
    accounts = made_up_accounts(200_000)
    columns = {"v": accounts["balance"], "g": accounts["age"] // 10}
    policy = POLICY.replace("balance", "v")
    decades = sorted(set(columns["g"].tolist()))
    yield _case("demo sum", columns, policy, (0, 10**12), decades)
    yield _case("demo count", columns, policy, (0, 10**12), decades, Count())
    odd = np.repeat(np.arange(401), [20] * 400 + [100])
    values = np.where(odd == 400, 700, 100)
    yield _case("odd group", {"v": values, "g": odd}, "1", (0, 10**6), range(401), shares=(Fraction(1),))
    random = np.random.default_rng(20261117)
    size = 40_000
    groups = random.integers(0, 8, size)
    for name, drawn, policy, bounds in (
        ("invoices", random.gamma(0.7, 900, size), "5000 / greatest(v, 20)", (0, 10**9)),
        ("house prices", random.lognormal(12.6, 0.6, size), "100000 / greatest(v, 1000)", (0, 10**9)),
        ("cities", 2000 * random.random(size) ** (-1 / 1.1), "1000000 / greatest(v, 1000)", (0, 10**8)),
        ("hospital days", random.negative_binomial(1, 0.2, size), "20 / greatest(v, 1)", (0, 1000)),
        ("transfers", 300 * random.standard_t(3, size), "2000 / greatest(abs(v), 50)", (-(10**7), 10**7)),
    ):
        yield _case(name, {"v": np.rint(drawn).astype(np.int64), "g": groups}, policy, bounds, range(8))


def _case(  # noqa: PLR0917  (a row of the table above)
    name: str,
    columns: dict[str, np.ndarray],
    policy: str,
    bounds: tuple[int, int],
    keys: Sequence[object],
    query: Sum | Count | None = None,
    shares: tuple[Fraction, ...] = SHARES,
) -> Case:
    table = prdp.open(
        columns,
        policy=prdp.Policy(policy, at_most=100),
        bounds={"v": bounds},
        name=name,
        synthetic=True,
    )
    return Case(name, table, "g", keys, query or Sum("v"), shares)


@dataclass(frozen=True, slots=True)
class Group:
    """What is true of one group, and what a clipping point takes away from it."""

    summary: Summary
    round_to: Fraction

    @property
    def truth(self) -> Fraction:
        """The true total."""
        return Fraction(sum(self.summary.cells.total.tolist())) * self.round_to

    def clipped(self, release: Release) -> float:
        """Return what was truly clipped for a release; 0 where nothing was."""
        if not isinstance(release.clipping, Clipping):
            return 0.0
        return self._clipped(release.clipping.at)

    def stated(self, release: Release, tail_factor: int) -> float:
        """Return the total in which records that are excluded count for what they were allowed."""
        if not isinstance(release.clipping, Clipping):
            return float(self.truth)
        return self._stated(release.clipping.at, release.clipping.reached(Fraction(tail_factor)))

    @cache  # noqa: B019  (the groups of a case live as long as it does)
    def _stated(self, at: Fraction, reached: tuple[Fraction, Fraction]) -> float:
        bits = finer_bits(self.summary, FINEST_BITS)
        fine = self.summary.refined(bits)
        cells = fine.cells
        cap, below, above = (_caps(cells, fine.levels.quantum * point) for point in (at, *reached))
        within = cells.high <= np.where(cells.sign > 0, above, below)
        total = sum(np.where(within, cells.total, cells.clipped(cap)).tolist())
        return float(Fraction(total, 1 << bits) * self.round_to)

    @cache  # noqa: B019  (the groups of a case live as long as it does)
    def _clipped(self, at: Fraction) -> float:
        bits = finer_bits(self.summary, FINEST_BITS)
        fine = self.summary.refined(bits)
        per_quantum = at * fine.levels.quantum
        kept = fine.clipped_total(fine.cells.by_budget(lambda quanta: int(quanta * per_quantum)))
        return abs(float(self.truth - Fraction(kept, 1 << bits) * self.round_to))

    def __hash__(self) -> int:
        return id(self)


def _caps(cells: CellColumns, point: Fraction) -> Column:
    """Return how far the records of each cell may count, in whole steps."""
    return cells.by_budget(lambda quanta: int(quanta * point))


@dataclass(frozen=True, slots=True)
class Measured:
    """One group at one share: which runs were covered, how wide their intervals were, how many were open."""

    before: np.ndarray
    after: np.ndarray
    widths: np.ndarray
    open: float
    stated: np.ndarray


def measured(group: Group, releases: Sequence[Release], tail_factor: int | None) -> Measured:
    """Return what the intervals of one group's releases came to; None represents those that are shown."""
    truth = float(group.truth)
    before, after, widths, stated, ends = [], [], [], [], 0
    for release in releases:
        noise = release.interval(tail_factor=1)
        low, high = release.interval(tail_factor=tail_factor)
        before.append(noise[0] <= truth <= noise[1])
        after.append(low <= truth <= high)
        least, most = release.interval(tail_factor=tail_factor or SHOWN)
        stated.append(least <= group.stated(release, tail_factor or SHOWN) <= most)
        if math.isfinite(high - low):
            widths.append((high - low) / (noise[1] - noise[0] + group.clipped(release)))
        else:
            ends += 1
    rest = np.array(widths), ends / len(releases), np.array(stated)
    return Measured(np.array(before), np.array(after), *rest)


def lines(case: Case, share: Fraction, runs: int, seed: int, reaches: Sequence[int | None]) -> Iterator[str]:
    """Yield a line for the table as a whole, and one for its groups."""
    grouped = case.table.group_by(case.by, keys=list(case.keys))
    for kind, asked in (("alone", case.table), ("by group", grouped)):
        plan = case.table.planner.plan([case.query], share, grouped.grouping if kind == "by group" else None)
        cells = [found for found in raw_cells(case.table, plan) if isinstance(found, Summary)]
        measure = plan.queries[0].measure
        round_to = measure.round_to if measure else Fraction(1)
        groups = [Group(found if measure else found.counted(), round_to) for found in cells]
        answers: Sequence[Any] = simulate(asked, case.query, share=share, runs=runs, seed=seed)
        by_group = (
            [list(answers)]
            if kind == "alone"
            else [[table.releases[place][0] for table in answers] for place in range(len(groups))]
        )
        for tail_factor in reaches:
            found = [measured(g, drawn, tail_factor) for g, drawn in zip(groups, by_group, strict=True)]
            yield _line(case.name, share, kind, runs, found, tail_factor if len(reaches) > 1 else None)


def _line(  # noqa: PLR0917  (what a line of the table says)
    name: str, share: Fraction, kind: str, runs: int, found: Sequence[Measured], tail_factor: int | None
) -> str:
    before, after = (np.array([getattr(one, part) for one in found]) for part in ("before", "after"))
    spread = after.mean(axis=0).std(ddof=1) / math.sqrt(runs)
    closed = [float(np.median(one.widths)) for one in found if one.widths.size]
    widths = f"{np.median(closed):7.1f}{max(closed):7.1f}" if closed else f"{'-':>7}{'-':>7}"
    reported = np.array([one.stated for one in found])
    stated = "" if tail_factor is None else f" reach {tail_factor}"
    return (
        f"{name:14}{share!s:>6}  {kind + stated:16}{len(found):4}{100 * before.mean():8.1f}"
        f"{100 * after.mean():8.1f} ±{100 * spread:4.1f}{100 * after.mean(axis=1).min():8.1f}"
        f"{100 * reported.mean():8.1f}{100 * reported.mean(axis=1).min():8.1f}"
        f"{widths}{100 * np.mean([one.open for one in found]):7.1f}"
    )


def demo(runs: int, seed: int) -> None:
    """Print how often each row of the demo's table lies in its interval."""
    rows = 1_000_000
    accounts = made_up_accounts(rows)
    table = prdp.open(
        accounts,
        policy=prdp.Policy(POLICY, at_most=100),
        bounds={"balance": (0, 10**12)},
        name="demo",
        synthetic=True,
    )
    elders = table.filter("age >= 40")
    balance, older = accounts["balance"], accounts["age"] >= 40
    share = Fraction(1, 10)
    least = 0.95 - 2 * math.sqrt(0.95 * 0.05 / runs)
    print(f"the demo's rows, {runs} runs, seed {seed}; at least {100 * least:.1f} % are to be inside")
    for name, asked, query, truth, method in (
        ("accounts", table, Count(), rows, "clip"),
        ("sum of balances", table, Sum("balance"), int(balance.sum()), "clip"),
        ("accounts, age 40 on", elders, Count(), int(older.sum()), "clip"),
        ("their balances", elders, Sum("balance"), int(balance[older].sum()), "clip"),
        ("accounts, paper's way", table, Count(), rows, "partition"),
        ("accounts, naive", table, Count(), rows, "naive"),
    ):
        drawn = simulate(asked, query, share=share, method=method, runs=runs, seed=seed)
        ends = [release.interval() for release in drawn]
        inside = sum(low <= truth <= high for low, high in ends) / runs
        print(f"{name:24}{100 * inside:6.1f} %", "" if inside >= least else "MISSED", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the real sets' Parquet files")
    parser.add_argument("--runs", type=int, default=200, help="how often each question is asked")
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument("--only", help="cases whose names begin so")
    parser.add_argument("--tail-factor", action="store_true", help="reach 2, 4 and 8 beside each other")
    parser.add_argument("--demo", type=int, metavar="RUNS", help="only the demo's own table")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # sets whose policies leave out a few records say so
    if asked.demo:
        demo(asked.demo, asked.seed)
        return
    print(f"{asked.runs} runs, seed {asked.seed}; coverage of the 95 % interval in %")
    print(
        f"{'set':14}{'share':>6}  {'':16}{'rows':>4}{'before':>8}{'printed':>8}{'':6}{'worst':>8}"
        f"{'said':>8}{'worst':>8}{'width':>7}{'worst':>7}{'open':>7}"
    )
    reaches: Sequence[int | None] = REACHES if asked.tail_factor else (None,)
    for case in (*(real(asked.data) if asked.data else ()), *made_up()):
        if asked.only and not case.name.startswith(asked.only):
            continue
        for share in case.shares:
            for line in lines(case, share, asked.runs, asked.seed, reaches):
                print(line, flush=True)


if __name__ == "__main__":
    main()
