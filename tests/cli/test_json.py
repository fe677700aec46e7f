"""What is stated in JSON is what is stated in words."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import Result

import prdp
from prdp.cli.printing import number
from tests.cli.running import quickly, write_ledger


def parsed(ran: Result) -> Any:
    assert ran.exit_code == 0, ran.output
    return json.loads(ran.stdout, parse_constant=pytest.fail)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ledgers") / "accounts.ledger"
    write_ledger(path)
    return path


POLICY = ("policy", "10000 / balance", "--bounds", "balance=0:1e12", "--at-most", "100")


def test_a_policy_s_json_and_words_agree() -> None:
    words = quickly(*POLICY, "--record", "balance=5000").stdout
    reported = parsed(quickly(*POLICY, "--record", "balance=5000", "--json"))
    assert reported["at_least"] == {"exact": "1/100000000", "from": "from the bounds"}
    assert reported["at_most"] == {"exact": "100", "from": "given"}
    assert "1e-8 (from the bounds) to 100 (given)" in words
    assert f"levels    {reported['levels']}," in words
    assert f"domains   {len(reported['domains'])}," in words
    rows = [line.split() for line in words.splitlines()]
    for domain in reported["domains"]:
        ends = [str(domain["domain"]), number(domain["budget_from"]), number(domain["budget_to"])]
        assert any(row[:3] == ends for row in rows)
    assert reported["record"]["budget"] == 2
    assert 2 * 0.91 < reported["record"]["level_budget"] < 2
    assert reported["record"]["losses"] == {"1": 2, "1/10": 0.2, "1/100": 0.02}


def test_a_budget_without_limit_is_still_json() -> None:
    reported = parsed(quickly(*POLICY, "--record", "balance=0", "--json"))
    assert (reported["record"]["value"], reported["record"]["budget"]) == ("inf", 100)


def test_a_ledger_s_json_and_words_agree(ledger: Path) -> None:
    words = quickly("ledger", str(ledger), columns=160).stdout
    reported = parsed(quickly("ledger", str(ledger), "--json"))
    assert reported["facts"]["name"] == "accounts"
    assert f"{reported['spent']} spent" in words
    assert f"{reported['remaining']} left" in words
    for charge in reported["charges"]:
        assert f"  {charge['who']}  share {charge['share']}" in words
        if charge["answered"]:
            assert charge["low"] < charge["value"] < charge["high"]
            ends = f"from {math.floor(charge['low']):,} to {math.ceil(charge['high']):,}"
            flag = f"; {charge['flag']}" if charge["flag"] else ""
            assert f"     {round(charge['value']):,}, {ends} (95 %{flag})" in words
    assert [bool(charge["answered"]) for charge in reported["charges"]] == [True, True, False]


def test_a_ledger_s_csv_and_json_agree(ledger: Path) -> None:
    reported = parsed(quickly("ledger", str(ledger), "--json"))["charges"]
    rows = [*csv.DictReader(io.StringIO(quickly("ledger", str(ledger), "--csv").stdout))]
    assert len(rows) == len(reported) == 3
    for row, charge in zip(rows, reported, strict=True):
        assert row.keys() == charge.keys() - {"source"} | {"group", "asked"}  # notes are in the JSON alone
        assert ("source" in charge) == charge["answered"]  # the one without an answer was charged by hand
        assert row["purpose"] == charge["purpose"]
        assert row["value"] == ("" if charge["value"] is None else str(charge["value"]))
        assert row["answered"] == str(charge["answered"]).lower()


def test_a_ledger_s_csv_has_a_line_for_each_group_and_question(tmp_path: Path) -> None:
    table = prdp.open(
        {"job": np.array(["a", "b"] * 500)},
        policy=prdp.Policy.constant(1),
        ledger=tmp_path / "jobs.ledger",
    )
    released = table.group_by("job", keys=["a", "b", "c"]).agg(
        prdp.count(), prdp.count_distinct("job"), share="1/2"
    )
    rows = [*csv.DictReader(io.StringIO(quickly("ledger", str(tmp_path / "jobs.ledger"), "--csv").stdout))]
    shown = [(row["group"], row["asked"], row["value"]) for row in rows]
    answers = zip(released.keys, released.releases, strict=True)
    assert shown == [
        (key[0], asked, str(release.value))
        for key, row in answers
        for asked, release in zip(released.asked, row, strict=True)
    ]
    words = quickly("ledger", str(tmp_path / "jobs.ledger"), columns=160).stdout
    assert all(line in words for line in released.lines)
