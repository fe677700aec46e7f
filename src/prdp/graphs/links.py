"""Joins of several private tables: counts of rows that name a record of each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from prdp.cells.edges import Integers
from prdp.declare.columns import Number, default_name, known_column, read_bounds, refuse_unless_mappings
from prdp.declare.exact import Exact, exact_share
from prdp.declare.units import read_max_rows
from prdp.engines.duckdb.engine import open_source
from prdp.engines.progress import watched
from prdp.engines.sql_engine import SqlEngine
from prdp.engines.tracing import source_origins
from prdp.errors import InvalidRequest
from prdp.expressions.nodes import Node, canonical
from prdp.graphs.custom_run import KeptFacts, KeptRows, kept_run_plan, linked_rows
from prdp.graphs.link_statements import KeyedRecords, LinkRows, read_links
from prdp.graphs.results import Listed, Packed
from prdp.ledger import Binding, Ledger
from prdp.ledger.binding import bound_types
from prdp.levels import Levels
from prdp.mechanisms._packing import solver
from prdp.mechanisms.kept_results import KeptResults, UsedRecords
from prdp.mechanisms.truncate import Truncate
from prdp.methods import Chosen
from prdp.plan.explain import Whose
from prdp.plan.labels import excluded_records
from prdp.plan.methods import Method, MethodTerms, Options, failure_rate, read_split
from prdp.plan.plan import Plan
from prdp.plan.planner import known_method, plan_of_one
from prdp.plan.queries import Asked, Count
from prdp.plan.reads import PlanReader, Whole
from prdp.policy import Policy
from prdp.release.release import Release
from prdp.release.table import CustomRelease
from prdp.run.answer import answer
from prdp.run.reader import Reader
from prdp.schema import Kind, Schema
from prdp.tables.arguments import (
    AccountOptions,
    account_of,
    fitted_policy,
    name_of,
    narrowed,
    read_snapshot,
    refuse_others_rows,
    refuse_two_records,
)
from prdp.tables.custom import Mechanism
from prdp.tables.queryable import Opened
from prdp.tables.source_registry import OpenedSource

MAX_COLUMNS = 64
"""Maximum number of records that a row can name; certificates add up as many prices in 64 bits."""


@dataclass(frozen=True, slots=True)
class Records:
    """A private table whose records are named by other tables.

    Attributes:
        source: A table, as in ``prdp.open``.
        key: The column that names its records; rows that share a key are one record.
        policy: The public budget of a record; rows of one record have the least of theirs.
        bounds: For number columns that the policy reads, the public least and greatest value.
        types: As in ``prdp.open``.
    """

    source: object = field(repr=False)
    key: str
    policy: Policy | Exact
    bounds: Mapping[str, tuple[Number, Number]] | None = None
    types: Mapping[str, str] | None = None


def open_links(
    rows: object,
    *,
    records: Mapping[str, Records],
    max_rows: int = 10**6,
    types: Mapping[str, str] | None = None,
    name: str | None = None,
    ledger: Ledger | Path | str | None = None,
    must_exist: bool | None = None,
    separate_account: bool = False,
    who: str | None = None,
    snapshot: str | None = None,
    synthetic: bool = False,
) -> Links:
    """Open a table whose rows name private records, for private counts of its rows. Reads no row.

    A result is a row whose columns all name a record with a valid budget. It belongs to each of these
    records: a record goes with all the results that use it.

    >>> import numpy
    >>> import prdp
    >>> person = prdp.graphs.Records({"id": numpy.array([1, 2])}, key="id", policy=prdp.Policy.constant(1))
    >>> sent = {"sender": numpy.array([1, 2]), "receiver": numpy.array([2, 1])}
    >>> prdp.graphs.open_links(sent, records={"sender": person, "receiver": person}, name="mail").columns
    ['sender', 'receiver']

    Args:
        rows: A table, as in ``prdp.open``.
        records: For each column that names records, the private table. Two columns that name records of one
            table (a sender and a receiver, both persons) are given the same ``Records`` object; two of one
            source are refused, where it can be seen that they are. If the rows are themselves the private
            table (employees and their managers), its key is one of the columns: ``{"id": staff, "manager":
            staff}``.
        max_rows: The most rows that can name a record; a high guess costs next to nothing.
        types: As in ``prdp.open``.
        name: As in ``prdp.open``.
        ledger: As in ``prdp.open``.
        must_exist: As in ``prdp.open``.
        separate_account: As in ``prdp.open``.
        who: As in ``prdp.open``.
        snapshot: As in ``prdp.open``.
        synthetic: As in ``prdp.open``.

    Raises:
        InvalidRequest: Something is wrong by public facts alone; the message says what to write.
    """
    refuse_unless_mappings(records=records, types=types)
    _refuse_unless_records(records)
    read_max_rows(max_rows)
    engine = open_source(rows, types)
    known = {known_column(column, engine.schema, "records"): table for column, table in records.items()}
    distinct = list({id(table): table for table in known.values()}.values())
    tables = tuple(_opened(table) for table in distinct)
    refuse_two_records(distinct)
    refuse_others_rows(rows, known)
    table_of = {
        column: next(i for i, t in enumerate(distinct) if t is table) for column, table in known.items()
    }
    for column, place in table_of.items():
        _refuse_unless_joinable(column, engine.schema, tables[place])
    called = name_of(name, default_name(rows))
    facts = {
        "name": called,
        "schema": bound_types(engine.schema),
        "records": {
            column: json.dumps(tables[place][2], sort_keys=True) for column, place in table_of.items()
        },
        "max_rows": str(max_rows),
    }
    source = LinkSource(
        engine, tuple((table, reading) for table, reading, _ in tables), table_of, _levels(tables), max_rows
    )
    kept = AccountOptions(ledger, who, must_exist, synthetic, separate_account)
    given = [rows, *(table.source for table in distinct)]
    opened = [OpenedSource(one, partial(source_origins, one)) for one in given]
    return Links(
        _source=source,
        name=called,
        ledger=account_of(kept, Binding(facts), *opened, sources=[rows]),
        _reader=Reader(source, synthetic),
        snapshot=read_snapshot(snapshot),
    )


def _levels(tables: Sequence[tuple[SqlEngine, KeyedRecords, Mapping[str, object]]]) -> Levels:
    """Return the levels of all private tables together."""
    levels = [reading.policy.levels for _, reading, _ in tables]
    return Levels(min(one.at_least for one in levels), max(one.at_most for one in levels))


def _opened(table: Records) -> tuple[SqlEngine, KeyedRecords, Mapping[str, object]]:
    """Open a private table; return who reads it, what, and the public facts about it."""
    refuse_unless_mappings(bounds=table.bounds, types=table.types)
    engine = open_source(table.source, table.types)
    ends = read_bounds(table.bounds or {}, engine.schema)
    policy = fitted_policy(table.policy, engine.schema, ends)
    policy.refuse_unless_pure("a table of links")
    key = known_column(table.key, engine.schema, "key")
    facts = {**Binding.of(default_name(table.source), engine.schema, policy, ends, {}).facts, "key": key}
    return engine, KeyedRecords(key, policy), facts


def _refuse_unless_records(records: Mapping[str, Records]) -> None:
    if not records or not all(isinstance(table, Records) for table in records.values()):
        raise InvalidRequest(
            "records= needs a prdp.graphs.Records(...) for each column that names private records."
        )
    if len(records) > MAX_COLUMNS:
        raise InvalidRequest(f"records= has {len(records)} columns; at most {MAX_COLUMNS} can name records.")


def _refuse_unless_joinable(
    column: str, schema: Schema, table: tuple[SqlEngine, KeyedRecords, Mapping[str, object]]
) -> None:
    ends = (schema[column], table[0].schema[table[1].key])
    if not (all(end.integer for end in ends) or all(end.kind is Kind.TEXT for end in ends)):
        raise InvalidRequest(
            f"the column {column!r} holds {ends[0].native} and the key {table[1].key!r} {ends[1].native}. "
            "Both must hold whole numbers, or both text; convert one of them in its source."
        )


@dataclass(frozen=True, slots=True)
class LinkSource:
    """The rows and the private tables that they name, as a reader reads them.

    Attributes:
        engine: Who reads the rows.
        tables: Who reads each private table, and what of it.
        table_of: For each column that names records, the place of their table.
        levels: The grid of budgets.
        max_rows: The most rows that can name a record.
    """

    engine: SqlEngine
    tables: tuple[tuple[SqlEngine, KeyedRecords], ...]
    table_of: Mapping[str, int]
    levels: Levels
    max_rows: int

    @property
    def text(self) -> str:
        """The SQL of relations, for the ledger's question text; empty for plain tables."""
        texts = {"rows": self.engine.source} | {
            column: self.tables[place][0].source for column, place in self.table_of.items()
        }
        return json.dumps(texts, sort_keys=True) if any(texts.values()) else ""

    def ensure_there(self) -> None:
        """Refuse sources that have changed."""
        for engine in (self.engine, *(engine for engine, _ in self.tables)):
            engine.ensure_there()


