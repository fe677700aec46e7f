"""The part of the engines' contract that is about keys which nobody listed, as tests."""

from __future__ import annotations

from collections.abc import Sequence

from prdp.declare.groups import date_trunc
from prdp.declare.key_search import read_keys
from prdp.declare.owners import Owners
from prdp.engines.engine import Engine
from prdp.expressions.check import check
from prdp.expressions.parse import parse
from prdp.plan.reads import KeyMassRead
from prdp.policy import Policy
from prdp.schema import Kind
from prdp.testing.engine_records import BUDGETS, DAYS, FRACTIONS, OWNERS, WHOLES, record_of
from prdp.testing.key_reference import reference_masses, rows_of_masses
from prdp.testing.reference import Record

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

    def test_an_owner_divides_its_budget_among_its_keys(self) -> None:
        """Divide the least budget of all rows; of many keys, no owner counts with more than it has."""
        engine = self.engine(OWNERS)
        policy = _POLICY.within(engine.schema, {})
        where = check(parse("v <> 5000"), engine.schema, Kind.BOOLEAN, "v <> 5000")
        for whose, columns in (("job", "x"), ("job", "v"), ("x", "job"), ("day", "v")):
            by = read_keys(columns, engine.schema)
            for condition in (None, where):
                reading = KeyMassRead(policy, policy.levels, by, condition, Owners(whose), most_keys=100)
                self.masses(OWNERS, reading)

    def test_an_owner_of_several_rows_has_no_key_where_owners_have_one_row_each(self) -> None:
        """Count all rows of an owner, whatever the filter lets through: who has two is in no mass."""
        several = [record_of(eps=0.5, x=1.0, v=v) for v in (3, 4)]
        unbudgeted = [record_of(eps=0.5, x=2.0, v=3), record_of(eps=None, x=2.0, v=3)]
        records = [*several, *unbudgeted, record_of(eps=1.0, x=3.0, v=3), record_of(eps=1.0, x=4.0, v=5)]
        engine = self.engine(records)
        policy = _POLICY.within(engine.schema, {})
        by = read_keys("v", engine.schema)
        third = check(parse("v = 3"), engine.schema, Kind.BOOLEAN, "v = 3")
        for condition in (None, third):
            alone = Owners("x", 1, one_row=True)
            self.masses(records, KeyMassRead(policy, policy.levels, by, condition, alone))

    def test_of_an_owner_with_many_keys_some_count_with_all_of_its_budget(self) -> None:
        """Let one or two keys of a single owner count, the same ones in any order of the rows."""
        rows = [record_of(eps=0.5, x=1.0, v=v) for v in range(7)]
        engine = self.engine(rows)
        policy = _POLICY.within(engine.schema, {})
        by = read_keys("v", engine.schema)
        index = policy.levels.index(0.5)
        assert index is not None
        for most in (1, 2):
            reading = KeyMassRead(policy, policy.levels, by, None, Owners("x"), most_keys=most)
            found = sorted(rows_of_masses(engine.key_masses(reading)))
            assert [mass for _, mass in found] == [policy.levels.quanta(index) // most] * most
            assert found == sorted(rows_of_masses(self.engine(rows[::-1]).key_masses(reading)))
