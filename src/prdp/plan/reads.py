"""The reads that answer questions, of rows or of units, and the engine's call for each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial
from typing import Any, Protocol

from prdp.cells.groups import SummaryGroups
from prdp.cells.measure import Measure
from prdp.cells.ratios import possible_ratios
from prdp.cells.summary import CENTER_BITS, Ratios, Summary, TopSummary
from prdp.cells.units import Caps, Fold, Look, UnitCells, UnitGroups
from prdp.declare.groups import Grouping, GroupKey
from prdp.declare.units import PrivacyUnit
from prdp.expressions.nodes import Node
from prdp.levels import Levels
from prdp.policy import Policy
from prdp.schema import Bounds


class PlanReader(Protocol):
    """A reader that keeps what it has read."""

    @property
    def source(self) -> Any:
        """The engine that reads the records, or what an entry point has in its place."""

    @property
    def synthetic(self) -> bool:
        """True if the records are public or made up."""

    def read(self, read: Read) -> Any:
        """Return what a read finds; nothing is read twice."""

    def read_anew(self, read: Read) -> Any:
        """Return what a read finds, and keep nothing of it."""

    def let_go(self) -> None:
        """Have the source drop what it holds for the question that is being answered."""


class Read(Protocol):
    """One read of the records: equal reads find the same, and so do those that one of them serves."""

    def serves(self, other: Read) -> bool:
        """Return whether what this read finds answers another one too."""

    def find(self, reader: PlanReader) -> Any:
        """Read the records, perhaps by way of other reads."""

    def taken(self, found: Any) -> Any:
        """Return what was asked for from what a read found that serves this one."""

    def shown(self, source: Any) -> tuple[str, ...]:
        """Return what is read in an engine's own language, for people."""


class Whole:
    """The usual read, to be inherited: what it finds answers equal reads alone, and its engine shows it."""

    def serves(self, other: Read) -> bool:
        """Return whether another read is the same."""
        return bool(self == other)  # type: ignore[comparison-overlap]

    def taken(self, found: Any) -> Any:
        """Return what was found, as it is."""
        return found

    def shown(self, source: Any) -> tuple[str, ...]:
        """Return the engine's statements, or if it cannot say them, what is read in words."""
        show = getattr(source, "shown", None)
        return show(self) if show is not None else (f"{self!r}, by {source.name}",)


@dataclass(frozen=True, slots=True)
class CellRead(Whole):
    """Read the number of records and their total in every cell.

    Attributes:
        policy: The policy, checked against the table, with both ends of its range.
        levels: The grid of budgets.
        bounds: The public bounds of the table's columns.
        measure: What to add up; None to count only.
        where: Which records take part; None for all.
        groups: The public groups to tell apart; None for one group of all records.
        by_level: Whether each record's budget must be that of its level, with no shortcut. A shortcut may
            take a budget for somewhat smaller than its level, which costs little where budgets are added up,
            but moves records across the edges of the paper's domains.
        ratios: The ratios of value to budget that the public facts allow; None where nothing is known.
    """

    policy: Policy
    levels: Levels
    bounds: Bounds = field(hash=False)
    measure: Measure | None
    where: Node | None
    groups: Grouping | None = None
    by_level: bool = False
    ratios: Ratios | None = field(default=None, compare=False, repr=False)

    def planned(self) -> CellRead:
        """Return the read with the ratios that its public facts allow, which mechanisms need.

        Part of planning: whoever reads, charges or draws works nothing out from the policy.
        """
        return replace(self, ratios=possible_ratios(self))

    @property
    def smallest(self) -> int:
        """The least absolute value above zero of what is added up, in steps."""
        return self.measure.smallest if self.measure else 1

    @property
    def largest(self) -> int:
        """The greatest absolute value of what is added up, in steps."""
        return self.measure.largest if self.measure else 1

    @property
    def empty(self) -> Summary:
        """The result for a table without records: public facts alone."""
        return replace(Summary.of(self.levels, self.smallest, self.largest, ()), ratios=self.ratios)

    def serves(self, other: Read) -> bool:
        """Return whether these cells answer another read: any can be counted, and sums be ignored.

        >>> one = Policy.constant(1)
        >>> ages = CellRead(one, one.levels, {}, Measure("age", Fraction(1), 0, 120), where=None)
        >>> count = CellRead(one, one.levels, {}, None, where=None)
        >>> ages.serves(count), count.serves(ages)  # whoever was added up can be counted
        (True, False)
        """
        if not isinstance(other, CellRead):
            return False
        same = replace(self, measure=None, by_level=False) == replace(other, measure=None, by_level=False)
        return same and self.by_level >= other.by_level and _covers(self.measure, other.measure)

    def find(self, reader: PlanReader) -> Any:
        """Return each group's cells."""
        found = reader.source.summarise(self)
        if isinstance(found, SummaryGroups):
            return found
        return tuple(Summary(self.levels, self.smallest, self.largest, one.cells) for one in found)

    def taken(self, found: Any) -> Any:
        """Return what was asked for from cells that serve it, with the ratios that they can have.

        Where nothing is measured, records count 1.
        """
        if isinstance(found, SummaryGroups):
            return replace(found if self.measure else found.counted(), ratios=self.ratios)
        cells = found if self.measure else (one.counted() for one in found)
        return tuple(replace(one, ratios=self.ratios) for one in cells)


