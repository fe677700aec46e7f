"""The console in a real browser: the whole path, keyboards, narrow windows, accessibility, hostile texts."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prdp.serving.drawings import curve_chart, interval_chart
from tests.collector.browsing import browser
from tests.collector.running import PATIENCE
from tests.server.served_project import HOSTILE, PASSWORD, ServedProject
from tests.tools import lacking, program

pytestmark = pytest.mark.slow
COUNTS = "SELECT branch, COUNT(*) AS n FROM accounts GROUP BY branch"
WIDTHS = (400, 1280)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProject]:
    with ServedProject(tmp_path_factory.mktemp("served")) as project:
        yield project


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with browser(tmp_path_factory.mktemp("browser")) as driver:
        yield driver


@pytest.fixture(scope="module")
def members(driver: Any, served: ServedProject) -> dict[str, list[Any]]:
    """Accept everybody's invitation; return the cookies of their sessions."""
    return {name: joined(driver, served, name) for name in served.invitations}


def joined(driver: Any, served: ServedProject, name: str) -> list[Any]:
    driver.delete_all_cookies()
    driver.get(f"{served.url}/join/{served.invitations[name]}")
    fill(driver, password=PASSWORD, again=PASSWORD)
    press(driver, "Begin")
    return list(driver.get_cookies())


def as_member(driver: Any, served: ServedProject, members: dict[str, list[Any]], name: str) -> None:
    driver.get(f"{served.url}/sign-in")
    driver.delete_all_cookies()
    for cookie in members[name]:
        driver.add_cookie(cookie)


def fill(driver: Any, **values: str) -> None:
    from selenium.webdriver.common.by import By  # noqa: PLC0415

    for name, value in values.items():
        field = driver.find_element(By.ID, name)
        field.clear()
        field.send_keys(value)


def press(driver: Any, words: str) -> None:
    """Press the button of these words, and wait for the next page."""
    from selenium.webdriver.common.by import By  # noqa: PLC0415
    from selenium.webdriver.support.ui import WebDriverWait  # noqa: PLC0415

    page = driver.find_element(By.TAG_NAME, "html")
    buttons = [one for one in driver.find_elements(By.TAG_NAME, "button") if one.text.startswith(words)]
    assert buttons, (words, text_of(driver))
    buttons[0].click()
    WebDriverWait(driver, PATIENCE).until(lambda _: is_gone(page))


def is_gone(page: Any) -> bool:
    """Return whether another page is shown; while it is being loaded, drivers report this in several ways."""
    from selenium.common.exceptions import WebDriverException  # noqa: PLC0415

    try:
        page.is_enabled()
    except WebDriverException:
        return True
    return False


def text_of(driver: Any) -> str:
    from selenium.webdriver.common.by import By  # noqa: PLC0415

    return str(driver.find_element(By.TAG_NAME, "main").text)


def waited(driver: Any, words: str) -> str:
    """Return the page's text once it holds some words; the page loads itself again."""
    deadline = time.monotonic() + PATIENCE
    while words not in (found := text_or_nothing(driver)):
        assert time.monotonic() < deadline, found
        time.sleep(0.2)
    return found


def text_or_nothing(driver: Any) -> str:
    from selenium.common.exceptions import WebDriverException  # noqa: PLC0415

    try:
        return text_of(driver)
    except WebDriverException:  # the page is being loaded
        return ""


def violations(driver: Any) -> list[str]:
    """Return what the browser reported against the content security policy, or of scripts."""
    texts = [str(entry["message"]) for entry in driver.get_log("browser")]
    return [
        text for text in texts if "Content Security" in text or "Refused to" in text or "Uncaught" in text
    ]


