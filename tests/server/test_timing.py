"""Nothing that can be timed tells tables apart, measured on a real server by somebody who tries to."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from math import comb
from pathlib import Path

import pytest
from scipy import stats

from prdp.server import purses
from tests.server.running import Running, begun

LEARNED, GUESSED = 10, 50
"""Rounds from which the attacker learns which table is the slower one, and rounds that are guessed."""

TOO_MANY = 46
"""Right guesses by chance in less than one of 10^9 runs; the first version was told apart in 97 of 100."""

SIZES = {"small": 1, "large": 20_000}
TABLE = """
[tables.{name}]
source = "{name}.csv"
types = {{ days = "BIGINT", ward = "VARCHAR" }}
policy = "10 / greatest(days, 1)"
bounds = {{ days = [0, 100] }}
"""

PROBES = ("answer", "free question", "cancel", "health check")
Times = dict[str, list[tuple[float, float]]]


def right_guesses(pairs: Sequence[tuple[float, float]], chance: random.Random) -> int:
    """Return how often an attacker is right who says of two times which one was the larger table's.

    Which way the times lie is learned from the first rounds; the other rounds are guessed.
    """
    larger = sum((many > few) - (many < few) for few, many in pairs[:LEARNED])
    right = 0
    for few, many in pairs[LEARNED:]:
        first, second = (few, many) if (swapped := chance.random() < 0.5) else (many, few)
        says_first = chance.random() < 0.5 if first == second else (first > second) == (larger >= 0)
        right += says_first != swapped
    return right


def by_chance(successes: int, tries: int) -> float:
    """Return how likely fair coins are to be right at least so often."""
    return float(sum(comb(tries, k) for k in range(successes, tries + 1)) / 2**tries)


def rate(right: int) -> str:
    """Return how often guesses were right, with the exact 95 % interval of the rate."""
    low, high = stats.binomtest(right, GUESSED).proportion_ci()
    return f"{right} of {GUESSED} right, a rate of {low:.2f} to {high:.2f}"


def test_the_attacker_sees_six_hundredths_of_a_second_and_does_not_see_noise() -> None:
    assert len(PROBES) * by_chance(TOO_MANY, GUESSED) < 1e-9
    chance = random.Random(20261119)
    noise = [(chance.gauss(0.97, 0.02), chance.gauss(0.97, 0.02)) for _ in range(LEARNED + GUESSED)]
    assert right_guesses(noise, chance) < TOO_MANY
    first_version = [(few, many + 0.06) for few, many in noise]
    assert right_guesses(first_version, chance) >= TOO_MANY
    assert right_guesses([(many, few) for few, many in first_version], chance) >= TOO_MANY


@pytest.mark.slow
def test_answers_free_questions_and_cancels_do_not_tell_tables_apart(tmp_path: Path) -> None:
    """Tables of 1 and 20,000 records: neighbours, which differ in one, are harder to tell apart."""
    project = tmp_path / "prdp.toml"
    project.write_text("".join(TABLE.format(name=name) for name in SIZES))
    for name, records in SIZES.items():
        (tmp_path / f"{name}.csv").write_text("days,ward\n" + "7,a\n" * records)
    made = begun(project, "ana", alone="1", table="small")
    with made.store.writing() as rows:
        (number,) = rows.one("SELECT id FROM {}people WHERE name = 'ana'")
        wanted = {"alone": "1", "approved": "0"}
        purses.grant(rows, number, "large", wanted, actor=None, now=int(time.time()))
    chance = random.Random(20261119)
    times: Times = {probe: [] for probe in PROBES}
    with made:
        for turn in range(LEARNED + GUESSED):
            found = tried(made, chance.sample(list(SIZES), 2), turn)
            for probe in PROBES:
                times[probe].append((found["small"][probe], found["large"][probe]))
    right = {probe: right_guesses(pairs, chance) for probe, pairs in times.items()}
    for probe, number in right.items():
        print(f"{probe}: {rate(number)}")
    assert max(right.values()) < TOO_MANY, right


def tried(server: Running, tables: Sequence[str], turn: int) -> dict[str, dict[str, float]]:
    """Ask about two tables at once; return how late each answer was, and how long other replies took."""
    asked, healthy = {}, {}
    for table in tables:
        statement = f"SELECT AVG(days) AS m FROM {table} WHERE days < {10 + turn}"
        status, asked[table] = server.question("ana", statement, "0.01", f"{table}{turn}")
        assert status == 202, asked[table]
        healthy[table] = timed(server, "GET", "/healthz")  # of the first one, while it alone is read
    found = {}
    for table in tables:  # while both are read
        free = {"statement": f"SELECT COUNT(*) AS n FROM {table}", "share": "0.01"}
        found[table] = {
            "free question": timed(server, "POST", "/v1/plans", free),
            "cancel": timed(server, "DELETE", f"/v1/requests/{asked[table]['id']}"),
            "health check": healthy[table],
        }
    waiting = list(tables)
    while waiting:
        for table in [*waiting]:
            shown = server.ask("GET", f"/v1/requests/{asked[table]['id']}", who="ana")[1]
            if shown["state"] == "published":
                assert shown["release"], shown
                found[table]["answer"] = time.time() - float(shown["publish_at"])
                waiting.remove(table)
        waiting.reverse()
        time.sleep(0.002)
    return found


def timed(server: Running, method: str, path: str, body: object = None) -> float:
    """Return how long a reply takes."""
    began = time.perf_counter()
    status, _ = server.ask(method, path, body, "ana")
    assert status in {200, 202, 204}
    return time.perf_counter() - began
