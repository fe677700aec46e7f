"""``prdp ledger`` of a table whose questions are charged by region: tables, filters and quotas."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prdp
from prdp.errors import BudgetExhausted, InvalidRequest
from prdp.ledger import DurableLedger
from tests.cli.running import piped, quickly, widest
from tests.cli.test_json import parsed


def visits(**options: Any) -> prdp.Table:
    """Open visits with their account in this folder."""
    rows = {"week": np.array([45, 46]), "job": np.array(["clerk", "chef"]), "id": np.array([7, 8])}
    options = {"immutable": ["week", "job"], "who": "ana", **options}
    return prdp.open(rows, policy="1", name="visits", ledger="w.ledger", **options)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows_of(heading: str, text: str) -> list[list[str]]:
    """Return the rows of a printed table, cells apart, up to the next empty line."""
    lines = text.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(heading))
    rows = lines[start + 1 : lines.index("", start)]
    return [re.split(r" {2,}", row.strip()) for row in rows]


def test_the_account_is_shown_by_region_and_as_a_burn_down(folder: Path) -> None:
    table = visits()
    table.filter("week = 45").count(share="1/2")
    table.filter("week = 46 AND job = 'chef'").count(share="3/4")
    table.filter("week = 45").count(share="1/4")
    table.count(share="1/8")
    ran = piped("ledger", folder=folder)
    assert ran.returncode == 0, ran.stderr
    assert widest(ran.stdout) <= 80
    assert "immutable  job, week" in ran.stdout
    assert "at most 7/8 spent (87.5 %), at least 1/8 left (12.5 %) of every budget" in ran.stdout
    assert rows_of("by region", ran.stdout) == [
        ["all records", "1", "1/8", "#" * 17 + "..."],
        ["week = 45", "2", "1/8", "#" * 17 + "..."],
        ["job = 'chef' and week = 46", "1", "1/8", "#" * 17 + "..."],
    ]
    burnt = rows_of("burn-down", ran.stdout)
    assert [row[0] for row in burnt if row[0].isdigit()] == ["0", "1", "2", "3"]
    assert burnt[0] == ["0", "week = 45", "1/2", "1/2", "1/2", "#" * 10 + "." * 10]
    assert burnt[-1] == ["3", "all records", "1/8", "1/8", "1/8", "#" * 17 + "..."]


def test_what_is_left_to_them_and_to_all_is_distinguished() -> None:
    table = visits()
    for week, share in ((45, "3/4"), (46, "1/4"), (46, "1/8")):
        table.filter(f"week = {week}").count(share=share)
    burnt = rows_of("burn-down", quickly("ledger").stdout)
    assert [row[3:5] for row in burnt] == [["1/4", "1/4"], ["3/4", "1/4"], ["5/8", "1/4"]]


def test_of_many_charges_the_newest_are_shown_and_the_rest_is_counted() -> None:
    table = visits()
    for week in range(30):
        table.filter(f"week = {week}").count(share=1)
    shown = quickly("ledger").stdout
    assert "... and 10 regions that were charged before; --where asks about any." in shown
    assert "... after 10 earlier charges" in shown
    assert rows_of("by region", shown)[0][0] == "week = 29"
    assert rows_of("burn-down", shown)[0][:2] == ["10", "week = 10"]


def test_without_fixed_columns_nothing_is_shown_by_region() -> None:
    table = visits(immutable=None)
    table.filter("week = 45").count(share="1/2")
    shown = quickly("ledger").stdout
    assert "by region" not in shown
    assert "burn-down" not in shown
    assert "1/2 spent (50 %), 1/2 left (50 %) of every budget" in shown


@pytest.mark.parametrize(
    ("condition", "reported"),
    [
        ("week = 45", "1/4 of the budget remains for records with week = 45"),
        (
            "week = 46 AND job = 'chef'",
            "all of the budget remains for records with job = 'chef' and week = 46",
        ),
        ("id = 7", "1/4 of the budget remains for all records"),
        ("week > 45 AND week < 46", "all of the budget remains for no record"),
    ],
)
def test_a_filter_learns_what_its_records_have_left(condition: str, reported: str) -> None:
    visits().filter("week = 45").count(share="3/4")
    ran = quickly("ledger", "--where", condition)
    assert (ran.exit_code, ran.stdout) == (0, f"{reported}\n")


def test_with_units_a_filter_narrows_only_where_each_has_one_row(folder: Path) -> None:
    for name, options, left in (("a", {}, "1/4"), ("b", {"one_row_per_unit": True}, "all")):
        (folder / name).mkdir()
        table = prdp.open(
            {"week": np.array([45, 46]), "id": np.array([7, 8])},
            policy="1",
            privacy_unit="id",
            immutable=["week"],
            ledger=folder / name / "w.ledger",
            **options,  # type: ignore[arg-type]
        )
        table.filter("week = 45").count(share="3/4")
        ran = quickly("ledger", f"{name}/w.ledger", "--where", "week = 46")
        assert ran.stdout.startswith(f"{left} of the budget remains for "), ran.stdout


def test_a_filter_that_is_wrong_learns_what_to_write() -> None:
    visits()
    ran = quickly("ledger", "--where", "weak = 45")
    assert ran.exit_code == 2
    assert "Did you mean week?" in ran.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--where", "week = 45", "--json"),
        ("quota", "ana", "1/4", "--csv"),
        ("--backup", "b", "--where", "TRUE"),
    ],
)
def test_what_is_alone_is_refused_beside_other_options(options: tuple[str, ...]) -> None:
    visits()
    ran = quickly("ledger", "w.ledger", *options)
    assert ran.exit_code == 2
    assert "cannot be combined" in ran.stderr
    assert not Path("b").exists()


def test_a_quota_is_set_shown_and_kept_to() -> None:
    table = visits()
    ran = quickly("ledger", "quota", "ana", "0.25")
    assert ran.exit_code == 0
    assert "ana may spend 0.25 of any record's budget" in ran.stderr
    table.filter("week = 45").count(share="1/8")
    assert "quota of ana: 1/4, 1/8 of it left for all records" in quickly("ledger").stdout
    with pytest.raises(BudgetExhausted, match="quota of 1/4"):
        table.filter("week = 45").count(share="1/4")
    assert quickly("ledger", "w.ledger", "quota", "ana", "1/2").exit_code == 0
    table.filter("week = 45").count(share="1/4")
    assert parsed(quickly("ledger", "--json"))["charges"][-1]["quota"] == "ana"


@pytest.mark.parametrize(
    "words", [("quota",), ("quota", "ana"), ("quota", "ana", "1/4", "x"), ("limit", "a", "1")]
)
def test_a_quota_that_is_not_understood_says_how_to_write_one(words: tuple[str, ...]) -> None:
    visits()
    ran = quickly("ledger", "w.ledger", *words)
    assert ran.exit_code == 2
    assert "Write: prdp ledger FILE quota NAME SHARE" in ran.stderr


@pytest.mark.parametrize("share", ["3", "-1/4", "1/3000000000001", "much", "nan"])
def test_what_is_no_part_of_a_budget_is_no_quota(share: str) -> None:
    visits()
    ran = quickly("ledger", "w.ledger", "quota", "ana", "--", share)
    assert ran.exit_code == 2
    assert "Fraction(" not in ran.stderr
    assert DurableLedger("w.ledger").quotas == {}


def test_quotas_are_what_floats_print_as() -> None:
    ledger = DurableLedger.opened("w.ledger", visits().ledger.binding)  # type: ignore[attr-defined]
    for share, limit in ((0.1, Fraction(1, 10)), ("1/3", Fraction(1, 3)), (0, Fraction(0)), (1, Fraction(1))):
        ledger.set_quota("ana", share)
        assert ledger.quotas == {"ana": limit}
    for odd in (1 / 3, 1.5, float("nan"), True, None):
        with pytest.raises(InvalidRequest, match="share="):
            ledger.set_quota("ana", odd)  # type: ignore[arg-type]


def test_the_most_that_was_spent_of_any_budget_is_exported_and_not_the_sum_of_all_shares() -> None:
    table = visits()
    for week in range(3):
        table.filter(f"week = {week}").count(share="3/4")
    exported = parsed(quickly("ledger", "--json"))
    assert (exported["spent"], exported["remaining"]) == ("3/4", "1/4")
    assert [charge["region"] for charge in exported["charges"]] == [
        f'[{{"week": {{"whole": [{week}]}}}}]' for week in range(3)
    ]
