"""A column, or an expression over columns, written as in pandas and Polars: ``table["age"] >= 40``."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NoReturn, TypeVar, overload

from prdp.declare.columns import ColumnExpression, Number
from prdp.declare.exact import Exact, short_repr
from prdp.errors import InvalidRequest
from prdp.expressions.tokens import moment_literal, shown_name, text_literal
from prdp.release.public_names import Completed, renamed
from prdp.release.table import ReleaseTable

if TYPE_CHECKING:
    from prdp.sql.results import SqlAnswers
    from prdp.tables.query_methods import Questions

Answered = TypeVar("Answered")

_NAME_OR_CONSTANT = re.compile(r"""\w+(\.\d+)?|"[^"]*"|'[^']*'|(DATE|TIMESTAMP) '[^']*'""")
_DATE_PARTS = {
    **{
        part: f"{part}({{}})"
        for part in ("year", "quarter", "month", "week", "day", "dayofyear", "hour", "minute", "second")
    },
    **dict.fromkeys(("dayofweek", "weekday"), "isodow({}) - 1"),  # as in pandas, from 0 for Monday
    "days": "floor({})",  # of a difference, which is in days
}
_OTHER_PARTS = {
    "": " To group by days or months, write prdp.date_trunc('day', 'opened').",
    "to_period": " To count by months, write table.value_counts(prdp.date_trunc('month', 'opened'), "
    "between=('2026-01-01', '2026-12-31'), share=...).",
    "total_seconds": " Write table.mean(\"date_diff('second', opened, closed)\", share=...).",
}
_NUMPY_FUNCTIONS = {
    **{name: f"{name}({{}})" for name in ("sqrt", "exp", "log2", "log10", "floor", "ceil", "sign")},
    "log": "ln({})", "log1p": "ln(1 + {})", "absolute": "abs({})", "rint": "round({})",
    "maximum": "greatest({}, {})", "minimum": "least({}, {})", "power": "power({}, {})",
    "add": "{} + {}", "subtract": "{} - {}", "multiply": "{} * {}", "divide": "{} / {}",
    "remainder": "{} % {}", "equal": "{} = {}", "not_equal": "{} <> {}", "less": "{} < {}",
    "less_equal": "{} <= {}", "greater": "{} > {}", "greater_equal": "{} >= {}", "negative": "-{}",
    "logical_and": "{} AND {}", "logical_or": "{} OR {}", "logical_not": "NOT {}",
}  # fmt: skip
"""Expressions for functions of NumPy, which also apply operators between its numbers and a column."""

_MIRRORED = {
    "equal": "equal", "not_equal": "not_equal", "less": "greater", "greater": "less",
    "less_equal": "greater_equal", "greater_equal": "less_equal",
}  # fmt: skip

OF_ONE_COLUMN = ("sum", "mean", "std", "var", "min", "max", "median", "nunique", "count")
"""Queries that ``agg`` knows by their name, and that a list of columns has."""

