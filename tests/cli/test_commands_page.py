"""docs/commands.md names everything that there is, and its examples are what happens."""

from __future__ import annotations

import re
import shlex
from itertools import count
from pathlib import Path

import pytest
from typer.main import get_command

from prdp.cli import app
from prdp.testing import Seeded
from tests.cli.running import quickly, write_ledger, write_project, write_study

PAGE = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```console\n\$ prdp (.*)\n((?:.*\n)*?)```", PAGE)

LONG = ("engine check duckdb",)
"""Examples that take long; ``make test-slow`` runs them."""


def section(command: str) -> str:
    return PAGE.partition(f"\n## prdp {command}\n")[2].partition("\n## ")[0]


def options(command: object) -> list[str]:
    return [
        name for option in getattr(command, "params", []) for name in option.opts if name.startswith("--")
    ]


def commands(group: object, prefix: str = "") -> dict[str, object]:
    """Return every command by its full name, those of groups too."""
    found: dict[str, object] = {}
    for name in getattr(group, "commands", {}):
        command = group.get_command(None, name)  # type: ignore[attr-defined]
        inner = commands(command, f"{prefix}{name} ")
        found |= inner or {f"{prefix}{name}": command}
    return found


COMMANDS = commands(get_command(app))


def test_the_page_s_first_part_names_what_all_commands_share() -> None:
    shared = PAGE.partition("\n## ")[0]
    for option in ("--help", *options(get_command(app))):
        assert f"{option}`" in shared
    for command in COMMANDS:
        assert f"| `prdp {command}` |" in shared


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_s_section_names_its_options_and_has_an_example(command: str) -> None:
    text = section(command)
    for option in options(COMMANDS[command]):
        assert f"`{option}" in text, option
    assert any(example.startswith(command) for example, _ in EXAMPLES)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_section_names_an_option_that_is_gone(command: str) -> None:
    assert set(re.findall(r"`(--[a-z-]{2,})", section(command))) <= {*options(COMMANDS[command]), "--help"}


@pytest.mark.parametrize(
    ("example", "shown"),
    [
        pytest.param(*example, id=example[0], marks=[pytest.mark.slow] if example[0] in LONG else [])
        for example in EXAMPLES
    ],
)
def test_an_example_runs_as_shown(
    example: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    seeds = count()  # one draw of the demo's picture in a hundred leaves no room for bars
    for module in ("prdp.run.answer", "prdp.cli.demo"):
        monkeypatch.setattr(f"{module}.SystemEntropy", lambda: Seeded(next(seeds)))
    write_ledger(tmp_path / "accounts.ledger")
    write_study(tmp_path / "visits.collect")
    write_study(tmp_path / "last-year.collect", closed=True)
    write_project(tmp_path)
    if example.startswith("verify"):
        assert quickly("publish").exit_code == 0
    ran = quickly(*shlex.split(example))
    printed = (ran.stdout + ran.stderr).splitlines()
    if example.startswith("policy"):
        assert all(line in printed for line in shown.splitlines() if line != "...")
    else:
        assert ran.exit_code == 0
        headings = [line for line in shown.splitlines() if not re.search(r"\d|schema|^\[", line)]
        assert all(line.split() in [other.split() for other in printed] for line in headings if line != "...")
