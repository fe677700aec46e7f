"""The result of a study as public JSON, and back: numbers, intervals, and what they do not cover."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prdp.local import Estimate


@dataclass(frozen=True, slots=True)
class ResultLine:
    """One number of a result, with the ends between which it lies but for noise in 95 % of all cases."""

    label: str
    value: float | None
    low: float | None
    high: float | None

    @property
    def heard(self) -> bool:
        """Whether there is a number at all."""
        return self.value is not None and self.low is not None and self.high is not None


def result_text(found: Sequence[Estimate]) -> str:
    """Return answers as one line of JSON; what is not finite is null.

    >>> from fractions import Fraction
    >>> from prdp.local import Estimate
    >>> facts = json.loads(result_text([Estimate("count", 1000.0, 100.0, 5000, Fraction(1, 2), "bits")]))
    >>> facts["answers"][0]["value"], [round(end) for end in facts["answers"][0]["interval"]]
    (1000.0, [804, 1196])
    """
    facts = {"prdp": "result", "version": 1, "answers": [_facts(estimate) for estimate in found]}
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _facts(estimate: Estimate) -> dict[str, object]:
    return {
        "question": estimate.question,
        "text": str(estimate),
        "value": None if estimate.unheard else _finite(estimate.value),
        "deviation": _finite(estimate.deviation),
        "interval": [_finite(end) for end in estimate.interval()],
        "level": 0.95,
        "clients": estimate.clients,
        "rounds": list(estimate.rounds),
        "share": str(estimate.share),
        "method": estimate.method,
        "choices": [list(choice) for choice in estimate.choices],
        "parts": [_part(estimate, place) for place in range(len(estimate.parts))],
        "unheard": estimate.unheard,
        "caveat": estimate.caveat,
    }


def _part(estimate: Estimate, place: int) -> dict[str, object]:

    part = estimate.parts[place]
    alone = replace(estimate, value=part.value, deviation=part.deviation, parts=())
    return {
        "label": part.label,
        "value": None if estimate.unheard else _finite(part.value),
        "deviation": _finite(part.deviation),
        "interval": [_finite(end) for end in alone.interval()],
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def lines_of(result: Mapping[str, Any]) -> list[ResultLine]:
    """Return what a result's picture and table show: its parts, or its only numbers."""
    answers = result["answers"]
    shown = [part for answer in answers for part in answer["parts"]] or [
        {**answer, "label": answer["question"]} for answer in answers
    ]
    return [ResultLine(part["label"], part["value"], *part["interval"]) for part in shown]
