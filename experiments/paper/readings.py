"""What the paper leaves open in Algorithms 2 and 4: readings of it, beside the printed figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow

from experiments.baselines.two_stages import Reading, answers, local_counts, scan_runs_on
from experiments.datasets import SETS, File, comparable
from experiments.paper.answering import BY_NAME
from experiments.paper.experiment import Config, Context, config_of, published
from experiments.paper.job import Columns, Job, Label
from experiments.paper.report.parts import Kind, Row, Section, Table, number
from experiments.paper.results import Band, grouped, measured
from experiments.paper.setting import Setting
from experiments.problem import Question
from experiments.yardsticks import Floats, trimmed

_HALF, _WHOLE, _TWO_THIRDS = Fraction(1, 2), Fraction(1), Fraction(2, 3)
HALVES = "halves, slack 6"
THREE_QUARTERS = "halves, three quarters of the slack"
FITTING: Mapping[Question, str] = {"sum": "first stage whole, slack 1", "max": "both whole"}
READINGS: Mapping[Question, Mapping[str, Reading]] = {
    "sum": {
        HALVES: Reading(_HALF, _HALF),
        "first stage whole, slack 6": Reading(_WHOLE, _HALF),
        "M whole, slack 6": Reading(_HALF, _WHOLE),
        "both whole, slack 6": Reading(_WHOLE, _WHOLE),
        "halves, slack 1": Reading(_HALF, _HALF, scan=1),
        FITTING["sum"]: Reading(_WHOLE, _HALF, scan=1),
        "both whole, slack 1": Reading(_WHOLE, _WHOLE, scan=1),
        "first stage whole, slack 1, at share 2/3": Reading(_WHOLE, _HALF, scan=1, share=_TWO_THIRDS),
    },
    "max": {
        "halves": Reading(_HALF, _HALF),
        THREE_QUARTERS: Reading(_HALF, _HALF, above=Fraction(3, 2)),
        "first stage whole": Reading(_WHOLE, _HALF),
        "M whole": Reading(_HALF, _WHOLE),
        FITTING["max"]: Reading(_WHOLE, _WHOLE),
        "both whole, at share 1/2": Reading(_WHOLE, _WHOLE, share=_HALF),
    },
}
QUESTIONS: tuple[Question, ...] = ("sum", "max")
LOCAL = "local count"
EXTENSION = "extension"
AT_E = "first stage whole, slack 1, at share 2/3"
CLAIMED = (HALVES, FITTING["sum"], AT_E)
"""The readings under which the framework is compared with the extension on real data."""


def jobs(config: Config, context: Context) -> list[Job]:
    """Return a job for each set, question and reading, and for each local threshold."""
    sets = context.present(printed_sets(config, context))
    seeds = {data: context.seeds(data) for data in sets}
    central = [
        Job(
            "readings",
            (("set", data), ("question", question), ("reading", name)),
            read,
            (Setting(data, question=question), reading, config["runs"], *seeds[data], context.data),
        )
        for data in sets
        for question in QUESTIONS
        for name, reading in READINGS[question].items()
    ]
    local = [
        Job(
            "readings",
            (("set", data), ("question", LOCAL), ("reading", multiple)),
            counted,
            (Setting(data, question="count"), multiple, config["local_runs"], *seeds[data], context.data),
        )
        for data in sets
        if data in local_figures()
        for multiple in config["multiples"]
    ]
    return central + local + claim_jobs(context.present(real_sets(config, context)), config, context)


def claim_jobs(sets: Sequence[str], config: Config, context: Context) -> list[Job]:
    """Return jobs for the sums of the extension, and of the framework where the paper prints none."""
    printed = printed_sets(config, context)
    found = []
    for data in sets:
        setting, seed = Setting(data), context.seeds(data)[0]
        labels = (("set", data), ("question", "sum"))
        asked = (setting, config["runs"], seed, context.data)
        found.append(Job("readings", (*labels, ("reading", EXTENSION)), extended, asked))
        if data not in printed:
            found += [
                Job(
                    "readings",
                    (*labels, ("reading", name)),
                    read,
                    (setting, READINGS["sum"][name], config["runs"], seed, context.data),
                )
                for name in CLAIMED
            ]
    return found


def real_sets(config: Config, context: Context) -> list[str]:
    """Return the real sets of the run."""
    return [data for data in context.sets_of(config) if isinstance(SETS[data], File)]


def extended(setting: Setting, runs: int, seed: int, folder: Path | None) -> Columns:
    """Return errors of a sum by the extension of Algorithm 1."""
    problem = setting.problem(folder)
    found = BY_NAME["Algorithm 1"].answers(problem, runs, seed)
    return {"answer": found, "error": problem.errors(found), "dropped": np.full(runs, np.nan)}


def printed_sets(config: Config, context: Context) -> list[str]:
    """Return the sets of the run whose printed figures can be compared with."""
    printed = published("sum")["Algorithm 2"]
    return [data for data in context.sets_of(config) if data in printed and comparable(data)]


def local_figures() -> dict[str, float]:
    """Return the printed errors of Algorithms 3 and 4, by set."""
    printed = config_of("table_4")["published"]["Algorithms 3 and 4"]
    return {data: float(figure) for data, figure in printed.items()}


def read(setting: Setting, reading: Reading, runs: int, seed: int, folder: Path | None) -> Columns:
    """Return errors under one reading; what it costs may be more than E(r)."""
    problem = setting.problem(folder)
    found, dropped = answers(problem, reading, runs, np.random.default_rng([seed, 2]))
    return {"answer": found, "error": problem.errors(found), "dropped": dropped}


def counted(setting: Setting, threshold: str, runs: int, seed: int, folder: Path | None) -> Columns:
    """Return errors of a local count with the threshold c·√n/ε."""
    problem = setting.problem(folder)
    found, _ = local_counts(problem, multiple(threshold), runs, np.random.default_rng([seed, 4]))
    return {"answer": found, "error": problem.errors(found), "dropped": np.full(runs, np.nan)}


def multiple(threshold: str) -> float:
    """Return c from a number, or from "√k ln(L/β)"; L is 34 and β 1/10."""
    if threshold.startswith("√"):
        return math.sqrt(int(threshold[1])) * math.log(340)
    return float(threshold)


# Below: how results are shown. They do not depend on it.


Errors = Mapping[tuple[Label, ...], Floats]


def section(config: Config, context: Context, results: pyarrow.Table) -> Section:
    """Return the section."""
    named = printed_sets(config, context)
    sets = context.present(named)
    if not sets:
        nothing = (*context.absent(named), "The paper prints no figures of this run's sets.")
        return Section(config["title"], config["about"], nothing)
    errors = grouped(results, ("set", "question", "reading"))
    tables = [central_table(question, sets, errors, results, config) for question in QUESTIONS]
    real = context.present(real_sets(config, context))
    further = (*claim_table(real, errors), *local_table(sets, errors, config))
    parts: tuple[Table | str, ...] = (*context.absent(named), *tables, *further)
    found = (*findings(sets, errors), *claim_findings(real, errors))
    return Section(config["title"], config["about"], parts, found)


def claim_table(sets: Sequence[str], errors: Errors) -> Iterator[Table]:
    """Yield the paper's claim that the framework's sums are ahead of the extension's on real data."""
    if not sets:
        return
    columns = (EXTENSION, *CLAIMED)
    found = {(data, name): trimmed(errors[data, "sum", name]) for data in sets for name in columns}
    rows = tuple(
        Row(
            (
                data,
                *(
                    f"{number(mean)} ± {number(error, 1)}"
                    for mean, error in (found[data, n] for n in columns)
                ),
            )
        )
        for data in sets
    )
    costs = ("E", *(f"{number(float(READINGS['sum'][name].cost))} E" for name in CLAIMED))
    header = ("", *(f"{name} ({cost})" for name, cost in zip(columns, costs, strict=True)))
    yield Table("Sums on real data, error in %: is the framework ahead of the extension?", header, rows)


