"""``prdp policy``: what a policy promises, and what is wrong with it."""

from __future__ import annotations

import pytest

from tests.cli.running import by_itself, quickly, widest
from tests.cli.test_json import POLICY, parsed


def test_a_policy_is_explained_in_a_pipe_within_80_columns() -> None:
    ran = by_itself(*POLICY, "--record", "balance=5000")
    assert ran.returncode == 0, ran.stderr
    assert widest(ran.stdout) <= 80
    assert "\x1b" not in ran.stdout
    assert "both axes logarithmic" in ran.stdout
    assert "The record has the budget 2, rounded down to 1.8" in ran.stdout
    assert "No record within the bounds is left out" in ran.stdout


def test_sixty_columns_are_enough_for_a_policy() -> None:
    ran = quickly(*POLICY, columns=60)
    assert widest(ran.stdout) <= 60
    assert "…" not in ran.stdout


def test_the_plot_of_a_falling_policy_falls() -> None:
    lines = quickly(*POLICY).stdout.splitlines()
    starts = [line.index("*") for line in lines if " |" in line and "*" in line]
    assert len(starts) == 12
    assert starts == sorted(starts)


def test_a_domain_holds_the_values_whose_budgets_lie_in_it() -> None:
    reported = parsed(quickly(*POLICY, "--json"))
    reached = 0
    for domain in reported["domains"][:-1]:
        ((low, high),) = domain["values"]
        assert 10000 / high == pytest.approx(domain["budget_from"], rel=1e-6)
        assert 10000 / low == pytest.approx(domain["budget_to"], rel=1e-6)
        reached += 1
    assert reached == 33
    assert reported["domains"][-1]["values"][0][0] == 0


def test_whole_numbers_belong_to_one_domain_each() -> None:
    command = ("policy", "balance / 100", "--bounds", "balance=1:1000", "--whole", "balance", "--json")
    values = [value for domain in parsed(quickly(*command))["domains"] for value in domain["values"]]
    members = [member for low, high in values for member in range(low, high + 1)]
    assert sorted(members) == [*range(1, 1001)]


def test_a_policy_with_too_many_turns_shows_no_values_rather_than_wrong_ones() -> None:
    turning = "abs(ln(x) - sqrt(x) * x / (x + 1)) + (x - 3) / (x - 4) + power(x - x, 2)"
    ran = quickly("policy", turning, "--bounds", "x=0:1e12", "--at-most=1e10", "--at-least=1e-40", "--json")
    assert parsed(ran)["domains"][0]["values"] is None


def test_where_records_are_left_out_is_stated_and_marked() -> None:
    ran = quickly("policy", "abs(x - 5)", "--bounds", "x=-10:10", "--at-least", "0.01")
    assert "! the policy leaves out records with x from 4.99 to 5.01" in ran.stdout
    assert "x: left out" in ran.stdout
    assert "the budget's axis logarithmic" in ran.stdout


def test_a_policy_of_several_columns_has_domains_and_no_plot() -> None:
    several = ("policy", "CASE WHEN kind = 'student' THEN 1 ELSE 2 / age END", "--text", "kind")
    ran = quickly(*several, "--bounds", "age=18:90", "--record", "kind=student,age=20")
    assert ran.exit_code == 0
    assert "|" not in ran.stdout
    assert "The record has the budget 1," in ran.stdout
    apart = quickly(*several, "--bounds", "age=18:90", "--record", "kind=a, b", "--record", "AGE=20")
    assert "The record has the budget 0.1," in apart.stdout


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ("balance=", "E gives no number, so it is left out of every answer and loses nothing"),
        ("balance=-3", "E gives -3,333.33, so it is left out"),
        ("balance=10", "The record has the budget 100 (E gives 1,000, lowered to at_most)"),
        ("balance=2.5e4", "The record has the budget 0.4,"),
    ],
)
def test_a_record_learns_what_becomes_of_it(record: str, words: str) -> None:
    ran = quickly(*POLICY, "--record", record)
    assert words in " ".join(ran.stdout.split())


def test_an_expression_is_shown_as_written_and_never_read_as_markup() -> None:
    ran = quickly("policy", 'CASE WHEN "[b]" > 1 THEN 1 ELSE 2 END', "--bounds", "[b]=0:3")
    assert 'E = CASE WHEN "[b]" > 1' in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("10000 / balanc", "--bounds", "balance=0:1e12"), ("^^^^^^", "Did you mean balance?")),
        (("10000 /",), ("something is missing here",)),
        (("10000 / balance",), ("has no largest budget", "--bounds balance=LOW:HIGH", "--at-most 10")),
        (("x / 10", "--bounds", "x=0:10"), ("has no smallest positive budget", "--at-least 1e-6")),
        (("CASE WHEN kind = 'a' THEN 1 ELSE 2 END",), ("add --text kind",)),
        (("x", "--bounds", "x=9:1"), ("reversed", "Write x=1:9")),
        (("x", "--bounds", "x=9"), ("COLUMN=LOW:HIGH",)),
        (("x", "--bounds", "x=a:9"), ("is not a number",)),
        (("x", "--bounds", "x=1:9", "--at-most", "many"), ("at_most='many' is not a number",)),
        (("x", "--bounds", "x=1:9", "--at-least", "99"), ("leaves out every record",)),
        (("x", "--bounds", "x=1:9", "--text", "x"), ("cannot be text",)),
        (("x", "--bounds", "x=1:9", "--record", "x"), ("COLUMN=VALUE",)),
        (("x", "--bounds", "x=1:9", "--record", "y=3"), ("names y but neither",)),
        (("x + y", "--bounds", "x=1:9,y=1:9", "--record", "y=3"), ("says nothing about x",)),
        (("x", "--bounds", "x=1:9", "--record", "x=3,x=4"), ("names x twice",)),
        (("x", "--bounds", "x=1:9", "--record", "x=three"), ("is not a number",)),
    ],
)
def test_a_mistake_is_explained_on_standard_error(arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    ran = quickly("policy", *arguments)
    assert ran.exit_code == 2
    assert ran.stdout == ""
    assert ran.stderr.startswith("prdp: ")
    for word in words:
        assert word in ran.stderr


def test_of_a_concentrated_policy_epsilons_are_shown_at_the_delta_that_is_asked_for() -> None:
    asked = ("policy", "1000 / balance", "--bounds", "balance=0:1e6", "--at-most=10", "--notion=zcdp")
    ran = quickly(*asked, "--record", "balance=2000")
    assert "P = 1000 / balance" in ran.stdout
    assert "epsilon at delta 1e-6" in ran.stdout
    assert "5.222" in ran.stdout
    (hundredth,) = (line for line in ran.stdout.splitlines() if line.startswith("1/100 "))
    assert hundredth.split()[-1] == "0.43"  # of 0.42994, rounded up
    reported = parsed(quickly(*asked, "--record", "balance=2000", "--delta=1e-9", "--json"))
    assert reported["notion"] == "zcdp"
    assert reported["epsilons"]["1"] == pytest.approx(6.5, abs=0.3)  # 0.5 + 2 √(0.5 · ln 10⁹) is 6.94
    assert "E = 1000 / balance" in quickly(*asked[:-1]).stdout
