"""Translate the questions of ledgers of format 1, strictly: what could be read in two ways stays as it is.

A text that stays is charged again when its question is asked again, which is safe. A wrong translation would
answer one question with another's answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from prdp.errors import ExpressionError
from prdp.expressions.nodes import canonical
from prdp.expressions.parse import parse
from prdp.expressions.spelling import listed
from prdp.ledger.strict_json import strict_json
from prdp.plan.text import column_text, question_text

Facts = Mapping[str, Any]

_UNITS = re.compile(r"(-?[0-9]+) to (-?[0-9]+) of ([0-9]+(?:/[0-9]+)?)", re.ASCII)
_OF_COLUMN = re.compile(r"(sum|max|min|mean|variance|std) of (.*)", re.DOTALL)
_PART = r"(?:[0-9]+(?:\.[0-9]+)?(?:e-[0-9]{1,3})?|[0-9]+/[0-9]+)"
_QUANTILES = re.compile(rf"({_PART}(?:, {_PART})*) quantiles? of (.*)", re.ASCII | re.DOTALL)
_OF_EDGES = re.compile(r"(paths|stars) of ([0-9]+) edges", re.ASCII)
_NAME = re.compile(r'"((?:[^"]|"")*)"|([^,"]*)')
_MOST_TRIES = 10_000

_HOW = ("method", "share", "beta", "graded", "split")
_ABOUT = ("source", "where", "by", "keys")


class _Unclear(ValueError):  # noqa: N818  (reads as what it is)
    """The text is no question of format 1, or could be two."""


_NO_QUESTION = (
    *(ValueError, TypeError, KeyError, AttributeError, ArithmeticError),
    *(RecursionError, ExpressionError),
)
"""What reading a text raises that is something else than a question."""


def translated(text: str, share: str, binding: Facts) -> str:
    """Return a charge's question as format 2 writes it, or the text itself if that is not certain.

    Args:
        text: What the charge was for.
        share: What it cost.
        binding: The public facts that the ledger is bound to; they tell which entry point wrote the text.
    """
    try:
        facts = strict_json(text)
        if not isinstance(facts, dict) or json.dumps(facts, ensure_ascii=False) != text:
            return text
        if facts.get("share") != share:
            return text
        return question_text(_writer(binding)(facts, binding) | {"share": share})
    except _NO_QUESTION:
        return text


def _writer(binding: Facts) -> Callable[[Facts, Facts], dict[str, Any]]:
    """Return who reads what an entry point wrote, told by the facts that only it binds a ledger to."""
    if "records" in binding:
        return _links
    if "nodes" in binding:
        return _graph
    if "private" in binding:
        return _join
    if {"policy", "schema"} <= binding.keys():
        return _table
    raise _Unclear


def _table(facts: Facts, binding: Facts) -> dict[str, Any]:
    columns = binding["schema"]
    if "columns" in facts:
        return _custom(facts, columns)
    asked = facts["ask"]
    if ("by" in facts) is not ("keys" in facts):
        raise _Unclear
    if isinstance(asked, list) and len(asked) > 1:
        _refuse_unless_in_order(facts, ("ask", *_ABOUT, "share"))
        for query in asked:
            _refuse_unless_in_order(query, ("ask", "units", *_HOW))
    else:
        _refuse_unless_in_order(facts, ("ask", "units", *_ABOUT, *_HOW))
        asked = [{name: fact for name, fact in facts.items() if name not in _ABOUT}]
    queries = [_of_table(query["ask"], columns) | _range(query) | _how(query) for query in asked]
    return {"ask": queries} | {name: facts[name] for name in _ABOUT if name in facts}


def _of_table(asked: str, columns: Facts) -> dict[str, Any]:
    """Return a query about a table; whatever stands after its first words is a column's name."""
    if asked == "count":
        return {"query": "count"}
    if asked.startswith("distinct "):
        return {"query": "distinct", "of": _column(asked.removeprefix("distinct "), columns)}
    if asked.startswith("median of "):
        return {"query": "quantile", "of": _column(asked.removeprefix("median of "), columns), "at": ["1/2"]}
    if found := _QUANTILES.fullmatch(asked):
        return {"query": "quantile", "of": _column(found[2], columns), "at": _parts(found[1])}
    if found := _OF_COLUMN.fullmatch(asked):
        return {"query": found[1], "of": _column(found[2], columns)}
    raise _Unclear


def _parts(text: str) -> list[Fraction]:
    parts = [Fraction(part) for part in text.split(", ")]
    short = [f"{float(part):g}" for part in parts]
    shown = [one if Fraction(one) == part else str(part) for one, part in zip(short, parts, strict=True)]
    if ", ".join(shown) != text:
        raise _Unclear
    return parts


