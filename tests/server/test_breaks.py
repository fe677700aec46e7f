"""Each way in which a first version of the server broke is a test that it would fail."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from argon2 import PasswordHasher

from prdp.errors import LedgerError, PrdpError
from prdp.ledger import DurableLedger
from prdp.server import accounts, audit, requests, running, worker
from prdp.server.front import application
from prdp.server.refusals import REFUSALS, RequestRefused
from prdp.server.store import PARTS
from prdp.serving.connections import Rates
from tests.server.serving import (
    BEGUN,
    COUNT,
    ORIGIN,
    PASSWORD,
    WEAK,
    Served,
    StepClock,
    copied,
    opened,
    people,
    write_project,
)

PRIVATE_KEYS = "SELECT branch, COUNT(*) AS n FROM loans GROUP BY branch"


# 1. Timing


def times(folder: Path, records: int) -> list[object]:
    """Return all that an analyst and an auditor see, second by second."""
    folder.mkdir()
    write_project(folder, records=records)
    served = people(opened(folder, StepClock(), {}))
    seen: list[object] = []
    asked = [served.request("ana", f"SELECT COUNT(*) AS n FROM visits WHERE days < {k}") for k in (5, 50)]
    asked.append(served.request("ana", PRIVATE_KEYS, "0.5"))
    numbers = [one.facts["id"] for one in asked]

    def look() -> None:
        for number in numbers:
            said = served.ask("GET", f"/v1/requests/{number}", who="ana")
            seen.append((said.facts["state"], said.facts["publish_at"], said.headers.get("retry-after")))
        lines = served.ask("GET", "/v1/audit", who="uwe").facts["lines"]
        seen.append([(one["at"], one["kind"]) for one in lines])
        seen.append(served.ask("GET", "/v1/tables", who="ana").facts)
        seen.append(served.plan("ben", "SELECT SUM(days) FROM visits")["publish_in"])

    served.clock.watch = look
    served.run("visits")
    served.clock.at = BEGUN
    served.lines["loans"].answer_next()
    assert len(seen) == 6 * 12
    return seen


def test_nothing_that_can_be_seen_before_an_answer_depends_on_the_records(tmp_path: Path) -> None:
    assert times(tmp_path / "few", 1) == times(tmp_path / "many", 10_000)


def test_an_answer_and_a_failure_appear_when_their_slots_end_and_not_before(served: Served) -> None:
    people(served)
    good = served.request("ana", COUNT).facts
    bad = served.request("ana", "SELECT SUM(days) AS s FROM visits").facts
    assert (good["publish_at"], bad["publish_at"]) == (BEGUN + 4, BEGUN + 8)
    (served.folder / "visits.csv").unlink()
    for _ in range(2):
        with served.store.reading() as rows:
            first = requests.next_in_line(rows, "visits")
        assert first is not None
        served.lines["visits"].answer_next()
        assert served.clock.at == first.publish
    assert {served.state(one["id"], "ana")["failed"] for one in (good, bad)} == {"failed"}
    served.clock.at = BEGUN + 3
    before = served.state(good["id"], "ana")
    assert (before["state"], before["failed"], before["release"]) == ("queued", "", None)
    kinds = [one["kind"] for one in served.ask("GET", "/v1/audit", who="uwe").facts["lines"]]
    assert "failed" not in kinds


def test_a_slot_that_was_too_short_doubles_the_deadline_for_good_and_for_all(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    people(served)
    first, second = (
        served.request("ana", f"SELECT COUNT(*) AS n FROM visits WHERE days < {k}").facts for k in (5, 6)
    )
    line, wait = served.lines["visits"], threading.Event()
    answers = line.answers
    monkeypatch.setattr(line, "answers", lambda request: wait.wait(60) and answers(request))
    served.clock.held = True
    overrun = requests.overrun

    def then_go_on(*given: object) -> int:
        wait.set()
        served.clock.held = False
        return overrun(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(requests, "overrun", then_go_on)
    line.answer_next()
    assert served.state(first["id"], "ana")["publish_at"] == BEGUN + 8
    assert served.state(second["id"], "ana")["publish_at"] == BEGUN + 16
    served.run("visits")
    assert served.ask("GET", "/v1/tables/visits", who="ben").facts["deadline"] == 8
    assert served.plan("ana", "SELECT SUM(days) FROM visits")["publish_in"] == 8
    assert served.ask("GET", "/v1/tables/loans", who="ana").facts["deadline"] == 4


def test_a_table_s_slots_do_not_overlap_and_another_table_s_do_not_wait(served: Served) -> None:
    people(served)
    asked = [
        served.request("ana", f"SELECT COUNT(*) AS n FROM visits WHERE days < {k}").facts for k in range(1, 5)
    ]
    assert [one["publish_at"] - BEGUN for one in asked] == [4, 8, 12, 16]
    assert served.request("ana", "SELECT COUNT(*) AS n FROM loans").facts["publish_at"] == BEGUN + 4


# 2. A cancel is no stopwatch


def test_a_cancel_changes_neither_the_slot_nor_the_charge_nor_what_is_asked_again(served: Served) -> None:
    people(served)
    first = served.request("ana", COUNT).facts
    for _ in range(5):
        assert served.ask("DELETE", f"/v1/requests/{first['id']}", who="ana").status == 202
        again = served.request("ana", COUNT, key=f"again{_}").facts
        assert (again["id"], again["publish_at"]) == (first["id"], first["publish_at"])
    next_one = served.request("ana", "SELECT SUM(days) AS s FROM visits").facts
    assert next_one["publish_at"] == first["publish_at"] + 4
    served.run("visits")
    assert len(served.lines["visits"].ledger.entries) == 2
    assert served.state(first["id"], "ana")["release"] == first["id"]


# 3. The store is apart from the ledger


def test_secrets_are_in_a_file_of_their_own_that_its_owner_alone_reads(served: Served) -> None:
    people(served)
    assert served.store.file is not None
    assert stat.S_IMODE(served.store.file.stat().st_mode) == 0o600
    served.request("ana", COUNT)
    served.run()
    ledger = served.folder / "visits.ledger"
    assert "ana" not in ledger.read_bytes().decode("latin-1").replace("served:ana", "")
    DurableLedger(ledger).backup(served.folder / "copy.ledger")
    assert DurableLedger(served.folder / "copy.ledger").remaining == served.remaining("visits")
    secrets = served.store.file.read_bytes()
    assert PASSWORD.encode() not in secrets
    assert not any(cookie.partition("=")[2].encode() in secrets for cookie in served.cookies.values())


# 4. Tables do not wait for each other's ledgers


def test_a_blocked_ledger_does_not_hold_up_another_table(served: Served) -> None:
    people(served)
    served.request("ana", COUNT)
    other = served.request("ana", "SELECT COUNT(*) AS n FROM loans").facts
    with closing(sqlite3.connect(served.folder / "visits.ledger", isolation_level=None)) as blocking:
        blocking.execute("BEGIN IMMEDIATE")
        thread = threading.Thread(target=served.lines["visits"].answers, args=(first_of(served, "visits"),))
        thread.start()
        served.run("loans")
        assert served.state(other["id"], "ana")["state"] == "published"
        blocking.execute("ROLLBACK")
        thread.join(60)
    assert not thread.is_alive()


def first_of(served: Served, table: str) -> requests.Request:
    with served.store.reading() as rows:
        found = requests.next_in_line(rows, table)
    assert found is not None
    return found


# 5. Whose question it is goes with the question


def test_a_charge_has_the_name_of_whoever_asked_however_many_ask_at_once(served: Served) -> None:
    people(served)
    asked: dict[str, str] = {}
    for _ in range(4):
        for who in ("ana", "ben"):
            request = served.request(who, f"{COUNT} WHERE days < {1 + len(asked)}").facts
            asked[request["id"]] = who
    line = served.lines["visits"]
    with served.store.reading() as rows:
        found = [requests.by_id(rows, number) for number in asked]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(line.answers, found))
    whose = dict(served.rows("SELECT charge, request FROM {}spends WHERE dataset = 'visits'"))
    assert len(line.ledger.entries) == 8
    for entry in line.ledger.entries:
        assert entry.who == f"served:{asked[whose[entry.number]]}"


# 6. No purse, nothing to spend


def test_a_name_in_another_case_is_nobody(served: Served) -> None:
    people(served)
    for name in ("Ana", "ANA", "ana ", "аna"):
        assert served.ask("POST", "/v1/sessions", {"name": name, "password": PASSWORD}).code == "sign_in"
        body = {"name": name, "role": "analyst"}
        assert served.ask("POST", "/v1/people", body, "olga").code == "invalid"
    assert served.ask("POST", "/v1/people", {"name": "ana", "role": "analyst"}, "olga").code == "name_taken"


def test_somebody_with_nothing_takes_up_no_unanswered_charge(served: Served) -> None:
    people(served)
    served.request("ana", COUNT, "0.06")
    line = served.lines["visits"]
    (served.folder / "visits.csv").rename(served.folder / "away.csv")
    served.run("visits")
    (served.folder / "away.csv").rename(served.folder / "visits.csv")
    asked = served.request("ben", COUNT, "0.06")
    assert asked.code == "purse"  # 0.05 is less
    request = replace(first_waiting(served, "ana", COUNT, "0.06"), person=4, id="0" * 32)
    with pytest.raises(RequestRefused) as refused:
        line.answers(request)
    assert refused.value.code == "purse"
    assert len(line.ledger.entries) == served.rows("SELECT count(*) FROM {}spends")[0][0]


def first_waiting(served: Served, who: str, statement: str, share: str) -> requests.Request:
    request = served.request(who, statement, share, key="once more").facts
    assert request["code"] == "invalid"  # no blank in a key
    number = served.request(who, statement, share, key="once-more").facts["id"]
    with served.store.reading() as rows:
        return requests.by_id(rows, number)


# 7. Refusals say nothing of others


def test_refusals_are_sentences_of_one_list_without_paths_or_others_questions(served: Served) -> None:
    people(served)
    served.request("ana", "SELECT COUNT(*) AS n FROM loans WHERE branch = 'north'", "0.5")
    served.run("loans")
    served.ask("PUT", "/v1/people/4/purses/loans", {"alone": "1", "approved": "0"}, "olga")
    asked = served.request("ben", "SELECT COUNT(*) AS n FROM loans WHERE branch = 'north'", "0.6")
    served.run("loans")
    state = served.state(asked.facts["id"], "ben")
    assert (state["state"], state["failed"], state["message"]) == (
        "published",
        "budget",
        REFUSALS["budget"][1],
    )
    (served.folder / "visits.csv").unlink()
    failed = served.request("ben", COUNT).facts
    served.run("visits")
    assert served.state(failed["id"], "ben")["message"] == REFUSALS["failed"][1]
    for code, (_, sentence) in REFUSALS.items():
        assert "/" not in sentence.replace("application/json", ""), code


# 8. A statement can be several charges


def test_a_statement_of_several_charges_is_paid_for_whole_before_the_first(served: Served) -> None:
    people(served)
    asked = served.request("ana", PRIVATE_KEYS, "0.4").facts
    served.run("loans")
    charges = served.lines["loans"].ledger.entries
    assert len(charges) > 1
    spends = served.rows("SELECT parts FROM {}spends WHERE dataset = 'loans' ORDER BY charge")
    assert [parts for (parts,) in spends] == [4 * PARTS // 10] + [0] * (len(charges) - 1)
    assert served.state(asked["id"], "ana")["failed"] == ""
    again = served.request("ana", PRIVATE_KEYS + " HAVING COUNT(*) > 1", "0.4")
    assert again.code == "purse"
    assert len(served.lines["loans"].ledger.entries) == len(charges)


# 9. Loopback is no protection


def test_only_the_server_s_own_names_and_pages_are_served(served: Served) -> None:
    people(served)
    for host in ("evil.example", "127.0.0.1:9", "127.0.0.1", ""):
        assert served.ask("GET", "/v1/me", who="ana", host=host).status == 400, host
    body = {"label": "laptop", "scopes": ["read"], "days": 1}
    for origin in ("http://127.0.0.1:9", "https://127.0.0.1:8080", "null", ""):
        assert served.ask("POST", "/v1/tokens", body, "ana", origin=origin).code == "origin", origin
    assert (
        served.ask(
            "POST", "/v1/sessions", {"name": "ana", "password": PASSWORD}, origin="http://e.example"
        ).code
        == "origin"
    )
    evil = "http://e.example"
    for twice in (
        {"origin": "", "Cookie": "a=b"}, {"origin": evil, "Origin": ORIGIN},
        {"origin": ORIGIN, "Origin": evil},
    ):  # fmt: skip
        assert served.ask("POST", "/v1/tokens", body, "ana", **twice).code == "origin", twice
    assert served.ask("GET", "/v1/me", who="ana", Host="evil.example").code == "host"
    assert not served.ask("GET", "/v1/tokens", who="ana").facts["tokens"]


def test_the_first_visitor_becomes_nobody_and_an_invitation_is_used_once(tmp_path: Path, blank: Path) -> None:
    folder = copied(blank, tmp_path / "project")
    code = running.init(folder / "prdp.toml", "olga")
    served = opened(folder, StepClock(float(int(__import__("time").time()))), {})
    assert served.ask("POST", "/v1/people", {"name": "eve", "role": "owner"}).code == "not_signed_in"
    assert served.ask("POST", f"/v1/invitations/{'prdp_' + '0' * 64}", {"password": PASSWORD}).code == "used"
    assert served.ask("POST", f"/v1/invitations/{code}", {"password": PASSWORD}).status == 204
    assert served.ask("POST", f"/v1/invitations/{code}", {"password": PASSWORD}).code == "used"
    with pytest.raises(LedgerError, match="already"):
        running.init(folder / "prdp.toml", "eve")


def test_a_failed_sign_in_has_one_text_and_the_same_work_whatever_was_wrong(
    served: Served,
) -> None:
    people(served)
    served.ask("PATCH", "/v1/people/4", {"disabled": True}, "olga")
    tried = [("ana", "wrong password"), ("nobody", PASSWORD), ("ben", PASSWORD), ("", "")]
    said = [served.ask("POST", "/v1/sessions", {"name": n, "password": p}) for n, p in tried]
    assert {(one.status, one.body) for one in said} == {(401, said[0].body)}
    hasher = Counting()
    passwords = accounts.Passwords(hasher)
    for name in ("ana", "nobody", "ben"):
        with served.store.reading() as rows:
            _, stored = accounts.password_of(rows, name)
        assert not passwords.fits(stored, "wrong password")
    assert hasher.verified == 3
    assert served.ask("POST", "/v1/sessions", {"name": "ana", "password": PASSWORD}).status == 204


# 10. Rollback


def test_an_older_store_or_ledger_in_place_of_the_newest_is_refused(served: Served, tmp_path: Path) -> None:
    people(served)
    before = copied(served.folder, tmp_path / "backup")
    request = served.request("ana", COUNT).facts["id"]
    served.run()
    receipt = served.ask("GET", f"/v1/releases/{request}", who="ana").facts["receipt"]
    head = served.ask("GET", "/v1/audit/head", who="ana").facts["head"]
    path = served.folder / "prdp.toml"
    assert running.verify(path, receipt["head"])[0].head == head
    for name, behind in (("prdp.served", "older copy of the store"), ("visits.ledger", "older copy was put")):
        newest = (served.folder / name).read_bytes()
        (served.folder / name).write_bytes((before / name).read_bytes())
        if name == "prdp.served":
            with pytest.raises(LedgerError, match="head that was kept"):
                running.verify(path, head)
            with pytest.raises(PrdpError, match=behind):
                served.again()
        else:  # this process has seen the ledger, another one has not
            with pytest.raises(PrdpError, match="older state"):
                served.again()
            with served.store.reading() as rows, pytest.raises(LedgerError, match=behind):
                audit.compare(rows, {"visits": []})
        (served.folder / name).write_bytes(newest)
    assert served.again().remaining("visits") == served.remaining("visits")


def test_charges_that_were_made_outside_of_the_server_are_listed(served: Served) -> None:
    people(served)
    served.project["visits"].count(share="1/100")
    served.request("ana", COUNT, "0.02")
    served.run()
    found = running.verify(served.folder / "prdp.toml", None)[1]
    assert [(table, number) for table, number, _ in found] == [("visits", 0)]


def test_a_line_of_the_audit_that_is_changed_removed_or_inserted_is_found(served: Served) -> None:
    people(served)
    assert served.store.file is not None
    whole = served.store.file.read_bytes()
    edits = (
        "UPDATE audit SET actor = 9 WHERE number = 2",
        "DELETE FROM audit WHERE number = 3",
        "DELETE FROM audit WHERE number = 0",
        "UPDATE audit_bodies SET body = '{}' WHERE number = 1",
        "UPDATE audit SET head = replace(head, 'a', 'b') WHERE number = 1",
    )
    for edit in edits:
        with closing(sqlite3.connect(served.store.file)) as database, database:
            with (
                pytest.raises(sqlite3.IntegrityError) if "bodies" not in edit else closing(database.cursor())
            ):
                database.execute(edit)
            database.execute("DROP TRIGGER IF EXISTS audit_no_update")
            database.execute("DROP TRIGGER IF EXISTS audit_no_delete")
            database.execute(edit)
        with served.store.reading() as rows, pytest.raises(LedgerError, match="audit"):
            audit.verify(rows)
        served.store.file.write_bytes(whole)
    with served.store.reading() as rows:
        audit.verify(rows)
    with closing(sqlite3.connect(served.store.file)) as database, database:
        database.execute("DELETE FROM audit_bodies WHERE number = 1")
    with served.store.reading() as rows:
        audit.verify(rows)  # what somebody wrote can be removed, and the chain holds


def test_an_answer_that_is_changed_or_exchanged_is_found(served: Served) -> None:
    """A receipt is of an answer: whoever may write the file could otherwise change what was published."""
    people(served)
    for days in (7, 8):
        served.request("ana", f"{COUNT} WHERE days < {days}")
    served.run()
    assert served.store.file is not None
    whole = served.store.file.read_bytes()
    last = "DELETE FROM answers WHERE number = (SELECT max(number) FROM answers)"
    other = "(SELECT o.answers FROM answers o WHERE o.number <> answers.number)"
    for edit in (
        "UPDATE answers SET answers = replace(answers, '1', '2')",
        "UPDATE answers SET salt = 'x'",
        f"UPDATE answers SET answers = {other}",
        f"{last}; UPDATE answers SET request = (SELECT id FROM requests WHERE id <> request)",
    ):
        with closing(sqlite3.connect(served.store.file)) as database, database:
            with pytest.raises(sqlite3.IntegrityError):
                database.execute(edit.partition(";")[0])
            database.execute("DROP TRIGGER answers_no_update")
            database.execute("DROP TRIGGER answers_no_delete")
            database.executescript(edit)
        with served.store.reading() as rows, pytest.raises(LedgerError, match="answer"):
            audit.verify(rows)
        served.store.file.write_bytes(whole)
    with served.store.reading() as rows:
        audit.verify(rows)
    lines = served.ask("GET", "/v1/audit?from=0", who="uwe").facts["lines"]
    hashes = [one["body"]["answer"] for one in lines if one["kind"] == "published"]
    salts = {salt for (salt,) in served.rows("SELECT salt FROM {}answers")}
    assert len(set(hashes)) == len(salts) == 2  # auditors have no salt to guess answers with
    assert not any(salt in json.dumps(lines) for salt in salts)


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        ("DELETE FROM audit WHERE number >= (SELECT min(number) FROM answers)", "answer has no line"),
        ("DELETE FROM audit WHERE number >= (SELECT min(number) FROM spends)", "charge has no line"),
        ("DELETE FROM answers", "was removed"),
        ("UPDATE purses SET spent = 0", "spent from it"),
        ("UPDATE spends SET parts = parts - 1", "spent from it"),
    ],
)
def test_a_cut_audit_a_removed_answer_and_a_purse_that_was_refilled_are_found(
    served: Served, edit: str, found: str
) -> None:
    people(served)
    served.request("ana", COUNT)
    served.run()
    assert served.store.file is not None
    with served.store.reading() as rows:
        audit.verify(rows)
    with closing(sqlite3.connect(served.store.file)) as database, database:
        for table in ("audit", "answers", "spends"):
            database.execute(f"DROP TRIGGER {table}_no_update")
            database.execute(f"DROP TRIGGER {table}_no_delete")
        database.execute(edit)
    with served.store.reading() as rows, pytest.raises(LedgerError, match=found):
        audit.verify(rows)
    with pytest.raises(LedgerError, match=found):
        running.verify(served.folder / "prdp.toml", None)


# 11. Roles that would leak or replace


def test_nobody_redraws_approves_for_themselves_or_writes_reasons(served: Served) -> None:
    people(served)
    plan = served.plan("ana", COUNT)["plan"]
    body = {"statement": COUNT, "share": "0.01", "plan": plan, "redraw": True}
    assert served.ask("POST", "/v1/requests", body, "ana", idempotency_key="k").code == "invalid"
    number = served.request("ana", COUNT, "0.15").facts["id"]
    assert served.state(number, "ana")["state"] == "waiting"
    decided = {"approve": True, "digest": served.state(number, "ana")["digest"]}
    path = f"/v1/requests/{number}/decision"
    assert served.ask("POST", path, decided | {"reason": "the answer is 41"}, "stan").code == "invalid"
    assert served.ask("POST", path, decided | {"digest": "0" * 64}, "stan").code == "other_digest"
    assert served.ask("POST", path, decided, "ana").code == "role"
    served.ask("PATCH", "/v1/people/3", {"role": "steward"}, "olga")
    said = served.ask("POST", "/v1/sessions", {"name": "ana", "password": PASSWORD})
    served.cookies["ana"] = said.headers["set-cookie"].partition(";")[0]
    assert served.ask("POST", path, decided, "ana").code == "own"
    assert served.ask("POST", path, decided, "stan").facts["state"] == "queued"
    assert served.ask("POST", path, decided, "stan").code == "decided"
    with pytest.raises(sqlite3.IntegrityError), served.store.writing() as rows:
        rows.run("UPDATE {}requests SET decider = person WHERE id = ?", number)


def test_answers_are_sent_as_files_that_no_browser_runs(served: Served) -> None:
    people(served)
    number = served.request("ana", COUNT).facts["id"]
    served.run("visits")
    for ending in (".csv", ".json"):
        headers = served.ask("GET", f"/v1/releases/{number}{ending}", who="ana").headers
        assert headers["content-disposition"].startswith("attachment")
        assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")
        assert "default-src 'none'" in headers["content-security-policy"]


# 12. What takes memory, and two servers


class Counting(PasswordHasher):
    """Counts how many hashes are computed at once."""

    def __init__(self) -> None:
        super().__init__(time_cost=1, memory_cost=8, parallelism=1)
        self.now = self.most = self.verified = 0
        self._lock = threading.Lock()

    def verify(self, *given: str | bytes) -> bool:  # type: ignore[override]
        with self._lock:
            self.now, self.verified = self.now + 1, self.verified + 1
            self.most = max(self.most, self.now)
        threading.Event().wait(0.01)
        with self._lock:
            self.now -= 1
        return super().verify(*given)


def test_two_passwords_are_hashed_at_once_and_a_crowd_is_refused() -> None:
    hasher = Counting()
    passwords, refused = accounts.Passwords(hasher), []
    stored = passwords.hashed(PASSWORD)

    def sign_in(_: int) -> None:
        try:
            assert passwords.fits(stored, PASSWORD)
        except RequestRefused as error:
            refused.append(error.code)

    with ThreadPoolExecutor(60) as pool:
        list(pool.map(sign_in, range(120)))
    assert hasher.most == 2
    assert set(refused) == {"busy"}
    assert hasher.verified + len(refused) == 120


def test_a_table_keeps_the_cells_of_few_reads_however_many_are_asked(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    people(served)
    monkeypatch.setattr(worker, "MAX_KEPT", 2)
    kept = reader_of_line(served)
    for turn in range(5):
        served.request("ana", f"{COUNT} WHERE days < {10 + turn}")
        served.run("visits")
        assert 0 < len(kept) <= 2
    assert len(served.lines["visits"].ledger.entries) == 5


def reader_of_line(served: Served) -> dict[Any, Any]:
    """Return what the reader of a table keeps."""
    table: Any = served.project["visits"]
    kept: dict[Any, Any] = table._reader.kept
    return kept


def test_a_second_server_of_a_project_is_refused(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_WAIT_SECONDS", 0.3)
    with running.alone(served.store) as first:
        os.fstat(first)
        with pytest.raises(LedgerError, match="another server"), running.alone(served.store):
            pass
    with running.alone(served.store):
        pass


def test_bodies_and_rates_are_bounded(served: Served) -> None:
    people(served)
    body = b'{"statement": "' + b" " * 70_000 + b'"}'
    assert served.ask("POST", "/v1/plans", body, "ana").code == "too_large"
    deep = b"[" * 30_000
    assert served.ask("POST", "/v1/plans", deep, "ana").status in {400, 422}
    slow = replace(served.service, rate=1, clock=served.clock.now, passwords=accounts.Passwords(WEAK))
    limited = replace(served, app=application(slow))
    codes = [limited.ask("GET", "/healthz").status for _ in range(8)]
    assert codes == [204] * 4 + [429] * 4
    tried = replace(served, app=application(replace(served.service, sign_ins=Rates(0.001, 3))))
    wrong = {"name": "ana", "password": "wrong password"}
    assert [tried.ask("POST", "/v1/sessions", wrong).status for _ in range(5)] == [401] * 3 + [429] * 2
