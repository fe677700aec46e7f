"""Turn off DuckDB's optimisers but for those that know nothing of other records.

Statistics of a file or a table (least and greatest values, counts, bloom filters) are facts about all of
its records together. An optimiser that folds a condition, prunes a row group or picks an algorithm by them
lets one record decide how others are treated: Parquet's statistics leave NaN out, so that ``x < 100`` is
folded to TRUE for a file whose greatest number is 9, and no longer once somebody has 150. Lemma 10 of the
proofs needs every statement to treat each record alone. So an optimiser works only if it is listed here,
and one that a later version of DuckDB brings along is off until somebody has looked at it.
"""

from __future__ import annotations

from collections.abc import Iterable

KEPT = {
    "unused_columns": "which columns are read, by their names",
    "expression_rewriter": "expressions, by their own form and constants",
    "common_subexpressions": "an expression that is written twice is computed once",
    "common_aggregate": "an aggregate that is written twice is computed once",
    "column_lifetime": "columns are dropped after their last use",
    "duplicate_groups": "a key that is written twice is grouped by once",
    "cte_inlining": "a query with a name is written out where it is used; else describing it would read it",
    "in_clause": "long lists of constants become a hash table",
}
"""The optimisers that stay on, and what they go by."""


def left_off(optimisers: Iterable[str], also: str = "") -> str:
    """Return the setting ``disabled_optimizers`` that leaves on what is kept, less what is off already.

    >>> left_off(["unused_columns", "statistics_propagation", "in_clause"], also="in_clause")
    'in_clause,statistics_propagation'
    """
    off = set(optimisers) - set(KEPT) | set(filter(None, also.split(",")))
    return ",".join(sorted(off))
