"""What the page on the row language shows is what happens, in Python and in the engine."""

from __future__ import annotations

import re
from datetime import date, datetime
from pathlib import Path

import duckdb
import pytest

from prdp.engines.row_sql.expressions import quoted, to_sql
from prdp.expressions.check import checked_kind
from prdp.expressions.evaluate import evaluate, value_of
from prdp.expressions.functions import FUNCTIONS, SPELLED, TYPES_SPELLED
from prdp.expressions.parse import parse
from prdp.schema import ColumnType, Kind
from tests.docs.pages import run

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/expressions.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^(\S.*?) +-> (.+)$", PAGE, flags=re.MULTILINE)
RECORD = {
    "name": "Ada Groß",
    "title": " Senior Manager ",
    "code": "0042",
    "x": -2.5,
    "n": 17,
    "nothing": None,
    "day": date(2024, 2, 29),
    "seen": datetime(2024, 12, 31, 23, 30, 15, 250000),
    "vip": True,
}
TYPES = {
    **dict.fromkeys(("name", "title", "code"), ColumnType(Kind.TEXT, native="VARCHAR")),
    **dict.fromkeys(("x", "nothing"), ColumnType(Kind.NUMBER, native="DOUBLE")),
    "n": ColumnType(Kind.NUMBER, integer=True, native="BIGINT"),
    "day": ColumnType(Kind.MOMENT, native="DATE"),
    "seen": ColumnType(Kind.MOMENT, native="TIMESTAMP"),
    "vip": ColumnType(Kind.BOOLEAN, native="BOOLEAN"),
}
OF_TEXT = TYPES | {"nothing": ColumnType(Kind.TEXT, native="VARCHAR")}


def test_the_page_has_its_record_and_many_examples() -> None:
    assert len(EXAMPLES) >= 60
    for name, value in RECORD.items():
        written = re.search(rf"\b{name} = (NULL|(?:DATE |TIMESTAMP )?'[^']*'|[-\w.]+)", PAGE)
        assert written is not None, name
        assert evaluate(parse(written[1]), {}) == value_of(value), name


@pytest.mark.parametrize(("text", "result"), EXAMPLES)
def test_every_example_gives_what_is_shown(text: str, result: str) -> None:
    schema = OF_TEXT if "name || nothing" in text else TYPES
    node = checked_kind(parse(text), schema, text)[0]
    shown = evaluate(parse(result), {})
    assert evaluate(node, RECORD) == shown
    columns = ", ".join(f"CAST(? AS {column.native}) AS {quoted(name)}" for name, column in schema.items())
    statement = f"SELECT {to_sql(node, schema)} FROM (SELECT {columns})"
    assert duckdb.execute(statement, [RECORD[name] for name in schema]).fetchall() == [(shown,)]


def test_every_function_and_every_type_is_on_the_page() -> None:
    words = set(re.findall(r"[a-z_0-9]+", PAGE)) | set(re.findall(r"[A-Z]+", PAGE))
    assert {name for name in FUNCTIONS if name in SPELLED} <= words
    assert set(TYPES_SPELLED.values()) <= words


def test_the_page_s_programs_print_what_is_below_them() -> None:
    programs = run(ROOT / "docs/expressions.md")
    assert len(programs) == 2
    for shown in programs:
        assert shown.matches, f"the page says:\n{shown.stated}\nwhat is printed:\n{shown.printed}"
