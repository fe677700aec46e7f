"""Tables on which Coq computes the laws that it proves private, and holds Python's laws against them.

Public facts are read off the empty table, so a law whose public part looks at records disagrees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, reduce
from itertools import accumulate
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np

import prdp.mechanisms._threshold as point_module
import prdp.mechanisms.clip as clip_module
from prdp.cells.summary import Cell, CellColumns, CellKey, Ratios, Summary
from prdp.cells.units import Caps, UnitGroups
from prdp.mechanisms import warm_clip
from prdp.mechanisms._axis import steps_between
from prdp.mechanisms._tail import octaves_below
from prdp.mechanisms._threshold import Fence, PointFinder, Points, RecordCandidates, Tuning
from prdp.mechanisms.additive import Additive
from prdp.mechanisms.choice import Choice
from prdp.mechanisms.clip import BothReaching, Clip
from prdp.mechanisms.following import Following
from prdp.mechanisms.joint import Joint
from prdp.mechanisms.naive import Naive
from prdp.mechanisms.partition import PaperPartition
from prdp.mechanisms.tiers import Tiers
from prdp.mechanisms.warm_clip import WarmClip
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import FirstReaching, Gated, Noisy, Shaped
from prdp.release.excluded_tail import TAIL_FACTORS
from proofs.coq import coq_terms
from proofs.coq.coq_terms import Names, integer, integers, rational, rationals, sequence
from tests.exact.test_tiers import spans
from tests.exact.units_universe import UNITS, in_groups
from tests.exact.universe import LEVELS, MEASURE

SEED = 20261118
TABLES, MUTANT_TABLES = 40, 8
"""How many tables are drawn for each law, and for each mutant of one."""

LARGEST = 12
SHARES = (Fraction(1), Fraction(1, 2), Fraction(1, 7), Fraction(3, 10))
_COARSE = Tuning(Fraction(36, 100), Fraction(50, 100), fall=Fraction(1, 2), stride=2)
FENCED = PointFinder(
    gate=Fraction(1, 10),
    tunings=((0, _COARSE), (25, replace(_COARSE, fence=Fence(4, 10, 2))), (None, replace(_COARSE, stride=4))),
    gate_bits=6,
    tail=Fraction(4, 100),
)
WIDE = replace(
    FENCED, tunings=tuple((margin, replace(tuning, stride=6)) for margin, tuning in FENCED.tunings)
)
"""Points so far apart that all pairs of them are few."""
_SHAPE = tuple(
    (end, int(Fraction(budget) / LEVELS.quantum)) for end, budget in ((1, "0.7"), (4, "1.9"), (12, "2.9"))
)
"""The least budgets of records that contribute up to so much, for a shape of three pieces or less."""


@dataclass(frozen=True, slots=True)
class Table:
    """A made-up table: its records as Coq reads them, and its cells with and without them."""

    rows: str
    cells: Summary
    empty: Summary
    share: Fraction


def made_up(random: Random, ratios: Ratios | None = None, ends: Sequence[tuple[int, int, int]] = ()) -> Table:
    """Return a table of up to five records, some of them alike, on a lattice that may be finer.

    Where ends and signs of cells are given, records are in such cells, and the lattice is not finer.
    """
    bits = 0 if ends else random.choice((0, 0, 4))
    empty = replace(Summary.of(LEVELS, 1, LARGEST, ()), ratios=ratios).refined(bits)
    cells, rows = empty, []
    for _ in range(random.randrange(6)):
        quanta, size = LEVELS.quanta(random.randrange(LEVELS.top + 1)), random.randrange(LARGEST + 1)
        low, high = (max(1, size - random.randrange(3)), size + random.randrange(2)) if size else (0, 0)
        sign = random.choice((-1, 1)) if size else 0
        if ends:
            low, high, sign = random.choice(ends)
            size = high
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
    tail = "None"
    if finder.tail:
        tail = f"(Some ({rational(finder.tail)}, {finder.tail_lattice(quantum, share)}%Z))"
    return f"(Build_public {' '.join(facts)} {integers(least)} {sequence(tunings)} {tail})"


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
    clip = Clip(
        random.choice((*[replace(WIDE, tail=Fraction(0))] * 7, WIDE)), signed=True
    )  # octaves of each pair
    law, public_law = (clip.law(cells, table.share) for cells in (table.cells, table.empty))
    assert type(law.rule) is BothReaching
    rule, facts = coq_terms.rule(public_law.rule), public(table.empty, clip.finder, table.share)
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


def at_the_least_budget(random: Random, names: Names) -> str:
    """Return the claim for a total with the noise of the least budget."""
    table = made_up(random)
    public_facts = f"{integer(table.empty.largest)}%Z {integer(LEVELS.quanta(0))}%Z"
    facts = f"{rational(table.share)} {rational(LEVELS.quantum)} {public_facts}"
    return f"agrees_naive {facts} {table.rows} {names.law(Naive().law(table.cells, table.share))}"


def by_domains(random: Random, names: Names) -> str:
    """Return the claim for totals of the paper's domains, at made-up influences."""
    table, domains = made_up(random), range(1, LEVELS.domains + 1)
    influences = tuple(Fraction(random.randrange(1, 20), random.randrange(1, 9)) for _ in domains)
    ends = integers(LEVELS.domain_quanta(domain) for domain in domains)
    facts = f"{rational(table.share)} {rational(LEVELS.quantum)} {ends} {rationals(influences)}"
    law = PaperPartition(influences).law(table.cells, table.share)
    return f"agrees_partition {facts} {table.rows} {names.law(law)}"


