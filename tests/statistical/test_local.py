"""Reports fit their own laws and no other, and simulated crowds have the law of real ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import prdp
from prdp.cells.measure import Measure
from prdp.local import Campaign, Crowd
from prdp.local.client.client import laws_for
from prdp.local.protocols.categories import Bins, Categories, Frequencies
from prdp.local.protocols.counting import DomainCount, ProportionalCount
from prdp.local.protocols.ldp_sums import ClippedSum, ValueOctaves
from prdp.local.protocols.protocol import FrameworkProtocol, Own, Protocol, Tally, Terms
from prdp.local.protocols.randomisers import Bit, Hashed, Law, NoisyValue, Symbol
from prdp.local.protocols.summing import ProportionalSum, RatioMass, RatioSum
from prdp.local.simulation.simulation import crowd_tally
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.exponential import draw_one
from prdp.noise.totals import heads, laplace_total, uniform_many
from prdp.testing import Seeded
from tests.statistical.test_discrete_laplace import agree, fit
from tests.statistical.thresholds import P_THRESHOLD, SEED, WRONG_BY

pytestmark = pytest.mark.slow

DRAWS = 20_000


def chances(law: Law, outcomes: Sequence[int]) -> list[float]:
    return [law.chance(outcome)(80)[0] / 2**80 for outcome in outcomes]


def goodness(sample: Iterable[int], law: Law, outcomes: Sequence[int]) -> float:
    """Return the p-value of a sample under a law; outcomes that are not listed make one cell together."""
    counted = Counter(sample)
    observed = [counted[outcome] for outcome in outcomes]
    expected = chances(law, outcomes)
    rest = sum(counted.values()) - sum(observed)
    if (left := 1 - sum(expected)) > 1e-6:
        observed, expected = [*observed, rest], [*expected, left]
    else:
        assert rest == 0
    total = sum(observed)
    scale = total / sum(expected)
    return float(stats.chisquare(observed, [chance * scale for chance in expected]).pvalue)


LAWS: list[tuple[Law, Sequence[int]]] = [
    (Bit.of(Fraction(1), part=1), (0, 1)),
    (Bit.of(Fraction(1)), (0, 1)),
    (Bit.of(Fraction(3, 2), part=1, lift=Fraction(1, 2)), (0, 1)),
    (Bit.of(Fraction(2), part=Fraction(1, 10)), (0, 1)),
    (Symbol(2, 5, Fraction(1)), range(5)),
    (Hashed(3, 3, Fraction(3, 2), prime=5), range(60)),
    (NoisyValue(4, Fraction(3)), range(-8, 17)),
]


def off(law: Any, factor: Fraction) -> Law:
    """Return a law that is off by a factor: coins made for another loss, noise of another scale."""
    if isinstance(law, NoisyValue):
        return replace(law, scale=law.scale * factor)
    if isinstance(law, Bit):
        return replace(law, lift=law.lift / factor, loss=law.loss / factor)
    return replace(law, loss=law.loss / factor)  # type: ignore[no-any-return]


@pytest.mark.parametrize(("law", "outcomes"), LAWS, ids=lambda part: str(part)[:40])
def test_draws_fit_their_own_law_and_none_that_is_15_percent_off(law: Law, outcomes: Sequence[int]) -> None:
    entropy = Seeded(SEED)
    sample = [law.draw(entropy) for _ in range(DRAWS)]
    assert goodness(sample, law, outcomes) > P_THRESHOLD
    assert goodness(sample, off(law, 1 + WRONG_BY), outcomes) < P_THRESHOLD
    assert goodness(sample, off(law, 1 - WRONG_BY), outcomes) < P_THRESHOLD


def test_the_dummy_s_symbol_is_any_one() -> None:
    entropy = Seeded(SEED)
    sample = [Symbol(None, 5, Fraction(1)).draw(entropy) for _ in range(DRAWS)]
    assert goodness(sample, Symbol(None, 5, Fraction(1)), range(5)) > P_THRESHOLD
    assert goodness(sample, Symbol(0, 5, Fraction(1, 5)), range(5)) < P_THRESHOLD


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(7, 2), Fraction(1000)], ids=str)
def test_one_draw_in_plain_python_has_the_law_of_many_at_once(scale: Fraction) -> None:
    noise, entropy = DiscreteLaplace(scale), Seeded(SEED + 1)
    sample = [draw_one(scale, entropy) for _ in range(DRAWS)]
    assert fit(sample, noise) > P_THRESHOLD
    assert fit(sample, DiscreteLaplace(scale * (1 + WRONG_BY))) < P_THRESHOLD
    assert agree(noise.draw_many(Seeded(SEED), DRAWS), sample, noise) > P_THRESHOLD


def test_heads_counted_together_are_binomial() -> None:
    entropy, coin = Seeded(SEED), Bit.of(Fraction(1))
    q = 1 / (1 + math.e)
    counted = np.bincount([heads(coin.heads, 8, entropy) for _ in range(DRAWS)], minlength=9)

    def p_value(chance: float) -> float:
        expected = stats.binom(8, chance).pmf(np.arange(9)) * DRAWS
        return float(
            stats.chisquare([*counted[:6], counted[6:].sum()], [*expected[:6], expected[6:].sum()]).pvalue
        )

    assert p_value(q) > P_THRESHOLD
    assert p_value(1 / (1 + math.exp(0.85))) < P_THRESHOLD


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(6), Fraction(10**6)], ids=str)
def test_noises_added_up_together_have_the_law_of_noises_added_up_one_by_one(scale: Fraction) -> None:
    entropy, each = Seeded(SEED), DiscreteLaplace(scale)
    together = [laplace_total(scale, 3, entropy) for _ in range(DRAWS)]
    one_by_one = each.draw_many(Seeded(SEED + 1), 3 * DRAWS).reshape(3, -1).sum(axis=0)
    wrong = DiscreteLaplace(scale * (1 + WRONG_BY)).draw_many(Seeded(SEED + 2), 3 * DRAWS).reshape(3, -1)
    cells = DiscreteLaplace(scale * Fraction(17, 10))
    assert agree(together, one_by_one, cells) > P_THRESHOLD
    assert agree(together, wrong.sum(axis=0), cells) < P_THRESHOLD


@pytest.mark.parametrize("limit", [1, 2, 5, 200, 256, 257, 70_000])
def test_uniform_numbers_are_uniform(limit: int) -> None:
    drawn = uniform_many(limit, DRAWS, Seeded(SEED))
    assert drawn.size == DRAWS
    assert 0 <= drawn.min() <= drawn.max() < limit
    if limit > 1:
        cells = np.bincount(drawn * min(limit, 50) // limit)
        sizes = np.bincount(np.arange(limit) * min(limit, 50) // limit)
        assert stats.chisquare(cells, sizes / limit * DRAWS).pvalue > P_THRESHOLD


POLICY = prdp.Policy("20 / v", at_least="1/100", at_most=4)
MEASURE = Measure("v", Fraction(1), 0, 2000)
JOBS = Categories("job", ("a", "b", "c"))
ROWS = {
    "v": np.array([0, 3, 5, 9, 14, 30, 77, 200, 640, 1500, 9000, 12, 12, 12, 31] * 4),
    "job": np.array(["a", "b", "c", "a", "x"] * 12),
    "w": np.array([1.0, math.nan, 0.0] * 20),
}
PROTOCOLS: list[Protocol] = [
    DomainCount(),
    DomainCount("laplace"),
    DomainCount(column="w"),
    ProportionalCount(Fraction(1)),
    RatioSum(MEASURE),
    RatioMass(MEASURE),
    ProportionalSum(MEASURE, Fraction(30)),
    FrameworkProtocol(ValueOctaves(MEASURE), 5),
    FrameworkProtocol(ClippedSum(MEASURE, 50), 5),
    FrameworkProtocol(ClippedSum(MEASURE, 50, "laplace"), 5),
    FrameworkProtocol(Frequencies(JOBS, "bits"), 5),
    FrameworkProtocol(Frequencies(JOBS, "oue"), 5),
    FrameworkProtocol(Frequencies(JOBS, "grr"), 5),
    FrameworkProtocol(Frequencies(Bins("v", (Fraction(0), Fraction(10), Fraction(100))), "bits"), 5),
]
RUNS = 600


def moments(campaign: Campaign) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the mean and variance of every total, from every client's own law."""
    means: list[Any] = []
    spreads: list[Any] = []
    for place in range(60):
        laws = laws_for(campaign, {name: values[place].item() for name, values in ROWS.items()})
        if isinstance(laws[0], Symbol):
            reported = np.array(chances(laws[0], range(laws[0].size))[:-1])
            means.append(reported)
            spreads.append(reported * (1 - reported))
            continue
        pairs = [_moments_of(law) for law in laws]
        means.append([mean for mean, _ in pairs])
        spreads.append([spread for _, spread in pairs])
    return np.sum(means, axis=0), np.sum(spreads, axis=0)


