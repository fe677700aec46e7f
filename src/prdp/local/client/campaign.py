"""The public terms of one round, as a small JSON text: everything that a client needs to know."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256

from prdp.declare.exact import Exact, exact_share
from prdp.errors import InvalidRequest
from prdp.expressions.to_json import from_json, to_json
from prdp.local.client.facts import FactReader, read_object, sayable, whole_text
from prdp.local.protocols.categories import Frequencies
from prdp.local.protocols.counting import DomainCount, ProportionalCount
from prdp.local.protocols.ldp_sums import ClippedSum, ValueOctaves
from prdp.local.protocols.protocol import Field, FrameworkProtocol, Known, LdpProtocol, Protocol, Terms
from prdp.local.protocols.summing import ProportionalSum, RatioMass, RatioSum
from prdp.policy import Policy

VERSION = 1

MAX_REPORT_BITS = 1 << 15
"""Maximum length of a report in bits; each bit takes about a coin, so this bounds a client's work too."""

KNOWN = Known(
    {own.kind: own for own in (DomainCount, ProportionalCount, RatioSum, RatioMass, ProportionalSum)},
    {own.kind: own for own in (ValueOctaves, ClippedSum, Frequencies)},
)


@dataclass(frozen=True)
class Campaign:
    """One round of questions to clients who trust nobody; all of it is public.

    >>> campaign = Campaign("visits", Policy("1 / visits", at_least="1/100", at_most=1), "1/2", DomainCount())
    >>> Campaign.from_json(campaign.to_json()) == campaign
    True

    Attributes:
        name: Its display name.
        policy: The budget of a record, with both ends of its range.
        share: The part of every record's budget that this round uses.
        protocol: The protocol that makes a report of a record.
        round: The number of the round, from 1.
    """

    name: str
    policy: Policy
    share: Fraction
    protocol: Protocol
    round: int = 1

    def __init__(
        self,
        name: str,
        policy: Policy,
        share: Exact,
        protocol: Protocol,
        round: int = 1,  # noqa: A002  (that is what it is called)
    ) -> None:
        if not isinstance(name, str) or not 0 < len(name) <= 200 or not name.isprintable():
            raise InvalidRequest(f"name={name!r} is no name: write 1 to 200 characters.")
        if type(round) is not int or round < 1:
            raise InvalidRequest(f"round={round!r} is not 1, 2, ...")
        if not isinstance(policy, Policy):
            raise InvalidRequest(f"policy={policy!r} is no policy: write prdp.Policy('20 / visits', ...).")
        policy.refuse_unless_pure("the local model")
        levels = policy.levels  # refuses a policy without a range
        sayable(levels.at_least, "at_least")
        sayable(levels.at_most, "at_most")
        read = exact_share(share)
        facts = (
            ("name", name),
            ("policy", policy),
            ("share", read),
            ("protocol", protocol),
            ("round", round),
        )
        for field, fact in facts:
            object.__setattr__(self, field, fact)
        _refuse_unless_fitting(self)

    @cached_property
    def terms(self) -> Terms:
        """The grid of budgets and the share, as the protocol has them."""
        return Terms(self.policy.levels, self.share)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The form of every report."""
        return self.protocol.fields(self.terms)

    @cached_property
    def text(self) -> str:
        """The campaign as one line of JSON; equal for equal campaigns."""
        return _written(
            {
                "prdp": "campaign",
                "version": VERSION,
                "name": self.name,
                "round": self.round,
                "share": str(self.share),
                "policy": policy_facts(self.policy),
                "protocol": {"kind": self.protocol.kind, **self.protocol.facts()},
            }
        )

    @cached_property
    def digest(self) -> bytes:
        """The SHA-256 of the text, to which reports are bound."""
        return sha256(self.text.encode()).digest()

    @cached_property
    def columns(self) -> frozenset[str]:
        """The columns that are read of a record: the policy's, and the one that the protocol's facts name.

        >>> policy = Policy("1 / visits", at_least="1/100", at_most=1)
        >>> sorted(Campaign("ages", policy, "1/2", DomainCount(column="age")).columns)
        ['age', 'visits']
        """
        protocol = self.protocol.inner if isinstance(self.protocol, FrameworkProtocol) else self.protocol
        named = protocol.facts().get("column")
        return self.policy.columns | ({named} if isinstance(named, str) else set())

    def to_json(self) -> str:
        """Return the campaign as one line of JSON."""
        return self.text

    @classmethod
    def from_json(
        cls,
        text: str | bytes,
        *,
        protocols: tuple[type[Protocol], ...] = (),
        ldp_protocols: tuple[type[LdpProtocol], ...] = (),
    ) -> Campaign:
        """Read what ``to_json`` wrote, refusing everything else.

        Args:
            text: The JSON.
            protocols: Protocols of your own that the campaign may use.
            ldp_protocols: The same for those that the general framework holds.
        """
        known = Known(
            {**KNOWN.protocols, **{own.kind: own for own in protocols}},
            {**KNOWN.inner, **{own.kind: own for own in ldp_protocols}},
        )
        try:
            with FactReader(read_object(text, "campaign")) as read:
                if read.take("prdp") != "campaign" or read.whole("version") != VERSION:
                    raise InvalidRequest(f"this is no campaign of version {VERSION}.")
                policy = read_policy(read.take("policy"))
                protocol = known.read(read.take("protocol"))
                return cls(read.text("name"), policy, read.fraction("share"), protocol, read.whole("round"))
        except RecursionError:
            raise InvalidRequest(
                "this campaign's policy is nested too deeply for this program's stack."
            ) from None


def policy_facts(policy: Policy) -> dict[str, object]:
    """Return a policy as JSON: a tree and its ends."""
    ends = {"at_least": str(policy.at_least), "at_most": str(policy.at_most)}
    return {"expression": to_json(policy.expression), **ends}


def policy_text(policy: Policy) -> str:
    """Return a policy as one line of JSON; equal for equal policies."""
    return _written(policy_facts(policy))


def read_policy(facts: object) -> Policy:
    """Return the policy that facts describe; no parser of SQL is needed."""
    if not isinstance(facts, Mapping):
        raise InvalidRequest("a campaign's policy is a JSON object.")
    with FactReader(facts) as read:
        least, most = (read.positive(end) for end in ("at_least", "at_most"))
        return Policy.of(from_json(read.take("expression")), at_least=least, at_most=most)


def _refuse_unless_fitting(campaign: Campaign) -> None:
    """Refuse a protocol that the dummy record cannot answer: by public facts, before any client does."""
    domains = campaign.policy.levels.domains
    if isinstance(campaign.protocol, FrameworkProtocol) and campaign.protocol.domain > domains:
        raise InvalidRequest(f"domain {campaign.protocol.domain} is beyond the policy's {domains}.")
    size = sum(field.bits for field in campaign.fields)
    if size > MAX_REPORT_BITS:
        raise InvalidRequest(
            f"every report to this campaign would have {size:,} bits, and clients draw and send at most "
            f"{MAX_REPORT_BITS:,}. Ask for fewer values, or for budgets and values of fewer sizes."
        )
    whole_text(campaign.text, "the campaign")
    if len(campaign.protocol.law(campaign.terms, None)) != len(campaign.fields):
        raise InvalidRequest(
            f"the protocol {campaign.protocol.kind!r} has not one law for each of its fields."
        )


def _written(facts: object) -> str:
    return json.dumps(facts, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
