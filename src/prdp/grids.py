"""Integer edges of geometric grids: 2^(k/8), 2^(k/256), 2^(j/4), rounded exactly in a known direction."""

from __future__ import annotations

from functools import lru_cache
from itertools import count
from math import isqrt

PER_OCTAVE = 8
"""Steps of the level and magnitude grids in one doubling."""

FINE_PER_OCTAVE = 256
"""Steps in one doubling of the magnitude grid that ranks are taken on."""

SLACK = 1e-9
"""What is taken off a floating logarithm, in steps, before it is rounded down.

A double's ``log2`` errs by some 1e-13 steps of an eighth and 1e-11 of a 256th, so with this slack a
number lands on its own step or on the one below, never above.
"""

MARGIN_BITS = 30
"""Ends of a step are widened by the factor 1 ± 2^-30.

That covers ``SLACK`` ten times over at eight steps an octave, and 300 times over at 256: the slack is
in steps, which are shorter there.
"""

_ROOT_BITS = 64


def whole_root(number: int, degree: int) -> int:
    """Return the largest integer whose power ``degree``, a power of two, is at most ``number``.

    >>> whole_root(80, 4), whole_root(81, 4)
    (2, 3)
    """
    if degree < 1 or degree & (degree - 1):
        raise ValueError(f"a root by repeated square roots needs a power of two, not {degree}")
    for _ in range(degree.bit_length() - 1):
        number = isqrt(number)
    return number


@lru_cache(maxsize=4096)
def power_below(step: int, bits: int) -> int:
    """Return ⌊2^(step/8) · (1 - 2^-30) · 2^bits⌋ for step ≥ 0.

    >>> power_below(8, 10)  # just below 2 · 1024
    2047
    """
    margin = (1 << MARGIN_BITS) - 1
    return whole_root(_shift(margin**8, step + 8 * (bits - MARGIN_BITS)), 8)


def smallest_from(step: int, per_octave: int = PER_OCTAVE) -> int:
    """Return the smallest integer that is at least 2^(step/per_octave) · (1 - 2^-30).

    >>> smallest_from(8), smallest_from(12), smallest_from(24)  # 2, 2.83 and 8
    (2, 3, 8)
    """
    octave, rest = divmod(step, per_octave)
    bits = max(_ROOT_BITS, octave)
    return -(-_narrowed_up(rest, per_octave, bits) >> bits - octave)


def largest_until(step: int, per_octave: int = PER_OCTAVE) -> int:
    """Return the largest integer that is at most 2^(step/per_octave) · (1 + 2^-30).

    >>> largest_until(8), largest_until(12), largest_until(24)  # 2, 2.83 and 8
    (2, 2, 8)
    """
    octave, rest = divmod(step, per_octave)
    bits = max(_ROOT_BITS, octave)
    return _widened_down(rest, per_octave, bits) >> bits - octave


def step_ends(most: int, per_octave: int = PER_OCTAVE) -> list[tuple[int, int]]:
    """Return ``smallest_from(step)`` and ``largest_until(step + 1)`` of the steps from -1 up to a number.

    >>> step_ends(4, per_octave=1)
    [(1, 1), (1, 2), (2, 4), (4, 8)]
    """
    found: list[tuple[int, int]] = []
    for step in count(-1):
        (octave, rest), (next_octave, next_rest) = divmod(step, per_octave), divmod(step + 1, per_octave)
        bits, next_bits = max(_ROOT_BITS, octave), max(_ROOT_BITS, next_octave)
        smallest = -(-_narrowed_up(rest, per_octave, bits) >> bits - octave)
        if smallest > most:
            break
        found.append((smallest, _widened_down(next_rest, per_octave, next_bits) >> next_bits - next_octave))
    return found


@lru_cache(maxsize=4096)
def _narrowed_up(rest: int, per_octave: int, bits: int) -> int:
    """Return ⌈2^(rest/per_octave) · (1 - 2^-30) · 2^bits⌉: all octaves share their roots."""
    margin = (1 << MARGIN_BITS) - 1
    return whole_root((margin**per_octave << rest + per_octave * (bits - MARGIN_BITS)) - 1, per_octave) + 1


@lru_cache(maxsize=4096)
def _widened_down(rest: int, per_octave: int, bits: int) -> int:
    """Return ⌊2^(rest/per_octave) · (1 + 2^-30) · 2^bits⌋."""
    margin = (1 << MARGIN_BITS) + 1
    return whole_root(margin**per_octave << rest + per_octave * (bits - MARGIN_BITS), per_octave)


def quarter_octaves(steps: int, bits: int) -> int:
    """Return ⌊2^(steps/4) · 2^bits⌋ for steps ≥ 0.

    >>> quarter_octaves(4, 0), quarter_octaves(2, 10)  # 2, and the root of 2 times 1024
    (2, 1448)
    """
    return whole_root(1 << (steps + 4 * bits), 4)


def _shift(number: int, places: int) -> int:
    """Return ⌊number · 2^places⌋."""
    return number << places if places >= 0 else number >> -places
