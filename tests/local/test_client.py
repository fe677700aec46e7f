"""A client: light, silent about its record, and careful with its account."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prdp
from prdp.errors import BudgetExhausted, InvalidRequest, LedgerError
from prdp.local import Campaign, Client, Collector, Report
from prdp.local.client.client import laws_for
from prdp.local.protocols.counting import DomainCount
from prdp.local.protocols.protocol import Field, Own, Tally, Terms
from prdp.local.protocols.randomisers import Law
from prdp.testing import Seeded
from tests.exact.local_universe import RECORDS

POLICY = prdp.Policy("10000 / balance", at_least="1e-8", at_most=100)
CAMPAIGN = Campaign("balances", POLICY, "1/2", DomainCount())
RECORD = {"balance": 40_000}

LIGHT = """
import sys
from prdp.local import Client
campaign = sys.stdin.read()
report = Client().report(campaign, {"balance": 40_000})
assert len(bytes(report)) == 58
heavy = {"numpy", "duckdb", "cryptography", "typer", "rich"} & set(sys.modules)
assert not heavy, heavy
"""


def test_a_client_answers_without_numpy_or_an_engine() -> None:
    """Where no package is installed at all: -S leaves out the folder that holds them."""
    ran = subprocess.run(
        [sys.executable, "-S", "-c", LIGHT],
        input=CAMPAIGN.to_json(),
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(Path(prdp.__file__).parents[1])},
    )
    assert ran.returncode == 0, ran.stderr


def test_importing_prdp_loads_no_engine_and_its_names_are_all_there() -> None:
    script = (
        "import sys, prdp; assert not {'numpy', 'duckdb'} & set(sys.modules); "
        "assert all(hasattr(prdp, name) for name in dir(prdp)); from prdp import Policy, open, testing, local"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    with pytest.raises(AttributeError, match="Polcy"):
        _ = prdp.Polcy  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="Klient"):
        _ = prdp.local.Klient  # type: ignore[attr-defined]


def test_the_same_campaign_again_gets_the_same_bytes_and_costs_nothing(tmp_path: Path) -> None:
    first = Client(tmp_path / "me.account").report(CAMPAIGN, RECORD)
    again = Client(tmp_path / "me.account")
    assert bytes(again.report(CAMPAIGN.to_json(), {"balance": 7})) == bytes(
        first
    )  # whatever the record is now
    assert again.remaining == Fraction(1, 2)


def test_the_report_is_on_disk_before_it_is_handed_out(tmp_path: Path) -> None:
    path = tmp_path / "me.account"
    report = Client(path).report(CAMPAIGN, RECORD)
    with closing(sqlite3.connect(path)) as database, database:
        ((stored,),) = database.execute("SELECT report FROM reports").fetchall()
    assert stored == bytes(report)


def test_a_crash_before_the_report_is_stored_leaves_nothing_spent(tmp_path: Path) -> None:
    class Crashing:
        def bytes(self, count: int) -> bytes:  # noqa: ARG002
            raise KeyboardInterrupt

    path = tmp_path / "me.account"
    with pytest.raises(KeyboardInterrupt):
        Client(path, entropy=Crashing()).report(CAMPAIGN, RECORD)
    assert Client(path).remaining == 1


def test_a_client_refuses_when_its_account_has_too_little_left() -> None:
    me = Client()
    me.report(CAMPAIGN, RECORD)
    me.report(Campaign("second", POLICY, "1/2", DomainCount("laplace")), RECORD)
    with pytest.raises(BudgetExhausted, match="its account has 0 left"):
        me.report(Campaign("third", POLICY, "1/1000", DomainCount()), RECORD)
    assert me.remaining == 0


def test_a_client_answers_under_one_policy_only(tmp_path: Path) -> None:
    other = Campaign("other", prdp.Policy.constant("1"), "1/10", DomainCount())
    with pytest.raises(InvalidRequest, match="another policy"):
        Client(policy=POLICY).report(other, RECORD)
    me = Client(tmp_path / "me.account")
    me.report(CAMPAIGN, RECORD)
    with pytest.raises(InvalidRequest, match="another policy") as caught:
        Client(tmp_path / "me.account").report(other, RECORD)
    assert "The campaign's is 1, from 1 to 1;" in str(caught.value)
    assert "this client's is 10000 / balance, from 1/100000000 to 100." in str(caught.value)
    assert me.remaining == Fraction(1, 2)


def test_a_client_refuses_a_share_above_its_most() -> None:
    with pytest.raises(InvalidRequest, match="at most 1/10"):
        Client(most_share="1/10").report(CAMPAIGN, RECORD)


@pytest.mark.parametrize("record", [*RECORDS, None], ids=str)
def test_whether_a_client_refuses_does_not_depend_on_its_record(record: Any) -> None:
    me = Client()
    me.report(CAMPAIGN, record)
    with pytest.raises(BudgetExhausted):
        me.report(Campaign("large", POLICY, "2/3", DomainCount()), record)


ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.decimals(),
    st.dates(), st.lists(st.integers(), max_size=2), st.complex_numbers(),
)  # fmt: skip


@settings(max_examples=60)
@given(record=st.one_of(st.none(), st.dictionaries(st.sampled_from(["balance", "x"]), ANYTHING)))
def test_no_record_makes_a_client_fail_or_changes_the_form_of_its_report(record: Any) -> None:
    assert len(bytes(Client(entropy=Seeded(1)).report(CAMPAIGN, record))) == 58


class Fussy(DomainCount):
    """A protocol of somebody's own that fails on some records."""

    kind = "fussy"

    def law(self, terms: Terms, own: Own | None) -> tuple[Law, ...]:
        if own is not None and own.record["balance"] == 666:
            raise RuntimeError(own.record)
        laws = super().law(terms, own)
        if own is not None and own.record["balance"] == 668:
            return (None,) * len(laws)  # type: ignore[return-value]
        return laws[:-1] if own is not None and own.record["balance"] == 667 else laws


