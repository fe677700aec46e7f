"""The kinds of clients that a protocol distinguishes, found by watching which columns its law reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from prdp.local.client.campaign import Campaign
from prdp.local.client.client import laws_of
from prdp.local.protocols.protocol import Own, Record
from prdp.local.protocols.randomisers import Law
from prdp.local.simulation.crowd import Crowd, Integers, distinct_rows, record_at
from prdp.local.simulation.outcomes import Draw, drawing

_CHECKED = 1000
_REMEMBERED = 4


@dataclass(frozen=True)
class CoordinateLaws:
    """The distinct laws of one coordinate, and which of them each kind of client has."""

    laws: tuple[Law, ...]
    codes: Integers

    @cached_property
    def draw(self) -> Draw:
        """How outcomes are drawn, from which law each client has."""
        return drawing(self.laws)


@dataclass(frozen=True, slots=True)
class Kinds:
    """The laws of all kinds of clients, coordinate by coordinate, and which kind each client is."""

    columns: tuple[CoordinateLaws, ...]
    which: Integers
    size: int


class Watched(Mapping[str, object]):
    """A record that notes which of its columns are read.

    >>> read = set()
    >>> Watched({"age": 30, "job": "nurse"}, read).get("age"), read
    (30, {'age'})
    """

    __slots__ = ("_read", "_record")

    def __init__(self, record: Record, read: set[str]) -> None:
        self._record, self._read = record, read

    def __getitem__(self, name: str) -> object:
        value = self._record[name]  # which columns there are is the same for all: no reading
        self._read.add(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._record)

    def __len__(self) -> int:
        return len(self._record)

    def __repr__(self) -> str:
        return repr(dict(self))


def kinds_of(campaign: Campaign, crowd: Crowd) -> Kinds:
    """Ask for the laws of one client of each kind; what was found for the last few campaigns is remembered.

    A law is a function of the budget's level and of what it reads of the record. Clients that agree in both
    have equal laws, whatever else is in their records. Where some client's law reads a column by which kinds
    were not distinguished, they are distinguished by it as well, and all is done again.
    """
    for protocol, text, found in crowd.remembered:
        if text == campaign.text and protocol == campaign.protocol:
            kinds: Kinds = found
            return kinds
    read: set[str] = set()
    while True:
        columns = [crowd.levels, *(crowd.columns[name] for name in sorted(read))]
        first, which = distinct_rows(columns, len(crowd))
        asked = _Asked(campaign, crowd)
        for place in first:
            asked.add(int(place))
            if not asked.read <= read:
                break
        else:
            kinds = Kinds(asked.columns(), which, len(first))
            crowd.remembered.insert(0, (campaign.protocol, campaign.text, kinds))
            del crowd.remembered[_REMEMBERED:]
            return kinds
        read |= asked.read


class _Asked:
    """The laws of some clients, as they are asked for one after the other, and the columns that were read."""

    def __init__(self, campaign: Campaign, crowd: Crowd) -> None:
        self._campaign, self._crowd = campaign, crowd
        self._dummy = tuple(laws_of(campaign, None))
        self._seen: list[dict[Law, int]] = [{law: 0} for law in self._dummy]
        self._codes: list[list[int]] = [[] for _ in self._dummy]
        self._asked = 0
        self.read: set[str] = set()

    def add(self, place: int) -> None:
        """Ask for the laws of the client at a place."""
        level = int(self._crowd.levels[place])
        found = [0] * len(self._dummy) if level < 0 else self._codes_of(place, self._crowd.quanta(level))
        for code, codes in zip(found, self._codes, strict=True):
            codes.append(code)

    def columns(self) -> tuple[CoordinateLaws, ...]:
        """Return the laws that were found."""
        found = zip(self._seen, self._codes, strict=True)
        return tuple(CoordinateLaws(tuple(seen), np.array(codes, np.int64)) for seen, codes in found)

    def _codes_of(self, place: int, quanta: int) -> list[int]:
        record = record_at(self._crowd.columns, place)
        laws = laws_of(self._campaign, Own(Watched(record, self.read), quanta))
        codes = self._coded(laws)
        self._asked += 1
        if self._asked <= _CHECKED or not any(codes):
            # A law that wants a dict and no other mapping may fail, or go another way, and read anything.
            plain = self._coded(laws_of(self._campaign, Own(record, quanta)))
            if plain != codes:
                self.read.update(self._crowd.columns)
            return plain
        return codes

    def _coded(self, laws: Sequence[Law]) -> list[int]:
        """Return which of the laws seen so far each coordinate has; most are the dummy's, and the first."""
        return [
            0 if law == dummy else seen.setdefault(law, len(seen))
            for law, dummy, seen in zip(laws, self._dummy, self._seen, strict=True)
        ]
