"""Means and variances of which one part chooses a clipping point, and the others follow it.

Whether they do is decided by the query, the method, the policy and the bounds alone: proofs/following.md.
"""

from __future__ import annotations

from prdp.cells.pairs import Pairs
from prdp.mechanisms.clip import Clip
from prdp.mechanisms.following import Following
from prdp.plan.methods import Answering, Method, MethodTerms
from prdp.plan.queries import DerivedPart, Mean, Std, Variance

_LEADER = "sum"


def part_mechanism(part: DerivedPart, row: Method, terms: MethodTerms) -> Answering:
    """Return what draws a part of a derived answer, at the share of its terms.

    Args:
        part: Which part.
        row: What answers it by itself.
        terms: Everything public; of the query whose part it is.
    """
    if type(terms.query) not in (Mean, Variance, Std) or row.name != Clip.name:
        return row.build(terms)
    pairs = Pairs.of(terms.policy, terms.levels, terms.measure)
    if pairs is None:
        return row.build(terms)
    if part.name == _LEADER:
        return Clip.tuned(terms.share, leads=True)
    return Following(pairs, Clip.tuned(terms.share))
