"""Refuse lazy frames of Polars whose rows need not be records, by their plans alone.

What Polars prints of a plan as it was written is read line by line: a scan, filters and columns that are each
made of one row are known, and anything else is refused.
"""

from __future__ import annotations

import re
from typing import Any

from prdp.errors import InvalidRequest

_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_QUOTE_WITHIN = re.compile(r'""[\w"]|[\w"]""|(?<!")"(?!")')
_SOURCE = re.compile(r"(DF|Parquet SCAN|Ipc SCAN) \[")
_STEP = re.compile(r"(FILTER\b|FROM$|SELECT \[|WITH_COLUMNS:$|\[|simple π|PROJECT |ESTIMATED ROWS)")
_METHOD = re.compile(r"\.([a-z_0-9]+(?:\.[a-z_0-9]+)?)\(")
_OF_ONE_ROW = re.compile(
    r"alias|cast|abs|sign|not|negate|clip|round\w*|floor|ceil|sqrt|log\w*|exp|fill_null|fill_nan"
    r"|is_null|is_not_null|is_nan|is_not_nan|is_finite|is_infinite|is_in|is_between|when|then|otherwise|coalesce"
    r"|(?:min|max|any|all|sum)_horizontal"
    r"|str\.(?:contains\w*|starts_with|ends_with|(?:to_)?(?:lower|upper)case|len_\w+|strip_\w+|replace\w*|slice"
    r"|head|tail|zfill|pad_\w+)"
    r"|dt\.(?:year|iso_year|quarter|month|week|weekday|day|ordinal_day|date|time|hour|minute|second|millisecond"
    r"|microsecond|nanosecond|convert_time_zone)"
)
_OF_MORE = re.compile(
    r"\bSeries\b|(?<![.\w])(?!(?:col|when)\()[a-z_]\w*\(|cast\(UInt"
    r"|\b(?:str|dt)\.\w+\(\[[^\]]*\b(?:col|when)\("
    r"|^SELECT \[(?!.*col\()"
)
"""Columns of other frames, ``len()``, patterns that are columns, codes of categories, constants alone."""

_INSTEAD = (
    "Give prdp the frame that it begins with and filter with where(); or say rows_are_records=True if adding "
    "or removing a record adds or removes one row and changes no other."
)


def refuse_unless_records(frame: Any) -> None:
    """Refuse a lazy frame in which a row may come of several records, or hang on others.

    Raises:
        InvalidRequest: What stands in its plan, and what to do.
    """
    plain = _TEXT.sub('""', frame.explain(optimized=False))
    if _QUOTE_WITHIN.search(plain):
        _refuse("a quotation mark within a name or a text, behind which more may stand")
    lines = plain.splitlines()
    sources = 0
    for line in map(str.strip, lines):
        if _SOURCE.match(line):
            sources += 1
        elif not _STEP.match(line):
            _refuse(line)
        if found := _OF_MORE.search(line):
            _refuse(found[0])
        for method in _METHOD.findall(line):
            if not _OF_ONE_ROW.fullmatch(method):
                _refuse(f"{method}()")
        if re.search(r"[/\[][^/\[\]]+=[^/\]]*/", line) and "SCAN" in line:
            raise InvalidRequest(
                "the names of folders may be columns of this frame, and Polars guesses their types from "
                f"them. Give prdp.open the path. {_INSTEAD}"
            )
    if sources != 1:
        raise InvalidRequest(f"the frame reads {sources} tables, or one more than once. {_INSTEAD}")


def _refuse(what: str) -> None:
    if what == "strict_cast()":
        what = "a cast that fails for a value which does not fit (write strict=False)"
    word = re.split(r"[\[:{]| by| name", what, maxsplit=1, flags=re.IGNORECASE)[0].strip() or what
    raise InvalidRequest(
        f"the frame's plan has {word}, so that its rows need not be records: one may come of many, or "
        f"hang on others. {_INSTEAD}"
    )
