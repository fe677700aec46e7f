"""The questions that users ask, one method each; tables answer with releases, groups with tables of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, overload

from prdp.cells.units import PerUnit
from prdp.declare.columns import Number, known_column
from prdp.declare.exact import Exact, short_repr
from prdp.declare.groups import Binned, bins
from prdp.errors import InvalidRequest
from prdp.expressions.tokens import shown_name
from prdp.methods import Chosen
from prdp.plan.explain import Explanation
from prdp.plan.methods import DEFAULT, Options
from prdp.plan.plan import Plan
from prdp.plan.planner import Planner, column_range
from prdp.plan.queries import (
    Count,
    CountDistinct,
    Max,
    Mean,
    Min,
    Quantile,
    Query,
    Std,
    Sum,
    Variance,
    count,
    listed_quantiles,
)
from prdp.plan.shares import Shares, gathered
from prdp.release.public_names import Completed, renamed
from prdp.release.table import Released, ReleaseTable
from prdp.schema import Schema
from prdp.tables.column import TableColumn, TableColumns

Answered = TypeVar("Answered")

_SUMMARY = ("count", "mean", "std", "min", "q0.25", "median", "q0.75", "max")


class Questions(Completed, Generic[Answered]):
    """The questions of tables and groups.

    Every question takes ``share``, the part of every record's budget to use, such as 0.1, and ``redraw``, to
    pay for a new answer although the same question has been answered before. ``method`` names the mechanism,
    or brings its options with it: ``prdp.methods.Framework(split=0.5)``.
    """

    internals: ClassVar = frozenset(
        {
            *("answer_plan", "condition", "explanation", "filtered", "grouping", "has_answer", "levels"),
            *("describe_plan", "plan", "plan_keys", "planner", "unit"),
        }
    )
    synonyms: ClassVar[Mapping[str, str]] = {
        **renamed("group_by", "groupby"),
        **renamed("count_distinct", "nunique", "n_unique"),
        **renamed("filter", "query"),
        **renamed("variance", "var"),
        **renamed("schema", "dtypes"),
    }
    hints: ClassVar[Mapping[str, str]] = {
        **renamed("filter('age >= 40')", "where", "loc"),
        **renamed("group_by(['job', 'town']).count(share=...)", "pivot_table", "crosstab", "pivot"),
        **renamed("agg(n=prdp.count(), mean=prdp.mean('age'), share=...)", "aggregate", "select"),
        **renamed("describe('age', share=...)", "summarize", "summary"),
        **renamed("count(share=...)", "size", "shape", "height", "len", "num_rows"),
        **renamed("mean('age', share=...)", "avg", "average"),
        **renamed("std('age', share=...)", "stddev"),
        **renamed("quantile('age', 0.9, share=...)", "percentile", "approx_quantile"),
        **renamed("histogram('age', bins=10, share=...)", "hist"),
        **renamed("count_distinct('job', share=...)", "approx_nunique"),
        **renamed("find_keys('job', share=...), which looks for values privately", "unique", "distinct"),
        **renamed("schema", "info"),
        **renamed("remaining", "left", "budget", "epsilon"),
        **renamed("ledger.to_pandas(), or 1 - remaining", "spent", "spend", "history"),
        **renamed(
            "explain(prdp.mean('age'), share=...)",
            *("explain_count", "explain_sum", "explain_mean", "explain_median", "explain_max"),
        ),
        **renamed("explain_sql('SELECT ...', share=...)", "explain_query"),
        **renamed("prdp.share_for(prdp.count(), error='1%', like=synthetic)", "share_for"),
        **renamed("prdp.preview('SELECT ...', like=synthetic, share=0.1)", "preview"),
        **renamed("histogram('age', bins=10, share=...).plot()", "plot", "boxplot"),
        **renamed("sum('x * y', share=...), with sum('x', ...) and sum('y', ...)", "corr", "cov"),
        **renamed("value_counts('job', share=...).top(1)", "mode"),
        **renamed("group_by(prdp.date_trunc('month', 'opened'))", "resample"),
        **renamed("filter('age IS NOT NULL')", "dropna", "drop_nulls"),
        **renamed("['age'].isna()", "isna", "isnull", "is_null"),
        **renamed("['age'].notna()", "notna", "notnull"),
        **renamed(
            "count_distinct('customer', share=...), or prdp.open(..., privacy_unit='customer')",
            *("drop_duplicates", "duplicated"),
        ),
        **renamed(
            "sql('SELECT ... FROM self JOIN towns USING (town) ...', tables={'towns': frame}, share=...) for "
            "a public frame, or prdp.open_join(...) for several private tables",
            *("join", "merge"),
        ),
        **renamed(
            "the expression where it is used: mean('price * quantity', share=...)",
            *("assign", "with_columns", "mutate", "apply", "map", "fillna", "astype"),
        ),
        **renamed("sort() or top(10) on the answers", "sort_values", "order_by", "sort", "nlargest"),
        **renamed(
            "count, histogram or other queries: no single record is shown",
            *("head", "tail", "sample", "limit", "fetch", "show", "iloc", "iterrows", "values", "to_pandas"),
            *("to_polars", "to_arrow", "to_csv", "collect", "execute"),
        ),
    }

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The columns that questions may name, and their types."""

    @abstractmethod
    def filter(self, *conditions: str | TableColumn[Any], **equal: object) -> Questions[Answered]:
        """Return those rows alone for which all conditions hold."""

    @overload
    def _column(self, name: str) -> TableColumn[Answered]: ...

    @overload
    def _column(self, name: list[str]) -> TableColumns[Answered]: ...

    def _column(self, name: str | list[str]) -> TableColumn[Answered] | TableColumns[Answered]:
        """Return a column for expressions, by its name; or several, by a list of names."""
        if isinstance(name, list) and name:
            return TableColumns(self, tuple(known_column(one, self.schema, "[]") for one in name))
        if not isinstance(name, str):
            raise InvalidRequest(
                f"[{short_repr(name)}] is neither a column's name nor a condition: write table['age'], or "
                "table[table['age'] >= 40]. No single record is shown."
            )
        return TableColumn(self, shown_name(known_column(name, self.schema, "[]")))

    __iter__ = None

    def __len__(self) -> int:
        raise TypeError("the number of records is private. Write count(share=...).")

    def __bool__(self) -> bool:
        return True

    if not TYPE_CHECKING:  # with it, a type checker would believe in every name

        def __getattr__(self, name: str) -> Any:
            column = vars(self) and not name.startswith("_") and name in self.schema
            if column and not any(name in vars(base).get("synonyms", ()) for base in type(self).__mro__):
                return self._column(name)
            return super().__getattr__(name)

    @abstractmethod
    def plan(
        self,
        *queries: Query,
        share: Exact,
        shares: Shares | None = None,
        options: Options = DEFAULT,
    ) -> Plan:
        """Return what would be done to answer queries, or refuse; reads and charges nothing."""

    @abstractmethod
    def _one(self, query: Query, share: Exact, options: Options, *, redraw: bool) -> Answered:
        """Answer one query."""

    @abstractmethod
    def _answered(self, plan: Plan, *, redraw: bool) -> Released:
        """Answer a plan."""

    @abstractmethod
    def explanation(self, plan: Plan) -> Explanation:
        """Return what a plan would do; reads no record and charges nothing."""

    def answer_plan(self, plan: Plan, *, redraw: bool = False) -> ReleaseTable:
        """Answer all queries of a plan from one charge."""
        return plan.tabled(self._answered(plan, redraw=redraw))

    def _several(
        self,
        queries: Sequence[Query],
        share: Exact,
        shares: Shares | None = None,
        options: Options = DEFAULT,
        *,
        redraw: bool,
    ) -> ReleaseTable:
        """Answer several queries from one charge."""
        plan = self.plan(*queries, share=share, shares=shares, options=options)
        return self.answer_plan(plan, redraw=redraw)

    def agg(
        self,
        *queries: Query | Mapping[str, str | Sequence[str]],
        share: Exact,
        shares: Shares | None = None,
        redraw: bool = False,
        **named: Query | tuple[str, str],
    ) -> ReleaseTable:
        """Answer several queries from one charge, as a table with a column for each.

        >>> import numpy
        >>> import prdp
        >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy="1", bounds={"age": (0, 120)})
        >>> answers = accounts.agg(prdp.count(), avg=prdp.mean("age"), share=0.25)
        >>> answers.asked, answers["avg"].question, accounts.remaining
        (('count', 'avg'), 'mean of age', Fraction(3, 4))

        Args:
            queries: What is asked. A query's column is named after it; ``.alias("n")`` names it otherwise.
                As in pandas, ``{"age": ["mean", "max"]}`` and ``avg=("age", "mean")`` are queries, too.
            share: The part of every record's budget for all of it.
            shares: What each query may use of it, in order or by name, such as ``{"n": 0.02, "avg": 0.08}``:
                parts of every record's budget that add up to at most ``share``, and are charged. By default,
                equal parts of ``share``.
            redraw: Pay for new answers although these questions have been answered before.
            named: More queries, each with the name of its column; ``share``, ``shares`` and ``redraw`` are
                names for ``.alias()``.
        """
        _refuse_queries(share=share, shares=shares, redraw=redraw)
        return self._several(gathered(*as_queries(queries, named)), share, shares, redraw=redraw)

    def explain(
        self,
        *queries: Query,
        share: Exact,
        shares: Shares | None = None,
        method: Chosen | None = None,
        **named: Query,
    ) -> Explanation:
        """Return what would be charged, read and drawn for queries; reads and charges nothing.

        >>> import numpy
        >>> import prdp
        >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy="1")
        >>> print(accounts.explain(prdp.count(), share=0.25))  # doctest: +ELLIPSIS
        charges  1/4 of every record's budget, before anything is read; 3/4 is left afterwards
        record   a row
        table    prdp_records is table
        answers  count
          reads  SELECT ...
          draws  tiers with share 1/4; proofs/tiers.md
        ledger   {"format": 2, "ask": [{"query": "count", "method": "clip", "share": "1/4"}], "share": "1/4"}

        Args:
            queries: What would be asked.
            share: The part of every record's budget for all of it.
            shares: As in ``agg``.
            method: The method that would answer; by default, each query's own.
            named: As in ``agg``.
        """
        _refuse_queries(share=share, shares=shares, method=method)
        asked = gathered(queries, named)
        plan = self.plan(*asked, share=share, shares=shares, options=Options.of(method))
        return self.explanation(plan)

    def count(
        self,
        *,
        share: Exact,
        method: Chosen = "clip",
        redraw: bool = False,
    ) -> Answered:
        """Count the records.

        Args:
            share: The part of every record's budget to use, such as ``"1/10"``.
            method: ``"clip"``, ``"partition"`` (the paper's Algorithm 1), ``"framework"`` (Algorithm 2) or
                ``"naive"``; with options, ``prdp.methods.Partition(beta=0.05)``.
            redraw: Pay for a new answer although this question has been answered before.
        """
        return self._one(Count(), share, Options.of(method), redraw=redraw)

    def sum(
        self,
        column: str,
        *,
        share: Exact,
        round_to: Exact | None = None,
        method: Chosen | None = None,
        redraw: bool = False,
    ) -> Answered:
        """Add up a column, or an expression over columns such as ``"price * quantity"``.

        Columns need public bounds, which may be as wide as you like; those of an expression follow from its
        columns'. ``round_to`` is what values are rounded to: by default the column's, and of an expression
        what follows from its columns'. ``method`` is ``"clip"`` by default, or ``"additive"`` where budgets
        grow with the column and that is better (docs/questions.md). Other arguments as in ``count``.

        >>> import numpy
        >>> import prdp
        >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy=prdp.Policy.constant(1))
        >>> accounts.sum("age", share="1/4")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        prdp.errors.InvalidRequest: sum('age') needs the column's public bounds. Write bounds={'age': (0, ...
        """
        return self._one(Sum(column, round_to=round_to), share, Options.of(method), redraw=redraw)

    def mean(
        self,
        column: str,
        *,
        share: Exact,
        round_to: Exact | None = None,
        method: Chosen | None = None,
        redraw: bool = False,
    ) -> Answered:
        """Find the mean of a column: 3/4 of the share goes to the sum and 1/4 to the count.

        Records without a value take no part. The parts are in the release's ``parts``; arguments as in
        ``sum``.

        >>> import numpy
        >>> import prdp
        >>> people = {"age": numpy.array([31, 58])}
        >>> accounts = prdp.open(people, policy=prdp.Policy.constant(1), bounds={"age": (0, 120)})
        >>> [(part.question, str(part.share)) for part in accounts.mean("age", share="1/2").parts]
        [('sum of age', '3/8'), ('count of age', '1/8')]
        """
        return self._one(Mean(column, round_to=round_to), share, Options.of(method), redraw=redraw)

    def variance(
        self,
        column: str,
        *,
        share: Exact,
        round_to: Exact | None = None,
        method: Chosen = "clip",
        redraw: bool = False,
    ) -> Answered:
        """Find the mean squared distance from the mean; arguments as in ``mean``.

        Half of the share goes to the mean, and half to the sum of squared distances from it.
        """
        return self._one(Variance(column, round_to=round_to), share, Options.of(method), redraw=redraw)

    def std(
        self,
        column: str,
        *,
        share: Exact,
        round_to: Exact | None = None,
        method: Chosen = "clip",
        redraw: bool = False,
    ) -> Answered:
        """Find the standard deviation: the root of ``variance``, at the same split."""
        return self._one(Std(column, round_to=round_to), share, Options.of(method), redraw=redraw)

    def max(
        self,
        column: str,
        *,
        share: Exact,
        round_to: Exact | None = None,
        method: Chosen = "choice",
        per_unit: PerUnit | None = None,
        redraw: bool = False,
    ) -> Answered:
        """Find about how large a column's largest value is; ``per_unit`` as in ``quantile``.

        The answer is the upper end of a range, 9 % wide, that is chosen by how little budget lies above it.
        """
        query = Max(column, round_to=round_to, per_unit=per_unit)
        return self._one(query, share, Options.of(method), redraw=redraw)

    def min(
        self,
        column: str,
        *,
        share: Exact,
        round_to: Exact | None = None,
        method: Chosen = "choice",
        per_unit: PerUnit | None = None,
        redraw: bool = False,
    ) -> Answered:
        """Find about how small a column's smallest value is; as ``max``."""
        query = Min(column, round_to=round_to, per_unit=per_unit)
        return self._one(query, share, Options.of(method), redraw=redraw)

    @overload
    def quantile(
        self,
        column: str,
        q: Exact,
        *,
        share: Exact,
        round_to: Exact | None = None,
        method: Chosen = "rank",
        unit_weighted: bool = False,
        per_unit: PerUnit | None = None,
        redraw: bool = False,
    ) -> Answered: ...

    @overload
    def quantile(
        self,
        column: str,
        q: list[Any] | tuple[Any, ...],
        *,
        share: Exact,
        round_to: Exact | None = None,
        method: Chosen = "rank",
        unit_weighted: bool = False,
        per_unit: PerUnit | None = None,
        redraw: bool = False,
    ) -> ReleaseTable: ...

    def quantile(
        self,
        column: str,
        q: Exact | list[Any] | tuple[Any, ...],
        *,
        share: Exact,
        round_to: Exact | None = None,
        method: Chosen = "rank",
        unit_weighted: bool = False,
        per_unit: PerUnit | None = None,
        redraw: bool = False,
    ) -> Answered | ReleaseTable:
        """Find the value below which the part ``q`` of a column's values lies, such as ``"0.99"``.

        The answer is the middle of a range, 0.3 % wide, that is chosen by weighted ranks. A list asks for
        several at once, which ascend together, and gives a table with a column for each.

        With ``per_unit``, of a table with ``privacy_unit`` or a join, the values are those of units: the
        ``"sum"``, ``"max"`` or ``"min"`` of the unit's rows, or how many of them have a value, ``"count"``.

        >>> import numpy
        >>> import prdp
        >>> people = prdp.open({"age": numpy.arange(900) % 90}, policy=5, bounds={"age": (0, 120)})
        >>> people.quantile("age", [0.1, 0.9], share=0.5).asked
        ('q0.1_age', 'q0.9_age')
        """
        if isinstance(q, Iterable) and not isinstance(q, str):
            q = listed_quantiles(q)
        query = Quantile(column, q, round_to=round_to, unit_weighted=unit_weighted, per_unit=per_unit)
        if isinstance(q, tuple):
            return self._several([query], share, options=Options.of(method), redraw=redraw)
        return self._one(query, share, Options.of(method), redraw=redraw)

    def median(
        self,
        column: str,
        *,
        share: Exact,
        round_to: Exact | None = None,
        method: Chosen = "rank",
        unit_weighted: bool = False,
        per_unit: PerUnit | None = None,
        redraw: bool = False,
    ) -> Answered:
        """Find the value with half of a column's values on either side; as ``quantile``."""
        query = Quantile(column, "1/2", round_to=round_to, unit_weighted=unit_weighted, per_unit=per_unit)
        return self._one(query, share, Options.of(method), redraw=redraw)

    def describe(self, column: str, *, share: Exact, redraw: bool = False) -> ReleaseTable:
        """Summarise a column: how many values it has, their mean, standard deviation, quartiles and extremes.

        All of it is one charge of ``share``, in six equal parts: the three quartiles share one.

        >>> import numpy
        >>> import prdp
        >>> people = prdp.open({"age": numpy.arange(9000) % 90}, policy=5, bounds={"age": (0, 120)})
        >>> people.describe("age", share=0.6).asked, people.remaining
        (('count', 'mean', 'std', 'min', 'q0.25', 'median', 'q0.75', 'max'), Fraction(2, 5))
        """
        known = f"({shown_name(column) if column in self.schema else column}) IS NOT NULL"
        quartiles = Quantile(column, listed_quantiles(["1/4", "1/2", "3/4"]))
        queries = (Sum(known), Mean(column), Std(column), Min(column), quartiles, Max(column))
        answers = self._several(queries, share, redraw=redraw)
        return replace(answers, question=f"summary of {column}", asked=_SUMMARY)

    def count_distinct(
        self,
        column: str,
        *,
        share: Exact,
        method: Chosen = "distinct",
        redraw: bool = False,
    ) -> Answered:
        """Count a column's different values: text, numbers, dates, truth values. NULL is none of them.

        The budgets of a value's records add up: a value that many records share is hardly at risk.
        """
        return self._one(CountDistinct(column), share, Options.of(method), redraw=redraw)