_TEXT_FUNCTIONS = {
    "len": "length",
    "lower": "lower",
    "upper": "upper",
    "strip": "trim",
    "startswith": "starts_with",
    "endswith": "ends_with",
    "contains": "contains",
}


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class TableColumn(Completed, ColumnExpression, Generic[Answered]):
    """A column of a table, or an expression over its columns: ``table["age"]``, ``table.age``.

    Comparisons, arithmetic, ``&``, ``|`` and ``~`` give expressions (docs/expressions.md), by which a table
    is filtered or grouped. Nothing is read before a query is asked.

    >>> import numpy
    >>> import prdp
    >>> people = prdp.open({"age": numpy.array([31, 58])}, policy="1", bounds={"age": (0, 120)})
    >>> (people["age"] >= 40) & ~people["age"].isin([58, 59])
    <column (age >= 40) AND (NOT (age IN (58, 59)))>
    >>> people[people["age"] >= 40]["age"].mean(share=0.5).question
    'mean of age where age >= 40'
    """

    synonyms: ClassVar[Mapping[builtins.str, builtins.str]] = {
        **renamed("count_distinct", "nunique", "n_unique"),
        **renamed("variance", "var"),
        **renamed("fillna", "fill_null"),
        **renamed("histogram", "hist"),
    }
    hints: ClassVar[Mapping[builtins.str, builtins.str]] = {
        **renamed("count_distinct(share=...)", "unique"),
        **renamed("mean(share=...)", "avg", "average"),
        **renamed("std(share=...)", "stddev"),
        **renamed("quantile([0.25, 0.75], share=...)", "percentile", "quantiles"),
        **renamed("isna()", "isnull", "is_null"),
        **renamed("notna()", "notnull", "is_not_null"),
        **renamed("isin([...])", "is_in"),
        **renamed("between(low, high)", "is_between"),
        **renamed("an expression: table.mean('round(age)', share=...)", "round", "floor", "ceil"),
        **renamed("table.sum('x * y', share=...), with sums of x and of y", "corr", "cov", "corrwith"),
        **renamed("table.schema", "dtype", "dtypes", "info"),
        **renamed("count(share=...)", "size", "shape", "len"),
        **renamed("value_counts(share=...).top(1)", "mode"),
        **renamed("table.top_keys('job', 3, share=...)", "top_k", "nlargest"),
        **renamed(
            "table.explain(prdp.mean('age'), share=...)",
            *("explain", "explain_count", "explain_sum", "explain_mean", "explain_median", "explain_max"),
        ),
        **renamed("histogram(bins=10, share=...).plot()", "plot"),
        **renamed("an expression: table.mean('length(job)', share=...)", "apply", "map", "astype", "cast"),
        **renamed(
            "value_counts(share=...) or histogram(bins=10, share=...): no single record is shown",
            *("head", "tail", "values", "to_list", "tolist", "to_numpy", "iloc", "loc"),
        ),
    }

    table: Questions[Answered]
    text: builtins.str

    def __repr__(self) -> builtins.str:
        return f"<column {self.text}>"

    def __str__(self) -> builtins.str:
        return self.text

    def __bool__(self) -> bool:
        raise InvalidRequest(
            "a condition on a column is true or false of each record, not as a whole. Join conditions by & "
            "and |, each in parentheses: (table['age'] >= 40) & (table['job'] == 'chef')."
        )

    __hash__ = None  # type: ignore[assignment]
    __iter__ = None

    def __array_ufunc__(self, ufunc: Any, method: builtins.str, *values: object, **_: Any) -> Any:
        """Return NumPy's function of the column, ``numpy.log(table["pay"])``, as an expression."""
        name = ufunc.__name__
        if name in _MIRRORED and not isinstance(values[0], TableColumn):
            name, values = _MIRRORED[name], values[::-1]  # as Python does with numbers of its own
        template = _NUMPY_FUNCTIONS.get(name) if method == "__call__" else None
        if template is None:
            raise TypeError(
                f"numpy.{name} of a column is not available. Of NumPy's functions, these are: "
                f"{', '.join(name for name, made in _NUMPY_FUNCTIONS.items() if '(' in made)}."
            )
        return TableColumn(self.table, template.format(*map(operand, values)))

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise TypeError(
            f"the values of {self.text} are not handed out. To group by intervals, write "
            f"group_by(prdp.bins({self.text!r}, [0, 10, 20])), where 10 lies in the second interval; or "
            "histogram(bins=10, share=...)."
        )

    def _with(self, template: builtins.str, *values: object) -> TableColumn[Answered]:
        return TableColumn(self.table, template.format(operand(self), *map(operand, values)))

    def __eq__(self, other: object) -> TableColumn[Answered]:  # type: ignore[override]
        return self._with("{} = {}", other)

    def __ne__(self, other: object) -> TableColumn[Answered]:  # type: ignore[override]
        return self._with("{} <> {}", other)

    def __lt__(self, other: object) -> TableColumn[Answered]:
        return self._with("{} < {}", other)

    def __le__(self, other: object) -> TableColumn[Answered]:
        return self._with("{} <= {}", other)

    def __gt__(self, other: object) -> TableColumn[Answered]:
        return self._with("{} > {}", other)

    def __ge__(self, other: object) -> TableColumn[Answered]:
        return self._with("{} >= {}", other)

    def __and__(self, other: object) -> TableColumn[Answered]:
        return self._with("{} AND {}", other)

    def __or__(self, other: object) -> TableColumn[Answered]:
        return self._with("{} OR {}", other)

    def __invert__(self) -> TableColumn[Answered]:
        return self._with("NOT {}")

    def __neg__(self) -> TableColumn[Answered]:
        return self._with("-{}")

    def __abs__(self) -> TableColumn[Answered]:
        return self._with("abs({})")

    def __add__(self, other: object) -> TableColumn[Answered]:
        return self._with("{} + {}", other)

    def __radd__(self, other: object) -> TableColumn[Answered]:
        return self._with("{1} + {0}", other)

    def __sub__(self, other: object) -> TableColumn[Answered]:
        return self._with("{} - {}", other)

    def __rsub__(self, other: object) -> TableColumn[Answered]:
        return self._with("{1} - {0}", other)

    def __mul__(self, other: object) -> TableColumn[Answered]:
        return self._with("{} * {}", other)

    def __rmul__(self, other: object) -> TableColumn[Answered]:
        return self._with("{1} * {0}", other)

    def __truediv__(self, other: object) -> TableColumn[Answered]:
        return self._with("{} / {}", other)

    def __rtruediv__(self, other: object) -> TableColumn[Answered]:
        return self._with("{1} / {0}", other)

    def __mod__(self, other: object) -> TableColumn[Answered]:
        return self._with("{} % {}", other)

    def isin(self, values: Iterable[object]) -> TableColumn[Answered]:
        """Return the condition that the value is one of a public list."""
        if isinstance(values, builtins.str) or not isinstance(values, Iterable):
            raise InvalidRequest(f"isin({short_repr(values)}) is no list: write isin(['chef', 'clerk']).")
        listed = list(values)
        return self._with("{} IN (" + ", ".join(["{}"] * len(listed)) + ")", *listed)

    def between(self, low: object, high: object) -> TableColumn[Answered]:
        """Return the condition that the value lies from ``low`` to ``high``, both included."""
        return self._with("{} BETWEEN {} AND {}", low, high)

    def clip(self, lower: object = None, upper: object = None) -> TableColumn[Answered]:
        """Return the values with those below ``lower`` and above ``upper`` moved there."""
        raised = self if lower is None else self._with("greatest({}, {})", lower)
        return raised if upper is None else TableColumn(self.table, f"least({raised}, {operand(upper)})")

    def isna(self) -> TableColumn[Answered]:
        """Return the condition that the value is missing."""
        return self._with("{} IS NULL")

    def fillna(self, value: object) -> TableColumn[Answered]:
        """Return the values with a constant in place of missing ones."""
        return self._with("coalesce({}, {})", value)

    def notna(self) -> TableColumn[Answered]:
        """Return the condition that the value is not missing."""
        return self._with("{} IS NOT NULL")

    @property
    def dt(self) -> Accessor[Answered]:
        """The parts of a date: ``table["opened"].dt.year``; days of the week count from 0 for Monday.

        Of a difference of dates, ``.dt.days``.
        """
        return Accessor(self, _DATE_PARTS)

    @property
    def str(self) -> Accessor[Answered]:
        """Functions of a text: ``table["job"].str.startswith("ch")``."""
        return Accessor(self, _TEXT_FUNCTIONS, called=True)

    def count(self, *, share: Exact, **options: Any) -> Answered:
        """Count the records that have a value; arguments as in ``Table.count``."""
        return self.table.filter(self.notna()).count(share=share, **options)

    def sum(self, *, share: Exact, **options: Any) -> Answered:
        """Add up the values; of a condition, count the records for which it holds. As ``Table.sum``."""
        return self.table.sum(self.text, share=share, **options)

    def mean(self, *, share: Exact, **options: Any) -> Answered:
        """Find the mean; of a condition, the proportion of records for which it holds. As ``Table.mean``."""
        return self.table.mean(self.text, share=share, **options)

    def variance(self, *, share: Exact, **options: Any) -> Answered:
        """Find the variance; as ``Table.variance``."""
        return self.table.variance(self.text, share=share, **options)

    def std(self, *, share: Exact, **options: Any) -> Answered:
        """Find the standard deviation; as ``Table.std``."""
        return self.table.std(self.text, share=share, **options)

    def min(self, *, share: Exact, **options: Any) -> Answered:
        """Find about how small the smallest value is; as ``Table.min``."""
        return self.table.min(self.text, share=share, **options)

    def max(self, *, share: Exact, **options: Any) -> Answered:
        """Find about how large the largest value is; as ``Table.max``."""
        return self.table.max(self.text, share=share, **options)

    def median(self, *, share: Exact, **options: Any) -> Answered:
        """Find the median; as ``Table.median``."""
        return self.table.median(self.text, share=share, **options)

    def quantile(self, q: Any, *, share: Exact, **options: Any) -> Answered | ReleaseTable:
        """Find a quantile, or several of a list; as ``Table.quantile``."""
        found: Answered | ReleaseTable = self.table.quantile(self.text, q, share=share, **options)
        return found

    def count_distinct(self, *, share: Exact, **options: Any) -> Answered:
        """Count the different values; as ``Table.count_distinct``."""
        return self.table.count_distinct(self.text, share=share, **options)

    def agg(
        self, wanted: builtins.str | Sequence[builtins.str], *, share: Exact, **options: Any
    ) -> ReleaseTable:
        """Answer several queries of the column, named as in pandas: ``agg(["mean", "max"], share=0.1)``."""
        return self.table.agg({self.text: wanted}, share=share, **options)

    def describe(self, *, share: Exact, **options: Any) -> ReleaseTable:
        """Summarise the values: mean, standard deviation, quartiles, extremes. As ``Table.describe``."""
        return self.table.describe(self.text, share=share, **options)

    @overload
    def value_counts(self, *, share: Exact, normalize: Literal[True], **options: Any) -> SqlAnswers: ...

    @overload
    def value_counts(self, *, share: Exact, **options: Any) -> ReleaseTable: ...

    def value_counts(self, *, share: Exact, **options: Any) -> ReleaseTable | SqlAnswers:
        """Count the records of each value; as ``Table.value_counts``."""
        table: Any = self.table
        counted: ReleaseTable | SqlAnswers = table.value_counts(self.text, share=share, **options)
        return counted

    def histogram(
        self,
        *,
        share: Exact,
        bins: int | Iterable[Number] | None = None,
        edges: Iterable[Number] | None = None,
        **options: Any,
    ) -> ReleaseTable:
        """Count the records in each of some bins; as ``Table.histogram``."""
        table: Any = self.table
        counted: ReleaseTable = table.histogram(self.text, bins=bins, edges=edges, share=share, **options)
        return counted


