"""Answer one query of a plan: draw its steps, and derive its answer from what they draw."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial
from itertools import chain
from typing import Any, Literal

import numpy as np

from prdp.cells.columns import exact_column
from prdp.cells.groups import SummaryGroups
from prdp.cells.measure import Measure
from prdp.cells.summary import CENTER_BITS
from prdp.errors import InvalidRequest
from prdp.mechanisms.following import Following
from prdp.noise.entropy import Entropy
from prdp.plan.methods import Answering
from prdp.plan.query_base import Asked
from prdp.plan.reads import Read, UnitRead
from prdp.release.bias import Clipping
from prdp.release.derived import combined
from prdp.release.label import Label
from prdp.release.raw_answer import Answer, AnswerColumn
from prdp.release.release import Release
from prdp.release.rows import ReleaseColumn, ReleaseRows, Row

_FINER_BITS = 20
"""A derived answer is given on a lattice this many bits finer than its column's rounding step."""

Columns = tuple[Sequence[Release], ...]
"""One run's answers to one query: for each of its columns, one a group."""

KeptOfGroup = dict[int | None, Any]
"""What was drawn for several queries of a statement, by the number of the draw."""

Kept = dict[int, KeptOfGroup]
"""The same for each group, by its number; groups that are drawn together have the first one's."""

Together = Literal["", "pooled", "joint"]
"""How groups are drawn: each alone; choosing a point together; or from units that are in several."""


@dataclass(frozen=True, slots=True)
class Step:
    """One draw of a mechanism.

    Attributes:
        name: Which part of a derived answer it is; empty for an answer of its own.
        share: The part of every record's budget that it uses.
        mechanism: What draws.
        labels: What is said of each of its answers.
        select_input: What the mechanism is shown of what was read; None where that follows from earlier
        draws.
        once: The number of the draw, where several queries of a statement use it; None where one does.
        own_share: Which part of the share is from the query's own; None for all of it.
    """

    name: str
    share: Fraction
    mechanism: Answering
    labels: tuple[Label, ...]
    select_input: Callable[[Any], Any] | None
    shared_draw_id: int | None = None
    own_share: Fraction | None = None

    def draw(
        self,
        shown: Any,
        entropy: Entropy,
        runs: int,
        leaders: Sequence[Answer] = (),
        center: Fraction | None = None,
    ) -> list[tuple[Answer, ...]]:
        """Draw independent answers for one group, from what the mechanism is shown of it.

        What follows a sum is drawn after each of its draws, the ``leaders``; squares are around ``center``,
        which is in rounding steps.
        """
        mechanism: Any = self.mechanism
        if isinstance(mechanism, Following):
            return [(one,) for one in mechanism.after(leaders, shown, self.share, entropy, center)]
        answers = mechanism.answers(shown, self.share, entropy, runs)
        return [answer if isinstance(answer, tuple) else (answer,) for answer in answers]

    def begun(
        self, shown: Any, together: Together, entropy: Entropy, runs: int
    ) -> Callable[[], Sequence[AnswerColumn]]:
        """Draw for groups that are drawn together, and return what gives each run's answers, one a group."""
        mechanism: Any = self.mechanism
        if together == "joint":
            finish: Callable[[], Sequence[AnswerColumn]] = mechanism.begun(
                shown[0], self.share, entropy, runs
            )
            return finish
        drawn: Sequence[AnswerColumn] = mechanism.grouped(shown, self.share, entropy, runs).by_run
        return lambda: drawn

    def begun_after(
        self, leader: Callable[[], Sequence[AnswerColumn]], shown: Any, entropy: Entropy
    ) -> Callable[[], Sequence[AnswerColumn]]:
        """Draw for groups that are drawn together, each run after the sums that it follows."""
        following: Any = self.mechanism
        columns = leader()
        if all(isinstance(one.clipping, Clipping) for column in columns for one in column.templates):
            groups = SummaryGroups.of(shown)
            drawn: Sequence[AnswerColumn] = following.grouped_after(columns, groups, self.share, entropy)
            return lambda: drawn
        return replace(self, mechanism=following.alone).begun(shown, "pooled", entropy, len(columns))

    def around(self, center: Fraction) -> Step:
        """Return the step of squares whose labels know what distances are measured from."""
        labels = (
            replace(label, clipped=label.clipped and replace(label.clipped, center=center))
            for label in self.labels
        )
        return replace(self, labels=tuple(labels))

    def labelled(self, answers: Sequence[Answer], about: str, *, simulated: bool) -> Row:
        """Return the releases of one run's answers about one group."""
        labels = zip(self.labels, answers, strict=True)
        return tuple(label.on(answer, about, simulated=simulated) for label, answer in labels)


