"""Libraries whose logs would repeat statements or records: what they write in a thread can be held back."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_SILENT = threading.local()


@contextmanager
def silent() -> Iterator[None]:
    """Hold back what this thread writes to the loggers that ``can_be_silent`` was called with."""
    before = getattr(_SILENT, "now", False)
    _SILENT.now = True
    try:
        yield
    finally:
        _SILENT.now = before


def can_be_silent(logger: logging.Logger) -> None:
    """Let ``silent`` hold back a logger, whose own users hear it as before."""
    logger.addFilter(_may_be_logged)


def _may_be_logged(_: logging.LogRecord) -> bool:
    return not getattr(_SILENT, "now", False)
