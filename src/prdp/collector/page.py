"""The one web page of a study: readable without JavaScript, with no request to anywhere else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from html import escape
from typing import Any

from prdp.collector.plan import StudyPlan
from prdp.collector.rounds import ResultLine, lines_of
from prdp.declare.exact import exact_share
from prdp.serving.drawings import interval_chart, shown

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
    """Return the question, as a sentence.

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
    """Return the facts that the study publishes, in sentences."""
    return [
        f"{question(plan)} With an interval that says how much of it is noise.",
        _ROUNDS,
        "Nothing more: the result is made from the reports alone, and anybody may compute on with it.",
    ]


def hidden(plan: StudyPlan) -> list[str]:
    """Return the facts that nobody learns, in sentences."""
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
    """Return the limits of the promise, in sentences."""
    return [_TOOK_PART, "When you sent it and from where, for whoever watches the network.", _EVERYBODY]


def picture(lines: Sequence[ResultLine]) -> str:
    """Return the numbers that were heard as an SVG; an empty text where there are none.

    >>> picture([ResultLine("count", 1000.0, 804.0, 1196.0)]).count("<circle")
    1
    """
    heard = [
        (line.label, line.value, line.low, line.high)
        for line in lines
        if line.value is not None and line.heard
    ]
    return interval_chart(heard, "The result, with its 95 % interval")


_MAX_ROWS = 200


def page_of(plan: StudyPlan, status: Mapping[str, Any], result: str | None) -> str:
    """Return the page as HTML.

    Args:
        plan: The study's plan.
        status: What ``status_of`` says.
        result: The result, as JSON, once there is one.
    """
    found = json.loads(result) if result else None
    sections = [
        _section("progress", "How far it is", _progress(status)),
        *([_section("result", "The result", _result(found))] if found else []),
        _section("learn", "What we will learn", _list(learned(plan))),
        _section("cannot", "What we cannot", _list(hidden(plan))),
        _section("open", "What is not hidden", _list(not_hidden())),
        _section("try", "Try it", _try(plan)),
        _section("terms", "The public terms", _terms(plan, status)),
    ]
    name = escape(plan.name)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{name}</title>"
        '<link rel="icon" href="/static/icon.svg"><link rel="stylesheet" href="/static/page.css">'
        '<script type="module" src="/static/page.mjs"></script></head><body>'
        '<a class="skip" href="#main">Skip to the study</a>'
        f'<header><p class="kind">A study that nobody has to be trusted with</p><h1>{name}</h1>'
        f'<p class="lead">{question(plan)}</p></header>'
        f'<main id="main">{"".join(sections)}</main>'
        "<footer><p>Made with <b>prdp</b>: per-record differential privacy. For programs: "
        '<a href="/v1/study">study</a>, <a href="/v1/campaign">campaign</a>, '
        '<a href="/v1/result">result</a>, '
        '<a href="/openapi.json">OpenAPI</a>, <a href="/static/prdp-client.mjs">client in JavaScript</a>.</p>'
        "</footer></body></html>"
    )


def _section(name: str, heading: str, inside: str) -> str:
    return (
        f'<section aria-labelledby="{name}-h" id="{name}"><h2 id="{name}-h">{heading}</h2>{inside}</section>'
    )


