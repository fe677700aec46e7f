"""A drawn answer, as a mechanism hands it over: the number, and what may be said about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol, overload

from prdp.noise.concave import ConcaveNoise
from prdp.release.chosen import Overshoot, Ranked
from prdp.release.tiered import Pull


class Scaled(Protocol):
    """A noise, of which its scale is public."""

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in steps."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A private number, with what may be said about it.

    Attributes:
        steps: The number, in steps of the lattice.
        step: What a step is worth, in grains of the summary's values.
        noises: The independent noises in it, in steps; of each, its scale is said.
        choices: What the mechanism chose on the way, in words; all of it private already.
        ends: For a value that was chosen from a range instead of hidden by noise, the range.
        clipping: Where records were clipped, and how that was chosen.
        chosen: For a value that was chosen by a law that tells how far off it may be, what it tells.
        noise: The family of the noises: ``"laplace"``, or ``"quartic"``.
        shape: For noise of another shape, all of it, in steps; ``noises`` is then empty.
        caveat: What else than noise moved it, where the draw tells more of that than the label; else empty.
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
    caveat: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class AnswerColumn(Sequence[Answer]):
    """One answer for each group, made when it is looked at: what is said of many is held once.

    Attributes:
        steps: The numbers.
        which: For each group, which of the answers in ``said`` has all that is said of its number.
        said: Answers, the number left out.
    """

    steps: Any
    which: Any
    said: tuple[Answer, ...]

    def __len__(self) -> int:
        return len(self.steps)

    @overload
    def __getitem__(self, place: int) -> Answer: ...

    @overload
    def __getitem__(self, place: slice) -> list[Answer]: ...

    def __getitem__(self, place: int | slice) -> Answer | list[Answer]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        said: Answer = self.said[self.which[place]]
        return replace(said, steps=int(self.steps[place]))


@dataclass(frozen=True, slots=True)
class ByGroup(Sequence[list[Answer]]):
    """The answers of many groups: for each group, one a run.

    Attributes:
        by_run: Each run's answers, one a group.
    """

    by_run: tuple[Sequence[Answer], ...]

    def __len__(self) -> int:
        return len(self.by_run[0]) if self.by_run else 0

    @overload
    def __getitem__(self, place: int) -> list[Answer]: ...

    @overload
    def __getitem__(self, place: slice) -> list[list[Answer]]: ...

    def __getitem__(self, place: int | slice) -> list[Answer] | list[list[Answer]]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        return [answers[place] for answers in self.by_run]

    def __iter__(self) -> Iterator[list[Answer]]:
        return map(self.__getitem__, range(len(self)))
