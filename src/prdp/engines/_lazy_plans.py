"""Refuse lazy frames whose rows need not be records, by their plan alone."""

from __future__ import annotations

from typing import Any


def refuse_unless_records(frame: Any) -> None:
    """Refuse."""