def _list(sentences: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{sentence}</li>' for sentence in sentences)}</ul>"


def _progress(status: Mapping[str, Any]) -> str:
    last, wanted = status["rounds"][-1], status["closes_at_reports"]
    reports = f"{last['reports']:,}"
    of = f" of {wanted:,}" if wanted else ""
    summary = {
        "open": f"Round {last['number']} is open: {reports}{of} reports.",
        "adding up": f"Round {last['number']} is closed, with {reports} reports. They are being added up.",
        "done": "All rounds are closed, and the result is here.",
    }[status["state"]]
    bar = ""
    if wanted and status["state"] == "open":
        filled = f'max="{wanted}" value="{last["reports"]}"'
        bar = f'<progress id="bar" {filled} aria-labelledby="progress-h"></progress>'
    until = ""
    if last["closes_at"] and status["state"] == "open":
        moment = datetime.fromtimestamp(last["closes_at"], UTC).strftime("%d %B %Y, %H:%M UTC")
        until = f"<p>The round closes on {moment} at the latest.</p>"
    seen = f'data-state="{status["state"]}" data-round="{last["number"]}" data-campaign="{last["campaign"]}"'
    news = '<p id="news" hidden>There is news: <a href="/">reload</a>.</p>'
    return f'<p id="status" {seen}>{summary}</p>{bar}{until}{news}'


def _result(result: Mapping[str, Any]) -> str:
    answers, lines = result["answers"], lines_of(result)
    head = "".join(f"<p><b>{escape(str(answer['text']).splitlines()[0])}</b></p>" for answer in answers)
    caveats = dict.fromkeys(escape(str(answer["caveat"])) for answer in answers)
    chosen = {tuple(choice): None for answer in answers for choice in answer["choices"]}
    choices = "".join(f"<li>{escape(what)}: {escape(value)}</li>" for what, value in chosen)
    return (
        f"{head}<figure>{picture(lines)}<figcaption>Dots are answers; lines are their 95 % intervals, "
        f"with the limits below.</figcaption></figure>{_table(lines)}<p>{'</p><p>'.join(caveats)}</p>"
        + (f"<p>Chosen on the way:</p><ul>{choices}</ul>" if choices else "")
    )


def _table(lines: Sequence[ResultLine]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(line.label)}</th><td>{shown(line.value)}</td><td>{shown(line.low)}</td>'
        f"<td>{shown(line.high)}</td></tr>"
        for line in lines[:_MAX_ROWS]
    )
    more = len(lines) - _MAX_ROWS
    rest = f'<p>… and {more:,} more, in <a href="/v1/result">the result</a>.</p>' if more > 0 else ""
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("what", "answer", "from", "to"))
    return (
        '<div class="wide" tabindex="0" role="region" aria-label="The result as a table"><table>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>{rest}"
    )


def _try(plan: StudyPlan) -> str:
    """Return the place of the try-it client; its script fills it in."""
    fields = "".join(
        f'<p><label for="f{place}">{escape(name)}</label><input id="f{place}" data-column="{escape(name)}" '
        'autocomplete="off" spellcheck="false"></p>'
        for place, name in enumerate(plan.reads)
    )
    return (
        "<noscript><p>This part draws a report in your browser, which needs JavaScript. All else on this "
        "page can be read without.</p></noscript>"
        '<div id="try-it" hidden><p>This runs wholly in your browser. What you type '
        "stays here; a report that was drawn from it leaves only if you send it.</p>"
        f'<form id="record" novalidate>{fields}<p><button type="submit">Draw a report</button></p></form>'
        '<div id="drawn" role="status"></div>'
        '<details id="answer"><summary>I have a ticket: send a report</summary><form id="send" novalidate>'
        '<p><label for="ticket">Ticket</label><input id="ticket" autocomplete="off" spellcheck="false" '
        'inputmode="text"></p><p>The report is drawn once and kept in this browser; sending again sends the '
        'same bytes.</p><p><button type="submit">Send my report</button></p></form>'
        '<div id="sent" role="status"></div></details></div>'
    )


def _terms(plan: StudyPlan, status: Mapping[str, Any]) -> str:
    policy = f"<code>{escape(plan.policy.text)}</code>, from {plan.policy.at_least} to {plan.policy.at_most}"
    facts = [
        ("Policy E(r)", policy),
        ("Share of every budget", escape(str(status["share"]))),
        ("Read of a record", ", ".join(escape(name) for name in plan.reads) or "nothing"),
        ("Rounds", escape(plan.closing.words)),
        ("Study", f'<code class="hash">{status["study"]}</code>'),
    ]
    for each in status["rounds"]:
        threshold = each["threshold_budget"]
        found = f"; ε<sub>τ</sub> = {shown(float(Fraction(threshold)))}" if threshold else ""
        link = f'<a href="/v1/campaigns/{each["campaign"]}"><code class="hash">{each["campaign"]}</code></a>'
        facts.append(
            (
                f"Round {each['number']}",
                f"{each['reports']:,} reports, share {each['share']}{found}<br>{link}",
            )
        )
    rows = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)
    return f"<p>Study and rounds are called by the SHA-256 of their terms.</p><dl>{rows}</dl>"
