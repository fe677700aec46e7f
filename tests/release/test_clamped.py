"""What bounds do to values beyond them is said: in answers, in tables, by explain and by check."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import prdp
from tests.cli.running import quickly

SAID = "values outside 0 to 200 count as the bound"


@pytest.fixture
def people() -> prdp.Table:
    columns = {"pay": np.arange(1000), "job": np.arange(1000) % 2}
    return prdp.open(columns, policy="1", bounds={"pay": (0, 200)}, name="people", synthetic=True)


@pytest.mark.parametrize("asked", ["sum", "mean", "variance", "median", "max"])
def test_whatever_looks_at_values_says_how_they_are_bounded_once(people: prdp.Table, asked: str) -> None:
    answer = getattr(people, asked)("pay", share="1/10")
    assert str(answer).count(SAID) == 1
    assert SAID in answer.to_json()


def test_a_count_does_not(people: prdp.Table) -> None:
    assert "bound" not in str(people.count(share="1/10"))


def test_nor_does_what_bounds_cannot_change(people: prdp.Table) -> None:
    answers = people.sql("SELECT SUM(CASE WHEN pay > 50 THEN 1 ELSE 0 END) AS high FROM people", share="1/10")
    assert "outside" not in str(answers)


def test_a_table_says_it_once_with_the_columns(people: prdp.Table) -> None:
    table = people.group_by("job", keys=[0, 1]).agg(n=prdp.count(), pay=prdp.sum("pay"), share="1/10")
    assert str(table).count(f"{SAID} (pay)") == 1


def test_explain_says_it_and_so_does_a_recorded_answer(people: prdp.Table) -> None:
    assert SAID in str(people.explain(prdp.sum("pay"), share="1/10"))
    assert SAID in str(people.sum("pay", share="1/10"))
    assert SAID in str(people.sum("pay", share="1/10"))


def test_check_says_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("pay\n" + "\n".join(map(str, range(1000))), encoding="utf-8")
    (tmp_path / "prdp.toml").write_text(
        '[tables.people]\nsource = "people.csv"\npolicy = "1"\ntypes = { pay = "BIGINT" }\n'
        "[tables.people.bounds]\npay = [0, 200]\n",
        encoding="utf-8",
    )
    ran = quickly("check")
    assert "values outside 0 to 200 count as the bound" in " ".join((ran.stdout + ran.stderr).split())