def _moments_of(law: Law) -> tuple[float, float]:
    if isinstance(law, NoisyValue):
        return law.value, float(stats.dlaplace(1 / float(law.scale)).var())
    chance = chances(law, (1,))[0]
    return chance, chance * (1 - chance)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: str(protocol)[:60])
def test_a_simulated_crowd_s_totals_have_the_moments_of_its_clients_own_laws(protocol: Protocol) -> None:
    campaign = Campaign("crowd", POLICY, "1", protocol)
    crowd, entropy = Crowd.of(ROWS, POLICY), Seeded(SEED)
    drawn = [crowd_tally(campaign, crowd, entropy) for _ in range(RUNS)]
    totals = np.array([tally.totals for tally in drawn], dtype=float)
    means, spreads = moments(campaign)
    assert {tally.clients for tally in drawn} == {60}
    wide = spreads > 1e-9
    assert totals[:, ~wide] == pytest.approx(np.broadcast_to(means[~wide], totals[:, ~wide].shape))
    errors = (totals.mean(axis=0) - means)[wide] / np.sqrt(spreads[wide] / RUNS)
    assert np.abs(errors).max() < 6
    assert np.abs(totals.var(axis=0)[wide] / spreads[wide] - 1).max() < 0.6


def client_by_client(campaign: Campaign, entropy: Seeded) -> Tally:
    records = ({name: values[place].item() for name, values in ROWS.items()} for place in range(60))
    rows = ([law.draw(entropy) for law in laws_for(campaign, record)] for record in records)
    return campaign.protocol.tally(campaign.terms, rows)


