"""The answers to a statement as JSON and back, exactly: for servers that pass them on."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from functools import partial
from typing import Any

from prdp.declare.exact import fraction_of, spelled
from prdp.errors import PrdpError
from prdp.expressions.nodes import canonical
from prdp.expressions.parse import parse
from prdp.ledger.release_codec import release_from_json, release_to_json
from prdp.release.release import Release
from prdp.release.table import Released, ReleaseTable
from prdp.sql.estimates import ComputedAnswer
from prdp.sql.results import Cell, SqlAnswers

_FIELDS = {"statement", "share", "columns", "rows", "released", "remarks"}


def answers_to_json(answers: SqlAnswers, *, times: bool = True) -> dict[str, Any]:
    """Return answers as values that JSON has.

    Args:
        answers: The answers.
        times: Whether they say when they were charged, which depends on how long earlier parts took.

    >>> one = Release("count", 41, Fraction(1), (Fraction(1),), Fraction(1, 10), "clip")
    >>> answers = SqlAnswers("SELECT COUNT(*) AS n FROM t", Fraction(1, 10), ("n",), ((one,),), None)
    >>> answers_from_json(answers_to_json(answers)) == answers
    True
    """
    form = partial(_release_form, times=times)
    return {
        "statement": answers.text,
        "share": spelled(answers.share),
        "columns": list(answers.columns),
        "rows": [[_cell_form(cell, form) for cell in row] for row in answers.rows],
        "released": None if answers.released is None else form(answers.released),
        "remarks": list(answers.remarks),
    }


def answers_from_json(form: object) -> SqlAnswers:
    """Read what ``answers_to_json`` wrote.

    Raises:
        ValueError: It is something else.
    """
    if not isinstance(form, dict) or form.keys() != _FIELDS:
        raise ValueError("the JSON is no answer to a statement")
    try:
        released = None if form["released"] is None else _release(form["released"])
        rows = tuple(tuple(map(_cell, row)) for row in form["rows"])
        share = fraction_of(form["share"])
    except (KeyError, TypeError, ValueError, AttributeError, PrdpError):
        raise ValueError("the JSON is no answer to a statement") from None
    if not (released is None or isinstance(released, ReleaseTable)):
        raise ValueError("the JSON is no answer to a statement")
    columns, remarks = tuple(map(str, form["columns"])), tuple(map(str, form["remarks"]))
    return SqlAnswers(form["statement"], share, columns, rows, released, remarks)


def _release_form(release: Released, *, times: bool) -> dict[str, Any]:
    """Return a release; the time of its charge is in no ledger's text of it."""
    form: dict[str, Any] = {"release": json.loads(release_to_json(release))}
    return form | ({"recorded_at": release.recorded_at} if times and release.recorded_at else {})


def _release(form: Mapping[str, Any]) -> Released:
    found = release_from_json(json.dumps(form["release"]))
    return replace(found, recorded_at=str(form.get("recorded_at", "")))


def _one(form: Mapping[str, Any]) -> Release:
    found = _release(form)
    if not isinstance(found, Release):
        raise TypeError("a cell holds one release")
    return found


def _cell_form(cell: Cell, release_form: Callable[[Released], dict[str, Any]]) -> object:
    """Return a cell; what JSON has no value for is an object."""
    match cell:
        case Release():
            return release_form(cell)
        case ComputedAnswer():
            return {
                "computed": canonical(cell.node),
                "question": cell.question,
                "parts": {name: release_form(part) for name, part in cell.parts.items()},
                "known": {name: _cell_form(value, release_form) for name, value in cell.known.items()},
                "share": spelled(cell.share),
                "whole": cell.whole,
                **({"day": True} if cell.day else {}),
            }
        case datetime():
            return {"moment": cell.isoformat()}
        case Fraction():
            return {"fraction": spelled(cell)}
        case float() if not math.isfinite(cell):
            return {"float": str(cell)}
        case _:
            return cell


def _cell(form: Any) -> Any:
    match form:
        case {"release": _}:
            return _one(form)
        case {"computed": text}:
            parts = {name: _one(part) for name, part in form["parts"].items()}
            known = {name: _cell(value) for name, value in form["known"].items()}
            facts = form["question"], parse(text), parts, known, fraction_of(form["share"]), form["whole"]
            return ComputedAnswer(*facts, day=bool(form.get("day", False)))
        case {"moment": text}:
            return datetime.fromisoformat(text)
        case {"fraction": text}:
            return fraction_of(text)
        case {"float": text}:
            return float(text)
        case dict() | list():
            raise TypeError("a cell is one value")
        case _:
            return form
