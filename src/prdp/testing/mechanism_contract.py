"""The contract of mechanisms, as tests: subclass ``MechanismContract`` with a tiny universe.

The loss is measured on ``law``; callers get ``answers``. Both are checked: answers must follow from
what is drawn from the law, or the measured loss would be that of something else.

Inside a level, a record is promised more than its level's budget, and up to 8 % too little noise goes
unnoticed. On the edge it does not.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, reduce, singledispatch
from itertools import chain
from typing import Any, ClassVar, Protocol, overload

from prdp.cells.summary import KeySummary, Summary, TopSummary
from prdp.cells.units import UnitGroups
from prdp.levels import Levels
from prdp.noise.choice import ExponentialChoice
from prdp.noise.concave import ConcaveNoise
from prdp.noise.discrete_gaussian import DiscreteGaussian
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Gated, Law, Lazily, Noise, Noisy, Scan, Shaped, Then, Together
from prdp.noise.permute_and_flip import PermuteAndFlip
from prdp.testing.exact_loss import TOLERANCE, Comparison, Loss, added_losses, content, losses
from prdp.testing.seeded import Seeded

Record = Mapping[str, Any]
BudgetOf = Callable[[Record], float]
WithBudget = Callable[[Record, float], Record | None]

_NEAR = 1e-6
_HALVINGS = 200


def levels_of(summary: Summary | KeySummary | TopSummary | UnitGroups) -> Levels:
    """Return the grid that the budgets of a summary were rounded down to."""
    if isinstance(summary, UnitGroups):
        return summary.summary.levels
    return summary.records.levels if isinstance(summary, TopSummary) else summary.levels


@lru_cache(maxsize=4096)
def lower_edge(levels: Levels, level: int) -> float:
    """Return the least budget that is rounded down to a level.

    >>> from fractions import Fraction
    >>> levels = Levels(Fraction(1), Fraction(4))
    >>> lower_edge(levels, 0), round(lower_edge(levels, 8), 6)
    (1.0, 2.0)
    """
    low, high = levels.least, 2 * float(levels.at_most)
    if levels.index(low) == level:
        return low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        below = levels.index(middle)
        low, high = (middle, high) if below is None or below < level else (low, middle)
    return high


def with_budget(record: Record, budget: float, budget_of: BudgetOf) -> Record | None:
    """Return a record that differs in one number and has just this budget; None if no number is enough.

    It is found where a column holds the budget, or where the budget is in proportion to a number, or in
    inverse proportion.
    """
    own = budget_of(record)
    for name, value in record.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not own:
            continue
        for number in (budget, value * budget / own, value * own / budget):
            changed = {**record, name: number}
            if budget <= budget_of(changed) <= budget * (1 + _NEAR):
                return changed
    return None


def on_edges(
    records: Sequence[Record], levels: Levels, budget_of: BudgetOf, changed: WithBudget, stride: int = 1
) -> Iterator[Record]:
    """Yield each record that takes part on the lower edge of every level, or of every so many."""
    for record in records:
        if budget_of(record) > 0:
            edges = (lower_edge(levels, level) for level in range(0, levels.top + 1, stride))
            yield from (found for edge in edges if (found := changed(record, edge)) is not None)


FACTOR = Fraction(98, 100)
"""Noise 2 % too small."""


@singledispatch
def less_noise(law: object, factor: Fraction = FACTOR) -> Any:
    """Return a law with all its noise scaled by a factor, and its choices sharper by as much.

    >>> less_noise(Noisy((41,), (DiscreteLaplace(Fraction(100)),)))
    Noisy(noises=(DiscreteLaplace(scale=Fraction(98, 1)),))
    """
    raise TypeError(f"{type(law).__name__} is no law of the library ({factor} of its noise)")


@less_noise.register
def _(law: Noisy, factor: Fraction = FACTOR) -> Noisy:
    return Noisy(law.values, tuple(_quieter(noise, factor) for noise in law.noises))


@less_noise.register
def _(law: Shaped, factor: Fraction = FACTOR) -> Shaped:
    steeper = tuple(slope / factor for slope in law.noise.slopes)
    return Shaped(law.value, ConcaveNoise(law.noise.ends, steeper))


@less_noise.register
def _(law: Scan, factor: Fraction = FACTOR) -> Scan:
    threshold_noise, mass_noise = _quieter(law.threshold_noise, factor), _quieter(law.mass_noise, factor)
    return replace(law, threshold_noise=threshold_noise, mass_noise=mass_noise)


@less_noise.register(ExponentialChoice | PermuteAndFlip)
def _(law: ExponentialChoice | PermuteAndFlip, factor: Fraction = FACTOR) -> Any:
    return replace(law, unit=law.unit / factor)


@less_noise.register
def _(law: Then, factor: Fraction = FACTOR) -> Then:
    return Then(less_noise(law.first, factor), lambda place: less_noise(law.then(place), factor))


@less_noise.register
def _(law: Gated, factor: Fraction = FACTOR) -> Gated:
    laws = Lazily(len(law.laws), lambda place: less_noise(law.laws[place], factor))
    return Gated(less_noise(law.first, factor), law.rule, laws)


@less_noise.register
def _(law: Together, factor: Fraction = FACTOR) -> Together:
    return Together(tuple(less_noise(one, factor) for one in law.laws))


@overload
def _quieter(noise: DiscreteLaplace, factor: Fraction) -> DiscreteLaplace: ...


@overload
def _quieter(noise: Noise, factor: Fraction) -> Noise: ...


def _quieter(noise: Noise, factor: Fraction) -> Noise:
    if isinstance(noise, DiscreteGaussian):
        return DiscreteGaussian(noise.variance * factor**2)
    return DiscreteLaplace(noise.scale * factor)


_NEXT_BYTES = 16
_ONE_BY_ONE = 20
"""Number of answers that are drawn one at a time as well: they may not depend on the number of runs."""

_FEW = 5
"""The same at shares at which draws of different tables seldom meet."""


class Drawable(Protocol):
    """A distribution that can be drawn from."""

    def draw(self, entropy: Entropy, runs: int) -> Iterable[Hashable]:
        """Draw independent outcomes."""


def untied(
    tables: Sequence[Any],
    law: Callable[[Any], Drawable],
    answers: Callable[[Any, Entropy, int], Iterable[object]],
    *,
    runs: int | Sequence[int],
    seed: int,
    one_by_one: int = _ONE_BY_ONE,
) -> str:
    """Return in words how answers say something other than what the law draws; empty if they do not.

    Both read the same bytes, from two sources with one seed. Answers that draw from the law, and from
    nothing else, leave their source where the law leaves its own. And what they say is a function of
    what is drawn, the same one for all tables: where two draws are equal, in one table or in two, so are the
    answers in every part, down to their types. Then answers are distributed as the law says, and cost what
    the law costs.

    Args:
        tables: Summaries of tables so small that their draws often meet.
        law: From a summary to the law.
        answers: From a summary, a source and a number of runs to what callers get, once a run.
        runs: How many to draw of each table at once: one number for all tables, or one for each. A few are
            drawn one by one as well.
        seed: Where the bytes of the first table start; the others follow.
        one_by_one: How many to draw one by one.
    """
    at_once = [runs] * len(tables) if isinstance(runs, int) else runs
    answers_of: dict[Hashable, tuple[object, object]] = {}
    for place, (table, many) in enumerate(zip(tables, at_once, strict=True)):
        drawing, answering, its_law = Seeded(seed + place), Seeded(seed + place), law(table)
        for count in (many, *(1,) * one_by_one):
            drawn = list(its_law.draw(drawing, count))
            given_answers = list(answers(table, answering, count))
            if len(given_answers) != len(drawn):
                return f"{count} runs give {len(drawn)} draws and {len(given_answers)} answers"
            if drawing.bytes(_NEXT_BYTES) != answering.bytes(_NEXT_BYTES):
                return (
                    "answers read other bytes than draws of the law do: they are not drawn from it, once each"
                )
            for outcome, answer in zip(drawn, given_answers, strict=True):
                shown = content(answer)
                known, known_shown = answers_of.setdefault(outcome, (answer, shown))
                if known_shown != shown:
                    return f"the law drew {outcome!r} twice, with two answers: {known!r}, {answer!r}"
    return ""


MechanismLaw = Callable[[Any, Fraction], Any]
"""From a summary and a share to the law that an answer is drawn from."""

MechanismAnswers = Callable[[Any, Fraction, Entropy, int], Iterable[object]]
"""From a summary, a share, a source of bytes and a number of runs to what callers get, once a run."""

_SEED = 20261115
_CROWD = 64
_OCTAVE = 8


@dataclass(frozen=True, slots=True)
class Twin:
    """A mechanism that is wrong on purpose, and where that must show.

    Attributes:
        law: A law with an output that costs too much; None where the wrong is in the answers.
        part: The part of the law in which it does.
        answers: Answers that do not follow from the right law; None where the wrong is in the law.
    """

    law: MechanismLaw | None = None
    part: str = "whole"
    answers: MechanismAnswers | None = None

    def __post_init__(self) -> None:
        if (self.law is None) == (self.answers is None):
            raise ValueError("a twin is wrong in one place: give either its law or its answers")


@dataclass(frozen=True, slots=True)
class Tightness:
    """The worst losses in a part of a law, over what is promised: of the right law, and of its quiet twin.

    Attributes:
        part: The part.
        right: The comparison of the right law that comes closest to the promise.
        twin: The same where all noise is 2 % too small.
        loose: Why the right one does not come within 2 % of the promise, where it does not.
    """

    part: str
    right: Loss
    twin: Loss
    loose: str = ""

    def __str__(self) -> str:
        found = (
            f"{self.part}: {self.right.ratio:.4f} of the promise, with 2 % less noise {self.twin.ratio:.4f}"
        )
        return f"{found} (not tight: {self.loose})" if self.loose else found


class MechanismContract:
    """Tests that no output of a mechanism says more about a record than it may, on every small table.

    To the records of the universe the contract adds those on the lower edge of every level, which is where
    a mechanism has no budget to spare. A twin of the law with all its noise 2 % too small must break the
    promise in every part, save in those that ``loose`` names.

    A subclass gives ``mechanism``, ``summarise``, ``budget`` and ``twins``; where the mechanism has other
    names for it, ``law`` and ``answers`` in place of the first.

    Attributes:
        mechanism: The tested mechanism: something with ``law(summary, share)``, and ``answers(summary, share,
            entropy, runs)`` that reads its bytes as ``law(...).draw(entropy, runs)`` does.
        records: The universe; a table may hold a record several times.
        shares: The shares to try.
        max_records: The size of the largest table.
        parts: For a mechanism of several steps, each step's law and its part of the share. Measuring
            the steps one by one catches what slack between them would hide.
        loose: Parts in which no record comes within 2 % of the promise, each with the reason: what the proof
            gives away there. At least one part is not among them.
        crowded: Parts that come closest to the promise where many records are alike: in these, records on
            the lower edges of octaves are also added to each record alone and to 64 of it.
        edge_stride: How many levels the records on edges are apart: 1 for all, 8 for those of octaves, where
            finding a record's cells is slow.
        variant_of: For the same mechanism on other records: the contract in which too little noise must show.
        caught_by: By how much a wrong twin must break the promise, at share 1.
        tied_at: The share at which answers are compared with what the law draws, besides ``shares``. Where
            draws of different tables meet too rarely, a larger share makes for less noise, and may well be
            more than 1; where they meet too rarely because there is next to no noise, a smaller one helps.
        runs: How many answers to draw there, of no record and of each one alone; of larger tables, and at
            the other shares, a quarter.
    """

    mechanism: Any = None
    records: Sequence[Record] = ()
    shares: Sequence[Fraction] = (Fraction(1), Fraction(1, 3))
    max_records: int = 2
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "whole": (lambda law: law, Fraction(1))
    }
    loose: ClassVar[Mapping[str, str]] = {}
    crowded: Sequence[str] = ()
    edge_stride: int = 1
    variant_of: ClassVar[type | None] = None
    caught_by: float = 0.001
    tied_at: Fraction = Fraction(1)
    runs: int = 400

    def law(self, summary: Any, share: Fraction) -> Any:
        """Return the law of the mechanism."""
        return self.mechanism.law(summary, share)

    def answers(self, summary: Any, share: Fraction, entropy: Entropy, runs: int) -> Iterable[object]:
        """Return the answers that callers of the mechanism get, once a run."""
        answers: Iterable[object] = self.mechanism.answers(summary, share, entropy, runs)
        return answers

    def summarise(self, records: Sequence[Record]) -> Summary | KeySummary | TopSummary | UnitGroups:
        """Return the cells of some records, as an engine finds them."""
        raise NotImplementedError

    def budget(self, record: Record) -> float:
        """Return the promised loss of a record; 0 for one that is left out."""
        raise NotImplementedError

    def twins(self) -> Mapping[str, Twin]:
        """Return mechanisms that each break one step of the proof, by name."""
        raise NotImplementedError

    def with_budget(self, record: Record, budget: float) -> Record | None:
        """Return a record that is like another and has a given budget; None if there is none.

        By default one number is changed. Where that is not enough to move a budget, write your own: without
        records on the edges of levels, too little noise goes unnoticed.
        """
        return with_budget(record, budget, self.budget)

    def edge_records(self, stride: int = 1) -> list[Record]:
        """Return each record of the universe on the lower edge of every level, or of every so many."""
        levels = levels_of(self._cells([]))
        return list(on_edges(self.records, levels, self.budget, self.with_budget, stride))

    def _cells(self, records: Sequence[Record]) -> Any:
        """Return the cells of some records; the same records are summarised once."""
        found = self.__dict__.setdefault("_found", {})
        if (name := repr(records)) not in found:
            found[name] = self.summarise(records)
        return found[name]

    def worst(self, law: MechanismLaw, part: str, share: Fraction) -> Loss:
        """Return the worst loss in a part, beside that part's promise, without records on edges."""
        return max(self._losses(law, part, share), key=lambda loss: loss.excess)

    def closest(self, law: MechanismLaw, part: str, share: Fraction = Fraction(1)) -> Loss:
        """Return the loss in a part that is largest beside its promise, with records on edges."""
        found = chain(self._losses(law, part, share), self._edge_losses(law, part, share))
        return max(found, key=lambda loss: loss.ratio)

    def tightness(self) -> Iterator[Tightness]:
        """Measure each part of the law, and of the twin with too little noise."""

        def quiet(summary: Any, share: Fraction) -> Any:
            return less_noise(self.law(summary, share), FACTOR)

        for part in self.parts:
            right, twin = (self.closest(law, part) for law in (self.law, quiet))
            yield Tightness(part, right, twin, self.loose.get(part, ""))

    compared: ClassVar[Any] = None
    """How two laws are compared; by the largest log-ratio where it is None."""

    def promised(self, budget: float, share: float) -> float:
        """Return what a record of a budget may lose with a share, as ``compared`` measures it."""
        return share * budget

    def _losses(self, law: MechanismLaw, part: str, share: Fraction) -> Iterator[Loss]:
        of_law, promised = self._part(law, part, share)
        compared: Comparison | None = type(self).compared
        return losses(self.records, of_law, self._cells, promised, self.max_records, compared)

    def _edge_losses(self, law: MechanismLaw, part: str, share: Fraction) -> Iterator[Loss]:
        of_law, promised = self._part(law, part, share)
        compared, edges = type(self).compared, self.edge_records(self.edge_stride)
        yield from added_losses([[]], edges, of_law, self._cells, promised, compared)
        if part in self.crowded:
            alone = [record for record in self.records if self.budget(record) > 0]
            tables = [[record] * size for size in (1, _CROWD) for record in alone]
            octaves = self.edge_records(_OCTAVE)
            yield from added_losses(tables, octaves, of_law, self._cells, promised, compared)

    def _part(
        self, law: MechanismLaw, part: str, share: Fraction
    ) -> tuple[Callable[[Any], Law], Callable[[Record], float]]:
        of_law, promise = self.parts[part]
        return (
            lambda summary: of_law(law(summary, share)),
            lambda record: self.promised(self.budget(record), float(share * promise)),
        )

    def tables(self) -> list[Any]:
        """Return the cells that answers and draws are compared on: of no record, of each, and of several.

        Of the tables of several records these are in: each record as often as may be, and each with those
        that follow it in the universe.
        """
        return [*self._small_tables(), *map(self.summarise, self._larger())]

    def _small_tables(self) -> list[Any]:
        return [self.summarise([]), *(self.summarise([record]) for record in self.records)]

    def _larger(self) -> Iterator[list[Record]]:
        kinds = len(self.records)
        for size in range(2, self.max_records + 1):
            for place in range(kinds):
                yield [self.records[place]] * size
                if kinds > 1:
                    yield [self.records[(place + ahead) % kinds] for ahead in range(size)]

    def untied(self, answers: MechanismAnswers, tables: Sequence[Any], share: Fraction) -> str:
        """Describe answers that differ from the draws of the law; empty if none do."""
        few = max(1, self.runs // 4)
        alone = self.runs if share == self.tied_at else few
        return untied(
            tables,
            lambda summary: self.law(summary, share),
            lambda summary, entropy, runs: answers(summary, share, entropy, runs),
            runs=[alone if place <= len(self.records) else few for place in range(len(tables))],
            seed=_SEED,
            one_by_one=_ONE_BY_ONE if share == self.tied_at else _FEW,
        )

    def untied_at_any_share(self, answers: MechanismAnswers, tables: Sequence[Any]) -> str:
        """Describe answers that are untied at ``tied_at``, or else at one of the shares to try."""
        shares = dict.fromkeys((self.tied_at, *self.shares))
        return next(filter(None, (self.untied(answers, tables, share) for share in shares)), "")

    def test_no_record_loses_more_than_its_share_of_its_budget(self) -> None:
        """Compare all neighbouring tables, step by step and as a whole."""
        for share in self.shares:
            for part in self.parts:
                found = self.worst(self.law, part, share)
                assert found.excess <= TOLERANCE, (share, part, found)

    def test_two_percent_too_little_noise_is_caught(self) -> None:
        """Measure right law and quiet twin, with records on edges; ``pytest -rP`` prints both."""
        if self.variant_of is not None:
            assert issubclass(self.variant_of, MechanismContract)
            assert self.variant_of.variant_of is None
            return
        assert set(self.loose) < set(self.parts), "every part is loose: nothing would show too little noise"
        for found in self.tightness():
            print(f"{type(self).__qualname__}, {found}")
            assert found.right.excess <= TOLERANCE, found
            if found.loose:
                assert found.right.ratio < FACTOR, f"{found.part} is tight: take it out of loose"
            else:
                assert found.twin.excess > TOLERANCE, (
                    f"noise 2 % too small shows nowhere in {found.part}, where the right law comes to "
                    f"{found.right.ratio:.4f} of its promise at most: add records, or a finer lattice"
                )

    def test_every_wrong_twin_is_caught(self) -> None:
        """Measure the wrong ones just as the right one."""
        twins = self.twins()
        assert twins
        tables = self.tables() if any(twin.answers for twin in twins.values()) else []
        for name, twin in twins.items():
            if twin.answers is not None:
                assert self.untied_at_any_share(twin.answers, tables), name
            elif twin.law is not None:
                found = self.worst(twin.law, twin.part, Fraction(1))
                assert found.excess > self.caught_by, (name, found)

    def test_answers_say_what_is_drawn_from_the_law_and_nothing_else(self) -> None:
        """Draw answers, and from the law, by the same bytes."""
        found = self.untied_at_any_share(self.answers, self.tables())
        assert not found, found

    def test_answers_that_say_more_or_draw_otherwise_are_caught(self) -> None:
        """Let them show the table, or read other bytes; where nobody notices, see ``tied_at``."""

        def showing(summary: Any, share: Fraction, entropy: Entropy, runs: int) -> Iterable[object]:
            return [(answer, summary) for answer in self.answers(summary, share, entropy, runs)]

        def otherwise(summary: Any, share: Fraction, entropy: Entropy, runs: int) -> Iterable[object]:
            return self.answers(summary, share, _Otherwise(entropy), runs)

        tables = self.tables()
        for wrong in (showing, otherwise):
            found = self.untied(wrong, tables, self.tied_at)
            assert found, f"{wrong.__name__}: equal draws are too rare, change tied_at"

    def test_cells_of_a_table_are_those_of_its_records_together(self) -> None:
        """Read all records at once: where cells add up, tables are put together from single records."""
        whole = self.summarise(self.records)
        if isinstance(whole, Summary):
            empty, *each = self._small_tables()
            assert whole == reduce(Summary.merged, each, empty)


class _Otherwise:
    """Other bytes than a source's, and as many."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy

    def bytes(self, count: int) -> builtins.bytes:
        """Return the next bytes, each turned over."""
        return builtins.bytes(255 - byte for byte in self._entropy.bytes(count))