def _column(name: str, columns: Facts) -> str:
    if name not in columns:
        raise _Unclear
    return column_text(name)


def _custom(facts: Facts, columns: Facts) -> dict[str, Any]:
    _refuse_unless_in_order(
        facts,
        (
            *("ask", "columns", "named", "source", "where"),
            *("method", "share", "split", "beta", "sample", "once"),
        ),
    )
    if "once" not in facts:
        raise _Unclear
    seen = _unlisted(facts["columns"])
    for column in seen:
        _column(column, columns)
    query = {
        "query": "custom",
        "name": facts["ask"],
        "columns": seen,
        "named": not _said(facts, "named", "no"),
        "sample": _said(facts, "sample", "true"),
    }
    about = {name: facts[name] for name in ("source", "where", "once") if name in facts}
    return {"ask": [query | _how(facts)]} | about


def _join(facts: Facts, binding: Facts) -> dict[str, Any]:  # noqa: ARG001  (as all readers)
    _refuse_unless_in_order(facts, ("ask", "over", "units", "where", "method", "share"))
    tables = _unlisted(facts["over"])
    if tables != sorted(tables):
        raise _Unclear
    asked = facts["ask"]
    query = {"query": "count"}
    if asked != "count":
        if not asked.startswith("sum of ") or "units" not in facts:
            raise _Unclear
        added = asked.removeprefix("sum of ")
        if canonical(parse(added)) != added:
            raise _Unclear
        query = {"query": "sum", "of": added}
    return {"ask": [query | _range(facts) | _how(facts)], "over": tables, "where": facts.get("where")}


def _links(facts: Facts, binding: Facts) -> dict[str, Any]:
    _refuse_unless_in_order(facts, ("ask", "method", "share"))
    names = tuple(binding["records"])
    asked = facts["ask"]
    if not asked.startswith("rows by "):
        raise _Unclear
    readings = list(_rows(asked.removeprefix("rows by "), names, iter(range(_MOST_TRIES))))
    if len(readings) != 1:
        raise _Unclear
    columns, where = readings[0]
    return {"ask": [{"query": "rows", "columns": columns} | _how(facts)], "where": where}


def _rows(
    text: str, names: Sequence[str], tries: Iterator[int]
) -> Iterator[tuple[tuple[str, ...], str | None]]:
    """Yield every way to read all names, joined by "and" in some order, and perhaps a filter."""
    for name in names:
        if next(tries, None) is None:
            raise _Unclear
        rest = text.removeprefix(name)
        others = [other for other in names if other != name]
        if not text.startswith(name):
            continue
        if others and rest.startswith(" and "):
            yield from (
                ((name, *found), where) for found, where in _rows(rest.removeprefix(" and "), others, tries)
            )
        elif not others and not rest:
            yield (name,), None
        elif not others and rest.startswith(" where "):
            yield (name,), rest.removeprefix(" where ")


def _graph(facts: Facts, binding: Facts) -> dict[str, Any]:  # noqa: ARG001  (as all readers)
    _refuse_unless_in_order(facts, ("ask", "where", "method", "share"))
    asked = facts["ask"]
    if found := _OF_EDGES.fullmatch(asked):
        query: dict[str, Any] = {"query": found[1], "size": int(found[2])}
    elif asked in {"edges", "triangles"}:
        query = {"query": asked}
    else:
        raise _Unclear
    return {"ask": [query | _how(facts)], "where": facts.get("where")}


def _refuse_unless_in_order(facts: Facts, names: Sequence[str]) -> None:
    """Refuse other names than these, and another order: the writers of format 1 had one."""
    if list(facts) != [name for name in names if name in facts] or None in facts.values():
        raise _Unclear


def _range(query: Facts) -> dict[str, Any]:
    if "units" not in query:
        return {}
    found = _UNITS.fullmatch(query["units"])
    if found is None:
        raise _Unclear
    return {"range": found.groups()}


def _how(query: Facts) -> dict[str, Any]:
    how = {name: query[name] for name in _HOW if name in query}
    if "graded" in how:
        how["graded"] = {"true": True, "false": False}[how["graded"]]
    return how


def _said(facts: Facts, name: str, word: str) -> bool:
    if facts.get(name, word) != word:
        raise _Unclear
    return name in facts


def _unlisted(text: str) -> list[str]:
    """Return the names that ``listed`` wrote as one text."""
    names, place = [], 0
    while True:
        found = _NAME.match(text, place)
        if found is None:
            raise _Unclear
        names.append(found[2] if found[1] is None else found[1].replace('""', '"'))
        place = found.end()
        if place == len(text):
            break
        if not text.startswith(", ", place):
            raise _Unclear
        place += 2
    if listed(names) != text:
        raise _Unclear
    return names
