"""From a question to its plan, by public facts alone: wrong questions are refused here, before any charge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from prdp.cells.measure import Measure
from prdp.cells.owners import MOST_ROWS, OwnerCells
from prdp.declare.exact import Exact, exact_share
from prdp.declare.groups import Grouping
from prdp.errors import InvalidRequest
from prdp.expressions.nodes import Node
from prdp.levels import Levels
from prdp.mechanisms.clip import Clip
from prdp.mechanisms.joint import Joint
from prdp.plan.asked import Asked
from prdp.plan.left_out import leaves_out
from prdp.plan.methods import DEFAULT, OWNERS, Answering, Method, MethodTerms, Options
from prdp.plan.plan import Plan
from prdp.plan.queries import DerivedPart, Query
from prdp.plan.reads import OwnerRead, Read
from prdp.plan.shares import Shares, gathered, refuse_one_name_for_two, shares_of
from prdp.plan.steps import Derived, QueryPlan, Step, Together
from prdp.policy import Policy
from prdp.release.label import Label
from prdp.schema import Bounds, Grains, Kind, Schema

_MOST_SQUARED = 2**47
"""Squares of larger values might add up to more than the engine's whole numbers hold."""

_MOST_SHARED_OUT = 1 << 63
"""What an owner adds to several groups is below this: the product of two such numbers is a HUGEINT."""