@dataclass(frozen=True, slots=True)
class Accessor(Completed, Generic[Answered]):
    """The functions of dates or of texts that a column offers as ``.dt`` and ``.str``.

    Attributes:
        column: The column.
        functions: By name, an expression with {} for the column, or a function that is called.
        called: Whether they are functions.
    """

    column: TableColumn[Answered]
    functions: Mapping[str, str]
    called: bool = False

    def __getattr__(self, name: str) -> Any:
        function = self.functions.get(name)
        if function is None:
            more = "" if self.called else _OTHER_PARTS.get(name, _OTHER_PARTS[""])
            raise AttributeError(f"there is no {name!r} here, but {', '.join(self.functions)}.{more}")
        if self.called:
            return lambda *values: _called(self.column, function, values)
        return TableColumn(self.column.table, function.format(self.column.text))

    def __dir__(self) -> Iterable[str]:
        """Return the names of the functions."""
        return sorted(self.functions)


def _called(column: TableColumn[Answered], function: str, values: Iterable[object]) -> TableColumn[Answered]:
    """Return a function of a column and of constants."""
    return TableColumn(column.table, f"{function}({', '.join([column.text, *map(operand, values)])})")


def all_of(conditions: Iterable[object], equal: Mapping[str, object]) -> object:
    """Return the condition that all of several hold, and that columns have the values that keywords say.

    >>> all_of(["age >= 40", "vip OR job = 'chef'"], {"town": "Ulm"})
    "(age >= 40) AND (vip OR job = 'chef') AND (town = 'Ulm')"
    """
    listed = [
        *map(text_of, conditions),
        *(f"{shown_name(name)} = {operand(one)}" for name, one in equal.items()),
    ]
    if not listed:
        raise InvalidRequest("filter takes a condition: filter('age >= 40').")
    if len(listed) == 1 or not all(isinstance(one, str) for one in listed):
        return next((one for one in listed if not isinstance(one, str)), listed[0])
    return " AND ".join(f"({one})" for one in listed)


