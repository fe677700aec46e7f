"""``redraw=True`` in several threads: what is drawn at the same time is one answer, and is paid for once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import pytest

from prdp.errors import BudgetExhausted
from prdp.ledger import Binding, DurableLedger, Ledger, MemoryLedger
from prdp.release.release import Release
from prdp.release.table import Released
from prdp.run.answer import answer
from prdp.run.reader import Reader
from tests.ledger.places import new_place

SHARE = Fraction(1, 4)
FIRST = Release("count", 10, Fraction(1), (Fraction(2),), SHARE, "clip")


class Source:
    """A source that is always there."""

    def ensure_there(self) -> None:
        """Refuse nothing."""


@dataclass(frozen=True)
class Drawing:
    """A plan that draws what it is reported to."""

    drawn: Callable[[], Release]

    text = "count"
    share = SHARE
    region = None
    snapshot = ""
    on_interrupt = "the charge is"
    reads: ClassVar[dict[object, object]] = {}

    def warm_start(self, ledger: Ledger) -> None:
        """Start from nothing."""

    def warm_started(self, warm_start: str | None) -> Drawing:  # noqa: ARG002
        return self

    def standing(self, ledger: Ledger) -> Released | None:
        return ledger.standing(self.text, self.share)

    def draw(self, reader: object, entropy: object, runs: int) -> list[Released]:  # noqa: ARG002
        return [self.drawn() for _ in range(runs)]

    def raise_what_was_held_back(self) -> None:
        """Raise nothing."""


@pytest.fixture(params=["memory", "file", pytest.param("postgres", marks=pytest.mark.slow)])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Ledger:
    """Return a ledger in which the question has an answer."""
    facts = Binding({"name": "t"})
    opened: Ledger = MemoryLedger()
    if request.param != "memory":
        place = new_place(request.param, tmp_path, lambda: str(request.getfixturevalue("postgres")))
        opened = DurableLedger.opened(place.given, facts, who="ana")
    asked(opened, lambda: FIRST, redraw=False)
    return opened


def asked(ledger: Ledger, draw: Callable[[], Release], *, redraw: bool) -> Release:
    release = answer(ledger, Drawing(draw), Reader(Source(), synthetic=False), redraw=redraw)
    assert isinstance(release, Release)
    return release


def drawn(steps: int) -> Callable[[], Release]:
    return lambda: replace(FIRST, steps=steps)


def test_threads_that_ask_afresh_at_once_pay_once_and_see_one_answer(ledger: Ledger) -> None:
    together = threading.Barrier(3, timeout=60)

    def ask(steps: int) -> Release:
        def draw() -> Release:
            together.wait()  # all have been charged, and nobody has recorded
            return replace(FIRST, steps=steps)

        return asked(ledger, draw, redraw=True)

    with ThreadPoolExecutor(3) as threads:
        answers = list(threads.map(ask, (11, 12, 13)))
    assert answers[0] == answers[1] == answers[2] != FIRST
    assert ledger.remaining == 1 - 2 * SHARE
    assert asked(ledger, drawn(99), redraw=False) == answers[0]


def test_one_that_asks_afresh_after_another_s_answer_pays_again(ledger: Ledger) -> None:
    answers = [asked(ledger, drawn(steps), redraw=True) for steps in (11, 12, 13)]
    assert [answer.steps for answer in answers] == [11, 12, 13]
    assert ledger.remaining == 0
    with pytest.raises(BudgetExhausted):
        asked(ledger, drawn(14), redraw=True)
    assert asked(ledger, drawn(14), redraw=False).steps == 13


def test_a_charge_that_was_left_unanswered_is_taken_up_afresh(ledger: Ledger) -> None:
    ledger.charge("count", SHARE, redraw=True)
    assert asked(ledger, drawn(11), redraw=True).steps == 11
    assert ledger.remaining == 1 - 2 * SHARE


def test_others_get_the_old_answer_while_a_new_one_is_drawn(ledger: Ledger) -> None:
    meanwhile: list[Release] = []

    def draw() -> Release:
        meanwhile.append(asked(ledger, drawn(99), redraw=False))
        return replace(FIRST, steps=11)

    assert asked(ledger, draw, redraw=True).steps == 11
    assert meanwhile == [FIRST]
    assert asked(ledger, drawn(99), redraw=False).steps == 11
    assert ledger.remaining == 1 - 2 * SHARE
