"""The paper's algorithms on Zipf sets of every scale."""

from __future__ import annotations

from experiments.paper.answering import answered
from experiments.paper.experiment import Config, Context
from experiments.paper.job import Job
from experiments.paper.setting import Setting


def jobs(config: Config, context: Context) -> list[Job]:
    """Return a job for each of the four printed figures, on each set and scale."""
    found = []
    for data in config["sets"]:
        for scale in config["scales"]:
            for cell in config["cells"]:
                method, question = cell["method"], cell["question"]
                labels = (("set", data), ("scale", scale), ("method", method), ("question", question))
                setting = Setting(data, question=question, scale=scale)
                asked = (setting, method, config["runs"], context.seed, None)
                found.append(Job("zipf_scale", labels, answered, asked))
    return found
