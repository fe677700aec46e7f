"""Nothing known of a column survives its redefinition: an attack on bounds, rounding steps and keys.

A subquery that calls ``balance * 100`` by the name of a column with bounds of 0 to 120 must be asked like
``balance * 100``. If the old bounds held, values would be clipped by what the caller never said of them; if
old keys held, groups would be distinguished by a list that belongs to something else.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prdp.expressions.nodes import Column, Node
from prdp.sql.scope import Scope
from tests.sql.fixtures import opened

NAMES = ("age", "balance", "branch", "price", "bonus", "job", "redraw")
"""Old names, with bounds, rounding steps and keys of their own, and one that is new."""

NUMBERS = (
    "balance * 100", "0 - balance", "age + 1000", "price / 2", "CASE WHEN vip THEN balance ELSE 0 - age END",
    "least(balance, 7)", "age * balance", "abs(age - 500)", "coalesce(bonus, 1000)", "floor(price * 3)",
)  # fmt: skip


def asked(text: str) -> dict[str, Any]:
    """Return what a ledger would keep of a statement: all that decides its answer's distribution."""
    stated = opened("accounts").explain_sql(text, share="1/10", keys={"job": ["clerk", "chef"]})
    (line,) = [line for line in stated.splitlines() if line.startswith("ledger")]
    return dict(json.loads(line.removeprefix("ledger").strip()))


@given(
    inner=st.sampled_from(NUMBERS),
    name=st.sampled_from(NAMES),
    other=st.sampled_from(NAMES),
    aggregate=st.sampled_from(["SUM", "AVG", "MAX", "MEDIAN", "COUNT"]),
)
def test_a_renamed_expression_is_asked_like_itself(inner: str, name: str, other: str, aggregate: str) -> None:
    plain = asked(f"SELECT {aggregate}({inner}) FROM accounts")
    once = f"WITH t AS (SELECT {inner} AS {name}, vip FROM accounts) SELECT {aggregate}({name}) FROM t"
    renamed = f"SELECT {name} AS {other} FROM (SELECT {inner} AS {name} FROM accounts) AS t"
    twice = f"SELECT {aggregate}({other}) FROM ({renamed}) AS u"
    assert asked(once) == plain
    assert asked(twice) == plain


@given(name=st.sampled_from(NAMES[:5]), inner=st.sampled_from(["age % 3", "branch + 10", "floor(age / 40)"]))
def test_keys_are_those_of_the_expression(name: str, inner: str) -> None:
    plain = asked(f"SELECT {inner}, COUNT(*) FROM accounts GROUP BY 1")
    inner = f"SELECT {inner} AS {name} FROM accounts"
    renamed = asked(f"SELECT {name}, COUNT(*) FROM ({inner}) AS t GROUP BY {name}")
    assert renamed == plain


def test_a_filter_on_the_old_meaning_lists_no_keys_of_the_new_one() -> None:
    inner = "SELECT title AS job FROM accounts WHERE job IN ('clerk', 'chef')"
    text = f"SELECT job, COUNT(*) FROM ({inner}) AS t GROUP BY job"
    assert "keys of title, share 1/40" in str(opened("accounts").explain_sql(text, share="1/10"))


def test_a_filter_on_the_new_meaning_is_about_the_expression() -> None:
    text = "WITH t AS (SELECT balance AS age FROM accounts) SELECT COUNT(*) FROM t WHERE age > 30"
    assert asked(text)["where"] == "balance > 30"


def test_a_cte_under_the_table_s_name_hides_the_table() -> None:
    text = "WITH accounts AS (SELECT age * 2 AS age FROM self) SELECT SUM(age) FROM accounts"
    assert asked(text) == asked("SELECT SUM(age * 2) FROM accounts")


def test_an_alias_of_an_answer_is_no_column() -> None:
    text = "SELECT SUM(balance) AS age, age / 2 AS half FROM accounts"
    assert [query["of"] for query in asked(text)["ask"]] == ["balance"]


def test_a_case_under_an_old_name_has_the_range_of_its_branches() -> None:
    inner = "SELECT CASE WHEN vip THEN balance * 50 ELSE 0 END AS age FROM accounts"
    text = f"SELECT SUM(age) FROM ({inner}) AS t"
    assert asked(text)["ask"][0]["range"] == ["0", "1000", "50"], "from 0 to 1,000 steps of 50"


def test_a_public_column_under_an_old_name_brings_its_own_keys() -> None:
    text = (
        "WITH t AS (SELECT j.level AS branch FROM accounts a JOIN jobs j ON a.job = j.job) "
        "SELECT branch, COUNT(*) FROM t GROUP BY branch"
    )
    stated = opened("accounts").explain_sql(
        text, share="1/10", tables={"jobs": {"job": ["chef"], "level": [77]}}
    )
    assert '"keys": [[77' in stated


def test_the_attack_is_seen_if_old_names_keep_their_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wrong twin: a name that the table has is that column, whatever a subquery made of it."""
    right = Scope.column

    def wrong(self: Scope, node: Any) -> Node:
        known = opened("accounts").columns
        return Column(node.name) if node.name in known else right(self, node)

    monkeypatch.setattr(Scope, "column", wrong)
    with pytest.raises(AssertionError):
        assert asked("WITH t AS (SELECT balance * 100 AS age FROM accounts) SELECT SUM(age) FROM t") == asked(
            "SELECT SUM(balance * 100) FROM accounts"
        )
