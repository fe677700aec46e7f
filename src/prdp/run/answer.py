"""Answer a plan: standing answer? source there? charge, draw, record."""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

from prdp.errors import EngineFailure, LedgerError, TableChanged
from prdp.ledger.account import Charge, Ledger, Notes, Wanted
from prdp.ledger.memory import NoAccount
from prdp.noise.entropy import Entropy, SystemEntropy
from prdp.release.table import Released
from prdp.run.reader import Reader
from prdp.safety.redacted_errors import guarded


class Answerable(Protocol):
    """A question that public facts allow, and the way to its answer."""

    @property
    def text(self) -> str:
        """The question with all that decides its answer's distribution: what a ledger keeps."""

    @property
    def share(self) -> Fraction:
        """The part of every record's budget that it uses."""

    @property
    def region(self) -> str | None:
        """Charged region, as a ledger keeps it; None for everybody."""

    @property
    def snapshot(self) -> str:
        """Snapshot of the data; empty where there is only one."""

    @property
    def on_interrupt(self) -> str:
        """The sentence about the charge for a caller who interrupts the answer."""

    @property
    def reads(self) -> Mapping[Any, Any]:
        """Map what is read to the wider read that serves it; empty where the source is not known before."""

    def standing(self, ledger: Ledger) -> Released | None:
        """Return the answer that it has had, if it can be found again."""

    def warm_start(self, ledger: Ledger) -> str | None:
        """Return the points that it starts from, by what the ledger holds; None for none."""

    def warm_started(self, warm_start: str | None) -> Answerable:
        """Return the plan that starts from the points noted with its charge."""

    def draw(self, reader: Reader, entropy: Entropy, runs: int) -> list[Released]:
        """Read the records and draw independent answers, marked if they are a synthetic table's."""

    def raise_what_was_held_back(self) -> None:
        """Raise the interrupt that had to wait until the answer was recorded."""


def answer(ledger: Ledger, plan: Answerable, reader: Reader, *, redraw: bool = False) -> Released:
    """Answer a plan once, or return the answer that it had before.

    Args:
        ledger: Where it is charged and recorded.
        plan: What will be done.
        reader: Reads the records.
        redraw: Whether to pay for a new answer although there is one.
    """
    if isinstance(ledger, NoAccount) and not reader.synthetic:
        raise LedgerError("real records need an account: nothing is answered without a ledger.")
    standing = None if redraw else plan.standing(ledger)
    if standing is not None:
        return _noted(standing, ledger, plan, reader)
    reader.ensure_there(plan.reads.values())
    try:
        notes = Notes(plan.region, plan.snapshot or None, plan.warm_start(ledger), source=reader.facts)
        charge = ledger.charge(plan.text, plan.share, redraw=redraw, notes=notes)
        if not isinstance(charge, Charge):  # somebody else was answered meanwhile
            return _noted(charge, ledger, plan, reader)
        # a charge that is taken up keeps the hint that it was made with, and so the law of its answer
        begun = plan.warm_started(charge.notes.warm_start)
        drawn = threading.Event()

        def draw_and_record() -> Released:
            """Draw an answer and record it; one that could not be recorded is in no variable that is left."""
            with reader.one_snapshot():
                (released,) = begun.draw(reader, SystemEntropy(), 1)
            drawn.set()
            return ledger.record(charge, released)

        recorded = guarded(draw_and_record, lambda: _not_recorded() if drawn.is_set() else EngineFailure())
    except KeyboardInterrupt as stop:
        stop.add_note(plan.on_interrupt)
        raise
    plan.raise_what_was_held_back()
    return recorded


def answer_together(ledger: Ledger, plans: Sequence[Answerable], reader: Reader) -> list[Released]:
    """Answer different plans: one transaction charges all of them or none, then each is drawn and recorded.

    Whatever ends it in between, the next call returns the recorded answers and draws the others, for nothing.
    """
    if isinstance(ledger, NoAccount) and not reader.synthetic:
        raise LedgerError("real records need an account: nothing is answered without a ledger.")
    standing = [plan.standing(ledger) for plan in plans]
    pairs = list(zip(plans, standing, strict=True))
    known = [_noted(found, ledger, plan, reader) for plan, found in pairs if found is not None]
    if len(known) == len(plans):
        return known
    reader.ensure_there([read for plan in plans for read in plan.reads.values()])
    wanted = [
        Wanted(
            plan.text,
            plan.share,
            Notes(plan.region, plan.snapshot or None, plan.warm_start(ledger), source=reader.facts),
        )
        for plan in plans
    ]
    drawn = threading.Event()

    def draw_and_record() -> list[Released]:
        """Draw answers from one state of the source, and record each before the next is drawn."""
        found: list[Released] = []
        with reader.one_snapshot():
            for plan, charge in zip(plans, charges, strict=True):
                if not isinstance(charge, Charge):
                    found.append(charge)
                    continue
                drawn.clear()
                (released,) = plan.warm_started(charge.notes.warm_start).draw(reader, SystemEntropy(), 1)
                drawn.set()
                found.append(ledger.record(charge, released))
        return found

    try:
        charges = ledger.charge_together(wanted)
        return guarded(draw_and_record, lambda: _not_recorded() if drawn.is_set() else EngineFailure())
    except KeyboardInterrupt as stop:
        stop.add_note(plans[0].on_interrupt)
        raise


def _noted(released: Released, ledger: Ledger, plan: Answerable, reader: Reader) -> Released:
    """Return a recorded answer, with a warning where the table has changed since by public facts."""
    entries = (one for one in ledger.answered(lambda asked: asked == plan.text) if one.share == plan.share)
    changes = _changes(next((one.notes.source for one in entries), None), reader.facts)
    if changes:
        warnings.warn(
            f"this answer was recorded on {released.recorded_at[:10]}, and the table has changed since: "
            f"{changes}. It costs nothing, and is about the table as it was. To ask anew, and pay: "
            "redraw=True, in the shell --redraw.",
            TableChanged,
            stacklevel=2,
        )
    return released


def _changes(before: str | None, now: str | None) -> str:
    """Return how the public facts of a source differ; empty where they do not, or are not known.

    >>> _changes('{"columns": ["age"], "files": 2}', '{"columns": ["age", "job"], "files": 3}')
    '3 files now, 2 then; new columns: job'
    >>> _changes('{"columns": ["age"]}', '{"columns": ["age"], "files": 1}')  # rows in memory have no number
    ''
    """
    if before is None or now is None or before == now:
        return ""
    then, there = json.loads(before), json.loads(now)
    files = then.get("files", 0), there.get("files", 0)
    gone = [column for column in then["columns"] if column not in there["columns"]]
    new = [column for column in there["columns"] if column not in then["columns"]]
    noun = "file" if files[1] == 1 else "files"
    found = [f"{files[1]} {noun} now, {files[0]} then"] * (all(files) and files[0] != files[1])
    found += [f"new columns: {', '.join(new)}"] * bool(new)
    found += [f"columns gone: {', '.join(gone)}"] * bool(gone)
    return "; ".join(found)


def _not_recorded() -> LedgerError:
    return LedgerError(
        "the answer could not be recorded, so it is not shown, and the charge remains unanswered. Mend the "
        "ledger, and ask the same question again."
    )
