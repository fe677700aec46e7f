"""Rows that Python reads, given to DuckDB batch by batch: nothing in them makes reading fail.

DuckDB asks a data set of Arrow for the columns that a statement needs, anew for every statement. So whatever
can say its columns and give batches of them is read without being held in memory, and as it is by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from decimal import Context, Decimal
from typing import Any, Protocol

import pyarrow
import pyarrow.compute
import pyarrow.dataset

from prdp.engines.sources.checks import declared_casts, refuse_ambiguous
from prdp.engines.sources.source_query import SourceQuery
from prdp.errors import InvalidRequest

_MICROSECONDS = {"s": 1_000_000, "ms": 1_000}
_NARROW, _WIDE = 32, 128
"""Bits of decimals."""
_EXACT = Context(prec=80)


class BatchSource(Protocol):
    """A source of batches of rows."""

    @property
    def schema(self) -> Any:
        """The columns and their Arrow types, as they were when it was opened."""

    def found(self) -> object:
        """Return public facts as they are now; reads no record."""

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Read all rows anew, and return batches that hold these columns; one or more are asked for."""


def batch_query(
    connection: Any,
    name: str,
    source: BatchSource,
    types: Mapping[str, str] | None,
    unreadable: Mapping[str, str] | None = None,
    *,
    files: Sequence[str] = (),
) -> SourceQuery:
    """Return the query for the rows of batches.

    Args:
        connection: The database.
        name: The name of the rows there.
        source: The source of the batches.
        types: SQL types of columns that are cast.
        unreadable: Columns that are not read, by name, and what they hold.
        files: The files that a statement reads.
    """
    names = list(source.schema.names)
    refuse_ambiguous(names)
    casts = declared_casts(dict.fromkeys(names, False), types or {})

    @contextmanager
    def registered() -> Iterator[None]:
        connection.register(name, Batches(source))
        try:
            yield
        finally:
            connection.unregister(name)

    reached: Callable[[], AbstractContextManager[object]] = registered
    if not _describes(connection, name, reached):
        kinds = ", ".join(f"{field.name!r} {field.type}" for field in source.schema)
        raise InvalidRequest(
            f"a column has a type that cannot be read. The columns are {kinds}. Convert it to whole "
            "numbers, floats, texts, dates or true and false, or drop it."
        )
    required = frozenset(
        field.name for field in source.schema if not field.nullable and reads_all(field.type)
    ) - set(types or {})
    return SourceQuery(
        f"SELECT {casts} FROM {name}",
        unreadable or {},
        reached,
        source.found,
        required=required,
        read_once=bool(files),
        files=tuple(files),
    )


def _describes(connection: Any, name: str, reached: Callable[[], AbstractContextManager[object]]) -> bool:
    """Return whether DuckDB reads the types of all columns; no row is read."""
    try:
        with reached():
            connection.execute(f"DESCRIBE SELECT * FROM {name}").fetchall()
    except Exception:  # DuckDB and Arrow have errors of many kinds
        return False
    return True


class Batches(pyarrow.dataset.Dataset):  # type: ignore[misc]  # no types there
    """A source of batches as DuckDB reads it: with a first column of nothing.

    To count rows DuckDB reads the first column, asked for or not.
    """

    def __init__(self, source: BatchSource) -> None:
        self._source = source
        names = {str(name).lower() for name in source.schema.names}
        self._rows = "prdp_rows"
        while self._rows in names:
            self._rows += "_"
        given = [pyarrow.field(field.name, _readable_type(field.type)) for field in source.schema]
        self._shown = pyarrow.schema([pyarrow.field(self._rows, pyarrow.null()), *given])

    @property
    def schema(self) -> Any:
        """The columns that DuckDB sees."""
        return self._shown

    def scanner(self, columns: Sequence[str] | None = None, filter: object = None, **_: object) -> _Scan:  # noqa: A002
        """Return a scan of columns, as DuckDB asks for it; no condition may be pushed down to here."""
        if filter is not None:
            raise InvalidRequest("a condition was to be applied while reading, where records share facts.")
        names = self._shown.names if columns is None else columns
        return _Scan(pyarrow.schema([self._shown.field(name) for name in names]), self._read)

    def _read(self, shown: Any) -> Iterator[Any]:
        wanted = [name for name in shown.names if name != self._rows]
        for batch in self._source.batches(wanted or self._source.schema.names[:1]):
            columns = [
                pyarrow.nulls(batch.num_rows)
                if field.name == self._rows
                else readable_column(batch.column(batch.schema.get_field_index(field.name)), field.type)
                for field in shown
            ]
            yield pyarrow.record_batch(columns, schema=shown)


class _Scan:
    """A scan of some columns."""

    def __init__(self, schema: Any, read: Callable[[Any], Iterator[Any]]) -> None:
        self.projected_schema = schema
        self._read = read

    def to_reader(self) -> Any:
        """Return the batches, as a stream."""
        return pyarrow.RecordBatchReader.from_batches(
            self.projected_schema, self._read(self.projected_schema)
        )


