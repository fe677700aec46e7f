"""The lowest version of every dependency, as ``pyproject.toml`` declares it, for ``make test-lowest``.

``python -m tests.lowest`` prints constraints for pip; with ``--installed`` it fails unless they are met.
It needs the standard library only, because it runs before anything is installed.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Mapping
from importlib.metadata import version
from itertools import chain
from pathlib import Path

_REQUIREMENT = re.compile(
    r"([a-z0-9-]+)(?:\[[a-z]+\])?>=([0-9]+(?:\.[0-9]+)*)"
    r"(?:; (?:python_version|sys_platform) [<!=]+ '[a-z0-9.]+')?"
)


PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
APART = frozenset({"mcp"})
"""What needs newer packages than prdp's lowest: an extra that is left out there."""


def declared(pyproject: str) -> dict[str, str]:
    """Return the lower bound of every dependency and extra.

    Raises:
        ValueError: One has no lower bound, more than that, or not the same everywhere.
    """
    project = tomllib.loads(pyproject)["project"]
    lowest: dict[str, str] = {}
    for requirement in chain(project["dependencies"], *project["optional-dependencies"].values()):
        found = _REQUIREMENT.fullmatch(requirement)
        if found is None:
            raise ValueError(f"{requirement!r} is not of the form name>=version")
        if lowest.setdefault(found[1], found[2]) != found[2]:
            raise ValueError(f"{found[1]} has two lower bounds")
    return lowest


def not_installed(lowest: Mapping[str, str]) -> list[str]:
    """Return what is installed here in another version than the lowest."""
    return [
        f"{name} {version(name)} is installed, {bound} is the lowest"
        for name, bound in lowest.items()
        if _numbers(version(name)) != _numbers(bound)
    ]


def _numbers(release: str) -> list[int]:
    numbers = [int(part) for part in release.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return numbers


if __name__ == "__main__":
    bounds = declared(PYPROJECT.read_text(encoding="utf-8"))
    if "--installed" in sys.argv:
        there = {name: bound for name, bound in bounds.items() if name not in APART}
        sys.exit("\n".join(not_installed(there)) or None)
    sys.stdout.writelines(f"{name}=={bound}\n" for name, bound in sorted(bounds.items()))
