"""Theorems 1 to 4 and Section 4 of the paper, checked by numbers: constants, rates, growth, a leak."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow
from numpy.typing import NDArray

from experiments.baselines.two_stages import (
    Reading,
    domains_of,
    first_heavy,
    kept_domains,
    local_counts,
    local_counts_of,
)
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Columns, Job
from experiments.paper.report.parts import Row, Section, Table, number
from experiments.paper.setting import Setting
from experiments.yardsticks import Floats, slope, trimmed
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Noisy

BETA = 0.1
HALVES = Reading(Fraction(1, 2), Fraction(1, 2))
PRINTED = math.sqrt(8)
PROVED = {"1": 12.0, "2": 16.0, "3": 12 * PRINTED, "4": 16 * PRINTED}
"""What the proofs give in place of O(): errors, or dropped records, over ln(L/β)/ε_min, or √n times that."""


def jobs(config: Config, context: Context) -> list[Job]:
    """Return a job for each set, and one for each kind of growth."""
    sets = context.present(context.sets_of(config))
    found = [
        Job(
            "theorems",
            (("what", "constants"), ("set", data)),
            constants,
            (data, config["runs"], *context.seeds(data), context.data),
        )
        for data in sets
    ]
    found += [
        Job(
            "theorems",
            (("what", what), ("set", "Normal")),
            work,
            (tuple(config[what]), config["runs"], *context.seeds(what)),
        )
        for what, work in (
            ("local budgets", local_budgets),
            ("local U", local_largest),
            ("local n", local_sizes),
        )
    ]
    found.append(
        Job(
            "theorems",
            (("what", "log policy"), ("set", "uniform")),
            log_policy,
            (tuple(config["tops"]), config["runs"], *context.seeds("log policy")),
        )
    )
    points = one_for_all_points(config)
    seed = context.seeds("one for all")[0]
    labels = (("what", "one for all"), ("set", "made up"))
    found.append(Job("theorems", labels, one_for_all, (points, config["runs"], seed)))
    found += [
        Job(
            "theorems",
            (("what", "Algorithm 5"), ("set", data)),
            algorithm_5,
            (data, config["runs"], *context.seeds(data), context.data),
        )
        for data in sets
    ]
    found.append(Job("theorems", (("what", "straw man"), ("set", "")), straw_man, (tuple(config["values"]),)))
    return found


def constants(data: str, runs: int, seed: int, folder: Path | None) -> Columns:
    """Return the error or the dropped records in units of each bound, and whether ε_τ is too small."""
    problem, random = Setting(data, question="count").problem(folder), np.random.default_rng([seed, 5])
    places, floors = domains_of(problem.budgets, problem.least, problem.greatest)
    counts = np.bincount(places, minlength=floors.size).astype(float)
    before = np.concatenate([[0.0], np.cumsum(counts)])
    least, clients = float(problem.budgets.min()), problem.values.size
    unit, halved = (math.log(k * floors.size / BETA) / least for k in (1, 2))
    noises = random.laplace(0, 1, (runs, floors.size)) / floors
    first = first_heavy(counts, noises, math.log(floors.size / BETA) / floors)
    taken = np.arange(floors.size) >= first[:, None]
    central = np.abs(((counts + noises) * taken).sum(axis=1) - clients)
    kept = kept_domains(problem, HALVES, runs, random)
    local, local_first = local_counts(problem, PRINTED * math.log(floors.size / BETA), runs, random)
    half = PRINTED * 2 * math.log(2 * floors.size / BETA)
    _, half_first = local_counts(problem, half, runs, random)
    root = math.sqrt(clients)
    found = {
        "1": (central / unit, floors[first]),
        "2": (before[kept] / halved, floors[kept]),
        "3": (np.abs(local - clients) / (root * unit), floors[local_first.astype(int)]),
        "4": (before[half_first.astype(int)] / (root * halved), floors[half_first.astype(int)]),
    }
    return {
        **{f"constant {name}": values for name, (values, _) in found.items()},
        **{f"small {name}": (ends < least / 2).astype(float) for name, (_, ends) in found.items()},
        "chance": np.full(runs, early_stop(int(places.min()), floors.size)),
        "local chance": np.full(runs, early_local_stop(int(places.min()), floors.size, clients)),
    }


def early_stop(empty: int, domains: int) -> float:
    """Return how often Algorithm 1 stops at one of so many empty domains: exactly."""
    return 1 - (1 - BETA / (2 * domains)) ** empty


def early_local_stop(empty: int, domains: int, clients: int) -> float:
    """Return a bound of how often Algorithm 4 does: Chernoff's, for a sum of Laplace variables."""
    threshold = PRINTED * math.sqrt(clients) * math.log(domains / BETA)
    rates = np.linspace(1e-6, 0.999, 2000)
    exponents = -rates * threshold - clients * np.log1p(-(rates**2))
    return min(1.0, empty * math.exp(max(-700.0, float(exponents.min()))))


