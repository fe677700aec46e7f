"""Plan a query by public facts alone: wrong queries are refused here, before any charge."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from prdp.cells.measure import Measure
from prdp.cells.units import OwnerCells
from prdp.declare.columns import (
    LARGEST_GRAIN,
    computed_type,
    default_step,
    derived_grain,
    grain_of,
    mentioned,
)
from prdp.declare.exact import Exact, exact, exact_share
from prdp.declare.groups import Grouping, GroupKey, Values
from prdp.declare.units import Owners
from prdp.errors import Argument, InvalidRequest, PlanRefusal
from prdp.expressions.intervals import bound, can_be_true
from prdp.expressions.nodes import Node, canonical, columns
from prdp.levels import Levels
from prdp.mechanisms.clip import Clip
from prdp.mechanisms.following import Following, PairedPoints
from prdp.mechanisms.joint import Joint
from prdp.plan.labels import derived_label, part_label, step_label
from prdp.plan.methods import DEFAULT, OWNERS, Answering, Method, MethodTerms, Options, preferred
from prdp.plan.plan import Plan
from prdp.plan.queries import Asked, DerivedPart, Mean, OfColumn, Query, Std, Variance
from prdp.plan.reads import CellRead, OwnerRead, Read
from prdp.plan.shares import Shares, drawn_once, gathered, refuse_one_name_for_two, shares_of
from prdp.plan.steps import Derived, QueryPlan, Step, Together
from prdp.policy import Policy, ranges_of
from prdp.regions.query_region import filter_region, keys_region
from prdp.regions.region import EVERYBODY, NOBODY, intersection, region_to_json
from prdp.release.rows import Label
from prdp.schema import Bounds, Grains, Kind, Schema

_MOST_SQUARED = 2**47
"""Squares of larger values might add up to more than the engine's whole numbers hold."""


def measure_of(  # noqa: PLR0917  (each is a public fact)
    query: Query,
    method: Method,
    schema: Schema,
    bounds: Bounds,
    grains: Grains,
    opened_by: str,
    rows: int = 1,
) -> Measure | None:
    """Return what a query measures; None where it measures nothing.

    Args:
        query: The query, as the table spells it.
        method: What answers it.
        schema: The table's columns.
        bounds: The public bounds of columns.
        grains: The public grain of columns.
        opened_by: The function whose arguments declare both, for messages.
        rows: How many rows of one privacy unit may be added up.

    Raises:
        InvalidRequest: Something public is missing, or too large.
    """
    if query.measured is None or not isinstance(query, OfColumn):
        return None
    node = query.expression
    kind = schema[query.column] if node is None else computed_type(node, schema)
    if kind.kind is not Kind.NUMBER:
        raise InvalidRequest(
            f"{query.word}({query.column!r}) needs numbers, but {query.column!r} holds {kind.kind.value} "
            f"({kind.native})."
        )
    if node is None:
        low, high = _column_ends(query, bounds, opened_by)
        grain = _said_grain(query) or _column_grain(query, (low, high), schema, grains, rows)
        measure = Measure(query.column, grain, math.ceil(low / grain), math.floor(high / grain))
    else:
        low, high = _computed_ends(query, node, schema, bounds, opened_by)
        grain = _said_grain(query) or _default(query, (low, high), derived_grain(node, schema, grains), rows)
        ends = math.floor(low / grain), math.ceil(high / grain)
        measure = Measure(canonical(node), grain, *ends, expression=node)
    most = 2**63 if kind.integer and grain == 1 else 2**53
    squares = any(part.sees is None for part in query.parts)
    _refuse_unless_in_range(measure, low, high, _MOST_SQUARED if squares else most)
    return replace(measure, squares=squares, per_octave=method.fineness)


class _Histogram(OfColumn):
    """What messages call a histogram whose bins follow from bounds."""

    @property
    def word(self) -> str:
        """The name of the method."""
        return "histogram"