@pytest.mark.parametrize("balance", [666, 667])
def test_a_protocol_that_stumbles_over_a_record_lets_it_answer_as_the_dummy(balance: int) -> None:
    campaign = Campaign("fussy", POLICY, "1/2", Fussy())
    assert laws_for(campaign, {"balance": balance}) == laws_for(campaign, None)
    assert laws_for(campaign, {"balance": 665}) != laws_for(campaign, None)


@pytest.mark.parametrize("balance", [666, 667, 668])
def test_no_protocol_s_stumbling_is_seen_from_outside(balance: int) -> None:
    campaign = Campaign("fussy", POLICY, "1/2", Fussy())
    same = Client(entropy=Seeded(4)).report(campaign, None)
    assert Client(entropy=Seeded(4)).report(campaign, {"balance": balance}) == same


def test_a_campaign_of_an_unknown_protocol_is_refused_and_a_known_one_is_read() -> None:
    text = Campaign("fussy", POLICY, "1/2", Fussy()).to_json()
    with pytest.raises(InvalidRequest, match="'fussy' is not known"):
        Client().report(text, RECORD)


def test_reports_of_threads_that_ask_at_once_are_one_report(tmp_path: Path) -> None:
    path = tmp_path / "me.account"
    for ledger in (path, None):
        me = Client(ledger)
        with ThreadPoolExecutor(8) as pool:
            reports = set(pool.map(lambda _: bytes(me.report(CAMPAIGN, RECORD)), range(16)))  # noqa: B023
        assert len(reports) == 1
        assert me.remaining == Fraction(1, 2)


