"""Databases that have passed ``prdp engine check`` here: a small file of the user's, without addresses."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PARTS = ("dialect", "server", "prdp")


def checks_file() -> Path:
    """Return where the passes are kept: ``prdp/engine_checks.json`` in the user's folder of settings."""
    if sys.platform == "win32":
        folder = Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    else:
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return folder / "prdp" / "engine_checks.json"


def own_version() -> str:
    """Return the version of prdp that is installed."""
    try:
        return version("prdp")
    except PackageNotFoundError:
        return "not installed"


def has_passed(dialect: str, server: str) -> bool:
    """Say whether a server of this version has passed the check of this version of prdp."""
    wanted = dict(zip(_PARTS, (dialect, server, own_version()), strict=True))
    return any(wanted == {name: one.get(name) for name in _PARTS} for one in _kept())


def note_pass(dialect: str, server: str, claims: int) -> Path:
    """Write down that all claims hold there; return where."""
    path = checks_file()
    passed = dict(zip(_PARTS, (dialect, server, own_version()), strict=True))
    others = [one for one in _kept() if any(one.get(name) != value for name, value in passed.items())]
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps([*others, {**passed, "claims": claims}], indent=2) + "\n", encoding="utf-8")
    new.replace(path)
    return path


def _kept() -> list[dict[str, Any]]:
    with suppress(OSError, ValueError):
        found = json.loads(checks_file().read_text(encoding="utf-8"))
        if isinstance(found, list):
            return [one for one in found if isinstance(one, dict)]
    return []
