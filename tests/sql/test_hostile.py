"""Hostile texts are refused with a message of bounded length, in bounded time."""

from __future__ import annotations

import time
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import prdp
from tests.sql.fixtures import opened

FEW_SECONDS = 20
"""No stopwatch: what is linear takes a tenth of a second here, and what is not takes minutes."""

_ODD = "SELECT COUNT(*) FROM accounts WHERE age "

LONG = {
    "100 kB of blanks": "SELECT COUNT(*) FROM accounts" + " " * 100_000,
    "100 kB of conditions": _ODD + "> 1" + " AND age > 1" * 8_000,
    "100 kB of a text": f"SELECT COUNT(*) FROM accounts WHERE job = '{'x' * 100_000}'",
    "100 kB of parentheses": "SELECT " + "(" * 50_000 + "1" + ")" * 50_000,
    "deep parentheses": "SELECT " + "(" * 500 + "1" + ")" * 500,
    "deep CASE": "SELECT SUM(" + "CASE WHEN vip THEN " * 300 + "1" + " END" * 300 + ") FROM accounts",
    "deep NOT": "SELECT COUNT(*) FROM accounts WHERE " + "NOT " * 2_000 + "vip",
    "deep signs": "SELECT SUM(" + "- " * 2_000 + "age) FROM accounts",
    "deep subqueries": "SELECT COUNT(*) FROM " + "(SELECT age FROM " * 100 + "accounts" + ") AS t" * 100,
    "long sums": "SELECT SUM(" + "age + " * 2_500 + "1) FROM accounts",
    "many columns": "SELECT " + "COUNT(*), " * 2_000 + "COUNT(*) FROM accounts, x",
    "many aggregates": f"SELECT {', '.join(f'SUM(age + {k})' for k in range(600))} FROM accounts",
    "many open quotes": "SELECT " + "'" * 9_999,
    "many open comments": "SELECT " + "/*" * 5_000,
    "many comment signs": "SELECT " + "/**/" * 4_000 + "?",
    "many dots": "SELECT " + "a." * 3_000 + "b FROM accounts",
    "many commas": "SELECT " + "," * 5_000,
    "many joins": "SELECT COUNT(*) FROM accounts" + " JOIN jobs ON TRUE" * 1_000,
    "many operators": "SELECT " + "<" * 5_000,
    "a CTE that doubles": "WITH t0 AS (SELECT age AS a FROM accounts)"
    + "".join(f", t{k + 1} AS (SELECT a + a AS a FROM t{k})" for k in range(60))
    + " SELECT SUM(a) FROM t60",
    "a CTE that doubles under CASE": "WITH t0 AS (SELECT age AS a FROM accounts)"
    + "".join(f", t{k + 1} AS (SELECT CASE WHEN a > 1 THEN a ELSE a END AS a FROM t{k})" for k in range(40))
    + " SELECT SUM(a) FROM t40",
    "a statement after a long one": "SELECT " + "1 + " * 2_000 + "1; DROP TABLE accounts",
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_a_hostile_text_is_refused_in_bounded_time(text: str) -> None:
    start = time.perf_counter()
    with pytest.raises(prdp.errors.SqlError) as refused:
        opened("accounts").sql(text, share="1/10", tables={"jobs": {"job": ["clerk"]}})
    assert len(str(refused.value)) < 2_000
    assert time.perf_counter() - start < FEW_SECONDS


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM accounts WHERE job = 'a\x00b'",
        "SELECT COUNT(*) FROM accounts WHERE job = 'a\ud800b'",
        "SELECT COUNT(*)\ufeff FROM accounts",
        "SELECT COUNT(*) FROM accounts WHERE job = \u2018clerk\u2019",
        "SELECT COUNT(*) FROM accounts WHERE age \uff1e 30",
        "SELECT COUNT(*) FROM accounts\u202e; DROP TABLE x",
        "SELECT COUNT(*) FROM accounts WHERE $$age$$ = 1",
        "SELECT COUNT(*) FROM accounts WHERE age > @@x",
        "SELECT COUNT(*) FROM accounts WHERE age > 1 \\; DROP TABLE accounts",
        "{# jinja #} SELECT COUNT(*) FROM accounts",
        "SELECT COUNT(*) FROM accounts WHERE age > {{ 1 }}",
        "SELECT /*! COUNT(*) */ 1 FROM accounts",
        'SELECT SUM("age"") FROM accounts; --") FROM accounts',
        "",
        "   \n\t ",
        "--",
    ],
)
def test_odd_characters_are_refused(text: str) -> None:
    with pytest.raises(prdp.errors.SqlError):
        opened("accounts").sql(text, share="1/10")


@given(st.text(st.sampled_from(" ()*,.;'\"-+/%<>=!|:?aeCOUNTSELECTFROMWHEREGROUPBY19\n\u00e9"), max_size=60))
def test_whatever_the_text_only_a_refusal_comes_out(text: str) -> None:
    accounts = opened("accounts")
    before = accounts.remaining
    with suppress(prdp.InvalidRequest):
        accounts.explain_sql(text, share="1/10")
    assert accounts.remaining == before


PIECES = st.sampled_from(
    [
        *(
            "SELECT",
            "COUNT(*)",
            "SUM(age)",
            "age",
            "job",
            "FROM",
            "accounts",
            "WHERE",
            "vip",
            "GROUP BY",
            "AS",
        ),
        *("a", "(", ")", ",", "=", "1", "'x'", "OVER ()", "UNION", "DISTINCT", "HAVING", "ORDER BY", "LIMIT"),
        *("IN", "EXISTS", "JOIN", "ON", "WITH", "*", "CASE WHEN", "THEN", "END", "FILTER (WHERE vip)", "NOT"),
        *("AND", "LOW(", "INTERVAL", "DATE '2020-01-01'"),
    ]
)


@given(st.lists(PIECES, max_size=14))
def test_whatever_the_pieces_only_a_refusal_or_a_plan_comes_out(pieces: list[str]) -> None:
    with suppress(prdp.InvalidRequest):
        opened("accounts").explain_sql(" ".join(["SELECT", *pieces]), share="1/10")


def test_a_refused_text_costs_nothing() -> None:
    accounts = prdp.open({"age": np.arange(3)}, policy="1", name="accounts")
    with pytest.raises(prdp.errors.SqlError):
        accounts.sql("SELECT COUNT(*), age FROM accounts", share="1/10")
    assert accounts.remaining == 1


def test_no_text_of_the_user_s_reaches_the_engine() -> None:
    """What an engine runs is written from checked trees: names are quoted, texts are constants."""
    accounts = opened("accounts")
    stated = accounts.explain_sql(
        'SELECT SUM("x""; DROP TABLE") FROM accounts -- /* hidden */\nWHERE job = \'"; DROP TABLE t; --\'',
        share="1/10",
    )
    (reads,) = [line for line in stated.splitlines() if line.startswith("  reads")]
    assert '"x""; DROP TABLE"' in reads
    assert "'\"; DROP TABLE t; --'" in reads
    assert "hidden" not in stated
