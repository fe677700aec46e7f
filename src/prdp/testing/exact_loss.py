"""What a record really loses: output distributions compared without chance, in outward-rounded numbers.

Needs python-flint (``pip install prdp[testing]``), whose balls contain the true value whatever was
rounded. The laws that are compared are the objects that real releases are drawn from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import combinations_with_replacement
from typing import Any

from flint import arb, ctx, fmpq

from prdp.noise.choice import ExponentialChoice
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Gated, Law, Noisy, Scan, Then, Together
from prdp.noise.permute_and_flip import PermuteAndFlip
from prdp.summary import KeySummary, Summary, TopSummary
from prdp.units import UnitGroups

Record = Mapping[str, Any]

Places = Scan | ExponentialChoice | PermuteAndFlip
"""Laws whose outputs are a few places, each with a probability that can be written down."""

TOLERANCE = 1e-9
"""What a measured loss may exceed its bound by: the width of the balls, with room."""

_PRECISION = 256
_TAIL_SCALES = 110
_MOST_OUTPUTS = 200_000


@dataclass(frozen=True, slots=True)
class Loss:
    """The worst log-ratio found between two neighbouring tables, beside what was promised."""

    record: Record
    table: tuple[Record, ...]
    measured: float
    promised: float

    @property
    def excess(self) -> float:
        """By how much the promise is broken; at most ``TOLERANCE`` if it is kept."""
        return self.measured - self.promised


def worst_loss(
    universe: Sequence[Record],
    law: Callable[[Any], Law],
    summary_of: Callable[[Sequence[Record]], Summary | KeySummary | TopSummary | UnitGroups],
    promised: Callable[[Record], Fraction | float],
    most_records: int,
) -> Loss:
    """Compare every table of up to ``most_records`` records with itself plus each record.

    Args:
        universe: All records there can be; a table may hold one several times.
        law: The mechanism, from a summary to a law.
        summary_of: The engine, from records to a summary. Where summaries merge it is called for
            single records and for none only.
        promised: What a record may lose.
        most_records: The size of the largest table.

    Returns:
        The comparison with the largest excess.
    """
    summary_of_table = _merged_summaries(universe, summary_of)
    laws: dict[tuple[int, ...], Law] = {}

    def law_of(table: tuple[int, ...]) -> Law:
        if table not in laws:
            laws[table] = law(summary_of_table(table))
        return laws[table]

    def losses() -> Iterator[Loss]:
        for table, added in _neighbours(len(universe), most_records):
            measured = largest_log_ratio(law_of(table), law_of(tuple(sorted((*table, added)))))
            records = tuple(universe[index] for index in table)
            yield Loss(universe[added], records, measured, float(promised(universe[added])))

    return max(losses(), key=lambda loss: loss.excess)


def _merged_summaries(
    universe: Sequence[Record],
    summary_of: Callable[[Sequence[Record]], Summary | KeySummary | TopSummary | UnitGroups],
) -> Callable[[tuple[int, ...]], Summary | KeySummary | TopSummary | UnitGroups]:
    """Return the engine for tables given by places in the universe; it reads each record once if it can."""
    empty = summary_of([])
    if not isinstance(empty, Summary):  # a key's records may be in both tables; groups of units look twice
        return lambda table: summary_of([universe[index] for index in table])
    single: list[Any] = [summary_of([record]) for record in universe]
    return lambda table: reduce(Summary.merged, (single[index] for index in table), empty)


def _neighbours(kinds: int, most_records: int) -> Iterator[tuple[tuple[int, ...], int]]:
    for size in range(most_records):
        for table in combinations_with_replacement(range(kinds), size):
            for added in range(kinds):
                yield table, added


def largest_log_ratio(one: Law, other: Law) -> float:
    """Return an upper bound of |ln(Pr₁[y] / Pr₂[y])| over every output y."""
    with ctx.workprec(_PRECISION):
        return _up(_law_ratio(one, other))


def _law_ratio(one: Law, other: Law) -> Any:
    if isinstance(one, Noisy) and isinstance(other, Noisy):
        return _noisy_ratio(one, other)
    if isinstance(one, Then) and isinstance(other, Then):
        places = enumerate(_place_ratios(one.first, other.first))
        return _largest(ratio + _law_ratio(one.then(place), other.then(place)) for place, ratio in places)
    if isinstance(one, Gated) and isinstance(other, Gated):
        laws = zip(one.laws, other.laws, strict=True)
        return _noisy_ratio(one.first, other.first) + _largest(_law_ratio(*pair) for pair in laws)
    if isinstance(one, Together) and isinstance(other, Together):
        laws = zip(one.laws, other.laws, strict=True)
        return sum((_law_ratio(*pair) for pair in laws), start=arb(0))
    if isinstance(one, Places) and isinstance(other, Places):
        return _largest(_place_ratios(one, other))
    raise TypeError(f"laws of different kinds: {type(one).__name__}, {type(other).__name__}")


def choice_probabilities(choice: ExponentialChoice) -> list[Any]:
    """Return a ball around the probability of each candidate."""
    with ctx.workprec(_PRECISION):
        multiples = choice.multiples or (1,) * len(choice.penalties)
        weights = [
            times * (-_ball(penalty * choice.unit)).exp()
            for penalty, times in zip(choice.penalties, multiples, strict=True)
        ]
        total = sum(weights, start=arb(0))
        return [weight / total for weight in weights]


@lru_cache(maxsize=4096)
def flip_probabilities(flips: PermuteAndFlip) -> tuple[Any, ...]:
    """Return a ball around the probability of each candidate: heads, and drawn out of 1 + n heads."""
    with ctx.workprec(_PRECISION):
        least = min(flips.penalties)
        coins = [(-_ball(penalty - least)).exp() for penalty in flips.penalties]
        return tuple(
            coin * sum((chance / (n + 1) for n, chance in enumerate(_heads(coins, place))), start=arb(0))
            for place, coin in enumerate(coins)
        )


def _heads(coins: Sequence[Any], without: int) -> list[Any]:
    """Return the probability of n heads among all coins but one."""
    chances = [arb(1)]
    for place, coin in enumerate(coins):
        if place != without:
            tails = [chance * (1 - coin) for chance in (*chances, arb(0))]
            chances = [tail + coin * head for tail, head in zip(tails, (arb(0), *chances), strict=True)]
    return chances


@lru_cache(maxsize=4096)
def scan_probabilities(scan: Scan) -> tuple[Any, ...]:
    """Return a ball around the probability of each place that a scan can find."""
    with ctx.workprec(_PRECISION):
        return _scan_probabilities(scan)


def _scan_probabilities(scan: Scan) -> tuple[Any, ...]:
    reach = int(_TAIL_SCALES * scan.threshold_noise.scale) + 1
    found = [arb(0) for _ in scan.masses]
    for rho in range(-reach, reach + 1):
        here = _probability(scan.threshold_noise, rho)
        for place, mass in enumerate(scan.masses[:-1]):
            room = scan.thresholds[place] + rho - mass
            found[place] += here * _at_most(scan.mass_noise, room)
            here *= _at_most(scan.mass_noise, -room - 1)  # symmetric: Pr[noise > room]
        found[-1] += here
    beyond = 2 * _at_most(scan.threshold_noise, -reach - 1)
    return tuple(arb((ball + beyond / 2).mid(), (beyond / 2).upper() + ball.rad()) for ball in found)


def _place_ratios(one: Places, other: Places) -> list[Any]:
    """Return |ln(Pr₁[place] / Pr₂[place])| for every place."""
    left, right = _probabilities(one), _probabilities(other)
    if len(left) != len(right):
        return [arb("inf")]
    return [abs((here / there).log()) for here, there in zip(left, right, strict=True)]


def _probabilities(law: Places) -> Sequence[Any]:
    if isinstance(law, PermuteAndFlip):
        return flip_probabilities(law)
    return scan_probabilities(law) if isinstance(law, Scan) else choice_probabilities(law)


def _noisy_ratio(one: Noisy, other: Noisy) -> Any:
    """Return the largest log-ratio of independent noisy values: the coordinates' maxima add up."""
    if one.noises != other.noises:
        return arb("inf")  # a scale that depends on the data gives itself away in the tail
    pairs = zip(one.values, other.values, one.noises, strict=True)
    return sum((_shift_ratio(left, right, noise) for left, right, noise in pairs), start=arb(0))


