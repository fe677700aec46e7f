"""Releases of drawn answers, one for each of many groups, made when they are looked at.

Draws and their facts are held in columns: the numbers, and once for many their shared facts.
Nothing of the records is held here; a column says no more than its releases do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from itertools import repeat
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from prdp.noise.discrete_laplace import Integers
from prdp.release import formatting
from prdp.release.clipped import ClippedTerms
from prdp.release.derived import combined_interval, quotient_interval, quotient_laws
from prdp.release.interval import ENDLESS, Around, Ends, Pull, as_float, spans_limits
from prdp.release.raw_answer import Answer, AnswerColumn, Caveat, LazySequence
from prdp.release.release import Release, chance_of


@dataclass(frozen=True, slots=True)
class Label:
    """The words and scales beside an answer's number; all of it public.

    Attributes:
        words: What was asked, without the filter and the group.
        share: The part of every record's budget that is used.
        method: Which mechanism answers.
        caveat: What else than noise may move the answer; None if nothing else does.
        round_to: What the values of the cells are counted in.
        below: Whether there may be values below zero.
        above: Whether there may be values above zero.
        omitted: Which records the answer is not about, in words; empty where all take part.
        clamps: Which values count as a bound, in words; empty where none can.
        most_below: How much a unit of budget can count for at most in values below zero, in units of the
            rounding step; None where that is not known.
        most_above: The same for values above zero.
        whole: Whether the truth is a whole number.
        clipped: What is public about which records a clipping point lets count for less; None where that is
            unknown.
    """

    words: str
    share: Fraction
    method: str
    caveat: Caveat | None
    round_to: Fraction = Fraction(1)
    below: bool = False
    above: bool = True
    omitted: str = ""
    clamps: str = ""
    most_below: Fraction | None = None
    most_above: Fraction | None = None
    whole: bool = False
    clipped: ClippedTerms | None = None

    def on(self, answer: Answer, about: str, *, simulated: bool) -> Release:
        """Return the release of an answer; ``about`` says of which records.

        >>> label = Label("sum of price", Fraction(1, 10), "clip", caveat=None, round_to=Fraction(1, 100))
        >>> release = label.on(Answer(250, Fraction(1), (), ()), " where age >= 40", simulated=False)
        >>> release.question, release.value
        ('sum of price where age >= 40', 2.5)
        """
        clipping = self._pull(answer)
        return Release(
            question=f"{self.words}{about}",
            steps=answer.steps,
            step=answer.step * self.round_to,
            noise_scales=tuple(noise.scale for noise in answer.noises),
            share=self.share,
            method=self.method,
            bias=answer.caveat or self._caveat(clipping),
            decisions=answer.choices,
            simulated=simulated,
            ends=answer.ends and (answer.ends[0] * self.round_to, answer.ends[1] * self.round_to),
            clipping=clipping,
            noise=answer.noise,
            chosen=answer.chosen,
            whole=self.whole,
            clipped=self.clipped,
            shape=answer.shape,
            left_out=self.conditions,
        )

    @property
    def conditions(self) -> str:
        """Which records the answer is not about, and which values count as others."""
        return "; ".join(filter(None, (left_out(self.omitted), self.clamps)))

    def _caveat(self, pull: Pull | None) -> Caveat | None:
        """Return the caveat where it can apply, and no more of it than can."""
        if pull is not None and pull.nothing:
            return None
        if self.caveat is None or pull is None or not pull.one_sided:
            return self.caveat
        return replace(self.caveat, way="down" if pull.above else "up")

    def _pull(self, answer: Answer) -> Pull | None:
        """Return what was clipped or dropped, with the sides that it can have pulled from."""
        if answer.clipping is None:
            return None
        below, above = (
            None if most is None else most / answer.step for most in (self.most_below, self.most_above)
        )
        return answer.clipping.pulling(below=self.below, above=self.above, most=(below, above))


def left_out(omitted: str) -> str:
    """Return the note of an answer that omits some records; empty where it omits none.

    >>> left_out("records without cost"), left_out("")
    ('leaves out records without cost', '')
    """
    return f"leaves out {omitted}" if omitted else ""


Row = tuple[Release, ...]
"""The answers to all questions about one group."""

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Named(LazySequence[str]):
    """Ending of the question about each group.

    Attributes:
        about: What is the same for all groups.
        by: What the groups are distinguished by.
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


