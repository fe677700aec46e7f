"""joint's answers have the noise that they state, in each group, and independently of each other."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from prdp.cells.cell import Cell, CellKey
from prdp.cells.summary import Summary
from prdp.cells.units import Caps, UnitGroups
from prdp.levels import Levels
from prdp.mechanisms._threshold import FALLBACK, PointFinder
from prdp.mechanisms.joint import Joint
from prdp.noise.discrete_laplace import DiscreteLaplace
from prdp.testing import Seeded
from tests.statistical.test_clip import binned
from tests.statistical.thresholds import P_THRESHOLD, SAMPLE_SIZE, SEED

LEVELS = Levels(Fraction(1, 4), Fraction(4))
SHARE = Fraction(1, 2)
HALF = 1000
"""What each of two groups holds; it does not depend on the caps here, so that errors are noise alone."""


def half_each(caps: Caps) -> tuple[int, int]:
    assert caps.bits == 0  # the bounds are wide
    return HALF, HALF


CELLS = [Cell(CellKey(LEVELS.quanta(10), 20, 20, 1), 100, 2000)]
UNITS = UnitGroups(Summary.of(LEVELS, 1, 2**40, CELLS), half_each)
JOINT = Joint(PointFinder(tunings=((None, FALLBACK),)))


def p_value(errors: np.ndarray, noise: DiscreteLaplace) -> float:
    found, masses = binned(errors, noise)
    return float(chisquare(found, masses / masses.sum() * len(errors)).pvalue)


@pytest.mark.slow
def test_each_group_has_the_stated_noise_and_no_noise_15_percent_off() -> None:
    drawn = JOINT.answers(UNITS, SHARE, Seeded(SEED), SAMPLE_SIZE)
    scales = [answers[0].noises[0].scale for answers in drawn]
    usual = max(set(scales), key=scales.count)
    kept = [answers for answers in drawn if answers[0].noises[0].scale == usual]
    assert len(kept) > SAMPLE_SIZE / 5
    errors = np.array([[one.steps - HALF for one in answers] for answers in kept])
    for group in range(2):
        assert p_value(errors[:, group], DiscreteLaplace(usual)) > P_THRESHOLD
        for factor in (Fraction(85, 100), Fraction(115, 100)):
            assert p_value(errors[:, group], DiscreteLaplace(usual * factor)) < P_THRESHOLD
    correlation = float(np.corrcoef(errors.T)[0, 1])
    assert abs(correlation) < 6 / np.sqrt(len(kept))


def test_the_stated_noise_is_that_of_the_proof() -> None:
    """A unit of budget counts up to b, so the noise is b / (a₂ · share), however many groups there are."""
    (answers,) = JOINT.answers(UNITS, SHARE, Seeded(1), 1)
    words = dict(answers[0].choices)["clipped at"]
    b = float(words.partition(" ")[0])
    for answer in answers:
        (noise,) = answer.noises
        assert abs(float(noise.scale * answer.step * SHARE * FALLBACK.answer) / b - 1) < 1e-5
