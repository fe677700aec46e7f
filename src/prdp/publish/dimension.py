"""Dimensions of a table: public keys, the hierarchy above them, and the total."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import cached_property
from typing import Any

from prdp.errors import InvalidRequest
from prdp.expressions.nodes import Case, Column, Node, Null
from prdp.publish.declaration import Hierarchy
from prdp.release.table import shown_key
from prdp.sql.membership import among, literal

TOTAL = "Total"
"""Label of what is not divided."""


@dataclass(frozen=True, slots=True)
class Level:
    """A grouping of a dimension's keys.

    Attributes:
        name: Its name.
        labels: The names of its groups.
        groups: For each, the places of its keys.
    """

    name: str
    labels: tuple[Any, ...]
    groups: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class DimensionPart:
    """A row or column head of a dimension: the total, a group, or a key.

    Attributes:
        labels: A label for each level, the coarsest first; TOTAL below the part's own level.
        leaves: The places of its keys.
        level: 0 for a key, else the place of its level.
    """

    labels: tuple[Any, ...]
    leaves: tuple[int, ...]
    level: int


@dataclass(frozen=True)
class Dimension:
    """A dimension of a table.

    Attributes:
        levels: The keys, the groupings above them, and the total.
    """

    column: str
    levels: tuple[Level, ...]

    @property
    def size(self) -> int:
        """The number of keys."""
        return len(self.levels[0].labels)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all levels but the total, the coarsest first."""
        return tuple(level.name for level in reversed(self.levels[:-1]))

    @property
    def coarse(self) -> Level:
        """The level that is asked beside the keys: that above them."""
        return self.levels[1]

    def parts(self, *, margins: bool) -> list[DimensionPart]:
        """Return all parts in order: a total before its groups, a group before its keys."""
        if not margins:
            return [part for part in self._below(len(self.levels) - 1, 0, ()) if part.level == 0]
        return list(self._below(len(self.levels) - 1, 0, ()))

    def _below(self, level: int, group: int, above: tuple[Any, ...]) -> Iterator[DimensionPart]:
        """Yield a group of a level, and all that is in it."""
        own = self.levels[level]
        top = level == len(self.levels) - 1
        labels = above if top else (*above, own.labels[group])
        rest = (TOTAL,) * (len(self.levels) - 1 - len(labels))
        yield DimensionPart((*labels, *rest), own.groups[group], level)
        if level:
            inside = set(own.groups[group])
            for place, leaves in enumerate(self.levels[level - 1].groups):
                if inside.issuperset(leaves):
                    yield from self._below(level - 1, place, labels)

    @cached_property
    def listed(self) -> Node:
        """The condition that a record has one of the keys."""
        return among(Column(self.column), self.levels[0].labels)

    @cached_property
    def grouping(self) -> Node:
        """The group of a record in the level above the keys."""
        keys, coarse = self.levels[0].labels, self.coarse
        cases = (
            (among(Column(self.column), [keys[place] for place in group]), literal(str(label)))
            for label, group in zip(coarse.labels, coarse.groups, strict=True)
        )
        return Case(tuple(cases), Null())


def dimension_of(name: str, keys: Mapping[str, Sequence[Any]], hierarchies: Sequence[Hierarchy]) -> Dimension:
    """Return the dimension that a table is by: a column, or a hierarchy with all that is below it.

    >>> region = Hierarchy("region", "district", {"North": ["a", "c"], "South": ["b"]})
    >>> found = dimension_of("region", {"district": ["a", "b", "c"]}, [region])
    >>> for part in found.parts(margins=True):
    ...     print(*part.labels)
    Total Total
    North Total
    North a
    North c
    South Total
    South b

    Raises:
        InvalidRequest: It has no public keys, or a hierarchy does not divide them.
    """
    by_name = {one.name: one for one in hierarchies}
    chain: list[Hierarchy] = []
    while name in by_name and by_name[name] not in chain:
        chain.insert(0, by_name[name])
        name = by_name[name].of
    if name not in keys or not isinstance(keys[name], list | tuple) or not keys[name]:
        raise InvalidRequest(
            f"{name!r} has no list of public keys: write {name} = [...] in [tables.NAME.keys] of "
            "prdp.toml, or [hierarchies.NAME] for a grouping of some column's keys."
        )
    labels = tuple(map(_as_key, keys[name]))
    levels = [Level(name, labels, tuple((place,) for place in range(len(labels))))]
    for hierarchy in chain:
        levels.append(_level(hierarchy, levels[-1]))
    everything = tuple(place for group in levels[-1].groups for place in group)
    levels.append(Level("", (TOTAL,), (everything,)))
    if any(shown_key(label) == TOTAL for level in levels[:-1] for label in level.labels):
        raise InvalidRequest(f"{TOTAL!r} is a key or a group of {name}: that name is reserved for the total.")
    return Dimension(name, tuple(levels))


def _as_key(value: Any) -> Any:
    """Return a declared key as columns have it: a date of TOML is the moment at which it begins."""
    is_day = isinstance(value, date) and not isinstance(value, datetime)
    return datetime.combine(value, time()) if is_day else value


def refuse_same_names(dimensions: Sequence[Dimension], columns: Sequence[str]) -> None:
    """Refuse a table of which files would have two columns of one name.

    Args:
        dimensions: Its dimensions.
        columns: The columns that files have for its measures.
    """
    heads = [name for one in dimensions for name in one.names]
    for name in heads:
        if heads.count(name) > 1:
            raise InvalidRequest(
                f"{name!r} is in by twice: a hierarchy has all levels below it, so name the hierarchy alone."
            )
        if name in columns:
            raise InvalidRequest(f"files would have two columns called {name!r}: rename a measure.")


def _level(hierarchy: Hierarchy, finer: Level) -> Level:
    """Return the level that a hierarchy makes of a finer one, or refuse one that does not divide it."""
    places = {shown_key(label): place for place, label in enumerate(finer.labels)}
    taken: dict[str, str] = {}
    for label, keys in hierarchy.groups.items():
        if not keys:
            raise InvalidRequest(f"{label!r} lists no key of {finer.name}: list one, or remove the group.")
        for key in map(shown_key, map(_as_key, keys)):
            if key not in places:
                raise InvalidRequest(f"{label!r} lists {key!r}, which is no key of {finer.name}.")
            if key in taken:
                raise InvalidRequest(f"{key!r} is in {taken[key]!r} and in {label!r}.")
            taken[key] = label
    if missing := sorted(set(places) - set(taken)):
        raise InvalidRequest(f"{missing[0]!r} of {finer.name} is in no group: every key belongs to one.")
    groups = tuple(
        tuple(leaf for key in map(_as_key, keys) for leaf in finer.groups[places[shown_key(key)]])
        for keys in hierarchy.groups.values()
    )
    return Level(hierarchy.name, tuple(hierarchy.groups), groups)
