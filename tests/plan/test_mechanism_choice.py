"""Which of clip and additive answers: decided by policy, bounds and share, and said."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow
import pytest

import prdp
from prdp.errors import InvalidRequest
from prdp.ledger.release_codec import release_from_json, release_to_json
from prdp.plan.methods import Rivals
from prdp.plan.queries import Query

LN = prdp.Policy("2 * ln(1 + v / 100)", at_least="1/100")


def opened(
    policy: prdp.Policy | str = LN, *, highest: int = 10**9, values: object = (120, 5_000)
) -> prdp.Table:
    columns = {"v": np.array(values), "g": np.arange(len(values)) % 2}  # type: ignore[arg-type]
    return prdp.open(columns, policy=policy, bounds={"v": (1, highest)}, synthetic=True)


def method(table: prdp.Table, query: Query, share: str) -> str:
    (plan,) = table.plan(query, share=share).queries
    return plan.method


@pytest.mark.parametrize("query", [prdp.sum("v"), prdp.mean("v")], ids=str)
def test_a_policy_that_grows_is_answered_without_clipping_at_a_large_share_alone(query: Query) -> None:
    assert method(opened(), query, "1") == "additive"
    assert method(opened(), query, "1/10") == "clip"


@pytest.mark.parametrize(
    "policy", ["10000 / v", "1", "CASE WHEN v < 1000 THEN 5 ELSE 1 END", "greatest(0.1, 3 - v / 1000)"]
)
def test_policies_that_do_not_grow_are_answered_by_clip(policy: str) -> None:
    assert method(opened(prdp.Policy(policy, at_least="1e-6", at_most=10)), prdp.sum("v"), "1") == "clip"


def test_what_is_not_proved_or_no_better_stays_with_clip() -> None:
    assert method(opened(), prdp.count(), "1") == "clip"
    assert method(opened(), prdp.variance("v"), "1") == "clip"
    assert method(opened(), prdp.sum("v * 2"), "1") == "clip"  # the policy says nothing of it
    unit = prdp.open(
        {"v": np.array([1]), "id": np.array([1])}, policy=LN, bounds={"v": (1, 10**9)}, privacy_unit="id"
    )
    assert method(unit, prdp.sum("v"), "1") == "clip"
    with pytest.raises(InvalidRequest, match="method='additive' is not available for this query"):
        opened().count(share=1, method="additive")


def test_the_choice_does_not_hang_on_the_records() -> None:
    for values in ((1, 1), (10**9,) * 1000):
        table = opened(values=values)
        assert [method(table, prdp.sum("v"), share) for share in ("1", "1/10")] == ["additive", "clip"]


def test_a_caller_may_force_either() -> None:
    assert opened().sum("v", share="1/10", method="additive").method == "additive"
    assert opened().sum("v", share="1", method="clip").method == "clip"


def test_a_release_and_a_plan_say_why() -> None:
    assert "budgets grow with v" in dict(opened().sum("v", share=1).choices)["chosen"]
    assert "chosen" not in dict(opened().sum("v", share=1, method="additive").choices)
    assert "  since  budgets grow with v" in opened().explain(prdp.sum("v"), share=1)


def test_of_a_mean_the_sum_has_three_quarters_of_the_share_and_the_count_is_clipped() -> None:
    (plan,) = opened().plan(prdp.mean("v"), share=1).queries
    assert [(step.mechanism.name, step.share) for step in plan.steps] == [
        ("additive", Fraction(3, 4)),
        ("clip", Fraction(1, 4)),
    ]
    mean = opened().mean("v", share=1)
    assert [part.method for part in mean.parts] == ["additive", "clip"]
    assert mean.parts[0].shape is not None
    assert not mean.parts[0].caveat


def test_groups_have_noise_of_their_own_and_the_interval_of_the_whole_share() -> None:
    table = opened(values=[500] * 1000)
    groups = table.group_by("g", keys=[0, 1]).sum("v", share=1)
    whole = table.sum("v", share=1)
    (width,) = {round(release.interval()[1] - release.interval()[0]) for (release,) in groups.releases}
    assert width == round(whole.interval()[1] - whole.interval()[0])


def test_a_release_is_written_down_with_its_noise_and_read_again() -> None:
    release = opened().sum("v", share=1)
    again = release_from_json(release_to_json(release))
    assert again == release
    assert isinstance(again, prdp.Release)
    assert again.interval("0.99") == release.interval("0.99")
    assert '"shape"' not in release_to_json(opened().sum("v", share="1/10"))


def test_units_may_be_capped_and_the_release_says_so() -> None:
    columns = {"id": np.repeat(np.arange(500), 2), "v": np.tile([10, 100_000], 500)}
    bounds = {"v": (1, 10**6)}
    table = prdp.open(columns, policy=LN, bounds=bounds, privacy_unit="id", max_rows=2, synthetic=True)
    total = table.sum("v", share=1, method="additive")
    assert float(total.exact) < 500 * 100_010 / 2  # by the budget of 10 nobody counts for 100,010
    assert total.caveat == "units whose rows differ may count for less, which lowers it"
    assert total.kind == "95 % of the noise"


def test_cents_are_answered_in_cents() -> None:
    cents = pyarrow.array([1.25, 3.5, 1000.01] * 500)
    table = prdp.open(
        pyarrow.table({"v": cents}),
        policy=LN,
        bounds={"v": (1, 10**6)},
        round_to={"v": "0.01"},
        synthetic=True,
    )
    total = table.sum("v", share=1, method="additive")
    low, high = total.interval("0.999999")
    assert low <= 502_380 <= high


def test_both_usual_and_rare_draws_must_be_nearer_than_those_of_clip() -> None:
    assert Rivals(usual=1, rare=10, lowest=10, highest=1000).additive_wins()
    assert not Rivals(usual=1, rare=10**4, lowest=10, highest=1000).additive_wins()
    assert not Rivals(usual=10**3, rare=10**3, lowest=10, highest=1000).additive_wins()
    assert Rivals(usual=1, rare=10, lowest=10, highest=1000).scale(0.5) == pytest.approx(100)
