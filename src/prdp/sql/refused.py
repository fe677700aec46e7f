"""Constructs of SQL, and those that are refused: each with the reason and with what works instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NoReturn

from prdp.errors import Argument, Blank, Words
from prdp.sql.reading import ONLY_SELECT, ONLY_SELECT_INSTEAD, SqlStatement, sql_of


@dataclass(frozen=True, slots=True)
class Construct:
    """One row of the table of what is read.

    Attributes:
        node: The class of sqlglot's tree.
        rule: The function that reads it; None where it is refused.
        reads: The parts of the node that the rule reads. A node with another part is refused, so that
            nothing of a statement is ever passed over.
        shown: How it is written, in the table of the docs.
        example: A statement that has it.
        note: Notes on it; of a refusal, the reason.
        instead: What works in place of something refused.
    """

    node: str
    rule: Callable[..., Any] | None
    reads: tuple[str, ...]
    shown: str
    example: str
    note: str = ""
    instead: Words = ""


HARMLESS = frozenset({"big_int", "nested", "_type", "quoted", "is_string"})
"""Parts of a node that say nothing more than its class and its value do."""


def unread(node: Any, reads: tuple[str, ...]) -> Any | None:
    """Return a part of a node that no rule reads, or the name of a flag; None where all are read."""
    for name, part in node.args.items():
        if part in (None, False, [], ()) or name in reads or name in HARMLESS:
            continue
        return part[0] if isinstance(part, list) else part
    return None


_ROWS_STAY = "records never leave the table"
_AGGREGATES = "The aggregates are COUNT, SUM, AVG, MIN, MAX, MEDIAN, QUANTILE_CONT, VARIANCE and STDDEV."


NO_SUCH_ROWS = "IN and EXISTS are read over one public table, or over rows that belong to the private record"
NO_SUCH_ROWS_INSTEAD = (
    "Give a public table as ",
    Argument("tables", {"jobs": Blank("frame")}),
    ". Conditions on the record's own rows are in WHERE, joined by AND, without NOT.",
)


def _no(node: str, shown: str, example: str, note: str, instead: Words) -> Construct:
    return Construct(node, None, (), shown, example, note, instead)


REFUSED: tuple[Construct, ...] = (
    _no(
        "Star",
        "`SELECT *`",
        "SELECT * FROM accounts",
        _ROWS_STAY,
        "Select aggregates: COUNT(*), SUM(x), AVG(x).",
    ),
    _no(
        "Column",
        "a column that is not grouped by",
        "SELECT age FROM accounts",
        _ROWS_STAY,
        "Put it in an aggregate such as AVG(x), or GROUP BY it.",
    ),
    _no(
        "Window",
        "`OVER (...)`",
        "SELECT SUM(age) OVER () FROM accounts",
        "a window over rows gives a value for every record",
        "Aggregate first: SUM(SUM(x)) OVER (), RANK() OVER (ORDER BY COUNT(*) DESC).",
    ),
    _no(
        "Union",
        "`UNION` of records",
        "SELECT COUNT(*) FROM (SELECT age FROM accounts UNION ALL SELECT age FROM accounts) AS t",
        "a record would be there twice",
        "Aggregate in each SELECT: UNION ALL puts their results together.",
    ),
    _no(
        "Intersect",
        "`INTERSECT`",
        "SELECT age FROM accounts INTERSECT SELECT 1",
        "of set operations, UNION and UNION ALL of results are read",
        "Filter with WHERE.",
    ),
    _no(
        "Except",
        "`EXCEPT`",
        "SELECT age FROM accounts EXCEPT SELECT 1",
        "of set operations, UNION and UNION ALL of results are read",
        "Filter with WHERE.",
    ),
    _no(
        "Distinct",
        "`SELECT DISTINCT`",
        "SELECT DISTINCT job FROM accounts",
        "which values occur may give a record away",
        "Count them: COUNT(DISTINCT x).",
    ),
    _no(
        "Subquery",
        "a subquery as a value in WHERE",
        "SELECT COUNT(*) FROM accounts WHERE age > (SELECT AVG(age) FROM accounts)",
        "the answer to a subquery is not known when records are filtered",
        "Ask for its number first, and write that number.",
    ),
    _no(
        "Exists",
        "`EXISTS` elsewhere",
        "SELECT COUNT(*) FROM accounts WHERE NOT EXISTS (SELECT 1 FROM accounts)",
        NO_SUCH_ROWS,
        NO_SUCH_ROWS_INSTEAD,
    ),
    _no(
        "RegexpLike",
        "regular expressions",
        "SELECT COUNT(*) FROM accounts WHERE regexp_matches(job, 'c.*')",
        "regular expressions are not read",
        "Write LIKE.",
    ),
    _no(
        "TimeToStr",
        "`strftime`, `to_char`",
        "SELECT COUNT(*) FROM accounts WHERE strftime(opened, '%Y') = '2025'",
        "dates are not written as texts here",
        "Write date_trunc('month', x), year(x), month(x) or CAST(x AS DATE).",
    ),
    _no(
        "WidthBucket",
        "`width_bucket`",
        "SELECT COUNT(*) FROM accounts GROUP BY width_bucket(age, 0, 100, 10)",
        "bins are written as arithmetic",
        "Write GROUP BY floor(x / 10) * 10.",
    ),
    _no(
        "Replace",
        "`replace`, `regexp_replace`, `split_part`",
        "SELECT COUNT(*) FROM accounts WHERE replace(job, 'a', 'b') = 'b'",
        "texts are not rewritten here",
        "Write LIKE, substring(x, 1, 3), trim(x), lower(x), or CASE x WHEN 'a' THEN 'b' ELSE x END.",
    ),
    _no(
        "Rand",
        "`random()`",
        "SELECT SUM(random()) FROM accounts",
        "a random value cannot be checked or repeated",
        "Noise is added to every answer.",
    ),
    _no(
        "CurrentDate",
        "`current_date`",
        "SELECT COUNT(*) FROM accounts WHERE opened < current_date",
        "the time of asking is not part of the record",
        "Write the day itself: DATE '2026-01-31'.",
    ),
    _no(
        "CurrentTimestamp",
        "`now()`",
        "SELECT COUNT(*) FROM accounts WHERE opened < now()",
        "the time of asking is not part of the record",
        "Write the moment itself.",
    ),
    _no("GroupConcat", "`string_agg`", "SELECT string_agg(job) FROM accounts", _ROWS_STAY, _AGGREGATES),
    _no("ArrayAgg", "`array_agg`", "SELECT array_agg(job) FROM accounts", _ROWS_STAY, _AGGREGATES),
    _no(
        "Mode",
        "`mode`",
        "SELECT mode(job) FROM accounts",
        "the most frequent value is not available",
        "Write COUNT(*) with GROUP BY, ORDER BY and LIMIT 1.",
    ),
    _no("AnyValue", "`any_value`, `first`", "SELECT any_value(job) FROM accounts", _ROWS_STAY, _AGGREGATES),
    _no("First", "`first`, `last`", "SELECT first(job) FROM accounts", _ROWS_STAY, _AGGREGATES),
    _no(
        "ApproxDistinct",
        "`approx_count_distinct`",
        "SELECT approx_count_distinct(job) FROM accounts",
        "sketches are not read",
        "Write COUNT(DISTINCT x).",
    ),
    _no(
        "ApproxQuantile",
        "`approx_quantile`",
        "SELECT approx_quantile(age, 0.5) FROM accounts",
        "sketches are not read",
        "Write QUANTILE_CONT(x, 0.5).",
    ),
    _no(
        "Corr",
        "`corr`, `covar_pop`, `regr_slope`",
        "SELECT corr(age, balance) FROM accounts",
        "correlations are not available",
        "Select SUM(a * b), SUM(a), SUM(b) and COUNT(*), and compute them.",
    ),
    _no(
        "DateFromParts",
        "`make_date`",
        "SELECT COUNT(*) FROM accounts WHERE opened < make_date(2025, 3, 1)",
        "dates are not put together here",
        "Write DATE '2026-01-31', date_trunc('year', x), dayofyear(x) or month(x).",
    ),
    _no(
        "LastDay",
        "`last_day`",
        "SELECT COUNT(*) FROM accounts WHERE last_day(opened) = DATE '2025-03-31'",
        "a month is called by its first day here",
        "Write date_trunc('month', x).",
    ),
    _no(
        "Interval",
        "an interval beside anything but a date",
        "SELECT COUNT(*) FROM accounts WHERE opened - opened > INTERVAL 7 DAY",
        "intervals are added to dates, and not compared",
        "Write date_diff('day', a, b) > 7.",
    ),
    _no(
        "Tuple",
        "tuples",
        "SELECT COUNT(*) FROM accounts WHERE (age, job) IN ((30, 'chef'))",
        "several values at once are not compared",
        "Write (a = 1 AND b = 2) OR (a = 3 AND b = 4).",
    ),
    _no("Insert", "`INSERT`, `UPDATE`, `DELETE`", "DELETE FROM accounts", ONLY_SELECT, ONLY_SELECT_INSTEAD),
)
"""Constructs that are refused by name; unknown ones are refused too."""

_ALSO = {
    "now": "CurrentTimestamp",
    "histogram": "WidthBucket",
    "getdate": "CurrentTimestamp",
    "today": "CurrentDate",
    "uuid": "Rand",
    "last": "First",
    "date_format": "TimeToStr",
    "datename": "TimeToStr",
    "format_date": "TimeToStr",
}
"""Functions that sqlglot has no class for, and whose reason theirs is."""

_LIKE_OTHERS = {
    "ToChar": "TimeToStr",
    "Format": "TimeToStr",
    "RegexpReplace": "Replace",
    "SplitPart": "Replace",
    "Translate": "Replace",
    "CovarPop": "Corr",
    "CovarSamp": "Corr",
    **dict.fromkeys(("RegrSlope", "RegrIntercept", "RegrR2"), "Corr"),
}
"""Functions that sqlglot has a class for, and whose reason another one's is."""

