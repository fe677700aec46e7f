"""A library that is older than what is tested is used with a warning; pyproject.toml has the ranges."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from prdp.engines.registry import _REQUIREMENT, ENGINES, is_below, lowest_tested

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OPENS = "import polars, prdp; prdp.open(polars.DataFrame({'age': [1]}), policy=1)"


def opened(folder: Path) -> str:
    """Return what is warned of where a folder comes first among those that libraries are found in."""
    path = os.pathsep.join([str(folder), *filter(None, sys.path)])
    ran = subprocess.run(
        [sys.executable, "-W", "always", "-c", OPENS],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    return ran.stderr


def installed(folder: Path, name: str, version: str) -> None:
    """Say that a version is installed, as an installer does."""
    about = folder / f"{name}-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def test_an_old_polars_is_named_with_what_to_run(tmp_path: Path) -> None:
    installed(tmp_path, "polars", "1.36.0")
    stated = opened(tmp_path)
    assert "UntestedVersion: polars 1.36.0 is installed, and prdp is tested with" in stated
    assert "pip install 'polars>=" in stated


def test_what_is_tested_is_used_without_a_word(tmp_path: Path) -> None:
    assert "UntestedVersion" not in opened(tmp_path)


def test_every_requirement_is_read_as_it_is_declared() -> None:
    for text in [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values())]:
        requirement, found = Requirement(text), _REQUIREMENT.match(text)
        assert found is not None
        (bound,) = requirement.specifier
        assert (found[1], found[2]) == (requirement.name, bound.version)


def test_every_library_of_an_engine_has_a_tested_version() -> None:
    for modules in ENGINES.values():
        assert {module.replace("_", "-") for module in modules} <= lowest_tested().keys()


@pytest.mark.parametrize(
    ("version", "lowest", "below"),
    [("1.36", "2.1", True), ("2.1", "2.1.0", False), ("2.0.9", "2.1", True), ("26.0.1", "18", False)],
)
def test_versions_are_compared_by_their_numbers(version: str, lowest: str, below: bool) -> None:
    assert is_below(version, lowest) == below


def test_sql_comes_with_the_base_install() -> None:
    assert any(text.startswith("sqlglot") for text in PROJECT["dependencies"])
    assert "sql" not in PROJECT["optional-dependencies"]
