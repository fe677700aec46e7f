"""A plan in words: what would be charged, read and drawn, and where that is proved; no record is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol, Self

from prdp.errors import shown_part
from prdp.mechanisms.clip import Clip
from prdp.mechanisms.following import Following
from prdp.plan.divided import DividedRead
from prdp.plan.labels import remedy
from prdp.plan.plan import Plan
from prdp.plan.reads import CellRead, Read, SharedUnitRead, UnitRead
from prdp.plan.steps import QueryPlan, Step
from prdp.policy import Policy
from prdp.regions.region import region_from_json, region_words

LABEL_WIDTH = 9
"""Characters before the text of a line, unless its label is longer."""


@dataclass(frozen=True, slots=True)
class Whose:
    """The record whose budget is spent, and the proof that all of its rows stay within it.

    Attributes:
        record: What one record is.
        proof: The page of proofs that is about it; empty where a row is a record.
        tables: For each name in the statements, what it represents.
    """

    record: str
    proof: str = ""
    tables: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """A line of an explanation.

    Attributes:
        label: What it is about, such as ``charges``; indented under the query that it belongs to.
        text: What it says.
        language: That of a statement or a question, which may be long; None for words.
    """

    label: str
    text: str
    language: Literal["sql", "json"] | None = None

    def __str__(self) -> str:
        return f"{self.label:{LABEL_WIDTH - 2}}  {self.text}"


class Explanation(str):
    """The text of an explanation, with its lines for whoever shows them in another way.

    >>> found = Explanation((Line("costs", "1/10"), Line("note", "nothing is charged")))
    >>> found.lines[0].label, found.count("nothing")
    ('costs', 1)
    """

    lines: tuple[Line, ...]

    def __new__(cls, lines: tuple[Line, ...]) -> Self:
        """Write the lines below each other."""
        text = super().__new__(cls, "\n".join(map(str, lines)))
        text.lines = lines
        return text


def reads(statements: Iterable[str]) -> Iterator[Line]:
    """List statements that would be read."""
    return (Line("  reads", statement, "sql") for statement in statements)


class DescribedPlan(Protocol):
    """A plan of another kind, which says itself what it would read and draw."""

    @property
    def share(self) -> Fraction:
        """The part of budgets for all of it."""

    @property
    def region(self) -> str | None:
        """Region whose budgets are charged; None for everybody's."""

    @property
    def text(self) -> str:
        """The question, as a ledger keeps it."""

    def standing(self, ledger: Any, /) -> Any:
        """Return the answer that it has already; None where there is none."""

    def explained_answers(self, source: Any) -> Iterator[Line]:
        """List what would be read and drawn; nothing is."""


Explainable = Plan | DescribedPlan


def explained(
    plan: Explainable, source: Any, whose: Whose, *, remaining: Fraction | None, answered: bool
) -> Explanation:
    """Return what a plan would do, line by line; reads no record and charges nothing.

    >>> import numpy
    >>> import prdp
    >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy=prdp.Policy.constant(1))
    >>> plan = accounts.plan(prdp.count(), share="1/4")
    >>> found = explained(plan, accounts._engine, Whose("a row"), remaining=Fraction(1, 8), answered=False)
    >>> print(found.lines[0])
    charges  nothing: it would be refused: 1/4 is more than the 1/8 that is left
    >>> [line.label for line in found.lines]
    ['charges', 'record', 'answers', '  reads', '  draws', 'ledger']

    Args:
        plan: What would be done.
        source: Who would read the records.
        whose: Whose budget is spent.
        remaining: The part of their budgets that those who are charged have left; None for a synthetic table.
        answered: Whether the question has an answer in the ledger.
    """
    return Explanation(tuple(_lines(plan, source, whose, remaining, answered)))


def _lines(
    plan: Explainable, source: Any, whose: Whose, remaining: Fraction | None, answered: bool
) -> Iterator[Line]:
    yield Line("charges", _charge(plan.share, plan.region, remaining, answered=answered))
    yield Line("record", f"{whose.record}{f'; {whose.proof}' if whose.proof else ''}")
    for name, table in whose.tables:
        yield Line("table", f"{name} is {table}")
    yield from _answers(plan, source) if isinstance(plan, Plan) else plan.explained_answers(source)
    yield Line("ledger", plan.text, "json")


def omitted(policy: Policy | None, records: str) -> Iterator[Line]:
    """List the records that the answers exclude, and the remedy."""
    if records:
        more = f"; {remedy(policy)}" if policy is not None and remedy(policy) else ""
        yield Line("omits", f"{records}{more}")


