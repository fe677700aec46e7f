"""Fixtures of the server's tests."""

from __future__ import annotations

from tests.server.serving import blank, served

__all__ = ["blank", "served"]
