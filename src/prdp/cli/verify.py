"""``prdp verify``: whether a publication is as it was signed, and its ledger has the charges."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prdp.cli.advice import at_the_command_line
from prdp.cli.messages import write
from prdp.cli.printing import show_json
from prdp.errors import InvalidRequest
from prdp.projects.project import project
from prdp.publish.verify import verify as verified

_FOLDER = typer.Argument(help="The folder of a publication.", metavar="FOLDER", show_default=False)
_KEY = typer.Option(
    help="The office's public key, from elsewhere; by default the one in the folder.",
    metavar="FILE",
    show_default=False,
)
_PROJECT = typer.Option(
    "--project",
    help="The project file whose ledgers have the charges; without it, they are not compared.",
    metavar="FILE",
    show_default=False,
)


@at_the_command_line
def verify(
    folder: Annotated[Path, _FOLDER],
    *,
    public_key: Annotated[Path | None, _KEY] = None,
    file: Annotated[Path | None, _PROJECT] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Verify a publication: signature, files, and the charges in its ledgers.

    Ends with the exit code 2 where something does not hold.
    """
    ledgers = {}
    if file is not None:
        opened = project(file)
        ledgers = {name: opened.ledger_of(name) for name in opened if opened.is_begun(name)}
    found = verified(folder, public_key=public_key, ledgers=ledgers)
    if as_json:
        show_json([{"holds": one.holds, "text": one.text} for one in found])
    else:
        marks = {True: "ok", None: "! ", False: "!!"}
        write("\n".join(f"{marks[one.holds]}  {one.text}" for one in found))
    if any(one.holds is False for one in found):
        raise InvalidRequest(f"{folder.name} is not as it was signed.")
