"""Which scale of the Zipf values would give the printed figures?"""

from __future__ import annotations

import pyarrow

from experiments.datasets import SETS, Zipf
from experiments.paper.answering import answered
from experiments.paper.experiment import Config, Context, published
from experiments.paper.job import Job
from experiments.paper.report.parts import Row, Section, Table, number
from experiments.paper.results import measured
from experiments.paper.setting import Setting


def jobs(config: Config, context: Context) -> list[Job]:
    """Return a job for each of the four printed figures, on each set and scale."""
    found = []
    for data in scaled_sets(context):
        for scale in config["scales"]:
            for cell in config["cells"]:
                method, question = cell["method"], cell["question"]
                labels = (("set", data), ("scale", scale), ("method", method), ("question", question))
                setting = Setting(data, question=question, scale=scale)
                asked = (setting, method, config["runs"], context.seeds(setting.name), None)
                found.append(Job("zipf_scale", labels, answered, asked))
    return found


def scaled_sets(context: Context) -> list[str]:
    """Return the Zipf sets of the run that the paper has."""
    printed = published("max")["Algorithm 2"]
    return [data for data in context.sets if isinstance(SETS[data], Zipf) and data in printed]


# Below: how results are shown. They do not depend on it.


Ratios = dict[int, tuple[float, ...]]


def section(config: Config, context: Context, results: pyarrow.Table) -> Section:
    """Return the section."""
    sets = scaled_sets(context)
    if not sets:
        return Section(config["title"], config["about"], ("None of the paper's Zipf sets is in this run.",))
    found = {key: m.trimmed for key, m in measured(results, ("set", "scale", "method", "question")).items()}
    parts: list[Table] = []
    findings: list[str] = []
    every: dict[int, tuple[float, ...]] = dict.fromkeys(config["scales"], ())
    for data in sets:
        printed = [published(cell["question"])[cell["method"]][data] for cell in config["cells"]]
        errors = {
            scale: tuple(found[data, scale, cell["method"], cell["question"]] for cell in config["cells"])
            for scale in config["scales"]
        }
        ratios = {
            scale: tuple(error / figure for error, figure in zip(row, printed, strict=True))
            for scale, row in errors.items()
        }
        parts.append(table(data, printed, errors, ratios, config))
        findings.append(finding(data, ratios, config["near"]))
        every = {scale: (*before, *ratios[scale]) for scale, before in every.items()}
    findings.append(finding("Both Zipf sets at one scale", every, config["near"]))
    return Section(config["title"], config["about"], tuple(parts), tuple(findings))


def table(data: str, printed: list[float], errors: Ratios, ratios: Ratios, config: Config) -> Table:
    """Return a row for each scale: the four errors, and how far the worst of them is off."""
    rows = [Row(("as published", *map(number, printed), "–"), "published")]
    for scale, row in errors.items():
        pairs = zip(row, ratios[scale], strict=True)
        cells = (f"{number(error)} ({number(ratio, 2)})" for error, ratio in pairs)
        rows.append(Row((f"s = {scale:,}", *cells, number(off(ratios[scale]), 2)), "paper"))
    heads = (f"{cell['method']}, {cell['question']}" for cell in config["cells"])
    runs = f"{config['runs']:,} runs, a fifth left out at each end"
    caption = f"{data}: error in % (multiple of the published), {runs}"
    return Table(caption, ("", *heads, "worst"), tuple(rows))


def off(ratios: tuple[float, ...]) -> float:
    """Return the factor by which the worst is off, upwards or downwards."""
    return max(max(ratio, 1 / ratio) if ratio > 0 else float("inf") for ratio in ratios)


def finding(asked: str, ratios: Ratios, near: float) -> str:
    """Say which scale comes closest, and how many fit."""
    best = min(ratios, key=lambda scale: off(ratios[scale]))
    fitting = [scale for scale in ratios if off(ratios[scale]) <= near]
    which = f"scale {', '.join(f'{scale:,}' for scale in fitting)}" if fitting else "no scale tried"
    return (
        f"{asked}: {which} gives all published figures within a factor of {near}; the closest is "
        f"{best:,}, where the worst is off by a factor of {number(off(ratios[best]), 2)}."
    )
