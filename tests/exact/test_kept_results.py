"""The framework where results use several records: on every graph of four nodes, no edge loses too much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest

from prdp.cells.edges import Pairs
from prdp.graphs.results import CutStars, Packed
from prdp.mechanisms._threshold import PointFinder, Tuning
from prdp.mechanisms.kept_results import KeptResults, UsedRecords
from prdp.mechanisms.truncate import Truncate, Truncation
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Gated
from prdp.release.raw_answer import Answer
from prdp.testing.exact_loss import TOLERANCE, largest_log_ratio
from prdp.testing.mechanism_contract import untied
from tests.exact.graphs import LEVELS, PLACES, graph, listed_triangles, neighbours, quanta

TUNING = Tuning(Fraction(36, 100), Fraction(54, 100), fall=Fraction(1), stride=4)
BASE = Truncate(PointFinder(gate=Fraction(1, 10), tunings=((None, TUNING),), gate_bits=5))
SPLIT = Fraction(1, 3)
MECHANISM = KeptResults(SPLIT, Fraction(1, 10), BASE)
FOUR_NODES = sum(1 << place for place, pair in enumerate(PLACES) if 4 not in pair)

Form = Callable[[Pairs], Truncation]
FORMS: dict[str, Form] = {
    "paths": lambda pairs: CutStars(pairs, 2, 64),
    "stars": lambda pairs: CutStars(pairs, 3, 64),
    "triangles": lambda pairs: Packed(
        pairs.levels, pairs.level, listed_triangles(pairs), pairs.nodes - 2, 1 << 9
    ),
}


def used(form: Form, pairs: Pairs) -> UsedRecords:
    return UsedRecords(pairs.levels, pairs.level, lambda level: form(pairs.at_level(level)))


def all_edges(form: Form, pairs: Pairs) -> UsedRecords:
    """Keep the edges below the domain too, at the domain's budget."""
    return UsedRecords(
        pairs.levels,
        pairs.level,
        lambda level: form(Pairs(pairs.levels, pairs.nodes, pairs.ends, pairs.level * 0 + level)),
    )


def named_only(form: Form, pairs: Pairs) -> UsedRecords:
    """Count the edges that are part of a path alone: one edge more can make others count."""
    part = (pairs.degrees()[pairs.ends] > 1).any(axis=0)
    return UsedRecords(pairs.levels, pairs.level[part], lambda level: form(pairs.at_level(level)))


def worst(
    shape: Callable[[Form, Pairs], UsedRecords],
    form: str,
    part: Callable[[Gated], Any] = lambda law: law,
    of_share: Fraction = Fraction(1),
    mechanism: KeptResults = MECHANISM,
) -> float:
    """Return by how much some edge's loss passes its part of its budget."""
    laws = {
        edges: part(mechanism.law(shape(FORMS[form], graph(edges)), Fraction(1)))
        for edges in range(1 << 10)
        if not edges & ~FOUR_NODES
    }
    return max(
        largest_log_ratio(laws[edges], laws[more]) - float(of_share * quanta(place) * LEVELS.quantum)
        for edges, more, place in neighbours(FOUR_NODES)
    )


@pytest.mark.parametrize("form", FORMS)
def test_no_edge_loses_more_than_its_budget(form: str) -> None:
    assert worst(used, form) <= TOLERANCE


@pytest.mark.parametrize("place", [0, 1])
def test_each_stage_keeps_to_its_part(place: int) -> None:
    assert worst(used, "paths", lambda law: law.first, SPLIT) <= TOLERANCE
    assert worst(used, "paths", lambda law: law.laws[place], 1 - SPLIT) <= TOLERANCE


def test_edges_below_the_domain_that_are_kept_are_caught() -> None:
    assert worst(all_edges, "paths", lambda law: law.laws[1], 1 - SPLIT) > 0.1


def test_counting_only_records_that_a_result_uses_is_caught() -> None:
    assert worst(named_only, "paths", lambda law: law.first, SPLIT) > 0.1


@dataclass(frozen=True, slots=True)
class TwiceTheShare(KeptResults):
    """Runs the base at twice the share: a cut count is seldom moved by all that an edge is allowed."""

    def law(self, used: UsedRecords, share: Fraction) -> Gated:
        right = super(TwiceTheShare, self).law(used, share)
        base = self.base or Truncate.tuned(share)
        laws = [base.law(self.kept(used, place + 1), 2 * share) for place in range(used.levels.domains)]
        return replace(right, laws=laws)


def test_a_base_at_twice_the_share_is_caught() -> None:
    wrong = TwiceTheShare(SPLIT, Fraction(1, 10), BASE)
    assert worst(used, "paths", lambda law: law.laws[0], 1 - SPLIT, wrong) > 0.1


Drawn = Callable[[Pairs, Entropy, int], list[Answer]]


def right(pairs: Pairs, entropy: Entropy, runs: int) -> list[Answer]:
    return MECHANISM.answers(used(FORMS["paths"], pairs), Fraction(1), entropy, runs)


def number_shown(pairs: Pairs, entropy: Entropy, runs: int) -> list[Answer]:
    return [
        replace(answer, choices=(("edges", str(len(pairs.level))),)) for answer in right(pairs, entropy, runs)
    ]


def told_otherwise(answers: Drawn) -> str:
    graphs = [graph(edges) for edges in (0b0, 0b1, 0b11, 0b111, 0b1111111111)]
    return untied(
        graphs,
        lambda pairs: MECHANISM.law(used(FORMS["paths"], pairs), Fraction(1)),
        answers,
        runs=500,
        seed=5,
    )


def test_answers_say_what_is_drawn_from_the_law_and_nothing_else() -> None:
    assert not told_otherwise(right)
    assert told_otherwise(number_shown)
