"""Adding up a column within each client's own budget: in one round by ratio, or in two by proportion."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

from prdp.cells.measure import Measure
from prdp.declare.exact import Exact, exact
from prdp.errors import InvalidRequest
from prdp.local.client.facts import FactReader, column_name, sayable
from prdp.local.protocols.counting import bits_deviation, bits_estimate, laplace_deviation, noisy_field
from prdp.local.protocols.protocol import BIT, Facts, Field, Own, Tally, Terms, column_totals, steps_of
from prdp.local.protocols.randomisers import Bit, Law, NoisyValue

_FINEST = 1e-9


def graded(audible: Sequence[bool], beta: float) -> tuple[float, ...]:
    """Return the chance with which each octave may be taken for a heavy one while it is empty.

    They add up to β over the octaves that all clients together could fill. Each is 2^-1/2 of that below it:
    an octave that is heard in error doubles the noise for every step that it is too high. 0 where nothing can
    be heard; else 1e-9 at least, below which thresholds are not computed.

    >>> [round(chance, 4) for chance in graded((True, False, True, True), 0.1)]
    [0.0453, 0.0, 0.032, 0.0227]
    """
    weights: list[float] = []
    below = 0
    for hears in audible:
        weights.append(2 ** (-below / 2) if hears else 0.0)
        below += hears
    whole = sum(weights)
    return tuple(max(_FINEST, beta * weight / whole) if weight else 0.0 for weight in weights)


def reaching_up(
    heavy: Sequence[bool], ratios: Sequence[float], audible: Sequence[bool], louder: float
) -> tuple[bool, ...]:
    """Return the octaves that count as heavy: also those right above the last one, as long as they are loud.

    Where one octave is full, the next one is seldom empty: a total of ``louder`` deviations is enough there.

    >>> reaching_up((False, True, False, False, False), (0, 9, 2.5, 1, 9), (True,) * 5, louder=2)
    (False, True, True, False, False)
    """
    found = list(heavy)
    place = max((place for place, one in enumerate(heavy) if one), default=len(found)) + 1
    while place < len(found) and audible[place] and ratios[place] >= louder:
        found[place] = True
        place += 1
    return tuple(found)


_LARGEST = 10**40

_LOUD_SUM, _LOUD_MASS = 1.4, 2.0
"""Minimum number of deviations of an octave above a heavy one; fixed on synthetic sets."""


def measure_facts(measure: Measure) -> dict[str, object]:
    """Return a column's public facts as JSON."""
    ends = {"low": measure.low, "high": measure.high}
    return {"column": measure.column, "unit": str(measure.round_to), **ends}  # "unit" on the wire


def read_measure(read: FactReader) -> Measure:
    """Read a column's public facts."""
    return checked_measure(
        Measure(read.text("column"), read.positive("unit"), read.whole("low"), read.whole("high"))
    )


def measured(column: str, low: Exact, high: Exact, round_to: Exact = 1) -> Measure:
    """Return a column to add up, from public bounds in values and the step that values are rounded to.

    >>> measured("income", 0, "1e6", round_to="1/100").high
    100000000
    """
    step, ends = exact(round_to, "round_to"), (exact(low, "low"), exact(high, "high"))
    if step <= 0:
        raise InvalidRequest(f"round_to={round_to!r} is not more than 0.")
    least, most = (round(end / step) for end in ends)
    return checked_measure(Measure(column, step, least, most))