def text_of(expression: object) -> object:
    """Return the text of a column or a condition; anything else as it is.

    >>> text_of("age >= 40")
    'age >= 40'
    """
    return expression.text if isinstance(expression, TableColumn) else expression


def operand(value: object) -> str:
    """Return a value as the row language writes it, in parentheses where it is an expression.

    >>> operand("O'Neill"), operand(2.5), operand(date(2026, 1, 31)), operand(True)
    ("'O''Neill'", '2.5', "DATE '2026-01-31'", 'TRUE')
    """
    scalar = type(value).__module__ == "numpy" and hasattr(value, "item") and not getattr(value, "shape", ())
    value = value.item() if scalar else value  # type: ignore[attr-defined]
    match value:
        case TableColumn():
            return value.text if _NAME_OR_CONSTANT.fullmatch(value.text) else f"({value.text})"
        case bool():
            return str(value).upper()
        case str():
            return text_literal(value)
        case datetime():
            return moment_literal(value)
        case date():
            return moment_literal(datetime.combine(value, time()))
        case Decimal() | Real():
            return f"({value})" if value < 0 else str(value)
        case _:
            raise InvalidRequest(
                f"{short_repr(value)} cannot be compared with a column here. Write a number, a text, a date, "
                "or isna() for a missing value; or the whole condition as SQL: table.filter('age >= 40')."
            )


@dataclass(frozen=True, slots=True)
class TableColumns(Generic[Answered]):
    """Several columns of a table or of its groups: ``table[["age", "pay"]].mean(share=0.1)``.

    Attributes:
        table: The table or groups.
        names: The columns.
    """

    table: Questions[Answered]
    names: tuple[str, ...]

    def agg(self, wanted: str | Sequence[str], *, share: Exact, **options: Any) -> ReleaseTable:
        """Answer queries of each column, named as in pandas, from one charge of ``share``."""
        return self.table.agg(dict.fromkeys(self.names, wanted), share=share, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in OF_ONE_COLUMN:
            raise AttributeError(
                f"several columns have no {name!r}, but {', '.join(OF_ONE_COLUMN)}. Others are asked of one "
                f"column: table[{self.names[0]!r}]."
            )
        return partial(self.agg, name)
