"""Studies: thresholds are the noise's own quantiles, shares add up, and rounds can be taken up later."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

import prdp
from prdp.cells.measure import Measure
from prdp.errors import InvalidRequest
from prdp.local import (  # fmt: skip
    Bins,
    Campaign,
    Categories,
    Client,
    Collector,
    CountStudy,
    Estimate,
    FrameworkStudy,
    Study,
    SumStudy,
    Tally,
    frequencies,
    quantiles,
    simulate,
)
from prdp.local.analyst.estimate import Part
from prdp.local.analyst.study import reaches
from prdp.local.analyst.thresholds import gamma_difference_quantile, heads_threshold, laplace_threshold
from prdp.local.protocols.categories import Frequencies
from prdp.local.protocols.counting import DomainCount, bits_deviation, bits_estimate, laplace_deviation
from prdp.local.protocols.protocol import Terms

POLICY = prdp.Policy("10000 / v", at_least="1e-8", at_most=100)
MEASURE = Measure("v", Fraction(1), 0, 10**12)
FLAT = prdp.Policy.constant("1")
BASICS: dict[str, Any] = {"name": "study", "policy": POLICY, "share": "1/2"}
STUDIES: list[Study] = [
    CountStudy(**BASICS),
    CountStudy(**BASICS, noise="laplace", threshold="paper"),
    CountStudy(**BASICS, proportional=True),
    *(SumStudy(**BASICS, measure=MEASURE, method=m) for m in ("ratio", "proportional", "framework")),
    *(
        SumStudy(**BASICS, measure=MEASURE, mean=True, method=m)
        for m in ("ratio", "proportional", "framework")
    ),
    frequencies(Categories("job", ("a", "b")), **BASICS),
    frequencies(Bins("v", (Fraction(0), Fraction(10**4), Fraction(10**5))), **BASICS, method="ldp"),
]


@pytest.mark.parametrize("coins", [1, 7, 100, 20_000])
@pytest.mark.parametrize("loss", [1e-8, 0.3, 3.0, 50.0])
@pytest.mark.parametrize("chance", [0.05, 1e-3, 1e-7])
def test_a_threshold_for_coins_is_the_binomial_quantile(coins: int, loss: float, chance: float) -> None:
    law = stats.binom(coins, 1 / (1 + math.exp(loss)))
    threshold = heads_threshold(coins, loss, chance)
    assert law.sf(threshold - 1) <= chance * (1 + 1e-6)
    assert threshold == 0 or law.sf(threshold - 2) > chance * (1 - 1e-6)


@pytest.mark.parametrize("scale", [Fraction(1, 5), Fraction(1), Fraction(9, 2)])
@pytest.mark.parametrize("draws", [1, 2, 9])
def test_a_threshold_for_laplace_noise_is_the_quantile_of_the_convolution(
    scale: Fraction, draws: int
) -> None:
    tail_factor = 400
    one = stats.dlaplace(1 / float(scale)).pmf(np.arange(-tail_factor, tail_factor + 1))
    masses = one
    for _ in range(draws - 1):
        masses = np.convolve(masses, one)
    tails = np.cumsum(masses[::-1])[::-1][draws * tail_factor :]
    for chance in (0.2, 0.01, 1e-5):
        threshold = laplace_threshold(draws, scale, chance)
        assert tails[threshold] <= chance * (1 + 1e-6)
        assert threshold == 0 or tails[threshold - 1] > chance * (1 - 1e-6)


@pytest.mark.parametrize(("draws", "chance"), [(2, 0.01), (3, 0.2), (40, 1e-4)])
def test_the_continuous_quantile_agrees_with_an_integral(draws: int, chance: float) -> None:
    """Pr[A - B > x] for A, B gamma distributed, by numerical integration."""
    x = gamma_difference_quantile(draws, chance)
    gamma = stats.gamma(draws)
    grid = np.linspace(0, gamma.isf(1e-15), 200_001)
    tail = integrate.trapezoid(gamma.pdf(grid) * gamma.sf(grid + x), grid)
    assert tail == pytest.approx(chance, rel=1e-4)


def test_discrete_thresholds_tend_to_the_continuous_one() -> None:
    exact = laplace_threshold(100, Fraction(50), 0.01) / 50
    assert exact == pytest.approx(gamma_difference_quantile(100, 0.01), rel=2e-3)


def test_the_printed_threshold_is_four_times_too_far_and_both_are_at_hand() -> None:
    """The paper's √(8n)·ln(L/β) against the exact quantile, n = 100, L = 34, β = 0.1."""
    exact = laplace_threshold(100, Fraction(10**9), 0.1 / 34) / 10**9
    printed = math.sqrt(800) * math.log(340)
    assert exact == pytest.approx(39.1, abs=0.1)
    assert printed == pytest.approx(164.9, abs=0.1)
    terms = Terms(prdp.Policy.constant("1").levels, Fraction(1))
    between = Tally(100, (60,))
    protocol = DomainCount("laplace")
    assert protocol.estimate(terms, between, beta=0.1 / 34).heavy == (True,)
    assert protocol.estimate(terms, between, beta=0.1 / 34, threshold="paper").heavy == (False,)


