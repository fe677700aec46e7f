"""The options that every experiment has."""

from __future__ import annotations

import argparse
from pathlib import Path


def options(description: str | None, runs: int = 5000) -> argparse.Namespace:
    """Read ``--data``, ``--runs`` and ``--seed`` from the command line."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, help="folder with the real sets' Parquet files")
    parser.add_argument("--runs", type=int, default=runs, help="how often each question is asked")
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    return parser.parse_args()
