"""Permute-and-flip for thousands of groups at once: the coins of each group's own law, tossed side by side.

What is drawn for a row is what its own ``PermuteAndFlip`` would draw from the same bytes: proofs/point.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from prdp.noise.discrete_laplace import Integers
from prdp.noise.entropy import Entropy
from prdp.noise.permute_and_flip import (
    CHUNK_WORDS,
    ROUNDING,
    PermuteAndFlip,
    flipped,
    one_of_each,
    random_words,
    word_bounds,
)

_LIMB = 31


@dataclass(frozen=True, slots=True)
class ManyFlips:
    """Laws side by side: that of row i has the penalties ``weight`` · mass[i][j] + ``climbs[j]``.

    Attributes:
        masses: The masses as limbs of 31 bits, a row for each law; the upper one has the sign.
        weight: What a mass of 1 costs; more than 0.
        climbs: What each candidate costs whatever its mass is.
    """

    masses: tuple[Integers, ...] = field(repr=False)
    weight: Fraction
    climbs: tuple[Fraction, ...]

    @classmethod
    def of(cls, masses: Sequence[Integers], weight: Fraction, climbs: Sequence[Fraction]) -> ManyFlips:
        """Return the laws of masses that are given by limbs, or by sums of limbs."""
        return cls(tuple(_carried(masses)), weight, tuple(climbs))

    def law(self, row: int) -> PermuteAndFlip:
        """Return one row's law: what is drawn is drawn from this."""
        masses = [
            sum(int(limb) << (_LIMB * place) for place, limb in enumerate(limbs))
            for limbs in zip(*(part[row].tolist() for part in self.masses), strict=True)
        ]
        penalties = (self.weight * mass + climb for mass, climb in zip(masses, self.climbs, strict=True))
        return PermuteAndFlip(tuple(penalties))

    def draw(self, entropy: Entropy, rows: Sequence[int] | NDArray[np.intp]) -> list[int]:
        """Draw a candidate's index for each of some rows, which may be there several times."""
        at_once = max(1, CHUNK_WORDS // len(self.climbs))
        drawn: list[int] = []
        for start in range(0, len(rows), at_once):
            heads = self._heads(np.asarray(rows[start : start + at_once], np.intp), entropy)
            drawn.extend(one_of_each(heads, entropy))
        return drawn

    def _heads(self, rows: NDArray[np.intp], entropy: Entropy) -> NDArray[np.bool_]:
        """Flip all coins of some rows."""
        words = random_words(len(rows), len(self.climbs), entropy)
        penalties, errors, least = self._excess(rows)
        lower, upper = word_bounds(penalties, errors)
        near = words.astype(np.float64)
        heads = np.asarray(near < lower, dtype=np.bool_)
        unclear = ~heads & (near <= upper)
        tied = penalties <= errors  # the least penalty may be another's, or several's
        at = np.arange(len(rows))
        tied[at, least] = False
        unclear[at, least] = False
        heads[at, least] = True
        for row in np.flatnonzero(unclear.any(axis=1) | tied.any(axis=1)):
            which = None if tied[row].any() else np.flatnonzero(unclear[row])
            self._decide(int(rows[row]), words[row], heads[row], which, entropy)
        return heads

    def _excess(
        self, rows: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]:
        """Return how far each penalty is above the least one, how wrong that may be, and which is the least.

        Masses are subtracted in integers, so that what is left is right to the last places of a double. The
        first look for the least takes doubles of whole masses, and the second one mends what it missed.
        """
        weight = float(self.weight)
        climbs = np.array([float(climb) for climb in self.climbs])
        masses = [part[rows] for part in self.masses]
        cost = weight * _as_doubles(masses)
        least = np.asarray(np.argmin(cost + climbs, axis=1), dtype=np.intp)
        for _ in range(2):
            columns = least[:, np.newaxis]
            above = [part - np.take_along_axis(part, columns, axis=1) for part in masses]
            cost = weight * _as_doubles(above)
            excess = cost + (climbs - climbs[least][:, np.newaxis])
            errors = ROUNDING * (np.abs(cost) + climbs + climbs[least][:, np.newaxis] + 1)
            nearest = np.asarray(np.argmin(excess, axis=1), dtype=np.intp)
            if np.array_equal(nearest, least):
                break
            least = nearest
        return excess, errors, columns[:, 0]

    def _decide(
        self,
        row: int,
        words: NDArray[np.uint64],
        heads: NDArray[np.bool_],
        which: NDArray[np.intp] | None,
        entropy: Entropy,
    ) -> None:
        """Flip some coins of a row, or all of them, in integers."""
        law = self.law(row)
        least = min(law.penalties)
        for candidate in range(len(heads)) if which is None else which.tolist():
            excess = law.penalties[candidate] - least
            heads[candidate] = flipped(int(words[candidate]), excess, entropy)


def _carried(parts: Sequence[Integers]) -> list[Integers]:
    """Return limbs of which all but the last lie between 0 and 2^31."""
    carried: list[Integers] = []
    carry: Integers | int = 0
    for part in parts[:-1]:
        whole: Integers = part + carry
        carried.append(whole & ((1 << _LIMB) - 1))
        carry = whole >> _LIMB
    return [*carried, parts[-1] + carry]


def _as_doubles(parts: Sequence[Integers]) -> NDArray[np.float64]:
    """Return the numbers that limbs make, each right to the last place but a few of a double."""
    whole = parts[-1].astype(np.float64)
    for part in reversed(parts[:-1]):
        whole = whole * 2.0**_LIMB + part
    return whole
