"""The contract of mechanisms, as tests: subclass ``MechanismContract`` with a tiny universe.

The loss is measured on ``law``; callers get ``answers``. Both are looked at: what is said must follow from
what is drawn from the law, or the measured loss would be that of something else.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, ClassVar

from prdp.cells.owners import OwnerGroups
from prdp.cells.summary import KeySummary, Summary, TopSummary
from prdp.noise.entropy import Entropy
from prdp.noise.laws import Law
from prdp.testing.exact_loss import TOLERANCE, Loss, Record, worst_loss
from prdp.testing.tied_answers import untied

MechanismLaw = Callable[[Any, Fraction], Any]
"""From a summary and a share to the law that an answer is drawn from."""

MechanismAnswers = Callable[[Any, Fraction, Entropy, int], Iterable[object]]
"""From a summary, a share, a source of bytes and a number of runs to what callers get, once a run."""

_SEED = 20261115


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


class MechanismContract:
    """Tests that no output of a mechanism says more about a record than it may, on every small table.

    A subclass gives ``mechanism``, ``summarise``, ``budget`` and ``twins``; where the mechanism has other
    names for it, ``law`` and ``answers`` in place of the first.

    Attributes:
        mechanism: What is tested: something with ``law(summary, share)``, and ``answers(summary, share,
            entropy, runs)`` that reads its bytes as ``law(...).draw(entropy, runs)`` does.
        records: The universe; a table may hold a record several times.
        shares: The shares to try.
        most_records: The size of the largest table.
        parts: For a mechanism of several steps, each step's law and its part of the share. Measuring
            the steps one by one catches what slack between them would hide.
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
    most_records: int = 2
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "whole": (lambda law: law, Fraction(1))
    }
    caught_by: float = 0.001
    tied_at: Fraction = Fraction(1)
    runs: int = 400

    def law(self, summary: Any, share: Fraction) -> Any:
        """Return the law of the mechanism."""
        return self.mechanism.law(summary, share)

    def answers(self, summary: Any, share: Fraction, entropy: Entropy, runs: int) -> Iterable[object]:
        """Return what callers of the mechanism get, once a run."""
        answers: Iterable[object] = self.mechanism.answers(summary, share, entropy, runs)
        return answers

    def summarise(self, records: Sequence[Record]) -> Summary | KeySummary | TopSummary | OwnerGroups:
        """Return the cells of some records, as an engine finds them."""
        raise NotImplementedError

    def budget(self, record: Record) -> float:
        """Return what a record is promised; 0 for one that is left out."""
        raise NotImplementedError

    def twins(self) -> Mapping[str, Twin]:
        """Return mechanisms that each break one step of the proof, by name."""
        raise NotImplementedError

    def worst(self, law: MechanismLaw, part: str, share: Fraction) -> Loss:
        """Return the worst loss in a part, beside that part's promise."""
        of_law, promise = self.parts[part]
        return worst_loss(
            self.records,
            lambda summary: of_law(law(summary, share)),
            self.summarise,
            lambda record: float(share * promise) * self.budget(record),
            self.most_records,
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
        for size in range(2, self.most_records + 1):
            for place in range(kinds):
                yield [self.records[place]] * size
                if kinds > 1:
                    yield [self.records[(place + ahead) % kinds] for ahead in range(size)]

    def untied(self, answers: MechanismAnswers, tables: Sequence[Any], share: Fraction) -> str:
        """Return how answers say something other than what the law draws; empty if they do not."""
        few = max(1, self.runs // 4)
        alone = self.runs if share == self.tied_at else few
        return untied(
            tables,
            lambda summary: self.law(summary, share),
            lambda summary, entropy, runs: answers(summary, share, entropy, runs),
            runs=[alone if place <= len(self.records) else few for place in range(len(tables))],
            seed=_SEED,
        )

    def untied_at_any_share(self, answers: MechanismAnswers, tables: Sequence[Any]) -> str:
        """Return how answers are untied at ``tied_at``, or else at one of the shares to try."""
        shares = dict.fromkeys((self.tied_at, *self.shares))
        return next(filter(None, (self.untied(answers, tables, share) for share in shares)), "")

    def test_no_record_loses_more_than_its_share_of_its_budget(self) -> None:
        """Compare all neighbouring tables, step by step and as a whole."""
        for share in self.shares:
            for part in self.parts:
                found = self.worst(self.law, part, share)
                assert found.excess <= TOLERANCE, (share, part, found)

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
