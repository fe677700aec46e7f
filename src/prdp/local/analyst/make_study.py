"""Make a study of a query: rounds of counts and sums, an LDP protocol, or quantiles of a histogram."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from numbers import Real
from typing import Any, cast

from prdp.declare.columns import Number
from prdp.declare.exact import Exact, exact, short_repr
from prdp.declare.groups import Binned
from prdp.errors import InvalidRequest
from prdp.local.analyst.estimate import Estimate, Part, probability
from prdp.local.analyst.study import LEFT_OUT, NO_DOMAIN, CountStudy, Rounds, Study, SumStudy, domain_choice
from prdp.local.client.facts import listed
from prdp.local.protocols.categories import Bins, Categories, Frequencies
from prdp.local.protocols.counting import DomainCount
from prdp.local.protocols.protocol import FrameworkProtocol, LdpProtocol, Terms
from prdp.local.protocols.summing import measured
from prdp.plan.queries import Asked, Count, Mean, Sum
from prdp.policy import Policy
from prdp.schema import ColumnType, Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkStudy(Study):
    """Any question that a protocol of ordinary LDP answers: the paper's general framework.

    Attributes:
        question: The question, in words.
        protocol: The protocol, or a function to it from the budget that the second round has.
        labels: What the numbers of the answer are called, if there are several.
    """

    question: str
    protocol: Callable[[Fraction], LdpProtocol] | LdpProtocol
    labels: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        Study.__post_init__(self)
        object.__setattr__(self, "labels", listed(self.labels, "labels", "('yes', 'no')"))
        if not callable(self.protocol) and not hasattr(self.protocol, "law"):
            raise InvalidRequest(
                f"protocol={self.protocol!r} is neither an LDP protocol nor a function from a budget to one."
            )
        self._refuse_wrong_labels()

    def rounds(self) -> Rounds:
        """Find the threshold, then run the protocol at its budget."""
        rest = 1 - self.first_part
        terms = Terms(self.policy.levels, self.whole_share * rest)
        counted, first = yield from self._found_domain(self.first_part, DomainCount())
        framed = FrameworkProtocol(self._at(terms.domain_loss(counted.first)), counted.first)
        campaign = self._campaign(rest, framed, 2)
        tally = yield campaign
        pairs = self._pairs(framed.estimate(campaign.terms, tally))
        parts = tuple(Part(label, *pair) for label, pair in zip(self.labels, pairs, strict=False))
        value = math.fsum(pair[0] for pair in pairs), math.hypot(*(pair[1] for pair in pairs))
        return self._estimate(
            self.question, value, (first, tally.clients), "framework", choices=(domain_choice(counted),),
            parts=parts, bias=LEFT_OUT, unheard="" if counted.heard else NO_DOMAIN,
        )  # fmt: skip

    def _at(self, budget: Fraction) -> LdpProtocol:
        if callable(self.protocol):
            return self.protocol(budget)
        return self.protocol

    def _pairs(self, found: Any) -> tuple[tuple[float, float], ...]:
        """Return a protocol's answer as one pair for each label, or as the only pair."""
        if not self.labels:
            found = (found,)
        pairs = tuple(pair for pair in found if isinstance(pair, Sequence) and len(pair) == 2)
        single = all(isinstance(number, Real) for pair in pairs for number in pair)
        if len(pairs) != len(found) or len(pairs) != max(1, len(self.labels)) or not single:
            raise InvalidRequest(
                f"the protocol does not answer with a value and its deviation for each of the "
                f"{len(self.labels)} labels, or with one such pair where there are none."
            )
        return cast("tuple[tuple[float, float], ...]", pairs)

    def _refuse_wrong_labels(self) -> None:
        """Try the protocol on one report, so that no client tells anything in vain."""
        levels = self.policy.levels
        budget = Terms(levels, self.whole_share * (1 - self.first_part)).domain_loss(levels.domains)
        protocol = self._at(budget)
        silent = [law.low for law in protocol.fields(budget)]
        found = None
        with suppress(Exception):  # an estimate may need more than one report
            found = protocol.estimate(budget, protocol.tally(budget, [silent]))
        if found is not None:
            self._pairs(found)


