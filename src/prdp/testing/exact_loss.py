"""Compute a record's exact loss: output distributions compared in outward-rounded numbers.

Needs python-flint (``pip install prdp[testing]``), whose balls contain the true value whatever was
rounded. The laws that are compared are the objects that real releases are drawn from. What is in a law and
is not drawn (the noises' scales, a rule, the number of values and of places) must be the same for
neighbouring tables: a difference there is hidden by nothing, and counts as an infinite loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import accumulate, combinations_with_replacement
from operator import mul
from typing import Any, get_args

import numpy as np
from flint import arb, arb_poly, ctx, fmpq

from prdp.cells.summary import KeySummary, Summary, TopSummary
from prdp.cells.units import UnitGroups
from prdp.noise.choice import ExponentialChoice
from prdp.noise.concave import ConcaveNoise
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Gated, Law, Lazily, Noisy, Rule, Scan, Shaped, Then, Together
from prdp.noise.permute_and_flip import PermuteAndFlip

_PLAIN = (int, float, complex, str, bytes)
_LEAVES = (type(None), bool, int, str, bytes, type)


def content(thing: Any) -> object:
    """Return something that is equal for two values only if nothing in them tells them apart.

    >>> content(1) == content(1.0), content((0.0,)) == content((-0.0,)), content([1]) == content([1])
    (False, False, True)
    """
    return _content(thing, ())


def held(thing: Any) -> dict[str, Any]:
    """Return the attributes that an object holds, in its ``__dict__`` and in its slots, by name."""
    found: dict[str, Any] = dict(getattr(thing, "__dict__", {}))
    for kind in type(thing).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            own = f"_{kind.__name__.lstrip('_')}{name}" if _is_private(name) else name
            if name not in ("__dict__", "__weakref__") and hasattr(thing, own):
                found[own] = getattr(thing, own)
    return found


def undeclared(thing: Any) -> list[str]:
    """Return the names of what a dataclass holds besides its fields."""
    assert is_dataclass(thing)
    return sorted(held(thing).keys() - {field.name for field in fields(thing)})


def _is_private(name: str) -> bool:
    return name.startswith("__") and not name.endswith("__")


def _content(thing: Any, within: tuple[int, ...]) -> object:
    kind = type(thing)
    if kind in _LEAVES:
        return kind, thing
    if id(thing) in within:  # something that holds itself: how far up says where
        return kind, within[::-1].index(id(thing))
    inner = (*within, id(thing))
    own = tuple((name, _content(value, inner)) for name, value in sorted(held(thing).items()))
    return kind, _items(thing, inner), own


def _items(thing: Any, within: tuple[int, ...]) -> object:
    """Return the contents of a value besides its attributes."""
    for plain in _PLAIN:
        if isinstance(thing, plain):  # NaN equals NaN here, and 0.0 is not -0.0
            return plain.__repr__(thing)
    if isinstance(thing, np.ndarray | np.generic):
        array = np.asarray(thing)
        numbers = _content(array.tolist(), within) if array.dtype.hasobject else array.tobytes()
        return array.dtype.str, array.shape, numbers
    if isinstance(thing, dict):
        return tuple((_content(key, within), _content(value, within)) for key, value in thing.items())
    if isinstance(thing, tuple | list):
        return tuple(_content(item, within) for item in thing)
    if isinstance(thing, set | frozenset):
        return frozenset(_content(item, within) for item in thing)
    return None if held(thing) else thing


Record = Mapping[str, Any]

Places = Scan | ExponentialChoice | PermuteAndFlip
"""Laws whose outputs are a few places, each with a probability that can be written down."""

Comparison = Callable[[Law, Law], tuple[float, str]]
"""From two laws to a loss, and in words what differs that is not drawn."""

TOLERANCE = 1e-9
"""Tolerance of a measured loss over its bound: the width of the balls, with room."""

_PRECISION = 256
_TAIL_SCALES = 110
_MAX_OUTPUTS = 200_000


@dataclass(frozen=True, slots=True)
class Loss:
    """The worst log-ratio found between two neighbouring tables, beside what was promised.

    Attributes:
        record: What one of the tables has more.
        table: The other one.
        measured: The log-ratio; infinite where the laws differ in what is not drawn.
        promised: What it may be.
        undrawn: What differs that is not drawn, in words; empty if nothing does.
    """

    record: Record
    table: tuple[Record, ...]
    measured: float
    promised: float
    undrawn: str = ""

    @property
    def excess(self) -> float:
        """By how much the promise is broken; at most ``TOLERANCE`` if it is kept."""
        return self.measured - self.promised

    @property
    def ratio(self) -> float:
        """The measured loss over the promised one: 1 where a record loses all that it may."""
        if not self.promised:
            return math.inf if self.measured > TOLERANCE else 0.0
        return self.measured / self.promised


def worst_loss(  # noqa: PLR0917  (each says what is compared)
    universe: Sequence[Record],
    law: Callable[[Any], Law],
    summary_of: Callable[[Sequence[Record]], Summary | KeySummary | TopSummary | UnitGroups],
    promised: Callable[[Record], Fraction | float],
    max_records: int,
    compared: Comparison | None = None,
) -> Loss:
    """Return the comparison with the largest excess; see ``losses``."""
    found = losses(universe, law, summary_of, promised, max_records, compared)
    return max(found, key=lambda loss: loss.excess)


def losses(  # noqa: PLR0917  (each says what is compared)
    universe: Sequence[Record],
    law: Callable[[Any], Law],
    summary_of: Callable[[Sequence[Record]], Summary | KeySummary | TopSummary | UnitGroups],
    promised: Callable[[Record], Fraction | float],
    max_records: int,
    compared: Comparison | None = None,
) -> Iterator[Loss]:
    """Compare every table of up to ``max_records`` records with itself plus each record.

    Args:
        universe: All records there can be; a table may hold one several times.
        law: The mechanism, from a summary to a law.
        summary_of: The engine, from records to a summary. Where summaries merge it is called for
            single records and for none only.
        promised: What a record may lose.
        max_records: The size of the largest table.
        compared: How two laws are compared; by the largest log-ratio if left out.
    """
    compared = _compared if compared is None else compared
    summary_of_table = _merged_summaries(universe, summary_of)
    laws: dict[tuple[int, ...], Law] = {}

    def law_of(table: tuple[int, ...]) -> Law:
        if table not in laws:
            laws[table] = law(summary_of_table(table))
        return laws[table]

    for table, added in _neighbours(len(universe), max_records):
        measured, undrawn = compared(law_of(table), law_of(tuple(sorted((*table, added)))))
        records = tuple(universe[index] for index in table)
        yield Loss(universe[added], records, measured, float(promised(universe[added])), undrawn)


def added_losses(  # noqa: PLR0917  (each says what is compared)
    tables: Sequence[Sequence[Record]],
    added: Sequence[Record],
    law: Callable[[Any], Law],
    summary_of: Callable[[Sequence[Record]], Summary | KeySummary | TopSummary | UnitGroups],
    promised: Callable[[Record], Fraction | float],
    compared: Comparison | None = None,
) -> Iterator[Loss]:
    """Compare each of some tables with itself plus each of some records; the same cells only once."""
    compared = _compared if compared is None else compared
    for table in tables:
        before = summary_of(table)
        without, seen = law(before), set[object]()
        for record in added:
            promise = float(promised(record))
            if isinstance(before, Summary):
                alone: Any = summary_of([record])
                after: Any = before.merged(alone)
                if (known := (promise, content(alone))) in seen:
                    continue
                seen.add(known)
            else:
                after = summary_of([*table, record])
            measured, undrawn = compared(without, law(after))
            yield Loss(record, tuple(table), measured, promise, undrawn)


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


def _neighbours(kinds: int, max_records: int) -> Iterator[tuple[tuple[int, ...], int]]:
    for size in range(max_records):
        for table in combinations_with_replacement(range(kinds), size):
            for added in range(kinds):
                yield table, added


def largest_log_ratio(one: Law, other: Law) -> float:
    """Return an upper bound of |ln(Pr₁[y] / Pr₂[y])| over every output y."""
    return _compared(one, other)[0]


class _UndrawnError(Exception):
    """Two laws differ in something that is not drawn."""


def _compared(one: Law, other: Law) -> tuple[float, str]:
    """Return the largest log-ratio, and in words what differs that is not drawn."""
    with ctx.workprec(_PRECISION):
        try:
            return _up(_law_ratio(one, other)), ""
        except _UndrawnError as found:
            return math.inf, str(found)


def _law_ratio(one: Law, other: Law) -> Any:
    _refuse_own(_KINDS, one, other)
    if isinstance(one, Places) and isinstance(other, Places):
        return _largest(_place_ratios(one, other))
    _refuse_unless_same("kinds of law", type(one).__name__, type(other).__name__)
    return _RATIOS[type(one)](one, other)


def _refuse_own(kinds: Sequence[type], *parts: object) -> None:
    """Refuse classes that are not the library's: even a subclass may draw otherwise than its fields say."""
    for part in parts:
        if type(part) not in kinds:
            raise TypeError(
                f"{type(part).__name__} is nothing that can be enumerated here. Build it from "
                f"{', '.join(kind.__name__ for kind in kinds)}, not from a class of your own."
            )