_NAMES = (
    *("COUNT", "SUM", "AVG", "MIN", "MAX", "MEDIAN", "QUANTILE_CONT", "VARIANCE", "STDDEV", "COUNT_IF"),
    *("COALESCE", "NULLIF", "ROUND", "FLOOR", "CEIL", "ABS", "SQRT", "POWER", "LEAST", "GREATEST", "SIGN"),
    *(
        "LOWER",
        "UPPER",
        "TRIM",
        "LENGTH",
        "SUBSTRING",
        "DATE_TRUNC",
        "DATE_DIFF",
        "YEAR",
        "MONTH",
        "DAYOFWEEK",
    ),
)
"""Functions that a misspelled name may mean."""

LISTED = "The page SQL of prdp's documentation lists what is supported."
"""An installed prdp has no pages, so that none is named by its path."""

_REFUSED = {construct.node: construct for construct in REFUSED}


def refuse_construct(statement: SqlStatement, node: Any) -> NoReturn:
    """Refuse a part of a statement, with its own reason where there is one."""
    kind = type(node).__name__
    inner = node.this if kind == "IgnoreNulls" else node
    name = _ALSO.get(node.name.lower(), kind) if kind == "Anonymous" else type(inner).__name__
    known = _REFUSED.get(_LIKE_OTHERS.get(name, name))
    if known is not None:
        statement.refuse(node, known.note, known.instead)
    if _is_aggregate_in_where(node):
        statement.refuse(
            node,
            "aggregates are not allowed in WHERE, which filters rows",
            f"Filter groups with HAVING, such as GROUP BY job HAVING {sql_of(node)} > 5.",
        )
    shown = sql_of(node).partition("(")[0].strip()[:40] or "this"
    near = get_close_matches(shown.upper(), _NAMES, n=1, cutoff=0.6) if kind == "Anonymous" else []
    meant = f"Did you mean {near[0]}? " if near else ""
    statement.refuse(node, f"{shown} is not supported", f"{meant}{LISTED}")


def _is_aggregate_in_where(node: Any) -> bool:
    """Return whether a part of a statement is an aggregate inside a WHERE clause."""
    if not any(kind.__name__ == "AggFunc" for kind in type(node).__mro__):
        return False
    above = node.parent
    while above is not None and type(above).__name__ not in ("Where", "Select"):
        above = above.parent
    return type(above).__name__ == "Where"
