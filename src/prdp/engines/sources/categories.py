"""Categories that a frame's type lists: which values a column may have, whatever its records hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

from prdp.errors import InvalidRequest


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
