"""``prdp check``: whether what a project declares is in order; reads no private record."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prdp.cli import table_options as given
from prdp.cli.completion import tables_here
from prdp.cli.messages import plain, write
from prdp.cli.printing import grid, number, show, show_json
from prdp.declare.computed import grain_of
from prdp.declare.key_search import PRIVATE
from prdp.errors import PrdpError, shown_part
from prdp.ledger import shown_place
from prdp.plan.left_out import leaves_out, remedy
from prdp.projects.fields import json_schema
from prdp.projects.project import Facts, Project, project
from prdp.schema import Kind
from prdp.testing.sample import LEFT_OUT, sample_counts


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
    """Say whether all of prdp.toml is in order; reads no record."""
    if schema:
        show_json(json_schema())
        return
    opened = project(file)
    write(f"{opened.file.path}")
    wrong = [name for name in opened if not _told(opened, name, like)]
    if wrong:
        raise typer.Exit(2)


def _told(opened: Project, name: str, like: str | None) -> bool:
    """Print what is found about one table, and say whether all of it is in order."""
    lines = grid(("", "", ""), left=(0, 1, 2), wraps=(2,))
    fine = True

    def note(what: str, said: str, *, ok: bool = True, mark: str = "ok") -> None:
        nonlocal fine
        fine = fine and ok
        lines.add_row(mark if ok else "!!", what, plain(said) if "\n" not in said else said)

    try:
        facts = opened.facts(name)
    except PrdpError as error:
        note("table", str(error), ok=False)
        show("", plain(name), lines)
        return False
    for what, said in _facts(facts):
        note(what, said)
    for what, said in warnings_of(facts):
        note(what, said, mark="!")
    try:
        note("account", _account(opened, name))
    except PrdpError as error:
        note("account", str(error), ok=False)
    if like is not None:
        for what, count in sample_counts(opened, name, like):
            note("in the stand-in", f"{count:,} {what}", mark="!" if what == LEFT_OUT and count else "ok")
    show("", plain(name), lines)
    return fine


def _facts(facts: Facts) -> list[tuple[str, str]]:
    policy = facts.policy
    ends = (number(policy.levels.at_least, 6), number(policy.levels.at_most, 6))
    said = [
        ("columns", ", ".join(f"{name} {kind.native}" for name, kind in facts.schema.items())),
        ("policy", f"{policy.text}: budgets of {ends[0]} to {ends[1]}"),
    ]
    for column, keys in facts.keys.items():
        found = keys == PRIVATE or isinstance(keys, dict)
        listed = _searched(facts, column, keys) if found else f"{len(keys):,} public ones"
        said.append((f"keys of {column}", listed))
    said += [
        (f"grain of {column}", "none: before SUM and AVG, write round(x, 2) in SQL or grain here")
        for column in facts.bounds
        if column in facts.schema and grain_of(column, facts.schema, facts.grain) is None
    ]
    return said


def _searched(facts: Facts, column: str, keys: object) -> str:
    """Say which keys of a column that nobody lists are found."""
    described = isinstance(keys, dict) and {"pattern", "among", "alphabet"} & keys.keys()
    texts = column in facts.schema and facts.schema[column].kind is Kind.TEXT and not described
    ascii_only = "; texts with other characters than printable ASCII's are never found" if texts else ""
    return f"found by questions, which pay for it; rarer ones are missing by design{ascii_only}"


def warnings_of(facts: Facts) -> list[tuple[str, str]]:
    """Return what is in order, and yet surprises whoever reads an answer."""
    joined = facts.owners is not None and facts.owners.join is not None
    left_out = leaves_out(facts.policy, {} if joined else facts.bounds, owners=facts.owners)
    mended = "; ".join(filter(None, (left_out, remedy(facts.policy))))
    return [("policy", mended)] if left_out else []


def _account(opened: Project, name: str) -> str:
    """Say what is left, of an account that fits the table; begins none."""
    place = opened.ledger_of(name)
    shown = place.name if isinstance(place, Path) else shown_place(place)
    if not opened.is_begun(name):
        return f"{shown} will be begun by the first question"
    return f"{shown}: {shown_part(opened[name].ledger.left)} of every budget is left"
