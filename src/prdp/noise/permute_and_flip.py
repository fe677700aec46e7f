"""One candidate out of many, by a coin for each: sharper than the exponential choice at the same loss.

``PermuteAndFlip`` draws from one table of candidates, ``ManyChoices`` from those of many groups at once, by
coins or in proportion to weights. ``drawn_by_weight`` is the draw of ``choice.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prdp.noise.choice import PLACES, ExponentialChoice, uniform_below
from prdp.noise.discrete_laplace import Integers
from prdp.noise.entropy import Entropy
from prdp.noise.exponential import bernoulli, exp_bounds, expansion

_SILENT = 45
"""exp(-45) < 2^-64."""
CHUNK_WORDS = 1 << 17
ROUNDING = 2.0**-46
"""Above what rounding adds to a penalty of 1: a dozen operations with doubles, each off by at most 2^-52."""
_WORDS = 2.0**64
_ULP = 2.0**-40
"""Above the error of a library's exp, and of a word that is written as a double; both are below 2^-51."""
_FAR = 600
"""exp(-600) is still a normal double, and no word is below it."""
_FAINT = 46
"""Beyond it, a coin's word is tails for certain where it is above 2: 2^64 · exp(-45.9) < 1/4."""
_FAINT_WORD = 2
_FITS = 1 << 62
_TINY = Fraction(1, 1 << 1000)
"""Numbers above this are normal doubles."""


