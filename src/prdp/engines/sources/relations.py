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
from pathlib import Path
from typing import Any

from prdp.engines.duckdb.database import FUNCTIONS, left_off, own_functions
from prdp.engines.sources.checks import GLOB_MARK, matching_files, refuse_lake_files, refuse_repeated
from prdp.errors import InvalidRequest
from prdp.expressions.tokens import text_literal

_START = re.compile(
    r"""(?P<escaped>\b[eE]'(?:[^'\\]|''|\\.)*')|(?P<text>'(?:[^']|'')*')|(?P<name>"(?:[^"]|"")*")"""
    r"""|(?<![\w$])\$(?P<tag>[^\W\d]\w*|)\$(?P<dollars>.*?)\$(?P=tag)\$|(?P<line>--[^\r\n]*)|(?P<comment>/\*)""",
    re.DOTALL,
)
_COMMENT_END = re.compile(r"/\*|\*/")


@dataclass(frozen=True, slots=True)
class SqlWords:
    """SQL taken apart.

    Attributes:
        texts: What its texts say.
        names: Its names in quotes, without the quotes.
        named: The SQL without comments; a text is left as ``''``, one with escapes in it as ``e''``.
        bare: Likewise, and a name in quotes is left as ``""``.
    """

    texts: tuple[str, ...]
    names: tuple[str, ...]
    named: str
    bare: str


def sql_words(sql: str) -> SqlWords:
    r"""Take SQL apart.

    >>> sql_words('''SELECT a AS "one's", random() AS "other's" FROM t -- isn't it''').named
    'SELECT a AS "one\'s", random() AS "other\'s" FROM t  '
    """
    texts, names, named, bare = [], [], [], []
    done = 0
    while found := _START.search(sql, done):
        between = sql[done : found.start()]
        done = found.end()
        kept = left = " "
        match found.lastgroup:
            case "comment":
                done = _after_comment(sql, done)
            case "text":
                texts.append(found[0][1:-1].replace("''", "'"))
                kept = left = "''"
            case "dollars":
                texts.append(found["dollars"])
                kept = left = "''"
            case "escaped":
                kept = left = "e''"
            case "name":
                names.append(found[0][1:-1].replace('""', '"'))
                kept, left = found[0], '""'
        named += [between, kept]
        bare += [between, left]
    rest = sql[done:]
    return SqlWords(tuple(texts), tuple(names), "".join([*named, rest]), "".join([*bare, rest]))


def _after_comment(sql: str, start: int) -> int:
    """Return the end of a comment; comments can be nested."""
    depth = 1
    while depth and (found := _COMMENT_END.search(sql, start)):
        depth += 1 if found[0] == "/*" else -1
        start = found.end()
    return start if depth == 0 else len(sql)


_STEPS = {"PROJECTION", "FILTER", "ORDER_BY", "CTE", "CTE_SCAN"}
_HELD = "COLUMN_DATA_SCAN"
_SCANS = {
    *("SEQ_SCAN", "TABLE_SCAN", "PARQUET_SCAN", "READ_PARQUET", "RANGE", "GENERATE_SERIES"),
    *("ARROW_SCAN", "PYTHON_ARROW_SCAN", "DUMMY_SCAN"),
}
_PARAMETER = re.compile(r"\?|\$\w+")
_HANDLE = re.compile(
    r"""(?P<text>'(?:[^']|'')*')|"__duckdb_source_[0-9a-f]{12}_\d+"|\b0x[0-9a-f]+\b"""
    r"""|"?\b(?:arrow_object|unnamed_relation|df)_[0-9a-f]{15,16}\b"?"""
)
"""Names that DuckDB makes up anew in every process; texts in quotes are left alone."""

_LOCAL = re.compile(r"^file:(?://(?:localhost)?)?(?=/)", re.IGNORECASE)
_OFF = re.compile(r"\w+\s*:?=\s*false")
_NO_GUESSING = re.compile(
    r"hive_(?:partitioning|types_autocast)\s*:?=\s*(?:false|0|CAST\('f')", re.IGNORECASE
)