def test_an_empty_domain_is_taken_for_a_heavy_one_in_beta_of_the_runs_at_most() -> None:
    """Nobody takes part, so every heavy domain is a mistake."""
    nobody = {"v": [None] * 3000}
    study = CountStudy(name="n", policy=POLICY, share="1", beta="1/5")
    mistakes = [not e.unheard for e in simulate(study, nobody, runs=400, seed=3)]
    assert np.mean(mistakes) < 0.2 + 4 * math.sqrt(0.16 / 400)


def test_estimates_have_no_bias_where_tallies_are_as_expected() -> None:
    q = 1 / (1 + math.exp(0.5))
    expected = 300 * (1 - q) + 700 * q
    assert (expected - 500) / math.tanh(0.25) + 500 == pytest.approx(300)
    assert bits_estimate(700, 1000, 50.0) == pytest.approx(700)
    assert bits_deviation(10**4, 0.5) == pytest.approx(math.sqrt(10**4 * q * (1 - q)) / (1 - 2 * q))
    assert laplace_deviation(1, 2.0) == pytest.approx(stats.dlaplace(0.5).std())


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: f"{type(study).__name__}-{study.share}")
def test_the_shares_of_a_study_s_rounds_add_up_to_its_share(study: Study) -> None:
    shares, tallies = [], []
    step = study.after()
    while isinstance(step, Campaign):
        shares.append(step.share)
        assert step.round == len(shares)
        zeros = step.protocol.tally(step.terms, [tuple(field.low for field in step.fields)])
        tallies.append(replace(zeros, campaign=step.digest))
        step = study.after(*tallies)
    assert sum(shares) == Fraction(1, 2)
    assert step.share == Fraction(1, 2)
    assert not step.simulated
    with pytest.raises(InvalidRequest, match="more tallies than rounds"):
        study.after(*tallies, tallies[-1])


def test_a_whole_study_with_real_clients_comes_near_the_truth() -> None:
    study = frequencies(
        Categories("job", ("a", "b")), name="jobs", policy=prdp.Policy.constant("8"), share="1"
    )
    clients = [(Client(), {"job": "a" if number < 40 else "b"}) for number in range(60)]
    tallies = []
    step = study.after()
    while isinstance(step, Campaign):
        collector = Collector(step)
        for client, record in clients:
            collector.receive(bytes(client.report(step.to_json(), record)))
        tallies.append(collector.tally)
        step = study.after(*tallies)
    assert [part.label for part in step.parts] == ["a", "b"]
    assert [part.value for part in step.parts] == pytest.approx([40, 20], abs=8)
    assert all(client.remaining == 0 for client, _ in clients)


RICH = {"v": np.repeat([100, 250, 2000, 900], 5000), "job": np.repeat(["a", "b", "c", "a"], 5000)}


@pytest.mark.parametrize("method", ["ratio", "proportional", "framework"])
@pytest.mark.parametrize("mean", [False, True])
def test_sums_and_means_of_rich_clients_come_near_the_truth(method: Any, mean: bool) -> None:
    study = SumStudy(name="s", policy=POLICY, share="1", measure=MEASURE, method=method, mean=mean)
    truth = RICH["v"].mean() if mean else RICH["v"].sum()
    found = np.median([e.value for e in simulate(study, RICH, runs=15, seed=5)])
    assert found == pytest.approx(truth, rel=0.12)


