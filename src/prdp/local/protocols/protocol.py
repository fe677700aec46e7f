"""Protocols of the local model: from a record to a report, and from all reports to an estimate.

Two kinds can be written, by us or by others. A ``Protocol`` knows every client's own budget and answers for
the whole promise. An ``LdpProtocol`` is an ordinary protocol of local differential privacy with one budget
for all; ``FrameworkProtocol`` makes a ``Protocol`` of it: clients below the threshold answer as the dummy
record.

Protocols read a record by total functions (``steps_of``, ``category_of``, ...): none may cause an error.
"""

from __future__ import annotations

import json
import math
import re
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar
from typing import Protocol as Interface

from prdp.errors import InvalidRequest
from prdp.levels import Levels
from prdp.local.client.facts import read_object, shown
from prdp.local.protocols.randomisers import Law

if TYPE_CHECKING:
    from prdp.cells.measure import Measure

Record = Mapping[str, object]
Facts = Mapping[str, Any]
"""Public facts of a protocol in a campaign, as JSON."""

_DIGEST = re.compile("([0-9a-f]{64})?")


@dataclass(frozen=True, slots=True)
class Field:
    """The public form of one coordinate: an integer from ``low`` on, in ``bits`` bits.

    >>> Field(-4, 3).last, Field(0, 3, high=5).clamped(7)
    (3, 5)

    Attributes:
        low: The least one.
        bits: Its number of bits.
        high: The greatest one; None for the greatest that the bits can say.
    """

    low: int
    bits: int
    high: int | None = None

    @property
    def last(self) -> int:
        """The greatest integer that the field can hold."""
        return self.low + (1 << self.bits) - 1 if self.high is None else self.high

    @classmethod
    def below(cls, size: int) -> Field:
        """Return the form of one of ``size`` integers from 0 on.

        >>> Field.below(10)
        Field(low=0, bits=4, high=9)
        """
        return cls(0, (size - 1).bit_length(), size - 1)

    def clamped(self, outcome: int) -> int:
        """Return the nearest integer that the field can hold; a function of the outcome alone."""
        return max(self.low, min(self.last, outcome))


BIT = Field(0, 1)


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a campaign: the grid of budgets, and the part of them that it uses."""

    levels: Levels
    share: Fraction

    def loss(self, quanta: int) -> Fraction:
        """Return the privacy loss that a budget in quanta allows here.

        >>> terms = Terms(Levels(Fraction(1), Fraction(2)), share=Fraction(1, 2))
        >>> terms.loss(1 << 20)  # 2^20 quanta are the least budget, 1
        Fraction(1, 2)
        """
        return self.share * quanta * self.levels.quantum

    def domain_loss(self, domain: int) -> Fraction:
        """Return the privacy loss that the smallest budget of one of the paper's domains allows here."""
        return self.loss(self.levels.domain_quanta(domain))


@dataclass(frozen=True, slots=True, repr=False)
class Own:
    """A client's record, with its budget rounded down to a level."""

    record: Record
    quanta: int


@dataclass(frozen=True, slots=True)
class Tally:
    """The totals that the analyst keeps of all reports.

    Tallies of one campaign add up: ``tally + other`` is the tally of both collectors' reports, if they have
    none in common. What one collector has gathered is refused a second time; that two collectors were sent
    the same report cannot be seen here.

    >>> (Tally(2, (1, 2)) + Tally(3, (1, 0))).totals
    (2, 2)

    Attributes:
        clients: The number of reports: public.
        totals: What they add up to, in a form that is the protocol's own.
        campaign: The digest of the campaign that the reports answer; a collector puts it there.
        collectors: The marks of the collectors that gathered the reports.
    """

    clients: int
    totals: tuple[int, ...]
    campaign: bytes = b""
    collectors: frozenset[str] = field(default=frozenset(), compare=False, repr=False)

    def __add__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        if self.campaign != other.campaign or len(self.totals) != len(other.totals):
            raise InvalidRequest("these two tallies are of two campaigns: they do not add up.")
        if self is other or self.collectors & other.collectors:
            raise InvalidRequest(
                "these two tallies hold reports of one collector, which would count twice. Take the later "
                "tally of each collector, once."
            )
        totals = tuple(one + more for one, more in zip(self.totals, other.totals, strict=True))
        collectors = self.collectors | other.collectors
        return Tally(self.clients + other.clients, totals, self.campaign, collectors)

    def to_json(self) -> str:
        """Return the tally as one line of JSON."""
        facts = {"clients": self.clients, "totals": self.totals, "campaign": self.campaign.hex()}
        marks = sorted(self.collectors)
        return json.dumps({"prdp": "tally", "version": 1, **facts, "collectors": marks})

    @classmethod
    def from_json(cls, text: str | bytes) -> Tally:
        """Read what ``to_json`` wrote, refusing everything else."""
        facts = {"collectors": [], **read_object(text, "tally")}
        match facts:
            case {
                "prdp": "tally",
                "version": 1,
                "clients": int(n),
                "totals": [*totals],
                "campaign": str(of),
                "collectors": [*marks],
            } if len(facts) == 6 and type(n) is int and n >= 0:
                whole = all(type(total) is int for total in totals)
                if whole and _DIGEST.fullmatch(of) and all(isinstance(mark, str) for mark in marks):
                    return cls(n, tuple(totals), bytes.fromhex(of), frozenset(marks))
        raise InvalidRequest("this is no tally of version 1.")


