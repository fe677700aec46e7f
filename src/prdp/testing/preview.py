"""Estimate the error of a statement's answers on synthetic data; nothing is charged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from prdp.errors import InvalidRequest
from prdp.projects.project import Project
from prdp.projects.toml_file import ProjectText
from prdp.release.formatting import INSUFFICIENT_BUDGET

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
        flagged: The part of the answers that have a flag.
        empty: The keys of groups that have no record in the synthetic table; nothing above is about them.
    """

    column: str
    median: float
    often: float
    covered: float
    flagged: float
    empty: tuple[tuple[Any, ...], ...] = ()


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
    """Ask a statement of a synthetic table many times, and return how each column's answers lay.

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
    truth = project.with_policy(name, _PLENTY).open(name, synthetic=like).sql(text, share=1, **listed)
    table = project.open(name, synthetic=like)
    judge = _Judge.of(truth)
    found: dict[int, list[tuple[float, bool, bool]]] = {place: [] for place in judge.numbers}
    for run in range(runs):
        for row in table.sql(text, share=share, redraw=True, **listed).rows:
            for place, judged in judge.judged(row):
                found[place].append(judged)
        progress(run + 1)
    return [_errors(truth.columns[place], judged, judge.empty) for place, judged in found.items() if judged]


@dataclass(frozen=True, slots=True)
class _Judge:
    """The truth of a statement's rows, by the cells that name them.

    Attributes:
        named: The places of those cells.
        numbers: The places of the numbers.
        rows: The rows that have a record.
        empty: The keys of those that have none.
    """

    named: tuple[int, ...]
    numbers: tuple[int, ...]
    rows: Mapping[tuple[Any, ...], Any]
    empty: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, truth: Any) -> _Judge:
        """Sort the rows of a true answer, or refuse one with which nothing can be compared."""
        places = range(len(truth.columns))
        named = tuple(place for place in places if not any(_number(row[place]) for row in truth.rows))
        if len(named) == len(places):
            raise InvalidRequest("the statement gives no number to preview.")
        keys = {tuple(row[place] for place in named): row for row in truth.rows}
        rows = {key: row for key, row in keys.items() if not _is_about_nobody(row)}
        asked = [place for place in places if place not in named]
        numbers = tuple(place for place in asked if all(_number(row[place]) for row in rows.values()))
        if not rows or not numbers:
            raise InvalidRequest(
                "the synthetic table has no record that the statement is about: the truth is 0."
            )
        return cls(named, numbers, rows, tuple(key for key in keys if key not in rows))

    def judged(self, row: Any) -> Iterator[tuple[int, tuple[float, bool, bool]]]:
        """Yield, for each number of an answer's row whose truth is not 0, how it lay."""
        true = self.rows.get(tuple(row[place] for place in self.named))
        for place in self.numbers if true is not None else ():
            if _number(row[place]) and float(true[place]):  # type: ignore[index]
                yield place, _judged(row[place], float(true[place]))  # type: ignore[index]


def _number(cell: Any) -> bool:
    return hasattr(cell, "interval")


def _is_about_nobody(row: Any) -> bool:
    """Say whether a group has no record: a budget without end leaves its answers 0, or flagged."""
    numbers = [cell for cell in row if _number(cell)]
    return any(cell.flag == INSUFFICIENT_BUDGET for cell in numbers) or not any(
        float(cell) for cell in numbers
    )


def _judged(answer: Any, true: float) -> tuple[float, bool, bool]:
    """Return an answer's relative error, whether its interval held the truth, and whether it is flagged."""
    low, high = answer.interval()
    return abs(float(answer) - true) / abs(true), low <= true <= high, bool(answer.flag)


def _errors(
    column: str, judged: list[tuple[float, bool, bool]], empty: tuple[tuple[Any, ...], ...]
) -> Errors:
    errors = sorted(error for error, _, _ in judged)
    return Errors(
        column,
        errors[len(errors) // 2],
        errors[min(len(errors) - 1, int(0.95 * len(errors)))],
        sum(held for _, held, _ in judged) / len(judged),
        sum(flagged for _, _, flagged in judged) / len(judged),
        empty,
    )


def policies_of(file: ProjectText) -> dict[str, dict[str, Any]]:
    """Return the policies of a file: of ``[policies]``, a text or a table with at_most and at_least each."""
    listed = file.content.get("policies")
    if not isinstance(listed, dict) or not listed:
        raise InvalidRequest(f'{file.path.name} names no policies. Write [policies], then same = "1".')
    made = {name: {"policy": entry} if isinstance(entry, str) else entry for name, entry in listed.items()}
    for name, entry in made.items():
        if (
            not isinstance(entry, dict)
            or "policy" not in entry
            or set(entry) - {"policy", "at_most", "at_least"}
        ):
            raise file.wrong(("policies", name), f'is not understood: write {name} = "10000 / balance".')
    return made
