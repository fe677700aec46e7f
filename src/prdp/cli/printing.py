"""Print what commands find: width, plain text, JSON, and a note while a command waits."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import ROUND_CEILING, Context
from fractions import Fraction

from rich.console import Console, RenderableType
from rich.table import Table as Grid

from prdp.cli.messages import write
from prdp.engines.progress import progress


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


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show a status line on a terminal until the work is done."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(f"{what} ...", spinner="line"):
        yield


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Show a status line on a terminal, with elapsed time and progress where records are read for long."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    status = console.status(f"{what} ...", spinner="line")
    with status, progress(lambda passing: status.update(f"{what}: {passing} ...")):
        yield


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show the number of finished steps on a terminal; yields a callback for it."""
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


def number_above(value: float, digits: int = 4) -> str:
    """Return a number for reading, rounded up: of what is stated as a bound.

    >>> number_above(0.42994), number(0.42994), number_above(12_341.0)
    ('0.43', '0.4299', '12,350')
    """
    return number(float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(value))), digits)


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