class DrawnTogether(Iterator[Sequence[int]]):
    """Reports that a simulation draws, and that it can add up without drawing each one."""

    @abstractmethod
    def column_totals(self, fields: int) -> tuple[int, tuple[int, ...]] | None:
        """Return the number of reports and the sum of every coordinate; they are read by then.

        None where some were read before, or where they have another number of coordinates.
        """


def column_totals(rows: Iterable[Sequence[int]], fields: int) -> Tally:
    """Add up every coordinate.

    >>> column_totals([(1, 0), (1, 1)], fields=2).totals
    (2, 1)
    """
    if isinstance(rows, DrawnTogether) and (drawn := rows.column_totals(fields)) is not None:
        return Tally(*drawn)
    clients, totals = 0, [0] * fields
    for row in rows:
        clients += 1
        for place, outcome in enumerate(row):
            totals[place] += outcome
    return Tally(clients, tuple(totals))


class Protocol(Interface):
    """One round of a campaign, for clients and analyst alike; immutable.

    The promise that ``law`` must keep, for every record r with budget ``own.quanta``: against ``law(terms,
    None)``, no report is more than e^±terms.loss(own.quanta) times as likely.
    """

    kind: ClassVar[str]

    def facts(self) -> Facts:
        """Return the facts from which ``from_facts`` makes the same protocol again."""

    @classmethod
    def from_facts(cls, facts: Facts) -> Protocol:
        """Read a campaign's protocol; refuse what is not one."""

    def fields(self, terms: Terms) -> tuple[Field, ...]:
        """Return the form of every report; it knows no record."""

    def law(self, terms: Terms, own: Own | None) -> tuple[Law, ...]:
        """Return the laws of a client's report, one law a field; ``None`` is the dummy record."""

    def tally(self, terms: Terms, rows: Iterable[Sequence[int]]) -> Tally:
        """Gather reports."""

    def estimate(self, terms: Terms, tally: Tally) -> Any:
        """Return the estimate from the reports."""


class LdpProtocol(Interface):
    """A protocol of ordinary local differential privacy, with one public budget for all clients; immutable.

    The promise that ``law`` must keep: against ``law(budget, None)``, no record makes any report more than
    e^±budget times as likely.
    """

    kind: ClassVar[str]

    def facts(self) -> Facts:
        """Return the facts from which ``from_facts`` makes the same protocol again."""

    @classmethod
    def from_facts(cls, facts: Facts) -> LdpProtocol:
        """Read a campaign's protocol; refuse what is not one."""

    def fields(self, budget: Fraction) -> tuple[Field, ...]:
        """Return the form of every report; it knows no record."""

    def law(self, budget: Fraction, record: Record | None) -> tuple[Law, ...]:
        """Return the laws of a client's report, one law a field; ``None`` is the dummy record."""

    def tally(self, budget: Fraction, rows: Iterable[Sequence[int]]) -> Tally:
        """Gather reports."""

    def estimate(self, budget: Fraction, tally: Tally) -> Any:
        """Return the estimate for the records that took part.

        A value without bias and the deviation of its noise, or one such pair for each of a study's labels.
        """


@dataclass(frozen=True, slots=True)
class FrameworkProtocol:
    """The paper's general framework: an LDP protocol at one domain's budget; who has less is a dummy.

    Guarantee:
        For every record r, no report is more than e^±(share · E(r)) times as likely as the dummy's.

    Why:
        Below the domain the report is the dummy's own. From it on, the inner protocol loses at most
        share · (the domain's smallest budget), which is at most share · E(r). In full:
        proofs/local.md.
    """

    kind: ClassVar[str] = "framework"

    inner: LdpProtocol
    domain: int

    def facts(self) -> Facts:
        """Return the domain and the inner protocol's facts."""
        return {"domain": self.domain, "inner": {"kind": self.inner.kind, **self.inner.facts()}}

    @classmethod
    def from_facts(cls, facts: Facts) -> FrameworkProtocol:  # noqa: ARG003
        """Refuse: reading the inner protocol needs the list of known ones, see ``protocol_from_facts``."""
        raise InvalidRequest("a framework is read with the protocols that it may hold.")

    def budget(self, terms: Terms) -> Fraction:
        """Return the one budget that the inner protocol has."""
        return terms.domain_loss(self.domain)

    def fields(self, terms: Terms) -> tuple[Field, ...]:
        """Return the inner protocol's form."""
        return self.inner.fields(self.budget(terms))

    def law(self, terms: Terms, own: Own | None) -> tuple[Law, ...]:
        """Return the inner protocol's law; the dummy's below the domain."""
        takes_part = own is not None and own.quanta >= terms.levels.domain_quanta(self.domain)
        return self.inner.law(self.budget(terms), own.record if own and takes_part else None)

    def tally(self, terms: Terms, rows: Iterable[Sequence[int]]) -> Tally:
        """Gather as the inner protocol does."""
        return self.inner.tally(self.budget(terms), rows)

    def estimate(self, terms: Terms, tally: Tally) -> Any:
        """Return the inner protocol's estimate."""
        return self.inner.estimate(self.budget(terms), tally)