_UNSETTLED = {"age", "current_setting", "getvariable", "query", "query_table"}
"""Functions that some DuckDB versions call stable, but that read the clock or the session or hide a query."""

_CHANGING = {"VOLATILE", "CONSISTENT_WITHIN_QUERY"}
_CLOCKS = {"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"}
_PLACES = {"rowid", "file_row_number", "file_index"}
_WORD = re.compile(r'(?P<of>\.\s*)?(?:"(?P<quoted>\w+)"|\b(?P<plain>[^\W\d]\w*))')
_FILES = re.compile(r"\b(?:read_parquet|parquet_scan)\"?\s*\(")
_PLAIN_FILES = re.compile(r"\s*(?:''|\[[\s',]*\]|(?:main\.)?list_value\([\s',]*\))\s*[,)]")
_INSTEAD = (
    "Give a scan with plain filters and projections, or the table or file itself. If each row is one record "
    "all the same, declare it with prdp.open(..., rows_are_records=True)."
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
        ((before,),) = self.ask("SELECT system.main.current_setting('disabled_optimizers')")
        try:
            self.ask(f"SET disabled_optimizers = '{left_off(self._optimisers, before or '')}'")
        except Exception:  # nothing of it is about records, and nothing was changed
            raise InvalidRequest(
                "prdp sets disabled_optimizers while it reads, and the settings of this database are locked. "
                "Write the table to a Parquet file and open that."
            ) from None
        try:
            yield
        finally:
            self.ask(f"SET disabled_optimizers = '{before or ''}'")

    @cached_property
    def _optimisers(self) -> list[str]:
        return [name for (name,) in self.ask("SELECT name FROM system.main.duckdb_optimizers()")]

    def source(self, *, rows_are_records: bool) -> str:
        """Return the relation's transformation of its table, as a ledger keeps it; empty for a plain scan.

        Raises:
            InvalidRequest: A row of it need not be a record, or its text does not say all.
        """
        foreign = self._foreign()
        self._refuse_shadows(foreign)
        operators = _operators(self.found)
        texts = self._texts()
        if not rows_are_records:
            _refuse_unless_records(operators)
            self._refuse_unless_settled(texts, foreign)
            self._refuse_odd_files(texts)
        if set(operators) & {_HELD, "DUMMY_SCAN"}:  # the text of rows in memory may hold the rows
            return f"rows in memory, {self.name}"
        if not set(operators) - _SCANS - {"CTE", "CTE_SCAN"}:
            return ""
        if any(_PARAMETER.search(sql_words(text).bare) for text in texts):
            raise InvalidRequest(
                "the relation has parameters, whose values its text does not show. Write them into its SQL."
            )
        ((schema,),) = self.ask("SELECT system.main.current_schema()")
        shown = [_HANDLE.sub(lambda found: found["text"] or "frame", text) for text in texts]
        return "; ".join(shown if schema == "main" else [*shown, f"in {schema}"])

    def _refuse_shadows(self, foreign: frozenset[str]) -> None:
        """Refuse a database in which a function of the caller's has the name of one that prdp calls."""
        for name in sorted(foreign & {name for name, *_ in own_functions()}):
            raise InvalidRequest(
                f"the relation's database has a function or macro {name!r} of its own, which prdp's "
                "statements would call in the place of DuckDB's. Drop it, or give it another name."
            )

    def _foreign(self) -> frozenset[str]:
        """Return the names of functions and macros that a database of ours does not have."""
        found = self.ask(FUNCTIONS)
        return frozenset(str(function[0]) for function in found if function not in own_functions())

    def _texts(self) -> list[str]:
        """Return the relation's SQL, and that of the views, macros and generated columns that it rests on."""
        texts = [str(self.found.sql_query())]
        named: dict[str, list[str]] = {}
        for query in _DEFINITIONS:
            for name, text in self.ask(query):
                named.setdefault(str(name).lower(), []).append(text)
        for text in texts:  # grows as it goes
            lower = text.lower().replace('""', '"')
            for name in sorted(named):
                if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", lower):
                    texts += sorted(named.pop(name))
        return texts

    def _refuse_unless_settled(self, texts: list[str], foreign: frozenset[str]) -> None:
        macros = {name for name, _ in self.ask(_DEFINITIONS[1])}  # whose own text is looked at
        unsettled = (foreign - macros) | _UNSETTLED
        unsettled |= {str(name) for name, *_, stability in own_functions() if stability in _CHANGING}
        for text in texts:
            words = sql_words(text).named.lower()
            calls = re.findall(r'(\w+)"?\s*\(', words)
            for name in sorted(set(calls) & unsettled):
                raise InvalidRequest(
                    f"the relation calls {name}, which need not give a record the same every time. {_INSTEAD}"
                )
            for found in _WORD.finditer(_OFF.sub("", words)):
                name = found["quoted"] or found["plain"]
                if name in _PLACES:
                    raise InvalidRequest(
                        f"the relation reads {name}, which is a row's place, which others decide. {_INSTEAD}"
                    )
                if name in _CLOCKS and not found["of"]:  # in quotes too, where no column has that name
                    raise InvalidRequest(f"the relation reads {name}, which depends on the clock. {_INSTEAD}")

    def _refuse_odd_files(self, texts: list[str]) -> None:
        """Refuse SQL that reads a file twice, or in which folders' names are columns of guessed types."""
        apart = [sql_words(text) for text in texts]
        for words in apart:
            bare = words.bare.lower()
            if not all(_PLAIN_FILES.match(bare, found.end()) for found in _FILES.finditer(bare)):
                raise InvalidRequest(f"the names of the relation's files are not plain texts. {_INSTEAD}")
        files = [file for words in apart for name in words.texts + words.names for file in self._files(name)]
        refuse_repeated(files)
        refuse_lake_files(files)
        settled = any(_NO_GUESSING.search(text) for text in texts)
        if not settled and any("=" in folder for file in files for folder in Path(file).parts[:-1]):
            raise InvalidRequest(
                "the names of folders are columns of this relation, and DuckDB guesses their types from "
                "them. Give prdp.open the path, or write read_parquet(..., hive_types_autocast = false)."
            )

    def _files(self, name: str) -> list[str]:
        """Return the files that DuckDB reads under a name: to it, all names are globs."""
        local = _LOCAL.sub("", name)
        if not GLOB_MARK.search(local) or "://" in local:
            return matching_files(local)
        found = self.ask(f"SELECT file FROM system.main.glob({text_literal(local)})")
        return [str(file) for (file,) in found if Path(file).is_file()]


_DEFINITIONS = (
    "SELECT view_name, sql FROM system.main.duckdb_views() WHERE NOT internal",
    """SELECT lower(function_name), function_name || CAST(parameters AS VARCHAR) || ' AS ' || macro_definition
    FROM system.main.duckdb_functions() WHERE macro_definition IS NOT NULL AND NOT internal""",
    "SELECT table_name, sql FROM system.main.duckdb_tables() WHERE sql LIKE '%GENERATED ALWAYS%'",
)


def _refuse_unless_records(operators: list[str]) -> None:
    """Refuse a plan in which a row may come of several records, or a record be in several rows."""
    for operator in operators:
        if operator in _STEPS | _SCANS:
            continue
        if operator == _HELD:
            raise InvalidRequest(
                "the relation holds rows that a query has computed before, and prdp cannot see what from. "
                f"{_INSTEAD}"
            )
        if operator == "PANDAS_SCAN":
            raise InvalidRequest(
                "the relation reads a frame of pandas or NumPy, whose types DuckDB guesses from its values. "
                "Give prdp.open the frame itself, and filter with .filter()."
            )
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
    except ValueError:  # several plans at once
        raise InvalidRequest("the relation's plan cannot be read. Run RESET explain_output first.") from None


def _named(plan: list[Mapping[str, Any]]) -> Iterator[str]:
    for operator in plan:
        yield str(operator["name"]).strip()
        yield from _named(operator["children"])
