"""Errors for privacy units beside truncation to 1, 2 and 4 rows: medians, distinct counts, spreads, maxima.

Run ``python -m experiments.units_beside_truncation --data FOLDER``. Two sets:

- *declarations*, made up: 60,000 persons with 1 to 8 tax declarations each (a person with many has higher
  incomes), in 16 regions of very different size, at 400 offices;
- *SF* salaries (``sf_salary.parquet``), in which a job title with all its rows is a unit: half of the 2,155
  have 13 rows or fewer, and the largest one has 6,984.

*Divided* is prdp with ``privacy_unit``, which needs no limit of rows. *To m* keeps m rows of each unit, drawn
by a seed, and answers by the same mechanisms about rows with an m-th of their unit's budget: what libraries
do that ask for a limit of rows; totals of units are of the kept rows, with the
whole budget of the unit. Policies: one budget, 1; inverse, 20,000 / the largest value of the unit, at
most 10. Quantiles: how far the rank of the answer among all rows is from the wanted one, in percent of the
rows. The rest: relative errors, in percent; by group, the mean over groups. Medians over the runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import prdp
from experiments.options import options
from prdp.testing import simulate

SHARES = ("1", "1/10", "1/100")
LIMITS = (1, 2, 4)
Values = Mapping[Any, float]
"""An answer for each group; the group None is all rows."""


@dataclass(frozen=True)
class Data:
    """A set of rows of units.

    Attributes:
        name: Its name.
        rows: The columns unit, value, group and key, and the budget of each row's unit.
        most: The public bound of values.
    """

    name: str
    rows: pd.DataFrame
    most: int

    @property
    def groups(self) -> list[str]:
        """The names of the groups."""
        return sorted(self.rows["group"].unique())


@dataclass(frozen=True)
class Question:
    """A question and the truth.

    Attributes:
        name: Its name.
        query: What is asked of units; of truncated rows, the same unless they count units.
        grouped: Whether it is by group.
        quantile: Which quantile it is; None for another question.
        totals: Whether it is about what each unit's rows add up to.
    """

    name: str
    query: Any
    grouped: bool = False
    quantile: float | None = None
    totals: bool = False

    @property
    def counts_units(self) -> bool:
        """Whether units are counted."""
        return self.name.startswith("units")

    def truth(self, rows: pd.DataFrame) -> float:
        """Return the true answer for some rows."""
        found: Any = {
            "different keys": rows["key"].nunique,
            "units": rows["unit"].nunique,
            "standard deviation": lambda: rows["value"].std(ddof=0),
            "largest value": rows["value"].max,
        }[self.name.removesuffix(" by group")]()
        return float(found)

    def error(self, found: Values, rows: pd.DataFrame) -> float:
        """Return the error in percent, the mean over groups."""
        errors = []
        for group, value in found.items():
            own = rows if group is None else rows[rows["group"] == group]
            own = added_up(own) if self.totals else own
            if self.quantile is None:
                truth = self.truth(own)
                errors.append(abs(value - truth) / truth)
            else:
                below, upto = (own["value"] < value).mean(), (own["value"] <= value).mean()
                errors.append(max(0.0, below - self.quantile, self.quantile - upto))
        return 100 * float(np.mean(errors))


def added_up(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what each unit's rows add up to."""
    folds = {name: "sum" if name == "value" else "first" for name in rows if name != "unit"}
    return rows.groupby("unit", as_index=False).agg(folds)


QUESTIONS = (
    Question("median", prdp.median("value"), quantile=0.5),
    Question("0.9-quantile", prdp.quantile("value", "9/10"), quantile=0.9),
    Question("median by group", prdp.median("value"), grouped=True, quantile=0.5),
    Question("median total", prdp.median("value", per_unit="sum"), quantile=0.5, totals=True),
    Question("median total by group", prdp.median("value", per_unit="sum"), True, 0.5, totals=True),
    Question("different keys", prdp.count_distinct("key")),
    Question("units by group", prdp.count_distinct("unit"), grouped=True),
    Question("standard deviation", prdp.std("value")),
    Question("largest value by group", prdp.max("value"), grouped=True),
)


def declarations(seed: int) -> pd.DataFrame:
    """Return made-up tax declarations."""
    random = np.random.default_rng(seed)
    persons = 60_000
    number = np.minimum(1 + random.geometric(0.5, persons), 9) - 1
    level = random.lognormal(10, 0.5, persons) * (1 + 0.15 * (number - 1))
    home = random.choice(16, persons, p=(sizes := 1 / np.arange(1, 17)) / sizes.sum())
    unit = np.repeat(np.arange(persons), number)
    moved = random.random(len(unit)) < 0.2
    region = np.where(moved, random.integers(0, 16, len(unit)), home[unit])
    return pd.DataFrame(
        {
            "unit": unit,
            "value": np.clip(level[unit] * random.lognormal(0, 0.4, len(unit)), 1, 10**7).astype(int),
            "group": [f"region {number:02}" for number in region],
            "key": np.minimum(random.zipf(1.5, len(unit)), 400),
        }
    )


