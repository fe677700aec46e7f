"""Groups of a statement whose keys nobody listed: a part of its share finds them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import prdp

BY_JOB = "SELECT job, COUNT(*) AS n FROM people GROUP BY job"


def people(rows: int = 6000) -> prdp.Table:
    random = np.random.default_rng(3)
    jobs = random.choice(["chef", "clerk", "pilot"], rows)
    return prdp.open({"job": jobs, "level": random.integers(0, 3, rows)}, policy="1", name="people")


def test_keys_are_found_by_a_quarter_of_the_share_and_the_rest_answers() -> None:
    table = people()
    answers = table.sql(BY_JOB, share="2/5", keys={"job": {"pattern": "[a-z]{1,6}"}})
    assert {"chef", "clerk", "pilot"} <= set(answers["job"])
    assert answers.share == Fraction(2, 5)
    assert table.remaining == Fraction(3, 5)
    assert [entry.share for entry in table.ledger.entries] == [Fraction(1, 10), Fraction(3, 10)]


def test_a_statement_asked_again_costs_nothing() -> None:
    table = people()
    first = table.sql(BY_JOB, share="2/5", keys={"job": "private"})
    again = table.sql(BY_JOB, share="2/5", keys={"job": "private"})
    assert again.values == first.values
    assert table.remaining == Fraction(3, 5)


def test_shares_leave_a_part_for_the_search_or_are_refused() -> None:
    table = people()
    table.sql(BY_JOB, share="1/2", shares={"n": "1/4"}, keys={"job": "private"})
    assert [entry.share for entry in table.ledger.entries] == [Fraction(1, 4), Fraction(1, 4)]
    with pytest.raises(prdp.InvalidRequest, match="leaves nothing of share=1/4 to find keys"):
        table.sql(BY_JOB, share="1/4", shares={"n": "1/4"}, keys={"job": "private"})


def test_where_nothing_is_found_there_are_no_rows_and_only_the_search_is_paid() -> None:
    table = people()
    text = "SELECT job, COUNT(*) AS n FROM people WHERE level = 99 GROUP BY job"
    answers = table.sql(text, share="2/5", keys={"job": {"pattern": "[a-z]{9}", "false_keys": "1e-9"}})
    assert (answers.values, answers.share, table.remaining) == ([], Fraction(1, 10), Fraction(9, 10))


def test_a_statement_that_cannot_be_paid_to_its_end_pays_for_no_search() -> None:
    table = people()
    table.sql("SELECT COUNT(*) FROM people", share="4/5")
    with pytest.raises(prdp.BudgetExhausted, match=r"asks for 1/16 to find keys and 3/16 .* but 1/5 is left"):
        table.sql(BY_JOB, share="1/4", keys={"job": "private"})
    assert table.remaining == Fraction(1, 5)
    table.sql(BY_JOB, share="1/5", keys={"job": "private"})
    assert table.remaining == 0


def test_a_search_that_was_paid_for_leaves_the_rest_to_be_paid() -> None:
    table = people()
    table.find_keys("job", share="1/10", pattern="[a-z]{1,6}")
    table.sql("SELECT COUNT(*) FROM people", share="6/10")
    table.sql(BY_JOB, share="2/5", keys={"job": {"pattern": "[a-z]{1,6}"}})
    assert table.remaining == 0


def test_a_quota_that_cannot_pay_to_the_end_pays_for_no_search(tmp_path: Path) -> None:
    jobs = {"job": np.array(["chef"] * 900)}
    table = prdp.open(jobs, policy="1", name="people", ledger=tmp_path / "people.ledger", who="ana")
    prdp.ledger.DurableLedger(tmp_path / "people.ledger").set_quota("ana", "1/5")
    with pytest.raises(prdp.BudgetExhausted, match="'ana' has a quota of 1/5"):
        table.sql(BY_JOB, share="1/4", keys={"job": "private"})
    assert table.remaining == 1
    assert not table.ledger.entries


def test_found_keys_are_crossed_with_listed_ones() -> None:
    text = "SELECT job, level, COUNT(*) AS n FROM people GROUP BY job, level"
    keys = {"job": {"among": ["chef", "clerk", "pilot", "judge"]}, "level": [0, 1, 2]}
    answers = people().sql(text, share=1, keys=keys)
    assert {(job, level) for job, level, _ in answers.values} >= {("chef", 0), ("pilot", 2)}
    assert len(answers) % 3 == 0


def test_the_dry_run_says_what_is_for_the_search() -> None:
    table = people()
    stated = table.explain_sql(BY_JOB, share="2/5", keys={"job": {"pattern": "[a-z]{1,6}"}})
    assert stated.startswith(
        "costs    2/5 of every record's budget: 1/10 to find keys, 3/10 for what is asked"
    )
    assert "asks     COUNT(*), for each key that is found" in stated
    assert table.remaining == 1
    table.sql(BY_JOB, share="2/5", keys={"job": {"pattern": "[a-z]{1,6}"}})
    again = table.explain_sql(BY_JOB, share="2/5", keys={"job": {"pattern": "[a-z]{1,6}"}})
    assert again.startswith("costs    nothing to find keys: they were found before")


def test_what_no_search_takes_is_refused() -> None:
    with pytest.raises(prdp.InvalidRequest, match="and not by 'patern'"):
        people().sql(BY_JOB, share="1/5", keys={"job": {"patern": "[a-z]"}})


def test_a_project_file_says_it_too(tmp_path: Path) -> None:
    jobs = "job\n" + "chef\n" * 900 + "clerk\n" * 900
    (tmp_path / "people.csv").write_text(jobs)
    (tmp_path / "prdp.toml").write_text(
        '[tables.people]\nsource = "people.csv"\npolicy = "1"\ntypes = { job = "VARCHAR" }\n'
        '[tables.people.keys]\njob = { pattern = "[a-z]{4,5}" }\n'
    )
    answers = prdp.project(tmp_path).sql(BY_JOB, share=1)
    assert {"chef", "clerk"} <= set(answers["job"])


def test_beside_groups_that_were_found_is_which_are_missing() -> None:
    """A text with an umlaut has as many records as others, and no search can find it."""
    table = prdp.open({"job": np.array(["chef", "clerk", "Müller"] * 2000)}, policy="8", name="people")
    answers = table.sql(BY_JOB, share="2/5", keys={"job": "private"})
    assert set(answers["job"]) == {"chef", "clerk"}
    rare = "a share of 1/10 found the keys of job; rare ones and NULL are missing by design"
    never = "are never found: list these keys"
    assert rare in answers.notes
    assert f"texts with other characters than printable ASCII's {never}" in answers.notes
    assert rare in answers.to_pandas().attrs["notes"]
    found = table.find_keys("job", share="1/10", alphabet="chefMülr", longest=6)
    assert f"texts with other characters than the alphabet's {never}" in found.notes
    known = table.sql(BY_JOB, share="1/10", keys={"job": ["chef"]})
    assert not any("missing" in note or never in note for note in known.notes)


def test_where_no_key_was_found_the_next_step_is_stated() -> None:
    table = prdp.open({"job": np.array(["chef", "clerk"])}, policy="1", name="people")
    answers = table.sql(BY_JOB, share="1/10")
    assert len(answers) == 0
    assert "no key of job was found: list the keys, or use a larger share" in answers.notes
    assert not any("missing by design" in note for note in answers.notes)


def test_without_a_list_the_keys_of_a_statement_are_found_by_a_part_of_its_share() -> None:
    table = prdp.open({"job": np.array(["chef", "clerk"] * 3000)}, policy="8", name="people")
    answers = table.sql(BY_JOB, share="2/5")
    assert answers["job"] == ["chef", "clerk"]
    assert answers.share == Fraction(2, 5)
    assert any("found the keys of job" in note for note in answers.notes)
    assert table.remaining == Fraction(3, 5)
    again = table.sql(BY_JOB, share="2/5", keys={"job": "private"})
    assert again.rows == answers.rows
    assert table.remaining == Fraction(3, 5)


def test_keys_that_no_search_can_find_are_asked_for_in_words_of_the_statement() -> None:
    table = prdp.open({"x": np.arange(100) / 3}, policy="8", name="people")
    with pytest.raises(prdp.errors.SqlError, match="keys of this kind cannot be discovered") as refused:
        table.sql("SELECT x * 0.3, COUNT(*) FROM people GROUP BY 1", share="1/5")
    assert "WHERE x * 0.3 IN (...)" in str(refused.value)
    assert table.remaining == 1


def test_an_empty_list_of_keys_is_no_wish_for_a_search() -> None:
    table = prdp.open({"job": np.array(["chef"] * 900)}, policy="8", name="people")
    with pytest.raises(prdp.errors.SqlError, match="the list of keys of job is empty"):
        table.sql(BY_JOB, share="1/5", keys={"job": []})
    assert table.remaining == 1