_NAMES = tuple(each.name for each in fields(Release))
_FACTS = attrgetter(*_NAMES)
_QUESTION, _STEPS, _PARTS = map(_NAMES.index, ("question", "steps", "parts"))


def _completed(template: Release, question: str, steps: int, parts: Row) -> Release:
    """Return a release with its number; as ``replace`` does it, in a third of the time."""
    facts = list(_FACTS(template))
    facts[_QUESTION], facts[_STEPS], facts[_PARTS] = question, steps, parts
    return Release(*facts)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReleaseColumn(LazySequence[Release]):
    """The releases of one question, one a group; facts that many share are held once.

    Attributes:
        template: Releases without their numbers, parts, and what their questions are about.
        which: For each group, which of them holds the facts of its answer.
        steps: The numbers.
        abouts: What each question is about.
        parts: The columns of the parts that answers were computed from; none where they were drawn.
    """

    templates: tuple[Release, ...]
    which: Integers
    steps: Integers
    abouts: Sequence[str]
    parts: tuple[ReleaseColumn, ...] = ()

    @classmethod
    def of(
        cls, label: Label, answers: AnswerColumn, abouts: Sequence[str], *, simulated: bool
    ) -> ReleaseColumn:
        """Return the releases of drawn answers."""
        template = tuple(label.on(answer, "", simulated=simulated) for answer in answers.templates)
        return cls(template, answers.which, answers.steps, abouts)

    def __len__(self) -> int:
        return len(self.steps)

    def item(self, place: int) -> Release:
        """Make one group's release."""
        template: Release = self.templates[self.which[place]]
        parts = tuple(part[place] for part in self.parts)
        return _completed(template, template.question + self.abouts[place], int(self.steps[place]), parts)

    def __iter__(self) -> Iterator[Release]:
        parts: Iterable[Row] = zip(*self.parts, strict=True) if self.parts else repeat((), len(self))
        for (steps, which), about, own in zip(self.numbers(), self.abouts, parts, strict=True):
            template = self.templates[which]
            yield _completed(template, template.question + about, steps, own)

    def examples(self) -> list[Release]:
        """Return one release for each different set of facts, in the order of the groups."""
        return [self[place] for place in sorted(self._alike()[0])]

    def _alike(self) -> tuple[list[int], list[int]]:
        """Return places of groups with all different facts, and each group's among them."""
        number = self.which
        for part in self.parts:
            number = np.unique(np.stack((number, part.which), axis=1), axis=0, return_inverse=True)[1]
            number = number.reshape(-1)
        _, places, which = np.unique(number, return_index=True, return_inverse=True)
        return places.tolist(), which.reshape(-1).tolist()

    def of_each(self, what: Callable[[Release], _Item]) -> list[_Item]:
        """Return, for each group, what follows from all but the number of its release."""
        places, which = self._alike()
        found = [what(self[place]) for place in places]
        return [found[one] for one in which]

    def numbers(self) -> Iterator[tuple[int, int]]:
        """Yield each group's number, and which of ``templates`` belongs to it."""
        return zip(self.steps.tolist(), self.which.tolist(), strict=True)

    def exact(self) -> list[Fraction]:
        """Return the answers as fractions."""
        steps = [one.step for one in self.templates]
        return [number * steps[which] for number, which in self.numbers()]

    @property
    def is_columnar(self) -> bool:
        """True if intervals follow from the numbers and from shared facts."""
        drawn = not self.parts and all(one.chosen is None and one.ends is None for one in self.templates)
        return drawn or (bool(self.parts) and all(part.is_columnar for part in self.parts))

    def between(self, chance: Fraction, tail_factor: Fraction | None) -> list[Ends]:
        """Return what ``Release.between`` says of each release."""
        if self.parts:
            return self._computed_between(1 - chance, tail_factor)
        around = self.around(1 - chance, tail_factor)
        units = [one.unit for one in around]
        return [
            (
                -ENDLESS if low is None else low * units[which],
                ENDLESS if high is None else high * units[which],
            )
            for which, _, low, high in self.whole_ends(around)
        ]

    def _computed_between(self, failure: Fraction, tail_factor: Fraction | None) -> list[Ends]:
        """Return the same of answers that were computed from parts."""
        limits = [one.ends or (-ENDLESS, ENDLESS) for one in self.templates]
        each = 1 - failure / len(self.parts)
        counts = self.parts[1].between(each, Fraction(1))
        laws = [[one.law(tail_factor) for one in part.templates] for part in self.parts]
        totals = [part.exact() for part in self.parts]
        corners: list[list[Ends]] = []
        found = []
        for place, which in enumerate(self.which.tolist()):
            template = self.templates[which]
            own = [law[part.which[place]] for law, part in zip(laws, self.parts, strict=True)]
            known = quotient_laws(own, limits[which])
            if known is None:
                corners = corners or [part.between(each, tail_factor) for part in self.parts]
                parts = [ends[place] for ends in corners]
                found.append(combined_interval(template.rule, parts, limits[which], template.center))
            elif counts[place][0] < 1:
                found.append(limits[which])
            else:
                here = [each_part[place] for each_part in totals]
                public = {"limits": limits[which], "center": template.center}
                found.append(quotient_interval(template.rule, known, here, failure, **public))
        return found

    def whole_ends(self, around: Sequence[Around]) -> Iterator[tuple[int, int, int | None, int | None]]:
        """Yield for each drawn answer its place in ``templates``, and it and its ends in parts of a step."""
        wholes = [(one.in_parts, one.error_bounds.parts) for one in around]
        for number, which in self.numbers():
            ends, parts = wholes[which]
            yield which, number * parts, *ends(number)

    def around(self, failure: Fraction, tail_factor: Fraction | None) -> list[Around]:
        """Return, for each set of facts of drawn answers, where the ends lie around them."""
        return [one.around(failure, tail_factor) for one in self.templates]

    def shown(self, ends: Sequence[Ends]) -> list[Ends]:
        """Return which of the ends are shown, as ``Release.interval`` does."""
        horizons = self.of_each(lambda one: one.horizon)
        if not any(one.below or one.above for one in horizons):
            return list(ends)
        each = zip(horizons, self.exact(), ends, strict=True)
        return [horizon.shown(exact, pair) for horizon, exact, pair in each]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReleaseRows(LazySequence[Row]):
    """The answers to several questions, a row for each group.

    Attributes:
        columns: The releases of each question.
    """

    columns: tuple[Sequence[Release], ...]

    def __len__(self) -> int:
        return len(self.columns[0])

    def __iter__(self) -> Iterator[Row]:
        return zip(*self.columns, strict=True)

    def item(self, place: int) -> Row:
        """Make one group's releases."""
        return tuple(column[place] for column in self.columns)


