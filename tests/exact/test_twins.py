"""No mechanism's exact test lets noise pass that is 2 % too small."""

from __future__ import annotations

from pathlib import Path

import pytest

import prdp.mechanisms
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.testing.exact_loss import TOLERANCE
from prdp.testing.local_contract import LocalContract
from prdp.testing.mechanism_contract import FACTOR, less_noise
from tests.exact import twins


@pytest.mark.parametrize("name", twins.OTHERS)
def test_two_percent_too_little_noise_is_caught_where_no_contract_looks(name: str) -> None:
    found = twins.OTHERS[name]()
    print(found)
    assert found.right <= 1 + TOLERANCE
    assert found.twin > 1 + TOLERANCE or (found.loose and found.right < FACTOR)


def test_every_mechanism_is_measured_beside_its_twin() -> None:
    """By a contract that is no variant of another, or by a measurement of its own."""
    (folder,) = prdp.mechanisms.__path__
    there = {path.stem for path in Path(folder).glob("[a-z]*.py")}
    measured = {
        kind.__module__.removeprefix("tests.exact.test_")
        for kind in twins.contracts()
        if not getattr(kind, "variant_of", None)
    }
    assert there <= measured | {name.partition(",")[0] for name in twins.OTHERS}


def test_every_contract_looks_for_its_quiet_twin_itself() -> None:
    found = twins.contracts()
    assert any(issubclass(kind, LocalContract) for kind in found)
    for kind in found:
        assert callable(getattr(kind, "test_two_percent_too_little_noise_is_caught", None)), kind


def test_a_law_of_one_s_own_has_no_quiet_twin() -> None:
    with pytest.raises(TypeError, match="no law of the library"):
        less_noise(DiscreteLaplace)
