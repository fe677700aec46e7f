"""The commands, gathered; a user's mistake ends in a message, never in a traceback."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from prdp.cli.demo import demo
from prdp.errors import PrdpError
from prdp.version import __version__

app = typer.Typer(
    name="prdp",
    help="Per-record differential privacy: a policy states what each record may lose, "
    "and every answer keeps it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(demo)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"prdp {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Per-record differential privacy for tables."""


def main() -> None:
    """Run the command line."""
    try:
        app()
    except PrdpError as error:
        typer.echo(f"prdp: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("prdp: stopped.", err=True)
        sys.exit(130)
