"""``prdp ask``: a SQL question about a private table, answered with differential privacy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from prdp.cli import table_options as given
from prdp.cli.advice import at_the_command_line
from prdp.cli.bars import bars, histogram
from prdp.cli.completion import statement_words
from prdp.cli.dry_run import readable
from prdp.cli.formats import Format, key_in_words, refuse_unwritable, show_answers
from prdp.cli.messages import complain, write
from prdp.cli.printing import reading
from prdp.errors import InvalidRequest
from prdp.ledger import shown_place
from prdp.projects.named import named_in
from prdp.release.extras import optional_library
from prdp.release.plot import is_histogram
from prdp.release.style import refuse_unless_picture, save

if TYPE_CHECKING:
    from prdp.sql.results import SqlAnswers

TERMINAL = "terminal"

STATEMENT = typer.Argument(
    help='The question, such as "SELECT COUNT(*) FROM accounts"; - reads it from the standard input.',
    metavar="SQL",
    autocompletion=statement_words,
    show_default=False,
)
_SHARE = typer.Option(
    help="The part of every record's budget that it may use, such as 0.05.",
    metavar="SHARE",
    show_default=False,
)
_SHARES = typer.Option(
    "--shares",
    help="What a column may use of it, such as n=0.02.",
    metavar="COLUMN=SHARE",
    show_default=False,
)
_PLOT = typer.Option(
    "--plot",
    help="Draw the answers: 'terminal', or a file (.png, .svg, .pdf, .html).",
    metavar="WHERE",
    show_default=False,
)
_WHO = typer.Option(help="Whose question it is, in the ledger.", show_default=False)
_DRY_RUN = typer.Option("--dry-run", help="Say what it would cost and do; reads no record.")
_STATEMENTS = typer.Option("--statements", help="With --dry-run, write out what would be read, whole.")
_FRESH = typer.Option("--fresh", help="Answer anew, and pay, though the ledger has an answer.")
_FORMAT = typer.Option(
    "--format",
    help="How to print the answers; by default a table, or what the ending of --output says.",
    show_default=False,
)
_JSON = typer.Option("--json", help="The same as --format json.")
_OUTPUT = typer.Option(help="Write them to a file.", metavar="FILE", show_default=False)


@at_the_command_line
def ask(
    statement: Annotated[str, STATEMENT],
    *,
    share: Annotated[str, _SHARE],
    shares: Annotated[list[str] | None, _SHARES] = None,
    table: Annotated[str | None, given.TABLE] = None,
    table_name: Annotated[str | None, given.TABLE_NAME] = None,
    database: Annotated[str | None, given.DATABASE] = None,
    policy: Annotated[str | None, given.POLICY] = None,
    at_most: Annotated[str | None, given.AT_MOST] = None,
    at_least: Annotated[str | None, given.AT_LEAST] = None,
    bounds: Annotated[list[str] | None, given.BOUNDS] = None,
    grain: Annotated[list[str] | None, given.GRAIN] = None,
    types: Annotated[list[str] | None, given.TYPES] = None,
    keys: Annotated[list[str] | None, given.KEYS] = None,
    owner: Annotated[str | None, given.OWNER] = None,
    ledger: Annotated[str | None, given.LEDGER] = None,
    file: Annotated[Path | None, given.PROJECT] = None,
    who: Annotated[str | None, _WHO] = None,
    dry_run: Annotated[bool, _DRY_RUN] = False,
    statements: Annotated[bool, _STATEMENTS] = False,
    fresh: Annotated[bool, _FRESH] = False,
    form: Annotated[Format | None, _FORMAT] = None,
    as_json: Annotated[bool, _JSON] = False,
    output: Annotated[Path | None, _OUTPUT] = None,
    plot: Annotated[str | None, _PLOT] = None,
) -> None:
    """Answer a SQL question with differential privacy.

    The table is one of prdp.toml, or that of --table with its --policy and --bounds. What it may use of
    every record's budget is kept in a ledger; the same question asked again costs nothing.
    """
    statement, form = read_statement_from(statement), Format.JSON if as_json else form
    limits = {"at_most": at_most, "at_least": at_least}
    columns = {"bounds": bounds or (), "grain": grain or (), "types": types or (), "keys": keys or ()}
    rest = {"database": database, "table_name": table_name, "owner": owner, "ledger": ledger}
    opened = given.opened(file, table, policy, who, {**limits, **columns, **rest})
    parts = given.shares_of(shares or ())
    if dry_run:
        write(readable(opened.explain_sql(statement, share=share, shares=parts), whole=statements))
        return
    refuse_unwritable(form, output)
    if plot is not None and plot != TERMINAL:
        refuse_unless_picture(plot)
        optional_library("matplotlib", "plot")
    name = named_in(statement, opened)
    begun = opened.is_begun(name)
    with reading("reading the records"):
        answers = opened.sql(statement, share=share, shares=parts, fresh=fresh)
    if not begun and opened.is_begun(name):
        _announce(opened.ledger_of(name))
    show_answers(answers, form, output)
    if plot is not None:
        _draw(answers, plot, aside=output is None and form in (Format.JSON, Format.CSV))


def read_statement_from(given: str) -> str:
    """Return a statement; - reads it from the standard input."""
    return sys.stdin.read() if given == "-" else given


def _announce(place: Path | str) -> None:
    """Say in one line that an account was begun."""
    shown: Path | str = shown_place(place)
    if isinstance(place, Path) and place.is_relative_to(Path.cwd()):
        shown = place.relative_to(Path.cwd())
    complain(f"{shown} is begun: keep it as long as the data. It fixes policy, bounds, grains and types.")


def _draw(answers: SqlAnswers, where: str, *, aside: bool) -> None:
    """Draw the numbers of answers, in the terminal or into a file.

    Args:
        answers: What to draw.
        where: The file, or the terminal.
        aside: Whether a picture goes to standard error, since a program reads the standard output.
    """
    if answers.released is None or not len(answers):
        raise InvalidRequest("there is nothing to plot: the statement gave no released number.")
    if where != TERMINAL:
        save(answers.plot(), where)
        return
    for place, name in enumerate(answers.columns):
        cells: list[Any] = [row[place] for row in answers.rows]
        if all(hasattr(cell, "interval") for cell in cells):
            keys = [[cell for cell in row if not hasattr(cell, "interval")] for row in answers.rows]
            drawn = histogram if is_histogram(keys, cells) else bars
            picture = drawn(_labels(keys), cells, min(Console().width, 100))
            write("\n".join(["", name, *picture]), aside=aside)


def _labels(keys: list[list[Any]]) -> list[str]:
    """Return what names each row."""
    return [", ".join(map(key_in_words, cells)) or "all" for cells in keys]
