"""``prdp preview``: how large the error of a question would be, at several shares, on synthetic data."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from prdp.cli import table_options as given
from prdp.cli.advice import at_the_command_line
from prdp.cli.messages import plain
from prdp.cli.printing import counting, grid, show, show_json
from prdp.cli.table_options import STATEMENT, WRITTEN, read_statement_from, tables_here
from prdp.declare.exact import exact_share
from prdp.errors import InvalidRequest
from prdp.projects.project import Project, named_in, project
from prdp.projects.toml_file import listed
from prdp.release import style
from prdp.release.table import shown_key
from prdp.testing.preview import EVEN, Errors, is_law, made_up, roundings_of
from prdp.testing.preview import preview as measured
from prdp.testing.truth import left_out_of

EVENLY = (
    "On 100,000 made-up records, uniform within the public bounds. Errors on your records differ: describe "
    "them with --like, a file or a distribution such as balance=lognormal:8,1,n=40000."
)
_NO_GROUP = (
    "No group was found at these shares. List the keys in prdp.toml, or describe more records with --like."
)
_SHARES = ("0.01", "0.05", "0.1", "0.5", "1")

LIKE = typer.Option(
    help="Public or made-up records like yours: a file, or a distribution such as "
    "normal:50000,50000,n=200000; by default, columns are uniform within their bounds.",
    metavar="FILE|LAW",
    autocompletion=tables_here,
    show_default=False,
)
RUNS = typer.Option(min=1, max=100_000, help="How many answers to simulate.")


@at_the_command_line
def preview(
    statement: Annotated[str | None, STATEMENT] = None,
    *,
    written: Annotated[Path | None, WRITTEN] = None,
    like: Annotated[str, LIKE] = EVEN,
    share: Annotated[
        list[str] | None,
        typer.Option(help="A share to try; may be repeated.", metavar="SHARE", show_default=False),
    ] = None,
    runs: Annotated[int, RUNS] = 50,
    file: Annotated[Path | None, given.PROJECT] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the errors into a file.", metavar="FILE", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Show how large a question's error would be, on synthetic data.

    Reads no private record and charges nothing.
    """
    statement = read_statement_from(statement, written)
    opened = project(file)
    name = named_in(statement, opened)
    opened, records = synthetic(opened, name, like)
    shares = [exact_share(one) for one in share or _SHARES]
    found: list[tuple[Fraction, Errors]] = []
    with counting("simulating answers", runs * len(shares)) as progress:
        for place, one in enumerate(shares):
            lines = measured(
                opened, name, statement, records, share=one, runs=runs,
                progress=lambda done, before=place * runs: progress(before + done),  # type: ignore[misc]
            )  # fmt: skip
            found += [(one, line) for line in lines]
    if as_json:
        show_json([{"share": str(one), **_plain(line)} for one, line in found])
    else:
        remarks = [EVENLY * (like == EVEN), left_out_of(opened, name, records), _NO_GROUP * (not found)]
        _show(found, runs, remarks)
    if plot is not None:
        style.save(_drawn(found), plot)


def synthetic(opened: Project, name: str, like: str) -> tuple[Project, Any]:
    """Return the synthetic table that an option names, a file or generated records, and its project."""
    if opened.is_join(name):
        each = ", ".join(f"{table!r}: ..." for table in opened.tables_of(name))
        raise InvalidRequest(
            f"{name} is a join, and joins cannot be previewed from one file: they need a synthetic table "
            "for each "
            f"table. In Python, prdp.project().open({name!r}, synthetic={{{each}}}) takes them, and "
            "prdp.testing.simulate tries questions on it."
        )
    if not is_law(like):
        return opened, like
    facts = opened.facts(name)
    return opened.with_rounding(name, roundings_of(facts)), made_up(like, facts, facts.bounds)


def _show(found: list[tuple[Fraction, Errors]], runs: int, remarks: list[str]) -> None:
    made = grid(("column", "share", "median error", "95 in 100 within", "in interval", "flagged"), left=(0,))
    for share, line in found:
        parts = [percent(part) for part in (line.median, line.often, line.covered, line.flagged)]
        made.add_row(plain(line.column), str(share), *parts)
    caption = f"{runs} simulated answers a share, over all rows; errors in percent of the truth."
    show(made, "", caption, *filter(None, remarks), *without_records([line for _, line in found]))


def without_records(lines: Iterable[Errors]) -> list[str]:
    """Return the facts of groups that have no record in a synthetic table."""
    empty = {key: None for line in lines for key in line.empty}
    if not empty:
        return []
    named = listed([plain(", ".join(map(shown_key, key))) or "the only row" for key in empty])
    return [f"Left out: no synthetic record is there: {named}. Answers about nobody are noise around 0."]


def percent(part: float) -> str:
    """Return a part in percent, for a grid.

    >>> percent(0.0123), percent(12.3)
    ('1.23 %', '1,230 %')
    """
    value = 100 * part
    return f"{value:,.0f} %" if value >= 100 else f"{value:.3g} %"


def _round_one(value: float) -> str:
    """Return the text of a tick: of those between the powers of ten, 2 and 5 times such a power alone.

    >>> _round_one(0.1), _round_one(0.2), _round_one(30.0), _round_one(50.0)
    ('0.1', '0.2', '', '50')
    """
    return f"{value:g}" if f"{value:e}"[0] in "125" else ""


def _plain(line: Errors) -> dict[str, object]:
    return {
        name: getattr(line, name) for name in ("column", "median", "often", "covered", "flagged", "empty")
    }


def _drawn(found: list[tuple[Fraction, Errors]]) -> Any:
    panel = style.axes()[0]
    colours = (style.BLUE, style.ORANGE, style.GREEN, style.GREY)
    for place, column in enumerate(dict.fromkeys(line.column for _, line in found)):
        lines = [(float(share), line) for share, line in found if line.column == column]
        across, colour = [share for share, _ in lines], colours[place % len(colours)]
        panel.plot(across, [100 * line.median for _, line in lines], "o-", color=colour, label=column)
        panel.plot(across, [100 * line.often for _, line in lines], "--", color=colour)
    panel.set_xscale("log")
    panel.set_yscale("log" if all(line.median > 0 for _, line in found) else "linear")
    shares = sorted({share for share, _ in found})
    panel.set_xticks([float(share) for share in shares], [str(share) for share in shares])
    panel.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    for ticks in ("major", "minor") if panel.get_yscale() == "log" else ():
        getattr(panel.yaxis, f"set_{ticks}_formatter")(lambda value, _: _round_one(value))
    panel.legend()
    style.dress(panel, "median error (solid), 95 in 100 within (dashed)", "share", "error, in % of the truth")
    return panel
