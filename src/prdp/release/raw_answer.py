"""A drawn answer, as a mechanism hands it over: the number, and what may be said about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, Protocol, TypeVar, overload

from prdp.noise.concave import ConcaveNoise
from prdp.release.error_bounds import Pull
from prdp.release.selection import Overshoot, Ranked

_Item = TypeVar("_Item")


class Scaled(Protocol):
    """A noise, of which its scale is public."""

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in steps."""


Way = Literal["", "toward zero", "down", "up", "either way"]
"""Which way something can move an answer; empty where that is not said."""

_WAYS: dict[Way, str] = {
    "toward zero": "only pull it toward zero",
    "down": "only lower it",
    "up": "only raise it",
    "either way": "move it either way",
}


@dataclass(frozen=True, slots=True)
class Caveat:
    """A cause besides noise that may have moved an answer.

    >>> print(Caveat("clipped records", "toward zero"))
    clipped records can only pull it toward zero

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
        clipped records can move it either way

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
    """A private number, with what may be said about it.

    Attributes:
        steps: The number, in steps of the lattice.
        step: What a step is worth, in rounding steps of the summary's values.
        noises: The independent noises in it, in steps; of each, its scale is said.
        choices: What the mechanism chose on the way, in words; all of it private already.
        ends: For a value that was chosen from a range instead of hidden by noise, the range.
        clipping: Where records were clipped, and how that was chosen.
        chosen: For a value that was chosen by a law that tells how far off it may be, what it tells.
        noise: The family of the noises: ``"laplace"``, or ``"quartic"``.
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
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        return self.item(place % len(self))

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
    """One answer for each group, made when it is looked at: what is said of many is held once.

    Attributes:
        steps: The numbers.
        which: For each group, which of the answers in ``said`` has all that is said of its number.
        template: Answers, the number left out.
    """

    steps: Any
    which: Any
    templates: tuple[Answer, ...]

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
