"""Run the contract of engines on a database of one's own, and say what holds: ``prdp engine check``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prdp.engines.engine import Engine
from prdp.errors import InvalidRequest
from prdp.plan.reads import CellRead
from prdp.testing.engine_contract import EngineContract
from prdp.testing.engine_places import CheckPlace
from prdp.testing.reference import Record


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """What came of one test of the contract.

    Attributes:
        claim: What should hold.
        held: Whether it does.
        why: What was found instead; of made-up records, so that it may be shown.
        refused: Expressions that the engine has no word for: a question with one is refused.
    """

    claim: str
    held: bool
    why: str = ""
    refused: tuple[str, ...] = ()


class _Given(EngineContract):
    """The contract over tables of a place."""

    def __init__(self, place: CheckPlace) -> None:
        self._place = place
        self.refused: list[str] = []

    def engine(self, records: Sequence[Record]) -> Engine:
        return self._place.keep(records)

    def row_records(self) -> Sequence[Record]:
        return [record for record in super().row_records() if self._place.holds(record)]

    def as_held(self, records: Sequence[Record]) -> Sequence[Record]:
        return [self._place.held(record) for record in records]

    def refuses(self, engine: Engine, reading: CellRead, text: str) -> bool:
        """Ask for the statement alone: what it cannot be written in is refused whatever the records are."""
        try:
            getattr(engine, "shown", lambda _: ())(reading)
        except InvalidRequest:
            self.refused.append(text)
        return text in self.refused

    def lost(self, records: Sequence[Record]) -> None:  # noqa: ARG002  (nobody takes the table away)
        return None

    def changed(self, records: Sequence[Record]) -> None:  # noqa: ARG002
        return None


def claims() -> list[str]:
    """Return the names of the contract's tests, in the order in which they are run."""
    return sorted(name for name in dir(_Given) if name.startswith("test_"))


def check_engine(place: CheckPlace) -> Iterator[CheckOutcome]:
    """Run every test of the contract, one after the other, whatever comes of the others."""
    for name in claims():
        claim = name.removeprefix("test_").replace("_", " ")
        given = _Given(place)
        try:
            getattr(given, name)()
        except Exception as error:  # whatever it is, it is told, and the next claim is looked at
            words = " ".join(str(error).split())[:200]
            yield CheckOutcome(claim, held=False, why=f"{type(error).__name__}: {words}")
        else:
            yield CheckOutcome(claim, held=True, refused=tuple(given.refused))
