"""One question for all engines: is a relation that is derived from private rows taken for a public table?

A form derives a relation from a base table. From the private table it must be refused, and from a twin, which
has the same columns and other rows, it must be answered. Private is ``people (id, town)``, its twin ``places
(id, town)``, and what is derived has one column, ``code``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

import prdp
from prdp.errors import InvalidRequest

PRIVATE, TWIN = "people", "places"
ONE_SOURCE = "have one source"
UNTRACED = "cannot be traced"


def joined(people: object, derived: object, database: object = None, **stated: Any) -> prdp.Join:
    """Open the private table beside a public one that its records refer to."""
    return prdp.open_join(
        {"people": people, "d": derived},
        database=database,
        private="people",
        key="id",
        references={"people.town": "d.code"},
        public=["d"],
        policy="1",
        **stated,
    )


def refused(people: object, derived: object, database: object = None) -> str:
    """Return the words with which a public table is refused because of its origins."""
    with pytest.raises(InvalidRequest, match=f"{ONE_SOURCE}|{UNTRACED}") as refusal:
        joined(people, derived, database)
    return str(refusal.value)


def answered(people: object, derived: object, database: object = None, **stated: Any) -> prdp.Join:
    """Ask a join over a public table; its groups are the public table's."""
    join = joined(people, derived, database, **stated)
    text = "SELECT d.code, COUNT(*) FROM people JOIN d ON people.town = d.code GROUP BY d.code"
    answers = join.sql(text, share=1)
    assert len(answers) > 0
    return join


def verdict(
    people: object, derived: object, database: object = None, ask: Callable[..., object] = answered
) -> str:
    """Say what becomes of a public table: answered (or opened, by ``joined``), one source, or untraced."""
    try:
        ask(people, derived, database)
    except InvalidRequest as refusal:
        return next((words for words in (ONE_SOURCE, UNTRACED) if words in str(refusal)), str(refusal))
    return "answered"


def assert_told_apart(found: Mapping[str, tuple[str, str]], hidden: Mapping[str, Any]) -> None:
    """Assert that forms of private rows are refused and those of the twin answered, unless they hide rows.

    Args:
        found: For each form what became of it, from the private table and from the twin.
        hidden: The forms through which no catalogue sees.
    """
    wrong = {
        form: verdicts
        for form, verdicts in found.items()
        if verdicts != ((UNTRACED, UNTRACED) if form in hidden else (ONE_SOURCE, "answered"))
    }
    assert wrong == {}, wrong
