"""Files that are there whole or not at all, and never over another."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def draft(path: Path) -> Iterator[Path]:
    """Yield an empty file beside a place; then put it there.

    Raises:
        FileExistsError: Somebody else put a file there meanwhile.
    """
    drafted = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    os.close(os.open(drafted, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield drafted
        os.link(drafted, path)
    finally:
        drafted.unlink()


def without_drafts(path: Path) -> bool:
    """Remove names that a crash while drafting left to the file; say whether one name is left."""
    for other in path.parent.glob(f".{path.name}.*"):
        with suppress(OSError):
            if other.samefile(path):
                other.unlink()
    return path.stat().st_nlink == 1
