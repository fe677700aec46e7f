"""Pairs of laws of every mechanism, as the exact tests compare them: for Coq's verdict on each.

A pair is the law of a table, that of the table with one record more, and what that record may lose.
A mutant is a pair of a law that is wrong on purpose, which the verdict must reject: the first pair at which
the enumeration of all outputs finds it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from prdp.cells.edges import Pairs
from prdp.local.client.campaign import Campaign
from prdp.local.client.client import laws_for
from prdp.local.protocols import randomisers
from prdp.mechanisms._threshold import Points, RecordCandidates, Tuning, evidence
from prdp.mechanisms.clip import Clip
from prdp.mechanisms.keys import KeyFinder
from prdp.mechanisms.partition import DomainFinder
from prdp.mechanisms.smooth import Smooth
from prdp.mechanisms.truncate import CutCandidates
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.laws import Gated, Law, Noisy
from prdp.testing import local_contract
from prdp.testing.exact_loss import TOLERANCE, largest_log_ratio
from prdp.testing.local_contract import LocalContract
from prdp.testing.mechanism_contract import FACTOR, MechanismContract, less_noise, on_edges, with_budget
from tests.exact import graphs, test_following, test_kept_results, test_keys, test_truncate

ROOT = Path(__file__).parents[2]
MAX_PAIRS = 120
"""Of one law, share and part: all tables of no record, and of the larger ones so many, evenly spread."""

_OCTAVE, _CROWD = 8, 64
"""Levels an octave; and how many records alike are many."""

_EVERY_EDGE = ("additive.TestAnyShape", "additive.TestUnits", "tiers.TestCount", "warm_clip.TestSum")
"""Tests in which 2 % too little noise shows only with records on the edges of all levels, not of octaves."""

UNIT = Fraction(1)
LawOf = Callable[[Any], Any]
"""From a table to a law."""

Report = tuple[randomisers.Law, ...]
"""What a client of the local model draws: its coordinates, independent of each other."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The laws of two neighbouring tables, and what the record that they differ by may lose."""

    without: Law | Report
    added: Law | Report
    promised: Fraction


@dataclass(frozen=True, slots=True)
class Neighbours:
    """All pairs of neighbouring tables that a law is compared on.

    Attributes:
        pairs: Two tables and what the record that they differ by is promised, at share 1.
        tables: From a table's name, as in ``pairs``, to what a law is built from.
    """

    pairs: Sequence[tuple[Any, Any, Fraction]]
    tables: Callable[[Any], Any]

    def laws(self, law: LawOf, part: Fraction) -> Iterator[Pair]:
        """Yield the pairs of a law that may use such a part of every record's budget."""
        of = cache(lambda table: law(self.tables(table)))
        for one, other, promised in self.pairs:
            yield Pair(of(one), of(other), part * promised)


@dataclass(frozen=True, slots=True)
class Source:
    """Where pairs come from: a test and a law that it measures, the right one or a mutant."""

    name: str
    pairs: Callable[[], Iterable[Pair]]
    mutants: Mapping[str, Callable[[], Iterable[Pair]]] = field(default_factory=dict)

    def found(self) -> Iterator[tuple[str, Pair]]:
        """Yield each mutant with the first pair at which it loses too much."""
        for name, pairs in self.mutants.items():
            caught = next(filter(_loses_too_much, pairs()), None)
            if caught is None:
                raise LookupError(f"{self.name}: no pair finds out the mutant {name!r}")
            yield name, caught


def _loses_too_much(pair: Pair) -> bool:
    local = isinstance(pair.without, tuple) and isinstance(pair.added, tuple)
    ratio: Callable[[Any, Any], float] = local_contract.largest_log_ratio if local else largest_log_ratio
    return ratio(pair.without, pair.added) > pair.promised + Fraction(TOLERANCE)


# Contracts: tests/exact/test_*.py

