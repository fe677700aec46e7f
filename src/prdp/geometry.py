"""Integer edges of geometric grids: 2^(k/8) and 2^(j/4), rounded exactly and in a known direction."""

from __future__ import annotations

from math import isqrt

PER_OCTAVE = 8
"""Steps of the level and magnitude grids in one doubling."""

SLACK = 1e-9
"""What is taken off a floating logarithm, in steps, before it is rounded down.

A double's ``log2`` errs by some 1e-13 steps, so with this slack a number lands on its own step or on
the one below, never above.
"""

MARGIN_BITS = 30
"""Ends of a step are widened by the factor 1 ± 2^-30, which covers ``SLACK`` ten times over."""


def eighth_root(number: int) -> int:
    """Return the largest integer whose eighth power is at most ``number``."""
    return isqrt(isqrt(isqrt(number)))


def power_below(step: int, bits: int) -> int:
    """Return ⌊2^(step/8) · (1 - 2^-30) · 2^bits⌋ for step ≥ 0."""
    margin = (1 << MARGIN_BITS) - 1
    return eighth_root(_shift(margin**8, step + 8 * (bits - MARGIN_BITS)))


def smallest_from(step: int) -> int:
    """Return the smallest integer that is at least 2^(step/8) · (1 - 2^-30)."""
    margin = (1 << MARGIN_BITS) - 1
    shift = step - 8 * MARGIN_BITS
    return eighth_root(-_shift(-(margin**8), shift) - 1) + 1


def largest_until(step: int) -> int:
    """Return the largest integer that is at most 2^(step/8) · (1 + 2^-30)."""
    margin = (1 << MARGIN_BITS) + 1
    return eighth_root(_shift(margin**8, step - 8 * MARGIN_BITS))


def quarter_octaves(steps: int, bits: int) -> int:
    """Return ⌊2^(steps/4) · 2^bits⌋ for steps ≥ 0."""
    return eighth_root(1 << (2 * steps + 8 * bits))


def _shift(number: int, places: int) -> int:
    """Return ⌊number · 2^places⌋."""
    return number << places if places >= 0 else number >> -places
