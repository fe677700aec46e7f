"""Compare a table without and with one extreme record: for all other records, nothing may differ.

``differences`` opens both tables, runs the same queries on both and lists what a caller could tell apart:
whether the table opens, the text of errors, warnings, columns and their types, the statements that are sent,
and the cells of every other record. The extreme record itself may count or be left out.

Every table has a column ``record`` of whole numbers: ``EXTREME`` for the extreme record, 1, 2, 3, ... for the
others.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeVar

from prdp.cells.measure import Measure
from prdp.declare.columns import read_column
from prdp.declare.groups import Grouping, bins, date_trunc, read_grouping
from prdp.engines.engine import Engine
from prdp.errors import PrdpError
from prdp.expressions.check import check
from prdp.expressions.parse import parse
from prdp.expressions.tokens import quoted
from prdp.plan.reads import CellRead, KeyRead
from prdp.policy import Policy
from prdp.schema import Kind, Schema

Table = TypeVar("Table")
Watch = Callable[[Engine], list[str]]
"""Returns a list to which every statement that an engine sends from now on is added."""

RECORD, EXTREME = "record", 0
_OWN_NAME = re.compile(r"\bprdp_[0-9a-f]{32}\b")
"""What a relation is called in its own database, anew each time."""
_BINS = [-(10**6), 0, 5, 10**6]


@dataclass(frozen=True)
class Query:
    """One query, with the cells that it finds.

    Attributes:
        policy: The policy's expression.
        where: The filter, if there is one.
        measure: What is added up, if anything is.
        binned: The number column whose bins distinguish groups.
        truncated: The column of moments whose months distinguish groups.
        keys: The column whose values are counted.
        one_by_one: Whether records are distinguished, so that each has its own cells.
    """

    policy: str = "1"
    where: str | None = None
    measure: str | None = None
    binned: str | None = None
    truncated: str | None = None
    keys: str | None = None
    one_by_one: bool = True

    def cells(self, engine: Engine, others: int) -> Any:
        """Return what the engine finds, in a form in which two findings can be compared."""
        reading = self._reading(engine.schema, others)
        if self.keys:
            read = KeyRead(reading.policy, reading.levels, self.keys, reading.where, reading.groups)
            return engine.key_totals(read)
        summaries = engine.summarise(reading)
        if not self.one_by_one:
            return [Counter({cell.key: cell.count for cell in one.cells}) for one in summaries]
        keys = reading.groups.keys if reading.groups else ()
        cells = [[(cell.key, cell.count, cell.total) for cell in one.cells] for one in summaries]
        return dict(zip(keys, cells, strict=True))

    def __str__(self) -> str:
        default = Query()
        reported = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return f"Query({', '.join(f'{k}={v!r}' for k, v in reported.items() if v != getattr(default, k))})"

    def _reading(self, schema: Schema, others: int) -> CellRead:
        policy = Policy(self.policy, at_least="1/10", at_most="10").within(schema, {})
        where = check(parse(self.where), schema, Kind.BOOLEAN, self.where) if self.where else None
        read = read_column(self.measure, schema, "sum") if self.measure else None
        ends = Fraction(1), -(10**15), 10**15
        measure = None if read is None else Measure(read.name, *ends, expression=read.expression)
        return CellRead(policy, policy.levels, {}, measure, where, self._groups(schema, others))

    def _groups(self, schema: Schema, others: int) -> Grouping | None:
        by: list[object] = [RECORD] if self.one_by_one else []
        keys: Any = list(range(EXTREME, others + 1)) if self.one_by_one else None
        if self.binned:
            by.append(bins(self.binned, _BINS))
        if self.truncated:
            by.append(date_trunc("month", self.truncated))
            keys = [(*([key] if self.one_by_one else []), "2025-03-01") for key in keys or [0]]
        return read_grouping(by, keys, schema) if by else None


def queries_of(schema: Schema, columns: Iterable[str] | None = None) -> list[Query]:
    """Return queries that read columns, one at a time, as their kinds allow; and counts."""
    wanted = [name for name in schema if name != RECORD] if columns is None else list(columns)
    return [
        Query(),
        Query(one_by_one=False),
        *(query for name in wanted for query in queries_of_column(schema, name)),
    ]


def queries_of_column(schema: Schema, name: str) -> Iterator[Query]:
    """Yield the queries of a column, as its kind allows."""
    column, kind = quoted(name), schema[name].kind
    if kind is Kind.OTHER:
        return
    yield Query(where=f"{column} IS NULL")
    yield Query(keys=name, where=f"{RECORD} > {EXTREME}", one_by_one=False)
    if kind is Kind.NUMBER:
        yield Query(policy=f"CASE WHEN {column} < 10 THEN 0.5 ELSE 2 END", measure=name)
        yield Query(policy=f"greatest({column}, 10) / 10", one_by_one=False)
        yield Query(binned=name, where=f"NOT ({column} BETWEEN 2 AND 3)")
    elif kind is Kind.TEXT:
        yield Query(policy=f"CASE WHEN {column} > 'b' THEN 0.5 ELSE 2 END")
        yield Query(where=f"lower({column}) LIKE '%a%' OR length({column}) > 3", one_by_one=False)
    elif kind is Kind.BOOLEAN:
        yield Query(policy=f"CASE WHEN {column} THEN 0.5 ELSE 2 END", where=f"NOT {column}")
    else:
        yield Query(policy=f"CASE WHEN {column} < DATE '2025-03-02' THEN 0.5 ELSE 2 END")
        yield Query(truncated=name, where=f"year({column}) = 2025")
        yield Query(where=f"{column} + INTERVAL 1 DAY > DATE '2025-03-01'", one_by_one=False)


def queries_together(schema: Schema, columns: Sequence[str], *, lowered: bool = True) -> list[Query]:
    """Return few queries that read many columns at once, and show what each ordinary record has in each.

    Args:
        schema: The table's columns.
        columns: Those that are read, as far as they can be.
        lowered: Whether texts are read in lower case too, for which some servers have no word.
    """
    read = [name for name in columns if schema[name].kind is not Kind.OTHER]
    if not read:
        return [Query()]
    numbers = [
        f"{place} * ({_number(quoted(name), schema[name].kind, lowered=lowered)})"
        for place, name in enumerate(read, 7)
    ]
    total = " + ".join(numbers)
    return [
        Query(policy=f"1 + abs({total}) / 1000000", measure=total),
        Query(where=" OR ".join(f"{quoted(name)} IS NULL" for name in read), one_by_one=False),
        *(Query(measure=name) for name in read if schema[name].kind is Kind.NUMBER),
    ]


def _number(column: str, kind: Kind, *, lowered: bool) -> str:
    """Return a number that tells ordinary values of a column apart."""
    match kind:
        case Kind.NUMBER:
            return f"least(greatest({column}, -900), 900) + CASE WHEN {column} < 3 THEN 0.5 ELSE 2 END"
        case Kind.TEXT:
            text = f"lower({column})" if lowered else column
            likes = f"CASE WHEN {text} LIKE '%a%' THEN 3 ELSE 5 END"
            return f"length({column}) + {likes} + CASE WHEN {column} > 'b' THEN 7 ELSE 11 END"
        case Kind.BOOLEAN:
            return f"CASE WHEN {column} THEN 1 ELSE 2 END"
        case _:
            later = f"CASE WHEN {column} + INTERVAL 1 DAY > DATE '2025-03-03' THEN 1 ELSE 2 END"
            return f"day({column}) + year(date_trunc('month', {column})) + {later}"


@dataclass(frozen=True)
class Seen:
    """What a caller can observe of one step: opening a table, or one query.

    Attributes:
        outcome: "answered", or an error's class and text.
        warned: The warnings, as texts.
        statements: What was sent to the engine.
        found: The schema of an opened table, or a query's cells.
    """

    outcome: str
    warned: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    found: Any = field(default=None, repr=False)


def statements_of(engine: Any) -> list[str]:
    """Return the list to which the statements of an engine that prdp brings are added as they are run."""
    sent: list[str] = []

    def noting(run: Callable[..., Any]) -> Callable[..., Any]:
        def noted(sql: str, *args: Any, **options: Any) -> Any:
            sent.append(_OWN_NAME.sub("prdp_records", sql))
            return run(sql, *args, **options)

        return noted

    for name in ("columns", "rows_of", "arrow_of"):
        if hasattr(engine, name):
            setattr(engine, name, noting(getattr(engine, name)))
    return sent


def seen(step: Callable[[], Any], sent: list[str]) -> Seen:
    """Return what can be observed of a step; errors that are not prdp's own count as faults later."""
    before = len(sent)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome, found = "answered", step()
        except PrdpError as error:
            outcome, found = f"{type(error).__name__}: {error}", None
        except Exception as error:
            outcome, found = f"ESCAPED {type(error).__name__}: {error}", None
    return Seen(outcome, tuple(str(one.message) for one in caught), tuple(sent[before:]), found)


