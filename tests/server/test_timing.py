"""When an answer appears does not show how many records there are, measured on a real server."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest

from prdp.server import audit, purses
from tests.server.running import begun
from tests.server.serving import write_project

pytestmark = pytest.mark.slow

QUESTIONS = 10
SPREAD = 3.5
"""Standard deviations of a fair guess: exceeded once in 2,000 runs."""


def test_the_moment_at_which_answers_appear_does_not_tell_tables_apart(tmp_path: Path) -> None:
    """Tables of 1 and 200,000 records: nearer neighbours are harder to tell apart.

    The first version handed answers out when they were ready: every one of the small table's came first.
    """
    project = write_project(tmp_path, records=1)
    (tmp_path / "loans.csv").write_text("fine,branch\n" + "7,north\n" * 200_000)
    made = begun(project, "ana", alone="1")
    with made.store.writing() as rows:
        (number,) = rows.one("SELECT id FROM {}people WHERE name = 'ana'")
        wanted = {"alone": "1", "approved": "0"}
        purses.grant(rows, number, "loans", wanted, actor=None, now=int(time.time()))
        audit.verify(rows)
    made.deadline = 3
    with made:

        def late(table: str, column: str, turn: int) -> float:
            """Return how long after its time an answer appeared."""
            statement = f"SELECT AVG({column}) AS m FROM {table} WHERE {column} < {50 + turn}"
            status, asked = made.question("ana", statement, "0.01", f"{table}{turn}")
            assert status == 202
            time.sleep(max(0.0, asked["publish_at"] - time.time() - 0.05))
            while (shown := made.ask("GET", f"/v1/requests/{asked['id']}", who="ana")[1])[
                "state"
            ] == "queued":
                time.sleep(0.002)
            return time.time() - float(shown["publish_at"])

        pairs = [(late("visits", "days", turn), late("loans", "fine", turn)) for turn in range(QUESTIONS)]
    few, many = zip(*pairs, strict=True)
    sooner = sum((a < b) + (a == b) / 2 for a in few for b in many) / QUESTIONS**2
    spread = math.sqrt((2 * QUESTIONS + 1) / (12 * QUESTIONS**2))
    assert abs(sooner - 0.5) < SPREAD * spread
