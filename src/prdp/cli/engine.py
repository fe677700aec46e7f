"""``prdp engine``: who can read records here, and whether one does so as the guarantee needs."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Annotated

import typer

from prdp.cli.messages import plain, write
from prdp.cli.printing import grid, show
from prdp.engines.registry import ENGINES
from prdp.projects.environment import from_environment
from prdp.testing.engine_check import check_engine, claims, place_for

engine = typer.Typer(
    help="Who reads the records: what is installed, and whether it reads them as the guarantee needs.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

_READS = {
    "duckdb": "files, frames, relations",
    "polars": "LazyFrame, DataFrame, Parquet",
    "postgres": "postgresql://user@host/db",
    "spark": "DataFrame, classic and Connect",
    "clickhouse": "clickhouse://user@host/db",
    "sqlalchemy": "mariadb://user@host/db",
}
_PACKAGES = {"clickhouse_connect": "clickhouse-connect"}


@engine.command("list")
def list_engines() -> None:
    """List the engines, what each reads, and what is installed."""
    rows = grid(("engine", "reads", "installed"), left=(0, 1, 2))
    for name, needed in ENGINES.items():
        module = (needed or (name,))[0]
        rows.add_row(name, _READS[name], _installed(module) or f"no: pip install 'prdp[{name}]'")
    show("", rows)


@engine.command()
def check(
    where: Annotated[
        str,
        typer.Argument(
            help="The address of a database: postgresql://, clickhouse://, mariadb://, or sc:// of Spark "
            "Connect; or duckdb, polars, spark or chdb, here.",
            metavar="URL",
            show_default=False,
        ),
    ],
) -> None:
    """Run the contract of engines on a database of yours, with made-up records, in a schema of its own.

    Every claim is compared record by record with a reference in plain Python. Nothing of yours is read. A
    database that we do not test on can be opened once this has passed there.
    """
    wrong, number, note = 0, len(claims()), ""
    with place_for(from_environment(where)) as place:
        for outcome in check_engine(place):
            write(f"{'ok' if outcome.held else '!!'}  {plain(outcome.claim)}")
            if outcome.refused:
                write(f"    refused there, having no word for it: {plain('; '.join(outcome.refused))}")
            if not outcome.held:
                wrong += 1
                write(f"    {plain(outcome.why)}")
        note = "" if wrong else place.passed(number)
    write("")
    if wrong:
        write(f"{wrong} of {number} claims do not hold, nor would prdp's guarantee. Do not use it there.")
        raise typer.Exit(1)
    write(f"all {number} claims hold.{f' {plain(note)}' if note else ''}")


def _installed(module: str) -> str:
    if find_spec(module) is None:
        return ""
    try:
        return version(_PACKAGES.get(module, module))
    except PackageNotFoundError:
        return "yes"
