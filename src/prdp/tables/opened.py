"""What every entry point has: an account of what questions cost, or the mark of a stand-in."""

from __future__ import annotations

from prdp.ledger import Ledger
from prdp.plan.explain import Whose, explained
from prdp.plan.plan import Plan
from prdp.run.reader import Reader


class Opened:
    """What is open to questions: with an account of what they cost, or as a stand-in that has none."""

    ledger: Ledger
    _reader: Reader

    @property
    def stand_in(self) -> bool:
        """Whether the records are public or made up: nothing is charged, and all releases are marked."""
        return self._reader.stand_in

    def _explained(self, plan: Plan, whose: Whose) -> str:
        """Return what a plan would do; reads no record and charges nothing."""
        left = None if self.stand_in else self.ledger.left
        answered = not self.stand_in and plan.standing(self.ledger) is not None
        return explained(plan, self._reader.source, whose, left=left, answered=answered)

    @property
    def _called(self) -> str:
        return "prdp stand-in" if self.stand_in else "prdp"


def reader_of(opened: Opened) -> Reader:
    """Return what reads the records of a stand-in, for simulations; others' is nobody's business."""
    if not opened.stand_in:
        raise TypeError("only a stand-in's records may be read without a charge")
    return opened._reader  # noqa: SLF001  (the one back door, and it opens for stand-ins alone)
