"""What every mechanism has in common: cells in, a law to draw from, answers out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Protocol

from prdp.cells.summary import Summary
from prdp.noise.entropy import Entropy
from prdp.release.bias import Clipping, Dropped


def beyond(masses: Sequence[int]) -> list[int]:
    """Return, for each place, the sum of what stands at the places after it.

    >>> beyond([1, 2, 3])
    [5, 3, 0]
    """
    after = list(accumulate(reversed(masses), initial=0))
    return after[-2::-1]


class Scaled(Protocol):
    """A noise, of which its scale is public."""

    @property
    def scale(self) -> Fraction:
        """How wide it is, in steps."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A private number, with what may be said about it.

    Attributes:
        steps: The number, in steps of the lattice.
        step: What a step is worth, in units of the summary's values.
        noises: The independent noises in it, in steps; of each, its scale is said.
        choices: What the mechanism chose on the way, in words; all of it private already.
        ends: For a value that was chosen from a range instead of hidden by noise, the range.
        clipping: Where records were clipped, and how that was chosen.
        noise: The family of the noises: ``"laplace"``, or ``"quartic"``.
    """

    steps: int
    step: Fraction
    noises: tuple[Scaled, ...]
    choices: tuple[tuple[str, str], ...]
    ends: tuple[int, int] | None = None
    clipping: Clipping | Dropped | None = None
    noise: str = "laplace"


class Mechanism(Protocol):
    """Cells to answers. One file, one proof, one test, one name."""

    @property
    def name(self) -> str:
        """The name by which users ask for it."""

    def caveat(self, *, signed: bool) -> str:
        """Return what the interval of its answers does not cover, in a sentence.

        Args:
            signed: Whether values of both signs are added up.
        """

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        """Draw independent answers; a real release draws one."""
