"""Counting clients: the paper's Algorithms 3 and 4, and budget-proportional answers in a second round."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, get_args

from prdp.errors import InvalidRequest
from prdp.local.client.facts import FactReader, column_name, sayable
from prdp.local.protocols.protocol import BIT, Facts, Field, Own, Tally, Terms, column_totals, number_of
from prdp.local.protocols.randomisers import Bit, Law, NoisyValue
from prdp.noise.exponential import digit_count

Noise = Literal["bits", "laplace"]
Threshold = Literal["exact", "paper"]

_MAX_EXPONENT = 700.0
_FAR_ABOVE = 17.0
"""So many deviations: 5 up to the bar at the smallest β, and twice 6 for this draw's noise and another's."""


@dataclass(frozen=True, slots=True)
class DomainCounts:
    """One round's estimates of the number of clients in each of the paper's domains.

    >>> budgets = Fraction(1), Fraction(2), Fraction(4)
    >>> counted = DomainCounts((3.0, 40.0, 25.0), (9.0, 3.0, 4.0), (False, True, True), budgets)
    >>> counted.first, counted.threshold_budget, counted.total, counted.deviation
    (2, Fraction(2, 1), 65.0, 5.0)

    Attributes:
        counts: Estimates without bias, the domain of the smallest budgets first.
        deviations: The standard deviation of each one's noise.
        heavy: Whether a domain's count is more than noise explains.
        budgets: The smallest budget of each domain.
        candidates: How many domains might have been the first heavy one, by their noise: 1 where the first
            audible domain is far above all noise.
    """

    counts: tuple[float, ...]
    deviations: tuple[float, ...]
    heavy: tuple[bool, ...]
    budgets: tuple[Fraction, ...]
    candidates: int = 1

    @property
    def heard(self) -> bool:
        """True if any domain is heavy: else there is nothing but noise."""
        return any(self.heavy)

    @property
    def first(self) -> int:
        """The first heavy domain, counted from 1; the last one where none is. The paper's ℓ."""
        return self.heavy.index(True) + 1 if True in self.heavy else len(self.heavy)

    @property
    def threshold_budget(self) -> Fraction:
        """The smallest budget of the first heavy domain; the paper's ε_τ."""
        return self.budgets[self.first - 1]

    @property
    def total(self) -> float:
        """The count over the domains that are kept."""
        return math.fsum(self.counts[self.first - 1 :])

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise in ``total``."""
        return math.hypot(*self.deviations[self.first - 1 :])


@dataclass(frozen=True, slots=True)
class DomainCount:
    """Algorithm 3: each client says for every domain whether its budget lies there.

    With ``noise="laplace"`` as printed, in discrete Laplace noise; with ``"bits"`` by randomised response,
    which has half the variance for small budgets and far less for large ones.

    Guarantee:
        For every record r, no report is more than e^±(share · E(r)) times as likely as the dummy's.

    Why:
        A record differs from the dummy in the coordinate of its own domain, whose noise is made for the
        domain's smallest budget. In full: proofs/local_bit.md and proofs/local_laplace.md.

    Attributes:
        noise: Of which kind.
        column: If given, clients without a number in it answer as the dummy: what a mean divides by.
    """

    kind: ClassVar[str] = "count by domain"

    noise: Noise = "bits"
    column: str | None = None

    def __post_init__(self) -> None:
        if self.noise not in get_args(Noise):
            raise InvalidRequest(f"noise={self.noise!r} is not known: write 'bits' or 'laplace'.")
        if self.column is not None:
            column_name(self.column)

    def facts(self) -> Facts:
        """Return the kind of noise, and the column if there is one."""
        return {"noise": self.noise, **({} if self.column is None else {"column": self.column})}

    @classmethod
    def from_facts(cls, facts: Facts) -> DomainCount:
        """Read ``facts``."""
        with FactReader(facts) as read:
            column = read.text("column") if "column" in facts else None
            return cls(read.word("noise", get_args(Noise)), column)

    def fields(self, terms: Terms) -> tuple[Field, ...]:
        """Return one field a domain."""
        domains = range(1, terms.levels.domains + 1)
        if self.noise == "bits":
            return tuple(BIT for _ in domains)
        return tuple(noisy_field(self.scale(terms, domain), 1) for domain in domains)

    def law(self, terms: Terms, own: Own | None) -> tuple[Law, ...]:
        """Return one law a domain; they differ from the dummy's in the own one."""
        here = terms.levels.domain(own.quanta) if own and self._counts(own) else None
        domains = range(1, terms.levels.domains + 1)
        return tuple(self.coordinate(terms, domain, domain == here) for domain in domains)

    def _counts(self, own: Own) -> bool:
        return self.column is None or number_of(own.record.get(self.column)) is not None

    def coordinate(self, terms: Terms, domain: int, here: bool) -> Bit | NoisyValue:
        """Return the law of one domain, for a client whose budget lies there or does not."""
        if self.noise == "bits":
            return Bit.of(terms.domain_loss(domain), part=int(here))
        return NoisyValue(int(here), self.scale(terms, domain))

    def scale(self, terms: Terms, domain: int) -> Fraction:
        """Return the scale of a domain's discrete Laplace noise."""
        return 1 / terms.domain_loss(domain)

    def tally(self, terms: Terms, rows: Iterable[Sequence[int]]) -> Tally:
        """Add up every domain."""
        return column_totals(rows, terms.levels.domains)

    def estimate(
        self, terms: Terms, tally: Tally, *, beta: float = 0.1, threshold: Threshold = "exact"
    ) -> DomainCounts:
        """Run Algorithm 4.

        Args:
            terms: The campaign's.
            tally: Of all reports.
            beta: With this chance at most, an empty domain is taken for a heavy one.
            threshold: ``"exact"`` for the quantile of the noise's own law, ``"paper"`` for √(8n)·ln(L/β)/ε.
        """
        n, domains = tally.clients, range(1, terms.levels.domains + 1)
        losses = [float(terms.domain_loss(domain)) for domain in domains]
        audible = self._audible(terms, n, beta)
        if self.noise == "bits":
            counts = [bits_estimate(total, n, loss) for total, loss in zip(tally.totals, losses, strict=True)]
            deviations = [bits_deviation(n, loss) for loss in losses]
        else:
            counts = [float(total) for total in tally.totals]
            deviations = [laplace_deviation(n, 1 / loss) for loss in losses]
        if threshold == "paper":
            reach = math.sqrt(8 * n) * math.log(len(losses) / beta)
            audible = [n >= reach / loss for loss in losses]
            heavy = [count >= reach / loss for count, loss in zip(counts, losses, strict=True)]
        else:
            heavy = self._heavy(terms, tally, beta, audible)
        budgets = [terms.levels.domain_quanta(domain) * terms.levels.quantum for domain in domains]
        far = [count >= _FAR_ABOVE * noise for count, noise in zip(counts, deviations, strict=True)]
        return DomainCounts(
            tuple(counts), tuple(deviations), tuple(heavy), tuple(budgets), _candidates(audible, heavy, far)
        )

    def _audible(self, terms: Terms, n: int, beta: float) -> list[bool]:
        """Return the domains that could exceed the noise if all n clients were in them."""
        domains = range(1, terms.levels.domains + 1)
        full = [n / (1 + math.exp(-float(terms.domain_loss(domain)))) for domain in domains]
        if self.noise == "laplace":
            full = [n for _ in domains]
        chance = beta / len(domains)
        return [self._quantile(terms, domain, n, chance) <= full[domain - 1] for domain in domains]

    def _heavy(self, terms: Terms, tally: Tally, beta: float, audible: Sequence[bool]) -> list[bool]:
        """Return the domains that have more than noise explains.

        A domain that would not pass even with all n clients in it has nothing to say, and need not share in
        β.
        """
        n, domains = tally.clients, range(1, terms.levels.domains + 1)
        chance = beta / max(1, sum(audible))
        return [
            heard and total >= self._quantile(terms, domain, n, chance)
            for domain, total, heard in zip(domains, tally.totals, audible, strict=True)
        ]

    def _quantile(self, terms: Terms, domain: int, n: int, chance: float) -> int:
        # The analyst's side needs NumPy, and a client must not.
        from prdp.local.analyst.thresholds import heads_threshold, laplace_threshold  # noqa: PLC0415

        if self.noise == "bits":
            return heads_threshold(n, float(terms.domain_loss(domain)), chance)
        return laplace_threshold(n, self.scale(terms, domain), chance)


