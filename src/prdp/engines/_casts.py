"""CAST in SQL that means what ``casts`` says: what cannot be made is NULL."""

from __future__ import annotations

from dataclasses import dataclass

from prdp.engines._guards import Double, Guards, double
from prdp.expressions.casts import LIMITS, MOMENT_PATTERN, NUMBER_PATTERN
from prdp.expressions.functions import CastTarget
from prdp.expressions.interval_rules import UNBOUNDED, Interval, to_whole
from prdp.expressions.spelling import text_literal


@dataclass(frozen=True, slots=True)
class Casts:
    """Writes conversions."""

    guards: Guards

    def text_to_number(self, text: str) -> Double:
        """Return the number that a text says."""
        sql = self._if_it_fits(text, NUMBER_PATTERN, "DOUBLE")
        return Double(sql, UNBOUNDED)

    def text_to_moment(self, text: str) -> str:
        """Return the moment that a text says."""
        return self._if_it_fits(text, MOMENT_PATTERN, "TIMESTAMP")

    def _if_it_fits(self, text: str, pattern: str, target: str) -> str:
        return self.guards.once(
            [text],
            lambda t: (
                f"(CASE WHEN regexp_full_match({t}, {text_literal(pattern)}) "
                f"THEN TRY_CAST(trim({t}, ' ') AS {target}) END)"
            ),
        )

    def truth_to_number(self, truth: str) -> Double:
        """Return 1 or 0."""
        return Double(f"CAST(CAST({truth} AS INTEGER) AS DOUBLE)", Interval(0.0, 1.0))

    def number_to_text(self, x: Double) -> str:
        """Return the shortest text that says a number; whole ones without a point."""
        plain = f"CAST({self.guards.clean(x)} + 0e0 AS VARCHAR)"  # -0 + 0 is 0
        return rf"regexp_replace({plain}, '\.0$', '')"

    def to_whole(self, target: CastTarget, x: Double) -> Double:
        """Return the nearest whole number of a type."""
        least, beyond = LIMITS[target]

        def write(v: str) -> str:
            whole = f"round_even({v}, 0)"
            return f"(CASE WHEN {whole} >= {double(least)} AND {whole} < {double(beyond)} THEN {whole} END)"

        return Double(self.guards.once([x.sql], write), to_whole(target, x.values).values)
