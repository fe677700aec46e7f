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
from prdp.cells.units import UnitCells, UnitGroups
from prdp.concentrated import PURE, Conversion, root_below
from prdp.errors import InvalidRequest
from prdp.mechanisms._rank_groups import RankGroups
from prdp.mechanisms.following import Following
from prdp.mechanisms.rank import Rank
from prdp.noise.entropy import Entropy
from prdp.plan.methods import Answering
from prdp.plan.queries import Asked
from prdp.plan.reads import Read, UnitRead
from prdp.release.bias import Clipping
from prdp.release.derived import combined
from prdp.release.raw_answer import Answer, AnswerColumn
from prdp.release.release import Release
from prdp.release.rows import Label, ReleaseColumn, ReleaseRows, Row

_FINER_BITS = 20
"""A derived answer is given on a lattice this many bits finer than its column's rounding step."""

Columns = tuple[Sequence[Release], ...]
"""One run's answers to one query: for each of its columns, one a group."""

Draw = Callable[[], Sequence[tuple[AnswerColumn, ...]]]
"""Gives what a step has drawn: for each run, a column for each of its labels, with one answer a group."""

Kept = dict[int, dict[int | None, Draw]]
"""Draws for several queries of a statement: by group, or 0 for all together, and by draw."""

Together = Literal["", "pooled", "joint"]
"""Way of drawing groups: each alone; choosing a point together; or from units that are in several."""


@dataclass(frozen=True, slots=True)
class Step:
    """One draw of a mechanism.

    Attributes:
        name: Which part of a derived answer it is; empty for an answer of its own.
        share: The part of every record's budget that it uses.
        mechanism: What draws.
        labels: Notes on each of its answers.
        select_input: What the mechanism is shown of what was read; None where that follows from earlier
            draws.
        once: The number of the draw, where several queries of a statement use it; None where one does.
        own_share: Which part of the share is from the query's own; None for all of it.
        conversion: How the share becomes the one at which a pure mechanism is drawn.
    """

    name: str
    share: Fraction
    mechanism: Answering
    labels: tuple[Label, ...]
    select_input: Callable[[Any], Any] | None
    shared_draw_id: int | None = None
    own_share: Fraction | None = None
    conversion: Conversion = PURE

    @property
    def drawn_share(self) -> Fraction:
        """The share at which the mechanism is drawn: under a concentrated policy, a larger one.

        One whose proof is about P(r), which Gaussian noise is not without, is drawn at the root of the share.
        """
        if getattr(self.mechanism, "concentrated", False):
            return root_below(self.share)
        return self.conversion.drawn(self.share)

    def draw(
        self, shown: Any, together: Together, entropy: Entropy, runs: int, leader: Draw | None = None
    ) -> Draw:
        """Draw for groups together or for one alone; what follows a sum is drawn after ``leader``."""
        mechanism: Any = self.mechanism
        if together == "joint":
            finish = mechanism.begun(shown[0], self.drawn_share, entropy, runs)
            return lambda: [(column,) for column in finish()]
        leaders = [columns[0] for columns in leader()] if leader is not None else []
        if not together:
            (one,) = shown
            answers = self.draw_one(one, entropy, runs, [column[0] for column in leaders])
            drawn = [tuple(AnswerColumn.of_one(answer) for answer in run) for run in answers]
        else:
            drawn = [(column,) for column in self._draw_pooled(shown, entropy, runs, leaders)]
        return lambda: drawn

    def draw_one(
        self,
        shown: Any,
        entropy: Entropy,
        runs: int,
        leaders: Sequence[Answer] = (),
        center: Fraction | None = None,
    ) -> list[tuple[Answer, ...]]:
        """Draw independent answers for one group; squares are around ``center``, in rounding steps."""
        mechanism: Any = self.mechanism
        if isinstance(mechanism, Following):
            return [(one,) for one in mechanism.after(leaders, shown, self.drawn_share, entropy, center)]
        answers = mechanism.answers(shown, self.drawn_share, entropy, runs)
        return [answer if isinstance(answer, tuple) else (answer,) for answer in answers]

    def _draw_pooled(
        self, shown: Any, entropy: Entropy, runs: int, leaders: Sequence[AnswerColumn]
    ) -> Sequence[AnswerColumn]:
        """Draw for disjoint groups at once: a column a run."""
        mechanism: Any = self.mechanism
        if isinstance(mechanism, Following):
            if all(isinstance(one.clipping, Clipping) for column in leaders for one in column.templates):
                return mechanism.grouped_after(leaders, SummaryGroups.of(shown), self.drawn_share, entropy)
            mechanism = mechanism.alone
        columns: Sequence[AnswerColumn] = mechanism.grouped(shown, self.drawn_share, entropy, runs).by_run
        return columns

    def around(self, center: Fraction) -> Step:
        """Return the step of squares whose labels know what distances are measured from."""
        labels = (
            replace(label, clipped=label.clipped and replace(label.clipped, center=center))
            for label in self.labels
        )
        return replace(self, labels=tuple(labels))


