"""Means and variances of which one part chooses a clipping point, and the others follow it.

Whether they do is decided by the query, the method, the policy and the bounds alone: proofs/following.md.
"""

from __future__ import annotations

from prdp.cells.paired_points import PairedPoints
from prdp.mechanisms.clip import Clip
from prdp.mechanisms.following import Following
from prdp.plan.methods import Answering, Method, MethodTerms
from prdp.plan.queries import DerivedPart, Mean, Std, Variance
from prdp.plan.reads import CellRead

_LEADER = "sum"


def part_mechanism(part: DerivedPart, row: Method, terms: MethodTerms) -> Answering:
    """Return what draws a part of a derived answer, at the share of its terms.

    Args:
        part: Which part.
        row: What answers it by itself.
        terms: Everything public; of the query whose part it is.
    """
    pairs = _pairs(row, terms) if type(terms.query) in (Mean, Variance, Std) else None
    if pairs is None:
        return row.build(terms)
    if part.name == _LEADER:
        return Clip.tuned(terms.share, leads=True)
    return Following(pairs, Clip.tuned(terms.share))


def _pairs(row: Method, terms: MethodTerms) -> PairedPoints | None:
    """Return how points follow that of the sum; None where they do not, or where a count needs none.

    Under a policy of a few budgets a count is answered tier by tier, which is better than any one point.
    """
    if row.name != Clip.name:
        return None
    read = CellRead(terms.policy, terms.levels, terms.bounds, terms.measure, terms.where)
    if Clip.tuned(terms.share).tiers(read.empty.counted()) is not None:
        return None
    return PairedPoints.of(terms.policy, terms.levels, terms.measure)
