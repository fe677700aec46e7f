"""What is released can be released: both files are sound, and the wheel answers in an empty environment."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

ASK = """
import sys, prdp
table = prdp.open({"v": __import__("numpy").arange(1, 1000)}, policy=prdp.Policy.constant("1"))
table.count(share="1/2")
heavy = {"pyarrow", "pandas", "polars", "scipy", "flint", "opendp"} & set(sys.modules)
assert not heavy, heavy
"""


def run(*command: str | Path) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_of_the_sdist_works_where_nothing_else_is_installed(tmp_path: Path) -> None:
    run(sys.executable, "-m", "build", "--outdir", tmp_path, ROOT)  # the sdist, and from it the wheel
    (sdist,), (wheel,) = tmp_path.glob("prdp-*.tar.gz"), tmp_path.glob("prdp-*.whl")
    run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
    venv.create(tmp_path / "empty")
    python, command = tmp_path / "empty" / "bin" / "python", tmp_path / "empty" / "bin" / "prdp"
    install = ("install", "--quiet", "--disable-pip-version-check", wheel)
    run(sys.executable, "-m", "pip", "--python", python, *install)  # a pip of its own takes long to set up
    run(python, "-c", ASK)
    assert run(command, "--version").startswith("prdp 0.")
    assert "count" in run(command, "demo", "--rows", "10000")
