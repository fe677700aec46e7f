"""A DuckDB relation of the caller's own: run only if its rows are records, and each is read alone.

The relation lives in the caller's database, so DuckDB's settings there are changed while a statement of ours
runs, and put back afterwards.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from prdp.engines._optimisers import left_off
from prdp.errors import InvalidRequest

_STEPS = {"PROJECTION", "FILTER", "ORDER_BY", "CTE", "CTE_SCAN"}
_HELD = {"COLUMN_DATA_SCAN", "DUMMY_SCAN"}
_SCANS = {
    *("SEQ_SCAN", "TABLE_SCAN", "PARQUET_SCAN", "READ_PARQUET", "RANGE", "GENERATE_SERIES"),
    *("ARROW_SCAN", "PYTHON_ARROW_SCAN", "PANDAS_SCAN"),
    *_HELD,
}
_LITERALS = re.compile(r"'(?:[^']|'')*'" + r'|"(?:[^"]|"")*"')
_PARAMETER = re.compile(r"\?|\$\w+")
_HANDLES = re.compile(
    r'"__duckdb_source_[0-9a-f]{12}_\d+"|"?\b(?:arrow_object|unnamed_relation|df)_[0-9a-f]{15,16}\b"?|\b0x[0-9a-f]+\b'
)
"""Names that DuckDB makes up anew in every process."""

_CLOCKS = ("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp")
_INSTEAD = (
    "Give prdp.open a scan with plain filters and projections, or the table or file itself. If each row is "
    "one record all the same, say so with rows_are_records=True."
)


@dataclass(frozen=True)
class Relation:
    """A relation of the caller's own, with the statements that prdp may run on it.

    Attributes:
        found: The relation.
        name: The name under which statements find it; the connection may hold other tables of ours.
    """

    found: Any
    name: str

    @classmethod
    def of(cls, found: Any) -> Relation:
        """Return a relation under a name of its own."""
        return cls(found, f"prdp_{uuid.uuid4().hex}")

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a statement in the relation's connection and fetch its rows."""
        result = self.found.query(self.name, sql)
        return [] if result is None else list(result.fetchall())

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Leave off all optimisers that know of other records, for as long as this lasts."""
        ((before,),) = self.ask("SELECT current_setting('disabled_optimizers')")
        self.ask(f"SET disabled_optimizers = '{left_off(self._optimisers, before or '')}'")
        try:
            yield
        finally:
            self.ask(f"SET disabled_optimizers = '{before or ''}'")

    @cached_property
    def _optimisers(self) -> list[str]:
        return [name for (name,) in self.ask("SELECT name FROM duckdb_optimizers()")]

    def source(self, *, rows_are_records: bool) -> str:
        """Return what the relation makes of its table, as a ledger keeps it; nothing for a plain scan.

        Raises:
            InvalidRequest: A row of it need not be a record, or its text does not say all.
        """
        operators = _operators(self.found)
        texts = self._texts()
        if not rows_are_records:
            _refuse_unless_records(operators)
            self._refuse_unless_settled(texts)
        made = set(operators) - _SCANS - {"CTE", "CTE_SCAN"}
        if not made:
            return ""
        if set(operators) & _HELD:  # the text of rows in memory holds the rows
            return f"rows in memory, {uuid.uuid4().hex}"
        if any(_PARAMETER.search(_LITERALS.sub("", text)) for text in texts):
            raise InvalidRequest(
                "the relation has parameters, whose values its text does not show. Write them into its SQL."
            )
        return "; ".join(_HANDLES.sub("frame", text) for text in texts)

    def _texts(self) -> list[str]:
        """Return the relation's SQL, and that of the views and macros that it rests on."""
        texts = [str(self.found.sql_query())]
        named = dict(self.ask("SELECT lower(view_name), sql FROM duckdb_views() WHERE NOT internal"))
        macros = self.ask(
            "SELECT lower(function_name), string_agg(macro_definition, '; ') FROM duckdb_functions() "
            "WHERE macro_definition IS NOT NULL AND NOT internal GROUP BY ALL ORDER BY ALL"
        )
        named |= {f"{name}(": text for name, text in macros}
        for text in texts:  # grows as it goes
            texts += _mentioned(text, named)
        return texts

    def _refuse_unless_settled(self, texts: list[str]) -> None:
        unsettled = {
            str(name)
            for (name,) in self.ask(
                "SELECT DISTINCT lower(function_name) FROM duckdb_functions() "
                "WHERE function_type = 'scalar' AND stability <> 'CONSISTENT'"
            )
        }
        for text in texts:
            bare = re.sub(r"'(?:[^']|'')*'", "''", text).lower()
            called = set(re.findall(r'(\w+)"?\s*\(', bare)) | set(re.findall(r"\w+", bare)) & set(_CLOCKS)
            for name in sorted(called & (unsettled | set(_CLOCKS))):
                raise InvalidRequest(
                    f"the relation calls {name}, which need not give a record the same every time. {_INSTEAD}"
                )


def _mentioned(text: str, named: dict[str, str]) -> list[str]:
    """Take out of ``named``, and return, the definitions whose names a text mentions."""
    words = set(re.findall(r"\w+", text.lower())) | set(re.findall(r"\w+\(", text.lower()))
    return [named.pop(name) for name in sorted(words & set(named))]


def _refuse_unless_records(operators: list[str]) -> None:
    """Refuse a plan in which a row may come of several records, or a record be in several rows."""
    for operator in operators:
        if operator in _STEPS | _SCANS:
            continue
        if operator.startswith("READ_") or operator.endswith("_SCAN"):
            raise InvalidRequest(
                f"the relation reads by {operator}, of which prdp does not know that one record never "
                f"changes how others are read. Write them into a table or a Parquet file. {_INSTEAD}"
            )
        raise InvalidRequest(
            f"the relation's plan has {operator}, so that its rows need not be records: one row may come "
            f"of many, or a record be in many, or in none because of others. {_INSTEAD}"
        )
    scans = [operator for operator in operators if operator in _SCANS]
    if len(scans) != 1 or operators.count("CTE_SCAN") > operators.count("CTE"):
        raise InvalidRequest(f"the relation reads {len(scans)} tables, or one more than once. {_INSTEAD}")


def _operators(relation: Any) -> list[str]:
    """Return the operators of a relation's plan."""
    try:
        return list(_named(json.loads(relation.explain(format="json"))))
    except TypeError:  # DuckDB 1 draws its plans: boxes, whose first line is the operator's name
        lines = str(relation.explain()).split("\n")
        return [
            name
            for above, line in pairwise(lines)
            if "┌" in above
            for name in re.findall(r"[A-Z][A-Z_]*", line)
        ]


def _named(plan: list[Mapping[str, Any]]) -> Iterator[str]:
    for operator in plan:
        yield str(operator["name"]).strip()
        yield from _named(operator["children"])
