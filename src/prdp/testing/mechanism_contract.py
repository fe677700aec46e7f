"""What every mechanism must do, as tests: subclass ``MechanismContract`` with a tiny universe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from prdp.noise.laws import Law
from prdp.summary import KeySummary, Summary, TopSummary
from prdp.testing.exact_loss import TOLERANCE, Loss, Record, worst_loss
from prdp.units import UnitGroups

MechanismLaw = Callable[[Any, Fraction], Any]
"""From a summary and a share to the law that an answer is drawn from."""


@dataclass(frozen=True, slots=True)
class Twin:
    """A mechanism that is wrong on purpose, and the part of it in which that must show."""

    law: MechanismLaw
    part: str = "whole"


class MechanismContract:
    """Tests that no output of a mechanism says more about a record than it may, on every small table.

    Attributes:
        records: The universe; a table may hold a record several times.
        shares: The shares to try.
        most_records: The size of the largest table.
        parts: For a mechanism of several steps, each step's law and its part of the share. Measuring
            the steps one by one catches what slack between them would hide.
        caught_by: By how much a wrong twin must break the promise, at share 1.
    """

    records: Sequence[Record] = ()
    shares: Sequence[Fraction] = (Fraction(1), Fraction(1, 3))
    most_records: int = 2
    parts: ClassVar[Mapping[str, tuple[Callable[[Any], Law], Fraction]]] = {
        "whole": (lambda law: law, Fraction(1))
    }
    caught_by: float = 0.001

    def law(self, summary: Any, share: Fraction) -> Any:
        """Return the law of the mechanism."""
        raise NotImplementedError

    def summarise(self, records: Sequence[Record]) -> Summary | KeySummary | TopSummary | UnitGroups:
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
        for name, twin in twins.items():
            found = self.worst(twin.law, twin.part, Fraction(1))
            assert found.excess > self.caught_by, (name, found)
