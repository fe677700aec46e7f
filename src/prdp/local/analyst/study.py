"""A question to many clients, from its first campaign to its estimate.

``rounds`` is a generator: it yields a campaign, is sent the tally of its reports, and so on until it returns
the estimate. It draws nothing, so the same tallies always lead to the same place: an analyst may stop
between two rounds for a month and go on with ``after(tally_of_round_1, ...)``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal, get_args
from uuid import uuid4

from prdp.cells.measure import Measure
from prdp.declare.exact import Exact, exact, exact_share
from prdp.errors import InvalidRequest
from prdp.expressions.intervals import Interval, bound
from prdp.local.analyst.estimate import Above, Estimate
from prdp.local.client.campaign import Campaign
from prdp.local.client.report import Report, unpacked
from prdp.local.protocols.counting import DomainCount, DomainCounts, Noise, ProportionalCount, Threshold
from prdp.local.protocols.ldp_sums import ClippedSum, ValueOctaves
from prdp.local.protocols.protocol import FrameworkProtocol, Protocol, Tally, Terms
from prdp.local.protocols.summing import (
    Octaves,
    ProportionalSum,
    RatioGrid,
    RatioMass,
    RatioSum,
    checked_measure,
)
from prdp.policy import Policy

_MEAN_ERROR = math.sqrt(2 / math.pi)
"""The expected size of a normal variable of deviation 1."""

_FURTHER = Fraction(3, 2)
"""Factor by which values are cut beyond the end of the masses; fixed on synthetic sets."""


def full_count_budget(counted: DomainCounts, clients: int, share: float, at_most: Fraction) -> Fraction:
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


def clipping_slope(
    terms: Terms, measure: Measure, masses: tuple[float, ...], clients: int, share: float
) -> Fraction:
    """Return the clipping slope at which noise and what is cut, by the masses, are least together; half more.

    What lies beyond the last octave that was heard is not in the masses, and is never nothing.
    """
    ratios = RatioGrid(terms, measure)
    spent = float(terms.share)
    held = [
        (0.75 * float(ratios.slope(octave)), max(0.0, mass) / spent) for octave, mass in enumerate(masses)
    ]

    def error(slope: Fraction) -> float:
        at = float(slope)
        noise = _MEAN_ERROR * math.sqrt(2 * clients) * at / share
        return noise + sum(mass * (ratio - at) for ratio, mass in held if ratio > at)

    candidates = [ratios.slope(octave) * step / 4 for octave in range(len(masses)) for step in (3, 4)]
    return min(min(candidates, key=error) * _FURTHER, ratios.slope(ratios.count - 1))


def above_cut(
    terms: Terms, measure: Measure, masses: Octaves, slope: Fraction, budgets: Sequence[float]
) -> tuple[Above, ...]:
    """Return the masses of values above a cut, in values.

    A record of budget E in an octave that ends at R times the cut loses at most E · slope · (R - 1). A mass
    is Σ (e^min(loss, s·E) - 1), at least s · Σ E where no budget is above loss / s; where the policy allows a
    larger E, at least that divided by s · E / (e^loss - 1). In full: proofs/local.md.

    Args:
        terms: Of the round that measured the masses.
        measure: The column.
        masses: The estimates.
        slope: The cut.
        budgets: The largest budget that a record of each octave can have.
    """
    ratios, spent = RatioGrid(terms, measure), float(terms.share)
    loss, worth = min(1.0, spent * float(terms.levels.at_most)), float(slope * measure.round_to) / spent
    found = []
    for octave, (mass, noise) in enumerate(zip(masses.totals, masses.deviations, strict=True)):
        end = float(ratios.slope(octave) / slope)
        largest = spent * budgets[octave]
        if end > 1 and largest > 0:
            unseen = max(1.0, largest / math.expm1(min(loss, largest)))
            found.append(Above(end, worth * unseen * mass, worth * unseen * noise))
    return tuple(found)


def above_top(octaves: Octaves, round_to: float) -> tuple[Above, ...]:
    """Return the sums of octaves above the last heavy one, which were left out.

    >>> left = above_top(Octaves((50.0, 4.0, -9.0), (1.0, 2.0, 3.0), (True, False, False)), round_to=1.0)
    >>> [(octave.end, octave.amount) for octave in left]
    [(2.0, 4.0), (4.0, -9.0)]
    """
    left = zip(octaves.totals[octaves.top + 1 :], octaves.deviations[octaves.top + 1 :], strict=True)
    return tuple(
        Above(2.0**place, round_to * total, round_to * noise, left_out=True)
        for place, (total, noise) in enumerate(left, start=1)
    )


_PIECES = 16


@dataclass(frozen=True, slots=True)
class Reach:
    """The largest value, in steps, and the largest budget that the policy allows in one octave."""

    value: float = 0.0
    budget: float = 0.0


@lru_cache(maxsize=64)
def reaches(policy: Policy, measure: Measure) -> tuple[Reach, ...]:
    """Return the largest value of a record in each octave of |value| / budget.

    Values are cut into pieces that are short on a logarithmic scale, and the policy is bounded over each
    one; columns that it reads besides count as unbounded.
    """
    levels = policy.levels
    ratios = RatioGrid(Terms(levels, Fraction(1)), measure)  # the share plays no part
    found = [Reach()] * ratios.count
    slope, round_to = float(ratios.slope(0)), float(measure.round_to)
    least, most = float(levels.at_least), float(levels.at_most)
    for low, high in _pieces(measure):
        budgets = bound(policy.expression, {measure.column: Interval(low * round_to, high * round_to)})
        if budgets.empty or budgets.high < least:
            continue
        smallest, largest = max(least, budgets.low) * 0.91, min(most, budgets.high)  # rounding costs 9 %
        ends = sorted((abs(low), abs(high)))
        first = _octave(ends[0] / largest / slope, ratios.count)
        for octave in range(first, _octave(ends[1] / smallest / slope, ratios.count) + 1):
            here = found[octave]
            found[octave] = Reach(max(here.value, ends[1]), max(here.budget, largest))
    return tuple(found)


def _octave(ratio: float, count: int) -> int:
    return max(0, min(count - 1, math.ceil(math.log2(ratio)))) if ratio > 0 else 0


def _pieces(measure: Measure) -> list[tuple[float, float]]:
    """Return the values other than zero in pieces that are short on a logarithmic scale."""
    steps = math.ceil(_PIECES * math.log2(measure.largest)) + 1
    edges = [2 ** (step / _PIECES) for step in range(steps + 1)]
    pieces = [(low, high) for low, high in pairwise(edges) if low <= measure.high]
    below = [(-high, -low) for low, high in pairwise(edges) if -low >= measure.low]
    return [(max(low, measure.low), min(high, measure.high)) for low, high in (*below, *pieces)]


Rounds = Generator[Campaign, Tally, Estimate]
SumMethod = Literal["ratio", "proportional", "framework"]

LEFT_OUT = (
    "Clients whose budgets are too small to be heard among all the noise are left out, which pulls counts "
    "toward zero. With a chance of at most {beta:g}, a domain in which nobody is counts as heard: its noise "
    "is then part of the answer, and the interval allows for it."
)
_CUT = (
    "Values that are large for their clients' budgets are cut or left out, which {effect}, "
    "often by more than the interval. With a chance of at most {beta:g} a round, an octave in which nobody "
    "is counts as heard: the noise, and the interval, are then far larger than usual."
)
_CUT_MEAN = (
    "Values that are large for their clients' budgets are cut or left out of the sum, and clients of small "
    "budgets are left out of the count: the mean may be off either way, often by more than the interval. "
    "With a chance of at most {beta:g} a round, a domain or octave in which nobody is counts as heard, which "
    "widens the noise and the interval."
)
NO_DOMAIN = "no domain was heard: too few clients"
_NO_OCTAVE = "no octave of values was heard: too few clients, or no value other than zero"


@dataclass(frozen=True, slots=True, kw_only=True)
class Study(ABC):
    """One question, and what all its rounds together may use.

    Attributes:
        name: Its display name; campaigns are named after it.
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
        if not isinstance(self.policy, Policy):
            raise InvalidRequest(
                f"policy={self.policy!r} is no policy: write policy=prdp.Policy('20 / visits', "
                "at_least='1/100', at_most=10)."
            )
        self.policy.refuse_unless_pure("the local model")
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

    def after(self, *tallies: Tally | Collector) -> Campaign | Estimate:
        """Return the next step after the rounds of these tallies: a campaign, or the estimate.

        Args:
            tallies: One for each round so far, in order: ``Collector.tally``, or the collector itself.
        """
        going = self.rounds()
        step = next(going)
        for place, given in enumerate(tallies, start=1):
            try:
                step = going.send(_tally_of(step, given))
            except StopIteration as done:
                if place < len(tallies):
                    raise InvalidRequest("there are more tallies than rounds.") from None
                estimate: Estimate = done.value
                return estimate
        return step

    def _campaign(self, part: Fraction, protocol: Protocol, number: int) -> Campaign:
        return Campaign(self.name, self.policy, self.whole_share * part, protocol, number)

    def _found_domain(
        self, part: Fraction, protocol: DomainCount, threshold: Threshold = "exact", beta: float | None = None
    ) -> Generator[Campaign, Tally, tuple[DomainCounts, int]]:
        """Run the paper's first round."""
        campaign = self._campaign(part, protocol, 1)
        tally = yield campaign
        chance = self.failure / 2 if beta is None else beta
        counted = protocol.estimate(campaign.terms, tally, beta=chance, threshold=threshold)
        return counted, tally.clients

    def _estimate(
        self, question: str, value: tuple[float, float], rounds: tuple[int, ...], method: str, *,
        bias: str, unheard: str, **more: Any,
    ) -> Estimate:  # fmt: skip
        number, deviation = value
        if not min(rounds):
            unheard = "a round had no reports"
        return Estimate(
            question, number, math.inf if unheard else deviation, rounds[-1], self.whole_share, method,
            rounds=rounds, bias=bias.format(beta=self.failure), unheard=unheard, **more,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CountStudy(Study):
    """A study of the number of clients that have a record with a valid budget.

    >>> policy = Policy("20 / visits", at_least="1/100", at_most=10)
    >>> campaign = CountStudy(name="visits", policy=policy, share="1/2", proportional=True).after()
    >>> campaign.share, campaign.round  # the first of two rounds has half of the share
    (Fraction(1, 4), 1)

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
        part = self.first_part if self.proportional else Fraction(1)
        counted, clients = yield from self._found_domain(
            part, DomainCount(self.noise), self.threshold, self.failure
        )
        facts: dict[str, Any] = {"bias": LEFT_OUT, "unheard": "" if counted.heard else NO_DOMAIN}
        if not self.proportional:
            found = (min(counted.total, float(clients)), counted.deviation)
            how, facts["candidates"] = f"domains, {self.noise}", counted.candidates
            facts["most"] = float(clients)
            return self._estimate("count", found, (clients,), how, choices=(domain_choice(counted),), **facts)
        rest = 1 - self.first_part
        budget = full_count_budget(
            counted, clients, float(self.whole_share * rest), self.policy.levels.at_most
        )
        protocol = ProportionalCount(budget)
        campaign = self._campaign(rest, protocol, 2)
        tally = yield campaign
        number, deviation = protocol.estimate(campaign.terms, tally)
        found, facts["most"] = (min(number, float(tally.clients)), deviation), float(tally.clients)
        choices = (domain_choice(counted), ("counts in full from a budget of", f"{float(budget):.3g}"))
        facts["bias"] = f"{LEFT_OUT} Clients of smaller budgets than {float(budget):.3g} count in part."
        rounds = (clients, tally.clients)
        return self._estimate("count", found, rounds, "proportional", choices=choices, **facts)


@dataclass(frozen=True, slots=True)
class _SumRounds:
    """Estimates of a sum's own rounds: total in rounding steps, deviation, clients of each round."""

    total: tuple[float, float]
    clients: tuple[int, ...]
    choices: tuple[tuple[str, str], ...]
    unheard: str
    above: tuple[Above, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SumStudy(Study):
    """A study of the sum or the mean of a column.

    >>> from prdp.local.protocols.summing import measured
    >>> policy, income = Policy("20 / visits", at_least="1/100", at_most=10), measured("income", 0, 10_000)
    >>> study = SumStudy(name="pay", policy=policy, share="1/2", measure=income, method="ratio")
    >>> study.after().share, sorted(study.after().columns)  # one round, so it has the whole share
    (Fraction(1, 2), ['income', 'visits'])

    Attributes:
        measure: The column, rounding step and public bounds; ``measured`` makes one from bounds in values.
        method: ``"ratio"`` in one round, ``"proportional"`` in two, ``"framework"`` the paper's way in three.
        form: Whether the framework's clients tell one bit or a number in Laplace noise; a bit if it can be.
        mean: Whether to divide by the number of clients that have a value; others take no part.
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
        object.__setattr__(self, "measure", checked_measure(self.measure))
        ClippedSum(self.measure, 1, self._form)  # refuses a form now, not in the third round

    def rounds(self) -> Rounds:
        """Run the rounds of the method; a mean has one more for the count, unless there is one anyway."""
        counted, part = None, Fraction(1)
        clients: tuple[int, ...] = ()
        if self.mean or self.method == "framework":
            used = self.first_part if self.method == "framework" else Fraction(1, 4)
            having = DomainCount(column=self.measure.column if self.mean else None)
            counted, first = yield from self._found_domain(used, having)
            clients, part = (first,), 1 - used
        if self.method == "framework" and counted is not None:
            facts = yield from self._by_framework(counted, part)
        elif self.method == "ratio":
            facts = yield from self._by_ratio(part, len(clients) + 1)
        else:
            facts = yield from self._in_proportion(part, len(clients) + 1)
        round_to = float(self.measure.round_to)
        value = round_to * facts.total[0], round_to * facts.total[1]
        rounds, above = (*clients, *facts.clients), facts.above
        if self.mean and counted is not None:
            # Clients may have stayed away since they were counted: the count is scaled to those of the sum.
            stayed = rounds[-1] / max(1, rounds[0])
            total = min(counted.total, float(rounds[0]))
            count = (stayed * total, stayed * counted.deviation)
            value, above = _quotient(value, count), _divided(above, max(1.0, count[0]))
        unheard = NO_DOMAIN if counted is not None and not counted.heard else facts.unheard
        return self._estimate(
            f"{'mean' if self.mean else 'sum'} of {self.measure.column}", value, rounds, self.method,
            choices=facts.choices, bias=self._bias, unheard=unheard, above=above,
            signed=self.measure.low < 0,
            candidates=counted.candidates if self.mean and counted is not None else 1,
        )  # fmt: skip

    @property
    def _bias(self) -> str:
        if self.mean:
            return _CUT_MEAN
        signed = self.measure.low < 0 < self.measure.high
        effect = "may move the sum either way" if signed else "pulls the sum toward zero"
        return _CUT.format(effect=effect, beta=self.failure)

    @property
    def _form(self) -> Literal["bit", "laplace"]:
        return self.form or ("laplace" if self.measure.low < 0 else "bit")

    def _by_ratio(self, part: Fraction, number: int) -> Generator[Campaign, Tally, _SumRounds]:
        protocol = RatioSum(self.measure)
        campaign = self._campaign(part, protocol, number)
        tally = yield campaign
        most = [reach.value for reach in reaches(self.policy, self.measure)]
        found = protocol.estimate(campaign.terms, tally, beta=self.failure, most=most)
        choices = (("octaves of value / budget kept", f"{found.top + 1} of {len(found.heavy)}"),)
        left = above_top(found, float(self.measure.round_to))
        return _SumRounds(
            (found.total, found.deviation), (tally.clients,), choices, _octaves(found.heard), left
        )

    def _in_proportion(self, part: Fraction, number: int) -> Generator[Campaign, Tally, _SumRounds]:
        weighing, weight = RatioMass(self.measure), _part(self.weighing, "weighing")
        campaign = self._campaign(part * weight, weighing, number)
        tally = yield campaign
        most = [reach.budget for reach in reaches(self.policy, self.measure)]
        masses = weighing.estimate(campaign.terms, tally, beta=self.failure, most=most)
        rest = part * (1 - weight)
        slope = clipping_slope(
            campaign.terms,
            self.measure,
            masses.totals[: masses.top + 1],
            tally.clients,
            float(self.whole_share * rest),
        )
        above = above_cut(campaign.terms, self.measure, masses, slope, most)
        protocol = ProportionalSum(self.measure, slope)
        campaign = self._campaign(rest, protocol, number + 1)
        last = yield campaign
        choices = (("values are cut at budget times", f"{float(slope * self.measure.round_to):.3g}"),)
        found = protocol.estimate(campaign.terms, last)
        return _SumRounds(found, (tally.clients, last.clients), choices, _octaves(masses.heard), above)

    def _by_framework(self, counted: DomainCounts, rest: Fraction) -> Generator[Campaign, Tally, _SumRounds]:
        inner = ValueOctaves(self.measure)
        radius = FrameworkProtocol(inner, counted.first)
        campaign = self._campaign(rest * Fraction(1, 4), radius, 2)
        tally = yield campaign
        octaves = inner.estimate(radius.budget(campaign.terms), tally, beta=self.failure)
        limit = 1 << octaves.top
        protocol = FrameworkProtocol(ClippedSum(self.measure, limit, self._form), counted.first)
        campaign = self._campaign(rest * Fraction(3, 4), protocol, 3)
        last = yield campaign
        choices = (
            domain_choice(counted),
            ("values are cut at", f"{float(limit * self.measure.round_to):.3g}"),
        )
        found = protocol.estimate(campaign.terms, last)
        return _SumRounds(found, (tally.clients, last.clients), choices, _octaves(octaves.heard))


def _tally_of(campaign: Campaign, given: object) -> Tally:
    """Return the tally of a campaign's reports; refuse any other one."""
    tally = given.tally if isinstance(given, Collector) else given
    if not isinstance(tally, Tally):
        raise InvalidRequest(
            f"{type(given).__name__} is no tally: give study.after() the tallies of its rounds so far, in "
            "order, as in study.after(collector_1.tally, collector_2.tally)."
        )
    if not tally.campaign:
        raise InvalidRequest(
            "this tally does not say which campaign it is of: take Collector(campaign).tally."
        )
    if tally.campaign != campaign.digest:
        raise InvalidRequest(
            f"the tally for round {campaign.round} is of another campaign or round than this study's. Give "
            "the tallies in order; a study with another name, share, policy or setting has other campaigns."
        )
    return tally


def _octaves(heard: bool) -> str:
    return "" if heard else _NO_OCTAVE


def _part(value: Exact, name: str) -> Fraction:
    part = exact(value, name)
    if not 0 < part < 1:
        raise InvalidRequest(f"{name}={value!r} is not between 0 and 1, such as '1/2'.")
    return part


def domain_choice(counted: DomainCounts) -> tuple[str, str]:
    """Describe the chosen domain in words."""
    place = f"{counted.first} of {len(counted.counts)}"
    chosen = f"{place}, budgets from {float(counted.threshold_budget):.3g}"
    return "first domain kept", chosen if counted.heard else f"{place}, as none was heard"


def _quotient(above: tuple[float, float], below: tuple[float, float]) -> tuple[float, float]:
    """Return a quotient with the deviation that those of its parts make, to first order."""
    count = max(1.0, below[0])
    value = above[0] / count
    return value, math.hypot(above[1], value * below[1]) / count


def _divided(above: tuple[Above, ...], count: float) -> tuple[Above, ...]:
    return tuple(
        replace(octave, amount=octave.amount / count, deviation=octave.deviation / count) for octave in above
    )


class Collector:
    """Gathers the reports of one campaign.

    The number of reports is public, and the analyst's thresholds rest on it. A client that is asked again
    sends the same bytes, and they count once.

    >>> from prdp.local.client.client import Client
    >>> from prdp.local.protocols.counting import DomainCount
    >>> from prdp.policy import Policy
    >>> campaign = Campaign("members", Policy.constant(1), "1/2", DomainCount())
    >>> collector, report = Collector(campaign), Client().report(campaign, {})
    >>> collector.receive(report), collector.receive(report), len(collector)
    (True, False, 1)
    """

    def __init__(self, campaign: Campaign | str | bytes) -> None:
        """Begin with no reports.

        Args:
            campaign: The campaign, or its JSON; one with a protocol of your own is read by
                ``Campaign.from_json``.
        """
        self.campaign = campaign if isinstance(campaign, Campaign) else Campaign.from_json(campaign)
        self._reports: dict[bytes, tuple[int, ...]] = {}
        self._mark = uuid4().hex

    def receive(self, report: Report | bytes) -> bool:
        """Take a report in; return False for one that is there already.

        Raises:
            InvalidRequest: The bytes are no report, answer another campaign, do not have its form, or say
                something else than a report of the same token did: somebody changed one of the two.
        """
        read = report if isinstance(report, Report) else Report.from_bytes(report)
        if read.campaign != self.campaign.digest:
            raise InvalidRequest("this report answers another campaign, or other terms of this one.")
        outcomes = unpacked(read.payload, self.campaign.fields)
        known = self._reports.setdefault(read.token, outcomes)
        if known != outcomes:
            raise InvalidRequest(
                "a report with this token is here already and says something else: one of the two was "
                "changed on its way. The first one stays."
            )
        return known is outcomes

    def __len__(self) -> int:
        return len(self._reports)

    @property
    def tally(self) -> Tally:
        """The totals of all reports, bound to the campaign."""
        gathered = self.campaign.protocol.tally(self.campaign.terms, self._reports.values())
        return replace(gathered, campaign=self.campaign.digest, collectors=frozenset({self._mark}))

    def estimate(self, **options: Any) -> Any:
        """Return the protocol's estimate from the tally; options are the protocol's own, such as ``beta``."""
        return self.campaign.protocol.estimate(self.campaign.terms, self.tally, **options)