@dataclass(frozen=True, slots=True)
class PermuteAndFlip:
    """Each candidate flips a coin that shows heads with chance exp(-(penalty - least)); one head is drawn.

    It is the mechanism of McKenna and Sheldon (2020), who go through the candidates in random order until
    a coin shows heads: the first of the heads in a random order is any of them, equally likely. Its loss is
    that of the exponential choice with the same penalties, and it is sharper (proofs/point.md).

    A coin compares a random word with the first 64 bits of its probability. A double with a bound on its
    error decides what it can decide for certain, all but about one in 2^40; integers decide the rest.

    Attributes:
        penalties: The penalty of each candidate; whole numbers where there are thousands.
        unit: The cost of a penalty of 1.
    """

    penalties: Sequence[int | Fraction] = field(repr=False)
    unit: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if not len(self.penalties):
            raise ValueError("there is nothing to choose from")

    @classmethod
    def of_column(cls, penalties: Integers, unit: Fraction) -> PermuteAndFlip:
        """Return the law of whole penalties in a column, which is drawn from faster than from a tuple.

        >>> PermuteAndFlip.of_column(np.array([3, 5]), Fraction(1, 2)).penalties == (3, 5)
        True
        """
        narrow = penalties.dtype != object and max(penalties.max(), -penalties.min()) < _FITS
        return cls(_Listed(penalties) if narrow else tuple(penalties.tolist()), unit)

    def draw(self, entropy: Entropy, runs: int) -> list[int]:
        """Draw a candidate's index, once a run; every run flips every coin."""
        least = _least(self.penalties)
        near = _near(self.penalties, self.unit)
        close = np.flatnonzero(near < _FAINT)
        between = word_bounds(near[close], ROUNDING * (near[close] + 1))
        rows = max(1, CHUNK_WORDS // len(near))
        drawn: list[int] = []
        for start in range(0, runs, rows):
            heads = self._heads(close, between, least, min(rows, runs - start), entropy)
            drawn.extend(one_of_each(heads, entropy))
        return drawn

    def _heads(
        self,
        close: NDArray[np.intp],
        between: tuple[NDArray[np.float64], NDArray[np.float64]],
        least: int | Fraction,
        runs: int,
        entropy: Entropy,
    ) -> NDArray[np.bool_]:
        """Flip all coins: a uniform number, byte by byte, is below the probability's own bytes or not.

        Args:
            close: The candidates that are not ``_FAINT``.
            between: What ``word_bounds`` says of them.
            least: The least penalty.
            runs: The number of rows.
            entropy: Where the bytes come from.
        """
        words = random_words(runs, len(self.penalties), entropy)
        near = words[:, close].astype(np.float64)
        heads = np.zeros(words.shape, dtype=np.bool_)
        unclear = words <= _FAINT_WORD
        heads[:, close] = sure = near < between[0]
        unclear[:, close] = ~sure & (near <= between[1])
        for run, candidate in np.argwhere(unclear).tolist():
            excess = (self.penalties[candidate] - least) * self.unit
            heads[run, candidate] = flipped(int(words[run, candidate]), excess, entropy)
        return heads


class _Listed(Sequence[int]):
    """A column of whole numbers as a sequence of Python's, each made when it is looked at."""

    __slots__ = ("column",)

    def __init__(self, column: Integers) -> None:
        self.column = column

    def __len__(self) -> int:
        return len(self.column)

    def __getitem__(self, place: Any) -> Any:
        found = self.column[place].tolist()
        return tuple(found) if isinstance(place, slice) else found

    def __iter__(self) -> Iterator[int]:
        return iter(self.column.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Listed | tuple) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


def bounds_of(
    penalties: Sequence[int | Fraction], unit: Fraction
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ``word_bounds`` of one law."""
    near = _near(penalties, unit)
    return word_bounds(near, ROUNDING * (near + 1))


def _least(penalties: Sequence[int | Fraction]) -> int | Fraction:
    """Return the least penalty."""
    return int(penalties.column.min()) if isinstance(penalties, _Listed) else min(penalties)


def _near(penalties: Sequence[int | Fraction], unit: Fraction) -> NDArray[np.float64]:
    """Return doubles near what each penalty is above the least one, but no more than ``_FAR``."""
    above: NDArray[np.float64]
    least: Any = _least(penalties)
    if isinstance(penalties, _Listed) and unit > _TINY:
        above = (penalties.column - least).astype(np.float64)
        return np.minimum(above * float(unit), _FAR)
    if unit > _TINY and set(map(type, penalties)) == {int}:
        most = int(_FAR / unit) + 1
        above = np.array([float(min(penalty - least, most)) for penalty in penalties])
        return np.minimum(above * float(unit), _FAR)
    return np.array([float(min((penalty - least) * unit, _FAR)) for penalty in penalties])


def word_bounds(
    penalties: NDArray[np.float64], errors: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return numbers below which a coin's random word is heads for certain, and above which it is tails.

    A word is heads if it is below ⌊exp(-penalty) · 2^64⌋; proofs/point.md says why these bounds are safe.
    Of weights they are bounds too, also of those above 1.

    Args:
        penalties: Doubles near the coins' penalties.
        errors: By how much each may be wrong at most.
    """
    lower = np.exp(-np.clip(penalties + errors, -_FAR, _FAR)) * (_WORDS * (1 - _ULP)) - 2
    with np.errstate(over="ignore"):  # infinity is above every weight, and leaves all open
        upper = np.exp(-np.minimum(penalties - errors, _FAR)) * (_WORDS * (1 + _ULP)) + 2
    return lower, upper


def flipped(word: int, excess: int | Fraction, entropy: Entropy) -> bool:
    """Flip one coin in integers: its uniform number begins with a word."""
    if excess == 0:
        return True
    excess = Fraction(excess)
    first = first_word(excess)
    if word == first:
        return bernoulli(partial(exp_bounds, excess), entropy, agreed=PLACES)
    return word < first


def random_words(rows: int, candidates: int, entropy: Entropy) -> NDArray[np.uint64]:
    """Return a word for every coin of some rows."""
    words = np.frombuffer(entropy.bytes(PLACES * rows * candidates), ">u8")
    return words.astype(np.uint64).reshape(rows, candidates)


def first_word(penalty: Fraction) -> int:
    """Return the first eight bytes of exp(-penalty): all zero beyond 64 · ln 2."""
    if penalty > _SILENT:
        return 0
    return int.from_bytes(expansion(partial(exp_bounds, penalty), PLACES), "big")


def one_of_each(heads: NDArray[np.bool_], entropy: Entropy) -> list[int]:
    """Return one of the heads of each row, each equally likely."""
    picked: list[int] = np.argmax(heads, axis=1).tolist()
    numbers = np.count_nonzero(heads, axis=1)
    several = np.flatnonzero(numbers > 1)
    candidates = np.nonzero(heads[several])[1]
    counts = numbers[several]
    firsts = np.cumsum(counts) - counts
    for row, first, number in zip(several.tolist(), firsts.tolist(), counts.tolist(), strict=True):
        picked[row] = int(candidates[first + uniform_below(number, entropy)])
    return picked


_LIMB = 31


@dataclass(frozen=True, slots=True)
class ManyChoices:
    """Laws side by side: that of row i has the penalties ``weight`` · mass[i][j] + ``climbs[j]``.

    Attributes:
        masses: The masses as limbs of 31 bits, a row for each law; the upper one has the sign.
        weight: The cost of a mass of 1; more than 0.
        climbs: What each candidate costs whatever its mass is.
        kind: What each row is drawn by: coins, or weights.
    """

    masses: tuple[Integers, ...] = field(repr=False)
    weight: Fraction
    climbs: tuple[Fraction, ...]
    kind: type[PermuteAndFlip | ExponentialChoice] = PermuteAndFlip

    @classmethod
    def of(
        cls,
        masses: Sequence[Integers],
        weight: Fraction,
        climbs: Sequence[Fraction],
        kind: type[PermuteAndFlip | ExponentialChoice] = PermuteAndFlip,
    ) -> ManyChoices:
        """Return the laws of masses that are given by limbs, or by sums of limbs."""
        return cls(tuple(_carried(masses)), weight, tuple(climbs), kind)

    def law(self, row: int) -> PermuteAndFlip | ExponentialChoice:
        """Return one row's law: what is drawn is drawn from this."""
        masses = [
            sum(int(limb) << (_LIMB * place) for place, limb in enumerate(limbs))
            for limbs in zip(*(part[row].tolist() for part in self.masses), strict=True)
        ]
        penalties = (self.weight * mass + climb for mass, climb in zip(masses, self.climbs, strict=True))
        return self.kind(tuple(penalties))

    def draw(self, entropy: Entropy, rows: Sequence[int] | NDArray[np.intp]) -> list[int]:
        """Draw a candidate's index for each of some rows, which may be there several times."""
        at_once = max(1, CHUNK_WORDS // len(self.climbs))
        drawn: list[int] = []
        for start in range(0, len(rows), at_once):
            some = np.asarray(rows[start : start + at_once], np.intp)
            if self.kind is ExponentialChoice:
                penalties, errors, _ = self._excess(some)
                drawn.extend(inverted(word_bounds(penalties, errors), self._exact(some), len(some), entropy))
            else:
                drawn.extend(one_of_each(self._heads(some, entropy), entropy))
        return drawn

    def _exact(self, rows: NDArray[np.intp]) -> Callable[[int], ExponentialChoice]:
        """Return the law of each of some rows."""
        return lambda place: ExponentialChoice(tuple(self.law(int(rows[place])).penalties))

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
        """Return each penalty's excess over the least one, its error, and the place of the least.

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


_SUM_ERROR = 2.0**-50
"""Above what adding a double to a sum adds to its error, in parts of all that is added up; that is 2^-53."""


def drawn_by_weight(law: ExponentialChoice, entropy: Entropy, runs: int) -> list[int]:
    """Draw a candidate's index from one law, once a run.

    >>> from prdp.testing.seeded import Seeded
    >>> drawn_by_weight(ExponentialChoice((0, 10**6)), Seeded(1), 2)
    [0, 0]
    """
    lower, upper = (side[np.newaxis] for side in bounds_of(law.penalties, law.unit))
    at_once = max(1, CHUNK_WORDS // len(law.penalties))
    drawn: list[int] = []
    for start in range(0, runs, at_once):
        drawn.extend(inverted((lower, upper), lambda _: law, min(at_once, runs - start), entropy))
    return drawn


def inverted(
    bounds: tuple[NDArray[np.float64], NDArray[np.float64]],
    law: Callable[[int], ExponentialChoice],
    runs: int,
    entropy: Entropy,
) -> list[int]:
    """Draw in proportion to weights: a uniform number is a place in their sum, in one candidate's part.

    A random word has its first 64 bits. Sums of doubles with a bound on their error decide what they can
    decide for certain, all but about one in 2^32 for 40 candidates; integers decide the rest (Lemma 9).

    Args:
        bounds: Numbers below and above each weight, times 2^64; a row for each run, or one for all.
        law: The law of each run.
        runs: How many to draw.
        entropy: Where the bytes come from.
    """
    words = random_words(runs, 1, entropy)
    low, high = (np.cumsum(side, axis=1) for side in bounds)
    slack = high[:, -1:] * (high.shape[1] * _SUM_ERROR)
    low, high = low - slack, high + slack
    parts = words.astype(np.float64) / _WORDS
    certain = np.count_nonzero(high[:, :-1] <= low[:, -1:] * (parts * (1 - _ULP)), axis=1)
    possible = np.count_nonzero(low[:, :-1] < high[:, -1:] * ((parts + 1 / _WORDS) * (1 + _ULP)), axis=1)
    for run in np.flatnonzero(certain != possible).tolist():
        certain[run] = law(run).place(int(words[run, 0]), entropy)
    drawn: list[int] = certain.tolist()
    return drawn
