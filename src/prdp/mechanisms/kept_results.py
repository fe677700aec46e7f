"""The paper's Algorithm 2 for counts whose results use several records: M is ``truncate`` at one budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from prdp.cells.edges import Integers
from prdp.cells.summary import Summary
from prdp.levels import PER_OCTAVE, Levels
from prdp.mechanisms.framework import SPLIT
from prdp.mechanisms.partition import DomainFinder
from prdp.mechanisms.truncate import Truncate, Truncation
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Gated, Lazily
from prdp.release.bias import Dropped
from prdp.release.raw_answer import Answer, Caveat


@dataclass(frozen=True, slots=True, eq=False)
class UsedRecords:
    """Records, and the results that use them.

    Attributes:
        levels: The grid of budgets.
        level: The level of each record that takes part, whether or not a result uses it.
        from_level: The results that use records from a level on alone, each with the budget of that level.
        rows: The results themselves, where a caller's mechanism is given them: a row of records each.
    """

    levels: Levels
    level: Integers = field(repr=False)
    from_level: Callable[[int], Truncation] = field(repr=False)
    rows: Any = field(default=None, repr=False)

    def counted(self) -> Summary:
        """Return the records as cells, to be counted."""
        return Summary.counting(self.levels, self.level)


@dataclass(frozen=True, slots=True)
class KeptResults:
    """Drop records below a domain that is found privately, and count the results of the others.

    Guarantee:
        For every record r, the answer is (share · E(r))-indistinguishable between the data with r and the
        data without it.

    Why:
        The domain costs a · share · E(r). A record below it takes part in nothing more, nor do results that
        use it. For the others ``truncate`` runs as if each had the domain's least budget ε ≤ E(r), and costs
        (1 - a) · share · ε. In full: proofs/kept_results.md.

    Attributes:
        split: The part of the share that finds the domain.
        beta: The rate at which finding it may fail.
        base: Counts the results that are kept; by default tuned to its share.
    """

    split: Fraction = SPLIT
    beta: Fraction = Fraction(1, 10)
    base: Truncate | None = None

    name = "framework"

    def caveat(self, *, signed: bool) -> Caveat | None:  # noqa: ARG002  (counts have no sign)
        """Describe the errors other than noise."""
        return Caveat("dropped records, and what was cut", "toward zero")

    def law(self, used: UsedRecords, share: Fraction) -> Gated:
        """Return the distribution of (domain, what the base mechanism draws there)."""
        finder = DomainFinder.over(used.levels, self.beta)
        counts = finder.law(used.counted(), self.split * share)
        base, rest = self._base(share), (1 - self.split) * share
        laws = Lazily(used.levels.domains, lambda place: base.law(self.kept(used, place + 1), rest))
        return Gated(counts, finder.rule(counts), laws)

    def kept(self, used: UsedRecords, domain: int) -> Truncation:
        """Return the results that use records from a domain on alone, at the domain's least budget."""
        return used.from_level(PER_OCTAVE * (domain - 1))

    def _base(self, share: Fraction) -> Truncate:
        return self.base or Truncate.tuned((1 - self.split) * share)

    def answers(self, used: UsedRecords, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        """Draw independent answers."""
        law, levels = self.law(used, share), used.levels
        base, rest = self._base(share), (1 - self.split) * share
        answers = []
        for place, drawn in law.draw(entropy, runs):
            answer = base.stated(self.kept(used, place + 1), rest, drawn)
            least = float(levels.domain_quanta(place + 1) * levels.quantum)
            choices = (("kept budgets from", f"{least:.6g} on"), *answer.choices)
            dropped: Any = answer.clipping
            if place:
                dropped = Dropped(0, Fraction(1), levels.domains - 1, seen="never", unknown=True)
            answers.append(replace(answer, choices=choices, clipping=dropped))
        return answers
