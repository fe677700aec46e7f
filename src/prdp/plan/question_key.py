"""The one text of a question: a ledger finds the same question by it, whichever entry point asked.

The text is JSON on one line, with its names in a fixed order and every number in lowest terms, so that equal
questions have equal texts. All that decides how an answer is distributed is in it, but for the facts that
the ledger is bound to.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from prdp.declare.exact import is_integer
from prdp.declare.strict_json import strict_json
from prdp.release.clipped import condition_text

FORMAT = 2
"""Part of every text; texts of the first format had no number."""

_MOST_DIGITS = 4300
"""Of a whole number in free words, which anybody may write."""

Facts = Mapping[str, Any]


def question_text(facts: Facts) -> str:
    """Return a question's canonical text; what is None is left out.

    Args:
        facts: ``"ask"``, a list with an object for each query, and ``"share"``, what all of it costs. Where
            they apply: ``"over"`` (the joined tables), ``"source"`` (what a relation makes of its
            table), ``"where"`` (the filter), ``"by"`` and ``"keys"`` (the groups), ``"snapshot"``, and
            ``"once"`` (a random token that no other question has). A query has ``"query"``, ``"method"`` and
            ``"share"``; where they apply ``"of"``, ``"at"``, ``"size"``, ``"name"``, ``"columns"``,
            ``"named"``, ``"sample"``, ``"domain"``, ``"false_keys"``, ``"per"``, ``"max_keys"``, ``"with"``
            (what a query from outside the package says), ``"range"``, ``"beta"``, ``"graded"`` and
            ``"split"``.

    >>> question_text({"ask": [{"query": "count", "method": "clip", "share": "1/4"}], "share": "1/4"})
    '{"format": 2, "ask": [{"query": "count", "method": "clip", "share": "1/4"}], "share": "1/4"}'

    Raises:
        ValueError: A name is unknown or missing, or a value is not what its name holds.
    """
    ordered = _ordered(facts, _WHOLE, ("ask", "share"))
    return json.dumps({"format": FORMAT} | ordered, ensure_ascii=False, allow_nan=False)


def facts_of(text: str) -> dict[str, Any] | None:
    """Return what ``question_text`` was given; None for a text that it never writes.

    >>> text = question_text({"ask": [{"query": "count", "method": "clip", "share": "1/4"}], "share": "1/4"})
    >>> facts_of(text)["ask"][0]["query"], facts_of("some free words")
    ('count', None)
    """
    try:
        facts = strict_json(text, _MOST_DIGITS)
        if not isinstance(facts, dict) or facts.pop("format", None) != FORMAT:
            return None
        return facts if question_text(facts) == text else None
    except (ValueError, RecursionError):  # free words may be of any form and depth
        return None


def without_token(text: str) -> str:
    """Return a question's text without its random token: what an answer is found by that has a name.

    >>> facts = {"ask": [{"query": "count", "method": "clip", "share": "1/4"}], "share": "1/4"}
    >>> without_token(question_text(facts | {"once": "d41d8c"})) == question_text(facts)
    True
    """
    facts = facts_of(text)
    return text if facts is None else question_text(facts | {"once": None})


def in_words(text: str) -> str:
    """Return a question in words; a text that is no question's, as it is.

    >>> ask = {"query": "sum", "of": "balance", "range": [0, 9, 1], "method": "clip", "share": "1/10"}
    >>> in_words(question_text({"ask": [ask], "where": "age >= 40", "share": "1/10"}))
    'sum of balance where age >= 40, by clip, range 0 to 9 in steps of 1'
    """
    facts = facts_of(text)
    if facts is None:
        return text
    asked = facts["ask"]
    words = ", ".join(map(_query_in_words, asked))
    words += f" over {', '.join(facts['over'])}" if "over" in facts else ""
    words += f" where {facts['where']}" if "where" in facts else ""
    words += f" by {', '.join(map(_key_in_words, facts['by']))}" if "by" in facts else ""
    words += f", by {' and '.join(dict.fromkeys(query['method'] for query in asked))}"
    if len(asked) == 1:
        words += _options_in_words(asked[0])
    return words + "".join(f", {name} {facts[name]}" for name in ("source", "snapshot") if name in facts)


def _query_in_words(query: Facts) -> str:  # noqa: PLR0911  (one return a query)
    match query:
        case {"query": "quantile" | "max" | "min", "per": str(per), "of": of}:
            return _of_units_in_words({name: query[name] for name in query if name != "per"}, per, of)
        case {"query": "quantile", "of": of, "at": ["1/2"]}:
            return f"median of {of}"
        case {"query": "quantile", "of": of, "at": parts}:
            return f"{', '.join(parts)} quantile{'s' * (len(parts) > 1)} of {of}"
        case {"query": "distinct", "of": of}:
            return f"distinct {of}"
        case {"query": "paths" | "stars" as name, "size": size}:
            return f"{name} of {size} edges"
        case {"query": "find_keys" | "top_keys" as name, "domain": columns}:
            keys = f"keys of {' and '.join(_key_in_words(column['of']) for column in columns)}"
            return keys if name == "find_keys" else f"the {query['size']} largest {keys}"
        case {"query": "rows", "columns": columns}:
            return f"rows by {' and '.join(columns)}"
        case {"query": "custom", "name": name, "columns": columns}:
            return f"{name} of {', '.join(columns)}"
        case {"query": name, "of": of}:
            return f"{name} of {condition_text(of) if query.get('range') == ['0', '1', '1'] else of}"
        case _:
            return str(query["query"])


def _of_units_in_words(rows: Facts, per: str, of: str) -> str:
    """Return a question about units in words, from the same one about rows."""
    if per == "unit":
        return f"unit-weighted {_query_in_words(rows)}"
    return _query_in_words({**rows, "of": f"{per.removesuffix(' of unit')} of {of} per unit"})


def _key_in_words(key: object) -> str:
    match key:
        case {"date_trunc": [part, column]}:
            return f"date_trunc('{part}', {_key_in_words(column)})"
        case {"bins": column}:
            return f"bins of {_key_in_words(column)}"
        case {"computed": text}:
            return str(text)
        case _:
            return str(key)


def _options_in_words(query: Facts) -> str:
    words = _range_in_words(*map(Fraction, query["range"])) if "range" in query else ""
    words += "".join(f", {name} {query[name]}" for name in ("beta", "split") if name in query)
    return words + "".join(f", {name}" for name in ("graded", "sample") if query.get(name))


def _range_in_words(low: Fraction, high: Fraction, round_to: Fraction) -> str:
    """Return between which values a question reads a column; a ledger keeps them in rounding steps.

    >>> _range_in_words(Fraction(0), Fraction(100), Fraction(1, 100))
    ', range 0 to 1 in steps of 1/100'
    """
    return f", range {low * round_to} to {high * round_to} in steps of {round_to}"


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a text")  # noqa: TRY004  (one kind of refusal for what is no fact)
    return value


def _texts(value: Any) -> list[str]:
    return [_text(item) for item in _list(value)]


def _list(value: Any) -> list[Any]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ValueError(f"{value!r} is not a list")  # noqa: TRY004
    return list(value)


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")  # noqa: TRY004
    return value


def _whole(value: Any) -> int:
    if not is_integer(value):
        raise ValueError(f"{value!r} is no whole number")
    return value


def _number(value: Any) -> str:
    """Return a number's one text: a fraction in lowest terms."""
    text = str(value) if isinstance(value, int | Fraction) and not isinstance(value, bool) else _text(value)
    try:
        lowest = str(Fraction(text))
    except ZeroDivisionError:
        lowest = ""
    if lowest != text:
        raise ValueError(f"{value!r} is no fraction in lowest terms")
    return text


