"""A PEP 249 connection to a private table: what pandas' read_sql and notebooks' SQL cells talk to.

The share is that of every statement. ``SET share = 0.02`` changes it for those that follow. Statements
about no record, such as ``SELECT 1`` or one with ``LIMIT 0``, are never charged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol, Self

from prdp.declare.exact import Exact, exact_share, short_repr
from prdp.declare.keys import plain_value
from prdp.errors import BudgetExhausted, EngineFailure, InvalidRequest, PrdpError, SqlError
from prdp.expressions.evaluate import value_of
from prdp.expressions.nodes import canonical
from prdp.expressions.tokens import tokens_of
from prdp.sql.membership import literal
from prdp.sql.results import SqlAnswers

apilevel = "2.0"
threadsafety = 1
paramstyle = "qmark"

Error = PrdpError
Warning = UserWarning  # noqa: A001  (PEP 249 calls it so)
InterfaceError = InvalidRequest
DatabaseError = PrdpError
ProgrammingError = InvalidRequest
DataError = InvalidRequest
NotSupportedError = SqlError
OperationalError = EngineFailure
InternalError = EngineFailure
IntegrityError = BudgetExhausted


class SqlQueryable(Protocol):
    """A table or a join that answers SQL."""

    def sql(
        self,
        text: str,
        *,
        share: Exact,
        keys: Mapping[str, Any] | None = None,
        tables: Mapping[str, object] | None = None,
    ) -> SqlAnswers:
        """Answer a statement."""


def connect(
    accounts: SqlQueryable,
    *,
    share: Exact,
    keys: Mapping[str, Any] | None = None,
    tables: Mapping[str, object] | None = None,
    intervals: bool = False,
    std_errors: bool = False,
) -> Connection:
    """Return a PEP 249 connection to a table or a join; ``prdp.connect`` describes the arguments."""
    if not hasattr(accounts, "sql"):
        raise InvalidRequest(
            f"connect takes what prdp.open or prdp.open_join returned, not {short_repr(accounts)}."
        )
    return Connection(accounts, exact_share(share), keys, tables, intervals=intervals, std_errors=std_errors)


class Connection:
    """A connection whose statements cost a share each; nothing is ever written."""

    def __init__(
        self,
        accounts: SqlQueryable,
        share: Fraction,
        keys: Mapping[str, Any] | None,
        tables: Mapping[str, object] | None,
        *,
        intervals: bool = False,
        std_errors: bool = False,
    ) -> None:
        self._accounts = accounts
        self._keys = keys
        self._tables = tables
        self._closed = False
        self.share = share
        self.intervals = intervals
        self.std_errors = std_errors

    def cursor(self) -> SqlCursor:
        """Return a new cursor."""
        self._refuse_closed()
        return SqlCursor(self)

    def execute(self, text: str, parameters: Sequence[object] | None = None) -> SqlCursor:
        """Answer a statement with a new cursor."""
        return self.cursor().execute(text, parameters)

    def commit(self) -> None:
        """Do nothing: an answer's charge is final."""
        self._refuse_closed()

    def rollback(self) -> None:
        """Do nothing: a charge is never given back."""
        self._refuse_closed()

    def close(self) -> None:
        """Close the connection; the table stays open."""
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def answered(self, text: str) -> SqlAnswers | None:
        """Answer a statement, or take a setting, of which there is nothing to fetch."""
        self._refuse_closed()
        share = _set_share(text)
        if share is not None:
            self.share = share
            return None
        return self._accounts.sql(text, share=self.share, keys=self._keys, tables=self._tables)

    def _refuse_closed(self) -> None:
        if self._closed:
            raise InvalidRequest("this connection is closed. Write prdp.connect(...) again.")


