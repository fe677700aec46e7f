"""A drawn answer, as a mechanism hands it over: the number, how it was selected, its public facts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, overload

import numpy as np

from prdp.cells.columns import exact_column
from prdp.noise.concave import ConcaveNoise
from prdp.noise.discrete_gaussian import DiscreteGaussian
from prdp.noise.spread import log, one_sided
from prdp.release.bias import Clipping
from prdp.release.interval import Pull

Ends = tuple[int | None, int | None]
"""The low and the high end, in steps; None where there is none."""

_CLOSE = 1 - 2.0**-29


class Knot(NamedTuple):
    """A value, and how far the log-weight of candidates fell on the way from it to the answer."""

    fall: Fraction
    value: int


@dataclass(frozen=True, slots=True)
class Overshoot:
    """A largest or smallest value: how far it may lie beyond the true one.

    Its interval is one-sided. Nothing private bounds how far outward a few records may lie that have too
    little budget to be seen.

    Attributes:
        knots: From the answer inward; between two of them the log-weight falls evenly in the logarithm.
        further: The same for the choice before, which decided how far inward there was anything to choose.
        window: The log-weight of that choice up to which the knots hold.
        lowest: Whether it is a smallest value.
    """

    knots: tuple[Knot, ...]
    further: tuple[Knot, ...]
    window: Fraction
    lowest: bool

    def between(self, failure: Fraction) -> Ends:
        """Return the ends between which the true value lies, but for this probability.

        >>> knots = Knot(Fraction(0), 1024), Knot(Fraction(12), 512)
        >>> over = Overshoot(knots, (), window=Fraction(8), lowest=False)
        >>> over.between(Fraction(1, 20))  # ln(40) / 12 of an octave below the answer
        (827, None)
        """
        fall = Fraction(log(2 / failure))
        end = self._end(self.knots, fall) if fall <= self.window else self._end(self.further, fall)
        return (None, end) if self.lowest else (end, None)

    def _end(self, knots: tuple[Knot, ...], fall: Fraction) -> int | None:
        """Return the value at which the log-weight had fallen that much less, rounded inward."""
        for near, far in pairwise(knots):
            if far.fall >= fall:
                return self._inside(near, far, float((fall - near.fall) / (far.fall - near.fall)))
        return knots[-1].value if knots is self.knots else None

    def _inside(self, near: Knot, far: Knot, part: float) -> int:
        """Return a value between two knots; the far one where zero lies between them."""
        if near.value * far.value <= 0:
            return far.value
        size = abs(near.value) * (far.value / near.value) ** part
        signed = math.copysign(size, near.value)
        room = abs(signed) * (1 - _CLOSE)
        return math.ceil(signed + room) if self.lowest else math.floor(signed - room)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A quantile: the noisy weights of the records between some values around it.

    Attributes:
        quantile: Which part of the weight lies below the quantile.
        lows: For each edge between two weights, the least value above it, in steps; ascending.
        highs: The greatest value below it.
        weights: The noisy weights between the edges: one more than there are edges.
        scale: The scale of their noises.
        clipping: What is known of the weight that well protected records lack; None where none does.
    """

    quantile: Fraction
    lows: tuple[int, ...]
    highs: tuple[int, ...]
    weights: tuple[int, ...]
    scale: Fraction
    clipping: Clipping | None = None

    def between(self, failure: Fraction) -> Ends:
        """Return the ends between which the quantile of the weighed records lies, but for a probability."""
        return self._between(failure, Fraction(0))

    def of_all(self, failure: Fraction, tail_factor: Fraction) -> Ends:
        """Return the ends between which the quantile of the records lies when they all count alike.

        It holds where no record would weigh more than ``tail_factor`` times what it was allowed to.
        """
        lacking = Fraction(0) if self.clipping is None else self.clipping.pull(failure / 2, tail_factor)
        return (None, None) if lacking is None else self._between(failure / 2, lacking)

    def _between(self, failure: Fraction, lacking: Fraction) -> Ends:
        """Return the ends where records may lack so much weight.

        Edges are tested from the outermost inward, so that the first one that the truth does not allow
        is the only one at which chance can mislead (proofs/rank.md).
        """
        target = self.quantile * sum(self.weights)
        low = high = None
        below = 0
        excess = []
        for edge, weight in enumerate(self.weights[:-1]):
            below += weight
            excess.append((below - target, self._error_bound(edge + 1, failure / 2)))
        for edge, (over, error_bound) in enumerate(excess):
            if over + error_bound + (1 - self.quantile) * lacking >= 0:
                break
            low = self.lows[edge]
        for edge, (over, error_bound) in reversed(list(enumerate(excess))):
            if over - error_bound - self.quantile * lacking <= 0:
                break
            high = self.highs[edge]
        return low, high

    def _error_bound(self, below: int, failure: Fraction) -> Fraction:
        """Return how far noise moves what lies below an edge, less its target, at most."""
        above = len(self.weights) - below
        parts = ((below, 1 - self.quantile), (above, self.quantile))
        lattice = sum(count * part for count, part in parts)
        return Fraction(one_sided(parts, failure)) * self.scale + lattice


_Item = TypeVar("_Item")