@dataclass(frozen=True, slots=True)
class LinkRead(Whole):
    """The rows that name a record in every column, with the program that cuts their count."""

    reading: LinkRows

    def find(self, reader: PlanReader) -> tuple[Any]:
        """Return the count that is to be cut."""
        return (cut(*self.rows(reader), reader.source),)

    def rows(self, reader: PlanReader) -> tuple[Integers, Integers]:
        """Return the results, and each record's level."""
        source: LinkSource = reader.source
        return read_links(source.engine, self.reading, source.tables, source.table_of, source.levels)

    def shown(self, source: LinkSource) -> tuple[str, ...]:
        """Return a statement for each private table, and the one for the rows."""
        shown = []
        for place, (engine, reading) in enumerate(source.tables):
            columns = [column for column, table in source.table_of.items() if table == place]
            shown += [f"/* named by {', '.join(columns)} */ {sql}" for sql in engine.shown(reading)]
        return (*shown, *(f"/* the rows */ {sql}" for sql in source.engine.shown(self.reading)))


@dataclass(frozen=True, slots=True)
class KeptLinkRead(LinkRead):
    """The same for the framework: rows that name records from a level on alone, once that level is drawn."""

    def find(self, reader: PlanReader) -> tuple[Any]:
        """Return the records, with the count of the rows that will be kept."""
        rows, level = self.rows(reader)

        def from_level(least: int) -> Packed:
            # A place that names nothing (-1) is the last one of this array: it keeps every row.
            kept = np.append(level >= least, True)
            return cut(rows[kept[rows].all(axis=1)], np.full_like(level, least), reader.source)

        return (UsedRecords(reader.source.levels, level, from_level, rows),)


