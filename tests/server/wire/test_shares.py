"""What statements of the PostgreSQL protocol spend, and what they never do."""

from __future__ import annotations

from fractions import Fraction

import pytest

from prdp.server import audit
from tests.server.serving import COUNT, Served, people
from tests.server.wire.serving_wire import Talk, wire_token
from tests.server.wire.talking import Client, kinds, query

MINUTES_OF_A_DAY = 24 * 60


@pytest.fixture
def filled(served: Served) -> Served:
    return people(served)


@pytest.fixture
def talk(filled: Served) -> Talk:
    wire_token(filled, "ana.laptop")
    return Talk.of(filled)


def spends(served: Served) -> list[int]:
    return [parts for (parts,) in served.rows("SELECT parts FROM {}spends ORDER BY charge")]


def test_without_a_share_a_question_is_refused_with_the_sentence_to_write(talk: Talk) -> None:
    refused = talk.refused(COUNT)
    assert (refused.state, "SET prdp.share = 0.01" in refused.hint) == ("53400", True)
    assert spends(talk.served) == []
    assert talk.served.rows("SELECT id FROM {}requests") == []


def test_repeats_are_free_with_the_share_without_it_and_by_others(talk: Talk) -> None:
    talk.run("SET prdp.share = 0.01")
    first = talk.run(COUNT)
    assert talk.run(COUNT).rows == first.rows
    talk.run("RESET prdp.share")
    assert talk.run(COUNT).rows == first.rows
    assert talk.run("SELECT  count( * ) AS n FROM public.visits -- again").rows == first.rows
    wire_token(talk.served, "ben.desk")
    assert Talk.of(talk.served, "ben.desk").run(COUNT).rows == first.rows
    assert spends(talk.served) == [10**10]


def test_without_a_share_the_answer_of_the_largest_one_is_shown(talk: Talk) -> None:
    found = {}
    for share in ("0.02", "0.04", "0.01"):
        talk.run(f"SET prdp.share = {share}")
        found[share] = talk.run(COUNT).rows
    talk.run("RESET prdp.share")
    assert talk.run(COUNT).rows == found["0.04"]


@pytest.mark.slow
def test_a_dashboard_that_refreshes_every_minute_for_a_day_spends_once(talk: Talk) -> None:
    tiles = (COUNT, "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward")
    shown = set()
    for minute in range(MINUTES_OF_A_DAY):
        if minute % 60 == 0:  # pools close connections, and settings with them
            talk = Talk.of(talk.served)
            talk.run("SET prdp.share = 0.01")
        shown.add(str([talk.run(tile).rows for tile in tiles]))
        talk.served.clock.at += 60
    assert len(shown) == 1
    assert spends(talk.served) == [10**10, 10**10]
    assert talk.served.remaining("visits") == 1 - Fraction(2, 100)
    with talk.served.store.reading() as rows:
        audit.verify(rows)
        (charged,) = rows.one("SELECT count(*) FROM {}audit WHERE kind = 'charged'")
    assert charged == len(tiles)


def test_a_dry_run_shows_what_is_spent_and_spends_nothing(talk: Talk) -> None:
    talk.run("SET prdp.share = 0.02")
    talk.run("SET prdp.explain = on")
    lines = {str(name): value for name, value in talk.run(COUNT).rows}
    assert (lines["cost"], lines["left alone"], lines["needs approval"]) == ("0.02", "0.1", "no")
    talk.run("SET prdp.explain = off")
    again = {str(name): value for name, value in talk.run(f"EXPLAIN {COUNT}").rows}
    assert again == lines
    assert spends(talk.served) == []


def test_the_cap_of_a_token_holds_over_all_its_connections(filled: Served) -> None:
    wire_token(filled, "ana.report", cap="0.025")
    wire_token(filled, "ana.laptop")
    for number in range(4):
        talk = Talk.of(filled, "ana.report")
        talk.run("SET prdp.share = 0.01")
        statement = f"{COUNT} WHERE days < {number + 1}"
        if number < 2:
            talk.run(statement)
        else:
            assert talk.refused(statement).message == "this token may spend less than the question asks for."
    assert spends(filled) == [10**10, 10**10]
    assert talk.run(f"{COUNT} WHERE days < 1").rows  # a repeat
    left = {row[0]: row[1:] for row in talk.run("SHOW prdp.remaining").rows}
    assert left["visits"] == ("0.005", "0.005", "0.005")
    other = Talk.of(filled, "ana.laptop")
    other.run("SET prdp.share = 0.01")
    other.run(f"{COUNT} WHERE days < 7")
    assert len(spends(filled)) == 3


def test_a_purse_is_spent_by_all_of_a_persons_tokens(filled: Served) -> None:
    for label in ("one", "two"):
        wire_token(filled, f"ben.{label}")
    for number, label in enumerate(("one", "two", "one")):
        talk = Talk.of(filled, f"ben.{label}")
        talk.run("SET prdp.share = 0.02")
        statement = f"{COUNT} WHERE days < {number + 1}"
        if number < 2:
            talk.run(statement)
        else:
            assert talk.refused(statement).state == "53400"
    assert sum(spends(filled)) == 4 * 10**10


