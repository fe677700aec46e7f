"""``prdp check``: whether what a project declares is in order; reads no private record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from prdp.cli import table_options as given
from prdp.cli.advice import at_the_command_line, in_toml
from prdp.cli.formats import key_in_words
from prdp.cli.messages import plain, write
from prdp.cli.policy_facts import warned
from prdp.cli.printing import grid, number, show, show_json
from prdp.cli.table_options import tables_here
from prdp.declare.key_search import PRIVATE
from prdp.declare.units import MAX_ROWS
from prdp.engines.sources.text_files import parted_otherwise
from prdp.errors import PrdpError, shown_part
from prdp.expressions.nodes import columns
from prdp.ledger import shown_place
from prdp.plan.labels import excluded_records, remedy
from prdp.projects.fields import json_schema
from prdp.projects.project import Facts, Project, project
from prdp.release.formatting import clamped
from prdp.release.rows import left_out
from prdp.safety.plain_text import printable
from prdp.schema import Kind
from prdp.testing.truth import LEFT_OUT, sample_counts

OK, LOOK, WRONG = "ok", "!", "!!"
"""Marks before a line: fine, worth a look, and an error that blocks every query."""

_FIRST = 3  # keys

Line = tuple[str, str, str]


@at_the_command_line
def check(
    *,
    file: Annotated[Path | None, given.PROJECT] = None,
    like: Annotated[
        str | None,
        typer.Option(
            help="Public or made-up records, in which to count what would be left out or unreadable.",
            metavar="FILE",
            autocompletion=tables_here,
            show_default=False,
        ),
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of prdp.toml.")] = False,
) -> None:
    """Check whether all of prdp.toml is in order; reads no record."""
    if schema:
        show_json(json_schema())
        return
    opened = project(file)
    write(f"{opened.file.path}")
    wrong = [name for name in opened if not _report(opened, name, like)]
    if wrong:
        raise typer.Exit(2)


def _report(opened: Project, name: str, like: str | None) -> bool:
    """Print what is found about one table, and say whether all of it is in order."""
    lines = grid(("", "", ""), left=(0, 1, 2), wraps=(2,))
    fine = True

    def note(what: str, text: str, mark: str = OK) -> None:
        nonlocal fine
        fine = fine and mark != WRONG
        lines.add_row(mark, what, printable(text, "\n"))

    try:
        facts = opened.facts(name)
    except PrdpError as error:
        note("table", error.spelled(in_toml), WRONG)
        show("", plain(name), lines)
        return False
    for what, text, mark in (*_facts(facts), *_without_budget(facts), *_keys(opened, name, facts)):
        note(what, text, mark)
    try:
        note("account", _account(opened, name))
    except PrdpError as error:
        note("account", str(error), WRONG)
    if like is not None:
        for what, count in sample_counts(opened, name, like):
            note("in the synthetic table", f"{count:,} {what}", LOOK if what == LEFT_OUT and count else OK)
    show("", plain(name), lines)
    return fine


def _facts(facts: Facts) -> Iterator[Line]:
    """Yield what is found of columns and of the policy."""
    policy = facts.policy
    shown = policy.shown
    ends = (number(shown.levels.at_least, 6), number(shown.levels.at_most, 6))
    what = "budgets" if policy.stated is None else "zero-concentrated privacy, P(r)"
    yield "columns", ", ".join(f"{name} {kind.native}" for name, kind in facts.schema.items()), OK
    if parted := parted_otherwise(list(facts.schema)):
        yield "columns", parted, LOOK
    for name, ends_of in facts.bounds.items():
        yield f"bounds of {name}", clamped(Fraction(ends_of[0]), Fraction(ends_of[1])), OK
    if facts.unit is not None and facts.unit.of_several_rows:
        yield f"unit {facts.unit.id}", facts.unit.of_several_rows, OK
    if facts.unit is not None and facts.unit.max_rows == MAX_ROWS and not facts.unit.one_row_is_all:
        limit = "max_rows is not declared: a limit of a unit's rows, such as max_rows = 20, narrows intervals"
        yield f"unit {facts.unit.id}", f"{limit}, and what is beyond it is cut off", LOOK
    yield "policy", f"{shown.text}: {what} of {' to '.join(dict.fromkeys(ends))}", OK
    if columns(policy.expression) and policy.levels.at_least == policy.levels.at_most:
        alike = "every record within the bounds has the same budget: the policy gives at_most to all of them"
        yield "policy", alike, LOOK
    if text := warned(policy):
        yield "policy", text, LOOK


def _keys(opened: Project, name: str, facts: Facts) -> Iterator[Line]:
    """Yield what is found of the keys of each grouping column."""
    columns = {column.lower(): column for column in facts.schema}
    for column, keys in facts.keys.items():
        found = keys == PRIVATE or isinstance(keys, dict)
        listed = _searched(facts, column, keys) if found else f"{len(keys):,} public ones"
        first = "" if found else _first(keys)
        if column.lower() in columns:
            refused = None if found else opened.refused_keys(name, column, keys)
            text = refused.spelled(in_toml) if refused else listed + first
            yield f"keys of {column}", text, WRONG if refused else OK
        elif near := get_close_matches(column.lower(), columns, n=1):
            yield f"keys of {column}", f"{listed}; did you mean {columns[near[0]]}?", LOOK
        else:
            yield f"keys of {column}", f"{listed}{first}, of what a statement calls so", OK


def _first(keys: Sequence[Any]) -> str:
    """Name the first keys of a list, by which a wrong file or a head among them is seen.

    >>> _first(["north", "south"]), _first([1, 2, 3, 4])
    (': north, south', ': 1, 2, 3, ...')
    """
    named = [key_in_words(key) for key in keys[:_FIRST]]
    return ": " + ", ".join(named + ["..."] * (len(keys) > _FIRST)) if named else ""


def _searched(facts: Facts, column: str, keys: object) -> str:
    """Describe how keys of a column without a list are found."""
    described = isinstance(keys, dict) and {"pattern", "among", "alphabet"} & keys.keys()
    texts = column in facts.schema and facts.schema[column].kind is Kind.TEXT and not described
    ascii_only = (
        "; texts with other characters than printable ASCII's are never found: list these keys"
        if texts
        else ""
    )
    return f"found by questions, which pay for it; rarer ones are missing by design{ascii_only}"


def _without_budget(facts: Facts) -> Iterator[Line]:
    """Yield which records a policy gives no budget."""
    joined = facts.unit is not None and facts.unit.join is not None
    omitted = excluded_records(facts.policy, {} if joined else facts.bounds, unit=facts.unit)
    if omitted:
        yield "policy", "; ".join(filter(None, (left_out(omitted), remedy(facts.policy)))), LOOK


def _account(opened: Project, name: str) -> str:
    """Report the remaining budget of a ledger that fits the table; creates none."""
    place = opened.ledger_of(name)
    shown = place.name if isinstance(place, Path) else shown_place(place)
    if not opened.is_begun(name):
        return f"{shown} will be created by the first query"
    return f"{shown}: {shown_part(opened[name].ledger.remaining)} of every budget is left"
