"""How format 1 wrote questions: five writers, each with a form of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from prdp.expressions.spelling import listed


def one_query(kind: str, column: str = "", parts: Sequence[Fraction] = ()) -> str:
    if kind == "count":
        return kind
    if kind == "distinct":
        return f"distinct {column}"
    if kind != "quantile":
        return f"{kind} of {column}"
    if tuple(parts) == (Fraction(1, 2),):
        return f"median of {column}"
    return f"{', '.join(map(_shown, parts))} quantile{'s' * (len(parts) > 1)} of {column}"


def _shown(part: Fraction) -> str:
    short = f"{float(part):g}"
    return short if Fraction(short) == part else str(part)


def of_table(ask: str, about: dict[str, Any], how: dict[str, str], units: str | None = None) -> str:
    measured = {} if units is None else {"units": units}
    return _line({"ask": ask} | measured | about | how)


def of_tables(queries: list[dict[str, str]], about: dict[str, Any], share: str) -> str:
    return _line({"ask": queries} | about | {"share": share})


def of_custom(name: str, columns: Sequence[str], named: bool, about: dict[str, str], once: str) -> str:
    facts = {"ask": name, "columns": listed(columns)} | ({} if named else {"named": "no"}) | about
    return _line(
        facts | {"method": "framework", "share": "1/4", "split": "1/3", "beta": "1/10", "once": once}
    )


def of_join(ask: str, tables: Sequence[str], where: str | None, units: str | None = None) -> str:
    facts = {"ask": ask, "over": listed(sorted(tables))}
    facts |= {} if units is None else {"units": units}
    facts |= {} if where is None else {"where": where}
    return _line(facts | {"method": "clip", "share": "1/4"})


def of_links(columns: Sequence[str], where: str | None) -> str:
    words = f"rows by {' and '.join(columns)}" + ("" if where is None else f" where {where}")
    return _line({"ask": words, "method": "truncate", "share": "1/4"})


def of_graph(ask: str, where: str | None) -> str:
    facts = {"ask": ask} | ({} if where is None else {"where": where})
    return _line(facts | {"method": "truncate", "share": "1/4"})


def _line(facts: dict[str, Any]) -> str:
    return json.dumps(facts, ensure_ascii=False)
