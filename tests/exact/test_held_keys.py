"""Distinct keys of units: what is left over behind one key moves to others, and no unit loses too much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement
from typing import Any, ClassVar

import pytest

from prdp.cells.columns import exact_column
from prdp.cells.summary import KeyHolders, KeySummary, key_edges
from prdp.levels import Levels
from prdp.mechanisms.distinct import DistinctKeys, KeyCandidates
from prdp.noise.laws import Gated, Law, Together
from prdp.plan.divided import DividedRead
from prdp.plan.reads import KeyRead
from prdp.policy import Policy
from prdp.testing.exact_loss import TOLERANCE, worst_loss
from prdp.testing.mechanism_contract import MechanismContract, Twin
from prdp.testing.reference_divided import reference_divided
from tests.exact import test_distinct, units_universe
from tests.exact.test_distinct import (
    CHOICE_PART,
    FINDER,
    GATE_PART,
    RIGHT,
    TOTAL_PART,
    Coarse,
    too_little_noise,
)
from tests.exact.units_universe import COLUMNS, Record, reading, rows_of, unit

POLICY = Policy.column("eps", at_least="20", at_most="80")
LEVELS = Levels(Fraction(20), Fraction(80))
PARTS = Coarse(Fraction(5), Fraction(80))


def holder(budget: float, *keys: int, group: str = "a") -> Record:
    """Return a unit with a row for each key."""
    return unit(*((key, budget, True, group) for key in keys))


RECORDS: tuple[Record, ...] = (
    holder(80.0, 1),
    holder(80.0, 1, 2),
    holder(40.0, 2, 2, 2),  # three rows are one key
    holder(60.0, 1, 2, 3),
    holder(30.0, 2, 3),
)


def budget(record: Record) -> float:
    """Return what a unit is promised."""
    return min(POLICY.budget(row) or 0.0 for row in record["rows"])


def asked(*, grouped: bool) -> DividedRead:
    """Return what is read of units."""
    plain = reading(None, grouped=grouped)
    policy = POLICY.within(COLUMNS, {})
    return DividedRead(KeyRead(policy, PARTS, "v", plain.where, plain.groups), plain.unit, LEVELS, "key")


def held(records: Sequence[Record], *, grouped: bool = False) -> tuple[KeySummary, ...]:
    """Return the keys of units, by the reference that engines are held to."""
    return reference_divided(rows_of(records), asked(grouped=grouped))


def total_at(place: int) -> Callable[[Any], Law]:
    """Return the law of the total at a place, counted from the largest edge."""
    return lambda law: law.laws[0].then(place)


# Twins: each moves budgets in another way. What they share is written out in plain Python.


@dataclass(slots=True)
class Filling:
    """What keys hold, up to so much each, and what the units of each row have left over.

    Rows are (keys, quanta behind each).
    """

    rows: Sequence[tuple[tuple[int, ...], int]]
    most: int
    holds: Counter[int]
    left: list[int]

    @classmethod
    def of(cls, holders: KeyHolders, most: int) -> Filling:
        """Let every key keep what is behind it, as far as it has room."""
        keys = iter(holders.keys.tolist())
        numbers = zip(holders.number.tolist(), holders.quanta.tolist(), strict=True)
        rows = [(tuple(next(keys) for _ in range(number)), behind) for number, behind in numbers]
        filling = cls(rows, most, Counter(), [])
        for held_keys, behind in rows:
            filling.left.append(sum(behind - filling.kept(key, behind) for key in held_keys))
        return filling

    def kept(self, key: int, offered: int) -> int:
        """Return how much a key keeps of what it is offered."""
        kept = min(offered, self.most - self.holds[key])
        self.holds[key] += kept
        return kept

    @property
    def room(self) -> Callable[[int], bool]:
        """Whether a key has room."""
        return lambda key: self.holds[key] < self.most


def one_after_the_other(holders: KeyHolders, most: int) -> int:
    """Offer what is left over to one key after the other: the right way."""
    filling = Filling.of(holders, most)
    for row, (keys, _) in enumerate(filling.rows):
        for key in keys:
            filling.left[row] -= filling.kept(key, filling.left[row])
    return filling.holds.total()


def among_keys_with_room(holders: KeyHolders, most: int) -> int:
    """Divide what is left over among those keys that have room: that depends on others."""
    filling = Filling.of(holders, most)
    for row, (keys, _) in enumerate(filling.rows):
        with_room = [key for key in keys if filling.room(key)]
        for place, key in enumerate(with_room):
            filling.kept(key, (filling.left[row] + place) // len(with_room))
    return filling.holds.total()


def offered_twice(holders: KeyHolders, most: int) -> int:
    """Offer each key all that is left over, whatever the others have kept of it."""
    filling = Filling.of(holders, most)
    for row, (keys, _) in enumerate(filling.rows):
        for key in keys:
            filling.kept(key, filling.left[row])
    return filling.holds.total()


def to_the_rarest_key(holders: KeyHolders, most: int) -> int:
    """Give all that a unit has to the key that the fewest others hold."""
    filling = Filling.of(holders, 0)
    holding = Counter(holders.keys.tolist())
    filling = replace(filling, most=most, holds=Counter())
    for keys, behind in filling.rows:
        filling.kept(min(keys, key=lambda key: (holding[key], key)), behind * len(keys))
    return filling.holds.total()


Moving = Callable[[KeyHolders, int], int]


@dataclass(frozen=True, slots=True, eq=False)
class Moved(KeyHolders):
    """Holders whose budgets are moved in another way."""

    by: Moving = one_after_the_other

    def clipped(self, most: int) -> int:
        return self.by(KeyHolders(self.number, self.keys, self.quanta), most)


def moved(by: Moving) -> Callable[[KeySummary, Fraction], Gated]:
    """Return the mechanism where budgets are moved in another way."""

    def law(summary: KeySummary, share: Fraction) -> Gated:
        old = summary.holders
        assert old is not None
        return RIGHT.law(replace(summary, holders=Moved(old.number, old.keys, old.quanta, by)), share)

    return law


def mass_of_moved(holders: KeyHolders, most: int) -> int:
    """Return the mass of a point if it were of what keys hold once budgets have moved."""
    return 2 * holders.clipped(most) - holders.clipped(2 * most)


def mass_unmoved(holders: KeyHolders, most: int) -> int:
    """Return the mass of a point."""
    return sum(2 * min(most, behind) - min(2 * most, behind) for behind in holders.sums)


MUCH_CLIPPED = "total, much clipped"


class TestHeldKeys(MechanismContract):
    mechanism: Any = RIGHT
    records = RECORDS
    max_records = 3
    shares = (Fraction(1, 3),)
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "gate": (lambda law: law.first, GATE_PART),
        "choice": (lambda law: law.laws[0].first, CHOICE_PART),
        "total, little clipped": (total_at(9), TOTAL_PART),
        MUCH_CLIPPED: (total_at(11), TOTAL_PART),
    }
    loose: ClassVar[Mapping[str, str]] = {
        "choice": "parts have two octaves of levels more; it is the choice of test_distinct, tight there"
    }

    def summarise(self, records: Sequence[Record]) -> KeySummary:
        return held(records)[0]

    def budget(self, record: Record) -> float:
        return budget(record)

    def with_budget(self, record: Record, budget: float) -> Record | None:
        return units_universe.with_budget(record, budget) if budget >= 20 else None

    def twins(self) -> Mapping[str, Twin]:
        return {
            "noise 15 % too small": Twin(too_little_noise, MUCH_CLIPPED),
            "offered twice": Twin(moved(offered_twice), MUCH_CLIPPED),
        }


@pytest.mark.parametrize("place", range(7, 13))
def test_all_groups_together_stay_within_the_budget(place: int) -> None:
    """A unit's parts move within their group; the whole of its budget in each group is too much."""
    records = (
        unit(*((key, 80.0, True, group) for key in (1, 2) for group in "ab")),
        holder(80.0, 1),
        holder(60.0, 1, 3, group="b"),
    )

    def law(groups: Sequence[KeySummary], factor: int = 1) -> Law:
        laws: list[Any] = []
        for one in groups:
            assert one.holders is not None
            larger = replace(one.holders, quanta=one.holders.quanta * factor)
            laws.append(RIGHT.law(replace(one, holders=larger), Fraction(1)).laws[0])
        return Together(tuple(each.then(place) for each in laws))

    def worst(factor: int) -> Any:
        of_law: Any = partial(law, factor=factor)
        found: Any = partial(held, grouped=True)
        return worst_loss(records, of_law, found, lambda record: float(TOTAL_PART) * budget(record), 2)

    assert worst(1).excess <= TOLERANCE
    if place < 9:
        assert worst(2).ratio > 1.2


