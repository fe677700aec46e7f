"""The part of the engines' contract that is about keys which nobody listed, as tests."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from prdp.cells.key_masses import KeyMasses
from prdp.declare.columns import column_of
from prdp.declare.groups import GroupKey, Truncated, date_trunc, first_moment
from prdp.declare.key_domains import microseconds_of
from prdp.declare.key_search import read_keys
from prdp.declare.units import PrivacyUnit
from prdp.engines.engine import Engine
from prdp.expressions.check import check
from prdp.expressions.evaluate import evaluate
from prdp.expressions.parse import parse
from prdp.plan.reads import KeyMassRead
from prdp.policy import Policy
from prdp.schema import Kind
from prdp.testing.engine_records import BUDGETS, DAYS, FRACTIONS, UNITS, WHOLES, record_of
from prdp.testing.reference import Record

_LARGEST = 1 << 90


def reference_masses(records: Sequence[Record], reading: KeyMassRead) -> dict[tuple[Any, ...], int]:
    """Return the budget mass of each key that some record has.

    Which keys of a unit count, where not all do, is for each engine to say, by a fixed hash of its own.
    """
    masses: Counter[tuple[Any, ...]] = Counter()
    for rows in _unit(records, reading):
        levels = [_level(row, reading) for row in rows]
        keys = {key for row in rows if (key := _key(row, reading)) is not None}
        if keys and None not in levels:
            quanta = reading.levels.quanta(min(level for level in levels if level is not None))
            chosen = sorted(keys, key=lambda key: _order(rows[0], key, reading))[: reading.max_keys]
            for key in chosen:
                masses[key] += min(quanta, _LARGEST, reading.most or _LARGEST) // len(chosen)
    return dict(masses)


def rows_of_masses(masses: KeyMasses) -> list[tuple[tuple[Any, ...], int]]:
    """Return an engine's result, row by row."""
    return [(masses.key(place), int(mass)) for place, mass in enumerate(masses.mass)]


def _order(row: Record, key: tuple[Any, ...], reading: KeyMassRead) -> str:
    whose = None if reading.unit is None else row[reading.unit.id]
    return hashlib.sha256(repr((whose, key)).encode()).hexdigest()


def _unit(records: Sequence[Record], reading: KeyMassRead) -> Iterable[list[Record]]:
    if reading.unit is None:
        return [[record] for record in records]
    rows: dict[Any, list[Record]] = defaultdict(list)
    for record in records:
        whose = record[reading.unit.id]
        if whose is not None and whose == whose:  # noqa: PLR0124  (NaN alone differs from itself)
            rows[whose].append(record)
    alone = reading.unit.one_row_is_all
    return [own for own in rows.values() if len(own) == 1 or not alone]


def _level(record: Record, reading: KeyMassRead) -> int | None:
    budget = evaluate(reading.policy.expression, record)
    return reading.levels.index(budget if isinstance(budget, float) else None)


def _key(record: Record, reading: KeyMassRead) -> tuple[Any, ...] | None:
    """Return a record's key; None where the filter keeps it out, or where it has none."""
    if reading.where is not None and evaluate(reading.where, record) is not True:
        return None
    found = tuple(_part(record, key) for key in reading.by)
    return None if None in found else found


def _part(record: Record, key: GroupKey) -> Any:
    value = column_of(record, key.column, key.expression)
    match value:
        case str():
            return value.encode()
        case datetime():
            return microseconds_of(first_moment(value, key.part) if isinstance(key, Truncated) else value)
        case bool():
            return int(value)
        case float():
            return None if value != value else value + 0.0  # noqa: PLR0124
        case _:
            return value


_POLICY = Policy.column("eps", at_least="1/10", at_most="10")
_JOBS = (None, "", "clerk", "clerk ", "Clerk", "clerk\n", "o'brien", "é")
_BY = (["job"], ["v"], ["x"], [date_trunc("month", "day")], ["day"], ["job", "v"], ["v + 1"], ["x > 0"])


