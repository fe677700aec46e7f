"""Several queries from one charge: their names, the share of each, and draws that they have in common."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from prdp.declare.exact import Exact, exact, short_repr
from prdp.declare.groups import Grouping
from prdp.errors import InvalidRequest
from prdp.mechanisms.additive import Additive
from prdp.mechanisms.clip import Clip
from prdp.mechanisms.following import Following
from prdp.mechanisms.joint import Joint
from prdp.mechanisms.naive import Naive
from prdp.plan.methods import Answering
from prdp.plan.queries import Asked, Query, Sum
from prdp.plan.reads import CellRead, Read, UnitRead
from prdp.plan.steps import QueryPlan, Step

Shares = Sequence[Exact] | Mapping[str, Exact]
"""Shares of several queries: in their order, or by the names that the caller gave them."""


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
    """Return what is wrong with the caller's shares, where that is short."""
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


def drawn_once(plans: Sequence[QueryPlan]) -> tuple[QueryPlan, ...]:
    """Return plans of one statement in which a draw may serve several of them; by public facts alone.

    >>> import numpy, prdp
    >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy="1", bounds={"age": (0, 120)})
    >>> plan = accounts.plan(prdp.sum("age"), prdp.mean("age"), share="1/10")
    >>> [(query.query.word, step.name, str(step.share)) for query in plan.queries for step in query.steps]
    [('sum', '', '3/40'), ('mean', 'sum', '3/40'), ('mean', 'count', '1/40')]
    """
    alike: dict[Hashable, list[int]] = {}
    for place, plan in enumerate(plans):
        if (about := _about(plan)) is not None:
            alike.setdefault(about, []).append(place)
    found = list(plans)
    numbers = 0
    for places in alike.values():
        served = _served([plans[place] for place in places])
        for place, plan in zip(places, served.plans(numbers), strict=True):
            found[place] = plan
        numbers += len(served.richest.steps)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Served:
    """Questions about the same column, and which of them the richest one serves.

    Attributes:
        asked: All of them.
        richest: The one with the most parts.
        along: The places of those that it serves, its own among them.
    """

    asked: Sequence[QueryPlan]
    richest: QueryPlan
    along: tuple[int, ...]

    @property
    def mechanisms(self) -> Mapping[str, Answering]:
        """Draws of the parts: for all of them, as the richest one has it."""
        return {_part(step): step.mechanism for step in self.richest.steps}

    def plans(self, first: int) -> list[QueryPlan]:
        """Return the plans; draws that several of them use are numbered from ``first`` on."""
        if len(self.along) == 1:
            return list(self.asked)
        share = sum((self.asked[place].share for place in self.along), Fraction(0))
        parts = {name: part * share for name, part in _parts(self.richest).items()}
        used = [_part(step) for place in self.along for step in self.asked[place].steps]
        numbers = {name: first + number for number, name in enumerate(parts) if used.count(name) > 1}
        return [
            _rebuilt(plan, parts, numbers, self.mechanisms) if place in self.along else plan
            for place, plan in enumerate(self.asked)
        ]


def _served(asked: Sequence[QueryPlan]) -> _Served:
    """Return which questions the richest one serves: none of their parts has less than it had alone."""
    richest = max(asked, key=lambda plan: len(plan.steps))  # the first of several
    parts = _parts(richest)
    along = [next(place for place, plan in enumerate(asked) if plan is richest)]
    share, grown = richest.share, True
    while grown:
        grown = False
        for place, plan in enumerate(asked):
            if place in along or any(step.select_input is None for step in plan.steps):
                continue
            most = share + plan.share
            if all(step.share <= parts.get(_part(step), 0) * most for step in plan.steps):
                along.append(place)
                share, grown = most, True
    return _Served(asked, richest, tuple(along))


def _about(plan: QueryPlan) -> Hashable | None:
    """Return what plans that can share draws have in common; None where nothing could be shared."""
    read = _but_for_squares(plan.read)
    if read is None or not (plan.derived is not None or isinstance(plan.query, Sum)):
        return None
    kinds = {_part(step): type(step.mechanism) for step in plan.steps}
    if not all(issubclass(kind, Clip | Following | Additive | Joint | Naive) for kind in kinds.values()):
        return None
    return kinds["sum"], plan.method, plan.together, read


def _but_for_squares(read: Read) -> Read | None:
    """Return the read of cells or units that finds the same, except squares; None for other reads."""
    if not isinstance(read, CellRead | UnitRead) or read.measure is None:
        return None
    return replace(read, measure=replace(read.measure, squares=False))


def _part(step: Step) -> str:
    """Return which part of an answer a step draws; a sum of its own is all of it."""
    return step.name or "sum"


def _parts(plan: QueryPlan) -> Mapping[str, Fraction]:
    """Return which parts of its share a question spends on what."""
    return {_part(step): step.share / plan.share for step in plan.steps}


def _rebuilt(
    plan: QueryPlan,
    shares: Mapping[str, Fraction],
    numbers: Mapping[str, int],
    mechanisms: Mapping[str, Answering],
) -> QueryPlan:
    """Return a plan whose steps have other shares, and are perhaps another question's too."""
    steps = tuple(
        _with(replace(step, mechanism=mechanisms[part]), shares[part], numbers.get(part))
        for step in plan.steps
        for part in (_part(step),)
    )
    derived = plan.derived
    if derived is not None:
        whole = sum((step.share for step in steps), Fraction(0))
        derived = replace(derived, label=replace(derived.label, share=whole))
    return replace(plan, steps=steps, derived=derived)


def _with(step: Step, share: Fraction, number: int | None) -> Step:
    labels = tuple(replace(label, share=share) for label in step.labels)
    mechanism = _tuned(step.mechanism, replace(step, share=share).drawn_share)
    return replace(
        step, share=share, mechanism=mechanism, labels=labels, shared_draw_id=number, own_share=step.share
    )


def _tuned(mechanism: Answering, share: Fraction) -> Answering:
    """Return a mechanism for another share."""
    if isinstance(mechanism, Clip):
        return Clip.tuned(share, signed=mechanism.signed, leads=mechanism.leads, gaussian=mechanism.gaussian)
    if isinstance(mechanism, Following):
        return replace(mechanism, alone=Clip.tuned(share))
    if isinstance(mechanism, Joint):
        return Joint.tuned(share, gaussian=mechanism.gaussian)
    return mechanism