def checked_measure(given: Measure) -> Measure:
    """Return a measure with exact numbers; refuse what a campaign could not say."""
    if not isinstance(given, Measure):
        raise InvalidRequest(f"measure={given!r} is no measure: write measured('income', 0, 10000).")
    round_to, low, high = (exact(getattr(given, name), name) for name in ("round_to", "low", "high"))
    if round_to <= 0:
        raise InvalidRequest(f"round_to={given.round_to!r} is not more than 0.")
    if low.denominator != 1 or high.denominator != 1 or max(abs(low), abs(high)) > _LARGEST:
        raise InvalidRequest(
            f"low={given.low!r}, high={given.high!r}: a measure's bounds are whole numbers of rounding "
            "steps, up to "
            "1e40. measured(column, low, high, rounding step) takes bounds in values."
        )
    if low > high:
        raise InvalidRequest(f"low={given.low!r} is more than high={given.high!r}.")
    sayable(round_to, "round_to")
    return replace(given, column=column_name(given.column), round_to=round_to, low=int(low), high=int(high))


@dataclass(frozen=True, slots=True)
class Octaves:
    """One round's estimates for octaves, the smallest first.

    Attributes:
        totals: Estimates without bias: a sum, a budget mass or a number of clients each.
        deviations: The standard deviation of each one's noise.
        heavy: Whether a total is more than noise explains.
    """

    totals: tuple[float, ...]
    deviations: tuple[float, ...]
    heavy: tuple[bool, ...]

    @property
    def heard(self) -> bool:
        """True if any octave is heavy: else there is nothing but noise."""
        return any(self.heavy)

    @property
    def top(self) -> int:
        """The last heavy octave; the first one where none is heavy."""
        return max((place for place, heavy in enumerate(self.heavy) if heavy), default=0)

    @property
    def total(self) -> float:
        """The total of the octaves up to the last heavy one."""
        return math.fsum(self.totals[: self.top + 1])

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise in ``total``."""
        return math.hypot(*self.deviations[: self.top + 1])


@dataclass(frozen=True, slots=True)
class RatioGrid:
    """The public octaves of |value| / budget: a record's is the least j with |value| ≤ slope(j) · budget."""

    terms: Terms
    measure: Measure

    @property
    def count(self) -> int:
        """The number of octaves: as many as the largest value at the smallest budget needs."""
        least = self.terms.levels.quanta(0) * self.terms.levels.quantum
        return octave_of(self.measure.largest / (least * self.slope(0))) + 1

    def slope(self, octave: int) -> Fraction:
        """Return the upper end of an octave, in steps for a budget of 1."""
        return self.measure.smallest * (1 << octave) / self.terms.levels.at_most

    def of(self, own: Own) -> tuple[int, int | None]:
        """Return a record's value and its octave; None for a value of zero."""
        value = steps_of(own.record, self.measure)
        return value, self.octave(value, own.quanta)

    def octave(self, value: int, quanta: int) -> int | None:
        """Return the octave of a value at a budget; None for a value of zero."""
        budget = quanta * self.terms.levels.quantum
        return octave_of(abs(value) / (budget * self.slope(0))) if value else None


def audible(most: Sequence[float] | None, clients: int, deviations: Sequence[float]) -> tuple[bool, ...]:
    """Return the octaves that all clients together could fill beyond their noise; all if unknown."""
    if most is None:
        return (True,) * len(deviations)
    return tuple(clients * each > noise for each, noise in zip(most, deviations, strict=True))


def octave_of(ratio: Fraction) -> int:
    """Return the least j ≥ 0 with ratio ≤ 2^j."""
    return max(0, (math.ceil(ratio) - 1).bit_length())


@dataclass(frozen=True, slots=True)
class OfOneColumn:
    """A protocol whose only facts are those of the column that it reads."""

    measure: Measure

    def facts(self) -> Facts:
        """Return the column's facts."""
        return measure_facts(self.measure)

    @classmethod
    def from_facts(cls, facts: Facts) -> Self:
        """Read ``facts``."""
        with FactReader(facts) as read:
            return cls(read_measure(read))


