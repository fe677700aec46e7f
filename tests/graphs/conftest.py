"""Every answer of these tests is drawn from a seed, as those of tables are."""

from __future__ import annotations

from tests.tables.conftest import _no_chance

__all__ = ["_no_chance"]
