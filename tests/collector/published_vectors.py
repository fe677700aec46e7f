"""The published vectors, made anew: ``python -m tests.collector.published_vectors`` writes the file.

Every vector is a campaign, a record and the random bytes of one client, with the report that they give. Any
client in any language that draws by the same coins gives the same bytes.
"""

from __future__ import annotations

import builtins
import json
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import prdp
from prdp.collector.wire import as_json, batch_bytes
from prdp.local import Campaign, Client, FrameworkProtocol, Report
from prdp.local.protocols.categories import Bins, Categories, Frequencies, Method
from prdp.local.protocols.counting import DomainCount, ProportionalCount
from prdp.local.protocols.ldp_sums import ClippedSum, ValueOctaves
from prdp.local.protocols.summing import ProportionalSum, RatioMass, RatioSum, measured
from prdp.testing import Seeded

FILE = Path(__file__).parents[2] / "src" / "prdp" / "collector" / "vectors" / "v1.json"

VISITS = prdp.Policy("20 / visits", at_least="1/100", at_most=10)
ODD = prdp.Policy(
    "CASE WHEN job IN ('chef', 'Ärztin', '𝔘') AND NOT minor THEN least(5, exp(1 - age / 50)) "
    "WHEN since < DATE '2020-02-29' OR name > 'm' THEN power(2, -age / 20) + sqrt(abs(age)) / 10 "
    "WHEN job IS NULL THEN ln(age) + log2(age) * log10(age) ELSE greatest(1e-3, 3 - age * 0.0625) END",
    at_least="1/1000",
    at_most="7/2",
)
PAY = measured("pay", 0, 100_000)
CENTS = measured("pay", "-1e6", "1e6", "1/100")
JOBS = Categories("job", ("student", "retired", "Ärztin", 7))
AGES = Bins("age", (0, 18, "65.5", 120))

CAMPAIGNS = [
    Campaign("visits", VISITS, "1/2", DomainCount()),
    Campaign("Besuche “2026” – 𝔘", VISITS, "1/3", DomainCount(noise="laplace")),
    Campaign("odd", ODD, "1", DomainCount(column="age")),
    Campaign("proportional", VISITS, "1/4", ProportionalCount(Fraction(5, 3)), 2),
    Campaign("ratio", VISITS, "1/2", RatioSum(PAY)),
    Campaign("mass", VISITS, "1/2", RatioMass(CENTS)),
    Campaign("sum", VISITS, "1/6", ProportionalSum(CENTS, Fraction(12345, 7)), 2),
    Campaign("octaves", VISITS, "1/2", FrameworkProtocol(ValueOctaves(PAY), 4), 2),
    Campaign("clipped bit", VISITS, "3/8", FrameworkProtocol(ClippedSum(PAY, 4096), 5), 3),
    Campaign("clipped noise", VISITS, "3/8", FrameworkProtocol(ClippedSum(CENTS, 1 << 20, "laplace"), 3), 3),
    *(
        Campaign(
            f"jobs {each}",
            VISITS,
            "1/2",
            FrameworkProtocol(Frequencies(JOBS, each, 5 if each == "olh" else 0), 6),
            2,
        )
        for each in get_args(Method)
    ),
    Campaign("ages", VISITS, "1/2", FrameworkProtocol(Frequencies(AGES, "bits"), 7), 2),
]

RECORDS: list[dict[str, Any] | None] = [
    None,
    {},
    {"visits": 4, "pay": 2500, "job": "student", "age": 31},
    {"visits": 1, "pay": 99_999.5, "job": "Ärztin", "age": 65.5},
    {"visits": 2, "pay": -0.005, "job": 7.0, "age": 120},
    {"visits": 1900, "pay": float("inf"), "job": None, "age": 18},
    {"visits": 0, "pay": 10**30, "job": "chef", "age": -1, "minor": False},
    {"visits": "many", "pay": "much", "job": True, "age": None},
    {"visits": 7, "pay": None, "job": "retired", "age": 0.1, "name": "n", "minor": True},
    {"visits": 3, "job": "𝔘", "minor": False, "age": 44, "name": "a", "since": datetime(2020, 2, 28, 23, 59)},
    {"visits": 3, "job": "clerk", "minor": False, "age": 17, "name": "a", "since": datetime(2021, 1, 1)},
    {"visits": 3, "job": None, "minor": False, "age": 90, "name": "z", "since": None},
]