def _covers(read: Measure | None, wanted: Measure | None) -> bool:
    if wanted is None or read is None:
        return wanted is None
    same = replace(read, totals=wanted.totals, squares=wanted.squares) == wanted
    return same and read.totals >= wanted.totals and read.squares >= wanted.squares


@dataclass(frozen=True, slots=True)
class KeyRead(Whole):
    """Read the sum of budgets behind each of a column's values.

    Attributes:
        policy: The policy, as in ``CellRead``.
        levels: The grid of budgets.
        column: The column whose values are distinguished; records without one take no part.
        where: Which records take part; None for all.
        groups: The public groups to tell apart; None for one group of all records.
        expression: What is computed in place of a column; None for a column of the table.
    """

    policy: Policy
    levels: Levels
    column: str
    where: Node | None
    groups: Grouping | None = None
    expression: Node | None = None

    def find(self, reader: PlanReader) -> Any:
        """Return each group's values by the budgets behind them."""
        return reader.source.key_totals(self)


@dataclass(frozen=True, slots=True)
class KeyMassRead(Whole):
    """Read every key that some record has, and the sum of budgets behind it; nothing of it is kept.

    Attributes:
        policy: The policy, as in ``CellRead`` and ``UnitRead``.
        levels: The grid of budgets.
        by: What keys are made of; records without one of them take no part.
        where: Which records take part; None for all.
        unit: Who is protected with all their rows; None where a row is a record.
        most: The quanta that a record counts for at most; None for all that it has.
        max_keys: How many keys of a unit count, each with its part of the unit's budget.
    """

    policy: Policy
    levels: Levels
    by: tuple[GroupKey, ...]
    where: Node | None
    unit: PrivacyUnit | None = None
    most: int | None = None
    max_keys: int = 1

    def find(self, reader: PlanReader) -> Any:
        """Return the keys with their masses."""
        return reader.source.key_masses(self)


@dataclass(frozen=True, slots=True)
class TopRead(Whole):
    """Read a column's values by the highest level of their records, and all records by level."""

    keys: KeyRead
    records: CellRead

    def find(self, reader: PlanReader) -> Any:
        """Return each group's records by level and its values by theirs."""
        counted = self.records.taken(reader.read(self.records))
        return tuple(map(TopSummary, counted, reader.source.top_levels(self.keys)))