def column_range(column: str, schema: Schema, bounds: Bounds) -> tuple[Fraction, Fraction]:
    """Return between which public ends a column lies, or what is computed from columns."""
    query = _Histogram(column).known(schema)
    if query.expression is None:
        return _column_ends(query, bounds, "prdp.open")
    return _computed_ends(query, query.expression, schema, bounds, "prdp.open")


def _column_ends(query: OfColumn, bounds: Bounds, opened_by: str) -> tuple[Fraction, Fraction]:
    if query.column not in bounds:
        raise InvalidRequest(
            f"{query.word}({query.column!r}) needs the column's public bounds. Write ",
            Argument("bounds", {query.column: (0, 10**12)}, of=opened_by),
            "; wide bounds cost next to nothing.",
        )
    return bounds[query.column]


def _column_grain(
    query: OfColumn, ends: tuple[Fraction, Fraction], schema: Schema, grains: Grains, rows: int
) -> Fraction:
    grain = grain_of(query.column, schema, grains)
    if grain is not None and (query.column in grains or schema[query.column].integer):
        return grain
    return _default(query, ends, grain, rows)


def _computed_ends(
    query: OfColumn, node: Node, schema: Schema, bounds: Bounds, opened_by: str
) -> tuple[Fraction, Fraction]:
    """Return between which ends an expression lies, by interval arithmetic over the public bounds."""
    ends = bound(node, ranges_of(bounds))
    asked = f"{query.word}({query.column!r})"
    if ends.empty:
        raise InvalidRequest(f"{asked} never has a value within the bounds.")
    if math.isfinite(ends.low) and math.isfinite(ends.high):
        return Fraction(ends.low), Fraction(ends.high)
    unbounded = [name for name in schema if name in columns(node) - bounds.keys()]
    numbers = [name for name in unbounded if schema[name].kind is Kind.NUMBER]
    if numbers:
        raise InvalidRequest(
            f"{asked} needs the public bounds of {_and(numbers)}. Write ",
            Argument("bounds", dict.fromkeys(numbers, (0, 10**6)), of=opened_by),
            "; wide bounds cost next to nothing.",
        )
    raise PlanRefusal(
        f"{asked} has no finite range: within the bounds it lies between {ends.low:g} and {ends.high:g}. "
        f"Write {query.word}('least(greatest({query.column}, 0), 1000)'), with ends that you choose, or "
        "narrow the bounds.",
        "range",
    )


def _default(
    query: OfColumn, ends: tuple[Fraction, Fraction], exact_step: Fraction | None, rows: int
) -> Fraction:
    """Return the public default of a rounding step that nobody declared."""
    if exact_step is not None and max(exact_step.numerator, exact_step.denominator) > LARGEST_GRAIN:
        exact_step = None
    grain = default_step(exact_step, *ends, rows)
    if grain is None:
        raise PlanRefusal(
            f"{query.word}({query.column!r}) lies between {float(ends[0]):g} and {float(ends[1]):g}, too "
            "wide to be counted in steps of at most 1e18. Write "
            f"{query.word}('least({query.column}, 1e9)'), with an end that you choose, or narrow the bounds.",
            "range",
        )
    return grain


def _said_grain(query: OfColumn) -> Fraction | None:
    if query.grain is None:
        return None
    grain = exact(query.grain, "grain")
    if grain <= 0 or max(grain.numerator, grain.denominator) > LARGEST_GRAIN:
        raise InvalidRequest(
            f"{query.word}({query.column!r}) needs the grain of its values, such as ",
            Argument("grain", "0.01"),
            f" for cents: more than 0, from 1e-18 to 1e18, not {query.grain!r}.",
        )
    return grain


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _refuse_unless_in_range(measure: Measure, low: Fraction, high: Fraction, most: int) -> None:
    held = f"the bounds of {measure.column!r}, {low} to {high}, hold"
    if measure.low > measure.high:
        raise InvalidRequest(f"{held} no whole grains of {measure.grain}. Take a smaller grain.")
    if measure.largest >= most:
        size = f"more than 2^{most.bit_length() - 1}"
        raise InvalidRequest(f"{held} {size} grains of {measure.grain}. Take a larger grain.")


