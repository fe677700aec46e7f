"""Print what a question would cost and do: each statement on one line, or whole and indented."""

from __future__ import annotations

import re

from rich.console import Console

_STATEMENT = re.compile(r"( *reads  |ledger   )((?:SELECT|WITH|\{).*)")
_INDENT = " " * 9
_MORE = " ..."


def readable(text: str, width: int | None = None, *, whole: bool) -> str:
    r"""Return an explanation whose statements are cut to a window, or written out over several lines.

    >>> print(readable("costs    1/10\n  reads  SELECT a FROM (SELECT b AS a FROM t)", 30, whole=False))
    costs    1/10
      reads  SELECT a FROM (SE ...
    <BLANKLINE>
    What ends in ... is cut: add --statements to see all of it.
    """
    width = Console().width if width is None else width
    lines, cut = [], False
    for line in text.splitlines():
        said = _STATEMENT.fullmatch(line)
        fits = said is None or (said[2].startswith("{") if whole else len(line) <= width)
        if said is None or fits:
            lines.append(line)
        elif whole:
            lines += [said[1].rstrip(), *(f"{_INDENT}{part}" for part in _written_out(said[2]))]
        else:
            lines.append(line[: width - len(_MORE)].rstrip() + _MORE)
            cut = True
    if cut:
        lines += ["", "What ends in ... is cut: add --statements to see all of it."]
    return "\n".join(lines)


def _written_out(statement: str) -> list[str]:
    """Return a statement over several lines; as it is where the parser does not know a word of it."""
    import sqlglot  # noqa: PLC0415  (an extra, which whoever asks SQL has)

    try:
        whole: str = sqlglot.transpile(statement, read="duckdb", write="duckdb", pretty=True)[0]
    except sqlglot.errors.SqlglotError:
        return [statement]
    return whole.splitlines()