@dataclass(frozen=True, slots=True)
class Derived:
    """Derive an answer from its parts: pure post-processing.

    Attributes:
        rule: ``"mean"``, ``"variance"`` or ``"std"``.
        measure: The column.
        label: What is said of the answer.
    """

    rule: str
    measure: Measure
    label: Label

    def release(self, parts: Row, about: str, *, simulated: bool) -> Release:
        """Return the answer that follows from its parts."""
        template = self._template(about, clipped=any(part.bias for part in parts), simulated=simulated)
        numbers = [part.exact for part in parts]
        center = None if self.rule == "mean" else self.center(numbers)
        return replace(template, steps=self._steps(numbers), parts=parts, center=center)

    def column(
        self, parts: tuple[ReleaseColumn, ...], abouts: Sequence[str], *, simulated: bool
    ) -> ReleaseColumn:
        """Return the answers of many groups that follow from those of their parts."""
        template = tuple(
            self._template("", clipped=clipped, simulated=simulated) for clipped in (False, True)
        )
        caveats = [np.array([one.bias is not None for one in part.templates])[part.which] for part in parts]
        which = np.any(caveats, axis=0).astype(np.intp)
        steps = exact_column(map(self._steps, zip(*(part.exact() for part in parts), strict=True)))
        return ReleaseColumn(template, which, steps, abouts, parts)

    def _steps(self, parts: Sequence[Fraction]) -> int:
        """Return the answer as a whole number of its lattice's steps."""
        off = Fraction(0) if self.rule == "mean" else self._mean(parts) - self.center(parts)
        return round(combined(self.rule, parts, _limits(self.rule, self.measure), off) / self._finest)

    @property
    def _finest(self) -> Fraction:
        round_to = self.measure.round_to
        return (round_to**2 if self.rule == "variance" else round_to) / (1 << _FINER_BITS)

    def _template(self, about: str, *, clipped: bool, simulated: bool) -> Release:
        """Return what is said of an answer, but for the number and the parts."""
        return Release(
            question=f"{self.label.words}{about}",
            steps=0,
            step=self._finest,
            noise_scales=(),
            share=self.label.share,
            method=self.label.method,
            bias=self.label.caveat if clipped else None,
            simulated=simulated,
            ends=_limits(self.rule, self.measure),
            rule=self.rule,
            left_out=self.label.left_out,
        )

    def completed(
        self, steps: Sequence[Step], cells: Any, parts: Row, about: str, entropy: Entropy, *, simulated: bool
    ) -> Release:
        """Return the answer that follows from parts; parts that follow from others are drawn on the way."""
        for step in steps:
            if step.select_input is None:
                center = self.center([part.exact for part in parts])
                fine = int(center / self.measure.round_to * (1 << CENTER_BITS))
                squares = cells.valued().squared_around(fine, CENTER_BITS)
                leaders = [self._leader(parts[0])]
                (answers,) = step.draw(squares, entropy, 1, leaders, center / self.measure.round_to)
                found = tuple(map(_in_squared_steps, answers))
                parts += step.around(center).labelled(found, about, simulated=simulated)
        return self.release(parts, about, simulated=simulated)

    def center(self, parts: Sequence[Fraction]) -> Fraction:
        """Return the mean that a drawn sum and count give, to the nearest 2^-CENTER_BITS of a grain."""
        finest = self.measure.round_to / (1 << CENTER_BITS)
        return round(self._mean(parts) / finest) * finest

    def _mean(self, parts: Sequence[Fraction]) -> Fraction:
        return combined("mean", parts[:2], _limits("mean", self.measure))

    def _leader(self, drawn: Release) -> Answer:
        """Return what a drawn sum says of its point, as the mechanism gave it."""
        return Answer(drawn.steps, drawn.step / self.measure.round_to, (), (), clipping=drawn.clipping)


