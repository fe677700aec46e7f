"""Programs that slow tests need: a server, Java, a browser, Node.

A test that needs one is marked ``slow``: ``make test`` leaves it out, and ``make test-all`` runs it. Where a
program is missing its tests are skipped, but not if ``PRDP_TOOLS`` names it: ``make test-all`` names all.
"""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest

FAST = "not slow"
"""What ``make test`` selects by ``-m``."""


def lacking(tool: str, reason: str) -> NoReturn:
    """Skip a test for want of a program; fail where the program is stated to be there."""
    if tool in os.environ.get("PRDP_TOOLS", "").split():
        pytest.fail(f"PRDP_TOOLS says that {tool} is here: {reason}")
    pytest.skip(reason)


def program(tool: str, reason: str, *, name: str = "", path: str | None = None) -> str:
    """Return where a program is, by the name of its file if that is another."""
    return shutil.which(name or tool, path=path) or lacking(tool, reason)


def only_for_slow_tests(config: pytest.Config) -> None:
    """Fail where a server is about to start among tests that need none."""
    if config.getoption("markexpr") == FAST:
        pytest.fail("this test starts a server: mark it with pytest.mark.slow")