def test_an_account_that_is_gone_empty_or_strange_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "me.account"
    me = Client(path)
    os.truncate(path, 0)
    with pytest.raises(LedgerError, match="gone or empty"):
        me.report(CAMPAIGN, RECORD)
    with pytest.raises(LedgerError, match="gone or empty"):
        Client(path)
    path.write_bytes(b"not a database, but long enough to look like one" * 100)
    with pytest.raises(LedgerError):
        Client(path)
    strange = tmp_path / "strange.db"
    with closing(sqlite3.connect(strange)) as database, database:
        database.execute("CREATE TABLE other (a)")
    with pytest.raises(LedgerError, match="not a client's account"):
        Client(strange)
    with pytest.raises(LedgerError):
        Client(tmp_path / "no" / "folder" / "me.account")


def test_an_account_holds_no_record(tmp_path: Path) -> None:
    path = tmp_path / "me.account"
    Client(path).report(CAMPAIGN, {"balance": 123_456_789, "name": "Ada Lovelace"})
    assert b"Lovelace" not in path.read_bytes()
    assert b"123456789" not in path.read_bytes()


def test_a_report_survives_its_bytes_and_counts_once() -> None:
    collector = Collector(CAMPAIGN)
    report = Client().report(CAMPAIGN, RECORD)
    assert Report.from_bytes(bytes(report)) == report
    assert collector.receive(bytes(report))
    assert not collector.receive(report)
    assert len(collector) == 1


def test_a_report_that_was_changed_on_its_way_is_reported_from_one_that_came_twice() -> None:
    collector = Collector(CAMPAIGN.to_json())
    report = Client().report(CAMPAIGN, RECORD)
    collector.receive(report)
    before = collector.tally
    changed = Report(report.campaign, report.token, bytes([report.payload[0] ^ 1]) + report.payload[1:])
    with pytest.raises(InvalidRequest, match="was changed on its way"):
        collector.receive(changed)
    assert collector.tally == before


def test_tallies_of_two_collectors_add_up_and_survive_json() -> None:
    reports = [Client().report(CAMPAIGN, RECORD) for _ in range(6)]
    one, two, all_of_them = Collector(CAMPAIGN), Collector(CAMPAIGN), Collector(CAMPAIGN)
    for place, report in enumerate(reports):
        (one if place % 2 else two).receive(report)
        all_of_them.receive(report)
    merged = Tally.from_json(one.tally.to_json()) + two.tally
    assert merged == all_of_them.tally
    other = Collector(Campaign("other", POLICY, "1/2", DomainCount()))
    with pytest.raises(InvalidRequest, match="two campaigns"):
        _ = merged + other.tally
    text = merged.to_json()
    for wrong in ("", "[]", "{}", text.replace('"clients": 6', '"clients": 6.5'), text.replace("tally", "x")):
        with pytest.raises(InvalidRequest, match="no tally"):
            Tally.from_json(wrong)


def test_an_unit_can_look_before_answering_and_nothing_is_charged_or_kept(tmp_path: Path) -> None:
    path = tmp_path / "me.account"
    me = Client(path)
    empty = path.read_bytes()
    fine = me.check(CAMPAIGN.to_json(), RECORD)
    assert (fine.missing, fine.is_informative) == ((), True)
    assert fine.loss is not None
    assert 0.9 * 0.125 < fine.loss <= Fraction(1, 8)  # half of 10000 / 40000, rounded down to a level
    assert me.check(CAMPAIGN, {"balanc": 3}).missing == ("balance",)
    assert "lacks balance" in str(me.check(CAMPAIGN, {"balanc": 3}))
    for odd in ({"balance": None}, {"balance": -5}, {"balance": "much"}):
        assert me.check(CAMPAIGN, odd).loss is None
        assert "no valid budget" in str(me.check(CAMPAIGN, odd))
    assert me.check(CAMPAIGN, None).missing == ("balance",)
    assert me.remaining == 1
    assert path.read_bytes() == empty


def test_a_client_that_is_made_wrongly_says_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"is no policy: write policy=prdp.Policy"):
        Client(policy="10000 / balance")  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match=r"is a folder.*me.account"):
        Client(tmp_path)


