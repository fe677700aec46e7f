"""Who may import whom: read from the source, so that no test run can hide an import."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "prdp"
FILES = sorted(SOURCE.rglob("*.py"))

ORDER = (
    *("errors", "noise", "safety", "levels", "schema", "expressions", "declare", "regions"),
    "concentrated",
    *("methods", "policy", "cells", "release", "mechanisms", "plan", "engines", "ledger", "run"),
    *("pictures", "sql", "tables"),
)
"""Every package imports itself and what precedes it; whoever is not here comes after all."""

BELIEVED = ("policy", "concentrated", "levels", "regions", "cells", "plan", "run", "mechanisms", "noise")
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
    "duckdb": {
        "engines/duckdb/database.py",
        "engines/sources/public_file.py",
        "engines/duckdb/engine.py",
        "server/wire/catalogue.py",
    },
    "polars": {
        "engines/polars/engine.py",
        "engines/polars/expressions.py",
        "testing/engine_check.py",
        "release/table.py",  # what a release can be turned into, where it is installed
    },
    "pandas": {"release/table.py", "sql/results.py"},
    "pyarrow": {
        *("release/table.py", "engines/sources/batches.py", "engines/sources/arrow_files.py"),
        *("engines/sources/sqlite.py", "engines/sources/lakes.py", "engines/postgres/session.py"),
        *("engines/spark/engine.py", "engines/clickhouse/session.py", "engines/clickhouse/engine.py"),
        *("testing/engine_equality.py", "engines/mariadb/session.py", "graphs/custom_run.py"),
    },
    "deltalake": {"engines/sources/lakes.py"},
    "pyiceberg": {"engines/sources/lakes.py"},
    "pyspark": {"engines/spark/engine.py"},
    "cryptography": {
        *("noise/entropy.py", "testing/seeded.py", "publish/signature.py", "server/wire/certificate.py"),
    },
    "random": set(),
    "psycopg": {
        "collector/store/postgres.py",
        "engines/postgres/session.py",
        "ledger/postgres.py",
        "safety/postgres_connection.py",
    },
    "scipy": {"mechanisms/_packing.py"},
    "sqlglot": {
        "cli/ask.py",
        "engines/polars/engine.py",
        "engines/polars/expressions.py",
        "engines/mariadb/doubles.py",
        "engines/mariadb/dialect.py",
        "engines/postgres/doubles.py",
        "engines/postgres/dialect.py",
        "engines/spark/dialect.py",
        "engines/clickhouse/engine.py",
        "engines/clickhouse/dialect.py",
        "engines/clickhouse/datetimes.py",
        "engines/statements/translate.py",
        "server/wire/catalogue.py",
        "sql/from_clause.py",
        "sql/reading.py",
        "sql/released_select.py",
        "sql/statement.py",
    },
    "sqlalchemy": {"engines/mariadb/session.py"},
    "secrets": set(),
    "argon2": {"server/accounts.py"},
    "mcp": {"agents/stdio.py"},
}

SEEDED = {
    *("local/simulation/simulation.py", "__init__.py"),
    "server/planning.py",
    *("cli/check.py", "cli/preview.py", "cli/compare.py", "cli/engine.py", "cli/publish.py"),
}
"""Simulations; names for type checkers only; commands and plans on synthetic tables."""


SERVERS = {
    "agents": ("agents", "cli"),
    "collector": ("collector", "cli"),
    "server": ("server", "cli"),
    "serving": ("serving", "collector", "server", "cli"),
}
"""For each package that serves others, who sees it."""


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


def every_import() -> Iterator[tuple[Path, str]]:
    return ((path, name) for path in FILES for name in imports(path))


def test_a_file_imports_only_what_its_room_may_see() -> None:
    for path, name in every_import():
        here = str(path.relative_to(SOURCE))
        for package in FORBIDDEN.get(room(path), ()):
            assert not within(name, package), f"{here} must not see {name}"
        if room(path) == "noise":
            assert not within(name, "prdp") or within(name, "prdp.noise"), (here, name)
        for package, homes in ONLY_IN.items():
            if within(name, package):
                assert here in homes, f"{package} has no place in {here}"
        if room(path) == "expressions":
            assert within(name, "prdp") or name.split(".")[0] in sys.stdlib_module_names, (here, name)
        if within(name, "typer") or within(name, "rich"):
            assert room(path) == "cli", (here, name)
        if within(name, "prdp.testing"):
            known = room(path) == "testing" or here in SEEDED
            assert known, f"{here}: seeded noise must not reach real releases"


def test_only_servers_know_what_serves_them() -> None:
    web = (SOURCE / "collector" / "server", SOURCE / "serving", SOURCE / "server")
    for path, name in every_import():
        if any(within(name, served) for served in ("fastapi", "starlette", "pydantic", "uvicorn", "jinja2")):
            assert any(path.is_relative_to(one) for one in web), (path, name)
        for served, seen_by in SERVERS.items():
            if within(name, f"prdp.{served}"):
                assert room(path) in seen_by, (path, name)


def package(name: str) -> str:
    return name.split(".")[1] if name.startswith("prdp.") else ""


def test_packages_import_one_way() -> None:
    for path, name in every_import():
        own, found = room(path).removesuffix(".py"), package(name)
        if own in ORDER and found:
            assert found in ORDER, (path, name)
            assert ORDER.index(found) <= ORDER.index(own), (path, name)


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


def test_functions_stay_short() -> None:
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                docstring = ast.get_docstring(node, clean=False) or ""
                body = node.body[0].lineno  # options of a signature stand one a line
                length = (node.end_lineno or 0) - body - docstring.count("\n")
                assert length <= 50, f"{path.name}:{node.name} has {length} lines"
