"""When is an octave of a local sum heard, and where to cut: rules, on synthetic sets.

Run ``python -m experiments.choosing.local_sums``. Two rounds as in ``SumStudy``, two thirds of the share for
the first. Totals are normal variables of the right mean and variance. Errors are in oracle clips of the local
model: the mean error of the best fixed cut at the whole share, which nobody can know. Geometric mean / worst.
*Heard* is the part of the runs that heard anything; *noise* and *holds* are how often 95 % intervals hold the
truth, by the noise alone and with the reach (a run that heard nothing claims nothing, and counts as holding);
*width* is over the noise's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from experiments.choosing.cases import POLICIES, Floats, personal_budgets, synthetic_sets
from experiments.datasets import LARGEST
from experiments.options import options
from experiments.yardsticks import trimmed

Bools = NDArray[np.bool_]
Integers = NDArray[np.int64]

MOST, FIRST, Z = 100.0, 2 / 3, 1.96
LEAST = {"inverse": 1e-8, "log": 500 / np.log(LARGEST) ** 4, "sqrt": 8e-6, "stepwise": 0.1, "personal": 1e-3}


@dataclass(frozen=True)
class Rule:
    """How octaves are heard and values cut; by default as before."""

    fall: float = 0.0
    further: float = 1.0
    loud: float = np.inf
    pooled: int = 1
    beta: float = 0.1
    tail_factor: float = 8.0


RULES = (
    Rule(),
    Rule(beta=0.01),
    Rule(beta=0.001),
    *(Rule(fall=fall) for fall in (0.2, 0.5, 1.0)),
    *(Rule(fall=0.5, further=further) for further in (1.5, 2.0)),
    *(
        Rule(fall=0.5, further=1.5, loud=2.0, tail_factor=tail_factor)
        for tail_factor in (8.0, 16.0, 32.0, 64.0)
    ),
    Rule(fall=0.5, further=1.5, loud=1.4),
    Rule(fall=0.5, further=1.5, loud=1.4, pooled=2),
    Rule(fall=0.5, further=1.0, loud=1.0, pooled=3),
)


def budgets_of(values: Floats, policy: str) -> Floats:
    found: dict[str, Callable[[], Floats]] = {
        "inverse": lambda: 10_000 / values,
        "log": lambda: 500 / np.log(np.maximum(values, 1.001)) ** 4,
        "sqrt": lambda: 8 / np.sqrt(values),
        "stepwise": lambda: np.where(values < 1e4, 10, np.where(values < 1e5, 1, 0.1)),
        "personal": lambda: personal_budgets(values.size),
    }
    return np.asarray(np.minimum(found[policy](), MOST))


class Crowd:
    """The clients of a made-up set under a policy, by octaves of value / budget."""

    def __init__(self, values: Floats, policy: str) -> None:
        least = LEAST[policy]
        level = np.floor(8 * np.log2(budgets_of(values, policy) / least) - 1e-9).clip(0)
        self.budgets, self.size, self.truth = least * 2 ** (level / 8), values.size, values.sum()
        ratios = values / self.budgets
        self.slopes = 2.0 ** np.arange(np.ceil(np.log2(LARGEST / least * MOST)) + 1) / MOST
        self.octaves = np.maximum(0, np.ceil(np.log2(ratios * MOST))).astype(int)
        order = np.argsort(ratios)
        self.ratios = ratios[order]
        self.values = np.concatenate([[0], np.cumsum(values[order])])
        self.masses = np.concatenate([[0], np.cumsum(self.budgets[order])])
        self.largest = np.full(self.slopes.size, MOST)
        if policy != "personal":
            grid = 2.0 ** np.arange(0, np.log2(LARGEST), 1 / 16)
            budgets, self.largest = budgets_of(grid, policy), np.zeros(self.slopes.size)
            places = np.maximum(0, np.ceil(np.log2(grid / budgets * MOST))).astype(int)
            for more in (0, 1):
                np.maximum.at(self.largest, np.minimum(places + more, self.slopes.size - 1), budgets)

    def cut(self, slopes: Floats) -> Floats:
        """Return the sums of values cut at slopes."""
        at = np.searchsorted(self.ratios, slopes, side="right")
        return np.asarray(self.values[at] + slopes * (self.masses[-1] - self.masses[at]))

    def oracle(self, share: float) -> float:
        """Return the mean error of the best fixed cut."""
        slopes = 2.0 ** np.arange(0, np.log2(self.slopes[-1] * MOST), 0.125) / MOST
        noise = np.sqrt(2 / np.pi) * np.sqrt(2 * self.size) * slopes / share
        return float((noise + self.truth - self.cut(slopes)).min())


def drawn(
    crowd: Crowd, rule: Rule, share: float, runs: int, random: np.random.Generator
) -> dict[str, Floats]:
    """Draw runs: values, deviations of the noise, whether anything was heard, upper ends."""
    spent, rest = share * FIRST, share * (1 - FIRST)
    loss = min(1.0, spent * MOST)
    lifts = np.expm1(np.minimum(spent * crowd.budgets, loss))
    mean = np.bincount(crowd.octaves, weights=lifts, minlength=crowd.slopes.size)
    noise = np.expm1(loss) * np.sqrt(crowd.size) / (2 * np.sinh(loss / 2))
    reported = mean + noise * random.standard_normal((runs, mean.size))
    audible = crowd.size * np.expm1(np.minimum(loss, spent * crowd.largest)) > noise
    top, heard = topmost(reported / noise, audible, rule)
    # A heavy octave always is worth its noise, so that the last one decides: three quarters of its end.
    cut = 0.75 * crowd.slopes[top] * rule.further
    deviation = np.sqrt(2 * crowd.size) * cut / rest
    values = crowd.cut(cut) + deviation * random.standard_normal(runs)
    most = spent * crowd.largest
    unseen = np.maximum(1, most / np.expm1(np.clip(most, 1e-300, loss)))
    room = np.minimum(crowd.slopes, rule.tail_factor * cut[:, None]) - cut[:, None]
    room = (
        np.where(crowd.slopes / 2 < rule.tail_factor * cut[:, None], np.maximum(0, room), 0) * unseen / spent
    )
    pull, spread = (room * reported).sum(axis=1), noise * np.sqrt((room**2).sum(axis=1))
    above = np.maximum(Z * deviation, pull + Z * np.hypot(deviation, spread))
    return {"value": values, "deviation": deviation, "heard": heard, "above": above}


def topmost(ratios: Floats, audible: Bools, rule: Rule) -> tuple[Integers, Bools]:
    """Return the last octave that counts, for each run, and whether any was heard."""
    weights = np.where(audible, 2.0 ** (-rule.fall * np.maximum(0, np.cumsum(audible) - 1)), 0)
    bars = stats.norm.isf(np.clip(rule.beta * weights / weights.sum() / rule.pooled, 1e-300, 0.5))
    heavy = np.zeros(ratios.shape, bool)
    for width in range(1, rule.pooled + 1):
        sums = np.cumsum(np.pad(ratios, ((0, 0), (width, 0))), axis=1)
        pooled = (sums[:, width:] - sums[:, :-width]) / np.sqrt(width)
        heavy |= (pooled >= bars) & audible
    heard: Bools = np.asarray(heavy.any(axis=1))
    top: Integers = np.where(heard, audible.size - 1 - heavy[:, ::-1].argmax(axis=1), 0)
    rows = np.arange(top.size)
    while True:
        after = np.minimum(top + 1, audible.size - 1)
        up = heard & (after > top) & audible[after] & (ratios[rows, after] >= rule.loud)
        if not up.any():
            return top, heard
        top = np.where(up, after, top)


def row(rule: Rule, crowds: list[Crowd], share: float, runs: int, seed: int) -> str:
    """Return a rule's row of the table."""
    found: list[tuple[float, ...]] = []
    for place, crowd in enumerate(crowds):
        draws = drawn(crowd, rule, share, runs, np.random.default_rng([seed, place]))
        off, oracle = np.abs(draws["value"] - crowd.truth), crowd.oracle(share)
        middle, error = trimmed(off / oracle)
        silent, below = ~draws["heard"].astype(bool), Z * draws["deviation"]
        low = draws["value"] - below <= crowd.truth
        by_noise = (silent | (off <= below)).mean()
        held = (silent | (low & (crowd.truth <= draws["value"] + draws["above"]))).mean()
        width = np.median((below + draws["above"]) / (2 * below))
        tail, mean = np.quantile(off, 0.99) / oracle, off.mean() / oracle
        found.append((middle, tail, mean, error / middle, 1 - silent.mean(), by_noise, held, width))
    table = np.array(found)
    geometric, worst = np.exp(np.log(table).mean(axis=0, where=table > 0)), table.max(axis=0)
    relative = float(np.linalg.norm(table[:, 3])) / len(crowds)
    shown = f"{geometric[0]:6.2f} ± {geometric[0] * relative:.2f} /{worst[0]:5.1f}"
    shown += "".join(f"{geometric[part]:11.3g} /{worst[part]:8.2g}" for part in (1, 2))
    return shown + "".join(f"{part:8.2f}" for part in (*table[:, 4:7].mean(axis=0), geometric[7]))


def crowds() -> Iterator[Crowd]:
    """Yield the cases: nine sets, five policies."""
    for data in synthetic_sets():
        for policy in POLICIES:
            yield Crowd(data.values.astype(float), policy)


def main() -> None:
    arguments = options(__doc__, runs=200)
    cases, runs, seed = list(crowds()), arguments.runs, arguments.seed
    for share in (1.0, 0.25, 0.1):
        print(f"share {share:g}, {len(cases)} made-up cases, {runs} runs, seed {seed}; in oracle clips")
        heads = ("trimmed / worst", "p99 / worst", "mean / worst", "heard", "noise", "holds", "width")
        print(f"{'fall further loud pooled beta reach':38}" + "".join(f"{head:>18}" for head in heads))
        for rule in RULES if share == 1 else (RULES[0], RULES[8]):
            words = (rule.fall, rule.further, rule.loud, rule.pooled, rule.beta, rule.tail_factor)
            print(
                f"{' '.join(f'{word:g}' for word in words):38}{row(rule, cases, share, runs, seed)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
