"""The page of a study: readable without JavaScript, accessible, and with no request to anywhere else."""

from __future__ import annotations

import json
import re
from collections import Counter
from fractions import Fraction
from html.parser import HTMLParser
from typing import Any

import pytest

import prdp
from prdp.collector.page import page_of, picture
from prdp.collector.plan import StudyPlan
from prdp.collector.rounds import ResultLine, Snapshot, lines_of, result_text, status_of
from prdp.collector.store.sql import StoredRound, StoredStudy
from prdp.local import Campaign, Estimate
from prdp.local.analyst.estimate import Part
from tests.collector.running import POLICY, count_plan, jobs_plan

NASTY = '<script>alert("1")</script> & "quotes"'
VOID = {"meta", "link", "input", "br", "line", "circle"}


def status(plan: StudyPlan, result: str | None = None, *, closed: bool = False) -> dict[str, Any]:
    campaign = plan.study().after()
    assert isinstance(campaign, Campaign)
    stored = StoredRound(1, campaign.to_json(), campaign.digest, 7, 1_800_000_000, closed, None)
    return status_of(Snapshot.of(StoredStudy(plan.to_json(), bytes(32), (stored,), result)))


class Read(HTMLParser):
    """Every element of a page with its attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


ESTIMATE = Estimate(
    "clients by job", 90.0, 5.0, 100, Fraction(1), "framework",
    parts=(Part(NASTY, 60.0, 3.0), Part("b", -2.0, 3.0)),
    choices=(("first domain kept", "3 of 10"),), rounds=(100, 100), bias="Some are left out.",
)  # fmt: skip
UNHEARD = Estimate(
    "count", 5.0, float("inf"), 3, Fraction(1), "bits", unheard="no domain was heard", rounds=(3,)
)
PAGES = {
    "open": (jobs_plan(40), None, False),
    "by hand": (count_plan(), None, False),
    "adding up": (count_plan(), None, True),
    "done": (jobs_plan(40), result_text([ESTIMATE]), True),
    "unheard": (count_plan(), result_text([UNHEARD]), True),
    "nasty": (
        StudyPlan(
            NASTY, "frequencies", prdp.Policy('"<b>" / 2', at_least=1, at_most=2), "1/3", column=NASTY,
            categories=(NASTY,),
        ), None, False,
    ),
}  # fmt: skip


@pytest.fixture(params=PAGES)
def read(request: pytest.FixtureRequest) -> Read:
    plan, result, closed = PAGES[request.param]
    found = Read(page_of(plan, status(plan, result, closed=closed), result))
    assert not found.open
    return found


def test_a_page_asks_nobody_else_and_runs_no_script_of_its_own_text(read: Read) -> None:
    for name, attributes in read.elements:
        for where in ("src", "href", "action"):
            assert (attributes.get(where) or "/").startswith(("/", "#")), (name, attributes)
        assert not any(attribute.startswith("on") or attribute == "style" for attribute in attributes)
    scripts = read.all("script")
    assert [script["src"] for script in scripts] == ["/static/page.mjs"]


def test_a_page_can_be_read_by_ear_and_by_keyboard(read: Read) -> None:
    assert read.all("html")[0]["lang"] == "en"
    levels = [int(name[1]) for name, _ in read.elements if re.fullmatch(r"h\d", name)]
    assert levels[0] == 1
    assert set(levels[1:]) == {2}
    labels = {label["for"] for label in read.all("label")}
    assert {field["id"] for field in read.all("input")} == labels
    identifiers = Counter(attributes["id"] for _, attributes in read.elements if attributes.get("id"))
    assert max(identifiers.values()) == 1
    for _, attributes in read.elements:
        for named in (attributes.get("aria-labelledby") or "").split():
            assert named in identifiers
    assert all(header["scope"] in ("row", "col") for header in read.all("th"))
    for image in read.all("svg"):
        assert image["role"] == "img"


def test_what_people_wrote_is_text_and_nothing_else() -> None:
    plan = PAGES["nasty"][0]
    read = Read(page_of(plan, status(plan), None))
    assert read.text.count(NASTY) >= 3
    assert len(read.all("script")) == 1
    assert [field["data-column"] for field in read.all("input") if "data-column" in field] == ["<b>", NASTY]


def test_the_result_is_in_words_in_a_picture_and_in_a_table() -> None:
    plan, result, _ = PAGES["done"]
    read = Read(page_of(plan, status(plan, result, closed=True), result))
    assert "90 ± 9.8" in read.text
    assert "Some are left out." in read.text
    assert "first domain kept: 3 of 10" in read.text
    assert len(read.all("circle")) == 2
    assert NASTY in read.text


def test_an_unheard_result_shows_no_number() -> None:
    plan, result, _ = PAGES["unheard"]
    read = Read(page_of(plan, status(plan, result, closed=True), result))
    assert not read.all("svg")
    assert "no domain was heard" in read.text
    assert result is not None
    assert not lines_of(json.loads(result))[0].heard


def test_a_picture_puts_numbers_in_their_order_within_its_frame() -> None:
    drawn = picture(
        [
            ResultLine("a", -50.0, -80.0, -20.0),
            ResultLine("b", 1e6, 9e5, 1.1e6),
            ResultLine("unheard", None, None, None),
        ]
    )
    centres = [float(x) for x in re.findall(r'cx="([\d.]+)"', drawn)]
    assert len(centres) == 2
    width = int(re.findall(r'viewBox="0 0 (\d+) ', drawn)[0])
    assert 0 < centres[0] < centres[1] < width
    assert picture([]) == ""
    assert picture([ResultLine("zero", 0.0, 0.0, 0.0)]).count("<circle") == 1


def test_public_terms_are_in_plain_words() -> None:
    plan = PAGES["open"][0]
    text = Read(page_of(plan, status(plan), None)).text
    for words in ("What we will learn", "What we cannot", "What is not hidden", POLICY.text,
                  plan.digest.hex(), "Round 1 is open: 7 of 40 reports.",
                  "closes on 15 January 2027, 08:00 UTC"):  # fmt: skip
        assert words in text