def test_an_invitation_leads_to_an_answer_and_its_csv(
    driver: Any, served: ServedProject, members: dict[str, list[Any]]
) -> None:
    from selenium.webdriver.common.by import By  # noqa: PLC0415

    as_member(driver, served, members, "ana")
    press_sign_out(driver, served)
    fill(driver, name="ana", password="wrong " + PASSWORD)
    press(driver, "Sign in")
    assert "wrong" in text_of(driver)
    fill(driver, name="ana", password=PASSWORD)
    press(driver, "Sign in")
    members["ana"] = list(driver.get_cookies())
    assert "accounts" in text_of(driver)
    driver.get(f"{served.url}/tables/accounts")
    page = text_of(driver)
    assert "10000 / balance" in page
    assert "Made-up rows" in page
    driver.get(f"{served.url}/ask?table=accounts")
    fill(driver, statement=COUNTS, share="0.03")
    press(driver, "Try on made-up rows")
    assert "not real" in text_of(driver)
    press(driver, "Dry run")
    assert "This costs 0.03" in text_of(driver)
    press(driver, "Spend 0.03")
    assert "appears at" in waited(driver, "Being answered")
    page = waited(driver, "Receipt")
    assert HOSTILE in page
    link = driver.find_element(By.LINK_TEXT, "CSV").get_attribute("href")
    rows = list(csv.DictReader(io.StringIO(fetched(driver, link))))
    assert [row["branch"].lstrip("'") for row in rows] == ["north", "south", HOSTILE]
    assert all(float(row["n_low"]) <= float(row["n"]) for row in rows)
    driver.get(f"{served.url}/ask")
    fill(driver, statement=COUNTS, share="0.03")
    press(driver, "Dry run")
    assert "it costs nothing" in text_of(driver)
    driver.get(f"{served.url}/history")
    assert "0.47 of 0.5" in text_of(driver)
    assert violations(driver) == []


def press_sign_out(driver: Any, served: ServedProject) -> None:
    driver.get(f"{served.url}/tables")
    press(driver, "Sign out")
    driver.get(f"{served.url}/tables")
    assert "Sign in" in text_of(driver)


def fetched(driver: Any, link: str) -> str:
    """Return a file, with the browser's cookie."""
    from urllib.request import Request, urlopen  # noqa: PLC0415

    cookies = "; ".join(f"{one['name']}={one['value']}" for one in driver.get_cookies())
    with urlopen(Request(link, headers={"cookie": cookies}), timeout=PATIENCE) as answer:  # noqa: S310
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "attachment" in answer.headers["content-disposition"]
        return str(answer.read().decode())


def test_a_steward_decides_about_a_question_that_is_dear(
    driver: Any, served: ServedProject, members: dict[str, list[Any]]
) -> None:
    as_member(driver, served, members, "ana")
    driver.get(f"{served.url}/ask")
    fill(driver, statement="SELECT SUM(age) FROM accounts", share="0.4")
    press(driver, "Dry run")
    press(driver, "Spend 0.4")
    waited(driver, "Receipt")
    driver.get(f"{served.url}/ask")
    fill(driver, statement="SELECT AVG(age) FROM accounts", share="0.3")
    press(driver, "Dry run")
    fill(driver, purpose="<img src=x onerror=alert(1)>")
    press(driver, "Ask for approval")
    place = driver.current_url
    assert "Nothing is spent before" in text_of(driver)
    as_member(driver, served, members, "stew")
    driver.get(f"{served.url}/approvals")
    assert "<img src=x onerror=alert(1)>" in text_of(driver)
    press(driver, "Approve and ask")
    assert "Nothing waits" in text_of(driver)
    as_member(driver, served, members, "ana")
    driver.get(place)
    waited(driver, "Receipt")
    assert violations(driver) == []


def test_a_question_is_asked_by_keyboard_alone(
    driver: Any, served: ServedProject, members: dict[str, list[Any]]
) -> None:
    from selenium.webdriver.common.action_chains import ActionChains  # noqa: PLC0415
    from selenium.webdriver.common.keys import Keys  # noqa: PLC0415

    def keys(*pressed: str) -> None:
        ActionChains(driver).send_keys(*pressed).perform()

    def focused() -> str:
        found = driver.switch_to.active_element
        return str(found.get_attribute("id") or found.text)

    def tab_to(name: str) -> None:
        for _ in range(40):
            if focused().startswith(name):
                return
            keys(Keys.TAB)
        raise AssertionError(f"{name} is not reached by Tab")

    as_member(driver, served, members, "ana")
    driver.get(f"{served.url}/ask")
    keys(Keys.TAB)
    assert focused() == "Skip to the content"
    tab_to("statement")
    keys("SELECT COUNT(*) AS n FROM accounts WHERE age > 60")
    tab_to("share")
    keys(Keys.BACKSPACE * 6, "0.01", Keys.ENTER)
    waited(driver, "This costs 0.01")
    tab_to("Spend")
    keys(Keys.ENTER)
    waited(driver, "Receipt")
    style = driver.execute_script(
        "const a = document.querySelector('main a'); a.focus({focusVisible: true});"
        "return getComputedStyle(a).outlineStyle"
    )
    assert style == "solid"


