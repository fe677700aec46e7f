"""Notes on a release in several files is stated alike."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import prdp
import prdp.local
from prdp import errors

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_is_the_same_everywhere() -> None:
    cited = re.search(r"^version: (\S+)$", text("CITATION.cff"), flags=re.MULTILINE)
    newest = re.search(r"^## (\d+\.\d+\.\d+)", text("CHANGELOG.md"), flags=re.MULTILINE)
    assert cited is not None
    assert newest is not None
    assert cited[1] == newest[1] == prdp.__version__


def test_the_pythons_that_are_declared_are_those_that_a_release_is_tested_on() -> None:
    named = [line.rpartition(" :: ")[2] for line in PROJECT["classifiers"]]
    declared = [version for version in named if re.fullmatch(r"3\.\d+", version)]
    matrix = re.search(r"python: \[(.*)\]", text(".github/workflows/release.yml"))
    assert matrix is not None
    assert re.findall(r"3\.\d+", matrix[1]) == declared
    assert PROJECT["requires-python"] == f">={declared[0]}"
    assert f"Python {declared[0]} to {declared[-1]}" in text("docs/stability.md")


def test_every_public_name_is_in_the_reference() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs/reference").glob("*.md"))
    shown = set(re.findall(r"^::: (\S+)", pages, flags=re.MULTILINE))
    shown |= {name.rpartition(".")[0] for name in shown if ".testing." in name}  # a module of that name
    modules = {"adapters", "errors", "graphs", "local", "methods", "testing", "share_for", "simulate"}
    raised = {
        name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, Exception)
    }
    public = {f"prdp.{name}" for name in prdp.__all__ if name not in modules | raised | {"__version__"}}
    public |= {f"prdp.local.{name}" for name in prdp.local.__all__}
    public |= {f"prdp.errors.{name}" for name in raised}
    public |= {f"prdp.graphs.{name}" for name in prdp.graphs.__all__}
    public |= {f"prdp.testing.{name}" for name in prdp.testing.__all__}
    public |= {"prdp.adapters.opendp", "prdp.methods.Partition", "prdp.methods.Framework"}
    assert public <= shown, public - shown
