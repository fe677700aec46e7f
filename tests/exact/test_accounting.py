"""Two questions, the second's filter chosen by the first's answer: every transcript, and what a row loses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from typing import Any

import pyarrow
import pytest

import prdp
from prdp.errors import BudgetExhausted
from prdp.ledger import Binding, Charge, MemoryLedger, Notes
from prdp.tables.table import Table

Row = Mapping[str, Any]
Rows = tuple[int, ...]
"""Places in ``ROWS``."""

ROWS: tuple[Row, ...] = tuple(
    {"week": week, "v": v, "eps": eps}
    for week, v, eps in [(1, 0, 1.0), (1, 1, 0.5), (2, 1, 2.0), (None, 1, 1.0)]
)
TABLES = [rows for size in range(3) for rows in combinations(range(len(ROWS)), size)]
HALF = Fraction(1, 2)
ENDS = 8
"""Answers from -8 to 8 are distinguished; beyond they are one, which is post-processing."""

FIRST = "week = 1"
Chooser = Callable[[int], str]
CHOOSERS: list[Chooser] = [
    lambda answer: "week = 1" if answer > 0 else "week = 2",
    lambda answer: "week = 1 AND v = 1" if answer > 1 else "week <> 1",
    lambda answer: "week IS NULL" if answer < 0 else "NOT (week + v > 2)",
    lambda answer: "week IN (1, 2)" if answer % 2 else "week >= 2",
]


@cache
def table_of(places: Rows) -> Table:
    rows = [ROWS[place] for place in places]
    columns = {
        "week": pyarrow.array([row["week"] for row in rows], pyarrow.int64()),
        "v": pyarrow.array([row["v"] for row in rows], pyarrow.int64()),
        "eps": pyarrow.array([row["eps"] for row in rows], pyarrow.float64()),
    }
    policy = prdp.Policy.column("eps", at_least="1/2", at_most=2)
    return prdp.open(pyarrow.table(columns), policy=policy, synthetic=True, immutable=["week"])


@cache
def law(rows: Rows, text: str, share: Fraction) -> dict[int, float]:
    """Return the distribution of a noisy count that is exactly (share·E)-private; other rows are not read.

    Each row that the engine lets through adds its own budget, in halves; the noise hides one half.
    """
    opened = table_of(rows).filter(text)
    (cells,) = opened.planner.plan([prdp.count()], share).queries[0].read.find(opened._reader)
    total = sum(round(cell.key.quanta * cells.levels.quantum * 2) * cell.count for cell in cells.cells)
    ratio = math.exp(-float(share) / 2)
    zero = (1 - ratio) / (1 + ratio)
    inside = {k: zero * ratio ** abs(k - total) for k in range(-ENDS, ENDS + 1)}
    low = ratio ** (total + ENDS + 1) / (1 + ratio)
    return inside | {-ENDS - 1: low, ENDS + 1: 1 - low - sum(inside.values())}


@cache
def region_of(text: str) -> str | None:
    return table_of(()).filter(text).planner.region()


def asked(choose: Chooser, first: int, immutable: list[str], shares: tuple[Fraction, Fraction]) -> str | None:
    """Return the second filter if the account allows it after the first; None if it is refused."""
    ledger = MemoryLedger()
    ledger.attach(Binding({"immutable": immutable}))
    for number, (text, share) in enumerate(zip((FIRST, choose(first)), shares, strict=True)):
        try:
            charge = ledger.charge(str(number), share, notes=Notes(region_of(text) if immutable else None))
        except BudgetExhausted:
            return None
        assert isinstance(charge, Charge)
    return choose(first)


def transcripts(
    rows: Rows, choose: Chooser, immutable: list[str], shares: tuple[Fraction, Fraction]
) -> dict[tuple[int, int | None], float]:
    """Return the probability of every pair of answers; None is a refusal."""
    found: dict[tuple[int, int | None], float] = {}
    for first, likely in law(rows, FIRST, shares[0]).items():
        text = asked(choose, first, immutable, shares)
        if text is None:
            found[first, None] = likely
            continue
        for second, then in law(rows, text, shares[1]).items():
            found[first, second] = likely * then
    return found


def worst_loss(choose: Chooser, immutable: list[str], shares: tuple[Fraction, Fraction]) -> float:
    """Return the largest log-ratio of a transcript over a row's budget, over all neighbouring tables."""
    worst = 0.0
    for rows, place in product(TABLES, range(len(ROWS))):
        if place in rows:
            continue
        without = transcripts(rows, choose, immutable, shares)
        with_it = transcripts((*rows, place), choose, immutable, shares)
        assert without.keys() == with_it.keys()  # a refusal depends on public texts alone
        ratio = max(abs(math.log(with_it[reported] / without[reported])) for reported in without)
        worst = max(worst, ratio / ROWS[place]["eps"])
    return worst


@pytest.mark.parametrize("choose", range(len(CHOOSERS)))
@pytest.mark.parametrize("shares", [(Fraction(1), Fraction(1)), (Fraction(2, 3), HALF), (HALF, HALF)])
def test_no_transcript_costs_a_row_more_than_its_budget(
    choose: int, shares: tuple[Fraction, Fraction]
) -> None:
    assert worst_loss(CHOOSERS[choose], ["week"], shares) <= 1 + 1e-9


def test_two_questions_about_disjoint_rows_at_share_1_are_both_answered() -> None:
    assert asked(lambda _: "week = 2", 0, ["week"], (Fraction(1), Fraction(1))) == "week = 2"
    assert asked(lambda _: "week = 1", 0, ["week"], (Fraction(1), Fraction(1))) is None
    assert asked(lambda _: "week = 2", 0, [], (Fraction(1), Fraction(1))) is None


def test_an_account_that_looks_at_the_first_question_alone_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "asked", lambda choose, first, immutable, shares: choose(first))
    assert worst_loss(CHOOSERS[0], ["week"], (Fraction(1), Fraction(1))) > 1.9
