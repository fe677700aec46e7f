"""A concentrated policy end to end: what is charged, drawn, recorded and said, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prdp
from prdp.concentrated import root_below
from prdp.errors import BudgetExhausted, InvalidRequest, LedgerError, PolicyError
from prdp.ledger.release_codec import release_from_json, release_to_json
from prdp.noise.discrete_gaussian import GaussianScale
from prdp.plan.steps import shares_drawn
from prdp.policy import Policy
from prdp.release.consistency import Lattice, Margin, margins_to_ask
from prdp.release.totals import total_of
from prdp.testing.seeded import Seeded

ROWS = {
    "balance": np.arange(1, 20_001),
    "age": np.arange(20_000) % 80,
    "job": np.array(["chef", "clerk"] * 10_000),
    "who": np.arange(20_000) // 2,
}
BOUNDS: Any = {"balance": (0, 10**6), "age": (0, 120)}
TEXT = "10000 / balance"


def opened(notion: str = "zcdp", text: str = TEXT, **more: Any) -> prdp.Table:
    policy = prdp.Policy(text, at_most=10, notion=notion)
    return prdp.open(ROWS, policy=policy, bounds=BOUNDS, name="accounts", synthetic=True, **more)


def kept(folder: Path, notion: str) -> prdp.Table:
    policy = prdp.Policy(TEXT, at_most=10, notion=notion)
    ledger = folder / "accounts.ledger"
    return prdp.open(
        ROWS, policy=policy, bounds=BOUNDS, name="accounts", ledger=ledger, separate_account=True
    )


def lost(drawn: Fraction, e: Fraction, *, concentrated: bool) -> float:
    """Return what a mechanism drawn at a share loses of a record: it is pure, or its proof is about P(r)."""
    x = float(drawn * e)
    return x * x / 2 if concentrated else x * math.tanh(x / 2)


QUERIES = [
    prdp.count(), prdp.sum("balance"), prdp.mean("balance"), prdp.median("balance"), prdp.max("balance"),
    prdp.min("balance"), prdp.count_distinct("age"), prdp.std("age"), prdp.quantile("age", [0.1, 0.5, 0.9]),
]  # fmt: skip


@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("share", ["1", "1/3", "1/1000"])
def test_no_step_is_drawn_at_more_than_its_share_of_any_record(
    query: Any, unit: str | None, share: str
) -> None:
    table = opened(privacy_unit=unit)
    try:
        (plan,) = table.plan(query, share=share).queries
    except InvalidRequest:
        assert unit is not None  # what is not proved for units is not either here
        return
    levels = table.policy.deep_levels
    for e in (levels.at_least, Fraction(1), levels.at_most):
        losses = [
            lost(step.drawn_share, e, concentrated=getattr(step.mechanism, "concentrated", False))
            for step in plan.steps
        ]
        assert sum(losses) <= float(Fraction(share) * e * e / 2) * (1 + 1e-9)


@pytest.mark.parametrize("share", [Fraction(1, 7), Fraction(1)])
def test_a_count_has_gaussian_noise_and_a_mean_has_pure_parts(share: Fraction) -> None:
    (count, mean) = (opened().plan(one, share=share).queries[0] for one in (prdp.count(), prdp.mean("age")))
    assert all(step.drawn_share == root_below(share) for step in count.steps)
    assert [getattr(step.mechanism, "gaussian", False) for step in (*count.steps, *mean.steps)] == [
        True,
        False,
        False,
    ]


def test_where_budgets_are_so_large_that_a_pure_mechanism_has_less_noise_it_is_taken() -> None:
    table = prdp.open(ROWS, policy=prdp.Policy("20", notion="zcdp"), synthetic=True)
    kinds = [table.plan(prdp.count(), share=share).queries[0].steps[0] for share in (1, "1/100")]
    assert [getattr(step.mechanism, "gaussian", False) for step in kinds] == [False, True]


def test_shares_of_several_queries_are_divided_and_each_part_is_drawn_at_its_root() -> None:
    plan = opened().plan(prdp.count(), prdp.sum("balance"), prdp.mean("balance"), share="1/2")
    assert sum(shares_drawn(plan.queries)) <= Fraction(1, 2)
    for one in plan.queries:
        for step in one.steps:
            concentrated = getattr(step.mechanism, "concentrated", False)
            assert lost(step.drawn_share, Fraction(4), concentrated=concentrated) <= float(step.share * 8) * (
                1 + 1e-9
            )


def test_many_counts_have_the_noise_of_the_root_of_their_number() -> None:
    table = opened(text="1")
    alone, many = (table.plan(prdp.count(), share=share) for share in ("1", "1/100"))
    sizes = []
    for plan in (alone, many):
        drawn = plan.draw(table._reader, Seeded(20261119), 4000)
        sizes.append(np.std([float(one.releases[0][0].exact) for one in drawn]))  # type: ignore[union-attr]
    assert sizes[1] / sizes[0] == pytest.approx(10, rel=0.15)  # 4,000 draws: 1 % each


def test_intervals_of_counts_and_sums_cover_the_truth_as_often_as_they_say() -> None:
    """Of 600 draws, 95 % may miss 30 times; 66 would be nearly seven deviations more."""
    table = opened()
    truths = {"count": 20_000, "sum": int(ROWS["balance"].sum())}
    for query, truth in ((prdp.count(), truths["count"]), (prdp.sum("balance"), truths["sum"])):
        tables: Any = table.plan(query, share="1/10").draw(table._reader, Seeded(5), 600)
        drawn = [one.releases[0][0] for one in tables]
        assert all(type(scale) is GaussianScale for one in drawn for scale in one.noise_scales)
        missed = sum(not low <= truth <= high for low, high in (one.interval() for one in drawn))
        assert missed <= 66


def test_groups_are_drawn_at_once_and_as_each_alone() -> None:
    table = opened()
    by_job = table.group_by("job", keys=["chef", "clerk"])
    drawn: Any = by_job.plan(prdp.count(), share="1/10").draw(table._reader, Seeded(3), 300)
    numbers = np.array([[float(row[0].exact) for row in one.releases] for one in drawn])
    assert np.abs(numbers.mean(axis=0) - 10_000).max() < 40


def test_groups_that_a_unit_is_in_have_gaussian_noise_and_intervals_that_cover_the_truth() -> None:
    """Each unit has a row in either group. Of 200 draws, 95 % may miss 10 times; 28 would be 6 deviations."""
    table = opened(privacy_unit="who", max_rows=2)
    plan = table.group_by("job", keys=["chef", "clerk"]).plan(prdp.count(), share="1/10")
    (query,) = plan.queries
    (step,) = query.steps
    assert (query.together, step.mechanism.name) == ("joint", "joint")
    assert step.drawn_share == root_below(Fraction(1, 10))
    drawn: Any = plan.draw(table._reader, Seeded(4), 200)
    for group in range(2):
        answers = [one.releases[group][0] for one in drawn]
        assert all(answer.noise == "gaussian" for answer in answers)
        missed = sum(not low <= 10_000 <= high for low, high in (one.interval() for one in answers))
        assert missed <= 28


def test_totals_and_margins_of_counts_have_intervals_of_two_deviations_of_gaussian_noise() -> None:
    """Noises of 16 groups, or of all margins, add up to one as wide as a normal variable, and no wider."""
    table = opened(text="1")
    grouped = table.group_by("age", keys=list(range(16)))
    plan: Any = grouped.plan(prdp.count(), share="1/10")
    (drawn,) = plan.draw(table._reader, Seeded(1), 1)
    each = [row[0] for row in drawn.releases]
    low, high = total_of(each).interval()
    deviation = math.sqrt(16 * 10 / 2)  # of each, P = 1 at share 1/10: the root of 1 / (2 · 1/10)
    assert 1.9 * deviation - 1 < (high - low) / 2 < 2 * deviation + 2

    text = "SELECT job, age, COUNT(*) AS n FROM accounts WHERE age IN (1, 2) AND job IN ('chef', 'clerk')"
    rows = table.sql(f"{text} GROUP BY CUBE (job, age)", share="1/10").rows
    estimates: list[Any] = [row[-1] for row in rows]
    assert len(estimates) == 9
    widest = max(one.interval()[1] - one.interval()[0] for one in estimates) / 2
    alone = 2 * math.sqrt(4 * 10 / 2)  # of one cell that is released for itself, at a quarter of the share
    assert widest < alone + 2


def test_a_cube_under_a_concentrated_policy_asks_for_more_margins() -> None:
    """Of k tables the noise of each grows by the root of k only, so that asking for more of them pays."""
    wanted = [(0, 1), (0,), (1,), ()]
    assert list(margins_to_ask((3, 2), wanted)) == [(0, 1)]
    assert list(margins_to_ask((3, 2), wanted, concentrated=True)) == wanted


@pytest.mark.parametrize("sizes", [(3, 2), (2, 5, 9), (20, 3, 4)])
def test_no_other_parts_of_a_share_make_the_variances_of_margins_smaller(sizes: tuple[int, ...]) -> None:
    """Their product, that is; parts are moved from each margin to each other one, a tenth of it."""
    columns = range(len(sizes))
    wanted = [one for size in (1, 2) for one in combinations(columns, size)]
    parts = margins_to_ask(sizes, wanted, concentrated=True)
    assert sum(parts.values()) == 1

    def product_of_variances(parts: Mapping[Margin, Fraction]) -> float:
        lattice = Lattice(sizes, {margin: 1 / part for margin, part in parts.items()})
        return math.prod(float(lattice.variance(margin) or math.nan) for margin in wanted)

    best = product_of_variances(parts)
    assert best < product_of_variances({margin: Fraction(1, len(wanted)) for margin in wanted})
    for one, other in permutations(parts, 2):
        moved = parts[one] / 10
        assert best < product_of_variances(parts | {one: parts[one] - moved, other: parts[other] + moved})


def test_marginals_are_one_charge_add_up_and_have_intervals_narrower_than_their_own() -> None:
    policy = prdp.Policy("1", notion="zcdp")
    table = prdp.open(ROWS, policy=policy, bounds=BOUNDS, name="accounts", separate_account=True)
    keys: dict[str, list[Any]] = {"job": ["chef", "clerk"], "age": [1, 2, 3]}
    found, again = (table.marginals(["job", ["age", "job"], []], share="1/10", keys=keys) for _ in range(2))
    assert table.remaining == Fraction(9, 10)
    assert [one.values for one in found.values()] == [one.values for one in again.values()]
    cells = {row[:-1]: row[-1] for row in found["age", "job"].values}
    assert list(cells) == list(product(keys["age"], keys["job"]))
    for job, number in found["job",].values:
        assert number == sum(cells[age, job] for age in keys["age"])
    assert found[()].values == [(sum(cells.values()),)]
    deviation = math.sqrt(3 * 10 / 2)  # of one that is released for itself, at a third of the share
    for one in (cell for answers in found.values() for cell in answers[answers.columns[-1]]):
        low, high = one.interval()
        assert high - low < 2 * 2 * deviation


def test_marginals_are_of_sums_too_and_of_sets_of_columns_alone() -> None:
    keys = {"job": ["chef", "clerk"]}
    found = opened().marginals(["job", []], of="age", share="1/10", keys=keys)
    assert found["job",].columns == ("job", "sum")
    assert any("need not add up" in note for note in found["job",].remarks)
    with pytest.raises(InvalidRequest, match="sets of columns"):
        opened().marginals([[]], share="1/10")


SPARSE: dict[str, Any] = {
    "ward": np.arange(500) % 3, "code": np.where(np.arange(500) % 50, 0, np.arange(500) % 9),
    "due": np.arange(500) % 7,
}  # fmt: skip
WARDS: dict[str, list[Any]] = {"ward": [0, 1, 2], "code": list(range(30))}


def sparse(text: str, low: int = 0) -> prdp.Table:
    policy = prdp.Policy(text, notion="zcdp")
    bounds = {"due": (low, 10)}
    return prdp.open(SPARSE, policy=policy, bounds=bounds, name="sparse", separate_account=True)


def cells_of(found: Mapping[tuple[str, ...], Any]) -> list[Any]:
    return [cell for answers in found.values() for cell in answers[answers.columns[-1]]]


def test_counts_of_marginals_are_not_negative_add_up_and_cost_nothing_more() -> None:
    table, tables = sparse("1/10"), ["ward", ["ward", "code"], "code", []]
    least = table.marginals(tables, share="1/10", keys=WARDS, nonnegative=False)
    found = table.marginals(tables, share="1/10", keys=WARDS)
    assert table.remaining == Fraction(9, 10)
    assert min(cell.value for cell in cells_of(least)) < 0
    assert all(0 <= cell.interval()[0] <= cell.value <= cell.interval()[1] for cell in cells_of(found))
    assert found[()].values == least[()].values
    numbers = np.array(found["ward", "code"]["count"]).reshape(3, 30)
    assert [cell.value for cell in found["ward",]["count"]] == [sum(c.value for c in row) for row in numbers]
    assert [cell.value for cell in found["code",]["count"]] == [
        sum(c.value for c in column) for column in numbers.T
    ]


def test_marginals_that_no_table_holds_all_of_say_that_they_need_not_add_up() -> None:
    table = sparse("1/10")
    least, found = (
        table.marginals(["ward", "code"], share="1/10", keys=WARDS, nonnegative=each)
        for each in (False, True)
    )
    assert [cell.exact for cell in cells_of(found)] == [max(0, cell.exact) for cell in cells_of(least)]
    assert not any("negative" in note for note in least["ward",].remarks)
    assert any("before each negative one is moved to 0" in note for note in found["ward",].remarks)


@pytest.mark.parametrize(("low", "of"), [(0, None), (0, "due"), (-10, None)])
def test_clipped_counts_and_sums_of_marginals_are_not_negative(low: int, of: str | None) -> None:
    table = sparse("1 / (1 + due)" if low == 0 else "1 / (11 + due)", low)
    found = table.marginals(["ward", ["ward", "code"]], share="1/10", of=of, keys=WARDS)
    assert all(min(cell.value, cell.interval()[0]) >= 0 for cell in cells_of(found))
    assert any(cell.clip_threshold is not None for cell in cells_of(found))


def test_sums_of_what_may_be_negative_stay_so() -> None:
    found = sparse("1/10", -10).marginals([["ward", "code"], []], share="1/10", of="due", keys=WARDS)
    assert min(cell.value for cell in cells_of(found)) < 0


def test_a_record_on_the_edge_of_at_least_takes_part_and_one_below_does_not() -> None:
    rows = {"p": np.array([0.25, 0.2, 3.0, 1.0])}
    policy = prdp.Policy("p", at_least="1/4", at_most=2, notion="zcdp")
    table = prdp.open(rows, policy=policy, synthetic=True)
    (cells,) = table._engine.summarise(table.plan(prdp.count(), share=1).queries[0].read)  # type: ignore[arg-type]
    assert sorted(cell.count for cell in cells.counted().cells) == [1, 1, 1]
    for cell, e in zip(
        sorted(cells.counted().cells, key=lambda one: one.key.quanta), (0.5, 2.0, 4.0), strict=True
    ):
        assert (cell.key.quanta * cells.levels.quantum) ** 2 <= e  # e² = 2P


def test_a_release_with_gaussian_noise_is_recorded_and_read_back(tmp_path: Path) -> None:
    table = kept(tmp_path, "zcdp")
    first = table.count(share="1/10")
    assert table.count(share="1/10") == first
    assert table.remaining == Fraction(9, 10)
    again = release_from_json(release_to_json(first))
    assert again.noise_scales == first.noise_scales  # type: ignore[union-attr]
    assert again.interval() == first.interval()  # type: ignore[union-attr]
    reopened = kept(tmp_path, "zcdp").count(share="1/10")
    assert (reopened.exact, reopened.interval()) == (first.exact, first.interval())


@pytest.mark.parametrize(("begun", "other"), [("pure", "zcdp"), ("zcdp", "pure")])
def test_a_ledger_begun_with_one_notion_refuses_the_other(tmp_path: Path, begun: str, other: str) -> None:
    kept(tmp_path, begun).count(share="1/10")
    with pytest.raises(LedgerError, match=f"notion: {begun} -> {other}"):
        kept(tmp_path, other)
    assert kept(tmp_path, begun).remaining == Fraction(9, 10)


def test_e_written_as_a_pure_policy_is_not_the_concentrated_one(tmp_path: Path) -> None:
    kept(tmp_path, "zcdp")
    roots = prdp.Policy(f"sqrt(2 * ({TEXT}))", at_most=10)
    with pytest.raises(LedgerError, match="notion: zcdp -> pure"):
        prdp.open(
            ROWS, policy=roots, bounds=BOUNDS, name="accounts", ledger=tmp_path / "accounts.ledger",
            separate_account=True,
        )  # fmt: skip


def test_shares_add_up_to_one_and_no_further() -> None:
    policy = prdp.Policy(TEXT, at_most=10, notion="zcdp")
    table = prdp.open(ROWS, policy=policy, bounds=BOUNDS, name="accounts", separate_account=True)
    for place in range(4):
        table.filter(f"age >= {place}").count(share="1/4")
    with pytest.raises(BudgetExhausted):
        table.filter("age >= 9").count(share="1/1000")


def test_sql_and_agg_answer_at_the_shares_that_they_say() -> None:
    table = opened()
    answers = table.sql("SELECT COUNT(*) AS n, AVG(age) AS a FROM accounts", share="1/5")
    assert answers.share == Fraction(1, 5)
    found = table.agg(n=prdp.count(), s=prdp.sum("age"), share="1/5")
    assert found.share == Fraction(1, 5)


def test_a_search_for_keys_is_drawn_at_the_root_of_its_share() -> None:
    notes = {
        notion: opened(notion).find_keys("job", share="1/100", among=["chef", "clerk", "cook"]).notes[0]
        for notion in ("pure", "zcdp")
    }
    assert notes["pure"] != notes["zcdp"]


def test_a_mechanism_of_the_callers_own_is_given_a_pure_epsilon_within_the_share() -> None:
    given: list[Fraction] = []

    def size(_rows: Any, epsilon: Fraction, _beta: Fraction) -> int:
        given.append(epsilon)
        return 0

    opened(text="1").run(size, columns=["age"], share="1/100", split="1/2")
    half = 2 * float(given[0])  # of the loss, the other half finds out where budgets become numerous
    assert 0.01 * 0.8 < half * math.tanh(half / 2) <= 0.01


def test_explain_says_what_is_drawn_of_the_share() -> None:
    said = opened().explain(prdp.count(), share="1/4")
    assert "Gaussian noise with share 0.5 of e(r), the root of 2 P(r); proofs/concentrated.md" in said
    for query in (prdp.max("age"), prdp.median("age")):
        assert "exponential choices with share 0.5" in opened().explain(query, share="1/4")
    assert "a pure mechanism with share 0.5" in opened().explain(prdp.count_distinct("age"), share="1/4")
    assert "e(r)" not in opened("pure").explain(prdp.count(), share="1/4")


def test_a_policy_is_shown_as_it_was_stated() -> None:
    table = opened()
    assert repr(table.policy) == "Policy('10000 / balance', at_least='1/100', at_most='10', notion='zcdp')"
    assert table.policy.budget({"balance": 5000}) == 2.0
    assert table.policy.levels.at_most**2 <= 20


def test_the_branches_of_a_case_are_roots_each() -> None:
    policy = Policy("CASE WHEN vip THEN 2 ELSE 1 / age END", notion="zcdp")
    assert str(policy.counted.expression).count("sqrt") == 1  # the constant's is worked out


def test_what_a_record_loses_is_said_at_a_delta_of_the_readers_choice() -> None:
    policy = prdp.Policy("1 / visits", at_least="1/100", at_most=1, notion="zcdp")
    assert policy.epsilon({"visits": 2}, delta="1e-6") == pytest.approx(5.2215, abs=1e-3)
    assert policy.epsilon({"visits": 2}, delta="1e-6", share="1/100") == pytest.approx(0.43, abs=1e-2)
    assert policy.epsilon({"visits": 1000}, delta="1e-6") is None
    with pytest.raises(InvalidRequest, match="needs a delta"):
        policy.epsilon({"visits": 2})
    with pytest.raises(InvalidRequest, match="chance of failure"):
        policy.epsilon({"visits": 2}, delta=2)


def test_no_other_notion_is_known() -> None:
    with pytest.raises(PolicyError, match="'pure' or 'zcdp'"):
        prdp.Policy("1", notion="renyi")


def test_the_local_model_and_graphs_take_pure_policies_alone() -> None:
    policy = prdp.Policy("1", at_least=1, at_most=1, notion="zcdp")
    with pytest.raises(PolicyError, match="takes pure policies alone"):
        prdp.local.study(prdp.count(), policy=policy, share=1)
    edges = {"a": np.array([1, 2]), "b": np.array([2, 3])}
    with pytest.raises(PolicyError, match="takes pure policies alone"):
        prdp.graphs.open(edges, source="a", target="b", nodes=[1, 2, 3], policy=policy)


@pytest.mark.parametrize("text", ["1", "0.3", "CASE WHEN age < 40 THEN 2 ELSE 1e-3 END"])
def test_a_count_under_a_few_budgets_has_the_noise_of_each_and_no_point_to_choose(text: str) -> None:
    table = opened(text=text)
    drawn: Any = table.plan(prdp.count(), share="1/10").draw(table._reader, Seeded(1), 1)
    choice = drawn[0].releases[0][0].decisions[0]
    assert choice[0] == "budget tiers"
