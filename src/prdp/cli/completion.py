"""Complete names of tables and columns in a shell; a mistake completes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import typer

from prdp.engines.registry import engine_for
from prdp.engines.sources import database_files, json_lines
from prdp.engines.sources.csv import ENDINGS, header_of
from prdp.engines.sources.readers import FILE_ENDINGS
from prdp.errors import PrdpError
from prdp.projects.project import project

_LAST_WORD = re.compile(r"\w*$")
KNOWN = (*FILE_ENDINGS, *database_files.ENDINGS)


def tables_here(incomplete: str) -> list[str]:
    """Return the tables and folders that a half-typed path may mean."""
    folder = incomplete[: incomplete.rfind("/") + 1]
    found = [path for path in sorted(Path(folder).glob("*")) if path.is_dir() or path.name.endswith(KNOWN)]
    names = [f"{folder}{path.name}" + ("/" if path.is_dir() else "") for path in found]
    return [name for name in names if name.startswith(incomplete)]


def columns_of(source: str, table_name: str | None = None) -> dict[str, str]:
    """Return a file's columns and their types; CSV says no types, and lines of JSON no columns."""
    if source.endswith(json_lines.ENDINGS):
        return {}
    if source.endswith(ENDINGS):
        return dict.fromkeys(header_of(source, "\t" if ".tsv" in Path(source).name else ","), "")
    engine = engine_for(source, None, None, rows_are_records=False, table=table_name)
    return {name: kind.native for name, kind in engine.schema.items()}


def column_values(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return ``COLUMN=`` for the columns of the file that the command line names."""
    return [f"{name}=" for name in _columns(ctx) if name.startswith(incomplete)]


def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the columns of the file that the command line names."""
    return [name for name in _columns(ctx) if name.startswith(incomplete)]


def statement_words(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return a half-typed statement with its last word completed to a table's or a column's name."""
    word = _LAST_WORD.search(incomplete)
    if word is None or not word[0]:
        return []
    before = incomplete[: word.start()]
    return [before + name for name in _names(ctx) if name.lower().startswith(word[0].lower())]


def _columns(ctx: typer.Context) -> Iterable[str]:
    source = ctx.params.get("table") or ctx.params.get("source")
    try:
        return columns_of(str(source), ctx.params.get("table_name")) if source else ()
    except (PrdpError, OSError):
        return ()


def _names(ctx: typer.Context) -> list[str]:
    if ctx.params.get("table"):
        return [str(ctx.params.get("table_name") or Path(ctx.params["table"]).stem), *_columns(ctx)]
    try:
        opened = project(ctx.params.get("file"))
        names = [table for name in opened for table in opened.tables_of(name)]
        return [*names, *(column for name in opened for column in opened.facts(name).schema)]
    except (PrdpError, OSError):
        return []