_MOST_FOLDED = 1 << 83
"""What an owner adds is at most this."""

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
        owners: Who is protected with all their rows; None where a row is a record.
        where: Which records take part; None for all.
        source: What was made of the table before prdp sees it, as a ledger keeps it.
        over: The joined tables, for a join.
        elsewhere: For each column of tables that are not joined, its table.
        fixed: The columns that narrow whom a question is charged to: of a join, columns of the private table.
        edition: Which edition of a table that grows is asked.
    """

    schema: Schema
    policy: Policy
    levels: Levels
    bounds: Bounds
    grain: Grains
    owners: Owners | None = None
    where: Node | None = None
    source: str = ""
    over: tuple[str, ...] = ()
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    fixed: tuple[str, ...] = ()
    edition: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether no record within the public bounds can satisfy the filter, whatever the records are."""
        if self.where is None:
            return False
        possible = can_be_true(self.where, ranges_of(self.bounds))
        return not possible or filter_region(self.where, self.schema, tuple(self.schema)) == NOBODY

    def region(self, groups: Grouping | None = None) -> str | None:
        """Return whom a question about these records is charged to, as a ledger keeps it; None for everybody.

        With an owner that is everybody, unless it has one row: several may lie in several regions.
        """
        if not self.fixed or (self.owners is not None and not self.owners.one_row):
            return None
        let_through = filter_region(self.where, self.schema, self.fixed)
        found = intersection([let_through, keys_region(groups, self.schema, self.fixed)])
        return None if found == EVERYBODY else region_to_json(found)

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
        asked = zip(queries, parts, strict=True)
        plans = drawn_once([self.query_plan(query, part, options, groups) for query, part in asked])
        refuse_one_name_for_two([planned.query for planned in plans], groups)
        plan = Plan(
            plans,
            spent,
            self.where,
            groups,
            self.source,
            self.over,
            region=self.region(groups),
            edition=self.edition,
            single=single,
        )
        if groups is not None and self.owners is not None:
            refuse_ids(groups, self.owners)
            for query, planned in zip(queries, plans, strict=True):
                self._refuse_unless_groups_are_proved(query, planned, self.owners)
        return plan

    def query_plan(
        self, query: Query, share: Fraction, options: Options = DEFAULT, groups: Grouping | None = None
    ) -> QueryPlan:
        """Return how one query is answered, or refuse it; whether the share can be spent is not looked at."""
        self.refuse_elsewhere(query)
        query = query.known(self.schema)
        method = known_method(query, options)
        if self.owners is not None:
            refuse_unless_proved(query, method, self.owners)
            method = OWNERS if query.counts_owners(self.owners.id) else method
        terms = self.terms(query, method, share, options, groups)
        if options.method is None and self.owners is None:
            method, terms = preferred(
                terms, method, lambda row: self.terms(query, row, share, options, groups)
            )
        measure = terms.measure
        self._refuse_too_large(measure)
        steps = self._parted(terms, method) if query.rule else (self._step(terms, method),)
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
            derived=Derived(query.rule, measure, derived_label(steps, query, share))
            if measure is not None and query.rule
            else None,
            together=together,
            options={name: _told(getattr(steps[0].mechanism, name)) for name in method.options},
        )

    def terms(
        self, query: Query, method: Method, share: Fraction, options: Options, groups: Grouping | None
    ) -> MethodTerms:
        """Return everything public that a method's mechanism is built from."""
        rows = self.owners.most_rows if self.owners is not None else 1
        return MethodTerms(
            self.policy,
            self.policy.deep_levels if method.deep else self.levels,
            self.bounds,
            query,
            measure_of(query, method, self.schema, self.bounds, self.grain, self._opened_by, rows),
            share,
            options,
            self.where,
            groups,
            whole=frozenset(name for name, column in self.schema.items() if column.integer),
            rows=rows,
        )

    def _step(self, terms: MethodTerms, method: Method) -> Step:
        """Return the one step of a query that a mechanism answers."""
        mechanism = method.build(terms)
        label = step_label(terms, mechanism, self.owners)
        labels = tuple(replace(label, words=name) for name in terms.query.names)
        sees = method.sees if self.owners is None else _owners_seen(terms.query, self.owners.id)
        return Step("", terms.share, mechanism, labels, sees)

    def _parted(self, terms: MethodTerms, method: Method) -> tuple[Step, ...]:
        """Return the steps of a derived answer, whose parts share the query's method."""
        steps: list[Step] = []
        for part in terms.query.parts:
            row = next(row for row in part.methods if row.name == method.name)
            own = replace(terms, share=terms.share * part.of_share)
            mechanism = row.build(own) if self.owners is not None else part_mechanism(part, row, own)
            alike = steps and type(steps[0].mechanism) is type(mechanism)
            said = steps[0].mechanism if alike else mechanism
            label = part_label(part, own, mechanism, said, self.owners)
            sees = part.sees if self.owners is None else _owner_part(part)
            steps.append(Step(part.name, own.share, mechanism, (label,), sees))
        return tuple(steps)

    def _read(self, terms: MethodTerms, method: Method) -> Read:
        if self.owners is None:
            return method.reads(terms)
        return OwnerRead(
            self.policy,
            terms.levels,
            self.owners,
            terms.measure,
            terms.query.fold,
            terms.where,
            terms.groups,
            apart=terms.groups is not None and self._keeps_apart(terms.groups),
        )

    def _together(self, mechanism: Answering, groups: Grouping | None) -> Together:
        """Return how groups are drawn.

        Groups may choose a clipping point together, unless they are told apart by a column that the policy
        reads: their budgets then differ by design, and what suits one does not suit another.
        """
        if groups is None:
            return ""
        if self.owners is not None and not self._keeps_apart(groups):
            return "joint" if isinstance(mechanism, Clip) else ""  # of no other it is proved
        apart = len(groups.keys) < 2 or any(map(self._policy_reads, _columns(groups.by)))
        return "pooled" if hasattr(mechanism, "grouped") and not apart else ""

    def _keeps_apart(self, groups: Grouping) -> bool:
        """Say whether an owner is in one group at most: by columns of owners alone, or with one row."""
        if self.owners is None or self.owners.join is None:
            return self.owners is not None and self.owners.one_row_is_all
        return all(map(self.owners.join.owns, _columns(groups.by)))

    def _policy_reads(self, column: str) -> bool:
        join = self.owners.join if self.owners is not None else None
        table, name = join.names[column] if join is not None else ("", column)
        return name in self.policy.columns and (join is None or table == join.private)

    def refuse_elsewhere(self, *asked: object) -> None:
        """Refuse texts, queries and keys that read columns of tables that are not joined; say how to join."""
        for one in asked if self.elsewhere else ():
            named = getattr(one, "column", "" if isinstance(one, Query) else one)
            text = getattr(one, "expression", None) or named
            for name in sorted(mentioned(text, self.schema)):
                here = any(name.lower() == column.lower() for column in self.schema)
                table = next(
                    (t for column, t in self.elsewhere.items() if column.lower() == name.lower()), None
                )
                if table is not None and not here:
                    raise InvalidRequest(
                        f"{text!r} reads {name!r} of the table {table!r}, which is not joined here: "
                        f"{', '.join(self.over)}. Write .over({table!r}) first."
                    )

    @property
    def _opened_by(self) -> str:
        return "prdp.open_join" if self.owners is not None and self.owners.join is not None else "prdp.open"

    def _refuse_unless_groups_are_proved(self, query: Query, plan: QueryPlan, owners: Owners) -> None:
        if plan.groups_are_apart:
            return
        method = next(row for row in query.methods if row.name == plan.method)
        method = method if plan.together == "joint" else replace(method, owner_groups=False)
        refuse_unless_proved(query.known(self.schema), method, owners, grouped=True)
        measure = plan.measure
        if measure is not None and measure.largest * owners.most_rows >= _MOST_SHARED_OUT:
            raise InvalidRequest(
                f"the bounds of {measure.column!r} allow {measure.largest:,} grains of {measure.grain} in "
                f"each of {owners.most_rows:,} rows: 2^63 or more, too many to share out among groups. Take "
                "a larger grain, narrower bounds or a smaller most_rows."
            )

    def _refuse_too_large(self, measure: Measure | None) -> None:
        if self.owners is not None and measure is not None:
            most = self.owners.most_rows
            if measure.largest * most > _MOST_FOLDED:
                raise InvalidRequest(
                    f"{most:,} rows of {measure.largest:,} grains each are too many (2^83). Lower most_rows, "
                    "narrow the bounds or take a larger grain."
                )


