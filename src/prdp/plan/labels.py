"""Labels of a plan's steps: facts beside their numbers, from public facts alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from prdp.cells.measure import Measure
from prdp.declare.units import Owners
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


def step_label(terms: MethodTerms, mechanism: Answering, owners: Owners | None) -> Label:
    """Return the label of a query that one mechanism answers; its words are the query's names."""
    measure = terms.measure
    label = _label("", terms, mechanism, measure, owners)
    whole = isinstance(terms.query, Count | CountDistinct) or (
        isinstance(terms.query, Sum) and label.grain.denominator == 1
    )
    return _told_what_is_clipped(replace(label, whole=whole), terms, mechanism, measure, owners)


def part_label(
    part: DerivedPart, terms: MethodTerms, mechanism: Answering, said: Answering, owners: Owners | None
) -> Label:
    """Return the label of a part of a derived answer; ``said`` is the mechanism that the answer names."""
    measure = terms.measure if part.name == "sum" else None
    grain = terms.measure.grain if terms.measure else Fraction(1)
    whole = part.name == "count" or (part.name == "sum" and grain.denominator == 1)
    label = _label(part.words.format(terms.query.measured), terms, said, measure, owners)
    label = replace(label, grain=grain**part.power, whole=whole)
    if part.sees is None:  # around a drawn value, which the terms are told when it is drawn
        return replace(label, clipped=_clipped(terms, mechanism, terms.measure, owners))
    return _told_what_is_clipped(label, terms, mechanism, measure, owners)


def derived_label(steps: Sequence[Step], query: Query, share: Fraction) -> Label:
    """Return the label of an answer that follows from its parts, by the step of the first one."""
    caveats = (step.mechanism.caveat(signed=True) for step in steps)
    caveat = next(filter(None, caveats), None)
    return Label(str(query), share, steps[0].mechanism.name, caveat, left_out=steps[0].labels[0].left_out)


def _label(
    words: str, terms: MethodTerms, said: Answering, measure: Measure | None, owners: Owners | None
) -> Label:
    low, high = (measure.low, measure.high) if measure else (0, 1)
    caveat = said.caveat(signed=measure is not None and measure.signed)
    grain = measure.grain if measure else Fraction(1)
    bounds = terms.bounds if owners is None or owners.join is None else {}  # a join has names of its own
    left_out = leaves_out(terms.policy, bounds, terms.whole, owners, _asked_about(terms, owners))
    label = Label(words, terms.share, said.name, caveat, grain, below=low < 0, above=high > 0)
    return replace(label, left_out=left_out)


def _asked_about(terms: MethodTerms, owners: Owners | None) -> list[Node]:
    """Return what holds, or has a value, of every record that counts; owners go with all of their rows."""
    if owners is not None:
        return []
    measure = terms.measure
    value = None if measure is None else measure.expression or Column(measure.column)
    return [node for node in (terms.where, value) if node is not None]


def _told_what_is_clipped(
    label: Label, terms: MethodTerms, mechanism: Answering, measure: Measure | None, owners: Owners | None
) -> Label:
    """Return a label that knows which records a clipping point may clip."""
    below, above = (None, None) if owners is not None else _most(terms, measure)
    return replace(
        label, clipped=_clipped(terms, mechanism, measure, owners), most_below=below, most_above=above
    )


def _clipped(
    terms: MethodTerms, mechanism: Answering, measure: Measure | None, owners: Owners | None
) -> ClippedTerms | None:
    """Return what is public about which records a clipping point lets count for less."""
    if not isinstance(mechanism, Clip | Following):
        return None
    added = measure.column if measure is not None and measure.expression is None else ""
    (name, *others) = terms.policy.columns or (added,)  # where all budgets are alike, values alone decide
    alone = not others and name in terms.bounds and owners is None
    return ClippedTerms(
        terms.policy,
        ((name, terms.bounds[name]),) if alone else (),
        measure.column if measure else None,
        measure.grain if measure else Fraction(1),
        owners.id if owners else None,
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
