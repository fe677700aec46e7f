"""What is declared of dependencies is what is tested."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, version
from itertools import chain

import pytest
from packaging.requirements import Requirement

from tests.lowest import PYPROJECT, declared, not_installed

ROOT = PYPROJECT.parent
TEXT = PYPROJECT.read_text(encoding="utf-8")


def test_the_lowest_job_installs_the_lower_bound_of_everything_that_is_declared() -> None:
    command = [sys.executable, "-m", "tests.lowest"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    pinned = dict(line.split("==") for line in printed.splitlines())
    project = tomllib.loads(TEXT)["project"]
    every = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    assert {Requirement(text).name for text in every} == set(pinned)
    for requirement in map(Requirement, every):
        (bound,) = requirement.specifier
        assert (bound.operator, bound.version) == (">=", pinned[requirement.name])
    assert "python -m tests.lowest --installed" in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "make test-lowest" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "wrong", ['"numpy"', '"numpy>=1.26,<3"', '"numpy==1.26"', '"numpy>=1.26", "numpy>=2"']
)
def test_what_has_no_lower_bound_or_more_than_one_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="numpy"):
        declared(f"[project]\ndependencies = [{wrong}]\noptional-dependencies = {{}}")


def test_another_version_than_the_lowest_is_noticed() -> None:
    here = version("pytest")
    assert not_installed({"pytest": here}) == not_installed({"pytest": f"{here}.0"}) == []
    assert not_installed({"pytest": "7.0"}) == [f"pytest {here} is installed, 7.0 is the lowest"]


def test_every_package_that_the_source_imports_is_declared() -> None:
    distributions = packages_distributions()
    imported = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            imported |= {name.split(".")[0] for name in names}
    foreign = imported - sys.stdlib_module_names - {"prdp", ""}
    assert "duckdb" in foreign
    for name in foreign:
        assert {found.lower() for found in distributions[name]} & set(declared(TEXT)), name
