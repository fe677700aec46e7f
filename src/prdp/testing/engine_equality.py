"""The contract of engines beside DuckDB, as tests: the same answers, many groups, odd records among others.

Subclass ``EqualityContract`` beside ``EngineContract``. Needs pyarrow, in which DuckDB is given the records.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, cast

import pyarrow

from prdp.cells.key_masses import KeyMasses
from prdp.cells.measure import Measure
from prdp.declare.groups import GroupKey, bins, date_trunc, read_grouping
from prdp.declare.key_search import KeySearch
from prdp.declare.units import PrivacyUnit
from prdp.engines.duckdb.engine import open_source
from prdp.engines.engine import Engine
from prdp.expressions.check import check
from prdp.expressions.parse import parse
from prdp.plan.queries import Count, CountDistinct, Max, Mean, Quantile, Query, Sum, Variance
from prdp.plan.reads import CellRead, KeyMassRead, KeyRead, UnitRead
from prdp.policy import Policy
from prdp.schema import Kind
from prdp.tables.queryable import reader_of
from prdp.tables.table import Table
from prdp.tables.table import open as open_table
from prdp.testing.engine_records import DAYS, INFINITY, NAN, Brevity, record_of
from prdp.testing.reference import Record, in_groups, reference_keys, reference_summary, reference_units
from prdp.testing.seeded import Seeded
from prdp.testing.simulate import simulate

_SCHEMA = pyarrow.schema(
    [
        ("eps", pyarrow.float64()),
        ("v", pyarrow.int64()),
        ("x", pyarrow.float64()),
        ("job", pyarrow.string()),
        ("day", pyarrow.timestamp("us")),
    ]
)
_PERSONAL = Policy.column("eps", at_least="1/10", at_most="10")
_SEED, _GROUPS = 5, 10_000
_GIVEN: dict[str, Any] = {
    "policy": _PERSONAL,
    "bounds": {"v": (0, 1000), "x": (-100, 600)},
    "synthetic": True,
}

RECORDS = [
    record_of(
        eps=(0.2, 0.5, 1.0, 2.0, 9.0, None)[place % 6],
        v=None if place % 17 == 0 else (place * 7919) % 1009,
        x=(NAN, None, 0.0, -0.0, 2.5, float(place), -place / 8)[place % 7],
        job=("clerk", "chef", "nurse", "Clerk", None, "")[place * place % 6],
        day=datetime(2024, 1, 1) + timedelta(days=place % 400, seconds=place),
    )
    for place in range(600)
]
"""Records of a plain table, with some NULL and NaN."""

OTHERS = RECORDS[:60]
EXTREMES = (
    record_of(eps=1.0, v=150, x=150.0, job="clerk", day=DAYS[0]),
    record_of(eps=1.0, v=5, x=5.0, job="spy", day=DAYS[0]),
    record_of(
        eps=INFINITY,
        v=2**63 - 1,
        x=INFINITY,
        job="\U0010ffff",
        day=datetime(9999, 12, 31, 23, 59, 59, 999999),
    ),
    record_of(eps=-INFINITY, v=-(2**63), x=-INFINITY, job="", day=datetime(1, 1, 1)),
    record_of(eps=-0.0, v=0, x=-0.0, job="!"),
    record_of(eps=NAN, v=-1, x=NAN, job="clerk", day=DAYS[2]),
    record_of(eps=1e300, v=2**53 + 1, x=1.7976931348623157e308, job="a" * 5000),
    record_of(eps=5e-324, v=1, x=5e-324, job="\\"),
    record_of(),
)
"""Records that move the ends of every column, or have nothing."""


class EqualityContract(Brevity):
    """Tests that an engine answers what DuckDB answers, and that no record changes what others count for."""

    def engine(self, records: Sequence[Record]) -> Engine:
        """Open a table: ``eps`` and ``x`` (double), ``v`` (64-bit), ``job`` (text), ``day`` (timestamp)."""
        raise NotImplementedError

    def opened(self, **options: Any) -> tuple[Table, Table]:
        """Open the same records with the engine and with DuckDB."""
        own, duck = (open_table(engine=one, **_GIVEN, **options) for one in (self.engine(RECORDS), _duckdb()))
        return own, duck

    def test_seeded_answers_are_duckdb_s(self) -> None:
        """Ask for every kind of answer, with the same noise."""
        own, duck = self.opened()
        asked: list[Query] = [Count(), Mean("v"), Sum("v"), Quantile("v", "1/2"), Variance("v"), Max("v")]
        asked += [Quantile("v", "9/10"), CountDistinct("v"), CountDistinct("job")]
        for query in (*self.some(asked, 2), Sum("v * 2 - x", round_to="1/8")):
            _same(own, duck, query)
        _same(own.filter("NOT (x > 2) OR job = ''"), duck.filter("NOT (x > 2) OR job = ''"), Mean("v"))

    def test_seeded_answers_for_groups_are_duckdb_s(self) -> None:
        """Ask by texts, whole numbers, bins and months, alone and together."""
        own, duck = self.opened()
        months = [datetime(2024, 1 + place, 1) for place in range(6)]
        pairs = [(month, job) for month in months for job in ("chef", "Clerk")]
        for by, keys in (
            (["job"], ["clerk", "chef", "", "nobody"]),
            (["v"], list(range(-2, 30))),
            ([bins("v", [0, 100, 500, 1000])], None),
            ([date_trunc("month", "day"), "job"], pairs),
        ):
            asked: list[Query] = [Count(), Sum("v"), Quantile("v", "1/2"), CountDistinct("v"), Max("v")]
            for query in self.some(asked, 3):
                _same(own.group_by(*by, keys=keys), duck.group_by(*by, keys=keys), query)

    def test_seeded_answers_about_units_are_duckdb_s(self) -> None:
        """Let a record be all rows of a job, in groups and in all."""
        own, duck = self.opened(privacy_unit="job")
        asked: list[Query] = [Count(), Sum("v"), Mean("v"), Max("v")]
        for query in self.some(asked, 2):
            _same(own, duck, query)
        for query in (Count(), Sum("v")):
            edges = bins("v", [0, 100, 500, 1000])
            _same(own.group_by(edges), duck.group_by(edges), query)

    def test_seeded_keys_are_duckdb_s(self) -> None:
        """Look for texts, whole numbers and months that nobody listed, of records and of units."""
        for privacy_unit, columns, search in (
            (None, "job", KeySearch(pattern="[A-Za-z]{4,5}")),
            (None, "v", KeySearch(between=(0, 1000))),
            ("v", "job", KeySearch(among=["clerk", "chef", "nurse", "nobody"])),
        ):
            drawn = []
            for engine in (self.engine(RECORDS), _duckdb()):
                table = open_table(engine=cast(Engine, _InOrder(engine)), **_GIVEN, privacy_unit=privacy_unit)
                plan = table.plan_keys(columns, search, share=1)
                drawn.append(plan.draw(reader_of(table), Seeded(_SEED), 2))
            assert drawn[0] == drawn[1], (privacy_unit, columns)

    def test_ten_thousand_groups_have_their_records(self) -> None:
        """Group by texts and by whole numbers, each of which occurs in one or two records."""
        places = [place for place in range(_GROUPS) for _ in range(1 + place % 2)]
        engine = self.engine([record_of(eps=1.0, v=place, job=f"job {place}") for place in places])
        policy = _PERSONAL.within(engine.schema, {})
        for by, keys in (("job", [f"job {place}" for place in range(_GROUPS)]), ("v", list(range(_GROUPS)))):
            groups = read_grouping([by], keys, engine.schema)
            measure = Measure("v", Fraction(1), 0, 2**40)
            found = engine.summarise(CellRead(policy, policy.levels, {}, measure, None, groups))
            assert [summary.records for summary in found] == [1 + place % 2 for place in range(_GROUPS)]
            totals = [sum(cell.total for cell in summary.cells) for summary in found]
            assert totals == [place * (1 + place % 2) for place in range(_GROUPS)]

    def test_one_extreme_record_changes_nothing_about_the_others(self) -> None:
        """Add a record at the ends of every column: cells are those of all records, one by one."""
        for extreme in self.some(EXTREMES, 3):
            records = [*OTHERS, extreme]
            engine = self.engine(records)
            _hold_cells(engine, records)
            _hold_keys(engine, records)
            _hold_units(engine, records)


def _duckdb() -> Engine:
    return open_source(pyarrow.Table.from_pylist([dict(one) for one in RECORDS], schema=_SCHEMA), None)


class _InOrder:
    """An engine whose keys come in their order: which noise a key gets depends on its place."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def key_masses(self, reading: KeyMassRead) -> KeyMasses:
        found = self._engine.key_masses(reading)
        order = sorted(range(len(found.mass)), key=found.key)
        return KeyMasses(found.levels, tuple(column[order] for column in found.columns), found.mass[order])