def column_of(rows: Sequence[Row], place: int) -> Sequence[Release]:
    """Return one question's releases."""
    return rows.columns[place] if isinstance(rows, ReleaseRows) else [row[place] for row in rows]


def examples(column: Sequence[Release]) -> Sequence[Release]:
    """Return releases with all different facts of a column's, in their order."""
    return column.examples() if isinstance(column, ReleaseColumn) else column


def values_of(column: Sequence[Release]) -> list[int] | list[float]:
    """Return the answers as numbers of one type: integers where all are whole, as counts are, else floats."""
    template = column.templates if isinstance(column, ReleaseColumn) else column
    if all(one.whole for one in template):
        exact = column.exact() if isinstance(column, ReleaseColumn) else [one.exact for one in column]
        whole = list(map(round, exact))
        fits = all(-(2**63) <= number < 2**63 for number in whole)  # as frames have them
        return whole if fits else [float(number) for number in whole]
    if isinstance(column, ReleaseColumn):
        steps = [(one.step.numerator, one.step.denominator) for one in column.templates]
        return [number * steps[which][0] / steps[which][1] for number, which in column.numbers()]
    return [float(release.value) for release in column]


def intervals_of(column: Sequence[Release], level: float | Fraction | str) -> list[tuple[float, float]]:
    """Return the intervals of the answers, as ``Release.interval`` does."""
    if not (isinstance(column, ReleaseColumn) and column.is_columnar):
        return [(float(low), float(high)) for low, high in (release.interval(level) for release in column)]
    if column.parts:
        ends = column.shown(column.between(chance_of(level), formatting.TAIL_FACTOR))
        return [(as_float(low), as_float(high)) for low, high in ends]
    around = column.around(1 - chance_of(level), formatting.TAIL_FACTOR)
    units = [one.unit for one in around]
    horizons = [one.horizon for one in column.templates]
    found = []
    for which, exact, low, high in column.whole_ends(around):
        down, up = horizons[which].beyond(exact, low, high)
        unit = units[which]
        found.append(
            (
                -math.inf if down or low is None else _as_float(low, unit),
                math.inf if up or high is None else _as_float(high, unit),
            )
        )
    return found


