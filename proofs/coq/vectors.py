"""Tables on which Coq computes the laws that it proves private, and holds Python's laws against them.

Public facts are read off the empty table, so a law whose public part looks at records disagrees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np

import prdp.mechanisms._threshold as point_module
import prdp.mechanisms.clip as clip_module
from prdp.cells.cell import Cell, CellKey
from prdp.cells.cell_columns import CellColumns
from prdp.cells.summary import Ratios, Summary
from prdp.mechanisms._candidates import Points
from prdp.mechanisms._signed_thresholds import BothReaching
from prdp.mechanisms._threshold import Fence, PointFinder, RecordCandidates, Tuning
from prdp.mechanisms.clip import Clip
from prdp.mechanisms.following import Following
from prdp.mechanisms.tiers import Tiers
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import FirstReaching, Gated, Noisy
from proofs.coq import coq_terms
from proofs.coq.coq_terms import Names, integer, integers, rational, rationals, sequence
from tests.exact.test_tiers import spans
from tests.exact.universe import LEVELS

SEED = 20261118
TABLES, MUTANT_TABLES = 40, 8
"""How many tables are drawn for each law, and for each mutant of one."""

LARGEST = 12
SHARES = (Fraction(1), Fraction(1, 2), Fraction(1, 7), Fraction(3, 10))
_COARSE = Tuning(Fraction(36, 100), Fraction(54, 100), fall=Fraction(1, 2), stride=2)
FENCED = PointFinder(
    gate=Fraction(1, 10),
    tunings=((0, _COARSE), (25, replace(_COARSE, fence=Fence(4, 10, 2))), (None, replace(_COARSE, stride=4))),
    gate_bits=6,
)
WIDE = replace(
    FENCED, tunings=tuple((margin, replace(tuning, stride=6)) for margin, tuning in FENCED.tunings)
)
"""Points so far apart that all pairs of them are few."""


@dataclass(frozen=True, slots=True)
class Table:
    """A made-up table: its records as Coq reads them, and its cells with and without them."""

    rows: str
    cells: Summary
    empty: Summary
    share: Fraction


def made_up(random: Random, ratios: Ratios | None = None) -> Table:
    """Return a table of up to five records, some of them alike, on a lattice that may be finer."""
    bits = random.choice((0, 0, 4))
    empty = replace(Summary.of(LEVELS, 1, LARGEST, ()), ratios=ratios).refined(bits)
    cells, rows = empty, []
    for _ in range(random.randrange(6)):
        quanta, size = LEVELS.quanta(random.randrange(LEVELS.top + 1)), random.randrange(LARGEST + 1)
        low, high = (max(1, size - random.randrange(3)), size + random.randrange(2)) if size else (0, 0)
        sign = random.choice((-1, 1)) if size else 0
        one = Summary.of(LEVELS, 1, LARGEST, [Cell(CellKey(quanta, low, high, sign), 1, sign * size)])
        record = (quanta, low << bits, high << bits, sign, sign * size << bits)
        for _ in range(random.choice((1, 1, 2))):
            cells = reduce(Summary.merged, [cells, replace(one, ratios=ratios).refined(bits)])
            rows.append("(Build_row {} {} {} {} {})".format(*map(integer, record)))
    return Table(f"{sequence(rows)}%Z", cells, empty, random.choice(SHARES))


def public(empty: Summary, finder: PointFinder, share: Fraction) -> str:
    """Return the public facts of a clipped total: all from the table without records."""
    quantum = empty.levels.quantum
    tunings = [_tuning(empty, tuning, share * quantum) for _, tuning in finder.tunings]
    least = finder.reached(RecordCandidates(empty), share)
    facts = (rational(share), rational(quantum), rational(finder.gate), f"{finder.lattice(quantum, share)}%Z")
    return f"(Build_public {' '.join(facts)} {integers(least)} {sequence(tunings)})"


def _tuning(empty: Summary, tuning: Tuning, worth: Fraction) -> str:
    points = Points.spanning(empty, tuning.stride)
    per_quantum = rationals(points.per_quantum(place) for place in range(len(points.numerators)))
    climbs = rationals(tuning.climbs(points.heights, points.usual))
    fence = "None"
    if tuning.fence is not None:
        places = sequence(f"{place}%nat" for place in tuning.fence._places(points.heights))
        asked = tuning.fence._asked(worth)
        fence = f"(Some ({integer(asked)}%Z, {integer(tuning.fence.times)}%Z, {places}))"
    parts = f"{rational(tuning.choice)} {rational(tuning.answer)}"
    return f"(Build_tuning {parts} {per_quantum} {climbs} {fence})"


# One claim a table: that Python's law of it is the one that Coq computes.


def clipped(random: Random, names: Names) -> str:
    """Return the claim for a clipped total."""
    table = made_up(random)
    finder = random.choice((FENCED, PointFinder.for_totals(table.share)))
    law = Clip(finder).law(table.cells, table.share)
    assert type(law.rule) is FirstReaching
    facts = public(table.empty, finder, table.share)
    return f"agrees_clip {facts} {table.rows} {names.law(law)}"


def of_both_signs(random: Random, names: Names) -> str:
    """Return the claim for a clipped total of both signs."""
    table = made_up(random)
    clip = Clip(WIDE, signed=True)
    law, public_law = (clip.law(cells, table.share) for cells in (table.cells, table.empty))
    assert type(law.rule) is BothReaching
    rule, facts = coq_terms.rule(public_law.rule), public(table.empty, WIDE, table.share)
    return f"agrees_sides {facts} {rule} {table.rows} {names.law(law)}"


def in_tiers(random: Random, names: Names) -> str:
    """Return the claim for totals in tiers."""
    table = made_up(random, Ratios(spans(Fraction(5), Fraction(25)), None))
    tiers = Tiers.of(table.empty)
    assert tiers is not None
    points = rationals(tiers.points.per_quantum(place) for place in range(len(tiers.points.numerators)))
    facts = f"{rational(table.share)} {rational(LEVELS.quantum)} {points}"
    return f"agrees_tiers {facts} {table.rows} {names.law(tiers.law(table.cells, table.share))}"


def that_follow(random: Random, names: Names) -> str:
    """Return the claim for a total that is clipped where another one was."""
    table = made_up(random)
    at = Fraction(random.randrange(1, 400), random.randrange(1, 9))
    law = Following(None, Clip(FENCED)).law(table.cells, table.share, at)  # type: ignore[arg-type]
    facts = f"{rational(table.share)} {rational(LEVELS.quantum)} {rational(at)}"
    return f"agrees_following {facts} {table.rows} {names.law(law)}"


CLAIMS: Mapping[str, Callable[[Random, Names], str]] = {
    "clip": clipped,
    "sides": of_both_signs,
    "tiers": in_tiers,
    "following": that_follow,
}


# Mutants: the program, changed in one place.


def _noise_of_the_whole_share() -> AbstractContextManager[Any]:
    right = point_module.noisy_total

    def wrong(summary: Summary, share: Fraction, tuning: Tuning, place: int) -> Noisy:
        law = right(summary, share, tuning, place)
        return Noisy(law.values, tuple(DiscreteLaplace(noise.scale * tuning.answer) for noise in law.noises))

    return patch.object(clip_module, "noisy_total", wrong)


def _half_of_the_masses() -> AbstractContextManager[Any]:
    right = RecordCandidates.masses

    def wrong(self: RecordCandidates, stride: int, lattice: int) -> tuple[int, ...]:
        return tuple(mass // 2 for mass in right(self, stride, lattice))

    return patch.object(RecordCandidates, "masses", wrong)


def _fence_not_paid_for() -> AbstractContextManager[Any]:
    return patch.object(point_module, "evidence", lambda _, share, tuning: share * tuning.choice)


def _clipped_by_lower_ends() -> AbstractContextManager[Any]:
    def wrong(self: CellColumns, caps: Any) -> Any:
        return np.where(self.low <= caps, self.total, self.sign * self.count * np.minimum(self.low, caps))

    return patch.object(CellColumns, "clipped", wrong)


def _gate_of_all_records() -> AbstractContextManager[Any]:
    right = PointFinder.measured

    def wrong(self: PointFinder, candidate_lists: Any, share: Fraction) -> Noisy:
        law = right(self, candidate_lists, share)
        return Noisy((sum(law.values),) * len(law.values), law.noises)

    return patch.object(PointFinder, "measured", wrong)


def _points_of_the_records() -> AbstractContextManager[Any]:
    right = Clip.law

    def wrong(self: Clip, summary: Summary, share: Fraction) -> Gated:
        there = max(summary.cells.high.tolist(), default=LARGEST)
        return right(self, replace(summary, largest=max(1, int(there))), share)

    return patch.object(Clip, "law", wrong)


def _noise_of_half_the_scale() -> AbstractContextManager[Any]:
    right: Any = DiscreteLaplace
    following = f"{Following.__module__}.DiscreteLaplace"
    return patch(following, lambda scale: right(scale / 2))


def _noise_of_the_next_tier() -> AbstractContextManager[Any]:
    right = Tiers.law

    def wrong(self: Tiers, summary: Summary, share: Fraction) -> Noisy:
        law = right(self, summary, share)
        return Noisy(law.values, law.noises[::-1])

    return patch.object(Tiers, "law", wrong)


MUTANTS: Mapping[str, Mapping[str, Callable[[], AbstractContextManager[Any]]]] = {
    "clip": {
        "noise of the whole share": _noise_of_the_whole_share,
        "half of the masses": _half_of_the_masses,
        "fence not paid for": _fence_not_paid_for,
        "clipped by lower ends": _clipped_by_lower_ends,
        "points of the records": _points_of_the_records,
    },
    "sides": {
        "noise of the whole share": _noise_of_the_whole_share,
        "half of the masses": _half_of_the_masses,
        "gate of all records": _gate_of_all_records,
    },
    "tiers": {
        "clipped by lower ends": _clipped_by_lower_ends,
        "noise of the next tier": _noise_of_the_next_tier,
    },
    "following": {
        "clipped by lower ends": _clipped_by_lower_ends,
        "noise of half the scale": _noise_of_half_the_scale,
    },
}

_HEAD = """From Coq Require Import ZArith QArith List String Bool.
From Prdp Require Import Law Clip Sides Tiers Tie.
Import ListNotations. Open Scope Q_scope.
"""


def vector_file(law: str) -> str:
    """Return a file in which Coq computes a law on made-up tables, and must find Python's to agree or not."""
    return _HEAD + "\n".join(_theorems(law))


def _theorems(law: str) -> Iterator[str]:
    yield _claims("python_agrees", "forallb (fun b => b)", law, TABLES)
    for number, change in enumerate(MUTANTS[law].values()):
        with change():
            yield _claims(f"mutant_{number}_does_not", "existsb negb", law, MUTANT_TABLES)


def _claims(name: str, all_or_some: str, law: str, tables: int) -> str:
    random, names = Random(SEED), Names(f"{name}_")
    claims = sequence(CLAIMS[law](random, names) for _ in range(tables))
    theorem = f"Theorem {name} : {all_or_some} {claims} = true.\nProof. vm_cast_no_check (eq_refl true). Qed."
    return names.definitions() + theorem
