"""``prdp policy``: what a policy promises, before any table is opened."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType

from prdp.cli.messages import plain
from prdp.cli.policy_facts import (
    DeclaredColumns,
    Domain,
    Ranges,
    RecordFacts,
    column_names,
    declared_columns,
    domains,
    holes,
    record_of,
    with_options,
)
from prdp.cli.printing import grid, number, number_above, show, show_json
from prdp.concentrated import Notion, epsilon_at, read_delta
from prdp.declare.exact import Exact
from prdp.errors import InvalidRequest
from prdp.expressions.intervals import Interval
from prdp.expressions.tokens import shown_name
from prdp.levels import Levels
from prdp.pictures import plot_policy
from prdp.policy import Policy
from prdp.release.style import save
from prdp.schema import Bounds

_ROWS = 12
_LABEL = 9
_FINE = 12


@dataclass(frozen=True, slots=True)
class Axis:
    """One direction of a plot: its ends, and whether it is logarithmic."""

    low: float
    high: float
    logarithmic: bool

    @classmethod
    def of(cls, low: float, high: float) -> Axis:
        """Return a logarithmic axis where that can be, from a small positive number if it begins at zero."""
        if low < 0 or high <= 0:
            return cls(low, high, logarithmic=False)
        start = low if low > 0 else min(1.0, high / 1e6)
        return cls(start, high, logarithmic=True)

    def value(self, part: float) -> float:
        """Return the value at a place between 0 and 1."""
        if self.low == self.high:
            return self.low
        if self.logarithmic:
            return min(self.high, self.low * math.pow(self.high / self.low, part))
        return self.low * (1 - part) + self.high * part

    def part(self, value: float) -> float:
        """Return where a value is, between 0 and 1."""
        if self.low == self.high:
            return 0.5
        if self.logarithmic:
            place = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            place = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, place))


def curve(
    budget: Callable[[float], float | None], holes: list[Interval], across: Axis, up: Axis, width: int
) -> list[str]:
    """Return the lines of a plot; an x on the axis is where there is no budget somewhere."""
    columns = max(20, min(width, 80) - _LABEL - 2)
    canvas = [[" "] * columns for _ in range(_ROWS)]
    axis = ["x" if _meets(holes, across, column, columns) else "-" for column in range(columns)]
    for column in range(columns):
        for fine in range(_FINE):
            found = budget(across.value((column + fine / (_FINE - 1)) / columns))
            if found is None:
                axis[column] = "x"
            else:
                canvas[round((1 - up.part(found)) * (_ROWS - 1))][column] = "*"
    labels = {0: up.value(1), _ROWS // 2: up.value(1 - (_ROWS // 2) / (_ROWS - 1)), _ROWS - 1: up.value(0)}
    lines = [
        f"{number(labels[row], 3) if row in labels else '':>{_LABEL}} |{''.join(cells)}".rstrip()
        for row, cells in enumerate(canvas)
    ]
    return [*lines, " " * _LABEL + " +" + "".join(axis), _ticks(across, columns)]


def _meets(holes: list[Interval], across: Axis, column: int, columns: int) -> bool:
    low = across.value(column / columns) if column else -math.inf
    high = across.value((column + 1) / columns)
    return any(hole.low < high and hole.high >= low for hole in holes)


def _ticks(across: Axis, columns: int) -> str:
    low, middle, high = (number(across.value(part), 3) for part in (0, 0.5, 1))
    gap = columns - len(low) - len(high)
    return " " * (_LABEL + 2) + low + f"{middle:^{max(gap, len(middle))}}" + high


_MAX_RANGES = 2
DELTA = "1e-6"
"""The delta at which epsilons are shown, unless another is asked for."""


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything that the command tells."""

    given: Policy
    policy: Policy
    levels: Levels
    declared: DeclaredColumns
    domains: list[Domain]
    left_out: str | None
    record: RecordFacts | None
    notion: Notion = "pure"
    delta: Exact = DELTA

    @property
    def bounds(self) -> Bounds:
        """The bounds that options declare."""
        return self.declared.bounds

    @property
    def symbol(self) -> str:
        """The letter of what the policy gives a record."""
        return "E" if self.notion == "pure" else "P"

    def epsilon(self, loss: float) -> float:
        """Return the ε of a loss of concentrated privacy, at the δ that was asked for."""
        return epsilon_at(loss, read_delta(self.delta))

    @property
    def only_column(self) -> str | None:
        """The policy's column, if there is just one."""
        return next(iter(self.policy.columns)) if len(self.policy.columns) == 1 else None

    def source(self, end: str) -> str:
        """Return where an end of the range came from."""
        return "given" if getattr(self.given, end) is not None else "from the bounds"


