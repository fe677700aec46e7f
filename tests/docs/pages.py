"""How the guide's pages are run: from top to bottom, as a reader would, with noise from seeds.

``python -m tests.docs.pages docs/guide/first_answer.md`` writes what is printed today under the examples.

A page's blocks are these:

- ``python`` is run, and what it prints is in the ``text`` block right below it;
- ``python title="name.py"``, and any other block with a title, is written to a file of that name;
- ``console`` has commands behind ``$``, each with what it prints below it.

In what is shown, ``...`` represents anything: for the rest of a line, for a part of it, or alone for lines.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

from prdp.cells.key_masses import KeyMasses
from prdp.engines.statements.cells import Arrays
from prdp.engines.statements.keys import MassStatement
from prdp.errors import LedgerBegun, NoLedgerFile
from prdp.testing import Seeded

WIDTH = 100
LONGEST = 120
FENCE = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<body>.*?)^```\n', re.DOTALL | re.MULTILINE
)
_HOME = "/home/ada"
_ROOT = Path(__file__).parents[2]
_DRAWN_IN = ("prdp.run.answer", "prdp.local.client.client", "prdp.collector.wire", "prdp.cli.demo")


@dataclass(frozen=True, slots=True)
class Shown:
    """A piece of a page that shows what is printed.

    Attributes:
        place: From which to which character of the page it is.
        stated: What the page says.
        printed: What was printed.
        fenced: Whether the page lacks the block that would show it.
    """

    place: tuple[int, int]
    stated: str
    printed: str
    fenced: bool = False

    @property
    def matches(self) -> bool:
        """Whether that is what was printed, as far as the page says."""
        lines = (".*".join(map(re.escape, re.split(r"\.{3,}", line))) for line in self.stated.splitlines())
        pattern = "".join(r"(?:.*\n)*?" if line == ".*" else f"{line}\n" for line in lines)
        return re.fullmatch(pattern, self.printed) is not None


def run(page: Path) -> list[Shown]:
    """Run a page in a folder of its own; return what it shows beside what was printed."""
    text = page.read_text(encoding="utf-8")
    with _own_folder(), seeded(), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NoLedgerFile)
        warnings.simplefilter("ignore", LedgerBegun)  # pages show how a ledger begins
        return list(_run(text, page.name))


def written(text: str, shown: list[Shown]) -> str:
    """Return the page with what was printed in the place of what it said, where they differ."""
    for one in reversed(shown):
        if not one.matches:
            start, end = one.place
            new = one.printed
            if one.fenced:
                new = f"\n```text\n{new}```\n"
            text = text[:start] + new + text[end:]
    return text


def _run(text: str, name: str) -> Iterator[Shown]:
    known: dict[str, Any] = {"__name__": "page"}
    blocks = list(FENCE.finditer(text))
    for place, block in enumerate(blocks):
        language, title, body = block["language"], block["title"], block["body"]
        if title:
            Path(title).write_text(body, encoding="utf-8")
        elif language == "python":
            printed = _wrapped(_printed_by(body, known, f"{name}:{text[: block.start()].count(chr(10)) + 2}"))
            below = blocks[place + 1] if place + 1 < len(blocks) else None
            follows = below and below["language"] == "text" and not text[block.end() : below.start()].strip()
            if below and follows:
                yield Shown(below.span("body"), below["body"], printed)
            else:
                yield Shown((block.end(), block.end()), "", printed, fenced=True)
        elif language == "console":
            yield from _commands(body, block.start("body"))


def _commands(body: str, start: int) -> Iterator[Shown]:
    for found in re.finditer(r"^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)", body, flags=re.MULTILINE):
        printed = _wrapped(_command(found[1].replace("\\\n", " ")))
        yield Shown((start + found.start(2), start + found.end(2)), found[2], printed)


def _printed_by(code: str, known: dict[str, Any], name: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(code, name, "exec", dont_inherit=True), known)  # noqa: S102  (the page's own examples)
    return output.getvalue()


def _command(line: str) -> str:
    program, *arguments = shlex.split(line)
    if program == "prdp":
        # Python alone is quicker without; and the lowest typer warns when it is loaded.
        from typer.testing import CliRunner  # noqa: PLC0415

        from prdp.cli import app  # noqa: PLC0415

        ran = CliRunner().invoke(app, arguments, env={"COLUMNS": str(WIDTH), "NO_COLOR": "1"})
        if ran.exception is not None and not isinstance(ran.exception, SystemExit):
            raise ran.exception
        return ran.output.replace(str(Path.cwd()), _HOME)
    if program == "pip":
        return ""
    assert program in ("python", "pytest"), line
    before = ["-m", "pytest", "-p", "no:cacheprovider"] if program == "pytest" else []
    path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
    environment = os.environ | {"COLUMNS": str(WIDTH), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, *before, *arguments], capture_output=True, text=True, check=False, env=environment
    )
    return done.stdout + done.stderr


def _wrapped(printed: str) -> str:
    """Return what was printed without blanks at the ends of lines, and lines that fit a page."""
    lines = [line.rstrip() for line in printed.splitlines()]
    fitting = [
        part
        for line in lines
        for part in (
            textwrap.wrap(line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
            if len(line) > LONGEST
            else [line]
        )
    ]
    return "".join(f"{line}\n" for line in fitting)


@contextlib.contextmanager
def _own_folder() -> Iterator[None]:
    before, modules = Path.cwd(), set(sys.modules)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
        try:
            yield
        finally:
            sys.path.remove(folder)
            os.chdir(before)
            for name in set(sys.modules) - modules:
                if str(getattr(sys.modules[name], "__file__", "")).startswith(folder):
                    del sys.modules[name]


@contextlib.contextmanager
def seeded() -> Iterator[None]:
    """Draw all noise from seeds, one a source of randomness, so that a page prints the same each time."""
    seeds = count(25)

    def drawn() -> Seeded:
        return Seeded(next(seeds))

    with contextlib.ExitStack() as stack:
        for module in _DRAWN_IN:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # the lowest typer's, of click
                importlib.import_module(module)
            stack.enter_context(mock.patch(f"{module}.SystemEntropy", new=drawn))
        stack.enter_context(mock.patch.object(MassStatement, "masses", _in_order(MassStatement.masses)))
        yield


def _in_order(masses: Callable[[MassStatement, Arrays], KeyMasses]) -> Callable[..., KeyMasses]:
    """Return the same with its keys in order: which noise a key gets depends on its place."""

    def ordered(statement: MassStatement, arrays: Arrays) -> KeyMasses:
        found = masses(statement, arrays)
        order = sorted(range(len(found.mass)), key=found.key)
        return KeyMasses(found.levels, tuple(column[order] for column in found.columns), found.mass[order])

    return ordered


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        path = Path(argument)
        found = run(path)
        path.write_text(written(path.read_text(encoding="utf-8"), found), encoding="utf-8")
        sys.stdout.write(f"{path}: {sum(not one.matches for one in found)} of {len(found)} written\n")
