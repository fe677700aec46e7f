"""Randomise a record that never leaves its client: from a campaign and the record to a report."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from prdp.declare.exact import Exact, exact_share
from prdp.errors import InvalidRequest
from prdp.levels import Levels
from prdp.local.client.account import ClientAccount, another_policy
from prdp.local.client.campaign import Campaign, policy_text
from prdp.local.client.facts import shown
from prdp.local.client.report import Report, packed
from prdp.local.protocols.protocol import LdpProtocol, Own, Protocol, Record
from prdp.local.protocols.randomisers import Law
from prdp.noise.entropy import Entropy, SystemEntropy
from prdp.policy import Policy

_TOKEN = 16


@dataclass(frozen=True, slots=True)
class Checked:
    """A dry run of a report, for the client alone; it is never sent.

    >>> str(Checked(missing=("visits",), loss=None, is_informative=False))
    'the record lacks visits, which the campaign reads'
    >>> str(Checked(missing=(), loss=Fraction(1, 4), is_informative=True))
    'the record takes part and loses at most 0.25'

    Attributes:
        missing: The columns that the campaign reads and the record does not have.
        loss: What the report may lose, share · E(r), rounded down; None without a valid budget.
        is_informative: Whether the report's law differs from the dummy's.
    """

    missing: tuple[str, ...]
    loss: Fraction | None
    is_informative: bool

    def __str__(self) -> str:
        if self.missing:
            return f"the record lacks {', '.join(map(shown, self.missing))}, which the campaign reads"
        if self.loss is None:
            return (
                "the record has no valid budget under the campaign's policy: it is answered for as the dummy"
            )
        if not self.is_informative:
            return "the record has a valid budget and nothing to say here: it is answered for as the dummy"
        return f"the record takes part and loses at most {float(self.loss):.3g}"


class Client:
    """Answers campaigns for one record, and keeps account of it.

    It needs neither NumPy nor a database engine. A report's size, order and fields are those of the
    campaign. A record without a valid budget, of whatever shape, is answered for as the dummy record:
    nothing about a record makes a client refuse, fail or fall silent.

    >>> from prdp.local.protocols.counting import DomainCount
    >>> policy = Policy("1 / visits", at_least="1/100", at_most=1)
    >>> campaign = Campaign("visits", policy, "1/2", DomainCount())
    >>> me = Client()
    >>> report = me.report(campaign, {"visits": 3})
    >>> me.report(campaign.to_json(), {"visits": 3}) == report  # the same bytes again
    True
    >>> me.remaining
    Fraction(1, 2)
    """

    def __init__(
        self,
        ledger: Path | str | None = None,
        *,
        policy: Policy | None = None,
        most_share: Exact = 1,
        protocols: tuple[type[Protocol], ...] = (),
        ldp_protocols: tuple[type[LdpProtocol], ...] = (),
        entropy: Entropy | None = None,
    ) -> None:
        """Begin or go on with an account.

        Args:
            ledger: The file of the account; without one it lasts as long as this object.
            policy: The only policy to answer under; by default that of the first campaign.
            most_share: The largest share that one campaign may ask for.
            protocols: Protocols of your own that campaigns may use.
            ldp_protocols: The same for those that the general framework holds.
            entropy: For tests; the system's generator otherwise.
        """
        if policy is not None and not isinstance(policy, Policy):
            raise InvalidRequest(
                f"policy={policy!r} is no policy: write policy=prdp.Policy('20 / visits', at_least='1/100', "
                "at_most=10), with the ends that campaigns will have."
            )
        self._policy = None if policy is None else policy_text(policy)
        self._most_share = exact_share(most_share)
        self._protocols, self._ldp_protocols = protocols, ldp_protocols
        self._entropy = entropy or SystemEntropy()
        self._account = ClientAccount(ledger)

    @property
    def remaining(self) -> Fraction:
        """The part of the record's budget that no campaign has used."""
        return self._account.remaining

    def report(self, campaign: Campaign | str | bytes, record: Mapping[str, object] | None) -> Report:
        """Return the report to send: drawn and stored the first time, the stored one ever after.

        >>> from prdp.local.protocols.counting import DomainCount
        >>> policy = Policy("1 / visits", at_least="1/100", at_most=1)
        >>> careful, campaign = Client(most_share="1/4"), Campaign("visits", policy, "1/2", DomainCount())
        >>> careful.report(campaign, {"visits": 3})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        prdp.errors.InvalidRequest: this campaign asks for 1/2 of the budget, ... at most 1/4.

        Args:
            campaign: The campaign, or its JSON.
            record: The record; None to take part with nothing to say.

        Raises:
            InvalidRequest: The campaign cannot be read, has another policy, or asks for more than
                ``most_share``.
            LedgerError: The account cannot be used.
            BudgetExhausted: Less is left than the campaign asks for.
        """
        asked = self._read(campaign)
        policy = policy_text(asked.policy)
        if self._policy not in (None, policy):
            raise another_policy(self._policy, policy)
        if asked.share > self._most_share:
            raise InvalidRequest(
                f"this campaign asks for {asked.share} of the budget, and this client gives at most "
                f"{self._most_share}."
            )
        stored = self._account.record_report(
            asked.digest, asked.name, policy, asked.share, lambda: bytes(self._drawn(asked, record))
        )
        return Report.from_bytes(stored)

    def check(self, campaign: Campaign | str | bytes, record: Mapping[str, object] | None) -> Checked:
        """Describe, to the client alone, the report of a record; nothing is drawn, charged or sent.

        The result depends on the record: never send it.

        >>> from prdp.local.protocols.counting import DomainCount
        >>> policy = Policy("1 / visits", at_least="1/100", at_most=1)
        >>> campaign, me = Campaign("visits", policy, "1/2", DomainCount()), Client()
        >>> me.check(campaign, {}).missing, me.check(campaign, {"visits": 1000}).loss is None
        (('visits',), True)

        Args:
            campaign: The campaign, or its JSON.
            record: The record.
        """
        asked = self._read(campaign)
        own = own_of(asked.policy, asked.terms.levels, record)
        held = record if isinstance(record, Mapping) else {}
        return Checked(
            missing=tuple(sorted(name for name in asked.columns if name not in held)),
            loss=None if own is None else asked.terms.loss(own.quanta),
            is_informative=laws_for(asked, record) != laws_for(asked, None),
        )

    def _read(self, campaign: Campaign | str | bytes) -> Campaign:
        if isinstance(campaign, Campaign):
            return campaign
        return Campaign.from_json(campaign, protocols=self._protocols, ldp_protocols=self._ldp_protocols)

    def _drawn(self, campaign: Campaign, record: Record | None) -> Report:
        payload = None
        with suppress(Exception):  # what a record causes is seen by nobody, not as a later error's context
            payload = self._payload(campaign, laws_for(campaign, record))
        if payload is None:
            payload = self._payload(campaign, laws_for(campaign, None))
        return Report(campaign.digest, self._entropy.bytes(_TOKEN), payload)

    def _payload(self, campaign: Campaign, laws: tuple[Law, ...]) -> bytes:
        return packed([law.draw(self._entropy) for law in laws], campaign.fields)


def laws_for(campaign: Campaign, record: Record | None) -> tuple[Law, ...]:
    """Return the laws of a record's report: the dummy's laws where anything about it is odd."""
    return laws_of(campaign, own_of(campaign.policy, campaign.terms.levels, record))


def laws_of(campaign: Campaign, own: Own | None) -> tuple[Law, ...]:
    """Return the laws of the report of a record with a valid budget; the dummy's laws for None."""
    if own is not None:
        with suppress(Exception):  # whatever a record makes a protocol do, nobody may see it
            laws = campaign.protocol.law(campaign.terms, own)
            if len(laws) == len(campaign.fields):
                return laws
    return campaign.protocol.law(campaign.terms, None)


def own_of(policy: Policy, levels: Levels, record: Record | None) -> Own | None:
    """Return a record with its budget rounded down to a level; None where it has no valid one.

    >>> policy = Policy("1 / visits", at_least="1/100", at_most=1)
    >>> own_of(policy, policy.levels, {"visits": "many"}) is None  # no budget, and no error
    True
    """
    if record is None:
        return None
    level = None
    with suppress(Exception):  # a missing column, a value of a strange type: no budget, and no message
        level = levels.index(policy.budget(record))
    return None if level is None else Own(record, levels.quanta(level))
