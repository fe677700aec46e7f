"""Say in the words of prdp.toml, or of options, what a message advises in Python's."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from shlex import quote
from typing import Any

from prdp.errors import InvalidRequest, PrdpError
from prdp.projects.toml_writer import bare_or_quoted

_ARGUMENT = re.compile(
    r"\b(?P<name>bounds|rounding step|types|keys|shares?|at_most|at_least|protect|between|tables)="
    r"(?P<value>\{[^{}]*\}|\([^()]*\)|'[^']*'|[\d./e-]*\d)"
    r"(?: in prdp\.open(?:_join)?\b| in Python, \[tables\.NAME\.keys\] in prdp\.toml)?"
)
_PAIR = re.compile(r"'(?P<column>[^']*)': (?P<value>\([^()]*\)|\[[^\]]*\]|'[^']*'|[^,{}]+)")
_OPTIONS = {
    "bounds": "--bounds", "round_to": "--round-to", "types": "--type", "keys": "--keys", "share": "--share",
    "shares": "--shares", "at_most": "--at-most", "at_least": "--at-least", "privacy_unit": "--privacy-unit",
}  # fmt: skip
_ALL_SPENT = "Nothing is left to spend."
_BUT_FREE = "Nothing is left to spend. What was answered is free to ask again, and prdp ledger shows it."
_ASKED = ("share", "shares")
"""What is said with a question, and never in a project file."""


def in_toml(message: str) -> str:
    """Return a message that advises what to write in prdp.toml.

    >>> in_toml("Write bounds={'age': (0, 10**12)} in prdp.open; wide bounds cost nothing.")
    'Write bounds = { age = [0, 1e12] } in prdp.toml; wide bounds cost nothing.'
    >>> in_toml("Write bounds={'höhe': (0, 10**12)} in prdp.open.")
    'Write bounds = { "höhe" = [0, 1e12] } in prdp.toml.'
    >>> in_toml("Ask for share='1/5' or less.")
    'Ask for --share 1/5 or less.'
    """
    return _respelled(message, options=False)


def in_options(message: str) -> str:
    """Return a message that advises which options to add.

    >>> in_options("Write bounds={'age': (0, 10**12)} in prdp.open; wide bounds cost nothing.")
    'Write --bounds age=0:1e12; wide bounds cost nothing.'
    """
    return _respelled(message, options=True)


def at_the_command_line(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose refusals advise options where these declare the table, else prdp.toml."""

    @wraps(command)
    def run(**given: Any) -> None:
        try:
            command(**given)
        except PrdpError as error:
            message = str(error)
            advised = in_options(message) if given.get("table") or given.get("source") else in_toml(message)
            if advised == message:
                raise
            raise InvalidRequest(advised) from None

    return run


def _respelled(message: str, *, options: bool) -> str:
    """Return a message with its advice respelled; a statement that is set in stays as it was asked."""
    lines = message.replace(_ALL_SPENT, _BUT_FREE).split("\n")
    return "\n".join(
        line if line.startswith(" ") else _ARGUMENT.sub(lambda found: _advised(found, options=options), line)
        for line in lines
    )


def _advised(found: re.Match[str], *, options: bool) -> str:
    name, value = found["name"], found["value"].replace("10**", "1e")
    if name == "between":
        return f"such as x = {{ between = {_toml(value)} }} in [tables.NAME.keys] of prdp.toml"
    pairs = _PAIR.findall(value) if value.startswith("{") else []
    if name == "tables":
        return ", ".join(f'{table} = "{table}.csv"' for table, _ in pairs) + " in [public] of prdp.toml"
    if options or name in _ASKED:
        each = [quote(f"{column}={_plain(part)}") for column, part in pairs] or [_plain(value)]
        return " ".join(f"{_OPTIONS[name]} {one}" for one in each)
    listed = ", ".join(f"{bare_or_quoted(column)} = {_toml(part)}" for column, part in pairs)
    more = ", ..." if value.endswith("...}") else ""
    if name == "keys":
        return f"{listed} in [tables.NAME.keys] of prdp.toml"
    key = "privacy_unit" if name == "privacy_unit" else name
    written = (
        f"{{ {listed}{more} }}" if pairs else value.strip("'") if name != "privacy_unit" else _toml(value)
    )
    return f"{key} = {written} in prdp.toml"


def _plain(value: str) -> str:
    """Return a value as an option has it: 0:1e12, 0.01 or a,b."""
    if value.startswith("("):
        return value.strip("()").replace(", ", ":")
    return value.replace("[...]", "FILE").strip("[]'").replace("', '", ",")


def _toml(value: str) -> str:
    """Return a value as TOML has it; a text that is a number is one."""
    text = value.replace("(", "[").replace(")", "]")
    return re.sub(r"'([^']*)'", lambda found: _number_or_text(found[1]), text)


def _number_or_text(text: str) -> str:
    return text if re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", text) else f'"{text}"'