def frequencies(
    by: Categories | Bins,
    *,
    name: str,
    policy: Policy,
    share: Exact,
    method: Any = None,
    **options: Any,
) -> FrameworkStudy:
    """Return the study of how many clients have each category, or a value in each bin: a histogram.

    >>> jobs = Categories("job", ["student", "retired"])
    >>> policy = Policy("20 / visits", at_least="1/100", at_most=10)
    >>> frequencies(jobs, name="jobs", policy=policy, share="1/2").question
    'clients by job'
    """
    Frequencies.chosen(by, Fraction(1), method)  # refuses an unknown method now, not after the first round
    return FrameworkStudy(
        name=name, policy=policy, share=share, question=f"clients by {by.column}", labels=by.labels,
        protocol=lambda budget: Frequencies.chosen(by, budget, method), **options,
    )  # fmt: skip


COUNTED: Mapping[str, Mapping[str, Any]] = {
    "bits": {"noise": "bits"},
    "laplace": {"noise": "laplace"},
    "printed": {"noise": "laplace", "threshold": "paper"},
    "proportional": {"proportional": True},
}
"""The methods of a count, the default first: what each means to ``CountStudy``."""


def study(
    query: Asked,
    *,
    policy: Policy | Exact,
    share: Exact,
    bounds: Mapping[str, tuple[Number, Number]] | None = None,
    round_to: Mapping[str, Exact] | None = None,
    by: Categories | Bins | Binned | str | None = None,
    keys: Sequence[str | int] | None = None,
    method: str | None = None,
    name: str | None = None,
    beta: Exact = "1/10",
) -> Study:
    """Return the study that asks clients a query, in the words that ``prdp.open`` and ``agg`` use.

    >>> import prdp
    >>> pay = prdp.local.study(
    ...     prdp.mean("income"), policy="20 / visits", share=0.5,
    ...     bounds={"income": (0, 10_000), "visits": (2, 400)},
    ... )
    >>> pay.name, pay.policy, pay.mean
    ('mean of income', Policy('20 / visits', at_least='1/20', at_most='10'), True)

    Args:
        query: ``prdp.count()``, ``prdp.sum("income")`` or ``prdp.mean("income")``.
        policy: The public budget of a record, as SQL or a ``Policy``; the ends of its range follow from the
            bounds where it does not say them.
        share: The part of every record's budget for all rounds together.
        bounds: For number columns, the public least and greatest value.
        round_to: For columns that are added up, what values are rounded to; 1 by default.
        by: For a count by groups: ``prdp.bins("age", [0, 18, 65])``, or a column with its public ``keys``.
        keys: The public keys of the column ``by``: texts or whole numbers.
        method: For a count ``"bits"`` (the default), ``"laplace"``, ``"printed"`` (the paper's) or
            ``"proportional"``; for a sum or a mean ``"proportional"`` (the default), ``"ratio"`` or
            ``"framework"``; for groups as in ``frequencies``.
        name: Its display name; by default the query in words.
        beta: The chance that some empty domain is taken for a heavy one.

    Raises:
        InvalidRequest: The question is wrong by public facts alone; the message says what to write.
    """
    basics: dict[str, Any] = {
        "name": str(query) if name is None else name,
        "policy": _with_range(policy, bounds or {}),
        "share": share,
        "beta": beta,
    }
    if by is not None:
        if type(query) is not Count:
            raise InvalidRequest("clients are counted by groups, not added up: ask prdp.count() with by=.")
        return frequencies(_groups(by, keys), method=method, **basics)
    if keys is not None:
        raise InvalidRequest("keys= are those of a column: write by='job' with them.")
    if type(query) is Count:
        if method is not None and method not in COUNTED:
            raise InvalidRequest(
                f"method={method!r} is not available here. Choose one of: {', '.join(COUNTED)}."
            )
        return CountStudy(**basics, **COUNTED[method or "bits"])
    if isinstance(query, Sum | Mean):
        column = query.column
        if column not in (bounds or {}):
            raise InvalidRequest(
                f"{query.word}({column!r}) needs the column's public bounds. Write "
                f"bounds={{{column!r}: (0, 10**6)}}."
            )
        low, high = (bounds or {})[column]
        measure = measured(column, low, high, (round_to or {}).get(column, 1))
        chosen: Any = {} if method is None else {"method": method}
        return SumStudy(**basics, measure=measure, mean=isinstance(query, Mean), **chosen)
    raise InvalidRequest(
        f"{query} is not available for clients. Choose one of: prdp.count(), prdp.sum('pay'), "
        "prdp.mean('pay'), and counts by groups, from whose histogram prdp.local.quantiles reads quantiles."
    )


