"""Noise that needs no clipping, for policies under which larger values may lose more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from prdp.cells.columns import Column, plus
from prdp.cells.groups import SummaryGroups
from prdp.cells.least_budgets import Least
from prdp.cells.summary import Summary
from prdp.mechanisms._shape import concave_below
from prdp.mechanisms.clip import FINEST_BITS, finer_bits
from prdp.noise.concave import ConcaveNoise
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Shaped
from prdp.release.raw_answer import Answer, AnswerColumn, ByGroup, Caveat


@dataclass(frozen=True, slots=True)
class Additive:
    """Add noise that falls off as fast as budgets grow: what a record counts, its budget hides.

    Guarantee:
        For every record r, the answer is (share · E(r))-indistinguishable between the table with
        r and the table without it.

    Why:
        r moves the total by c with F(|c|) ≤ share · E(r), since it counts no more than that allows. For
        noise with Pr[z] ∝ exp(-F(|z|)), F subadditive, that changes no probability by more than exp(F(|c|)).
        In full: proofs/additive.md.

    Attributes:
        least: The least budgets by what records contribute; public. Only accuracy depends on it.
        rows: Of how many rows a unit may be; 1 where a row is a record.
        why: Why it was chosen, in words; empty where the caller chose it.
        finest_bits: How many bits finer than the values the lattice of answers is at most.
    """

    least: Least
    rows: int = 1
    why: str = ""
    finest_bits: int = FINEST_BITS

    name = "additive"

    def caveat(self, *, signed: bool) -> Caveat | None:
        """Return what the interval does not cover: nothing, but for units of several rows."""
        if self.rows == 1:
            return None
        return Caveat(
            f"units whose rows differ may count for less, which {'moves it' if signed else 'lowers it'}"
        )

    def noise(self, largest: int, worth: Fraction) -> ConcaveNoise:
        """Return the public noise of answers about such tables.

        Args:
            largest: The most that a record can contribute, in steps of the lattice.
            worth: What a quantum of budget is worth: the share times the quantum.
        """
        last = self.least[-1][0] * self.rows
        finer, rest = divmod(largest, last)
        if rest or not finer:
            raise ValueError(f"budgets are known for contributions up to {last} steps, not up to {largest}")
        return concave_below(tuple((end * self.rows * finer, quanta) for end, quanta in self.least), worth)

    def law(self, summary: Summary, share: Fraction) -> Shaped:
        """Return the distribution of the noisy total."""
        worth = share * summary.levels.quantum
        noise = self.noise(summary.largest, worth)
        caps = summary.cells.by_budget(lambda quanta: noise.within(quanta * worth))
        return Shaped(summary.clipped_total(caps), noise)

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        """Draw independent answers."""
        return self.grouped([summary], share, entropy, runs)[0]

    def grouped(self, summaries: Sequence[Summary], share: Fraction, entropy: Entropy, runs: int) -> ByGroup:
        """Draw independent answers for disjoint groups, each from its own ``law``; their noises at once."""
        groups = SummaryGroups.of(summaries)
        bits = finer_bits(groups.empty, self.finest_bits)
        fine = groups.refined(bits)
        noise = self.law(fine.empty, share).noise
        choices = (("of the share", "100 % answering"), *((("chosen", self.why),) if self.why else ()))
        templates = (Answer(0, Fraction(1, 1 << bits), (), choices, shape=noise),)
        totals = np.repeat(self.totals(fine, share), runs)
        steps = plus(totals, noise.draw_many(entropy, len(totals)))  # a group's runs side by side
        which = np.zeros(len(groups), np.intp)
        return ByGroup(tuple(AnswerColumn(steps[run::runs].copy(), which, templates) for run in range(runs)))

    def totals(self, groups: SummaryGroups, share: Fraction) -> Column:
        """Return the totals of groups, one each: the values of their laws."""
        worth = share * groups.levels.quantum
        noise = self.noise(groups.largest, worth)
        caps = groups.kinds.by_budget(lambda quanta: noise.within(quanta * worth))
        return groups.clipped(np.arange(len(groups)), caps)