def test_sums_of_both_signs_are_reported_in_laplace_noise() -> None:
    flat = prdp.Policy.constant("5")
    values = {"v": np.repeat([-30, 50], 3000)}
    for method in ("ratio", "proportional", "framework"):
        study = SumStudy(
            name="s", policy=flat, share="1", measure=Measure("v", Fraction(1), -64, 64), method=method
        )
        found = np.median([e.value for e in simulate(study, values, runs=15, seed=5)])
        assert found == pytest.approx(60_000, abs=12_000)


@pytest.mark.parametrize("method", [None, "bits", "grr", "oue", "olh", "ldp"])
def test_frequencies_come_near_the_truth_by_every_method(method: str | None) -> None:
    study = frequencies(
        Categories("job", ("a", "b", "c", "d")), name="f", policy=POLICY, share="1", method=method
    )
    runs = simulate(study, RICH, runs=9, seed=5)
    middle = np.median([[part.value for part in run.parts] for run in runs], axis=0)
    assert middle == pytest.approx([10_000, 5000, 5000, 0], abs=500)


def test_the_textbook_s_choice_goes_by_the_number_of_categories() -> None:
    def chosen(size: int, method: Any = "ldp") -> str:
        return Frequencies.chosen(Categories("c", tuple(range(size))), Fraction(1), method).method

    assert [chosen(size) for size in (2, 9, 10, 1000, 10_000)] == ["grr", "grr", "oue", "oue", "olh"]
    assert [chosen(size, None) for size in (2, 1000, 10_000)] == ["bits", "bits", "olh"]


def test_bits_have_the_smallest_deviation_of_all_methods() -> None:
    by = Categories("c", tuple(range(20)))
    for budget in (Fraction(1, 10), Fraction(1), Fraction(4)):
        deviations = {
            method: Frequencies.chosen(by, budget, method).estimate(budget, Tally(1000, (0,) * 20))[0][1]
            for method in ("bits", "grr", "oue", "olh")
        }
        assert min(deviations, key=lambda method: deviations[method]) == "bits"


def test_quantiles_are_read_from_a_histogram() -> None:
    bins = Bins("v", (Fraction(0), Fraction(10), Fraction(20), Fraction(40)))
    parts = tuple(Part(label, value, 1.0) for label, value in zip(bins.labels, (10, -3, 10), strict=True))
    histogram = Estimate("h", 17, 1, 20, Fraction(1), "framework", parts=parts)
    found = quantiles(histogram, bins, (0.0, 0.25, "1/2", 0.75, 1))
    assert [each.value for each in found] == [0.0, 5.0, 10.0, 30.0, 40.0]
    with pytest.raises(InvalidRequest, match=r"parts: 1.5 is not between 0 and 1"):
        quantiles(histogram, bins, (1.5,))
    with pytest.raises(InvalidRequest, match="not the histogram of these bins"):
        quantiles(histogram, Bins("v", (0, 10, 20, 50)), (0.5,))


def test_a_quantile_has_the_deviation_that_the_counts_noise_makes() -> None:
    """Counts 100 and 300, drawn again and again with deviation 3: against the spread of what is read off."""
    bins, random = Bins("v", (0, 10, 40)), np.random.default_rng(1)

    def read(counts: Any) -> Estimate:
        parts = tuple(
            Part(label, float(count), 3.0) for label, count in zip(bins.labels, counts, strict=True)
        )
        (found,) = quantiles(Estimate("h", 400, 1, 400, Fraction(1), "f", parts=parts), bins, (0.5,))
        return found

    drawn = [read(random.normal([100, 300], 3)).value for _ in range(4000)]
    assert np.std(drawn) == pytest.approx(read([100, 300]).deviation, rel=0.08)


def test_a_quantile_of_a_histogram_in_which_nothing_was_heard_is_no_number() -> None:
    bins = Bins("v", (0, 10, 40))
    parts = tuple(Part(label, -1.0, 3.0) for label in bins.labels)
    histogram = Estimate("h", -2, 1, 20, Fraction(1), "f", parts=parts, simulated=True)
    (found,) = quantiles(histogram, bins, (0.5,))
    assert math.isnan(found.value)
    assert "no value within the edges was heard" in str(found)
    assert "±" not in str(found)
    assert found.simulated


