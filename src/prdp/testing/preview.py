"""Estimate the error of a statement's answers on synthetic data, given or made up; nothing is charged."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prdp.declare.columns import default_step, rounding_of
from prdp.errors import InvalidRequest
from prdp.projects.project import Facts, Project
from prdp.projects.toml_file import ProjectText
from prdp.release.formatting import INSUFFICIENT_BUDGET
from prdp.schema import ColumnType, Kind

EVEN = "even"
"""Made-up records of which nothing is stated: uniform within the public bounds."""

_SEED = 2026
_MAX = 50_000_000
_ROWS = 100_000
_LARGEST = 2**62  # of made-up whole numbers
_MAX_LOGARITHM = 700  # e^700 is near the largest number there is
_WRITTEN = re.compile(r"(?:(?P<column>[^=:]+)=)?(?P<law>[a-z]+):(?P<numbers>[^:]+)")

_LAWS: Mapping[str, tuple[int, Callable[..., NDArray[Any]]]] = {
    "normal": (2, lambda random, n, mean, spread: random.normal(mean, spread, n)),
    "lognormal": (2, lambda random, n, mean, spread: random.lognormal(mean, spread, n)),
    "uniform": (2, lambda random, n, low, high: random.uniform(low, high, n)),
    "exponential": (1, lambda random, n, mean: random.exponential(mean, n)),
    "pareto": (2, lambda random, n, shape, least: least * (1 + random.pareto(shape, n))),
}


def is_law(text: str) -> bool:
    """Return whether a text names a law, such as ``normal:50000,50000``, and not a file.

    A law that there is not is one too, unless a file is called so: the error then lists the laws.
    """
    return text == EVEN or (_WRITTEN.fullmatch(text) is not None and not Path(text).exists())


def made_up(text: str, facts: Facts, bounds: Mapping[str, tuple[Any, Any]]) -> dict[str, NDArray[Any]]:
    """Return made-up records of a table, the same ones every time.

    Columns with public keys hold them evenly, other bounded numbers lie evenly within their bounds, and a
    privacy unit has two rows on average.

    Args:
        text: ``[COLUMN=]LAW:NUMBERS[,n=ROWS]``, such as ``normal:50000,50000,n=200000``; or ``even``.
        facts: The table's columns, policy and keys.
        bounds: Its public bounds.
    """
    if text == EVEN:
        return _completed({}, np.random.default_rng(_SEED), _ROWS, facts, bounds)
    found = _WRITTEN.fullmatch(text)
    if found is None or found["law"] not in _LAWS:
        near = get_close_matches(found["law"] if found else text, _LAWS, n=1)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise InvalidRequest(
            f"{text!r} is neither a file nor a law.{meant} Write normal:50000,50000,n=200000, or one of "
            f"{', '.join(_LAWS)}."
        )
    numbers, rows = _numbers(text, found["numbers"])
    needed, draw = _LAWS[found["law"]]
    if len(numbers) != needed:
        raise InvalidRequest(f"{text!r}: {found['law']} takes {needed} numbers.")
    if found["law"] == "lognormal" and numbers[0] + 4 * numbers[1] > _MAX_LOGARITHM:
        raise InvalidRequest(
            f"{text!r}: lognormal takes the mean and the spread of the logarithm. For a median of "
            "200,000 write lognormal:12.2,0.9."
        )
    column = found["column"] or _only(facts, bounds)
    if column not in facts.schema:
        raise InvalidRequest(f"{text!r}: there is no column {column}.")
    random = np.random.default_rng(_SEED)
    made = {column: draw(random, rows, *numbers)}
    if facts.schema[column].integer:
        made[column] = np.rint(made[column]).astype(np.int64)
    return _completed(made, random, rows, facts, bounds)


def _completed(
    made: dict[str, NDArray[Any]], random: Any, rows: int, facts: Facts, bounds: Mapping[str, tuple[Any, Any]]
) -> dict[str, NDArray[Any]]:
    """Return the columns that are made, and all others."""
    unit = facts.unit.id if facts.unit is not None else None
    for name, kind in facts.schema.items():
        if name not in made and name == unit:
            units = random.integers(0, max(1, rows // 2), rows)
            made[name] = units if kind.kind is Kind.NUMBER else units.astype(str)
        elif name not in made:
            made[name] = _filled(random, rows, kind, facts.keys.get(name), bounds.get(name))
    return made


def roundings_of(facts: Facts) -> dict[str, str]:
    """Return the rounding steps that the types of columns say, which made-up doubles do not have.

    >>> from prdp.policy import Policy
    >>> from prdp.schema import ColumnType
    >>> cents = {"price": ColumnType(Kind.NUMBER, native="DECIMAL(15,2)"), "x": ColumnType(Kind.NUMBER)}
    >>> roundings_of(Facts(cents, Policy("1"), {}, {}, {}))
    {'price': '1/100'}
    """
    found = {
        name: rounding_of(name, facts.schema, facts.round_to)
        for name, kind in facts.schema.items()
        if kind.kind is Kind.NUMBER and not kind.integer
    }
    known = {name: round_to for name, round_to in found.items() if round_to is not None}
    return {name: str(round_to) for name, round_to in known.items() if _kept(name, round_to, facts)}


def _kept(name: str, round_to: Fraction, facts: Facts) -> bool:
    """Return whether a rounding step is used: a decimal's scale is not where bounds hold too many."""
    rows = facts.unit.max_rows if facts.unit is not None else 1
    undeclared = name in facts.bounds and name not in facts.round_to
    return not undeclared or default_step(round_to, *facts.bounds[name], rows) == round_to


