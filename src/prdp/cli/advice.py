"""Spell the arguments of messages as prdp.toml or as options have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from shlex import quote
from typing import Any

from prdp.errors import Argument, Blank, BudgetExhausted, InvalidRequest, PrdpError, offered_share
from prdp.projects.fields import bare_or_quoted, written

_OPTIONS = {
    "bounds": "--bounds", "round_to": "--round-to", "types": "--type", "keys": "--keys", "share": "--share",
    "shares": "--shares", "at_most": "--at-most", "at_least": "--at-least", "privacy_unit": "--privacy-unit",
}  # fmt: skip
_OF_QUESTIONS = ("share", "shares")
"""Arguments of a question, which no project file has."""
_STILL_FREE = " What was answered is free to ask again, and prdp ledger shows it."


def at_the_command_line(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose refusals advise options where these declare the table, else prdp.toml."""

    @wraps(command)
    def run(**given: Any) -> None:
        try:
            command(**given)
        except PrdpError as error:
            spell = in_options if given.get("table") or given.get("source") else in_toml
            all_spent = isinstance(error, BudgetExhausted) and not offered_share(error.remaining)
            raise InvalidRequest(error.spelled(spell) + _STILL_FREE * all_spent) from None

    return run


def in_toml(argument: Argument) -> str:
    """Spell an argument as prdp.toml has it; one of a question as an option.

    >>> in_toml(Argument("bounds", {"age": (0, 10**12)}, of="prdp.open"))
    'bounds = { age = [0, 1e12] } in prdp.toml'
    >>> in_toml(Argument("bounds", {"höhe": (0, 10**12)}))
    'bounds = { "höhe" = [0, 1e12] } in prdp.toml'
    >>> in_toml(Argument("share", "1/5"))
    '--share 1/5'
    """
    name, value = argument.name, argument.value
    if name in _OF_QUESTIONS:
        return in_options(argument)
    if special := _elsewhere(argument):
        return special
    columns = value if isinstance(value, Mapping) else {}
    listed = ", ".join(f"{bare_or_quoted(column)} = {_toml(one)}" for column, one in columns.items())
    if name == "keys":
        return f"{listed} in [tables.NAME.keys] of prdp.toml"
    more = ", ..." if argument.more else ""
    spelled = f"{{ {listed}{more} }}" if columns else _toml(value)
    return f"{'privacy_unit' if name == 'privacy_unit' else name} = {spelled} in prdp.toml"


def in_options(argument: Argument) -> str:
    """Spell an argument as an option.

    >>> in_options(Argument("bounds", {"age": (0, 10**12)}, of="prdp.open"))
    '--bounds age=0:1e12'
    """
    value = argument.value
    if special := _elsewhere(argument):
        return special
    columns = value if isinstance(value, Mapping) else {}
    each = [quote(f"{column}={_plain(one)}") for column, one in columns.items()] or [_plain(value)]
    return " ".join(f"{_OPTIONS[argument.name]} {one}" for one in each)


def _elsewhere(argument: Argument) -> str:
    """Spell an argument that has neither an option nor a key of a table; empty for any other."""
    value = argument.value
    if argument.name == "public":
        return f"public = {_toml(value)} in [joins.NAME] of prdp.toml"
    if argument.name == "between":
        return f"such as x = {{ between = {_toml(value)} }} in [tables.NAME.keys] of prdp.toml"
    if argument.name == "tables" and isinstance(value, Mapping):
        return ", ".join(f'{table} = "{table}.csv"' for table in value) + " in [public] of prdp.toml"
    return ""


def _plain(value: object) -> str:
    """Return a value as an option has it: 0:1e12, 0.01 or a,b."""
    if isinstance(value, tuple):
        return ":".join(map(_plain, value))
    if isinstance(value, list):
        return "FILE" if value == [...] else ",".join(map(_plain, value))
    return _power(value)


def _toml(value: object) -> str:
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_toml, value))}]"
    if value is ...:
        return "..."
    if isinstance(value, Blank) or not isinstance(value, str):
        return _power(value)
    return written(value, numeric=True)


def _power(value: object) -> str:
    """Return a number, a large power of ten as 1e12."""
    digits = str(value)
    power = len(digits) - 1
    return f"1e{power}" if isinstance(value, int) and power >= 6 and value == 10**power else digits
