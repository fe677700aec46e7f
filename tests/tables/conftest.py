"""Every answer of these tests is drawn from a seed, so that none fails once in a thousand runs."""

from __future__ import annotations

from itertools import count

import pytest

from prdp.testing import Seeded


@pytest.fixture(autouse=True)
def _no_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each answer of a test bytes of its own: the same in every run of it."""
    seeds = count(7)
    monkeypatch.setattr("prdp.run.answer.SystemEntropy", lambda: Seeded(next(seeds)))
