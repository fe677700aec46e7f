"""A server of ClickHouse over HTTP: answers, refusals before any charge, faults, and no password anywhere.

The server is clickhouse_front.py in a process of its own: clickhouse-connect speaks to it as to any other,
and its statements are run by chDB, which is ClickHouse itself.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import quote

import clickhouse_connect
import pytest

import prdp
from prdp.engines.database import Statement
from prdp.errors import EngineFailure, InvalidRequest
from tests.engines.clickhouse_front import PASSWORD, USER

pytestmark = pytest.mark.slow

POLICY = prdp.Policy.column("eps", at_least="1/10", at_most="10")
_FRONT = Path(__file__).with_name("clickhouse_front.py")
_PATIENCE = 60.0


@dataclass
class Server:
    """A server in a process of its own.

    Attributes:
        process: The process.
        folder: Its folder; see clickhouse_front.py.
        port: Where it listens.
    """

    process: subprocess.Popen[str]
    folder: Path
    port: int

    def address(self, password: str = PASSWORD, place: str = "127.0.0.1", database: str = "bank") -> str:
        return f"clickhouse://{USER}:{quote(password, safe='')}@{place}:{self.port}/{database}"

    def run(self, *statements: str) -> None:
        client = clickhouse_connect.get_client(
            host="127.0.0.1", port=self.port, username=USER, password=PASSWORD, database="bank"
        )
        for statement in statements:
            client.command(statement)
        client.close()

    def begun(self) -> int:
        """Return how many statements of prdp's the server has begun."""
        log = self.folder / "log"
        return log.read_text().count("prdp-") if log.exists() else 0

    def when_next_begins(self, then: Callable[[], None]) -> threading.Thread:
        """Do something shortly after the next statement that reads records has begun."""
        log = self.folder / "log"
        start = log.stat().st_size

        def wait() -> None:
            end = time.monotonic() + _PATIENCE
            while b"'SELECT level" not in log.read_bytes()[start:] and time.monotonic() < end:
                time.sleep(0.01)
            time.sleep(0.3)
            then()

        thread = threading.Thread(target=wait)
        thread.start()
        return thread


def started(folder: Path, *certificate: str) -> Server:
    process = subprocess.Popen(
        [sys.executable, str(_FRONT), str(folder), *certificate], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process.stdout:
        server = Server(process, folder, int(process.stdout.readline()))
    if not certificate:
        server.run(
            "CREATE TABLE IF NOT EXISTS accounts (eps Float64, v Int64, job String) ENGINE = MergeTree "
            "ORDER BY tuple()",
            "INSERT INTO accounts SELECT 1, number % 100, ['clerk', 'chef'][number % 2 + 1] "
            "FROM numbers(1000)",
            "CREATE VIEW IF NOT EXISTS slow AS SELECT eps + sleepEachRow(0.002) AS eps, v FROM accounts",
        )
    return server


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = started(tmp_path_factory.mktemp("clickhouse"))
    yield server
    server.process.kill()
    server.process.wait()


@pytest.fixture
def server(lasting: Server) -> Iterator[Server]:
    yield lasting
    for name in ("cut", "profile"):
        (lasting.folder / name).unlink(missing_ok=True)


def opened(server: Server, table: str = "accounts", **options: object) -> prdp.Table:
    given = {"policy": POLICY, "bounds": {"v": (0, 100)}} | options
    return prdp.open(server.address(), table=table, **given)  # type: ignore[arg-type]


def test_a_server_s_table_is_read(server: Server) -> None:
    table = opened(server, synthetic=True, policy=prdp.Policy.constant(10**9))
    assert table.name == "accounts"
    assert table.count(share="1/4").value == 1000
    by_job = table.group_by("job", keys=["chef", "nobody", "clerk"]).count(share="1/4")
    assert [release.value for _, (release,) in by_job] == [500, 0, 500]
    assert table.sum("v", share="1/4").value == pytest.approx(49_500, abs=0.01)
    assert 'FROM "bank"."accounts"' in table.explain(prdp.sum("v"), share="1/4")


def test_a_client_of_one_s_own_is_taken(server: Server) -> None:
    client = clickhouse_connect.get_client(
        host="127.0.0.1", port=server.port, username=USER, password=PASSWORD, database="default"
    )
    table = prdp.open(client, table="bank.accounts", policy=prdp.Policy.constant(10**9), synthetic=True)
    assert table.count(share="1/4").value == 1000


def test_tables_of_a_server_are_joined_by_its_address_or_a_client(server: Server) -> None:
    server.run(
        "CREATE TABLE people (id Int64, town String) ENGINE = MergeTree ORDER BY tuple()",
        "INSERT INTO people SELECT number, ['u', 'b'][number % 2 + 1] FROM numbers(100)",
        "CREATE TABLE orders (buyer Int64, price Int64) ENGINE = MergeTree ORDER BY tuple()",
        "INSERT INTO orders SELECT number % 120, 7 FROM numbers(1200)",
    )
    client = clickhouse_connect.get_client(
        host="127.0.0.1", port=server.port, username=USER, password=PASSWORD, database="default"
    )
    for database, at in ((server.address(), ""), (client, "bank.")):
        join = prdp.open_join(
            {"people": f"{at}people", "orders": f"{at}orders"},
            database=database,
            private="people",
            key="id",
            references={"orders.buyer": "people.id"},
            policy=prdp.Policy.constant(10**9),
            bounds={"price": (0, 10)},
            synthetic=True,
        )
        over = join.over("orders")
        assert over.count(share="1/4").value == pytest.approx(1000, abs=0.01)
        assert over.filter("town = 'u'").sum("price", share="1/4").value == pytest.approx(3500, abs=0.01)
        _holds_no_secret(repr(join), PASSWORD)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"password": "wrong"}, "unknown user, or incorrect password"),
        ({"place": "nowhere.invalid"}, "no such host is known"),
        ({"database": "elsewhere"}, "cannot be opened|has no table"),
    ],
)
def test_a_server_that_cannot_be_opened_is_refused(server: Server, change: dict[str, str], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says) as refused:
        prdp.open(server.address(**change), table="accounts", policy=POLICY)
    _holds_no_secret(str(refused.value), change.get("password", PASSWORD))
    assert refused.value.__cause__ is None


