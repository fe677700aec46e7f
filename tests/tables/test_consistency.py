"""As budgets grow without limit, every answer becomes the plain one: none converges to something else.

Tables, policies, bounds and rounding steps are generated, and what they are compared with is computed from
the values
alone, by fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import pvariance

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prdp
from prdp.plan.queries import Query
from prdp.plan.steps import Derived
from prdp.testing import simulate

GROUPS = ("a", "b")
BUDGET = 10**15
POLICIES = (
    prdp.Policy(str(BUDGET)),
    prdp.Policy(f"{BUDGET} / (1 + abs(v))", at_most=BUDGET),
    prdp.Policy(f"{BUDGET} * (1 + abs(v))", at_most=BUDGET * 10**9),
    prdp.Policy(f"CASE WHEN w = 1 THEN {BUDGET} ELSE {BUDGET} * 1000 END"),
    prdp.Policy(f"{BUDGET} * (1 + w)"),
)
NEAR = Fraction(1, 10**4)
"""In rounding steps, or squares of them: far above the noise of such budgets, far below any bias."""


@dataclass(frozen=True)
class Case:
    """A small table, and what its owner says of it.

    Attributes:
        values: The values of ``v``, in rounding steps; None for NULL.
        groups: For each of them its group.
        weights: For each of them the value of ``w``, which policies read.
        round_to: What the values are rounded to.
        bounds: In rounding steps.
        policy: The budgets.
    """

    values: tuple[int | None, ...]
    groups: tuple[str, ...]
    weights: tuple[int, ...]
    round_to: Fraction
    bounds: tuple[int, int]
    policy: prdp.Policy

    def opened(self) -> prdp.Table:
        values = [None if value is None else float(value * self.round_to) for value in self.values]
        columns = {
            "v": pyarrow.array(values, pyarrow.float64()),
            "w": pyarrow.array(self.weights, pyarrow.int64()),
            "g": pyarrow.array(self.groups, pyarrow.string()),
        }
        low, high = self.bounds
        return prdp.open(
            pyarrow.table(columns),
            policy=self.policy,
            bounds={"v": (low * self.round_to, high * self.round_to), "w": (0, 3)},
            round_to={"v": self.round_to},
            synthetic=True,
        )

    def counted(self, group: str | None) -> int:
        """Return how many records of a group have a budget: none does whose policy reads a NULL."""
        strict = "v" in self.policy.columns
        pairs = zip(self.values, self.groups, strict=True)
        return sum(group in (None, of) and not (strict and value is None) for value, of in pairs)

    def within(self, group: str | None) -> list[Fraction]:
        """Return the values of a group that count, each moved into the bounds; of all for None."""
        low, high = self.bounds
        known = (
            value
            for value, of in zip(self.values, self.groups, strict=True)
            if value is not None and group in (None, of)
        )
        return [max(low, min(high, value)) * self.round_to for value in known]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    number = draw(st.integers(2, 12))
    spread = draw(st.sampled_from([1, 2, 10, 1000]))  # few rounding steps, and many
    center = draw(st.sampled_from([0, 1, 3, 40]))
    signed = draw(st.booleans())
    low = -center if signed else 0
    one = st.none() | st.integers(low, center + spread)
    values = tuple(draw(st.lists(one, min_size=number, max_size=number)))
    room = draw(st.sampled_from([-1, 0, 7, 10**6]))  # with -1, the largest value lies beyond its bound
    bounds = (low - max(room, 0) if signed else 0, center + spread + room)
    return Case(
        values,
        tuple(draw(st.lists(st.sampled_from(GROUPS), min_size=number, max_size=number))),
        tuple(draw(st.lists(st.integers(0, 3), min_size=number, max_size=number))),
        draw(
            st.sampled_from([Fraction(1), Fraction(1, 100), Fraction(5), Fraction(1, 8), Fraction(1, 10**6)])
        ),
        bounds,
        draw(st.sampled_from(POLICIES)),
    )


KINDS: dict[str, tuple[Query, int, Callable[[Sequence[Fraction]], Fraction]]] = {
    "sum": (prdp.sum("v"), 1, lambda values: sum(values, Fraction(0))),
    "mean": (prdp.mean("v"), 1, lambda values: sum(values, Fraction(0)) / len(values)),
    "variance": (prdp.variance("v"), 2, pvariance),
    "std": (prdp.std("v"), 1, lambda values: Fraction(pvariance(values) ** Fraction(1, 2))),
}
"""What is asked, the power of the rounding step that it is in, and the plain answer."""


def faults(case: Case) -> list[str]:
    """Return each kind of answer that differs from the plain one."""
    table = case.opened()
    asked = [prdp.count(), *(query for query, _, _ in KINDS.values())]
    (alone,) = simulate(table, asked, runs=1, seed=1)
    (grouped,) = simulate(table.group_by("g", keys=GROUPS), asked, runs=1, seed=2)
    found = []
    for group, row in ((None, alone.releases[0]), *zip(GROUPS, grouped.releases, strict=True)):
        if abs(row[0].exact - case.counted(group)) > NEAR:
            found.append("count")
        values = case.within(group)
        for (kind, (_, power, plain)), release in zip(KINDS.items(), row[1:], strict=True):
            if values and abs(release.exact - plain(values)) > NEAR * case.round_to**power:
                found.append(kind)
    return found


@settings(max_examples=40)
@given(case=cases())
def test_without_noise_an_answer_is_the_plain_one(case: Case) -> None:
    assert faults(case) == []


@pytest.mark.slow
@settings(max_examples=300)
@given(case=cases())
def test_without_noise_many_answers_are_the_plain_ones(case: Case) -> None:
    assert faults(case) == []


def test_a_variance_around_a_whole_rounding_step_is_not_the_plain_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The twin: squared distances from the nearest rounding step, without what that is off by."""

    def rounded(self: Derived, parts: Sequence[Fraction]) -> Fraction:
        round_to = self.measure.round_to
        return round(parts[0] / max(parts[1], Fraction(1)) / round_to) * round_to

    def believed(self: Derived, parts: Sequence[Fraction]) -> Fraction:
        return self.center(parts)

    case = Case((0, 1, 1, 0), ("a", "a", "b", "b"), (0, 0, 0, 0), Fraction(1), (0, 100), POLICIES[0])
    assert faults(case) == []
    monkeypatch.setattr(Derived, "center", rounded)
    assert faults(case) == []  # what it is off by is subtracted, whatever the center is
    monkeypatch.setattr(Derived, "_mean", believed)
    assert set(faults(case)) == {"variance", "std"}
