"""Plans: the public steps that answer a question, warm starts, and the draw from what a reader finds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, Protocol

from prdp.declare.exact import fraction_of, spelled
from prdp.declare.groups import Grouping, with_whole_numbers
from prdp.declare.strict_json import strict_json
from prdp.errors import ExpressionError, InvalidRequest, LedgerError
from prdp.expressions.nodes import Node, canonical, conjuncts
from prdp.expressions.parse import parse
from prdp.mechanisms.clip import Clip
from prdp.mechanisms.rank import WEIGHT_BITS, Rank
from prdp.mechanisms.warm_clip import WarmClip
from prdp.mechanisms.warm_rank import WarmRank
from prdp.noise.entropy import Entropy
from prdp.plan.question_key import facts_of, in_words, question_text
from prdp.plan.reads import PlanReader, Read, together, widened
from prdp.plan.steps import Kept, QueryPlan, Step, refuse_overspending, shares_drawn
from prdp.release.bias import Clipping
from prdp.release.excluded_tail import TAIL_FACTORS
from prdp.release.formatting import html_table
from prdp.release.raw_answer import Ranked
from prdp.release.release import Release
from prdp.release.rows import Named, ReleaseRows, Row
from prdp.release.table import Key, Released, ReleaseTable

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
        """Answers in the ledger."""


AnsweredCharges = Callable[[Callable[[str], bool]], Iterable[AnsweredCharge]]
"""From a test of questions' texts to the charges that pass it, with their releases; the newest first."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Public facts of a query that decide which releases it may start from.

    Attributes:
        where: Which records take part; None for all.
        over: The joined tables.
        source: What a relation makes of its table.
        snapshot: Which snapshot of the data is asked.
    """

    where: Node | None = None
    over: tuple[str, ...] = ()
    source: str = ""
    snapshot: str = ""

    def may_learn_from(self, text: str) -> bool:
        """Return whether a question's text is one that may tell a point."""
        if '"by"' in text or not any(f'"query": "{name}"' in text for name in _PARTS):
            return False
        facts = _recent_facts(text)
        return facts is not None and self.same(facts)

    def same(self, facts: Mapping[str, Any]) -> bool:
        """Return whether another question was about the same records, if perhaps of another snapshot.

        A wider filter's point would do where the filter has nothing to do with the values, and is
        up to 60 times worse than none where it keeps the small ones: experiments/choosing/README.md.
        """
        if "by" in facts or "keys" in facts or "once" in facts:
            return False
        if facts.get("over", []) != sorted(self.over) or facts.get("source", "") != self.source:
            return False
        return _same_condition(facts.get("where"), self.where)


@lru_cache(maxsize=4096)
def _recent_facts(text: str) -> Mapping[str, Any] | None:
    """Return the facts of a recorded question; kept, since each new question is compared with all of them."""
    return facts_of(text)


def warm_start_for(queries: Sequence[QueryPlan], asker: Asker, answered: AnsweredCharges) -> str | None:
    """Return what queries start from, as a ledger keeps them; None where there are none.

    Only releases about the same records and at no smaller share tell one. Of several, those of the same
    snapshot come first, then larger shares, then newer ones: nothing of how a point fits the records takes
    part. One that found many records far beyond its point ends all before it.
    """
    shares: dict[str, Fraction] = {}
    for kind, share in (known_point for query in queries for known_point in _kinds(query)):
        shares[kind] = max(share, shares.get(kind, share))
    if not shares:
        return None
    best: dict[str, tuple[tuple[bool, Fraction, int], dict[str, Any]]] = {}
    moved: set[str] = set()
    for charge in answered(asker.may_learn_from):  # only their releases are decoded
        facts = _recent_facts(charge.purpose) or {}
        snapshot = facts.get("snapshot", "") == asker.snapshot
        for kind, part, at, clipping in _recorded_points(facts["ask"], charge.release):
            if kind in moved or kind not in shares:
                continue
            if clipping is not None and clipping.measured is not None and clipping.measured.many:
                moved.add(kind)
            elif not (clipping is not None and clipping.unseen) and part.share >= shares[kind]:
                rank = (snapshot, part.share, charge.number)
                if kind not in best or rank > best[kind][0]:
                    close = snapshot and part.share < _MUCH * shares[kind]
                    covered = {} if part.chosen is not None else {"tail_factor": spelled(_covered(clipping))}
                    best[kind] = (rank, _kept(charge, at, close=close) | covered)
    return json.dumps({kind: best[kind][1] for kind in sorted(best)}, ensure_ascii=False) if best else None


