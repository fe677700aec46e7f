"""Draws that several queries of a statement need are made once, with the shares of all of them.

A sum and a mean of the same column both need its noisy sum, a mean and a variance its noisy count as well.
Drawn once, it has what each of them would have spent on it. In full: proofs/computed.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from fractions import Fraction

from prdp.mechanisms.additive import Additive
from prdp.mechanisms.clip import Clip
from prdp.mechanisms.joint import Joint
from prdp.mechanisms.naive import Naive
from prdp.plan.methods import Answering
from prdp.plan.queries import Sum
from prdp.plan.reads import CellRead, OwnerRead, Read
from prdp.plan.steps import QueryPlan, Step


def drawn_once(plans: Sequence[QueryPlan]) -> tuple[QueryPlan, ...]:
    """Return plans of one statement in which what several of them need is one draw; by public facts alone.

    >>> import numpy, prdp
    >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy="1", bounds={"age": (0, 120)})
    >>> plan = accounts.plan(prdp.sum("age"), prdp.mean("age"), share="1/10")
    >>> [(query.query.word, step.name, str(step.share)) for query in plan.queries for step in query.steps]
    [('sum', '', '7/80'), ('mean', 'sum', '7/80'), ('mean', 'count', '1/80')]
    """
    paid: dict[Hashable, list[Fraction]] = {}
    for plan in plans:
        for step in plan.steps:
            if (draw := _draw(plan, step)) is not None:
                paid.setdefault(draw, []).append(step.share)
    shared = [draw for draw, parts in paid.items() if len(parts) > 1]
    totals = {draw: (number, sum(paid[draw], Fraction(0))) for number, draw in enumerate(shared)}
    return tuple(_rebuilt(plan, totals) for plan in plans)


def _draw(plan: QueryPlan, step: Step) -> Hashable | None:
    """Return what a step draws from, but for its share; None where nothing else could draw the same."""
    read = _but_for_squares(plan.read)
    summed = step.name == "sum" or (not step.name and isinstance(plan.query, Sum))
    counted = step.name == "count" and plan.derived is not None
    if read is None or step.sees is None or not (summed or counted):
        return None
    if not isinstance(step.mechanism, Clip | Additive | Joint | Naive):
        return None
    return summed, type(step.mechanism), plan.method, plan.together, read


def _but_for_squares(read: Read) -> Read | None:
    """Return the read of cells or owners that finds the same, squares aside; None for other reads."""
    if not isinstance(read, CellRead | OwnerRead) or read.measure is None:
        return None
    return replace(read, measure=replace(read.measure, squares=False))


def _rebuilt(plan: QueryPlan, totals: dict[Hashable, tuple[int, Fraction]]) -> QueryPlan:
    """Return a plan whose shared steps have the shares of all queries that need them."""
    steps = []
    for step in plan.steps:
        draw = _draw(plan, step)
        number, share = totals.get(draw, (None, step.share)) if draw is not None else (None, step.share)
        steps.append(step if number is None else _with(step, number, share))
    if all(step.once is None for step in steps):
        return plan
    derived = plan.derived
    if derived is not None:
        whole = sum((step.share for step in steps), Fraction(0))
        derived = replace(derived, label=replace(derived.label, share=whole))
    return replace(plan, steps=tuple(steps), derived=derived)


def _with(step: Step, number: int, share: Fraction) -> Step:
    labels = tuple(replace(label, share=share) for label in step.labels)
    mechanism = _tuned(step.mechanism, share)
    return replace(step, share=share, mechanism=mechanism, labels=labels, once=number, paid=step.share)


def _tuned(mechanism: Answering, share: Fraction) -> Answering:
    """Return a mechanism for another share."""
    if isinstance(mechanism, Clip):
        return Clip.tuned(share, signed=mechanism.signed)
    return Joint.tuned(share) if isinstance(mechanism, Joint) else mechanism
