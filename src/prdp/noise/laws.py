"""Distributions of private answers: the objects that are drawn from are the ones that are proved.

A mechanism turns a summary into a law, by exact arithmetic. Everything random happens in a law's
``draw``; everything after it is post-processing. The exact tests enumerate the same laws.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from operator import add
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from prdp.noise.choice import ExponentialChoice
from prdp.noise.concave import ConcaveNoise
from prdp.noise.discrete_gaussian import DiscreteGaussian
from prdp.noise.discrete_laplace import DiscreteLaplace, Integers
from prdp.noise.entropy import Entropy
from prdp.noise.permute_and_flip import PermuteAndFlip

Noise = DiscreteLaplace | DiscreteGaussian
"""What hides a value on its lattice: Gaussian noise under concentrated policies alone."""

_FITS = 1 << 60
_MANY = 8
"""So many values in a row that have the same noise, or more, have it drawn at once."""


@dataclass(frozen=True, slots=True)
class Noisy:
    """Integers, each hidden by independent noise on the same lattice (Lemma 3 of the proofs).

    >>> from fractions import Fraction
    >>> Noisy((41,), (DiscreteLaplace(Fraction(10)),))  # the value is private, the noise is not
    Noisy(noises=(DiscreteLaplace(scale=Fraction(10, 1)),))
    """

    values: tuple[int, ...] = field(repr=False)
    noises: tuple[Noise, ...]

    def draw(self, entropy: Entropy, runs: int) -> list[tuple[int, ...]]:
        """Draw the noisy values, once a run.

        >>> from fractions import Fraction
        >>> from prdp.testing.seeded import Seeded
        >>> Noisy((41,), (DiscreteLaplace(Fraction(1, 1000)),)).draw(Seeded(1), 2)  # no noise to speak of
        [(41,), (41,)]
        """
        if not self.values:
            return [()] * runs
        parts = [_alike(noise, sum(1 for _ in same), entropy, runs) for noise, same in groupby(self.noises)]
        noises = (sum(run, start=()) for run in zip(*parts, strict=True))
        values = tuple(map(int, self.values))
        return [tuple(map(add, values, run)) for run in noises]


@dataclass(frozen=True, slots=True)
class Shaped:
    """A whole number, hidden by noise of a concave shape on the same lattice (proofs/additive.md)."""

    value: int = field(repr=False)
    noise: ConcaveNoise

    def draw(self, entropy: Entropy, runs: int) -> list[int]:
        """Draw the noisy value, once a run."""
        return [int(self.value) + int(draw) for draw in self.noise.draw_many(entropy, runs)]


@dataclass(frozen=True, slots=True)
class Scan:
    """The first place at which a falling mass, with noise, is at most its noisy threshold (Lemma 4).

    >>> from fractions import Fraction
    >>> from prdp.testing.seeded import Seeded
    >>> none = DiscreteLaplace(Fraction(1, 1000))  # nearly always 0
    >>> Scan((90, 40, 10), (20, 20, 20), none, none).draw(Seeded(1), 1).tolist()
    [2]

    Attributes:
        masses: Lattice points; adding a record moves each by no more than the noises are for.
        thresholds: Public lattice points, one for each mass.
        threshold_noise: Drawn once, and added to every threshold.
        mass_noise: Drawn for every mass, whether or not it is reached.
    """

    masses: tuple[int, ...] = field(repr=False)
    thresholds: tuple[int, ...] = field(repr=False)
    threshold_noise: DiscreteLaplace
    mass_noise: DiscreteLaplace

    def draw(self, entropy: Entropy, runs: int) -> NDArray[np.int64]:
        """Draw the index of the place, once a run; the last one where no mass is low enough."""
        places = len(self.masses)
        threshold_noise = self.threshold_noise.draw_many(entropy, runs)
        mass_noise = self.mass_noise.draw_many(entropy, runs * places).reshape(runs, places)
        gaps = [mass - at for mass, at in zip(self.masses, self.thresholds, strict=True)]
        room = _difference(threshold_noise[:, None], mass_noise)
        low = np.asarray(_comparable(gaps, room) <= room, dtype=bool)
        low[:, -1] = True
        return np.asarray(np.argmax(low, axis=1), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Then:
    """A place, and then the law that belongs to it (Lemma 1)."""

    first: Scan | ExponentialChoice | PermuteAndFlip
    then: Callable[[int], Law]

    def draw(self, entropy: Entropy, runs: int) -> list[tuple[int, Any]]:
        """Draw the place and what its law gives, once a run."""
        places = [int(place) for place in self.first.draw(entropy, runs)]
        return followed(places, self.then, entropy)


class Rule(Protocol):
    """From noisy values to the place of a law: a frozen dataclass whose fields are public facts.

    A function would do as well to draw, but nobody could see what it closes over. The exact tests compare
    a rule's fields between neighbouring tables, and take anything but a frozen dataclass for a leak.
    """

    def __call__(self, values: tuple[int, ...], /) -> int:
        """Return the place."""


@dataclass(frozen=True, slots=True)
class FirstReaching:
    """The place of the first test that is passed; the place after the last one if none is.

    Attributes:
        tests: For each place, which noisy value must reach how much. Both are public.
    """

    tests: tuple[tuple[int, int], ...]

    def __call__(self, values: tuple[int, ...], /) -> int:
        """Return the place that noisy values point to.

        >>> FirstReaching(((0, 10), (0, 5)))((7,))
        1
        >>> FirstReaching(((0, 10), (0, 5)))((3,))  # none is passed
        2
        """
        passed = (place for place, (which, least) in enumerate(self.tests) if values[which] >= least)
        return next(passed, len(self.tests))


@dataclass(frozen=True, slots=True)
class Gated:
    """Noisy values, and then the law that a public rule picks by them (Lemma 1).

    The rule's places are those of the laws, from 0: nothing else can be picked.
    """

    first: Noisy
    rule: Rule
    laws: Sequence[Law]

    def draw(self, entropy: Entropy, runs: int) -> list[tuple[int, Any]]:
        """Draw which law is picked and what it gives, once a run."""
        picked = [self.rule(values) for values in self.first.draw(entropy, runs)]
        if not all(0 <= place < len(self.laws) for place in picked):
            raise IndexError(f"the rule picks a place that is not among the {len(self.laws)} laws'")
        return followed(picked, self.laws.__getitem__, entropy)


class Lazily(Sequence["Law"]):
    """Laws that are built on first use; which are built depends only on drawn values, so nothing leaks."""

    def __init__(self, count: int, make: Callable[[int], Law]) -> None:
        self._count = count
        self._made = cache(make)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: Any) -> Any:
        if not 0 <= place < self._count:
            raise IndexError(place)
        return self._made(place)


@dataclass(frozen=True, slots=True)
class Together:
    """Several laws, drawn independently of each other (Lemma 1).

    >>> from fractions import Fraction
    >>> from prdp.testing.seeded import Seeded
    >>> law = Noisy((41,), (DiscreteLaplace(Fraction(1, 1000)),))
    >>> Together((law, law)).draw(Seeded(1), 1)
    [((41,), (41,))]
    """

    laws: tuple[Law, ...]

    def draw(self, entropy: Entropy, runs: int) -> list[tuple[Any, ...]]:
        """Draw from each law, once a run."""
        return _each_run([law.draw(entropy, runs) for law in self.laws], runs)


Law = Noisy | Shaped | Scan | ExponentialChoice | PermuteAndFlip | Then | Gated | Together
"""Whatever an answer is drawn from; exact tests enumerate the same objects."""


def followed(places: list[int], then: Callable[[int], Law], entropy: Entropy) -> list[tuple[int, Any]]:
    """Draw from each place's law as often as the place came up; keep the order of the runs."""
    drawn = {
        place: iter(then(place).draw(entropy, count)) for place, count in sorted(Counter(places).items())
    }
    return [(place, next(drawn[place])) for place in places]


