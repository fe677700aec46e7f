"""All constructs of SQL that are read or refused by name: one tuple, of which the docs' table is printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import wrap

from prdp.errors import spelled
from prdp.sql.aggregates import AGGREGATES
from prdp.sql.from_clause import FromClause, existing, per_unit, rows_of, rows_of_subquery, with_queries
from prdp.sql.grouping import MarginReader
from prdp.sql.membership import exists_in_public, in_public
from prdp.sql.refused import REFUSED, Construct
from prdp.sql.released_select import (
    ExtraReader,
    read_condition,
    read_output,
    read_sorted,
    released_select,
    union_of,
    whole_number,
)
from prdp.sql.rows import ROW_FUNCTIONS, ROWS
from prdp.sql.select_list import SelectReader
from prdp.sql.statement import group_items
from prdp.sql.windows import read_window

_WIDTH = 120
_BLANK = "\0"  # within code, which is not broken
_BY_JOB = "SELECT job, COUNT(*) AS n FROM accounts WHERE job IN ('clerk', 'chef') GROUP BY job"
_JOBS = "SELECT j.level, COUNT(*) FROM accounts a JOIN jobs j ON a.job = j.job GROUP BY j.level"

CLAUSES: tuple[Construct, ...] = (
    Construct(
        "Select",
        read_output,
        ("expressions",),
        "`SELECT a AS b, ...`",
        "SELECT COUNT(*) AS n, n + 1 FROM accounts",
        "a later column may use an earlier one's name",
    ),
    Construct(
        "From",
        rows_of,
        ("this",),
        "`FROM t`, `FROM self`",
        "SELECT COUNT(*) FROM self",
        "the name that the table was opened with, or `self`; a frame without a name answers to any",
    ),
    Construct(
        "Where",
        rows_of,
        ("this",),
        "`WHERE`",
        "SELECT COUNT(*) FROM accounts WHERE age >= 30",
        "`.filter(...)`; what is unknown is not true",
    ),
    Construct(
        "Group",
        group_items,
        ("expressions",),
        "`GROUP BY x`, `1`, an alias, an expression",
        _BY_JOB,
        "`.group_by(...)`; its keys are public, above",
    ),
    Construct(
        "Group",
        MarginReader.margins,
        ("expressions",),
        "`GROUP BY ROLLUP (a, b)`, `CUBE`, `GROUPING SETS`, `GROUPING(a)`",
        "SELECT vip, GROUPING(vip), COUNT(*) FROM accounts GROUP BY ROLLUP (vip)",
        "margins with parts of the share; they add up",
    ),
    Construct(
        "Having",
        read_condition,
        ("this",),
        "`HAVING`",
        f"{_BY_JOB} HAVING COUNT(*) > 10",
        "on released values; an aggregate that is only here takes its part of the share",
    ),
    Construct(
        "Order",
        read_sorted,
        ("expressions",),
        "`ORDER BY n DESC`",
        f"{_BY_JOB} ORDER BY n DESC",
        "on released values",
    ),
    Construct(
        "Limit",
        whole_number,
        ("expression",),
        "`LIMIT 10 OFFSET 5`",
        f"{_BY_JOB} LIMIT 10 OFFSET 5",
        "on released values; `LIMIT 0` is never charged",
    ),
    Construct(
        "Filter",
        SelectReader.filter_of,
        ("this", "expression"),
        "`SUM(x) FILTER (WHERE c)`",
        "SELECT SUM(balance) FILTER (WHERE vip), COUNT(*) FROM accounts",
        "`CASE WHEN c THEN x END`; where all have it, WHERE",
    ),
    Construct(
        "Anonymous",
        ExtraReader.read,
        ("expressions",),
        "`LOW(x)`, `HIGH(x)`",
        "SELECT COUNT(*) AS n, LOW(n), HIGH(n) FROM accounts",
        "the ends of an answer's 95 % interval",
    ),
    Construct(
        "Window",
        read_window,
        ("this", "partition_by", "order", "spec", "over"),
        "`SUM(COUNT(*)) OVER ()`, `RANK() OVER (ORDER BY COUNT(*) DESC)`",
        "SELECT vip, COUNT(*) / SUM(COUNT(*)) OVER () AS part FROM accounts GROUP BY vip",
        "over released rows, above",
    ),
    Construct(
        "Qualify",
        read_condition,
        ("this",),
        "`QUALIFY`",
        f"{_BY_JOB} QUALIFY RANK() OVER (ORDER BY n DESC) = 1",
        "as `HAVING`, of windows",
    ),
    Construct(
        "Union",
        union_of,
        ("this", "expression", "distinct", "order", "limit", "offset", "with_"),
        "`UNION ALL`, `UNION`",
        "SELECT 'all' AS who, COUNT(*) AS n FROM accounts UNION ALL SELECT 'x', SUM(age) FROM accounts",
        "of results; each `SELECT` about records has an equal part of the share",
    ),
    Construct(
        "Subquery",
        released_select,
        ("this", "alias"),
        "`FROM (SELECT ... GROUP BY ...) AS t`, `WITH t AS (...)`",
        f"SELECT MAX(n), SUM(n) FROM ({_BY_JOB}) AS t",
        "over released rows, above",
    ),
    Construct(
        "Subquery",
        ExtraReader.read,
        ("this",),
        "`(SELECT COUNT(*) FROM t)`",
        "SELECT 100 * COUNT(*) / (SELECT COUNT(*) FROM accounts) FROM accounts WHERE vip",
        "one value, in `SELECT`, `HAVING` and `ORDER BY`, with a part of the share",
    ),
    Construct(
        "With",
        with_queries,
        ("expressions",),
        "`WITH t AS (SELECT ...)`",
        "WITH t AS (SELECT age * 2 AS twice FROM accounts WHERE vip) SELECT SUM(twice) FROM t",
        "row by row",
    ),
    Construct(
        "Subquery",
        rows_of_subquery,
        ("this", "alias"),
        "`FROM (SELECT ...) AS t`",
        "SELECT SUM(b) FROM (SELECT balance AS b FROM accounts) AS t",
        "row by row; `*` is read there",
    ),
    Construct(
        "Subquery",
        per_unit,
        ("this", "alias"),
        "`SELECT customer, SUM(x) AS t ... GROUP BY customer`",
        "SELECT AVG(t) FROM (SELECT customer, SUM(spent) AS t FROM visits GROUP BY customer) AS s",
        "by `privacy_unit=`; `COUNT(*)`, `AVG`, `MEDIAN`, `MAX` of it",
    ),
    Construct(
        "Join",
        FromClause.join,
        ("this", "on", "using"),
        "`JOIN public ON a.x = p.key`, `USING (key)`",
        _JOBS,
        "a public table of `tables=`, whose key is checked to be unique",
    ),
    Construct(
        "Join",
        FromClause.join,
        ("this", "on", "using", "side"),
        "`LEFT JOIN public`",
        "SELECT COUNT(j.level) FROM accounts a LEFT JOIN jobs j ON a.job = j.job",
        "rows without a partner stay",
    ),
    Construct(
        "Join",
        FromClause.join,
        ("this", "on"),
        "`JOIN` of declared tables",
        "SELECT SUM(o_totalprice) FROM customer JOIN orders ON o_custkey = c_custkey",
        "`.over(...)` of `prdp.open_join`; by a comma and `WHERE` too",
    ),
    Construct(
        "In",
        in_public,
        ("this", "query"),
        "`x IN (SELECT key FROM public)`",
        "SELECT COUNT(*) FROM accounts WHERE job IN (SELECT job FROM jobs WHERE level > 1)",
        "also `NOT IN`",
    ),
    Construct(
        "Exists",
        exists_in_public,
        ("this",),
        "`EXISTS (SELECT 1 FROM public ...)`",
        "SELECT COUNT(*) FROM accounts a WHERE EXISTS (SELECT 1 FROM jobs j WHERE j.job = a.job)",
        "also `NOT EXISTS`",
    ),
    Construct(
        "Exists",
        existing,
        ("this",),
        "`EXISTS` over rows that belong to the record",
        "SELECT COUNT(*) FROM customer WHERE EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)",
        "of `prdp.open_join`; `COUNT(*)` alone; also `IN`",
    ),
)
"""Constructs of statements."""

CONSTRUCTS: tuple[Construct, ...] = (*CLAUSES, *AGGREGATES, *ROWS, *ROW_FUNCTIONS, *REFUSED)
"""Every construct that is read, and what is refused by name; whatever is not here is refused."""


def support_table() -> str:
    """Return the lists of the docs: what is read, then what is refused; no line is longer than a page.

    >>> support_table().splitlines()[0]
    '| SQL | what it becomes |'
    """
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    read = [construct for construct in CONSTRUCTS if construct.rule is not None]
    yield "| SQL | what it becomes |"
    yield "|---|---|"
    yield from (f"| {_cell(each.shown)} | {_cell(each.note)} |" for each in read if each.note)
    yield ""
    yield "These are the same of a row, and of answers too, with an interval:"
    yield from _filled(", ".join(dict.fromkeys(each.shown for each in read if not each.note)) + ".")
    yield ""
    yield "Refused by name, with the reason and what works instead:"
    yield ""
    alike: dict[tuple[str, str], list[str]] = {}
    for each in REFUSED:
        alike.setdefault((each.note, spelled(each.instead)), []).extend(each.shown.split(", "))
    for (note, instead), shown in alike.items():
        yield f"- {', '.join(dict.fromkeys(shown))}: {note}."
        for sentence in re.split(r"(?<=\.) (?=[A-Z])", instead):
            yield from _filled(sentence, "  ")


def _filled(text: str, indent: str = "") -> list[str]:
    """Return lines of a page's width; code in backticks stays in one piece."""
    whole = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", _BLANK), text)
    lines = wrap(whole, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False)
    return [line.replace(_BLANK, " ") for line in lines]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(support_table())
