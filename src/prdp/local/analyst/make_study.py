"""Make a study of a query: the words of the central model, asked of clients that trust nobody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from prdp.declare.columns import Number
from prdp.declare.exact import Exact, exact, short_repr
from prdp.declare.groups import Binned
from prdp.errors import InvalidRequest
from prdp.local.analyst.framework_study import frequencies
from prdp.local.analyst.study import CountStudy, Study, SumStudy
from prdp.local.protocols.categories import Bins, Categories
from prdp.local.protocols.summing import measured
from prdp.plan.queries import Count, Mean, Sum
from prdp.plan.query_base import Asked
from prdp.policy import Policy
from prdp.schema import ColumnType, Kind

COUNTED: Mapping[str, Mapping[str, Any]] = {
    "bits": {"noise": "bits"},
    "laplace": {"noise": "laplace"},
    "printed": {"noise": "laplace", "threshold": "paper"},
    "proportional": {"proportional": True},
}
"""The methods of a count, the default first: what each means to ``CountStudy``."""


def study(
    query: Asked,
    *,
    policy: Policy | str,
    share: Exact,
    bounds: Mapping[str, tuple[Number, Number]] | None = None,
    round_to: Mapping[str, Exact] | None = None,
    by: Categories | Bins | Binned | str | None = None,
    keys: Sequence[str | int] | None = None,
    method: str | None = None,
    name: str | None = None,
    beta: Exact = "1/10",
) -> Study:
    """Return the study that asks clients a query, in the words that ``prdp.open`` and ``agg`` use.

    >>> import prdp
    >>> pay = prdp.local.study(
    ...     prdp.mean("income"), policy="20 / visits", share=0.5,
    ...     bounds={"income": (0, 10_000), "visits": (2, 400)},
    ... )
    >>> pay.name, pay.policy, pay.mean
    ('mean of income', Policy('20 / visits', at_least='1/20', at_most='10'), True)

    Args:
        query: ``prdp.count()``, ``prdp.sum("income")`` or ``prdp.mean("income")``.
        policy: The public budget of a record, as SQL or a ``Policy``; the ends of its range follow from the
            bounds where it does not say them.
        share: The part of every record's budget for all rounds together.
        bounds: For number columns, the public least and greatest value.
        round_to: For columns that are added up, what values are rounded to; 1 by default.
        by: For a count by groups: ``prdp.bins("age", [0, 18, 65])``, or a column with its public ``keys``.
        keys: The public keys of the column ``by``: texts or whole numbers.
        method: For a count ``"bits"`` (the default), ``"laplace"``, ``"printed"`` (the paper's) or
            ``"proportional"``; for a sum or a mean ``"proportional"`` (the default), ``"ratio"`` or
            ``"framework"``; for groups as in ``frequencies``.
        name: What people call it; by default the query in words.
        beta: The chance that some empty domain is taken for a heavy one.

    Raises:
        InvalidRequest: The question is wrong by public facts alone; the message says what to write.
    """
    basics: dict[str, Any] = {
        "name": str(query) if name is None else name,
        "policy": _with_range(policy, bounds or {}),
        "share": share,
        "beta": beta,
    }
    if by is not None:
        if type(query) is not Count:
            raise InvalidRequest("clients are counted by groups, not added up: ask prdp.count() with by=.")
        return frequencies(_groups(by, keys), method=method, **basics)
    if keys is not None:
        raise InvalidRequest("keys= are those of a column: write by='job' with them.")
    if type(query) is Count:
        if method is not None and method not in COUNTED:
            raise InvalidRequest(f"method={method!r} does not answer this. What does: {', '.join(COUNTED)}.")
        return CountStudy(**basics, **COUNTED[method or "bits"])
    if isinstance(query, Sum | Mean):
        column = query.column
        if column not in (bounds or {}):
            raise InvalidRequest(
                f"{query.word}({column!r}) needs the column's public bounds. Write "
                f"bounds={{{column!r}: (0, 10**6)}}."
            )
        low, high = (bounds or {})[column]
        measure = measured(column, low, high, (round_to or {}).get(column, 1))
        chosen: Any = {} if method is None else {"method": method}
        return SumStudy(**basics, measure=measure, mean=isinstance(query, Mean), **chosen)
    raise InvalidRequest(
        f"{query} is not asked of clients. What is: prdp.count(), prdp.sum('pay'), prdp.mean('pay'), and "
        "counts by groups, from whose histogram prdp.local.quantiles reads quantiles."
    )


def _with_range(policy: Policy | str, bounds: Mapping[str, tuple[Number, Number]]) -> Policy:
    """Return a policy with both ends of its range: its own, or those that the bounds allow."""
    read = Policy(policy) if isinstance(policy, str) else policy
    if not isinstance(read, Policy) or (read.at_least is not None and read.at_most is not None):
        return read  # what is no policy is refused by the study
    ends = {
        column: (exact(low, f"bounds[{column!r}]"), exact(high, f"bounds[{column!r}]"))
        for column, (low, high) in bounds.items()
    }
    schema = {column: ColumnType(Kind.NUMBER) for column in {*read.columns, *bounds}}
    fitted = read.within(schema, ends)
    return Policy.of(read.expression, at_least=fitted.at_least, at_most=fitted.at_most)


def _groups(by: Categories | Bins | Binned | str, keys: Sequence[str | int] | None) -> Categories | Bins:
    if isinstance(by, str):
        if keys is None:
            raise InvalidRequest(f"by={by!r} needs the column's public keys: keys=['student', 'retired'].")
        return Categories(by, keys)
    if keys is not None:
        raise InvalidRequest("bins and categories are their own keys: leave keys= out.")
    if isinstance(by, Binned):
        return Bins(by.column, by.edges)
    if not isinstance(by, Categories | Bins):
        raise InvalidRequest(f"by={short_repr(by)} is neither a column nor prdp.bins('age', [0, 18, 65]).")
    return by