def _as_float(number: int, unit: Fraction) -> float:
    """Return so many units as a float, rounded once."""
    try:
        return number * unit.numerator / unit.denominator
    except OverflowError:
        return as_float(number * unit)


def std_errors_of(column: Sequence[Release]) -> list[float | None]:
    """Return the standard errors of the answers, as ``Release.std_error`` does."""
    if not (isinstance(column, ReleaseColumn) and column.is_columnar):
        return [release.std_error for release in column]
    return [formatting.std_error_of(low, high) for low, high in _all_ends(column)]


def cvs_of(column: Sequence[Release]) -> list[float | None]:
    """Return the coefficients of variation of the answers, as ``Release.cv`` does."""
    if not (isinstance(column, ReleaseColumn) and column.is_columnar):
        return [release.cv for release in column]
    each = zip(std_errors_of(column), column.exact(), _of_impossible_sign(column), strict=True)
    return [
        None if error is None or not exact or impossible else error / abs(float(exact))
        for error, exact, impossible in each
    ]


def _of_impossible_sign(column: ReleaseColumn) -> list[bool]:
    """Return which answers noise has moved to where no true value is."""
    signs = [one.sign for one in column.templates]
    return [signs[which] * number < 0 for number, which in column.numbers()]


def _all_ends(column: ReleaseColumn) -> list[tuple[float, float]]:
    """Return the ends of intervals, those that are too far away to be shown as well."""
    if column.parts:
        ends = column.between(formatting.LEVEL, formatting.TAIL_FACTOR)
        return [(as_float(low), as_float(high)) for low, high in ends]
    around = column.around(1 - formatting.LEVEL, formatting.TAIL_FACTOR)
    units = [one.unit for one in around]
    return [
        (
            -math.inf if low is None else _as_float(low, units[which]),
            math.inf if high is None else _as_float(high, units[which]),
        )
        for which, _, low, high in column.whole_ends(around)
    ]


def flags_of(column: Sequence[Release]) -> list[str]:
    """Return what is wrong with each answer, as ``Release.flag`` does."""
    if not (isinstance(column, ReleaseColumn) and column.is_columnar):
        return [release.flag for release in column]
    insufficient = column.of_each(lambda one: one.insufficient_budget)
    ends, values = _all_ends(column), [float(exact) for exact in column.exact()]
    errors = [formatting.std_error_of(low, high) for low, high in ends]
    unknown = _few(column) if column.parts else _of_impossible_sign(column)
    if column.parts:
        limits = [one.ends or (-ENDLESS, ENDLESS) for one in column.templates]
        for place, which in enumerate(column.which.tolist()):
            low, high = ends[place]
            wide = spans_limits((Fraction(low), Fraction(high)), limits[which]) if errors[place] else False
            unknown[place] = unknown[place] or wide
    return [
        formatting.INSUFFICIENT_BUDGET
        if none
        else formatting.UNRELIABLE
        if anything
        else formatting.precision_flag(error, value)
        for none, anything, error, value in zip(insufficient, unknown, errors, values, strict=True)
    ]


def any_left_away(column: Sequence[Release]) -> bool:
    """Return whether an end of any answer is not shown because it lies too far away."""
    if isinstance(column, ReleaseColumn) and column.is_columnar:
        if column.parts:
            ends = column.between(formatting.LEVEL, formatting.TAIL_FACTOR)
            return column.shown(ends) != ends
        horizons = [one.horizon for one in column.templates]
        ends_in_parts = column.whole_ends(column.around(1 - formatting.LEVEL, formatting.TAIL_FACTOR))
        return any(any(horizons[which].beyond(exact, *ends)) for which, exact, *ends in ends_in_parts)
    return any(release.left_away != (None, None) for release in column)


def any_of_nothing(column: Sequence[Release]) -> bool:
    """Return whether any answer may be of no values at all, as ``Release.perhaps_of_nothing`` does."""
    if not (isinstance(column, ReleaseColumn) and column.is_columnar):
        return any(release.perhaps_of_nothing for release in column)
    return bool(column.parts) and any(_few(column))


def _few(column: ReleaseColumn) -> list[bool]:
    """Mark the computed answers whose count may be below 1."""
    counts = column.parts[1].between(1 - (1 - formatting.LEVEL) / len(column.parts), Fraction(1))
    return [few < 1 for few, _ in counts]