class KeyContract:
    """Tests that an engine finds every key of records with a valid budget, each once, with its exact mass."""

    def engine(self, records: Sequence[Record]) -> Engine:
        """Return an engine over these records."""
        raise NotImplementedError

    def masses(self, records: Sequence[Record], reading: KeyMassRead) -> None:
        """Compare what the engine finds with what it should."""
        masses = self.engine(records).key_masses(reading)
        found, expected = rows_of_masses(masses), reference_masses(records, reading)
        assert len(found) == len(dict(found))
        assert dict(found) == expected
        some = list(expected)[:5]
        assert masses.holding(some) == set(some)
        assert not masses.holding([tuple(b"none" if isinstance(part, bytes) else 12345 for part in some[0])])

    def test_every_key_has_one_row_with_the_budgets_of_its_records(self) -> None:
        """Add up by texts that differ in a blank, whole numbers, doubles with NaN and both zeros, months."""
        ends = zip((*FRACTIONS, 0.0, 3.0), WHOLES, strict=True)
        records = [
            record_of(eps=budget, v=v, x=x, job=job, day=day)
            for place, (x, v) in enumerate(ends)
            for job, day in zip(_JOBS, (*DAYS, None) * 2, strict=True)
            for budget in BUDGETS[place % 3 :: 3]
        ]
        engine = self.engine(records)
        policy = _POLICY.within(engine.schema, {})
        for columns in _BY:
            by = read_keys(columns, engine.schema)
            self.masses(records, KeyMassRead(policy, policy.levels, by, None))
            self.masses(records, KeyMassRead(policy, policy.levels, by, None, most=policy.levels.quanta(3)))

    def test_keys_of_records_without_a_valid_budget_have_no_row(self) -> None:
        """Leave out a key whose records are all left out, and keep the filter's keys alone."""
        records = [
            record_of(eps=None, job="a"),
            record_of(eps=0.01, job="b"),
            record_of(eps=1.0, job="c", v=1),
        ]
        engine = self.engine(records)
        policy = _POLICY.within(engine.schema, {})
        by = read_keys("job", engine.schema)
        reading = KeyMassRead(policy, policy.levels, by, None)
        assert [key for key, _ in rows_of_masses(engine.key_masses(reading))] == [(b"c",)]
        kept = check(parse("v > 1"), engine.schema, Kind.BOOLEAN, "v > 1")
        assert not rows_of_masses(engine.key_masses(KeyMassRead(policy, policy.levels, by, kept)))

    def test_an_unit_divides_its_budget_among_its_keys(self) -> None:
        """Divide the least budget of all rows; of many keys, no unit counts with more than it has."""
        engine = self.engine(UNITS)
        policy = _POLICY.within(engine.schema, {})
        where = check(parse("v <> 5000"), engine.schema, Kind.BOOLEAN, "v <> 5000")
        for whose, columns in (("job", "x"), ("job", "v"), ("x", "job"), ("day", "v")):
            by = read_keys(columns, engine.schema)
            for condition in (None, where):
                reading = KeyMassRead(policy, policy.levels, by, condition, PrivacyUnit(whose), max_keys=100)
                self.masses(UNITS, reading)

    def test_an_unit_of_several_rows_has_no_key_where_units_have_one_row_per_unit(self) -> None:
        """Count all rows of a unit, whatever the filter lets through: who has two is in no mass."""
        several = [record_of(eps=0.5, x=1.0, v=v) for v in (3, 4)]
        unbudgeted = [record_of(eps=0.5, x=2.0, v=3), record_of(eps=None, x=2.0, v=3)]
        records = [*several, *unbudgeted, record_of(eps=1.0, x=3.0, v=3), record_of(eps=1.0, x=4.0, v=5)]
        engine = self.engine(records)
        policy = _POLICY.within(engine.schema, {})
        by = read_keys("v", engine.schema)
        third = check(parse("v = 3"), engine.schema, Kind.BOOLEAN, "v = 3")
        for condition in (None, third):
            alone = PrivacyUnit("x", 1, one_row=True)
            self.masses(records, KeyMassRead(policy, policy.levels, by, condition, alone))

    def test_of_an_unit_with_many_keys_some_count_with_all_of_its_budget(self) -> None:
        """Let one or two keys of a single unit count, the same ones in any order of the rows."""
        rows = [record_of(eps=0.5, x=1.0, v=v) for v in range(7)]
        engine = self.engine(rows)
        policy = _POLICY.within(engine.schema, {})
        by = read_keys("v", engine.schema)
        index = policy.levels.index(0.5)
        assert index is not None
        for most in (1, 2):
            reading = KeyMassRead(policy, policy.levels, by, None, PrivacyUnit("x"), max_keys=most)
            found = sorted(rows_of_masses(engine.key_masses(reading)))
            assert [mass for _, mass in found] == [policy.levels.quanta(index) // most] * most
            assert found == sorted(rows_of_masses(self.engine(rows[::-1]).key_masses(reading)))
