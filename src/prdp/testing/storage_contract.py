"""The contract of storages, as tests: the same rows give the same cells, record by record.

A storage keeps facts about all of its rows together (statistics, dictionaries, sorted runs, indices), and an
engine that reads by them may treat a record otherwise because of another one. Subclass ``StorageContract``,
say in which ways your engine's rows can be kept, and each is held to the plain Python reference: on tables
full of odd values, with and without one extreme record more, and on random tables.

Needs hypothesis, as well as pytest (``pip install prdp[testing] hypothesis``).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prdp.cells.measure import Measure
from prdp.declare.columns import read_column
from prdp.declare.groups import bins, read_grouping
from prdp.engines.engine import Engine
from prdp.expressions.check import check
from prdp.expressions.parse import parse
from prdp.plan.reads import CellRead, KeyRead
from prdp.policy import Policy
from prdp.schema import Kind
from prdp.testing.engine_records import Brevity
from prdp.testing.reference import in_groups, reference_keys, reference_summary

Record = Mapping[str, Any]
Storage = Callable[[Sequence[Record], Path], Engine]
"""Keeps records, in a folder if it needs one, and opens them."""

NAN, INFINITY = float("nan"), float("inf")
LONG = "prefix" * 11

COLUMNS = {
    "x": "DOUBLE",
    "f": "FLOAT",
    "v": "BIGINT",
    "d": "DECIMAL(18,2)",
    "job": "VARCHAR",
    "day": "TIMESTAMP",
    "ok": "BOOLEAN",
}
"""The columns of every table, by SQL type; any may be NULL."""

POLICIES = (
    "1",
    "CASE WHEN x < 10 THEN 0.5 ELSE 2 END",
    "greatest(x, 10) / 10",
    "least(x, 10) / 10",
    "CASE WHEN f IS NULL THEN 4 ELSE 1 END",
    "100 / greatest(abs(v), 10)",
)
FILTERS = (
    "x < 100",
    "NOT (x < 100)",
    "x > 100 OR f > 100",
    "x NOT IN (5, 7)",
    "x IS NULL",
    "x <= f",
    "NOT (f < 100)",
    "NOT (v BETWEEN 0 AND 10)",
    "NOT (d > 1)",
    f"NOT (job > '{LONG}')",
    "job IN ('clerk', 'spy')",
    "NOT (day < DATE '2025-06-01')",
    "NOT ok",
)

COMPUTED = ("x + f", "greatest(x, f)", "CASE WHEN x < 100 THEN 1 ELSE v END")


def row(**given: Any) -> dict[str, Any]:
    """Return a record: plain values where none are given."""
    plain = {"x": 5.0, "f": 5.0, "v": 5, "d": Decimal("5.00"), "job": "clerk", "ok": True}
    return plain | {"day": datetime(2025, 3, 1)} | given


NOTHING = dict.fromkeys(COLUMNS)

TABLES: Mapping[str, Sequence[Record]] = {
    "numbers and NaN": [
        *(row(x=1 + k / 5, f=float(1 + k // 5), v=k, job=f"job{k}") for k in range(40)),
        *(row(x=NAN, f=NAN) for _ in range(60)),
    ],
    "NaN alone": [row(x=NAN, f=NAN) for _ in range(50)],
    "NULL alone": [NOTHING for _ in range(50)],
    "one value": [row() for _ in range(50)],
    "both zeros": [row(x=zero, f=zero, v=0, d=Decimal(0)) for zero in (0.0, -0.0) for _ in range(20)],
    "long texts": [row(job=LONG + end) for end in ("", "a", "z", "\U0010ffff", "\x7f") for _ in range(10)],
    "in order": [row(x=float(k), f=float(k), v=k, day=datetime(2025, 1 + k % 12, 1)) for k in range(60)],
}
EXTREMES: Sequence[Record] = (
    row(x=150.0, f=150.0, v=150),
    row(x=INFINITY, f=INFINITY, v=2**63 - 1, d=Decimal("9999999999999999.99"), job="\U0010ffff" * 30),
    row(x=-INFINITY, f=-INFINITY, v=-(2**63), d=Decimal("-9999999999999999.99"), job="!"),
    row(x=NAN, f=NAN),
    row(x=-0.0, f=-0.0, v=0, d=Decimal(0), ok=False),
    row(x=5e-324, f=1.401298464324817e-45, day=datetime(1, 1, 1)),
    row(x=1e308, f=3.4028234663852886e38, day=datetime(9999, 12, 31)),
    NOTHING,
)


@dataclass(frozen=True)
class StorageCase:
    """One thing to find out of a table: cells by a policy, for the records that a filter keeps."""

    policy: str = "1"
    where: str | None = None
    column: str | None = None
    binned: str | None = None
    keys: bool = False

    def found(self, engine: Engine) -> object:
        """Return the engine's result."""
        reading = self._reading(engine)
        if self.keys and self.column:
            return engine.key_totals(
                KeyRead(reading.policy, reading.levels, self.column, reading.where, reading.groups)
            )
        return [summary.cells for summary in engine.summarise(reading)]

    def expected(self, engine: Engine, records: Sequence[Record]) -> object:
        """Return the expected result, record by record."""
        reading = self._reading(engine)
        groups = in_groups(records, reading.groups)
        if self.keys and self.column:
            return tuple(reference_keys(group, reading, self.column) for group in groups)
        return [reference_summary(group, reading).cells for group in groups]

    def _reading(self, engine: Engine) -> CellRead:
        schema = engine.schema
        policy = Policy(self.policy, at_least="1/10", at_most="10").within(schema, {})
        where = check(parse(self.where), schema, Kind.BOOLEAN, self.where) if self.where else None
        groups = (
            read_grouping([bins(self.binned, [-100, 0, 5, 100, 200])], None, schema) if self.binned else None
        )
        read = None if self.column is None or self.keys else read_column(self.column, schema, "sum")
        ends = Fraction(1), -100, 1000
        measure = None if read is None else Measure(read.name, *ends, expression=read.expression)
        return CellRead(policy, policy.levels, {}, measure, where, groups)