@dataclass(frozen=True, slots=True)
class RatioSum(OfOneColumn):
    """A sum in one round: each client tells its value in the octave of |value| / budget, and noise in all.

    Guarantee:
        For every record r, no report is more than e^±(share · E(r)) times as likely as the dummy's.

    Why:
        A record differs from the dummy in one coordinate, by |v| ≤ slope · E(r), and the noise there has the
        scale slope / share. In full: proofs/local_laplace.md.
    """

    kind: ClassVar[str] = "sum by ratio"

    def scales(self, terms: Terms) -> tuple[Fraction, ...]:
        """Return the scale of each octave's noise."""
        ratios = RatioGrid(terms, self.measure)
        return tuple(ratios.slope(octave) / terms.share for octave in range(ratios.count))

    def fields(self, terms: Terms) -> tuple[Field, ...]:
        """Return one field an octave."""
        return tuple(noisy_field(scale, self.measure.largest) for scale in self.scales(terms))

    def law(self, terms: Terms, own: Own | None) -> tuple[Law, ...]:
        """Return one law an octave."""
        value, here = RatioGrid(terms, self.measure).of(own) if own else (0, None)
        scales = enumerate(self.scales(terms))
        return tuple(NoisyValue(value if octave == here else 0, scale) for octave, scale in scales)

    def tally(self, terms: Terms, rows: Iterable[Sequence[int]]) -> Tally:
        """Add up every octave."""
        return column_totals(rows, len(self.scales(terms)))

    def estimate(
        self, terms: Terms, tally: Tally, *, beta: float = 0.1, most: Sequence[float] | None = None
    ) -> Octaves:
        """Return the sums of the octaves; the answer is that of all up to the last heavy one.

        Args:
            terms: The campaign's.
            tally: Of all reports.
            beta: With this chance at most, an empty octave is taken for a heavy one.
            most: The largest value that a record of each octave can have, where that is known.
        """
        from prdp.local.analyst.thresholds import laplace_threshold  # noqa: PLC0415  (a client has no NumPy)
        from prdp.local.protocols.summing import graded, reaching_up  # noqa: PLC0415

        scales, n = self.scales(terms), tally.clients
        deviations = tuple(laplace_deviation(n, float(scale)) for scale in scales)
        heard = audible(most, n, deviations)
        signed = self.measure.low < 0
        chances = graded(heard, beta / 2 if signed else beta)
        sizes = [abs(total) if signed else total for total in tally.totals]
        heavy = [
            hears and size >= laplace_threshold(n, scale, chance)
            for size, scale, hears, chance in zip(sizes, scales, heard, chances, strict=True)
        ]
        ratios = [size / max(noise, 1e-300) for size, noise in zip(sizes, deviations, strict=True)]
        reached = reaching_up(heavy, ratios, heard, _LOUD_SUM)
        return Octaves(tuple(map(float, tally.totals)), deviations, reached)