def refuse_ids(groups: Grouping, owners: Owners) -> None:
    """Refuse groups each of which is about one owner, or about one row of an owner."""
    for key in groups.by:
        table = owners.ids.get(key.column) if isinstance(key, Values) and key.expression is None else None
        if table is None:
            continue
        whose = (
            "a protected record" if key.column == owners.id else f"a row of {table!r}, which is not public"
        )
        raise PlanRefusal(
            f"group_by({key.column!r}) would give an answer for each {key.column}, but that names {whose}: "
            f"each would be about {owners.noun}. Group by what many of them share.",
            "groups",
        )


def part_mechanism(part: DerivedPart, row: Method, terms: MethodTerms) -> Answering:
    """Return what draws a part of a derived answer, at the share of its terms.

    Of a mean or a variance one part may choose a clipping point, and the others follow it. Whether they do is
    decided by the query, the method, the policy and the bounds alone: proofs/following.md.
    """
    pairs = _pairs(row, terms) if type(terms.query) in (Mean, Variance, Std) else None
    if pairs is None:
        return row.build(terms)
    if part.name == "sum":
        return Clip.tuned(terms.share, leads=True)
    return Following(pairs, Clip.tuned(terms.share))


def _pairs(row: Method, terms: MethodTerms) -> PairedPoints | None:
    """Return how points follow that of the sum; None where they do not, or where a count needs none.

    Under a policy of a few budgets a count is answered tier by tier, which is better than any one point.
    """
    if row.name != Clip.name:
        return None
    read = CellRead(terms.policy, terms.levels, terms.bounds, terms.measure, terms.where)
    if Clip.tuned(terms.share).tiers(read.planned().empty.counted()) is not None:
        return None
    return PairedPoints.of(terms.policy, terms.levels, terms.measure)


