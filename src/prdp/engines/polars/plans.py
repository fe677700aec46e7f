"""Lazy frames of Polars, by their plans alone: refuse those whose rows need not be records; trace origins.

What Polars prints of a plan as it was written is read line by line: a scan, filters and columns that are each
made of one row are known, and anything else is refused.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from prdp.engines.origins import Origins, files_origins, untraced
from prdp.engines.sources.checks import matching_files
from prdp.engines.sources.memory_origins import memory_origins
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
    "Give prdp the frame that it begins with and filter with .filter(); or say rows_are_records=True if "
    "adding or removing a record adds or removes one row and changes no other."
)


def refuse_unless_records(frame: Any) -> None:
    """Refuse a lazy frame in which a row may come of several records, or depend on others.

    Raises:
        InvalidRequest: Its plan holds an unsupported step, with advice.
    """
    plain = _TEXT.sub('""', frame.explain(optimized=False))
    if _QUOTE_WITHIN.search(plain):
        _refuse("a quotation mark within a name or a text, behind which more may follow")
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
    _refuse_unless_total(frame)


_SHOWN_TEXTS = ("Int", "UInt", "Float", "Boolean", "String", "Categorical", "Enum", "Decimal")
"""Types whose every value Polars writes as a text; it panics at far moments and at bytes that are none."""

_WITHIN_DIGITS = {
    "abs",
    "clip",
    "coalesce",
    "fill_null",
    "max_horizontal",
    "min_horizontal",
    "negate",
    "sign",
}
"""Functions that make no decimal of more digits."""

_IN_ZONES = {f"TemporalFunction.{part}" for part in ("Date", "IsoYear", "OrdinalDay", "Time", "Week")}
"""Parts of moments that Polars looks up in the moment's zone, in which far ones are out of range."""

_OPERANDS = ("expr", "left", "right", "predicate", "truthy", "falsy", "input")
_STRICT = 0


def _refuse_unless_total(frame: Any) -> None:
    """Refuse an expression that fails for some value of its type, which one record may have.

    The plan with types is asked for: text alone does not say what is cast or added.
    """
    polars = sys.modules["polars"]
    partial = ""
    try:
        plan = frame._ldf.with_optimizations(polars.QueryOptFlags.none()._pyoptflags).visit()  # noqa: SLF001
        below = [plan.get_node()]
        while below and not partial:
            plan.set_node(below[0])
            expressions, below = plan.get_exprs(), plan.get_inputs()
            if below:  # whose columns they read
                plan.set_node(below[0])
            partial = next(filter(None, (_partial(plan, one.node) for one in expressions)), "")
    except Exception:  # an expression that Polars shows nobody
        partial = "an expression that Polars does not show"
    if partial:
        raise InvalidRequest(
            f"the frame computes {partial}, and for some values Polars fails at that: one record could make "
            f"every question fail. {_INSTEAD}"
        )


def _partial(plan: Any, number: int) -> str:
    """Return the part of an expression that fails for some value; empty if none does."""
    node = plan.view_expression(number)
    inner = [one for name in _OPERANDS for one in _listed(getattr(node, name, None))]
    own = _partial_step(node, plan.get_dtype(number), [plan.get_dtype(one) for one in inner])
    return own or next(filter(None, (_partial(plan, one) for one in inner)), "")


def _partial_step(node: Any, kind: Any, kinds: list[Any]) -> str:
    """Return the computation of one step if it fails for some value of its operands' types."""
    names = [str(one.base_type()) for one in kinds]
    decimal = "Decimal" in (*names, str(kind.base_type()))
    called = str(next(iter(getattr(node, "function_data", None) or ("",))))
    match type(node).__name__:
        case "Cast" if str(kind) == "String" and not names[0].startswith(_SHOWN_TEXTS):
            return f"a text of {kinds[0]}"
        case "Cast" if decimal and node.options == _STRICT:
            return f"{kind} of {kinds[0]}"
        case "BinaryExpr" if decimal and str(kind) != "Boolean":
            return "with decimals"
        case "Function" if (
            decimal and not called.startswith("BooleanFunction") and called not in _WITHIN_DIGITS
        ):
            return f"{called}() of decimals"
        case "Function" if called in _IN_ZONES and any(map(_is_local_time, kinds)):
            return f"{called.partition('.')[2]} of {kinds[0]}"
    return ""


def _listed(operand: Any) -> list[int]:
    return operand if isinstance(operand, list) else [] if operand is None else [operand]


def _is_local_time(kind: Any) -> bool:
    """Return whether moments have a zone in which some of them are out of range."""
    return getattr(kind, "time_zone", None) not in (None, "UTC")


def lazy_origins(frame: Any) -> Origins:
    """Return the origins of a lazy frame, by the scans of its plan; reads no record."""
    try:
        text = _TEXT.sub('""', frame.explain(optimized=False))
        if _OTHER_ROWS.search(text):
            return untraced("a plan of Polars that holds a column of another frame, or calls Python")
        if "Ipc SCAN" in text:  # which no traversal shows
            return _serialized_origins(frame) if "DF [" not in text else untraced("a plan of several sources")
        plan = frame._ldf.visit()  # noqa: SLF001  (the only way to a scan's files and frames)
        return Origins.union(_scan_origins(plan, plan.get_node()))
    except Exception:  # a plan that Polars shows nobody: a scan of bytes in memory, say
        return untraced("a plan of Polars that it does not show")


_OTHER_ROWS = re.compile(r"\bSeries\b|python|\[[^\[\]()]*\]\.alias\(", re.IGNORECASE)
"""A column of another frame, a function in Python, or the values of a column that has a name."""


def _scan_origins(plan: Any, number: int) -> list[Origins]:
    plan.set_node(number)
    node, below = plan.view_current_node(), plan.get_inputs()
    if below:
        return [origins for inner in below for origins in _scan_origins(plan, inner)]
    if hasattr(node, "df"):
        return [memory_origins(sys.modules["polars"].DataFrame._from_pydf(node.df))]  # noqa: SLF001
    return [_file_origins(list(map(str, node.paths)))]


def _serialized_origins(frame: Any) -> Origins:
    """Return the origins of scans of files, by the plan as Polars writes it for another process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # JSON is deprecated, and the other format is not for reading
        plan = json.loads(frame.serialize(format="json"))
    sources = list(_sources(plan))
    paths = [path["inner"] for source in sources for path in source.get("Paths", ())]
    return (
        _file_origins(paths) if all("Paths" in source for source in sources) else untraced("bytes in memory")
    )


def _sources(plan: Any) -> Iterator[dict[str, Any]]:
    if isinstance(plan, dict) and isinstance(plan.get("sources"), dict):
        yield plan["sources"]
    for inner in plan.values() if isinstance(plan, dict) else plan if isinstance(plan, list) else ():
        yield from _sources(inner)


def _file_origins(paths: list[str]) -> Origins:
    files = [file for path in paths for file in matching_files(_LOCAL.sub("", path))]
    if not files or any("://" in _LOCAL.sub("", path) for path in paths):
        return untraced("a scan of what is no local file")
    return files_origins(files)


_LOCAL = re.compile(r"^file:(?://(?:localhost)?)?(?=/)", re.IGNORECASE)


def _refuse(what: str) -> None:
    if what == "strict_cast()":
        what = "a cast that fails for a value which does not fit (write strict=False)"
    word = re.split(r"[\[:{]| by| name", what, maxsplit=1, flags=re.IGNORECASE)[0].strip() or what
    raise InvalidRequest(
        f"the frame's plan has {word}, so that its rows need not be records: one may come of many, or "
        f"depend on others. {_INSTEAD}"
    )
