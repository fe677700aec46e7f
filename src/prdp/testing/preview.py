"""How far a statement's answers would lie from the truth, on a stand-in; nothing is charged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from prdp.errors import InvalidRequest
from prdp.projects.project import Project

_PLENTY = {"policy": "1000000000"}
"""A budget so large that answers are true, but for the width of the ranges of maxima and quantiles."""


@dataclass(frozen=True, slots=True)
class Errors:
    """How a column's answers lay, over all rows of a statement and many runs.

    Attributes:
        column: The column.
        median: The median error, in parts of the truth.
        often: The error that 95 of 100 answers kept, in parts of the truth.
        covered: The part of the answers whose interval held the truth.
        flagged: The part of the answers that are mostly noise, or of a table too poor.
    """

    column: str
    median: float
    often: float
    covered: float
    flagged: float


def preview(
    project: Project,
    name: str,
    text: str,
    like: Any,
    *,
    share: Fraction,
    runs: int,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Errors]:
    """Ask a statement of a stand-in many times, and return how each column's answers lay.

    Args:
        project: Declares the table.
        name: The table.
        text: The statement.
        like: Public or made-up records like the real ones.
        share: The share of each answer.
        runs: How many times it is asked.
        progress: Called with the number of runs that are done.
    """
    listed = project.listed_for(name)
    truth = project.with_policy(name, _PLENTY).open(name, stand_in=like).sql(text, share=1, **listed)
    table = project.open(name, stand_in=like)
    numbers = [place for place in range(len(truth.columns)) if all(_number(row[place]) for row in truth.rows)]
    if not numbers or not len(truth):
        raise InvalidRequest("the statement gives no number to preview.")
    keys = {_key(row): row for row in truth.rows}
    found: dict[int, list[tuple[float, bool, bool]]] = {place: [] for place in numbers}
    for run in range(runs):
        for row in table.sql(text, share=share, fresh=True, **listed).rows:
            true = keys.get(_key(row))
            for place in numbers if true is not None else ():
                found[place].append(_judged(row[place], float(true[place])))  # type: ignore[index,arg-type]
        progress(run + 1)
    return [_errors(truth.columns[place], judged) for place, judged in found.items() if judged]


def _number(cell: Any) -> bool:
    return hasattr(cell, "interval")


def _key(row: Any) -> tuple[Any, ...]:
    return tuple(cell for cell in row if not _number(cell))


def _judged(answer: Any, true: float) -> tuple[float, bool, bool]:
    """Return an answer's relative error, whether its interval held the truth, and whether it is flagged."""
    low, high = answer.interval()
    return abs(float(answer) - true) / (abs(true) or 1.0), low <= true <= high, bool(answer.flag)


def _errors(column: str, judged: list[tuple[float, bool, bool]]) -> Errors:
    errors = sorted(error for error, _, _ in judged)
    return Errors(
        column,
        errors[len(errors) // 2],
        errors[min(len(errors) - 1, int(0.95 * len(errors)))],
        sum(held for _, held, _ in judged) / len(judged),
        sum(flagged for _, _, flagged in judged) / len(judged),
    )


def policies_of(content: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the policies of a file: of ``[policies]``, a text or a table with at_most and at_least each."""
    listed = content.get("policies")
    if not isinstance(listed, dict) or not listed:
        raise InvalidRequest('the file names no policies. Write [policies], then same = "1".')
    made = {name: {"policy": said} if isinstance(said, str) else said for name, said in listed.items()}
    for name, said in made.items():
        if (
            not isinstance(said, dict)
            or "policy" not in said
            or set(said) - {"policy", "at_most", "at_least"}
        ):
            raise InvalidRequest(f'policies.{name} is not understood: write {name} = "10000 / balance".')
    return made
