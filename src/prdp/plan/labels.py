"""Labels of a plan's steps: facts beside their numbers, from public facts alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from prdp.cells.measure import Measure
from prdp.declare.units import PrivacyUnit
from prdp.expressions.nodes import Column, Node
from prdp.levels import Levels
from prdp.mechanisms.clip import Clip
from prdp.mechanisms.following import Following
from prdp.plan.excluded_records import leaves_out
from prdp.plan.methods import Answering, MethodTerms
from prdp.plan.queries import Count, CountDistinct, DerivedPart, Query, Sum
from prdp.plan.reads import CellRead
from prdp.plan.steps import Step
from prdp.release.clipped import ClippedTerms
from prdp.release.label import Label


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
    """Return the label of a part of a derived answer; ``said`` is the mechanism that the answer names."""
    measure = terms.measure if part.name == "sum" else None
    round_to = terms.measure.round_to if terms.measure else Fraction(1)
    whole = part.name == "count" or (part.name == "sum" and round_to.denominator == 1)
    label = _label(part.words.format(terms.query.measured), terms, answering, measure, unit)
    label = replace(label, round_to=round_to**part.power, whole=whole)
    if part.select_input is None:  # around a drawn value, which the terms are told when it is drawn
        return replace(label, clipped=_clipped(terms, mechanism, terms.measure, unit))
    return _with_clipped_terms(label, terms, mechanism, measure, unit)


def derived_label(steps: Sequence[Step], query: Query, share: Fraction) -> Label:
    """Return the label of an answer that follows from its parts, by the step of the first one."""
    caveats = (step.mechanism.caveat(signed=True) for step in steps)
    caveat = next(filter(None, caveats), None)
    return Label(str(query), share, steps[0].mechanism.name, caveat, left_out=steps[0].labels[0].left_out)


def _label(
    words: str, terms: MethodTerms, answering: Answering, measure: Measure | None, unit: PrivacyUnit | None
) -> Label:
    low, high = (measure.low, measure.high) if measure else (0, 1)
    caveat = answering.caveat(signed=measure is not None and measure.signed)
    round_to = measure.round_to if measure else Fraction(1)
    bounds = terms.bounds if unit is None or unit.join is None else {}  # a join has names of its own
    left_out = leaves_out(terms.policy, bounds, terms.whole, unit, _asked_about(terms, unit))
    label = Label(words, terms.share, answering.name, caveat, round_to, below=low < 0, above=high > 0)
    return replace(label, left_out=left_out)


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
    return ClippedTerms(
        terms.policy,
        ((name, terms.bounds[name]),) if alone else (),
        measure.column if measure else None,
        measure.round_to if measure else Fraction(1),
        unit.id if unit else None,
        computed=measure is not None and measure.expression is not None,
        below=measure is not None and measure.low < 0,
        above=measure is None or measure.high > 0,
    )


def _most(terms: MethodTerms, measure: Measure | None) -> tuple[Fraction | None, Fraction | None]:
    """Return how much a unit of budget can count for in values below and above zero, where both may be.

    In units of the grain; None where that is not worked out. Where values are far smaller on one side,
    nothing there can be clipped by a point that suits the other.
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
