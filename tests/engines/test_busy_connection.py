"""A connection that the caller shares with us, and has a result open on."""

from __future__ import annotations

import duckdb
import pytest

import prdp


def test_a_connection_with_an_unfinished_result_is_named_with_what_to_do() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT range AS x FROM range(100000)")
    relation = connection.table("t")
    unfinished = connection.execute("SELECT x FROM t")
    with pytest.raises(prdp.InvalidRequest, match=r"not fetched to its end\. Fetch all of it first"):
        prdp.open(relation, policy="1")
    unfinished.fetchall()
    assert prdp.open(relation, policy="1").columns == ["x"]
