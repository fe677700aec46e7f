"""The commands, gathered; a user's mistake ends in a message, never in a traceback."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated, Any

import typer

from prdp.cli.commands import LazyGroup
from prdp.cli.messages import complain, give_up_output, survive_any_encoding, write
from prdp.errors import PrdpError
from prdp.version import __version__

_SIGPIPE = 13  # what a shell sees of other tools when nobody reads on


class Commands(LazyGroup):
    """All commands; each one ends with an exit code and, where something is wrong, with a message."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        survive_any_encoding()
        with _noticing_ctrl_c() as pressed:
            try:
                return super().invoke(ctx)
            except (KeyboardInterrupt, Exception) as error:
                code = 130 if pressed.is_set() else _explained(error)
                if code is None:
                    raise
                if code == 130:
                    complain("stopped.")
                raise typer.Exit(code) from None


def _explained(error: BaseException) -> int | None:
    """Say what went wrong if it is something to expect, and return the exit code for it."""
    match error:
        case KeyboardInterrupt():
            return 130
        case PrdpError():
            complain(str(error))
            return 2
        case BrokenPipeError():
            give_up_output()
            return 128 + _SIGPIPE
        case OSError():
            give_up_output()
            complain(f"{error.strerror or 'the system refused'}.")
            return 1
        case _:
            return None


@contextmanager
def _noticing_ctrl_c() -> Iterator[threading.Event]:
    """Remember that Ctrl-C was pressed: an engine may report it as a failure of its own."""
    pressed = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        pressed.set()
        signal.default_int_handler(number, frame)

    in_charge = threading.current_thread() is threading.main_thread()
    if not in_charge or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield pressed
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


app = typer.Typer(
    name="prdp",
    cls=Commands,
    help="Per-record differential privacy: a policy states what each record may lose, "
    "and every answer keeps it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        write(f"prdp {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Per-record differential privacy for tables."""


def main() -> None:
    """Run the command line."""
    app()
