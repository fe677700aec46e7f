"""Records small enough to compare every two of them, for the protocols of the local model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from prdp.cells.measure import Measure
from prdp.local.client.campaign import Campaign
from prdp.local.protocols.protocol import Protocol
from prdp.policy import Policy
from prdp.testing.local_contract import LocalContract

POLICY = Policy.column("eps", at_least="1/8", at_most="3")
MEASURE = Measure("v", Fraction(1), -12, 12)
POSITIVE = Measure("v", Fraction(1), 0, 12)
SHARES = (Fraction(1), Fraction(1, 3))

RECORDS: Sequence[Mapping[str, Any]] = (
    {"v": 1, "eps": 0.125, "job": "a"},  # the least budget
    {"v": 12, "eps": 3.0, "job": "b"},  # the largest
    {"v": 5, "eps": 0.5, "job": "c"},  # exactly on the edge of a domain
    {"v": -7, "eps": 0.3, "job": "a"},
    {"v": 12, "eps": 0.2, "job": "b"},  # a large value, well protected
    {"v": 0, "eps": 7.0, "job": "elsewhere"},  # no influence on a sum; a budget above the largest
    {"v": 3.4, "eps": 1.0, "job": None},
    {"v": 9, "eps": 0.1249, "job": "a"},  # below the least budget: a dummy
    {"v": 9, "eps": float("nan"), "job": "a"},
    {"v": None, "eps": 1.0, "job": "b"},  # counts, but adds nothing
    {"v": 40, "eps": 0.5, "job": "c"},  # beyond its bounds
    {"v": float("inf"), "eps": 0.7, "job": 7},
    {"v": "text", "eps": "text", "job": ["list"]},
    {"v": 4, "eps": -1.0, "job": "a"},
    {"v": 4},  # no budget at all
    {},
)


def campaigns(*protocols: Protocol) -> list[Campaign]:
    """Return the protocols at every share."""
    return [Campaign("tiny", POLICY, share, protocol) for protocol in protocols for share in SHARES]


class OnThisUniverse(LocalContract):
    """The contract over these records."""

    records = RECORDS