def _numbers(text: str, written: str) -> tuple[list[float], int]:
    parts = written.split(",")
    try:
        rows = [int(float(part.removeprefix("n="))) for part in parts if part.startswith("n=")]
        numbers = [float(part) for part in parts if not part.startswith("n=")]
    except ValueError:
        raise InvalidRequest(f"{text!r} holds what is not a number.") from None
    count = rows[0] if rows else _ROWS
    if not 1 <= count <= _MAX:
        raise InvalidRequest(f"{text!r}: n= is 1 to {_MAX:,}.")
    return numbers, count


def _only(facts: Facts, bounds: Mapping[str, Any]) -> str:
    """Return the column that a law is for where none is named: the policy's, or the only bounded one."""
    read = [name for name in facts.schema if name in facts.policy.columns]
    known = read if len(read) == 1 else [name for name in facts.schema if name in bounds]
    if len(known) != 1:
        raise InvalidRequest("say which column the law is for: --like balance=normal:50000,50000")
    return known[0]


def _filled(random: Any, rows: int, column: ColumnType, keys: Any, bounds: Any) -> NDArray[Any]:
    if isinstance(keys, list) and keys:
        return np.asarray(np.asarray(keys)[random.integers(0, len(keys), rows)])
    kind = column.kind
    if column.integer:
        low, high = (math.ceil(bounds[0]), math.floor(bounds[1])) if bounds is not None else (0, 1)
        least, most = max(low, -_LARGEST), min(high, _LARGEST)
        return np.asarray(random.integers(least, max(least, most), rows, endpoint=True))
    if kind is Kind.NUMBER:
        low, high = (float(end) for end in bounds) if bounds is not None else (0.0, 1.0)
        return np.asarray(random.uniform(low, high, rows))
    if kind is Kind.BOOLEAN:
        return np.asarray(random.integers(0, 2, rows).astype(bool))
    if kind is Kind.MOMENT:
        days = random.integers(0, 365, rows).astype("timedelta64[D]")
        return np.asarray(np.datetime64("2026-01-01", "us") + days)
    return np.full(rows, "x")


_PLENTY = {"policy": "1000000000"}
"""A budget so large that answers are true, but for the width of the ranges of maxima and quantiles."""


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors of a column's answers, over all rows of a statement and many runs.

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
        runs: The number of runs.
        progress: Called with the number of runs that are done.
    """
    plenty = project.with_policy(name, _PLENTY).open(name, synthetic=like)
    table = project.open(name, synthetic=like)
    listed = project.listed_for(name)
    return errors_of(plenty, table, text, listed, share=share, runs=runs, progress=progress)


def errors_of(
    plenty: Any,
    table: Any,
    text: str,
    listed: Mapping[str, Any],
    *,
    share: Fraction,
    runs: int,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Errors]:
    """Ask a statement of synthetic data many times, and compare with its answers at unlimited budgets.

    Args:
        plenty: The synthetic table, under a policy whose answers are true.
        table: The synthetic table under its own policy.
        text: The statement.
        listed: What the statement needs beside its text, such as public keys.
        share: The share of each answer.
        runs: The number of runs.
        progress: Called with the number of runs that are done.
    """
    truth = plenty.sql(text, share=1, **listed)
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
    """Return whether a group has no record: a budget without end leaves its answers 0, or flagged."""
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
    """Return the policies of a file: of ``[policies]``, a text each, or at_most, at_least and notion too."""
    listed = file.content.get("policies")
    if not isinstance(listed, dict) or not listed:
        raise InvalidRequest(f'{file.path.name} names no policies. Write [policies], then same = "1".')
    made = {name: {"policy": entry} if isinstance(entry, str) else entry for name, entry in listed.items()}
    for name, entry in made.items():
        if (
            not isinstance(entry, dict)
            or "policy" not in entry
            or set(entry) - {"policy", "at_most", "at_least", "notion"}
        ):
            raise file.refused(("policies", name), f'is not understood: write {name} = "10000 / balance".')
    return made
