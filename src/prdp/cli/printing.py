"""Print what commands find: width, plain text, JSON, and a note while a command waits."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from io import TextIOWrapper

from rich.console import Console, RenderableType
from rich.table import Table as Grid


def show(*parts: RenderableType) -> None:
    """Print texts and grids to standard output, within its width; texts hold no markup."""
    plain_text = "NO_COLOR" in os.environ
    console = Console(markup=False, highlight=False, emoji=False, color_system=None if plain_text else "auto")
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    write("\n".join(line.rstrip() for line in captured.get().splitlines()))


def show_json(content: object) -> None:
    """Print JSON to standard output."""
    write(json.dumps(content, indent=2, default=str, allow_nan=False))


def write(text: str) -> None:
    """Print a text and flush it, so that a closed pipe is noticed here and not at the very end."""
    print(text, flush=True)


def complain(message: str) -> None:
    """Print a message to standard error; on a terminal, lines that are not set in break at words."""
    stream = sys.stderr
    lines = [plain(line) for line in f"prdp: {message}".split("\n")]
    if stream.isatty():
        width = Console(stderr=True).width
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
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def survive_any_encoding() -> None:
    """Let characters that an output cannot write be spelled out instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def give_up_output() -> None:
    """Send what is still buffered nowhere: Python would try, and fail, to write it at the end."""
    with suppress(OSError, ValueError), open(os.devnull, "w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Say on a terminal what is being done, and take it away when it is done."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(f"{what} ...", spinner="line"):
        yield


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Say on a terminal how many steps are done; yields what to call with their number."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(f"{what} ...", spinner="line") as status:
        yield lambda done: status.update(f"{what}: {done:,} of {total:,} ...")


def grid(headings: Sequence[str], *, left: Sequence[int] = (), wraps: Sequence[int] = ()) -> Grid:
    """Return an empty grid without lines; columns are aligned to the right unless listed in ``left``."""
    made = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for place, heading in enumerate(headings):
        made.add_column(
            heading,
            justify="left" if place in left else "right",
            no_wrap=place not in wraps,
            overflow="fold",
        )
    return made


def number(value: float | Fraction, digits: int = 4) -> str:
    """Return a number for reading: 9,990 or 1e12 or 0.25.

    >>> number(9990), number(1e12), number(Fraction(1, 10**8)), number(123456.7)
    ('9,990', '1e12', '1e-8', '123,457')
    """
    near = float(value)
    if 10 ** (digits - 1) <= abs(near) < 1e9:
        return f"{near:,.0f}"
    mantissa, raised, exponent = f"{near:,.{digits}g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if raised else mantissa
