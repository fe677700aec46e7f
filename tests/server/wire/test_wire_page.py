"""What docs/wire.md says of the PostgreSQL protocol is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from prdp.server.wire import messages
from prdp.server.wire.failures import STATES
from prdp.server.wire.listener import WirePatience
from prdp.serving.drawings import shown
from tests.server.serving import COUNT, Served, people
from tests.server.wire.serving_wire import Talk, wire_token

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "wire.md").read_text(encoding="utf-8")
PEOPLE = {"analyst": "ana", "steward": "stan", "owner": "olga", "auditor": "uwe"}


def test_limits_and_states_are_those_of_the_page() -> None:
    limits = WirePatience()
    assert f"{messages.MAX_BEFORE_LOGIN:,} bytes before the login" in PAGE
    assert f"{messages.MAX_MESSAGE >> 10} KiB for a message" in PAGE
    assert f"{limits.login_seconds:.0f} seconds for\na login" in PAGE
    assert f"{limits.connections:,} connections" in PAGE
    listed = set(re.findall(r"`([0-9A-Z]{5})`", PAGE))
    assert listed >= {STATES[code] for code in ("sign_in", "statement", "purse", "cap", "budget", "failed")}


@pytest.fixture
def filled(served: Served) -> Served:
    return people(served)


def test_roles_are_those_of_the_page(filled: Served) -> None:
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", PAGE, flags=re.MULTILINE)
    told = {row[0]: dict(zip(PEOPLE, (cell != "no" for cell in row[1:]), strict=True)) for row in rows}
    for name in PEOPLE.values():
        wire_token(filled, f"{name}.desk")
    ana = Talk.of(filled, "ana.desk")
    ana.run("SET prdp.share = 0.01")
    ana.run(COUNT)
    tried = {
        "dry runs": f"EXPLAIN {COUNT} WHERE days < 7",
        "ask and spend": f"{COUNT} WHERE ward = 'a' AND days <",
        "read what has been answered": COUNT,
    }
    for what, statement in tried.items():
        for number, (role, name) in enumerate(PEOPLE.items()):
            talk = Talk.of(filled, f"{name}.desk")
            if what == "ask and spend":
                talk.run("SET prdp.share = 0.01")
            another = f" {number + 1}" * (what == "ask and spend")  # than others have asked
            try:
                done = bool(talk.run(statement + another).rows)
            except Exception:
                done = False
            assert done == told[what][role], (what, role)
    for name, number in (("ana", 2), ("stan", 2), ("olga", 2), ("uwe", 0)):
        tables = Talk.of(filled, f"{name}.desk").run("SELECT table_name FROM information_schema.tables").rows
        assert len(tables) == number


def test_every_setting_of_the_page_is_there(filled: Served) -> None:
    wire_token(filled, "ana.desk")
    talk = Talk.of(filled, "ana.desk")
    statements = re.findall(r"^\| `((?:SET|SHOW) [^`]+)` \|", PAGE, flags=re.MULTILINE)
    assert len(statements) == 5
    for statement in statements:
        talk.run(statement)


def test_the_picture_of_intervals_is_of_the_answers_above_it() -> None:
    rows = re.findall(r"^ (\w+) +\| +(\d+) \| +([\d.]+) \| +([\d.]+) \|", PAGE, flags=re.MULTILINE)
    assert len(rows) == 4
    (told,) = re.findall("<desc.*?>(.*)</desc>", (DOCS / "wire_intervals.svg").read_text(encoding="utf-8"))
    assert told.split("; ") == [
        f"{name}: {shown(float(value))}, from {shown(float(low))} to {shown(float(high))}"
        for name, value, low, high in rows
    ]
