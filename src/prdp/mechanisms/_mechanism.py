"""The protocol of mechanisms: cells in, a law to draw from, answers out."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Protocol

from prdp.cells.summary import Summary
from prdp.noise.entropy import Entropy
from prdp.release.raw_answer import Answer, Caveat


def beyond(masses: Sequence[int]) -> list[int]:
    """Return, for each place, the sum of what stands at the places after it.

    >>> beyond([1, 2, 3])
    [5, 3, 0]
    """
    after = list(accumulate(reversed(masses), initial=0))
    return after[-2::-1]


class Mechanism(Protocol):
    """Cells to answers. One file, one proof, one test, one name."""

    @property
    def name(self) -> str:
        """The name by which users ask for it."""

    def caveat(self, *, signed: bool) -> Caveat | None:
        """Return what the interval of its answers does not cover, in a sentence.

        Args:
            signed: Whether values of both signs are added up.
        """

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        """Draw independent answers; a real release draws one."""
