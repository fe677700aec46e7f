"""Replies of the tools: a text that can be quoted, and the same facts for programs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from prdp.agents.backend import ReceivedAnswer, StatementRequest
from prdp.agents.harmless import NOTICE, named, quoted, sentence, value
from prdp.declare.exact import spelled
from prdp.release.formatting import KINDS, NO_LOWER, NO_UPPER, plain_ends, plain_value, shown_day
from prdp.release.release import Release
from prdp.sql.estimates import ComputedAnswer
from prdp.sql.results import Cell, SqlAnswers

_TEXT_ROWS = 100
_ROWS = 5000


@dataclass(frozen=True, slots=True)
class ToolReply:
    """The result of a tool.

    Attributes:
        text: A text that can be quoted.
        facts: The same for programs.
        refused: Whether it is a refusal.
    """

    text: str
    facts: Mapping[str, Any]
    refused: bool = False


def reply_of(request: StatementRequest, left: str) -> ToolReply:
    """Return a request: its answer, or when to ask for it.

    Args:
        request: The request.
        left: What the session may still spend.
    """
    facts: dict[str, Any] = {"request": request.id, "state": request.state, "session_left": left}
    if request.answer is not None:
        text, more = _answer(request.answer)
        return ToolReply(f"{text}\nThis session may still spend {left}.", facts | more | {"notice": NOTICE})
    if request.publish_at is not None:
        when = datetime.fromtimestamp(request.publish_at, UTC).isoformat()
        facts |= {"publish_at": when}
        text = f"Request {quoted(request.id)} is {named(request.state)}: its answer appears at {when}."
        text += " Then call result."
    else:
        text = _STATES.get(request.state, f"Request {quoted(request.id)} is {named(request.state)}.")
    return ToolReply(text, facts)


_STATES = {
    "waiting": "The request waits for a person's approval, and costs nothing before. Call result later.",
    "failed": "The server could not answer. What was charged remains: ask the same plan again.",
}


def _answer(found: ReceivedAnswer) -> tuple[str, dict[str, Any]]:
    answers = found.answers
    receipt = ", ".join(f"{name} {_shown(one)}" for name, one in found.receipt.items() if one != [])
    charged = spelled(answers.share)
    lines = [
        f"Release {quoted(found.release)}" + (f", receipt: {receipt}." if receipt else "."),
        f"Statement: {sentence(answers.text)}",
        f"It used {charged} of every record's budget. {NOTICE}",
        *(_row(answers, row) for row in answers.rows[:_TEXT_ROWS]),
    ]
    if len(answers) > _TEXT_ROWS:
        lines.append(f"... and {len(answers) - _TEXT_ROWS} more rows in the structured content.")
    notes = [sentence(note) for note in answers.notes]
    facts = {
        "release": found.release,
        "receipt": dict(found.receipt),
        "statement": value(answers.text),
        "share": charged,
        "recorded_on": answers.recorded_at[:10] or None,  # a statement's later charges follow reading
        "columns": list(map(value, answers.columns)),
        "rows": [list(map(_cell, row)) for row in answers.rows[:_ROWS]],
        "more_rows": max(0, len(answers) - _ROWS),
        "notes": notes,
    }
    return "\n".join([*lines, *(f"Note: {note}" for note in notes)]), facts


def _shown(one: Any) -> str:
    return ",".join(map(str, one)) if isinstance(one, list) else quoted(str(one)).strip('"')


def _row(answers: SqlAnswers, row: tuple[Cell, ...]) -> str:
    cells = zip(answers.columns, row, strict=True)
    return "- " + "; ".join(f"{named(name)} = {_in_words(cell)}" for name, cell in cells)


def _in_words(cell: Cell) -> str:
    """Return a cell as it can be quoted: a released number always with its interval."""
    if not isinstance(cell, Release | ComputedAnswer):
        return quoted(cell) if isinstance(cell, str) else "NULL" if cell is None else str(cell)
    low, high = plain_ends(cell)
    ends = f"{_number(low, NO_LOWER)} to {_number(high, NO_UPPER)}"
    kind = "95 % confidence interval" if cell.kind == "95 %" else sentence(KINDS[cell.kind])
    flag = f"; {cell.flag}" if cell.flag else ""
    simulated = "; of made-up records" if getattr(cell, "simulated", False) else ""
    return f"{_number(plain_value(cell), 'unknown')} ({kind}: {ends}{flag}{simulated})"


def _number(number: float | datetime | None, otherwise: str) -> str:
    if isinstance(number, datetime):
        return shown_day(number)
    if number is None or not math.isfinite(number):
        return otherwise
    if number == int(number):
        return f"{int(number):,}"
    return f"{number:,.2f}" if abs(number) >= 1000 else f"{number:.6g}"


def _cell(cell: Cell) -> Any:
    """Return a cell as JSON has it; an end without a limit is null."""
    match cell:
        case Release() | ComputedAnswer():
            low, high = plain_ends(cell)
            kind = "95 % confidence" if cell.kind == "95 %" else cell.kind
            return {
                "value": _finite(plain_value(cell)), "low": _finite(low), "high": _finite(high),
                "interval": kind, "flag": cell.flag,
            }  # fmt: skip
        case str():
            return value(cell)
        case bool() | int() | None:
            return cell
        case float():
            return _finite(cell)
        case _:
            return str(cell)


def _finite(number: Any) -> Any:
    if isinstance(number, datetime):
        return shown_day(number)
    return number if number is not None and math.isfinite(number) else None
