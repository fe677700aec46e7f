"""A question of a server's table is the statement that a local table answers as the same question."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prdp
from prdp.remote import RemoteServer, RemoteTable, keep_token, kept_tokens, normal_address, spelled_share

JOBS = ["chef", "clerk", "nurse"]


@dataclass(frozen=True)
class Beside(RemoteServer):
    """A table that answers statements as a server's does."""

    table: Any = None

    def ask(self, statement: str, share: Any, purpose: str = "") -> Any:  # noqa: ARG002
        keys = {"job": JOBS} if "GROUP BY job" in statement else None
        return self.table.sql(statement, share=share, keys=keys)


@pytest.fixture(scope="module")
def local() -> prdp.Table:
    rng = np.random.default_rng(20261119)
    columns = {
        "balance": rng.integers(1, 50_000, 2000),
        "age": rng.integers(18, 90, 2000),
        "job": rng.choice(JOBS, 2000),
    }
    bounds = {"balance": (0, 10**6), "age": (0, 120)}
    return prdp.open(columns, policy="least(10000 / balance, 10)", bounds=bounds, name="accounts")


@pytest.fixture(scope="module")
def remote(local: prdp.Table) -> RemoteTable:
    columns = [
        {"name": name, "type": one.native, "kind": one.kind.value, "integer": one.integer}
        for name, one in local.schema.items()
    ]
    return RemoteTable(Beside("https://x", table=local), {"name": "accounts", "columns": columns})


def grouped(table: Any) -> Any:
    return table.group_by("job") if isinstance(table, RemoteTable) else table.group_by("job", keys=JOBS)


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "count": lambda table: table.count(share="0.01"),
    "sum": lambda table: table.sum("balance", share="0.01"),
    "sum of an expression": lambda table: table.sum("balance * 2", share="0.01"),
    "mean of some": lambda table: table.filter("age >= 40").mean("balance", share="0.01"),
    "two filters": lambda table: table.filter("age >= 40").filter(table["job"] == "chef").count(share="0.01"),
    "a column's": lambda table: table[table["age"] > 30]["balance"].sum(share="0.01"),
    "median": lambda table: table.median("age", share="0.01"),
    "quantile": lambda table: table.quantile("age", 0.9, share="0.01"),
    "std": lambda table: table.std("age", share="0.01"),
    "variance": lambda table: table.variance("age", share="0.01"),
    "max": lambda table: table.max("age", share="0.01"),
    "min": lambda table: table.min("age", share="0.01"),
    "distinct": lambda table: table.count_distinct("job", share="0.01"),
    "several": lambda table: table.agg(prdp.count(), m=prdp.mean("age"), share="0.01"),
    "groups": lambda table: grouped(table).count(share="0.01"),
    "several of groups": lambda table: grouped(table).agg(n=prdp.count(), m=("age", "mean"), share="0.01"),
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_a_question_of_a_server_is_the_local_one(
    remote: RemoteTable, local: prdp.Table, question: Callable[[Any], Any]
) -> None:
    asked = question(remote)
    left = local.remaining
    assert question(local) == asked
    assert local.remaining == left  # the second is not charged: it is the same question


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        (lambda table: table.count(share="0.01", redraw=True), "stewards"),
        (lambda table: table.count(share="0.01", method="partition"), "method"),
        (lambda table: table.sum("balance", share="0.01", round_to=10), "round_to"),
        (lambda table: table.quantile("age", [0.1, 0.9], share="0.01"), "one quantile"),
        (lambda table: table.filter("age > 3").sql("SELECT 1", share="0.01"), "WHERE"),
        (lambda table: table.sum("salary", share="0.01"), "salary"),
        (lambda table: table.group_by(prdp.bins("age", [0, 50])), "SQL"),
    ],
)
def test_what_a_server_does_not_do_is_refused_before_it_is_asked(
    remote: RemoteTable, local: prdp.Table, refused: Callable[[Any], Any], words: str
) -> None:
    left = local.remaining
    with pytest.raises(prdp.InvalidRequest, match=words):
        refused(remote)
    assert local.remaining == left


@pytest.mark.parametrize(
    "address",
    ["stats.example", "http://stats.example", "ftp://x", "https://me:secret@x", "https://x/?a=1", "http://"],
)
def test_an_address_that_would_leak_a_token_is_refused(address: str) -> None:
    with pytest.raises(prdp.InvalidRequest):
        normal_address(address)


def test_a_token_is_kept_for_its_user_alone_and_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("PRDP_TOKEN", raising=False)
    place = keep_token("https://stats.example", "prdp_secret")
    keep_token("http://127.0.0.1:8000", "prdp_other")
    assert place.stat().st_mode & 0o777 == 0o600
    server = RemoteServer.at("https://STATS.example/")
    assert server.token == "prdp_secret"  # noqa: S105
    assert "prdp_secret" not in repr(server)
    place.chmod(0o644)
    with pytest.raises(prdp.InvalidRequest, match="chmod 600"):
        kept_tokens()


def test_a_share_is_sent_exactly_or_not_at_all() -> None:
    assert [spelled_share(one) for one in (0.01, "1/8", 1, "0.000000000001")] == [
        *("0.01", "0.125", "1", "0.000000000001")
    ]
    with pytest.raises(prdp.InvalidRequest):
        spelled_share("1/3")


def test_an_unreachable_server_is_named() -> None:
    with pytest.raises(prdp.PrdpError, match="gives no reply"):
        RemoteServer("http://127.0.0.1:9").call("GET", "/v1/me", again=False)
    assert not os.environ.get("PRDP_TOKEN")
