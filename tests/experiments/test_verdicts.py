"""The report's first screen: a verdict on each of the 48 printed errors, a computed title, colours apart."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow
import pytest

from experiments.datasets import SETS, MadeUp, find
from experiments.methods import METHODS
from experiments.paper.environment import environment
from experiments.paper.experiment import Context, published
from experiments.paper.options import options
from experiments.paper.report.figures import LOOKS
from experiments.paper.report.page import page
from experiments.paper.results import as_csv
from experiments.paper.verdicts import best_printed, counts, title, verdict_section, verdicts
from experiments.problem import QUERIES
from experiments.yardsticks import Floats


def results(error: float) -> pyarrow.Table:
    """Return runs around so many times each printed figure, and a default at half of the best."""
    random = np.random.default_rng(0)
    rows: dict[str, list[object]] = {name: [] for name in ("set", "question", "method", "run", "error")}
    for question in QUERIES:
        for method, figures in published(question).items():
            for data, printed in figures.items():
                for run, x in enumerate(printed * random.uniform(error - 0.5, error + 0.5, 500)):
                    for name, value in zip(rows, (data, question, method, run, x), strict=True):
                        rows[name].append(value)
        for data in SETS:
            for run in range(5):
                for name, value in zip(rows, (data, question, "default", run, 1e-6), strict=True):
                    rows[name].append(value)
    return pyarrow.table(rows)


def with_files(folder: Path) -> Context:
    for name in ("bank", "sf_salary"):
        (folder / f"{name}.parquet").write_bytes(b"")
    return Context(folder, 0, quick=False)


def test_all_48_cells_have_a_verdict(tmp_path: Path) -> None:
    found = verdicts(with_files(tmp_path), results(1.0))
    assert len(found) == 48
    assert counts(found) == {"inside": 24, "off": 0, "unknown": 24, "omitted": 0, "absent": 0}
    assert counts(verdicts(with_files(tmp_path), results(2.0)))["off"] == 24


def test_a_set_that_a_run_leaves_out_is_not_said_to_lack_data(tmp_path: Path) -> None:
    """A quick run leaves out SF, whose file is there."""
    kept = [row for row in results(1.0).to_pylist() if row["set"] != "SF"]
    found = verdicts(with_files(tmp_path), pyarrow.Table.from_pylist(kept))
    assert counts(found)["omitted"] == 6
    text = page("", "", [], {}, "", brief=True, first=verdict_section(found, ["A remark."]))
    assert text.count("<br>not run</td>") == 6
    assert "<br>no data</td>" not in text
    assert "6 were not run." in text
    assert text.index("<p>A remark.</p>") < text.index("<table>")


def test_a_set_without_data_is_stated_to_have_none() -> None:
    table = results(1.0)
    kept = [row for row in table.to_pylist() if row["set"] not in ("Bank", "SF")]
    found = verdicts(Context(None, 0, quick=False), pyarrow.Table.from_pylist(kept))
    assert counts(found)["absent"] == 12
    text = page("", "", [], {}, "", brief=True, first=verdict_section(found))
    assert text.count("<br>no data</td>") == 12
    assert "<br>not run</td>" not in text
    assert text.count("class=inside") == 12


def test_the_title_says_that_the_default_beats_the_paper_only_where_it_does(tmp_path: Path) -> None:
    found = verdicts(with_files(tmp_path), results(1.0))
    assert "24 of 24 comparable figures reproduced" in title(found)
    assert "beats the best printed figure in 12 of 12 cells" in title(
        found, best_printed(found, results(1.0))
    )
    assert "beats" not in title(found, iter([(2.0, 1.0), (1.0, 1.0)]))


def test_a_made_up_set_has_the_printed_statistics() -> None:
    for name, source in SETS.items():
        if isinstance(source, MadeUp):
            made = find(name, None)
            assert made is not None
            values = made.values
            assert values.size == source.size
            assert values.max() == source.largest
            assert values.min() >= source.least
            assert values.mean() == pytest.approx(source.mean, rel=1e-3)
            assert np.median(values) == pytest.approx(source.median, abs=1)


@pytest.mark.parametrize(
    "words",
    [
        ["table_3,readings", "--sets", "Normal,Zipf(3)"],
        ["table_3", "readings", "--sets", "Normal", "Zipf(3)"],
    ],
)
def test_commas_and_spaces_mean_the_same(words: list[str], tmp_path: Path) -> None:
    asked = options(None, ["--out", str(tmp_path), "--only", *words])
    assert [experiment.name for experiment in asked.experiments] == ["table_3", "readings"]
    assert asked.context.asked == ("Normal(50k)", "Normal(500k)", "Zipf(3)")
    quoted = options(None, ["--out", str(tmp_path), "--sets", "Normal Zipf(5)", "Ontario (made up)"])
    assert quoted.context.asked == ("Normal(50k)", "Normal(500k)", "Zipf(5)", "Ontario (made up)")


def test_an_unknown_experiment_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        options(None, ["--out", str(tmp_path), "--only", "table_9"])
    assert "'table_9' is none of" in capsys.readouterr().err


def lab(colour: str) -> Floats:
    """Return a colour in CIELAB."""
    rgb = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = (linear @ to_xyz.T) / np.array([0.95047, 1, 1.08883])
    f = [t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z)]
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_the_lines_of_a_figure_can_be_distinguished() -> None:
    looks = LOOKS[: len(METHODS)]
    assert len(looks) == len(METHODS)
    assert len({look[1:] for look in looks}) == len(looks)
    for (one, *_), (other, *_) in combinations(looks, 2):
        assert float(np.linalg.norm(lab(one) - lab(other))) > 25, (one, other)


def test_the_environment_names_versions_and_digests(tmp_path: Path) -> None:
    (tmp_path / "bank.parquet").write_bytes(b"some")
    text = " ".join(environment(tmp_path))
    assert "duckdb" in text
    assert "bank.parquet a6b46dd0d1ae" in text


def test_the_summary_has_a_line_for_each_combination() -> None:
    lines = as_csv({"table_3": results(1.0)}, {}).splitlines()
    assert len(lines) == 1 + 48 + 3 * len(SETS)
    assert lines[0].startswith("experiment,labels,runs,trimmed")
