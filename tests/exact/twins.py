"""Every mechanism beside its twin with noise 2 % too small: ``python -m tests.exact.twins [NAME ...]``.

Contracts are found by their class, so that a new one is in the table as soon as it is written. What is
measured in another way than by a contract is in ``OTHERS``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import prdp
from prdp.mechanisms.keys import KeyFinder
from prdp.testing.exact_loss import largest_log_ratio, losses
from prdp.testing.local_contract import LocalContract
from prdp.testing.mechanism_contract import FACTOR, MechanismContract, less_noise, lower_edge
from tests.exact import (
    graphs,
    test_following,
    test_joined_units,
    test_kept_results,
    test_keys,
    test_smooth,
    test_truncate,
)
from tests.exact.test_clip import TOTAL_PART
from tests.exact.test_joined_units import Person
from tests.exact.universe import LEVELS

HERE = Path(__file__).parent
ONE = Fraction(1)


@dataclass(frozen=True, slots=True)
class Row:
    """The worst measured loss over the promised one: of the right law, and of its twin."""

    name: str
    right: float
    twin: float
    loose: str = ""

    def __str__(self) -> str:
        note = f"  not tight: {self.loose}" if self.loose else ""
        return f"{self.name:64} {self.right:7.4f} {self.twin:7.4f}{note}"


def contracts(*names: str) -> list[type]:
    """Return the contracts of all exact tests, or of those whose file's name has one of some words."""
    for path in sorted(HERE.glob("test_*.py")):
        import_module(f"tests.exact.{path.stem}")
    found = dict.fromkeys((*_subclasses(MechanismContract), *_subclasses(LocalContract)))
    return [
        kind for kind in found
        if kind.__module__.startswith("tests.exact.test_") and kind.__name__.startswith("Test")
        and vars(kind).get("__test__", True) and (not names or any(name in kind.__module__ for name in names))
    ]  # fmt: skip


def _subclasses(kind: type) -> Iterator[type]:
    one: type
    for one in kind.__subclasses__():
        yield one
        yield from _subclasses(one)


def rows(kind: Any) -> Iterator[Row]:
    """Measure one contract."""
    name = f"{kind.__module__.removeprefix('tests.exact.test_')}, {kind.__name__.removeprefix('Test')}"
    if issubclass(kind, LocalContract):
        right, twin = kind().tightness()
        yield Row(name, right, twin, kind.loose)
    elif kind.variant_of is None:
        for found in kind().tightness():
            yield Row(f"{name}, {found.part}", found.right.ratio, found.twin.ratio, found.loose)


def following(follower: Any) -> Row:
    """Measure what follows a sum, at points and values where rounding gives little away."""
    universe = [{"v": v} for v in (11, 22, 44, 48)]

    def worst(change: Callable[[Any], Any]) -> float:
        return max(
            loss.ratio
            for point in (50, 140)
            for loss in losses(
                universe,
                lambda cells, point=point: change(follower(cells, ONE, Fraction(point))),  # type: ignore[misc]
                test_following.cells_of,
                test_following.budget,
                1,
            )
        )

    return Row(f"following, {follower.__name__}", worst(lambda law: law), worst(less_noise))


def truncate(form: str) -> Row:
    """Measure the cut count of a graph's paths or stars."""

    def worst(change: Callable[[Any], Any]) -> float:
        def law(edges: int) -> Any:
            cut = test_truncate.FORMS[form](graphs.graph(edges))
            return change(test_truncate.MECHANISM.totals(cut, ONE)(test_truncate.TUNING, 5))

        laws = {edges: law(edges) for edges in range(1 << 10) if not edges & ~test_truncate.FOUR_NODES}
        quantum = test_truncate.ANSWER_PART * graphs.LEVELS.quantum
        return max(
            largest_log_ratio(laws[edges], laws[more]) / float(quantum * graphs.quanta(place))
            for edges, more, place in graphs.neighbours(test_truncate.FOUR_NODES)
        )

    return Row(f"truncate, {form}", worst(lambda law: law), worst(less_noise))


def kept_results() -> Row:
    """Measure the search for the domain; what the kept results add up to is `truncate`'s."""

    def worst(change: Callable[[Any], Any]) -> float:
        kept = test_kept_results
        laws = {
            edges: change(kept.MECHANISM.law(kept.used(kept.FORMS["paths"], graphs.graph(edges)), ONE).first)
            for edges in range(1 << 10)
            if not edges & ~kept.FOUR_NODES
        }
        return max(
            largest_log_ratio(laws[edges], laws[more])
            / float(kept.SPLIT * graphs.LEVELS.quantum * graphs.quanta(place))
            for edges, more, place in graphs.neighbours(kept.FOUR_NODES)
        )

    return Row("kept_results, domain", worst(lambda law: law), worst(less_noise))


class QuieterKeys(KeyFinder):
    """Adds noise 2 % too small."""

    def scale(self, masses: Any, share: Fraction) -> Fraction:
        return KeyFinder.scale(self, masses, share) * FACTOR


def keys() -> Row:
    """Measure the search for keys on tables of one record, the one with the smallest budget."""
    records = test_keys.RECORDS[:1]
    promised = float(test_keys.SHARE * test_keys.LEVELS.quantum * records[0][1])
    right, twin = (
        1 + max(test_keys.excesses(test_keys.drawn_by(kind(test_keys.LETTERS)), records, 1)) / promised
        for kind in (KeyFinder, QuieterKeys)
    )
    return Row("keys", right, twin)


def smooth() -> Row:
    """Measure two-paths by a smooth bound, at a budget of 1."""
    right, twin = (test_smooth.worst_loss(5, ONE, factor=factor) for factor in (ONE, FACTOR))
    return Row("smooth", right, twin, "no edge moves the count and the scale as far as they may")


def joined(query: Any) -> Row:
    """Measure totals over a join, for somebody whose budget is on the edge of a level."""

    def laws(people: Sequence[Person]) -> list[Any]:
        found = test_joined_units.summaries(
            test_joined_units.database(people), test_joined_units.total, query
        )
        return [test_joined_units.much_clipped(one) for one in found]

    nobody = laws([])
    right = twin = 0.0
    for level in range(0, LEVELS.top + 1, 4):
        own = ((lower_edge(LEVELS, level), "a", True),)
        person = Person("edge", own, ((12, "red"),))
        pairs = list(zip(nobody, laws([person]), strict=True))
        promised = float(TOTAL_PART) * person.budget
        right = max(right, sum(largest_log_ratio(*pair) for pair in pairs) / promised)
        twin = max(twin, sum(largest_log_ratio(*map(less_noise, pair)) for pair in pairs) / promised)
    return Row(f"joined units, {query}", right, twin)


OTHERS: Mapping[str, Callable[[], Row]] = {
    "following, count": lambda: following(test_following.count),
    "following, squares": lambda: following(test_following.squares),
    "truncate, paths": lambda: truncate("paths"),
    "truncate, stars": lambda: truncate("stars"),
    "kept_results, domain": kept_results,
    "keys": keys,
    "smooth": smooth,
    "joined units, sum": lambda: joined(prdp.sum("price")),
}


def main(names: Sequence[str]) -> None:
    """Print the table."""
    print(f"{'measured over promised at worst':64} {'right':>7} {'twin':>7}")
    for kind in contracts(*names):
        for row in rows(kind):
            print(row, flush=True)
    for name, measured in OTHERS.items():
        if not names or any(word in name for word in names):
            print(measured(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
