"""Width and coverage of the 95 % interval beside an answer, by draws through the library's own mechanisms.

    python -m experiments.intervals --data FOLDER --csv after.csv     # without a folder, no real sets
    python -m experiments.intervals --data FOLDER --csv after.csv --resume    # go on where a run was stopped
    python -m experiments.intervals --quick --sets Bank,normal --only sum,mean
    python -m experiments.intervals --sets uniform,normal --only variance    # of which nothing is *said*
    python -m experiments.intervals --before before.csv --after after.csv    # the aims; --lines for all
    python -m experiments.intervals --demo 1000                       # each row of the demo's table

*Width*: half the printed interval over the 95 % quantile of the true error; by group the median over groups.
*Whole*: coverage of the whole truth by what is printed. *Said*: coverage of the truth of which the stated
exclusion holds: excluded records or units count for what they were allowed, and a quantile is that of the
weighted records. *Missing*: intervals that lack an end, or whose end is a public limit further away than
twice the answer. *Error*: trimmed mean of the absolute error, in % of the truth.
*Mass*: the median group's budget mass times the share; groups below 300 are in lines of their own (*lean*).
*Warm*: a count or sum that starts from an earlier one of the same share.
By group there are half as many runs. A coverage of 95 % has a standard error of 1.5 % over 200 runs of one
answer, and of 0.8 % over 100 runs of 8 groups.
What came of it: intervals.md.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
from numpy.typing import NDArray

import prdp
from experiments.choosing.warm_starts import again, drawn
from experiments.interval_tables import (
    HEAD,
    Line,
    aims,
    by_kind,
    compared,
    hardest,
    paired,
    read,
    summary,
    warmed,
    written,
)
from experiments.yardsticks import Floats, trimmed
from prdp.cells.columns import Column
from prdp.cells.summary import CellColumns, Summary
from prdp.cells.units import UnitCells, UnitGroups
from prdp.cli.demo import POLICY, made_up_accounts
from prdp.mechanisms.clip import FINEST_BITS, finer_bits
from prdp.mechanisms.rank import WEIGHT_BITS
from prdp.plan.queries import Count, Mean, Quantile, Query, Sum, Variance
from prdp.release import formatting
from prdp.release.bias import Clipping, Dropped, TierClipping
from prdp.release.raw_answer import Ranked
from prdp.release.release import Release
from prdp.tables.queryable import reader_of
from prdp.testing import Seeded, simulate
from prdp.testing.truth import raw_cells

SHARES = (Fraction(1), Fraction(1, 10), Fraction(1, 100))
INVERSE = "10000 / greatest(abs(v), 100)"
STEPS = "CASE WHEN v < 10000 THEN 10 WHEN v < 100000 THEN 1 ELSE 0.1 END"
KINDS: dict[str, Query] = {
    "count": Count(),
    "sum": Sum("v"),
    "mean": Mean("v"),
    "median": Quantile("v", Fraction(1, 2)),
}
BESIDE: dict[str, Query] = {"variance": Variance("v")}
"""Kinds that are measured only if they are asked for."""
QUERIES = KINDS | BESIDE
RICH = 300
"""Budget mass times the share from which the aims speak of a group."""
QUICK = ("log-normal 1.5", "Pareto 1.2", "bump", "two clusters", "steps", "children", "income")


@dataclass(frozen=True)
class DataSet:
    """A table's values and groups, its policy and what is declared of it."""

    name: str
    values: NDArray[Any]
    groups: NDArray[Any]
    policy: str = INVERSE
    bounds: tuple[int, int] = (1, 10**9)
    units: NDArray[np.int64] | None = None
    max_rows: int | None = None

    @cached_property
    def table(self) -> prdp.Table:
        """A synthetic table of it."""
        columns = {"v": self.values, "g": self.groups}
        extra: dict[str, Any] = {}
        if self.units is not None:
            columns["u"] = self.units
            extra = {"privacy_unit": "u", "max_rows": self.max_rows}
        return prdp.open(
            columns,
            policy=prdp.Policy(self.policy, at_most=100),
            bounds={"v": self.bounds},
            round_to={"v": 1},
            name=self.name,
            synthetic=True,
            **extra,
        )

    @cached_property
    def budgets(self) -> Floats:
        """The budget of each record."""
        distinct, where = np.unique(self.values, return_inverse=True)
        found = [self.table.policy.budget({"v": value}) for value in distinct.tolist()]
        return np.array(found, dtype=float)[where]

    @cached_property
    def divided(self) -> Floats:
        """The budget of each record; of a unit's rows, the unit's budget over the number of its rows."""
        if self.units is None:
            return self.budgets
        _, unit, rows = np.unique(self.units, return_inverse=True, return_counts=True)
        least = np.full(rows.size, np.inf)
        np.minimum.at(least, unit, self.budgets)
        return (least / rows)[unit]

    def keys(self) -> list[Any]:
        """Return the names of its groups."""
        return sorted(set(self.groups.tolist()))