def cut(rows: Integers, level: Integers, source: LinkSource) -> Packed:
    """Return the count of results, to be cut by the levels of their records."""
    return Packed(source.levels, level, Listed(rows, level), source.max_rows, during=watched)


@dataclass(frozen=True, slots=True)
class NamedRows(Asked):
    """The number of rows that name a record in every column."""

    columns: tuple[str, ...]

    methods: ClassVar[tuple[Method, ...]] = (
        Method(
            "truncate", lambda terms: Truncate.tuned(terms.share), reads=lambda terms: LinkRead(terms.entry)
        ),
        Method(
            "framework",
            lambda terms: KeptResults(read_split(terms.options.split), failure_rate(terms.options.beta)),
            reads=lambda terms: KeptLinkRead(terms.entry),
            options=("beta", "split"),
        ),
    )

    def __str__(self) -> str:
        return f"rows by {' and '.join(self.columns)}"

    @property
    def facts(self) -> dict[str, Any]:
        """The columns that name records."""
        return {"query": "rows", "columns": list(self.columns)}


@dataclass(frozen=True, eq=False, repr=False)
class Links(Opened):
    """Rows that name private records, counted with releases; what ``prdp.graphs.open_links`` returns."""

    _source: LinkSource
    name: str
    ledger: Ledger
    _reader: Reader
    condition: Node | None = None
    snapshot: str = ""

    @property
    def schema(self) -> Schema:
        """The columns of the rows and their types."""
        return dict(self._source.engine.schema)

    @property
    def policy(self) -> Mapping[str, Policy]:
        """For each column that names records, their policy."""
        return {
            column: self._source.tables[place][1].policy for column, place in self._source.table_of.items()
        }

    @property
    def _title(self) -> str:
        where = "" if self.condition is None else f" where {canonical(self.condition)}"
        return f"{self._called} links {self.name!r} by {', '.join(self._source.table_of)}{where}"

    @property
    def _shown_schema(self) -> Schema:
        return self._source.engine.schema

    @property
    def _shown_policies(self) -> Mapping[str, Policy]:
        return self.policy

    def filter(self, condition: str) -> Links:
        """Return those rows alone for which a condition on their own columns holds."""
        return replace(self, condition=narrowed(self.condition, condition, self._source.engine.schema))

    def count(self, *, share: Exact, method: Chosen = "truncate", redraw: bool = False) -> Release:
        """Count the rows that name a record in every column.

        Args:
            share: The part of every record's budget to use.
            method: ``"truncate"``, or ``"framework"``: the paper's Algorithm 2, which drops the records with
                small budgets and runs ``truncate`` on the rest at one budget; with its options,
                ``prdp.methods.Framework(split="1/2", beta="1/20")``.
            redraw: Pay for a new answer although this question has been answered before.
        """
        plan = self.plan(Count(), share, method)
        return plan.one(answer(self.ledger, plan, self._reader, redraw=redraw))

    def run(
        self,
        mechanism: Mechanism,
        *,
        share: Exact,
        split: Exact | None = None,
        beta: Exact | None = None,
        name: str | None = None,
        redraw: bool = False,
    ) -> CustomRelease:
        """Run a mechanism of your own on the rows whose records the paper's framework keeps (Algorithm 2).

        Args:
            mechanism: A function of (rows, epsilon, beta). The Arrow table has a column ``records``: for each
                row, the numbers of the records that it names, drawn by chance. It must be epsilon-DP for
                adding or removing one record with all rows that name it: **that is your promise**.
            share: The part of every record's budget to use.
            split: The part of the share that finds the records to keep; by default 1/4.
            beta: The failure rate, by default 1/10; it is passed on to the mechanism.
            name: As in ``Table.run``.
            redraw: As in ``Table.run``.
        """
        source, asked = self._source, LinkRows(tuple(self._source.table_of), self.condition)
        policy = source.tables[0][1].policy
        facts = KeptFacts(policy, source.levels, self.condition, source.text, self.snapshot)
        kept = KeptRows(
            KeptLinkRead(asked),
            UsedRecords.counted,
            lambda used, least, _, entropy: linked_rows(used.rows, used.level, least, entropy),
            asked.columns,
        )
        options = {"split": split, "beta": beta, "name": name}
        plan = kept_run_plan(facts, kept, mechanism, share, options)
        return plan.own(answer(self.ledger, plan, self._reader, redraw=redraw))

    def explain(self, query: Count, *, share: Exact, method: Chosen | None = None) -> str:
        """Return the plan of a query: charge, reads and draws; reads and charges nothing."""
        columns = ", ".join(self._source.table_of)
        record = f"each record that a row names ({columns}), with all rows that name it"
        return str(self._explained(self.plan(query, share, method), Whose(record, "proofs/joins.md")))

    def plan(self, query: Count, share: Exact, method: Chosen | None = None) -> Plan:
        """Return the mechanism that would answer a query, or refuse by public facts; reads nothing."""
        if not isinstance(query, Count):
            raise InvalidRequest("rows that name private records are counted: ask for prdp.count().")
        options = Options.of(method)
        solver()
        columns, policy = tuple(self._source.table_of), self._source.tables[0][1].policy
        asked, read = NamedRows(columns), LinkRows(columns, self.condition)
        row, part = known_method(asked, options), exact_share(share)
        terms = MethodTerms(policy, self._source.levels, {}, asked, None, part, options, entry=read)
        omitted = dict.fromkeys(excluded_records(reading.policy, {}) for _, reading in self._source.tables)
        return Plan(
            (plan_of_one(terms, row, "; ".join(filter(None, omitted))),),
            terms.share,
            self.condition,
            source=self._source.text,
            snapshot=self.snapshot,
        )