def reads_all(kind: Any) -> bool:
    """Return whether DuckDB reads every value of a type by itself.

    It fails at times that it has no room for, and leaves memory as it was for decimals that it has none for.
    """
    if pyarrow.types.is_dictionary(kind) or pyarrow.types.is_run_end_encoded(kind):
        return reads_all(kind.value_type)
    if isinstance(kind, pyarrow.BaseExtensionType):
        return reads_all(kind.storage_type)
    return not _is_far(kind) and not pyarrow.types.is_decimal(kind)


def _is_far(kind: Any) -> bool:
    """Return whether DuckDB has no room for a type's times: with a zone, it counts microseconds."""
    return bool(pyarrow.types.is_timestamp(kind) and kind.tz is not None and kind.unit in _MICROSECONDS)


def _readable_type(kind: Any) -> Any:
    """Return the type that a column is given to DuckDB in: lists of values and far times are no types."""
    if pyarrow.types.is_dictionary(kind) or pyarrow.types.is_run_end_encoded(kind):
        return _readable_type(kind.value_type)
    if isinstance(kind, pyarrow.BaseExtensionType) and not reads_all(kind.storage_type):
        return _readable_type(kind.storage_type)
    if _is_text_view(kind):
        return pyarrow.string()
    return pyarrow.timestamp("us", "UTC") if _is_far(kind) else kind


def _is_text_view(kind: Any) -> bool:
    known = getattr(pyarrow.types, "is_string_view", None)
    return known is not None and bool(known(kind))


def readable_column(column: Any, kind: Any) -> Any:
    """Return a column of a type in which DuckDB reads it whatever it holds.

    A text that is no UTF-8 has a mark for what is wrong in it; a time that DuckDB has no room for is NULL,
    and so is a decimal of more digits than its type has.
    """
    if pyarrow.types.is_dictionary(column.type):
        return readable_column(column.dictionary_decode(), kind)
    if pyarrow.types.is_run_end_encoded(column.type):
        return readable_column(pyarrow.compute.run_end_decode(column), kind)
    if isinstance(column.type, pyarrow.BaseExtensionType) and column.type != kind:
        return readable_column(column.storage, kind)
    if _is_far(column.type):
        return _near_times(column, _MICROSECONDS[column.type.unit]).view(kind)
    if _is_text_view(column.type) or (_is_text(kind) and _is_bytes(column.type)):
        column = _whole_texts(column, kind)
    if column.type != kind:
        column = column.cast(kind)
    if pyarrow.types.is_decimal(kind):
        return _within_digits(column)
    return _whole_texts(column, kind) if _is_text(kind) else column


def readable_values(column: Any) -> Any:
    """Return a column in chunks, each made readable."""
    kind = _readable_type(column.type)
    return pyarrow.chunked_array([readable_column(chunk, kind) for chunk in column.chunks], kind)


def _near_times(column: Any, factor: int) -> Any:
    """Return times in microseconds, NULL where 64 bits do not hold them."""
    most = (2**63 - 1) // factor
    number = column.view(pyarrow.int64())
    compute = pyarrow.compute
    near = compute.and_(compute.less_equal(number, most), compute.greater_equal(number, -most))
    kept = compute.if_else(near, number, pyarrow.scalar(None, pyarrow.int64()))
    return compute.multiply(kept, factor)


def _within_digits(column: Any) -> Any:
    """Return decimals, NULL where they have more digits than their type."""
    kind, compute = column.type, pyarrow.compute
    most = 10**kind.precision - 1
    if kind.bit_width < _WIDE:  # compute would widen them first, and fail
        steps = column.view(pyarrow.int32() if kind.bit_width == _NARROW else pyarrow.int64())
        ends = [pyarrow.scalar(end, steps.type) for end in (-most, most)]
    else:
        steps = column
        ends = [pyarrow.scalar(Decimal(end).scaleb(-kind.scale, _EXACT), kind) for end in (-most, most)]
    inside = compute.and_(compute.greater_equal(steps, ends[0]), compute.less_equal(steps, ends[1]))
    return compute.if_else(inside, steps, pyarrow.scalar(None, steps.type)).view(kind)


def _is_text(kind: Any) -> bool:
    return bool(pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind))


def _is_bytes(kind: Any) -> bool:
    return bool(pyarrow.types.is_binary(kind) or pyarrow.types.is_large_binary(kind))


def _whole_texts(column: Any, kind: Any) -> Any:
    """Return texts, or bytes that are texts, with a mark for what is no UTF-8 in them."""
    try:
        column = column.cast(kind)
        column.validate(full=True)
    except pyarrow.ArrowInvalid:
        blobs = column.cast(pyarrow.large_binary()).to_pylist()
        return pyarrow.array(map(whole_text, blobs), kind)
    return column


def whole_text(blob: bytes | None) -> str | None:
    """Return a text, with a mark for what is no UTF-8 in it."""
    return None if blob is None else blob.decode("utf-8", "replace")
