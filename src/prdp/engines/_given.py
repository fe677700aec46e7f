"""Choose who reads the records: the engine that a source calls for, or one that the caller brings."""

from __future__ import annotations

from collections.abc import Mapping

from prdp.engines._sources import refuse_ambiguous
from prdp.engines.duckdb import open_source
from prdp.engines.engine import Engine
from prdp.errors import InvalidRequest

_NEEDED = tuple(name for name in vars(Engine) if not name.startswith("_"))


def engine_for(
    source: object, engine: Engine | None, types: Mapping[str, str] | None, *, rows_are_records: bool
) -> Engine:
    """Return the caller's own engine, or open a source; reads no record."""
    if engine is None:
        if source is None:
            raise InvalidRequest("nothing to open: give a source, such as 'accounts.parquet', or engine=.")
        return open_source(source, types, rows_are_records=rows_are_records)
    if source is not None:
        raise InvalidRequest("a source and engine= exclude each other: an engine knows its own source.")
    if types is not None:
        raise InvalidRequest("types= is for a source: an engine's schema states its own.")
    if rows_are_records:
        raise InvalidRequest("rows_are_records= is for a source: an engine's rows are its records.")
    _refuse_unless_engine(engine)
    refuse_ambiguous(list(engine.schema))
    return engine


def _refuse_unless_engine(engine: object) -> None:
    """Refuse what cannot be asked as an engine is; its own words may show records, so its type is named."""
    if isinstance(engine, type):
        raise InvalidRequest(f"engine={engine.__name__} is a class: give an object of it.")
    missing = [name for name in _NEEDED if not hasattr(engine, name)]
    if missing:
        raise InvalidRequest(
            f"engine= takes an object of prdp.engines.engine.Engine, but {type(engine).__name__} has no "
            f"{missing[0]!r}. A file, a relation or a frame is given as the source, without engine=."
        )