@dataclass(frozen=True, slots=True)
class ProportionalCount:
    """Each client tells one bit, lifted by as much as its own budget allows, up to a public most.

    Guarantee:
        For every record r, no report is more than e^±(share · E(r)) times as likely as the dummy's.

    Why:
        A ``Bit`` with the record's own loss for its lift. In full: proofs/local_bit.md.

    Attributes:
        budget: Records with this budget or more count in full, others (e^E - 1)/(e^budget - 1) times.
    """

    kind: ClassVar[str] = "count in proportion"

    budget: Fraction

    def __post_init__(self) -> None:
        sayable(self.budget, "budget")

    def facts(self) -> Facts:
        """Return the budget that counts in full."""
        return {"budget": str(self.budget)}

    @classmethod
    def from_facts(cls, facts: Facts) -> ProportionalCount:
        """Read ``facts``."""
        with FactReader(facts) as read:
            return cls(read.positive("budget"))

    def fields(self, terms: Terms) -> tuple[Field, ...]:  # noqa: ARG002  (one bit whatever the terms)
        """Return the one bit's form."""
        return (BIT,)

    def law(self, terms: Terms, own: Own | None) -> tuple[Law, ...]:
        """Return the one bit."""
        loss = terms.share * self.budget
        if own is None:
            return (Bit.of(loss),)
        return (Bit.of(loss, part=1, lift=terms.loss(own.quanta)),)

    def tally(self, terms: Terms, rows: Iterable[Sequence[int]]) -> Tally:  # noqa: ARG002
        """Count the bits that are 1."""
        return column_totals(rows, 1)

    def estimate(self, terms: Terms, tally: Tally) -> tuple[float, float]:
        """Return the sum of the weights, and the standard deviation of its noise."""
        loss = float(terms.share * self.budget)
        return bits_estimate(tally.totals[0], tally.clients, loss), bits_deviation(tally.clients, loss)


