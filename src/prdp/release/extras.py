"""Libraries that do not come with prdp itself: loaded when a table is turned into one of their frames."""

from __future__ import annotations

import importlib
from typing import Any

from prdp.errors import InvalidRequest


def optional_library(name: str, extra: str) -> Any:
    """Import a library, or say which extra brings it.

    >>> optional_library("prdp_of_the_future", "future")
    Traceback (most recent call last):
    ...
    prdp.errors.InvalidRequest: this needs prdp_of_the_future, which is not here: pip install 'prdp[future]'.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InvalidRequest(f"this needs {name}, which is not here: pip install 'prdp[{extra}]'.") from None
