"""Choose who reads the records: the engine that a source calls for, or one that the caller brings."""

from __future__ import annotations

from collections.abc import Mapping

from prdp.declare.exact import told
from prdp.engines._sources import refuse_ambiguous
from prdp.engines.duckdb import open_source
from prdp.engines.engine import Engine
from prdp.errors import InvalidRequest
from prdp.expressions.spelling import is_writable

_NEEDED = tuple(name for name in vars(Engine) if not name.startswith("_"))


def engine_for(
    source: object,
    engine: Engine | None,
    types: Mapping[str, str] | None,
    *,
    rows_are_records: bool,
    table: str | None = None,
) -> Engine:
    """Return the caller's own engine, or open a source; reads no record."""
    refuse_unless_table_name(table)
    if engine is None:
        if source is None:
            raise InvalidRequest("nothing to open: give a source, such as 'accounts.parquet', or engine=.")
        return open_source(source, types, rows_are_records=rows_are_records, table=table)
    if source is not None:
        raise InvalidRequest("a source and engine= exclude each other: an engine knows its own source.")
    if types is not None:
        raise InvalidRequest("types= is for a source: an engine's schema states its own.")
    if table is not None:
        raise InvalidRequest("table= is for a source: an engine knows its own table.")
    if rows_are_records:
        raise InvalidRequest("rows_are_records= is for a source: an engine's rows are its records.")
    _refuse_unless_engine(engine)
    refuse_ambiguous(list(engine.schema))
    return engine


def refuse_unless_table_name(table: object) -> None:
    """Refuse what can be no table's name in a database."""
    if table is not None and (not isinstance(table, str) or not table or not is_writable(table)):
        raise InvalidRequest(f"table={told(table)} is no table's name: write a text, such as 'accounts'.")


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
