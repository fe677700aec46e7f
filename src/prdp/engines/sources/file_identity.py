"""Files that stay the same while a statement reads them, or nothing of what it found is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

Identity = tuple[int, int, int, int, int]
"""A file's device, inode, size, and the times of its last changes."""


def identity_of(file: str) -> Identity:
    """Return which file a path is, in which state; links are followed, as in reading."""
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
