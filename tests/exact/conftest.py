"""Tests of exact laws that are slow: how tight every law is takes as long as all the rest of this folder.

``make test`` tries laws, their wrong twins and what is drawn from them, and ``make test-slow`` that 2 % less
noise is too little.
"""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
SLOW = "test_two_percent_too_little_noise_is_caught"
"""A test of ``prdp.testing.mechanism_contract.MechanismContract`` and of ``local_contract.LocalContract``."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them."""
    for item in items:
        if item.path.is_relative_to(HERE) and item.name.partition("[")[0] == SLOW:
            item.add_marker(pytest.mark.slow)
