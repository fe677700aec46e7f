"""Answers that went through JSON are the same answers, digit by digit."""

from __future__ import annotations

import json

import numpy as np
import pytest

import prdp
from prdp.release.release import Release
from prdp.sql.answers_codec import answers_from_json, answers_to_json
from prdp.sql.estimates import ComputedAnswer

STATEMENTS = (
    "SELECT COUNT(*) FROM people",
    "SELECT job, COUNT(*) AS n, AVG(age) AS mean FROM people GROUP BY job",
    "SELECT job, SUM(age) / COUNT(*) AS r, LOW(COUNT(*)) FROM people GROUP BY job ORDER BY r LIMIT 2",
    "SELECT MEDIAN(age), MAX(age), STDDEV(age), SQRT(SUM(age)) FROM people",
    """SELECT date_trunc('month', seen) AS month, COUNT(*) FROM people
    WHERE seen >= '2026-01-01' AND seen < '2026-03-01' GROUP BY date_trunc('month', seen)""",
    "SELECT MIN(seen), MAX(seen) FROM people WHERE seen >= '2026-01-01' AND seen < '2026-03-01'",
    "SELECT 1 AS one, 'x' AS text, NULL AS nothing",
)


@pytest.fixture(scope="module")
def people() -> prdp.Table:
    columns = {
        "age": np.arange(400) % 90,
        "job": np.array(["<b>", "clerk", "'); --", "chef"] * 100),
        "seen": np.datetime64("2026-01-01", "us") + (np.arange(400) % 59).astype("timedelta64[D]"),
    }
    return prdp.open(columns, policy="100 / (age + 1)", bounds={"age": (0, 120)}, name="people")


@pytest.mark.parametrize("text", STATEMENTS)
def test_answers_come_back_as_they_went(people: prdp.Table, text: str) -> None:
    keys = {"job": ["<b>", "clerk", "'); --"]} if "job" in text else None
    answers = people.sql(text, share="0.02", keys=keys)
    came = answers_from_json(json.loads(json.dumps(answers_to_json(answers))))
    assert came == answers
    assert str(came) == str(answers)
    for row, other in zip(answers.rows, came.rows, strict=True):
        for cell, again in zip(row, other, strict=True):
            if isinstance(cell, Release | ComputedAnswer):
                assert isinstance(again, Release | ComputedAnswer)
                assert again.interval(0.8) == cell.interval(0.8)
                assert (again.std_error, again.cv, again.flag) == (cell.std_error, cell.cv, cell.flag)


def test_a_standing_answer_keeps_the_time_of_its_charge(people: prdp.Table) -> None:
    first = people.sql(STATEMENTS[0], share="0.03")
    again = people.sql(STATEMENTS[0], share="0.03")
    came = answers_from_json(json.loads(json.dumps(answers_to_json(again))))
    assert not first.recorded_at
    assert came.recorded_at == again.recorded_at != ""
    assert isinstance(came.answer, Release)


@pytest.mark.parametrize("change", [{"rows": [[{"release": {}}]]}, {"share": "x"}, {"more": 1}, {"rows": 3}])
def test_other_json_is_refused(people: prdp.Table, change: dict[str, object]) -> None:
    form = answers_to_json(people.sql(STATEMENTS[0], share="0.03"))
    with pytest.raises(ValueError, match="no "):
        answers_from_json({**form, **change})
