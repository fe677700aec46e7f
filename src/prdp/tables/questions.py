"""The questions that users ask, one method each; tables answer with releases, groups with tables of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from prdp.declare.exact import Exact
from prdp.plan.methods import DEFAULT, Options
from prdp.plan.plan import Plan
from prdp.plan.queries import Count, CountDistinct, Max, Mean, Min, Quantile, Query, Std, Sum, Variance
from prdp.release.table import Released, ReleaseTable

Answered = TypeVar("Answered")


class Questions(ABC, Generic[Answered]):
    """What can be asked.

    Every question takes ``share``, the part of every record's budget to use, such as ``"1/10"``, and
    ``fresh``, to pay for a new answer although the same question has been answered before. Most can be
    answered by ``method="framework"``, the paper's Algorithm 2: ``split`` is then the part of the share that
    finds out where budgets become numerous (by default 1/4; the paper's is 1/2), ``beta`` the failure rate.
    """

    @abstractmethod
    def plan(
        self,
        *queries: Query,
        share: Exact,
        split: Sequence[Exact] | None = None,
        options: Options = DEFAULT,
    ) -> Plan:
        """Return what would be done to answer queries, or refuse; reads and charges nothing."""

    @abstractmethod
    def _one(self, query: Query, share: Exact, options: Options, *, fresh: bool) -> Answered:
        """Answer one query."""

    @abstractmethod
    def _answered(self, plan: Plan, *, fresh: bool) -> Released:
        """Answer a plan."""

    @abstractmethod
    def _in_words(self, plan: Plan) -> str:
        """Explain a plan."""

    def agg(
        self, *queries: Query, share: Exact, split: Sequence[Exact] | None = None, fresh: bool = False
    ) -> ReleaseTable:
        """Answer several queries, such as ``prdp.Count(), prdp.Mean("balance")``, from one charge.

        >>> import numpy
        >>> import prdp
        >>> people = {"age": numpy.array([31, 58])}
        >>> accounts = prdp.open(people, policy=prdp.Policy.constant(1), bounds={"age": (0, 120)})
        >>> accounts.agg(prdp.Count(), prdp.Mean("age"), share="1/4").asked, accounts.ledger.left
        (('count', 'mean_age'), Fraction(3, 4))

        Args:
            queries: What is asked.
            share: The part of every record's budget for all of it.
            split: What part of the share each query gets; by default, equal parts.
            fresh: Pay for new answers although these questions have been answered before.
        """
        plan = self.plan(*queries, share=share, split=split)
        return plan.tabled(self._answered(plan, fresh=fresh))

    def explain(
        self,
        *queries: Query,
        share: Exact,
        split: Sequence[Exact] | None = None,
        method: str | None = None,
    ) -> str:
        """Return what would be charged, read and drawn for queries; reads and charges nothing.

        >>> import numpy
        >>> import prdp
        >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy=prdp.Policy.constant(1))
        >>> print(accounts.explain(prdp.Count(), share="1/4"))  # doctest: +ELLIPSIS
        charges  1/4 of every record's budget, before anything is read
        answers  count
        ...

        Args:
            queries: What would be asked.
            share: The part of every record's budget for all of it.
            split: What part of the share each query gets; by default, equal parts.
            method: Which mechanism would answer; by default, each query's own.
        """
        plan = self.plan(*queries, share=share, split=split, options=Options(method))
        return self._in_words(plan)

    def count(
        self,
        *,
        share: Exact,
        method: str = "clip",
        beta: Exact | None = None,
        graded: bool | None = None,
        split: Exact | None = None,
        fresh: bool = False,
    ) -> Answered:
        """Count the records.

        Args:
            share: The part of every record's budget to use, such as ``"1/10"``.
            method: ``"clip"``, ``"partition"`` (the paper's Algorithm 1), ``"framework"`` or ``"naive"``.
            beta: For ``partition`` and ``framework``: the failure rate, by default ``"1/10"``.
            graded: For ``partition``: thresholds that make bad failures rarer.
            split: For ``framework``: the part of the share for its first stage.
            fresh: Pay for a new answer although this question has been answered before.
        """
        return self._one(Count(), share, Options(method, beta, graded, split), fresh=fresh)

    def sum(
        self,
        column: str,
        *,
        share: Exact,
        grain: Exact | None = None,
        method: str = "clip",
        beta: Exact | None = None,
        graded: bool | None = None,
        split: Exact | None = None,
        fresh: bool = False,
    ) -> Answered:
        """Add up a column, or an expression over columns such as ``"price * quantity"``.

        Columns need public bounds, which may be as wide as you like; those of an expression follow from its
        columns'. ``grain`` is what values are rounded to: by default the column's, and of an expression what
        follows from its columns'. Other arguments as in ``count``.

        >>> import numpy
        >>> import prdp
        >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy=prdp.Policy.constant(1))
        >>> accounts.sum("age", share="1/4")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        prdp.errors.InvalidRequest: sum('age') needs the column's public bounds. Write bounds={'age': (0, ...
        """
        return self._one(Sum(column, grain=grain), share, Options(method, beta, graded, split), fresh=fresh)

    def mean(
        self,
        column: str,
        *,
        share: Exact,
        grain: Exact | None = None,
        method: str = "clip",
        beta: Exact | None = None,
        split: Exact | None = None,
        fresh: bool = False,
    ) -> Answered:
        """Find the mean of a column: 3/4 of the share goes to the sum and 1/4 to the count.

        Records without a value take no part. The parts are in the release's ``parts``.

        >>> import numpy
        >>> import prdp
        >>> people = {"age": numpy.array([31, 58])}
        >>> accounts = prdp.open(people, policy=prdp.Policy.constant(1), bounds={"age": (0, 120)})
        >>> [(part.question, str(part.share)) for part in accounts.mean("age", share="1/2").parts]
        [('sum of age', '3/8'), ('count of age', '1/8')]
        """
        return self._one(Mean(column, grain=grain), share, Options(method, beta, split=split), fresh=fresh)

    def variance(
        self,
        column: str,
        *,
        share: Exact,
        grain: Exact | None = None,
        method: str = "clip",
        fresh: bool = False,
    ) -> Answered:
        """Find the mean squared distance from the mean; arguments as in ``mean``.

        Half of the share goes to the mean, and half to the sum of squared distances from it.
        """
        return self._one(Variance(column, grain=grain), share, Options(method), fresh=fresh)

    def std(
        self,
        column: str,
        *,
        share: Exact,
        grain: Exact | None = None,
        method: str = "clip",
        fresh: bool = False,
    ) -> Answered:
        """Find the standard deviation: the root of ``variance``, at the same split."""
        return self._one(Std(column, grain=grain), share, Options(method), fresh=fresh)

    def max(
        self,
        column: str,
        *,
        share: Exact,
        grain: Exact | None = None,
        method: str = "choice",
        beta: Exact | None = None,
        split: Exact | None = None,
        fresh: bool = False,
    ) -> Answered:
        """Find about how large a column's largest value is.

        The answer is the upper end of a range, 9 % wide, that is chosen by how little budget lies above it.
        """
        return self._one(Max(column, grain=grain), share, Options(method, beta, split=split), fresh=fresh)

    def min(
        self,
        column: str,
        *,
        share: Exact,
        grain: Exact | None = None,
        method: str = "choice",
        beta: Exact | None = None,
        split: Exact | None = None,
        fresh: bool = False,
    ) -> Answered:
        """Find about how small a column's smallest value is; as ``max``."""
        return self._one(Min(column, grain=grain), share, Options(method, beta, split=split), fresh=fresh)

    def quantile(
        self,
        column: str,
        q: float | Exact,
        *,
        share: Exact,
        grain: Exact | None = None,
        method: str = "rank",
        beta: Exact | None = None,
        split: Exact | None = None,
        fresh: bool = False,
    ) -> Answered:
        """Find the value below which the part ``q`` of a column's values lies, such as ``"0.99"``.

        The answer is the middle of a range, 0.3 % wide, that is chosen by weighted ranks.
        """
        query = Quantile(column, q, grain=grain)
        return self._one(query, share, Options(method, beta, split=split), fresh=fresh)

    def median(
        self,
        column: str,
        *,
        share: Exact,
        grain: Exact | None = None,
        method: str = "rank",
        beta: Exact | None = None,
        split: Exact | None = None,
        fresh: bool = False,
    ) -> Answered:
        """Find the value with half of a column's values on either side; as ``quantile``."""
        query = Quantile(column, "1/2", grain=grain)
        return self._one(query, share, Options(method, beta, split=split), fresh=fresh)

    def count_distinct(
        self,
        column: str,
        *,
        share: Exact,
        method: str = "distinct",
        beta: Exact | None = None,
        split: Exact | None = None,
        fresh: bool = False,
    ) -> Answered:
        """Count a column's different values: text, numbers, dates, truth values. NULL is none of them.

        The budgets of a value's records add up: a value that many records share is hardly at risk.
        """
        return self._one(CountDistinct(column), share, Options(method, beta, split=split), fresh=fresh)


def listed_quantiles(at: object) -> tuple[float | Exact, ...]:
    """Return the parts that a caller lists, as a tuple.

    >>> listed_quantiles([0.25, 0.5]), listed_quantiles("1/2")
    ((0.25, 0.5), ('1/2',))
    """
    return tuple(at) if isinstance(at, Iterable) and not isinstance(at, str) else (at,)  # type: ignore[return-value]
