"""Labels of a plan's steps: facts beside their numbers, and records they exclude; from public facts alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from prdp.cells.measure import Measure
from prdp.declare.groups import GroupKey
from prdp.declare.units import MAX_ROWS, PrivacyUnit
from prdp.expressions.intervals import bound
from prdp.expressions.invalid_budgets import Threshold, never_valid_without, unknown_by
from prdp.expressions.nodes import Case, Column, IsNull, Node, columns, conjuncts, walk
from prdp.expressions.tokens import shown_name
from prdp.levels import Levels
from prdp.mechanisms.clip import Clip
from prdp.mechanisms.following import Following
from prdp.plan.methods import ADDED_UP, Answering, MethodTerms
from prdp.plan.queries import Count, CountDistinct, DerivedPart, Mean, OfUnits, Query, Std, Sum, Variance
from prdp.plan.reads import CellRead
from prdp.plan.steps import Step
from prdp.policy import Policy, ranges_of
from prdp.release.clipped import ClippedTerms, Counted
from prdp.release.formatting import clamped
from prdp.release.rows import Label
from prdp.schema import Bounds

_MAX_SHOWN = 3
_CUT_OFF = (Count, Sum, Mean, Variance, Std)


def excluded_records(
    policy: Policy,
    bounds: Bounds,
    whole: Collection[str] = (),
    unit: PrivacyUnit | None = None,
    among: Sequence[Node] = (),
) -> str:
    """Return which records a policy that was fitted to its table leaves out; empty where none can be.

    A column may be unknown unless its source declares that it is not. Of what known values have no budget,
    only values within the bounds are looked at.

    >>> excluded_records(Policy("CASE WHEN cost < 5000 THEN 4 ELSE 1 END"), {})
    'records without cost, to which the policy gives no budget'
    >>> policy = Policy("10 - age", at_least="1/2")
    >>> excluded_records(policy, {"age": (Fraction(0), Fraction(12))}, whole={"age"})
    'records without age or with age from 10 to 12, to which the policy gives no budget'
    >>> excluded_records(Policy("10000 / greatest(coalesce(cost, 0), 100)"), {})
    ''
    >>> from prdp.expressions.parse import parse
    >>> excluded_records(Policy("10000 / cost"), {}, among=[parse("cost IS NULL")])
    'all records of the filter: the policy gives no budget to those without cost'
    >>> excluded_records(Policy("CASE WHEN cost IS NULL THEN 0 ELSE 1 END"), {})
    'records without cost, to which the policy gives no budget'

    Args:
        policy: The policy.
        bounds: The public bounds of the columns that it reads.
        whole: The columns that hold whole numbers only.
        unit: Who is protected with all their rows; None where a row is a record.
        among: What must hold, or have a value, of a record that is asked about.
    """
    unknown = unknown_by(policy.expression, among)
    unknown += _invalid_without(policy, bounds, among, unknown)
    null = [part.operand for node in among for part in conjuncts(node) if isinstance(part, IsNull)]
    if all_of_them := next((names for names in unknown if names <= set(_names(null))), None):
        return f"all records of the filter: the policy gives no budget to those {_without(all_of_them)}"
    found = [_without(names) for names in unknown]
    limits = tuple((name, *bounds[name]) for name in sorted(policy.columns) if name in bounds)
    found += _without_budget(policy, limits, frozenset(whole) & policy.columns)
    if not found:
        return ""
    more = " and others" if len(found) > _MAX_SHOWN else ""
    conditions = f"{' or '.join(found[:_MAX_SHOWN])}{more}"
    return f"{_whose(unit)} {conditions}, to which the policy gives no budget"


def _names(nodes: Iterable[Node]) -> Iterator[str]:
    return (node.name for node in nodes if isinstance(node, Column))


def remedy(policy: Policy) -> str:
    """Return how a policy could give a budget to records without a value; empty where nobody is without.

    >>> remedy(Policy("10000 / cost")), remedy(Policy("1"))
    ('coalesce(cost, ...) in the policy would give them one: put a usual value there', '')
    """
    unknown = unknown_by(policy.expression)
    if not unknown:
        return ""
    names = ", ".join(map(shown_name, sorted(unknown[0])))
    return f"coalesce({names}, ...) in the policy would give them one: put a usual value there"


def _invalid_without(
    policy: Policy, bounds: Bounds, among: Sequence[Node], unknown: Collection[frozenset[str]]
) -> list[frozenset[str]]:
    """Return the columns without which a record may be asked about, and has no budget that is valid."""
    found = {frozenset((part.name,)): part for part in walk(policy.expression) if isinstance(part, Column)}
    return [
        names
        for names, column in found.items()
        if names not in unknown
        and unknown_by(column, among)
        and never_valid_without(policy.expression, column.name, ranges_of(bounds), Threshold(policy.is_valid))
    ]


def _whose(unit: PrivacyUnit | None) -> str:
    if unit is None:
        return "records"
    if unit.join is not None:
        return f"each {shown_name(unit.join.key)} of {shown_name(unit.join.private)}"
    return f"each {shown_name(unit.id)} with a row"


def _without(names: Collection[str]) -> str:
    shown = [shown_name(name) for name in sorted(names)]
    return f"without {shown[0]}" if len(shown) == 1 else f"with none of {', '.join(shown)}"


@lru_cache(maxsize=256)
def _without_budget(
    policy: Policy, bounds: tuple[tuple[str, Fraction, Fraction], ...], whole: frozenset[str]
) -> list[str]:
    """Return the values within bounds that have no budget; of several columns, that there are some."""
    found = policy.without_budget({name: (low, high) for name, low, high in bounds}, whole)
    return [] if found is None else [found.condition or "with some values"]


def step_label(terms: MethodTerms, mechanism: Answering, unit: PrivacyUnit | None) -> Label:
    """Return the label of a query that one mechanism answers; its words are the query's names."""
    measure = terms.measure
    label = _label("", terms, mechanism, measure, unit)
    whole = isinstance(terms.query, Count | CountDistinct) or (
        isinstance(terms.query, Sum) and label.round_to.denominator == 1
    )
    return _with_clipped_terms(replace(label, whole=whole), terms, mechanism, measure, unit)


