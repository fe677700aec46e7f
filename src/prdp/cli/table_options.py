"""Options of several commands: a statement, a table and its declaration, their completion, the project."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from prdp.engines.registry import engine_for
from prdp.engines.sources import database_files, text_files
from prdp.engines.sources.checks import sql_types
from prdp.engines.sources.readers import FILE_ENDINGS
from prdp.errors import InvalidRequest, PrdpError
from prdp.projects.fields import PUBLIC, check
from prdp.projects.project import Project, project
from prdp.projects.toml_file import NAME, ProjectText

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
    if source.endswith(text_files.JSON_ENDINGS):
        return {}
    if source.endswith(text_files.CSV_ENDINGS):
        return dict.fromkeys(text_files.columns_of(source), "")
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


WRITTEN = typer.Option("--file", "-f", help="Read the query from a file.", metavar="FILE", show_default=False)
STATEMENT = typer.Argument(
    help='The query, such as "SELECT COUNT(*) FROM accounts"; - reads it from the standard input.',
    metavar="SQL",
    autocompletion=statement_words,
    show_default=False,
)


def read_statement_from(statement: str | None, file: Path | None) -> str:
    """Return a statement, also from a file or from the standard input (-)."""
    if (statement is None) == (file is None):
        raise InvalidRequest(
            'write one question: "SELECT COUNT(*) FROM accounts", or --file question.sql, or - for the '
            "standard input."
        )
    if file is not None:
        return file.read_text(encoding="utf-8")
    return sys.stdin.read() if statement == "-" else str(statement)


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


def _option(name: str, explained: str, metavar: str, complete: Any = None) -> Any:
    return typer.Option(name, help=explained, metavar=metavar, autocompletion=complete, show_default=False)


TYPE_WORDS = {
    "text": "VARCHAR",
    "number": "DOUBLE",
    "integer": "BIGINT",
    "money": "DECIMAL(18,2)",
    "date": "DATE",
    "datetime": "TIMESTAMP",
    "boolean": "BOOLEAN",
}
"""Words for SQL types, in questions of ``prdp init`` and in ``--type``."""

TABLE = typer.Option(
    "--table",
    help="A file, a Delta or Iceberg folder, or a table of --database, in place of the project's tables.",
    metavar="FILE",
    autocompletion=tables_here,
    show_default=False,
)
TABLE_NAME = _option("--table-name", "Of a DuckDB or SQLite file, the table's name in it.", "NAME")
DATABASE = _option(
    "--database",
    "The PostgreSQL database of the table: postgresql://user@host/bank, or '${VARIABLE}' with one in it.",
    "ADDRESS",
)
POLICY = _option(
    "--policy", "The budget of a record, such as '10000 / greatest(balance, 100)'.", "EXPRESSION"
)
AT_MOST = _option("--at-most", "The largest budget.", "BUDGET")
AT_LEAST = _option("--at-least", "The smallest budget; records with less are left out.", "BUDGET")
NOTION = _option("--notion", "What the policy bounds: pure, or zcdp for concentrated privacy.", "NOTION")
BOUNDS = _option(
    "--bounds", "A number column's public bounds, such as balance=0:1e9.", "COLUMN=LOW:HIGH", column_values
)
ROUND_TO = _option(
    "--round-to",
    "The rounding step of a column that is added up, such as balance=0.01.",
    "COLUMN=STEP",
    column_values,
)
TYPES = _option(
    "--type",
    f"The type of a column of CSV or JSON lines: {', '.join(TYPE_WORDS)}, or a SQL type: opened=date.",
    "COLUMN=TYPE",
    column_values,
)
KEYS = _option(
    "--keys",
    "A grouping column's public keys: a file, one on each line (the first may be the column's name), or "
    "values: job=chef,clerk.",
    "COLUMN=FILE",
    column_values,
)
PRIVACY_UNIT = _option(
    "--privacy-unit", "The column that names the unit of each row, such as customer_id.", "COLUMN", columns
)
MAX_ROWS = typer.Option(
    "--max-rows",
    min=1,
    help="With --privacy-unit: one unit adds at most so many times what one row can add. Guess high.",
    metavar="NUMBER",
    show_default=False,
)
LEDGER = _option("--ledger", "The file or PostgreSQL database that keeps the account.", "FILE")
PROJECT = _option("--project", "The project file; by default the nearest prdp.toml.", "FILE")


def entry(
    source: str,
    policy: str,
    *,
    table_name: str | None = None,
    database: str | None = None,
    at_most: str | None = None,
    at_least: str | None = None,
    notion: str | None = None,
    bounds: Sequence[str] = (),
    round_to: Sequence[str] = (),
    types: Sequence[str] = (),
    keys: Sequence[str] = (),
    privacy_unit: str | None = None,
    max_rows: int | None = None,
    ledger: str | None = None,
) -> dict[str, Any]:
    """Return a table as a project file says it."""
    ends = {name: _ends(name, value) for name, value in _named(bounds, "--bounds", "balance=0:1e9")}
    made: dict[str, Any] = {
        "source": database or source,
        "table": source if database else table_name,
        "policy": policy,
        "at_most": at_most,
        "at_least": at_least,
        "notion": notion,
        "bounds": ends,
        "round_to": dict(_named(round_to, "--round-to", "balance=0.01")),
        "types": sql_types(
            {
                name: TYPE_WORDS.get(kind.lower(), kind)
                for name, kind in _named(types, "--type", "opened=date")
            }
        ),
        "keys": {name: _keys(value) for name, value in _named(keys, "--keys", "job=jobs.csv")},
        "privacy_unit": privacy_unit,
        "max_rows": max_rows,
        "ledger": ledger,
    }
    return {key: value for key, value in made.items() if value}


def project_of(
    name: str, declared: dict[str, Any], who: str | None = None, public: Mapping[str, str] | None = None
) -> Project:
    """Return the project of one table that options declare; its account lies beside the data."""
    tables = {"tables": {name: declared}}
    file = ProjectText(Path.cwd() / NAME, "", tables | ({PUBLIC: dict(public)} if public else {}))
    check(file)
    return Project(file, who)


def opened(
    file: Path | None, table: str | None, policy: str | None, who: str | None, declared: dict[str, Any]
) -> Project:
    """Return the project that options declare, or the one of a project file."""
    if table is None:
        unused = [key for key, value in declared.items() if value] + ["policy"] * (policy is not None)
        if unused:
            raise InvalidRequest(
                f"--{unused[0].replace('_', '-')} is for --table: a project's tables are declared in {NAME}."
            )
        return replace(project(file), who=who)
    if file is not None:
        raise InvalidRequest("--table and --project exclude each other.")
    if policy is None:
        raise InvalidRequest("--table needs a policy: add --policy '1' for the same budget for every record.")
    if declared.get("database") is None:
        refuse_nameless(table, declared.get("table_name"))
    made = entry(table, policy, **declared)
    name = name_of(table, made.get("table"))
    beside = f"{name}.ledger"
    if "database" not in declared or declared["database"] is None:
        path = Path(table)
        beside = str(path.with_name(beside) if "table" in made else path.with_suffix(".ledger"))
    made.setdefault("ledger", beside)
    return project_of(name, made, who)


def refuse_nameless(source: str, table_name: str | None) -> None:
    """Refuse a database without the name of a table in it."""
    if source.endswith(database_files.ENDINGS) and not table_name:
        raise InvalidRequest(f"{source} is a database: say which table of it, --table-name accounts")


def shares_of(options: Sequence[str]) -> dict[str, str] | None:
    """Return what each column may use, by name."""
    return dict(_named(options, "--shares", "n=0.02")) or None


def name_of(source: str, table_name: str | None = None) -> str:
    """Return what a table is called in SQL: its name in a database, or its file's stem.

    >>> name_of("data/accounts.parquet"), name_of("2026 accounts.csv"), name_of("bank.duckdb", "main.loans")
    ('accounts', 't_2026_accounts', 'loans')
    """
    called = Path(source).stem if table_name is None else table_name.rpartition(".")[2]
    stem = re.sub(r"\W+", "_", called).strip("_") or "records"
    return f"t_{stem}" if stem[0].isdigit() else stem


def _named(options: Sequence[str], option: str, example: str) -> list[tuple[str, str]]:
    """Return the columns and values of options of the form COLUMN=VALUE."""
    pairs = [(name.strip(), value.strip()) for name, _, value in (one.partition("=") for one in options)]
    for given, (name, value) in zip(options, pairs, strict=True):
        if not name or not value:
            raise InvalidRequest(f"{option} {given} is not understood: write {option} {example}")
    return pairs


def _ends(name: str, value: str) -> list[str]:
    low, colon, high = value.partition(":")
    if not colon:
        raise InvalidRequest(f"--bounds {name}={value} is not understood: write --bounds {name}=0:1e9")
    return [low, high]


def _keys(value: str) -> Any:
    """Return public keys as a project file says them: values between commas, or a file's name."""
    if value == "private" or "," in value:
        return [part.strip() for part in value.split(",")] if "," in value else value
    return {"file": value} if Path(value).suffix or Path(value).exists() else [value]
