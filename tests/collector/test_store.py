"""A store that is damaged, full, gone or somebody else's is refused, and nothing is acknowledged into it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from prdp.collector.acceptance import accept
from prdp.collector.store.opening import open_store
from prdp.errors import CollectorError
from tests.collector.running import begun, count_plan
from tests.collector.test_acceptance import open_campaign, stated, submissions


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.collect"


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no store", encoding="utf-8")
    with closing(sqlite3.connect(tmp_path / "other")) as other:
        other.execute("CREATE TABLE t (x)")
    for name, why in (
        ("nothing", "no collector's store"),
        ("text", "damaged"),
        ("other", "not a collector's"),
    ):
        with pytest.raises(CollectorError, match=why):
            open_store(tmp_path / name)


def test_a_file_that_was_removed_while_it_is_open_takes_nothing_in(path: Path) -> None:
    tickets = list(begun(path, count_plan()).tickets)
    with closing(open_store(path)) as store:
        campaign = open_campaign(store)
        sent = submissions(campaign, tickets)
        path.rename(path.with_name("moved"))
        with pytest.raises(CollectorError, match="moved, removed or replaced"):
            accept(store, campaign.digest, sent, 0)
        path.with_name("moved").rename(path)
        assert stated(accept(store, campaign.digest, sent, 0)[0]) == ["now"] * len(sent)


def test_a_full_disk_takes_nothing_in_and_loses_nothing(path: Path) -> None:
    tickets = list(begun(path, count_plan(), 2000).tickets)
    with closing(open_store(path)) as store:
        campaign = open_campaign(store)
        sent = submissions(campaign, tickets)
        accept(store, campaign.digest, sent[:100], 0)
        (pages,) = store.rows("PRAGMA page_count")[0]
        store.rows(f"PRAGMA max_page_count = {pages + 4}")  # SQLite reports what a full disk makes it report
        with pytest.raises(CollectorError, match="full"):
            accept(store, campaign.digest, sent, 0)
        store.rows("PRAGMA max_page_count = 1000000")
        store.check()
        assert stated(accept(store, campaign.digest, sent, 0)[0]) == ["before"] * 100 + ["now"] * 1900


def test_a_damaged_file_is_refused_when_it_is_opened(path: Path) -> None:
    tickets = list(begun(path, count_plan(), 500).tickets)
    with closing(open_store(path)) as store:
        campaign = open_campaign(store)
        accept(store, campaign.digest, submissions(campaign, tickets), 0)
    whole = path.read_bytes()
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] + bytes(4096) + whole[middle + 4096 :])
    with pytest.raises(CollectorError, match="damaged"), closing(open_store(path)) as store:
        store.check()
    path.write_bytes(whole[:middle])
    with pytest.raises(CollectorError, match="damaged"), closing(open_store(path)) as store:
        store.check()


def test_a_store_whose_sums_do_not_agree_is_refused(address: str) -> None:
    tickets = list(begun(address, count_plan()).tickets)
    with closing(open_store(address)) as store:
        campaign = open_campaign(store)
        accept(store, campaign.digest, submissions(campaign, tickets[:3]), 0)
        with store.writing():
            store.run("DELETE FROM prdp_reports WHERE token = ?", [(next(store.reports(1))[0],)])
        with pytest.raises(CollectorError, match="counted 3 reports, but 2 reports and 3 used tickets"):
            store.check()


@pytest.mark.slow
def test_a_lost_connection_to_postgres_takes_nothing_in_and_comes_back(
    new_database: Callable[[], str], postgres: str
) -> None:
    address = new_database()
    tickets = list(begun(address, count_plan()).tickets)
    with closing(open_store(address)) as store:
        campaign = open_campaign(store)
        sent = submissions(campaign, tickets)
        with psycopg.connect(postgres, autocommit=True) as other:
            name = address.partition("?")[0].rsplit("/", 1)[1]
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
            )
        with pytest.raises(CollectorError, match="cannot be used"):
            accept(store, campaign.digest, sent, 0)
        assert stated(accept(store, campaign.digest, sent, 0)[0]) == ["now"] * len(sent)
        store.check()


def test_no_password_is_shown() -> None:
    with pytest.raises(CollectorError) as refused:
        open_store("postgresql://me:secret@127.0.0.1:1/study")
    assert "secret" not in str(refused.value)
    assert "127.0.0.1/study" in str(refused.value)
