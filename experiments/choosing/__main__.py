"""The table of errors in oracle clips for a rule that chooses the clipping point.

``python -m experiments.choosing --rule NAME`` integrates a rule of ``rules.py`` over the synthetic sets, in
seconds; ``--data FOLDER`` measures it on the real sets instead, for what was frozen before; ``--library``
draws from the library itself, intervals included.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from experiments.choosing.cases import POLICIES, SHARES, Case, cases
from experiments.choosing.drawn import LEVELS, Measured, measured
from experiments.choosing.figures import Figures, figures
from experiments.choosing.rules import RULES
from experiments.choosing.step_sums import drawn_figures, tier_errors

AIMS = ((1.25, 9, 3), (1.3, 12, 10), (1.8, 25, 50))
THREE = ("inverse", "log", "sqrt")

Row = tuple[tuple[str, str, str], int, Figures]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the real sets' Parquet files")
    parser.add_argument("--rule", choices=sorted(RULES), default="now")
    parser.add_argument("--quick", action="store_true", help="three policies instead of five")
    parser.add_argument("--each", action="store_true", help="print every case")
    parser.add_argument("--library", action="store_true", help="draw from the library itself")
    parser.add_argument("--runs", type=int, default=2000, help="with --library: draws for each case")
    parser.add_argument("--seed", type=int, default=0, help="with --library: of the noise")
    parser.add_argument("--tail-factor", type=int, default=8, help="with --library: of the intervals")
    return parser.parse_args()


def summary(title: str, rows: Sequence[Row]) -> None:
    """Print the table of one group of cases."""
    print(f"\n{title}: {len({name for name, _, _ in rows})} cases, errors in oracle clips at the same share")
    print(
        f"{'share':>6}{'trimmed':>9}{'worst':>8}{'p90':>8}{'p99':>8}{'mean':>9}"
        "   aim; where p99 and mean are worst"
    )
    for place, share in enumerate(SHARES):
        here = [(name, figure) for name, at, figure in rows if at == place]
        trimmed = np.array([figure.trimmed for _, figure in here])
        worst = (max(here, key=lambda row: row[1].p99), max(here, key=lambda row: row[1].mean))
        p90 = max(figure.p90 for _, figure in here)
        aim = " / ".join(f"{number:g}" for number in AIMS[place])
        print(
            f"{share!s:>6}{np.exp(np.log(trimmed).mean()):9.3f}{trimmed.max():8.2f}{p90:8.1f}"
            f"{worst[0][1].p99:8.1f}{worst[1][1].mean:9.3g}   {aim}; "
            + "; ".join(" ".join(name) for name, _ in worst)
        )


def each(rows: Sequence[Row]) -> None:
    """Print every case: trimmed error, 99th percentile and mean for each share."""
    for name in dict.fromkeys(name for name, _, _ in rows):
        parts = [f"{f.trimmed:8.2f}{f.p99:8.1f}{f.mean:9.3g}" for at, _, f in rows if at == name]
        print(f"{' '.join(name):36}" + " |".join(parts))


def coverage(results: Sequence[Measured], tail_factor: int) -> None:
    """Print how often intervals held the truth."""
    print(
        f"\nintervals with tail factor {tail_factor}: part of the runs covered, mean over cases (worst case)"
    )
    print(
        f"{'share':>6}{'90 %':>16}{'95 %':>16}{'no upper end':>14}{'longer than noise':>19}"
        "   cases below 94 %"
    )
    for place, share in enumerate(SHARES):
        here = [result for result in results if result.share == place]
        cells = []
        for level in range(len(LEVELS)):
            parts = [result.covered[level] for result in here]
            cells.append(f"{np.mean(parts):.3f} ({min(parts):.2f})")
        low = [result for result in here if result.covered[-1] < 0.94]
        wider = np.median([result.wider for result in here if np.isfinite(result.wider)])
        print(
            f"{share!s:>6}{cells[0]:>16}{cells[1]:>16}{np.mean([r.open for r in here]):14.2f}{wider:18.1f}x"
            f"   {len(low)}: "
            + ", ".join(" ".join(r.name) for r in sorted(low, key=lambda r: r.covered[-1])[:5])
        )


def _figures(case: Case, rule: str, share: float, oracle: float) -> Figures:
    """Return the figures of a rule; of the library's own for sums with tiers by many draws in floats."""
    if rule == "now" and case.tiers:
        return drawn_figures(tier_errors(case, share) / oracle)
    return figures(case, share, oracle, RULES[rule](case, share))


def main() -> None:
    asked = options()
    policies = THREE if asked.quick else tuple(POLICIES)
    rows: list[Row] = []
    results: list[Measured] = []
    if asked.library:
        print(f"the library, {asked.runs} runs a case, seed {asked.seed}")
        results = list(measured(asked.data, policies, asked.runs, asked.seed, asked.tail_factor))
        rows = [(result.name, result.share, result.figures) for result in results]
    else:
        print(f"rule {asked.rule}, integrated")
        for case in cases(asked.data, policies):
            for place, share in enumerate(SHARES):
                shape = _figures(case, asked.rule, float(share), case.oracles[place])
                rows.append((case.name, place, shape))
    if asked.each:
        each(rows)
    plain = {name for name, _, _ in rows if name[1] in THREE and name[0] != "two clusters"}
    for title, kept in {"all": {name for name, _, _ in rows}, "three policies, one tier": plain}.items():
        summary(title, [row for row in rows if row[0] in kept])
        if results:
            coverage([result for result in results if result.name in kept], asked.tail_factor)
    for result in results:
        if result.share == 0 and result.name[1] == "inverse" and result.name[0][:4] in ("Norm", "Bank", "SF"):
            print(f"Table 3: {result.name[0]} {result.name[2]}: {result.relative:.4f} %")


if __name__ == "__main__":
    main()
