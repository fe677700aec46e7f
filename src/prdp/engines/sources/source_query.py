"""The query by which DuckDB reads a source, what is held meanwhile, and what may not have changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field

LOOSE_DECIMALS = "decimals of any number of bytes"
"""What a column of a Parquet file holds where one value may be too long to be read."""


@dataclass(frozen=True, slots=True)
class SourceQuery:
    """The records of a source, for a database of ours.

    Attributes:
        sql: The query for its records.
        unreadable: Columns that are not read, by name, and what they hold.
        reached: Held while a statement runs: it attaches a file, say, and lets go of it.
        found: Public facts as they are now, which may not change between opening and asking.
        made: What a view of the caller's makes of its table; else nothing.
        required: The columns that have no NULL, as the source declares.
        read_once: Whether a question that looks at rows twice holds what it has read: no second read is sure
            to find the same rows.
        files: The files that a statement reads, by their paths; of lakes and SQLite none, since those keep
            one version together themselves, whatever is written meanwhile.
    """

    sql: str
    unreadable: Mapping[str, str] = field(default_factory=dict)
    reached: Callable[[], AbstractContextManager[object]] = nullcontext
    found: Callable[[], object] = tuple
    made: Callable[[], str] = str
    required: frozenset[str] = frozenset()
    read_once: bool = False
    files: tuple[str, ...] = ()


def all_reached(
    sources: Iterable[SourceQuery],
) -> Callable[[], AbstractContextManager[object]]:
    """Return what is held while a statement reads several sources."""
    each = [source.reached for source in sources]

    def reached() -> AbstractContextManager[object]:
        with ExitStack() as stack:
            for enter in each:
                stack.enter_context(enter())
            return stack.pop_all()
        raise AssertionError  # an ExitStack swallows nothing

    return reached