class Scaled(Protocol):
    """A noise, of which its scale is public."""

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in steps."""


Way = Literal["", "toward zero", "down", "up", "either way"]
"""Direction in which something can move an answer; empty where it is unknown."""

_WAYS: dict[Way, str] = {
    "toward zero": "bias it toward zero",
    "down": "bias it downward",
    "up": "bias it upward",
    "either way": "bias it either way",
}


@dataclass(frozen=True, slots=True)
class Caveat:
    """A cause besides noise that may have moved an answer.

    >>> print(Caveat("clipped records", "toward zero"))
    clipped records can bias it toward zero

    Attributes:
        cause: The cause: the subject of a sentence, or all of it where there is no ``way``.
        way: Which way it can move the answer.
        general: The cause without the numbers in which rows of a table differ; empty where it has none.
    """

    cause: str
    way: Way = ""
    general: str = ""

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.cause} can {_WAYS[self.way]}" if self.way else self.cause

    @property
    def in_general(self) -> Caveat:
        """The same for all rows of a table."""
        return replace(self, cause=self.general or self.cause, general="")

    def moved(self, pull: Pull | None, by: tuple[Fraction, Fraction] | None) -> Caveat:
        """Return the caveat of a number that is computed from an answer.

        >>> print(Caveat("clipped records", "toward zero").moved(None, None))
        clipped records can bias it either way

        Args:
            pull: What was clipped or dropped in the answer; None where that is not known.
            by: What the answer is multiplied by, and what is added; None where it is computed in another way.
        """
        if self.way in ("", "either way"):
            return self
        if by is None or by[0] == 0:
            return replace(self, way="either way")
        if self.way == "toward zero" and not by[1]:
            return self
        if pull is None or pull.below == pull.above:
            return replace(self, way="either way")
        return replace(self, way="down" if pull.above == (by[0] > 0) else "up")


@dataclass(frozen=True, slots=True)
class Answer:
    """A private number, with its public facts.

    Attributes:
        steps: The number, in steps of the lattice.
        step: What a step is worth, in rounding steps of the summary's values.
        noises: The independent noises in it, in steps; the scale of each is public.
        choices: What the mechanism chose on the way, in words; all of it private already.
        ends: For a value that was chosen from a range instead of hidden by noise, the range.
        clipping: Where records were clipped, and how that was chosen.
        chosen: For a value that was chosen by a law that tells how far off it may be, what it tells.
        noise: The family of the noises: ``"laplace"``, ``"gaussian"`` or ``"quartic"``.
        shape: For noise of another shape, all of it, in steps; ``noises`` is then empty.
        caveat: What else than noise moved it, where the draw tells more of that than the label; else None.
    """

    steps: int
    step: Fraction
    noises: tuple[Scaled, ...]
    choices: tuple[tuple[str, str], ...]
    ends: tuple[int, int] | None = None
    clipping: Pull | None = None
    noise: str = "laplace"
    chosen: Overshoot | Ranked | None = None
    shape: ConcaveNoise | None = None
    caveat: Caveat | None = None


def family(noises: Sequence[Scaled]) -> str:
    """Return the family of an answer's noises, all of one."""
    return "gaussian" if any(isinstance(noise, DiscreteGaussian) for noise in noises) else "laplace"


class LazySequence(Sequence[_Item]):
    """A sequence whose items are made when they are looked at; equal to others that hold the same."""

    __slots__ = ()

    def item(self, place: int) -> _Item:
        """Make one item; the place is within the sequence."""
        raise NotImplementedError

    @overload
    def __getitem__(self, place: int) -> _Item: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[_Item, ...]: ...

    def __getitem__(self, place: int | slice) -> _Item | tuple[_Item, ...]:
        if isinstance(place, slice):
            return tuple(map(self.item, range(*place.indices(len(self)))))
        size = len(self)
        if not -size <= place < size:
            raise IndexError(place)
        return self.item(place % size)

    def __iter__(self) -> Iterator[_Item]:
        return map(self.item, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LazySequence | tuple):
            return NotImplemented
        return len(self) == len(other) and all(mine == yours for mine, yours in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AnswerColumn(LazySequence[Answer]):
    """One answer for each group, made when it is looked at: facts that many share are held once.

    Attributes:
        steps: The numbers.
        which: For each group, which of the answers in ``templates`` holds the facts of its number.
        template: Answers, the number left out.
    """

    steps: Any
    which: Any
    templates: tuple[Answer, ...]

    @classmethod
    def of_one(cls, answer: Answer) -> AnswerColumn:
        """Return the column of one group's answer."""
        return cls(exact_column([answer.steps]), np.zeros(1, np.intp), (answer,))

    def __len__(self) -> int:
        return len(self.steps)

    def item(self, place: int) -> Answer:
        """Make one group's answer."""
        template: Answer = self.templates[self.which[place]]
        return replace(template, steps=int(self.steps[place]))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ByGroup(LazySequence[list[Answer]]):
    """The answers of many groups: for each group, one a run.

    Attributes:
        by_run: Each run's answers, one a group.
    """

    by_run: tuple[Sequence[Answer], ...]

    def __len__(self) -> int:
        return len(self.by_run[0]) if self.by_run else 0

    def item(self, place: int) -> list[Answer]:
        """Make one group's answers."""
        return [answers[place] for answers in self.by_run]
