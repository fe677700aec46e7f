"""A randomised function tested without chance: run on every string it could be given."""

from __future__ import annotations

import builtins
from collections.abc import Hashable
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from prdp.noise.entropy import Entropy

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