def observed(
    open_table: Callable[[Table], Engine],
    table: Table,
    others: int,
    queries: Callable[[Schema], Sequence[Query]] = queries_of,
    watch: Watch = statements_of,
) -> dict[Query | str, Seen]:
    """Open a table, run queries on it, and return what can be observed of each step.

    Args:
        open_table: Keeps a table somewhere, and opens it.
        table: The table.
        others: How many records it has beside the extreme one.
        queries: Makes the queries of the columns.
        watch: Has the engine's statements noted.
    """
    engines: list[Engine] = []
    steps: dict[Query | str, Seen] = {"open": seen(lambda: engines.append(open_table(table)), [])}
    if not engines:
        return steps
    (engine,) = engines
    sent = watch(engine)
    steps["columns"] = Seen("answered", found={name: repr(kind) for name, kind in engine.schema.items()})
    steps["still there"] = seen(engine.ensure_there, sent)
    for query in queries(engine.schema):
        steps[query] = seen(lambda query=query: query.cells(engine, others), sent)  # type: ignore[misc]
    return steps


def differences(  # noqa: PLR0917
    open_table: Callable[[Table], Engine],
    without: Table,
    with_extreme: Table,
    others: int,
    queries: Callable[[Schema], Sequence[Query]] = queries_of,
    watch: Watch = statements_of,
    *,
    extremes: int = 1,
) -> list[str]:
    """Return what the extreme record changes for the others, in words; nothing if all is well.

    Args:
        open_table: Keeps a table somewhere, and opens it; each table is kept apart from the other.
        without: The table without the extreme record.
        with_extreme: The table with it.
        others: How many records are in both.
        queries: As in ``observed``.
        watch: As in ``observed``.
        extremes: How many extreme records there are, where several are tried at once.
    """
    first = observed(open_table, without, others, queries, watch)
    second = observed(open_table, with_extreme, others, queries, watch)
    return [*unanswered(first), *compared(first, second, extremes)]