def test_a_collector_refuses_what_has_not_the_campaign_s_form() -> None:
    collector = Collector(CAMPAIGN)
    report = Client().report(CAMPAIGN, RECORD)
    other = Client().report(Campaign("other", POLICY, "1/2", DomainCount()), RECORD)
    longer = Report(report.campaign, report.token, report.payload + b"\0")
    beyond = Report(report.campaign, report.token, b"\xff" * len(report.payload))  # 34 bits in 5 bytes
    for wrong in (b"", b"nonsense", bytes(report)[:-1], other, longer, beyond):
        with pytest.raises(InvalidRequest):
            collector.receive(wrong)
    assert len(collector) == 0


@given(st.lists(st.integers(-(2**70), 2**70), min_size=3, max_size=3))
def test_what_a_field_cannot_hold_is_moved_to_its_end_and_the_rest_survives(outcomes: list[int]) -> None:
    from prdp.local.client.report import packed, payload_size, unpacked  # noqa: PLC0415

    fields = (Field(-8, 4), Field(0, 1), Field(-(2**63), 64))
    data = packed(outcomes, fields)
    assert len(data) == payload_size(fields) == 9
    expected = [max(f.low, min(f.low + 2**f.bits - 1, o)) for f, o in zip(fields, outcomes, strict=True)]
    assert list(unpacked(data, fields)) == expected


BAD = [
    "", "[]", "{}", '{"prdp": "campaign"}', "[" * 5000, b"\xff", '{"prdp": "campaign", "version": 2}',
    CAMPAIGN.to_json().replace('"1/2"', '"3/2"'),
    CAMPAIGN.to_json().replace('"1/2"', "0.5"),
    CAMPAIGN.to_json().replace('"round":1', '"round":0'),
    CAMPAIGN.to_json().replace('"round":1', '"round":true'),
    CAMPAIGN.to_json().replace('"bits"', '"none"'),
    CAMPAIGN.to_json().replace('"noise"', '"noize"'),
    CAMPAIGN.to_json().replace('"name"', '"more":1,"name"'),
    CAMPAIGN.to_json().replace('"100"', '"1e-9"'),
    CAMPAIGN.to_json().replace('["column","balance"]', '["import","os"]'),
    CAMPAIGN.to_json().replace('"kind":"count by domain"', '"kind":"framework"'),
    CAMPAIGN.to_json().replace('"kind":"count by domain"', '"kind":["list"]'),
]  # fmt: skip


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_a_malformed_campaign_is_refused_before_anything_is_spent(text: str | bytes) -> None:
    me = Client()
    with pytest.raises(InvalidRequest):
        me.report(text, RECORD)
    assert me.remaining == 1


def test_a_tally_is_of_all_reports() -> None:
    collector = Collector(CAMPAIGN)
    for _ in range(5):
        collector.receive(Client().report(CAMPAIGN, RECORD))
    assert collector.tally.clients == 5
    assert isinstance(collector.tally, Tally)
    assert collector.estimate(beta=0.2).first <= 34


@pytest.mark.parametrize("at_most", ["1000", "1e9", "1e60"])
def test_enormous_budgets_take_no_longer_than_small_ones(at_most: str) -> None:
    """A probability of 1 but for e^-1e60 is never written out; a client that hung would tell its budget."""
    from prdp.local import Categories, FrameworkProtocol  # noqa: PLC0415
    from prdp.local.protocols.categories import Frequencies  # noqa: PLC0415

    policy = prdp.Policy("1 / v", at_least="1e-3", at_most=at_most)
    domain = policy.levels.domains
    grr = FrameworkProtocol(Frequencies(Categories("v", (0, 1)), "grr"), domain)
    for protocol in (DomainCount(), DomainCount("laplace"), grr):
        campaign = Campaign("rich", policy, "1", protocol)
        assert all(Client().report(campaign, {"v": 0}).payload for _ in range(5))
