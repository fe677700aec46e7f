"""Origins of tables in memory: the allocations that their columns lie in, and the rows that they index."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prdp.engines.origins import Origins, Place, Span, files_origins, untraced

_UNKNOWN = "a {} of {}, whose memory prdp cannot look at"


def memory_origins(source: object) -> Origins:
    """Return the origins of a frame, a column, an array or a dict of such; nothing is copied.

    Columns of one allocation have one origin, since they are columns of one table: a block of pandas, a batch
    of an Arrow file, a two-dimensional array. So have pandas objects that index the same rows. Columns of one
    Arrow table or Polars frame that were allocated one by one have nothing in common.
    """
    indexes = list(_indexes(source))
    columns = list(_columns(source))
    spans = sorted(span for column in columns for span in _spans(column))
    rows: dict[Place, str] = {
        ("rows", id(index._id)): "the rows of one pandas frame; if one table is public, reset its index"  # noqa: SLF001
        for index in indexes
    }
    reason = _unknown(source)
    found = Origins(rows, tuple(spans), (*columns, *indexes), reason)
    return Origins.union([found, files_origins(filter(None, map(_mapped_file, columns)))])


def _mapped_file(column: Any) -> Path | None:
    """Return the file that an array of NumPy is a map of: another map of it lies elsewhere in memory."""
    while isinstance(column, np.ndarray):
        if isinstance(column, np.memmap) and column.filename is not None:
            return Path(column.filename) if Path(column.filename).is_file() else None
        column = column.base
    return None


def _unknown(source: object) -> str:
    """Return the reason why a table's memory cannot be traced; empty if it can, and for plain values."""
    tabular = any(hasattr(type(source), name) for name in ("to_pydict", "to_dicts", "iterrows", "dtype"))
    known = isinstance(source, np.ndarray | np.generic | Mapping) or _packages(source) & _LOOKED_INTO
    if known or not tabular:
        return ""
    return _UNKNOWN.format(type(source).__name__, type(source).__module__.partition(".")[0])


_LOOKED_INTO = {"pyarrow", "polars", "pandas"}


def _packages(source: object) -> set[str]:
    return {kind.__module__.partition(".")[0] for kind in type(source).mro()}


def _indexes(source: Any) -> Iterator[Any]:
    """Return the row indexes of pandas frames and columns; a view of an index has the index's identity."""
    if isinstance(source, Mapping):
        for column in source.values():
            yield from _indexes(column)
    elif "pandas" in _packages(source) and hasattr(getattr(source, "index", None), "_id"):
        yield source.index


def _columns(source: Any) -> Iterator[object]:
    """Return a frame's columns as they lie in memory: arrays of NumPy or of Arrow; none is copied."""
    packages = _packages(source)
    if isinstance(source, np.ndarray):
        yield source
    elif isinstance(source, Mapping):
        yield from (column for value in source.values() for column in _columns(value))
    elif "pyarrow" in packages:
        columns = source.columns if hasattr(source, "columns") else [source]
        yield from (chunk for column in columns for chunk in getattr(column, "chunks", [column]))
    elif "polars" in packages and not hasattr(source, "collect"):  # a lazy frame has none yet
        yield from _polars_columns(source)
    elif "pandas" in packages and hasattr(source, "iloc") and source.ndim == 2:
        places = range(source.shape[1])
        yield from (part for place in places for part in _pandas_column(source.iloc[:, place].array))
    elif "pandas" in packages:
        yield from _pandas_column(getattr(source, "array", source))


def _polars_columns(source: Any) -> Iterator[object]:
    """Return a frame's columns; of categories their codes, as all columns of one type have the same texts."""
    polars = sys.modules["polars"]
    frame = source.to_frame() if hasattr(source, "to_frame") else source
    for column in frame.get_columns():
        coded = column.dtype.base_type() in (polars.Categorical, polars.Enum)
        with suppress(Exception):  # a column of Python objects, which no statement reads
            plain = column.to_physical() if coded else column  # codes: the categories belong to the type
            yield from _columns(plain.to_frame().to_arrow(compat_level=polars.CompatLevel.newest()))


_PARTS = ("_ndarray", "_data", "_mask", "sp_values", "_left", "_right")
"""Parts of pandas' arrays that are not Arrow's: one of NumPy, values and a mask, few values, two ends."""


def _pandas_column(array: Any) -> Iterator[object]:
    """Return the buffers of a pandas array; converted to NumPy or Arrow, many types would be copied."""
    names = ("_pa_array",) if hasattr(array, "_pa_array") else _PARTS  # pandas 2.2 warns at _data of Arrow's
    for part in (getattr(array, name, None) for name in names):
        if part is not None:
            yield from _columns(part)


def _spans(column: Any) -> list[Span]:
    if isinstance(column, np.ndarray):
        return [_array_span(column)]
    return [_buffer_span(buffer) for buffer in _buffers(column) if buffer and buffer.size]


def _buffers(column: Any) -> list[Any]:
    if not hasattr(column, "buffers"):
        return []
    inner = column.dictionary if hasattr(column, "dictionary") else None
    return [*column.buffers(), *(_buffers(inner) if inner is not None else ())]


def _buffer_span(buffer: Any) -> Span:
    """Return the whole allocation that a buffer of Arrow is a part of."""
    while getattr(buffer, "parent", None) is not None:
        buffer = buffer.parent
    return buffer.address, buffer.address + buffer.size


def _array_span(array: NDArray[Any]) -> Span:
    """Return the whole allocation that an array is a part of.

    An empty one has its place too: whether a table has rows must not decide.
    """
    while isinstance(array.base, np.ndarray):
        array = array.base
    if array.base is not None:
        with suppress(TypeError, ValueError, BufferError):  # an allocation that is not NumPy's own
            array = np.frombuffer(memoryview(array.base).cast("B"), np.uint8)
    address = int(array.ctypes.data)
    steps = [max(0, length - 1) * stride for length, stride in zip(array.shape, array.strides, strict=True)]
    low, high = sum(min(0, step) for step in steps), sum(max(0, step) for step in steps)
    return address + low, address + high + array.itemsize


def dataset_origins(source: Any) -> Origins:
    """Return the origins of an Arrow data set: local files, or tables in memory."""
    children = getattr(source, "children", None)
    if isinstance(children, list):
        return Origins.union(map(dataset_origins, children))
    if hasattr(source, "files"):
        return _files_of(source)
    if type(source).__name__ == "InMemoryDataset":
        return memory_origins(source.to_table())
    return untraced(f"a {type(source).__name__} of Arrow")


def _files_of(source: Any) -> Origins:
    system, files = source.filesystem, list(source.files)
    while system.type_name == "subtree":
        files = [f"{system.base_path}{file}" for file in files]
        system = system.base_fs
    if system.type_name != "local":
        return untraced(f"files of {system.type_name}, which are not local")
    return files_origins(files)