@dataclass(frozen=True, slots=True)
class Derived:
    """Derive an answer from its parts: pure post-processing.

    Attributes:
        rule: ``"mean"``, ``"variance"`` or ``"std"``.
        measure: The column.
        label: Notes on the answer.
    """

    rule: str
    measure: Measure
    label: Label

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
        """Return the facts of an answer, but for the number and the parts."""
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
            left_out=self.label.conditions,
        )

    def around_center(
        self, step: Step, cells: Any, parts: Row, about: str, entropy: Entropy, *, simulated: bool
    ) -> Release:
        """Return the answer of one group, once the squares around its drawn mean are drawn as well."""
        center = self.center([part.exact for part in parts])
        squares = cells.valued().squared_around(self._fine(center), CENTER_BITS)
        leaders = [self._leader(parts[0])]
        ((answer,),) = step.draw_one(squares, entropy, 1, leaders, center / self.measure.round_to)
        return self._completed(step, _in_squared_steps(answer), parts, about, center, simulated=simulated)

    def around_centers(
        self,
        step: Step,
        cells: Sequence[UnitCells],
        parts: Sequence[Row],
        abouts: Sequence[str],
        entropy: Entropy,
        *,
        simulated: bool,
    ) -> tuple[Release, ...]:
        """Return the answers of groups of units, whose squares are read once their centers are drawn."""
        centers = [self.center([part.exact for part in row]) for row in parts]
        fine = map(self._fine, centers)
        if isinstance(cells[0].totals, UnitGroups):
            (found,) = cells[0].around(dict(enumerate(fine)))
            mechanism: Any = step.mechanism
            (column,) = mechanism.answers(found.totals, step.drawn_share, entropy, 1)
            answers = list(column)
        else:
            places = [one.place for one in cells]
            read = cells[0].around(dict(zip(places, fine, strict=True)))
            answers = [step.draw_one(read[place].totals, entropy, 1)[0][0] for place in places]
        drawn = (_in_squared_steps(answer, cells[0].coarser) for answer in answers)
        complete = partial(self._completed, step, simulated=simulated)
        return tuple(map(complete, drawn, parts, abouts, centers))

    def _fine(self, center: Fraction) -> int:
        return int(center / self.measure.round_to * (1 << CENTER_BITS))

    def _completed(
        self, step: Step, squares: Answer, parts: Row, about: str, center: Fraction, *, simulated: bool
    ) -> Release:
        """Return the answer of one group from its parts and the squares around its center."""
        (label,) = step.around(center).labels
        parts += (label.on(squares, about, simulated=simulated),)
        template = self._template(about, clipped=any(part.bias for part in parts), simulated=simulated)
        return replace(
            template, steps=self._steps([part.exact for part in parts]), parts=parts, center=center
        )

    def center(self, parts: Sequence[Fraction]) -> Fraction:
        """Return the mean of a drawn sum and count, to the nearest 2^-CENTER_BITS of a rounding step."""
        finest = self.measure.round_to / (1 << CENTER_BITS)
        return round(self._mean(parts) / finest) * finest

    def _mean(self, parts: Sequence[Fraction]) -> Fraction:
        return combined("mean", parts[:2], _limits("mean", self.measure))

    def _leader(self, drawn: Release) -> Answer:
        """Return what a drawn sum says of its point, as the mechanism gave it."""
        return Answer(drawn.steps, drawn.step / self.measure.round_to, (), (), clipping=drawn.clipping)


