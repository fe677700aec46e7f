"""Plans: the steps that answer a question, all of them public, and the draw from what a reader finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any, Protocol

from prdp.declare.groups import Grouping
from prdp.errors import InvalidRequest, LedgerError
from prdp.expressions.nodes import Node, canonical
from prdp.noise.entropy import Entropy
from prdp.plan.question_key import question_text
from prdp.plan.reads import PlanReader, Read, widened
from prdp.plan.steps import Kept, QueryPlan, refuse_overspending, shares_drawn
from prdp.plan.unit_reads import together
from prdp.plan.warm_start import AnsweredCharge, Asker, warm_start_for, warm_started
from prdp.release.html import html_table
from prdp.release.release import Release
from prdp.release.rows import Named, ReleaseRows, Row
from prdp.release.table import Key, Released, ReleaseTable

_MAX_ANSWERS = 10**6
"""How many answers one charge may pay for: they are drawn, kept and written as one."""


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
        region: Whom it is charged to, as a ledger keeps it; None for everybody.
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

    on_interrupt = "What was charged stands; ask the same question again, it costs nothing more."
    """What whoever interrupts the answer is told."""

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
        """Return the plan that starts from the points that stand beside its charge."""
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
        return release

    def tabled(self, released: Released) -> ReleaseTable:
        """Return a standing or a new answer as a table."""
        if isinstance(released, ReleaseTable):
            return replace(released, asked=self.labels)  # it may have been asked for under other names
        return self._table(((self.one(released),),), released.question)

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
            by=self._by,
            asked=self.labels,
            keys=self._keys,
            releases=rows,
        )

    @property
    def _by(self) -> tuple[str, ...]:
        return tuple(key.column for key in self.groups.by) if self.groups else ()