def _with_range(policy: Policy | Exact, bounds: Mapping[str, tuple[Number, Number]]) -> Policy:
    """Return a policy with both ends of its range: its own, or those that the bounds allow."""
    if isinstance(policy, Real | Decimal) and not isinstance(policy, bool):
        return Policy.constant(policy)
    read = Policy(policy) if isinstance(policy, str) else policy
    if not isinstance(read, Policy) or (read.at_least is not None and read.at_most is not None):
        return read  # type: ignore[return-value]  # what is no policy or not pure is refused by the study
    read.refuse_unless_pure("the local model")
    ends = {
        column: (exact(low, f"bounds[{column!r}]"), exact(high, f"bounds[{column!r}]"))
        for column, (low, high) in bounds.items()
    }
    schema = {column: ColumnType(Kind.NUMBER) for column in {*read.columns, *bounds}}
    fitted = read.within(schema, ends)
    return Policy.of(read.expression, at_least=fitted.at_least, at_most=fitted.at_most)


def _groups(by: Categories | Bins | Binned | str, keys: Sequence[str | int] | None) -> Categories | Bins:
    if isinstance(by, str):
        if keys is None:
            raise InvalidRequest(f"by={by!r} needs the column's public keys: keys=['student', 'retired'].")
        return Categories(by, keys)
    if keys is not None:
        raise InvalidRequest("bins and categories are their own keys: leave keys= out.")
    if isinstance(by, Binned):
        return Bins(by.column, by.edges)
    if not isinstance(by, Categories | Bins):
        raise InvalidRequest(f"by={short_repr(by)} is neither a column nor prdp.bins('age', [0, 18, 65]).")
    return by


_BIAS = (
    "Quantiles are those of the clients whose budgets are heard and whose values lie within the edges; if "
    "others have larger or smaller values, the quantile is off either way. Within a bin, values are taken "
    "to lie evenly."
)

_LOUDER = 2.0
"""Minimum number of deviations of the clients within the edges, so that a quantile is not mere noise."""


def quantiles(histogram: Estimate, bins: Bins, parts: Sequence[float | Exact]) -> tuple[Estimate, ...]:
    """Return quantiles from a histogram's estimate, each with the deviation that the counts' noise makes.

    Negative counts are taken for none; within a bin, values are taken to lie evenly.

    >>> from fractions import Fraction
    >>> ages = Bins("age", (0, 10, 20))
    >>> halves = tuple(Part(label, 20.0, deviation=0.1) for label in ages.labels)
    >>> found = Estimate("ages", 40.0, 0.1, 40, Fraction(1), "framework", parts=halves)
    >>> [estimate.value for estimate in quantiles(found, ages, (0.25, "1/2"))]
    [5.0, 10.0]

    Args:
        histogram: The estimate of ``frequencies(bins, ...)``.
        bins: Those bins.
        parts: Which quantiles, such as ``(0.25, "1/2")``.
    """
    if tuple(part.label for part in histogram.parts) != bins.labels:
        raise InvalidRequest(
            f"this estimate, {histogram.question!r}, is not the histogram of these bins: its parts are "
            "called otherwise."
        )
    wanted = [probability(part, "parts") for part in listed(parts, "parts", "(0.25, 0.5)")]
    return tuple(_quantile(histogram, bins, part) for part in wanted)


def _quantile(histogram: Estimate, bins: Bins, part: float) -> Estimate:
    total = math.fsum(part.value for part in histogram.parts)
    noise = math.hypot(*(part.deviation for part in histogram.parts))
    unheard = histogram.unheard
    if not unheard and total <= _LOUDER * noise:
        unheard = "no value within the edges was heard: too few clients"
    value, deviation = math.nan, math.inf
    if not unheard:
        value, deviation = _read_off(histogram.parts, [float(edge) for edge in bins.edges], part)
    return replace(
        histogram, question=f"{part:g} quantile of {bins.column}", value=value, deviation=deviation,
        parts=(), bias=_BIAS, unheard=unheard,
    )  # fmt: skip


def _read_off(parts: Sequence[Part], edges: Sequence[float], wanted: float) -> tuple[float, float]:
    """Return a quantile and its deviation to first order: that of the count below it, less its own part."""
    counts = [max(0.0, part.value) for part in parts]
    below = wanted * math.fsum(counts)
    for place, (count, (low, high)) in enumerate(zip(counts, pairwise(edges), strict=True)):
        last = not any(counts[place + 1 :])
        if count > 0 and (below <= count or last):
            inside = min(1.0, below / count)
            weights = [1.0] * place + [inside] + [0.0] * (len(parts) - place - 1)
            noise = (part.deviation * (weight - wanted) for part, weight in zip(parts, weights, strict=True))
            return low + (high - low) * inside, (high - low) / count * math.hypot(*noise)
        below -= count
    return math.nan, math.inf