def _candidates(audible: Sequence[bool], heavy: Sequence[bool], far: Sequence[bool]) -> int:
    """Return among how many domains the first heavy one was chosen.

    None beyond the first domain that is so far above its noise that it is heavy in all but one of a billion
    draws: proofs/local.md.

    >>> _candidates((True,) * 4, (False, True, True, True), (False, False, True, True))
    3
    """
    surely = (place for place, both in enumerate(zip(heavy, far, strict=True)) if all(both))
    return max(1, sum(audible[: next(surely, len(audible)) + 1]))


def noisy_field(scale: Fraction, most: int) -> Field:
    """Return a field for integers up to ``most`` in discrete Laplace noise.

    A draw that does not fit has a chance below 2^-127 and is moved to the nearest end, whatever the record.
    """
    bits = max(digit_count(scale), most.bit_length()) + 2
    return Field(-(1 << (bits - 1)), bits)


def bits_estimate(ones: int, clients: int, loss: float) -> float:
    """Return the sum of parts that makes so many ones the expected number: (ones - n·q)/(1 - 2q)."""
    return (ones - clients / 2) / math.tanh(loss / 2) + clients / 2


def bits_deviation(clients: int, loss: float) -> float:
    """Return the standard deviation of ``bits_estimate`` where every part is 0 or 1."""
    return math.sqrt(clients) / (2 * math.sinh(min(loss / 2, _MAX_EXPONENT)))


def laplace_deviation(clients: int, scale: float) -> float:
    """Return the standard deviation of a sum of discrete Laplace noises: √n / (√2 · sinh(1/(2·scale)))."""
    return math.sqrt(clients) / (math.sqrt(2) * math.sinh(min(1 / (2 * scale), _MAX_EXPONENT)))
