"""Expressions of every function of the row language, and records at the points where languages differ.

An engine has to give for each of them, record by record, what ``prdp.expressions.evaluate`` gives.
"""

from __future__ import annotations

from datetime import datetime
from itertools import zip_longest

from prdp.testing.engine_records import INFINITY, NAN, record_of
from prdp.testing.reference import Record

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
    """Return records that a sum of ``v`` tells apart: each has its own power of two, and one zero."""
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
    ),
    *("lower(coalesce(job, 'NONE'))", "length(job) IN (1, 2)", "upper(job) IN ('A', 'ABC')"),
    *("year(day) BETWEEN 1970 AND 2020", "x BETWEEN -1 AND 2.5", "day >= TIMESTAMP '2020-01-31 00:00:00'"),
]
"""One or more of every function, operator and cast."""
