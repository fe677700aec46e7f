"""Start the engine's process, wake it, and start it again when it ends."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from prdp.errors import LedgerError
from prdp.server.planning import Served

_LONGEST_WAIT = 30.0


class EngineProcess:
    """The process that alone opens private tables and ledgers, seen from the one that serves requests."""

    def __init__(self, project: Path, deadline: int, lock: int) -> None:
        """Name what it serves.

        Args:
            project: The project file.
            deadline: The deadline of tables that are new, in seconds.
            lock: The descriptor of the locked file; the process keeps it locked while it lives.
        """
        self._command = [sys.executable, "-m", "prdp.server.worker", str(project), str(deadline)]
        self._lock = lock
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = False

    @property
    def number(self) -> int | None:
        """The number of the process."""
        return None if self._process is None else self._process.pid

    def start(self) -> Mapping[str, Served]:
        """Start it, and return the public facts of the tables that it serves.

        Raises:
            LedgerError: It cannot serve them; the message is for whoever runs the server.
        """
        self._process = subprocess.Popen(  # noqa: S603  (this very program)
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(self._lock,),
            start_new_session=True,
        )  # fmt: skip
        assert self._process.stdout is not None  # noqa: S101  (it is a pipe)
        try:
            found = pickle.load(self._process.stdout)  # noqa: S301  (from our own process, which may do more)
        except (EOFError, pickle.UnpicklingError):
            raise LedgerError("the engine's process ended before it could serve.") from None
        finally:
            self._process.stdout.close()
        if isinstance(found, str):
            raise LedgerError(found)
        facts: Mapping[str, Served] = found
        return facts

    def keep_alive(self) -> None:
        """Start it again whenever it ends, until it is stopped."""
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        wait = 0.1
        while not self._stopping and self._process is not None:
            began = time.monotonic()
            self._process.wait()
            if self._stopping:
                return
            wait = 0.1 if time.monotonic() - began > _LONGEST_WAIT else min(2 * wait, _LONGEST_WAIT)
            time.sleep(wait)
            try:
                self.start()
            except LedgerError as error:
                print(f"prdp: {error}", file=sys.stderr, flush=True)

    def wake(self) -> None:
        """Say that there is a new request; it would look by itself soon."""
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError, ValueError):  # it ended, and is started again
                self._process.stdin.write(b".")
                self._process.stdin.flush()

    def stop(self) -> None:
        """End it."""
        self._stopping = True
        if self._process is not None:
            with suppress(OSError):
                self._process.kill()
            self._process.wait()
            if self._process.stdin is not None:
                with suppress(OSError):
                    self._process.stdin.close()
