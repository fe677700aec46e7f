"""A log of bounded length: one line a message, no traceback, and the same message once a minute."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

_SECONDS = 60.0
_MAX_LINES = 20
_MAX_CHARACTERS = 300


@dataclass(slots=True)
class _Seen:
    since: float
    more: int = 0


class BoundedLog(logging.Handler):
    """Writes the first line of a message, and counts those like it until a minute has passed.

    Whoever floods a collector with connections makes the same few messages again and again, each with a
    traceback: they would fill a disk.
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(logging.WARNING)
        self._stream, self._clock = stream, clock
        self._seen: dict[str, _Seen] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, unless this or too much else was written a moment ago."""
        now, text = self._clock(), _line(record)
        self._forget(now)
        known = self._seen.get(text)
        if known is not None:
            known.more += 1
        elif len(self._seen) < _MAX_LINES:
            self._seen[text] = _Seen(now)
            self._write(text)

    def _forget(self, now: float) -> None:
        """Forget what was written a minute ago; say how often it came since."""
        for text, seen in [*self._seen.items()]:
            if now - seen.since >= _SECONDS:
                del self._seen[text]
                if seen.more:
                    self._write(f"{text} ({seen.more:,} times more)")

    def _write(self, text: str) -> None:
        stream = self._stream or sys.stderr
        if stream is not None:  # closed by who started the program
            print(f"prdp: {text}", file=stream, flush=True)


def _line(record: logging.LogRecord) -> str:
    """Return a message's first line, and the type of what was raised; its words may be a sender's."""
    first = record.getMessage().strip().partition("\n")[0]
    kind = record.exc_info[0] if isinstance(record.exc_info, tuple) else None
    line = f"{first} ({kind.__name__})" if kind is not None else first
    return "".join(letter for letter in line if letter.isprintable())[:_MAX_CHARACTERS]