def _in_squared_steps(answer: Answer, coarser: int = 0) -> Answer:
    """Return an answer about squares of finer steps in squared rounding steps, with its point's facts."""
    step = answer.step * (1 << coarser) / (1 << 2 * CENTER_BITS)
    if not isinstance(answer.clipping, Clipping) or answer.clipping.leader is not None:
        return replace(
            answer, step=step
        )  # of a point that follows another, rounding steps are stated already
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
        """True if units are in one group at most."""
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
            complete = self._drawn(found, entropy, runs, abouts, kept.setdefault(0, {}), simulated=simulated)
            if self.together == "joint":
                return complete
            drawn = complete()
        elif isinstance(found, SummaryGroups) and isinstance(self.steps[0].mechanism, Rank):
            drawn = self._ranked(self.steps[0].mechanism, found, entropy, runs, abouts, simulated=simulated)
        else:
            groups = []
            for place, (cells, about) in enumerate(zip(found, abouts, strict=True)):
                known = kept.setdefault(place, {})
                groups.append(self._drawn([cells], entropy, runs, [about], known, simulated=simulated)())
            drawn = [
                tuple(tuple(chain.from_iterable(column)) for column in zip(*run, strict=True))
                for run in zip(*groups, strict=True)
            ]
        return lambda: drawn

    def _ranked(
        self,
        rank: Rank,
        found: SummaryGroups,
        entropy: Entropy,
        runs: int,
        abouts: Sequence[str],
        *,
        simulated: bool,
    ) -> list[Columns]:
        """Draw quantiles of one group after the other, from cells that are side by side."""
        (step,) = self.steps
        assert step.select_input is not None  # noqa: S101  (ranks follow from no earlier draw)
        groups = RankGroups(rank, step.select_input(found), step.drawn_share)
        answers = list(groups.answers(entropy, runs))
        return [
            tuple(
                [
                    label.on(each[run][place], about, simulated=simulated)
                    for each, about in zip(answers, abouts, strict=True)
                ]
                for place, label in enumerate(step.labels)
            )
            for run in range(runs)
        ]

    def _drawn(
        self,
        found: Sequence[Any],
        entropy: Entropy,
        runs: int,
        abouts: Sequence[str],
        kept: dict[int | None, Draw],
        *,
        simulated: bool,
    ) -> Callable[[], list[Columns]]:
        """Draw the steps for groups side by side, and return what completes the answers."""
        draws: list[tuple[Step, Draw]] = []
        for step in self.steps:
            if step.select_input is None:
                continue
            draw = kept.get(step.shared_draw_id)
            if draw is None:
                leader = draws[0][1] if draws else None
                draw = step.draw(_seen(step.select_input, found), self.together, entropy, runs, leader)
            if step.shared_draw_id is not None:
                draw = kept[step.shared_draw_id] = cache(draw)
            draws.append((step, draw))
        return partial(self._completed, draws, found, entropy, abouts, simulated=simulated)

    def _completed(
        self,
        draws: Sequence[tuple[Step, Draw]],
        found: Sequence[Any],
        entropy: Entropy,
        abouts: Sequence[str],
        *,
        simulated: bool,
    ) -> list[Columns]:
        """Return the answers that steps have drawn, or those that follow from them."""
        drawn = [
            [
                [
                    ReleaseColumn.of(label, column, abouts, simulated=simulated)
                    for label, column in zip(step.labels, columns, strict=True)
                ]
                for columns in draw()
            ]
            for step, draw in draws
        ]
        parts = [tuple(chain.from_iterable(run)) for run in zip(*drawn, strict=True)]
        derived = self.derived
        if derived is None:
            return list(parts)
        squares = next((step for step in self.steps if step.select_input is None), None)
        if squares is None:
            return [(derived.column(each, abouts, simulated=simulated),) for each in parts]
        if isinstance(found[0], UnitCells):
            around = partial(derived.around_centers, squares, found, entropy=entropy, simulated=simulated)
            return [(around(list(ReleaseRows(each)), abouts),) for each in parts]
        complete = partial(derived.around_center, squares, entropy=entropy, simulated=simulated)
        return [(tuple(map(complete, found, ReleaseRows(each), abouts)),) for each in parts]


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
