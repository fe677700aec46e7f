"""The largest or smallest value: one range out of all, chosen by the budget mass beyond it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from prdp.cells.cell import CellKey, magnitude_key, magnitudes
from prdp.cells.columns import totals_at
from prdp.cells.summary import Summary
from prdp.grids import PER_OCTAVE
from prdp.mechanisms._mechanism import beyond
from prdp.noise.choice import ExponentialChoice
from prdp.noise.entropy import Entropy
from prdp.release.drawn import Answer


@dataclass(frozen=True, slots=True)
class Range:
    """Values that are one candidate: from ``first`` to ``last``, in steps.

    Attributes:
        first: The least value.
        last: The greatest value.
        steps: How far its magnitude lies above the smallest one that the bounds allow, in parts of an octave.
        key: What the cells of its records have in common but for the budget.
    """

    first: int
    last: int
    steps: int
    key: CellKey


@dataclass(frozen=True, slots=True)
class Choice:
    """Choose a range by how little budget mass lies beyond it; answer with its far end.

    Guarantee:
        For every record r, the answer is (share · E(r))-indistinguishable between the table with
        r and the table without it.

    Why:
        Adding r raises the mass beyond each range by 0 or by E(r), so the weight exp(-share · mass) of
        every range, and their sum, fall by a factor of at most exp(share · E(r)).
        In full: proofs/choice.md.

    Attributes:
        low: The least value that the public bounds allow, in steps.
        high: The greatest one.
        lowest: Whether the smallest value is asked for.
        fall: By how much the log-weight falls with each octave of magnitude: what keeps answers from
            running away from the data.
    """

    low: int
    high: int
    lowest: bool = False
    fall: Fraction = Fraction(5)

    name = "choice"

    def caveat(self, *, signed: bool) -> str:  # noqa: ARG002  (the same for both)
        """Return what the range does not cover."""
        side = "below" if self.lowest else "above"
        return f"well protected records may lie {side} it, and it may lie {side} all records itself"

    def ranges(self, largest: int) -> tuple[Range, ...]:
        """Return the candidates, those first that are preferred while nothing is known."""
        return _ranges(self.low, self.high, largest, lowest=self.lowest)

    def law(self, summary: Summary, share: Fraction) -> ExponentialChoice:
        """Return the distribution of the range that is chosen."""
        ranges = self.ranges(summary.largest)
        keys = (candidate.key for candidate in ranges)
        places = {(key.low, key.high, key.sign): place for place, key in enumerate(keys)}
        cells = summary.valued().cells
        masses = totals_at(cells.by_magnitude(places.__getitem__), cells.masses(1), len(ranges))
        # Penalties are whole multiples of the least common part of a step's and a quantum's price.
        step, quantum = self.fall / PER_OCTAVE, share * summary.levels.quantum
        per_step, per_quantum = step.numerator * quantum.denominator, quantum.numerator * step.denominator
        return ExponentialChoice(
            tuple(
                per_step * candidate.steps + per_quantum * mass
                for candidate, mass in zip(ranges, beyond(masses), strict=True)
            ),
            unit=Fraction(1, step.denominator * quantum.denominator),
        )

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        """Draw independent answers."""
        ranges = self.ranges(summary.largest)
        answers = []
        for place in self.law(summary, share).draw(entropy, runs):
            first, last = ranges[place].first, ranges[place].last
            value = first if self.lowest else last
            answers.append(Answer(value, Fraction(1), (), (), ends=(first, last)))
        return answers


@lru_cache(maxsize=64)
def _ranges(low: int, high: int, largest: int, *, lowest: bool) -> tuple[Range, ...]:
    outward = -1 if lowest else 1
    ranges: dict[CellKey, Range] = {}
    found = list(magnitudes(low, high))
    least = min((abs(code) for code, _, _ in found if code), default=0)
    for code, first, last in found:
        steps = max(0, abs(code) - least) if code * outward > 0 else 0
        key = magnitude_key(0, code, largest)
        ranges.setdefault(key, Range(first, last, steps, key))
    return tuple(sorted(ranges.values(), key=lambda r: outward * (r.first + r.last)))