_BY_NAME: Mapping[str, Callable[[str], Query]] = {
    "sum": Sum,
    "mean": Mean,
    "std": Std,
    "var": Variance,
    "variance": Variance,
    "min": Min,
    "max": Max,
    "median": lambda column: Quantile(column, "1/2"),
    "nunique": CountDistinct,
    "count_distinct": CountDistinct,
    "count": count,
    "size": lambda _: Count(),
}
"""Queries of a column by what pandas calls them."""


def as_queries(
    queries: Iterable[object], named: Mapping[str, object]
) -> tuple[list[object], dict[str, object]]:
    """Return queries that are written as in pandas as prdp has them; others as they are.

    >>> positional, by_keyword = as_queries([{"age": ["mean", "max"]}], {"n": ("age", "size")})
    >>> [str(query) for query in positional], str(by_keyword["n"])
    (['mean of age', 'max of age'], 'count')
    """
    listed: list[object] = []
    for query in queries:
        if isinstance(query, Mapping):
            for column, wanted in query.items():
                listed += [_by_name(column, one) for one in ([wanted] if isinstance(wanted, str) else wanted)]
        else:
            listed.append(query)
    pairs = {name: one for name, one in named.items() if isinstance(one, tuple) and len(one) == 2}
    return listed, {**named, **{name: _by_name(*pair) for name, pair in pairs.items()}}


