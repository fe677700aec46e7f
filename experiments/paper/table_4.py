"""Table 4 (Appendix B): every way to count clients in the local model, beside the printed errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow

from experiments.datasets import comparable, find
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Columns, Job, Label
from experiments.paper.report.parts import Kind, Row, Section, Table, number
from experiments.paper.report.tails import HEADER, SPREAD, tail_row, with_error
from experiments.paper.results import Measures, measured
from experiments.paper.seeds import batches, places
from experiments.studies import COUNTS, DEFAULT, EXACT_LAPLACE, NAIVE, PRINTED, errors
from prdp.local import Crowd
from prdp.policy import Policy


def jobs(config: Config, context: Context) -> list[Job]:
    """Return a job for each way to count, on each set that can be had."""
    return [
        Job(
            "table_4",
            (("set", data), ("method", name)),
            counted,
            (data, name, config["runs"], context.seeds(data, config["seeds"]), context.data),
        )
        for data in context.present(context.sets_of(config))
        for name in COUNTS
    ]


def counted(data: str, name: str, runs: int, seeds: tuple[int, ...], folder: Path | None) -> Columns:
    """Return the errors of so many runs, and which of the seeds drew them."""
    study = COUNTS[name]
    crowd = _crowd(data, study.policy, folder)
    drawn = [errors(study, crowd, len(crowd), size, seed) for seed, size in batches(runs, seeds)]
    return {"error": np.concatenate(drawn), "seed": places(runs, seeds)}


@lru_cache(maxsize=2)
def _crowd(data: str, policy: Policy, folder: Path | None) -> Crowd:
    found = find(data, folder)
    if found is None:
        raise FileNotFoundError(f"{data} is not in {folder}")
    return Crowd.of({"v": found.values}, policy)


# Below: how results are shown. They do not depend on it.


Found = Mapping[tuple[Label, ...], Measures]

_KINDS: dict[str, Kind] = {DEFAULT: "ours", PRINTED: "paper", NAIVE: "baseline"}


def section(config: Config, context: Context, results: pyarrow.Table) -> Section:
    """Return the section."""
    found = measured(results, ("set", "method"))
    sets = context.present(context.sets_of(config))
    parts: list[Table | str] = [*context.absent(context.sets_of(config))]
    parts += [trimmed_errors(sets, found, config), tails(sets, found, config)]
    return Section(config["title"], config["about"], tuple(parts), tuple(findings(sets, found, config)))


def trimmed_errors(sets: Sequence[str], found: Found, config: Config) -> Table:
    """Return trimmed means with their standard errors, published figures first."""
    rows = [
        Row((f"{name}, as published", *(printed.get(data, "–") for data in sets)), "published")
        for name, printed in config["published"].items()
    ]
    for name in COUNTS:
        cells = (with_error(found[data, name]) for data in sets)
        rows.append(Row((name, *cells), _KINDS.get(name, "")))
    caption = f"Local count: error in %, {config['runs']:,} runs, a fifth left out at each end, ± s.e."
    return Table(caption, ("", *sets), tuple(rows))


def tails(sets: Sequence[str], found: Found, config: Config) -> Table:
    """Return median, 90th and 99th percentile and mean of every run, none left out."""
    rows = tuple(
        tail_row(f"{data}: {name}", found[data, name], _KINDS.get(name, ""))
        for data in sets
        for name in COUNTS
    )
    return Table(f"Local count: error in %, all runs; {SPREAD.format(config['seeds'])}", HEADER, rows)


def findings(sets: Sequence[str], found: Found, config: Config) -> Iterator[str]:
    """Say what the section shows, in sentences for the summary."""
    printed = config["published"]["Algorithms 3 and 4"]
    for data in sets:
        if data in printed and comparable(data):
            faithful, exact, default = (
                number(found[data, name].trimmed) for name in (PRINTED, EXACT_LAPLACE, DEFAULT)
            )
            yield (
                f"Local count on {data}: {printed[data]} % in the paper; its algorithms as printed give "
                f"{faithful} % here, with the exact threshold {exact} %, and the default {default} %."
            )
    worse = [
        f"{data} ({number(ours.value)} against {number(printed.value)} %)"
        for data in sets
        if (ours := found[data, DEFAULT].p99).value > (printed := found[data, PRINTED].p99).value
    ]
    if worse:
        yield (
            "Local counts: the exact threshold lets an empty domain pass now and then, so that the default's "
            f"99th percentile is above that of the printed algorithms on {', '.join(worse)}."
        )
