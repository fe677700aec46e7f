"""Sets and methods are listed once: words choose among them, and a set that is not the paper's fits in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from rich.console import Console

from experiments.datasets import SETS, File, Zipf
from experiments.methods import METHODS
from experiments.paper.catalogue import EXPERIMENTS
from experiments.paper.experiment import Context, Experiment
from experiments.paper.options import chosen, options
from experiments.paper.report.page import page
from experiments.paper.report.parts import Section, Table
from experiments.paper.runner import collect, run

ALSO = {method.name: method.also for method in METHODS}
WITH_SETS = ("table_2", "table_3", "readings", "zipf_scale", "table_4", "times", "slowly_scaling")


def made(experiment: Experiment, context: Context, out: Path) -> Section:
    """Do an experiment's jobs with few runs, here, and return its section."""
    config = {**experiment.config(quick=True), "runs": 20, "repeats": 1}
    config["values"] = [1_000, 2_000]  # of Figure 3
    jobs = experiment.jobs(config, context)
    run(jobs, out, "", Console(quiet=True), alone=True)
    results = collect(jobs, out, "").get(experiment.name, pyarrow.table({}))
    return experiment.section(config, context, results)


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a set that the paper knows nothing of, in a file of its own."""
    values = np.random.default_rng(0).integers(100, 10_000, 300)
    pyarrow.parquet.write_table(pyarrow.table({"v": values}), tmp_path / "mine.parquet")
    monkeypatch.setitem(SETS, "Mine", File("mine.parquet", "v"))
    return "Mine"


@pytest.mark.parametrize(
    "experiment", [e for e in EXPERIMENTS if e.name in WITH_SETS], ids=lambda experiment: experiment.name
)
def test_a_set_without_printed_figures_breaks_no_page(
    experiment: Experiment, mine: str, tmp_path: Path
) -> None:
    section = made(experiment, Context(tmp_path, 0, quick=True, asked=(mine,)), tmp_path)
    assert section.title in page("", "", [section], {}, "", brief=True)


def test_a_new_set_has_a_column_beside_the_others_and_a_dash_for_what_is_not_printed(
    mine: str, tmp_path: Path
) -> None:
    table_3 = next(e for e in EXPERIMENTS if e.name == "table_3")
    context = Context(tmp_path, 0, quick=True, asked=("Zipf(3)", mine), methods=METHODS[:2])
    count = made(table_3, context, tmp_path).parts[0]
    assert isinstance(count, Table)
    assert count.header == ("", "Zipf(3)", "Mine")
    published = [row.cells for row in count.rows if row.kind == "published"]
    assert {cells[2] for cells in published} == {"–"}
    assert "–" not in {cells[1] for cells in published}


def test_a_new_zipf_set_is_not_asked_for_its_scale(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(SETS, "Zipf(4)", Zipf(4))
    zipf_scale = next(e for e in EXPERIMENTS if e.name == "zipf_scale")
    section = made(zipf_scale, Context(None, 0, quick=True, asked=("Zipf(4)",)), tmp_path)
    assert not any(isinstance(part, Table) for part in section.parts)


def test_a_word_chooses_by_name_by_another_name_or_by_how_names_begin() -> None:
    assert chosen("Zipf,bank", dict.fromkeys(SETS, ())) == ("Zipf(3)", "Zipf(5)", "Bank")
    assert chosen("Normal(50k)", dict.fromkeys(SETS, ())) == ("Normal(50k)",)
    assert chosen("partition, clip", ALSO) == ("default", "Algorithm 1")
    assert chosen("framework", ALSO) == ("Algorithm 2", "Algorithm 2, split 1/4")
    assert chosen("Algorithm 2", ALSO) == ("Algorithm 2",)
    assert chosen(None, ALSO) == ()


@pytest.mark.parametrize("word", ["Bonk", "", "Bank,"])
def test_a_word_that_chooses_nothing_is_refused_with_the_names(word: str) -> None:
    with pytest.raises(LookupError, match="Bank; SF"):
        chosen(word or ",", dict.fromkeys(SETS, ()))


def test_the_default_stays_among_the_methods_since_all_are_compared_with_it(tmp_path: Path) -> None:
    asked = options(None, ["--methods", "partition", "--out", str(tmp_path)])
    assert [method.name for method in asked.context.methods] == ["default", "Algorithm 1"]
    assert asked.partial


def test_sets_that_are_all_missing_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        options(None, ["--sets", "Bank", "--out", str(tmp_path)])
    assert "bank.parquet is not in a folder given by --data" in capsys.readouterr().err


def test_an_experiment_has_all_sets_but_those_it_leaves_out_and_those_asked_for_in_any_case() -> None:
    config = {"left_out": ["Zipf(5)"]}
    assert Context(None, 0, quick=False).sets_of(config) == [name for name in SETS if name != "Zipf(5)"]
    assert Context(None, 0, quick=False, asked=("Zipf(5)",)).sets_of(config) == ["Zipf(5)"]


@pytest.mark.parametrize("words", ["default", "framework"])
@pytest.mark.parametrize("name", ["table_3", "figure_3", "times"])
def test_any_choice_of_methods_gives_a_page(name: str, words: str, mine: str, tmp_path: Path) -> None:
    experiment = next(e for e in EXPERIMENTS if e.name == name)
    kept = tuple(method for method in METHODS if method.name in ("default", *chosen(words, ALSO)))
    assert made(experiment, Context(tmp_path, 0, quick=True, asked=(mine,), methods=kept), tmp_path).parts
