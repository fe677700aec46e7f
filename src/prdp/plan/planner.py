"""Plan a query by public facts alone: wrong queries are refused here, before any charge."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from prdp.cells.measure import Measure
from prdp.cells.units import UnitCells
from prdp.declare.columns import (
    LARGEST_STEP,
    computed_type,
    default_step,
    derived_rounding,
    mentioned,
    rounding_of,
)
from prdp.declare.exact import Exact, exact, exact_share
from prdp.declare.groups import Grouping, GroupKey, Values
from prdp.declare.units import PrivacyUnit
from prdp.errors import Argument, InvalidRequest, PlanRefusal
from prdp.expressions.intervals import bound, can_be_true
from prdp.expressions.nodes import Node, canonical, columns
from prdp.expressions.tokens import shown_name
from prdp.levels import Levels
from prdp.mechanisms.choice import Choice
from prdp.mechanisms.clip import Clip
from prdp.mechanisms.following import Following, PairedPoints
from prdp.mechanisms.joint import Joint
from prdp.mechanisms.rank import Rank
from prdp.plan.divided import DividedRead, UnitPart, divided, divided_levels
from prdp.plan.labels import derived_label, part_label, step_label
from prdp.plan.methods import DEFAULT, UNITS, Answering, Method, MethodTerms, Options, preferred
from prdp.plan.plan import Plan
from prdp.plan.queries import Asked, DerivedPart, Mean, OfColumn, OfUnits, Quantile, Query, Std, Variance
from prdp.plan.reads import CellRead, Read, UnitRead
from prdp.plan.shares import Shares, drawn_once, gathered, refuse_one_name_for_two, shares_of
from prdp.plan.steps import Derived, QueryPlan, Step, Together
from prdp.policy import Policy, ranges_of
from prdp.regions.query_region import filter_region, keys_region
from prdp.regions.region import EVERYBODY, NOBODY, intersection, region_to_json
from prdp.release.rows import Label
from prdp.schema import Bounds, ColumnType, Kind, Rounding, Schema

_MAX_SQUARED = 2**47
"""Squares of larger values might add up to more than the engine's whole numbers hold."""