@dataclass(frozen=True, slots=True)
class RowRead(Whole):
    """Read the rows for a caller's own mechanism; they are not kept.

    Attributes:
        policy: The policy, as in ``CellRead``.
        levels: The grid of budgets.
        columns: The columns that the mechanism sees.
        least: The lowest level of the rows that it sees.
        where: Which records take part; None for all.
    """

    policy: Policy
    levels: Levels
    columns: tuple[str, ...]
    least: int
    where: Node | None

    def find(self, reader: PlanReader) -> Any:
        """Return the rows as an Arrow table, and their levels."""
        return reader.source.rows(self)


@dataclass(frozen=True, slots=True)
class UnitRead(Whole):
    """Read the number of units and the total of all their rows in every cell.

    Attributes:
        policy: The policy of an own row: over the columns of the table, or of a join's private table.
        levels: The grid of budgets.
        unit: Who owns rows, and where these are.
        measure: What to fold of a row; None to count rows.
        fold: What is made of a unit's values.
        where: Which rows contribute; None for all. The budget is over all own rows whatever is here.
        groups: The public groups to tell apart; None for one group of all rows.
        apart: Whether a unit is in one group at most: the one that all its rows are in, else none.
        beside: Reads of the same rows that are made along; they differ in measure and fold alone.
        once: Whether all rows of a unit in one group count as one: units are counted in each group.
        centers: What squared distances of values are measured from and folded in their place: one for each
            group, in steps that are 2^CENTER_BITS times as fine as values; empty where values are folded.
        euclidean: Whether what a unit adds to several groups is measured by its Euclidean norm, rounded up:
            for Gaussian noise alone.
    """

    policy: Policy
    levels: Levels
    unit: PrivacyUnit
    measure: Measure | None
    fold: Fold
    where: Node | None
    groups: Grouping | None = None
    apart: bool = False
    beside: tuple[UnitRead, ...] = ()
    once: bool = False
    centers: tuple[int, ...] = ()
    euclidean: bool = False

    @property
    def several(self) -> bool:
        """True if units may be in several groups."""
        return self.groups is not None and not self.apart

    @property
    def adds_only(self) -> bool:
        """True if a unit's size over several groups is what its rows add up to, in whatever groups."""
        return (
            self.several
            and not self.euclidean
            and (self.measure is None or self.measure.low >= 0 or bool(self.centers))
        )

    @property
    def coarser(self) -> int:
        """The number of bits that squared distances are rounded down by, so that all of a unit's fit."""
        most = min(_SQUARED, (_SQUARED if self.several else _FOLDED) // self.unit.max_rows)
        return max(0, (self._span**2).bit_length() - max(1, most).bit_length() + 1)

    @property
    def _span(self) -> int:
        """The longest distance of a value from a center, in the steps of centers."""
        measure = self.measure
        return (measure.high - measure.low) << CENTER_BITS if measure is not None else 0

    @property
    def can_be_beside(self) -> bool:
        """True if one statement can fold for this read and for others that are alike."""
        return self.groups is None or self.adds_only

    @property
    def counted(self) -> Measure:
        """The range of rows that a unit can contribute: from 1 on, since one with none takes no part."""
        groups = len(self.groups.keys) if self.groups is not None else 1
        return Measure("", Fraction(1), 1, groups if self.once else self.unit.max_rows)

    @property
    def folded(self) -> Measure:
        """The range of a unit's contribution; to several groups, its absolute contributions added up."""
        measure, most = self.measure, self.unit.max_rows
        if measure is None:
            return self.counted
        if self.centers:
            return replace(measure, low=0, high=max(1, self._span**2 >> self.coarser) * most)
        if self.several:
            return replace(measure, low=_least_size(measure), high=measure.largest * most)
        return measure.added_up(most) if self.fold == "sum" else measure

    def find(self, reader: PlanReader) -> Any:
        """Return the units' cells, of all or of each group.

        Of groups in which units may be several times, with the second look that follows once b is drawn.
        """
        return self.found_by(reader.source)

    def found_by(self, engine: Any) -> Sequence[UnitCells]:
        """Return what an engine finds; cells keep the engine, and not the reader that keeps them."""
        found = engine.fold_units(self)
        if not self.several:
            around = partial(self._around, engine)
            return tuple(
                UnitCells(totals, rows, around, place, self.coarser)
                for place, (totals, rows) in enumerate(found)
            )
        ((totals, rows),) = found
        look = partial(engine.scale_units, self)
        of = partial(UnitGroups, euclidean=self.euclidean)
        added = of(totals, cache(partial(look, count_rows=self.measure is None)))
        counted = of(rows, cache(partial(look, count_rows=True)))
        return (self.with_squares(engine, UnitCells(added, counted)),)

    def with_squares(self, engine: Any, cells: UnitCells) -> UnitCells:
        """Return cells that can be read anew for squared distances."""
        return replace(cells, around=partial(self._around, engine), coarser=self.coarser)

    def _around(self, engine: Any, centers: Mapping[int, int]) -> Sequence[UnitCells]:
        """Read units by the squared distances of their values from a center for each group.

        Groups that are not asked about have a center within the bounds, too: distances fit for every row.
        """
        assert self.measure is not None  # noqa: S101  (squares are of values)
        groups = len(self.groups.keys) if self.groups is not None else 1
        within = self.measure.low << CENTER_BITS
        read = replace(self, centers=tuple(centers.get(place, within) for place in range(groups)), beside=())
        if not self.several:
            return read.found_by(engine)
        return SharedUnitRead((read,)).found_by(engine)[read]

    def taken(self, found: Any) -> Any:
        """Return what was asked for from what was found for several reads."""
        return found[self] if isinstance(found, dict) else found


_FOLDED, _SQUARED = 1 << 82, 1 << 62
"""Limits of what a unit's squared distances add up to: in one group, and in several or of one row."""


def _least_size(measure: Measure) -> int:
    """Return the least absolute value within the bounds."""
    return 0 if measure.low <= 0 <= measure.high else measure.smallest


def widened(reads: Sequence[Read]) -> dict[Read, Read]:
    """Map each read to the wider read that serves it.

    A count can be taken from any cells of the same records, and squares come along where somebody needs them.
    """
    wide: list[CellRead] = []
    for read in reads:
        if isinstance(read, CellRead) and read.measure is not None and not read.by_level:
            squared = replace(read, measure=replace(read.measure, totals=True, squares=True))
            known = next((place for place, other in enumerate(wide) if squared.serves(other)), None)
            if known is None:
                wide.append(read)
            elif read.serves(wide[known]):
                wide[known] = read
    return {read: next((wider for wider in wide if _widens(wider, read)), read) for read in reads}


def _widens(wider: CellRead, read: Read) -> bool:
    return isinstance(read, CellRead) and not read.by_level and wider.serves(read)


@dataclass(frozen=True, slots=True)
class SharedUnitRead(Whole):
    """Read units for several questions about the same rows.

    Attributes:
        reads: What each question reads; they differ in measure and fold alone.
    """

    reads: tuple[UnitRead, ...]

    @property
    def wide(self) -> UnitRead:
        """The first of the reads, with the others beside it: what an engine is asked."""
        return replace(self.reads[0], beside=self.reads[1:])

    def serves(self, other: Read) -> bool:
        """Return whether another read is one of these, or some of them."""
        others = other.reads if isinstance(other, SharedUnitRead) else (other,)
        return all(each in self.reads for each in others)

    def find(self, reader: PlanReader) -> Any:
        """Return what each of the reads finds, by read."""
        return self.found_by(reader.source)

    def found_by(self, engine: Any) -> Mapping[UnitRead, Sequence[UnitCells]]:
        """Return what an engine finds; read by read where it can do no better."""
        if not hasattr(engine, "scale_together"):
            return {read: read.found_by(engine) for read in self.reads}
        if hasattr(engine, "fold_and_look"):
            found, look = engine.fold_and_look(self.wide)
        else:
            found, look = engine.fold_units(self.wide), partial(engine.scale_together, self.wide)
        looks = SecondLooks(look)
        pairs = zip(self.reads, found, strict=True)
        return {
            read: (read.with_squares(engine, looks.cells(place, read, pair)),)
            for place, (read, pair) in enumerate(pairs)
        }

    def shown(self, source: Any) -> tuple[str, ...]:
        """Return what is read in an engine's own language."""
        if hasattr(source, "scale_together"):
            return Whole.shown(self.wide, source)
        return tuple(text for read in self.reads for text in read.shown(source))

    def shown_later(self, source: Any, looks: Sequence[tuple[int, bool]]) -> tuple[str, ...]:
        """Return what is read once clipping points are drawn: for looks at one of the reads each."""
        if hasattr(source, "shown_together"):
            return (source.shown_together(self.wide, looks),)
        if not hasattr(source, "shown_later"):
            return ()
        return tuple(source.shown_later(self.reads[place], count_rows=rows) for place, rows in looks)


@dataclass(frozen=True, eq=False)
class SecondLooks:
    """Second looks at units: those that are wanted by the time one is needed are made by one statement.

    Attributes:
        look: Makes several looks, of which no two are about the same numbers.
        found: What was found so far.
        waiting: What is wanted, in the order of asking.
    """

    look: Callable[[Sequence[Look]], Sequence[tuple[int, ...]]]
    found: dict[Look, tuple[int, ...]] = field(default_factory=dict, repr=False)
    waiting: dict[Look, None] = field(default_factory=dict, repr=False)

    def want(self, place: int, caps: Caps, *, count_rows: bool) -> None:
        """Take note of a look that will be needed."""
        look = Look(caps, count_rows, place)
        if look not in self.found:
            self.waiting[look] = None

    def at(self, place: int, caps: Caps, *, count_rows: bool) -> tuple[int, ...]:
        """Return each group's total, every unit scaled down to its cap."""
        needed = Look(caps, count_rows, place)
        if needed not in self.found:
            together = {(needed.place, needed.count_rows): needed}
            for look in tuple(self.waiting):
                together.setdefault((look.place, look.count_rows), look)
            self.found.update(zip(together.values(), self.look(tuple(together.values())), strict=True))
            for look in together.values():
                self.waiting.pop(look, None)
        return self.found[needed]

    def cells(self, place: int, read: UnitRead, pair: tuple[Any, Any]) -> UnitCells:
        """Return what one of the reads found; of groups, with the second look that follows."""
        if read.groups is None:
            return UnitCells(*pair)
        groups = len(read.groups.keys)

        def of(summary: Any, *, count_rows: bool) -> UnitGroups:
            at = partial(self.at, place, count_rows=count_rows)
            return UnitGroups(
                summary, at, groups=groups, wanted=partial(self.want, place, count_rows=count_rows)
            )

        totals, rows = pair
        return UnitCells(of(totals, count_rows=read.measure is None), of(rows, count_rows=True))


def together(reads: Mapping[Read, Read]) -> dict[Read, Read]:
    """Map each read to the read that is made; those of units that one statement can fold, to one for all."""
    wide: dict[UnitRead, list[UnitRead]] = {}
    for read in reads.values():
        if isinstance(read, UnitRead) and read.can_be_beside:
            alike = wide.setdefault(replace(read, measure=None, fold="sum"), [])
            if read not in alike:
                alike.append(read)
    several = (alike for alike in wide.values() if len(alike) > 1 or alike[0].groups is not None)
    serving = {read: SharedUnitRead(tuple(alike)) for alike in several for read in alike}
    return {asked: serving.get(read, read) for asked, read in reads.items()}  # type: ignore[call-overload]
