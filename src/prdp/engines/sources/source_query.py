"""The query by which DuckDB reads a source, what is held meanwhile, and what may not have changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

Identity = tuple[int, int, int, int, int]
"""A file's device, inode, size, and the times of its last changes."""


def identity_of(file: str) -> Identity:
    """Return the identity and state of the file at a path; links are followed, as in reading."""
    facts = Path(file).stat()
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


@contextmanager
def unchanged(files: Sequence[str]) -> Iterator[None]:
    """Fail at the end if one of the files has changed meanwhile: part of what was read is of each version.

    Raises:
        OSError: A file has changed or is gone. That is public, and is reported like any failure of an engine.
    """
    before = list(map(identity_of, files))
    yield
    if list(map(identity_of, files)) != before:
        raise OSError("a file has changed while it was read")


LOOSE_DECIMALS = "decimals of any number of bytes"
"""Type of a Parquet column in which one value may be too long to be read."""


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
    """Return the lock that is held while a statement reads several sources."""
    each = [source.reached for source in sources]

    def reached() -> AbstractContextManager[object]:
        with ExitStack() as stack:
            for enter in each:
                stack.enter_context(enter())
            return stack.pop_all()
        raise AssertionError  # an ExitStack swallows nothing

    return reached
