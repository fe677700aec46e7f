"""Questions of one statement about the same column: what a richer one answers on its way is not drawn again.

A mean has a noisy sum, a variance a noisy mean. Beside a mean, a sum needs no draw of its own: the mean is
answered with the shares of both, and the sum is its part. In full: proofs/computed.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from prdp.mechanisms.additive import Additive
from prdp.mechanisms.clip import Clip
from prdp.mechanisms.following import Following
from prdp.mechanisms.joint import Joint
from prdp.mechanisms.naive import Naive
from prdp.plan.methods import Answering
from prdp.plan.queries import Sum
from prdp.plan.reads import CellRead, Read, UnitRead
from prdp.plan.steps import QueryPlan, Step


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
        """What draws the parts: for all of them, as the richest one has it."""
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
    """Return the read of cells or units that finds the same, squares aside; None for other reads."""
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
    mechanism = _tuned(step.mechanism, share)
    return replace(
        step, share=share, mechanism=mechanism, labels=labels, shared_draw_id=number, own_share=step.share
    )


def _tuned(mechanism: Answering, share: Fraction) -> Answering:
    """Return a mechanism for another share."""
    if isinstance(mechanism, Clip):
        return Clip.tuned(share, signed=mechanism.signed, leads=mechanism.leads)
    if isinstance(mechanism, Following):
        return replace(mechanism, alone=Clip.tuned(share))
    return Joint.tuned(share) if isinstance(mechanism, Joint) else mechanism
