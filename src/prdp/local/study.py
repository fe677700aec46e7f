"""A question to many clients, from its first campaign to its estimate.

``rounds`` is a generator: it yields a campaign, is sent the tally of its reports, and so on until it returns
the estimate. It draws nothing, so the same tallies always lead to the same place: an analyst may stop
between two rounds for a month and go on with ``after(tally_of_round_1, ...)``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal, get_args

from prdp.errors import InvalidRequest
from prdp.exact import Exact, exact, exact_share
from prdp.local.campaign import Campaign
from prdp.local.categories import Bins, Categories, Frequencies
from prdp.local.counting import DomainCount, DomainCounts, Noise, ProportionalCount, Threshold
from prdp.local.estimate import Estimate, Part
from prdp.local.ldp_sums import ClippedSum, ValueOctaves
from prdp.local.protocol import Framework, LdpProtocol, Protocol, Tally, Terms
from prdp.local.summing import ProportionalSum, RatioMass, Ratios, RatioSum
from prdp.local.universe import reaches
from prdp.policy import Policy
from prdp.query import Measure

Rounds = Generator[Campaign, Tally, Estimate]
SumMethod = Literal["ratio", "proportional", "framework"]

_MEAN_ERROR = math.sqrt(2 / math.pi)
"""The expected size of a normal variable of deviation 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study(ABC):
    """One question, and what all its rounds together may use.

    Attributes:
        name: What people call it; campaigns are named after it.
        policy: The budget of a record, with both ends of its range.
        share: The part of every record's budget for all rounds together.
        beta: The chance that some empty domain is taken for a heavy one.
        first: The part of the share for finding the threshold, where a question has several rounds.
    """

    name: str
    policy: Policy
    share: Exact
    beta: Exact = "1/10"
    first: Exact = "1/2"

    def __post_init__(self) -> None:
        exact_share(self.share)
        _part(self.first, "first")
        if _part(self.beta, "beta") < Fraction(1, 10**6):
            raise InvalidRequest("beta is at least 1e-6: thresholds are not computed more finely.")

    @property
    def whole_share(self) -> Fraction:
        """The share, exactly."""
        return exact_share(self.share)

    @property
    def first_part(self) -> Fraction:
        """The part of the share for the first round, exactly."""
        return _part(self.first, "first")

    @property
    def failure(self) -> float:
        """The chance that is called β."""
        return float(_part(self.beta, "beta"))

    @abstractmethod
    def rounds(self) -> Rounds:
        """Yield campaigns, take their tallies, return the estimate."""

    def after(self, *tallies: Tally) -> Campaign | Estimate:
        """Return what comes after the rounds that these tallies are of: a campaign, or the estimate."""
        going = self.rounds()
        step = next(going)
        for place, tally in enumerate(tallies, start=1):
            try:
                step = going.send(tally)
            except StopIteration as done:
                if place < len(tallies):
                    raise InvalidRequest("there are more tallies than rounds.") from None
                estimate: Estimate = done.value
                return estimate
        return step

    def _campaign(self, part: Fraction, protocol: Protocol, number: int) -> Campaign:
        return Campaign(self.name, self.policy, self.whole_share * part, protocol, number)

    def _found_domain(
        self, part: Fraction, noise: Noise = "bits", threshold: Threshold = "exact", beta: float | None = None
    ) -> Generator[Campaign, Tally, tuple[DomainCounts, int]]:
        """Run the paper's first round."""
        protocol = DomainCount(noise)
        campaign = self._campaign(part, protocol, 1)
        tally = yield campaign
        chance = self.failure / 2 if beta is None else beta
        counted = protocol.estimate(campaign.terms, tally, beta=chance, threshold=threshold)
        return counted, tally.clients

    def _estimate(
        self, question: str, value: tuple[float, float], clients: int, method: str, **more: Any
    ) -> Estimate:
        return Estimate(question, *value, clients, self.whole_share, method, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountStudy(Study):
    """How many clients have a record with a valid budget.

    Attributes:
        noise: ``"bits"`` for randomised response, ``"laplace"`` for Algorithm 3 as printed.
        threshold: ``"exact"`` for the noise's own quantile, ``"paper"`` for √(8n).
        proportional: Whether a second round asks for answers in proportion to each client's own budget.
    """

    noise: Noise = "bits"
    threshold: Threshold = "exact"
    proportional: bool = False

    def __post_init__(self) -> None:
        Study.__post_init__(self)
        DomainCount(self.noise)  # refuses an unknown one
        if self.threshold not in get_args(Threshold):
            raise InvalidRequest(f"threshold={self.threshold!r} is not known: write 'exact' or 'paper'.")

    def rounds(self) -> Rounds:
        """Run one round, or two."""
        if not self.proportional:
            whole = self._found_domain(Fraction(1), self.noise, self.threshold, self.failure)
            counted, clients = yield from whole
            found = (counted.total, counted.deviation)
            how = f"domains, {self.noise}"
            return self._estimate("count", found, clients, how, choices=(_domain_choice(counted),))
        counted, clients = yield from self._found_domain(
            self.first_part, self.noise, self.threshold, self.failure
        )
        rest = 1 - self.first_part
        budget = _full_count_budget(
            counted, clients, float(self.whole_share * rest), self.policy.levels.at_most
        )
        protocol = ProportionalCount(budget)
        campaign = self._campaign(rest, protocol, 2)
        tally = yield campaign
        found = protocol.estimate(campaign.terms, tally)
        choices = (_domain_choice(counted), ("counts in full from a budget of", f"{float(budget):.3g}"))
        return self._estimate("count", found, tally.clients, "proportional", choices=choices)


@dataclass(frozen=True, slots=True, kw_only=True)
class SumStudy(Study):
    """What a column adds up to.

    Attributes:
        measure: The column, its unit and its public bounds in units.
        method: ``"ratio"`` in one round, ``"proportional"`` in two, ``"framework"`` the paper's way in three.
        form: Whether the framework's clients tell one bit or a number in Laplace noise; a bit if it can be.
        mean: Whether to divide by the number of clients that have a record.
        weighing: For ``"proportional"``, the part of the share for choosing where to cut.
    """

    measure: Measure
    method: SumMethod = "proportional"
    form: Literal["bit", "laplace"] | None = None
    mean: bool = False
    weighing: Exact = "2/3"

    def __post_init__(self) -> None:
        Study.__post_init__(self)
        _part(self.weighing, "weighing")
        if self.method not in get_args(SumMethod):
            raise InvalidRequest(f"method={self.method!r} is not known: {', '.join(get_args(SumMethod))}.")

    def rounds(self) -> Rounds:
        """Run the rounds of the method; a mean has one more for the count, unless there is one anyway."""
        if self.method == "framework":
            counted, clients = yield from self._found_domain(self.first_part)
            total, choices = yield from self._by_framework(counted)
        else:
            part = Fraction(1)
            if self.mean:
                part = Fraction(3, 4)
                counted, clients = yield from self._found_domain(1 - part)
            by = self._by_ratio if self.method == "ratio" else self._in_proportion
            total, clients, choices = yield from by(part, 2 if self.mean else 1)
        unit = float(self.measure.unit)
        value, deviation = (unit * number for number in total)
        if self.mean:
            value, deviation = _quotient((value, deviation), (counted.total, counted.deviation))
        question = f"{'mean' if self.mean else 'sum'} of {self.measure.column}"
        return self._estimate(question, (value, deviation), clients, self.method, choices=choices)

    def _by_ratio(self, part: Fraction, number: int) -> Generator[Campaign, Tally, Any]:
        protocol = RatioSum(self.measure)
        campaign = self._campaign(part, protocol, number)
        tally = yield campaign
        most = [reach.value for reach in reaches(self.policy, self.measure)]
        found = protocol.estimate(campaign.terms, tally, beta=self.failure, most=most)
        choices = (("octaves of value / budget kept", f"{found.top + 1} of {len(found.heavy)}"),)
        return (found.total, found.deviation), tally.clients, choices

    def _in_proportion(self, part: Fraction, number: int) -> Generator[Campaign, Tally, Any]:
        weighing, weight = RatioMass(self.measure), _part(self.weighing, "weighing")
        campaign = self._campaign(part * weight, weighing, number)
        tally = yield campaign
        most = [reach.budget for reach in reaches(self.policy, self.measure)]
        masses = weighing.estimate(campaign.terms, tally, beta=self.failure, most=most)
        rest = part * (1 - weight)
        slope = _slope(
            campaign.terms,
            self.measure,
            masses.totals[: masses.top + 1],
            tally.clients,
            float(self.whole_share * rest),
        )
        protocol = ProportionalSum(self.measure, slope)
        campaign = self._campaign(rest, protocol, number + 1)
        tally = yield campaign
        choices = (("values are cut at budget times", f"{float(slope * self.measure.unit):.3g}"),)
        return protocol.estimate(campaign.terms, tally), tally.clients, choices

    def _by_framework(self, counted: DomainCounts) -> Generator[Campaign, Tally, Any]:
        rest = 1 - self.first_part
        radius = Framework(ValueOctaves(self.measure), counted.first)
        campaign = self._campaign(rest * Fraction(1, 4), radius, 2)
        tally = yield campaign
        limit = 1 << radius.estimate(campaign.terms, tally).top
        form = self.form or ("laplace" if self.measure.low < 0 else "bit")
        protocol = Framework(ClippedSum(self.measure, limit, form), counted.first)
        campaign = self._campaign(rest * Fraction(3, 4), protocol, 3)
        tally = yield campaign
        choices = (_domain_choice(counted), ("values are cut at", f"{float(limit * self.measure.unit):.3g}"))
        return protocol.estimate(campaign.terms, tally), choices


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkStudy(Study):
    """Any question that a protocol of ordinary LDP answers: the paper's general framework.

    Attributes:
        question: What is asked, in words.
        protocol: From the budget that the second round has to the protocol.
        labels: What the numbers of the answer are called, if there are several.
    """

    question: str
    protocol: Callable[[Fraction], LdpProtocol]
    labels: tuple[str, ...] = field(default=())

    def rounds(self) -> Rounds:
        """Find the threshold, then run the protocol at its budget."""
        counted, _ = yield from self._found_domain(self.first_part)
        rest = 1 - self.first_part
        budget = Terms(self.policy.levels, self.whole_share * rest).domain_loss(counted.first)
        framed = Framework(self.protocol(budget), counted.first)
        campaign = self._campaign(rest, framed, 2)
        tally = yield campaign
        found = framed.estimate(campaign.terms, tally)
        pairs = (found,) if not self.labels else tuple(found)
        parts = tuple(Part(label, *pair) for label, pair in zip(self.labels, pairs, strict=False))
        value = math.fsum(pair[0] for pair in pairs), math.hypot(*(pair[1] for pair in pairs))
        choices = (_domain_choice(counted),)
        return self._estimate(self.question, value, tally.clients, "framework", choices=choices, parts=parts)


def frequencies(
    by: Categories | Bins,
    *,
    name: str,
    policy: Policy,
    share: Exact,
    method: Any = None,
    **options: Any,
) -> FrameworkStudy:
    """Return the study of how many clients have each category, or a value in each bin: a histogram."""
    Frequencies.chosen(by, Fraction(1), method)  # refuses an unknown method now, not after the first round
    return FrameworkStudy(
        name=name, policy=policy, share=share, question=f"clients by {by.column}", labels=by.labels,
        protocol=lambda budget: Frequencies.chosen(by, budget, method), **options,
    )  # fmt: skip


def quantiles(histogram: Estimate, bins: Bins, parts: tuple[float, ...]) -> tuple[float, ...]:
    """Return quantiles from a histogram's estimate: nothing is asked again, so it costs nothing.

    Negative counts are taken for none; within a bin, values are taken to lie evenly.
    """
    if len(histogram.parts) != len(bins.edges) - 1 or not all(0 <= part <= 1 for part in parts):
        raise InvalidRequest("quantiles need the histogram of these bins, and parts between 0 and 1.")
    counts = [max(0.0, part.value) for part in histogram.parts]
    return tuple(_quantile(counts, [float(edge) for edge in bins.edges], part) for part in parts)


def _quantile(counts: list[float], edges: list[float], part: float) -> float:
    wanted = part * math.fsum(counts)
    for count, (low, high) in zip(counts, pairwise(edges), strict=True):
        if wanted <= count and count > 0:
            return low + (high - low) * wanted / count
        wanted -= count
    return edges[-1]


def _part(value: Exact, name: str) -> Fraction:
    part = exact(value, name)
    if not 0 < part < 1:
        raise InvalidRequest(f"{name}={value!r} is not between 0 and 1, such as '1/2'.")
    return part


def _domain_choice(counted: DomainCounts) -> tuple[str, str]:
    return (
        "first domain kept",
        f"{counted.first} of {len(counted.counts)}, budgets from {float(counted.threshold_budget):.3g}",
    )


def _full_count_budget(counted: DomainCounts, clients: int, share: float, at_most: Fraction) -> Fraction:
    """Return the budget from which on clients count in full: least noise and loss together."""
    kept = [
        (float(budget) * math.sqrt(2), max(0.0, count))
        for budget, count in zip(counted.budgets, counted.counts, strict=True)
    ][counted.first - 1 :]

    def error(budget: Fraction) -> float:
        full = share * float(budget)
        noise = _MEAN_ERROR * math.sqrt(clients) / (2 * math.sinh(min(full / 2, 300.0)))
        cut = sum(count * (1 - _weight(share * typical, full)) for typical, count in kept)
        return noise + cut

    candidates = [
        min(at_most, budget * step / 4)
        for budget in counted.budgets[counted.first - 1 :]
        for step in (4, 5, 6, 7)
    ]
    return min(candidates, key=error)


def _weight(loss: float, full: float) -> float:
    """Return (e^loss - 1)/(e^full - 1), at most 1."""
    if loss >= full:
        return 1.0
    return math.exp(loss - full) * math.expm1(-loss) / math.expm1(-full)


def _slope(terms: Terms, measure: Measure, masses: tuple[float, ...], clients: int, share: float) -> Fraction:
    """Return the clipping slope at which noise and what is cut, by the masses, are least together."""
    ratios = Ratios(terms, measure)
    spent = float(terms.share)
    held = [
        (0.75 * float(ratios.slope(octave)), max(0.0, mass) / spent) for octave, mass in enumerate(masses)
    ]

    def error(slope: Fraction) -> float:
        at = float(slope)
        noise = _MEAN_ERROR * math.sqrt(2 * clients) * at / share
        return noise + sum(mass * (ratio - at) for ratio, mass in held if ratio > at)

    candidates = [ratios.slope(octave) * step / 4 for octave in range(len(masses)) for step in (3, 4)]
    return min(candidates, key=error)


def _quotient(above: tuple[float, float], below: tuple[float, float]) -> tuple[float, float]:
    """Return a quotient with the deviation that those of its parts make, to first order."""
    count = max(1.0, below[0])
    value = above[0] / count
    return value, math.hypot(above[1], value * below[1]) / count
