"""The contract of the row language: what an engine computes of a record is what plain Python computes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from fractions import Fraction
from itertools import zip_longest

from prdp.cells.measure import Measure
from prdp.declare.columns import column_of, read_column
from prdp.declare.groups import read_grouping
from prdp.engines.engine import Engine
from prdp.expressions.tokens import is_writable
from prdp.plan.reads import CellRead
from prdp.policy import Policy
from prdp.testing.brevity import Brevity
from prdp.testing.engine_records import INFINITY, NAN, record_of
from prdp.testing.reference import Record, in_groups, reference_summary

_TEXTS = [
    *("", "a", "A", "abc", "  a ", "\u00a0x\u3000", "\ta\n", "é", "e\u0301", "ß", "ẞ", "İ", "ı", "ΟΔΟΣ", "ς"),
    *("ǅ", "ﬁ", "\U0001f600b", "a\0b", "%", "100%", "a_c", "a\\c", "a\nc", "it's", "Team Manager", "\u212a"),
    *("5", " -0 ", "+.5e3", "1e400", "1_000", "inf", "0x10", "5.", "٣", "2.5", "2147483648", "true"),
    *("2020-02-29", "2021-02-29", "2020-01-31T10:00", " 2020-01-31 10:00:00.5 ", "0000-01-01", "0001-01-01"),
    *("9999-12-31 23:59:59.999999", "10000-01-01", "2020-01-31 24:00", "infinity"),
]
_NUMBERS = [
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, 2.0**52 - 0.5, 2.0**53, 2.0**63),
    *(-(2.0**63), 2.0**31 - 0.5, 2.0**31, -(2.0**31) - 0.5, 1e16, 1e300, 5e-324, INFINITY, -INFINITY, NAN),
    *(1.005, 1.45, -7.25, 0.1, 3.0, -3.0, 1250.0, 1.7976931348623157e308),
]
_MOMENTS = [
    *(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), datetime(2020, 2, 29, 12)),
    *(datetime(2020, 1, 31), datetime(1970, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999)),
    *(datetime(2021, 1, 3, 10, 11, 12, 500000), datetime(2024, 12, 30), datetime(1900, 3, 1)),
]


def _records() -> list[Record]:
    """Return records that a sum of ``v`` tells apart: each has a power of two of its own, one has zero."""
    rows = zip_longest(_TEXTS, _NUMBERS, _MOMENTS)
    shown = [(text, number, moment) for text, number, moment in rows]
    mixed = [("abc", None, _MOMENTS[2]), (None, 2.5, None), (None, None, None), ("a", -2.5, _MOMENTS[5])]
    return [
        record_of(eps=0.5, v=0, x=2.5, job="a", day=None),
        *(
            record_of(eps=0.5, v=2**place, x=x, job=job, day=day)
            for place, (job, x, day) in enumerate([*shown, *mixed])
        ),
    ]


ROW_RECORDS = _records()
"""Texts, numbers and moments at which databases and Python differ."""

ROW_EXPRESSIONS = [
    *("job LIKE 'a%'", "job LIKE '%a'", "job LIKE '%a%'", "job LIKE '_'", "job LIKE 'a_c'", "job LIKE '%'"),
    *("job LIKE 'a!_c' ESCAPE '!'", "job LIKE '%!%%' ESCAPE '!'", "job LIKE ''"),
    *(r"job LIKE 'a\_c'", r"job LIKE 'a\\c' ESCAPE '\'", "job LIKE '%a%_%'", "job LIKE '%.%'"),
    *("job ILIKE '%MAN_ger%'", "job ILIKE 'K'", "job ILIKE 'i'", "job NOT LIKE '%a%'", "job LIKE '__'"),
    *("lower(job)", "upper(job)", "lower(job) = 'a'", "upper(lower(job))", "length(job)", "trim(job)"),
    *("ltrim(job)", "rtrim(job)", "trim(job, 'a ')", "ltrim(job, 'é')", "job || '-' || upper(job)"),
    *("substring(job, 2)", "substring(job, 2, 2)", "substring(job, -2)", "substring(job, -3, 2)"),
    *("substring(job, 0, 2)", "substring(job, x)", "substring(job, 1, x)", "left(job, 2)", "right(job, 1)"),
    *("starts_with(job, 'a')", "ends_with(job, 'c')", "contains(job, 'b')", "contains(job, '')"),
    *("coalesce(x, 7)", "coalesce(job, 'none')", "coalesce(day, DATE '2000-01-01')", "nullif(x, 1)"),
    *("nullif(job, 'a')", "coalesce(sqrt(x), -1)", "coalesce(x > 1, FALSE)"),
    *("round(x)", "round(x, 2)", "round(x, 1)", "round(x, -2)", "floor(x)", "ceil(x)", "sign(x)", "sign(-x)"),
    *("x % 2", "x % -2", "7 % x", "x % v", "v % 7", "floor(v / 3)", "mod(x, 0.5)"),
    *("coalesce(sign(power(2, x)), -7)", "coalesce(sign(power(0.5, x)), -7)", "coalesce(sign(0 % x), -7)"),
    *("coalesce(sign(power(x, 3)), -7)", "coalesce(sign(power(abs(x), x)), -7)", "coalesce(power(1, x), -7)"),
    *("1 / v * 0.5", "1 / v * (1 / v)", "x * (1 / v)", "(1 / v) / (2 / v)", "1 / v - 2 / v", "x / (1 / v)"),
    *("CAST(job AS DOUBLE)", "CAST(job AS INTEGER)", "CAST(job AS BIGINT)", "CAST(x AS INTEGER)"),
    *("CAST(x AS BIGINT)", "CAST(x AS VARCHAR)", "CAST(v AS VARCHAR)", "CAST(-x AS VARCHAR)"),
    *("CAST(day AS VARCHAR)", "CAST(x > 0 AS VARCHAR)", "CAST(x > 0 AS INTEGER)", "CAST(job AS DATE)"),
    *("TRY_CAST(job AS TIMESTAMP)", "CAST(day AS DATE)", "CAST(CAST(x AS VARCHAR) AS DOUBLE)"),
    *("extract(year FROM day)", "quarter(day)", "month(day)", "week(day)", "day(day)", "dayofweek(day)"),
    *("isodow(day)", "dayofyear(day)", "hour(day)", "minute(day)", "second(day)", "date_part('dow', day)"),
    *(f"date_trunc('{unit}', day)" for unit in ("year", "quarter", "month", "week", "day", "hour", "second")),
    *(
        f"date_diff('{unit}', DATE '1969-12-31', day)"
        for unit in ("year", "quarter", "month", "day", "hour", "minute", "second")
    ),
    *("day - DATE '2000-01-01'", "DATE '2020-02-29' - day", "day + INTERVAL '1 month'"),
    *("day - INTERVAL '13 months'", "day + INTERVAL '1 year'", "day + INTERVAL 90 DAY"),
    *("day - INTERVAL '36 hours'", "day - INTERVAL '1' SECOND"),
    *("(x > 0) IS TRUE", "(x > 0) IS FALSE", "(x > 0) IS NOT TRUE", "(job LIKE 'a%') IS NOT FALSE"),
    *(
        "CASE job WHEN 'a' THEN 'b' ELSE lower(job) END",
        "CASE WHEN job ILIKE '%a%' THEN length(job) ELSE x END",
        "CASE WHEN (x > 0) IS TRUE THEN x WHEN (job = 'a') IS TRUE THEN 3 ELSE length(job) END",
    ),
    *("lower(coalesce(job, 'NONE'))", "length(job) IN (1, 2)", "upper(job) IN ('A', 'ABC')"),
    *("year(day) BETWEEN 1970 AND 2020", "x BETWEEN -1 AND 2.5", "day >= TIMESTAMP '2020-01-31 00:00:00'"),
]
"""One or more of every function, operator and cast."""


_LARGEST_KEY = 1e30


class RowContract(Brevity):
    """Tests that every function gives for every record what the reference gives."""

    def engine(self, records: Sequence[Record]) -> Engine:
        """Open a table: ``eps`` and ``x`` (double), ``v`` (64-bit), ``job`` (text), ``day`` (timestamp)."""
        raise NotImplementedError

    def row_records(self) -> Sequence[Record]:
        """Return the records that functions are tried on; an engine leaves out what it cannot hold."""
        return ROW_RECORDS

    def refuses(self, engine: Engine, reading: CellRead, text: str) -> bool:  # noqa: ARG002
        """Say whether an engine has no word for an expression, and so refuses it; ours refuse none."""
        return False

    def test_a_quotient_is_never_rounded_up_to_a_level(self) -> None:
        """Divide so that budgets lie just below levels and just above: with four digits, some would rise."""
        text = Policy("10000 / v", at_least="1/10", at_most=10)
        near = (int(10**5 / 2 ** (level / 8)) + step for level in range(54) for step in (0, 1))
        values = sorted(set(near))
        engine = self.engine([record_of(v=value) for value in values])
        policy = text.within(engine.schema, {})
        keys = read_grouping(["v"], values, engine.schema)
        levels = policy.levels
        for value, found in zip(
            values, engine.summarise(CellRead(policy, levels, {}, None, None, keys)), strict=True
        ):
            index = levels.index(policy.budget({"v": value}))
            promised = {cell.key.quanta for cell in found.cells}
            assert all(quanta * levels.quantum <= Fraction(10**4, value) for quanta in promised), value
            assert promised <= {
                levels.quanta(place) for place in (index or 0, (index or 0) - 1) if place >= 0
            }
            assert promised or not index, value

    def test_every_function_gives_for_every_record_what_the_reference_gives(self) -> None:
        """Group by each expression, its values being the keys; the sum tells which records are in which."""
        records = self.row_records()
        engine = self.engine(records)
        policy = Policy.column("eps", at_least="1/10", at_most="10").within(engine.schema, {})
        for text in self.some(ROW_EXPRESSIONS, 6):  # a record that is in no group has no value
            read = read_column(text, engine.schema, "group_by")
            values = [column_of(record, read.name, read.expression) for record in records]
            keys = [*dict.fromkeys(value for value in values if _can_be_a_key(value))]
            grouping = read_grouping([text], keys, engine.schema)
            measure = Measure("v", Fraction(1), 0, 2**62)
            reading = CellRead(policy, policy.levels, {}, measure, None, grouping)
            if self.refuses(engine, reading, text):
                continue
            found = engine.summarise(reading)
            expected = [reference_summary(group, reading) for group in in_groups(records, grouping)]
            assert [one.cells for one in found] == [one.cells for one in expected], text
            assert all(one.cells for one in expected), text


def _can_be_a_key(value: object) -> bool:
    """Say whether a group can have this key: no NULL, nothing huge, and nothing that cannot be written."""
    if isinstance(value, str):
        return is_writable(value)
    return value is not None and not (isinstance(value, float) and abs(value) > _LARGEST_KEY)
