"""Who may import whom: read from the source, so that no test run can hide an import."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "prdp"
FILES = sorted(SOURCE.rglob("*.py"))

ORDER = (
    *("errors", "noise", "safety", "grids", "levels", "schema", "expressions", "declare", "regions"),
    *("methods", "policy", "cells", "release", "mechanisms", "plan", "engines", "ledger", "run"),
    *("sql", "tables"),
)
"""Every package imports itself and what stands before it; whoever is not here comes after all."""

BELIEVED = ("policy", "levels", "grids", "regions", "cells", "plan", "run", "mechanisms", "noise")
"""What is read by whoever must believe the guarantee, whole; ARCHITECTURE.md says the same."""

FORBIDDEN = {
    "engines": ("prdp.mechanisms", "prdp.noise", "prdp.ledger", "prdp.run", "prdp.tables", "prdp.release"),
    "mechanisms": ("prdp.engines", "prdp.ledger", "prdp.run", "prdp.tables"),
    "expressions": (
        "prdp.engines",
        "prdp.mechanisms",
        "prdp.noise",
        "prdp.ledger",
        "prdp.run",
        "prdp.tables",
    ),
}
ONLY_IN = {
    "duckdb": {"engines/_database.py", "engines/_public_file.py", "engines/_tables.py", "engines/duckdb.py"},
    "polars": {
        "engines/polars.py",
        "engines/dialects/polars_frames.py",
        "engines/dialects/polars_words.py",
        "testing/engine_places.py",
        "release/table.py",  # what a release can be turned into, where it is installed
    },
    "pandas": {"release/table.py", "sql/results.py"},
    "pyarrow": {
        *("release/table.py", "engines/_batches.py", "engines/_arrow_files.py"),
        *("engines/_sqlite.py", "engines/_delta.py", "engines/_postgres_arrow.py"),
        *("engines/_spark_arrow.py", "engines/_clickhouse_server.py", "engines/clickhouse.py"),
        *("testing/engine_equality.py", "engines/_sql_results.py"),
    },
    "deltalake": {"engines/_delta.py"},
    "pyiceberg": {"engines/_iceberg.py"},
    "pyspark": {"engines/_spark_arrow.py", "engines/_spark_tables.py", "engines/spark.py"},
    "cryptography": {"noise/entropy.py", "testing/seeded.py"},
    "random": set(),
    "psycopg": {
        "collector/store/postgres.py",
        "engines/_postgres_session.py",
        "ledger/postgres.py",
        "safety/database_connection.py",
    },
    "scipy": {"mechanisms/_packing.py"},
    "sqlglot": {
        "cli/dry_run.py",
        "engines/dialects/polars_frames.py",
        "engines/dialects/polars_words.py",
        "engines/dialects/_mariadb_doubles.py",
        "engines/dialects/_mariadb_values.py",
        "engines/dialects/mariadb.py",
        "engines/dialects/_postgres_doubles.py",
        "engines/dialects/_postgres_values.py",
        "engines/dialects/postgres.py",
        "engines/dialects/spark.py",
        "engines/dialects/spark_texts.py",
        "engines/clickhouse.py",
        "engines/dialects/clickhouse.py",
        "engines/dialects/clickhouse_cases.py",
        "engines/dialects/clickhouse_moments.py",
        "engines/dialects/clickhouse_numbers.py",
        "engines/dialects/clickhouse_texts.py",
        "engines/dialects/clickhouse_words.py",
        "engines/dialects/translate.py",
        "sql/from_clause.py",
        "sql/subqueries.py",
        "sql/compiled.py",
    },
    "sqlalchemy": {"engines/_sql_database.py"},
    "secrets": set(),
}

SEEDED = {
    *("local/simulation/simulation.py", "__init__.py"),
    *("cli/check.py", "cli/preview.py", "cli/compare.py", "cli/engine.py"),
}
"""Marks what it makes as simulated; names the room for type checkers only; commands on stand-ins."""


@cache
def imports(path: Path) -> tuple[str, ...]:
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0]


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_imports_only_what_its_room_may_see(path: Path) -> None:
    for name in imports(path):
        for package in FORBIDDEN.get(room(path), ()):
            assert not within(name, package), f"{room(path)} must not see {name}"
        if room(path) == "noise":
            assert not within(name, "prdp") or within(name, "prdp.noise"), name
        for package, homes in ONLY_IN.items():
            if within(name, package):
                assert str(path.relative_to(SOURCE)) in homes, f"{package} has no place here"
        if room(path) == "expressions":
            assert within(name, "prdp") or name.split(".")[0] in sys.stdlib_module_names, name
        if within(name, "typer") or within(name, "rich"):
            assert room(path) == "cli"
        if within(name, "prdp.testing"):
            known = room(path) == "testing" or str(path.relative_to(SOURCE)) in SEEDED
            assert known, "seeded noise must not reach real releases"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_the_collector_s_server_knows_what_serves_it(path: Path) -> None:
    for name in imports(path):
        if any(within(name, served) for served in ("fastapi", "starlette", "pydantic", "uvicorn")):
            assert path.is_relative_to(SOURCE / "collector" / "server")
        if within(name, "prdp.collector"):
            assert room(path) in ("collector", "cli")


def package(name: str) -> str:
    return name.split(".")[1] if name.startswith("prdp.") else ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_packages_import_one_way(path: Path) -> None:
    own = room(path).removesuffix(".py")
    if own in ORDER:
        for name in imports(path):
            found = package(name)
            assert not found or (found in ORDER and ORDER.index(found) <= ORDER.index(own)), name


def test_the_readers_list_of_the_guarantee_is_that_of_the_import_law() -> None:
    """Nothing that must be believed hangs on an entry point, a test tool or the command line."""
    text = (SOURCE.parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    listed = text.split("## Who must believe the guarantee")[1].split(";")[0]
    assert re.findall(r"`(\w+)(?:\.py|/)`", listed) == list(BELIEVED)
    order = text.split("packages import one way, in the order")[1].split("`")[1]
    assert re.findall(r"\w+", order) == list(ORDER)
    for path in FILES:
        if room(path).removesuffix(".py") in BELIEVED:
            for name in imports(path):
                assert package(name) not in {"tables", "local", "testing", "cli", "adapters"}, path


def test_only_the_entropy_file_touches_the_system_s_generator() -> None:
    users = [p for p in FILES if "urandom" in p.read_text(encoding="utf-8")]
    assert [str(p.relative_to(SOURCE)) for p in users] == ["noise/entropy.py"]


def test_files_and_functions_stay_short() -> None:
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 400, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                docstring = ast.get_docstring(node, clean=False) or ""
                length = (node.end_lineno or 0) - node.lineno - docstring.count("\n")
                assert length <= 50, f"{path.name}:{node.name} has {length} lines"