def _answers(plan: Plan, source: Any) -> Iterator[Line]:
    first = plan.queries[0]
    yield from omitted(getattr(first.read, "policy", None), first.steps[0].labels[0].omitted)
    if plan.groups is not None:
        yield Line("groups", f"{len(plan.groups.keys):,} by {', '.join(map(str, plan.groups.by))}")
    listed_reads: set[Read] = set()
    drawn: set[int] = set()
    later: dict[SharedUnitRead, dict[tuple[int, bool], None]] = {}
    for query in plan.queries:
        yield Line("answers", str(query.query))
        yield from _clamps(query)
        read = plan.reads[query.read]
        if read in listed_reads:
            yield Line("  reads", "what was read above")
        else:
            yield from reads(read.shown(source))
        listed_reads.add(read)
        yield from _divided(read)
        for step in query.steps:
            if step.shared_draw_id in drawn:
                yield Line("  takes", f"{f'{step.name} from ' if step.name else ''}what was drawn above")
                continue
            yield from _step(step, query)
            drawn |= {step.shared_draw_id} if step.shared_draw_id is not None else set()
            if isinstance(read, UnitRead) and query.together == "joint" and hasattr(source, "shown_later"):
                yield from reads([source.shown_later(read, count_rows=_counts_rows(step, query))])
            if isinstance(read, SharedUnitRead) and read.wide.groups is not None:
                later.setdefault(read, {})[read.reads.index(query.read), _counts_rows(step, query)] = None
        if query.derived is not None:
            yield Line("  gives", f"{query.query.word} of what was drawn; proofs/computed.md")
    for read, looks in later.items():
        yield from reads(read.shown_later(source, tuple(looks)))


def _clamps(query: QueryPlan) -> Iterator[Line]:
    """State which values count as a bound."""
    if clamps := query.steps[0].labels[0].clamps:
        yield Line("  clamps", clamps)


def _divided(read: Read) -> Iterator[Line]:
    """State what a unit's budget is divided among."""
    if isinstance(read, DividedRead):
        yield Line("  divides", f"each unit's budget among {_PARTS[read.part]}; proofs/divided.md")


_PARTS = {
    "row": "its rows that count, over all groups",
    "group": "its groups, each with one value",
    "key": "its different keys, in each group anew",
}


ANSWERED_BEFORE = "nothing: it was answered before"
"""Price of a query whose answer is in the ledger."""


def _charged_budget(region: str | None) -> str:
    """Return whose budget a question is charged to."""
    if region is None:
        return "every record's budget"
    return f"the budget of records with {region_words(region_from_json(region))} only"


def _charge(share: Fraction, region: str | None, remaining: Fraction | None, *, answered: bool) -> str:
    whose = _charged_budget(region)
    if remaining is None:
        return f"nothing: the records are a synthetic table's; of real ones, {share} of {whose}"
    if answered:
        return f"{ANSWERED_BEFORE}; anew, {share} of {whose}"
    if share > remaining:
        return f"nothing: it would be refused: {share} is more than the {shown_part(remaining)} that is left"
    after = shown_part(remaining - share)
    return f"{share} of {whose}, before anything is read; {after} is left afterwards"


def _counts_rows(step: Step, query: QueryPlan) -> bool:
    """Return whether a step adds up rows instead of values."""
    return step.name == "count" or query.measure is None


def _step(step: Step, query: QueryPlan) -> Iterator[Line]:
    name = f"{step.name} by " if step.name else ""
    mechanism, page = _answered_by(step, query)
    together = {
        "": "",
        "pooled": ", groups with little budget choosing together",
        "joint": ", all groups at once",
    }
    how = "" if mechanism == "tiers" else together[query.together]
    how = ", where the sum was clipped" if isinstance(step.mechanism, Following) else how
    shared = "" if step.shared_draw_id is None else ", for several answers"
    yield Line("  draws", f"{name}{mechanism} with share {step.share}{how}{shared}; {page}")
    if step.conversion.least is not None:
        noise = _notion(step)
        as_share = f"with share {float(step.drawn_share):.4g} of e(r), the root of 2 P(r)"
        yield Line("  as", f"{noise} {as_share}; proofs/concentrated.md")
    if why := getattr(step.mechanism, "why", ""):
        yield Line("  since", why)


def _notion(step: Step) -> str:
    """Return what of a mechanism is by the concentrated notion, in words."""
    if not getattr(step.mechanism, "concentrated", False):
        return "a pure mechanism"
    return "Gaussian noise" if getattr(step.mechanism, "gaussian", False) else "exponential choices"


def _answered_by(step: Step, query: QueryPlan) -> tuple[str, str]:
    """Return which mechanism answers, which may hang on public facts, and where it is proved."""
    read, mechanism = query.read, step.mechanism
    if isinstance(mechanism, Clip) and isinstance(read, CellRead) and step.select_input is not None:
        empty = step.select_input(read.empty)
        tiers = mechanism.tiers(empty)
        if tiers is not None:
            return tiers.name, "proofs/tiers.md"
        if not query.together and mechanism.clipped_tiers(empty, step.drawn_share) is not None:
            return "clip in each tier", "proofs/clipped_tiers.md"
    package, _, module = type(mechanism).__module__.rpartition(".")
    proved = package == "prdp.mechanisms"
    return mechanism.name, f"proofs/{module}.md" if proved else "its author's promise, no page of prdp's"