@dataclass(frozen=True, slots=True)
class Known:
    """The protocols that a client or an analyst can read from a campaign, by kind."""

    protocols: Mapping[str, type[Protocol]] = field(default_factory=dict)
    inner: Mapping[str, type[LdpProtocol]] = field(default_factory=dict)

    def read(self, facts: object) -> Protocol:
        """Return the protocol that facts describe."""
        kind, rest = _kind(facts)
        if kind == FrameworkProtocol.kind:
            inner, parts = _kind(rest.get("inner"))
            domain = rest.get("domain")
            if inner not in self.inner or type(domain) is not int or domain < 1 or len(rest) != 2:
                raise InvalidRequest(
                    f"a framework of '{shown(inner)}' is not known. Known are {_list(self.inner)}."
                )
            return FrameworkProtocol(self.inner[inner].from_facts(parts), domain)
        if kind not in self.protocols:
            raise InvalidRequest(
                f"the protocol '{shown(kind)}' is not known. Known are {_list(self.protocols)}."
            )
        return self.protocols[kind].from_facts(rest)


def _kind(facts: object) -> tuple[str, dict[str, Any]]:
    if not isinstance(facts, Mapping) or not isinstance(facts.get("kind"), str):
        raise InvalidRequest("a campaign's protocol is a JSON object with a kind.")
    return facts["kind"], {name: fact for name, fact in facts.items() if name != "kind"}


def _list(kinds: Iterable[str]) -> str:
    return ", ".join(sorted(kinds))


Category = str | int
_MAX_DIGITS = 400


def steps_of(record: Record, measure: Measure) -> int:
    """Return a value as whole rounding steps within its public bounds; 0 for what is missing or no number.

    >>> from prdp.cells.measure import Measure
    >>> cents = Measure("price", Fraction(1, 100), low=0, high=500)
    >>> steps_of({"price": 2.5}, cents), steps_of({"price": 99}, cents), steps_of({"price": "dear"}, cents)
    (250, 500, 0)
    """
    value = number_of(record.get(measure.column))
    if value is None:
        return 0
    if isinstance(value, Fraction):
        value = round(value / measure.round_to)
    return int(max(measure.low, min(measure.high, value)))


def number_of(given: object) -> Fraction | float | None:
    """Return a number exactly, an infinity as it is, and None for everything else.

    >>> number_of(0.5), number_of(float("inf")), number_of(True), number_of("7")
    (Fraction(1, 2), inf, None, None)
    """
    if isinstance(given, bool) or not isinstance(given, Real | Decimal):
        return None
    try:
        if isinstance(given, Decimal) and given.is_finite() and abs(given.adjusted()) > _MAX_DIGITS:
            return Fraction(float(given))  # exactly it would take as long as its exponent is large
        if math.isfinite(given):
            return Fraction(given) if isinstance(given, int | Decimal | Fraction) else _fraction(given)
        return None if math.isnan(given) else float(given)
    except (ArithmeticError, ValueError, TypeError):
        return None


def _fraction(given: Real) -> Fraction:
    return Fraction(int(given)) if isinstance(given, Integral) else Fraction(float(given))


def category_of(given: object, places: dict[Category, int]) -> int | None:
    """Return the public category of a value, 1.0 being 1; None for any other value.

    >>> places = {"student": 0, 7: 1}
    >>> category_of("student", places), category_of(7.0, places), category_of("chef", places)
    (0, 1, None)
    """
    if isinstance(given, str):
        return places.get(str.__str__(given))  # of a class of somebody's own: the text alone
    value = number_of(given)
    return places.get(int(value)) if isinstance(value, Fraction) and value.denominator == 1 else None


def bin_of(given: object, edges: Sequence[Fraction]) -> int | None:
    """Return the bin of a value; None for one beyond the edges and for no number.

    As in the central model, an edge belongs to the bin that it begins, and the last one to the last bin.

    >>> edges = [Fraction(0), Fraction(18), Fraction(65)]
    >>> bin_of(17, edges), bin_of(18, edges), bin_of(65, edges), bin_of(66, edges)
    (0, 1, 1, None)
    """
    value = number_of(given)
    if value is None or not edges[0] <= value <= edges[-1]:
        return None
    return min(len(edges) - 2, bisect_right(edges, value) - 1)
