"""Outcomes of many clients that are drawn at once have each client's own law, and no other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import prdp
from prdp.local import Campaign, Crowd
from prdp.local.protocols.counting import DomainCount, ProportionalCount
from prdp.local.protocols.ldp_sums import ClippedSum
from prdp.local.protocols.protocol import Field, FrameworkProtocol, Protocol
from prdp.local.protocols.randomisers import Bit, Hashed, Law, NoisyValue, Symbol
from prdp.local.protocols.summing import ProportionalSum, RatioMass, RatioSum
from prdp.local.simulation.outcomes import Reports, drawing, kinds_of
from prdp.testing import Seeded
from tests.statistical.test_local import DRAWS, LAWS, MEASURE, POLICY, ROWS, goodness, moments, off
from tests.statistical.thresholds import P_THRESHOLD, SEED, WRONG_BY

pytestmark = pytest.mark.slow

MANY: list[tuple[Law, Sequence[int]]] = [
    *LAWS,
    (Bit.of(Fraction(1), part=Fraction(1, 2)), (0, 1)),
    (Symbol(None, 5, Fraction(1)), range(5)),
    (Symbol(0, 1, Fraction(1)), (0,)),
    (Hashed(None, 3, Fraction(3, 2), prime=5), range(60)),
]


@pytest.mark.parametrize(("law", "outcomes"), MANY, ids=lambda part: str(part)[:40])
def test_outcomes_drawn_at_once_fit_their_own_law(law: Law, outcomes: Sequence[int]) -> None:
    """Beside others of every kind, which must not touch it."""
    laws = [law, *(other for other, _ in MANY if other != law)]
    which = np.tile(np.array([0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), DRAWS // 2)
    sample = drawing(laws)(which, Seeded(SEED))[which == 0].tolist()
    assert len(sample) == DRAWS
    assert len(outcomes) == 1 or goodness(sample, law, outcomes) > P_THRESHOLD


@pytest.mark.parametrize(("law", "outcomes"), LAWS, ids=lambda part: str(part)[:40])
def test_outcomes_drawn_at_once_fit_no_law_that_is_15_percent_off(law: Any, outcomes: Sequence[int]) -> None:
    sample = drawing([law])(np.zeros(DRAWS, np.int64), Seeded(SEED)).tolist()
    assert goodness(sample, off(law, 1 + WRONG_BY), outcomes) < P_THRESHOLD
    assert goodness(sample, off(law, 1 - WRONG_BY), outcomes) < P_THRESHOLD


@dataclass(frozen=True, slots=True)
class Doubled(Bit):
    """Derived from a law that is drawn at once, and different: it tells 0 or 2."""

    def draw(self, entropy: Any) -> int:
        return 2 * Bit.draw(self, entropy)


def test_a_law_that_is_not_known_is_drawn_by_itself() -> None:
    one = Fraction(1)
    drawn = drawing([Doubled(one, one, one), Bit(one, one, one)])(np.array([0, 1] * 500), Seeded(SEED))
    assert set(drawn[::2].tolist()) == {0, 2}
    assert set(drawn[1::2].tolist()) == {0, 1}


def test_outcomes_beyond_64_bits_stay_whole() -> None:
    far, noise = 10**30, NoisyValue(10**30, Fraction(3))
    drawn = drawing([noise, NoisyValue(5, Fraction(10**25))])(np.array([0, 1] * 200), Seeded(SEED))
    assert all(abs(value - far) < 200 for value in drawn[::2].tolist())
    assert max(map(abs, drawn[1::2].tolist())) > 2**64
    hashed = drawing([Hashed(3, 2**20, Fraction(500))])(np.zeros(50, np.int64), Seeded(SEED)).tolist()
    for outcome in hashed:
        multiplier, offset = divmod(outcome >> 20, 2**31 - 1)
        assert outcome % 2**20 == ((multiplier + 1) * 3 + offset) % (2**31 - 1) % 2**20


OWN: list[Protocol] = [
    DomainCount(),
    DomainCount("laplace"),
    ProportionalCount(Fraction(1)),
    RatioSum(MEASURE),
    RatioMass(MEASURE),
    ProportionalSum(MEASURE, Fraction(30)),
    FrameworkProtocol(ClippedSum(MEASURE, 50), 5),
]
RUNS = 300


@pytest.mark.parametrize("read", ["totals", "rows"])
@pytest.mark.parametrize("protocol", OWN, ids=lambda protocol: str(protocol)[:60])
def test_reports_by_kinds_of_clients_have_the_moments_of_the_clients_own_laws(
    protocol: Protocol, read: str
) -> None:
    """Protocols that are known too, as if they were somebody's own: 60 clients, some without a budget."""
    campaign = Campaign("crowd", POLICY, "1", protocol)
    crowd, entropy = Crowd.of(ROWS, POLICY), Seeded(SEED)
    totals = np.zeros((RUNS, len(campaign.fields)))
    for run in range(RUNS):
        reports = Reports(campaign.fields, kinds_of(campaign, crowd), entropy)
        rows: Any = iter(reports) if read == "totals" else list(reports)
        tally = campaign.protocol.tally(campaign.terms, rows)
        assert tally.clients == 60
        totals[run] = tally.totals
    means, spreads = moments(campaign)
    wide = spreads > 1e-9
    assert totals[:, ~wide] == pytest.approx(np.broadcast_to(means[~wide], totals[:, ~wide].shape))
    errors = (totals.mean(axis=0) - means)[wide] / np.sqrt(spreads[wide] / RUNS)
    assert np.abs(errors).max() < 6
    assert np.abs(totals.var(axis=0)[wide] / spreads[wide] - 1).max() < 0.7


def test_a_field_that_is_too_narrow_for_the_noise_moves_outcomes_to_its_ends_in_totals_too() -> None:
    policy = prdp.Policy.constant(1)
    campaign = Campaign("crowd", policy, "1", ProportionalSum(MEASURE, Fraction(30)))
    kinds = kinds_of(campaign, Crowd.of({"v": [20] * 4000}, policy))
    narrow = [Field(-1, 2, high=1)]
    by_rows = sum(row[0] for row in Reports(narrow, kinds, Seeded(SEED)))
    drawn = Reports(narrow, kinds, Seeded(SEED + 1)).column_totals(fields=1)
    assert drawn is not None
    assert drawn[0] == 4000
    assert abs(by_rows) <= 4000
    assert drawn[1][0] == pytest.approx(by_rows, abs=6 * (2 * 4000) ** 0.5)