def local_budgets(factors: tuple[str, ...], runs: int, seed: int) -> Columns:
    """Return errors of the local count, in percent and absolute, as all budgets grow."""
    return _local(
        [Setting("Normal", question="count", factor=Fraction(f)) for f in factors],
        [1 / Fraction(f) for f in factors],
        runs,
        seed,
    )


def local_largest(largest: tuple[int, ...], runs: int, seed: int) -> Columns:
    """Return the same as U grows."""
    settings = [Setting("Normal", question="count", largest=u, factor=Fraction(10)) for u in largest]
    return _local(settings, largest, runs, seed)


def local_sizes(sizes: tuple[int, ...], runs: int, seed: int) -> Columns:
    """Return the same as the number of clients grows."""
    settings = [Setting("Normal", question="count", size=n, factor=Fraction(10)) for n in sizes]
    return _local(settings, sizes, runs, seed)


def _local(settings: list[Setting], across: object, runs: int, seed: int) -> Columns:
    xs, middles, parts = [], [], []
    for place, (setting, x) in enumerate(zip(settings, across, strict=True)):  # type: ignore[call-overload]
        problem, random = setting.problem(None), np.random.default_rng([seed, place])
        multiple = PRINTED * math.log(math.ceil(math.log2(problem.greatest / problem.least)) / BETA)
        found, _ = local_counts(problem, multiple, min(runs, 500), random)
        middles.append(trimmed(np.abs(found - problem.truth))[0])
        parts.append(middles[-1] / problem.truth)
        xs.append(float(x))
    return {"x": np.array(xs), "absolute": np.array(middles), "part": np.array(parts)}


def one_for_all(points: tuple[tuple[str, float, float, int], ...], runs: int, seed: int) -> Columns:
    """Return errors of the local count when all clients have one budget, in the middle of its domain.

    A point is what varies, where it is, U and the number of clients; budgets go from 10,000 / U to 100.
    """
    middles = []
    for place, (varied, x, largest, clients) in enumerate(points):
        budget = 0.75 / x if varied == "1/ε_min" else 0.75
        places, floors = domains_of(np.array([budget]), 1e4 / largest, 100.0)
        counts = np.bincount(places, minlength=floors.size).astype(np.float64) * clients
        multiple = PRINTED * math.log(floors.size / BETA)
        found, _ = local_counts_of(counts, floors, multiple, runs, np.random.default_rng([seed, place]))
        middles.append(trimmed(np.abs(found - clients))[0])
    which = [("1/ε_min", "U", "n").index(point[0]) for point in points]
    xs = [point[1] for point in points]
    return {"x": np.array(xs), "absolute": np.array(middles), "varied": np.array(which, float)}


def one_for_all_points(config: Config) -> tuple[tuple[str, float, float, int], ...]:
    """Return where the local count with one budget for all is measured."""
    budgets = [("1/ε_min", 1 / float(Fraction(f)), 1e12, 1_000_000) for f in config["local budgets"]]
    largest = [("U", float(u), float(u), 1_000_000) for u in config["local U"]]
    return (*budgets, *largest, *(("n", float(n), 1e12, n) for n in config["local n"]))


def log_policy(tops: tuple[int, ...], runs: int, seed: int) -> Columns:
    """Return sums' errors under α / ln v against Max(D), by the extension and by the framework; α is 100.

    U is (Max(D) / 1.1)², so that Max(D) lies just inside the domain that reaches up to U.
    """
    extension, framework = [], []
    for place, top in enumerate(tops):
        random = np.random.default_rng([seed, place])
        values = np.sort(np.exp(random.uniform(math.log(2), math.log(top), 50_000)))
        values = np.concatenate([values, np.full(top, float(top))])  # so many that their domain is heavy
        largest = (top / 1.1) ** 2
        budgets, least = 100 / np.log(values), 100 / math.log(largest)
        places, floors = domains_of(budgets, least, 100 / math.log(2))
        scales = np.exp(100 / floors) / floors
        totals = np.bincount(places, values, minlength=floors.size).astype(float)
        noises = random.laplace(0, 1, (runs, floors.size)) * scales
        first = first_heavy(totals, noises, scales * math.log(floors.size / BETA))
        taken = np.arange(floors.size) >= first[:, None]
        extension.append(trimmed(np.abs(((totals + noises) * taken).sum(axis=1) - values.sum()))[0])
        framework.append(_framework_sum(values, places, floors, runs, random))
    return {"x": np.array(tops, float), "extension": np.array(extension), "framework": np.array(framework)}


