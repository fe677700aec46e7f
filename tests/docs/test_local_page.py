"""The protocol of docs/local.md keeps its promise, and randomisers have proofs."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from prdp.local import Bit, Hashed, NoisyValue, Symbol
from prdp.local.protocols.categories import Frequencies
from prdp.local.protocols.counting import DomainCount, ProportionalCount
from prdp.local.protocols.ldp_sums import ClippedSum, ValueOctaves
from prdp.local.protocols.protocol import FrameworkProtocol
from prdp.local.protocols.summing import ProportionalSum, RatioMass, RatioSum
from prdp.testing.local_contract import largest_log_ratio

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "local.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_page_s_own_protocol_keeps_its_promise() -> None:
    (block,) = (block for block in BLOCKS if "class YesOrNo" in block)
    known: dict[str, Any] = {"__name__": __name__}
    exec(compile(block.partition("\nill =")[0], "local.md", "exec", dont_inherit=True), known)  # noqa: S102
    protocol = known["YesOrNo"]("ill")
    budget = Fraction(1, 2)
    records: list[dict[str, Any] | None] = [
        None,
        {},
        {"ill": True},
        {"ill": False},
        {"ill": None},
        {"ill": "often"},
        {"ill": []},
    ]
    laws = [protocol.law(budget, record) for record in records]
    assert max(largest_log_ratio(one, other) for one in laws for other in laws) == pytest.approx(0.5)
    assert not math.isinf(largest_log_ratio(laws[0], laws[1]))


RANDOMISERS = {Bit: "local_bit", Symbol: "local_symbol", Hashed: "local_hashed", NoisyValue: "local_laplace"}
PROTOCOLS = (
    DomainCount, ProportionalCount, RatioSum, RatioMass, ProportionalSum, ValueOctaves, ClippedSum,
    Frequencies, FrameworkProtocol,
)  # fmt: skip


@pytest.mark.parametrize("randomiser", RANDOMISERS)
def test_a_randomiser_states_its_guarantee_and_has_a_proof(randomiser: type) -> None:
    page = RANDOMISERS[randomiser]
    proof = (ROOT / "proofs" / f"{page}.md").read_text(encoding="utf-8")
    assert "## Theorem" in proof
    assert f"`local/protocols/randomisers.py` (`{randomiser.__name__}`)" in proof
    assert "Guarantee:" in str(randomiser.__doc__)
    assert f"proofs/{page}.md" in str(randomiser.__doc__)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_protocol_states_its_guarantee_and_why(protocol: type) -> None:
    assert "Guarantee:" in str(protocol.__doc__)
    assert "Why:" in str(protocol.__doc__)
    pages = re.findall(r"local_\w+\.md|local\.md", str(protocol.__doc__))
    assert pages
    for page in pages:
        assert protocol.__name__ in (ROOT / "proofs" / page).read_text(encoding="utf-8"), page


def test_the_page_s_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([\w./]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
