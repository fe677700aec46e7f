"""What any engine's values are asked for, whatever its types are: counts by key, sums, and arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

from prdp.cells.measure import Measure
from prdp.declare.groups import read_grouping
from prdp.declare.units import PrivacyUnit
from prdp.engines.row_sql.expressions import to_sql
from prdp.engines.sql_engine import SqlEngine
from prdp.expressions.check import check
from prdp.expressions.evaluate import evaluate
from prdp.expressions.parse import parse
from prdp.plan.reads import CellRead, KeyMassRead, UnitRead
from prdp.policy import Policy
from prdp.schema import Kind

ONE = Policy("1", at_least="1/10", at_most="10")


def counts(engine: SqlEngine, by: str, keys: list[object], where: str | None = None) -> list[int]:
    """Return how many records have each key."""
    policy = ONE.within(engine.schema, {})
    condition = None if where is None else check(parse(where), engine.schema, Kind.BOOLEAN, where)
    grouping = read_grouping([by], keys, engine.schema)
    read = CellRead(policy, policy.levels, {}, None, condition, grouping)
    return [sum(cell.count for cell in summary.cells) for summary in engine.summarise(read)]


def total(engine: SqlEngine, column: str, round_to: Fraction, most: int) -> int:
    """Return the sum of a column in rounding steps."""
    policy = ONE.within(engine.schema, {})
    read = CellRead(policy, policy.levels, {}, Measure(column, round_to, -most, most), None, None)
    (found,) = engine.summarise(read)
    return sum(cell.total for cell in found.cells)


def tells_clerks_apart(engine: SqlEngine) -> None:
    """Hold an engine to the bytes of texts: clerk, Clerk, CLERK, clérk in two forms, and one with a blank."""
    keys: list[object] = ["clerk", "Clerk", "clérk", "cle\u0301rk", "clerk "]
    assert counts(engine, "job", keys) == [1, 1, 1, 1, 0]
    assert counts(engine, "job", keys, "job = 'clerk'") == [1, 0, 0, 0, 0]
    assert counts(engine, "job", keys, "job > 'D'") == [1, 0, 1, 1, 0]
    assert counts(engine, "upper(job)", ["CLERK", "CLÉRK"]) == [3, 1]


def read_in_every_way(engine: SqlEngine, column: str, key: object) -> None:
    """Read a column's values as keys that are searched for, and as owners: none may fail."""
    policy = ONE.within(engine.schema, {})
    by = read_grouping([column], [key], engine.schema).by
    engine.key_masses(KeyMassRead(policy, policy.levels, by, None, None))
    engine.fold_units(UnitRead(policy, policy.levels, PrivacyUnit(column), None, "sum", None, None))


NUMBERS = [
    0.0,
    1.0,
    -1.0,
    0.5,
    1.5,
    5e-324,
    -5e-324,
    1e-308,
    2.0**-537,
    2.0**-538,
    1e-160,
    1e160,
    2.0**511,
    2.0**512,
]
NUMBERS += [
    -(2.0**512),
    1.3e154,
    1.35e154,
    1e308,
    1.7976931348623157e308,
    -1.7976931348623157e308,
    709.8,
    -746.0,
    3.0,
]
NUMBERS += [math.inf, -math.inf, math.nan, 1e20, 0.1]
EXPRESSIONS = (
    *("x * y", "x / y", "x + y", "x - y", "x * x", "x * 1e200", "x * 1e-200", "x / 1e-200", "x / 1e200"),
    *("1e300 / x", "1e-300 / x", "-1e300 / x", "x * -3", "exp(x)", "power(x, y)", "power(x, 3)", "x % y"),
    *(
        "power(x, -2)",
        "ln(x)",
        "log2(x)",
        "log10(x)",
        "sqrt(x)",
        "abs(x) * (y + 1e308)",
        "(x * y) * (x * y) / x",
    ),
    *("x * y * x * y * x * y * x * y * x * y", "round(x * y, -3)"),
)


LIBRARY = {text for text in EXPRESSIONS if text.startswith(("exp", "power", "ln", "log"))}


PAIRS = [(x, y) for x in NUMBERS for y in NUMBERS]
"""In the order of their places."""


def holds_arithmetic(engine: SqlEngine) -> None:
    """Hold an engine of PAIRS (place, x, y) to the reference, at the doubles' ends."""
    nodes = {text: check(parse(text), engine.schema, Kind.NUMBER, text) for text in EXPRESSIONS}
    items = [f"{to_sql(node, engine.schema)} AS v{n}" for n, node in enumerate(nodes.values())]
    found = engine.rows_of(f'SELECT "place", {", ".join(items)} FROM {engine.records}')
    assert sorted(row[0] for row in found) == list(range(len(PAIRS)))
    for place, *values in found:
        x, y = PAIRS[place]
        for (text, node), value in zip(nodes.items(), values, strict=True):
            expected = evaluate(node, {"x": x, "y": y})
            assert _same(value, expected, exact=text not in LIBRARY), (
                f"{text} of {x}, {y}: {value}, {expected}"
            )


RECORDS = [
    (2.0, -3.0, "Ab"),
    (math.nan, 1.0, None),
    (-2.0, 1e-300, "é  "),
    (0.0, 0.0, ""),
    (1.0, 7.0, "zzq"),
]
"""Numbers x and y, and a text, for expressions that are long."""


def holds_long_operands(engine: SqlEngine) -> None:
    """Hold an engine of RECORDS (place, x, y, job) to the reference, in expressions of expressions."""
    number, text = "x", "job"
    for turn in range(9):
        number = f"(({number}) * y - sqrt(abs({'x' if turn % 2 else 'y'})) / (x - {turn}))"
        text = f"substring(upper({text} || 'q'), x, 3)" if turn % 3 == 2 else f"trim(lower({text}), 'q')"
    chosen = (
        f"CASE WHEN {number} > 1 AND {number} < 1e9 THEN {text} WHEN {number} > -9 THEN 'low' ELSE job END"
    )
    for expression, kind in ((number, Kind.NUMBER), (text, Kind.TEXT), (chosen, Kind.TEXT)):
        node = check(parse(expression), engine.schema, kind, expression)
        sql = to_sql(node, engine.schema)
        assert kind is Kind.NUMBER or "list_transform" in sql or "][CAST(" in sql
        rows = engine.rows_of(f'SELECT "place", {sql} AS value FROM {engine.records}')
        found = {place: value.decode() if isinstance(value, bytes) else value for place, value in rows}
        expected = [evaluate(node, {"x": x, "y": y, "job": job}) for x, y, job in RECORDS]
        assert [found[place] for place in range(len(RECORDS))] == expected, expression


def _same(value: float | None, expected: object, *, exact: bool) -> bool:
    """Return whether a number is the expected one; of library functions, nearly; tiny ones may be 0."""
    if value is None or expected is None or exact:
        return value == expected
    assert isinstance(expected, float)
    largest = abs(expected) > 1.79e308 and value == math.copysign(math.inf, expected)
    return math.isclose(value, expected, rel_tol=1e-14, abs_tol=2.3e-308) or largest