def unanswered(steps: dict[Query | str, Seen]) -> Iterator[str]:
    """Yield the queries of ordinary records that are not answered; a type may be refused at opening."""
    for step, found in steps.items():
        if isinstance(step, Query) and found.outcome != "answered":
            yield f"{step}: not answered, whatever the rows: {found.outcome}"


def compared(
    first: dict[Query | str, Seen], second: dict[Query | str, Seen], extremes: int = 1
) -> Iterator[str]:
    """Yield what differs between two observations, apart from the extreme records' own cells.

    Args:
        first: The observation without extreme records.
        second: The observation with them.
        extremes: How many there are.
    """
    for step in [*first, *(step for step in second if step not in first)]:
        if step not in first or step not in second:
            yield f"{step}: run once only"
            continue
        before, after = first[step], second[step]
        for name in ("outcome", "warned", "statements"):
            if getattr(before, name) != getattr(after, name):
                yield f"{step}: {name}: {getattr(before, name)!r} became {getattr(after, name)!r}"
        if "ESCAPED" in before.outcome + after.outcome:
            yield f"{step}: an error that is not prdp's own: {before.outcome!r}, {after.outcome!r}"
        if before.outcome == after.outcome == "answered" and not _same(
            step, before.found, after.found, extremes
        ):
            yield f"{step}: cells of other records: {before.found!r} became {after.found!r}"


def _same(step: Query | str, before: Any, after: Any, extremes: int) -> bool:
    """Return whether two findings differ in nothing but the extreme records' own contributions."""
    if isinstance(step, str) or step.keys:
        return bool(before == after)
    if not step.one_by_one:
        fewer = any(one - other for one, other in zip(before, after, strict=True))
        added = sum((other - one).total() for one, other in zip(before, after, strict=True))
        return not fewer and added <= extremes
    own = [key for key in after if key[0] == EXTREME]
    counted = sum(count for key in own for _, count, _ in after[key])
    return counted <= extremes and all(before[key] == after[key] for key in after if key not in own)
