"""No mechanism without its proof, its exact test and its promise in words."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = sorted(
    path.stem for path in (ROOT / "src/prdp/mechanisms").glob("*.py") if not path.stem.startswith("_")
)


def mechanism(name: str) -> type:
    """Return the class that a file of mechanisms is about: the one with a name to ask for it by."""
    module = import_module(f"prdp.mechanisms.{name}")
    own = [
        one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__
    ]
    (found,) = (one for one in own if isinstance(vars(one).get("name"), str))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_mechanism_has_a_proof_and_an_exact_test(name: str) -> None:
    proof = (ROOT / "proofs" / f"{name}.md").read_text(encoding="utf-8")
    assert "## Theorem" in proof
    assert f"mechanisms/{name}.py" in proof
    assert (ROOT / "tests/exact" / f"test_{name}.py").exists()


@pytest.mark.parametrize("name", NAMES)
def test_a_mechanism_states_its_guarantee_and_why(name: str) -> None:
    promise = mechanism(name).__doc__ or ""
    assert "Guarantee:" in promise
    assert "Why:" in promise
    assert f"proofs/{name}.md" in promise


def test_every_proof_is_in_the_list_of_proofs() -> None:
    listed = (ROOT / "proofs/README.md").read_text(encoding="utf-8")
    for page in (ROOT / "proofs").glob("*.md"):
        assert page.name == "README.md" or f"({page.name})" in listed, page.name


@pytest.mark.parametrize("page", sorted((ROOT / "proofs").glob("*.md")), ids=lambda page: str(page.name))
def test_a_proof_speaks_of_code_that_exists(page: Path) -> None:
    for name in re.findall(r"`((?:\w+/)*\w+\.py)`", page.read_text(encoding="utf-8")):
        places = [ROOT / "src/prdp" / name, ROOT / name, ROOT / "tests" / name]
        assert any(place.exists() for place in places), name


_NAMED = re.compile(r"`((?:\w+/)*\w+\.py)`\s+\(((?:`[\w.]+`,?\s*)+)\)")
"""A file of the package, with names in it."""


def named(text: str) -> list[tuple[str, str]]:
    """Return the files that a page names with names in them, each with one of these."""
    pairs = _NAMED.findall(text)
    return [(file, name) for file, names in pairs for name in re.findall(r"`([\w.]+)`", names)]


def defines(code: str, name: str) -> bool:
    """Return whether a file defines a name, and of a dotted one each part of it."""
    return all(
        re.search(rf"^\s*(?:(?:class|def)\s+{part}\b|{part}\s*[:=])", code, re.MULTILINE)
        for part in name.split(".")
    )


@pytest.mark.parametrize("page", sorted((ROOT / "proofs").glob("*.md")), ids=lambda page: str(page.name))
def test_what_a_proof_names_in_a_file_is_defined_there(page: Path) -> None:
    for file, name in named(page.read_text(encoding="utf-8")):
        code = (ROOT / "src/prdp" / file).read_text(encoding="utf-8")
        assert defines(code, name), f"{file}: {name}"


def test_a_name_that_a_file_lacks_is_noticed() -> None:
    code = (ROOT / "src/prdp/mechanisms/distinct.py").read_text(encoding="utf-8")
    ((file, right), (_, wrong)) = named("`mechanisms/distinct.py` (`DistinctKeys.law`,\n`Distinct.law`)")
    assert file == "mechanisms/distinct.py"
    assert defines(code, right)
    assert not defines(code, wrong)


@pytest.mark.parametrize("page", sorted((ROOT / "proofs").glob("*.md")), ids=lambda page: str(page.name))
def test_a_lemma_that_a_proof_uses_is_there(page: Path) -> None:
    lemmas = set(re.findall(r"^## Lemma (\d+)", (ROOT / "proofs/lemmas.md").read_text(), re.MULTILINE))
    assert set(re.findall(r"Lemma (\d+)", page.read_text(encoding="utf-8"))) <= lemmas
