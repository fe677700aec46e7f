"""CSV files and lines of JSON, read line by line: whatever one line holds, the others are read as they are.

A CSV reader that honours quotes across lines lets one unbalanced quote swallow every record after it. Here a
line is a record, quotes count within it, and a line that has not as many fields as the header is none.
A line ends at a line feed, at a carriage return, or at both, whatever other lines end at.
"""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Mapping
from pathlib import Path

from prdp.engines.sources.checks import listed_files, refuse_ambiguous, refuse_bad_types
from prdp.errors import Argument, InvalidRequest
from prdp.expressions.tokens import quoted, text_literal

CSV_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")

_LONGEST_HEADER = 1 << 20

_LINE_END = re.compile(rb"[\r\n]")

_LINE_ENDS = "new_line = '\\n', max_line_size = 2000000, buffer_size = 32000000"
"""Without them the reader takes from the lines that it meets first where all others end."""


def csv_sql(files: list[str], types: Mapping[str, str] | None) -> str:
    """Return a query for the declared columns; a field that does not fit its type is NULL."""
    delimiter = "\t" if ".tsv" in Path(files[0]).name else ","
    header = _common_header(files, delimiter)
    if not types:
        raise InvalidRequest(
            "a CSV file has no types, and guessing them from its rows would let the rows decide "
            "what is an error. Declare them: ",
            Argument("types", {header[0]: "BIGINT"}, more=True),
            f". The columns are {', '.join(header)}.",
        )
    unknown = sorted(set(types) - set(header))
    if unknown:
        raise InvalidRequest(
            f"types= names {unknown[0]!r}, but the columns are {', '.join(header)}. (Fields are parted by "
            "commas in .csv and tabs in .tsv. Of others make a table in DuckDB first: CREATE TABLE t AS FROM "
            "read_csv(...).)"
        )
    refuse_bad_types(header, types)
    refuse_ambiguous([name for name in header if name in types])
    columns = ", ".join(
        f"TRY_CAST({_field(place)} AS {types[name]}) AS {quoted(name)}"
        for place, name in enumerate(header, start=1)
        if name in types
    )
    return f"SELECT {columns} FROM ({_fields_sql(files, delimiter)}) WHERE len(fields) = {len(header)}"


def _fields_sql(files: list[str], delimiter: str) -> str:
    """Return a query for every line's fields; a field keeps its quotes."""
    mark = text_literal(delimiter)
    pattern = text_literal(f'{delimiter}("(?:[^"]|"")*"|[^"{delimiter}]*)')
    fields = (  # with a delimiter in front, an empty first field is found like any other
        f"CASE WHEN contains(line, '\"') THEN regexp_extract_all({mark} || line, {pattern}, 1) "
        f"ELSE string_split(line, {mark}) END"
    )
    return f"SELECT {fields} AS fields FROM ({lines_sql(files, skip=1)})"


def lines_sql(files: list[str], *, skip: int = 0) -> str:
    """Return a query for the lines of files, each read alone; empty ones and those not in UTF-8 are none."""
    # A delimiter and a NULL text that no line is likely to hold; a line that does is still read alone.
    lines = (
        f"read_csv([{listed_files(files)}], columns = {{'line': 'VARCHAR'}}, header = false, "
        f"skip = {skip}, delim = '\x01', nullstr = '\x02', quote = '', escape = '', auto_detect = false, "
        f"strict_mode = false, ignore_errors = true, {_LINE_ENDS})"
    )
    # The reader passes over empty lines itself, but not over those that only its delimiter makes empty.
    return f"SELECT line FROM {lines} WHERE line <> ''"


def _field(place: int) -> str:
    """Return a field's text: unquoted if it was quoted, NULL if there is nothing."""
    field = f"fields[{place}]"
    inner = f"replace({field}[2:length({field}) - 1], '\"\"', '\"')"
    return f"CASE WHEN starts_with({field}, '\"') THEN {inner} ELSE nullif({field}, '') END"


def _common_header(files: list[str], delimiter: str) -> list[str]:
    """Return the columns that every file names in its first line, in the same order."""
    headers = [header_of(file, delimiter) for file in files]
    for file, header in zip(files, headers, strict=True):
        if header != headers[0]:
            raise InvalidRequest(f"{file!r} and {files[0]!r} have different columns in their first lines.")
    return headers[0]


def columns_of(file: str) -> list[str]:
    """Return the columns of a file of comma- or tab-separated values, by its ending."""
    return header_of(file, "\t" if ".tsv" in Path(file).name else ",")


def header_of(file: str, delimiter: str) -> list[str]:
    """Read a file's first line and nothing else of it: the rest are records."""
    try:
        with gzip.open(file) if file.endswith(".gz") else Path(file).open("rb") as lines:
            first = lines.readline(_LONGEST_HEADER)
        line = _LINE_END.split(first, maxsplit=1)[0]
        text = line.decode("utf-8-sig") if len(line) < _LONGEST_HEADER else ""
        header = next(csv.reader([text], delimiter=delimiter), [])
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error):
        header = []
    if not any(header):
        raise InvalidRequest(
            f"{file!r} has no readable first line that names the columns (in UTF-8, of {_LONGEST_HEADER:,} "
            "bytes or fewer)."
        )
    return header


def parted_otherwise(header: list[str]) -> str:
    """Describe a header that names one column where it means several; empty if it is fine.

    >>> parted_otherwise(["id;age"])
    "its first line names one column, 'id;age': fields are parted by commas, or by tabs in .tsv. Convert it."
    >>> parted_otherwise(["id", "age"])
    ''
    """
    if len(header) != 1 or not re.search(r"[;|\t,]", header[0]):
        return ""
    return (
        f"its first line names one column, {header[0]!r}: fields are parted by commas, or by tabs in .tsv. "
        "Convert it."
    )


JSON_ENDINGS = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")


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
    """Return the position of a key in an object."""
    return text_literal("/" + name.replace("~", "~0").replace("/", "~1"))
