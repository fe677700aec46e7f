"""``prdp publish``: the tables of release.toml, charged at once and written ready to print."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from prdp.cli.advice import at_the_command_line
from prdp.cli.ask import DRY_RUN, announce
from prdp.cli.messages import complain, plain, write
from prdp.cli.preview import EVENLY, LIKE, percent, synthetic
from prdp.cli.printing import grid, reading, show
from prdp.errors import InvalidRequest
from prdp.publish.draws import PrivateTable, draws_of, total_shares
from prdp.publish.folder import refuse_folder
from prdp.publish.run import Edition, Precision, drawn, dry_run
from prdp.publish.series import EarlierEdition
from prdp.publish.signature import Signer
from prdp.publish.toml import ReleaseFile, read
from prdp.tables.join import Join
from prdp.tables.table import Table
from prdp.testing.preview import EVEN, is_law

_FILE = typer.Argument(help="The file that declares the tables.", metavar="[FILE]")
_OUTPUT = typer.Option(
    help="The folder that is written; by default, beside the file and called by its edition.",
    metavar="FOLDER",
    show_default=False,
)
_REST = (
    "Columns without a distribution, such as keys, are uniform in the made-up records. Of yours, small cells "
    "are less precise."
)


@at_the_command_line
def publish(
    file: Annotated[Path, _FILE] = Path("release.toml"),
    *,
    output: Annotated[Path | None, _OUTPUT] = None,
    like: Annotated[str, LIKE] = EVEN,
    preview: Annotated[bool, DRY_RUN] = False,
) -> None:
    """Charge the tables of release.toml in one step, and write them as a folder that is ready to print.

    With --dry-run, shows what they cost and how precise they are on made-up records. Published again, the
    recorded answers are written, and nothing is charged.
    """
    declared = read(file)
    if preview:
        _show_precision(declared, like)
        return
    edition = declared.publication.edition
    folder = output or file.absolute().parent / (
        f"{file.stem}-{edition}" if edition else f"{file.stem}-files"
    )
    refuse_folder(folder)
    earlier = [EarlierEdition.of(one) for one in declared.previous]
    names = _private_names(declared)
    explained = {name: declared.project.to_explain(name) for name in names}
    draws_of(declared.publication, _private(declared, explained))  # what is refused begins no account
    begun = {name: declared.project.is_begun(name) for name in names}
    signer = Signer.of(declared.key)
    if signer.begun:
        complain(
            f"new key {declared.key.name}: it signs this and later editions. Keep it secret, and a copy."
        )
    with reading("reading the records"):
        tables = _private(declared, {name: declared.project[name] for name in names})
        before = {one.table.name: len(one.table.ledger.entries) for one in tables.values()}
        found = drawn(declared.publication, tables, earlier)
    for name in names:
        if not begun[name]:
            announce(declared.project.ledger_of(name))
    found.write(folder, signer, earlier)
    written = f"{len(found.tables)} table{'s' * (len(found.tables) > 1)}"
    write(f"{folder.name}: {written}; {_charged(found, tables, before)}. Begin with {folder.name}/index.html")


def _private_names(declared: ReleaseFile) -> list[str]:
    return list(dict.fromkeys(str(table.source) for table in declared.publication.tables))


def _private(declared: ReleaseFile, opened: Mapping[str, Table | Join]) -> dict[str, PrivateTable]:
    return {name: PrivateTable(table, declared.project.keys_of(name)) for name, table in opened.items()}


def _charged(edition: Edition, tables: Mapping[str, PrivateTable], before: Mapping[str, int]) -> str:
    """Say what was charged to each private table now, beside what its ledger had before, and what is left."""
    new = {
        account["table"]: sum(
            (
                Fraction(one["share"])
                for one in account["charges"]
                if one["number"] >= before[account["table"]]
            ),
            Fraction(0),
        )
        for account in edition.charges
    }
    found = []
    for one in tables.values():
        share = new.get(one.table.name)
        words = f"{share} of every budget" if share else "nothing"
        found.append(f"{one.table.name} was charged {words}, and has {one.table.remaining} left")
    return "; ".join(found)


def _show_precision(declared: ReleaseFile, like: str) -> None:
    names = _private_names(declared)
    if like != EVEN and len(names) > 1:
        raise InvalidRequest("--like describes one table, and this publication is about several.")
    opened = {}
    for name in names:
        project, records = synthetic(declared.project, name, like)
        opened[name] = project.open(name, synthetic=records)
    tables = _private(declared, opened)
    with reading("simulating the tables"):
        found = dry_run(declared.publication, tables)
    made = grid(("table", "figure", "share", "cells", "published", "median CV", "90 % below"), left=(0, 1))
    for line in found:
        made.add_row(*_cells(line))
    used = total_shares(draws_of(declared.publication, tables))
    names_of = [f" ({name})" if len(used) > 1 else "" for name in used]
    costs = ", ".join(
        f"{float(share):.4g}{name}" for share, name in zip(used.values(), names_of, strict=True)
    )
    left = ", ".join(f"{declared.project.to_explain(name).remaining} of {name}" for name in names)
    limit = 100 * declared.publication.suppress_above
    caption = f"costs {costs} of every record's budget, at once; left now: {left}."
    above = f"Figures with a CV above {limit:.4g} % are not published."
    made_up = [EVENLY] if like == EVEN else [_REST] if is_law(like) else []
    show(made, "", caption, above, *made_up)


def _cells(line: Precision) -> list[str]:
    cvs = ["" if one is None else percent(one) for one in (line.median, line.often)]
    published = f"{line.published:,}"
    return [
        plain(line.table),
        plain(line.column),
        f"{float(line.share):.4g}",
        f"{line.cells:,}",
        published,
        *cvs,
    ]
