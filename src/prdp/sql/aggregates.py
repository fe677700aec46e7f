"""Aggregates: one small function each, from SQL's to the query that Python asks."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NoReturn, Protocol

from prdp.expressions.nodes import (
    Arithmetic,
    Call,
    Column,
    IsNull,
    Node,
    Number,
    columns,
    ones,
    ones_unless,
)
from prdp.plan.queries import CountDistinct, Max, Mean, Min, Quantile, Query, Std, Sum, Variance
from prdp.schema import Kind
from prdp.sql.constants import number_in
from prdp.sql.reading import sql_of
from prdp.sql.refused import Construct


class Asking(Protocol):
    """Context in which an aggregate is read."""

    def row(self, node: Any, expected: Kind | None = None) -> Node:
        """Return what an aggregate is over, within its FILTER."""

    def kind(self, node: Any) -> Kind | None:
        """Return what an expression over rows gives; None where that is NULL alone."""

    def ask(self, query: Query, source: Any, part: int | None = None) -> Column:
        """Return the placeholder of a query's answer, or for a part of it."""

    def of_keys(self, node: Any) -> Node | None:
        """Return what follows from the keys of a group, in their placeholders; None of anything else."""

    def day(self, node: Any, source: Any, *, latest: bool) -> Node | None:
        """Return the placeholder of the first or last day; None where WHERE does not limit it."""

    def rows(self, source: Any) -> Node:
        """Return the placeholder of the number of rows."""

    def refuse(self, node: Any, reason: str, advice: str = "") -> NoReturn:
        """Refuse a part of the statement, underlined."""


def read_count(asking: Asking, node: Any) -> Node:
    """Read COUNT(*), COUNT(x) and COUNT(DISTINCT x)."""
    inner = node.this
    kind = type(inner).__name__
    if kind == "Star" or (kind == "Literal" and not inner.is_string):
        return asking.rows(node)
    if kind == "Distinct":
        several = len(inner.expressions) != 1 or type(inner.expressions[0]).__name__ == "Tuple"
        if several or inner.args.get("on") is not None:
            both = "CAST(a AS VARCHAR) || '-' || CAST(b AS VARCHAR)"
            asking.refuse(node, "COUNT(DISTINCT x) is read for one column", f"Write COUNT(DISTINCT {both}).")
        return asking.ask(CountDistinct.of_node(asking.row(inner.expressions[0])), node)
    counted = asking.row(inner)
    if not columns(counted):
        asking.refuse(node, "this is the same for every record", "Write COUNT(*), or COUNT of a column.")
    return asking.ask(Sum.of_node(ones_unless(IsNull(counted))), node)


def read_count_if(asking: Asking, node: Any) -> Node:
    """Read COUNT_IF(condition)."""
    return asking.ask(Sum.of_node(ones(asking.row(node.this, Kind.BOOLEAN))), node)


def read_sum(asking: Asking, node: Any) -> Node:
    """Read SUM(x)."""
    return asking.ask(Sum.of_node(asking.row(_plain(asking, node))), node)


def read_avg(asking: Asking, node: Any) -> Node:
    """Read AVG(x): a sum with 3/4 of its share and a count with 1/4; of what the keys say, that."""
    inner = _plain(asking, node)
    known = asking.of_keys(inner) if asking.kind(inner) is Kind.NUMBER else None
    return asking.ask(Mean.of_node(asking.row(inner)), node) if known is None else known


def read_max(asking: Asking, node: Any) -> Node:
    """Read MAX(x)."""
    return _extreme(asking, node, Max)


def read_min(asking: Asking, node: Any) -> Node:
    """Read MIN(x)."""
    return _extreme(asking, node, Min)


def read_median(asking: Asking, node: Any) -> Node:
    """Read MEDIAN(x)."""
    return asking.ask(Quantile.of_node(asking.row(_plain(asking, node)), (Fraction(1, 2),)), node)