def _same(own: Any, duck: Any, query: Query) -> None:
    found, expected = (simulate(table, query, share="1/2", runs=2, seed=_SEED) for table in (own, duck))
    assert found == expected, query


_QUESTIONS: Sequence[tuple[str, str | None, str, GroupKey | str | None]] = (
    ("CASE WHEN x < 100 THEN 0.5 ELSE 2 END", None, "x", "job"),
    ("greatest(x, 10) / 10", "NOT (x < 100)", "v", None),
    (
        "100 / greatest(abs(v), 10)",
        "x IS NULL OR NOT (v BETWEEN 0 AND 10)",
        "v",
        bins("x", [-100, 0, 5, 200]),
    ),
    (
        "eps",
        "day + INTERVAL '1 month' > DATE '2024-03-01' OR length(job) > 9",
        "v",
        date_trunc("month", "day"),
    ),
    ("eps", None, "x", "v"),
)
_KEYS = {
    "v": [-1, 0, 1, 2],
    "job": ["clerk", "", "spy"],
    "day": [datetime(2024, 1, 1), datetime(1, 1, 1)],
    "x": None,
}


def _hold_cells(engine: Engine, records: Sequence[Record]) -> None:
    for policy, where, measure, by in _QUESTIONS:
        checked = Policy(policy, at_least="1/10", at_most="10").within(engine.schema, {})
        keys = None if by is None else _KEYS[by if isinstance(by, str) else by.column]
        reading = CellRead(
            checked,
            checked.levels,
            {},
            Measure(measure, Fraction(1), -(2**40), 2**40),
            None if where is None else check(parse(where), engine.schema, Kind.BOOLEAN, where),
            None if by is None else read_grouping([by], keys, engine.schema),
        )
        expected = [reference_summary(group, reading).cells for group in in_groups(records, reading.groups)]
        assert [summary.cells for summary in engine.summarise(reading)] == expected, (policy, where, by)


def _hold_keys(engine: Engine, records: Sequence[Record]) -> None:
    policy = _PERSONAL.within(engine.schema, {})
    for column in ("x", "job"):
        reading = KeyRead(policy, policy.levels, column, None, None)
        plain = CellRead(policy, policy.levels, {}, None, None)
        assert list(engine.key_totals(reading)) == [reference_keys(records, plain, column)], column


def _hold_units(engine: Engine, records: Sequence[Record]) -> None:
    policy = _PERSONAL.within(engine.schema, {})
    measure = Measure("v", Fraction(1), -(2**40), 2**40)
    reading = UnitRead(policy, policy.levels, PrivacyUnit("job"), measure, "sum", None, None)
    assert engine.fold_units(reading) == reference_units(records, reading)
