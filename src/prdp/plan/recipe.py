"""How a query is answered: what is read, which mechanism gets what part of the share, what follows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from prdp.cells.owners import Fold, PerUnit, UnitCells, UnitGroups, counts_units
from prdp.cells.summary import KeySummary, Summary, TopSummary
from prdp.mechanisms import Answer, Clip, Framework, Joint, Mechanism, Partition, Rank
from prdp.mechanisms import Distinct as DistinctKeys
from prdp.noise.entropy import Entropy
from prdp.plan.queries import Asked, Count, Distinct, Max, Measure, Min, Quantile, Query, shown_part
from prdp.plan.reads import ByLevel, Cells, Keys, Need, Tops
from prdp.release.derived import PARTS, combined
from prdp.release.release import Release

_FINER_BITS = 20
"""A computed answer is given on a lattice this many bits finer than its column's unit."""


AnyMechanism = Mechanism | Rank | DistinctKeys
"""What can answer: from cells to one answer, to one for each quantile, or from keys."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A query, ready to be answered from cells.

    Attributes:
        asked: The query with everything that decides its answer's distribution.
        mechanism: What answers it.
        rule: For a computed answer, how it follows from its parts; else empty.
        parts: For a computed answer, what answers each part.
        protect: The column that says which privacy unit a row belongs to; None where a row is a record.
        policy_columns: The columns that the policy reads.
    """

    asked: Asked
    mechanism: AnyMechanism
    rule: str = ""
    parts: Mapping[str, AnyMechanism] = field(default_factory=dict)
    protect: str | None = None
    policy_columns: frozenset[str] = frozenset()

    @property
    def query(self) -> Query:
        """What is asked."""
        return self.asked.query

    @property
    def need(self) -> Need:
        """What must be read of the records."""
        if self.protect is not None:
            query = self.query
            fold: Fold = "max" if isinstance(query, Max) else "min" if isinstance(query, Min) else "sum"
            return PerUnit(self.asked.measure, fold)
        if isinstance(self.query, Distinct):
            return (Tops if isinstance(self.mechanism, Framework) else Keys)(self.query.column)
        by_domain = any(isinstance(m, Framework | Partition) for m in (self.mechanism, *self.parts.values()))
        return ByLevel(self.asked.measure) if by_domain else self.asked.measure

    @property
    def names(self) -> tuple[str, ...]:
        """What the answers are called in words."""
        if isinstance(self.query, Quantile) and isinstance(self.query.at, tuple):
            return tuple(str(replace(self.query, at=(part,))) for part in self.query.at)
        return (str(self.query),)

    @property
    def labels(self) -> tuple[str, ...]:
        """What the answers are called as columns of a table."""
        query = self.query
        if isinstance(query, Count):
            return ("count",)
        if isinstance(query, Quantile):
            parts = query.at if isinstance(query.at, tuple) else (query.at,)
            names = ("median" if part == Fraction(1, 2) else f"q{shown_part(part)}" for part in parts)
            return tuple(f"{name}_{query.column}" for name in names)
        return (f"{type(query).__name__.lower()}_{query.column}",)

    def releases(
        self, cells: Cells, entropy: Entropy, runs: int, about: str, *, simulated: bool
    ) -> list[tuple[Release, ...]]:
        """Draw independent answers; ``about`` says of which records."""
        blank = self._blank(about, simulated=simulated)
        if self.rule and isinstance(cells, Summary | UnitCells):
            return [(release,) for release in self._computed(blank, cells, entropy, runs)]
        return [
            tuple(
                self._filled(replace(blank, question=f"{name}{about}"), answer, self._unit)
                for name, answer in zip(self.names, answers, strict=True)
            )
            for answers in self._answers(cells, entropy, runs)
        ]

    def group_releases(
        self,
        cells: Sequence[Cells],
        entropy: Entropy,
        runs: int,
        abouts: Sequence[str],
        by: Iterable[str],
        *,
        simulated: bool,
    ) -> list[list[tuple[Release, ...]]]:
        """Draw independent answers for disjoint groups; for each one, what ``releases`` returns.

        Groups may choose a clipping point together, unless they are told apart ``by`` a column that the
        policy reads: their budgets then differ by design, and what suits one does not suit another.
        """
        summaries = [group for group in cells if isinstance(group, Summary)]
        apart = len(summaries) < 2 or not self.policy_columns.isdisjoint(by)
        if apart or not isinstance(self.mechanism, Clip):
            return [
                self.releases(group, entropy, runs, about, simulated=simulated)
                for group, about in zip(cells, abouts, strict=True)
            ]
        blanks = [self._blank(about, simulated=simulated) for about in abouts]
        if self.rule:
            return self._computed_groups(blanks, summaries, entropy, runs)
        seen = [summary.counted() for summary in summaries] if self._counts_records else summaries
        drawn = self.mechanism.grouped(seen, self.asked.share, entropy, runs)
        return [
            [
                (self._filled(replace(blank, question=f"{self.query}{blank.question}"), answer, self._unit),)
                for answer in answers
            ]
            for blank, answers in zip(blanks, drawn, strict=True)
        ]

    def _computed_groups(
        self, blanks: Sequence[Release], summaries: Sequence[Summary], entropy: Entropy, runs: int
    ) -> list[list[tuple[Release, ...]]]:
        """Return computed answers for each group, from parts that are answered for all groups at once."""
        valued = [summary.valued() for summary in summaries]
        totals = self._group_part(blanks, "sum", valued, entropy, runs)
        counts = self._group_part(blanks, "count", [group.counted() for group in valued], entropy, runs)
        releases: list[list[tuple[Release, ...]]] = []
        for blank, group, *parts in zip(blanks, valued, totals, counts, strict=True):
            rows: list[tuple[Release, ...]] = []
            for pair in zip(*parts, strict=True):
                squares = () if self.rule == "mean" else self._squares(blank, pair, group, entropy)
                rows.append((self._from_parts(blank, (*pair, *squares)),))
            releases.append(rows)
        return releases

    def _group_part(
        self,
        blanks: Sequence[Release],
        name: str,
        summaries: Sequence[Summary],
        entropy: Entropy,
        runs: int,
    ) -> list[list[Release]]:
        """Return, for each group, independent answers to one part."""
        mechanism = self.parts[name]
        assert isinstance(mechanism, Clip)  # noqa: S101  (see group_releases)
        drawn = mechanism.grouped(summaries, self._share_of(name), entropy, runs)
        return self._filled_part(blanks, name, drawn)

    def _filled_part(
        self, blanks: Sequence[Release], name: str, drawn: Sequence[Sequence[Answer]]
    ) -> list[list[Release]]:
        """Return, for each group, the releases of its answers to one part."""
        forms = [self._part_blank(blank, name) for blank in blanks]
        return [
            [self._filled(part, answer, unit, valued=name == "sum") for answer in answers]
            for (part, unit), answers in zip(forms, drawn, strict=True)
        ]

    def _share_of(self, name: str) -> Fraction:
        return self.asked.share * dict(PARTS[self.rule])[name]

    def joint_releases(
        self, cells: Cells, entropy: Entropy, runs: int, abouts: Sequence[str], *, simulated: bool
    ) -> list[list[tuple[Release, ...]]]:
        """Draw independent answers for groups of units; for each group, what ``releases`` returns."""
        assert isinstance(cells, UnitCells)  # noqa: S101  (other records are in one group alone)
        blanks = [replace(self._blank(about, simulated=simulated), method=Joint.name) for about in abouts]
        if self.rule:
            totals = self._joint_part(blanks, "sum", cells.totals, entropy, runs)
            counts = self._joint_part(blanks, "count", cells.rows, entropy, runs)
            return [
                [(self._from_parts(blank, pair),) for pair in zip(*parts, strict=True)]
                for blank, *parts in zip(blanks, totals, counts, strict=True)
            ]
        asked = [replace(blank, question=f"{self.query}{blank.question}") for blank in blanks]
        drawn = self._joint_answers(cells.totals, self.asked.share, entropy, runs)
        return [
            [(self._filled(blank, answer, self._unit),) for answer in answers]
            for blank, answers in zip(asked, drawn, strict=True)
        ]

    def _blank(self, about: str, *, simulated: bool) -> Release:
        return Release(
            question=about,
            steps=0,
            step=Fraction(1),
            noise_scales=(),
            share=self.asked.share,
            method=self.mechanism.name,
            caveat=self.mechanism.caveat(signed=self._signed or bool(self.rule)),
            simulated=simulated,
        )

    def _answers(self, cells: Cells, entropy: Entropy, runs: int) -> Iterator[tuple[Answer, ...]]:
        """Yield what the mechanism answers, once a run: one answer, or one for each quantile."""
        share = self.asked.share
        if isinstance(cells, KeySummary):
            assert isinstance(self.mechanism, DistinctKeys)  # noqa: S101  (nobody else needs keys)
            yield from ((answer,) for answer in self.mechanism.answers(cells, share, entropy, runs))
        elif isinstance(cells, TopSummary):
            assert isinstance(self.mechanism, Framework)  # noqa: S101
            yield from ((answer,) for answer in self.mechanism.answers(cells, share, entropy, runs))
        else:
            seen = self._units_seen(cells) if isinstance(cells, UnitCells) else cells
            yield from self._cell_answers(seen, entropy, runs)

    @property
    def _counts_records(self) -> bool:
        """Whether records are counted, from whatever cells were read."""
        return self.asked.measure is None and self.protect is None

    def _units_seen(self, cells: UnitCells) -> Summary:
        """Return the units' contributions; each counts 1 where they themselves are counted."""
        if counts_units(self.query, self.protect):
            return _one_group(cells.rows).counted()
        return _one_group(cells.totals)

    def _cell_answers(self, seen: Summary, entropy: Entropy, runs: int) -> Iterator[tuple[Answer, ...]]:
        share = self.asked.share
        if isinstance(self.mechanism, Rank):
            yield from self.mechanism.answers(seen, share, entropy, runs)
        elif not isinstance(self.mechanism, DistinctKeys):
            seen = seen.counted() if self._counts_records else seen
            yield from ((answer,) for answer in self.mechanism.answers(seen, share, entropy, runs))

    @property
    def _unit(self) -> Fraction:
        return self.asked.measure.unit if self.asked.measure else Fraction(1)

    @property
    def _signed(self) -> bool:
        measure = self.asked.measure
        return measure is not None and measure.low < 0 < measure.high

    def _filled(self, blank: Release, answer: Answer, unit: Fraction, *, valued: bool = True) -> Release:
        measure = self.asked.measure if valued else None
        low, high = (measure.low, measure.high) if measure else (0, 1)
        return replace(
            blank,
            steps=answer.steps,
            step=answer.step * unit,
            noise_scales=tuple(noise.scale for noise in answer.noises),
            choices=answer.choices,
            ends=None if answer.ends is None else (answer.ends[0] * unit, answer.ends[1] * unit),
            clipping=answer.clipping and replace(answer.clipping, below=low < 0, above=high > 0),
        )

    def _computed(
        self, blank: Release, cells: Summary | UnitCells, entropy: Entropy, runs: int
    ) -> Iterator[Release]:
        """Yield answers that follow from their parts; the blank's question says of which records."""
        if isinstance(cells, UnitCells):
            valued, rows = _one_group(cells.totals), _one_group(cells.rows)
        else:
            valued = cells.valued()
            rows = valued.counted()
        totals = self._part(blank, "sum", valued, entropy, runs)
        counts = self._part(blank, "count", rows, entropy, runs)
        for pair in zip(totals, counts, strict=True):
            squares = () if self.rule == "mean" else self._squares(blank, pair, valued, entropy)
            yield self._from_parts(blank, (*pair, *squares))

    def _from_parts(self, blank: Release, parts: tuple[Release, ...]) -> Release:
        """Return the answer that follows from its parts."""
        assert self.asked.measure is not None  # noqa: S101  (every rule is about a column)
        limits, finest = _limits(self.rule, self.asked.measure), self._unit / (1 << _FINER_BITS)
        value = combined(self.rule, [part.exact for part in parts], limits)
        return replace(
            blank,
            question=f"{self.query}{blank.question}",
            steps=round(value / finest),
            step=finest,
            ends=limits,
            parts=parts,
            rule=self.rule,
        )

    def _squares(
        self, blank: Release, parts: tuple[Release, ...], valued: Summary, entropy: Entropy
    ) -> tuple[Release]:
        """Return the sum of squared distances from the mean that the first parts give."""
        assert self.asked.measure is not None  # noqa: S101
        mean = combined("mean", [part.exact for part in parts], _limits("mean", self.asked.measure))
        around = valued.squared_around(round(mean / self._unit))
        (release,) = self._part(blank, "squares", around, entropy, 1)
        return (release,)

    def _part(
        self, blank: Release, name: str, summary: Summary, entropy: Entropy, runs: int
    ) -> list[Release]:
        """Return independent answers to one part."""
        part, unit = self._part_blank(blank, name)
        mechanism = self.parts[name]
        assert not isinstance(mechanism, Rank | DistinctKeys)  # noqa: S101  (no rule is answered by them)
        answers = mechanism.answers(summary, part.share, entropy, runs)
        return [self._filled(part, answer, unit, valued=name == "sum") for answer in answers]

    def _part_blank(self, blank: Release, name: str) -> tuple[Release, Fraction]:
        """Return the form of a part's answers, and what their unit is."""
        column = getattr(self.query, "column", "")
        words, unit = {
            "sum": (f"sum of {column}", self._unit),
            "count": (f"count of {column}", Fraction(1)),
            "squares": (f"sum of squared distances of {column} from its mean", self._unit**2),
        }[name]
        part = replace(
            blank,
            question=f"{words}{blank.question}",
            share=self._share_of(name),
            caveat=self.mechanism.caveat(signed=name == "sum" and self._signed),
        )
        return part, unit

    def _joint_part(
        self, blanks: Sequence[Release], name: str, units: Summary | UnitGroups, entropy: Entropy, runs: int
    ) -> list[list[Release]]:
        """Return, for each group, independent answers to one part."""
        drawn = self._joint_answers(units, self._share_of(name), entropy, runs)
        return self._filled_part(blanks, name, drawn)

    def _joint_answers(
        self, units: Summary | UnitGroups, share: Fraction, entropy: Entropy, runs: int
    ) -> list[tuple[Answer, ...]]:
        """Return, for each group, independent answers."""
        assert isinstance(units, UnitGroups)  # noqa: S101
        return list(zip(*Joint.tuned(share).answers(units, share, entropy, runs), strict=True))


def _one_group(found: Summary | UnitGroups) -> Summary:
    assert isinstance(found, Summary)  # noqa: S101  (groups of units are answered by joint_releases)
    return found


def _limits(rule: str, measure: Measure) -> tuple[Fraction, Fraction]:
    """Return the public ends of a computed answer."""
    low, high = measure.low * measure.unit, measure.high * measure.unit
    if rule == "mean":
        return low, high
    half = (high - low) / 2  # no values spread wider than half of them at either end
    return Fraction(0), half if rule == "std" else half**2