def _in_squared_steps(answer: Answer) -> Answer:
    """Return an answer about squares of finer steps in squared grains, what is said of its point included."""
    step = answer.step / (1 << 2 * CENTER_BITS)
    if not isinstance(answer.clipping, Clipping) or answer.clipping.leader is not None:
        return replace(answer, step=step)  # of a point that follows another, grains are said already
    at = f"{float(answer.clipping.at * step):.6g} for each unit of budget"
    template = tuple((name, at if name == "clipped at" else words) for name, words in answer.choices)
    return replace(answer, step=step, choices=template)


def _limits(rule: str, measure: Measure) -> tuple[Fraction, Fraction]:
    """Return the public ends of a derived answer."""
    low, high = measure.low * measure.round_to, measure.high * measure.round_to
    if rule == "mean":
        return low, high
    half = (high - low) / 2  # no values spread wider than half of them at either end
    return Fraction(0), half if rule == "std" else half**2


def refuse_overspending(share: Fraction, parts: Sequence[Fraction]) -> None:
    """Refuse parts of a share that are none, or add up to more than it."""
    if min(parts) <= 0 or sum(parts) > share:
        listed = ", ".join(map(str, parts))
        raise InvalidRequest(f"the parts {listed} are more than the share {share}, or none of it.")


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """One query, ready to be answered.

    Attributes:
        query: What is asked, as the table spells it.
        method: What the caller asked for.
        share: The part of every record's budget for it.
        read: What must be read.
        steps: What is drawn, in order: one step, or the parts of a derived answer.
        measure: The column that is measured; None where nothing is.
        derived: How the answer follows from the steps; None where a step gives it.
        together: How groups are drawn.
        options: The mechanism's other options, for the ledger.
    """

    query: Asked
    method: str
    share: Fraction
    read: Read
    steps: tuple[Step, ...]
    measure: Measure | None = None
    derived: Derived | None = None
    together: Together = ""
    options: dict[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Refuse steps that would spend more of the query's own share than it has."""
        own = [step.share if step.own_share is None else step.own_share for step in self.steps]
        refuse_overspending(self.share, own)

    @property
    def groups_are_apart(self) -> bool:
        """Whether units are in one group at most."""
        return isinstance(self.read, UnitRead) and self.read.apart

    @property
    def facts(self) -> dict[str, Any]:
        """The facts that decide the answer's distribution, for the ledger, but for records and filter."""
        facts = dict(self.query.facts)
        if self.measure is not None:
            facts["range"] = [str(self.measure.low), str(self.measure.high), str(self.measure.round_to)]
        return facts | {"method": self.method, "share": str(self.share)} | self.options

    def begun(
        self,
        found: Sequence[Any],
        entropy: Entropy,
        runs: int,
        abouts: Sequence[str],
        kept: Kept,
        *,
        simulated: bool,
    ) -> Callable[[], list[Columns]]:
        """Draw independent answers, and return what gives them run by run, second looks included.

        What other queries of the statement have drawn already is in ``kept``, and is taken from there.
        """
        if self.together:
            steps = self._begun(found, entropy, runs, kept.setdefault(0, {}))
            complete = partial(self._completed, steps, found, entropy, abouts, simulated=simulated)
            if self.together == "joint":
                return complete
            drawn = complete()
        else:
            rows = [
                self._drawn_alone(
                    cells, entropy, runs, about, kept.setdefault(place, {}), simulated=simulated
                )
                for place, (cells, about) in enumerate(zip(found, abouts, strict=True))
            ]
            drawn = [tuple(map(tuple, zip(*run, strict=True))) for run in zip(*rows, strict=True)]
        return lambda: drawn

    def _drawn_alone(
        self, cells: Any, entropy: Entropy, runs: int, about: str, kept: KeptOfGroup, *, simulated: bool
    ) -> list[Row]:
        """Draw independent answers about one group, one after the other."""
        first = []
        leaders: list[Answer] = []
        for step in self.steps:
            if step.select_input is None:
                continue
            drawn = kept.get(step.shared_draw_id)
            if drawn is None:
                drawn = step.draw(step.select_input(cells), entropy, runs, leaders)
            if step.shared_draw_id is not None:
                kept[step.shared_draw_id] = drawn
            leaders = leaders or [answers[0] for answers in drawn]
            first.append([step.labelled(answers, about, simulated=simulated) for answers in drawn])
        if self.derived is None:
            return first[0]
        parts = (tuple(chain.from_iterable(each)) for each in zip(*first, strict=True))
        return [
            (self.derived.completed(self.steps, cells, each, about, entropy, simulated=simulated),)
            for each in parts
        ]

    def _begun(
        self, found: Sequence[Any], entropy: Entropy, runs: int, kept: KeptOfGroup
    ) -> list[tuple[Label, Callable[[], Sequence[AnswerColumn]]]]:
        """Draw independent answers about all groups, one step after the other."""
        begun: list[tuple[Label, Callable[[], Sequence[AnswerColumn]]]] = []
        for step in self.steps:
            if step.select_input is None:
                continue
            finish = kept.get(step.shared_draw_id)
            if finish is None:
                shown = _seen(step.select_input, found)
                if isinstance(step.mechanism, Following):
                    finish = step.begun_after(begun[0][1], shown, entropy)
                else:
                    finish = step.begun(shown, self.together, entropy, runs)
            if step.shared_draw_id is not None:
                finish = kept[step.shared_draw_id] = cache(finish)
            begun.append((step.labels[0], finish))
        return begun

    def _completed(
        self,
        steps: Sequence[tuple[Label, Callable[[], Sequence[AnswerColumn]]]],
        found: Sequence[Any],
        entropy: Entropy,
        abouts: Sequence[str],
        *,
        simulated: bool,
    ) -> list[Columns]:
        """Return the answers that steps have drawn, and those that follow from them."""
        first = [
            [ReleaseColumn.of(label, one, abouts, simulated=simulated) for one in finish()]
            for label, finish in steps
        ]
        columns = list(zip(*first, strict=True))
        derived = self.derived
        if derived is None:
            return list(columns)
        if all(step.select_input is not None for step in self.steps):
            return [(derived.column(parts, abouts, simulated=simulated),) for parts in columns]
        return [
            (
                tuple(
                    derived.completed(self.steps, cells, row, about, entropy, simulated=simulated)
                    for cells, row, about in zip(found, ReleaseRows(parts), abouts, strict=True)
                ),
            )
            for parts in columns
        ]


def shares_drawn(plans: Iterable[QueryPlan]) -> list[Fraction]:
    """Return the share of every draw of a statement, of those that several queries need once."""
    alone = [step.share for plan in plans for step in plan.steps if step.shared_draw_id is None]
    shared = {
        step.shared_draw_id: step.share
        for plan in plans
        for step in plan.steps
        if step.shared_draw_id is not None
    }
    return [*alone, *shared.values()]


def _seen(select_input: Callable[[Any], Any], found: Sequence[Any]) -> Sequence[Any]:
    """Return what a mechanism is shown of each group; of groups side by side, at once."""
    return select_input(found) if isinstance(found, SummaryGroups) else list(map(select_input, found))
