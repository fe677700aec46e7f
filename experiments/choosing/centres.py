"""Would a mean by deviations from a centre be better than a sum over a count? On made-up groups.

Run ``python -m experiments.choosing.centres``. Each part of a mean is clipped where a budget mass of
1 / share is clipped, which is what private rules aim at and costs nothing here, so that the forms alone are
compared. (The point of the least error would not do: around a centre it clips everything, or so that errors
of both signs cancel.)
*Sum / count*: three quarters of the share for the sum, the rest for the count, as the library does it.
*Centre*: Σ (v - c) with a part of the share, the count with the rest, and c plus their quotient. c is the
group's mean times a factor; nobody knows a centre as well as factor 1 says. *Released*: c is the quotient of
a first sum and count with a third of the share, and Σ (v - c) has the rest beside a second count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from experiments.choosing.cases import Floats
from experiments.options import options
from experiments.yardsticks import trimmed

GROUPS = 12


def groups(seed: int) -> Iterator[Floats]:
    """Yield the values of made-up groups, of a few hundred to a few thousand records."""
    random = np.random.default_rng(seed)
    for size in np.geomspace(300, 6000, GROUPS // 3).astype(int):
        yield np.maximum(random.lognormal(np.log(1000), 1.2, size), 1)
        yield np.maximum(random.normal(50_000, 15_000, size), 1)
        yield 1e3 * random.random(size) ** (-1 / 1.8)


BUDGETS: dict[str, Callable[[Floats], Floats]] = {
    "inverse": lambda v: np.minimum(10_000 / v, 100),
    "sqrt": lambda v: np.minimum(8 / np.sqrt(v), 100),
    "flat": lambda v: np.full(v.size, 0.1),
}


def clipped(values: Floats, budgets: Floats, share: float, random: np.random.Generator, runs: int) -> Floats:
    """Return noisy totals at the point that clips a budget mass of 1 / share."""
    ratios = np.abs(values) / budgets
    order = np.argsort(ratios)[::-1]
    above = np.cumsum(budgets[order])  # the mass that is clipped at the ratio of each next record
    point = max(ratios[order][min(values.size - 1, int(np.searchsorted(above, 1 / share)))], 1e-9)
    total = np.clip(values, -budgets * point, budgets * point).sum()
    return np.asarray(total + random.laplace(0, point / share, runs))


def means(values: Floats, budgets: Floats, form: str, runs: int, random: np.random.Generator) -> Floats:
    """Return answers at the share 1 in one of the forms."""
    ones, (kind, *rest) = np.ones(values.size), form.split()

    def total(part: Floats, share: float) -> Floats:
        return clipped(part, budgets, share, random, runs)

    if kind == "sum":
        return np.asarray(total(values, 0.75) / np.maximum(1, total(ones, 0.25)))
    if kind == "centre":
        centre, share = values.mean() * float(rest[0]), float(rest[1])
        return np.asarray(centre + total(values - centre, share) / np.maximum(1, total(ones, 1 - share)))
    first = total(values, 0.25) / np.maximum(1, total(ones, 1 / 12))
    counts = np.maximum(1, total(ones, 1 / 12))
    found = [
        centre + clipped(values - centre, budgets, 7 / 12, random, 1)[0] / count
        for centre, count in zip(first, counts, strict=True)
    ]
    return np.array(found)


FORMS = (
    "sum",
    "centre 1 0.75",
    "centre 1 0.95",
    "centre 0.5 0.75",
    "centre 2 0.75",
    "centre 2 0.95",
    "released",
)


def main() -> None:
    arguments = options(__doc__)
    runs = min(arguments.runs, 200)
    print(
        f"mean, share 1, {GROUPS} groups, {runs} runs, seed {arguments.seed}: error over that of sum / count"
    )
    print(f"{'policy':10}" + "".join(f"{form:>22}" for form in FORMS))
    for policy, budget in BUDGETS.items():
        found: dict[str, list[float]] = {form: [] for form in FORMS}
        for values in groups(arguments.seed):
            for form in FORMS:
                answers = means(values, budget(values), form, runs, np.random.default_rng(arguments.seed))
                found[form].append(trimmed(np.abs(answers / values.mean() - 1))[0])
        line = f"{policy:10}"
        for form in FORMS:
            logs = np.log(np.array(found[form]) / np.array(found["sum"]))
            line += f"{np.exp(logs.mean()):13.2f} ± {logs.std(ddof=1) / np.sqrt(logs.size):.2f}  "
        print(line, flush=True)


if __name__ == "__main__":
    main()
