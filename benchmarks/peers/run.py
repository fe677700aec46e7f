"""What other libraries take for a clipped sum over the same 10 million rows, beside prdp's.

``python -m benchmarks.peers.run`` makes an environment for each peer in a folder (``--folder``), asks each
for the sum of a column clipped at a million, alone and by 101 public keys, with a budget of 1, and prints
medians of 5 after one to warm up (of fewer where a question takes minutes). Absolute times are of one
machine; what can be compared are the ratios within a run. prdp needs no clipping bound.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import venv
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.scan_speed import table_file

HERE = Path(__file__).parent
PEERS: Mapping[str, tuple[str, ...]] = {
    "opendp_polars": ("opendp[polars]",),
    "smartnoise": ("smartnoise-sql", "pyarrow"),
    "tumult": ("tmlt.analytics", "setuptools<81"),
}


def environment(name: str, folder: Path) -> Path:
    """Return the Python of a peer's own environment, made once."""
    place = folder / name
    python = place / "bin" / "python"
    if not python.exists():
        print(f"installing {', '.join(PEERS[name])} ...", file=sys.stderr)
        venv.create(place, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PEERS[name]], check=True)
    return python


def asked(python: Path, script: str, path: Path) -> dict[str, Any]:
    """Return what a script measured."""
    with tempfile.TemporaryDirectory() as folder:  # Spark leaves a warehouse where it is started
        done = subprocess.run(
            [python, HERE / f"{script}.py", path], check=True, capture_output=True, text=True, cwd=folder
        )
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def written(path: Path, rows: int, found: Sequence[Mapping[str, Any]]) -> None:
    """Write what was measured as the README's picture reads it, prdp's own lines first."""
    ours = found[0]["seconds"]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("question", "library", "version", "rows", "runs", "seconds", "times_prdp"))
        for one in found:
            for question in ("sum", "sum by branch"):
                seconds, runs = one["seconds"][question], one["runs"][question]
                times = f"{seconds / ours[question]:.1f}"
                writer.writerow((question, one["name"], one["version"], rows, runs, f"{seconds:.2f}", times))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "prdp_peers")
    parser.add_argument("--only", choices=sorted(PEERS), action="append")
    parser.add_argument("--csv", type=Path, help="write the figures there too: experiments/peers.csv")
    given = parser.parse_args()
    path = table_file(given.rows, Path(tempfile.gettempdir()))
    warnings.simplefilter("ignore")
    found = [asked(Path(sys.executable), "ours", path)]
    for name in given.only or PEERS:
        try:
            found.append(asked(environment(name, given.folder), name, path))
        except subprocess.CalledProcessError as error:
            print(f"{name} cannot be run here: {(error.stderr or '').strip()[-300:]}", file=sys.stderr)
    if given.csv is not None:
        written(given.csv, given.rows, found)
    ours = found[0]["seconds"]
    print(f"{given.rows:,} rows, sum of a column clipped at a million, medians of 5; ratios are to prdp's")
    print(f"{'':34}{'plain':>9}{'sum':>9}{'':8}{'by branch':>9}{'':8}{'peak':>9}")
    for one in found:
        seconds = one["seconds"]
        total, grouped = seconds["sum"], seconds["sum by branch"]
        print(
            f"{one['name']} {one['version']:<12.12}".ljust(34)
            + f"{seconds['plain']:7.2f} s{total:7.2f} s{total / ours['sum']:6.1f} x"
            + f"{grouped:7.2f} s{grouped / ours['sum by branch']:6.1f} x{one['peak']:6,} MB"
        )


if __name__ == "__main__":
    main()