def claim_findings(sets: Sequence[str], errors: Errors) -> Iterator[str]:
    """Say of each reading on which real sets the framework is ahead of the extension, behind, or level."""
    for name in CLAIMED if sets else ():
        words = []
        for data in sets:
            (here, error), (other, its) = (trimmed(errors[data, "sum", n]) for n in (name, EXTENSION))
            level = abs(here - other) <= 2 * math.hypot(error, its) or abs(here / other - 1) < 0.03
            words.append(f"{'level' if level else 'ahead' if here < other else 'behind'} on {data}")
        yield f"The framework's sums ({name}) beside the extension's: {', '.join(words)}."


def central_table(
    question: Question, sets: Sequence[str], errors: Errors, results: pyarrow.Table, config: Config
) -> Table:
    """Return the errors of each reading with their multiples of the printed figures."""
    printed = published(question)["Algorithm 2"]
    lost = measured(results, ("set", "question", "reading"), "dropped")
    rows = [Row(("as published", "E, it says", *(number(printed[data]) for data in sets)), "published")]
    for name, reading in READINGS[question].items():
        cells = (_beside(errors[data, question, name], printed[data]) for data in sets)
        rows.append(Row((name, f"{number(float(reading.cost))} E", *cells), _kind(question, name)))
    if question == "sum":
        for name in (HALVES, FITTING["sum"]):
            parts = (number(lost[data, question, name].trimmed) for data in sets)
            rows.append(Row((f"dropped records, {name}", "", *parts), "yardstick"))
    caption = (
        f"{question}: error in %, {config['runs']:,} runs, a fifth left out at each end; in brackets its "
        "multiple of the printed figure and the printed figure's percentile among means of 50 runs"
    )
    return Table(caption, ("", "costs", *sets), tuple(rows))