def _refuse_unless_whole(numbers: Iterable[object], kinds: Sequence[type] = (int,)) -> None:
    if any(type(number) not in kinds for number in numbers):
        raise _UndrawnError("a value is no plain whole number: what is off the lattice of the noise shows")


def _refuse_unless_same(what: str, one: object, other: object) -> None:
    if content(one) != content(other):
        raise _UndrawnError(f"{what} differ between neighbouring tables: {one!r} and {other!r}")


def _then_ratio(one: Then, other: Then) -> Any:
    places = enumerate(_place_ratios(one.first, other.first))
    return _largest(ratio + _law_ratio(one.then(place), other.then(place)) for place, ratio in places)


def _gated_ratio(one: Gated, other: Gated) -> Any:
    """Return the ratio of the noisy values and, whichever law the rule picks by them, of that one."""
    _refuse_unless_same("rules", _known_to(one.rule), _known_to(other.rule))
    first = _law_ratio(one.first, other.first)
    return first + _largest(_pairwise(one.laws, other.laws))


def _together_ratio(one: Together, other: Together) -> Any:
    return sum(_pairwise(one.laws, other.laws), start=arb(0))


def _pairwise(one: Sequence[Law], other: Sequence[Law]) -> Iterator[Any]:
    _refuse_own((tuple, list, Lazily), one, other)
    _refuse_unless_same("numbers of laws", len(one), len(other))
    return (_law_ratio(one[place], other[place]) for place in range(len(one)))


