"""Plans and previews by public facts alone: no private source and no ledger is opened here."""

from __future__ import annotations

import math
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from prdp.errors import InvalidRequest, PrdpError, SqlError, spelled
from prdp.ledger.layout import canonical
from prdp.projects.project import Facts, Project, named_in
from prdp.release.table import shown_key
from prdp.schema import ColumnType, Kind, Schema
from prdp.server.purses import parts_of, share_of
from prdp.server.refusals import RequestRefused
from prdp.server.requests import PlannedQuestion
from prdp.testing.preview import EVEN, made_up, roundings_of

if TYPE_CHECKING:
    from prdp.sql.results import SqlAnswers
    from prdp.tables.table import Table

MAX_STATEMENT = 10_000
MAX_ROWS = 100_000
MAX_ANSWERS = 100_000
"""Answers of a statement, one for each group and aggregate."""
MAX_TRIED = 20_000
"""Answers of a statement that is tried on made-up rows, which costs nothing but time and memory."""
MAX_KEPT = 64
"""Reads of a table whose cells are kept in memory."""
_SHOWN_ROWS = 5
_PLANS_KEPT = 256
"""Plans that are kept: a dashboard asks for the same ones again and again."""
_MAX_MESSAGE = 2_000
_HIDDEN = ("costs", "leaves", "charges", "reads", "ledger", "table")
"""Labels of an explanation that are about the made-up records and the engine that reads them."""


@dataclass(frozen=True, slots=True)
class Served:
    """Public facts of a table, as the engine's process sends them.

    Attributes:
        facts: Its columns, policy, bounds and keys.
        listed: Its public keys and tables, as ``Table.sql`` takes them.
        immutable: The columns that narrow what is charged.
        declared: What the project file says of it, but for where it is and where its account is.
    """

    facts: Facts
    listed: Mapping[str, Any]
    immutable: tuple[str, ...]
    declared: str

    @property
    def digest(self) -> str:
        """The hash of the facts that decide what a statement asks."""
        whole = (self.facts, sorted(self.listed.items()), self.declared)
        return sha256(repr(whole).encode()).hexdigest()

    def digest_of(self, name: str, statement: str, share: str) -> str:
        """Return the hash of all that decides what a statement asks of the table of this name."""
        from prdp.sql.reading import read_statement, sql_of  # noqa: PLC0415  (loads the parser when used)

        text = sql_of(read_statement(statement).tree, comments=False)
        return sha256(canonical((name, text, share, self.digest)).encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True)
class PlannedColumn:
    """A column of a statement's answers.

    Attributes:
        name: Its name.
        holds: whole numbers, decimals, numbers, texts, truths, dates or moments; or what is not known.
        interval: Whether its numbers have intervals.
    """

    name: str
    holds: str
    interval: bool


_LIKELY = "0.5"
"""The share that made-up answers are drawn with where none is given."""
_HOLDS = {Kind.NUMBER: "numbers", Kind.TEXT: "texts", Kind.BOOLEAN: "truths", Kind.MOMENT: "moments"}


def _column(made: Any, answers: SqlAnswers, schema: Schema, place: int) -> PlannedColumn:
    """Return what a column holds; nothing of it is read off a record."""
    from prdp.release.release import Release  # noqa: PLC0415  (loaded with the answers)
    from prdp.sql.estimates import ComputedAnswer  # noqa: PLC0415

    name = answers.columns[place]
    cells = [row[place] for row in answers.rows if row[place] is not None]
    estimates = [cell for cell in cells if isinstance(cell, Release | ComputedAnswer)]
    if estimates:
        return PlannedColumn(name, "whole" if all(cell.whole for cell in estimates) else "numbers", True)
    item = made.items[place] if hasattr(made, "items") and place < len(made.items) else None
    kind = item.checked.kind if item is not None else None
    source = getattr(item.checked.source, "this", None) if item is not None else None
    column = schema.get(str(getattr(source, "name", "") or name)) or schema.get(name)
    if column is not None and (kind is None or kind is column.kind):
        return PlannedColumn(name, _holds(column), False)
    depends = (
        item is not None and not cells and hasattr(made, "column_depends") and made.column_depends(place)
    )
    if kind is None and cells:
        kinds = {bool: Kind.BOOLEAN, str: Kind.TEXT, datetime: Kind.MOMENT}
        kind = next((of for type_, of in kinds.items() if isinstance(cells[0], type_)), Kind.NUMBER)
    holds = _HOLDS.get(kind or Kind.TEXT, "texts")
    return PlannedColumn(name, holds, bool(depends) and kind is Kind.NUMBER)


