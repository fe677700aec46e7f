"""``prdp audit``: verify what a server has done, and compare it with the ledgers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prdp.cli import table_options as given
from prdp.cli.advice import at_the_command_line
from prdp.cli.messages import plain, write
from prdp.cli.serve import place_of, running_of

audit = typer.Typer(
    name="audit",
    help="Verify what a server has done.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@audit.callback()
def group() -> None:
    """Verify what a server has done."""


@audit.command()
@at_the_command_line
def verify(
    *,
    head: Annotated[
        str | None,
        typer.Option(help="A head that was kept elsewhere, such as a receipt's.", show_default=False),
    ] = None,
    file: Annotated[Path | None, given.PROJECT] = None,
) -> None:
    """Verify the chain of the audit, and list the charges that were made outside of the server."""
    receipt, outside = running_of().verify(place_of(file), head)
    write(f"{receipt.number + 1} lines are as they were written. Head: {receipt.head}")
    for table, number, who in outside:
        write(f"outside of the server: {plain(table)}, charge {number}, {plain(who)}")
