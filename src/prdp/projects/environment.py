"""Addresses from the environment: ``${NAME}`` is the whole of one, and its host is in the variable too."""

from __future__ import annotations

import os
import re

from prdp.engines.registry import is_database_address
from prdp.errors import InvalidRequest
from prdp.safety.database_address import is_database

_ANY = re.compile(r"\$\{(\w*)\}?")
_WHOLE = re.compile(r"\$\{(\w+)\}")


def refused_variable(text: str) -> str:
    """Return why a text with a variable in it is refused; empty where it is not.

    >>> refused_variable("${BANK_URL}"), refused_variable("accounts.csv")
    ('', '')
    >>> refused_variable("postgresql://${TOKEN}@db.example/bank")[:40]
    'writes ${TOKEN} into a longer text, and '
    """
    found = _ANY.search(text)
    if found is None or _WHOLE.fullmatch(text):
        return ""
    name = found[1] or "NAME"
    return (
        f"writes ${{{name}}} into a longer text, and so could send any variable to any host. A variable "
        f'holds a whole address of a database, with its host: "${{{name}}}".'
    )


def from_environment(text: str) -> str:
    """Return a text, or the address of a database that the variable ``${NAME}`` holds.

    Raises:
        InvalidRequest: The variable is not set or holds something else, which is not repeated.
    """
    if reason := refused_variable(text):
        raise InvalidRequest(f"this {reason}")
    whole = _WHOLE.fullmatch(text)
    if whole is None:
        return text
    value = os.environ.get(whole[1])
    if value is None:
        raise InvalidRequest(f"the environment variable {whole[1]} is not set.")
    if not (is_database(value) or is_database_address(value)):
        raise InvalidRequest(
            f"the environment variable {whole[1]} holds no address of a database, and nothing else is read "
            "from one; what it holds is not repeated here. Write paths into the project file, relative to it."
        )
    return value