CASES = (
    *(StorageCase(policy=policy) for policy in POLICIES),
    *(StorageCase(where=where) for where in FILTERS),
    *(StorageCase(column=column) for column in ("x", "f", "d", *COMPUTED)),
    *(StorageCase(binned=column) for column in ("x", "v", "greatest(x, f)")),
    *(StorageCase(column=column, keys=True) for column in ("x", "job")),
)


class StorageContract(Brevity):
    """Tests that a record counts for the same in every storage, whatever the others are.

    Attributes:
        examples: The number of random tables.
    """

    examples: int = 12

    def storages(self) -> Mapping[str, Storage]:
        """Return the ways to keep records, by name; each keeps the columns of ``COLUMNS``."""
        raise NotImplementedError

    @contextmanager
    def opened(self, records: Sequence[Record]) -> Iterator[Mapping[str, Engine]]:
        """Keep the same records in every storage."""
        with TemporaryDirectory() as folder:
            engines = {}
            for number, (name, keep) in enumerate(self.storages().items()):
                place = Path(folder) / str(number)
                place.mkdir()
                engines[name] = keep(records, place)
            yield engines

    def hold(self, records: Sequence[Record], cases: Sequence[StorageCase]) -> None:
        """Hold every storage of some records to the reference."""
        with self.opened(records) as engines:
            for case in cases:
                expected = case.expected(next(iter(engines.values())), records)
                for name, engine in engines.items():
                    assert case.found(engine) == expected, (name, case)

    def test_odd_tables_give_the_same_cells_in_every_storage(self) -> None:
        """Keep tables whose statistics say little or nothing of some of their rows."""
        for number, records in enumerate(self.some(tuple(TABLES.values()), 3)):
            self.hold(records, self.part(CASES, number, 3))

    def test_one_extreme_record_changes_nothing_about_the_others(self) -> None:
        """Add the records that widen a file's statistics most."""
        for records in (TABLES["numbers and NaN"], TABLES["NaN alone"]):
            for number, extreme in enumerate(self.some(EXTREMES, 3)):
                self.hold([*records, extreme], self.part(_TELLING, number, 2))

    def test_random_tables_give_the_same_cells_in_every_storage(self) -> None:
        """Let hypothesis look for a table and a question that some storage answers wrong."""

        @settings(
            max_examples=len(self.some(range(self.examples), 6)),
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        )
        @given(st.lists(_RECORDS, min_size=1, max_size=12), st.lists(_CASES, min_size=4, max_size=4))
        def hold(records: list[Record], cases: list[StorageCase]) -> None:
            self.hold(records, cases)

        hold()


_TELLING = (
    StorageCase(where="x < 100"),
    StorageCase(where="NOT (x < 100)"),
    StorageCase(where="x IS NULL"),
    StorageCase(where="NOT (v BETWEEN 0 AND 10)"),
    StorageCase(policy="greatest(x, 10) / 10"),
    StorageCase(column="x"),
    StorageCase(column="CASE WHEN x < 100 THEN 1 ELSE v END"),
    StorageCase(binned="x"),
)
"""The cases that a storage's statistics have been seen to change."""


def _single(number: float) -> float:
    """Return the nearest number that a FLOAT column can hold."""
    return float(struct.unpack("f", struct.pack("f", number))[0])


_NUMBERS = st.one_of(
    st.none(),
    st.sampled_from([NAN, NAN, INFINITY, -INFINITY, 0.0, -0.0, 5.0, 7.0, 9.0, 10.0, 100.0, 150.0, 5e-324]),
    st.floats(width=32),
)
_RECORDS: st.SearchStrategy[Record] = st.fixed_dictionaries(
    {
        "x": _NUMBERS,
        "f": _NUMBERS.map(lambda number: None if number is None else _single(number)),
        "v": st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(-20, 200)),
        "d": st.one_of(st.none(), st.decimals(-(10**12), 10**12, places=2)),
        "job": st.one_of(
            st.none(),
            st.sampled_from(["clerk", "spy", LONG, LONG + "\U0010ffff"]),
            st.text(st.characters(min_codepoint=48, exclude_categories=["C", "Z"]), min_size=1, max_size=9),
        ),
        "day": st.one_of(st.none(), st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31))),
        "ok": st.one_of(st.none(), st.booleans()),
    }
)
_CASES = st.one_of(
    st.builds(StorageCase, policy=st.sampled_from(POLICIES), where=st.sampled_from(FILTERS)),
    st.builds(StorageCase, where=st.sampled_from(FILTERS), column=st.sampled_from(["x", "f", "v", "d"])),
    st.builds(StorageCase, where=st.sampled_from(FILTERS), binned=st.sampled_from(["x", "f", "v"])),
    st.builds(
        StorageCase,
        where=st.sampled_from(FILTERS),
        column=st.sampled_from(["x", "v", "job", "day"]),
        keys=st.just(value=True),
    ),
)
