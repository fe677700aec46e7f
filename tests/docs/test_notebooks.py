"""The notebooks run in a real kernel, and show what is stored in them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def named(path: Path) -> str:
    return path.stem


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=named)
def test_a_notebook_runs_and_shows_what_is_stored_but_for_the_noise(path: Path) -> None:
    command = [sys.executable, "-m", "examples.run", "--check", path.stem]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", NOTEBOOKS, ids=named)
def test_a_notebook_is_stored_with_pictures_and_with_nothing_of_the_machine(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    outputs = [output for cell in cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert not any(output.output_type == "error" or output.get("name") == "stderr" for output in outputs)
    for output in outputs:
        shown = output.get("text", "") + "".join(
            text for kind, text in output.get("data", {}).items() if kind.startswith("text/")
        )
        assert str(Path.home()) not in shown
        assert "/tmp" not in shown  # noqa: S108  (no file is written there)
    numbered = [cell.execution_count for cell in cells if cell.cell_type == "code"]
    assert numbered == list(range(1, len(numbered) + 1))


def test_every_notebook_is_listed_beside_them() -> None:
    listed = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert len(NOTEBOOKS) >= 5
    for path in NOTEBOOKS:
        assert f"({path.name})" in listed
