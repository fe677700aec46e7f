"""``prdp init``: asks what must be declared of a table, or takes it from options, and writes prdp.toml."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from prdp.cli import table_options as given
from prdp.cli.completion import columns_of, tables_here
from prdp.cli.messages import complain, plain, write
from prdp.engines._csv import ENDINGS
from prdp.errors import InvalidRequest, PrdpError
from prdp.projects.project import project
from prdp.projects.toml_text import table_text
from prdp.projects.written import NAME

_TEXT = "VARCHAR"
_KINDS = {"text": _TEXT, "number": "DOUBLE", "whole": "BIGINT", "date": "DATE", "time": "TIMESTAMP"}


def init(
    source: Annotated[
        str | None,
        typer.Argument(
            help="A Parquet or CSV file.",
            metavar="FILE",
            autocompletion=tables_here,
            show_default=False,
        ),
    ] = None,
    *,
    policy: Annotated[str | None, given.POLICY] = None,
    at_most: Annotated[str | None, given.AT_MOST] = None,
    at_least: Annotated[str | None, given.AT_LEAST] = None,
    bounds: Annotated[list[str] | None, given.BOUNDS] = None,
    grain: Annotated[list[str] | None, given.GRAIN] = None,
    types: Annotated[list[str] | None, given.TYPES] = None,
    keys: Annotated[list[str] | None, given.KEYS] = None,
    owner: Annotated[str | None, given.OWNER] = None,
    ledger: Annotated[str | None, given.LEDGER] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a prdp.toml that is there.")] = False,
) -> None:
    """Write prdp.toml: a table, its policy, bounds and public keys.

    Asks in a terminal what options leave open; reads the columns' names and types, and no record.
    """
    if Path(NAME).exists() and not force:
        raise InvalidRequest(f"there is a {NAME} here already. Edit it, or write over it with --force.")
    asks = sys.stdin.isatty() and policy is None
    source = source or (_asked("Which file holds the table?") if asks else None)
    if source is None:
        raise InvalidRequest("say which file: prdp init accounts.parquet --policy '1'")
    if source.endswith(ENDINGS) and not Path(source).is_file():
        raise InvalidRequest(f"there is no file {source}.")
    columns = columns_of(source)
    declared = given.entry(
        source,
        policy or "1",
        at_most=at_most,
        at_least=at_least,
        bounds=bounds or (),
        grain=grain or (),
        types=types or (),
        keys=keys or (),
        owner=owner,
        ledger=ledger,
    )
    _add_types(declared, columns, asks=asks)
    if asks:
        _ask_the_rest(declared, columns)
    _write(given.name_of(source), declared, said=policy is not None or asks)


def _add_types(declared: dict[str, Any], columns: dict[str, str], *, asks: bool) -> None:
    """Give every column of a CSV file a type: what was said, a number where there are bounds, else text."""
    if any(columns.values()):
        return
    types = dict(declared.get("types", {}))
    bounded = {name.lower() for name in declared.get("bounds", {})}
    for name in columns:
        if name in types:
            continue
        if name.lower() in bounded:
            types[name] = _number_type(declared.get("grain", {}).get(name))
        elif asks:
            kind = _asked(f"What does {name} hold ({', '.join(_KINDS)})?", "text", choices=_KINDS)
            types[name] = _KINDS[kind]
        else:
            types[name] = _TEXT
    declared["types"] = types


def _number_type(grain: str | None) -> str:
    digits = len(grain.partition(".")[2]) if grain else 0
    return f"DECIMAL(18,{digits})" if digits else "DOUBLE"


def _ask_the_rest(declared: dict[str, Any], columns: dict[str, str]) -> None:
    """Ask for what no option said."""
    write(f"Columns: {plain(', '.join(columns))}")
    kinds = declared.get("types") or columns
    numbers = [name for name in columns if not kinds[name].startswith((_TEXT, "DATE", "TIME", "BOOL"))]
    write("The budget of a record, public, as SQL over its columns: 1 for everybody alike, or for instance")
    write(f"10000 / greatest(abs({(numbers or ['balance'])[0]}), 100): the larger, the better protected.")
    declared["policy"] = _asked("Policy?", "1")
    for name in numbers:
        ends = _asked(f"Public bounds of {name}, such as 0:1e9 (none: not added up)?", "none")
        if ends != "none":
            declared.setdefault("bounds", {}).update(given.entry("", "", bounds=[f"{name}={ends}"])["bounds"])
    for name in (name for name in columns if name not in numbers):
        keys = _asked(f"Public keys of {name}, to group by: a file, or a,b,c (none: no groups)?", "none")
        if keys != "none":
            declared.setdefault("keys", {}).update(given.entry("", "", keys=[f"{name}={keys}"])["keys"])
    owner = _asked("Which column says whose row it is (none: every row is a record of its own)?", "none")
    if owner != "none":
        declared["owner"] = owner


def _asked(question: str, default: str | None = None, choices: dict[str, str] | None = None) -> str:
    while True:
        answer = str(typer.prompt(question, default=default)).strip()
        if choices is None or answer in choices:
            return answer
        complain(f"{plain(answer)} is none of {', '.join(choices)}.")


def _write(name: str, declared: dict[str, Any], *, said: bool) -> None:
    """Write the file and try it; a file that does not open stays, with what is wrong in it."""
    text = "# Private tables; https://json-schema.org editors complete it by docs/prdp.schema.json.\n\n"
    with open(f"{NAME}.new", "w", encoding="utf-8") as file:
        file.write(text + table_text(name, declared))
    os.replace(f"{NAME}.new", NAME)
    write(f"{NAME} is written: table {name}.")
    if not said:
        write(
            "Its policy is 1, the same budget for every record: change it there if some need more protection."
        )
    try:
        project(NAME).facts(name)
    except PrdpError as error:
        complain(f"{error}\nMend it in {NAME}, then run: prdp check")
        raise typer.Exit(2) from None
    write(f'Next: prdp ask "SELECT COUNT(*) FROM {name}" --share 0.1')
