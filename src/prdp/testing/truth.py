"""Compute true answers from cells, for experiments on public or made-up records alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from prdp.cells.summary import CENTER_BITS, Cell, KeySummary, Summary, TopSummary
from prdp.cells.units import UnitCells, UnitGroups
from prdp.declare.exact import spelled
from prdp.errors import InvalidRequest
from prdp.expressions.tokens import quoted
from prdp.graphs.graph import Graph
from prdp.graphs.links import Links
from prdp.methods import Chosen
from prdp.plan.methods import Options
from prdp.plan.plan import Plan
from prdp.plan.queries import Count, CountDistinct, Max, Mean, Min, Quantile, Query, Std, Sum, Variance
from prdp.plan.reads import Read
from prdp.plan.steps import QueryPlan
from prdp.policy import Policy
from prdp.projects.project import Project
from prdp.release.derived import root
from prdp.tables.groups import Groups
from prdp.tables.join import Join
from prdp.tables.queryable import Opened, Queried, reader_of
from prdp.tables.table import Table


def truths(plan: QueryPlan, cells: Summary | KeySummary | TopSummary | UnitCells) -> list[Fraction]:
    """Return the true answers to a planned query, over the records that have a valid budget.

    Counts, sums, means and variances are exact. A maximum is the upper end of its range and
    a quantile the middle of its own, as their mechanisms would answer without noise.
    """
    own = _own_truth(plan, cells)
    return _known_truths(plan, cells) if own is None else own


def _known_truths(  # noqa: PLR0911  (one return a query)
    plan: QueryPlan, cells: Summary | KeySummary | TopSummary | UnitCells
) -> list[Fraction]:
    """Return the true answers to a query of the package."""
    query = plan.query
    if isinstance(cells, TopSummary | KeySummary):
        return [Fraction(cells.values.records if isinstance(cells, TopSummary) else cells.keys)]
    if isinstance(cells, UnitCells):
        return _unit_truths(plan, cells)
    round_to = plan.measure.round_to if plan.measure else Fraction(1)
    valued = sorted(cells.valued().cells, key=_ends)
    count = sum(cell.count for cell in valued)
    total = sum(cell.total for cell in valued) * round_to
    match query:
        case Count():
            return [Fraction(cells.records)]
        case Sum():
            return [total]
        case Mean():
            return [total / max(count, 1)]
        case Variance() | Std():
            squares = sum(cell.squares for cell in valued) * round_to**2
            variance = squares / max(count, 1) - (total / max(count, 1)) ** 2
            return [variance if isinstance(query, Variance) else root(variance)]
        case Max():
            return [Fraction(_ends(valued[-1])[1] if valued else 0) * round_to]
        case Min():
            return [Fraction(_ends(valued[0])[0] if valued else 0) * round_to]
        case Quantile():
            return [part * round_to for part in _quantiles(query, valued)]
        case _:
            name = type(query).__name__
            raise InvalidRequest(
                f"the true answer of {name} is not known. Define {name}.truth, "
                "which returns it from what the mechanism is shown."
            )


def _own_truth(plan: QueryPlan, cells: Any) -> list[Fraction] | None:
    """Return the truth that a query from outside the package gives; None where it gives none."""
    query, select_input = plan.query, plan.steps[0].select_input
    if not isinstance(query, Query) or select_input is None:
        return None
    found = query.truth(select_input(cells))
    return None if found is None else list(map(Fraction, found))


def _unit_truths(plan: QueryPlan, cells: UnitCells) -> list[Fraction]:
    """Return the true answers over the rows of units: one, or one a group."""
    round_to = plan.measure.round_to if plan.measure else Fraction(1)
    if isinstance(plan.query, Max | Min) and isinstance(cells.totals, Summary):
        ends = [_ends(cell) for cell in cells.totals.cells] or [(0, 0)]
        highest, lowest = max(high for _, high in ends), min(low for low, _ in ends)
        return [(highest if isinstance(plan.query, Max) else lowest) * round_to]
    if isinstance(plan.query, Quantile) and isinstance(cells.totals, Summary):
        valued = sorted(cells.totals.cells, key=_ends)
        return [part * round_to for part in _quantiles(plan.query, valued)]
    if isinstance(plan.query, CountDistinct) and isinstance(cells.rows, Summary):
        return [Fraction(cells.rows.records)]
    totals, rows = (_added_up(found) for found in (cells.totals, cells.rows))
    if isinstance(plan.query, Variance | Std):
        return _unit_spreads(plan, cells, totals, rows)
    if isinstance(plan.query, Mean):
        return [total * round_to / max(count, 1) for total, count in zip(totals, rows, strict=True)]
    return [total * round_to for total in totals]


def _unit_spreads(
    plan: QueryPlan, cells: UnitCells, totals: Sequence[int], rows: Sequence[int]
) -> list[Fraction]:
    """Return variances or their roots, by squared distances from the means, which are read anew."""
    assert plan.measure is not None
    means = [Fraction(total, max(count, 1)) for total, count in zip(totals, rows, strict=True)]
    centers = [round(mean * (1 << CENTER_BITS)) for mean in means]
    first = cells.place
    found = cells.around({first + place: center for place, center in enumerate(centers)})
    groups = found if isinstance(cells.totals, UnitGroups) else found[first : first + 1]
    sums = [value for group in groups for value in _added_up(group.totals)]
    step = Fraction(1 << cells.coarser, 1 << 2 * CENTER_BITS)
    spreads = [
        (added * step / max(count, 1) - (mean - Fraction(center, 1 << CENTER_BITS)) ** 2)
        * plan.measure.round_to**2
        for added, count, mean, center in zip(sums, rows, means, centers, strict=True)
    ]
    return [
        max(Fraction(0), each) if isinstance(plan.query, Variance) else root(max(Fraction(0), each))
        for each in spreads
    ]


def _added_up(found: Summary | UnitGroups) -> tuple[int, ...]:
    return found.unclipped() if isinstance(found, UnitGroups) else (sum(cell.total for cell in found.cells),)


def _ends(cell: Cell) -> tuple[int, int]:
    low, high = sorted((cell.key.sign * cell.key.low, cell.key.sign * cell.key.high))
    return low, high


def _quantiles(query: Quantile, valued: list[Cell]) -> list[Fraction]:
    parts = query.at if isinstance(query.at, tuple) else (query.at,)
    return [_quantile(valued, Fraction(part)) for part in parts]


def _quantile(valued: list[Cell], part: Fraction) -> Fraction:
    below, count = 0, sum(cell.count for cell in valued)
    for cell in valued:
        below += cell.count
        if below >= part * count:
            return Fraction(sum(_ends(cell)), 2)
    return Fraction(0)


def everybody(like: Table | Join | Groups) -> Table | Join | Groups:
    """Return synthetic data whose policy gives every record the same budget, so that none is excluded."""
    if isinstance(like, Groups):
        table: Any = like.table
        all_records: Any = everybody(table)
        return replace(like, table=all_records)
    return replace(like, policy=Policy.constant(1))


def true_answers(like: Table | Join | Groups, query: Query, method: Chosen | None = None) -> list[Fraction]:
    """Return the true answer for a synthetic table's records that have a budget: one, or one a group.

    >>> import numpy
    >>> import prdp
    >>> people = prdp.open({"age": numpy.array([31, 58])}, policy=prdp.Policy.constant(1), synthetic=True)
    >>> true_answers(people.filter("age > 40"), prdp.count())
    [Fraction(1, 1)]
    """
    table, groups = (like.table, like.grouping) if isinstance(like, Groups) else (like, None)
    refuse_unless_synthetic(table, "true_answers")
    (plan,) = table.planner.plan([query], 1, groups, options=Options.of(method)).queries
    found = plan.read.taken(reader_of(table).read(plan.read))
    return [value for group in found for value in truths(plan, group)]


LEFT_OUT = "without a budget, left out of every answer"


def sample_counts(project: Project, name: str, like: Any) -> list[tuple[str, int]]:
    """Count the records of synthetic data that a table's declarations lose or move, in words and numbers."""
    declared, everybody = _opened(project, name, like)
    if not isinstance(declared, Table) or not isinstance(everybody, Table):
        raise InvalidRequest(f"{name} is a join: --like looks at single tables.")
    whole, with_budget = _count(everybody), _count(declared)
    found = [("records", whole), (LEFT_OUT, whole - with_budget)]
    for column, (low, high) in declared.bounds.items():
        found += [
            (f"{column} empty or unreadable", _count(everybody.filter(f"{quoted(column)} IS NULL"))),
            (f"{column} moved into its bounds", _count(everybody.filter(_outside(column, low, high)))),
        ]
    return found