def _holds(column: ColumnType) -> str:
    """Return what a column of a table holds."""
    if column.kind is Kind.NUMBER and column.integer:
        return "whole"
    if column.native.upper().startswith(("DECIMAL", "NUMERIC")):
        return "decimals"
    return "dates" if column.native.upper() == "DATE" else _HOLDS.get(column.kind, "texts")


class PublicPlanner:
    """Plans statements about the tables of a project, on made-up records with the same public facts."""

    def __init__(self, project: Project, served: Mapping[str, Served]) -> None:
        self._project = project
        self.served = dict(served)
        self._alike = {name: self._made_up(name, MAX_ROWS) for name in served}
        self._drawing = threading.Semaphore(2)
        self._kept = lru_cache(_PLANS_KEPT)(self._planned)

    def _made_up(self, name: str, rows: int) -> Table:
        facts = self.served[name].facts
        columns = made_up(EVEN, facts, facts.bounds)
        alike = {column: values[:rows] for column, values in columns.items()}
        rounded: Any = self._project.with_rounding(name, roundings_of(facts))
        table: Table = rounded.stand_in(name, alike)
        return table

    def plan(
        self, statement: str, share: str, may_ask: list[str], person: int
    ) -> tuple[PlannedQuestion, dict[str, Any]]:
        """Return a question with its digest, and its plan for people; refuse what cannot be answered.

        Args:
            statement: One SELECT.
            share: The part of every budget, as a decimal text.
            may_ask: The tables that the person may ask about.
            person: Who plans: kept for others, a plan would tell them by its speed what somebody tried.
        """
        return self._kept(person, statement, share, tuple(may_ask))

    def _planned(
        self, _person: int, statement: str, share: str, may_ask: tuple[str, ...]
    ) -> tuple[PlannedQuestion, dict[str, Any]]:
        asked = self.question(statement, share, list(may_ask))
        table, served = self._alike[asked.dataset], self.served[asked.dataset]
        with _RefusalsShown():
            lines = table.explain_sql(statement, share=share, **served.listed).lines
            columns = self._compiled(statement, asked.dataset).names
        shown = [[line.label.strip(), line.text] for line in lines if line.label.strip() not in _HIDDEN]
        return asked, {"columns": list(columns), "lines": shown}

    def question(self, statement: str, share: str, may_ask: list[str]) -> PlannedQuestion:
        """Return a question with its digest, by its text alone."""
        if not parts_of(share) > 0:
            raise RequestRefused("invalid")
        name = self._named(statement, may_ask)
        served = self.served[name]
        with _RefusalsShown():
            canonical_share = share_of(parts_of(share))
            digest = served.digest_of(name, statement, canonical_share)
        return PlannedQuestion(name, statement, canonical_share, digest, bool(served.immutable))

    def _compiled(self, statement: str, name: str) -> Any:
        from prdp.sql.statement import compiled  # noqa: PLC0415  (loaded with the parser)

        table, served = self._alike[name], self.served[name]
        catalog: Any = table._catalog  # noqa: SLF001  (what a statement's names mean)
        keys, tables = served.listed["keys"], served.listed["tables"]
        made = compiled(statement, table, catalog, public=_public(tables, catalog), keys=keys)
        refuse_beyond(made, MAX_ANSWERS)
        return made

    def without_records(self, statement: str, may_ask: list[str]) -> SqlAnswers | None:
        """Return the answers of a statement that wants no row, such as one with LIMIT 0; else None."""
        name = self._named(statement, may_ask)
        with _RefusalsShown():
            asks = getattr(self._compiled(statement, name), "queries", None) != ()
        return None if asks else self._drawn(statement, _LIKELY, name, MAX_ROWS)

    def columns(self, statement: str, may_ask: list[str]) -> tuple[PlannedColumn, ...]:
        """Return what the columns of a statement's answers hold: by its text, and by made-up answers."""
        name = self._named(statement, may_ask)
        with _RefusalsShown():
            made = self._compiled(statement, name)
            answers = self._drawn(statement, _LIKELY, name, MAX_ROWS)
        schema = self.served[name].facts.schema
        return tuple(_column(made, answers, schema, place) for place in range(len(answers.columns)))

    def _drawn(self, statement: str, share: str, name: str, rows: int) -> SqlAnswers:
        if not self._drawing.acquire(timeout=10):
            raise RequestRefused("busy")
        try:
            table = self._alike[name] if rows == MAX_ROWS else self._made_up(name, rows)
            with _RefusalsShown():
                return table.sql(statement, share=share, **self.served[name].listed)
        finally:
            self._alike[name]._reader.forget_beyond(0)  # noqa: SLF001  (it would be faster for others)
            self._drawing.release()

    def preview(self, statement: str, share: str, rows: int, may_ask: list[str], person: int) -> SqlAnswers:
        """Return the answer on made-up records: nothing of it is about the private ones."""
        asked, _ = self.plan(statement, share, may_ask, person)
        with _RefusalsShown():
            refuse_beyond(self._compiled(statement, asked.dataset), MAX_TRIED)
        return self._drawn(statement, share, asked.dataset, rows)

    def _named(self, statement: str, may_ask: list[str]) -> str:
        """Return the table that a statement is about; a table that one may not see is not there."""
        if len(statement) > MAX_STATEMENT:
            raise RequestRefused("too_large")
        with _RefusalsShown():
            from prdp.sql.reading import read_statement  # noqa: PLC0415

            read_statement(statement)
        try:
            name = named_in(statement, self._project)
        except InvalidRequest:
            name = ""
        if name not in may_ask or name not in self.served:
            listed = ", ".join(may_ask) or "none yet"
            raise RequestRefused("statement", f"name one of the tables that you may ask about: {listed}.")
        return name

    def described(self, name: str) -> dict[str, Any]:
        """Return the public facts of a table, as JSON has them, with a few made-up rows."""
        served, table = self.served[name], self._alike[name]
        facts = served.facts
        columns = [
            {
                "name": column, "kind": kind.kind.value, "integer": kind.integer,
                "type": kind.native or kind.kind.value,
                "low": _number(facts.bounds.get(column, (None, None))[0]),
                "high": _number(facts.bounds.get(column, (None, None))[1]),
                "round_to": _number(facts.round_to.get(column)),
                "keys": _keys(served.listed["keys"].get(column)),
            }
            for column, kind in facts.schema.items()
        ]  # fmt: skip
        made = made_up(EVEN, facts, facts.bounds)
        names = list(made)
        rows = [[_cell(made[column][place]) for column in names] for place in range(_SHOWN_ROWS)]
        policy = facts.policy.shown
        limits = {"at_least": _number(policy.at_least), "at_most": _number(policy.at_most)}
        limits |= {} if facts.policy.stated is None else {"notion": facts.policy.notion}
        return {
            "name": name, "columns": columns,
            "policy": {"text": str(policy.text), **limits},
            "privacy_unit": table.privacy_unit, "max_rows": facts.unit.max_rows if facts.unit else None,
            "made_up": {"columns": names, "rows": rows},
        }  # fmt: skip


