"""The table of what each engine is tested to do; ``python -m tests.docs.support_table`` writes it.

A class of tests that subclasses a contract says what its engine meets; a single test says it by its mark,
``@pytest.mark.meets("equality")``. Whose test it is, its file says.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "sources.md"
START, END = "<!-- written by tests/docs/support_table.py -->", "<!-- until here -->"

CONTRACTS = {
    "EngineContract": ("reads", "groups", "owners"),
    "EqualityContract": ("equality",),
    "JoinContract": ("joins",),
    "StorageContract": ("storage",),
}
FAULTS = ("killed", "cut", "no room")
COLUMNS = {
    "reads": "reads",
    "groups": "groups",
    "owners": "privacy units",
    "joins": "joins",
    "storage": "any storage",
    "equality": "DuckDB's answers",
}
ENGINES: Mapping[str, tuple[str, str, str]] = {
    "duckdb": ("DuckDB", "duckdb", "from {} on"),
    "polars": ("Polars", "polars", "from {} on"),
    "postgres": ("PostgreSQL", "", "from 14 on"),
    "spark": ("Spark, classic and Connect", "pyspark[connect]", "from {} on"),
    "clickhouse": ("ClickHouse, chDB", "chdb", "chDB from {} on"),
    "mariadb": ("MariaDB", "", "10.11; others once checked there"),
}
"""By the beginning of its tests' files: its name, what is installed for it, and which versions are meant."""

IN_ONE_PROCESS = ("duckdb", "polars")
OF_DUCKDB = ("test_storage", "test_joined", "test_sources")
NEVER = {"Snowflake": "", "BigQuery": "", "Trino": ""}


def engine_of(path: Path) -> str | None:
    """Return whose tests are in a file."""
    if path.stem in OF_DUCKDB:
        return "duckdb"
    return next((name for name in ENGINES if path.stem.startswith(f"test_{name}")), None)


def met() -> Mapping[str, set[str]]:
    """Return what every engine is tested to meet."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in sorted((ROOT / "tests" / "engines").glob("test_*.py")):
        if engine := engine_of(path):
            found[engine].update(_claims(ast.parse(path.read_text(encoding="utf-8"))))
    return found


def _claims(tree: ast.Module) -> Iterator[str]:
    bases = {
        node.name: [base.id for base in node.bases if isinstance(base, ast.Name)]
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
    for name in bases:
        if name.startswith("Test"):
            yield from _inherited(name, bases)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.meets":
                    yield from (str(ast.literal_eval(claim)) for claim in mark.args)


def _inherited(name: str, bases: Mapping[str, list[str]]) -> Iterator[str]:
    for base in bases.get(name, []):
        yield from CONTRACTS.get(base, ())
        yield from _inherited(base, bases)


def table() -> str:
    """Return the table, as it is in the page."""
    found = met()
    lines = [
        f"| engine | {' | '.join(COLUMNS.values())} | faults | versions |",
        f"|---|{'---|' * (len(COLUMNS) + 2)}",
    ]
    for engine, (title, package, versions) in ENGINES.items():
        marks = ["yes" if claim in found[engine] else "no" for claim in COLUMNS]
        faults = ", ".join(fault for fault in FAULTS if fault in found[engine])
        last = "in this process" if engine in IN_ONE_PROCESS else faults or "none"
        lines.append(f"| {title} | {' | '.join(marks)} | {last} | {versions.format(_lowest(package))} |")
    empty = " | ".join(["no"] * len(COLUMNS))
    lines += [f"| {title} | {empty} | none | never run by us on the real thing |" for title in NEVER]
    return "\n".join([START, *lines, END])


def _lowest(package: str) -> str:
    """Return the lowest version of a package that tests are run with."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    found = (re.fullmatch(rf"{re.escape(package)}>=([\w.]+)(?:;.*)?", one) for one in needed if package)
    return next((match[1] for match in found if match), "")


def written(page: str) -> str:
    """Return a page with the table as it is now."""
    before, _, rest = page.partition(START)
    return f"{before}{table()}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