def _framework_sum(
    values: Floats, places: NDArray[np.int64], floors: Floats, runs: int, random: np.random.Generator
) -> float:
    counts = np.bincount(places, minlength=floors.size).astype(float)
    scales = 2 / floors
    noises = random.laplace(0, 1, (runs, floors.size)) * scales
    first = first_heavy(counts, noises, scales * math.log(2 * floors.size / BETA))
    radius = 2.0 ** math.ceil(math.log2(values[-1]))
    kept = np.array([values[places >= domain].sum() for domain in range(floors.size)])
    found = kept[first] + random.laplace(0, 1, runs) * radius * 4 / floors[first]
    return trimmed(np.abs(found - values.sum()))[0]


def algorithm_5(data: str, runs: int, seed: int, folder: Path | None) -> Columns:
    """Return errors in percent of a local sum by Algorithm 5, with the best radius known beforehand.

    M is the cited sum without the rounds that find its radius: the least that any search for one can err by.
    """
    problem, random = Setting(data, question="sum").problem(folder), np.random.default_rng([seed, 6])
    places, floors = domains_of(problem.budgets, problem.least, problem.greatest)
    multiple = PRINTED * 2 * math.log(2 * floors.size / BETA)
    _, first = local_counts(problem, multiple, runs, random)
    clients, truth, errors, kept_part = problem.values.size, problem.truth, np.empty(runs), np.empty(runs)
    for domain in np.unique(first.astype(int)):
        at = np.flatnonzero(first == domain)
        kept = problem.values[places >= domain]
        radii = 2.0 ** np.arange(1, 41)
        scales = radii * math.sqrt(2 * clients) * 2 / floors[domain]
        clipped = np.array([np.minimum(kept, radius).sum() for radius in radii])
        best = int(np.argmin(np.hypot(scales, truth - clipped)))
        noise = random.normal(0, scales[best], at.size)  # a sum of so many is Normal
        errors[at] = 100 * np.abs(clipped[best] + noise - truth) / truth
        kept_part[at] = 100 * kept.sum() / truth
    return {"error": errors, "kept": kept_part}


def straw_man(values: tuple[int, ...]) -> Columns:
    """Return what a record loses when values are clipped at 10,000 and hidden at E(10,000), over its budget.

    By the library's own exact laws: the sum of no record against that of this one.
    """
    from prdp.testing.exact_loss import largest_log_ratio  # noqa: PLC0415  (needs the extra "testing")

    clip, budget = 10_000, Fraction(10_000, 10_000)
    noise = (DiscreteLaplace(clip / budget),)
    lost = [largest_log_ratio(Noisy((0,), noise), Noisy((min(v, clip),), noise)) for v in values]
    owed = [10_000 / v for v in values]
    return {"value": np.array(values, float), "lost": np.array(lost), "owed": np.array(owed)}


# Below: how results are shown. They do not depend on it.


def section(config: Config, context: Context, results: pyarrow.Table) -> Section:
    """Return the section."""
    rows = results.to_pylist()
    sets = context.present(context.sets_of(config))
    tables = (
        constant_table(rows, sets),
        growth_table(rows),
        fifth_table(rows, sets),
        straw_table(rows),
    )
    return Section(config["title"], config["about"], tables, tuple(findings(rows, sets)))


def _of(rows: list[dict[str, object]], what: str, data: str | None = None) -> Iterator[dict[str, float]]:
    return (row for row in rows if row["what"] == what and data in (None, row["set"]))  # type: ignore[misc]


def _column(rows: list[dict[str, object]], what: str, name: str, data: str | None = None) -> Floats:
    return np.array([row[name] for row in _of(rows, what, data)], float)


