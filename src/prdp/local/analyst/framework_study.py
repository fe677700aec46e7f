"""Any question that a protocol of ordinary LDP answers; categories and histograms among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Real
from typing import Any, cast

from prdp.declare.exact import Exact
from prdp.errors import InvalidRequest
from prdp.local.analyst.estimate import Part
from prdp.local.analyst.study import LEFT_OUT, NO_DOMAIN, Rounds, Study, domain_choice
from prdp.local.client.facts import listed
from prdp.local.protocols.categories import Bins, Categories, Frequencies
from prdp.local.protocols.counting import DomainCount
from prdp.local.protocols.protocol import FrameworkProtocol, LdpProtocol, Terms
from prdp.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkStudy(Study):
    """Any question that a protocol of ordinary LDP answers: the paper's general framework.

    Attributes:
        question: What is asked, in words.
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
