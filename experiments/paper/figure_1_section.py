"""Example 1 in the report: printed beside recomputed, and the path that the library takes."""

from __future__ import annotations

import numpy as np
import pyarrow

from experiments.paper.experiment import Config, Context
from experiments.paper.figure_1_worked import BETA, checks, counts, example
from experiments.paper.measures import Measures
from experiments.paper.report.parts import Row, Section, Table, number


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
    return Section(config["title"], config["about"], (worked, *notes, domains(config), path), (finding,))


def domains(config: Config) -> Table:
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
    kept, errors = (results[name].to_numpy() for name in ("kept_from", "error"))
    target = float(config["printed"]["kept_from"])
    on_path = np.isclose(kept, target, rtol=1e-3)
    measures = Measures.of(errors)
    printed_error = 100 * (1 - float(config["printed"]["answer"]) / config["printed"]["truth"])
    before, after = kept < 0.99 * target, kept > 1.01 * target
    return (
        f"Algorithm 1, as the library runs it, begins at X_12 (ε_τ = {target}) in "
        f"{100 * on_path.mean():.2f} % of {kept.size:,} runs, before it in {100 * before.mean():.2f} % and "
        f"after it in {100 * after.mean():.2f} %. On that path the answer has the median "
        f"{np.median(results['answer'].to_numpy()[on_path]):,.1f}; the error's trimmed mean is "
        f"{number(measures.trimmed)} % (the example's is {printed_error:.2f} %) and its 99th percentile "
        f"{number(measures.p99)} %."
    )
