"""Whatever a column's type: where regions of two questions have nothing in common, no row is in both."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import combinations
from typing import Any

import duckdb
import pytest

import prdp
from prdp.engines.row_sql.expressions import to_sql
from prdp.errors import InvalidRequest
from prdp.regions.query_region import filter_region, keys_region
from prdp.regions.region import Region
from prdp.tables.table import Table

MOMENTS = [
    *("1969-12-31 23:59:59.999999", "1970-01-01", "2026-03-29 01:30:00", "2026-03-29 02:30:00"),
    *(
        "1970-01-01 00:00:00.000001",
        "2026-12-31 23:59:59",
        "2026-12-31 23:59:59.000001",
        "2027-01-01",
        "1677-09-22",
        "2262-04-11",
    ),
]
BETWEEN = ["1969-12-31 23:59:59.999999999", "1970-01-01 00:00:00.000000001", "2026-12-31 23:59:59.000000001"]
FAR = ["'infinity'", "'-infinity'", "'294247-01-11'", "'290309-12-22 (BC)'", "'5877642-06-25 (BC)'"]
"""Some of these are no timestamps, and dates all the same."""

WHOLES = ["-128", "-1", "0", "1", "45", "46", "47", "127"]
LARGE = [*WHOLES, "9007199254740992", "9007199254740993", "9007199254740994", "9223372036854775807"]
NUMBERS = [*WHOLES, "0.1", "0.30000000000000004", "45.5", "-45.5", "0.001", "46.0001"]
DOUBLES = [*NUMBERS, "'nan'", "'inf'", "'-inf'", "-0.0::DOUBLE", "1e308", "5e-324"]
TEXTS = ["''", "'a'", "'A'", "'ä'", "'ss'", "'ß'", "'b'", "'a '", "chr(0)", "'a' || chr(0)", "'Z'", "'zz'"]

COLUMNS: dict[str, tuple[list[str], list[str]]] = {
    "TINYINT": (WHOLES, WHOLES),
    "BIGINT": (LARGE, LARGE),
    "UBIGINT": ([text for text in LARGE if not text.startswith("-")], [*LARGE, "18446744073709551615"]),
    "HUGEINT": ([*LARGE, "170141183460469231731687303715884105727"], [*LARGE, "1.7e38"]),
    "FLOAT": (DOUBLES[:-2], NUMBERS),
    "DOUBLE": (DOUBLES, [*NUMBERS, "1e308", "5e-324", "-1e308"]),
    "DECIMAL(9,3)": (NUMBERS, NUMBERS),
    "DECIMAL(38,10)": ([*NUMBERS, "9007199254740993.0000000001"], [*NUMBERS, "9007199254740993"]),
    "DATE": ([f"'{text[:10]}'" for text in MOMENTS] + FAR, MOMENTS),
    **{
        kind: ([f"'{text}'" for text in [*MOMENTS, *BETWEEN]] + FAR, MOMENTS)
        for kind in ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
    },
    "VARCHAR": (TEXTS, ["", "a", "A", "ä", "ß", "b", "a ", "Z", "m"]),
    "ENUM('zz', 'b', 'a', 'A')": (["'zz'", "'b'", "'a'", "'A'"], ["a", "A", "b", "zz", "m"]),
    "BOOLEAN": (["TRUE", "FALSE"], []),
}
"""For each type, values of rows, and constants that filters compare them with."""


def is_moment(native: str) -> bool:
    return native.startswith(("DATE", "TIMESTAMP"))


def filters(native: str) -> list[str]:
    """Return filters over the column c, exact ones and others, and what NOT makes of them."""
    constants = COLUMNS[native][1]
    if native == "BOOLEAN":
        plain = ["c", "c = TRUE", "c <> TRUE", "c = FALSE"]
    else:
        if native == "VARCHAR" or native.startswith("ENUM"):
            constants = [f"'{text}'" for text in constants]
        elif is_moment(native):
            constants = [f"TIMESTAMP '{text if ' ' in text else text + ' 00:00:00'}'" for text in constants]
        plain = [f"c {op} {limit}" for limit in constants for op in ("<", "<=", "=", "<>", ">", ">=")]
        plain += [f"c IN ({constants[0]}, {constants[-1]})", f"c BETWEEN {constants[1]} AND {constants[3]}"]
    return [*plain, *(f"NOT ({text})" for text in plain), "c IS NULL", "c IS NOT NULL"]


def opened(native: str, database: duckdb.DuckDBPyConnection) -> Table:
    """Open a table of one column of a type, with all of its values and NULL."""
    database.execute(f"CREATE TABLE held (c {native}, n BIGINT)")
    for place, value in enumerate([*COLUMNS[native][0], "NULL"]):
        database.execute(f"INSERT INTO held SELECT TRY_CAST({value} AS {native}), {place}")
    return prdp.open(database.table("held"), policy="1", immutable=["c"])


@pytest.fixture
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """Connect to a database whose session has a zone and a collation of its own."""
    with duckdb.connect() as found:
        found.execute("SET TimeZone = 'Asia/Tokyo'; SET default_collation = 'NOCASE.NOACCENT'")
        yield found


def rows_in_none_and_apart(answers: list[tuple[str, Region, frozenset[int]]]) -> int:
    """Hold that no row is in two answers with regions apart; return how many pairs were apart."""
    apart = 0
    for (one, region, rows), (two, other, others) in combinations(answers, 2):
        if not region.meets(other):
            apart += 1
            assert not rows & others, (one, two)
    for text, region, rows in answers:
        assert region.boxes or not rows, text
    return apart


@pytest.mark.parametrize("native", COLUMNS)
def test_filters_with_regions_apart_let_no_row_through_both(
    native: str, database: duckdb.DuckDBPyConnection
) -> None:
    answers = list(filter_answers(opened(native, database), native, database))
    assert rows_in_none_and_apart(answers) > 5
    assert any(rows for _, _, rows in answers)


def filter_answers(
    table: Table, native: str, database: duckdb.DuckDBPyConnection
) -> Iterator[tuple[str, Region, frozenset[int]]]:
    for text in filters(native):
        node = table.filter(text).condition
        assert node is not None
        found = database.sql(f"SELECT n FROM held WHERE {to_sql(node, table.schema)}").fetchall()
        yield text, filter_region(node, table.schema, ["c"]), frozenset(row for (row,) in found)


def listed(native: str) -> Iterator[tuple[Any, list[Any] | None]]:
    """Yield what a column is grouped by, with keys."""
    constants = COLUMNS[native][1]
    whole, keys = native.endswith("INT"), list[Any](constants)
    if is_moment(native):
        keys = [datetime.fromisoformat(text) for text in constants]
        yield from ((prdp.date_trunc("year", "c"), [datetime(year, 1, 1)]) for year in (1969, 1970, 2026))
    elif native == "BOOLEAN":
        keys = [True, False]
    elif constants is not COLUMNS["VARCHAR"][1] and not native.startswith("ENUM"):
        keys = [int(text) if whole else float(text) for text in constants if whole == ("." not in text)]
        for edges in ([-46, 0, 45], [0, 0.1, 46], [9007199254740992, 9007199254740993]):
            yield prdp.bins("c", list[Any](edges)), None
    yield from (("c", [key]) for key in keys)


@pytest.mark.parametrize("native", COLUMNS)
def test_keys_and_filters_with_regions_apart_have_no_row_in_common(
    native: str, database: duckdb.DuckDBPyConnection
) -> None:
    table = opened(native, database)
    answers = list(filter_answers(table, native, database))
    rows = range(len(COLUMNS[native][0]) + 1)
    for by, keys in listed(native):
        try:
            grouping = table.group_by(by, keys=keys).grouping
        except InvalidRequest:  # no such value fits the column's type
            continue
        region = keys_region(grouping, table.schema, ["c"])
        each = [(*key, row) for key in grouping.keys for row in rows] if keys else list(rows)
        counted = table.group_by(by, "n", keys=each)  # bins are their own keys
        cells = counted.plan(prdp.count(), share=1).queries[0].read.find(table._reader)
        both = zip(counted.grouping.keys, cells, strict=True)
        inside: set[Any] = {key[-1] for key, group in both if group.cells}
        answers.append((f"{by} {keys}", region, frozenset(inside)))
    assert rows_in_none_and_apart(answers) > 5
    assert any(rows for text, _, rows in answers if " in " not in text)