@dataclass(frozen=True, slots=True)
class Planner:
    """Plan questions about a table from its public facts, or refuse them.

    Attributes:
        schema: The table's columns.
        policy: The policy, checked against them.
        levels: The grid of budgets.
        bounds: The public bounds of columns.
        grain: The public grain of columns.
        protect: The column that says which owner a row belongs to; None where a row is a record.
        where: Which records take part; None for all.
        source: What was made of the table before prdp sees it, as a ledger keeps it.
    """

    schema: Schema
    policy: Policy
    levels: Levels
    bounds: Bounds
    grain: Grains
    protect: str | None = None
    where: Node | None = None
    source: str = ""

    def plan(
        self,
        queries: Sequence[Query],
        share: Exact,
        groups: Grouping | None = None,
        *,
        options: Options = DEFAULT,
        shares: Shares | None = None,
        single: bool = False,
    ) -> Plan:
        """Return what will be done to answer queries, or refuse them.

        >>> from prdp.plan.queries import Count
        >>> one = Policy.constant(1)
        >>> plan = Planner({}, one, one.levels, bounds={}, grain={}).plan([Count()], "1/4")
        >>> plan.share, plan.labels
        (Fraction(1, 4), ('count',))

        Args:
            queries: What is asked.
            share: The part of every record's budget for all of it.
            groups: The public groups; None for one group of all records.
            options: How the caller wants them answered.
            shares: The part of every record's budget for each query, adding up to at most ``share``, and
                charged; by default, equal parts of it.
            single: Whether the answer is one release instead of a table of them.
        """
        queries = gathered(queries, {})
        parts = shares_of(shares, exact_share(share), queries)
        spent = exact_share(share) if shares is None else exact_share(sum(parts, Fraction(0)))
        plans = [
            self.query_plan(query, part, options, groups) for query, part in zip(queries, parts, strict=True)
        ]
        refuse_one_name_for_two([planned.query for planned in plans], groups)
        plan = Plan(tuple(plans), spent, self.where, groups, self.source, single=single)
        if groups is not None:
            for query, planned in zip(queries, plans, strict=True):
                self._refuse_unless_groups_are_proved(query, planned)
        return plan

    def query_plan(
        self, query: Query, share: Fraction, options: Options = DEFAULT, groups: Grouping | None = None
    ) -> QueryPlan:
        """Return how one query is answered, or refuse it; whether the share can be spent is not looked at."""
        query = query.known(self.schema)
        method = known_method(query, options)
        if self.protect is not None:
            refuse_unless_proved(query, method, self.protect)
            method = OWNERS if query.counts_owners(self.protect) else method
        measure = self._measure(query, method)
        terms = MethodTerms(
            self.policy,
            self.policy.deep_levels if method.deep else self.levels,
            self.bounds,
            query,
            measure,
            share,
            options,
            self.where,
            groups,
        )
        steps = self._parted(terms, method) if query.rule else (self._step(terms, method),)
        steps = tuple(self._saying_who_is_left_out(step, terms.levels) for step in steps)
        together = self._together(steps[0].mechanism, groups)
        if together == "joint":
            steps = tuple(_jointly(step) for step in steps)
        return QueryPlan(
            query=query,
            method=method.name,
            share=share,
            read=self._read(terms, method),
            steps=steps,
            measure=measure,
            derived=Derived(query.rule, measure, _derived_label(steps[0], query, share))
            if measure is not None and query.rule
            else None,
            together=together,
            options={name: _told(getattr(steps[0].mechanism, name)) for name in method.options},
        )

    def _step(self, terms: MethodTerms, method: Method) -> Step:
        """Return the one step of a query that a mechanism answers."""
        mechanism, measure = method.build(terms), terms.measure
        signed = measure is not None and measure.signed
        label = _label("", terms.share, mechanism, measure, signed=signed)
        labels = tuple(replace(label, words=name) for name in terms.query.names)
        sees = method.sees if self.protect is None else _owners_seen(terms.query, self.protect)
        return Step("", terms.share, mechanism, labels, sees)

    def _saying_who_is_left_out(self, step: Step, levels: Levels) -> Step:
        numbers = all(self.schema[column].kind is Kind.NUMBER for column in self.policy.columns)
        said = leaves_out(self.policy, levels, numbers=numbers)
        return replace(step, labels=tuple(replace(label, left_out=said) for label in step.labels))

    def _parted(self, terms: MethodTerms, method: Method) -> tuple[Step, ...]:
        """Return the steps of a derived answer, whose parts share the query's method."""
        steps: list[Step] = []
        for part in terms.query.parts:
            row = next(row for row in part.methods if row.name == method.name)
            own = replace(terms, share=terms.share * part.of_share)
            mechanism = row.build(own)
            said = steps[0].mechanism if steps else mechanism
            label = _part_label(part, own, said)
            sees = part.sees if self.protect is None else _owner_part(part)
            steps.append(Step(part.name, own.share, mechanism, (label,), sees))
        return tuple(steps)

    def _read(self, terms: MethodTerms, method: Method) -> Read:
        if self.protect is None:
            return method.reads(terms)
        return OwnerRead(
            self.policy,
            terms.levels,
            self.protect,
            terms.measure,
            terms.query.fold,
            terms.where,
            terms.groups,
        )

    def _together(self, mechanism: Answering, groups: Grouping | None) -> Together:
        """Return how groups are drawn.

        Groups may choose a clipping point together, unless they are told apart by a column that the policy
        reads: their budgets then differ by design, and what suits one does not suit another.
        """
        if groups is None:
            return ""
        if self.protect is not None:
            return "joint" if isinstance(mechanism, Clip) else ""  # of no other it is proved
        apart = len(groups.keys) < 2 or any(key.column in self.policy.columns for key in groups.by)
        return "pooled" if hasattr(mechanism, "grouped") and not apart else ""

    def _refuse_unless_groups_are_proved(self, query: Query, plan: QueryPlan) -> None:
        if self.protect is None:
            return
        method = next(row for row in query.methods if row.name == plan.method)
        method = method if plan.together == "joint" else replace(method, owner_groups=False)
        refuse_unless_proved(query.known(self.schema), method, self.protect, grouped=True)
        measure = plan.measure
        if measure is not None and measure.largest * MOST_ROWS >= _MOST_SHARED_OUT:
            raise InvalidRequest(
                f"the bounds of {measure.column!r} hold 2^43 grains of {measure.grain} or more: too many to "
                "share out an owner's contributions among groups. Take a larger grain or narrower bounds."
            )

    def _measure(self, query: Query, method: Method) -> Measure | None:
        """Return what a query measures, or refuse by public facts."""
        column = query.measured
        if column is None:
            return None
        kind = self.schema[column]
        if kind.kind is not Kind.NUMBER:
            raise InvalidRequest(
                f"{query.word}({column!r}) needs numbers, but {column!r} holds {kind.kind.value} "
                f"({kind.native})."
            )
        if column not in self.bounds:
            raise InvalidRequest(
                f"{query.word}({column!r}) needs the column's public bounds. Write "
                f"bounds={{{column!r}: (0, 10**12)}} in prdp.open; wide bounds cost next to nothing."
            )
        if column not in self.grain and not kind.integer:
            raise InvalidRequest(
                f"{query.word}({column!r}) needs the grain of the column's values, which are {kind.native}. "
                f"Write grain={{{column!r}: '0.01'}} in prdp.open for two decimals."
            )
        grain = self.grain.get(column, Fraction(1))
        low, high = self.bounds[column]
        measure = Measure(column, grain, math.ceil(low / grain), math.floor(high / grain))
        most = 2**63 if kind.integer and grain == 1 else 2**53
        squares = any(part.sees is None for part in query.parts)
        _refuse_unless_in_range(measure, low, high, _MOST_SQUARED if squares else most)
        return replace(measure, squares=squares, per_octave=method.fineness)


