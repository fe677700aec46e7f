"""Where results come from: commit, versions, data and processors, in lines for the report."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from experiments.paper.job import ROOT

_PACKAGES = ("prdp", "duckdb", "numpy", "pyarrow", "scipy")


def environment(data: Path | None) -> Iterator[str]:
    """Yield what a reader needs to run it again, in sentences."""
    yield f"Commit {commit()}; Python {platform.python_version()}, {', '.join(_versions())}."
    yield f"{platform.system()} on {platform.machine()}, {os.cpu_count()} processors."
    digests = [f"{path.name} {_digest(path)}" for path in sorted(data.glob("*.parquet"))] if data else []
    yield f"Data, SHA-256: {', '.join(digests)}." if digests else "No folder with real sets was given."


def commit() -> str:
    """Return the commit that is checked out, and whether files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown (no Git repository)"
    return found.stdout.strip()


def _versions() -> Iterator[str]:
    for package in _PACKAGES:
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:
            continue


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
