"""What holds of every experiment of the paper: its results do not depend on how they are shown."""

from __future__ import annotations

import ast
import builtins
import inspect

import pytest

from experiments.paper.catalogue import EXPERIMENTS
from experiments.paper.experiment import Experiment
from experiments.paper.job import SHOWN


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_work_uses_nothing_that_is_below_the_line(experiment: Experiment) -> None:
    """What is below is no part of the digest, so a result that used it could be stale."""
    module = inspect.getmodule(experiment.jobs)
    assert module is not None
    working, line, shown = inspect.getsource(module).partition(SHOWN)
    assert line
    nodes = list(ast.walk(ast.parse(working)))
    used = {node.id for node in nodes if isinstance(node, ast.Name)} - set(dir(builtins))
    below = {node.name for node in ast.parse(shown).body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert "section" in below
    assert not used & below
