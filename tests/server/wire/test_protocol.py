"""Messages of the PostgreSQL protocol after the login: simple, extended, pipelined, refused."""

from __future__ import annotations

import asyncio
import struct
import threading
import tracemalloc
from types import SimpleNamespace

import pytest

from prdp.server.wire.failures import WireError
from prdp.server.wire.listener import WireConnection, WireServer
from prdp.server.wire.values import INT8, as_bytes, as_text
from tests.server.serving import COUNT, Served, people
from tests.server.wire.talking import (
    DESCRIBE,
    SYNC,
    Client,
    bind,
    execute,
    kinds,
    parse,
    query,
    sent,
    states,
    text,
)

GROUPED = "SELECT ward, COUNT(*) AS n FROM visits WHERE days > $1 AND ward = $2 GROUP BY ward"


@pytest.fixture
def client(served: Served) -> Client:
    return Client.logged_in(people(served), options="-c prdp.share=0.01 -c prdp.intervals=off")


def test_statements_of_one_text_run_until_one_fails(client: Client) -> None:
    said = client.send(query(f"SELECT 1; {COUNT}; SELECT nothing; SELECT 2"))
    assert kinds(said) == "TDCTDCEZ"
    assert said[-1].body == b"I"
    assert kinds(client.send(query(" ; "))) == "IZ"


def test_a_prepared_statement_takes_values_in_text_and_in_binary(client: Client) -> None:
    answers = []
    for values, types, forms in (
        ((b"40", b"a"), (), ()),
        ((struct.pack("!q", 40), b"a"), (20, 25), (1, 1)),
        ((struct.pack("!h", 40), b"a"), (21, 25), (1, 0)),
        ((struct.pack("!d", 40.0), b"a"), (701, 0), (1, 0)),
    ):
        said = client.send(
            parse(GROUPED, "", *types)
            + bind(*values, forms=forms, wanted=(0, 1))
            + DESCRIBE
            + execute()
            + SYNC
        )
        assert kinds(said) == "12TDCZ", said
        assert said[2].names == ["ward", "n"]
        cells = said[3].cells
        assert cells[0] == b"a"
        answers.append(struct.unpack("!q", cells[1] or b""))
    assert len(set(answers[:3])) == 1
    assert client.served.rows("SELECT count(*) FROM {}spends") <= [(2,)]


def test_parameters_are_described_by_what_they_are_compared_with(client: Client) -> None:
    said = client.send(parse(GROUPED, "asked") + sent(b"D", b"S", text("asked")) + SYNC)
    assert kinds(said) == "1tTZ"
    assert struct.unpack("!HII", said[1].body) == (2, 701, 25)


def test_values_are_values_whatever_is_written_in_them(client: Client) -> None:
    statement = "SELECT COUNT(*) AS n FROM loans WHERE branch = $1"
    for value in (b"a' OR '1' = '1", b"'; DROP TABLE visits --", b"$1"):
        said = client.send(parse(statement) + bind(value) + execute() + SYNC)
        assert kinds(said) == "12DCZ"
    asked = [one for (one,) in client.served.rows("SELECT statement FROM {}requests ORDER BY made, id")]
    assert len(asked) == 3
    assert any("'a'' OR ''1'' = ''1'" in one for one in asked)


WRONG = (
    (20, b"1; DROP", 0), (20, b"1 OR 1=1", 0), (701, b"nan", 0), (1082, b"'; --", 0), (20, b"\0", 1),
    (16, b"maybe", 0), (25, b"\xff", 0), (17, b"x", 0), (1700, b"\0\1\0\0\0\0\0\0\x7f\xff", 1),
)  # fmt: skip


def test_a_value_that_is_not_of_its_type_is_refused(client: Client) -> None:
    for kind, value, form in WRONG:
        given = bind(value, forms=(form,)) + execute() + SYNC
        said = client.send(parse("SELECT COUNT(*) AS n FROM visits WHERE days > $1", "", kind) + given)
        assert kinds(said) == "1EZ", (kind, value)
    assert client.served.rows("SELECT count(*) FROM {}requests") == [(0,)]


