"""What never gets through, each with the reason and with what works instead."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, NoReturn

from prdp.sql.construct import Construct
from prdp.sql.reading import ONLY_SELECT, ONLY_SELECT_INSTEAD, SqlStatement, sql_of

_ROWS_STAY = "records never leave the table"
_AGGREGATES = "The aggregates are COUNT, SUM, AVG, MIN, MAX, MEDIAN, QUANTILE_CONT, VARIANCE and STDDEV."


NO_SUCH_ROWS = "IN and EXISTS are read over one public table, or over rows that belong to the private record"
NO_SUCH_ROWS_INSTEAD = (
    "Give a public table as tables={'jobs': frame}. Conditions on the record's own rows stand in WHERE, "
    "joined by AND, without NOT."
)


def _no(node: str, shown: str, example: str, note: str, instead: str) -> Construct:
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
        "windows are not read",
        "Aggregate, with GROUP BY. Ranks and parts of a total follow from released rows, at no cost.",
    ),
    _no(
        "Union",
        "`UNION`",
        "SELECT COUNT(*) FROM accounts UNION SELECT 1",
        "set operations are not read",
        "Ask two statements.",
    ),
    _no(
        "Intersect",
        "`INTERSECT`",
        "SELECT age FROM accounts INTERSECT SELECT 1",
        "set operations are not read",
        "Filter with WHERE.",
    ),
    _no(
        "Except",
        "`EXCEPT`",
        "SELECT age FROM accounts EXCEPT SELECT 1",
        "set operations are not read",
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
        "a subquery as a value",
        "SELECT COUNT(*) / (SELECT 2) FROM accounts",
        "a subquery is read in FROM, IN and EXISTS alone",
        "Ask it first, and write its answer as a number.",
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
        "SELECT COUNT(*) FROM accounts GROUP BY strftime(opened, '%Y-%m')",
        "moments are not written as texts",
        "Write date_trunc('month', d), year(d) or month(d).",
    ),
    _no(
        "WidthBucket",
        "`width_bucket`",
        "SELECT COUNT(*) FROM accounts GROUP BY width_bucket(age, 0, 100, 10)",
        "buckets are written as arithmetic",
        "Write floor(x / 10) * 10.",
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
        "the most frequent value is not answered",
        "COUNT(*) with GROUP BY, ORDER BY and LIMIT 1.",
    ),
    _no("AnyValue", "`any_value`, `first`", "SELECT any_value(job) FROM accounts", _ROWS_STAY, _AGGREGATES),
    _no("First", "`first`, `last`", "SELECT first(job) FROM accounts", _ROWS_STAY, _AGGREGATES),
    _no(
        "ApproxDistinct",
        "`approx_count_distinct`",
        "SELECT approx_count_distinct(job) FROM accounts",
        "sketches are not read",
        "COUNT(DISTINCT x).",
    ),
    _no(
        "ApproxQuantile",
        "`approx_quantile`",
        "SELECT approx_quantile(age, 0.5) FROM accounts",
        "sketches are not read",
        "QUANTILE_CONT(x, 0.5).",
    ),
    _no(
        "PercentileDisc",
        "`percentile_disc`",
        "SELECT quantile_disc(age, 0.5) FROM accounts",
        "which values occur may give a record away",
        "QUANTILE_CONT(x, 0.5).",
    ),
    _no(
        "Corr",
        "`corr`, `covar_pop`",
        "SELECT corr(age, balance) FROM accounts",
        "correlations are not answered",
        "SUM(a * b), SUM(a) and SUM(b) are.",
    ),
    _no("Insert", "`INSERT`, `UPDATE`, `DELETE`", "DELETE FROM accounts", ONLY_SELECT, ONLY_SELECT_INSTEAD),
)
"""What is refused by name; whatever is in no list is refused too."""

_ALSO = {
    "now": "CurrentTimestamp",
    "today": "CurrentDate",
    "uuid": "Rand",
    "last": "First",
    "ToChar": "TimeToStr",
    "format_date": "TimeToStr",
    "RegexpReplace": "RegexpLike",
    "RegexpExtract": "RegexpLike",
}
"""Functions by their name or sqlglot's class, and whose reason theirs is."""

_WORDS = ("count", "sum", "avg", "min", "max", "median", "quantile_cont", "variance", "stddev", "coalesce",
          "least", "greatest", "abs", "round", "floor", "ceil", "sqrt", "power", "ln", "exp", "lower",
          "upper", "trim", "length", "substring", "concat", "year", "month", "day", "hour", "dayofweek",
          "date_trunc", "date_diff", "extract", "nullif", "low", "high")  # fmt: skip
"""Functions that somebody may have meant."""

_REFUSED = {construct.node: construct for construct in REFUSED}


def refuse_construct(statement: SqlStatement, node: Any) -> NoReturn:
    """Refuse a part of a statement, with its own reason where there is one."""
    kind = type(node).__name__
    inner = node.this if kind == "IgnoreNulls" else node
    name = type(inner).__name__
    name = _ALSO.get(node.name.lower() if kind == "Anonymous" else name, name)
    known = _REFUSED.get(name)
    if known is not None:
        statement.refuse(node, known.note, known.instead)
    shown = sql_of(node).partition("(")[0].strip()[:40] or "this"
    near = get_close_matches(node.name.lower(), _WORDS, n=1) if kind == "Anonymous" else []
    meant = f"Did you mean {near[0].upper()}? " if near else ""
    statement.refuse(node, f"{shown} is not read here", f"{meant}docs/sql.md lists what is.")
