"""Adding up a column: in one round by ratio, in two by budget-proportional clipping, or as ordinary LDP does it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, get_args

from prdp.errors import InvalidRequest
from prdp.local.counting import bits_deviation, bits_estimate, laplace_deviation, noisy_field
from prdp.local.facts import Reader
from prdp.local.protocol import BIT, Facts, Field, Own, Record, Tally, Terms, column_totals
from prdp.local.randomisers import Bit, Law, Noisy
from prdp.local.values import steps_of
from prdp.query import Measure

Form = Literal["bit", "laplace"]


def measure_facts(measure: Measure) -> dict[str, object]:
    """Return a column's public facts as JSON."""
    ends = {"low": measure.low, "high": measure.high}
    return {"column": measure.column, "unit": str(measure.unit), **ends}


def read_measure(read: Reader) -> Measure:
    """Read a column's public facts."""
    measure = Measure(read.text("column"), read.positive("unit"), read.whole("low"), read.whole("high"))
    if measure.low > measure.high:
        raise InvalidRequest("a campaign's 'low' is at most its 'high'.")
    return measure


@dataclass(frozen=True, slots=True)
class Octaves:
    """What one round says of a row of octaves, the smallest first.

    Attributes:
        totals: Estimates without bias: a sum, a budget mass or a number of clients each.
        deviations: The standard deviation of each one's noise.
        heavy: Whether a total is more than noise explains.
    """

    totals: tuple[float, ...]
    deviations: tuple[float, ...]
    heavy: tuple[bool, ...]

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
class Ratios:
    """The public octaves of |value| / budget; a record's octave j is the least with |value| ≤ slope(j) · budget."""

    terms: Terms
    measure: Measure

    @property
    def count(self) -> int:
        """How many there are: as many as the largest value at the smallest budget needs."""
        least = self.terms.levels.quanta(0) * self.terms.levels.quantum
        return _octave(self.measure.largest / (least * self.slope(0))) + 1

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
        return _octave(abs(value) / (budget * self.slope(0))) if value else None


def _octave(ratio: Fraction) -> int:
    """Return the least j ≥ 0 with ratio ≤ 2^j."""
    return max(0, (math.ceil(ratio) - 1).bit_length())


@dataclass(frozen=True, slots=True)
class RatioSum:
    """A sum in one round: each client tells its value in the octave of its ratio |value| / budget, and noise in all.

    Guarantee:
        For every record r, no report is more than e^±(share · E(r)) times as likely as the dummy's.

    Why:
        A record differs from the dummy in one coordinate, by |v| ≤ slope · E(r), and the noise there has the scale
        slope / share. In full: proofs/local_laplace.md.
    """

    kind: ClassVar[str] = "sum by ratio"

    measure: Measure

    def facts(self) -> Facts:
        """Return the column's facts."""
        return measure_facts(self.measure)

    @classmethod
    def from_facts(cls, facts: Facts) -> RatioSum:
        """Read ``facts``."""
        with Reader(facts) as read:
            return cls(read_measure(read))

    def scales(self, terms: Terms) -> tuple[Fraction, ...]:
        """Return the scale of each octave's noise."""
        ratios = Ratios(terms, self.measure)
        return tuple(ratios.slope(octave) / terms.share for octave in range(ratios.count))

    def fields(self, terms: Terms) -> tuple[Field, ...]:
        """Return one field an octave."""
        return tuple(noisy_field(scale, self.measure.largest) for scale in self.scales(terms))

    def law(self, terms: Terms, own: Own | None) -> tuple[Law, ...]:
        """Return one law an octave."""
        value, here = Ratios(terms, self.measure).of(own) if own else (0, None)
        return tuple(
            Noisy(value if octave == here else 0, scale) for octave, scale in enumerate(self.scales(terms))
        )

    def tally(self, terms: Terms, rows: Iterable[Sequence[int]]) -> Tally:
        """Add up every octave."""
        return column_totals(rows, len(self.scales(terms)))

    def estimate(self, terms: Terms, tally: Tally, *, beta: float = 0.1) -> Octaves:
        """Return the sums of the octaves; the answer is that of all up to the last heavy one."""
        from prdp.local.thresholds import laplace_threshold  # noqa: PLC0415  (a client has no NumPy)

        scales = self.scales(terms)
        signed = self.measure.low < 0
        chance = beta / len(scales) / (2 if signed else 1)
        heavy = tuple(
            (abs(total) if signed else total) >= laplace_threshold(tally.clients, scale, chance)
            for total, scale in zip(tally.totals, scales, strict=True)
        )
        deviations = tuple(laplace_deviation(tally.clients, float(scale)) for scale in scales)
        return Octaves(tuple(map(float, tally.totals)), deviations, heavy)