def _option(explained: str, metavar: str, complete: Callable[..., list[str]] | None = None) -> Any:
    return typer.Option(help=explained, metavar=metavar, autocompletion=complete, show_default=False)


_BOUNDS = _option("A number column and its public bounds, such as balance=0:1e12.", "COLUMN=LOW:HIGH")
_AT_MOST = _option("The largest budget; larger ones are lowered to it.", "BUDGET")
_AT_LEAST = _option("The smallest budget; records with less are left out.", "BUDGET")
_NOTION = _option("What the number bounds: pure (E), or zcdp (P, of concentrated privacy).", "NOTION")
_DELTA = _option(f"With --notion zcdp: the delta at which epsilons are shown, by default {DELTA}.", "DELTA")
_TEXT = _option("A text column.", "COLUMN", column_names)
_WHOLE = _option("A column of whole numbers.", "COLUMN", column_names)
_RECORD = _option("A made-up record, such as balance=5000; no value after the = is NULL.", "COLUMN=VALUE,...")


def policy(
    *,
    expression: Annotated[
        str, typer.Argument(help="The budget of a record, such as '10000 / balance'.", metavar="EXPRESSION")
    ],
    bounds: Annotated[list[str] | None, _BOUNDS] = None,
    at_most: Annotated[str | None, _AT_MOST] = None,
    at_least: Annotated[str | None, _AT_LEAST] = None,
    notion: Annotated[str, _NOTION] = "pure",
    delta: Annotated[str, _DELTA] = DELTA,
    text: Annotated[list[str] | None, _TEXT] = None,
    whole: Annotated[list[str] | None, _WHOLE] = None,
    record: Annotated[list[str] | None, _RECORD] = None,
    plot: Annotated[
        Path | None, _option("Draw the curve into a file (.png, .svg, .pdf, .html).", "FILE")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Show what a policy promises: its range, its domains, a plot, and a record's losses."""
    given = Policy(expression, at_most=at_most, at_least=at_least)
    declared = declared_columns(given, bounds or [], text or [], whole or [])
    bounded = Policy(expression, at_most=at_most, at_least=at_least, notion=notion)
    read_delta(delta)
    found = replace(_found(given, declared, record or []), notion=bounded.notion, delta=delta)
    if plot is not None:
        drawn = replace(found, policy=bounded.within(declared.schema, declared.bounds))
        save(plot_policy(drawn), plot)
    if as_json:
        show_json(_as_dict(found))
    else:
        _show(found)


def _found(given: Policy, declared: DeclaredColumns, record: list[str]) -> Findings:
    try:
        policy = given.within(declared.schema, declared.bounds)
    except InvalidRequest as error:
        raise with_options(error, given, declared) from None
    levels = policy.levels
    return Findings(
        given=given,
        policy=policy,
        levels=levels,
        declared=declared,
        domains=domains(policy, levels, declared),
        left_out=policy.left_out(declared.bounds),
        record=RecordFacts.of(policy, levels, record_of(record, policy, declared)) if record else None,
    )


def _show(found: Findings) -> None:
    show(
        f"{found.symbol} = {plain(found.policy.text)}",
        "",
        *_range(found),
        *_plot(found),
        "",
        *([_domains(found), ""] if found.notion == "pure" else []),
        *_left_out(found),
        *_record(found),
    )


def _range(found: Findings) -> list[str]:
    levels = found.levels
    least = f"{number(levels.at_least, 6)} ({found.source('at_least')})"
    most = f"{number(levels.at_most, 6)} ({found.source('at_most')})"
    if found.notion != "pure":
        grid_of = "four to a doubling, eight of the root; rounding down to one costs at most 16 %"
        return [f"P         {least} to {most}", f"levels    {grid_of}"]
    return [
        f"budgets   {least} to {most}",
        f"levels    {levels.top + 1}, eight to a doubling; rounding down to one costs at most 9 %",
        f"domains   {levels.domains}, the paper's; each one doubling of the budget",
    ]


def _plot(found: Findings) -> list[str]:
    column = found.only_column
    if column is None:
        return []
    within = found.declared.only_range(found.policy)
    if within is None or within.low == within.high:
        return []
    across = Axis.of(within.low, within.high)
    up = Axis.of(float(found.levels.at_least), float(found.levels.at_most))
    gaps = holes(found.policy, found.levels, found.declared)
    lines = curve(lambda value: found.policy.budget({column: value}), gaps, across, up, Console().width)
    scales = "both axes logarithmic" if across.logarithmic else "the budget's axis logarithmic"
    mark = "; x: left out" if "x" in lines[-2] else ""
    return ["", f"budget against {plain(shown_name(column))}, {scales}{mark}", *lines]


def _domains(found: Findings) -> RenderableType:
    column = found.only_column
    known = column is not None and any(domain.values for domain in found.domains)
    headings = ["domain", "budgets from", "to", *([plain(shown_name(column or ""))] if known else [])]
    made = grid(headings, left=(3,), wraps=(3,))
    for domain in found.domains:
        ends = (number(domain.budget_from), number(domain.budget_to))
        values = [_ranges_in_words(domain.values)] if known else []
        made.add_row(str(domain.domain), *ends, *values)
    return made


def _ranges_in_words(ranges: Ranges | None) -> str:
    if not ranges:
        return "none"
    if len(ranges) > _MAX_RANGES:
        return f"{len(ranges)} ranges"
    return " or ".join(
        number(low) if number(low) == number(high) else f"{number(low)} to {number(high)}"
        for low, high in ranges
    )


def _left_out(found: Findings) -> list[str]:
    if found.left_out:
        return [plain(f"! {found.left_out}")]
    unbounded = [name for name in found.declared.assumed if name in found.policy.columns]
    if unbounded:
        return ["Without bounds it is not known which records are left out."]
    return ["No record within the bounds is left out, unless a value is missing (NULL)."]


def _record(found: Findings) -> list[RenderableType]:
    record = found.record
    if record is None:
        return []
    if record.budget is None or record.level_budget is None:
        gives = "no number" if record.value is None else number(record.value, 6)
        return [
            "",
            f"The record: {found.symbol} gives {gives}, so it is left out of every answer and loses nothing.",
        ]
    lowered = record.value is not None and record.value > record.budget
    reason = f" ({found.symbol} gives {number(record.value or 0, 6)}, lowered to at_most)" if lowered else ""
    pure = found.notion == "pure"
    last = "chance of any answer changes at most" if pure else f"epsilon at delta {plain(str(found.delta))}"
    made = grid(["share", "loses at most", last], left=(2,))
    for share, loss in record.losses:
        if not pure:
            made.add_row(str(share), number(loss, 4), number_above(found.epsilon(loss)))
            continue
        factor = f"by a factor of {number(math.exp(loss), 4)}" if loss < 700 else "without limit"
        made.add_row(str(share), number(loss, 4), factor)
    has = f"The record has the budget {number(record.budget, 6)}{reason}"
    rounded = f", rounded down to {number(record.level_budget, 6)}" if pure else ""
    return ["", f"{has}{rounded}.", "", made]


def _as_dict(found: Findings) -> dict[str, object]:
    levels, record = found.levels, found.record
    return {
        "policy": found.policy.text,
        "columns": sorted(found.policy.columns),
        "at_least": {"exact": str(levels.at_least), "from": found.source("at_least")},
        "at_most": {"exact": str(levels.at_most), "from": found.source("at_most")},
        "levels": levels.top + 1,
        "domains": [asdict(domain) for domain in found.domains],
        "left_out": found.left_out,
        "record": record
        and {
            "value": record.value
            if record.value is None or math.isfinite(record.value)
            else str(record.value),
            "budget": record.budget,
            "level_budget": record.level_budget,
            "losses": {str(share): loss for share, loss in record.losses},
        },
    } | _concentrated(found)


def _concentrated(found: Findings) -> dict[str, object]:
    """Return the facts that only concentrated privacy has."""
    if found.notion == "pure":
        return {}
    losses = () if found.record is None else found.record.losses
    epsilons = {str(share): found.epsilon(loss) for share, loss in losses}
    return {"notion": found.notion, "delta": str(found.delta), "epsilons": epsilons}