def sets(folder: Path | None, seed: int) -> list[Data]:
    """Return the sets that are there."""
    found = [Data("declarations", declarations(seed), 10**7)]
    if folder is None or not (folder / "sf_salary.parquet").exists():
        print(f"left out: sf_salary.parquet is not in {folder or 'a folder given by --data'}")
        return found
    salaries = pd.read_parquet(folder / "sf_salary.parquet")
    salaries = salaries[salaries["total_pay"] >= 100]
    rows = pd.DataFrame(
        {
            "unit": salaries["job_title"].astype("category").cat.codes,
            "value": salaries["total_pay"].astype(int),
            "group": salaries["year"].astype(str),
            "key": (salaries["base_pay"].fillna(0) // 1000).astype(int),
        }
    )
    return [*found, Data("SF by job title", rows, 10**6)]


def with_budgets(rows: pd.DataFrame, *, inverse: bool) -> pd.DataFrame:
    """Return rows with the budget of their unit."""
    least = np.minimum(10, 20_000 / rows.groupby("unit")["value"].transform("max"))
    return rows.assign(budget=least if inverse else 1.0)


def opened(rows: pd.DataFrame, most: int, **arguments: Any) -> prdp.Table:
    return prdp.open(
        rows,
        policy=prdp.Policy.column("budget", at_least="1/10000", at_most=10),
        bounds={"value": (1, most)},
        synthetic=True,
        **arguments,
    )


def answers(table: prdp.Table, question: Question, data: Data, *, share: str, runs: int, seed: int) -> float:
    """Return the median error of a question."""
    asked: Any = table.group_by("group", keys=data.groups) if question.grouped else table
    found = simulate(asked, question.query, share=share, runs=runs, seed=seed)
    if not question.grouped:
        values: list[Values] = [{None: release.value} for release in found]
    else:
        values = [{group: one[group].value for group in data.groups} for one in found]
    return float(np.median([question.error(each, data.rows) for each in values]))


def truncated(rows: pd.DataFrame, limit: int, question: Question, seed: int) -> pd.DataFrame:
    """Return so many rows of each unit, with parts of its budget; one a group where units are counted."""
    kept = rows.sample(frac=1, random_state=seed)
    if question.counts_units:
        kept = kept.drop_duplicates(["unit", "group"])
    kept = kept[kept.groupby("unit").cumcount() < limit]
    if question.totals:
        return kept
    return kept.assign(budget=kept["budget"] / limit)


def measure(data: Data, runs: int, seed: int) -> None:
    """Print the errors of every question."""
    for inverse in (False, True):
        rows = with_budgets(data.rows, inverse=inverse)
        print(f"\n{data.name}, {'inverse policy' if inverse else 'one budget'}: errors in percent")
        print(f"  {'':24}{'share':>7}{'divided':>9}" + "".join(f"{f'to {limit}':>8}" for limit in LIMITS))
        for question in QUESTIONS:
            for share in SHARES:
                line = [_error(data, rows, question, limit, share, runs, seed) for limit in (None, *LIMITS)]
                shown = "".join(f"{each:{8 + (not place)}.2f}" for place, each in enumerate(line))
                print(f"  {question.name:24}{share:>7}{shown}", flush=True)


def _error(  # noqa: PLR0917
    data: Data, rows: pd.DataFrame, question: Question, limit: int | None, share: str, runs: int, seed: int
) -> float:
    """Return the error of a question, divided where there is no limit."""
    if limit is None:
        table = opened(rows, data.most, privacy_unit="unit")
    else:
        kept = truncated(rows, limit, question, seed)
        table = opened(kept, data.most, **{"privacy_unit": "unit"} if question.totals else {})
        if question.counts_units:
            question = replace(question, query=prdp.count())
    return answers(table, question, data, share=share, runs=runs, seed=seed)


def main() -> None:
    arguments = options(__doc__, runs=25)
    for data in sets(arguments.data, arguments.seed):
        rows = data.rows.groupby("unit").size()
        print(f"\n{data.name}: {len(data.rows):,} rows of {len(rows):,} units, {rows.max():,} at most")
        print(f"{arguments.runs} runs, seed {arguments.seed}")
        measure(data, arguments.runs, arguments.seed)


if __name__ == "__main__":
    main()
