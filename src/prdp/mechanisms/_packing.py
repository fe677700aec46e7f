"""The most results that fit under the records' allowances: a linear program, solved and then certified.

A solver works in floating point, so its word is not taken. From its answer two numbers are computed in
integers: the value of a feasible choice of results and a bound that no choice can pass. They enclose the true
optimum, whatever the solver did.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prdp.errors import EngineFailure, InvalidRequest

Integers = NDArray[np.int64]

_BITS = 48
_ONE = 1 << _BITS
_ATTEMPTS = (("highs-ipm", 1e-9), ("highs-ds", 1e-10))
"""Interior points first: where many records are alike, the simplex method takes a hundred times as long."""


@dataclass(frozen=True, slots=True)
class Packing:
    """Kinds of results, how many there are of each, and which records each uses.

    Attributes:
        uses: One row a kind: the places of its records, -1 where there are fewer than columns.
        counts: How many results of each kind there are.
        allowances: For each record, how many steps it may be used for.
        steps: How many steps a result is.
    """

    uses: Integers = field(repr=False)
    counts: Integers = field(repr=False)
    allowances: Integers = field(repr=False)
    steps: int

    @classmethod
    def of(cls, results: Integers, bound: NDArray[np.bool_], allowances: Integers, steps: int) -> Packing:
        """Collect results that use the same bound records; other records bind nothing."""
        place = np.full(len(bound) + 1, -1, dtype=np.int64)
        place[:-1][bound] = np.arange(int(bound.sum()))
        uses = np.sort(place[results], axis=1)
        kinds, counts = np.unique(uses, axis=0, return_counts=True)
        return cls(kinds, counts.astype(np.int64), allowances[bound], steps)

    def most(self, slack: int) -> int:
        """Return the optimum in steps, rounded up by at most ``slack`` of them.

        Raises:
            EngineFailure: The solver did not come so close; the text is always the same.
        """
        if not len(self.counts):
            return 0
        for method, tolerance in _ATTEMPTS:
            chosen, prices = self._solved(method, tolerance)
            upper, lower = self.bound(prices), self.feasible(chosen)
            rounded = -(-upper * self.steps // _ONE)
            if (rounded - slack) * _ONE <= lower * self.steps:
                return rounded
        raise EngineFailure

    def bound(self, prices: NDArray[np.float64]) -> int:
        """Return a bound of every choice, in results times 2^48, from any prices of the records' allowances.

        By duality: with a price for each record, a result is worth at most 1, and what it lacks of its
        records' prices.
        """
        price = np.append(np.clip(np.rint(prices * _ONE), 0, _ONE).astype(np.int64), 0)
        lacking = np.maximum(0, _ONE - price[self.uses].sum(axis=1))
        paid = sum(int(a) * int(p) for a, p in zip(self.allowances, price[:-1], strict=True) if p)
        return -(-paid // self.steps) + int((lacking.astype(object) * self.counts).sum())

    def feasible(self, chosen: NDArray[np.float64]) -> int:
        """Return the value of a choice within the allowances, in results times 2^48; 0 if in doubt."""
        amounts = np.clip(chosen, 0, self.counts)
        used = self._used(amounts)
        allowed = np.append(self.allowances / self.steps, np.inf)
        fits = np.where(used > allowed, allowed / np.maximum(used, 1e-300), 1.0)
        whole = np.floor(amounts * fits[self.uses].min(axis=1) * (1 - 1e-12) * _ONE).astype(object)
        totals = np.zeros(len(self.allowances) + 1, dtype=object)
        for column in self.uses.T:
            np.add.at(totals, column, [int(amount) for amount in whole])
        kept = all(
            total * self.steps <= int(allowance) * _ONE
            for total, allowance in zip(totals[:-1], self.allowances, strict=True)
        )
        return int(sum(int(amount) for amount in whole)) if kept else 0

    def _used(self, amounts: NDArray[np.float64]) -> NDArray[np.float64]:
        used = np.zeros(len(self.allowances) + 1)
        for column in self.uses.T:
            np.add.at(used, column, amounts)
        used[-1] = 0
        return used

    def _solved(self, method: str, tolerance: float) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return how many results of each kind a solver takes, and the records' prices."""
        optimize, sparse = solver()
        kinds, columns = np.nonzero(self.uses >= 0)
        matrix = sparse.csr_matrix(
            (np.ones(len(kinds)), (self.uses[kinds, columns], kinds)),
            shape=(len(self.allowances), len(self.counts)),
        )
        found = None
        with warnings.catch_warnings(), suppress(Exception):  # its words may speak of records
            warnings.simplefilter("ignore")
            found = optimize.linprog(
                -np.ones(len(self.counts)),
                A_ub=matrix,
                b_ub=self.allowances / self.steps,
                bounds=np.column_stack((np.zeros(len(self.counts)), self.counts)),
                method=method,
                options={"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance},
            )
        if found is None or found.x is None:
            raise EngineFailure
        return np.nan_to_num(found.x), np.nan_to_num(-found.ineqlin.marginals)


def solver() -> tuple[Any, Any]:
    """Return SciPy's modules, or refuse by saying what to install; called before anything is charged."""
    try:
        from scipy import optimize, sparse  # noqa: PLC0415  (only this needs it)
    except ImportError:
        raise InvalidRequest(
            "this question needs SciPy's linear programs: pip install 'prdp[joins]'."
        ) from None
    return optimize, sparse
