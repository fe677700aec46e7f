"""The questions that users ask, one method each; tables answer with releases, groups with tables of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, TypeVar

from prdp.exact import Exact
from prdp.query import Count, Distinct, Max, Mean, Min, Quantile, Query, Std, Sum, Variance

Answered = TypeVar("Answered")


class Questions(ABC, Generic[Answered]):
    """What can be asked.

    Every question takes ``share``, the part of every record's budget to use, such as ``"1/10"``, and
    ``fresh``, to pay for a new answer although the same question has been answered before.
    """

    @abstractmethod
    def _one(
        self,
        query: Query,
        share: Exact,
        *,
        fresh: bool,
        method: str | None = None,
        beta: Exact | None = None,
        graded: bool | None = None,
    ) -> Answered:
        """Answer one query."""

    def count(
        self,
        *,
        share: Exact,
        method: str = "clip",
        beta: Exact | None = None,
        graded: bool | None = None,
        fresh: bool = False,
    ) -> Answered:
        """Count the records.

        Args:
            share: The part of every record's budget to use, such as ``"1/10"``.
            method: ``"clip"``, ``"partition"`` (the paper's Algorithm 1) or ``"naive"``.
            beta: For ``partition``: the failure rate, by default ``"1/10"``.
            graded: For ``partition``: thresholds that make bad failures rarer.
            fresh: Pay for a new answer although this question has been answered before.
        """
        return self._one(Count(), share, method=method, beta=beta, graded=graded, fresh=fresh)

    def sum(
        self,
        column: str,
        *,
        share: Exact,
        method: str = "clip",
        beta: Exact | None = None,
        graded: bool | None = None,
        fresh: bool = False,
    ) -> Answered:
        """Add up a column, in its unit; arguments as in ``count``.

        The column needs public bounds; they may be as wide as you like.
        """
        return self._one(Sum(column), share, method=method, beta=beta, graded=graded, fresh=fresh)

    def mean(self, column: str, *, share: Exact, method: str = "clip", fresh: bool = False) -> Answered:
        """Find the mean of a column: 3/4 of the share goes to the sum and 1/4 to the count.

        Records without a value take no part. The parts are in the release's ``parts``.
        """
        return self._one(Mean(column), share, method=method, fresh=fresh)

    def variance(self, column: str, *, share: Exact, method: str = "clip", fresh: bool = False) -> Answered:
        """Find the mean squared distance from the mean; arguments as in ``mean``.

        Half of the share goes to the mean, and half to the sum of squared distances from it.
        """
        return self._one(Variance(column), share, method=method, fresh=fresh)

    def std(self, column: str, *, share: Exact, method: str = "clip", fresh: bool = False) -> Answered:
        """Find the standard deviation: the root of ``variance``, at the same split."""
        return self._one(Std(column), share, method=method, fresh=fresh)

    def max(self, column: str, *, share: Exact, method: str = "choice", fresh: bool = False) -> Answered:
        """Find about how large a column's largest value is.

        The answer is the upper end of a range, 9 % wide, that is chosen by how little budget lies above it.
        """
        return self._one(Max(column), share, method=method, fresh=fresh)

    def min(self, column: str, *, share: Exact, method: str = "choice", fresh: bool = False) -> Answered:
        """Find about how small a column's smallest value is; as ``max``."""
        return self._one(Min(column), share, method=method, fresh=fresh)

    def quantile(
        self, column: str, q: float | Exact, *, share: Exact, method: str = "rank", fresh: bool = False
    ) -> Answered:
        """Find the value below which the part ``q`` of a column's values lies, such as ``"0.99"``.

        The answer is the middle of a range, 0.3 % wide, that is chosen by weighted ranks.
        """
        return self._one(Quantile(column, q), share, method=method, fresh=fresh)

    def median(self, column: str, *, share: Exact, method: str = "rank", fresh: bool = False) -> Answered:
        """Find the value with half of a column's values on either side; as ``quantile``."""
        return self._one(Quantile(column, "1/2"), share, method=method, fresh=fresh)

    def distinct(
        self, column: str, *, share: Exact, method: str = "distinct", fresh: bool = False
    ) -> Answered:
        """Count a column's different values: text, whole numbers, dates, truth values. NULL is none of them.

        The budgets of a value's records add up: a value that many records share is hardly at risk.
        """
        return self._one(Distinct(column), share, method=method, fresh=fresh)


def listed_quantiles(at: object) -> tuple[float | Exact, ...]:
    """Return the parts that a caller lists, as a tuple."""
    return tuple(at) if isinstance(at, Iterable) and not isinstance(at, str) else (at,)  # type: ignore[return-value]
