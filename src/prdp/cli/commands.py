"""The list of commands; each one's module is loaded when it is run, not before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

COMMANDS = {
    "init": "Write prdp.toml: a table, its policy, bounds and public keys.",
    "check": "Say whether all of prdp.toml is in order; reads no record.",
    "ask": "Answer a SQL question with differential privacy.",
    "preview": "Show how large a question's error would be, on stand-in data.",
    "compare": "Ask the same questions under several policies, side by side.",
    "ledger": "Show what is spent, by whom, when and on what.",
    "engine": "Say who can read records here, and check how it reads them.",
    "policy": "Show what a policy promises: its range, domains, a plot.",
    "demo": "Ask a made-up bank, and compare with the truth.",
    "local": "The local model: clients randomise their own records.",
    "collect": "Take in the reports of real clients of the local model.",
}
"""Every command and its help in a line; module ``prdp.cli.NAME`` holds it under the same name."""


def loaded(name: str) -> Any:
    """Return a command, from its module."""
    found = getattr(import_module(f"prdp.cli.{name}"), name)
    if isinstance(found, typer.Typer):
        return typer.main.get_group(found)
    single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    single.command(name)(found)
    return typer.main.get_command(single)


class LazyGroup(TyperGroup):
    """A group whose list and completion load no command's module."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._listing = False
        self.commands: Any = dict.fromkeys(COMMANDS)  # names alone; get_command loads

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002  (typer's own signature)
        """Load a command, or its line of help alone for a list; None for a name that none has."""
        if cmd_name not in COMMANDS:
            return None
        return TyperCommand(cmd_name, help=COMMANDS[cmd_name]) if self._listing else loaded(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands."""
        with self._a_list():
            super().format_commands(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete the name of a command or of an option."""
        with self._a_list():
            return super().shell_complete(ctx, incomplete)

    @contextmanager
    def _a_list(self) -> Iterator[None]:
        self._listing = True
        try:
            yield
        finally:
            self._listing = False
