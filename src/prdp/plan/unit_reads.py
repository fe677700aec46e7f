"""Reads of units that differ in what they measure alone: one statement folds for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from prdp.cells.units import Caps, Look, UnitCells, UnitGroups
from prdp.plan.reads import PlanReader, Read, UnitRead, Whole


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
        """Say whether another read is one of these, or some of them."""
        others = other.reads if isinstance(other, SharedUnitRead) else (other,)
        return all(each in self.reads for each in others)

    def find(self, reader: PlanReader) -> Any:
        """Return what each of the reads finds, by read; one by one where an engine can do no better."""
        engine: Any = reader.source
        if not hasattr(engine, "scale_together"):
            return {read: read.find(reader) for read in self.reads}
        if hasattr(engine, "fold_and_look"):
            found, look = engine.fold_and_look(self.wide)
        else:
            found, look = engine.fold_units(self.wide), partial(engine.scale_together, self.wide)
        looks = SecondLooks(look)
        pairs = zip(self.reads, found, strict=True)
        return {read: (looks.cells(place, read, pair),) for place, (read, pair) in enumerate(pairs)}

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
