"""Run the notebooks beside this file, each in a kernel of its own, and store what they print and draw.

``python -m examples.run`` runs all of them, ``python -m examples.run joins`` one.
``--check`` stores nothing; it fails where a notebook fails, or where what it shows is of another form than
what is stored: the noise is drawn anew in every run, so numbers are not compared.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent
_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
_NUMBER = re.compile(r"-?\d[\d,]*(\.\d+)?(e[+-]?\d+)?%?")
_PATIENCE = 300  # seconds for a kernel to start, and for a cell: busy machines are slow


def executed(path: Path) -> nbformat.NotebookNode:
    """Return a notebook with the outputs of a new run; nothing of the machine or the hour is in it."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook,
        timeout=_PATIENCE,
        startup_timeout=_PATIENCE,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(FOLDER)}},
    ).execute()
    notebook.metadata = nbformat.from_dict({"kernelspec": _KERNEL, "language_info": {"name": "python"}})
    return notebook


def form(notebook: nbformat.NotebookNode) -> list[str]:
    """Return what a notebook shows, without its noise: what each line is about, and the kinds of results."""
    return [line for cell in notebook.cells if cell.cell_type == "code" for line in _lines(cell)]


def _lines(cell: nbformat.NotebookNode) -> Iterator[str]:
    for output in cell.outputs:
        if output.output_type == "stream":
            asked = (line.partition(": ")[0] for line in output.text.splitlines())
            yield from (" ".join(_NUMBER.sub("#", line).split()) for line in asked)
        else:
            yield " and ".join(sorted(output.data))


def main() -> int:
    """Run the notebooks that are named, or all; return 1 if one is not as it is stored."""
    parser = argparse.ArgumentParser(prog="python -m examples.run", description=__doc__)
    parser.add_argument("names", nargs="*", help="such as joins; all by default")
    parser.add_argument("--check", action="store_true", help="store nothing, and compare with what is stored")
    given = parser.parse_args()
    stale = False
    for path in sorted(FOLDER.glob("*.ipynb")):
        if given.names and path.stem not in given.names:
            continue
        stored, new = nbformat.read(path, as_version=4), executed(path)
        if not given.check:
            nbformat.write(new, path)
        elif form(stored) != form(new):
            stale = True
            print(f"{path.name} shows something of another form now: run python -m examples.run {path.stem}")
            print("\n".join(unified_diff(form(stored), form(new), "stored", "new", lineterm="")))
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
