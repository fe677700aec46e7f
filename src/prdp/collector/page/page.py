"""The page of a study, written on the server: everything can be read without JavaScript."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from html import escape
from typing import Any

from prdp.collector.page.numbers import shown
from prdp.collector.page.picture import picture
from prdp.collector.page.words import hidden, learned, not_hidden, question
from prdp.collector.plan import StudyPlan
from prdp.collector.results import ResultLine, lines_of

_MOST_ROWS = 200


def page_of(plan: StudyPlan, status: Mapping[str, Any], result: str | None) -> str:
    """Return the page as HTML.

    Args:
        plan: What is asked.
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
    told = {
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
    return f'<p id="told" {seen}>{told}</p>{bar}{until}{news}'


def _result(result: Mapping[str, Any]) -> str:
    answers, lines = result["answers"], lines_of(result)
    head = "".join(f"<p><b>{escape(str(answer['text']).splitlines()[0])}</b></p>" for answer in answers)
    caveats = dict.fromkeys(escape(str(answer["caveat"])) for answer in answers)
    chosen = {tuple(choice): None for answer in answers for choice in answer["choices"]}
    choices = "".join(f"<li>{escape(what)}: {escape(value)}</li>" for what, value in chosen)
    return (
        f"{head}<figure>{picture(lines)}<figcaption>Dots are answers; lines are their 95 % intervals, "
        f"within what is said below.</figcaption></figure>{_table(lines)}<p>{'</p><p>'.join(caveats)}</p>"
        + (f"<p>Chosen on the way:</p><ul>{choices}</ul>" if choices else "")
    )


def _table(lines: Sequence[ResultLine]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(line.label)}</th><td>{shown(line.value)}</td><td>{shown(line.low)}</td>'
        f"<td>{shown(line.high)}</td></tr>"
        for line in lines[:_MOST_ROWS]
    )
    more = len(lines) - _MOST_ROWS
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
