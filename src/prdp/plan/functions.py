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


def sum(column: str) -> Sum:  # noqa: A001  (as SQL calls it; so are max and min)
    """Ask for the sum of a column; records without a value add nothing.

    >>> str(sum("balance"))
    'sum of balance'
    """
    return Sum(column)


def mean(column: str) -> Mean:
    """Ask for the mean of a column; records without a value take no part.

    >>> mean("balance").headings
    ('mean_balance',)
    """
    return Mean(column)


def variance(column: str) -> Variance:
    """Ask for the mean squared distance of a column's values from their mean.

    >>> str(variance("balance"))
    'variance of balance'
    """
    return Variance(column)


def std(column: str) -> Std:
    """Ask for the standard deviation of a column: the root of its variance.

    >>> str(std("balance"))
    'std of balance'
    """
    return Std(column)


def max(column: str) -> Max:  # noqa: A001
    """Ask for the largest value of a column.

    >>> [method.name for method in max("balance").methods]
    ['choice', 'framework']
    """
    return Max(column)


def min(column: str) -> Min:  # noqa: A001
    """Ask for the smallest value of a column.

    >>> str(min("balance"))
    'min of balance'
    """
    return Min(column)


def quantile(column: str, q: Exact | Iterable[Exact]) -> Quantile:
    """Ask for the value below which the part ``q`` of a column's values lies; a list asks for several.

    >>> str(quantile("balance", 0.9)), quantile("balance", [0.25, 0.75]).headings
    ('0.9 quantile of balance', ('q0.25_balance', 'q0.75_balance'))
    """
    return Quantile(column, listed_quantiles(q))


def median(column: str) -> Quantile:
    """Ask for the middle value of a column.

    >>> median("balance").headings
    ('median_balance',)
    """
    return Quantile(column, (Fraction(1, 2),))


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