def part_label(
    part: DerivedPart,
    terms: MethodTerms,
    mechanism: Answering,
    answering: Answering,
    unit: PrivacyUnit | None,
) -> Label:
    """Return the label of a part of a derived answer; ``answering`` is the mechanism that it names."""
    measure = terms.measure if part.name == "sum" else None
    round_to = terms.measure.round_to if terms.measure else Fraction(1)
    whole = part.name == "count" or (part.name == "sum" and round_to.denominator == 1)
    label = _label(part.words.format(terms.query.measured), terms, answering, measure, unit)
    label = replace(label, round_to=round_to**part.power, whole=whole)
    if part.select_input is None:  # around a drawn value, which the terms are reported when it is drawn
        return replace(label, clipped=_clipped(terms, mechanism, terms.measure, unit))
    return _with_clipped_terms(label, terms, mechanism, measure, unit)


def derived_label(steps: Sequence[Step], query: Query, share: Fraction) -> Label:
    """Return the label of an answer that follows from its parts, by the step of the first one."""
    caveats = (step.mechanism.caveat(signed=True) for step in steps)
    caveat, first = next(filter(None, caveats), None), steps[0].labels[0]
    return Label(
        str(query), share, steps[0].mechanism.name, caveat, omitted=first.omitted, clamps=first.clamps
    )


def _label(
    words: str, terms: MethodTerms, answering: Answering, measure: Measure | None, unit: PrivacyUnit | None
) -> Label:
    low, high = (measure.low, measure.high) if measure else (0, 1)
    caveat = answering.caveat(signed=measure is not None and measure.signed)
    round_to = measure.round_to if measure else Fraction(1)
    bounds = terms.bounds if unit is None or unit.join is None else {}  # a join has names of its own
    omitted = excluded_records(terms.policy, bounds, terms.whole, unit, _asked_about(terms, unit))
    label = Label(words, terms.share, answering.name, caveat, round_to, below=low < 0, above=high > 0)
    notes = (
        _clamping(measure, terms.bounds),
        _cut_off(terms.query, measure, unit),
        _disagreeing(terms, measure, unit),
    )
    clamps = "; ".join(filter(None, notes))
    return replace(label, omitted=omitted, clamps=clamps)


def _clamping(measure: Measure | None, bounds: Bounds) -> str:
    """Return which values count as a bound; empty where no value of what is computed lies beyond it."""
    if measure is None:
        return ""
    node = measure.expression
    low, high = measure.low * measure.round_to, measure.high * measure.round_to
    if node is not None:
        possible = bound(node, {})
        within = low <= possible.low and possible.high <= high
        if within or _has_branches(node) or not columns(node) & bounds.keys():
            return ""
    return clamped(low, high)


