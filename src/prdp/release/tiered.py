"""What is known of an answer whose tiers were clipped at a point each, and some of them dropped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from prdp.release.bias import Clipping, Dropped


@dataclass(frozen=True, slots=True)
class TierClipping:
    """Tiers with a clipping point each, of which the first ones were kept; all of it public or released.

    In full: proofs/clipped_tiers.md.

    Attributes:
        tiers: Of each tier, lowest first, where it was clipped and how that was chosen.
        kept: How many of them were kept.
        thresholds: What the noisy totals of the others were below, in steps, added up.
        scales: The scales of their noises, added up.
    """

    tiers: tuple[Clipping, ...]
    kept: int
    thresholds: int
    scales: Fraction

    @property
    def last(self) -> Clipping:
        """What is known of the last tier that was kept."""
        return self.tiers[self.kept - 1]

    @property
    def below(self) -> bool:
        """Whether values are below zero, so that clipping raises the answer."""
        return self.last.below

    @property
    def above(self) -> bool:
        """Whether values are above zero, so that clipping lowers the answer."""
        return self.last.above

    def pulling(self, *, below: bool, above: bool) -> TierClipping:
        """Return the same for values of a known sign."""
        return replace(self, tiers=tuple(replace(tier, below=below, above=above) for tier in self.tiers))

    @property
    def nothing(self) -> bool:
        """Whether nothing can have been clipped or dropped."""
        return self.kept == len(self.tiers) and all(tier.nothing for tier in self.tiers)

    @property
    def at(self) -> Fraction:
        """Up to how many steps for each unit of budget every record counts in full."""
        clipped = (tier.at for tier in self.tiers[: self.kept] if not tier.nothing)
        return next(clipped, self.last.most)

    @property
    def too_poor(self) -> bool:
        """Say no: a tier that holds too little to be seen was dropped, which an interval knows."""
        return False

    def needs(self, reach: Fraction) -> bool:
        """Say whether an interval leaves aside what records beyond some ratio would add."""
        return self._aside(reach) is not None

    def _aside(self, reach: Fraction) -> Fraction | None:
        """Return beyond how many steps for each unit of budget records are left aside; None where none is."""
        ends = [(reach * self.last.at, self.last.most)]
        ends += [(tier.at, tier.most) for tier in self.tiers[self.kept :]]
        return next((end for end, most in ends if end < most), None)

    def reached(self, reach: Fraction) -> tuple[Fraction, Fraction]:
        """Return up to how many steps a unit of budget is taken to count for, below and above zero."""
        end = self._aside(reach)
        found = self.tiers[-1].most if end is None else end
        return found, found

    def pulled(self, reach: Fraction) -> tuple[bool, bool]:  # noqa: ARG002  (lower tiers need no reach)
        """Return whether values below and above zero can have been clipped or dropped."""
        return self.below and not self.nothing, self.above and not self.nothing


Pull = Clipping | Dropped | TierClipping
"""What can have pulled an answer away from the truth besides its noise."""
