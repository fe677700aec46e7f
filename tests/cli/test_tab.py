"""Tab, pressed in a real bash after ``prdp --install-completion``: names of all that can be named."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import PROGRAM, in_terminal, write_project

pytestmark = pytest.mark.skipif(os.name != "posix" or shutil.which("bash") is None, reason="needs bash")

PROMPT = "ready> "
PATIENCE = 60  # seconds, for what hangs and not for what is slow


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home with a project in it and a program that is called prdp."""
    folder = tmp_path_factory.mktemp("home")
    write_project(folder)
    program = folder / "bin" / "prdp"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{PROGRAM}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    # A shell writes marks around its prompt and rings a bell unless it is reported not to.
    (folder / ".inputrc").write_text("set enable-bracketed-paste off\nset bell-style none\n")
    (folder / ".bashrc").write_text(f"PS1='{PROMPT}'\n")
    return folder


def begun(home: Path) -> Any:
    """Start a shell that waits for what is typed."""
    path = f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"
    own = {"HOME": str(home), "INPUTRC": str(home / ".inputrc"), "PATH": path, "PROMPT_COMMAND": ""}
    shell = in_terminal("bash", "--noprofile", "-i", folder=home, environment=own)
    shell.timeout = PATIENCE
    shell.expect_exact(PROMPT)
    return shell


@pytest.fixture(scope="module")
def shell(home: Path) -> Iterator[Any]:
    """Install completion as the page of commands says, and start the terminal anew."""
    first = begun(home)
    first.sendline("prdp --install-completion")
    first.expect_exact("completion installed")
    first.expect_exact(PROMPT)
    first.close(force=True)
    second = begun(home)
    yield second
    second.close(force=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("prdp prev", "iew "),
        ("prdp ask --ta", "ble"),
        ("prdp init loa", "ns.csv"),
        ("prdp ask --table loans.csv --privacy-unit bra", "nch"),
        ("prdp ask --table loans.csv --bounds da", "ys="),
        ("prdp ask 'SELECT COUNT(*) FROM lo", "ans"),
        ('prdp ask "SELECT AVG(fi', "ne"),
        ('prdp preview "SELECT SUM(fine) FROM loans WHERE bra', "nch"),
    ],
)
def test_tab_completes_what_is_typed(shell: Any, typed: str, completed: str) -> None:
    shell.send(f"{typed}\t")
    shell.expect_exact(typed + completed)
    shell.sendcontrol("u")  # the line is empty again
    shell.sendline("echo cle''ared")
    shell.expect_exact("cleared\r\n" + PROMPT)
