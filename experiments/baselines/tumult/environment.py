"""An environment of its own for Tumult Core, made when it is first needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from experiments.yardsticks import Floats

PACKAGE = "tmlt.core==0.20.0"
FOLDER = Path("build") / "tumult"
"""Where the environment is made, unless another folder is given."""

_DRAW = Path(__file__).with_name("draw.py")


class UnavailableError(Exception):
    """Tumult Core can't be had here; the message says why in a sentence."""


@dataclass(frozen=True, slots=True)
class Job:
    """What to draw: a function of ``tmlt.core.utils.prdp``, its arguments, and how often it is called."""

    sampler: str
    arguments: Mapping[str, float]
    draws: int


def drawn(jobs: Sequence[Job], folder: Path = FOLDER) -> list[Floats]:
    """Return the draws of each job, made by Tumult Core in a process of its own.

    Its randomness is the operating system's and can't be seeded: the draws differ from call to call.

    Raises:
        UnavailableError: There is no environment, and none can be made.
    """
    asked = json.dumps([asdict(job) for job in jobs])
    python = prepared(folder)
    try:
        done = subprocess.run([python, _DRAW], input=asked, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise UnavailableError(
            f"Tumult Core in {folder} does not run: delete the folder to make it anew."
        ) from error
    return [np.array(draws, float) for draws in json.loads(done.stdout)]


def prepared(folder: Path) -> Path:
    """Return the environment's Python, after making the environment if there is none."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not _has_package(python):
        try:
            subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True, check=True)
            subprocess.run(
                [python, "-m", "pip", "install", "--quiet", PACKAGE], capture_output=True, check=True
            )
        except (OSError, subprocess.CalledProcessError) as error:
            raise UnavailableError(
                f"Tumult Core is left out: {PACKAGE} could not be installed into {folder}. "
                "It needs a package index and a Python that it supports; --env names a place where it is."
            ) from error
    return python


def _has_package(python: Path) -> bool:
    name, version = PACKAGE.split("==")
    asks = f"import importlib.metadata as m, sys; sys.exit(m.version({name!r}) != {version!r})"
    return (
        python.exists()
        and subprocess.run([python, "-c", asks], capture_output=True, check=False).returncode == 0
    )
