"""One session in a real bash: what is typed from the first run in an empty folder on, screen by screen.

The screens are kept in ``screens/``; numbers are drawn anew each time, so that they are compared as ``#``.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prdp.cli.app import COMMANDS
from tests.cli.running import LOANS, PROGRAM, in_terminal, write_project
from tests.cli.test_first_hour import as_kept

pytestmark = pytest.mark.skipif(os.name != "posix" or shutil.which("bash") is None, reason="needs bash")

PROMPT = "typed> "
PATIENCE = 120  # seconds, for what hangs and not for what is slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("session")


@pytest.fixture(scope="module")
def shell(folder: Path) -> Iterator[Any]:
    programs = folder / "programs"
    programs.mkdir()
    # A library that is not there, in a program of its own, as whoever installed less has it.
    lacking = f"import sys; sys.modules['matplotlib'] = None; {PROGRAM}"
    for name, program in (("prdp", PROGRAM), ("prdp-without-plot", lacking)):
        path = programs / name
        path.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{program}" "$@"\n', encoding="utf-8")
        path.chmod(0o755)
    (folder / "inputrc").write_text("set enable-bracketed-paste off\nset bell-style none\n")
    own = {"INPUTRC": str(folder / "inputrc"), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    begun = in_terminal("bash", "--norc", "--noprofile", "-i", folder=folder, environment=own)
    begun.timeout = PATIENCE
    begun.sendline(f"PS1='{PROMPT[:3]}''{PROMPT[3:]}'")
    begun.expect_exact(PROMPT)
    yield begun
    begun.close(force=True)


def typed(shell: Any, folder: Path, line: str) -> tuple[str, int]:
    """Type a line, and return what stood below it and the exit code."""
    shell.sendline(line)
    shell.expect_exact(PROMPT)
    below = str(shell.before)
    shell.sendline("echo code $?")
    shell.expect(r"code (\d+)\r\n")
    code = int(shell.match.group(1))
    shell.expect_exact(PROMPT)
    echo = "".join(line.split())[-10:]  # the line itself may have been wrapped
    kept = re.split(r"\r?\n", below)
    first = next(place for place, text in enumerate(kept) if "".join(text.split()).endswith(echo))
    return "\n".join(kept[first + 1 :]).replace(str(folder), "FOLDER"), code


QUESTION = '"SELECT COUNT(*) AS n FROM loans"'
BY_BRANCH = '"SELECT branch, COUNT(*) AS n FROM loans GROUP BY branch"'


@pytest.mark.parametrize(
    ("screen", "line", "code"),
    [
        ("first_run_check", "prdp check", 2),
        ("first_run_ask", f"prdp ask {QUESTION} --share 0.1", 2),
        ("first_run_ledger", "prdp ledger", 2),
    ],
)
def test_a_first_run_in_an_empty_folder_says_where_to_begin(
    shell: Any, folder: Path, screen: str, line: str, code: int
) -> None:
    typed(shell, folder, "mkdir -p empty && cd empty")
    shown, ended = typed(shell, folder, line)
    typed(shell, folder, "cd ..")
    assert ended == code, shown
    assert as_kept(screen, shown)


def test_the_bare_command_lists_all_commands(shell: Any, folder: Path) -> None:
    shown, _ = typed(shell, folder, "prdp")
    assert "Usage: prdp [OPTIONS] COMMAND" in shown
    assert all(f"\n  {name} " in shown for name in COMMANDS)


@pytest.fixture(scope="module")
def project(folder: Path) -> Path:
    write_project(folder)
    return folder


def test_a_broken_project_file_is_named_by_its_line(shell: Any, project: Path) -> None:
    (project / "prdp.toml").write_text(LOANS.replace("policy =", "polcy ="))
    shown, code = typed(shell, project, "prdp check")
    (project / "prdp.toml").write_text(LOANS)
    assert code == 2
    assert as_kept("broken_toml", shown)


def test_a_missing_extra_is_named_with_its_command(shell: Any, project: Path) -> None:
    shown, code = typed(shell, project, f"prdp-without-plot ask {QUESTION} --share 0.1 --plot answers.png")
    assert code == 2
    assert as_kept("missing_extra", shown)


def test_preview_and_compare_are_shown(shell: Any, project: Path) -> None:
    law = "--like days=uniform:1,60,n=2000 --runs 3"
    shown, code = typed(shell, project, f"prdp preview {QUESTION} {law} --share 0.1 2>/dev/null")
    assert code == 0
    assert as_kept("preview_one_share", shown)
    typed(shell, project, "stty cols 120")  # so that no line breaks by how long the numbers are
    shown, code = typed(shell, project, f"prdp compare --policies policies.toml {law} 2>/dev/null")
    typed(shell, project, "stty cols 80")
    assert code == 0
    assert as_kept("compare", shown)


@pytest.mark.skipif(shutil.which("jq") is None, reason="needs jq")
def test_json_goes_to_jq(shell: Any, project: Path) -> None:
    shown, code = typed(
        shell, project, f"prdp ask {BY_BRANCH} --share 0.5 --format json 2>&- | jq -r .rows[0].branch"
    )
    assert code == 0
    assert shown.split()[-1] == "north"


def test_a_ledger_that_is_spent_says_so_and_what_is_still_free(shell: Any, project: Path) -> None:
    typed(shell, project, f"prdp ask {BY_BRANCH} --share 0.5 >/dev/null 2>&1")  # may have been asked already
    typed(shell, project, f"prdp ask {QUESTION} --share 0.5 >/dev/null 2>&1")
    shown, code = typed(shell, project, 'prdp ask "SELECT SUM(fine) FROM loans" --share 0.1')
    assert code == 2
    assert as_kept("exhausted", shown)
    again, code = typed(shell, project, f"prdp ask {QUESTION} --share 0.5 --dry-run | head -1")
    assert "nothing: it was answered before" in again
    shown, code = typed(shell, project, "prdp ledger | head -14")
    assert as_kept("ledger_spent", re.sub(r"^\s+0\s.*", "", shown, flags=re.MULTILINE))
