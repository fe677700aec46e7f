"""Add up a column as ordinary LDP does, for ``FrameworkProtocol``: find a radius, send values cut at it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, get_args

from prdp.cells.measure import Measure
from prdp.errors import InvalidRequest
from prdp.local.client.facts import FactReader
from prdp.local.protocols.counting import bits_deviation, bits_estimate, laplace_deviation, noisy_field
from prdp.local.protocols.protocol import BIT, Facts, Field, Record, Tally, column_totals, steps_of
from prdp.local.protocols.randomisers import Bit, Law, NoisyValue
from prdp.local.protocols.summing import Octaves, OfOneColumn, measure_facts, octave_of, read_measure

Form = Literal["bit", "laplace"]


@dataclass(frozen=True, slots=True)
class ValueOctaves(OfOneColumn):
    """Ordinary LDP: how many values lie in each doubling; finds the radius that a sum is cut at.

    Guarantee:
        Against the dummy's, no report is more than e^±budget times as likely.

    Why:
        One bit differs, by randomised response at the budget. In full: proofs/local_bit.md.
    """

    kind: ClassVar[str] = "octaves of values"

    @property
    def count(self) -> int:
        """The number of octaves; octave j holds the values up to 2^j."""
        return octave_of(Fraction(self.measure.largest)) + 1

    def fields(self, budget: Fraction) -> tuple[Field, ...]:  # noqa: ARG002
        """Return one bit an octave."""
        return (BIT,) * self.count

    def law(self, budget: Fraction, record: Record | None) -> tuple[Law, ...]:
        """Return one law an octave."""
        value = abs(steps_of(record, self.measure)) if record is not None else 0
        here = octave_of(Fraction(value)) if value else None
        return tuple(Bit.of(budget, part=int(octave == here)) for octave in range(self.count))

    def tally(self, budget: Fraction, rows: Iterable[Sequence[int]]) -> Tally:  # noqa: ARG002
        """Count every octave's ones."""
        return column_totals(rows, self.count)

    def estimate(self, budget: Fraction, tally: Tally, *, beta: float = 0.1) -> Octaves:
        """Return the number of values in each octave."""
        from prdp.local.analyst.thresholds import heads_threshold  # noqa: PLC0415  (a client has no NumPy)

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
        A ``Bit`` made for the budget, or noise of scale limit / budget. In full: proofs/local_bit.md,
        local_laplace.md.
    """

    kind: ClassVar[str] = "clipped sum"

    measure: Measure
    limit: int
    form: Form = "bit"

    def __post_init__(self) -> None:
        if self.limit < 1 or self.form not in get_args(Form):
            raise InvalidRequest("a clipped sum needs a limit of 1 or more and the form 'bit' or 'laplace'.")
        if self.form == "bit" and self.measure.low < 0:
            raise InvalidRequest("one bit reports values from 0 on: for negative ones write form='laplace'.")

    def facts(self) -> Facts:
        """Return the column's facts, the limit and the form."""
        return {**measure_facts(self.measure), "limit": self.limit, "form": self.form}

    @classmethod
    def from_facts(cls, facts: Facts) -> ClippedSum:
        """Read ``facts``."""
        with FactReader(facts) as read:
            return cls(read_measure(read), read.whole("limit"), read.word("form", get_args(Form)))

    def fields(self, budget: Fraction) -> tuple[Field, ...]:
        """Return the one bit's or the one number's form."""
        return (BIT,) if self.form == "bit" else (noisy_field(self.limit / budget, self.limit),)

    def law(self, budget: Fraction, record: Record | None) -> tuple[Law, ...]:
        """Return the one bit or the one noisy number."""
        value = steps_of(record, self.measure) if record is not None else 0
        cut = max(-self.limit, min(self.limit, value))
        if self.form == "bit":
            return (Bit.of(budget, part=Fraction(cut, self.limit)),)
        return (NoisyValue(cut, self.limit / budget),)

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