def plan_of_one(terms: MethodTerms, method: Method, left_out: str = "") -> QueryPlan:
    """Return how one query is answered by one mechanism, about whatever its entry point reads."""
    mechanism, query = method.build(terms), terms.query
    caveat = mechanism.caveat(signed=False)
    label = Label(str(query), terms.share, method.name, caveat, left_out=left_out, whole=True)
    step = Step("", terms.share, mechanism, (label,), method.sees)
    options = {name: _told(getattr(mechanism, name)) for name in method.options}
    return QueryPlan(query, method.name, terms.share, method.reads(terms), (step,), options=options)


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


def refuse_unless_proved(query: Query, method: Method, owners: Owners, *, grouped: bool = False) -> None:
    """Refuse, by public facts, a question for which there is no proof for owners yet."""
    if query.counts_owners(owners.id) and method.name == OWNERS.name and not grouped:
        return
    if method.owners and (method.owner_groups or not grouped) and not query.unproved:
        return
    by_group = " by group" if grouped else ""
    why = (
        query.unproved
        or f"that method={method.name!r} keeps all rows of an owner{by_group} within one budget"
    )
    only = "without groups" if owners.join is None else "without groups or by columns of owners alone"
    raise InvalidRequest(
        f"{query}{by_group} is not answered for {owners.declared}: {why} is not "
        "proved yet. What is: count, sum and mean by method='clip', for groups too, or 'naive'; max, min and "
        f"count_distinct({owners.id!r}) {only}."
    )


def _columns(by: Iterable[GroupKey]) -> list[str]:
    """Return the columns that groups are told apart by, those of computed keys too."""
    return sorted(
        {name for key in by for name in (columns(key.expression) if key.expression else (key.column,))}
    )


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