def test_what_nobody_listens_at_is_refused(server: Server) -> None:
    with pytest.raises(InvalidRequest, match="nothing listens there"):
        prdp.open(f"clickhouse://{USER}@127.0.0.1:1/bank", table="accounts", policy=POLICY)


@pytest.mark.parametrize(
    "address",
    ["clickhouse://ana:s3cret@/bank", "clickhouse://ana:s3cret@host:x/bank", "clickhouse://ana:s3c@ret@host/bank",
     "clickhouse://ana@host/bank?password=s3cret", "clickhouse://ana:s3cret@host/bank/more"],
)  # fmt: skip
def test_an_address_that_is_none_is_not_repeated(address: str) -> None:
    with pytest.raises(InvalidRequest, match="no address of a ClickHouse server") as refused:
        prdp.open(address, table="accounts", policy=POLICY)
    assert "s3c" not in str(refused.value)


def test_a_table_that_is_not_there_or_not_named_is_refused(server: Server) -> None:
    with pytest.raises(InvalidRequest, match=r"clickhouse://127.0.0.1:\d+/bank has no table 'nothing'"):
        opened(server, "nothing")
    with pytest.raises(InvalidRequest, match="name the table of ClickHouse to read: table='accounts'"):
        prdp.open(server.address(), policy=POLICY)
    with pytest.raises(InvalidRequest, match="types= is for files"):
        opened(server, types={"v": "BIGINT"})


