"""A drawn answer, as a mechanism hands it over: the number, and what may be said about it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from prdp.noise.concave import ConcaveNoise
from prdp.release.bias import Clipping, Dropped
from prdp.release.chosen import Overshoot, Ranked


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
    """

    steps: int
    step: Fraction
    noises: tuple[Scaled, ...]
    choices: tuple[tuple[str, str], ...]
    ends: tuple[int, int] | None = None
    clipping: Clipping | Dropped | None = None
    noise: str = "laplace"
    chosen: Overshoot | Ranked | None = None
    shape: ConcaveNoise | None = None