REFUSED = {
    "not JSON": "campaign",
    "a list": "[]",
    "another version": '"version":2',
    "a share above 1": '"share":"3/2"',
    "a share of 0": '"share":"0"',
    "a fact said twice": '"round":1,"round":1',
    "an unknown fact": '"round":1,"more":1',
    "an unknown protocol": '"kind":"count by magic"',
    "an unknown noise": '"noise":"none"',
    "NaN": '["number",NaN]',
    "an unknown function": '["call","now"]',
    "half of a character": '"name":"\\ud800"',
}


class Recorded:
    """A source of bytes that remembers what was asked for."""

    def __init__(self, seed: int) -> None:
        self._source = Seeded(seed)
        self.reported = b""

    def bytes(self, count: int) -> builtins.bytes:
        drawn = self._source.bytes(count)
        self.reported += drawn
        return drawn


def vector(campaign: Campaign, record: dict[str, Any] | None, seed: int) -> dict[str, Any]:
    entropy = Recorded(seed)
    report = Client(entropy=entropy).report(campaign, record)
    return {
        "record": None if record is None else {name: plain(value) for name, value in record.items()},
        "entropy": entropy.reported.hex(),
        "report": bytes(report).hex(),
        "json": as_json(campaign, report),
    }


def plain(value: object) -> object:
    """Return a record's value as JSON; what JSON cannot say is spelled out."""
    if isinstance(value, datetime):
        return {"moment": value.isoformat()}
    if type(value) is int and abs(value) >= 2**53:
        return {"whole": str(value)}
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return {"double": "infinity" if value > 0 else "-infinity"}
    return value


def refused_texts() -> list[dict[str, str]]:
    text = CAMPAIGNS[0].to_json()
    old = {
        '"version"': '"version":1',
        '"share"': '"share":"1/2"',
        '"round"': '"round":1',
        '"kind"': '"kind":"count by domain"',
        '"noise"': '"noise":"bits"',
        '["number"': '["number",20.0]',
        '["call"': '["column","visits"]',
        '"name"': '"name":"visits"',
    }
    made = []
    for why, new in REFUSED.items():
        known = [part for start, part in old.items() if new.startswith(start)]
        made.append({"why": why, "text": text.replace(known[0], new) if known else new})
    return made


def vectors() -> dict[str, Any]:
    """Return all that is published."""
    campaigns = [
        {
            "text": campaign.to_json(),
            "digest": campaign.digest.hex(),
            "columns": sorted(campaign.columns),
            "payload_bytes": len(Client().report(campaign, None).payload),
            "reports": [vector(campaign, record, 1000 * place + seed) for seed, record in enumerate(RECORDS)],
        }
        for place, campaign in enumerate(CAMPAIGNS)
    ]
    first: dict[str, Any] = campaigns[0]
    entries = [(f"{number:032x}", each["report"]) for number, each in enumerate(first["reports"][:3])]
    batch = batch_bytes(
        CAMPAIGNS[0].digest, [(ticket, Report.from_bytes(bytes.fromhex(each))) for ticket, each in entries]
    )
    return {
        "prdp": "vectors",
        "version": 1,
        "campaigns": campaigns,
        "refused_campaigns": refused_texts(),
        "batch": {
            "campaign": first["digest"],
            "entries": [list(entry) for entry in entries],
            "bytes": batch.hex(),
        },
    }


def text() -> str:
    return json.dumps(vectors(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