def test_passwords_are_shown_nowhere(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    table = opened(server, ledger=tmp_path / "accounts.ledger")
    table.sum("v", share="1/4")
    shown = [repr(table), str(table), repr(table._engine), repr(vars(table._engine)), repr(table._origins)]
    shown += [table.explain(prdp.sum("v"), share="1/4"), caplog.text, capsys.readouterr().out]
    shown.append((tmp_path / "accounts.ledger").read_bytes().decode(errors="replace"))
    _holds_no_secret("\n".join(shown), PASSWORD)


def _holds_no_secret(text: str, password: str) -> None:
    assert password not in text
    assert quote(password, safe="") not in text


@pytest.mark.meets("killed")
def test_a_server_that_is_killed_in_the_middle_is_a_fixed_failure_and_the_charge_is_kept(
    tmp_path: Path,
) -> None:
    server = started(tmp_path)
    table = opened(server, "slow", rows_are_records=True)
    killing = server.when_next_begins(server.process.kill)
    with pytest.raises(EngineFailure) as failed:
        table.count(share="1/4")
    killing.join()
    server.process.wait()
    _kept(table, failed.value)
    with pytest.raises(InvalidRequest):  # it is gone: nothing more is charged
        table.sum("v", share="1/4")
    assert table.ledger.remaining == Fraction(3, 4)


@pytest.mark.meets("cut")
def test_an_answer_that_is_cut_off_is_a_fixed_failure_and_the_charge_is_kept(server: Server) -> None:
    table = opened(server)
    cutting = server.when_next_begins(lambda: None)
    original = table._engine.database.server.run  # type: ignore[attr-defined]

    def run(sql: str, settings: dict[str, str]) -> object:
        if "system." not in sql:
            (server.folder / "cut").touch()
        return original(sql, settings)

    table._engine.database.server.run = run  # type: ignore[attr-defined]
    with pytest.raises(EngineFailure) as failed:
        table.count(share="1/4")
    cutting.join()
    (server.folder / "cut").unlink()
    table._engine.database.server.run = original  # type: ignore[attr-defined]
    _kept(table, failed.value)
    table.count(share="1/4")  # taken up without a second charge
    assert table.ledger.remaining == Fraction(3, 4)


@pytest.mark.parametrize(
    "profile",
    [
        "max_memory_usage = 10000000, max_untracked_memory = 1",
        (
            "max_bytes_before_external_group_by = 1, max_bytes_ratio_before_external_group_by = 0, "
            "max_temporary_data_on_disk_size_for_query = 1"
        ),
    ],
    ids=["memory", "temporary space"],
)
@pytest.mark.meets("no room")
def test_a_server_without_room_is_a_fixed_failure_and_the_charge_is_kept(
    server: Server, profile: str
) -> None:
    server.run(
        "CREATE TABLE IF NOT EXISTS many (eps Float64, v Int64, job String) "
        "ENGINE = MergeTree ORDER BY tuple()"
    )
    server.run("INSERT INTO many SELECT 1, number, toString(number) FROM numbers(300000)")
    table = opened(server, "many", privacy_unit="job")
    (server.folder / "profile").write_text(profile)
    with pytest.raises(EngineFailure) as failed:
        table.sum("v", share="1/4")
    (server.folder / "profile").unlink()
    _kept(table, failed.value)
    table.sum("v", share="1/4")
    assert table.ledger.remaining == Fraction(3, 4)


def _kept(table: prdp.Table, failure: EngineFailure) -> None:
    assert str(failure) == str(EngineFailure())
    assert failure.__cause__ is None
    assert failure.__context__ is None
    assert table.ledger.remaining == Fraction(3, 4)


def test_ctrl_c_stops_the_statement_on_the_server(server: Server) -> None:
    table = opened(server, "slow", rows_are_records=True)
    stopping = server.when_next_begins(lambda: os.kill(os.getpid(), signal.SIGINT))
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        table.count(share="1/4")
    assert time.monotonic() - begun < _PATIENCE
    stopping.join()
    assert "KILL QUERY" in (server.folder / "log").read_text()
    client = clickhouse_connect.get_client(
        host="127.0.0.1", port=server.port, username=USER, password=PASSWORD
    )
    end = time.monotonic() + _PATIENCE
    running = "SELECT count() FROM system.processes WHERE query LIKE '/* prdp-%'"
    while client.command(running) != 0 and time.monotonic() < end:
        time.sleep(0.05)
    assert client.command(running) == 0
    assert table.ledger.remaining == Fraction(3, 4)


@pytest.mark.parametrize(
    "profile",
    ["limit = 1", "join_use_nulls = 0", "final = 1",
     "prefer_column_name_to_alias = 0", "result_overflow_mode = 'break', max_result_rows = 1000000",
     "force_primary_key = 1", "aggregate_functions_null_for_empty = 1", "readonly = 2"],
)  # fmt: skip
def test_what_an_administrator_has_set_does_not_change_answers(server: Server, profile: str) -> None:
    (server.folder / "profile").write_text(profile)
    table = opened(server, synthetic=True, policy=prdp.Policy.constant(10**9))
    by_job = table.group_by("job", keys=["chef", "nobody", "clerk"]).count(share="1/4")
    assert [release.value for _, (release,) in by_job] == [500, 0, 500]


def test_a_user_who_may_change_no_setting_is_refused(server: Server) -> None:
    (server.folder / "profile").write_text("readonly = 1")
    with pytest.raises(InvalidRequest, match=r"may not set .* whose settings may be changed"):
        opened(server)


def test_statements_cannot_write(server: Server) -> None:
    engine: Any = opened(server)._engine
    with pytest.raises(Exception, match=r"(?i)readonly"):
        engine.database.rows(Statement("INSERT INTO accounts SELECT * FROM accounts"), engine._tables)
    assert engine.database.settings.plain["readonly"] == "2"


class DeadServer:
    """Takes connections where a server has been, counts them, and never answers."""

    def __init__(self, port: int) -> None:
        self.taken: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", port))
        self._thread = threading.Thread(target=self._take, daemon=True)
        self._thread.start()

    def _take(self) -> None:
        with suppress(OSError):
            while True:
                self.taken.append(self._listening.accept()[0])

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()
        for one in self.taken:
            one.close()


@pytest.mark.parametrize("kept", ["ledger", "memory"])
def test_no_other_source_waits_for_a_server_that_has_died(tmp_path: Path, kept: str) -> None:
    server = started(tmp_path / "clickhouse")
    try:
        table = opened(server, ledger=tmp_path / "a.ledger" if kept == "ledger" else None)
    finally:
        server.process.kill()
        server.process.wait()
    dead = DeadServer(server.port)
    try:
        for number in range(2):
            numbers = tmp_path / f"{number}.csv"
            numbers.write_text("v\n1\n", encoding="utf-8")
            prdp.open(str(numbers), policy="1", types={"v": "BIGINT"}, ledger=tmp_path / f"{number}.ledger")
        assert table.remaining == 1
    finally:
        dead.close()
    assert len(dead.taken) == 0
