"""A number is a policy: the same budget for every record."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prdp

AGES = {"age": np.arange(50)}


@pytest.mark.parametrize("policy", [0.5, Fraction(1, 2), Decimal("0.5"), "0.5", np.float64(0.5)])
def test_every_way_to_write_one_budget_is_the_same_policy(policy: Any) -> None:
    assert prdp.open(AGES, policy=policy).policy == prdp.Policy.constant("1/2").within({}, {})


def test_a_ledger_knows_the_policy_however_it_was_written(tmp_path: Path) -> None:
    kept: dict[str, Any] = {"ledger": tmp_path / "a.ledger", "name": "ages"}
    prdp.open(AGES, policy="1", must_exist=False, **kept).count(share="1/4")
    assert prdp.open(AGES, policy=1, must_exist=True, **kept).remaining == Fraction(3, 4)
    assert prdp.open(AGES, policy=prdp.Policy.constant(1), must_exist=True, **kept).remaining == Fraction(
        3, 4
    )


def test_a_project_file_takes_a_number_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ages.csv").write_text("age\n31\n58\n")
    (tmp_path / "prdp.toml").write_text(
        '[tables.ages]\nsource = "ages.csv"\npolicy = 0.5\ntypes = { age = "BIGINT" }\n'
    )
    monkeypatch.chdir(tmp_path)
    assert prdp.project()["ages"].policy == prdp.Policy.constant("1/2").within({}, {})


def test_a_local_study_takes_a_number_too() -> None:
    assert prdp.local.study(prdp.count(), policy=1, share=0.5).policy == prdp.Policy.constant(1)
