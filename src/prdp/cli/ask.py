"""``prdp ask``: a SQL question about a private table, answered with differential privacy."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from prdp.cli import table_options as given
from prdp.cli.advice import at_the_command_line
from prdp.cli.formats import Format, key_in_words, refuse_unwritable, show_answers
from prdp.cli.messages import complain, plain, write
from prdp.cli.printing import number, reading
from prdp.cli.table_options import STATEMENT, WRITTEN, read_statement_from
from prdp.errors import BudgetExhausted, InvalidRequest
from prdp.ledger import shown_place
from prdp.plan.explain import LABEL_WIDTH, Explanation
from prdp.projects.project import named_in
from prdp.release.formatting import optional_library
from prdp.release.plot import is_histogram
from prdp.release.style import refuse_unless_picture, save

if TYPE_CHECKING:
    from prdp.sql.results import SqlAnswers


_MORE = " ..."


def readable(explanation: Explanation, width: int | None = None, *, whole: bool) -> str:
    """Return an explanation whose statements are cut to a window, or written out over several lines.

    >>> from prdp.plan.explain import Line
    >>> statement = Line("  reads", "SELECT a FROM (SELECT b AS a FROM t)", "sql")
    >>> print(readable(Explanation((Line("costs", "1/10"), statement)), 30, whole=False))
    costs    1/10
      reads  SELECT a FROM (SE ...
    <BLANKLINE>
    What ends in ... is cut: add --statements to see all of it.
    """
    width = Console().width if width is None else width
    lines, cut = [], False
    for line in explanation.lines:
        if whole and line.language == "sql":
            indent = " " * LABEL_WIDTH
            lines += [line.label, *(f"{indent}{part}" for part in _written_out(line.text))]
        elif not whole and line.language is not None and len(str(line)) > width:
            lines.append(str(line)[: width - len(_MORE)].rstrip() + _MORE)
            cut = True
        else:
            lines.append(str(line))
    if cut:
        lines += ["", "What ends in ... is cut: add --statements to see all of it."]
    return "\n".join(lines)


def _written_out(statement: str) -> list[str]:
    """Return a statement over several lines; as it is where the parser does not know a word of it."""
    import sqlglot  # noqa: PLC0415  (loaded when a statement is shown)

    try:
        whole: str = sqlglot.transpile(statement, read="duckdb", write="duckdb", pretty=True)[0]
    except sqlglot.errors.SqlglotError:
        return [statement]
    return whole.splitlines()


_LEAST_WIDTH = 20
_FAR = 10  # times the answers


def bars(labels: Sequence[str], answers: Sequence[Any], width: int) -> list[str]:
    """Return a line for each answer, on one axis; an arrow marks an end that is far away or not there.

    >>> from prdp.release.release import Release
    >>> from fractions import Fraction
    >>> clerks = Release("count", 41, Fraction(1), (Fraction(1),), Fraction(1, 10), "clip")
    >>> lines = bars(["clerk"], [clerks], 40)
    >>> lines[0].startswith("clerk "), "o" in lines[0], len(lines)
    (True, True, 2)
    """
    ends = _near([answer.interval() for answer in answers], [float(one) for one in answers])
    finite = [end for pair in ends for end in pair if math.isfinite(end)] + [float(one) for one in answers]
    low, high = min(finite), max(finite)
    margin = (high - low or 1.0) / 10  # room for arrows
    low -= margin if any(math.isinf(pair[0]) for pair in ends) else 0
    high += margin if any(math.isinf(pair[1]) for pair in ends) else 0

    def drawn(place: int, columns: int) -> str:
        return _bar(float(answers[place]), ends[place], low, high, columns)

    return _lined(labels, drawn, (low, high), width)


def histogram(labels: Sequence[str], answers: Sequence[Any], width: int) -> list[str]:
    """Return a bar for each answer from 0 on, with its interval: ``#####|##o---|``; dots where it is noise.

    >>> from prdp.release.release import Release
    >>> from fractions import Fraction
    >>> facts = Fraction(1), (Fraction(1),), Fraction(1), "clip", ""
    >>> for line in histogram(["10", "20"], [Release("count", n, *facts) for n in (400, 200)], 40):
    ...     print(line)
    10  ##################################|o
    20  #################o|
        0                                403
    """
    values = [float(one) for one in answers]
    ends = _near([answer.interval() for answer in answers], values)
    sure = [pair for pair, answer in zip(ends, answers, strict=True) if not answer.flag] or ends
    finite = [end for pair in sure for end in pair if math.isfinite(end)] + [*values, 0.0]
    low, high = min(finite), max(finite)
    high += (high - low or 1.0) / 20 if any(math.isinf(pair[1]) for pair in ends) else 0  # room for arrows

    def drawn(place: int, columns: int) -> str:
        return _from_zero(answers[place], ends[place], low, high, columns)

    return _lined(labels, drawn, (low, high), width)


def _from_zero(answer: Any, ends: tuple[float, float], low: float, high: float, columns: int) -> str:
    value = float(answer)
    cells = list(_bar(value, ends, low, high, columns))
    first, last = sorted((_place(0.0, low, high, columns), _place(value, low, high, columns)))
    for place in range(first, last + 1):
        if cells[place] in " -":
            cells[place] = "." if answer.flag else "#"
    return "".join(cells)


def _lined(
    labels: Sequence[str], drawn: Callable[[int, int], str], ends: tuple[float, float], width: int
) -> list[str]:
    """Return a line for each label with what is drawn beside it, and the axis below them."""
    room = max(map(len, labels), default=0)
    columns = max(_LEAST_WIDTH, width - room - 2)
    lines = [f"{plain(label):{room}}  {drawn(place, columns)}".rstrip() for place, label in enumerate(labels)]
    left, right = map(number, ends)
    return [*lines, " " * (room + 2) + left + " " * max(1, columns - len(left) - len(right)) + right]


def _near(ends: list[tuple[float, float]], values: list[float]) -> list[tuple[float, float]]:
    """Return the ends; those so far from all answers that these would fall on one place get an arrow."""
    low, high = min(values), max(values)
    far = _FAR * max(high - low, abs(high), abs(low))
    return [
        (-math.inf if least < low - far else least, math.inf if most > high + far else most)
        for least, most in ends
    ]


def _bar(value: float, ends: tuple[float, float], low: float, high: float, columns: int) -> str:
    first, last = (_place(end, low, high, columns) for end in (max(ends[0], low), min(ends[1], high)))
    cells = [" "] * columns
    cells[first : last + 1] = ["-"] * (last + 1 - first)
    cells[first] = "|" if math.isfinite(ends[0]) else "<"
    cells[last] = "|" if math.isfinite(ends[1]) else ">"
    cells[_place(value, low, high, columns)] = "o"
    return "".join(cells)


def _place(at: float, low: float, high: float, columns: int) -> int:
    """Return the column of a number on an axis."""
    part = (at - low) / (high - low) if high > low else 0.5
    return round(min(1.0, max(0.0, part)) * (columns - 1))


TERMINAL = "terminal"

_SHARE = typer.Option(
    help="The fraction of every record's budget to use, such as 0.05.",
    metavar="SHARE",
    show_default=False,
)
_SHARES = typer.Option(
    "--shares",
    help="The share of one column of the statement, such as n=0.02.",
    metavar="COLUMN=SHARE",
    show_default=False,
)
_PLOT = typer.Option(
    "--plot",
    help="Draw the answers: 'terminal', or a file (.png, .svg, .pdf, .html).",
    metavar="WHERE",
    show_default=False,
)
WHO = typer.Option(help="Author of the query, for the ledger.", show_default=False)
SERVER = typer.Option(
    help="Ask a server (prdp login URL), not a table here.", metavar="URL", show_default=False
)
PURPOSE = typer.Option(help="With --server, a sentence for whoever approves it.", show_default=False)
DRY_RUN = typer.Option("--dry-run", help="Print the plan and its cost; reads no record.")
STATEMENTS = typer.Option("--statements", help="With --dry-run, print the engine's statements in full.")
REDRAW = typer.Option("--redraw", help="Pay for a new answer, even if the ledger has one.")
FORMAT = typer.Option(
    "--format",
    help="How to print the answers; by default a table, or what the ending of --output says.",
    show_default=False,
)
STD_ERRORS = typer.Option(
    "--std-errors", help="Add each number's standard error (n_se) and coefficient of variation (n_cv)."
)
JSON = typer.Option("--json", help="The same as --format json.")
OUTPUT = typer.Option(help="Write them to a file.", metavar="FILE", show_default=False)


@at_the_command_line
def ask(
    statement: Annotated[str | None, STATEMENT] = None,
    *,
    share: Annotated[str, _SHARE],
    written: Annotated[Path | None, WRITTEN] = None,
    shares: Annotated[list[str] | None, _SHARES] = None,
    table: Annotated[str | None, given.TABLE] = None,
    table_name: Annotated[str | None, given.TABLE_NAME] = None,
    database: Annotated[str | None, given.DATABASE] = None,
    policy: Annotated[str | None, given.POLICY] = None,
    at_most: Annotated[str | None, given.AT_MOST] = None,
    at_least: Annotated[str | None, given.AT_LEAST] = None,
    notion: Annotated[str | None, given.NOTION] = None,
    bounds: Annotated[list[str] | None, given.BOUNDS] = None,
    round_to: Annotated[list[str] | None, given.ROUND_TO] = None,
    types: Annotated[list[str] | None, given.TYPES] = None,
    keys: Annotated[list[str] | None, given.KEYS] = None,
    privacy_unit: Annotated[str | None, given.PRIVACY_UNIT] = None,
    max_rows: Annotated[int | None, given.MAX_ROWS] = None,
    ledger: Annotated[str | None, given.LEDGER] = None,
    file: Annotated[Path | None, given.PROJECT] = None,
    who: Annotated[str | None, WHO] = None,
    dry_run: Annotated[bool, DRY_RUN] = False,
    statements: Annotated[bool, STATEMENTS] = False,
    redraw: Annotated[bool, REDRAW] = False,
    form: Annotated[Format | None, FORMAT] = None,
    as_json: Annotated[bool, JSON] = False,
    output: Annotated[Path | None, OUTPUT] = None,
    std_errors: Annotated[bool, STD_ERRORS] = False,
    plot: Annotated[str | None, _PLOT] = None,
    server: Annotated[str | None, SERVER] = None,
    purpose: Annotated[str | None, PURPOSE] = None,
) -> None:
    """Answer a SQL query with differential privacy.

    The table is one of prdp.toml, or that of --table with its --policy and --bounds. What it may use of
    every record's budget is kept in a ledger; the same question asked again costs nothing.
    """
    statement, form = read_statement_from(statement, written), Format.JSON if as_json else form
    if explain := re.match(r"\s*explain\s+", statement, re.IGNORECASE):
        statement, dry_run = statement[explain.end() :], True
    if plot is not None and plot != TERMINAL:
        refuse_unless_picture(plot)
        optional_library("matplotlib", "plot")
    if server is not None:
        local = (table, policy, ledger, database, file, who, shares, keys, bounds, privacy_unit)
        if any(one is not None for one in local) or redraw:
            raise InvalidRequest("--server has tables of its own: with it, give a statement and --share.")
        answers = _from_server(server, statement, share, purpose or "", dry_run=dry_run)
        if answers is not None:
            _write(answers, form, output, std_errors=std_errors, plot=plot)
        return
    if purpose is not None:
        raise InvalidRequest("--purpose is for a steward of a server: add --server URL.")
    limits = {"at_most": at_most, "at_least": at_least, "notion": notion}
    columns = {"bounds": bounds or (), "round_to": round_to or (), "types": types or (), "keys": keys or ()}
    place = {"database": database, "table_name": table_name, "ledger": ledger}
    whose = {"privacy_unit": privacy_unit, "max_rows": max_rows}
    opened = given.opened(file, table, policy, who, {**limits, **columns, **place, **whose})
    parts = given.shares_of(shares or ())
    if dry_run:
        write(readable(opened.explain_sql(statement, share=share, shares=parts), whole=statements))
        return
    refuse_unwritable(form, output)
    name = named_in(statement, opened)
    begun = opened.is_begun(name)
    with reading("reading the records"):
        answers = opened.sql(statement, share=share, shares=parts, redraw=redraw)
    if not begun and opened.is_begun(name):
        announce(opened.ledger_of(name))
    _write(answers, form, output, std_errors=std_errors, plot=plot)


def _write(
    answers: SqlAnswers, form: Format | None, output: Path | None, *, std_errors: bool, plot: str | None
) -> None:
    show_answers(answers, form, output, std_errors=std_errors)
    if plot is not None:
        _draw(answers, plot, to_stderr=output is None and form in (Format.JSON, Format.CSV))


def _from_server(url: str, statement: str, share: str, purpose: str, *, dry_run: bool) -> SqlAnswers | None:
    """Return a server's answer; of a dry run None, which is printed."""
    from prdp.remote import RemoteServer  # noqa: PLC0415  (loaded where a server is asked)

    server = RemoteServer.at(url)
    if dry_run:
        write(str(server.explain(statement, share)))
        return None
    with reading("waiting for the time at which the answer is published"):
        try:
            return server.ask(statement, share, purpose)
        except BudgetExhausted as refused:  # the advice on ledgers is for those that are here
            raise InvalidRequest(str(refused)) from None


def announce(place: Path | str) -> None:
    """Report in one line that a ledger was created."""
    shown: Path | str = shown_place(place)
    if isinstance(place, Path) and place.is_relative_to(Path.cwd()):
        shown = place.relative_to(Path.cwd())
    complain(
        f"new ledger {shown}: keep it as long as the data. It fixes policy, bounds, rounding steps and types."
    )


def _draw(answers: SqlAnswers, where: str, *, to_stderr: bool) -> None:
    """Draw the numbers of answers, in the terminal or into a file.

    Args:
        answers: What to draw.
        where: The file, or the terminal.
        to_stderr: Whether a picture goes to standard error, since a program reads the standard output.
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
            write("\n".join(["", name, *picture]), to_stderr=to_stderr)


def _labels(keys: list[list[Any]]) -> list[str]:
    """Return what names each row."""
    return [", ".join(map(key_in_words, cells)) or "all" for cells in keys]
