"""A ledger of made-up answers, and what a question would start from there."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from prdp.ledger.account import Entry
from prdp.plan.plan import Plan


class Answers:
    """What was answered, and nothing else."""

    def __init__(self, *entries: Entry) -> None:
        self._entries = sorted(entries, key=lambda entry: -entry.number)

    def answered(self, wanted: Callable[[str], bool]) -> tuple[Entry, ...]:
        return tuple(entry for entry in self._entries if wanted(entry.purpose))

    def standing(self, purpose: str, share: Fraction) -> None: ...


def warm_start_of(plan: Plan, *entries: Entry) -> dict[str, Any]:
    warm_start = plan.warm_start(Answers(*entries))
    return {} if warm_start is None else json.loads(warm_start)