def made_up(seed: int = 20261118) -> Iterator[DataSet]:
    """Yield sets with all the shapes of tails that the rule must do for."""
    random = np.random.default_rng(seed)
    size = 60_000

    def case(name: str, drawn: Any, **declared: Any) -> DataSet:
        values = np.rint(np.asarray(drawn)).astype(np.int64)
        parts = np.geomspace(1, 30, 8)
        groups = np.random.default_rng(1).choice(8, values.size, p=parts / parts.sum())
        low, high = declared.setdefault("bounds", (1, 10**9))
        return DataSet(name, np.clip(values, low, high), groups, **declared)

    for sigma in (1, 1.5, 2):
        yield case(f"log-normal {sigma}", random.lognormal(math.log(8_000), sigma, size))
    for power in (1.2, 2):
        yield case(f"Pareto {power}", 2_000 * random.random(size) ** (-1 / power))
    yield case("normal", random.normal(50_000, 12_000, size))
    yield case("uniform", random.uniform(0, 100_000, size))
    yield case("ages", np.clip(random.normal(42, 20, size), 0, 105), policy="1", bounds=(0, 120))
    clusters = np.concatenate([random.normal(2_000, 300, size), random.normal(1_000_000, 100_000, 300)])
    yield case("two clusters", clusters)
    yield case("steps", random.lognormal(math.log(8_000), 1.5, size), policy=STEPS)
    lognormal = random.lognormal(math.log(8_000), 1, size)
    yield case("bump", np.concatenate([lognormal, np.full(200, 2_000_000)]))
    yield case("signed", 5_000 * random.standard_t(3, size), bounds=(-(10**9), 10**9))
    yield case("children", random.binomial(5, 0.25, size // 4), policy="1", bounds=(0, 20))
    yield case("income", random.lognormal(math.log(30_000), 0.7, size), bounds=(-100_000, 10**7))
    units = np.repeat(np.arange(size // 3), random.geometric(1 / 3, size // 3))
    rows = random.lognormal(math.log(8_000), 1, units.size)
    for name, limit in (("units", None), ("units, max_rows 20", 20)):
        yield case(name, rows, units=units, max_rows=limit)
    equal = np.random.default_rng(2).lognormal(math.log(8_000), 1, 40_000).astype(np.int64)
    yield DataSet("groups of 1,000", np.maximum(equal, 1), np.arange(equal.size) % 40)


def real(folder: Path) -> Iterator[DataSet]:
    """Yield the real sets that are in the folder."""
    for name, file, value, by, bounds in (
        ("SF", "sf_salary", "total_pay", "year", (-1000, 10**7)),
        ("Bank", "bank", "balance", "job", (-(10**9), 10**9)),
        ("CBP", "cbp_2021", "payroll_kusd", "state", (0, 10**12)),
    ):
        path = folder / f"{file}.parquet"
        if not path.exists():
            print(f"{name}: left out, {path.name} is not in {folder}")
            continue
        rows = pyarrow.parquet.read_table(path, columns=[value, by]).drop_null()
        values = np.rint(rows[value].to_numpy()).astype(np.int64)
        yield DataSet(name, values, np.array(rows[by].to_pylist()), bounds=bounds)


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of one part of an answer, and what is true of them."""

    summary: Summary

    @property
    def truth(self) -> Fraction:
        """The true total."""
        return Fraction(sum(self.summary.cells.total.tolist()))

    @property
    def mass(self) -> float:
        """The budget mass of all records."""
        cells = self.summary.cells
        return float(sum((cells.quanta * cells.count).tolist()) * self.summary.levels.quantum)

    def said(self, release: Release) -> tuple[float, float]:
        """Return the total in which excluded records count for what they were allowed; of tiers, anything.

        The two ends are the same but for tiers.
        """
        pull = release.clipping
        ends = None if pull is None else pull.excludes(formatting.TAIL_FACTOR)
        if ends is None or not isinstance(pull, Clipping | Dropped | TierClipping):
            return float(self.truth), float(self.truth)
        at = pull.at if isinstance(pull, Clipping) else Fraction(0)
        found = self._excluding(at, ends)
        return found, found if isinstance(pull, Clipping) else float(self.truth)

    @cache  # noqa: B019  (the cells of a set live as long as it does)
    def _excluding(self, at: Fraction, ends: tuple[Fraction, Fraction]) -> float:
        bits = finer_bits(self.summary, FINEST_BITS)
        fine = self.summary.refined(bits)
        cells = fine.cells
        cap, below, above = (_caps(cells, fine.levels.quantum * point) for point in (at, *ends))
        within = cells.high <= np.where(cells.sign > 0, above, below)
        total = sum(np.where(within, cells.total, cells.clipped(cap)).tolist())
        return float(Fraction(total, 1 << bits))

    def __hash__(self) -> int:
        return id(self)


def _caps(cells: CellColumns, point: Fraction) -> Column:
    """Return how far the records of each cell may count, in whole steps."""
    return cells.by_budget(lambda quanta: int(quanta * point))


@dataclass(frozen=True, slots=True)
class SharedUnits:
    """What units add to one group, beside what they add to all of them, by which they are clipped.

    Attributes:
        cells: The engine's own cells of the units.
        quanta: The budget of each.
        here: What it adds to the group.
        all: What it adds to all groups, without signs.
    """

    cells: UnitGroups
    quanta: Floats
    here: Floats
    all: Floats

    def said(self, release: Release) -> tuple[float, float]:
        """Return the total in which excluded units count for what they were allowed."""
        pull, truth = release.clipping, float(self.here.sum())
        ends = pull.excludes(formatting.TAIL_FACTOR) if isinstance(pull, Clipping) else None
        if ends is None or not isinstance(pull, Clipping):
            return truth, truth
        quantum = self.cells.summary.levels.quantum
        bits = finer_bits(self.cells.summary, FINEST_BITS)
        cap, end = (self.quanta * float(quantum * point / 2**bits) for point in (pull.at, ends[1]))
        limit = np.where(self.all <= end, self.cells.summary.largest, cap)
        part = np.minimum(1, limit / np.maximum(self.all, 1))
        found = float((self.here * part).sum())
        return found, found


@dataclass(frozen=True, slots=True)
class Group:
    """A group's truth: the answer's own, and the cells of its parts where they are known."""

    truth: float
    mass: float
    parts: tuple[Cells | SharedUnits, ...]
    values: Floats
    budgets: Floats

    def said(self, release: Release) -> tuple[float, float]:
        """Return between what the truth lies that the stated exclusion leaves; as a rule it is one number."""
        if isinstance(release.chosen, Ranked):
            return self._weighted(release.chosen)
        if not self.parts:
            return math.nan, math.nan
        if not release.parts:
            return self.parts[0].said(release)
        pairs = zip(self.parts, release.parts, strict=True)
        (low, high), (few, many) = (cells.said(part) for cells, part in pairs)
        corners = [end / max(count, 1) for end in (low, high) for count in (few, many)]
        return _within(release, min(corners)), _within(release, max(corners))

    def _weighted(self, chosen: Ranked) -> tuple[float, float]:
        """Return the quantile of the records as they were weighed."""
        pull = chosen.clipping
        weights = self.budgets * float(pull.at) / 2**WEIGHT_BITS if pull else np.ones(self.values.size)
        upto = np.cumsum(np.minimum(weights, 1))
        place = np.searchsorted(upto, float(chosen.quantile) * upto[-1] * (1 + np.array([-1e-9, 1e-9])))
        low, high = self.values[np.minimum(place, self.values.size - 1)]
        return float(low), float(high)


def _within(release: Release, mean: float) -> float:
    """Return a quotient moved into the public bounds; totals with different exclusions may leave them."""
    low, high = map(float, release.ends or (-math.inf, math.inf))
    return min(max(mean, low), high)


@dataclass(frozen=True, slots=True)
class Measured:
    """One group at one share."""

    width: float
    whole: float
    said: float
    missing: float
    error: float


def measured(group: Group, releases: Sequence[Release], tail_factor: int | None = None) -> Measured:
    """Return what one group's answers and intervals came to."""
    answers = np.array([float(release.exact) for release in releases])
    ends = np.array([_ends(release, tail_factor) for release in releases], dtype=float)
    truths = np.array([group.said(release) for release in releases])
    errors = np.abs(answers - group.truth)
    closed = np.isfinite(ends).all(axis=1)
    yard = float(np.quantile(errors, 0.95))
    half = float(np.median(ends[closed, 1] - ends[closed, 0])) / 2 if closed.any() else math.nan
    slack = 1e-9 * abs(group.truth)
    said = (ends[:, 0] <= truths[:, 1] + slack) & (truths[:, 0] <= ends[:, 1] + slack)
    return Measured(
        width=half / yard if yard else math.nan,
        whole=float(np.mean((ends[:, 0] <= group.truth + slack) & (group.truth <= ends[:, 1] + slack))),
        said=math.nan if np.isnan(truths).any() else float(np.mean(said)),
        missing=float(1 - closed.mean()),
        error=trimmed(errors)[0] / (abs(group.truth) or 1),
    )


def _ends(release: Release, tail_factor: int | None) -> tuple[float, float]:
    """Return the ends that are printed; one at a public limit further away than is shown else is missing."""
    low, high = release.interval() if tail_factor is None else release.interval(tail_factor=tail_factor)
    if release.parts and release.ends is not None:
        far = formatting.FAR * abs(release.exact)
        least, most = release.ends
        low = -math.inf if low <= least < release.exact - far else low
        high = math.inf if high >= most > release.exact + far else high
    return low, high


@dataclass(frozen=True, slots=True)
class Study:
    """How often questions are asked, with which noise, and which intervals are taken."""

    runs: int
    seed: int
    shares: tuple[Fraction, ...] = SHARES
    tail_factor: int | None = None

    def lines(self, data: DataSet, kind: str) -> list[Line]:
        """Return a set's lines for one kind of answer: alone, from a warm start, by group."""
        alone, groups = (found(data, kind, grouped=grouped) for grouped in (False, True))
        lines: list[Line] = []
        for share in self.shares:
            lines += self._alone(data, kind, share, alone)
            lines += self._by_group(data, kind, share, groups)
        return lines

    def _alone(self, data: DataSet, kind: str, share: Fraction, groups: Sequence[Group]) -> Iterator[Line]:
        first = simulate(data.table, QUERIES[kind], share=share, runs=self.runs, seed=self.seed)
        yield from self._of(data, kind, "alone", share, zip(groups, [first], strict=True))
        warm = warm_started(data, QUERIES[kind], share, first[: self.runs // 2], self.seed + 1)
        if warm:
            yield from self._of(data, kind, "alone, warm", share, zip(groups, [warm], strict=True))

    def _by_group(self, data: DataSet, kind: str, share: Fraction, groups: Sequence[Group]) -> Iterator[Line]:
        grouped = data.table.group_by("g", keys=data.keys())
        tables: Sequence[Any] = simulate(
            grouped, QUERIES[kind], share=share, runs=-(-self.runs // 2), seed=self.seed
        )
        columns = [[one.releases[place][0] for one in tables] for place in range(len(groups))]
        yield from self._of(data, kind, "by group", share, zip(groups, columns, strict=True))

    def _of(
        self, data: DataSet, kind: str, by: str, share: Fraction, pairs: Iterable[tuple[Group, list[Release]]]
    ) -> Iterator[Line]:
        results = [(group, measured(group, each, self.tail_factor)) for group, each in pairs]
        rich = [pair for pair in results if pair[0].mass * share >= RICH]
        lean = [pair for pair in results if pair[0].mass * share < RICH]
        for part, name in ((rich, by), (lean, f"{by}, lean")):
            if part:
                yield _line((data.name, kind, name, str(share)), part, share)


def warm_started(
    data: DataSet, query: Query, share: Fraction, first: Sequence[Release], seed: int
) -> list[Release]:
    """Return counts or sums that start from earlier answers; nothing where those have no threshold."""
    if not isinstance(query, Count | Sum) or not all(type(one.clipping) is Clipping for one in first):
        return []
    plan = data.table.plan(query, share=share)
    return again(plan, plan, partial(drawn, reader_of(data.table), Seeded(seed)), list(first), Fraction(1))


def _line(
    name: tuple[str, str, str, str], results: Sequence[tuple[Group, Measured]], share: Fraction
) -> Line:
    def column(field: str) -> Floats:
        return np.array([getattr(one, field) for _, one in results])

    width = column("width")
    width = width[np.isfinite(width)]
    return Line(
        *name,
        groups=len(results),
        mass=float(np.median([group.mass for group, _ in results]) * share),
        width=float(np.median(width)) if width.size else math.nan,
        whole=float(column("whole").mean()),
        said=float(column("said").mean()),
        worst_said=float(column("said").min()),
        missing=float(column("missing").mean()),
        error=float(np.median(column("error"))),
    )


def found(data: DataSet, kind: str, *, grouped: bool) -> list[Group]:
    """Return the true facts of the table, or of each of its groups."""
    table, keys = data.table, data.keys() if grouped else [None]
    by = table.group_by("g", keys=keys).grouping if grouped else None
    cells = raw_cells(table, table.planner.plan([QUERIES[kind]], 1, by))
    groups = []
    for place, key in enumerate(keys):
        here = np.ones(data.values.size, bool) if key is None else data.groups == key
        values = data.values[here].astype(float)
        order = np.argsort(values, kind="stable")
        groups.append(
            Group(
                truth=_truth(kind, values),
                mass=_mass(data.budgets[here], None if data.units is None else data.units[here]),
                parts=_parts(data, kind, here, cells[min(place, len(cells) - 1)]),
                values=values[order],
                budgets=data.divided[here][order],
            )
        )
    return groups


def _truth(kind: str, values: Floats) -> float:
    if kind == "count":
        return float(values.size)
    found: dict[str, Any] = {"sum": np.sum, "mean": np.mean, "median": np.median, "variance": np.var}
    return float(found[kind](values))


def _mass(budgets: Floats, units: NDArray[np.int64] | None) -> float:
    """Return the budget mass of the records, or of the units: each has the least budget of its rows."""
    if units is None:
        return float(budgets.sum())
    order = np.lexsort((budgets, units))
    first = np.concatenate(([True], np.diff(units[order]) > 0))
    return float(budgets[order][first].sum())


def _parts(data: DataSet, kind: str, here: NDArray[np.bool_], cells: Any) -> tuple[Cells | SharedUnits, ...]:
    """Return what an answer's parts are of: cells, or units that may lie in other groups as well."""
    if kind in {"median", "variance"}:
        return ()
    total: Cells | SharedUnits
    count: Cells | SharedUnits
    if isinstance(cells, UnitCells):
        total, count = (
            _shared(data, values, here, found) if isinstance(found, UnitGroups) else Cells(found)
            for values, found in ((data.values, cells.totals), (np.ones_like(data.values), cells.rows))
        )
    else:
        total, count = (
            Cells(cells.valued()),
            Cells(cells.counted() if kind == "count" else cells.valued().counted()),
        )
    return {"count": (count,), "sum": (total,), "mean": (total, count)}[kind]


def _shared(data: DataSet, values: NDArray[Any], here: NDArray[np.bool_], cells: UnitGroups) -> SharedUnits:
    """Return what the units of a set add to one of its groups, and to all of them."""
    assert data.units is not None  # noqa: S101  (they have cells of their own)
    units, unit = np.unique(data.units, return_inverse=True)
    least = np.full(units.size, np.inf)
    np.minimum.at(least, unit, data.budgets)
    groups, group = np.unique(data.groups, return_inverse=True)
    added = np.zeros((units.size, groups.size))
    np.add.at(added, (unit, group), values)
    quanta = np.array(cells.summary.levels.quanta_each(least.tolist()), dtype=float)
    return SharedUnits(cells, quanta, added[:, group[here.argmax()]], np.abs(added).sum(axis=1))


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


@cache
def sets(folder: Path | None) -> dict[str, DataSet]:
    """Return all sets by their names, those first that take long."""
    found = {data.name: data for data in (*made_up(), *(real(folder) if folder else ()))}
    return dict(sorted(found.items(), key=lambda item: -len(item[1].keys())))


def measured_lines(study: Study, folder: Path | None, name: str, kind: str) -> list[Line]:
    """Return a set's lines for one kind; for a process of its own."""
    warnings.simplefilter("ignore")  # sets whose policies leave out a few records say so
    return study.lines(sets(folder)[name], kind)


def table_of(asked: argparse.Namespace, study: Study) -> list[Line]:
    """Measure what is asked for and not in the file yet; print and store it as it comes."""
    names = list(sets(asked.data))
    if asked.quick:
        names = [name for name in names if name in (*QUICK, "SF", "Bank", "CBP")]
    if asked.sets:
        names = [name for name in names if name.startswith(tuple(asked.sets.split(",")))]
    table = read(asked.csv) if asked.resume and asked.csv and asked.csv.exists() else []
    done = {(line.set, line.kind) for line in table}
    tasks = [(name, kind) for name in names for kind in asked.only.split(",") if (name, kind) not in done]
    with ProcessPoolExecutor(asked.processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        for task in as_completed(pool.submit(measured_lines, study, asked.data, *task) for task in tasks):
            table += task.result()
            print(*task.result(), sep="\n", flush=True)
            if asked.csv:
                written(asked.csv, table)
    return table


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the real sets' Parquet files")
    parser.add_argument("--runs", type=int, default=200, help="how often each question is asked alone")
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument("--quick", action="store_true", help="50 runs of the hardest sets")
    parser.add_argument("--sets", help="sets whose names begin so, with commas between them")
    parser.add_argument("--only", default=",".join(KINDS), help="kinds of answers, with commas between them")
    parser.add_argument("--shares", default="1,1/10,1/100", help="with commas between them")
    parser.add_argument("--tail-factor", type=int, help="intervals at this one instead of those printed")
    parser.add_argument("--processes", type=int, default=2, help="how many sets are measured at once")
    parser.add_argument("--csv", type=Path, help="file that the lines are written to as well")
    parser.add_argument("--resume", action="store_true", help="keep the lines of that file")
    parser.add_argument("--before", type=Path, help="lines of an earlier run, to compare")
    parser.add_argument("--after", type=Path, help="lines of a later run, to compare")
    parser.add_argument("--lines", action="store_true", help="compare every line")
    parser.add_argument("--demo", type=int, metavar="RUNS", help="only the demo's own table")
    return parser.parse_args()


def main() -> None:
    """Measure, or compare what was measured."""
    asked = options()
    if asked.demo:
        demo(asked.demo, asked.seed)
        return
    if asked.before and asked.after:
        pairs = paired(asked.before, asked.after)
        tables = by_kind(pairs), aims(pairs), warmed(pairs, read(asked.after)), hardest(pairs)
        print("\n\n".join("\n".join(each) for each in ([compared(pairs)] if asked.lines else tables)))
        return
    shares = tuple(map(Fraction, asked.shares.split(",")))
    runs = min(asked.runs, 50) if asked.quick else asked.runs
    study = Study(runs, asked.seed, shares, asked.tail_factor)
    print(f"{study.runs} runs, half as many by group, seed {asked.seed}; 95 % intervals\n")
    print(HEAD, flush=True)
    table = table_of(asked, study)
    print("\nTogether\n", *summary(table), sep="\n")


if __name__ == "__main__":
    main()
