"""The demo as a user sees it: in a pipe, narrow, and told to be brief."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import prdp


def prdp_command(*arguments: str, columns: int = 80) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from prdp.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"COLUMNS": str(columns), "NO_COLOR": "1"},
    )


def test_the_demo_shows_answers_beside_the_truth_within_80_columns() -> None:
    ran = prdp_command("demo", "--rows", "20000")
    assert ran.returncode == 0, ran.stderr
    assert "20,000" in ran.stdout
    assert "sum of balances" in ran.stdout
    assert max(map(len, ran.stdout.splitlines())) <= 80
    assert "\x1b" not in ran.stdout


def test_the_demo_speaks_json() -> None:
    lines = json.loads(prdp_command("demo", "--rows", "20000", "--json").stdout)
    assert lines[0]["truth"] == 20000
    low, high = lines[0]["interval"]
    assert low < lines[0]["answer"] < high


def test_the_version_is_printed() -> None:
    assert prdp_command("--version").stdout == f"prdp {prdp.__version__}\n"


@pytest.mark.parametrize("arguments", [("--help",), ("demo", "--help")])
def test_help_is_there(arguments: tuple[str, ...]) -> None:
    ran = prdp_command(*arguments)
    assert ran.returncode == 0
    assert "Usage" in ran.stdout


def test_a_mistake_ends_in_a_message_and_not_in_a_traceback() -> None:
    ran = prdp_command("demo", "--rows", "0")
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