def of_a_shape(random: Random, names: Names) -> str:
    """Return the claim for a total with noise of a concave shape."""
    table, mechanism = made_up(random), Additive(_SHAPE)
    worth = table.share * LEVELS.quantum
    noise = mechanism.noise(table.empty.largest, worth)
    budgets = [LEVELS.quanta(level) for level in range(LEVELS.top + 1)]
    caps = sequence(f"({integer(budget)}, {integer(noise.within(budget * worth))})" for budget in budgets)
    facts = f"{rational(table.share)} {rational(LEVELS.quantum)} {coq_terms.shape(noise)} {caps}%Z"
    return f"agrees_additive {facts} {table.rows} {names.law(mechanism.law(table.cells, table.share))}"


def of_the_farthest(random: Random, names: Names) -> str:
    """Return the claim for a largest or smallest value."""
    mechanism = Choice(-2, LARGEST, random.choice((False, True)), per_octave=8)
    steps = steps_between(-2, LARGEST, LARGEST, 8, lowest=mechanism.lowest)
    table = made_up(random, ends=list(steps.places))
    prior, (_, fine) = mechanism.prior(table.empty, table.share), mechanism.parts(table.empty, table.share)
    places = sequence(
        f"({', '.join(map(integer, ends))}, {place}%nat)" for ends, place in steps.places.items()
    )
    windows = [
        f"({_nats(range(*prior.window(eighth)))}, {rationals(prior.step_climbs(eighth))})"
        for eighth in range(len(prior.climbs))
    ]
    lasts = _nats(first - 1 for first in steps.eighths[1:])
    facts = f"{rational(table.share)} {rational(LEVELS.quantum)} {rational(fine)} {places}%Z {lasts}"
    law = names.law(mechanism.law(table.cells, table.share))
    return f"agrees_choice {facts} {rationals(prior.climbs)} {sequence(windows)} {table.rows} {law}"


def from_a_known_point(random: Random, names: Names) -> str:
    """Return the claim for a total that starts from a known point, of one sign or of both."""
    table, signed = made_up(random), random.choice((False, True))
    at = Fraction(random.randrange(1, 400), random.randrange(1, 9))
    clip, covered = Clip(FENCED, signed=signed), random.choice(TAIL_FACTORS)
    mechanism = WarmClip.tuned(clip, table.share, at, "", covered, close=signed)
    points = Points.spanning(table.empty, warm_clip._STRIDE)
    parts = rationals((mechanism.choice, mechanism.answer, mechanism.beyond))[1:-1].replace(";", "")
    facts = (
        f"{rational(table.share)} {rational(LEVELS.quantum)} {parts}",
        rationals(points.per_quantum(place) for place in range(len(points.numerators))),
        rationals(mechanism.climbs(table.empty, at)),
        f"{integer(mechanism._lattice(table.empty, table.share))}%Z {rationals(mechanism.times)}",
        str(signed).lower(),
    )
    law = names.law(mechanism.law(table.cells, table.share))
    return f"agrees_warm_clip {' '.join(facts)} {table.rows} {law}"


def of_units_in_groups(random: Random, names: Names) -> str:
    """Return the claim for units in two groups; cells and parts of each are found of it alone."""
    units = random.choices(UNITS, k=random.randrange(4))
    share, bits = random.choice(SHARES), 4
    empty, table = (in_groups(unit, MEASURE).refined(bits) for unit in ([], units))
    found = [in_groups([unit], MEASURE).refined(bits) for unit in units]
    rows = [
        f"(Build_privacy_unit {_cell(one)} {integers(one.unclipped())})"
        for one in found
        if len(one.summary.cells.count)
    ]
    facts = f"{public(empty.summary, FENCED, share)} {integer(empty.summary.largest)}%Z 2"
    law = names.law(Joint(FENCED).law(table, share))
    return f"agrees_joint {facts} {sequence(rows)} {law}"


