"""keys on every small table: the very code that draws, with every outcome of every draw."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

from prdp.cells.key_masses import KeyMasses
from prdp.declare.key_domains import (
    Block,
    ColumnKeys,
    KeyClass,
    KeyDomain,
    ListedKeys,
    RawKey,
    RawRow,
    TextClass,
)
from prdp.errors import InvalidRequest
from prdp.levels import Levels
from prdp.mechanisms.keys import FoundKey, KeyFinder
from prdp.noise.chances import Chances, EntropyChances
from prdp.noise.choice import ExponentialChoice
from prdp.schema import ColumnType, Kind
from prdp.testing.enumerated import every_outcome, exact_distribution, largest_log_ratio_of
from prdp.testing.exact_loss import TOLERANCE, choice_probabilities


@dataclass(frozen=True, slots=True)
class Coarse(Levels):
    """Levels with a quantum of half a unit, so that few noises matter."""

    @property
    def quantum(self) -> Fraction:
        return Fraction(1, 2)


LEVELS = Coarse(Fraction(1), Fraction(4))
SHARE = Fraction(3, 2)
HIGHEST = 4
"""Noises are distinguished up to here, so that the probabilities of outputs with no larger mass are known."""

Record = tuple[Any, int]
"""A key, or several for a unit, and a budget in quanta; 0 where a record has no valid one."""

Draw = Callable[[Sequence[Record], Chances], Hashable]


def text_column(*classes: tuple[KeyClass, Fraction]) -> ColumnKeys:
    return ColumnKeys("k", ColumnType(Kind.TEXT), classes, {})


def domain_of(*classes: tuple[KeyClass, Fraction], false_keys: Fraction = Fraction(3, 10)) -> KeyDomain:
    return KeyDomain((text_column(*classes),), false_keys)


LETTERS = domain_of((TextClass.of_pattern("[abc]"), Fraction(1)))
RECORDS: tuple[Record, ...] = ((b"a", 1), (b"b", 2), (b"b", 0))
"""Of two keys and budgets, and one that has no valid budget."""


def masses_of(records: Sequence[Record]) -> KeyMasses:
    masses: Counter[RawRow] = Counter()
    for key, quanta in records:
        if quanta:
            masses[key,] += quanta
    return KeyMasses.of(LEVELS, masses)


def drawn_by(finder: KeyFinder, masses: Callable[[Sequence[Record]], KeyMasses] = masses_of) -> Draw:
    return lambda records, chances: finder.drawn(masses(records), SHARE, chances)


def complete(outputs: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
    """Return the outputs whose probabilities are whole: no mass in them is beyond HIGHEST."""
    return {
        output: chance for output, chance in outputs.items() if max(masses_in(output), default=0) <= HIGHEST
    }


def masses_in(output: Any) -> list[int]:
    found = output if isinstance(output, tuple) else ()
    return [one.mass if isinstance(one, FoundKey) else 0 for one in found]


def excess(draw: Draw, records: Sequence[Record] = RECORDS, max_records: int = 2) -> float:
    """Return by how much the worst loss passes its promise, over all small tables."""
    return max(excesses(draw, records, max_records))


def excesses(draw: Draw, records: Sequence[Record], max_records: int) -> Iterator[float]:
    """Yield by how much each loss passes its promise."""

    @cache
    def outputs(table: tuple[int, ...]) -> dict[Hashable, Any]:
        held = [records[place] for place in table]
        return complete(every_outcome(lambda chances: draw(held, chances), HIGHEST, far=1))

    for size in range(max_records):
        for table in combinations_with_replacement(range(len(records)), size):
            for added, (_, quanta) in enumerate(records):
                ratio = largest_log_ratio_of(outputs(table), outputs(tuple(sorted((*table, added)))))
                yield ratio - float(SHARE * LEVELS.quantum * quanta)


HALF = Fraction(1, 2)
LENGTHS = tuple((TextClass.of_length(("a",), length), HALF ** (length + 1)) for length in range(3))
DOMAINS = {
    "one class": LETTERS,
    "a list and the rest, which spells it again": domain_of(
        (ListedKeys((b"b",)), HALF), (TextClass.of_pattern("[ab]"), HALF), false_keys=Fraction(3, 5)
    ),
    "lengths": domain_of(*LENGTHS, false_keys=Fraction(3, 5)),
    "blocks": domain_of((TextClass.of_pattern("a?b"), Fraction(1)), false_keys=Fraction(1, 5)),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_no_record_loses_more_than_its_share_of_its_budget(name: str) -> None:
    assert excess(drawn_by(KeyFinder(DOMAINS[name]))) <= TOLERANCE


def test_a_key_outside_of_the_domain_shows_nothing() -> None:
    assert excess(drawn_by(KeyFinder(LETTERS)), [(b"x", 1), (b"a", 1)]) <= TOLERANCE


def test_a_record_can_lose_all_of_its_share() -> None:
    """Or the enumeration would be blind."""
    assert excess(drawn_by(KeyFinder(LETTERS)), [(b"a", 1)]) >= -1e-6


def test_pairs_of_columns_lose_no_more() -> None:
    pair = KeyDomain((text_column((TextClass.of_pattern("[ab]"), Fraction(1))),) * 2, Fraction(3, 10))

    def draw(records: Sequence[Record], chances: Chances) -> Hashable:
        masses: Counter[RawRow] = Counter()
        for key, quanta in records:
            masses[key] += quanta
        return KeyFinder(pair).drawn(KeyMasses.of(LEVELS, masses), SHARE, chances)

    assert excess(draw, [((b"a", b"b"), 2), ((b"a", b"a"), 1), ((b"a", b"x"), 1)], 1) <= TOLERANCE


def test_the_largest_alone_lose_no_more() -> None:
    assert excess(drawn_by(KeyFinder(LETTERS, most=1))) <= TOLERANCE


def test_the_drawn_law_is_that_of_independent_coins() -> None:
    finder, masses = KeyFinder(LETTERS), masses_of([(b"a", 2)])
    (least,), scale = finder.thresholds(finder.scale(masses, SHARE)), finder.scale(masses, SHARE)

    def every_key(chances: Chances) -> Hashable:
        noisy = {key: int(chances.noises(scale, 1)[0]) for key in (b"a", b"b", b"c")}
        noisy[b"a"] += 2
        shown = [FoundKey((key,), mass) for key, mass in noisy.items() if mass >= least]
        return tuple(sorted(shown, key=lambda one: (-one.mass, one.key)))

    naive = complete(every_outcome(every_key, HIGHEST))
    lazy = complete(every_outcome(lambda chances: finder.drawn(masses, SHARE, chances), HIGHEST))
    assert naive.keys() == lazy.keys()
    assert largest_log_ratio_of(naive, lazy) < TOLERANCE


def test_a_countable_domain_cut_at_a_length_differs_by_no_more_than_its_tail() -> None:
    def cut(longest: int) -> dict[Hashable, Any]:
        classes = [
            (TextClass.of_length(("a",), length), Fraction(1, 2 ** (length + 1)))
            for length in range(longest + 1)
        ]
        finder = KeyFinder(domain_of(*classes))
        return every_outcome(lambda chances: finder.drawn(masses_of([(b"a", 1)]), SHARE, chances), HIGHEST, 1)

    short, long = cut(1), cut(3)
    tail = Fraction(3, 10) / 4
    outputs = short.keys() | long.keys()
    distance = sum(float(abs(short.get(y, 0) - long.get(y, 0))) for y in outputs) / 2
    assert 0 < distance <= tail


# Twins: each breaks one step of the proof, and the same measurement must find it.


@dataclass(frozen=True, slots=True, eq=False)
class AlsoHeld(KeyMasses):
    """Drops names that have no noise of their own: keys of left-out records alone."""

    left_out: frozenset[RawRow] = frozenset()

    def holding(self, keys: Any) -> set[RawRow]:
        return KeyMasses.holding(self, keys) | (self.left_out & set(keys))


def with_left_out_keys(records: Sequence[Record]) -> KeyMasses:
    right = masses_of(records)
    left_out = frozenset((key,) for key, quanta in records if quanta == 0)
    return AlsoHeld(right.levels, right.columns, right.mass, left_out)


def two_rows_for_one_key(records: Sequence[Record]) -> KeyMasses:
    """Keep a row for every record, as if '7' and '007' were distinguished by the engine alone."""
    one = [KeyMasses.of(LEVELS, {(key,): quanta}) for key, quanta in records if quanta]
    if not one:
        return masses_of([])
    columns = np.concatenate([each.columns[0] for each in one])
    return KeyMasses(LEVELS, (columns,), np.concatenate([each.mass for each in one]))


@dataclass(frozen=True)
class LooselyHeld(TextClass):
    """Membership by a regular expression, which takes a line feed at the end for nothing."""

    def holds(self, key: object) -> bool:
        return isinstance(key, bytes) and re.match(rb"^[abc]$", key) is not None


@dataclass(frozen=True)
class Spellings(TextClass):
    """Texts counted once for every way in which a pattern spells them."""


AMBIGUOUS = Spellings(
    tuple(
        Block((("a",),) * (one + other)) for one in (1, 2) for other in (1, 2)
    )  # a{1,2}a{1,2}: aaa in two ways
)


class Quiet(KeyFinder):
    """Adds noise 15 % too small."""

    def scale(self, masses: KeyMasses, share: Fraction) -> Fraction:
        return KeyFinder.scale(self, masses, share) * Fraction(85, 100)


class ThresholdAsMass(KeyFinder):
    """Shows false keys with what they needed as their mass."""

    def _false(self, place: int, masses: KeyMasses, scale: Fraction, least: int, chances: Chances) -> Any:
        right = KeyFinder._false(self, place, masses, scale, least, chances)
        return [FoundKey(one.key, least) for one in right]


class FoundFirst(KeyFinder):
    """Shows the keys that records have before those that nobody has."""

    def drawn(self, masses: KeyMasses, share: Fraction, chances: Chances) -> Any:
        right = KeyFinder.drawn(self, masses, share, chances)
        held = masses.holding([one.key for one in right])
        return tuple(sorted(right, key=lambda one: (one.key not in held, -one.mass, one.key)))


@dataclass(frozen=True)
class OtherNames(KeyFinder):
    """Draws the names of false keys in another way."""

    how: str = ""

    def _false(self, place: int, masses: KeyMasses, scale: Fraction, least: int, chances: Chances) -> Any:
        keys = self.domain.classes[place]
        number = chances.tails(keys.size, scale, least)
        every = [keys.nth(rank) for rank in range(keys.size)]
        held = masses.holding(every)
        if self.how == "repeated names thrown away":
            names = list(dict.fromkeys(every[chances.different(keys.size, 1)[0]] for _ in range(number)))
        elif self.how == "dropped names replaced":
            free = [name for name in every if name not in held]
            names = [free[rank] for rank in chances.different(len(free), min(number, len(free)))]
        else:
            names = [every[rank] for rank in chances.different(keys.size, number)]
        drawn = [FoundKey(name, least + chances.beyond(scale)) for name in names]
        if self.how == "the list is drawn again with the rest":
            return [one for one in drawn if one.key not in held]
        kept = [one for one in drawn if one.key not in held and self.domain.class_of(one.key) == place]
        if self.how == "dropped names counted aloud":
            kept += [FoundKey((b"~dropped",), -1 - len(drawn) + len(kept))]
        return kept


def caught(draw: Draw, records: Sequence[Record] = RECORDS, max_records: int = 2) -> None:
    assert any(found > 0.01 for found in excesses(draw, records, max_records))


def caught_at_once(draw: Draw, records: Sequence[Record] = RECORDS, max_records: int = 2) -> None:
    """Find an output that one of two neighbouring tables can have and the other cannot."""
    assert any(found == math.inf for found in excesses(draw, records, max_records))


def test_a_key_of_left_out_records_that_is_dropped_without_noise_is_caught() -> None:
    caught_at_once(drawn_by(KeyFinder(LETTERS), with_left_out_keys))


def test_membership_by_a_loose_expression_is_caught() -> None:
    loose = domain_of((LooselyHeld(TextClass.of_pattern("[abc]").blocks), Fraction(1)))
    caught_at_once(drawn_by(KeyFinder(loose)), [(b"a\n", 1), (b"a", 1)])
    assert excess(drawn_by(KeyFinder(LETTERS)), [(b"a\n", 1), (b"a", 1)]) <= TOLERANCE


def test_keys_that_are_counted_once_for_every_spelling_are_caught() -> None:
    ambiguous = domain_of((AMBIGUOUS, Fraction(1)))
    caught(drawn_by(KeyFinder(ambiguous)), [(b"aaa", 1)], 1)


@pytest.mark.parametrize(
    "pattern", ["[0-9]{1,2}[0-9]{1,2}", "[ab]{1,2}-?[ab]{1,2}", "a?[ab]?", "x{0,2}x{0,2}"]
)
def test_ambiguous_patterns_are_refused(pattern: str) -> None:
    with pytest.raises(InvalidRequest, match="two ways"):
        TextClass.of_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["[ab]{1,2}-[ab]{1,2}", "a?b", "[ab]{0,3}", "[ab]c?[ab]", "[0-2]{2}x?", "a?a", "a?b?c?", "[-a]\\]?"],
)
def test_keys_counted_are_keys_spelled_and_all_of_them_are_held(pattern: str) -> None:
    keys = TextClass.of_pattern(pattern)
    spelled = [keys.nth(rank) for rank in range(keys.size)]
    letters = sorted({letter for key in spelled for letter in key.decode()} | {"Z"})
    longest = max(map(len, spelled)) + 1
    words = [""]
    for _ in range(longest):
        words += [word + letter for word in words for letter in letters]
    matching = {word.encode() for word in words if re.fullmatch(pattern, word)}
    assert len(set(spelled)) == keys.size
    assert set(spelled) == matching == {word.encode() for word in words if keys.holds(word.encode())}


def test_one_key_in_two_rows_is_caught() -> None:
    caught_at_once(drawn_by(KeyFinder(LETTERS), two_rows_for_one_key))


def test_noise_that_is_15_percent_too_small_is_caught() -> None:
    caught(drawn_by(Quiet(LETTERS)))


def test_a_false_key_with_the_threshold_as_its_mass_is_caught() -> None:
    caught_at_once(drawn_by(ThresholdAsMass(LETTERS)))


def test_keys_of_records_before_false_ones_are_caught() -> None:
    caught_at_once(drawn_by(FoundFirst(LETTERS)))


@pytest.mark.parametrize(
    "how", ["repeated names thrown away", "dropped names replaced", "dropped names counted aloud"]
)
def test_names_that_are_drawn_otherwise_are_caught(how: str) -> None:
    caught(drawn_by(OtherNames(LETTERS, how=how)))
    assert excess(drawn_by(OtherNames(LETTERS))) <= TOLERANCE


def test_a_list_that_is_drawn_again_with_the_rest_is_caught() -> None:
    listed = DOMAINS["a list and the rest, which spells it again"]
    again = OtherNames(listed, how="the list is drawn again with the rest")
    caught_at_once(drawn_by(again))


# Units: several keys each, and one budget for all of them.

UNITS: tuple[Record, ...] = (((b"a", b"b", b"c"), 3), ((b"b",), 2))


def unit_masses(
    chosen: Callable[[Sequence[Record], Sequence[RawKey]], Sequence[RawKey]], *, divided: bool = True
) -> Callable[[Sequence[Record]], KeyMasses]:
    def masses_of_units(unit: Sequence[Record]) -> KeyMasses:
        masses: Counter[RawRow] = Counter()
        for keys, quanta in unit:
            picked = chosen(unit, keys)
            for key in picked:
                masses[key,] += quanta // len(picked) if divided else quanta
        return KeyMasses.of(LEVELS, masses)

    return masses_of_units


def by_name(_: Sequence[Record], keys: Sequence[RawKey]) -> Sequence[RawKey]:
    return keys[:2]


def by_frequency(unit: Sequence[Record], keys: Sequence[RawKey]) -> Sequence[RawKey]:
    often = Counter(key for held, _ in unit for key in held)
    return sorted(keys, key=lambda key: (-often[key], key))[:1]


def test_units_whose_budget_is_divided_lose_no_more() -> None:
    assert excess(drawn_by(KeyFinder(LETTERS), unit_masses(by_name)), UNITS) <= TOLERANCE


def test_undivided_budgets_of_units_are_caught() -> None:
    caught(drawn_by(KeyFinder(LETTERS), unit_masses(by_name, divided=False)), UNITS, 1)


def test_keys_of_units_by_global_frequency_are_caught() -> None:
    often = unit_masses(by_frequency)
    caught(drawn_by(KeyFinder(LETTERS), often), [((b"a", b"b"), 3), ((b"b",), 1)], 2)


# Peeling: what top_keys does not do.


def peeled(masses: Sequence[int], unit: Fraction) -> dict[Hashable, Any]:
    """Return the chance of each pair of keys that two rounds choose."""
    first = choice_probabilities(ExponentialChoice(tuple(-mass for mass in masses), unit))
    found: dict[Hashable, Any] = {}
    for one, chance in enumerate(first):
        rest = [place for place in range(len(masses)) if place != one]
        second = choice_probabilities(ExponentialChoice(tuple(-masses[place] for place in rest), unit))
        found |= {(one, other): chance * then for other, then in zip(rest, second, strict=True)}
    return found


def test_rounds_may_not_have_the_whole_share_each() -> None:
    promised = float(SHARE * 2)
    tables = [[5, 4, 4], [0, 0, 0], [3, 3, 0], [9, 1, 0]]
    for rounds, kept in ((2, True), (1, False)):
        losses = [
            largest_log_ratio_of(
                peeled(masses, SHARE / rounds),
                peeled([mass + 2 * (place == added) for place, mass in enumerate(masses)], SHARE / rounds),
            )
            for masses in tables
            for added in range(3)
        ]
        assert (max(losses) <= promised + TOLERANCE) is kept


# The sampler's own steps, on every byte.


def test_different_numbers_are_equally_likely_sets() -> None:
    def drawn(entropy: Any) -> frozenset[int]:
        return frozenset(EntropyChances(entropy).different(4, 2))

    mass, undecided = exact_distribution(drawn, depth=2)
    assert undecided == Fraction(1, 4)  # where the second is the first again
    assert len(mass) == math.comb(4, 2)
    assert len(set(mass.values())) == 1
