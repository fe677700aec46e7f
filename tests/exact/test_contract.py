"""What the contract is for: an outsider's mechanism that passes, and wrong ones that must not.

What a law knows and does not draw must be the same for neighbouring tables, and what answers say must follow
from what is drawn. Each wrong twin here carries records past one of these.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from prdp.cells.summary import Summary
from prdp.noise.choice import ExponentialChoice
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.noise.entropy import Entropy
from prdp.noise.laws import FirstReaching, Gated, Law, Noisy, Scan, Then, Together
from prdp.noise.permute_and_flip import PermuteAndFlip
from prdp.release.bias import Dropped
from prdp.release.raw_answer import Answer
from prdp.testing import Seeded
from prdp.testing.exact_loss import TOLERANCE, largest_log_ratio, worst_loss
from prdp.testing.mechanism_contract import MechanismAnswers, Twin
from tests.exact.universe import RECORDS, OnThisUniverse, Record, budget, count_of
from tests.statistical.thresholds import P_THRESHOLD, SAMPLE_SIZE

LEAST = Fraction(1, 8)
NOTHING = Noisy((), ())


def true_count(summary: Summary) -> int:
    return sum(cell.count for cell in summary.cells)


@dataclass(frozen=True, slots=True)
class Twice:
    """An outsider's mechanism: a rough count, and where that is small one more, each with half the share."""

    def law(self, summary: Summary, share: Fraction) -> Gated:
        noisy = Noisy((true_count(summary),), (DiscreteLaplace(2 / (share * LEAST)),))
        return Gated(noisy, FirstReaching(((0, 2),)), (NOTHING, noisy))

    def answers(self, summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        return [stated(which, found) for which, found in self.law(summary, share).draw(entropy, runs)]


def stated(which: int, found: tuple[int, ...]) -> Answer:
    """Return the facts of a draw."""
    words = (("how many", "many" if which == 0 else "few"),)
    return Answer(found[0] if found else 2, Fraction(1), (), words)


# Laws that know the records where nothing is drawn.


@dataclass(frozen=True, slots=True)
class Parity:
    """A rule that knows the true count."""

    count: int

    def __call__(self, _values: tuple[int, ...], /) -> int:
        return self.count % 2


@dataclass(frozen=True, slots=True)
class SilentParity(Parity):
    """The same, with what it knows left out of ``==``."""

    count: int = field(compare=False)


@dataclass(frozen=True)
class UndeclaredParity:
    """A rule that keeps what it is made with where no field says so."""

    count: InitVar[int]

    def __post_init__(self, count: int) -> None:
        object.__setattr__(self, "_count", count)

    def __call__(self, _values: tuple[int, ...], /) -> int:
        return int(vars(self)["_count"]) % 2


@dataclass(frozen=True, slots=True)
class SilentFacts:
    """Facts that ``==`` does not look at."""

    count: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class NestedParity:
    """A rule that knows the true count in a field of a field."""

    facts: SilentFacts

    def __call__(self, _values: tuple[int, ...], /) -> int:
        return self.facts.count % 2


@dataclass(frozen=True, slots=True)
class ByType:
    """A rule that goes by the type of its field."""

    least: int | float

    def __call__(self, _values: tuple[int, ...], /) -> int:
        return int(isinstance(self.least, float))


RULES: Mapping[str, Callable[[int], Any]] = {
    "a field": Parity,
    "a field left out of ==": SilentParity,
    "a closure": lambda count: lambda _: count % 2,
    "an attribute that is no field": UndeclaredParity,
    "a field of a field left out of ==": lambda count: NestedParity(SilentFacts(count)),
    "the type of a field": lambda count: ByType(1.0 if count else 1),
    "True for 1": lambda count: ByType(True if count else 1),
}


class Bold(int):
    """An integer that hides from whatever is added to it."""

    def __add__(self, _other: int) -> int:
        return int(self)


def gated(summary: Summary, share: Fraction, **other: Any) -> Gated:
    return replace(Twice().law(summary, share), **other)


QUIET = DiscreteLaplace(Fraction(1))


def louder(count: int) -> DiscreteLaplace:
    return DiscreteLaplace(Fraction(count + 1))


LEAKING_LAWS: Mapping[str, Callable[[int], Law]] = {
    "kind of law": lambda count: NOTHING if count % 2 else Together(()),
    "number of laws together": lambda count: Together((NOTHING,) * count),
    "number of laws to pick from": lambda count: Gated(NOTHING, FirstReaching(()), (NOTHING,) * (count + 1)),
    "scale": lambda count: Noisy((0,), (louder(count),)),
    "number of noisy values": lambda count: Noisy((0,) * count, (QUIET,) * count),
    "place between lattice points": lambda count: Noisy((Fraction(count, 2),), (QUIET,)),  # type: ignore[arg-type]
    "whole number of one's own class": lambda count: Noisy((Bold(count),), (QUIET,)),
    "truth value in place of a number": lambda count: Noisy((count > 0,), (QUIET,)),
    "mass between lattice points": lambda count: Scan((count / 2, 0), (0, 0), QUIET, QUIET),  # type: ignore[arg-type]
    "threshold between lattice points": lambda count: Scan((count, 0), (0.5, 0), QUIET, QUIET),  # type: ignore[arg-type]
    "number of places": lambda count: PermuteAndFlip((Fraction(0),) * (count + 1)),
    "place that cannot be chosen": lambda count: ExponentialChoice((0, 0, 0), multiples=(1, 1, count)),
    "thresholds of a scan": lambda count: Scan((9, 0), (9 * count, 0), QUIET, QUIET),
    "threshold noise of a scan": lambda count: Scan((9, 0), (0, 0), louder(count), QUIET),
    "mass noise of a scan": lambda count: Scan((9, 0), (0, 0), QUIET, louder(count)),
    "unit of a choice": lambda count: ExponentialChoice((0, 9), Fraction(count + 1)),
    "multiples of a choice": lambda count: ExponentialChoice((0, 0), multiples=(1, 99 * count + 1)),
    "penalties of flips": lambda count: PermuteAndFlip((Fraction(0), Fraction(9 * count))),
    "scale of what follows a place": lambda count: Then(
        PermuteAndFlip((Fraction(0),)), lambda _: Noisy((0,), (louder(count),))
    ),
    "kind of what a rule picks": lambda count: Gated(
        NOTHING, FirstReaching(()), (Together((NOTHING,)) if count else NOTHING,)
    ),
}  # fmt: skip


@pytest.mark.parametrize("where", LEAKING_LAWS)
def test_a_law_that_knows_the_count_in_any_of_its_parts_is_caught(where: str) -> None:
    of_count = LEAKING_LAWS[where]
    found = worst_loss(
        RECORDS[:1], lambda summary: of_count(true_count(summary)), count_of, budget, max_records=2
    )
    assert found.excess > 1, found


@pytest.mark.parametrize("where", RULES)
def test_a_rule_that_knows_the_true_count_costs_without_end(where: str) -> None:
    def law(summary: Summary) -> Gated:
        return gated(summary, Fraction(1), rule=RULES[where](true_count(summary)))

    found = worst_loss(RECORDS[:1], law, count_of, budget, max_records=1)
    assert found.measured == math.inf
    assert "rule" in found.undrawn


def test_a_rule_is_a_value_and_no_function_however_innocent() -> None:
    def law(summary: Summary) -> Gated:
        return gated(summary, Fraction(1), rule=lambda values: int(values[0] < 2))

    found = worst_loss(RECORDS[:1], law, count_of, budget, max_records=1)
    assert "frozen dataclass" in found.undrawn


def test_laws_and_noises_of_one_s_own_are_refused_since_they_may_draw_what_they_like() -> None:
    class Bare(Noisy):
        __slots__ = ()

        def draw(self, entropy: Entropy, runs: int) -> list[tuple[int, ...]]:  # noqa: ARG002
            return [self.values] * runs

    class Silent(DiscreteLaplace):
        __slots__ = ()

        def draw_many(self, entropy: Entropy, count: int) -> Any:  # noqa: ARG002
            return [0] * count

    for law in (Bare((1,), (QUIET,)), Noisy((1,), (Silent(Fraction(1)),))):
        with pytest.raises(TypeError, match="of your own"):
            largest_log_ratio(law, law)


@dataclass(frozen=True, slots=True)
class LooksLikeAChoice:
    """Shows the parts of a choice, and draws the parity."""

    count: int
    penalties: tuple[int, ...] = (0, 0)
    unit: Fraction = Fraction(1)
    multiples: tuple[int, ...] = ()

    def draw(self, _entropy: Entropy, runs: int) -> list[int]:
        return [self.count % 2] * runs


class FlipsOfOnesOwn(PermuteAndFlip):
    """Flips that land where they like."""

    __slots__ = ()

    def draw(self, _entropy: Entropy, runs: int) -> Any:
        return [len(self.penalties) - 1] * runs


class SilentNoise(DiscreteLaplace):
    """Noise that is none."""

    __slots__ = ()


class OneMore(Sequence[Law]):
    """Laws with one behind the last."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, place: Any) -> Any:
        return NOTHING if place == 0 else Noisy((9,), (QUIET,))


class Values(tuple[int, ...]):
    """Values that may be others when they are looked at again."""

    __slots__ = ()


@pytest.mark.parametrize(
    "law",
    [
        Then(LooksLikeAChoice(1), lambda _: NOTHING),  # type: ignore[arg-type]
        Then(FlipsOfOnesOwn((Fraction(0), Fraction(0))), lambda _: NOTHING),
        Gated(NOTHING, FirstReaching(()), OneMore()),
        Together(OneMore()),  # type: ignore[arg-type]
        Scan((9, 0), (0, 0), SilentNoise(Fraction(1)), QUIET),
        Scan((9, 0), (0, 0), QUIET, SilentNoise(Fraction(1))),
        Noisy(Values((1,)), (QUIET,)),
    ],
)
def test_parts_of_one_s_own_inside_a_law_are_refused(law: Law) -> None:
    with pytest.raises(TypeError, match="of your own"):
        largest_log_ratio(law, law)


@pytest.mark.parametrize("place", [-1, 2, 7])
def test_a_rule_picks_only_laws_that_are_there_to_be_compared(place: int) -> None:
    @dataclass(frozen=True, slots=True)
    class Always:
        place: int

        def __call__(self, _values: tuple[int, ...], /) -> int:
            return self.place

    with pytest.raises(IndexError, match="not among the 2 laws"):
        Gated(NOTHING, Always(place), (NOTHING, NOTHING)).draw(Seeded(1), 1)


@pytest.mark.parametrize("value", [5, np.int64(5), np.int64(2**63 - 1), True])
def test_noisy_values_have_one_type_whatever_that_of_the_true_ones(value: Any) -> None:
    drawn = Noisy((value,), (DiscreteLaplace(Fraction(10)),)).draw(Seeded(1), 50)
    assert {type(found) for (found,) in drawn} == {int}
    assert drawn == Noisy((int(value),), (DiscreteLaplace(Fraction(10)),)).draw(Seeded(1), 50)


def test_places_that_no_table_can_choose_cost_nothing() -> None:
    never = ExponentialChoice((0, 0, 3), multiples=(1, 0, 1))
    assert largest_log_ratio(never, replace(never, penalties=(0, 5, 3))) < TOLERANCE


def test_a_universe_that_is_too_large_says_how_to_make_it_smaller() -> None:
    wide = DiscreteLaplace(Fraction(10**7))
    with pytest.raises(
        ValueError, match=r"moves a value by 1000000 steps.*coarser lattice.*Summary\.refined"
    ):
        largest_log_ratio(Noisy((0,), (wide,)), Noisy((10**6,), (wide,)))


# Answers that do not follow from the law.

Drawn = Callable[[Summary, Fraction, Entropy, int], list[Answer]]


def noise_free(summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
    """Draw as many bytes as the law does, and say the truth."""
    return [replace(a, steps=true_count(summary)) for a in Twice().answers(summary, share, entropy, runs)]


def without_drawing(summary: Summary, _share: Fraction, _entropy: Entropy, runs: int) -> list[Answer]:
    return [stated(1, (true_count(summary),))] * runs


def half_the_noise(summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
    return Twice().answers(summary, 2 * share, entropy, runs)


def drawn_twice(summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
    Twice().answers(summary, share, entropy, runs)
    return Twice().answers(summary, share, entropy, runs)


def one_too_many(summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
    answers = Twice().answers(summary, share, entropy, runs)
    return answers + answers[:1]


def showing(part: str, shown: Callable[[int], Any]) -> Drawn:
    """Return answers that show the true count in one of their parts."""

    def answers(summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[Answer]:
        there: dict[str, Any] = {part: shown(true_count(summary))}
        return [replace(answer, **there) for answer in Twice().answers(summary, share, entropy, runs)]

    return answers


def otherwise(said_instead: Callable[[Answer, int, Fraction, int], object]) -> MechanismAnswers:
    """Return answers that say something else by the answer, the true count, the share and the runs."""

    def answers(summary: Summary, share: Fraction, entropy: Entropy, runs: int) -> list[object]:
        found = Twice().answers(summary, share, entropy, runs)
        return [said_instead(answer, true_count(summary), share, runs) for answer in found]

    return answers


ONLY_SOMETIMES: Mapping[str, Callable[[Answer, int, Fraction, int], object]] = {
    "of two records and more": lambda a, count, _share, _runs: (a, count if count > 1 else None),
    "in a single run": lambda a, count, _share, runs: (a, count if runs == 1 else None),
    "in many runs": lambda a, count, _share, runs: (a, count if runs > 1 else None),
    "at a share of less than 1": lambda a, count, share, _runs: (a, count if share < 1 else None),
}
ALMOST_EQUAL: Mapping[str, Callable[[Answer, int], object]] = {
    "a float": lambda a, count: float(a.steps) if count else a.steps,
    "an integer of numpy": lambda a, count: replace(a, steps=np.int64(a.steps) if count else a.steps),  # type: ignore[arg-type]
    "an integer for a fraction": lambda a, count: replace(a, step=1 if count else Fraction(1)),  # type: ignore[arg-type]
    "a truth value for 1": lambda a, count: (a, True if count else 1),
    "the sign of zero": lambda a, count: (a, -0.0 if count else 0.0),
    "the order of a dict": lambda a, count: {"a": a, "b": 1} if count else {"b": 1, "a": a},
    "a field left out of ==": lambda a, count: (a, SilentFacts(count)),
    "an array's type": lambda a, count: (a, np.zeros(2, dtype=np.int32 if count else np.int64)),
}


class TestAnOutsidersMechanism(OnThisUniverse):
    mechanism = Twice()
    tied_at = Fraction(8)

    def summarise(self, records: Sequence[Record]) -> Summary:
        return count_of(records)

    def twins(self) -> Mapping[str, Twin]:
        def half(summary: Summary, share: Fraction) -> Gated:
            return Twice().law(summary, 2 * share)

        return {
            "half the noise in the law": Twin(half),
            "a rule that knows the parity": Twin(
                lambda s, share: gated(s, share, rule=Parity(true_count(s)))
            ),
            "noise-free": Twin(answers=noise_free),
            "nothing drawn": Twin(answers=without_drawing),
            "half the noise": Twin(answers=half_the_noise),
            "the second of two draws": Twin(answers=drawn_twice),
            "one answer too many": Twin(answers=one_too_many),
            "the count in a choice": Twin(answers=showing("choices", lambda count: (("found", str(count)),))),
            "the count in an end": Twin(answers=showing("ends", lambda count: (0, count))),
            "the count in the step": Twin(answers=showing("step", lambda count: Fraction(1, count + 1))),
            "the count in a scale": Twin(answers=showing("noises", lambda count: (louder(count),))),
            "the count in the clipping": Twin(
                answers=showing("clipping", lambda count: Dropped(count, Fraction(1), 1))
            ),
            **{f"the count {when}": Twin(answers=otherwise(say)) for when, say in ONLY_SOMETIMES.items()},
            **{
                f"the count in {where}": Twin(
                    answers=otherwise(lambda a, count, _share, _runs, say=say: say(a, count))  # type: ignore[misc]
                )
                for where, say in ALMOST_EQUAL.items()
            },
        }


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        (noise_free, "with two answers"),
        (without_drawing, "read other bytes"),
        (one_too_many, "draws and .* answers"),
    ],
)
def test_a_mechanism_that_fails_the_contract_is_reported_how(answers: Drawn, says: str) -> None:
    class Untied:
        law = staticmethod(Twice().law)

    Untied.answers = staticmethod(answers)  # type: ignore[attr-defined]

    class Failing(TestAnOutsidersMechanism):
        mechanism = Untied()  # type: ignore[assignment]

    with pytest.raises(AssertionError, match=says):
        Failing().test_answers_say_what_is_drawn_from_the_law_and_nothing_else()


def test_a_twin_is_wrong_in_one_place() -> None:
    for law, answers in ((None, None), (Twice().law, Twice().answers)):
        with pytest.raises(ValueError, match="either its law or its answers"):
            Twin(law, answers=answers)


def test_answers_have_the_exact_probabilities_of_the_law() -> None:
    """The rough count is 2 or more, or a second one is stated; half the noise has other frequencies."""
    table, share = count_of(RECORDS[:3]), Fraction(8)
    law = Twice().law(table, share)
    (noise,), (count,) = law.first.noises, law.first.values
    many = sum(noise.probability(k) for k in range(2 - count, 400))
    shown = range(-3, 10)
    expected = {value: (1 - many) * noise.probability(value - count) for value in shown}
    expected[2] += many

    def fit(answers: Iterable[Answer]) -> float:
        found = Counter(answer.steps for answer in answers)
        inside = [found[value] for value in shown]
        chances = [expected[value] for value in shown]
        return float(
            chisquare(
                [*inside, SAMPLE_SIZE - sum(inside)], [SAMPLE_SIZE * p for p in [*chances, 1 - sum(chances)]]
            ).pvalue
        )

    assert fit(Twice().answers(table, share, Seeded(1), SAMPLE_SIZE)) > P_THRESHOLD
    assert fit(half_the_noise(table, share, Seeded(1), SAMPLE_SIZE)) < P_THRESHOLD