def _cell(unit: UnitGroups) -> str:
    (cell,) = unit.summary.cells
    record = (cell.key.quanta, cell.key.low, cell.key.high, cell.key.sign, cell.total)
    return "(Build_row {} {} {} {} {})%Z".format(*map(integer, record))


def _nats(numbers: Iterable[int]) -> str:
    return sequence(f"{number}%nat" for number in numbers)


CLAIMS: Mapping[str, Callable[[Random, Names], str]] = {
    "clip": clipped,
    "sides": of_both_signs,
    "tiers": in_tiers,
    "following": that_follow,
    "naive": at_the_least_budget,
    "partition": by_domains,
    "additive": of_a_shape,
    "choice": of_the_farthest,
    "warm_clip": from_a_known_point,
    "joint": of_units_in_groups,
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


def _octaves_of_larger_values() -> AbstractContextManager[Any]:
    right = octaves_below
    return patch.object(point_module, "octaves_below", lambda high, caps: right(high + 1, caps))


def _not_clipped() -> AbstractContextManager[Any]:
    return patch.object(CellColumns, "clipped", lambda self, caps: self.total)  # noqa: ARG005


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


def _noise_of_half_the_scale(mechanism: type = Following) -> AbstractContextManager[Any]:
    right: Any = DiscreteLaplace
    return patch(f"{mechanism.__module__}.DiscreteLaplace", lambda scale: right(scale / 2))


def _caps_of_twice_the_budget() -> AbstractContextManager[Any]:
    right = Additive.law

    def wrong(self: Additive, summary: Summary, share: Fraction) -> Shaped:
        noise = right(self, summary, share).noise
        worth = 2 * share * summary.levels.quantum
        return Shaped(
            summary.clipped_total(summary.cells.by_budget(lambda q: noise.within(q * worth))), noise
        )

    return patch.object(Additive, "law", wrong)


def _twice_the_caps() -> AbstractContextManager[Any]:
    right = Joint.caps

    def wrong(unit: UnitGroups, tuning: Tuning, place: int) -> Caps:
        caps = right(unit, tuning, place)
        return replace(caps, by_level=tuple(2 * cap for cap in caps.by_level))

    return patch.object(Joint, "caps", staticmethod(wrong))


def _masses_up_to_a_place() -> AbstractContextManager[Any]:
    return patch(f"{Choice.__module__}.beyond", lambda masses: [*accumulate(masses)])


def _records_for_budgets() -> AbstractContextManager[Any]:
    return patch.object(CellColumns, "masses", lambda self, lattice: self.count * (1 << 20) // lattice)


def _noise_of_the_next_tier() -> AbstractContextManager[Any]:
    right = Tiers.law

    def wrong(self: Tiers, summary: Summary, share: Fraction) -> Noisy:
        law = right(self, summary, share)
        return Noisy(law.values, law.noises[::-1])

    return patch.object(Tiers, "law", wrong)


MUTANTS: Mapping[str, Mapping[str, Callable[[], AbstractContextManager[Any]]]] = {
    "clip": {
        "octaves of larger values": _octaves_of_larger_values,
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
    "naive": {
        "clipped by lower ends": _clipped_by_lower_ends,
        "noise of half the scale": partial(_noise_of_half_the_scale, Naive),
    },
    "partition": {
        "not clipped": _not_clipped,
        "noise of half the scale": partial(_noise_of_half_the_scale, PaperPartition),
    },
    "additive": {
        "clipped by lower ends": _clipped_by_lower_ends,
        "caps of twice the budget": _caps_of_twice_the_budget,
    },
    "choice": {
        "masses up to a place": _masses_up_to_a_place,
        "records counted for their budgets": _records_for_budgets,
    },
    "warm_clip": {
        "clipped by lower ends": _clipped_by_lower_ends,
        "half of the masses": _half_of_the_masses,
        "noise of half the scale": partial(_noise_of_half_the_scale, WarmClip),
    },
    "joint": {
        "half of the masses": _half_of_the_masses,
        "noise of half the scale": partial(_noise_of_half_the_scale, Joint),
        "caps of twice the budget": _twice_the_caps,
    },
}

_HEAD = """From Coq Require Import ZArith QArith List String Bool.
From Prdp Require Import Law Clip Sides Tiers Added Joint Tie.
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