def _kept(charge: AnsweredCharge, at: Fraction, *, close: bool) -> dict[str, Any]:
    question = in_words(charge.purpose)
    return {"at": spelled(at), "charge": charge.number, "question": question, "close": close}


def _covered(clipping: Clipping | None) -> Fraction:
    """Return the tail factor, of those that can be measured up to, that a release's interval covered."""
    if clipping is None or clipping.nothing:
        return TAIL_FACTORS[0]
    reached = max(clipping.factors(None))
    return next((factor for factor in TAIL_FACTORS if factor >= reached), TAIL_FACTORS[-1])


def warm_started(queries: Sequence[QueryPlan], warm_start: str) -> tuple[QueryPlan, ...]:
    """Return queries that start from the points noted with their charge.

    Raises:
        LedgerError: The note is no warm start.
    """
    try:
        known = {
            kind: (fraction_of(known_point["at"]), known_point)
            for kind, known_point in strict_json(warm_start).items()
        }
        return tuple(_warm_clip(query, known) for query in queries)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise LedgerError(
            "the note beside the unanswered charge of this question cannot be read, so it cannot be taken "
            "up. See whether a newer prdp reads it, or ask with another share."
        ) from None


def _warm_clip(query: QueryPlan, known: Mapping[str, tuple[Fraction, Mapping[str, Any]]]) -> QueryPlan:
    """Return a query whose steps start from what is known."""
    steps = list(query.steps)
    for place, step in enumerate(steps):
        kinds = [kind for kind, _ in _kinds_of(query, step) if kind in known]
        if kinds and isinstance(step.mechanism, Rank):
            steps[place] = replace(step, mechanism=_warm_rank(query, step.mechanism, known))
        elif kinds:
            ((at, known_point),) = (known[kind] for kind in kinds)
            round_to = Fraction(1) if kinds == [_COUNT] else _rounding(query)
            clip = step.mechanism
            assert isinstance(clip, Clip)  # noqa: S101  (see _kinds_of)
            words, close = f"the clipping threshold of {_charge(known_point)}", bool(known_point["close"])
            covered = Fraction(known_point.get("tail_factor", TAIL_FACTORS[-1]))
            if covered not in TAIL_FACTORS:
                raise ValueError("what lies beyond a point is not measured up to there")
            warm = WarmClip.tuned(clip, step.drawn_share, at / round_to, words, covered, close=close)
            steps[place] = replace(step, mechanism=warm)
    return replace(query, steps=tuple(steps))


