"""JSON files read line by line: whatever one line holds, the others are read as they are."""

from __future__ import annotations

from collections.abc import Mapping

from prdp.engines.sources.checks import refuse_ambiguous, refuse_bad_types
from prdp.engines.sources.csv import lines_sql
from prdp.errors import Argument, InvalidRequest
from prdp.expressions.spelling import quoted, text_literal

ENDINGS = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")


def json_sql(files: list[str], types: Mapping[str, str] | None) -> str:
    """Return a query for the declared keys of every line's object; what does not fit its type is NULL.

    A line that is no object is left out.
    """
    if not types:
        raise InvalidRequest(
            "a JSON file has no types, and guessing them from its lines would let the lines decide what is "
            "an error. Declare those of the keys that are read: ",
            Argument("types", {"balance": "BIGINT"}, more=True),
            ".",
        )
    refuse_bad_types(list(types), types)
    refuse_ambiguous(list(types))
    columns = ", ".join(
        f"TRY_CAST(json_extract_string(object, {_pointer(name)}) AS {native}) AS {quoted(name)}"
        for name, native in types.items()
    )
    # CASE: of a line that is no JSON, nothing may be extracted.
    objects = "CASE WHEN json_valid(line) THEN CASE WHEN json_type(line) = 'OBJECT' THEN line END END"
    lines = f"SELECT {objects} AS object FROM ({lines_sql(files)})"
    return f"SELECT {columns} FROM ({lines}) WHERE object IS NOT NULL"


def _pointer(name: str) -> str:
    """Return where an object holds a key."""
    return text_literal("/" + name.replace("~", "~0").replace("/", "~1"))
