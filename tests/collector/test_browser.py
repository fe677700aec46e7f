"""The page and the JavaScript client in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from prdp.collector.rounds import Begun
from tests.collector.browsing import browser
from tests.collector.running import PATIENCE, VECTORS, Server, begun, jobs_plan

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Begun]]:
    path = tmp_path_factory.mktemp("browsed") / "study.collect"
    known = begun(path, jobs_plan(5), 10)
    with Server(path) as server:
        yield server, known


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with browser(tmp_path_factory.mktemp("browser")) as driver:
        yield driver


def waited(driver: Any, css: str, words: str) -> str:
    """Return an element's text once it holds some words."""
    from selenium.webdriver.common.by import By  # noqa: PLC0415
    from selenium.webdriver.support.ui import WebDriverWait  # noqa: PLC0415

    WebDriverWait(driver, PATIENCE).until(lambda d: words in d.find_element(By.CSS_SELECTOR, css).text)
    return str(driver.find_element(By.CSS_SELECTOR, css).text)


def fill(driver: Any, **values: str) -> None:
    from selenium.webdriver.common.by import By  # noqa: PLC0415

    for column, value in values.items():
        field = driver.find_element(By.CSS_SELECTOR, f"[data-column='{column}']")
        field.clear()
        field.send_keys(value)


def requests_of(driver: Any) -> list[dict[str, Any]]:
    """Return every request that the page has made since the last look."""
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = [
        message["params"]["request"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]
    return [request for request in asked if not request["url"].startswith(("chrome:", "data:", "chrome-"))]


def test_a_visitor_draws_a_report_sends_it_and_nothing_else_leaves(
    driver: Any, served: tuple[Server, Begun]
) -> None:
    from selenium.webdriver.common.by import By  # noqa: PLC0415

    server, known = served
    driver.get(f"{server.url}/")
    assert "Round 1 is open: 0 of 5 reports." in driver.find_element(By.ID, "status").text
    fill(driver, job="student", visits="4")
    driver.find_element(By.CSS_SELECTOR, "#record button").click()
    assert "loses at most 2.35" in waited(driver, "#drawn", "One report")
    asked = requests_of(driver)
    assert {urlsplit(each["url"]).netloc for each in asked} == {f"127.0.0.1:{server.port}"}
    assert all(each["method"] == "GET" and "student" not in json.dumps(each) for each in asked)
    driver.find_element(By.CSS_SELECTOR, "#answer summary").click()
    driver.find_element(By.ID, "ticket").send_keys(known.tickets[0])
    driver.find_element(By.CSS_SELECTOR, "#send button").click()
    waited(driver, "#sent", "Your report is counted.")
    assert server.ask("/v1/study").facts["rounds"][0]["reports"] == 1
    posted = [each for each in requests_of(driver) if each["method"] == "POST"]
    assert [urlsplit(each["url"]).path for each in posted] == ["/v1/reports"]
    assert "student" not in json.dumps(posted)
    fill(driver, job="retired", visits="1")  # whatever the record is by then, the same bytes are sent
    driver.find_element(By.CSS_SELECTOR, "#send button").click()
    waited(driver, "#sent", "counts once")
    driver.find_element(By.ID, "ticket").clear()
    driver.find_element(By.ID, "ticket").send_keys("00" * 16)
    driver.find_element(By.CSS_SELECTOR, "#send button").click()
    waited(driver, "#sent", "Not sent: this ticket was not given out here.")
    assert server.ask("/v1/study").facts["rounds"][0]["reports"] == 1
    wrong = [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
    assert len(wrong) == 1
    assert "403" in wrong[0]


def test_a_record_without_a_budget_is_drawn_for_like_any_other(
    driver: Any, served: tuple[Server, Begun]
) -> None:
    from selenium.webdriver.common.by import By  # noqa: PLC0415

    driver.get(f"{served[0].url}/")
    fill(driver, job="", visits="many")
    driver.find_element(By.CSS_SELECTOR, "#record button").click()
    assert "no valid budget" in waited(driver, "#drawn", "One report that could be sent, 55 bytes")


def test_the_javascript_client_gives_the_bytes_of_every_vector_in_a_browser(
    driver: Any, served: tuple[Server, Begun]
) -> None:
    driver.get(f"{served[0].url}/")
    script = (HERE / "check-vectors.mjs").read_text(encoding="utf-8").replace("export async", "async")
    found = driver.execute_async_script(
        f"{script}\nconst [vectors, done] = arguments;\n"
        'import("/static/prdp-client.mjs").then((prdp) => check(prdp, vectors))'
        ".then(done, (error) => done(String(error)));",
        json.loads(VECTORS.read_text(encoding="utf-8")),
    )
    assert found["wrong"] == []
    assert found["reports"] > 100


def test_a_page_is_read_without_javascript(served: tuple[Server, Begun], tmp_path: Path) -> None:
    from selenium.webdriver.common.by import By  # noqa: PLC0415

    with browser(tmp_path, javascript=False) as driver:
        driver.get(f"{served[0].url}/")
        text = driver.find_element(By.TAG_NAME, "body").text
        assert "Round 1 is open" in text
        assert "What we cannot" in text
        assert "needs JavaScript" in text
        assert "Draw a report" not in text