def read_quantile(asking: Asking, node: Any) -> Node:
    """Read QUANTILE_CONT(x, q) and QUANTILE_DISC(x, q), which is the same: no value of a record is shown."""
    part = node.args.get("quantile") if node.key == "quantile" else node.args.get("expression")
    if part is None:
        asking.refuse(node, "the quantile is missing", "Write QUANTILE_CONT(x, 0.5).")
    return asking.ask(Quantile.of_node(asking.row(node.this), (_part(asking, part),)), node)


def read_within_group(asking: Asking, node: Any) -> Node:
    """Read PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x), and PERCENTILE_DISC."""
    order = node.expression
    sorted_by = order.expressions if type(order).__name__ == "Order" else []
    if type(node.this).__name__ not in {"PercentileCont", "PercentileDisc"} or len(sorted_by) != 1:
        asking.refuse(
            node,
            "WITHIN GROUP is read after PERCENTILE_CONT(q) and PERCENTILE_DISC(q), with one column",
            "For example: PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x).",
        )
    part = _part(asking, node.this.this)
    part = 1 - part if sorted_by[0].args.get("desc") else part
    return asking.ask(Quantile.of_node(asking.row(sorted_by[0].this), (part,)), node)


def read_variance_pop(asking: Asking, node: Any) -> Node:
    """Read VAR_POP(x)."""
    return asking.ask(Variance.of_node(asking.row(_plain(asking, node))), node)


def read_stddev_pop(asking: Asking, node: Any) -> Node:
    """Read STDDEV_POP(x)."""
    return asking.ask(Std.of_node(asking.row(_plain(asking, node))), node)


def read_variance(asking: Asking, node: Any) -> Node:
    """Read VARIANCE(x), of a sample: n / (n - 1) times that of the rows, n being the released count."""
    query = Variance.of_node(asking.row(_plain(asking, node)))
    value, count = asking.ask(query, node), asking.ask(query, node, part=1)
    return Arithmetic("*", value, _of_sample(count))


def read_stddev(asking: Asking, node: Any) -> Node:
    """Read STDDEV(x), of a sample."""
    query = Std.of_node(asking.row(_plain(asking, node)))
    value, count = asking.ask(query, node), asking.ask(query, node, part=1)
    return Arithmetic("*", value, Call("sqrt", (_of_sample(count),)))


def _of_sample(count: Node) -> Node:
    """Return 1 + 1 / (n - 1), which is n / (n - 1) and has n once; below 2 rows n is taken for 2."""
    one = Number(1.0)
    others = Arithmetic("-", Call("greatest", (count, Number(2.0))), one)
    return Arithmetic("+", one, Arithmetic("/", one, others))


def _plain(asking: Asking, node: Any) -> Any:
    """Return what an aggregate is over; DISTINCT and several columns are refused."""
    if type(node.this).__name__ == "Distinct":
        asking.refuse(
            node,
            "DISTINCT is read in COUNT alone",
            "Write COUNT(DISTINCT x), or leave it out: all rows are then added up. Of a public table: "
            "WITH p AS (SELECT region, SUM(people) AS people FROM counties GROUP BY region).",
        )
    return node.this


def _extreme(asking: Asking, node: Any, query: type[Max | Min]) -> Node:
    """Read MIN or MAX: of keys, of numbers, or of dates as days from a limit that WHERE gives them."""
    inner = _plain(asking, node)
    known = asking.of_keys(inner)
    if known is not None:
        return known
    if asking.kind(inner) is not Kind.MOMENT:
        return asking.ask(query.of_node(asking.row(inner)), node)
    day = asking.day(inner, node, latest=query is Max)
    if day is None:
        name, shown = node.key.upper(), sql_of(inner)
        asking.refuse(
            node,
            f"{name} of a date needs a public date to count days from, and WHERE has none",
            f"Limit it: WHERE {shown} BETWEEN DATE '2024-01-01' AND DATE '2024-12-31'. The nearer the limit, "
            "the more precise the answer.",
        )
    return day


