"""Tables of widths and coverage: lines in files, two runs beside each other, the aims, the hardest cases."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np

HEAVY = ("log-normal 2", "Pareto 1.2", "two clusters", "bump", "CBP")
"""Sets whose largest hundredth falls slower than the power 1.9, by Hill's estimate; all others are above."""
STEEP = ("log-normal 1", "log-normal 1.5", "units", "units, max_rows 20")
HARDEST = (
    ("Bank", ("sum",), "Bank's sum"),
    ("CBP", ("sum",), "CBP's sums"),
    ("bump", ("sum",), "a bump of 200 equal values far out"),
    ("two clusters", ("sum",), "two clusters"),
    ("children", ("mean",), "AVG of children with bounds 0 to 20"),
    ("income", ("mean",), "AVG of income, whose bounds allow negatives"),
    ("steps", ("sum",), "a policy of steps"),
    ("groups of 1,000", ("count", "sum", "mean", "median"), "groups of 1,000 records"),
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table."""

    set: str
    kind: str
    by: str
    share: str
    groups: int
    mass: float
    width: float
    whole: float
    said: float
    worst_said: float
    missing: float
    error: float

    @property
    def name(self) -> tuple[str, str, str, str]:
        """The facts by which two runs are compared."""
        return self.set, self.kind, self.by, self.share

    @property
    def lean(self) -> bool:
        """Whether the groups' budget masses are below those of which the aims speak."""
        return "lean" in self.by

    def __str__(self) -> str:
        """Return it as a line of a Markdown table."""
        numbers = (
            f"{self.mass:.3g} | {self.width:.2f} | {self.whole:.3f} | {self.said:.3f} | "
            f"{self.worst_said:.3f} | {100 * self.missing:.0f} % | {100 * self.error:.3g} %"
        )
        return f"| {self.set} | {self.kind} | {self.by} | {self.share} | {self.groups} | {numbers} |"


HEAD = (
    "| set | kind | | share | groups | mass | width | whole | said | worst | missing | error |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def read(path: Path) -> list[Line]:
    """Read the lines of a run."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    kinds = {field.name: field.type for field in fields(Line)}
    types = {"str": str, "int": int, "float": float}
    return [Line(**{name: types[str(kinds[name])](text) for name, text in row.items()}) for row in rows]


def written(path: Path, table: Sequence[Line]) -> None:
    """Write the lines of a run, whole or not at all."""
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(Line))
        for line in table:
            writer.writerow(f"{each:.4g}" if isinstance(each, float) else each for each in astuple(line))
    part.replace(path)


def summary(table: Sequence[Line]) -> Iterator[str]:
    """Yield medians and worst values by kind and share, of sets rich enough for the aims."""
    heads = "kind | | share | lines | width, median | highest | whole, least | said, least | missing | error"
    yield f"| {heads} |\n{'|---' * 10}|"
    for kind, by, share in dict.fromkeys((line.kind, line.by, line.share) for line in table):
        here = [line for line in table if (line.kind, line.by, line.share) == (kind, by, share)]
        widths = _widths(here)
        errors = [line.error for line in here if line.error > 0]
        yield (
            f"| {kind} | {by} | {share} | {len(here)} | {np.median(widths):.2f} | {max(widths):.2f} | "
            f"{min(line.whole for line in here):.3f} | {min(line.said for line in here):.3f} | "
            f"{100 * np.mean([line.missing for line in here]):.0f} % | {100 * _geometric(errors):.3g} % |"
        )


def _widths(lines: Sequence[Line]) -> list[float]:
    return [line.width for line in lines if math.isfinite(line.width)] or [math.nan]


def _geometric(numbers: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(numbers)))) if numbers else math.nan


Pairs = Sequence[tuple[Line, Line]]


def paired(before: Path, after: Path) -> Pairs:
    """Return the lines that two runs have both."""
    first, second = ({line.name: line for line in read(path)} for path in (before, after))
    return [(first[name], second[name]) for name in first if name in second]


def by_kind(pairs: Pairs) -> Iterator[str]:
    """Yield what two runs came to by kind and share, over lines with a mass of 300 over the share."""
    heads = "kind | | share | lines | width, median | highest | whole, median | said, least | missing"
    yield f"| {heads} |\n{'|---' * 9}|"
    rich = [pair for pair in pairs if not pair[1].lean]
    for name in dict.fromkeys((two.kind, two.share, two.by) for _, two in rich):
        sides = list(zip(*(pair for pair in rich if name == _kind_of(pair[1])), strict=True))
        cells = (
            _change(sides, lambda side: float(np.median(_widths(side))), 1),
            _change(sides, lambda side: max(_widths(side)), 1),
            _change(sides, lambda side: float(np.median([line.whole for line in side])), 3),
            _change(sides, lambda side: min(line.said for line in side), 3),
            _change(sides, lambda side: 100 * float(np.mean([line.missing for line in side])), 0) + " %",
        )
        kind, share, by = name
        yield f"| {kind} | {by} | {share} | {len(sides[0])} | {' | '.join(cells)} |"


def _kind_of(line: Line) -> tuple[str, str, str]:
    return line.kind, line.share, line.by


def _change(sides: Sequence[Sequence[Line]], figure: Callable[[Sequence[Line]], float], digits: int) -> str:
    """Return a figure of the lines before and after."""
    return " → ".join(f"{figure(side):.{digits}f}" for side in sides)


def warmed(pairs: Pairs, lines: Sequence[Line]) -> Iterator[str]:
    """Yield what answers came to that start from an earlier one, beside those that do not."""
    yield f"| kind | lines | width | highest | error | said, least |\n{'|---' * 6}|"
    alone = {(two.set, two.kind, two.share): two for _, two in pairs if two.by.startswith("alone")}
    warm = [
        (alone[key], line)
        for line in lines
        if ", warm" in line.by and (key := (line.set, line.kind, line.share)) in alone
    ]
    for kind in dict.fromkeys(line.kind for _, line in warm):
        here = [(cold, line) for cold, line in warm if line.kind == kind]
        widths = [line.width / cold.width for cold, line in here]
        errors = _geometric([line.error / cold.error for cold, line in here])
        said = min(line.said for _, line in here)
        yield (
            f"| {kind} | {len(here)} | × {np.median(widths):.2f} | × {max(widths):.2f} | "
            f"× {errors:.2f} | {said:.3f} |"
        )


def compared(pairs: Pairs) -> Iterator[str]:
    """Yield every line of two runs beside each other."""
    yield f"| set | kind | | share | width | whole | said | missing | error |\n{'|---' * 9}|"
    for one, two in pairs:
        grown = two.error / one.error if one.error else 1
        yield f"| {' | '.join(one.name)} | {_changes(one, two)} | × {grown:.2f} |"


def _changes(one: Line, two: Line) -> str:
    return (
        f"{_width(one)} → {_width(two)} | {one.whole:.3f} → {two.whole:.3f} | "
        f"{one.said:.3f} → {two.said:.3f} | {100 * one.missing:.0f} → {100 * two.missing:.0f} %"
    )


def _width(line: Line) -> str:
    return f"{line.width:.1f}" if math.isfinite(line.width) else "-"


@dataclass(frozen=True, slots=True)
class Aim:
    """What intervals are to reach on some lines: a width, a coverage and no missing ends."""

    about: str
    holds_for: Callable[[Line], bool]
    width: float = math.inf
    coverage: float = 0
    missing: float = 1
    of_said: bool = False

    def misses(self, line: Line) -> bool:
        """Return whether a line is wider, covers less or lacks more ends than was aimed at."""
        covered = line.said if self.of_said else line.whole
        return line.width > self.width or covered < self.coverage or line.missing > self.missing


def _added(line: Line) -> bool:
    return line.kind in ("sum", "mean")


AIMS = (
    Aim(
        "counts",
        lambda line: line.kind == "count" and not (line.share == "1/100" and line.by == "by group"),
        width=3,
        coverage=0.95,
    ),
    Aim(
        "counts by group at 1/100",
        lambda line: line.kind == "count" and line.share == "1/100" and line.by == "by group",
        width=3,
        coverage=0.90,
    ),
    Aim(
        "sums, means ≥ 1,000",
        lambda line: _added(line) and line.set not in (*HEAVY, *STEEP) and line.mass >= 1_000,
        width=4,
        coverage=0.93,
    ),
    Aim(
        "log-normal 1 and 1.5",
        lambda line: _added(line) and line.set in STEEP and line.mass >= 1_000,
        width=10,
        coverage=0.93,
    ),
    Aim(
        "sums, means < 1,000",
        lambda line: _added(line) and line.set not in HEAVY and line.mass < 1_000,
        width=4,
        coverage=0.93,
    ),
    Aim(
        "sums, means, heavy",
        lambda line: _added(line) and line.set in HEAVY and line.mass >= 1_000,
        width=4,
        coverage=0.85,
    ),
    *(
        Aim(
            f"medians, share {share}",
            lambda line, share=share: line.kind == "median" and line.share == share,  # type: ignore[misc]
            width=width,
            coverage=0.95,
            of_said=True,
        )
        for share, width in (("1", 4), ("1/10", 4), ("1/100", 7))
    ),
    Aim("missing ends by group", lambda line: line.by == "by group", missing=0.01),
)


def aims(pairs: Pairs) -> Iterator[str]:
    """Yield the aims, before and after, over lines with a mass of 300 over the share; then the errors."""
    heads = "aim | lines | width: aim | median | highest | coverage: aim | median | least | missing | met"
    yield f"| {heads} |\n{'|---' * 10}|"
    rich = [pair for pair in pairs if not pair[1].lean]
    for aim in AIMS:
        here = [pair for pair in rich if aim.holds_for(pair[1])]
        if here:
            yield _aimed(aim, here)
    yield ""
    yield "Errors, after over before, geometric means ± their standard errors over lines:"
    for kind in dict.fromkeys(one.kind for one, _ in rich):
        logs = [
            math.log(two.error / one.error)
            for one, two in rich
            if one.kind == kind and one.error > 0 and two.error > 0
        ]
        spread = float(np.std(logs) / math.sqrt(len(logs)))
        yield f"{kind} × {math.exp(float(np.mean(logs))):.3f} ± {spread:.3f} ({len(logs)} lines);"
    yield ""
    after = [two for _, two in pairs]
    yield from _least_said(after)


def _aimed(aim: Aim, pairs: Pairs) -> str:
    sides: Sequence[Sequence[Line]] = list(zip(*pairs, strict=True))

    def covered(line: Line) -> float:
        return line.said if aim.of_said else line.whole

    cells = (
        aim.about,
        f"{len(pairs)}",
        f"{aim.width:g}" if math.isfinite(aim.width) else "",
        _change(sides, lambda side: float(np.median(_widths(side))), 1),
        _change(sides, lambda side: max(_widths(side)), 1),
        f"{aim.coverage:.2f}" if aim.coverage else "",
        _change(sides, lambda side: float(np.median([covered(line) for line in side])), 3),
        _change(sides, lambda side: min(covered(line) for line in side), 3),
        _change(sides, lambda side: 100 * float(np.mean([line.missing for line in side])), 0) + " %",
        _change(sides, lambda side: sum(not aim.misses(line) for line in side), 0),
    )
    return f"| {' | '.join(cells)} |"


def _least_said(lines: Sequence[Line]) -> Iterator[str]:
    low = sorted((line for line in lines if line.said < 0.95), key=lambda line: line.said)
    yield f"What is said holds in less than 95 % on {len(low)} of {len(lines)} lines; after:"
    for line in low:
        yield f"- {', '.join(line.name)}: {line.said:.3f} ({line.groups} groups)"


def hardest(pairs: Pairs) -> Iterator[str]:
    """Yield the hardest cases by name, before and after."""
    yield f"| case | kind | | share | width | whole | said | missing |\n{'|---' * 8}|"
    found: Mapping[tuple[str, str, str, str], tuple[Line, Line]] = {pair[1].name: pair for pair in pairs}
    for name, kinds, about in HARDEST:
        for key, (one, two) in found.items():
            if key[0] == name and key[1] in kinds:
                yield f"| {about} | {key[1]} | {key[2]} | {key[3]} | {_changes(one, two)} |"