@pytest.mark.parametrize("method", ["bits", "grr", "oue", "olh"])
def test_frequencies_have_no_bias_by_clients_or_by_crowds(method: Any) -> None:
    """Over many runs the estimates' mean is the truth: of those whose budget is in domain 5 or above."""
    inner = Frequencies(JOBS, method, 4 if method == "olh" else 0)
    campaign = Campaign("crowd", POLICY, "1", FrameworkProtocol(inner, 5))
    crowd, entropy = Crowd.of(ROWS, POLICY), Seeded(SEED)
    part = crowd.from_domain(5)
    truth = [int(np.sum(part & (ROWS["job"] == job))) for job in "abc"]
    by_crowd = [crowd_tally(campaign, crowd, entropy) for _ in range(RUNS)]
    by_client = [client_by_client(campaign, entropy) for _ in range(RUNS // 4)]
    for tallies in (by_crowd, by_client):
        estimates = [campaign.protocol.estimate(campaign.terms, tally) for tally in tallies]
        values = np.array([[value for value, _ in estimate] for estimate in estimates])
        errors = (values.mean(axis=0) - truth) / (values.std(axis=0) / math.sqrt(len(tallies)))
        assert np.abs(errors).max() < 6


class Contrary(DomainCount):
    """Derived from a protocol that is known, and different: everybody is a dummy."""

    kind = "contrary"

    def law(self, terms: Terms, own: Own | None) -> tuple[Law, ...]:  # noqa: ARG002
        return super().law(terms, None)


def test_a_protocol_that_is_not_known_is_simulated_client_by_client() -> None:
    """All clients are in one domain, whose coin hardly ever lies; only a client's own law knows better."""
    policy = prdp.Policy.constant("60")
    crowd = Crowd.of(ROWS, policy)
    known, own = (Campaign("crowd", policy, "1", protocol) for protocol in (DomainCount(), Contrary()))
    assert crowd_tally(known, crowd, Seeded(1)) == Tally(60, (60,))
    assert crowd_tally(own, crowd, Seeded(1)) == Tally(60, (0,))
