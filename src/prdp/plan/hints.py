"""Points that are known already: where a recorded release clipped, the next question starts.

A hint comes from the ledger alone, and is kept with the charge, so that whoever takes the charge up draws
from the same law. In full: proofs/started.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

from prdp.declare.exact import fraction_of, spelled
from prdp.errors import ExpressionError, LedgerError
from prdp.expressions.nodes import Node, canonical, conjuncts
from prdp.expressions.parse import parse
from prdp.mechanisms.clip import Clip
from prdp.mechanisms.started import StartedClip
from prdp.plan.steps import QueryPlan
from prdp.plan.text import facts_of, in_words
from prdp.release.bias import Clipping
from prdp.release.release import Release
from prdp.release.table import ReleaseTable

_COUNT = "count"
_MUCH = 2
"""A point of a question with so many times the share is that of another question."""


class AnsweredCharge(Protocol):
    """A charge with its release, as a ledger keeps it."""

    @property
    def number(self) -> int:
        """Its place in the ledger."""

    @property
    def purpose(self) -> str:
        """The question's text."""

    @property
    def release(self) -> Any:
        """What was answered."""


Answered = Callable[[Callable[[str], bool]], Iterable[AnsweredCharge]]
"""From a test of questions' texts to the charges that pass it, with their releases; the newest first."""


@dataclass(frozen=True, slots=True)
class Asker:
    """What of a question decides which releases it may start from; all of it public.

    Attributes:
        where: Which records take part; None for all.
        over: The joined tables.
        source: What a relation makes of its table.
        edition: Which edition of the data is asked.
    """

    where: Node | None = None
    over: tuple[str, ...] = ()
    source: str = ""
    edition: str = ""

    def may_learn_from(self, text: str) -> bool:
        """Say whether a question's text is one that may tell a point."""
        if '"by"' in text or not any(f'"query": "{name}"' in text for name in _PARTS):
            return False
        facts = facts_of(text)
        return facts is not None and self.same(facts)

    def same(self, facts: Mapping[str, Any]) -> bool:
        """Say whether another question was about the same records, if perhaps of another edition.

        A wider filter's point would do where the filter has nothing to do with the values, and is
        up to 60 times worse than none where it keeps the small ones: experiments/choosing/README.md.
        """
        if "by" in facts or "keys" in facts or "once" in facts:
            return False
        if facts.get("over", []) != sorted(self.over) or facts.get("source", "") != self.source:
            return False
        return _same_condition(facts.get("where"), self.where)


def hint_for(queries: Sequence[QueryPlan], asker: Asker, answered: Answered) -> str | None:
    """Return the points that queries start from, as a ledger keeps them; None where there are none.

    Only releases about the same records and at no smaller share tell one. Of several, those of the same
    edition come first, then larger shares, then newer ones: nothing of how a point fits the records takes
    part. One that found many records far beyond its point ends all before it.
    """
    shares: dict[str, Fraction] = {}
    for _, kind, share in (step for query in queries for step in _kinds(query)):
        shares[kind] = max(share, shares.get(kind, share))
    if not shares:
        return None
    best: dict[str, tuple[tuple[bool, Fraction, int], dict[str, Any]]] = {}
    moved: set[str] = set()
    for charge in answered(asker.may_learn_from):  # only their releases are decoded
        facts = facts_of(charge.purpose) or {}
        edition = facts.get("edition", "") == asker.edition
        for kind, part, clipping in _points(facts["ask"], charge.release):
            if kind in moved or kind not in shares:
                continue
            if clipping.measured is not None and clipping.measured.many:
                moved.add(kind)
            elif not clipping.blind and part.share >= shares[kind]:
                rank = (edition, part.share, charge.number)
                if kind not in best or rank > best[kind][0]:
                    close = edition and part.share < _MUCH * shares[kind]
                    best[kind] = (rank, _told(charge, clipping.at * part.step, close=close))
    return json.dumps({kind: best[kind][1] for kind in sorted(best)}, ensure_ascii=False) if best else None


