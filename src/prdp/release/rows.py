"""The answers of many groups, each made when it is looked at.

What is drawn and what is said of it are held in columns: the numbers, and once for many what is said of them.
Nothing of the records is held here; a column says no more than its releases do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar, overload

import numpy as np

from prdp.release import shown
from prdp.release.drawn import AnswerColumn
from prdp.release.label import Label
from prdp.release.release import Release, chance_of
from prdp.release.strays import Strays, strays

Row = tuple[Release, ...]
"""The answers to all questions about one group."""

_Item = TypeVar("_Item")


class _Lazy(Sequence[_Item]):
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
        if not isinstance(other, _Lazy | tuple):
            return NotImplemented
        return len(self) == len(other) and all(mine == yours for mine, yours in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))


@dataclass(frozen=True, slots=True, eq=False)
class Named(_Lazy[str]):
    """What the question about each group ends with.

    Attributes:
        about: What is the same for all groups.
        by: What the groups are told apart by.
        keys: The groups' keys.
    """

    about: str
    by: tuple[str, ...]
    keys: Sequence[tuple[Any, ...]]

    def __len__(self) -> int:
        return len(self.keys)

    def item(self, place: int) -> str:
        """Return one group's words."""
        if not self.by:
            return self.about
        key = zip(self.by, self.keys[place], strict=True)
        return f"{self.about} for " + ", ".join(f"{name} = {value}" for name, value in key)


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseColumn(_Lazy[Release]):
    """The releases of one question, one a group.

    Attributes:
        label: What is said of each.
        answers: What was drawn.
        abouts: What each question is about.
        simulated: Whether the records were a stand-in's.
    """

    label: Label
    answers: AnswerColumn
    abouts: Sequence[str]
    simulated: bool

    def __len__(self) -> int:
        return len(self.answers)

    def item(self, place: int) -> Release:
        """Make one group's release."""
        return self.label.on(self.answers[place], self.abouts[place], simulated=self.simulated)

    @property
    def alike(self) -> Any:
        """For each group a number: groups with the same one are told the same, but for key and answer."""
        return self.answers.which

    def example(self, which: int) -> Release:
        """Return the release of an answer of 0 of which that is said."""
        return self.label.on(self.answers.said[which], "", simulated=self.simulated)


@dataclass(frozen=True, slots=True, eq=False)
class DerivedColumn(_Lazy[Release]):
    """The releases of a question whose answers follow from others, one a group.

    Attributes:
        derive: From the releases of the parts and what the question is about to the release.
        parts: The columns that it follows from.
        abouts: What each question is about.
    """

    derive: Callable[[Row, str], Release]
    parts: tuple[Sequence[Release], ...]
    abouts: Sequence[str]

    def __len__(self) -> int:
        return len(self.abouts)

    def item(self, place: int) -> Release:
        """Make one group's release."""
        return self.derive(tuple(part[place] for part in self.parts), self.abouts[place])

    @property
    def alike(self) -> Any:
        """For each group a number, as in ``ReleaseColumn``."""
        found = [alike(part) for part in self.parts]
        return np.unique(np.stack(found, axis=1), axis=0, return_inverse=True)[1].reshape(-1)


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseRows(_Lazy[Row]):
    """The answers to several questions, a row for each group.

    Attributes:
        columns: The releases of each question.
    """

    columns: tuple[Sequence[Release], ...]

    def __len__(self) -> int:
        return len(self.columns[0])

    def item(self, place: int) -> Row:
        """Make one group's releases."""
        return tuple(column[place] for column in self.columns)


def column_of(rows: Sequence[Row], place: int) -> Sequence[Release]:
    """Return one question's releases."""
    return rows.columns[place] if isinstance(rows, ReleaseRows) else [row[place] for row in rows]


def alike(column: Sequence[Release]) -> Any:
    """Return for each release a number, the same for releases of which the same is said but for the answer."""
    known = getattr(column, "alike", None)
    return np.arange(len(column)) if known is None else known


def examples(column: Sequence[Release]) -> list[Release]:
    """Return releases of which all different things are said that are said of a column's, in their order."""
    if not isinstance(column, ReleaseColumn | DerivedColumn):
        return list(column)
    places = np.unique(column.alike, return_index=True)[1]
    return [column[int(place)] for place in np.sort(places)]


def values_of(column: Sequence[Release]) -> list[float]:
    """Return the answers as floats."""
    if not isinstance(column, ReleaseColumn):
        return [float(release.value) for release in column]
    steps = [(one.step.numerator, one.step.denominator) for one in _examples(column)]
    pairs = zip(column.answers.steps.tolist(), column.alike.tolist(), strict=True)
    return [number * steps[which][0] / steps[which][1] for number, which in pairs]


def intervals_of(column: Sequence[Release], level: float | Fraction | str) -> list[tuple[float, float]]:
    """Return the intervals of the answers at the usual reach."""
    if not isinstance(column, ReleaseColumn) or not all(map(_is_noisy, _examples(column))):
        return [(float(low), float(high)) for low, high in (one.interval(level) for one in column)]
    failure = 1 - chance_of(level)
    found = [_strays(one, failure, shown.REACH) for one in _examples(column)]
    steps = [one.step for one in _examples(column)]
    pairs = zip(column.answers.steps.tolist(), column.alike.tolist(), strict=True)
    return [_ends(found[which], number, steps[which]) for number, which in pairs]


def flags_of(column: Sequence[Release]) -> list[str]:
    """Return what is wrong with each answer, as ``Release.flag`` says it."""
    if not isinstance(column, ReleaseColumn) or not all(map(_is_noisy, _examples(column))):
        return [release.flag for release in column]
    told = _examples(column)
    poor = [one.clipping is not None and one.clipping.too_poor for one in told]
    noise = [_strays(one, 1 - shown.LEVEL, Fraction(1)) for one in told]
    pairs = zip(column.answers.steps.tolist(), column.alike.tolist(), strict=True)
    return [
        shown.TOO_POOR if poor[which] else shown.MOSTLY_NOISE if _mostly_noise(noise[which], number) else ""
        for number, which in pairs
    ]


def _examples(column: ReleaseColumn) -> list[Release]:
    """Return, for all that may be said of a column's answers, the release of an answer of 0."""
    return [column.example(which) for which in range(len(column.answers.said))]


def _is_noisy(release: Release) -> bool:
    """Say whether the interval is that around an answer that noise was added to."""
    return not release.parts and release.chosen is None and release.ends is None


def _strays(release: Release, failure: Fraction, reach: Fraction) -> Strays:
    return strays(release.noise_scales, release.noise, release.clipping, failure, reach)


def _ends(found: Strays, steps: int, step: Fraction) -> tuple[float, float]:
    """Return the ends around an answer as floats."""
    low, high = found.around(steps)
    return (
        -math.inf if low is None else low.numerator * step.numerator / (low.denominator * step.denominator),
        math.inf if high is None else high.numerator * step.numerator / (high.denominator * step.denominator),
    )


def _mostly_noise(found: Strays, steps: int) -> bool:
    """Say whether the interval around an answer is as wide as twice the answer."""
    low, high = found.around(steps)
    return low is None or high is None or high - low >= 2 * abs(steps)
