"""A study's public terms in plain words: what will be learned, and what cannot be."""

from __future__ import annotations

from html import escape

from prdp.collector.page.numbers import shown
from prdp.collector.plan import StudyPlan
from prdp.declare.exact import exact_share

_ROUNDS = (
    "How many reports each round had, and what the rounds chose on their way: for example ε<sub>τ</sub>, "
    "the smallest budget that is still heard."
)
_RECORD = (
    "Your record. Your device draws its report at random, and that report is all that leaves it. Whoever "
    "runs this page sees the report, and can become only so sure of what your record is:"
)
_ODDS = (
    "No report is more than e to that power times more or less likely than that of somebody with nothing to "
    "say. A budget of 0.1 moves odds by a tenth, one of 1 by a factor of 2.7; at 5 and more, a report may "
    "say nearly all."
)
_DUMMIES = (
    "Records without a budget (a missing value, or a budget below the least) are answered for as if there "
    "were nothing to say. Nobody sees which ones."
)
_TOOK_PART = (
    "That you took part: a report comes with a ticket, and who gave it to you may know whose it is. The "
    "collector keeps tickets and reports apart, without times and addresses. But you have to trust its "
    "operator with that: your promise above does not depend on it, your anonymity does."
)
_EVERYBODY = (
    "What is true of everybody: if the result says that most people of some kind do something, that is known "
    "of you too."
)


def question(plan: StudyPlan) -> str:
    """Return what is asked, as a sentence.

    >>> from prdp.policy import Policy
    >>> question(StudyPlan("visits", "count", Policy("1 / visits", at_least="1/9", at_most=1), "1"))
    'How many people take part with a record that has a budget.'
    """
    column = escape(plan.column or "")
    if plan.ask == "count":
        return "How many people take part with a record that has a budget."
    if plan.ask == "sum":
        return f"What <b>{column}</b> adds up to over all who take part."
    if plan.ask == "mean":
        return f"The mean of <b>{column}</b> over all who take part and have one."
    if plan.ask == "quantiles":
        return f"How <b>{column}</b> is spread: its quantiles over all who take part."
    what = "a value in each range of" if plan.edges else "each value of"
    return f"How many of those who take part have {what} <b>{column}</b>."


def learned(plan: StudyPlan) -> list[str]:
    """Return what the study makes known, in sentences."""
    return [
        f"{question(plan)} With an interval that says how much of it is noise.",
        _ROUNDS,
        "Nothing more: the result is made from the reports alone, and anybody may compute on with it.",
    ]


def hidden(plan: StudyPlan) -> list[str]:
    """Return what nobody learns, in sentences."""
    share, policy = exact_share(plan.share), escape(plan.policy.text)
    times = "" if share == 1 else f", times the share {share}"
    ends = [end for end in (plan.policy.at_least, plan.policy.at_most) if end is not None]
    least, most = (shown(float(end)) for end in ends)
    return [
        _RECORD,
        f"Your budget is <code>E = {policy}</code>, between {least} and {most}{times}. {_ODDS}",
        _DUMMIES,
    ]


def not_hidden() -> list[str]:
    """Return what the promise does not cover, in sentences."""
    return [_TOOK_PART, "When you sent it and from where, for whoever watches the network.", _EVERYBODY]
