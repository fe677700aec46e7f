"""The comparison of costs fails for a loss, and neither for load nor for another machine."""

from __future__ import annotations

import math
import random

from benchmarks.ratios import LOST, PAIRS, TIMES, dearer, false_alarm


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
