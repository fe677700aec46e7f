"""No mechanism without its proof, its exact test and its promise in words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from prdp.mechanisms import (
    Choice,
    Clip,
    Distinct,
    Framework,
    Joint,
    Naive,
    Partition,
    Rank,
    Smooth,
    Tiers,
    Truncate,
)

ROOT = Path(__file__).parents[2]
NAMES = sorted(
    path.stem for path in (ROOT / "src/prdp/mechanisms").glob("*.py") if not path.stem.startswith("_")
)

MECHANISMS = (Choice, Clip, Distinct, Framework, Joint, Naive, Partition, Rank, Smooth, Tiers, Truncate)


@pytest.mark.parametrize("name", NAMES)
def test_a_mechanism_has_a_proof_and_an_exact_test(name: str) -> None:
    proof = (ROOT / "proofs" / f"{name}.md").read_text(encoding="utf-8")
    assert "## Theorem" in proof
    assert f"mechanisms/{name}.py" in proof
    assert (ROOT / "tests/exact" / f"test_{name}.py").exists()


def test_every_mechanism_is_known_here() -> None:
    assert {mechanism.name for mechanism in MECHANISMS} == set(NAMES)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_mechanism_states_its_guarantee_and_why(mechanism: type) -> None:
    assert mechanism.__doc__ is not None
    assert "Guarantee:" in mechanism.__doc__
    assert "Why:" in mechanism.__doc__
    assert f"proofs/{mechanism.__name__.lower()}.md" in mechanism.__doc__


@pytest.mark.parametrize("page", sorted((ROOT / "proofs").glob("*.md")), ids=lambda page: str(page.name))
def test_a_proof_speaks_of_code_that_exists(page: Path) -> None:
    for name in re.findall(r"`((?:\w+/)*\w+\.py)`", page.read_text(encoding="utf-8")):
        places = [ROOT / "src/prdp" / name, ROOT / name, ROOT / "tests" / name]
        assert any(place.exists() for place in places), name