def left_out_of(project: Project, name: str, like: Any) -> str:
    """Count the synthetic records without a budget; empty where all have one, and for joins."""
    declared, everybody = _opened(project, name, like)
    if not isinstance(declared, Table) or not isinstance(everybody, Table):
        return ""
    whole, with_budget = _count(everybody), _count(declared)
    if whole == with_budget:
        return ""
    none = f"{whole - with_budget:,} of the synthetic table's {whole:,} records"
    return f"{none} have no budget: no answer is about them."


def _opened(project: Project, name: str, like: Any) -> tuple[Table | Join, Table | Join]:
    """Open a synthetic table with the declared policy, and with one under which everybody has a budget."""
    everybody = project.with_policy(name, {"policy": "1"}).open(name, synthetic=like)
    return project.open(name, synthetic=like), everybody


def _outside(column: str, low: Any, high: Any) -> str:
    ends = spelled(Fraction(low)), spelled(Fraction(high))
    return f"{quoted(column)} < {ends[0]} OR {quoted(column)} > {ends[1]}"


def _count(table: Table) -> int:
    (true,) = true_answers(table, Count())
    return int(true)


def raw_cells(opened: Opened, asked: Plan | Read) -> tuple[Any, ...]:
    """Return a read's result in a synthetic table, group by group; of a plan, its first query's."""
    read = asked.queries[0].read if isinstance(asked, Plan) else asked
    groups: tuple[Any, ...] = read.taken(reader_of(opened).read(read))
    return groups


def refuse_unless_synthetic(source: Queried | Links | Graph, asked: str) -> None:
    """Refuse real records: what is drawn of them again and again, for nothing, gives them away."""
    if source.synthetic:
        return
    openers = {Table: "open", Join: "open_join", Links: "graphs.open_links", Graph: "graphs.open"}
    (opener,) = (opener for kind, opener in openers.items() if isinstance(source, kind))
    raise InvalidRequest(
        f"{asked} takes a table opened with synthetic=True: public or made-up records like yours. "
        f"{source.name!r} was opened without it, so its records are taken to be real, and answers that cost "
        f"nothing would give them away. Open such a table with prdp.{opener}(..., synthetic=True)."
    )