def _known_to(rule: Rule) -> Rule:
    """Return a rule all of whose knowledge can be seen: a frozen dataclass that holds its fields alone."""
    if not is_dataclass(rule) or isinstance(rule, type) or not rule.__dataclass_params__.frozen:
        raise _UndrawnError(
            f"the rule {rule!r} may know the records: nobody can see what a function closes over. "
            "Write it as a frozen dataclass of public facts, such as prdp.noise.laws.FirstReaching"
        )
    if more := undeclared(rule):
        raise _UndrawnError(
            f"the rule {rule!r} may know the records: it holds {', '.join(more)} besides its fields. "
            "Make every fact that it goes by a field"
        )
    return rule


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
        coins = [(-_ball((penalty - least) * flips.unit)).exp() for penalty in flips.penalties]
        # the coefficients of a product of polynomials are the chances of n heads among their coins
        each = [arb_poly([1 - coin, coin]) for coin in coins]
        before = list(accumulate(each, mul, initial=arb_poly([1])))
        after = list(accumulate(reversed(each), mul, initial=arb_poly([1])))[::-1]
        return tuple(
            coin * sum((chance / (n + 1) for n, chance in enumerate(others.coeffs())), start=arb(0))
            for coin, others in zip(coins, map(mul, before, after[1:]), strict=False)
        )


@lru_cache(maxsize=4096)
def scan_probabilities(scan: Scan) -> tuple[Any, ...]:
    """Return a ball around the probability of each place that a scan can find."""
    with ctx.workprec(_PRECISION):
        return _scan_probabilities(scan)


def _scan_probabilities(scan: Scan) -> tuple[Any, ...]:
    cutoff = int(_TAIL_SCALES * scan.threshold_noise.scale) + 1
    found = [arb(0) for _ in scan.masses]
    for rho in range(-cutoff, cutoff + 1):
        here = _probability(scan.threshold_noise, rho)
        for place, mass in enumerate(scan.masses[:-1]):
            room = scan.thresholds[place] + rho - mass
            found[place] += here * _at_most(scan.mass_noise, room)
            here *= _at_most(scan.mass_noise, -room - 1)  # symmetric: Pr[noise > room]
        found[-1] += here
    beyond = 2 * _at_most(scan.threshold_noise, -cutoff - 1)
    return tuple(arb((ball + beyond / 2).mid(), (beyond / 2).upper() + ball.rad()) for ball in found)


