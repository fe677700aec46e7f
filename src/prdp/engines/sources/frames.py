"""Frames made readable: no text in them can make reading fail, and no value decides a column's type.

Their types alone say which categories they have.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from prdp.errors import InvalidRequest

_MICROSECONDS = {"s": 1_000_000, "ms": 1_000}

_HALVES = re.compile("[\ud800-\udfff]")
_UNKNOWN = "\ufffd"
"""Replacement for half of a character in a text, which no engine reads."""


_WITHOUT_NULL = "iubU"
"""NumPy's kinds of whole numbers, truth values and texts."""


def readable(source: object) -> Any:
    """Return a frame with columns that can be read whatever they hold, as few as possible being copied.

    A library that meets a half of a character in a text fails, and names the text. Categories are texts:
    their list is made from the records, and so would be a type that is taken from it.
    """
    if isinstance(source, dict):
        return {name: _whole_characters(column) for name, column in source.items()}
    if not any(kind.__module__.startswith("pandas") for kind in type(source).mro()):
        return _with_a_harmless_start(source)  # Arrow's and Polars' texts are UTF-8, their types declared
    frame: Any = source
    odd = {place: made for place, kind in enumerate(frame.dtypes) if (made := _made_readable(kind))}
    if odd:
        frame = frame.copy(deep=False)
    for place, made in odd.items():
        frame[frame.columns[place]] = made(frame.iloc[:, place])
    return frame


def _made_readable(kind: Any) -> Callable[[Any], Any] | None:
    """Return the conversion that makes a pandas column of a type readable; None if it needs none."""
    if kind.name == "category":
        return _labelled
    if hasattr(kind, "pyarrow_dtype"):
        return _arrow_values
    if getattr(kind, "storage", "") in _TEXTS:
        return _TEXTS[kind.storage]
    if getattr(kind, "tz", None) is not None and getattr(kind, "unit", "") in _MICROSECONDS:
        return _near_times
    return None


def table_with_far_times(source: Any) -> Any:
    """Return an Arrow table, or a Polars frame as one, if DuckDB would fail at some times in it; else None.

    By types alone: Arrow's and Polars' milliseconds with a zone reach further than DuckDB's microseconds.
    """
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(source).mro()}
    if not kinds & {("pyarrow", "Table"), ("polars", "DataFrame")}:
        return None
    from prdp.engines.sources.batches import reads_all  # noqa: PLC0415  (pyarrow need not be there for others)

    is_arrow = ("pyarrow", "Table") in kinds
    try:
        schema = source.schema if is_arrow else source.head(0).to_arrow().schema
    except Exception:  # a column that Polars does not hand over: refused later, by its type
        return None
    if all(reads_all(kind) for kind in schema.types):
        return None
    return source if is_arrow else source.to_arrow()


def _with_a_harmless_start(source: Any) -> Any:
    """Return an Arrow or Polars table with a first column of nothing, which takes no memory.

    To count rows DuckDB reads the first column, asked for or not, and fails at one time in it that it has no
    room for: Arrow's ``timestamp[ms, UTC]`` and ``duration[s]`` reach further than DuckDB's own.
    """
    name = "prdp_rows"
    is_arrow = hasattr(source, "column_names")
    while name in {str(column).lower() for column in (source.column_names if is_arrow else source.columns)}:
        name += "_"
    if is_arrow:
        return source.add_column(0, name, sys.modules["pyarrow"].nulls(len(source)))
    polars = sys.modules["polars"]
    return source.select(polars.lit(None).alias(name), polars.all())


def _whole_characters(column: NDArray[Any]) -> NDArray[Any]:
    """Return an array of texts without halves of characters; any other array as it is."""
    if column.dtype.kind != "U" or column.dtype.itemsize == 0 or column.size == 0:
        return column
    points = np.ascontiguousarray(column).view(np.dtype("u4").newbyteorder(column.dtype.byteorder))
    half = ((points >= 0xD800) & (points <= 0xDFFF)) | (points > 0x10FFFF)
    if not half.any():
        return column
    return np.where(half, points.dtype.type(ord(_UNKNOWN)), points).astype(points.dtype).view(column.dtype)


def _python_texts(column: Any) -> Any:
    """Return a pandas column of Python's own texts without halves of characters."""
    texts = column.to_numpy(object)
    try:
        "".join(text for text in texts if isinstance(text, str)).encode()
    except UnicodeEncodeError:
        whole = [_HALVES.sub(_UNKNOWN, text) if isinstance(text, str) else text for text in texts]
        return sys.modules["pandas"].Series(whole, index=column.index, dtype=column.dtype)
    return column


def _arrow_texts(column: Any) -> Any:
    """Return a pandas column of Arrow's texts with a mark for what is no UTF-8."""
    from prdp.engines.sources.batches import readable_values  # noqa: PLC0415

    held = _chunked(column)
    made = readable_values(held).cast(held.type)
    return sys.modules["pandas"].Series(column.dtype.__from_arrow__(made), index=column.index)


