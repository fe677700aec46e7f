"""Write plain text and complaints; what every command needs, with nothing that takes long to load."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from contextlib import suppress
from io import TextIOWrapper

from prdp.safety.plain_text import printable


def write(text: str, *, to_stderr: bool = False) -> None:
    """Print a text and flush it, so that a closed pipe is noticed here and not at the very end.

    Args:
        text: What to print.
        to_stderr: Whether it goes to standard error, beside what a program reads.
    """
    if not to_stderr:
        print(text, flush=True)
    elif sys.stderr is not None:
        print(text, file=sys.stderr, flush=True)


def complain(message: str) -> None:
    """Print a message to standard error; on a terminal, lines that are not set in break at words."""
    stream = sys.stderr
    if stream is None:  # closed by who started the program: answers still go to the standard output
        return
    lines = [plain(line) for line in f"prdp: {message}".split("\n")]
    if stream.isatty():
        width = shutil.get_terminal_size().columns
        lines = [
            line if line.startswith(" ") else textwrap.fill(line, width, break_on_hyphens=False)
            for line in lines
        ]
    print("\n".join(lines), file=stream, flush=True)


def plain(text: str) -> str:
    r"""Return a text in which nothing can move a terminal's cursor or hide.

    >>> print(plain("café \x1b[31m one\ntwo"))
    café \x1b[31m one\ntwo
    """
    return printable(text)


def survive_any_encoding() -> None:
    """Let characters that an output cannot write be spelled out instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def give_up_output() -> None:
    """Send what is still buffered nowhere: Python would try, and fail, to write it at the end."""
    with suppress(OSError, ValueError), open(os.devnull, "w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