def _warm_rank(
    query: QueryPlan, rank: Rank, known: Mapping[str, tuple[Fraction, Mapping[str, Any]]]
) -> WarmRank:
    """Return quantiles that start from earlier ones' answers and from their weights' clipping point."""
    of, round_to = _values_of(query.facts), _rounding(query)
    answers = [known.get(_quantile_of(str(part), of, str(round_to))) for part in rank.quantiles]
    places = tuple(None if answer is None else int(answer[0] // round_to) for answer in answers)
    sources = dict.fromkeys(f"the answer of {_charge(answer[1])}" for answer in answers if answer is not None)
    at, close = None, True
    if weights := known.get(_weights_of(of)):
        at, close = weights[0], bool(weights[1]["close"])
        sources |= {f"the weights of {_charge(weights[1])}": None}
    return WarmRank.tuned(rank, places, at, ", ".join(sources), close=close)


def _charge(known_point: Mapping[str, Any]) -> str:
    return f"charge {known_point['charge']} ({known_point['question']})"


def _rounding(query: QueryPlan) -> Fraction:
    return Fraction(1) if query.measure is None else query.measure.round_to


def _kinds(query: QueryPlan) -> Iterator[tuple[str, Fraction]]:
    """Yield what the steps of a query can start from, and with which share they ask."""
    for step in query.steps:
        yield from _kinds_of(query, step)


def _kinds_of(query: QueryPlan, step: Step) -> Iterator[tuple[str, Fraction]]:
    """Yield what one step can start from: a clipping point of records alone, or an earlier quantile."""
    if step.select_input is None or query.together:
        return
    if isinstance(step.mechanism, Rank):
        of, round_to = _values_of(query.facts), str(_rounding(query))
        for part in step.mechanism.quantiles:
            yield _quantile_of(str(part), of, round_to), step.share
        if step.mechanism.finder is not None:
            yield _weights_of(of), step.share
    elif type(step.mechanism) is Clip and not step.mechanism.leads and not step.mechanism.gaussian:
        # One that leads starts from nothing: what it spares its followers is more than a known point would.
        counts = query.measure is None or step.name == "count"
        yield _COUNT if counts else _sum_of(query.facts["of"], str(_rounding(query))), step.share


def _values_of(facts: Mapping[str, Any]) -> str:
    """Return what a quantile is of: a column, or what the rows of each privacy unit make of it."""
    return f"{facts['per']} of {facts['of']}" if facts.get("per") else str(facts["of"])


def _quantile_of(part: str, column: str, round_to: str) -> str:
    return f"{part} quantile of {column} in {round_to}"


def _weights_of(column: str) -> str:
    return f"weights of {column}"


def _sum_of(column: str, round_to: str) -> str:
    return f"sum of {column} in {round_to}"


def _same_condition(text: str | None, where: Node | None) -> bool:
    """Return whether a recorded filter is another one, whatever the order of its parts."""
    if text is None or where is None:
        return text is None and where is None
    own = canonical(where)
    if text == own:
        return True
    if len(text) != len(own):  # whatever the order, the parts are as long
        return False
    return _recorded_parts(text) == {*map(canonical, conjuncts(where))}


@lru_cache(maxsize=4096)
def _recorded_parts(text: str) -> frozenset[str]:
    """Return the parts of a recorded filter; kept, since each new question is compared with all of them."""
    try:
        return frozenset(map(canonical, conjuncts(parse(text))))
    except ExpressionError:  # as it is recorded, a filter may be longer than one may be written
        return frozenset()


_PARTS = {"count": 0, "sum": 0, "mean": 2, "variance": 2, "std": 2, "quantile": 0}
"""The queries that tell points, and how many of their parts do; 0 where the answer itself does."""


def _recorded_points(
    asked: Sequence[Mapping[str, Any]], release: object
) -> Iterator[tuple[str, Release, Fraction, Clipping | None]]:
    """Yield what a real release tells: of what, by which part of it, where, and what it knew of clipping."""
    row = release.releases[0] if isinstance(release, ReleaseTable) else (release,)
    columns = [ask for ask in asked for _ in ask.get("at", ("",))]  # a query of several quantiles has several
    if len(row) != len(columns):
        return
    for ask, answer in zip(columns, row, strict=True):
        if ask["query"] not in _PARTS or not isinstance(answer, Release) or answer.simulated:
            continue
        if isinstance(answer.chosen, Ranked):
            clipping = answer.chosen.clipping
            if len(ask["at"]) == 1:
                kind = _quantile_of(ask["at"][0], _values_of(ask), ask["range"][2])
                yield kind, answer, answer.exact, clipping
            if clipping is not None:
                yield _weights_of(_values_of(ask)), answer, clipping.at / (1 << WEIGHT_BITS), clipping
            continue
        parts = answer.parts[: _PARTS[ask["query"]]] if _PARTS[ask["query"]] else (answer,)
        for number, part in enumerate(parts):
            counts = ask["query"] == "count" or number == 1
            kind = _COUNT if counts else _sum_of(ask["of"], ask["range"][2])
            if isinstance(part.clipping, Clipping) and part.clipping.leader is None:
                yield kind, part, part.clipping.at * part.step, part.clipping


_MAX_ANSWERS = 10**6
"""Largest number of answers of one charge: they are drawn, kept and written as one."""


class Answered(Protocol):
    """A ledger, as far as it says what was answered before."""

    def standing(self, purpose: str, share: Fraction, /) -> Released | None:
        """Return the release that a purpose has had for a share."""

    def answered(self, wanted: Callable[[str], bool], /) -> Iterable[AnsweredCharge]:
        """Return the newest charges that have a release and whose question passes a test."""


@dataclass(frozen=True, repr=False)
class Plan:
    """The plan of one charge: one query or several, for all records or for each public group.

    >>> import numpy
    >>> import prdp
    >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy="1", bounds={"age": (0, 120)})
    >>> accounts.filter("age >= 40").plan(prdp.count(), prdp.mean("age"), share=0.1)
    <plan of count, mean of age where age >= 40: charges 1/10 of every record's budget>

    Attributes:
        queries: How each query is answered; their shares add up to the plan's, or to less.
        share: The part of every record's budget for all of it.
        where: Which records take part; None for all.
        groups: The public groups; None for one group of all records.
        source: What was made of the table before prdp sees it, as a ledger keeps it.
        over: The joined tables, for a join.
        region: Charged region, as a ledger keeps it; None for everybody.
        snapshot: Which snapshot of a table that grows is asked; empty where there is one only.
        single: Whether the answer is one release instead of a table of them.
    """

    queries: tuple[QueryPlan, ...]
    share: Fraction
    where: Node | None = None
    groups: Grouping | None = None
    source: str = ""
    over: tuple[str, ...] = ()
    region: str | None = None
    snapshot: str = ""
    single: bool = field(default=True, compare=False)

    on_interrupt = "The charge remains; ask the same question again, it costs nothing more."
    """Message for whoever interrupts the answer."""

    def __post_init__(self) -> None:
        """Refuse more answers than can be kept, and more than is charged, before anything is charged."""
        refuse_overspending(self.share, [query.share for query in self.queries])
        refuse_overspending(self.share, shares_drawn(self.queries))
        groups, each = len(self._keys), len(self.labels)
        if groups * each > _MAX_ANSWERS:
            raise InvalidRequest(
                f"{groups:,} groups with {each:,} answers each are {groups * each:,} answers: a question has "
                f"at most {_MAX_ANSWERS:,}. List fewer groups, or ask for fewer quantiles or queries."
            )

    def __repr__(self) -> str:
        return f"<plan of {self._shown}: charges {self.share} of every record's budget>"

    def _repr_html_(self) -> str:
        rows = [
            [
                ", ".join(query.query.headings),
                str(query.query),
                query.method,
                str(query.share),
                "; ".join(f"{step.name} {step.mechanism.name} {step.share}".strip() for step in query.steps),
            ]
            for query in self.queries
        ]
        heads = ["column", "query", "method", "share", "draws"]
        return html_table(self._shown, heads, rows, [f"charges {self.share} of every record's budget"])

    @property
    def _shown(self) -> str:
        words = ", ".join(str(query.query) for query in self.queries) + self._about
        by = ", ".join(map(str, self.groups.by)) if self.groups is not None else ""
        return f"{words} by {by}, {len(self._keys):,} groups" if by else words

    @cached_property
    def text(self) -> str:
        """The question with all that decides its answer's distribution: what a ledger keeps."""
        facts: dict[str, Any] = {"ask": [query.facts for query in self.queries]}
        facts |= {"over": sorted(self.over)} if self.over else {}
        facts |= {"source": self.source} if self.source else {}
        facts |= {"where": canonical(self.where)} if self.where is not None else {}
        facts |= self.groups.facts if self.groups is not None else {}
        facts |= {"snapshot": self.snapshot} if self.snapshot else {}
        return question_text(facts | {"share": str(self.share)})

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns of a table of the answers."""
        return tuple(label for query in self.queries for label in query.query.headings)

    @cached_property
    def reads(self) -> dict[Read, Read]:
        """Map each query's read to the wider read that serves it."""
        return together(widened([query.read for query in self.queries]))

    def standing(self, ledger: Answered) -> Released | None:
        """Return the answer that the question has had, if it has one."""
        return ledger.standing(self.text, self.share)

    def warm_start(self, ledger: Answered) -> str | None:
        """Return the points that the question starts from, by what the ledger holds; None for none."""
        if self.groups is not None:
            return None
        asker = Asker(self.where, self.over, self.source, self.snapshot)
        return warm_start_for(self.queries, asker, ledger.answered)

    def warm_started(self, warm_start: str | None) -> Plan:
        """Return the plan that starts from the points noted with its charge."""
        return self if warm_start is None else replace(self, queries=warm_started(self.queries, warm_start))

    def draw(self, reader: PlanReader, entropy: Entropy, runs: int) -> list[Released]:
        """Read the records, as far as they were not read before, and draw independent answers."""
        try:
            found = {read: read.taken(reader.read(wide)) for read, wide in self.reads.items()}
            abouts = Named(self._about, self._by, self._keys)
            kept: Kept = {}
            begun = [
                query.begun(found[query.read], entropy, runs, abouts, kept, simulated=reader.synthetic)
                for query in self.queries
            ]
            queries = [complete() for complete in begun]  # second looks are one, now that all are known
        finally:
            reader.let_go()
        drawn = [ReleaseRows(tuple(chain.from_iterable(run))) for run in zip(*queries, strict=True)]
        if self.single:
            return [rows[0][0] for rows in drawn]
        words = ", ".join(str(query.query) for query in self.queries) + self._about
        return [self._table(rows, words) for rows in drawn]

    def raise_what_was_held_back(self) -> None:
        """Do nothing: an interrupt comes through at once."""

    def one(self, released: Released) -> Release:
        """Return a standing or a new answer alone; in a table, the same question has the same text."""
        release = released.releases[0][0] if isinstance(released, ReleaseTable) else released
        if not isinstance(release, Release):
            raise LedgerError("the ledger holds an answer of another kind under this question.")
        return replace(release, recorded_at=released.recorded_at)

    def tabled(self, released: Released) -> ReleaseTable:
        """Return a standing or a new answer as a table."""
        if not isinstance(released, ReleaseTable):
            return self._table(((self.one(released),),), released.question)
        keys = with_whole_numbers(self.groups.by, released.keys) if self.groups is not None else released.keys
        return replace(released, asked=self.labels, keys=keys)  # it may have had other names before

    @property
    def _keys(self) -> tuple[Key, ...]:
        return self.groups.keys if self.groups else ((),)

    @property
    def _about(self) -> str:
        over = f" over {', '.join(self.over)}" if self.over else ""
        return over if self.where is None else f"{over} where {canonical(self.where)}"

    def _table(self, rows: Sequence[Row], question: str) -> ReleaseTable:
        return ReleaseTable(
            question=question,
            share=self.share,
            notes=self.groups.notes if self.groups is not None else (),
            by=self._by,
            asked=self.labels,
            keys=self._keys,
            releases=rows,
        )

    @property
    def _by(self) -> tuple[str, ...]:
        return tuple(key.column for key in self.groups.by) if self.groups else ()