def _numbers(value: Any) -> list[str]:
    return [_number(item) for item in _list(value)]


def _range(value: Any) -> list[str]:
    low, high, round_to = _numbers(value)
    return [low, high, round_to]


def _keys(value: Any) -> Any:
    """Return the listed keys, or the digest of many."""
    return value if isinstance(value, str) else _list(value)


def _queries(value: Any) -> list[dict[str, Any]]:
    queries = [_ordered(query, _QUERY, ("query", "method", "share")) for query in _list(value)]
    if not queries:
        raise ValueError("no query is asked")
    return queries


_Values = Mapping[str, Callable[[Any], Any]]

_QUERY: _Values = {
    "query": _text,
    "of": _text,
    "at": _numbers,
    "size": _whole,
    "name": _text,
    "columns": _texts,
    "named": _truth,
    "sample": _truth,
    "domain": _list,
    "false_keys": _number,
    "per": _text,
    "max_keys": _whole,
    "with": _texts,
    "range": _range,
    "method": _text,
    "share": _number,
    "beta": _number,
    "graded": _truth,
    "split": _number,
}
"""Fields of a query, in this order, and the form of each value."""

_WHOLE: _Values = {
    "ask": _queries,
    "over": lambda tables: sorted(_texts(tables)),
    "source": _text,
    "where": _text,
    "by": _list,
    "keys": _keys,
    "snapshot": _text,
    "share": _number,
    "once": _text,
}
"""Fields of a question beside its queries, in this order."""


def _ordered(facts: Facts, values: _Values, needed: Sequence[str]) -> dict[str, Any]:
    """Return the facts in the order of their names, each value as it is written."""
    if not isinstance(facts, Mapping) or facts.keys() - values.keys():
        raise ValueError(f"{facts!r} says what no question says: it may say {', '.join(values)}.")
    found = {name: write(facts[name]) for name, write in values.items() if facts.get(name) is not None}
    missing = [name for name in needed if name not in found]
    if missing:
        raise ValueError(f"{facts!r} does not say {', '.join(missing)}.")
    return found
