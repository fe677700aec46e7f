"""Several queries from one charge: their order, their names and the part of the share that each may use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from prdp.declare.exact import Exact, exact, short_repr
from prdp.declare.groups import Grouping
from prdp.errors import InvalidRequest
from prdp.plan.queries import Query
from prdp.plan.query_base import Asked

Shares = Sequence[Exact] | Mapping[str, Exact]
"""What each query of several may spend: in their order, or by the names that the caller gave them."""


def gathered(queries: Iterable[object], named: Mapping[str, object]) -> tuple[Query, ...]:
    """Return queries in the caller's order; those given by keyword are named by it.

    >>> from prdp.plan.queries import Count, Mean
    >>> [query.headings for query in gathered([Count()], {"avg": Mean("balance")})]
    [('count',), ('avg',)]
    """
    listed: list[object] = []
    for query in queries:
        listed += query if isinstance(query, list | tuple) else [query]
    listed += [query.alias(name) if isinstance(query, Query) else query for name, query in named.items()]
    if not listed or not all(isinstance(query, Query) for query in listed):
        raise InvalidRequest(
            "agg takes queries, such as agg(n=prdp.count(), avg=prdp.mean('balance'), share=0.1); so do plan "
            "and explain."
        )
    return tuple(query for query in listed if isinstance(query, Query))


def shares_of(shares: Shares | None, share: Fraction, queries: Sequence[Query]) -> list[Fraction]:
    """Return each query's part of every record's budget: equal parts of the share, or what the caller says.

    >>> from prdp.plan.queries import Count, Sum
    >>> asked = [Count(), Sum("balance").alias("total")]
    >>> shares_of(None, Fraction(1, 10), asked) == shares_of([0.05, 0.05], Fraction(1, 10), asked)
    True
    >>> shares_of([0.09, 0.02], Fraction(1, 10), asked)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    prdp.errors.InvalidRequest: shares=[0.09, 0.02] does not fit share=1/10 and 2 queries: ...
    """
    if shares is None:
        return [share / len(queries)] * len(queries)
    listed: object = shares
    names = [query.named for query in queries]
    if isinstance(shares, Mapping):
        listed = [shares[name] for name in names if name is not None and name in shares]
        listed = listed if len(shares) == len(listed) else []
    parts = [] if isinstance(listed, str) or not isinstance(listed, Sequence) else listed
    found = [exact(part, "shares") for part in parts]
    if len(found) != len(queries) or min(found) <= 0 or sum(found) > share:
        raise InvalidRequest(
            f"shares={short_repr(shares)} does not fit share={share} and {len(queries)} queries: list one "
            "positive "
            "share for each, such as [0.02, 0.08], or by name, adding up to at most share."
            + _misfit(shares, names, found, share)
        )
    return found


def _misfit(shares: object, names: Sequence[str | None], found: Sequence[Fraction], share: Fraction) -> str:
    """Return what is wrong with the caller's shares, where that can be said in a few words."""
    if isinstance(shares, Mapping) and len(found) != len(names):
        known = [name for name in names if name is not None]
        unnamed = " A query without a name is named by a keyword or .alias('n')." * (len(known) < len(names))
        return f" The names are {', '.join(known) or 'none'}.{unnamed}"
    return f" These add up to {sum(found)}." if len(found) == len(names) and sum(found) > share else ""


def refuse_one_name_for_two(queries: Sequence[Asked], groups: Grouping | None) -> None:
    """Refuse a caller's name that another column of the answers has."""
    taken = [key.column for key in groups.by] if groups is not None else []
    taken += [heading for query in queries for heading in query.headings]
    for query in queries:
        for heading in query.headings if query.named is not None else ():
            if taken.count(heading) > 1:
                raise InvalidRequest(
                    f"two columns of the answers are called {heading!r}. Rename one of them."
                )
