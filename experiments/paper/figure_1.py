"""Figure 1 and Example 1: the worked numbers computed again, and the path that the library takes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow

import prdp
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Columns, Job
from experiments.paper.report.parts import Row, Section, Table, number
from experiments.paper.report.tails import SPREAD, with_spread
from experiments.paper.results import Measures, OverSeeds
from experiments.paper.seeds import batches, places
from experiments.yardsticks import Floats
from prdp.methods import Partition
from prdp.testing import simulate

BETA = Fraction(1, 100)
"""The failure rate that comes closest to the printed threshold; the example does not print one."""


@dataclass(frozen=True, slots=True)
class Check:
    """A printed number beside the same number computed again.

    Attributes:
        what: What it is.
        printed: As the paper has it.
        again: As it comes out.
        agrees: Whether they agree to the printed digits.
        note: What explains a difference.
    """

    what: str
    printed: str
    again: str
    agrees: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """What Example 1 is given, and what follows from it."""

    alpha: Fraction
    largest: int
    greatest: Fraction

    @property
    def least(self) -> Fraction:
        """The least budget, that of the largest value."""
        return self.alpha / self.largest

    @property
    def domains(self) -> int:
        """How often the least budget must be doubled to reach the greatest."""
        doubled, steps = self.least, 0
        while doubled < self.greatest:
            doubled, steps = 2 * doubled, steps + 1
        return steps

    def lower_end(self, domain: int) -> Fraction:
        """Return the budget above which domain 1, 2, ... begins."""
        return self.least * (1 << domain - 1)

    def threshold(self, domain: int, beta: Fraction, domains: int | None = None) -> float:
        """Return the printed formula's threshold; ``domains`` puts another number in the place of L."""
        return math.log((domains or self.domains) / beta) / float(self.lower_end(domain))

    def value_in(self, domain: int) -> int:
        """Return a value whose budget lies well inside a domain."""
        return round(self.alpha / (self.lower_end(domain) * Fraction(3, 2)))


def example(printed: dict[str, Any]) -> Example:
    """Return the example as it is given."""
    return Example(Fraction(printed["alpha"]), printed["largest"], Fraction(printed["greatest_budget"]))


def checks(printed: dict[str, Any]) -> Iterator[Check]:
    """Yield every printed number beside the same number computed again."""
    given = example(printed)
    first = printed["first_kept"]
    low, high = (Fraction(budget) for budget in printed["definition_budgets"])
    ends = [given.alpha / high, given.alpha / low]
    yield _rational("least budget, α / U", printed["least_budget"], given.least)
    yield _rational("domains, ⌈log₂(ε̂ / ε̌)⌉", str(printed["domains"]), Fraction(given.domains))
    yield _rational(f"ε_τ, where X_{first} begins", printed["kept_from"], given.lower_end(first))
    total = sum((Fraction(count) for count in printed["noisy_counts"]), Fraction(0))
    yield _rational("sum of the noisy counts", printed["answer"], total)
    yield Check(
        "values with budgets from 0.002 to 0.004 (Section 3)",
        "{:,} to {:,}".format(*printed["definition_values"]),
        "{:,} to {:,}".format(*map(int, ends)),
        ends == printed["definition_values"],
    )
    yield _threshold(given, first, Fraction(printed["threshold"]))


def _rational(what: str, printed: str, again: Fraction) -> Check:
    return Check(what, printed, f"{float(again):.12g}", Fraction(printed) == again)


def _threshold(given: Example, first: int, printed: Fraction) -> Check:
    again = given.threshold(first, BETA)
    slip = given.threshold(first, BETA, first - 1)
    needed = given.domains / math.exp(float(printed * given.lower_end(first)))
    experiments = given.threshold(first, Fraction(1, 10))
    note = (
        f"the printed threshold is ln({first - 1} / 0.01) / {float(given.lower_end(first)):g} = {slip:.2f}, "
        f"with {first - 1} in the place of L = {given.domains}. With {given.domains} it would need "
        f"β = {needed:.4f}; β = 0.1, as in the experiments, gives {experiments:.2f}. The noisy count 1729.38 "
        "passes all of them, so the answer stays."
    )
    return Check(
        f"T_{first} (β = 0.01 assumed)",
        f"{float(printed):.2f}",
        f"{again:.2f}",
        abs(again - printed) < 0.005,
        note,
    )


def counts(printed: dict[str, Any]) -> dict[int, int]:
    """Return how many records the made-up table has in each domain: the noisy counts, and the rest below."""
    first = printed["first_kept"]
    kept = {first + i: max(0, round(Fraction(c))) for i, c in enumerate(printed["noisy_counts"])}
    return {first - 1: printed["truth"] - sum(kept.values()), **kept}