def _arrow_values(column: Any) -> Any:
    """Return a pandas column of Arrow's values in a type that DuckDB reads all of."""
    from prdp.engines.sources.batches import readable_values, reads_all  # noqa: PLC0415

    held = _chunked(column)
    if reads_all(held.type):
        return column
    made = readable_values(held)
    return sys.modules["pandas"].Series(type(column.array)(made), index=column.index)


def _chunked(column: Any) -> Any:
    held = column.array.__arrow_array__()
    return held if hasattr(held, "chunks") else sys.modules["pyarrow"].chunked_array([held])


def _near_times(column: Any) -> Any:
    """Return a pandas column of times with a zone in microseconds; NaT where 64 bits do not hold them."""
    numbers = column.array.asi8
    factor = _MICROSECONDS[column.dtype.unit]
    most = (2**63 - 1) // factor
    near = (numbers >= -most) & (numbers <= most)
    kept = np.where(near, np.where(near, numbers, 0) * factor, np.iinfo(np.int64).min)
    times = sys.modules["pandas"].Series(kept.view("M8[us]"), index=column.index)
    return times.dt.tz_localize("UTC")


_TEXTS = {"python": _python_texts, "pyarrow": _arrow_texts}
"""Conversions that make texts of pandas readable, by their storage."""


def _labelled(column: Any) -> Any:
    """Return a categorical column whose categories are texts: 1 and 1.0 are '1', a record's 2.5 or not."""
    labels = [_label(category) for category in column.cat.categories]
    places: dict[str, int] = {}
    for label in labels:
        places.setdefault(label, len(places))
    codes = np.array([*(places[label] for label in labels), -1])[column.cat.codes.to_numpy()]
    categories = sys.modules["pandas"].Index(list(places) or [""], dtype=object)
    return sys.modules["pandas"].Series(
        sys.modules["pandas"].Categorical.from_codes(codes, categories), index=column.index
    )


def _label(category: Any) -> str:
    if isinstance(category, float | np.floating) and float(category).is_integer():
        category = int(category)
    try:
        text = category if type(category) is str else str(category)
    except Exception:  # whatever a caller's own objects raise, it may speak of a record
        text = ""
    return _HALVES.sub(_UNKNOWN, text)


def required_columns(source: Any) -> frozenset[str]:
    """Return the columns whose type has no room for a missing value, or that declare to have none."""
    if isinstance(source, dict):
        kinds = {name: None if np.ma.isMA(column) else column.dtype for name, column in source.items()}
    elif hasattr(source, "column_names"):
        return frozenset(field.name for field in source.schema if not field.nullable)
    elif hasattr(source.dtypes, "items"):  # of pandas; Polars has none
        kinds = {str(name): kind for name, kind in source.dtypes.items()}
    else:
        return frozenset()
    return frozenset(
        name for name, kind in kinds.items() if isinstance(kind, np.dtype) and kind.kind in _WITHOUT_NULL
    )


def types_of(source: Any) -> str:
    """Return a frame's columns with the names of their types, for a message; no category is named."""
    if isinstance(source, dict):
        kinds = {name: str(column.dtype) for name, column in source.items()}
    elif hasattr(source, "column_names"):
        kinds = {field.name: str(field.type) for field in source.schema}
    elif hasattr(source.dtypes, "items"):
        kinds = {str(name): str(kind) for name, kind in source.dtypes.items()}
    else:
        kinds = {name: type(kind).__name__ for name, kind in source.schema.items()}
    return ", ".join(f"{name!r} {kind}" for name, kind in kinds.items())


def categories_of(source: object, column: str) -> list[object]:
    """Return the categories of a column of a frame: a categorical of pandas, or an Enum of Polars.

    A Categorical of Polars and a dictionary of Arrow list the values that occur, and are refused: what occurs
    may give a record away. pandas lists the declared categories, or else what occurs; asking for them
    declares that they are public.

    >>> import pandas
    >>> jobs = pandas.Categorical(["chef"], categories=["chef", "clerk"])
    >>> categories_of(pandas.DataFrame({"job": jobs}), "job")
    ['chef', 'clerk']
    """
    kind: Any = _type_of(source, column)
    package = type(kind).__module__.partition(".")[0]
    listed = getattr(kind, "categories", None)
    if listed is None or (package == "polars" and type(kind).__name__ != "Enum"):
        raise InvalidRequest(
            "keys='categories' needs a column whose type lists its values, a categorical of pandas or an "
            f"Enum of Polars, and {column!r} is none. List the keys: keys=['clerk', 'chef']."
        )
    return list(listed.to_list() if hasattr(listed, "to_list") else listed)


def reference(source: object) -> Callable[[], object]:
    """Return a weak reference to a frame, so that a table holds no records; of anything else, to nothing."""
    return ref(source) if _packages(source) & {"pandas", "polars"} else lambda: None


def _type_of(source: Any, column: str) -> object:
    """Return the type of a column of a frame of pandas or Polars; None for anything else."""
    packages = _packages(source)
    if "pandas" in packages:
        return source.dtypes[column]
    return source.collect_schema()[column] if "polars" in packages else None


def _packages(source: object) -> set[str]:
    """Return the packages that a source's type and its bases come from."""
    return {one.__module__.partition(".")[0] for one in type(source).mro()}
