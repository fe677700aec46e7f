"""``prdp describe``: all columns of a private table in numbers, from one charge."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType

from prdp.cli import table_options as given
from prdp.cli.advice import at_the_command_line
from prdp.cli.ask import DRY_RUN, FORMAT, JSON, OUTPUT, REDRAW, STATEMENTS, WHO, announce, readable
from prdp.cli.formats import Format, form_of, refuse_unwritable
from prdp.cli.messages import plain, write
from prdp.cli.printing import grid, reading, show
from prdp.errors import InvalidRequest
from prdp.projects.project import Project, project
from prdp.release.formats.document import as_text
from prdp.release.formatting import value_and_ends
from prdp.release.table import ReleaseTable, shown_key
from prdp.tables.describe import MAX_KEYS
from prdp.tables.join import Join
from prdp.tables.table import Table


def _tables(incomplete: str) -> list[str]:
    """Return the tables of the nearest project that a half-typed name may mean."""
    try:
        return [name for name in project(None) if name.startswith(incomplete)]
    except (InvalidRequest, OSError):
        return []


@at_the_command_line
def describe(
    table: Annotated[
        str | None,
        typer.Argument(
            help="Which table of the project; with one table alone, that one.",
            autocompletion=_tables,
            show_default=False,
        ),
    ] = None,
    *,
    share: Annotated[
        str, typer.Option(help="The part of every record's budget for all of it.", metavar="SHARE")
    ] = "0.02",
    file: Annotated[Path | None, given.PROJECT] = None,
    who: Annotated[str | None, WHO] = None,
    dry_run: Annotated[bool, DRY_RUN] = False,
    statements: Annotated[bool, STATEMENTS] = False,
    redraw: Annotated[bool, REDRAW] = False,
    form: Annotated[Format | None, FORMAT] = None,
    as_json: Annotated[bool, JSON] = False,
    output: Annotated[Path | None, OUTPUT] = None,
) -> None:
    """Describe all columns of a table with differential privacy: NULLs, means, quartiles, extremes.

    The share is divided among the columns and charged once; asked again, it costs nothing.
    """
    opened = replace(project(file), who=who)
    name = _named(table, opened)
    keys = _keys(opened, name)
    asked = _table(opened.to_explain(name), name)
    explained = asked.explain_describe(share=share, keys=keys)  # what is refused begins no account
    if dry_run:
        write(readable(explained, whole=statements))
        return
    form = Format.JSON if as_json else form
    refuse_unwritable(form, output)
    begun = opened.is_begun(name)
    with reading("reading the records"):
        found = _table(opened[name], name).describe(share=share, keys=keys, redraw=redraw)
    if not begun and opened.is_begun(name):
        announce(opened.ledger_of(name))
    _show(found, form_of(form, output), output)


def _named(table: str | None, opened: Project) -> str:
    """Return the table that is meant."""
    names = ", ".join(opened)
    if table is None and len(opened) != 1:
        raise InvalidRequest(f"say which table to describe: prdp describe NAME. There are {names}.")
    name = next(iter(opened)) if table is None else table
    if name not in list(opened):
        of_column = next((one for one in opened if name in opened.facts(one).schema), None)
        advice = f" {name} is a column: prdp describe {of_column} has a row for each." if of_column else ""
        raise InvalidRequest(f"there is no table {name}. The tables are {names}.{advice}")
    return name


def _table(opened: Table | Join, name: str) -> Table:
    """Return an opened table; refuse a join."""
    if isinstance(opened, Table):
        return opened
    raise InvalidRequest(
        f"{name} is a join, which is described in Python: "
        f"prdp.project()[{name!r}].over(...).describe(share=0.02)."
    )


def _keys(opened: Project, name: str) -> dict[str, list[object]]:
    """Return the listed keys of columns that have few enough of them to be described."""
    return {
        column: list(keys)
        for column, keys in opened.keys_of(name).items()
        if isinstance(keys, list | tuple) and len(keys) <= MAX_KEYS
    }


def _show(found: ReleaseTable, form: Format, output: Path | None) -> None:
    """Print a description, or write it to a file."""
    if form is Format.PARQUET:
        found.to_parquet(str(output))
        return
    if form is Format.TABLE and output is None:
        show(*_grid_of(found))
        return
    if form is Format.XLSX:
        found.to_excel(str(output))
        return
    text = str(found)
    if form in {Format.HTML, Format.MARKDOWN, Format.LATEX}:
        text = as_text(found.document(), f".{form}")
    elif form in {Format.CSV, Format.JSON}:
        text = str(found.to_csv()) if form is Format.CSV else found.to_json()
    if output is None:
        write(text.rstrip("\n"))
    else:
        output.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


def _grid_of(found: ReleaseTable) -> list[RenderableType]:
    """Return a description as a grid; a flag that has no room goes on in a second line."""
    lines = found.lines
    flagged = any(row[0].flag for _, row in found)
    made = grid(
        ["column", "statistic", "value", "low", "high", *["flag"] * flagged], left=(0, 1, 5), wraps=(5,)
    )
    for key, row in islice(found, len(lines) - 1):
        cells = [*(plain(shown_key(part)) for part in key), *value_and_ends(row[0])]
        made.add_row(*cells, *[row[0].flag] * flagged)
    title, *rest = str(found).split("\n")
    return [title, made, "", *rest[len(lines) :]]
