"""A plan in words: what would be charged, read and drawn, and where that is proved; nothing from the data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prdp.plan.plan import Plan
from prdp.plan.steps import QueryPlan, Step


def explained(plan: Plan, source: Any) -> str:
    """Return what a plan would do, line by line; reads and charges nothing.

    >>> import numpy
    >>> import prdp
    >>> accounts = prdp.open({"age": numpy.array([31, 58])}, policy=prdp.Policy.constant(1))
    >>> text = explained(accounts.plan(prdp.Count(), share="1/4"), accounts.engine)
    >>> [line.split()[0] for line in text.splitlines() if not line.startswith("  reads")]
    ['charges', 'answers', 'draws', 'ledger']

    Args:
        plan: What would be done.
        source: Who would read the records.
    """
    return "\n".join(_lines(plan, source))


def _lines(plan: Plan, source: Any) -> Iterator[str]:
    yield f"charges  {plan.share} of every record's budget, before anything is read"
    if plan.groups is not None:
        yield f"groups   {len(plan.groups.keys):,} by {', '.join(map(str, plan.groups.by))}"
    told = set()
    for query in plan.queries:
        yield f"answers  {query.query}"
        for sql in plan.reads[query.read].shown(source):
            again = sql in told
            told.add(sql)
            yield "  reads  what was read above" if again else f"  reads  {sql}"
        for step in query.steps:
            yield f"  draws  {_step_in_words(step, query)}"
        if query.derived is not None:
            yield f"  gives  {query.query.word} of what was drawn; proofs/computed.md"
    yield f"ledger   {plan.text}"


def _step_in_words(step: Step, query: QueryPlan) -> str:
    name = f"{step.name} by " if step.name else ""
    together = {"": "", "pooled": ", poor groups choosing together", "joint": ", all groups at once"}
    return f"{name}{step.mechanism.name} with share {step.share}{together[query.together]}; {_proof(step)}"


def _proof(step: Step) -> str:
    """Return where a mechanism is proved."""
    package, _, name = type(step.mechanism).__module__.rpartition(".")
    return f"proofs/{name}.md" if package == "prdp.mechanisms" else "its author's promise, no page of prdp's"
