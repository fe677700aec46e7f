"""Laws with less noise than they should have: the twin that every exact test must tell from the right law."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import singledispatch
from typing import Any

from prdp.noise.choice import ExponentialChoice
from prdp.noise.concave import ConcaveNoise
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Gated, Lazily, Noisy, Scan, Shaped, Then, Together
from prdp.noise.permute_and_flip import PermuteAndFlip

FACTOR = Fraction(98, 100)
"""Noise 2 % too small."""


@singledispatch
def less_noise(law: object, factor: Fraction = FACTOR) -> Any:
    """Return a law with all its noise scaled by a factor, and its choices sharper by as much.

    >>> less_noise(Noisy((41,), (DiscreteLaplace(Fraction(100)),)))
    Noisy(noises=(DiscreteLaplace(scale=Fraction(98, 1)),))
    """
    raise TypeError(f"{type(law).__name__} is no law of the library ({factor} of its noise)")


@less_noise.register
def _(law: Noisy, factor: Fraction = FACTOR) -> Noisy:
    return Noisy(law.values, tuple(_quieter(noise, factor) for noise in law.noises))


@less_noise.register
def _(law: Shaped, factor: Fraction = FACTOR) -> Shaped:
    steeper = tuple(slope / factor for slope in law.noise.slopes)
    return Shaped(law.value, ConcaveNoise(law.noise.ends, steeper))


@less_noise.register
def _(law: Scan, factor: Fraction = FACTOR) -> Scan:
    threshold_noise, mass_noise = _quieter(law.threshold_noise, factor), _quieter(law.mass_noise, factor)
    return replace(law, threshold_noise=threshold_noise, mass_noise=mass_noise)


@less_noise.register(ExponentialChoice | PermuteAndFlip)
def _(law: ExponentialChoice | PermuteAndFlip, factor: Fraction = FACTOR) -> Any:
    return replace(law, unit=law.unit / factor)


@less_noise.register
def _(law: Then, factor: Fraction = FACTOR) -> Then:
    return Then(less_noise(law.first, factor), lambda place: less_noise(law.then(place), factor))


@less_noise.register
def _(law: Gated, factor: Fraction = FACTOR) -> Gated:
    laws = Lazily(len(law.laws), lambda place: less_noise(law.laws[place], factor))
    return Gated(less_noise(law.first, factor), law.rule, laws)


@less_noise.register
def _(law: Together, factor: Fraction = FACTOR) -> Together:
    return Together(tuple(less_noise(one, factor) for one in law.laws))


def _quieter(noise: DiscreteLaplace, factor: Fraction) -> DiscreteLaplace:
    return DiscreteLaplace(noise.scale * factor)