def tables(largest: int) -> Iterator[list[tuple[tuple[int, ...], int]]]:
    """Yield all small tables of units, keys among three and what is behind each; and two larger ones."""
    keys = [(0,), (1,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    units = [(one, behind) for one in keys for behind in (1, 3)]
    for size in range(1, largest + 1):
        yield from map(list, combinations_with_replacement(units, size))
    yield [((0,), 1), ((0, 1, 2), 3), ((0, 2), 6), ((0,), 4)]
    yield [((4,), 1), ((1, 2, 3, 4), 6), ((0, 2, 4), 2), ((1, 2, 3), 5), ((2, 3, 4), 1), ((3, 4), 1)]


def holders_of(units: Sequence[tuple[tuple[int, ...], int]]) -> KeyHolders:
    rows = [(place, key, behind) for place, (keys, behind) in enumerate(units) for key in keys]
    return KeyHolders.of(*(exact_column(row[column] for row in rows) for column in range(3)))


def worst_gain(by: Moving, largest: int) -> tuple[Fraction, Fraction]:
    """Return the least and the largest gain by one unit more, over its budget."""
    gains = [Fraction(0)]
    for units in tables(largest):
        whole = holders_of(units)
        for most in (1, 3, 10):
            for place, (keys, behind) in enumerate(units):
                without = holders_of(units[:place] + units[place + 1 :])
                gains.append(Fraction(by(whole, most) - by(without, most), behind * len(keys)))
    return min(gains), max(gains)


def test_a_unit_more_raises_the_total_by_at_most_its_budget() -> None:
    assert worst_gain(KeyHolders.clipped, 3) == (Fraction(0), Fraction(1))


@pytest.mark.parametrize("by", [among_keys_with_room, offered_twice, to_the_rarest_key])
def test_other_ways_to_move_budgets_raise_it_by_more_or_lower_it(by: Moving) -> None:
    least, most = worst_gain(by, 3)
    assert least < 0 or most > 1


def test_a_point_is_chosen_by_budgets_before_they_move() -> None:
    """Then a unit moves its mass by its budget at most, either way; afterwards it may by twice as much."""
    assert worst_gain(mass_unmoved, 3) == (Fraction(-1), Fraction(1))
    assert worst_gain(mass_of_moved, 3)[1] > 1


def test_columns_move_budgets_as_plain_python_does() -> None:
    """And no key holds less than without moving, which is what intervals rely on."""
    for units in tables(3):
        holders = holders_of(units)
        for most in (1, 2, 3, 4, 7, 10):
            found = holders.clipped(most)
            assert found == one_after_the_other(holders, most)
            assert sum(min(most, behind) for behind in holders.sums) <= found
            assert found <= min(most * len(holders.sums), sum(holders.sums))


def test_budgets_beyond_64_bits_move_exactly() -> None:
    units, wide = [((0, 1), 3), ((0,), 5), ((1, 2), 2)], 1 << 70
    large = holders_of([(keys, behind * wide) for keys, behind in units])
    assert large.clipped(4 * wide) == holders_of(units).clipped(4) * wide


def test_units_with_the_same_keys_are_one_row_in_an_order_of_their_own_keys() -> None:
    """Whatever order an engine returns them in."""
    units = [((0, 2), 1), ((1,), 3), ((0, 2), 3), ((0, 1), 1), ((2,), 1)]
    assert holders_of(units) == holders_of(units[::-1])
    found = holders_of(units)
    assert found.number.tolist() == [1, 1, 2, 2]
    assert found.keys.tolist() == [1, 2, 0, 1, 0, 2]
    assert found.quanta.tolist() == [3, 1, 1, 4]


def test_the_answer_is_about_the_moved_total() -> None:
    (summary,) = held(RECORDS)
    law: Any = RIGHT.law(summary, Fraction(1)).laws[0]
    found = [law.then(place).values[0] for place in range(6, 12)]
    edges = KeyCandidates(summary).edges(4)
    assert summary.holders is not None
    expected = [
        one_after_the_other(summary.holders, key_edges(PARTS)[edges[place]]) for place in range(6, 12)
    ]
    assert found == expected
    assert DistinctKeys(FINDER) == test_distinct.RIGHT