def measure_of(  # noqa: PLR0917  (each is a public fact)
    query: Query,
    method: Method,
    schema: Schema,
    bounds: Bounds,
    rounding: Rounding,
    opened_by: str,
    rows: int = 1,
) -> Measure | None:
    """Return what a query measures; None where it measures nothing.

    Args:
        query: The query, as the table spells it.
        method: What answers it.
        schema: The table's columns.
        bounds: The public bounds of columns.
        rounding: The public rounding step of columns.
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
            f"({kind.native}).",
            _how_to_measure(query, kind),
        )
    if node is None:
        low, high = _column_ends(query, bounds, opened_by)
        round_to = _stated_rounding(query) or _column_rounding(query, (low, high), schema, rounding, rows)
        measure = Measure(query.column, round_to, math.ceil(low / round_to), math.floor(high / round_to))
    else:
        low, high = _computed_ends(query, node, schema, bounds, opened_by)
        round_to = _stated_rounding(query) or _default(
            query, (low, high), derived_rounding(node, schema, rounding), rows
        )
        half = Fraction(1, 2)  # what rounds to the nearest step lies between the nearest steps of the ends
        ends = math.ceil(low / round_to - half), math.floor(high / round_to + half)
        measure = Measure(canonical(node), round_to, *ends, expression=node)
    most = 2**63 if kind.integer and round_to == 1 else 2**53
    squares = any(part.select_input is None for part in query.parts)
    _refuse_unless_in_range(measure, low, high, _MAX_SQUARED if squares else most)
    return replace(measure, squares=squares, per_octave=method.fineness)


def _how_to_measure(query: OfColumn, kind: ColumnType) -> str:
    """Return how numbers are had from a column of another kind, after a space; empty if they are not."""
    if kind.kind is Kind.MOMENT and query.expression is None:
        days = f"date_diff('day', DATE '2024-01-01', {shown_name(query.column)})"
        return f" Ask for its days from a public date shortly before: {days}."
    return f" {kind.conversion}".rstrip()


class _Histogram(OfColumn):
    """Name in messages of a histogram whose bins follow from bounds."""

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


def _column_rounding(
    query: OfColumn, ends: tuple[Fraction, Fraction], schema: Schema, rounding: Rounding, rows: int
) -> Fraction:
    round_to = rounding_of(query.column, schema, rounding)
    if round_to is not None and (query.column in rounding or schema[query.column].integer):
        return round_to
    return _default(query, ends, round_to, rows)


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
        f"{query.column} has no finite range: within the bounds it lies between {ends.low:g} and "
        f"{ends.high:g}. Write least(greatest({query.column}, 0), 1000) in its place, with ends that you "
        "choose, or narrow the bounds.",
        "range",
    )


def _default(
    query: OfColumn, ends: tuple[Fraction, Fraction], exact_step: Fraction | None, rows: int
) -> Fraction:
    """Return the public default of a rounding step that nobody declared."""
    if exact_step is not None and max(exact_step.numerator, exact_step.denominator) > LARGEST_STEP:
        exact_step = None
    round_to = default_step(exact_step, *ends, rows)
    if round_to is None:
        raise PlanRefusal(
            f"{query.column} lies between {float(ends[0]):g} and {float(ends[1]):g}, too wide to be counted "
            f"in steps of at most 1e18. Write least({query.column}, 1e9) in its place, with an end that you "
            "choose, or narrow the bounds.",
            "range",
        )
    return round_to


def _stated_rounding(query: OfColumn) -> Fraction | None:
    if query.round_to is None:
        return None
    round_to = exact(query.round_to, "round_to")
    if round_to <= 0 or max(round_to.numerator, round_to.denominator) > LARGEST_STEP:
        raise InvalidRequest(
            f"{query.word}({query.column!r}) needs the rounding step of its values, such as ",
            Argument("round_to", "0.01"),
            f" for cents: more than 0, from 1e-18 to 1e18, not {query.round_to!r}.",
        )
    return round_to


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _refuse_unless_in_range(measure: Measure, low: Fraction, high: Fraction, most: int) -> None:
    held = f"the bounds of {measure.column!r}, {low} to {high}, hold"
    if measure.low > measure.high:
        raise InvalidRequest(
            f"{held} no whole rounding steps of {measure.round_to}. Take a smaller rounding step."
        )
    if measure.largest >= most:
        size = f"more than 2^{most.bit_length() - 1}"
        raise InvalidRequest(
            f"{held} {size} rounding steps of {measure.round_to}. Take a larger rounding step."
        )


_MAX_FOLDED = 1 << 83
"""Largest amount that a unit adds."""

_MAX_SHARED_OUT = 1 << 63
"""Limit of what a unit adds to several groups: the product of two such numbers is a HUGEINT."""


@dataclass(frozen=True, slots=True)
class Planner:
    """Plan questions about a table from its public facts, or refuse them.

    Attributes:
        schema: The table's columns.
        policy: The policy, checked against them.
        levels: The grid of budgets.
        bounds: The public bounds of columns.
        round_to: The public rounding step of columns.
        unit: Who is protected with all their rows; None where a row is a record.
        where: Which records take part; None for all.
        source: What was made of the table before prdp sees it, as a ledger keeps it.
        over: The joined tables, for a join.
        elsewhere: For each column of tables that are not joined, its table.
        immutable: The columns that narrow the charged region: of a join, columns of the private table.
        snapshot: Which snapshot of a table that grows is asked.
    """

    schema: Schema
    policy: Policy
    levels: Levels
    bounds: Bounds
    round_to: Rounding
    unit: PrivacyUnit | None = None
    where: Node | None = None
    source: str = ""
    over: tuple[str, ...] = ()
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    immutable: tuple[str, ...] = ()
    snapshot: str = ""

    @property
    def is_empty(self) -> bool:
        """True if no record within the public bounds can satisfy the filter, whatever the records are."""
        if self.where is None:
            return False
        possible = can_be_true(self.where, ranges_of(self.bounds))
        return not possible or filter_region(self.where, self.schema, tuple(self.schema)) == NOBODY

    def region(self, groups: Grouping | None = None) -> str | None:
        """Return the charged region of a query about these records, as a ledger keeps it; None for everybody.

        With a unit that is everybody, unless it has one row: several may lie in several regions.
        """
        if not self.immutable or (self.unit is not None and not self.unit.one_row):
            return None
        let_through = filter_region(self.where, self.schema, self.immutable)
        found = intersection([let_through, keys_region(groups, self.schema, self.immutable)])
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
        >>> plan = Planner({}, one, one.levels, bounds={}, round_to={}).plan([Count()], "1/4")
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
            snapshot=self.snapshot,
            single=single,
        )
        if groups is not None and self.unit is not None:
            refuse_ids(groups, self.unit)
            for query, planned in zip(queries, plans, strict=True):
                self._refuse_unless_groups_are_proved(query, planned, self.unit)
        return plan

    def query_plan(
        self, query: Query, share: Fraction, options: Options = DEFAULT, groups: Grouping | None = None
    ) -> QueryPlan:
        """Return how one query is answered, or refuse it; whether the share can be spent is not looked at."""
        self.refuse_elsewhere(query)
        query = query.known(self.schema)
        method = known_method(query, options)
        if isinstance(query, OfUnits) and query.per_unit is not None:
            method = self._of_totals(query, method)
        if isinstance(query, Quantile) and query.unit_weighted:
            self._refuse_unless_units_are_alike(query, method)
        if self.unit is not None:
            refuse_unless_proved(query, method, self.unit)
            method = UNITS if _counts_units(query, method, self.unit) else method
        part = self._divided(method, groups)
        terms = self.terms(query, method, share, options, groups, part)
        if options.method is None and self.unit is None:
            method, terms = preferred(
                terms, method, lambda row: self.terms(query, row, share, options, groups)
            )
        measure = terms.measure
        self._refuse_too_large(measure)
        steps = self._parted(terms, method) if query.rule else (self._step(terms, method),)
        together = self._together(steps[0].mechanism, groups)
        if together == "joint":
            steps = tuple(_jointly(step) for step in steps)
        read = self._read(terms, method)
        gaussian = all(getattr(step.mechanism, "gaussian", False) for step in steps)
        if together == "joint" and gaussian and isinstance(read, UnitRead):
            read = replace(read, euclidean=True)
        return QueryPlan(
            query=query,
            method=method.name,
            share=share,
            read=read,
            steps=steps,
            measure=measure,
            derived=Derived(query.rule, measure, derived_label(steps, query, share))
            if measure is not None and query.rule
            else None,
            together=together,
            options={name: _option_value(getattr(steps[0].mechanism, name)) for name in method.options},
        )

    def terms(  # noqa: PLR0917  (each is a public fact)
        self,
        query: Query,
        method: Method,
        share: Fraction,
        options: Options,
        groups: Grouping | None,
        part: UnitPart = "",
    ) -> MethodTerms:
        """Return everything public that a method's mechanism is built from."""
        rows = self.unit.max_rows if self.unit is not None else 1
        levels = self.policy.deep_levels if method.deep else self.levels
        listed = len(groups.keys) if part == "group" and groups is not None else None
        return MethodTerms(
            self.policy,
            divided_levels(self.levels, levels.below, rows, listed) if part else levels,
            self.bounds,
            query,
            measure_of(query, method, self.schema, self.bounds, self.round_to, self._opened_by, rows),
            share,
            options,
            self.where,
            groups,
            whole=frozenset(name for name, column in self.schema.items() if column.integer),
            rows=rows,
            part=part,
        )

    def _of_totals(self, query: OfUnits, method: Method) -> Method:
        """Return the method for what units' rows make: one record a unit, or one in each of its groups."""
        if self.unit is None:
            raise InvalidRequest(
                f"{query}: a row is a record here. Leave per_unit= away, or open the table with ",
                Argument("privacy_unit", "customer", of="prdp.open"),
                ".",
            )
        if isinstance(query, Quantile) and query.unit_weighted:
            raise InvalidRequest(f"{query}: each unit has one value already. Leave unit_weighted= away.")
        if method.name not in {Rank.name, Choice.name}:
            default = query.methods[0].name
            raise InvalidRequest(f"{query} is answered by method={default!r} alone, not by {method.name!r}.")
        return replace(method, for_units=True, divides="group")

    def _refuse_unless_units_are_alike(self, query: Query, method: Method) -> None:
        """Refuse to weigh units alike where that is not the same as what their budgets allow."""
        if self.unit is None:
            reason = (
                "a row is a record here, and weighs 1. Leave unit_weighted= away, or open the table with "
            )
            raise InvalidRequest(
                f"{query}: {reason}", Argument("privacy_unit", "customer", of="prdp.open"), "."
            )
        if method.name != Rank.name:
            raise InvalidRequest(f"{query} is answered by method='rank' alone, not by {method.name!r}.")
        if self.policy.at_least != self.policy.at_most:
            raise InvalidRequest(
                f"{query} needs a policy that gives all units one budget, such as policy='1': under others, "
                "units weigh by their budgets. Leave unit_weighted= away."
            )

    def _divided(self, method: Method, groups: Grouping | None) -> UnitPart:
        """Return what a unit's budget is divided among; nothing where its rows are folded into one record."""
        if self.unit is None or (method.for_units and (groups is None or self._keeps_apart(groups))):
            return ""
        return method.divides

    def _step(self, terms: MethodTerms, method: Method) -> Step:
        """Return the one step of a query that a mechanism answers."""
        mechanism = method.build(terms)
        label = step_label(terms, mechanism, self.unit)
        labels = tuple(replace(label, words=name) for name in terms.query.names)
        select_input = method.select_input
        if self.unit is not None and not terms.part:
            select_input = _units_seen(terms.query, self.unit.id)
        return Step("", terms.share, mechanism, labels, select_input, conversion=terms.policy.conversion)

    def _parted(self, terms: MethodTerms, method: Method) -> tuple[Step, ...]:
        """Return the steps of a derived answer, whose parts share the query's method."""
        steps: list[Step] = []
        for part in terms.query.parts:
            row = next(row for row in part.methods if row.name == method.name)
            own = replace(terms, share=terms.share * part.of_share)
            mechanism = row.build(own) if self.unit is not None else part_mechanism(part, row, own)
            alike = steps and type(steps[0].mechanism) is type(mechanism)
            shown_mechanism = steps[0].mechanism if alike else mechanism
            label = part_label(part, own, mechanism, shown_mechanism, self.unit)
            select_input = part.select_input if self.unit is None else _unit_part(part)
            conversion = terms.policy.conversion
            steps.append(Step(part.name, own.share, mechanism, (label,), select_input, conversion=conversion))
        return tuple(steps)

    def _read(self, terms: MethodTerms, method: Method) -> Read:
        if self.unit is None:
            measure = terms.measure and replace(terms.measure, totals=method.totals)
            return method.reads(replace(terms, measure=measure))
        if terms.part:
            levels = self.policy.deep_levels if method.deep else self.levels
            whole = terms.whole_measure
            read = divided(
                method.reads(replace(terms, measure=whole)),
                self.unit,
                levels,
                terms.part,
                terms.query.unit_fold,
            )
            return read if whole is terms.measure else replace(read, of_row=terms.measure)
        apart = terms.groups is not None and self._keeps_apart(terms.groups)
        once = method is UNITS and terms.groups is not None and not apart
        measure = terms.measure and replace(
            terms.measure, squares=False
        )  # units' are folded once centers are drawn
        facts = (self.policy, terms.levels, self.unit, measure, terms.query.unit_fold, terms.where)
        return UnitRead(*facts, terms.groups, apart=apart, once=once)

    def _together(self, mechanism: Answering, groups: Grouping | None) -> Together:
        """Return how groups are drawn.

        Groups may choose a clipping point together, unless they are distinguished by a column that the policy
        reads: their budgets then differ by design, and what suits one does not suit another.
        """
        if groups is None:
            return ""
        if self.unit is not None and not self._keeps_apart(groups):
            return "joint" if isinstance(mechanism, Clip) else ""  # of no other it is proved
        apart = len(groups.keys) < 2 or any(map(self._policy_reads, _columns(groups.by)))
        return "pooled" if hasattr(mechanism, "grouped") and not apart else ""

    def _keeps_apart(self, groups: Grouping) -> bool:
        """Return whether a unit is in one group at most: by columns of units alone, or with one row."""
        if self.unit is None or self.unit.join is None:
            return self.unit is not None and self.unit.one_row_is_all
        return all(map(self.unit.join.owns, _columns(groups.by)))

    def _policy_reads(self, column: str) -> bool:
        join = self.unit.join if self.unit is not None else None
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
        return "prdp.open_join" if self.unit is not None and self.unit.join is not None else "prdp.open"

    def _refuse_unless_groups_are_proved(self, query: Query, plan: QueryPlan, unit: PrivacyUnit) -> None:
        if plan.groups_are_apart or isinstance(plan.read, DividedRead):
            return
        method = next(row for row in query.methods if row.name == plan.method)
        method = method if plan.together == "joint" else replace(method, unit_groups=False)
        refuse_unless_proved(query.known(self.schema), method, unit, grouped=True)
        measure = plan.measure
        if measure is not None and measure.largest * unit.max_rows >= _MAX_SHARED_OUT:
            raise InvalidRequest(
                f"the bounds of {measure.column!r} allow {measure.largest:,} rounding steps of "
                f"{measure.round_to} in "
                f"each of {unit.max_rows:,} rows: 2^63 or more, too many to share out among groups. Take "
                "a larger rounding step, narrower bounds or a smaller max_rows."
            )

    def _refuse_too_large(self, measure: Measure | None) -> None:
        if self.unit is not None and measure is not None:
            most = self.unit.max_rows
            if measure.largest * most > _MAX_FOLDED:
                raise InvalidRequest(
                    f"{most:,} rows of {measure.largest:,} rounding steps each are too many (2^83). Lower "
                    "max_rows, "
                    "narrow the bounds or take a larger rounding step."
                )


