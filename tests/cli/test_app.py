"""What all commands share: help, version, mistakes, pipes, encodings and completion."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import prdp
from tests.cli.running import PROGRAM, by_itself, quickly, widest


def test_the_version_is_printed() -> None:
    assert by_itself("--version").stdout == f"prdp {prdp.__version__}\n"


@pytest.mark.parametrize("command", [(), ("demo",), ("policy",), ("ledger",)])
def test_help_is_there_and_fits_80_columns(command: tuple[str, ...]) -> None:
    ran = quickly(*command, "--help")
    assert ran.exit_code == 0
    assert "Usage: " in ran.stdout
    assert widest(ran.stdout) <= 80


@pytest.mark.parametrize("command", [(), ("policy",)])
def test_sixty_columns_are_enough_for_help(command: tuple[str, ...]) -> None:
    ran = by_itself(*command, "--help", columns=60)
    assert ran.returncode == 0
    assert widest(ran.stdout) <= 60


@pytest.mark.parametrize(
    "arguments",
    [("demo", "--rows", "0"), ("demo", "--rows", "many"), ("dmeo",), ("policy",), ("ledger", "--no-such")],
)
def test_a_mistake_ends_in_a_message_and_not_in_a_traceback(arguments: tuple[str, ...]) -> None:
    ran = quickly(*arguments)
    assert ran.exit_code == 2
    assert "Error: " in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_mistake_in_a_process_of_its_own_ends_the_same_way() -> None:
    ran = by_itself("policy", "10000 / balanc", "--bounds", "balance=0:1")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("prdp: there is no column balanc\n")
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("command", [("demo", "--rows", "100"), ("--help",)])
def test_a_reader_that_goes_away_is_no_error(command: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ran = subprocess.run(
            [sys.executable, "-c", PROGRAM, *command],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writing)
    assert ran.stderr == ""
    assert ran.returncode in {1, 141}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_is_a_message() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        ran = subprocess.run(
            [sys.executable, "-c", PROGRAM, "policy", "1"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ran.returncode == 1
    assert ran.stderr == "prdp: No space left on device.\n"


def test_an_output_that_knows_ascii_only_is_no_error() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, "demo", "--rows", "100"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.isascii()
