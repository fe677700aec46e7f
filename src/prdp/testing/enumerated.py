"""Every outcome of a drawing procedure, with its exact probability: the procedure runs once for each path."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from flint import arb, ctx, fmpq

from prdp.noise.chances import Chances
from prdp.noise.discrete_laplace import Integers

if TYPE_CHECKING:
    from collections.abc import Callable

    from prdp.noise.entropy import Entropy


_PRECISION = 128
_Options = tuple[tuple[Any, Any], ...]


def every_outcome(
    procedure: Callable[[Chances], Hashable], cutoff: int, far: int | None = None
) -> dict[Hashable, Any]:
    """Return a ball around the probability of each output of a procedure.

    >>> found = every_outcome(lambda chances: chances.beyond(Fraction(1)) > 0, cutoff=1)
    >>> round(float(found[False].mid()), 6)  # 1 - 1/e
    0.632121

    Args:
        procedure: What draws, from a source of draws to an output.
        cutoff: Noise beyond it, on either side, is one outcome, as if it were one more than ``cutoff``.
        far: The same for distances; by default ``cutoff``.
    """
    far = cutoff if far is None else far
    found: dict[Hashable, Any] = {}
    with ctx.workprec(_PRECISION):
        open_paths: list[tuple[int, ...]] = [()]
        while open_paths:
            path = _Path(open_paths.pop(), cutoff, far)
            output = procedure(path)
            found[output] = found.get(output, arb(0)) + path.chance
            open_paths.extend(path.siblings())
    return found


@dataclass(slots=True)
class _Path:
    """Draws that take given options first, and then the first of each; it remembers what else there was."""

    given: tuple[int, ...]
    cutoff: int
    far: int
    chance: Any = field(default_factory=lambda: arb(1))
    taken: list[int] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)

    def siblings(self) -> Iterator[tuple[int, ...]]:
        """Return the paths that leave this one after what was given."""
        for place in range(len(self.given), len(self.taken)):
            for option in range(1, self.widths[place]):
                yield (*self.taken[:place], option)

    def noises(self, scale: Fraction, count: int) -> Integers:
        return np.array([self._one_of(_noises(scale, self.cutoff)) for _ in range(count)], dtype=np.int64)

    def tails(self, coins: int, scale: Fraction, least: int) -> int:
        return int(self._one_of(_tails(coins, scale, least)))

    def different(self, size: int, count: int) -> Sequence[int]:
        sets = math.comb(size, count)
        chosen: Sequence[int] = self._one_of(
            tuple((one, arb(1) / sets) for one in combinations(range(size), count))
        )
        return chosen

    def beyond(self, scale: Fraction) -> int:
        return int(self._one_of(_distances(scale, self.far)))

    def _one_of(self, options: _Options) -> Any:
        place = len(self.taken)
        option = self.given[place] if place < len(self.given) else 0
        self.taken.append(option)
        self.widths.append(len(options))
        value, chance = options[option]
        self.chance = self.chance * chance
        return value


@lru_cache(maxsize=1024)
def _noises(scale: Fraction, cutoff: int) -> _Options:
    a = _ratio(scale)
    inner = tuple((n, (1 - a) / (1 + a) * a ** abs(n)) for n in range(-cutoff, cutoff + 1))
    tail = a ** (cutoff + 1) / (1 + a)
    return (*inner, (-cutoff - 1, tail), (cutoff + 1, tail))


@lru_cache(maxsize=1024)
def _tails(coins: int, scale: Fraction, least: int) -> _Options:
    a = _ratio(scale)
    p = a**least / (1 + a)
    return tuple((n, math.comb(coins, n) * p**n * (1 - p) ** (coins - n)) for n in range(coins + 1))


@lru_cache(maxsize=1024)
def _distances(scale: Fraction, cutoff: int) -> _Options:
    a = _ratio(scale)
    return (*((n, (1 - a) * a**n) for n in range(cutoff + 1)), (cutoff + 1, a ** (cutoff + 1)))


def _ratio(scale: Fraction) -> Any:
    return (-arb(fmpq(scale.denominator, scale.numerator))).exp()


def largest_log_ratio_of(one: dict[Hashable, Any], other: dict[Hashable, Any]) -> float:
    """Return an upper bound of the log-ratio over all outputs; infinite where only one has an output."""
    with ctx.workprec(_PRECISION):
        if one.keys() != other.keys():
            return math.inf
        return max(float(abs((one[y] / other[y]).log()).upper()) for y in one)


Outcome = TypeVar("Outcome", bound=Hashable)


def exact_distribution(
    sampler: Callable[[Entropy], Outcome], depth: int
) -> tuple[dict[Outcome, Fraction], Fraction]:
    """Return the exact mass of each outcome, and the mass that ``depth`` bytes leave undecided.

    The sampler is started on the empty string. Where it asks for more bytes than the string has, it
    is started anew on every continuation of that length. So strings are only as long as the sampler
    reads, and one that stops early (a coin settles on its first byte in 255 cases of 256) is
    followed to many bytes in little time. One that asks for n bytes at once costs 256**n runs.

    >>> exact_distribution(lambda entropy: entropy.bytes(1)[0] < 64, depth=1)[0][True]
    Fraction(1, 4)
    """
    mass: dict[Outcome, Fraction] = {}
    undecided = Fraction(0)
    open_tapes = [b""]
    while open_tapes:
        tape = open_tapes.pop()
        share = Fraction(1, 256 ** len(tape))
        try:
            outcome = sampler(_Tape(tape))
        except _TapeTooShortError as short:
            if short.needed > depth:
                undecided += share
            else:
                rest = product(range(256), repeat=short.needed - len(tape))
                open_tapes.extend(tape + builtins.bytes(ending) for ending in rest)
        else:
            mass[outcome] = mass.get(outcome, Fraction(0)) + share
    return mass, undecided


class _TapeTooShortError(Exception):
    """The sampler asked for more bytes than the tape holds."""

    def __init__(self, needed: int) -> None:
        super().__init__(f"the sampler needs a tape of {needed} bytes")
        self.needed = needed


class _Tape:
    """An entropy source that reads a given string and stops at its end."""

    def __init__(self, tape: builtins.bytes) -> None:
        self._tape = tape
        self._read = 0

    def bytes(self, count: int) -> builtins.bytes:
        """Return the next ``count`` bytes of the tape."""
        start, self._read = self._read, self._read + count
        if self._read > len(self._tape):
            raise _TapeTooShortError(self._read)
        return self._tape[start : self._read]