def refuse_beyond(made: Any, most: int) -> None:
    """Refuse a statement that would have more answers than that: memory and time grow with their number."""
    from prdp.sql.execute import selects_of  # noqa: PLC0415  (loaded with the parser)

    asked = sum(len(select.queries) * _groups(select) for select in selects_of(made))
    if asked > most:
        reason, advice = f"this has {asked:,} answers", f"Ask for at most {most:,} at once."
        raise RequestRefused("statement", f"{reason}. {advice}", reason=reason, advice=advice)


def _groups(select: Any) -> int:
    """Return how many groups a SELECT has by public keys; one where keys are searched for, or none."""
    if select.by is None or not isinstance(select.by.listed, Collection):
        return 1
    sizes = [len(keys) for keys in select.by.lists]
    if not sizes:
        return len(select.by.listed)
    margins = select.margins or (range(len(sizes)),)
    return sum(math.prod(sizes[place] for place in margin) for margin in margins)


class _RefusalsShown:
    """Turn what public facts refuse into a refusal with its message, and anything else into none."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, frames: object) -> None:
        if isinstance(error, RequestRefused) or error is None:
            return
        if isinstance(error, InvalidRequest):
            raise _with_place(error) from None
        if isinstance(error, PrdpError | RecursionError):
            raise RequestRefused("statement") from None


def _with_place(error: InvalidRequest) -> RequestRefused:
    """Return the refusal of a statement; of an SqlError, its parts as well."""
    detail = str(error)[:_MAX_MESSAGE]
    if not isinstance(error, SqlError):
        return RequestRefused("statement", detail)
    reason, advice = (spelled(words)[:_MAX_MESSAGE] for words in (error.reason, error.advice))
    return RequestRefused("statement", detail, reason=reason, advice=advice, place=error.span[0])


def _public(tables: Any, catalog: Any) -> Any:
    from prdp.sql.catalog import read_public  # noqa: PLC0415  (loaded with the parser)

    return read_public(tables, catalog.tables)


def _number(value: Any) -> str | None:
    if value is None:
        return None
    return str(int(value)) if value == int(value) else f"{float(value):.12g}"


def _keys(keys: Any) -> Any:
    if keys is None or keys == "private" or isinstance(keys, Mapping):
        return None if keys is None else "private"
    return [shown_key(key) for key in keys]


def _cell(value: Any) -> Any:
    plain = value.item() if hasattr(value, "item") else value
    return plain if plain is None or isinstance(plain, str | int | float) else str(plain)