def _cut_off(query: Query, measure: Measure | None, unit: PrivacyUnit | None) -> str:
    """Return what of a unit's rows does not count; empty where nobody declared a limit of them."""
    declared = unit is not None and unit.max_rows < MAX_ROWS and not unit.one_row
    own_table = unit is not None and unit.join is not None and len(unit.join.tables) == 1
    per_unit = query.per_unit if isinstance(query, OfUnits) else None
    if unit is None or not declared or own_table or not (isinstance(query, _CUT_OFF) or per_unit in ADDED_UP):
        return ""
    of_ones = measure is not None and measure.low == 0 and measure.high * measure.round_to == 1
    if (isinstance(query, Sum) or per_unit == "sum") and not of_ones:
        return f"each {shown_name(unit.id)} adds at most {unit.max_rows:,} times the bound"
    return f"at most {unit.max_rows:,} rows of each {shown_name(unit.id)} count"


def _disagreeing(terms: MethodTerms, measure: Measure | None, unit: PrivacyUnit | None) -> str:
    """Return what becomes of several rows of one record in a join's private table; empty if none is read."""
    if unit is None or unit.join is None:
        return ""
    join = unit.join
    own = {name for name, (table, _) in join.names.items() if table == join.private} - {unit.id}
    nodes = [Column(key.column) if key.expression is None else key.expression for key in _keys(terms)]
    nodes += [] if terms.where is None else [terms.where]
    nodes += [] if measure is None else [measure.expression or Column(measure.column)]
    if any(columns(node) & own for node in nodes):
        return unit.of_several_rows
    return unit.of_same_key if isinstance(terms.query, _CUT_OFF) else ""


def _keys(terms: MethodTerms) -> Sequence[GroupKey]:
    return terms.groups.by if terms.groups is not None else ()


def _has_branches(node: Node) -> bool:
    return any(isinstance(part, Case) for part in walk(node))


def _asked_about(terms: MethodTerms, unit: PrivacyUnit | None) -> list[Node]:
    """Return what holds, or has a value, of every record that counts; units go with all of their rows."""
    if unit is not None:
        return []
    measure = terms.measure
    value = None if measure is None else measure.expression or Column(measure.column)
    return [node for node in (terms.where, value) if node is not None]


def _with_clipped_terms(
    label: Label, terms: MethodTerms, mechanism: Answering, measure: Measure | None, unit: PrivacyUnit | None
) -> Label:
    """Return a label that knows which records a clipping point may clip."""
    below, above = (None, None) if unit is not None else _most(terms, measure)
    return replace(
        label, clipped=_clipped(terms, mechanism, measure, unit), most_below=below, most_above=above
    )


def _clipped(
    terms: MethodTerms, mechanism: Answering, measure: Measure | None, unit: PrivacyUnit | None
) -> ClippedTerms | None:
    """Return what is public about which records a clipping point lets count for less."""
    if not isinstance(mechanism, Clip | Following):
        return None
    added = measure.column if measure is not None and measure.expression is None else ""
    (name, *others) = terms.policy.columns or (added,)  # where all budgets are alike, values alone decide
    alone = not others and name in terms.bounds and unit is None
    counted: Counted = "rows"
    if unit is not None and isinstance(terms.query, CountDistinct):
        counted = "units" if terms.groups is None else "groups"
    return ClippedTerms(
        terms.policy.counted,
        ((name, terms.bounds[name]),) if alone else (),
        measure.column if measure else None,
        measure.round_to if measure else Fraction(1),
        unit.id if unit else None,
        computed=measure is not None and measure.expression is not None,
        below=measure is not None and measure.low < 0,
        above=measure is None or measure.high > 0,
        zero_or_one=measure is not None and measure.low == 0 and measure.high == measure.round_to == 1,
        counted=counted,
    )


def _most(terms: MethodTerms, measure: Measure | None) -> tuple[Fraction | None, Fraction | None]:
    """Return how much a unit of budget can count for in values below and above zero, where both may be.

    In units of the rounding step; None where that is not worked out. Where values are far smaller on one
    side, nothing there can be clipped by a point that suits the other.
    """
    if measure is None or not measure.signed or measure.expression is not None:
        return None, None
    low, high = terms.bounds[measure.column]
    zero = Fraction(0)
    levels = Levels(terms.levels.at_least, terms.levels.at_most)
    times = 1 << terms.levels.below  # as far beyond the bounds as values may lie
    sides = ((low * times, zero, replace(measure, high=0)), (zero, high * times, replace(measure, low=0)))
    found: list[Fraction | None] = []
    for least, most, side in sides:
        bounds = {**terms.bounds, measure.column: (least, most)}
        ratios = CellRead(terms.policy, levels, bounds, side, None).planned().ratios
        found.append(ratios.values[-1][1] / levels.quantum if ratios else None)
    return found[0], found[1]