def constant_table(rows: list[dict[str, object]], sets: list[str]) -> Table:
    """Return the measured constants beside those of the proofs, and rates of ε_τ < ε_min / 2."""
    found = []
    for theorem, proved in PROVED.items():
        cells = []
        for data in sets:
            constant = _column(rows, "constants", f"constant {theorem}", data)
            small = _column(rows, "constants", f"small {theorem}", data)
            cells.append(f"{number(float(np.quantile(constant, 1 - BETA)))}; {100 * small.mean():.2g} %")
        found.append(Row((f"Theorem {theorem}: at most {number(proved)}; {100 * BETA:.0f} %", *cells)))
    exact = (f"{100 * _column(rows, 'constants', 'chance', data)[0]:.2g} %" for data in sets)
    local = (f"{100 * _column(rows, 'constants', 'local chance', data)[0]:.1e} %" for data in sets)
    found.append(Row(("early stops of Algorithm 1, computed", *exact), "yardstick"))
    found.append(Row(("of Algorithm 4, at most (Chernoff)", *local), "yardstick"))
    caption = (
        "The constant that holds in 90 % of the runs, and how often ε_τ < ε_min / 2. Units: ln(L/β) / ε_min, "
        "in the local model √n times that; with 2L for Theorems 2 and 4, which count dropped records"
    )
    return Table(caption, ("", *sets), tuple(found))


def growth_table(rows: list[dict[str, object]]) -> Table:
    """Return slopes: of the local count's error, and of sums under α / ln v."""
    found = []
    for what, across, bound in (
        ("local budgets", "1/ε_min", 1.0),
        ("local U", "U", 0.0),
        ("local n", "n", 0.5),
    ):
        points = [(row["x"], row["absolute"]) for row in _of(rows, what) if row["part"] < 0.5]
        found.append(_growth(f"local count as printed, against {across}", points, bound))
    for place, (across, bound) in enumerate((("1/ε_min", 1.0), ("U", 0.0), ("n", 0.5))):
        points = [(row["x"], row["absolute"]) for row in _of(rows, "one for all") if row["varied"] == place]
        found.append(_growth(f"the same with one budget for all, against {across}", points, bound))
    for name, bound in (("extension", 2.0), ("framework", 1.0)):
        points = [(row["x"], row[name]) for row in _of(rows, "log policy")]
        found.append(_growth(f"sum under 100 / ln v by the {name}, against Max(D)", points, bound))
    return Table(
        "Growth: slopes on logarithmic axes beside the bounds'",
        ("", "slope", "bound", "points"),
        tuple(found),
    )


def _growth(name: str, points: list[tuple[float, float]], bound: float) -> Row:
    if len(points) < 3:
        return Row((name, "–", number(bound), str(len(points))))
    steep, error = slope(points)
    return Row((name, f"{steep:.2f} ± {error:.2f}", number(bound), str(len(points))))


def fifth_table(rows: list[dict[str, object]], sets: list[str]) -> Table:
    """Return what Algorithm 5 errs by at best."""
    errors = (number(trimmed(_column(rows, "Algorithm 5", "error", data))[0]) for data in sets)
    kept = (number(float(np.median(_column(rows, "Algorithm 5", "kept", data)))) for data in sets)
    shown = (Row(("error in %", *errors)), Row(("of the sum, kept by the first round, %", *kept)))
    return Table("Algorithm 5 as printed: local sum, its radius known beforehand", ("", *sets), shown)


def straw_table(rows: list[dict[str, object]]) -> Table:
    """Return what records lose to the clipping straw man."""
    shown = tuple(
        Row(
            (
                f"{row['value']:,.0f}",
                number(row["owed"]),
                number(row["lost"]),
                number(row["lost"] / row["owed"]),
            )
        )
        for row in _of(rows, "straw man")
    )
    caption = "Section 4.2: values clipped at 10,000, Laplace noise at E(10,000) = 1"
    return Table(caption, ("value", "budget", "loss", "ratio"), shown)


def findings(rows: list[dict[str, object]], sets: list[str]) -> Iterator[str]:
    """Return whether the theorems hold, and how far the straw man goes."""
    worst = {
        theorem: max(
            float(np.quantile(_column(rows, "constants", f"constant {theorem}", d), 1 - BETA)) for d in sets
        )
        for theorem in PROVED
    }
    small = max(float(_column(rows, "constants", f"small {t}", d).mean()) for t in PROVED for d in sets)
    shown = ", ".join(
        f"{theorem}: {number(constant)} of {number(PROVED[theorem])}" for theorem, constant in worst.items()
    )
    yield (
        f"Theorems 1 to 4 hold on every set: constants {shown}; ε_τ < ε_min / 2 in at most "
        f"{100 * small:.2g} % of the runs, where 10 % are allowed."
        if small <= BETA and all(worst[t] <= PROVED[t] for t in PROVED)
        else f"Theorems 1 to 4 do not all hold: constants {shown}, ε_τ too small in {100 * small:.2g} %."
    )
    most = max((row["lost"] / row["owed"] for row in _of(rows, "straw man")), default=0.0)
    yield f"The clipping straw man of Section 4.2 costs a record up to {number(most)} times its budget here."