def test_after_an_error_all_is_skipped_up_to_sync(client: Client) -> None:
    batch = parse("SELECT COUNT(*) FROM visits WHERE dayz > 1") + bind() + DESCRIBE + execute()
    said = client.send(batch + parse(COUNT) + bind() + execute() + SYNC + query("SELECT 1"))
    assert kinds(said) == "12EZTDCZ"
    assert said[2].fields["P"] == "35"
    assert client.served.rows("SELECT count(*) FROM {}requests") == [(0,)]


def test_the_place_of_an_error_is_one_of_the_text_that_was_sent(client: Client) -> None:
    text = "SELECT 1;   SELECT COUNT(*) FROM public.visits WHERE dayz > 1"
    said = client.send(query(text))
    fields = next(one.fields for one in said if one.kind == "E")
    assert "SELECT 1;   SELECT COUNT(*) FROM public.visits WHERE dayz > 1"[int(fields["P"]) - 1 :].startswith(
        "dayz"
    )
    assert fields["H"].startswith("Did you mean days?")
    statement = "SELECT COUNT(*) FROM visits WHERE ward = $1 AND dayz > $2"
    said = client.send(parse(statement) + bind(b"a long text", b"3") + execute() + SYNC)
    fields = next(one.fields for one in said if one.kind == "E")
    assert statement[int(fields["P"]) - 1 :].startswith("dayz")


def test_rows_are_sent_in_portions(client: Client) -> None:
    statement = "SELECT typname FROM pg_type ORDER BY typname"
    said = client.send(
        query("BEGIN") + parse(statement) + bind() + execute(3) + execute(2) + execute() + SYNC
    )
    assert kinds(said).startswith("CZ12DDDsDDsD")
    assert kinds(said).endswith("DCZ")


def test_a_failed_transaction_does_no_more_until_it_ends(client: Client) -> None:
    client.send(query("BEGIN"))
    assert client.send(query("SELECT nothing FROM visits"))[-1].body == b"E"
    assert states(client.send(query(COUNT))) == ["25P02"]
    assert client.send(query("ROLLBACK"))[-1].body == b"I"
    assert client.served.rows("SELECT count(*) FROM {}requests") == [(0,)]


def test_whoever_cancels_is_detached_and_the_question_goes_on(served: Served) -> None:
    client = Client.logged_in(people(served), options="-c prdp.share=0.01")
    client.talk.receive(query(COUNT))
    assert client.talk.work is not None
    waiting = client.talk.work.run()
    assert waiting.at > served.clock.at
    from prdp.server.wire.failures import WireError  # noqa: PLC0415

    client.talk.finish(WireError.detached())
    said = client.settle()
    assert (kinds(said), states(said)) == ("EZ", ["57014"])
    assert served.rows("SELECT state FROM {}requests") == [("queued",)]
    served.run()
    assert kinds(client.send(query(COUNT))) == "TDCZ"
    assert served.rows("SELECT count(*) FROM {}spends") == [(1,)]


def test_an_answer_is_sent_at_its_time_and_never_before(served: Served) -> None:
    client = Client.logged_in(people(served), options="-c prdp.share=0.01")
    client.talk.receive(query(COUNT))
    assert client.talk.work is not None
    waiting = client.talk.work.run()
    (publish,) = served.rows("SELECT publish FROM {}requests")[0]
    assert waiting.at == publish
    served.clock.at = publish - 1
    assert waiting.then().at == publish


NO_MESSAGES = (b"\0\0\0\0\0", b"z\0\0\0\4", b"Q\0\0\0\3", b"Q\xff\xff\xff\xff", b"D\0\0\0\6zz", b"P\0\0\0\4")


def test_what_is_no_message_ends_the_connection(served: Served) -> None:
    people(served)
    for number, data in enumerate(NO_MESSAGES):
        client = Client.logged_in(served, f"ana.l{number}")
        assert states(client.send(data)) in (["08P01"], ["54000"]), data
        assert client.talk.closed