def _told(charge: AnsweredCharge, at: Fraction, *, close: bool) -> dict[str, Any]:
    question = in_words(charge.purpose)
    return {"at": spelled(at), "charge": charge.number, "question": question, "close": close}


def hinted(queries: Sequence[QueryPlan], hint: str) -> tuple[QueryPlan, ...]:
    """Return queries that start from the points that stand beside their charge.

    Raises:
        LedgerError: What stands there is no hint.
    """
    try:
        known = {kind: (fraction_of(told["at"]), told) for kind, told in json.loads(hint).items()}
        return tuple(_started(query, known) for query in queries)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise LedgerError(
            "what stands beside the unanswered charge of this question cannot be read, so it cannot be taken "
            "up. See whether a newer prdp reads it, or ask with another share."
        ) from None


def _started(query: QueryPlan, known: Mapping[str, tuple[Fraction, Mapping[str, Any]]]) -> QueryPlan:
    """Return a query whose steps start from known points."""
    steps = list(query.steps)
    for place, kind, share in _kinds(query):
        if kind in known:
            at, told = known[kind]
            grain = Fraction(1) if kind == _COUNT or query.measure is None else query.measure.grain
            words = f"the point of charge {told['charge']} ({told['question']})"
            clip = steps[place].mechanism
            assert isinstance(clip, Clip)  # noqa: S101  (see _kinds)
            started = StartedClip.tuned(clip, share, at / grain, words, close=bool(told["close"]))
            steps[place] = replace(steps[place], mechanism=started)
    return replace(query, steps=tuple(steps))


def _kinds(query: QueryPlan) -> Iterator[tuple[int, str, Fraction]]:
    """Yield the steps that choose a clipping point of records alone, what they add up, and their share.

    A point that others follow is none of them: what it spares them is more than a known point would.
    """
    for place, step in enumerate(query.steps):
        clips = type(step.mechanism) is Clip and not step.mechanism.leads
        if clips and step.sees is not None and not query.together:
            if query.measure is None or step.name == "count":
                yield place, _COUNT, step.share
            else:
                yield place, _sum_of(query.facts["of"], str(query.measure.grain)), step.share


def _sum_of(column: str, grain: str) -> str:
    return f"sum of {column} in {grain}"


def _same_condition(text: str | None, where: Node | None) -> bool:
    """Say whether a recorded filter is another one, whatever the order of its parts."""
    if text is None or where is None:
        return text is None and where is None
    own = canonical(where)
    if text == own:
        return True
    if len(text) != len(own):  # whatever the order, the parts are as long
        return False
    try:
        return set(map(canonical, conjuncts(parse(text)))) == set(map(canonical, conjuncts(where)))
    except ExpressionError:  # as it is recorded, a filter may be longer than one may be written
        return False


_PARTS = {"count": 0, "sum": 0, "mean": 2, "variance": 2, "std": 2}
"""The queries that tell points, and how many of their parts do; 0 where the answer itself does."""


def _points(asked: Sequence[Mapping[str, Any]], release: object) -> Iterator[tuple[str, Release, Clipping]]:
    """Yield what a real release added up, the part of it that did, and where that clipped."""
    row = release.releases[0] if isinstance(release, ReleaseTable) else (release,)
    if len(row) != len(asked):  # a query with several columns is among them
        return
    for ask, answer in zip(asked, row, strict=True):
        if ask["query"] not in _PARTS or not isinstance(answer, Release) or answer.simulated:
            continue
        parts = answer.parts[: _PARTS[ask["query"]]] if _PARTS[ask["query"]] else (answer,)
        for number, part in enumerate(parts):
            counts = ask["query"] == "count" or number == 1
            kind = _COUNT if counts else _sum_of(ask["of"], ask["range"][2])
            if isinstance(part.clipping, Clipping) and part.clipping.leader is None:
                yield kind, part, part.clipping