def pages_of(members: dict[str, list[Any]]) -> list[tuple[str, str]]:
    """Return a page of each kind, with somebody who may see it."""
    mine = ("tables", "tables/accounts", "ask", "history", "tokens")
    found = [("ana", path) for path in mine]
    return [*found, ("stew", "approvals"), ("olga", "people"), ("olga", "audit"), ("audie", "audit")]


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core, from the registry of packages of Node."""
    folder = tmp_path_factory.mktemp("axe")
    npm = program("node", "Node is not installed, so axe-core is not here", name="npm")
    packed = subprocess.run(
        [npm, "pack", "axe-core@4", "--silent"], cwd=folder, capture_output=True, text=True, check=False
    )
    if packed.returncode:
        lacking("axe", "axe-core cannot be fetched")
    shutil.unpack_archive(folder / packed.stdout.split()[-1], folder)
    return (folder / "package" / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_is_accessible_and_as_wide_as_its_window(
    driver: Any, served: ServedProject, members: dict[str, list[Any]], axe: str, width: int
) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        for scheme in ("light", "dark"):
            feature = {"name": "prefers-color-scheme", "value": scheme}
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
            wrong = dict(faults(driver, served, members, axe))
            assert not wrong, json.dumps(wrong, indent=1)
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def faults(
    driver: Any, served: ServedProject, members: dict[str, list[Any]], axe: str
) -> Iterator[tuple[str, Any]]:
    """Yield what is wrong with pages: what axe-core reports, and widths beyond the window's."""
    places = [("", "sign-in"), ("", "join/nothing"), *pages_of(members)]
    who = None
    for name, path in places:
        if name != who and name:
            as_member(driver, served, members, name)
        who = name
        driver.get(f"{served.url}/{path}")
        yield from page_faults(driver, axe, path)
        if path == "ask":
            fill(driver, statement=COUNTS, share="0.06")
            press(driver, "Try on made-up rows")
            yield from page_faults(driver, axe, "preview")
            press(driver, "Dry run")
            yield from page_faults(driver, axe, "plan")
            fill(driver, statement="SELECT nothing FROM accounts")
            press(driver, "Dry run")
            yield from page_faults(driver, axe, "refused")
            fill(driver, statement=COUNTS, share="0.03")
            press(driver, "Dry run")
            press(driver, "Show" if "costs nothing" in text_of(driver) else "Spend")
            waited(driver, "Receipt")
            yield from page_faults(driver, axe, "answer")


HIDDEN_NUMBERS = """
const boxes = [...document.querySelectorAll("svg .tick")]
  .map(one => [one.textContent, one.getBoundingClientRect()]).filter(([, box]) => box.width);
const cut = boxes.filter(([, box]) => box.left < 0 || box.right > window.innerWidth).map(([text]) => text);
const on = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom - 4 && b.top < a.bottom - 4;
const over = boxes.flatMap(([text, box], at) =>
  boxes.slice(at + 1).filter(([, other]) => on(box, other)).map(([other]) => `${text} on ${other}`));
return [...cut, ...over];
"""
"""Numbers of a chart's axes that are on one another, or beyond the window."""