def _shift_ratio(left: int, right: int, noise: DiscreteLaplace) -> Any:
    """Enumerate the outputs between and just beyond two centres; further out the ratio is constant."""
    if left == right:
        return arb(0)
    low, high = min(left, right) - 1, max(left, right) + 1
    if high - low > _MOST_OUTPUTS:
        raise ValueError("the universe is not tiny: too many outputs to enumerate")
    return _largest(
        abs((_probability(noise, output - left) / _probability(noise, output - right)).log())
        for output in range(low, high + 1)
    )


@lru_cache(maxsize=1 << 18)
def _probability(noise: DiscreteLaplace, k: int) -> Any:
    """Return a ball around Pr[noise = k]."""
    step = _ball(1 / noise.scale)
    return (step / 2).tanh() * (-abs(k) * step).exp()


@lru_cache(maxsize=1 << 18)
def _at_most(noise: DiscreteLaplace, k: int) -> Any:
    """Return a ball around Pr[noise <= k]."""
    step = _ball(1 / noise.scale)
    alpha = (-step).exp()
    if k < 0:
        return (k * step).exp() / (1 + alpha)
    return 1 - (-(k + 1) * step).exp() / (1 + alpha)


def _ball(number: Fraction) -> Any:
    return arb(fmpq(number.numerator, number.denominator))


def _largest(balls: Iterable[Any]) -> Any:
    return max(balls, key=lambda ball: ball.upper())


def _up(ball: Any) -> float:
    return float(ball.upper())