def test_a_question_that_needs_approval_waits_and_is_answered_once_it_is_approved(talk: Talk) -> None:
    talk.run("SET prdp.share = 0.15")
    refused = talk.refused(COUNT)
    assert "waits for a steward" in refused.message
    assert spends(talk.served) == []
    (request,) = talk.served.ask("GET", "/v1/requests", who="stan").facts["requests"]
    decision = {"approve": True, "digest": request["digest"]}
    assert talk.served.ask("POST", f"/v1/requests/{request['id']}/decision", decision, "stan").status == 200
    assert len(talk.run(COUNT).rows) == 1
    assert spends(talk.served) == [15 * 10**10]


def test_rollback_gives_nothing_back_and_says_so_where_something_was_asked(filled: Served) -> None:
    client = Client.logged_in(filled)
    client.send(query("SET prdp.share = 0.01"))
    client.send(query("BEGIN"))
    assert kinds(client.send(query(COUNT))) == "TDCZ"
    said = client.send(query("ROLLBACK"))
    assert kinds(said) == "NCZ"
    assert said[0].fields["M"] == "ROLLBACK gives nothing back: what was asked is spent."
    assert spends(filled) == [10**10]
    client.send(query("BEGIN"))
    client.send(query("SELECT 1"))
    assert kinds(client.send(query("ROLLBACK"))) == "CZ"


def test_intervals_are_columns_unless_they_are_switched_off(talk: Talk) -> None:
    talk.run("SET prdp.share = 0.01")
    statement = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward"
    whole = talk.run(statement)
    assert [column.name for column in whole.columns or ()] == ["ward", "n", "n_low", "n_high", "n_flag"]
    talk.run("SET prdp.intervals = off")
    short = talk.run(statement)
    assert [(column.name, column.type) for column in short.columns or ()] == [("ward", 25), ("n", 20)]
    assert [row[:2] for row in whole.rows] == [list(row) for row in short.rows]
    assert all(row[2] <= row[1] <= row[3] for row in whole.rows)


@pytest.mark.parametrize(
    "value", ["0", "1.5", "-0.1", "nan", "'0.01; DROP'", "1e-3", "0.0000000000001", "''"]
)
def test_a_share_is_a_decimal_and_nothing_else(talk: Talk, value: str) -> None:
    assert talk.refused(f"SET prdp.share = {value}").state == "22023"
    assert talk.refused(COUNT).state == "53400"


REFUSED = (
    ("INSERT INTO visits VALUES (1)", "25006"),
    ("DROP TABLE visits", "25006"),
    ("COPY visits TO STDOUT", "25006"),
    ("SET prdp.remaining = 1", "55P02"),
    ("SET prdp.cap = 1", "42704"),
    ("SHOW prdp.nothing", "42704"),
    ("SET client_encoding = 'LATIN1'", "22023"),
    ("SELECT * FROM visits", "42601"),
    ("SELECT COUNT(*) FROM visits v, pg_catalog.pg_class c", "42601"),
    ("SELECT COUNT(*) FROM nothing", "42601"),
    ("WITH x AS (DELETE FROM visits RETURNING 1) SELECT * FROM x", "42601"),
)


def test_what_is_refused_is_refused_before_anything_is_spent(talk: Talk) -> None:
    talk.run("SET prdp.share = 0.01")
    for statement, state in REFUSED:
        assert talk.refused(statement).state == state, statement
    assert spends(talk.served) == []


def test_another_analysts_table_is_not_there(filled: Served) -> None:
    wire_token(filled, "ben.desk")
    ben = Talk.of(filled, "ben.desk")
    ben.run("SET prdp.share = 0.01")
    hidden = ben.refused("SELECT COUNT(*) FROM loans")
    assert hidden.message == ben.refused("SELECT COUNT(*) FROM nothing").message
    assert ben.run("SELECT relname FROM pg_class WHERE relname = 'loans'").rows == []
    assert ben.run("SELECT table_name FROM information_schema.tables").rows == [("visits",)]


def test_a_token_gives_nobody_more_than_their_role(filled: Served) -> None:
    for user in ("olga.desk", "stan.desk", "uwe.desk"):
        wire_token(filled, user)
        talk = Talk.of(filled, user)
        talk.run("SET prdp.share = 0.01")
        assert talk.refused(COUNT).state in {"42501", "42601"}, user
    assert spends(filled) == []


def test_statements_that_want_no_row_are_free(talk: Talk) -> None:
    found = talk.run("SELECT * FROM visits LIMIT 0")
    assert ([(one.name, one.type) for one in found.columns or ()], list(found.rows)) == (
        [("days", 20), ("ward", 25)], [],
    )  # fmt: skip
    assert spends(talk.served) == []
