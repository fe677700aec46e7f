"""The most results that fit under the records' allowances: a linear program, solved and then certified.

A solver works in floating point, so its word is not taken. From its answer two numbers are computed in
integers: the value of a feasible choice of results and a bound that no choice can pass. They enclose the true
optimum, whatever the solver did. Where they are too far apart, the program is solved again in fractions.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prdp.errors import InvalidRequest

Integers = NDArray[np.int64]

Rational = int | Fraction

_ONE = 1 << 54
"""The unit of amounts and prices: a double between 1/2 and 1 is a multiple. 512 prices fit into 64 bits."""

_BEYOND = 1 << 200
_OFTEN = 27_720
"""True prices are often fractions with a denominator of up to 12; then a solver's last digits are its own."""

_SHRINK = 1 - 2.0**-40
"""Leaves room for the last digits of a solver's amounts."""

_ATTEMPTS = (("highs-ipm", 1e-9), ("highs-ds", 1e-10))
"""Interior points first: where many records are alike, the simplex method takes a hundred times as long."""


@dataclass(frozen=True, slots=True)
class Packing:
    """Kinds of results, how many there are of each, and which records each uses.

    Attributes:
        uses: One row a kind: the places of its records, -1 where there are fewer than columns.
        counts: The number of results of each kind.
        allowances: For each record, how many steps it may be used for.
        steps: The number of steps of a result.
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
        """Return the optimum in steps, rounded up by at most ``slack`` (1 or more) of them.

        Parts of the program that share no record are enclosed one by one. What two attempts of a solver have
        not enclosed closely enough is solved in fractions: whatever the solver does, there is an answer.
        """
        if not len(self.counts):
            return 0
        parts = Parts.of(self)
        upper: list[Rational] = [*parts.by_kind(self.counts.astype(object) * _ONE)]
        lower: list[Rational] = [0] * len(upper)
        for method, tolerance in _ATTEMPTS:
            found = self._solved(method, tolerance)
            if found is None:
                continue
            chosen, prices = found
            quick, mended = parts.by_kind(self._shrunk(chosen)), False
            for tried in (prices, np.rint(prices * _OFTEN) / _OFTEN):
                upper = list(map(min, upper, self.bounds(tried, parts)))
                if self._is_close(upper, quick, slack):
                    return self._rounded(upper)
                if not mended:
                    lower = list(map(max, lower, parts.by_kind(self.feasible(chosen))))
                    mended = True
                if self._is_close(upper, lower, slack):
                    return self._rounded(upper)
        for part in sorted(range(len(upper)), key=lambda place: lower[place] - upper[place]):
            upper[part] = lower[part] = self._solved_exactly(parts.kinds(part)) * _ONE / self.steps
            if self._is_close(upper, lower, slack):
                break
        return self._rounded(upper)

    def _rounded(self, upper: Sequence[Rational]) -> int:
        return int(-(-sum(upper) * self.steps // _ONE))

    def _is_close(self, upper: Sequence[Rational], lower: Sequence[Rational], slack: int) -> bool:
        return (self._rounded(upper) - slack) * _ONE <= sum(lower) * self.steps

    def bounds(self, prices: NDArray[np.float64], parts: Parts) -> list[int]:
        """Return for each part a bound of every choice, in results times 2^54, from any prices of records.

        By duality: with a price for each record's allowance, a result is worth at most 1, and what it lacks
        of its records' prices.
        """
        price = np.append(np.clip(np.rint(prices * _ONE), 0, _ONE).astype(np.int64), 0)
        lacking = np.maximum(0, _ONE - price[self.uses].sum(axis=1))
        lacked = parts.by_kind(lacking.astype(object) * self.counts)
        paid = parts.by_record(self.allowances.astype(object) * price[:-1])
        return [more - (-cost // self.steps) for more, cost in zip(lacked, paid, strict=True)]

    def feasible(self, chosen: NDArray[np.float64]) -> NDArray[Any]:
        """Return amounts of each kind within the allowances, in results times 2^54, near any amounts.

        In integers: what a record is used for beyond its allowance is taken away from its kinds, and then
        each kind gets what its records have left.
        """
        amounts, left = self._amounts(chosen)
        for kind in np.flatnonzero((left[self.uses] < 0).any(axis=1)):
            too_much = min(amounts[kind], max(0, -left[self.uses[kind]].min()))
            amounts[kind] -= too_much
            left[self.uses[kind]] += too_much
        for kind in np.flatnonzero((left[self.uses] > 0).all(axis=1)):
            more = min(int(self.counts[kind]) * _ONE - amounts[kind], left[self.uses[kind]].min())
            amounts[kind] += more
            left[self.uses[kind]] -= more
        return amounts

    def _shrunk(self, chosen: NDArray[np.float64]) -> NDArray[Any]:
        """Return slightly less than some amounts, in results times 2^54; nothing if that is still too much.

        Mending amounts kind by kind takes longer than solving, and is seldom needed.
        """
        amounts, left = self._amounts(chosen * _SHRINK)
        return amounts if (left >= 0).all() else np.zeros_like(amounts)

    def _amounts(self, chosen: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return amounts as integers, and what they leave of each record's allowance."""
        near = np.floor(np.clip(chosen, 0, self.counts) * _ONE)
        amounts = np.array([int(amount) for amount in near.tolist()], dtype=object)
        left = np.append(self.allowances.astype(object) * _ONE // self.steps, 0)
        for column in self.uses.T:
            np.subtract.at(left, column, amounts)
        left[-1] = _BEYOND
        return amounts, left

    def _solved(self, method: str, tolerance: float) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Return the number of results of each kind and the records' prices by a solver; None if it fails.

        Kinds and records that are alike are solved for as one.
        """
        optimize, _ = solver()
        found, alike = None, Alike.of(self)
        merged, sizes = alike.merged(self)
        with warnings.catch_warnings(), suppress(Exception):  # its words may speak of records
            warnings.simplefilter("ignore")
            found = optimize.linprog(
                -np.ones(len(merged.counts)),
                A_ub=merged.matrix(),
                b_ub=merged.allowances / self.steps,
                bounds=np.column_stack((np.zeros(len(merged.counts)), merged.counts)),
                method=method,
                options={"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance},
            )
        if found is None or found.x is None:
            return None
        prices = np.nan_to_num(-found.ineqlin.marginals)
        return (np.nan_to_num(found.x) / sizes)[alike.of_kind], prices[alike.of_record]

    def matrix(self) -> Any:
        """Return the incidence of records (rows) in kinds (columns) as a sparse matrix."""
        _, sparse = solver()
        kinds, columns = np.nonzero(self.uses >= 0)
        return sparse.csr_matrix(
            (np.ones(len(kinds)), (self.uses[kinds, columns], kinds)),
            shape=(len(self.allowances), len(self.counts)),
        )

    def _solved_exactly(self, kinds: Integers) -> Fraction:
        """Return the optimum of the program of some kinds alone, in steps."""
        limits: list[tuple[int, list[int]]] = []
        users: dict[int, list[int]] = {}
        for place, kind in enumerate(kinds.tolist()):
            limits.append((int(self.counts[kind]) * self.steps, [place]))
            for record in self.uses[kind].tolist():
                if record >= 0:
                    users.setdefault(record, []).append(place)
        limits += [(int(self.allowances[record]), used_by) for record, used_by in users.items()]
        return largest_sum(len(kinds), limits)


@dataclass(frozen=True, slots=True)
class Alike:
    """Kinds and records by how they look from everywhere in the program: all edges of a clique are alike.

    Colours are refined until no kind and no record tells two of one colour apart. Then some optimum gives
    kinds of one colour the same amount and records of one colour the same price, so that one variable and one
    limit for each colour are enough. Colours are 64-bit hashes: should two meet by chance, the amounts and
    prices that come out are merely worse, and are noticed as a solver's faults are.
    """

    of_kind: Integers = field(repr=False)
    of_record: Integers = field(repr=False)

    @classmethod
    def of(cls, packing: Packing) -> Alike:
        """Refine colours, beginning with counts and allowances; leave all apart if few are alike."""
        uses, none = packing.uses, len(packing.allowances)
        kind = _mixed(packing.counts.astype(np.uint64))
        record = _mixed(packing.allowances.astype(np.uint64))
        number = -1
        while True:
            of_record, of_kind = (np.unique(colours, return_inverse=True)[1] for colours in (record, kind))
            before, number = number, int(of_record.max(initial=0)) + int(of_kind.max(initial=0))
            if 2 * number > len(kind):
                return cls(np.arange(len(kind)), np.arange(none))
            if number == before:
                return cls(of_kind, of_record)
            padded = np.append(_mixed(record), np.uint64(0))
            kind = _mixed(_mixed(kind) + padded[uses].sum(axis=1, dtype=np.uint64))
            seen = np.zeros(none + 1, dtype=np.uint64)
            for column in uses.T:
                np.add.at(seen, column, kind)
            record = _mixed(_mixed(record) + seen[:-1])

    def merged(self, packing: Packing) -> tuple[Packing, Integers]:
        """Return the program of one kind and one record for each colour, and how many kinds each is."""
        _, first, sizes = np.unique(self.of_kind, return_index=True, return_counts=True)
        places = np.append(self.of_record, -1)
        allowances = np.zeros(int(self.of_record.max(initial=-1)) + 1, dtype=np.float64)
        np.add.at(allowances, self.of_record, packing.allowances)
        counts = sizes * packing.counts[first]
        return Packing(places[packing.uses[first]], counts, allowances, packing.steps), sizes  # type: ignore[arg-type]


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return hashes of 64 bits."""
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


@dataclass(frozen=True, slots=True)
class Parts:
    """Kinds and records by the part of the program that they are in; no two parts share a record."""

    of_kind: Integers = field(repr=False)
    of_record: Integers = field(repr=False)
    number: int
    _order: Integers = field(repr=False)

    @classmethod
    def of(cls, packing: Packing) -> Parts:
        """Find the parts."""
        _, sparse = solver()
        matrix = packing.matrix()
        number, part = sparse.csgraph.connected_components(
            sparse.bmat([[None, matrix], [matrix.T, None]]), directed=False
        )
        records = len(packing.allowances)
        return cls(part[records:], part[:records], int(number), np.argsort(part[records:], kind="stable"))

    def by_kind(self, values: NDArray[Any]) -> list[int]:
        """Add up a value of each kind, by part."""
        return self._sums(self.of_kind, values)

    def by_record(self, values: NDArray[Any]) -> list[int]:
        """Add up a value of each record, by part."""
        return self._sums(self.of_record, values)

    def kinds(self, part: int) -> Integers:
        """Return the kinds of a part."""
        first, last = np.searchsorted(self.of_kind, [part, part + 1], sorter=self._order)
        return self._order[first:last]

    def _sums(self, places: Integers, values: NDArray[Any]) -> list[int]:
        sums = np.zeros(self.number, dtype=object)
        np.add.at(sums, places, values)
        return list(sums)


def largest_sum(variables: int, limits: Sequence[tuple[int, Sequence[int]]]) -> Fraction:
    """Return the largest sum of variables of at least 0, of which those listed add up to a limit at most.

    The simplex method in fractions. The variable that promises most enters, or after a step that gained
    nothing the first that promises anything (Bland's rule) until one gains: so no basis comes twice.

    Args:
        variables: How many there are; each is in a limit.
        limits: Limits of at least 0, each with the variables that it is on.
    """
    gain = {place: Fraction(1) for place in range(variables)}
    rows = {
        variables + number: (Fraction(limit), {place: Fraction(-1) for place in listed})
        for number, (limit, listed) in enumerate(limits)
    }
    total, stuck = Fraction(0), False
    while promising := [place for place, by in gain.items() if by > 0]:
        entering = min(promising) if stuck else max(promising, key=lambda place: (gain[place], -place))
        step, leaving = min(
            (limit / -terms[entering], place)
            for place, (limit, terms) in rows.items()
            if terms.get(entering, 0) < 0
        )
        total, stuck = total + gain[entering] * step, step == 0
        limit, terms = rows.pop(leaving)
        by = terms.pop(entering)
        terms = {place: -value / by for place, value in terms.items()} | {leaving: 1 / by}
        limit = -limit / by
        for place, (own, others) in rows.items():
            if entering in others:
                factor = others.pop(entering)
                rows[place] = (own + factor * limit, _added(others, factor, terms))
        rows[entering] = (limit, terms)
        gain = _added(gain, gain.pop(entering), terms)
    return total


def _added(to: dict[int, Fraction], factor: Fraction, terms: Mapping[int, Fraction]) -> dict[int, Fraction]:
    """Add a multiple of some terms to others, which are changed; terms that vanish are dropped."""
    for place, value in terms.items():
        found = to.get(place, 0) + factor * value
        if found:
            to[place] = found
        else:
            to.pop(place, None)
    return to


def solver() -> tuple[Any, Any]:
    """Return SciPy's modules, or refuse by saying what to install; called before anything is charged."""
    try:
        from scipy import optimize, sparse  # noqa: PLC0415  (only this needs it)
        from scipy.sparse import csgraph  # noqa: F401, PLC0415  (found in sparse from now on)
    except ImportError:
        raise InvalidRequest(
            "this question needs SciPy's linear programs: pip install 'prdp[joins]'."
        ) from None
    return optimize, sparse
