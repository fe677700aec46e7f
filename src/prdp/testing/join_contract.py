"""The contract of engines that read several tables, as tests: subclass ``JoinContract``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from prdp.cells.measure import Measure
from prdp.cells.units import Fold
from prdp.declare.columns import derived_rounding, read_column
from prdp.declare.groups import Binned, GroupKey, bins, read_grouping
from prdp.declare.references import Tree
from prdp.declare.units import JoinedTables, PrivacyUnit
from prdp.engines.engine import JoinEngine
from prdp.expressions.check import check
from prdp.expressions.parse import parse
from prdp.plan.divided import DividedRead, DividedRowRead, divided_levels
from prdp.plan.reads import CellRead, KeyRead, RowRead, UnitRead
from prdp.policy import Policy
from prdp.schema import Kind, Schema
from prdp.testing.engine_records import Brevity
from prdp.testing.reference import Record, reference_scaled, reference_units, rising_caps
from prdp.testing.reference_divided import reference_divided, reference_divided_rows

NAN, INFINITY = float("nan"), float("inf")
_ONE, _EIGHTH = Fraction(1), Fraction(1, 8)

COLUMNS: Mapping[str, Mapping[str, str]] = {
    "people": {"name": "VARCHAR", "eps": "DOUBLE", "town": "VARCHAR", "age": "BIGINT", "x": "DOUBLE"},
    "orders": {"number": "BIGINT", "buyer": "VARCHAR", "shop": "VARCHAR", "kind": "VARCHAR"},
    "items": {"of": "BIGINT", "price": "BIGINT", "weight": "DOUBLE"},
    "towns": {"town_code": "VARCHAR", "country": "VARCHAR"},
    "shops": {"code": "VARCHAR", "street": "VARCHAR"},
}
"""The tables of the contract, by the SQL types of their columns; any may be NULL."""

REFERENCES = {
    "orders.buyer": "people.name",
    "items.of": "orders.number",
    "people.town": "towns.town_code",
    "orders.shop": "shops.code",
}

PUBLIC = ("towns", "shops")

POLICY = Policy.column("eps", at_least="1/10", at_most="10")

Tables = Mapping[str, Sequence[Record]]


def rows(table: str, *values: Sequence[Any]) -> list[Record]:
    """Return rows of a table, values in the order of its columns."""
    return [dict(zip(COLUMNS[table], row, strict=True)) for row in values]


TOWNS = rows("towns", ("u", "de"), ("b", "de"), ("B", "fr"), ("p", "fr"), (None, "nowhere"))
SHOPS = rows("shops", ("1", "high street"), ("2", "low street"), ("ä", "High Street"))

DATABASE: Tables = {
    "people": rows(
        "people",
        ("ann", 0.2, "u", 30, 1.5),
        ("ANN", 9.9, "b", 31, 2.5),
        ("Ann", 1.0, "B", 32, -0.0),
        ("twice", 1.0, "u", 40, 3.0),
        ("twice", 0.4, "u", 40, 3.0),
        ("moved", 2.0, "u", 50, NAN),
        ("moved", 3.0, "b", 50, NAN),
        ("half", 2.0, "p", 60, 1.0),
        ("half", 2.0, None, None, NAN),
        ("partly", 2.0, "p", 59, 1.0),
        ("partly", 2.0, "p", 59, NAN),
        ("ytrap", 2.0, "p", 58, NAN),
        ("ytrap", 2.0, "p", 58, 1.0),
        ("odd", 1.0, "p", 61, INFINITY),
        ("odd", None, "p", 61, INFINITY),
        ("nan", NAN, "p", 62, 0.0),
        ("low", 0.05, "p", 63, 0.0),
        ("zero", 0.0, "u", 64, 0.0),
        ("idle", 5.0, "u", 65, 0.0),
        ("nowhere", 1e300, "zz", 66, 5.0),
        ("", INFINITY, "p", -5, -2.5),
        (None, 5.0, "u", 67, 0.0),
        (None, 5.0, "b", 68, 0.0),
    ),
    "orders": rows(
        "orders",
        (1, "ann", "1", "new"),
        (2, "ann", "2", "old"),
        (3, "ANN", "1", "new"),
        (4, "Ann", "ä", None),
        (5, "twice", "1", "new"),
        (6, "twice", "2", "old"),
        (7, "moved", "1", "old"),
        (8, "half", None, "new"),
        (9, "odd", "1", "new"),
        (10, "nan", "1", "new"),
        (11, "low", "2", "new"),
        (12, "nowhere", "2", "old"),
        (13, "", "1", "new"),
        (14, "stranger", "1", "new"),
        (15, None, "1", "new"),
        (None, "ann", "9", "new"),
        (16, "ANN", "1", "old"),
        (16, "Ann", "1", "new"),  # an order number used twice belongs to both
        (17, "twice", "1", "new"),
        (17, "twice", "1", "new"),  # and a row that is there twice, is there twice
    ),
    "items": rows(
        "items",
        (1, 7, 0.5),
        (1, 7, 0.5),
        (1, None, 2.0),
        (2, 5000, -1.25),
        (3, -60, NAN),
        (3, 12, INFINITY),
        (4, 2**40, 0.125),
        (5, 100, 2.0),
        (6, 1, None),
        (7, 9, 4.0),
        (8, 3, 8.0),
        (9, 50, 1.0),
        (10, 60, 1.0),
        (11, 70, 1.0),
        (12, 2**63 - 1, 1e300),
        (13, -(2**63), -1e300),
        (14, 80, 1.0),
        (16, 33, 3.0),
        (17, 4, -0.0),
        (99, 90, 1.0),
        (None, 91, 1.0),
    ),
    "towns": TOWNS,
    "shops": SHOPS,
}
"""People whose keys are NULL, doubled, dangling or differ in capitals alone; invalid budgets among them."""

EXTREME: Tables = {
    "people": rows(
        "people", ("extreme", 1e-300, "u", 2**62, 1e308), ("extreme", INFINITY, "zzz", -(2**62), NAN)
    ),
    "orders": rows("orders", (2**62, "extreme", "2", "\U0010ffff"), (-(2**62), "extreme", "1", "!")),
    "items": rows("items", (2**62, 2**63 - 1, INFINITY), (-(2**62), -(2**63), -INFINITY)),
    "towns": [],
    "shops": [],
}
"""One unit more, who takes no part and widens every statistic."""


@dataclass(frozen=True)
class JoinCase:
    """One thing to find out of the results of a join."""

    over: tuple[str, ...] = ("orders",)
    of: str | None = None
    ends: tuple[int, int] = (-50, 6000)
    where: str | None = None
    by: tuple[str | GroupKey, ...] = ()
    keys: Sequence[object] | None = None
    fold: Fold = "sum"
    max_rows: int = 1000
    one_row: bool = False

    def reading(self, schemas: Mapping[str, Schema]) -> UnitRead:
        """Return the read that an engine is asked for."""
        tree = Tree.of(schemas, "people", "name", PUBLIC, REFERENCES)
        tables = list(dict.fromkeys(step for table in self.over for step in tree.path(table))) or ["people"]
        names = {column: (table, column) for table in tables for column in schemas[table]}
        schema = {name: schemas[table][column] for name, (table, column) in names.items()}
        joined_by = {table: tree.joined_by[table] for table in tables[1:]}
        join = JoinedTables("people", "name", tuple(tables), joined_by, names, tree.public & set(tables))
        groups = read_grouping(self.by, self.keys, schema) if self.by else None
        where = check(parse(self.where), schema, Kind.BOOLEAN, self.where) if self.where else None
        policy = POLICY.within(schemas["people"], {})
        columns = [key.column for key in groups.by] if groups is not None else []
        apart = groups is not None and all(column in names and join.owns(column) for column in columns)
        unit = PrivacyUnit("name", self.max_rows, join, self.one_row)
        measure = self._measure(schema)
        return UnitRead(policy, policy.levels, unit, measure, self.fold, where, groups, apart=apart)

    def _measure(self, schema: Schema) -> Measure | None:
        if self.of is None:
            return None
        read = read_column(self.of, schema, "sum")
        node = read.expression
        round_to = (
            derived_rounding(node, schema, {"weight": _EIGHTH, "x": _EIGHTH}) if node is not None else None
        )
        return Measure(read.name, round_to or _ONE, *self.ends, expression=node)


_KINDS = ("kind",), ["new", "old", "none"]
_COUNTRIES = ("country",), ["fr", "de", "nowhere"]
_WEIGHTS: tuple[Binned, ...] = (bins("price * 2", [-200, 0, 20, 200, 20_000]),)

ALONE = (
    JoinCase(over=()),
    JoinCase(over=(), of="age", ends=(0, 100)),
    JoinCase(over=(), of="x", ends=(-9, 9), where="age > 30"),
    JoinCase(over=("towns",), where="country = 'fr'"),
    JoinCase(),
    JoinCase(where="kind = 'new' OR kind IS NULL"),
    JoinCase(where="town = 'u'"),
    JoinCase(over=("shops",), where="street = 'high street'"),
    JoinCase(over=("items", "shops", "towns")),
    JoinCase(over=("items",), of="price"),
    JoinCase(over=("items",), of="price", ends=(5, 6000), max_rows=2),
    JoinCase(over=("items",), of="price", ends=(-9, -2)),
    JoinCase(over=("items",), of="price", fold="max", where="age < 60"),
    JoinCase(over=("items",), of="price", fold="min"),
    JoinCase(over=("items",), of="price * age - weight", where="weight < 4 OR weight IS NULL"),
    JoinCase(over=("items",), of="CASE WHEN kind = 'new' THEN price ELSE 3 END"),
)
"""Summaries of all results together."""

APART = (
    JoinCase(over=("towns",), by=_COUNTRIES[0], keys=_COUNTRIES[1]),
    JoinCase(over=("items", "towns"), of="price", by=_COUNTRIES[0], keys=_COUNTRIES[1], where="price > 0"),
    JoinCase(over=("items",), of="price", fold="max", by=("town",), keys=["u", "b", "B", "p"]),
    JoinCase(over=("orders",), by=(bins("age", [0, 31, 50, 99]),)),
)
"""By columns of units: each is in one group at most."""

SHARED = (
    JoinCase(by=_KINDS[0], keys=_KINDS[1]),
    JoinCase(over=("items",), of="price", by=_KINDS[0], keys=_KINDS[1]),
    JoinCase(
        over=("items", "towns"), of="price", by=("country", "kind"), keys=[("de", "new"), ("fr", "new")]
    ),
    JoinCase(over=("items",), of="price * 2 - 5", by=_WEIGHTS, where="age <> 32"),
    JoinCase(over=("items", "shops"), by=("street",), keys=["high street", "High Street"]),
)
"""By columns of rows: a unit may be in several groups."""


class JoinContract(Brevity):
    """Tests that an engine's units are those of the plain Python reference, odd databases included."""

    def engine(self, tables: Tables) -> JoinEngine:
        """Open the tables of ``COLUMNS`` with these rows."""
        raise NotImplementedError

    def hold(self, tables: Tables, cases: Sequence[JoinCase]) -> None:
        """Hold an engine to the reference."""
        engine = self.engine(tables)
        for case in cases:
            reading = case.reading(engine.schemas)
            found = engine.fold_units(reading)
            assert found == reference_units(tables, reading), case
            for parts in divided_join(reading):
                assert tuple(engine.divided(parts)) == reference_divided(tables, parts), parts
            if reading.measure is not None and reading.fold == "sum":
                groups = len(reading.groups.keys) if reading.groups is not None else 1
                around = replace(reading, centers=tuple(256 * center for center in (7, -50, 33, 0)[:groups]))
                assert engine.fold_units(around) == reference_units(tables, around), case
            if reading.groups is not None and not reading.apart:
                for caps in self.some(rising_caps(reading), 2):
                    for count_rows in {True, reading.measure is None}:
                        scaled = engine.scale_units(reading, caps, count_rows=count_rows)
                        assert scaled == reference_scaled(tables, reading, caps, count_rows=count_rows), case

    def test_results_are_folded_by_the_unit_that_they_belong_to(self) -> None:
        """Ask an odd database for counts, sums, extremes and computed columns, with filters."""
        self.hold(DATABASE, ALONE)

    def test_results_are_handed_out_with_parts_of_their_unit_s_budget(self) -> None:
        """Take the rows of joins for a mechanism of the caller's own, with filters and from a level on."""
        engine = self.engine(DATABASE)
        for case in (*ALONE, replace(ALONE[0], one_row=True)):
            reading = case.reading(engine.schemas)
            assert reading.unit.join is not None
            names = reading.unit.join.names.items()
            plain = tuple(name for name, (table, own) in names if COLUMNS[table][own] != "DOUBLE")
            asked = RowRead(reading.policy, divided_levels(reading.levels, 0, 8), plain, 3, reading.where)
            handed_out = DividedRowRead(asked, reading.unit, reading.levels)
            table, levels = engine.divided_rows(handed_out)
            found = Counter(map(repr, zip(table.to_pylist(), levels.to_pylist(), strict=True)))
            assert found == Counter(map(repr, reference_divided_rows(DATABASE, handed_out))), case

    def test_units_with_more_than_one_own_row_are_left_out_where_each_has_one(self) -> None:
        """Ask all of it of units with one row in the private table: a filter makes no unit one of them."""
        cases = [replace(case, one_row=True) for case in (*ALONE, *APART, *SHARED)]
        self.hold(DATABASE, self.some(cases, 6))

    def test_an_unit_is_in_one_group_of_units_at_most(self) -> None:
        """Group by columns of units, one of which has own rows in two groups."""
        self.hold(DATABASE, APART)

    def test_what_units_add_to_several_groups_is_scaled_down_together(self) -> None:
        """Group by columns of rows, and by computed ones."""
        self.hold(DATABASE, SHARED)

    def test_one_unit_more_changes_nothing_about_the_others(self) -> None:
        """Take each unit away with all its rows, and add one that widens every statistic."""
        cases = (*ALONE[4:6], ALONE[14], *APART[1:2], *SHARED[1:2])
        self.hold(added(DATABASE, EXTREME), cases)
        names = list(dict.fromkeys(row["name"] for row in DATABASE["people"]))
        for name in self.some(names, 6):
            self.hold(without(DATABASE, name), self.some(cases, 2))

    def test_nothing_depends_on_the_order_of_the_rows(self) -> None:
        """Turn every table round."""
        turned = {name: list(reversed(table)) for name, table in DATABASE.items()}
        self.hold(turned, self.some((*ALONE[9:12], *APART[:2], *SHARED[:2]), 2))

    def test_empty_tables_have_no_units(self) -> None:
        """Ask a database without people, and one of people alone."""
        nothing: dict[str, list[Record]] = {name: [] for name in COLUMNS}
        self.hold(nothing, self.some((*ALONE, *APART, *SHARED), 6))
        self.hold({**nothing, "people": DATABASE["people"]}, self.some((*ALONE, *APART), 6))

    def test_a_key_that_is_twice_in_a_public_table_is_found_byte_by_byte(self) -> None:
        """Look for keys that are NULL, differ in capitals, or are there twice."""
        assert not self.engine(DATABASE).has_twice("towns", "town_code")
        again = {**DATABASE, "towns": [*TOWNS, *TOWNS[:1]]}
        assert self.engine(again).has_twice("towns", "town_code")