@dataclass(frozen=True, slots=True)
class RatioMass:
    """How much budget lies in each octave of |value| / budget: what a clipping point is chosen by.

    Each client tells a bit for every octave; its own is lifted by as much as its budget allows.

    Guarantee:
        For every record r, no report is more than e^±(share · E(r)) times as likely as the dummy's.

    Why:
        One bit differs from the dummy's, and its lift is share · E(r) or less. In full: proofs/local_bit.md.
    """

    kind: ClassVar[str] = "mass by ratio"

    measure: Measure

    def facts(self) -> Facts:
        """Return the column's facts."""
        return measure_facts(self.measure)

    @classmethod
    def from_facts(cls, facts: Facts) -> RatioMass:
        """Read ``facts``."""
        with Reader(facts) as read:
            return cls(read_measure(read))

    def most(self, terms: Terms) -> Fraction:
        """Return the loss that the bits are made for: small, so that a bit's lift grows with the budget."""
        return min(Fraction(1), terms.share * terms.levels.at_most)

    def fields(self, terms: Terms) -> tuple[Field, ...]:
        """Return one bit an octave."""
        return (BIT,) * Ratios(terms, self.measure).count

    def bit(self, terms: Terms, quanta: int) -> Bit:
        """Return the bit of a record's own octave."""
        return Bit.of(self.most(terms), part=1, lift=terms.loss(quanta))

    def law(self, terms: Terms, own: Own | None) -> tuple[Law, ...]:
        """Return one law an octave."""
        ratios, nothing = Ratios(terms, self.measure), Bit.of(self.most(terms))
        _, here = ratios.of(own) if own else (0, None)
        return tuple(
            self.bit(terms, own.quanta) if own and octave == here else nothing
            for octave in range(ratios.count)
        )

    def tally(self, terms: Terms, rows: Iterable[Sequence[int]]) -> Tally:
        """Count every octave's ones."""
        return column_totals(rows, Ratios(terms, self.measure).count)

    def estimate(self, terms: Terms, tally: Tally, *, beta: float = 0.1) -> Octaves:
        """Return Σ (e^loss - 1) for each octave, which is about its budget mass times the share."""
        from prdp.local.thresholds import heads_threshold  # noqa: PLC0415  (a client has no NumPy)

        loss, n = float(self.most(terms)), tally.clients
        weight = math.expm1(loss)
        least = heads_threshold(n, loss, beta / len(tally.totals))
        return Octaves(
            tuple(weight * bits_estimate(ones, n, loss) for ones in tally.totals),
            (weight * bits_deviation(n, loss),) * len(tally.totals),
            tuple(ones >= least for ones in tally.totals),
        )


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

    def facts(self) -> Facts:
        """Return the column's facts and the slope."""
        return {**measure_facts(self.measure), "slope": str(self.slope)}

    @classmethod
    def from_facts(cls, facts: Facts) -> ProportionalSum:
        """Read ``facts``."""
        with Reader(facts) as read:
            return cls(read_measure(read), read.positive("slope"))

    def scale(self, terms: Terms) -> Fraction:
        """Return the scale of the noise, in steps."""
        return self.slope / terms.share

    def limit(self, terms: Terms, quanta: int) -> int:
        """Return where a budget's values are cut, in steps."""
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
        return (Noisy(value, self.scale(terms)),)

    def tally(self, terms: Terms, rows: Iterable[Sequence[int]]) -> Tally:  # noqa: ARG002
        """Add up."""
        return column_totals(rows, 1)

    def estimate(self, terms: Terms, tally: Tally) -> tuple[float, float]:
        """Return the sum of the cut values, and the standard deviation of its noise."""
        return float(tally.totals[0]), laplace_deviation(tally.clients, float(self.scale(terms)))


