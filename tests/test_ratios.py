"""The comparison of costs fails for a loss, and neither for load nor for another machine."""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path
from typing import cast

import pytest

from benchmarks.ratios import LOST, PAIRS, TIMES, Start, Tree, cheaper, compared, dearer, false_alarm, sources


def pairs(factor: float, spread: float, noise: random.Random) -> list[float]:
    return [factor * math.exp(noise.gauss(0, spread) - noise.gauss(0, spread)) for _ in range(PAIRS)]


def test_load_fails_an_unchanged_tree_less_than_once_in_forty_thousand_runs() -> None:
    assert false_alarm(10) < 1 / 40_000


def test_wins_and_losses_by_chance_fail_as_rarely_as_is_stated_however_large_they_are() -> None:
    noise, runs = random.Random(34), 20_000
    failed = sum(dearer([noise.choice((0.1, 10)) for _ in range(PAIRS)]) for _ in range(runs))
    stated = float(false_alarm(1)) ** (1 / TIMES)
    assert abs(failed - runs * stated) < 5 * math.sqrt(runs * stated)


def test_a_loss_of_a_fifth_is_seen_where_single_measurements_differ_by_ten_percent() -> None:
    noise = random.Random(35)
    seen = sum(all(dearer(pairs(1.2, 0.1, noise)) for _ in range(TIMES)) for _ in range(200))
    assert seen > 180


def test_a_loss_that_is_tolerated_passes_although_each_pair_shows_it() -> None:
    assert not dearer([1.05] * PAIRS)
    assert dearer([1.2] * LOST + [0.9] * (PAIRS - LOST))


class Asked:
    """A process that answers at once, each case with its cost."""

    def __init__(self, **costs: float) -> None:
        self.costs, self.names = costs, list(costs)

    def __call__(self, name: str) -> float:
        return self.costs[name]

    def close(self) -> None:
        """Nothing runs."""


def start(**costs: float) -> Start:
    return lambda: cast(Tree, Asked(**costs))


def test_a_case_that_earlier_sources_cannot_be_asked_is_named_and_fails_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ((found, suspects),) = compared(start(sums=1), start(sums=1, medians=9))
    assert list(found) == ["sums"]
    assert not suspects
    assert "medians: not compared" in capsys.readouterr().out


def test_earlier_sources_of_which_no_case_can_be_asked_are_no_pass() -> None:
    with pytest.raises(SystemExit, match="cannot be asked of the earlier sources"):
        list(compared(start(), start(sums=1)))


def test_a_commit_that_was_named_and_is_not_there_is_no_pass(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="no-such-commit"), sources("no-such-commit"):
        pass
    assert "nothing is compared" not in capsys.readouterr().out


def test_a_gain_that_would_hide_a_loss_is_told_from_one_that_would_not() -> None:
    assert cheaper([0.8] * PAIRS)
    assert not cheaper([0.95] * PAIRS)
    assert not cheaper([0.8] * (LOST - 1) + [1.1] * (PAIRS - LOST + 1))


def test_a_loss_is_measured_again_and_other_cases_are_not() -> None:
    rounds = list(compared(start(sums=1, medians=1), start(sums=1, medians=2)))
    assert [list(found) for found, _ in rounds] == [["sums", "medians"], *[["medians"]] * (TIMES - 1)]
    assert rounds[-1][1] == ["medians"]


def test_a_process_that_dies_is_reported_by_the_case_that_it_was_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = "import sys; print('[\"sums\"]', flush=True); sys.stdin.readline()"
    program = tmp_path / "python"
    program.write_text(f"#!{sys.executable}\n{dying}\n")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    tree = Tree(tmp_path, tmp_path)
    with pytest.raises(SystemExit, match="sums: the process that was asked ended"):
        tree("sums")
    tree.close()
