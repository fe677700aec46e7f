"""What each sampler promises, as a policy: which E(r) a record of size v gets.

Additive noise with density ∝ exp(-ψ(|x|)), where ψ is concave and grows from ψ(0) = 0: then ψ is subadditive,
so that a shift by v costs at most ψ(v). This is pure differential privacy with E(r) = ψ(v).

- ``square_root_gaussian_mechanism``: P(|x| > σ u²) = (1 + u) e^-u, so the density is e^-√(|x|/σ) / 4σ, and
  ψ(v) = √(v/σ).
- ``exponential_polylogarithmic_mechanism``: ln(a + |x|/σ) is Normal with mean and variance 1/2d, cut off
  below ln a, so the density is ∝ exp(-d ln²(a + |x|/σ)), and ψ(v) = d (ln²(a + v/σ) - ln² a). It is concave
  only if a ≥ e; below that, a shift costs more.

Transformations release f(q + a) + Normal(0, σ²) and turn it back, f concave: a record of size v moves f by at
most f(a + v) - f(a), so that P(r) = ((f(a + v) - f(a))/σ)²/2 in zero-concentrated differential privacy
(zCDP). No pure promise follows. But pure ε implies ε²/2 in zCDP, so a pure mechanism for the policy
E(r) = (f(a + v) - f(a))/σ keeps P(r) too: ours runs at that, and promises more than they do.

All are set so that a record of a given size, the *anchor*, has E(r) = 1 (polylogarithmic: 1.001).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from experiments.yardsticks import Floats

_D, _A = 1.4, 3.0


@dataclass(frozen=True, slots=True)
class Sampler:
    """A sampler at one setting.

    Attributes:
        function: Its name in ``tmlt.core.utils.prdp``.
        promise: Pure differential privacy at the policy, or half the policy's square in zCDP.
        policy: E(r) as the library reads it, v being the record's size.
        arguments: What the function is given; a transformation also gets the total, as ``x``.
        psi: For additive noise, minus the logarithm of its density.
    """

    function: str
    promise: Literal["pure", "zCDP"]
    policy: str
    arguments: Mapping[str, float]
    psi: Callable[[Floats], Floats] | None = None

    @property
    def name(self) -> str:
        """The function's name, in words."""
        return self.function.removesuffix("_mechanism").replace("_", " ")

    def given(self, total: float) -> Mapping[str, float]:
        """Return the arguments for a total."""
        return self.arguments if self.psi else {"x": total, **self.arguments}


def samplers(anchor: int) -> tuple[Sampler, ...]:
    """Return every sampler, set so that a record of size ``anchor`` may lose 1."""
    size = float(anchor)
    return (
        Sampler(
            "square_root_gaussian_mechanism",
            "pure",
            f"sqrt(v / {anchor})",
            {"sigma": size},
            lambda x: np.sqrt(x / size),
        ),
        Sampler(
            "exponential_polylogarithmic_mechanism",
            "pure",
            f"{_D} * (power(ln({_A:g} + v / {anchor}), 2) - power(ln({_A:g}), 2))",
            {"d": _D, "a": _A, "sigma": size},
            lambda x: _D * (np.log(_A + x / size) ** 2 - math.log(_A) ** 2),
        ),
        _transformation("square_root", anchor, (math.sqrt(2) - 1) * size**0.5, "sqrt({})"),
        _transformation("fourth_root", anchor, (2**0.25 - 1) * size**0.25, "sqrt(sqrt({}))"),
        _transformation("log", anchor, math.log(2), "ln({})"),
    )


def _transformation(name: str, anchor: int, sigma: float, f: str) -> Sampler:
    rounded = float(f"{sigma:.6g}")
    policy = f"({f.format(f'v + {anchor}')} - {f.format(anchor)}) / {rounded}"
    arguments = {"offset": float(anchor), "sigma": rounded}
    return Sampler(f"{name}_transformation_mechanism", "zCDP", policy, arguments)


def distance_from_law(draws: Floats, psi: Callable[[Floats], Floats], scale: float) -> float:
    """Return the Kolmogorov distance of draws from the density ∝ exp(-ψ(|x|)), integrated numerically."""
    grid = scale * np.concatenate([[0.0], np.geomspace(1e-9, 1e12, 400_001)])
    heights = np.exp(-psi(grid))
    mass = np.concatenate([[0.0], np.cumsum(np.diff(grid) * (heights[1:] + heights[:-1]) / 2)])
    ordered = np.sort(draws)
    law = 0.5 + np.sign(ordered) * np.interp(np.abs(ordered), grid, mass / mass[-1]) / 2
    steps = np.arange(draws.size + 1) / draws.size
    return float(max((steps[1:] - law).max(), (law - steps[:-1]).max()))