TESTS: Mapping[str, Sequence[str]] = {
    "additive": ("additive",),
    "choice": ("choice",),
    "clip": ("clip", "fence", "tail"),
    "clipped_tiers": ("clipped_tiers",),
    "distinct": ("distinct",),
    "framework": ("framework",),
    "joint": ("joint",),
    "naive": ("naive",),
    "partition": ("partition",),
    "rank": ("rank",),
    "warm_clip": ("warm_clip",),
    "warm_rank": ("warm_rank",),
    "tiers": ("tiers",),
    "units": ("units", "divided", "held_keys"),
}
"""The exact tests of each mechanism that are contracts; ``units`` are those with many rows."""


def contracts(test: str) -> list[type[MechanismContract]]:
    """Return the contracts that an exact test holds a mechanism to."""
    module = import_module(f"tests.exact.test_{test}")
    own = (one for one in vars(module).values() if getattr(one, "__module__", "") == module.__name__)
    return [one for one in own if _is_contract(one)]


def _is_contract(one: Any) -> bool:
    return isinstance(one, type) and issubclass(one, MechanismContract) and one.__name__.startswith("Test")


def _of_contract(test: str, kind: type[MechanismContract]) -> Source:
    contract = kind()
    name_of = f"{test}.{kind.__name__}"
    every, edges = _neighbours(contract), _on_edges(contract, 1 if name_of in _EVERY_EDGE else _OCTAVE)
    neighbours = replace(every, pairs=_spread(every.pairs, len(contract.records)))
    tight = [] if contract.variant_of else [part for part in contract.parts if part not in contract.loose]
    tight = [part for part in tight if part != "whole"] or tight  # a whole's parts say more

    def pairs() -> Iterator[Pair]:
        for share in contract.shares:
            for part, promise in contract.parts.values():
                yield from neighbours.laws(_part(contract.law, part, share), share * promise)
        for name in tight:
            part, promise = contract.parts[name]
            added = edges(name)
            some = replace(added, pairs=_spread(added.pairs, len(contract.records)))
            yield from some.laws(_part(contract.law, part, UNIT), promise)

    def mutant(name: str) -> Callable[[], Iterable[Pair]]:
        twin = contract.twins()[name]
        part, promise = contract.parts[twin.part]
        return lambda: every.laws(_part(twin.law, part, UNIT), promise)

    def quiet(name: str) -> Callable[[], Iterable[Pair]]:
        part, promise = contract.parts[name]
        law = _part(lambda cells, share: less_noise(contract.law(cells, share), FACTOR), part, UNIT)
        return lambda: edges(name).laws(law, promise)

    mutants = {name: mutant(name) for name, twin in contract.twins().items() if twin.law is not None}
    mutants |= {f"2 % less noise, {name}": quiet(name) for name in tight}
    return Source(name_of, pairs, mutants)


def _part(law: Any, part: Callable[[Any], Law], share: Fraction) -> LawOf:
    return lambda summary: part(law(summary, share))


def _neighbours(contract: MechanismContract) -> Neighbours:
    """Return the tables of a contract: every small one with each record added."""
    records, promised = contract.records, [Fraction(contract.budget(record)) for record in contract.records]
    places = range(len(records))
    tables: list[tuple[int, ...]] = [()]
    for size in range(1, contract.max_records):
        tables += [(*table, place) for table in tables if len(table) == size - 1 for place in places]
    found = [(table, tuple(sorted((*table, place))), promised[place]) for table in tables for place in places]
    unique = list(dict.fromkeys((tuple(sorted(one)), other, may) for one, other, may in found))
    summarise = cache(lambda table: contract.summarise([records[place] for place in table]))
    return Neighbours(unique, summarise)


def _on_edges(contract: MechanismContract, stride: int) -> Callable[[str], Neighbours]:
    """Return the pairs of a part in which a record on the lower edge of a level of budgets is added.

    There the promise is used up, so that 2 % too little noise shows; in some parts among many records alike.
    """
    alone = [record for record in contract.records if contract.budget(record) > 0]
    edges = cache(contract.edge_records)

    @cache
    def cells(table: tuple[int, int, int, int | None]) -> Any:
        which, times, stride, added = table
        return contract.summarise([alone[which]] * times + ([] if added is None else [edges(stride)[added]]))

    def neighbours(part: str) -> Neighbours:
        tables = [(0, 0, stride)]
        if part in contract.crowded:
            tables += [(which, size, _OCTAVE) for size in (1, _CROWD) for which in range(len(alone))]
        pairs = [
            ((*table, None), (*table, place), Fraction(contract.budget(record)))
            for table in tables
            for place, record in enumerate(edges(table[2]))
        ]
        return Neighbours(pairs, cells)

    return neighbours