def _place_ratios(one: Places, other: Places) -> list[Any]:
    """Return |ln(Pr₁[place] / Pr₂[place])| for every place."""
    _refuse_own(get_args(Places), one, other)
    left, right = _probabilities(one), _probabilities(other)
    _refuse_unless_same("numbers of places", len(left), len(right))
    return [_log_ratio(here, there) for here, there in zip(left, right, strict=True)]


def _log_ratio(here: Any, there: Any) -> Any:
    """Return |ln(here / there)|; 0 where both are impossible, infinite where only one may be."""
    if here == 0 and there == 0:
        return arb(0)
    ratio = abs((here / there).log())
    return ratio if ratio.is_finite() else arb("inf")


def _probabilities(law: Places) -> Sequence[Any]:
    if isinstance(law, Scan):
        _refuse_own((DiscreteLaplace,), law.threshold_noise, law.mass_noise)
        _refuse_unless_whole((*law.masses, *law.thresholds))
        return scan_probabilities(law)
    return flip_probabilities(law) if isinstance(law, PermuteAndFlip) else choice_probabilities(law)


def _noisy_ratio(one: Noisy, other: Noisy) -> Any:
    """Return the largest log-ratio of independent noisy values: the coordinates' maxima add up."""
    for noisy in (one, other):
        _refuse_own((tuple, list), noisy.values, noisy.noises)
        _refuse_own((DiscreteLaplace,), *noisy.noises)
        _refuse_unless_whole(noisy.values, (int, np.int64))
    _refuse_unless_same("noises", one.noises, other.noises)  # a scale gives itself away in the tail
    _refuse_unless_same("numbers of values", len(one.values), len(other.values))
    noises: Sequence[Any] = one.noises
    pairs = zip(one.values, other.values, noises, strict=True)
    return sum((_shift_ratio(left, right, noise) for left, right, noise in pairs), start=arb(0))


def _shift_ratio(left: int, right: int, noise: DiscreteLaplace) -> Any:
    """Return the largest log-ratio of two centres with the same noise."""
    moved = abs(int(right) - int(left))
    if moved + 2 > _MAX_OUTPUTS:
        raise ValueError(
            f"the universe is not tiny: one record moves a value by {moved} steps, and all outputs "
            f"between are enumerated, {_MAX_OUTPUTS:,} at most. Take records with smaller values, or a "
            "coarser lattice: a larger rounding step, fewer bits in Summary.refined, a smaller "
            "PointFinder.gate_bits."
        )
    return _moved_ratio(moved, noise)


def _shaped_ratio(one: Shaped, other: Shaped) -> Any:
    """Return the largest log-ratio of two centres with the same noise of a concave shape.

    All outputs are enumerated that lie up to one turn of the shape beyond the centres: further out ratios
    recur. The normalisation is the same for both.
    """
    for law in (one, other):
        _refuse_own((ConcaveNoise,), law.noise)
        _refuse_unless_whole((law.value,), (int, np.int64))
    _refuse_unless_same("noises", one.noise, other.noise)
    return _turned_ratio(abs(int(other.value) - int(one.value)), one.noise)


@lru_cache(maxsize=1 << 16)
def _turned_ratio(moved: int, noise: ConcaveNoise) -> Any:
    turn = noise.ends[-1]
    if moved + 2 * turn > _MAX_OUTPUTS:
        raise ValueError(
            f"the universe is not tiny: a turn of the noise is {turn} steps, and all outputs of two turns "
            f"are enumerated, {_MAX_OUTPUTS:,} at most. Take narrower bounds, or a coarser lattice."
        )
    return _largest(
        _log_ratio((-_ball(noise.at(abs(output)))).exp(), (-_ball(noise.at(abs(output - moved)))).exp())
        for output in range(-turn - 1, moved + turn + 2)
    )


@lru_cache(maxsize=1 << 16)
def _moved_ratio(moved: int, noise: DiscreteLaplace) -> Any:
    """Enumerate the outputs between 0 and a centre so far off, and just beyond; further out it is constant.

    Only how far the centres are apart decides, not which is the greater: the noise is symmetric.
    """
    if not moved:
        return arb(0)
    return _largest(
        _log_ratio(_probability(noise, output), _probability(noise, output - moved))
        for output in range(-1, moved + 2)
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


_RATIOS: Mapping[type, Callable[[Any, Any], Any]] = {
    Noisy: _noisy_ratio,
    Shaped: _shaped_ratio,
    Then: _then_ratio,
    Gated: _gated_ratio,
    Together: _together_ratio,
}
_KINDS = (*_RATIOS, *get_args(Places))