def _part(asking: Asking, node: Any) -> Fraction:
    part = number_in(node) if type(node).__name__ == "Literal" else None
    if part is None:
        asking.refuse(node, "which quantile is a number between 0 and 1", "For example: 0.5.")
    if not 0 < part < 1:
        asking.refuse(node, "which quantile is a number between 0 and 1", "MIN(x) and MAX(x) are the ends.")
    return part


_ONE = ("this",)


def _of(  # noqa: PLR0917  (one a column of the table)
    node: str, rule: Any, reads: tuple[str, ...], shown: str, sample: str, note: str
) -> Construct:
    return Construct(node, rule, reads, shown, f"SELECT {sample} FROM accounts", note)


AGGREGATES: tuple[Construct, ...] = (
    _of(
        "Count",
        read_count,
        _ONE,
        "`COUNT(*)`, `COUNT(x)`, `COUNT(DISTINCT x)`",
        "COUNT(*), COUNT(age), COUNT(DISTINCT job)",
        "`prdp.count()`, `prdp.count_distinct(x)`; `COUNT(x)` is a sum of ones",
    ),
    _of("CountIf", read_count_if, _ONE, "`COUNT_IF(c)`", "COUNT_IF(age > 30)", "a sum of ones"),
    _of("Sum", read_sum, _ONE, "`SUM(x)`", "SUM(balance)", "`prdp.sum(x)`; 0 where there is no row"),
    _of(
        "Avg",
        read_avg,
        _ONE,
        "`AVG(x)`",
        "AVG(balance)",
        "`prdp.mean(x)`: 3/4 of its share for the sum, 1/4 for the count",
    ),
    _of(
        "Max",
        read_max,
        _ONE,
        "`MAX(x)`",
        "MAX(age)",
        "`prdp.max(x)`: the end of a range, 9 % wide; of dates, the day",
    ),
    _of("Min", read_min, _ONE, "`MIN(x)`", "MIN(age)", "`prdp.min(x)`; of dates that WHERE limits, too"),
    _of("Median", read_median, _ONE, "`MEDIAN(x)`", "MEDIAN(age)", "`prdp.median(x)`: the middle of a range"),
    _of(
        "PercentileCont",
        read_quantile,
        ("this", "expression"),
        "`QUANTILE_CONT(x, q)`",
        "QUANTILE_CONT(age, 0.9)",
        "`prdp.quantile(x, q)`",
    ),
    _of(
        "PercentileDisc",
        read_quantile,
        ("this", "expression"),
        "`QUANTILE_DISC(x, q)`, `PERCENTILE_DISC(q)`",
        "QUANTILE_DISC(age, 0.9)",
        "the same: the middle of a range, not a value that occurs",
    ),
    _of(
        "Quantile",
        read_quantile,
        ("this", "quantile"),
        "`QUANTILE(x, q)`",
        "QUANTILE(age, 0.9)",
        "`prdp.quantile(x, q)`",
    ),
    _of(
        "WithinGroup",
        read_within_group,
        ("this", "expression"),
        "`PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x)`",
        "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age)",
        "`prdp.quantile(x, q)`",
    ),
    _of("VariancePop", read_variance_pop, _ONE, "`VAR_POP(x)`", "VAR_POP(age)", "`prdp.variance(x)`"),
    _of(
        "Variance",
        read_variance,
        _ONE,
        "`VARIANCE(x)`, `VAR_SAMP(x)`",
        "VARIANCE(age)",
        "`prdp.variance(x)`, times n / (n - 1) of the released count",
    ),
    _of("StddevPop", read_stddev_pop, _ONE, "`STDDEV_POP(x)`", "STDDEV_POP(age)", "`prdp.std(x)`"),
    _of("Stddev", read_stddev, _ONE, "`STDDEV(x)`", "STDDEV(age)", "`prdp.std(x)`, corrected likewise"),
    _of("StddevSamp", read_stddev, _ONE, "`STDDEV_SAMP(x)`", "STDDEV_SAMP(age)", "the same"),
)
"""Aggregates of rows."""

AGGREGATE_RULES = {construct.node: construct for construct in AGGREGATES}
