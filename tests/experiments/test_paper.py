"""The paper's experiments as one command: finished work is kept, and a seed decides the report."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from experiments.paper.__main__ import main
from experiments.paper.job import digest_of

ROOT = Path(__file__).parents[2]


def arguments(out: Path, only: str = "figure_3", seed: int = 0) -> list[str]:
    """Return what is asked for: one experiment, and few methods, for the time that it takes."""
    return ["--quick", "--out", str(out), "--seed", str(seed), "--only", only, "--methods", "naive,oracle"]


def command(out: Path) -> list[str]:
    return [sys.executable, "-m", "experiments.paper", *arguments(out)]


def paper(out: Path, only: str = "figure_3", seed: int = 0) -> str:
    """Do what the command does, to its end, and return what it says."""
    with redirect_stdout(io.StringIO()) as stated:
        main(arguments(out, only, seed))
    return stated.getvalue()


def kept(out: Path) -> dict[Path, int]:
    """Return the results that are there, with the times at which they were written."""
    return {path.relative_to(out): path.stat().st_mtime_ns for path in out.glob("jobs/*/*.parquet")}


def done_before(stated: str) -> tuple[int, int]:
    """Return how many jobs there are, and how many of them were found done."""
    found = re.search(r"(\d+) jobs, (\d+) of them done before", stated)
    assert found
    return int(found[1]), int(found[2])


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finished")
    paper(out)
    return out


def test_without_data_the_report_names_each_set_that_is_missing(tmp_path: Path) -> None:
    paper(tmp_path, "table_3")
    report = (tmp_path / "partial.html").read_text(encoding="utf-8")
    assert "Bank: left out, bank.parquet is not in a folder given by --data" in report
    assert "Normal(50k): left out" not in report


def test_the_report_holds_its_figures_and_the_folder_has_them_too(finished: Path) -> None:
    report = (finished / "partial.html").read_text(encoding="utf-8")
    figures = list((finished / "figures").glob("*figure_3*.png"))
    assert figures
    assert report.count("data:image/png;base64,") == len(figures)


def test_every_link_of_a_report_leads_to_a_heading_or_to_a_file_beside_it(finished: Path) -> None:
    report = (finished / "partial.html").read_text(encoding="utf-8")
    links = re.findall(r'href="([^"]+)"', report)
    assert "partial_figure_3.parquet" in links
    for link in links:
        assert f'id="{link[1:]}"' in report if link[0] == "#" else (finished / link).exists(), link


def test_a_second_run_does_no_job_again_and_writes_the_same_report(finished: Path) -> None:
    files, report = kept(finished), (finished / "partial.html").read_bytes()
    jobs, before = done_before(paper(finished))
    assert jobs == before == len(files)
    assert kept(finished) == files
    assert (finished / "partial.html").read_bytes() == report


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was_to_the_same_report(finished: Path, tmp_path: Path) -> None:
    going = subprocess.Popen(command(tmp_path), cwd=ROOT, stdout=subprocess.DEVNULL, start_new_session=True)
    while not kept(tmp_path) and going.poll() is None:
        time.sleep(0.02)
    os.killpg(going.pid, signal.SIGKILL)  # the workers are of its group
    going.wait()
    files = kept(tmp_path)
    assert files
    assert not (tmp_path / "partial.html").exists()
    jobs, before = done_before(paper(tmp_path))
    assert before == len(files) < jobs
    assert files.items() <= kept(tmp_path).items()
    assert (tmp_path / "partial.html").read_bytes() == (finished / "partial.html").read_bytes()


def test_an_interrupted_run_stops_and_keeps_what_is_done(tmp_path: Path) -> None:
    going = subprocess.Popen(
        command(tmp_path), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    while not kept(tmp_path) and going.poll() is None:
        time.sleep(0.02)
    going.send_signal(signal.SIGINT)
    stated, _ = going.communicate()
    jobs, before = done_before(stated)
    assert before == 0 < len(kept(tmp_path)) < jobs
    assert "stopped" in stated
    assert going.returncode == 130
    assert not (tmp_path / "partial.html").exists()


def test_a_damaged_result_is_made_again(finished: Path) -> None:
    report = (finished / "partial.html").read_bytes()
    damaged = finished / min(kept(finished))
    damaged.write_bytes(b"half of it")
    jobs, before = done_before(paper(finished))
    assert before == jobs - 1
    assert (finished / "partial.html").read_bytes() == report


def test_results_are_of_the_data_that_is_there(tmp_path: Path) -> None:
    first = digest_of(tmp_path)
    (tmp_path / "bank.parquet").write_bytes(b"some")
    second = digest_of(tmp_path)
    (tmp_path / "bank.parquet").write_bytes(b"others")
    assert len({first, second, digest_of(tmp_path)}) == 3


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([*arguments(tmp_path), "--data", str(tmp_path / "nowhere")])
    assert "there is no such folder" in capsys.readouterr().err


def test_another_seed_takes_no_result_of_the_first_and_gives_another_report(finished: Path) -> None:
    report = (finished / "partial.html").read_bytes()
    files = kept(finished)
    stated = paper(finished, seed=1)
    assert done_before(stated)[1] < len(files)
    assert (finished / "partial.html").read_bytes() != report
