"""Tables moved to the nearest ones that are not negative: compared with all whole numbers that there are."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from prdp.release.projection import projected, simplex


def distance(numbers: tuple[int, ...], others: tuple[int, ...]) -> int:
    return sum((one - other) ** 2 for one, other in zip(numbers, others, strict=True))


def test_no_other_whole_numbers_with_the_total_are_nearer() -> None:
    for numbers in product(range(-3, 4), repeat=3):
        for total in range(5):
            found = tuple(simplex(numbers, total))
            every = [one for one in product(range(total + 1), repeat=3) if sum(one) == total]
            assert found in every
            assert distance(numbers, found) == min(distance(numbers, one) for one in every), (numbers, total)


def test_a_table_keeps_its_total_and_its_groups_theirs() -> None:
    random = np.random.default_rng(1)
    rows = [((0, 1, 2, 3),), ((0, 2), (1, 3))]
    columns = [((0, 1, 2),)]
    for _ in range(50):
        table = random.integers(-5, 9, (4, 3)).astype(object)
        found = projected(table, [rows, columns])
        assert found.min() >= 0
        assert found.sum() == max(0, table.sum())
        groups = [int(table[list(group)].sum()) for group in rows[1]]
        assert [int(found[list(group)].sum()) for group in rows[1]] == simplex(groups, found.sum())
        if table.min() >= 0:
            assert (found == table).all()


def test_cutting_each_number_at_zero_instead_changes_the_total() -> None:
    numbers = [4, -3, 2]
    assert sum(max(0, one) for one in numbers) != sum(simplex(numbers, 3)) == 3
    assert isinstance(simplex([1, 2], 2)[0], int)
    assert not isinstance(simplex([1, 2], 2)[0], Fraction)