def plan_of_one(terms: MethodTerms, method: Method) -> QueryPlan:
    """Return how one query is answered by one mechanism, about whatever its entry point reads."""
    mechanism, query = method.build(terms), terms.query
    label = Label(str(query), terms.share, method.name, mechanism.caveat(signed=False))
    step = Step("", terms.share, mechanism, (label,), method.sees)
    return QueryPlan(query, method.name, terms.share, method.reads(terms), (step,))


def known_method(query: Asked, options: Options) -> Method:
    """Return the row of the method that a caller asks for, if it takes the other options.

    >>> from prdp.plan.queries import Count
    >>> known_method(Count(), Options()).name, known_method(Count(), Options("partition")).name
    ('clip', 'partition')
    >>> known_method(Count(), Options("choice"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    prdp.errors.InvalidRequest: method='choice' does not answer this. What does: clip, ...
    """
    names = [row.name for row in query.methods]
    name = names[0] if options.method is None else options.method
    if name not in names:
        raise InvalidRequest(f"method={name!r} does not answer this. What does: {', '.join(names)}.")
    method = query.methods[names.index(name)]
    if options.graded is not None and not isinstance(options.graded, bool):
        raise InvalidRequest(f"graded={options.graded!r} is neither True nor False.")
    for option in ("beta", "graded", "split"):
        if getattr(options, option) is not None and option not in method.options:
            raise InvalidRequest(f"method={name!r} takes no {option}= here.")
    return method


def refuse_unless_proved(query: Query, method: Method, protect: str, *, grouped: bool = False) -> None:
    """Refuse, by public facts, a question for which there is no proof for owners yet."""
    if query.counts_owners(protect) and method.name == OWNERS.name and not grouped:
        return
    if method.owners and (method.owner_groups or not grouped) and not query.unproved:
        return
    by_group = " by group" if grouped else ""
    why = (
        query.unproved
        or f"that method={method.name!r} keeps all rows of an owner{by_group} within one budget"
    )
    raise InvalidRequest(
        f"{query}{by_group} is not answered for a table opened with protect={protect!r}: {why} is not "
        "proved yet. What is: count, sum and mean by method='clip', for groups too, or 'naive'; max, min and "
        f"count_distinct({protect!r}) without groups."
    )


def _label(words: str, share: Fraction, said: Answering, measure: Measure | None, *, signed: bool) -> Label:
    low, high = (measure.low, measure.high) if measure else (0, 1)
    grain = measure.grain if measure else Fraction(1)
    return Label(words, share, said.name, said.caveat(signed=signed), grain, below=low < 0, above=high > 0)


def _part_label(part: DerivedPart, terms: MethodTerms, said: Answering) -> Label:
    measure = terms.measure if part.name == "sum" else None
    label = _label(
        part.words.format(terms.query.measured),
        terms.share,
        said,
        measure,
        signed=measure is not None and measure.signed,
    )
    grain = terms.measure.grain if terms.measure else Fraction(1)
    return replace(label, grain=grain**part.power)


def _derived_label(step: Step, query: Query, share: Fraction) -> Label:
    label = Label(str(query), share, step.mechanism.name, step.mechanism.caveat(signed=True))
    return replace(label, left_out=step.labels[0].left_out)


def _jointly(step: Step) -> Step:
    """Return a step that draws all groups of owners at once."""
    labels = tuple(replace(label, method=Joint.name) for label in step.labels)
    return replace(step, mechanism=Joint.tuned(step.share), labels=labels)


def _owners_seen(query: Query, protect: str) -> Any:
    """Return what a mechanism is shown of owners: each counts 1 where they themselves are counted."""
    return _counted_owners if query.counts_owners(protect) else _owner_totals


def _owner_part(part: DerivedPart) -> Any:
    return _owner_rows if part.name == "count" else _owner_totals


def _owner_totals(cells: OwnerCells) -> Any:
    return cells.totals


def _owner_rows(cells: OwnerCells) -> Any:
    return cells.rows


def _counted_owners(cells: OwnerCells) -> Any:
    rows: Any = cells.rows
    return rows.counted()


def _told(option: object) -> Any:
    return option if isinstance(option, bool) else str(option)


def _refuse_unless_in_range(measure: Measure, low: Fraction, high: Fraction, most: int) -> None:
    held = f"the bounds of {measure.column!r}, {low} to {high}, hold"
    if measure.low > measure.high:
        raise InvalidRequest(f"{held} no whole grains of {measure.grain}. Take a smaller grain.")
    if measure.largest >= most:
        size = f"more than 2^{most.bit_length() - 1}"
        raise InvalidRequest(f"{held} {size} grains of {measure.grain}. Take a larger grain.")