@dataclass(frozen=True, slots=True)
class RatioMass(OfOneColumn):
    """Measure the budget in each octave of |value| / budget, by which a clipping point is chosen.

    Each client tells a bit for every octave; its own is lifted by as much as its budget allows.

    Guarantee:
        For every record r, no report is more than e^±(share · E(r)) times as likely as the dummy's.

    Why:
        One bit differs from the dummy's, and its lift is share · E(r) or less. In full: proofs/local_bit.md.
    """

    kind: ClassVar[str] = "mass by ratio"

    def most(self, terms: Terms) -> Fraction:
        """Return the loss that the bits are made for: small, so that a bit's lift grows with the budget."""
        return min(Fraction(1), terms.share * terms.levels.at_most)

    def fields(self, terms: Terms) -> tuple[Field, ...]:
        """Return one bit an octave."""
        return (BIT,) * RatioGrid(terms, self.measure).count

    def bit(self, terms: Terms, quanta: int) -> Bit:
        """Return the bit of a record's own octave."""
        return Bit.of(self.most(terms), part=1, lift=terms.loss(quanta))

    def law(self, terms: Terms, own: Own | None) -> tuple[Law, ...]:
        """Return one law an octave."""
        ratios, nothing = RatioGrid(terms, self.measure), Bit.of(self.most(terms))
        _, here = ratios.of(own) if own else (0, None)
        return tuple(
            self.bit(terms, own.quanta) if own and octave == here else nothing
            for octave in range(ratios.count)
        )

    def tally(self, terms: Terms, rows: Iterable[Sequence[int]]) -> Tally:
        """Count every octave's ones."""
        return column_totals(rows, RatioGrid(terms, self.measure).count)

    def estimate(
        self, terms: Terms, tally: Tally, *, beta: float = 0.1, most: Sequence[float] | None = None
    ) -> Octaves:
        """Return Σ (e^loss - 1) for each octave, which is about its budget mass times the share.

        Args:
            terms: The campaign's.
            tally: Of all reports.
            beta: With this chance at most, an empty octave is taken for a heavy one.
            most: The largest budget that a record of each octave can have, where that is known.
        """
        from prdp.local.analyst.thresholds import heads_threshold  # noqa: PLC0415  (a client has no NumPy)
        from prdp.local.protocols.summing import graded, reaching_up  # noqa: PLC0415

        loss, n = float(self.most(terms)), tally.clients
        weight = math.expm1(loss)
        deviations = (weight * bits_deviation(n, loss),) * len(tally.totals)
        masses = most and [math.expm1(min(loss, float(terms.share) * budget)) for budget in most]
        heard = audible(masses, n, deviations)
        heavy = [
            hears and ones >= heads_threshold(n, loss, chance)
            for ones, hears, chance in zip(tally.totals, heard, graded(heard, beta), strict=True)
        ]
        totals = tuple(weight * bits_estimate(ones, n, loss) for ones in tally.totals)
        ratios = [total / max(noise, 1e-300) for total, noise in zip(totals, deviations, strict=True)]
        return Octaves(totals, deviations, reaching_up(heavy, ratios, heard, _LOUD_MASS))


@dataclass(frozen=True, slots=True)
class ProportionalSum:
    """Each client tells its value, cut at ``slope`` times its own budget, in noise that is the same for all.

    Guarantee:
        For every record r, no report is more than e^±(share · E(r)) times as likely as the dummy's.

    Why:
        |value| ≤ slope · E(r), and the noise has the scale slope / share. In full: proofs/local_laplace.md.
    """

    kind: ClassVar[str] = "sum in proportion"

    measure: Measure
    slope: Fraction

    def __post_init__(self) -> None:
        sayable(self.slope, "slope")

    def facts(self) -> Facts:
        """Return the column's facts and the slope."""
        return {**measure_facts(self.measure), "slope": str(self.slope)}

    @classmethod
    def from_facts(cls, facts: Facts) -> ProportionalSum:
        """Read ``facts``."""
        with FactReader(facts) as read:
            return cls(read_measure(read), read.positive("slope"))

    def scale(self, terms: Terms) -> Fraction:
        """Return the scale of the noise, in steps."""
        return self.slope / terms.share

    def limit(self, terms: Terms, quanta: int) -> int:
        """Return the cut of values of a budget, in steps."""
        return math.floor(self.slope * quanta * terms.levels.quantum)

    def fields(self, terms: Terms) -> tuple[Field, ...]:
        """Return the one number's form."""
        return (noisy_field(self.scale(terms), self.measure.largest),)

    def law(self, terms: Terms, own: Own | None) -> tuple[Law, ...]:
        """Return the one noisy number."""
        value = 0
        if own is not None:
            limit = self.limit(terms, own.quanta)
            value = max(-limit, min(limit, steps_of(own.record, self.measure)))
        return (NoisyValue(value, self.scale(terms)),)

    def tally(self, terms: Terms, rows: Iterable[Sequence[int]]) -> Tally:  # noqa: ARG002
        """Add up."""
        return column_totals(rows, 1)

    def estimate(self, terms: Terms, tally: Tally) -> tuple[float, float]:
        """Return the sum of the cut values, and the standard deviation of its noise."""
        return float(tally.totals[0]), laplace_deviation(tally.clients, float(self.scale(terms)))