def _spread(pairs: Sequence[tuple[Any, Any, Fraction]], first: int) -> list[tuple[Any, Any, Fraction]]:
    """Return the first pairs, and of the others as many as are wanted, evenly spread."""
    more = pairs[first:]
    step = -(-len(more) // MAX_PAIRS) or 1
    return [*pairs[:first], *more[::step]]


# Tests that are no contracts: their laws come together from several objects.


def _following() -> list[Source]:
    universe, share = test_following.UNIVERSE, UNIT
    budgets = [Fraction(test_following.budget(record)) for record in universe]
    places = range(len(universe))
    tables = [(), *((place,) for place in places)]
    pairs = [(table, (*table, place), budgets[place]) for table in tables for place in places]
    neighbours = Neighbours(pairs, cache(lambda table: test_following.cells_of([universe[i] for i in table])))

    def both(follower: test_following.Follower) -> LawOf:
        def law(summary: Any) -> Gated:
            def after(tuning: Tuning, place: int) -> Noisy:
                point = Points.spanning(summary, tuning.stride).per_quantum(place) / summary.levels.quantum
                first = Clip(test_following.FINDER).total(summary, test_following.LEADER, tuning, place)
                second = follower(summary, test_following.FOLLOWER, point)
                return Noisy(first.values + second.values, first.noises + second.noises)

            return test_following.FINDER.law(RecordCandidates(summary), test_following.LEADER, after)

        return law

    def after(follower: test_following.Follower) -> Callable[[], Iterable[Pair]]:
        """Return pairs of the follower alone, after every point."""
        return lambda: (
            pair
            for point in test_following.POINTS
            for pair in neighbours.laws(lambda cells: follower(cells, share, point), UNIT)  # noqa: B023
        )

    right = {"count": test_following.count, "squares": test_following.squares}
    wrong = {
        "count with noise 15 % too small": test_following.quieter(test_following.count),
        "squares with noise 15 % too small": test_following.quieter(test_following.squares),
        "squares with the sum's noise": test_following.noise_of_the_sum,
        "counted whole": test_following.whole_where_the_sum_is,
        "a point of the records": test_following.point_of_the_records,
    }
    return [
        *(Source(f"following.{name}", after(follower)) for name, follower in right.items()),
        *(
            Source(f"following.sum and {name}", lambda f=follower: neighbours.laws(both(f), UNIT))  # type: ignore[misc]
            for name, follower in right.items()
        ),
        Source("following.mutants", lambda: (), {name: after(twin) for name, twin in wrong.items()}),
    ]


def _graph_neighbours() -> Neighbours:
    """Return all graphs on four nodes with an edge added."""
    pairs = [
        (edges, more, graphs.quanta(place) * graphs.LEVELS.quantum)
        for edges, more, place in graphs.neighbours(test_truncate.FOUR_NODES)
    ]
    return Neighbours(_spread(pairs, 1), cache(graphs.graph))


def _truncate() -> list[Source]:
    neighbours = _graph_neighbours()

    def total(pairs: Pairs) -> Noisy:
        return test_truncate.MECHANISM.totals(test_truncate.FORMS["paths"](pairs), UNIT)(
            test_truncate.TUNING, 7
        )

    def choice(form: str, pairs: Pairs) -> Law:
        candidates = CutCandidates(test_truncate.FORMS[form](pairs), UNIT)
        return test_truncate.FINDER.drawn(candidates, UNIT, test_truncate.TUNING)

    def parts() -> Iterator[Pair]:
        yield from neighbours.laws(total, test_truncate.ANSWER_PART)
        for form in ("paths", "stars", "triangles at public weights"):
            yield from neighbours.laws(partial(choice, form), test_truncate.CHOICE_PART)

    def by_clipped_mass(pairs: Pairs) -> Law:
        candidates = CutCandidates(test_truncate.FORMS["paths"](pairs), UNIT)
        weight = evidence(candidates, UNIT, test_truncate.TUNING) * graphs.LEVELS.quantum
        masses = test_truncate.clipped_masses(pairs, 2, 1)
        return test_truncate.FINDER.choice(masses, weight, test_truncate.TUNING, candidates.heights(2))

    def whole(form: str) -> Callable[[], Iterable[Pair]]:
        return lambda: neighbours.laws(lambda pairs: test_truncate.truncated(form)(pairs, UNIT), UNIT)

    mutants: Mapping[str, Callable[[], Iterable[Pair]]] = {
        "noise 15 % too small": lambda: neighbours.laws(
            lambda pairs: _quieter(total(pairs)), test_truncate.ANSWER_PART
        ),
        "choice by clipped mass": lambda: neighbours.laws(by_clipped_mass, test_truncate.CHOICE_PART),
    }
    return [
        Source("truncate.parts", parts, mutants),
        Source("truncate.paths", whole("paths")),
        Source("truncate.stars", whole("stars")),
        Source("truncate.triangles", whole("triangles at public weights")),
    ]


def _quieter(law: Noisy) -> Noisy:
    return Noisy(law.values, tuple(DiscreteLaplace(noise.scale * Fraction(85, 100)) for noise in law.noises))


def _keys() -> list[Source]:
    """Return the noisy masses of all possible keys, of which the answer is a function (proofs/keys.md)."""
    records = ((b"a", 1), (b"b", 2), (b"c", 3), (b"x", 1), (b"b", 0))
    domain, quantum = test_keys.LETTERS, test_keys.LEVELS.quantum
    possible = [domain.classes[0].nth(rank) for rank in range(domain.classes[0].size)]
    tables = [(), *((place,) for place in range(len(records)))]
    pairs = [
        (table, (*table, place), quanta * quantum)
        for table in tables
        for place, (_, quanta) in enumerate(records)
    ]

    def masses(table: tuple[int, ...]) -> Noisy:
        held = test_keys.masses_of([records[place] for place in table])
        own = {held.key(row): int(mass) for row, mass in enumerate(held.mass)}
        noise = DiscreteLaplace(KeyFinder(domain).scale(held, UNIT))
        return Noisy(tuple(own.get(key, 0) for key in possible), (noise,) * len(possible))

    neighbours = Neighbours(pairs, masses)
    mutants: Mapping[str, Callable[[], Iterable[Pair]]] = {
        "noise 15 % too small": lambda: neighbours.laws(_quieter, UNIT),
        "masses counted twice": lambda: neighbours.laws(
            lambda law: Noisy(tuple(2 * mass for mass in law.values), law.noises), UNIT
        ),
    }
    return [Source("keys.masses", lambda: neighbours.laws(lambda law: law, UNIT), mutants)]


def _smooth() -> list[Source]:
    """Return the search for the domain; the noise of the count itself is no law of noise/laws.py."""
    neighbours = _graph_neighbours()
    mechanism = Smooth(DomainFinder.over(graphs.LEVELS))

    def counts(pairs: Pairs) -> Noisy:
        return mechanism.finder.law(pairs.summary(), mechanism.split)

    mutants: Mapping[str, Callable[[], Iterable[Pair]]] = {
        "noise 15 % too small": lambda: neighbours.laws(
            lambda pairs: _quieter(counts(pairs)), mechanism.split
        )
    }
    return [Source("smooth.domain", lambda: neighbours.laws(counts, mechanism.split), mutants)]


def _kept_results() -> list[Source]:
    """Return whole laws of paths, and two ways to keep the wrong records."""
    neighbours = _graph_neighbours()
    paths = test_kept_results.FORMS["paths"]

    def laws(shape: Callable[..., Any], part: Callable[[Any], Law], share: Fraction) -> Iterable[Pair]:
        return neighbours.laws(
            lambda pairs: part(test_kept_results.MECHANISM.law(shape(paths, pairs), UNIT)), share
        )

    split = test_kept_results.SPLIT
    mutants: Mapping[str, Callable[[], Iterable[Pair]]] = {
        "edges below the domain": lambda: laws(
            test_kept_results.all_edges, lambda law: law.laws[1], 1 - split
        ),
        "edges counted by use": lambda: laws(test_kept_results.named_only, lambda law: law.first, split),
    }
    return [
        Source("kept_results.paths", lambda: laws(test_kept_results.used, lambda law: law, UNIT), mutants)
    ]


# The local model: a report against the dummy's. A hash is of a field of five numbers, as in its exact test.

LOCAL: Mapping[str, tuple[str, str]] = {
    "local_bit": ("local_bit", ""),
    "local_hashed": ("local_symbol", "TestHashedResponse"),
    "local_laplace": ("local_laplace", ""),
    "local_symbol": ("local_symbol", "TestGeneralisedRandomisedResponse"),
}
"""The exact test of each randomiser, and which of its contracts; all of them where none is named."""


def local_contracts(test: str) -> list[type[LocalContract]]:
    """Return the contracts that an exact test holds protocols of the local model to."""
    module = import_module(f"tests.exact.test_{test}")
    own = (one for one in vars(module).values() if getattr(one, "__module__", "") == module.__name__)
    return [one for one in own if isinstance(one, type) and issubclass(one, LocalContract)]


def _local(test: str, which: str) -> list[Source]:
    return [_of_local(kind) for kind in local_contracts(test) if which in ("", kind.__name__)]


def _of_local(kind: type[LocalContract]) -> Source:
    contract = kind()

    def pairs(laws: local_contract.Laws) -> Iterator[Pair]:
        for campaign in contract.campaigns:
            budget = partial(_exact_budget, campaign)
            edges = on_edges(contract.records, campaign.policy.levels, budget, partial(_changed, budget))
            dummy = _report(laws, campaign, None)
            for record in (*contract.records, *edges):
                yield Pair(dummy, _report(laws, campaign, record), campaign.share * Fraction(budget(record)))

    def quiet(campaign: Campaign, record: Any) -> Sequence[randomisers.Law]:
        return [local_contract.less_local_noise(law) for law in laws_for(campaign, record)]

    twins = {**contract.twins(), **({} if contract.loose else {"2 % less noise": quiet})}
    mutants = {name: partial(pairs, laws) for name, laws in twins.items()}
    return Source(f"local.{kind.__name__}", partial(pairs, laws_for), mutants)


def _report(laws: local_contract.Laws, campaign: Campaign, record: Any) -> Report:
    return tuple(
        replace(law, prime=5) if isinstance(law, randomisers.Hashed) else law
        for law in laws(campaign, record)
    )


def _exact_budget(campaign: Campaign, record: Any) -> float:
    """Return a record's budget; 0 for one without a valid budget."""
    try:
        return campaign.policy.budget(record) or 0.0
    except (KeyError, TypeError):
        return 0.0


def _changed(budget: Callable[[Any], float], record: Any, to: float) -> Any:
    return with_budget(record, to, budget)


OTHERS: Mapping[str, Callable[[], list[Source]]] = {
    "following": _following,
    "kept_results": _kept_results,
    "keys": _keys,
    "smooth": _smooth,
    "truncate": _truncate,
    **{name: partial(_local, *test) for name, test in LOCAL.items()},
}
MECHANISMS = tuple(sorted({*TESTS, *OTHERS}))


def sources(mechanism: str) -> list[Source]:
    """Return where a mechanism's pairs come from."""
    if mechanism in OTHERS:
        return OTHERS[mechanism]()
    return [_of_contract(test, kind) for test in TESTS[mechanism] for kind in contracts(test)]


def first_pair(mechanism: str) -> Pair:
    """Return a mechanism's first pair."""
    return next(islice(sources(mechanism)[0].pairs(), 1))