def test_a_failure_of_ours_says_nothing_of_itself(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("/home/owner/accounts.csv: 41 records")

    monkeypatch.setattr("prdp.server.wire.questions.WireAsker.plan", fail)
    said = client.send(query(COUNT))
    assert [(one.fields["C"], one.fields["M"]) for one in said if one.kind == "E"] == [
        ("58000", "the server failed. What was charged remains: ask the same question again.")
    ]


def test_each_connection_has_limits_of_statements_portals_and_texts(client: Client) -> None:
    for number in range(20):
        client.send(
            parse("SELECT 1", f"s{number}") + sent(b"B", text(f"p{number}"), text(f"s{number}"), bytes(6))
        )
    said = client.send(sent(b"B", text("one more"), text("s1"), bytes(6)) + SYNC)
    assert states(said) == ["54000"]
    for text_ in ("SELECT 1 -- " + "x" * 10_000, "SELECT 1;" * 12_000):
        assert states(client.send(parse(text_) + SYNC)) == ["54000"]
    said = client.send(parse("SELECT 1 WHERE 'a' = $1") + bind(b"x" * 10_000) + execute() + SYNC)
    assert states(said) == ["54000"]


def test_a_prepared_statement_is_kept_as_its_text(client: Client) -> None:
    tracemalloc.start()
    try:
        for number in range(40):
            client.send(parse(f"SELECT {number} {'(' * 9_900}", f"s{number}") + SYNC)
            client.talk.output.clear()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 24_000_000  # 40 megabytes of tokens without a limit


class Pipe(asyncio.Transport):
    """A socket that says whether it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.is_read = True

    def get_extra_info(self, name: str, default: object = None) -> object:
        return ("127.0.0.1", 5) if name == "peername" else default

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        del data


def test_who_does_not_read_is_not_heard_until_they_do(served: Served) -> None:
    async def tried() -> list[bool]:
        connection, pipe = WireConnection(WireServer(served.service, None)), Pipe()
        connection.connection_made(pipe)
        seen = [pipe.is_read]
        connection.pause_writing()
        connection.data_received(sent(b"", struct.pack("!I", 80_877_104)))  # answered without any work
        seen.append(pipe.is_read)
        connection.resume_writing()
        seen.append(pipe.is_read)
        connection.connection_lost(None)
        return seen

    assert asyncio.run(tried()) == [True, False, True]


def test_nobody_has_all_threads_and_logins_have_their_own(served: Served) -> None:
    async def tried() -> list[object]:
        server, ended = WireServer(served.service, None), threading.Event()

        def connection(user: str) -> WireConnection:
            made = WireConnection(server)
            made._conversation._session = SimpleNamespace(user=user) if user else None  # type: ignore[assignment]
            return made

        busy = [asyncio.create_task(connection(f"ana.l{k}")._worked_out(ended.wait)) for k in range(20)]
        hung_up = asyncio.create_task(connection("ana.gone")._worked_out(ended.wait))
        await asyncio.sleep(0.05)
        hung_up.cancel()
        try:
            return [
                await asyncio.wait_for(connection(user)._worked_out(lambda: 41), 30)
                for user in ("ben.laptop", "")
            ]
        finally:
            ended.set()
            await asyncio.gather(*busy)
            server.stop()

    assert asyncio.run(tried()) == [41, 41]


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63)])
def test_whole_numbers_of_64_bits_have_a_binary_form(value: int) -> None:
    assert struct.unpack("!q", as_bytes(value, INT8) or b"") == (value,)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**30])
def test_larger_ones_are_refused_with_what_to_do_and_sent_as_text(value: int) -> None:
    with pytest.raises(WireError, match="ask for results as text") as refused:
        as_bytes(value, INT8)
    assert refused.value.state == "22003"
    assert as_text(value, INT8) == str(value).encode()
