"""One candidate out of many, by a coin for each: sharper than the exponential choice at the same loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from prdp.noise.choice import uniform_below
from prdp.noise.entropy import Entropy
from prdp.noise.exponential import bernoulli, exp_bounds, expansion

PLACES = 8
_SILENT = 45
"""exp(-45) < 2^-64."""
CHUNK_WORDS = 1 << 17


@dataclass(frozen=True, slots=True)
class PermuteAndFlip:
    """Each candidate flips a coin that shows heads with chance exp(-(penalty - least)); one head is drawn.

    It is the mechanism of McKenna and Sheldon (2020), who go through the candidates in random order until
    a coin shows heads: the first of the heads in a random order is any of them, equally likely. Its loss is
    that of the exponential choice with the same penalties, and it is sharper (proofs/point.md).
    """

    penalties: tuple[Fraction, ...] = field(repr=False)

    def __post_init__(self) -> None:
        if not self.penalties:
            raise ValueError("there is nothing to choose from")

    def draw(self, entropy: Entropy, runs: int) -> list[int]:
        """Draw a candidate's index, once a run; every run flips every coin."""
        least = min(self.penalties)
        excess = [penalty - least for penalty in self.penalties]
        first = np.array([first_word(penalty) for penalty in excess], np.uint64)
        rows = max(1, CHUNK_WORDS // len(excess))
        drawn: list[int] = []
        for start in range(0, runs, rows):
            heads = _heads(excess, first, min(rows, runs - start), entropy)
            drawn.extend(_one_of(np.flatnonzero(row), entropy) for row in heads)
        return drawn


def _heads(
    excess: Sequence[Fraction], first: NDArray[np.uint64], runs: int, entropy: Entropy
) -> NDArray[np.bool_]:
    """Flip all coins: a uniform number, byte by byte, is below the probability's own bytes or not."""
    candidates = len(excess)
    words = np.frombuffer(entropy.bytes(PLACES * runs * candidates), ">u8").reshape(runs, candidates)
    heads = np.asarray(words < first, dtype=np.bool_)
    for run, candidate in np.argwhere(words == first):
        heads[run, candidate] = bernoulli(partial(exp_bounds, excess[candidate]), entropy, agreed=PLACES)
    heads[:, [penalty == 0 for penalty in excess]] = True
    return heads


def first_word(penalty: Fraction) -> int:
    """Return the first eight bytes of exp(-penalty): all zero beyond 64 · ln 2."""
    if penalty > _SILENT:
        return 0
    return int.from_bytes(expansion(partial(exp_bounds, penalty), PLACES), "big")


def _one_of(candidates: NDArray[np.intp], entropy: Entropy) -> int:
    return int(candidates[uniform_below(len(candidates), entropy)])
