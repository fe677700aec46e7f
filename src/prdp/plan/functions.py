"""The queries as users write them, for ``agg``, ``explain`` and ``share_for``: ``prdp.mean("balance")``."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from prdp.declare.exact import Exact
from prdp.plan.queries import Count, CountDistinct, Max, Mean, Min, Quantile, Std, Sum, Variance


def count() -> Count:
    """Ask for the number of records.

    >>> str(count()), count().alias("n").headings
    ('count', ('n',))
    """
    return Count()


def sum(column: str, *, round_to: Exact | None = None) -> Sum:  # noqa: A001  (as SQL calls it; so are max and min)
    """Ask for the sum of a column, or of an expression over columns; records without a value add nothing.

    ``round_to`` is what values are rounded to, here as in the queries below: by default the column's, and of
    an
    expression what follows from its columns'.

    >>> str(sum("balance")), str(sum("price * quantity", round_to=0.01))
    ('sum of balance', 'sum of price * quantity')
    """
    return Sum(column, round_to=round_to)


def mean(column: str, *, round_to: Exact | None = None) -> Mean:
    """Ask for the mean of a column; records without a value take no part.

    >>> mean("balance").headings
    ('mean_balance',)
    """
    return Mean(column, round_to=round_to)


def variance(column: str, *, round_to: Exact | None = None) -> Variance:
    """Ask for the mean squared distance of a column's values from their mean.

    >>> str(variance("balance"))
    'variance of balance'
    """
    return Variance(column, round_to=round_to)


def std(column: str, *, round_to: Exact | None = None) -> Std:
    """Ask for the standard deviation of a column: the root of its variance.

    >>> str(std("balance"))
    'std of balance'
    """
    return Std(column, round_to=round_to)


def max(column: str, *, round_to: Exact | None = None) -> Max:  # noqa: A001
    """Ask for the largest value of a column.

    >>> [method.name for method in max("balance").methods]
    ['choice', 'framework']
    """
    return Max(column, round_to=round_to)


def min(column: str, *, round_to: Exact | None = None) -> Min:  # noqa: A001
    """Ask for the smallest value of a column.

    >>> str(min("balance"))
    'min of balance'
    """
    return Min(column, round_to=round_to)


def quantile(column: str, q: Exact | Iterable[Exact], *, round_to: Exact | None = None) -> Quantile:
    """Ask for the value below which the part ``q`` of a column's values lies; a list asks for several.

    >>> str(quantile("balance", 0.9)), quantile("balance", [0.25, 0.75]).headings
    ('0.9 quantile of balance', ('q0.25_balance', 'q0.75_balance'))
    """
    return Quantile(column, listed_quantiles(q), round_to=round_to)


def median(column: str, *, round_to: Exact | None = None) -> Quantile:
    """Ask for the middle value of a column.

    >>> median("balance").headings
    ('median_balance',)
    """
    return Quantile(column, (Fraction(1, 2),), round_to=round_to)


def count_distinct(column: str) -> CountDistinct:
    """Ask for the number of different values of a column; NULL is none of them.

    >>> count_distinct("job").headings
    ('count_distinct_job',)
    """
    return CountDistinct(column)


def listed_quantiles(at: object) -> tuple[Exact, ...]:
    """Return the parts that a caller lists, as a tuple.

    >>> listed_quantiles([0.25, 0.5]), listed_quantiles("1/2")
    ((0.25, 0.5), ('1/2',))
    """
    return tuple(at) if isinstance(at, Iterable) and not isinstance(at, str) else (at,)  # type: ignore[return-value]