def divided_join(reading: UnitRead) -> Iterator[DividedRead]:
    """Yield the reads that divide units' budgets among the rows, groups or keys that another one folds."""
    if reading.measure is None:
        return
    levels = divided_levels(reading.levels, 0, 8)
    cells = CellRead(reading.policy, levels, {}, reading.measure, reading.where, reading.groups)
    yield DividedRead(cells, reading.unit, reading.levels, "row")
    if reading.groups is not None:
        yield DividedRead(cells, reading.unit, reading.levels, "group", "max")
    if reading.measure.expression is None:
        keys = KeyRead(reading.policy, levels, reading.measure.column, reading.where, reading.groups)
        yield DividedRead(keys, reading.unit, reading.levels, "key")


def added(tables: Tables, more: Tables) -> Tables:
    """Return tables with the rows of others."""
    return {name: [*table, *more[name]] for name, table in tables.items()}


def without(tables: Tables, name: str | None) -> Tables:
    """Return tables without a unit, and without the orders and items that are nobody else's."""
    orders = [row for row in tables["orders"] if row["buyer"] != name or name is None]
    numbers = {row["number"] for row in tables["orders"]} - {row["number"] for row in orders}
    return {
        **tables,
        "people": [row for row in tables["people"] if row["name"] != name],
        "orders": orders,
        "items": [row for row in tables["items"] if row["of"] not in numbers],
    }
