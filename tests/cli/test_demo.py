"""The demo as a user sees it: in a pipe, narrow, and as JSON."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from prdp.cli.demo import DrawnDomain, picture
from tests.cli.running import by_itself, quickly, widest
from tests.cli.test_json import parsed


@pytest.fixture(scope="module")
def shown() -> str:
    ran = by_itself("demo", "--rows", "20000")
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    return ran.stdout


def test_the_demo_shows_answers_beside_the_truth_within_80_columns(shown: str) -> None:
    assert "20,000" in shown
    assert "sum of balances" in shown
    assert widest(shown) <= 80
    assert "\x1b" not in shown


def test_the_demo_draws_the_domains_and_marks_the_first_one_that_is_kept(shown: str) -> None:
    fates = [line.split("  ") for line in shown.splitlines() if "kept" in line or "dropped" in line]
    assert sum("first kept" in line for line in shown.splitlines()) == 1
    assert len(fates) > 5
    assert "threshold" in shown


def test_the_demo_says_what_one_budget_for_all_would_cost(shown: str) -> None:
    words = " ".join(shown.split())
    assert "smallest budget that the policy can give, 1e-8" in words
    assert "times less" in words


def test_asking_again_is_free_in_the_demo(shown: str) -> None:
    words = " ".join(shown.split())
    assert "the same answer from the ledger file, free" in words
    assert "Before it 2/5 of every budget was left, and after it 2/5." in words


def test_sixty_columns_are_enough_for_the_demo() -> None:
    ran = quickly("demo", "--rows", "5000", columns=60)
    assert ran.exit_code == 0
    assert widest(ran.stdout) <= 60
    assert "…" not in ran.stdout


def test_the_demo_speaks_json() -> None:
    reported = parsed(quickly("demo", "--rows", "20000", "--json"))
    first = reported["questions"][0]
    assert first["truth"] == 20000
    low, high = first["interval"]
    assert low < first["answer"] < (high or float("inf"))  # an end that is too far away is left open
    assert reported["again"] == {
        "answer": first["answer"],
        "equal": True,
        "remaining_before": "2/5",
        "remaining": "2/5",
    }


def test_the_kept_domains_of_the_figure_add_up_to_its_answer() -> None:
    figure = parsed(quickly("demo", "--rows", "20000", "--json"))["figure"]
    domains = figure["domains"]
    first = next(i for i, domain in enumerate(domains) if domain["first_heavy"])
    assert [domain["kept"] for domain in domains] == [i >= first for i in range(len(domains))]
    assert all(domain["noisy_count"] < domain["threshold"] for domain in domains[:first])
    assert domains[first]["noisy_count"] >= domains[first]["threshold"]
    assert figure["answer"] == sum(domain["noisy_count"] for domain in domains[first:])
    assert sum(domain["records"] for domain in domains) == 20000


def test_one_account_is_enough_for_a_demo() -> None:
    assert quickly("demo", "--rows", "1").exit_code == 0


@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("digits", range(1, 40, 3))
def test_however_long_the_noise_is_no_word_of_the_figure_breaks(width: int, digits: int) -> None:
    """Algorithm 1 draws a useless answer now and then, with noise of any size."""
    domains = [
        DrawnDomain(
            place,
            1e-10 * 4**place,
            1.234e-9 * 4**place,
            1,
            sign * 10**digits,
            10**digits,
            place > 1,
            place == 2,
        )
        for place, sign in enumerate((1, -1, 1, 1))
    ]
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(picture(domains, width))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert len(lines) == 1 + len(domains)
    assert sum("first kept" in line for line in lines) == 1
    assert widest("\n".join(line.rstrip() for line in lines)) <= width
