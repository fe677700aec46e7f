"""What one charge pays for: one query or several, for all records or for each public group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

from prdp.cells.owners import refuse_unless_proved, refuse_unless_shared_out
from prdp.declare.exact import Exact, exact, exact_share
from prdp.declare.groups import Grouping
from prdp.errors import InvalidRequest
from prdp.expressions.nodes import Node
from prdp.noise.entropy import Entropy
from prdp.plan.planner import Facts
from prdp.plan.queries import DEFAULT, Options, Query, Question
from prdp.plan.reads import Cells, Need, shared_needs
from prdp.plan.recipe import Recipe
from prdp.release.release import Release
from prdp.release.table import Key, Released, ReleaseTable

_MOST_ANSWERS = 10**6
"""How many answers one charge may pay for: they are drawn, kept and written as one."""


@dataclass(frozen=True, slots=True)
class Order:
    """The recipes of one charge; their shares add up to the order's, or to less.

    Attributes:
        recipes: How each query is answered.
        share: The part of every record's budget for all of it.
        groups: The public groups; None for one group of all records.
        single: Whether the answer is one release instead of a table of them.
    """

    recipes: tuple[Recipe, ...]
    share: Fraction
    groups: Grouping | None
    single: bool = False

    def __post_init__(self) -> None:
        self._refuse_too_many_answers()
        for recipe in self.recipes:
            if self.groups is not None and recipe.protect is not None:
                refuse_unless_proved(recipe.query, recipe.asked.method, recipe.protect, grouped=True)
                refuse_unless_shared_out(recipe.asked.measure)

    def _refuse_too_many_answers(self) -> None:
        """Refuse more answers than can be kept, before anything is charged for them."""
        groups = len(self.groups.keys) if self.groups else 1
        each = sum(len(recipe.labels) for recipe in self.recipes)
        if groups * each > _MOST_ANSWERS:
            raise InvalidRequest(
                f"{groups:,} groups with {each:,} answers each are {groups * each:,} answers: a question has "
                f"at most {_MOST_ANSWERS:,}. List fewer groups, or ask for fewer quantiles or queries."
            )

    def question(self, where: Node | None, source: str) -> str:
        """Return the question as a ledger keeps it."""
        asked = tuple(recipe.asked for recipe in self.recipes)
        return str(Question(asked, where, self.share, self.groups, source))

    @property
    def needs(self) -> dict[Need, Need]:
        """For what each recipe needs to be read, what is read in its stead: one reading serves several."""
        return shared_needs([recipe.need for recipe in self.recipes])

    def released(
        self,
        read: Mapping[Need, Sequence[Cells]],
        entropy: Entropy,
        about: str,
        *,
        runs: int,
        simulated: bool,
    ) -> list[Released]:
        """Draw independent answers from the cells that were read for each need, group by group."""
        keys = self.groups.keys if self.groups else ((),)
        names = [about + self._named(key) for key in keys]
        if self.groups is not None and any(recipe.protect for recipe in self.recipes):
            groups = self._jointly_drawn(read, entropy, runs, names, simulated)
        else:
            by = [key.column for key in self.groups.by] if self.groups else []
            columns = [
                recipe.group_releases(read[recipe.need], entropy, runs, names, by, simulated=simulated)
                for recipe in self.recipes
            ]
            groups = [_side_by_side(group) for group in zip(*columns, strict=True)]
        if self.single:
            return [releases[0] for releases in groups[0]]
        question = ", ".join(str(recipe.query) for recipe in self.recipes) + about
        return [self._table(rows, question) for rows in zip(*groups, strict=True)]

    def _table(self, rows: Sequence[tuple[Release, ...]], question: str) -> ReleaseTable:
        return ReleaseTable(
            question=question,
            share=self.share,
            by=tuple(key.column for key in self.groups.by) if self.groups else (),
            asked=tuple(label for recipe in self.recipes for label in recipe.labels),
            keys=self.groups.keys if self.groups else ((),),
            releases=tuple(rows),
        )

    def shaped(self, released: Released) -> Released:
        """Return a standing answer as it is asked for now: alone, or as a table of one.

        Alone and in a table, the same question has the same text in a ledger.
        """
        if self.single and isinstance(released, ReleaseTable):
            return released.releases[0][0]
        if not self.single and isinstance(released, Release):
            return self._table([(released,)], released.question)
        return released

    def _jointly_drawn(
        self,
        read: Mapping[Need, Sequence[Cells]],
        entropy: Entropy,
        runs: int,
        names: Sequence[str],
        simulated: bool,
    ) -> list[list[tuple[Release, ...]]]:
        """Return each group's answers to all recipes, once a run; units may have rows in several groups."""
        columns = [
            recipe.joint_releases(read[recipe.need][0], entropy, runs, names, simulated=simulated)
            for recipe in self.recipes
        ]
        return [_side_by_side(group) for group in zip(*columns, strict=True)]

    def _named(self, key: Key) -> str:
        if self.groups is None:
            return ""
        return " for " + ", ".join(
            f"{by.column} = {value}" for by, value in zip(self.groups.by, key, strict=True)
        )


def _side_by_side(columns: Sequence[Sequence[tuple[Release, ...]]]) -> list[tuple[Release, ...]]:
    """Return each run's answers to all recipes, from each recipe's answers run by run."""
    return [tuple(chain.from_iterable(run)) for run in zip(*columns, strict=True)]


def order_of(
    facts: Facts,
    queries: Sequence[Query],
    share: Exact,
    groups: Grouping | None,
    *,
    options: Options = DEFAULT,
    split: Sequence[Exact] | None = None,
) -> Order:
    """Return the order for several queries, or refuse it by public facts."""
    if not queries or not all(isinstance(query, Query) for query in queries):
        raise InvalidRequest(
            "ask takes queries, such as ask(prdp.Count(), prdp.Mean('balance'), share='1/10')."
        )
    whole = exact_share(share)
    parts = _parts(split, len(queries))
    recipes = [facts.recipe(query, whole * part, options) for query, part in zip(queries, parts, strict=True)]
    return Order(tuple(recipes), whole, groups, single=False)


def _parts(split: Sequence[Exact] | None, count: int) -> list[Fraction]:
    if split is None:
        return [Fraction(1, count)] * count
    parts = [] if isinstance(split, str) else [exact(part, "split") for part in split]
    if len(parts) != count or min(parts) <= 0 or sum(parts) != 1:
        raise InvalidRequest(
            f"split={split!r} does not split the share among {count} queries: list one positive part each, "
            "such as ['1/4', '3/4'], adding up to 1."
        )
    return parts