def test_quantiles_of_a_simulated_histogram_come_near_the_truth() -> None:
    bins = Bins("v", tuple(Fraction(edge) for edge in range(0, 2600, 100)))
    study = frequencies(bins, name="h", policy=POLICY, share="1")
    (histogram,) = simulate(study, RICH, seed=2)
    (median,) = quantiles(histogram, bins, (0.6,))
    assert 800 <= median.value <= 1000
    assert median.simulated
    assert "within the edges" in median.caveat


def test_a_policy_tells_how_much_a_client_could_say_in_an_octave() -> None:
    """Under 10000 / v, a ratio v / E of 2^j means v = 100 · 2^(j/2)."""
    found = reaches(POLICY, MEASURE)
    for octave, tail_factor in enumerate(found[10:60], start=10):
        ratio = 2**octave / 100
        assert 1 <= tail_factor.value / math.sqrt(10_000 * ratio) < 1.2
        assert 1 / 1.2 < tail_factor.budget / math.sqrt(10_000 / (ratio / 2)) < 1.2


@pytest.mark.parametrize(
    "wrong",
    [
        {"share": "2"}, {"share": 1 / 3}, {"beta": "0"}, {"beta": "1e-9"}, {"first": "1"}, {"threshold": "?"},
        {"noise": "?"},
    ],
)  # fmt: skip
def test_a_study_is_refused_by_public_facts(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        CountStudy(**{**BASICS, **wrong}).after()


def test_a_sum_s_method_must_be_known() -> None:
    with pytest.raises(InvalidRequest, match="ratio, proportional, framework"):
        SumStudy(**BASICS, measure=MEASURE, method="?")  # type: ignore[arg-type]


def test_an_estimate_says_what_it_is() -> None:
    (found,) = simulate(CountStudy(name="c", policy=FLAT, share="1"), {"v": [1] * 50}, seed=1)
    assert found.simulated
    assert "simulated" in str(found)
    assert str(replace(found, value=0.25, deviation=0.01)).startswith("count: 0.25 ± 0.0196 (95 %")
    low, high = found.interval(0.95)
    assert found.value - low == pytest.approx(1.959964 * found.deviation)
    assert high == min(50, found.value + 1.959964 * found.deviation), "no more than all clients"
    assert "toward zero" in found.caveat
    with pytest.raises(InvalidRequest):
        found.interval(1.5)


def test_a_framework_takes_a_protocol_for_one_number_too() -> None:
    from prdp.local.protocols.ldp_sums import ClippedSum  # noqa: PLC0415

    study = FrameworkStudy(
        name="one",
        policy=POLICY,
        share="1",
        question="sum",
        protocol=lambda budget: ClippedSum(MEASURE, 2000),
    )
    found = np.median([e.value for e in simulate(study, RICH, runs=9, seed=4)])
    assert found == pytest.approx(RICH["v"].sum(), rel=0.1)


def test_a_study_without_any_client_says_nothing_and_does_not_fail() -> None:
    for study in (*STUDIES, CountStudy(**BASICS, noise="laplace")):
        tallies: list[Tally] = []
        step = study.after()
        while isinstance(step, Campaign):
            tallies.append(Collector(step).tally)
            step = study.after(*tallies)
        assert step.clients == 0
        assert step.interval() == (-math.inf, math.inf)
        assert "a round had no reports" in str(step)
        assert "±" not in str(step)


def test_a_domain_that_all_clients_could_not_make_heard_is_never_heavy() -> None:
    """The first domain's budget is 1e-8: a hundred clients drown in its noise, whatever they tell."""
    terms = Terms(POLICY.levels, Fraction(1))
    for noise in ("bits", "laplace"):
        everybody = Tally(100, (100,) * 34 if noise == "bits" else (10**12,) * 34)
        found = DomainCount(noise).estimate(terms, everybody)
        assert not any(found.heavy[:20])
        assert all(found.heavy[28:])


def test_an_unknown_method_for_categories_is_refused_at_once() -> None:
    with pytest.raises(InvalidRequest, match="is not known: bits, grr, oue or olh"):
        frequencies(Categories("job", ("a",)), **BASICS, method="?")