class SqlCursor:
    """Answers of one statement after the other; ``answers`` has the intervals too."""

    arraysize = 1

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.answers: SqlAnswers | None = None
        self._names: list[str] = []
        self._rows: list[tuple[Any, ...]] = []
        self._at = 0
        self._closed = False

    @property
    def description(self) -> list[tuple[str, None, None, None, None, None, None]] | None:
        """The columns of the answers, as PEP 249 describes them."""
        if self.answers is None:
            return None
        return [(name, None, None, None, None, None, None) for name in self._names]

    @property
    def rowcount(self) -> int:
        """Number of rows; -1 where no statement was answered."""
        return -1 if self.answers is None else len(self._rows)

    def execute(self, text: str, parameters: Sequence[object] | None = None) -> SqlCursor:
        """Answer a statement; a ``?`` in it represents a value."""
        self._refuse_closed()
        self.answers = self.connection.answered(with_values(text, parameters))
        self._names, self._rows = _fetched(
            self.answers, intervals=self.connection.intervals, std_errors=self.connection.std_errors
        )
        self._at = 0
        return self

    def executemany(self, _text: str, _sequence: Sequence[Sequence[object]]) -> SqlCursor:
        """Refuse: every statement is charged, and is asked for itself."""
        raise InvalidRequest("executemany would charge every statement: write execute for each.")

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row; None after the last."""
        self._refuse_closed()
        if self.answers is None:
            raise InvalidRequest("there is nothing to fetch: execute a SELECT first.")
        if self._at >= len(self._rows):
            return None
        self._at += 1
        return self._rows[self._at - 1]

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """Return the next rows, ``arraysize`` by default."""
        rows = (self.fetchone() for _ in range(self.arraysize if size is None else size))
        return [row for row in rows if row is not None]

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all rows that are left."""
        return self.fetchmany(len(self._rows) + 1)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.fetchone, None)

    def setinputsizes(self, sizes: object) -> None:
        """Do nothing, as PEP 249 allows."""

    def setoutputsize(self, size: object, column: object = None) -> None:
        """Do nothing, as PEP 249 allows."""

    def close(self) -> None:
        """Close the cursor."""
        self._closed = True

    def _refuse_closed(self) -> None:
        if self._closed:
            raise InvalidRequest("this cursor is closed. Write connection.cursor() again.")


def _fetched(
    answers: SqlAnswers | None, *, intervals: bool, std_errors: bool
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the columns and rows of answers, with the ends and flags of intervals if these are wanted."""
    if answers is None:
        return [], []
    if not intervals and not std_errors:
        return list(answers.columns), answers.values
    columns = answers.to_dict(std_errors=std_errors)
    return list(columns), list(zip(*columns.values(), strict=True))


def with_values(text: str, parameters: Sequence[object] | None) -> str:
    """Return a statement with its values in place of the question marks, each as a constant of SQL.

    >>> with_values("SELECT COUNT(*) FROM t WHERE job = ? AND age > ?", ["O'Neill", 30])
    "SELECT COUNT(*) FROM t WHERE job = 'O''Neill' AND age > 30"
    """
    if not parameters:
        return text
    values = list(parameters)
    places = [token for token in tokens_of(text) if token.written == "?"]
    if isinstance(parameters, str | bytes | Mapping) or len(places) != len(values):
        raise InvalidRequest(
            f"the statement has {len(places)} question marks, and {short_repr(parameters)} was given."
        )
    pieces, at = [], 0
    for token, value in zip(places, values, strict=True):
        pieces += [text[at : token.start], _constant(value)]
        at = token.end
    return "".join(pieces) + text[at:]


def _constant(value: object) -> str:
    plain = plain_value(value)
    if plain is None:
        return "NULL"
    try:
        return canonical(literal(value_of(plain)))
    except (TypeError, InvalidRequest):
        raise InvalidRequest(f"{short_repr(value)} is not a number, text, date or boolean.") from None


def _set_share(text: object) -> Fraction | None:
    """Return the share that ``SET share = 0.02`` sets; None of any other statement."""
    if not isinstance(text, str) or not text.lstrip().lower().startswith("set"):
        return None
    words = [token.written for token in tokens_of(text)]
    words = words[:-1] if words[-1] == ";" else words
    if (
        [word.lower() for word in words[:2]] != ["set", "share"]
        or len(words) < 4
        or words[2].lower() not in {"=", "to"}
    ):
        raise InvalidRequest("the one setting is the share of a statement: SET share = 0.02.")
    return exact_share("".join(words[3:]).strip("'"))
