"""Versions of installed libraries: a warning where one is older than those that are tested."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata

from prdp.errors import UntestedVersion

_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*>=\s*([0-9.]+)")
_NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+)*")


@cache
def lowest_tested() -> Mapping[str, str]:
    """Return the lowest tested version of each library, as the package's own metadata declares it.

    >>> lowest_tested()["duckdb"]
    '2.0'
    """
    try:
        required = metadata.requires("prdp") or []
    except metadata.PackageNotFoundError:  # run from its source, with nothing installed
        return {}
    found = (_REQUIREMENT.match(text) for text in required)
    return {match[1].lower().replace("_", "-"): match[2] for match in found if match}


def warn_if_untested(modules: Iterable[str]) -> None:
    """Warn of libraries whose installed version is below the lowest that is tested."""
    for name in dict.fromkeys(module.replace("_", "-") for module in modules):
        lowest = lowest_tested().get(name)
        installed = _installed(name) if lowest is not None else None
        if lowest is not None and installed is not None and is_below(installed, lowest):
            warnings.warn(
                f"{name} {installed} is installed, and prdp is tested with {lowest} and later: what an older "
                f"version returns was never checked. Run pip install '{name}>={lowest}'.",
                UntestedVersion,
                stacklevel=4,
            )


def is_below(installed: str, lowest: str) -> bool:
    """Return whether a version is older than another, by their numbers.

    >>> is_below("1.36.1", "2.1"), is_below("2.1.0rc1", "2.1"), is_below("10.0", "9.4")
    (True, False, False)
    """
    found = [_NUMBERS.match(version) for version in (installed, lowest)]
    ours, theirs = ([int(part) for part in match[0].split(".")] if match else [] for match in found)
    width = max(len(ours), len(theirs))
    return ours + [0] * (width - len(ours)) < theirs + [0] * (width - len(theirs))


@cache
def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