@dataclass(frozen=True, slots=True)
class ValueOctaves:
    """Ordinary LDP: how many values lie in each doubling; finds the radius that a sum is cut at.

    Guarantee:
        Against the dummy's, no report is more than e^±budget times as likely.

    Why:
        One bit differs, by randomised response at the budget. In full: proofs/local_bit.md.
    """

    kind: ClassVar[str] = "octaves of values"

    measure: Measure

    def facts(self) -> Facts:
        """Return the column's facts."""
        return measure_facts(self.measure)

    @classmethod
    def from_facts(cls, facts: Facts) -> ValueOctaves:
        """Read ``facts``."""
        with Reader(facts) as read:
            return cls(read_measure(read))

    @property
    def count(self) -> int:
        """How many octaves there are; octave j holds the values up to 2^j."""
        return _octave(Fraction(self.measure.largest)) + 1

    def fields(self, budget: Fraction) -> tuple[Field, ...]:  # noqa: ARG002
        """Return one bit an octave."""
        return (BIT,) * self.count

    def law(self, budget: Fraction, record: Record | None) -> tuple[Law, ...]:
        """Return one law an octave."""
        value = abs(steps_of(record, self.measure)) if record is not None else 0
        here = _octave(Fraction(value)) if value else None
        return tuple(Bit.of(budget, part=int(octave == here)) for octave in range(self.count))

    def tally(self, budget: Fraction, rows: Iterable[Sequence[int]]) -> Tally:  # noqa: ARG002
        """Count every octave's ones."""
        return column_totals(rows, self.count)

    def estimate(self, budget: Fraction, tally: Tally, *, beta: float = 0.1) -> Octaves:
        """Return how many values each octave holds."""
        from prdp.local.thresholds import heads_threshold  # noqa: PLC0415  (a client has no NumPy)

        loss, n = float(budget), tally.clients
        least = heads_threshold(n, loss, beta / self.count)
        return Octaves(
            tuple(bits_estimate(ones, n, loss) for ones in tally.totals),
            (bits_deviation(n, loss),) * self.count,
            tuple(ones >= least for ones in tally.totals),
        )


@dataclass(frozen=True, slots=True)
class ClippedSum:
    """Ordinary LDP: the value, cut at a public limit, in one bit or in discrete Laplace noise.

    Guarantee:
        Against the dummy's, no report is more than e^±budget times as likely.

    Why:
        A ``Bit`` made for the budget, or noise of scale limit / budget. In full: proofs/local_bit.md, local_laplace.md.
    """

    kind: ClassVar[str] = "clipped sum"

    measure: Measure
    limit: int
    form: Form = "bit"

    def __post_init__(self) -> None:
        if self.limit < 1 or self.form not in get_args(Form):
            raise InvalidRequest("a clipped sum needs a limit of 1 or more and the form 'bit' or 'laplace'.")
        if self.form == "bit" and self.measure.low < 0:
            raise InvalidRequest("one bit tells values from 0 on: for negative ones write form='laplace'.")

    def facts(self) -> Facts:
        """Return the column's facts, the limit and the form."""
        return {**measure_facts(self.measure), "limit": self.limit, "form": self.form}

    @classmethod
    def from_facts(cls, facts: Facts) -> ClippedSum:
        """Read ``facts``."""
        with Reader(facts) as read:
            return cls(read_measure(read), read.whole("limit"), read.text("form"))  # type: ignore[arg-type]

    def fields(self, budget: Fraction) -> tuple[Field, ...]:
        """Return the one bit's or the one number's form."""
        return (BIT,) if self.form == "bit" else (noisy_field(self.limit / budget, self.limit),)

    def law(self, budget: Fraction, record: Record | None) -> tuple[Law, ...]:
        """Return the one bit or the one noisy number."""
        value = steps_of(record, self.measure) if record is not None else 0
        cut = max(-self.limit, min(self.limit, value))
        if self.form == "bit":
            return (Bit.of(budget, part=Fraction(cut, self.limit)),)
        return (Noisy(cut, self.limit / budget),)

    def tally(self, budget: Fraction, rows: Iterable[Sequence[int]]) -> Tally:  # noqa: ARG002
        """Add up."""
        return column_totals(rows, 1)

    def estimate(self, budget: Fraction, tally: Tally) -> tuple[float, float]:
        """Return the sum of the cut values, and the standard deviation of its noise or more."""
        n, loss = tally.clients, float(budget)
        if self.form == "laplace":
            return float(tally.totals[0]), laplace_deviation(n, self.limit / loss)
        spread = math.sqrt(n) / (2 * math.tanh(loss / 2))
        return self.limit * bits_estimate(tally.totals[0], n, loss), self.limit * spread


SUMMING: Mapping[str, type[RatioSum | RatioMass | ProportionalSum]] = {
    kind.kind: kind for kind in (RatioSum, RatioMass, ProportionalSum)
}
SUMMING_LDP: Mapping[str, type[ValueOctaves | ClippedSum]] = {
    kind.kind: kind for kind in (ValueOctaves, ClippedSum)
}