def _alike(noise: Noise, number: int, entropy: Entropy, runs: int) -> list[tuple[int, ...]]:
    """Draw a noise for so many values, once a run: for each value by itself, or for many at once."""
    if number < _MANY:
        return _each_run([noise.draw_many(entropy, runs).tolist() for _ in range(number)], runs)
    return list(map(tuple, noise.draw_many(entropy, number * runs).reshape(runs, number).tolist()))


def _each_run(columns: Sequence[Iterable[Any]], runs: int) -> list[tuple[Any, ...]]:
    """Return the rows of all columns, one a run; a law of nothing draws nothing, once a run."""
    return list(zip(*columns, strict=True)) if columns else [()] * runs


def _difference(left: Integers, right: Integers) -> Integers:
    """Subtract without overflow: in Python's integers where int64 might not hold the result."""
    if all(side.dtype != object and np.abs(side).max(initial=0) < _FITS for side in (left, right)):
        return np.asarray(left - right)
    return np.asarray(left.astype(object) - right.astype(object))


def _comparable(numbers: Sequence[int], other: Integers) -> Integers:
    """Return numbers that compare with ``other`` as the given ones do.

    A number too large for int64 is beyond every int64 that ``_difference`` returns, so it may be
    capped there.
    """
    if other.dtype == object:
        return np.array(numbers, dtype=object)
    cap = 2 * _FITS
    return np.array([max(-cap, min(cap, number)) for number in numbers], dtype=np.int64)