def _kind(question: Question, name: str) -> Kind:
    return "paper" if name == FITTING[question] else ""


def _beside(errors: Floats, printed: float) -> str:
    here, band = trimmed(errors)[0], Band.of(errors, printed)
    return f"{number(here)} ({number(here / printed, 2)}; p {band.place:.3g})"


def local_table(sets: Sequence[str], errors: Errors, config: Config) -> Iterator[Table]:
    """Yield the errors of a local count by its threshold."""
    printed = {data: figure for data, figure in local_figures().items() if data in sets}
    if not printed:
        return
    rows = [Row(("as published", *map(number, printed.values())), "published")]
    for threshold in config["multiples"]:
        cells = (_beside(errors[data, LOCAL, threshold], figure) for data, figure in printed.items())
        value = f" = {multiple(threshold):.4g}" if "√" in threshold else ""
        rows.append(Row((f"c = {threshold}{value}", *cells)))
    caption = f"Local count with the threshold c √n / ε: error in %, {config['local_runs']:,} runs, as above"
    yield Table(caption, ("", *printed), tuple(rows))


def fitting(context: Context, results: pyarrow.Table) -> Iterator[str]:
    """Say which readings fit the printed figures, from the results of a run, for its first screen."""
    sets = context.present(printed_sets(config_of("readings", quick=context.quick), context))
    return fits(sets, grouped(results, ("set", "question", "reading"))) if sets else iter(())


def findings(sets: Sequence[str], errors: Errors) -> Iterator[str]:
    """Say which readings fit, and what that means."""
    yield from fits(sets, errors)
    yield (
        f"With the slack 1 the sum's scan runs on past the largest value in {100 * scan_runs_on(1):.0f} % of "
        f"the runs, with 6 in {100 * scan_runs_on(6):.2g} %; the paper allows 5 %."
    )


def fits(sets: Sequence[str], errors: Errors) -> Iterator[str]:
    """Say which readings give all printed figures of a question."""
    for question in QUESTIONS:
        printed = published(question)["Algorithm 2"]
        names = [
            f"{name}, which costs {number(float(reading.cost))} E(r)"
            for name, reading in READINGS[question].items()
            if all(0.8 <= trimmed(errors[data, question, name])[0] / printed[data] <= 1.25 for data in sets)
        ]
        yield (
            f"Readings of Algorithm 2 that give every printed {question} within a factor of 1.25: "
            f"{'; '.join(names) or 'none'}."
        )
