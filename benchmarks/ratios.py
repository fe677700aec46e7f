"""Compare what questions cost in this tree with an earlier commit, both measured in the same run.

``python -m benchmarks.ratios`` runs a process on the sources of the commit that ``ratios_baseline`` names,
and one on this tree, and asks both the same: private passes over 2 million rows, and prdp's Python. Each pair
of questions is asked in a drawn order, and compares processor time over all threads. A case is dearer where
the median ratio is above ``TOLERATED`` and this tree lost ``LOST`` of ``PAIRS`` pairs, ``TIMES`` times, each
with new processes. No figure of another machine is used. A tree that costs what the baseline does loses a
pair with probability 1/2 at most, on a busy machine too, so that load fails it with probability
``false_alarm(10)`` at most: 1 in 42,000.

``--write`` names the last commit as the baseline, to be landed with a change that costs more on purpose, and
with one that makes cases cheaper: a loss is seen from the baseline on.
Where no source has changed since, or git does not have the baseline of the file, nothing is compared.
``--plant slower`` (everything works a fifth more) and ``--plant own-column`` (no shortcut for policies of
their own column) compare this tree with itself, spoilt: the comparison must fail then.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import IO, cast

ROOT = Path(__file__).parents[1]
BASELINE = Path(__file__).with_name("ratios_baseline")
TOLERATED = 1.1
"""The middle ratio that still passes: a loss of 20 % does not."""

PAIRS, LOST, TIMES = 21, 16, 3


class Tree:
    """A process that asks questions with the sources of one tree.

    Attributes:
        names: The cases; none where these sources cannot be asked.
    """

    def __init__(self, source: Path, folder: Path, plant: str = "") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.ratio_cases", str(folder), plant],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(source)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.input, self.output = cast(IO[str], self.process.stdin), cast(IO[str], self.process.stdout)
        self.names: list[str] = json.loads(self.output.readline() or "[]")

    def __call__(self, name: str) -> float:
        """Return what a case costs."""
        print(name, file=self.input, flush=True)
        cost = self.output.readline()
        if not cost:
            sys.exit(f"{name}: the process that was asked ended, for the reason above")
        return float(cost)

    def close(self) -> None:
        """End the process."""
        with self.process:
            self.input.close()


Start = Callable[[], Tree]


def pairs(before: Start, after: Start, suspects: Sequence[str] | None) -> dict[str, list[float]]:
    """Return the ratios of each case that both trees know, by new processes, in a drawn order."""
    with ExitStack() as closing:
        trees = [start() for start in (before, after)]
        for tree in trees:
            closing.callback(tree.close)
        names = [name for name in trees[1].names if suspects is None or name in suspects]
        if not names:
            sys.exit("the questions cannot be asked of this tree")
        found: dict[str, list[float]] = {name: [] for name in names if name in trees[0].names}
        if not found:
            sys.exit("the questions cannot be asked of the earlier sources: --write names others")
        for name in names:
            if name not in found:
                print(f"{name}: not compared, since the earlier sources cannot be asked", flush=True)
        for _ in range(PAIRS):
            for name, ratios in found.items():
                order = random.sample((0, 1), 2)
                cost = {place: trees[place](name) for place in order}
                ratios.append(cost[1] / cost[0])
    return found


def dearer(ratios: Sequence[float]) -> bool:
    """Return whether pairs show a loss: a median that is not tolerated, and too many lost for chance."""
    return statistics.median(ratios) > TOLERATED and sum(ratio > 1 for ratio in ratios) >= LOST


def cheaper(ratios: Sequence[float]) -> bool:
    """Return whether pairs show a gain that would hide a loss of more than is tolerated."""
    return statistics.median(ratios) * TOLERATED < 1 and sum(ratio < 1 for ratio in ratios) >= LOST


def false_alarm(number: int) -> Fraction:
    """Return the largest probability that one of so many cases is dearer by chance, all times."""
    once = Fraction(sum(math.comb(PAIRS, lost) for lost in range(LOST, PAIRS + 1)), 2**PAIRS)
    return number * once**TIMES


def compared(before: Start, after: Start) -> Iterator[tuple[dict[str, list[float]], list[str]]]:
    """Yield the ratios and the cases that are dearer, until there are none or it was shown often enough."""
    suspects: list[str] | None = None
    for _ in range(TIMES):
        found = pairs(before, after, suspects)
        suspects = [name for name, ratios in found.items() if dearer(ratios)]
        yield found, suspects
        if not suspects:
            return


def git(*words: str) -> subprocess.CompletedProcess[bytes]:
    """Run git in this checkout."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False)  # noqa: S607


@contextmanager
def sources(named: str | None) -> Iterator[Path | None]:
    """Yield the sources of a commit, or None where no source has changed since.

    The baseline of the file may be missing, as in a copy without a history; a commit that was named may not.
    """
    commit = named or BASELINE.read_text().strip()
    difference = git("diff", "--quiet", commit, "--", "src")
    if difference.returncode != 1:
        said = difference.stderr.decode(errors="replace").partition("\n")[0]
        if said and named:
            sys.exit(f"{named}: {said}")
        print(f"{commit}: {said or 'no source has changed since'}; nothing is compared")
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(git("archive", commit, "src").stdout)) as held:
            held.extractall(folder, filter="data")
        yield Path(folder) / "src"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--write", action="store_true", help="make the last commit the baseline")
    parser.add_argument("--plant", choices=["own-column", "slower"], default="", help="what to spoil")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()), help="for the rows")
    parser.add_argument("--baseline", help="the commit to compare with, in place of the file's")
    arguments = parser.parse_args()
    if arguments.write:
        BASELINE.write_bytes(git("rev-parse", "HEAD").stdout)
        return
    with ExitStack() as stack:
        own = ROOT / "src"
        earlier = own if arguments.plant else stack.enter_context(sources(arguments.baseline))
        if earlier is None:
            return
        before: Start = lambda: Tree(earlier, arguments.cache)  # noqa: E731
        after: Start = lambda: Tree(own, arguments.cache, arguments.plant)  # noqa: E731
        suspects: list[str] = []
        gained: set[str] = set()
        for found, suspects in compared(before, after):
            gained.update(name for name, ratios in found.items() if cheaper(ratios))
            for name, ratios in found.items():
                lost = sum(ratio > 1 for ratio in ratios)
                shown = f"{statistics.median(ratios):6.2f}  dearer in {lost:2} of {PAIRS}"
                print(f"{name:34}{shown}{'  DEARER' if name in suspects else ''}", flush=True)
    if gained:
        print(f"cheaper, so that --write should name a new baseline: {', '.join(sorted(gained))}")
    if suspects:
        sys.exit(f"dearer by more than {TOLERATED - 1:.0%}, {TIMES} times: {', '.join(suspects)}")


if __name__ == "__main__":
    main()
