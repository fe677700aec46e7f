"""Stores for the tests: a file, and a database in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of a store that is not there yet, of either kind."""
    if request.param == "sqlite":
        return str(tmp_path / "study.collect")
    make: Callable[[], str] = request.getfixturevalue("new_database")
    return make()