def refuse_ids(groups: Grouping, unit: PrivacyUnit) -> None:
    """Refuse groups each of which is about one unit, or about one row of a unit."""
    for key in groups.by:
        table = unit.ids.get(key.column) if isinstance(key, Values) and key.expression is None else None
        if table is None:
            continue
        whose = "a protected record" if key.column == unit.id else f"a row of {table!r}, which is not public"
        raise PlanRefusal(
            f"group_by({key.column!r}) would give an answer for each {key.column}, but that names {whose}: "
            f"each would be about {unit.noun}. Group by what many of them share.",
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
        return Clip.tuned(terms.drawn, leads=True)
    return Following(pairs, Clip.tuned(terms.drawn))


def _pairs(row: Method, terms: MethodTerms) -> PairedPoints | None:
    """Return how points follow that of the sum; None where they do not, or where a count needs none.

    Under a policy of a few budgets a count is answered tier by tier, which is better than any one point.
    """
    if row.name != Clip.name:
        return None
    read = CellRead(terms.policy, terms.levels, terms.bounds, terms.measure, terms.where)
    if Clip.tuned(terms.drawn).tiers(read.planned().empty.counted()) is not None:
        return None
    return PairedPoints.of(terms.policy, terms.levels, terms.measure)


def plan_of_one(terms: MethodTerms, method: Method, omitted: str = "") -> QueryPlan:
    """Return how one query is answered by one mechanism, about whatever its entry point reads."""
    mechanism, query = method.build(terms), terms.query
    caveat = mechanism.caveat(signed=False)
    label = Label(str(query), terms.share, method.name, caveat, omitted=omitted, whole=True)
    conversion = terms.policy.conversion
    step = Step("", terms.share, mechanism, (label,), method.select_input, conversion=conversion)
    options = {name: _option_value(getattr(mechanism, name)) for name in method.options}
    return QueryPlan(query, method.name, terms.share, method.reads(terms), (step,), options=options)


def known_method(query: Asked, options: Options) -> Method:
    """Return the row of the method that a caller asks for, if it takes the other options.

    >>> from prdp.plan.queries import Count
    >>> known_method(Count(), Options()).name, known_method(Count(), Options("partition")).name
    ('clip', 'partition')
    >>> known_method(Count(), Options("choice"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    prdp.errors.InvalidRequest: method='choice' is not available for this query. Choose one of: clip, ...
    """
    names = [row.name for row in query.methods]
    name = names[0] if options.method is None else options.method
    if name not in names:
        raise InvalidRequest(
            f"method={name!r} is not available for this query. Choose one of: {', '.join(names)}."
        )
    method = query.methods[names.index(name)]
    if options.graded is not None and not isinstance(options.graded, bool):
        raise InvalidRequest(f"graded={options.graded!r} is neither True nor False.")
    for option in ("beta", "graded", "split"):
        if getattr(options, option) is not None and option not in method.options:
            raise InvalidRequest(f"method={name!r} takes no {option}= here.")
    return method


def refuse_unless_proved(query: Query, method: Method, unit: PrivacyUnit, *, grouped: bool = False) -> None:
    """Refuse, by public facts, a question for which there is no proof for units yet."""
    if method.divides or (method.for_units and (method.unit_groups or not grouped) and not query.unproved):
        return
    by_group = " by group" if grouped else ""
    why = (
        query.unproved or f"that method={method.name!r} keeps all rows of a unit{by_group} within one budget"
    )
    raise InvalidRequest(
        f"{query}{by_group} is not answered for {unit.declared}: {why} is not "
        "proved yet. Available, for groups too: count, sum and mean by method='clip', quantile, max, min and "
        "count_distinct."
    )


def _counts_units(query: Query, method: Method, unit: PrivacyUnit) -> bool:
    """Return whether a query counts units, each of them once whatever its rows."""
    return query.counts_units(unit.id) and method.name == UNITS.name


def _columns(by: Iterable[GroupKey]) -> list[str]:
    """Return the columns that groups are distinguished by, those of computed keys too."""
    return sorted(
        {name for key in by for name in (columns(key.expression) if key.expression else (key.column,))}
    )


def _jointly(step: Step) -> Step:
    """Return a step that draws all groups of units at once."""
    labels = tuple(replace(label, method=Joint.name) for label in step.labels)
    shown = _unit_rows if step.select_input is _counted_units else step.select_input
    mechanism = Joint.tuned(step.drawn_share, gaussian=getattr(step.mechanism, "gaussian", False))
    return replace(step, mechanism=mechanism, labels=labels, select_input=shown)


def _units_seen(query: Query, privacy_unit: str) -> Any:
    """Return what a mechanism is shown of units: each counts 1 where they themselves are counted."""
    return _counted_units if query.counts_units(privacy_unit) else _unit_totals


def _unit_part(part: DerivedPart) -> Any:
    if part.select_input is None:
        return None
    return _unit_rows if part.name == "count" else _unit_totals


def _unit_totals(cells: UnitCells) -> Any:
    return cells.totals


def _unit_rows(cells: UnitCells) -> Any:
    return cells.rows


def _counted_units(cells: UnitCells) -> Any:
    rows: Any = cells.rows
    return rows.counted()


def _option_value(option: object) -> Any:
    return option if isinstance(option, bool) else str(option)