def _by_name(column: object, wanted: object) -> Query:
    """Return the query of a column that a name says."""
    made = _BY_NAME.get(wanted) if isinstance(wanted, str) else None
    if made is None or not isinstance(column, str):
        raise InvalidRequest(
            f"agg does not know {short_repr(wanted)} of {short_repr(column)}. Known are "
            f"{', '.join(_BY_NAME)}; quantiles are prdp.quantile('age', 0.9)."
        )
    return made(column)


def binned(
    column: str,
    edges: Iterable[Number] | None,
    number: int | Iterable[Number] | None,
    planner: Planner,
) -> Binned:
    """Return the bins of a histogram: between listed edges, or so many equal ones within public bounds.

    As in NumPy and pandas, ``bins=[0, 10, 20]`` lists edges, too.
    """
    if edges is None and isinstance(number, Iterable) and not isinstance(number, str | bytes):
        edges, number = number, None
    if (edges is None) == (number is None):
        raise InvalidRequest(
            f"histogram({column!r}) needs bins: write edges=[0, 10, 20], or bins=10 for ten of equal width "
            "within the column's public bounds."
        )
    if edges is not None:
        return bins(column, edges)
    if isinstance(number, bool) or not isinstance(number, Integral) or number < 1:
        raise InvalidRequest(
            f"bins={short_repr(number)} is not a number of bins. Write bins=10, or edges=[0, 10]."
        )
    low, high = column_range(column, planner.schema, planner.bounds)
    width = (high - low) / int(number)
    return bins(column, (low + place * width for place in range(int(number) + 1)))


def _refuse_queries(**reserved: object) -> None:
    """Refuse a query under a name that means something else."""
    for name, given in reserved.items():
        if isinstance(given, Query):
            raise InvalidRequest(
                f"{name}={given} is a query, but {name}= is no name of a column here. Write {name}=... for "
                f"what it is, and the query with .alias({name!r})."
            )
