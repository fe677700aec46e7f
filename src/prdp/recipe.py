"""How a query is answered: what is read, which mechanism gets what part of the share, what follows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from prdp.combined import PARTS, combined
from prdp.mechanisms import Answer, Framework, Mechanism, Rank
from prdp.mechanisms import Distinct as DistinctKeys
from prdp.noise.entropy import Entropy
from prdp.query import Asked, Count, Distinct, Measure, Quantile, Query, shown_part
from prdp.release import Release
from prdp.summary import KeySummary, Summary, TopSummary

_FINER_BITS = 20
"""A computed answer is given on a lattice this many bits finer than its column's unit."""


AnyMechanism = Mechanism | Rank | DistinctKeys
"""What can answer: from cells to one answer, to one for each quantile, or from keys."""


@dataclass(frozen=True, slots=True)
class Keys:
    """A column whose different values are to be told apart."""

    column: str


@dataclass(frozen=True, slots=True)
class Tops:
    """A column whose different values are to be found at the highest levels of their records."""

    column: str


Need = Measure | Keys | Tops | None
"""What must be read: cells of a measured column, what stands behind each value of a column, or counts."""

Cells = Summary | KeySummary | TopSummary
"""What an engine finds for a need, in one group."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A query, ready to be answered from cells.

    Attributes:
        asked: The query with everything that decides its answer's distribution.
        mechanism: What answers it.
        rule: For a computed answer, how it follows from its parts; else empty.
        parts: For a computed answer, what answers each part.
    """

    asked: Asked
    mechanism: AnyMechanism
    rule: str = ""
    parts: Mapping[str, AnyMechanism] = field(default_factory=dict)

    @property
    def query(self) -> Query:
        """What is asked."""
        return self.asked.query

    @property
    def need(self) -> Need:
        """What must be read of the records."""
        if isinstance(self.query, Distinct):
            return (Tops if isinstance(self.mechanism, Framework) else Keys)(self.query.column)
        return self.asked.measure

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
        blank = Release(
            question=about,
            steps=0,
            step=Fraction(1),
            noise_scales=(),
            share=self.asked.share,
            method=self.mechanism.name,
            caveat=self.mechanism.caveat(signed=self._signed or bool(self.rule)),
            simulated=simulated,
        )
        if self.rule and isinstance(cells, Summary):
            return [(release,) for release in self._computed(blank, cells, entropy, runs)]
        return [
            tuple(
                self._filled(replace(blank, question=f"{name}{about}"), answer, self._unit)
                for name, answer in zip(self.names, answers, strict=True)
            )
            for answers in self._answers(cells, entropy, runs)
        ]

    def _answers(self, cells: Cells, entropy: Entropy, runs: int) -> Iterator[tuple[Answer, ...]]:
        """Yield what the mechanism answers, once a run: one answer, or one for each quantile."""
        share = self.asked.share
        if isinstance(cells, KeySummary):
            assert isinstance(self.mechanism, DistinctKeys)  # noqa: S101  (nobody else needs keys)
            yield from ((answer,) for answer in self.mechanism.answers(cells, share, entropy, runs))
        elif isinstance(cells, TopSummary):
            assert isinstance(self.mechanism, Framework)  # noqa: S101
            yield from ((answer,) for answer in self.mechanism.answers(cells, share, entropy, runs))
        elif isinstance(self.mechanism, Rank):
            yield from self.mechanism.answers(cells, share, entropy, runs)
        elif not isinstance(self.mechanism, DistinctKeys):
            seen = cells.counted() if self.need is None else cells
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

    def _computed(self, blank: Release, summary: Summary, entropy: Entropy, runs: int) -> Iterator[Release]:
        """Yield answers that follow from their parts; the blank's question says of which records."""
        measure = self.asked.measure
        assert measure is not None  # noqa: S101  (every rule is about a column)
        valued = summary.valued()
        totals = self._part(blank, "sum", valued, entropy, runs)
        counts = self._part(blank, "count", valued.counted(), entropy, runs)
        limits, finest = _limits(self.rule, measure), self._unit / (1 << _FINER_BITS)
        for pair in zip(totals, counts, strict=True):
            squares = () if self.rule == "mean" else self._squares(blank, pair, valued, entropy)
            parts = (*pair, *squares)
            value = combined(self.rule, [part.exact for part in parts], limits)
            yield replace(
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
        share = self.asked.share * dict(PARTS[self.rule])[name]
        mechanism = self.parts[name]
        assert not isinstance(mechanism, Rank | DistinctKeys)  # noqa: S101  (no rule is answered by them)
        column = getattr(self.query, "column", "")
        words, unit = {
            "sum": (f"sum of {column}", self._unit),
            "count": (f"count of {column}", Fraction(1)),
            "squares": (f"sum of squared distances of {column} from its mean", self._unit**2),
        }[name]
        part = replace(
            blank,
            question=f"{words}{blank.question}",
            share=share,
            caveat=mechanism.caveat(signed=name == "sum" and self._signed),
        )
        return [
            self._filled(part, answer, unit, valued=name == "sum")
            for answer in mechanism.answers(summary, share, entropy, runs)
        ]


def _limits(rule: str, measure: Measure) -> tuple[Fraction, Fraction]:
    """Return the public ends of a computed answer."""
    low, high = measure.low * measure.unit, measure.high * measure.unit
    if rule == "mean":
        return low, high
    half = (high - low) / 2  # no values spread wider than half of them at either end
    return Fraction(0), half if rule == "std" else half**2


def serves(read: Need, need: Need) -> bool:
    """Say whether what was read answers a need too: any cells can be counted, and squares be ignored."""
    if isinstance(read, Measure) and isinstance(need, Measure):
        return replace(read, squares=need.squares) == need and read.squares >= need.squares
    return read == need or (need is None and isinstance(read, Measure))


def shared_needs(recipes: Sequence[Recipe]) -> dict[Need, Need]:
    """Return, for what each recipe needs to be read, one reading for all that can share it.

    A count can be taken from any reading of cells, and squares come along where somebody needs them.
    """
    needs = [recipe.need for recipe in recipes]
    columns: dict[tuple[str, int], Measure] = {}
    for need in needs:
        if isinstance(need, Measure):
            known = columns.get((need.column, need.per_octave), need)
            columns[need.column, need.per_octave] = replace(need, squares=need.squares or known.squares)
    first = next(iter(columns.values()), None)
    return {
        need: columns[need.column, need.per_octave] if isinstance(need, Measure) else (need or first)
        for need in needs
    }