def page_faults(driver: Any, axe: str, path: str) -> Iterator[tuple[str, Any]]:
    wide = driver.execute_script("return document.documentElement.scrollWidth > window.innerWidth")
    if wide:
        yield f"{path} width", "scrolls"
    if hidden := driver.execute_script(HIDDEN_NUMBERS):
        yield f"{path} chart", hidden
    driver.execute_script(axe)
    found = driver.execute_async_script(
        "const done = arguments[0]; axe.run().then(r => done(r.violations), e => done([String(e)]))"
    )
    if found:
        yield path, [[one["id"], [node["html"] for node in one["nodes"]]] for one in found]


@pytest.mark.parametrize("most", [1e3, 1e6, 1e9])
def test_numbers_of_axes_stand_apart_in_a_narrow_window(
    driver: Any, served: ServedProject, most: float
) -> None:
    size = {"width": 400, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        driver.get(f"{served.url}/sign-in")
        for chart in (
            curve_chart([(1.0, 10.0), (most, 0.01)], "balance", "The policy"),
            interval_chart([("a", most, 0.0, most), ("b", 0.0, 0.0, None)], "Answers"),
        ):
            shown = "document.querySelector('main').innerHTML = '<figure>' + arguments[0] + '</figure>'"
            driver.execute_script(shown, chart)
            assert driver.execute_script(HIDDEN_NUMBERS) == []
            assert driver.execute_script("return document.querySelectorAll('.tick').length") >= 3
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_hostile_texts_are_text(driver: Any, served: ServedProject, members: dict[str, list[Any]]) -> None:
    from selenium.webdriver.common.by import By  # noqa: PLC0415

    attack = "</textarea><script>document.title=/owned/.source</script><svg onload=alert(1)>"
    as_member(driver, served, members, "ana")
    driver.get(f"{served.url}/ask?table={attack}")
    fill(driver, statement=f"SELECT COUNT(*) FROM accounts WHERE branch = '{attack}'", share="0.01")
    press(driver, "Dry run")
    assert attack in text_of(driver)
    assert driver.title != "owned"
    fill(driver, statement=f'SELECT COUNT(*) AS "{attack}" FROM accounts WHERE age > 33')
    press(driver, "Dry run")
    press(driver, "Spend")
    waited(driver, "Receipt")
    for path in ("history", "tables/accounts"):
        driver.get(f"{served.url}/{path}")
        assert driver.title != "owned"
        assert driver.find_elements(By.TAG_NAME, "script") == []
        assert driver.find_elements(By.CSS_SELECTOR, "[onload], [onerror]") == []
    driver.get(f"{served.url}/sign-in?next=https://evil.example/")
    fill(driver, name="<b>nobody</b>", password=PASSWORD)
    press(driver, "Sign in")
    assert driver.find_elements(By.CSS_SELECTOR, "main b") == []
    for onward in ("https://evil.example/", "//evil.example/", "/\\evil.example/"):
        driver.get(f"{served.url}/sign-in?next={onward}")
        fill(driver, name="ana", password=PASSWORD)
        press(driver, "Sign in")
        assert driver.current_url == f"{served.url}/tables"
    members["ana"] = list(driver.get_cookies())
    assert violations(driver) == []


def test_everything_works_without_javascript(served: ServedProject, tmp_path: Path) -> None:
    with browser(tmp_path, javascript=False) as driver:
        driver.get(f"{served.url}/sign-in")
        fill(driver, name="ana", password=PASSWORD)
        press(driver, "Sign in")
        driver.get(f"{served.url}/ask")
        fill(driver, statement="SELECT COUNT(*) AS n FROM accounts WHERE age > 80", share="0.01")
        press(driver, "Dry run")
        press(driver, "Spend")
        assert "Answer" in waited(driver, "Receipt")


def test_a_form_of_another_site_changes_nothing(
    driver: Any, served: ServedProject, members: dict[str, list[Any]]
) -> None:
    as_member(driver, served, members, "olga")
    driver.get("about:blank")
    driver.execute_script(
        f"""document.body.innerHTML = '<form method="post" action="{served.url}/people"><input name="name" '
        + 'value="mallory"><input name="role" value="owner"><button>x</button></form>';
        document.querySelector("form").submit()"""
    )
    time.sleep(1)
    driver.get(f"{served.url}/people")
    assert "mallory" not in text_of(driver)
    assert "olga" in text_of(driver)
