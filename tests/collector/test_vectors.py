"""The format is a format: a second client, in JavaScript, gives the same bytes as the first."""

from __future__ import annotations

import json
import math
import random
import subprocess
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import prdp
from prdp.collector.wire import (
    BATCH_TYPE,
    JSON_TYPE,
    REPORT_TYPE,
    Refused,
    Rounds,
    Submission,
    hashed,
    read_batch,
    read_single,
)
from prdp.errors import InvalidRequest
from prdp.local import Campaign, Report
from prdp.local.client.client import laws_for
from prdp.local.protocols.counting import DomainCount
from tests.collector import published_vectors
from tests.collector.running import STATIC, VECTORS
from tests.tools import program

HERE = Path(__file__).parent
PUBLISHED: dict[str, Any] = json.loads(VECTORS.read_text(encoding="utf-8"))


def node(script: str, *arguments: object, given: str = "") -> Any:
    """Run a script with the client; return the JSON that it prints."""
    found = program("node", "node is not installed, so the JavaScript client is not run")
    ran = subprocess.run(
        [found, str(HERE / script), str(STATIC / "prdp-client.mjs"), *map(str, arguments)],
        capture_output=True, text=True, check=False, input=given,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_the_published_vectors_are_what_the_python_client_gives() -> None:
    assert published_vectors.text() == VECTORS.read_text(encoding="utf-8")


def test_the_vectors_have_every_protocol_and_a_record_of_every_kind() -> None:
    kinds = {json.loads(each["text"])["protocol"]["kind"] for each in PUBLISHED["campaigns"]}
    inner = {
        facts["inner"]["kind"]
        for each in PUBLISHED["campaigns"]
        if "inner" in (facts := json.loads(each["text"])["protocol"])
    }
    from prdp.local.client.campaign import KNOWN  # noqa: PLC0415

    assert kinds == {*KNOWN.protocols, "framework"}
    assert inner == set(KNOWN.inner)


@pytest.mark.parametrize("refused", PUBLISHED["refused_campaigns"], ids=lambda each: each["why"])
def test_a_campaign_that_the_vectors_call_wrong_is_refused(refused: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest):
        Campaign.from_json(refused["text"])


def test_a_collector_reads_both_forms_of_every_vector_alike() -> None:
    for each in PUBLISHED["campaigns"]:
        campaign = Campaign.from_json(each["text"])
        assert campaign.digest.hex() == each["digest"]
        rounds, ticket = Rounds([campaign]), "00" * 16
        for vector in each["reports"]:
            compact = read_single(REPORT_TYPE, bytes.fromhex(vector["report"]), ticket, rounds)
            assert compact == read_single(JSON_TYPE, vector["json"].encode(), ticket, rounds)
            assert len(compact.payload) == each["payload_bytes"]


def test_a_collector_reads_the_vectors_batch() -> None:
    batch = PUBLISHED["batch"]
    rounds = Rounds([Campaign.from_json(PUBLISHED["campaigns"][0]["text"])])
    found = read_batch(BATCH_TYPE, bytes.fromhex(batch["bytes"]), rounds)
    expected = []
    for ticket, report in batch["entries"]:
        read = Report.from_bytes(bytes.fromhex(report))
        expected.append(
            Submission(
                bytes.fromhex(batch["campaign"]), hashed(bytes.fromhex(ticket)), read.token, read.payload
            )
        )
    assert found == expected
    assert not any(isinstance(each, Refused) for each in found)


@pytest.mark.slow
def test_the_javascript_client_gives_the_bytes_of_every_vector() -> None:
    found = node("vectors.test.mjs", VECTORS)
    assert found == {
        "reports": sum(len(each["reports"]) for each in PUBLISHED["campaigns"]),
        "refused": len(PUBLISHED["refused_campaigns"]),
        "wrong": [],
    }


def made_up(source: random.Random) -> dict[str, Any]:
    """Return a record that a client could have, or could not."""
    numbers: list[Any] = [
        source.randint(-5, 5000), source.uniform(-1e6, 1e6), 10 ** source.randint(16, 60),
        2.0 ** source.randint(-60, 60),
        source.choice([0, -0.0, 1e308, -1e-300, float("inf"), float("-inf"), None, True, "7"]),
    ]  # fmt: skip
    texts = ["student", "retired", "Ärztin", "𝔘", "", "zebra", "chef", 7, None]
    drawn = {
        "visits": source.choice([1, 2, 3, 5, 19, 20, 21, 160, source.choice(numbers)]),
        "pay": source.choice(numbers),
        "age": source.choice([source.randint(0, 130), source.uniform(0, 130), source.choice(numbers)]),
        "job": source.choice(texts),
        "name": source.choice(["a", "m", "ma", "Z", "", "\ue000", "𝔘"]),
        "minor": source.choice([True, False, None]),
        "since": source.choice(
            [
                None,
                datetime(2019, 12, 31, 23, 59, 59),
                datetime(2020, 2, 29),
            ]
        ),
    }
    return {name: value for name, value in drawn.items() if source.random() < 0.95}


@pytest.mark.slow
def test_the_javascript_client_gives_the_python_client_s_bytes_for_made_up_records(tmp_path: Path) -> None:
    source = random.Random(20261116)
    campaigns = []
    for each, campaign in zip(PUBLISHED["campaigns"], published_vectors.CAMPAIGNS, strict=True):
        reports = [
            published_vectors.vector(campaign, made_up(source), source.getrandbits(40)) for _ in range(40)
        ]
        campaigns.append({**each, "reports": reports})
    given = {**PUBLISHED, "campaigns": campaigns}
    (tmp_path / "more.json").write_text(json.dumps(given), encoding="utf-8")
    found = node("vectors.test.mjs", tmp_path / "more.json")
    assert found["wrong"] == []
    assert found["reports"] == 40 * len(campaigns)


TINY = prdp.Policy("b", at_least="1/2", at_most="3/2")
UNIVERSE: list[dict[str, Any] | None] = [None, {}, {"b": 0.4}, {"b": 0.5}, {"b": 0.8}, {"b": 1.2}, {"b": 9}]


def masses(share: str) -> tuple[Campaign, list[dict[str, Any]]]:
    """Return, for every record of a tiny universe, how many of all 2^16 byte strings give which report."""
    campaign = Campaign("tiny", TINY, share, DomainCount())
    assert len(campaign.fields) == 2
    return campaign, node(
        "enumerate.test.mjs", given=json.dumps({"text": campaign.to_json(), "records": UNIVERSE})
    )


def furthest(share: str, promised: Fraction) -> float:
    """Return by how much the largest log-ratio of any record to the dummy exceeds share · E(r)."""
    _, found = masses(share)
    worst = -math.inf
    dummy = found[0]
    for record, mass in zip(UNIVERSE, found, strict=True):
        budget = TINY.budget(record) if record and "b" in record else None
        allowed = float(promised) * (budget or 0.0)
        for outcome in ("00", "01", "10", "11"):
            # What two bytes leave undecided may fall to either side: the ratio is at least this.
            least = mass["decided"][outcome] / (dummy["decided"][outcome] + dummy["undecided"])
            worst = max(worst, abs(math.log(least)) - allowed if least > 1 else -allowed)
    return worst


@pytest.mark.slow
def test_the_javascript_client_s_law_on_every_byte_string_is_the_python_client_s() -> None:
    campaign, found = masses("1")
    for record, mass in zip(UNIVERSE, found, strict=True):
        laws = laws_for(campaign, record)
        assert sum(mass["decided"].values()) + mass["undecided"] == 1 << 16
        for outcome, count in mass["decided"].items():
            low = high = Fraction(1)
            for law, digit in zip(laws, outcome, strict=True):
                ends = law.chance(int(digit))(64)
                low, high = low * Fraction(ends[0], 1 << 64), high * Fraction(ends[1], 1 << 64)
            assert Fraction(count, 1 << 16) <= high
            assert low <= Fraction(count + mass["undecided"], 1 << 16)


@pytest.mark.slow
def test_the_javascript_client_keeps_the_promise_and_a_client_with_a_larger_share_is_caught() -> None:
    assert furthest("1", Fraction(1)) <= 0
    assert furthest("1", Fraction(85, 100)) > 0