def table(printed: dict[str, Any]) -> prdp.Table:
    """Return a table like the example's, opened under its policy."""
    given = example(printed)
    values = [np.full(size, given.value_in(domain)) for domain, size in counts(printed).items()]
    return prdp.open(
        pyarrow.table({"balance": np.concatenate(values)}),
        policy=prdp.Policy(f"{given.alpha} / balance", at_most=given.greatest),
        bounds={"balance": (1, given.largest)},
        name="example",
        synthetic=True,
    )


def jobs(config: Config, context: Context) -> list[Job]:
    """Return the one job."""
    arguments = (config["printed"], config["runs"], context.seeds("Example 1", config["seeds"]))
    return [Job("figure_1", (("method", "Algorithm 1"),), counted, arguments)]


def counted(printed: dict[str, Any], runs: int, seeds: tuple[int, ...]) -> Columns:
    """Return answers, their relative errors in percent, and the budget from which domains were kept."""
    asked = table(printed)
    releases = [
        release
        for seed, size in batches(runs, seeds)
        for release in simulate(asked, prdp.count(), method=Partition(BETA), runs=size, seed=seed)
    ]
    answers = np.array([float(release.exact) for release in releases])
    kept = np.array([float(dict(release.choices)["kept budgets from"].split()[0]) for release in releases])
    truth = printed["truth"]
    return {
        "answer": answers,
        "error": 100 * np.abs(answers - truth) / truth,
        "kept_from": kept,
        "seed": places(runs, seeds),
    }


# Below: how results are shown. They do not depend on it.


def section(config: Config, _: Context, results: pyarrow.Table) -> Section:
    """Return the section."""
    printed = config["printed"]
    found = list(checks(printed))
    rows = tuple(Row((c.what, c.printed, c.again, "yes" if c.agrees else "no")) for c in found)
    notes = [f"{c.what}: {c.note}" for c in found if c.note]
    worked = Table("Example 1: printed, and computed again", ("", "printed", "again", "agrees"), rows)
    agreeing = sum(c.agrees for c in found)
    slips = (f"{c.what} is printed as {c.printed} and comes to {c.again}" for c in found if not c.agrees)
    finding = f"Example 1: {agreeing} of {len(found)} printed numbers are right; {', '.join(slips)}."
    path = ran(config, results)
    return Section(config["title"], config["about"], (worked, *notes, domain_table(config), path), (finding,))


def domain_table(config: Config) -> Table:
    """Return the domains around those that are kept: their ends, thresholds and counts."""
    printed = config["printed"]
    given, sizes = example(printed), counts(config["printed"])
    noisy = dict(enumerate(printed["noisy_counts"], printed["first_kept"]))
    rows = []
    for domain, size in sizes.items():
        low = given.lower_end(domain)
        budgets = f"{number(float(low), 4)} to {number(float(2 * low), 4)}"
        threshold = f"{given.threshold(domain, BETA):,.2f}"
        rows.append(Row((f"X_{domain}", budgets, threshold, f"{size:,}", noisy.get(domain, "not printed"))))
    header = ("", "budgets above, up to", "T at L = 19, β = 0.01", "our records", "printed noisy count")
    return Table("The domains of the example", header, tuple(rows))


def ran(config: Config, results: pyarrow.Table) -> str:
    """Say which path the library took, and with what error."""
    kept, errors, seeds = (results[name].to_numpy() for name in ("kept_from", "error", "seed"))
    target = float(config["printed"]["kept_from"])
    on_path = np.isclose(kept, target, rtol=1e-3)
    measures = Measures.of(errors, seeds)
    printed_error = 100 * (1 - float(config["printed"]["answer"]) / config["printed"]["truth"])
    rates = (_rate(runs, seeds) for runs in (on_path, kept < 0.99 * target, kept > 1.01 * target))
    beginning, before, after = rates
    return (
        f"Algorithm 1, as the library runs it, begins at X_12 (ε_τ = {target}) in "
        f"{beginning} % of {kept.size:,} runs, before it in {before} % and after it in {after} % "
        f"({SPREAD.format(config['seeds'])}). On that path the answer has the median "
        f"{np.median(results['answer'].to_numpy()[on_path]):,.1f}; the error's trimmed mean is "
        f"{number(measures.trimmed)} % (the example's is {printed_error:.2f} %) and its 99th percentile "
        f"{with_spread(measures.p99)} %."
    )


def _rate(runs: Floats, seeds: Floats) -> str:
    """Write which part of the runs are so, in percent."""
    return with_spread(OverSeeds.of(100.0 * runs, seeds, np.mean), 4)
