"""Tables as LaTeX, for a document that inputs them."""

from __future__ import annotations

from prdp.release.formats.document import Document
from prdp.safety.plain_text import printable

_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_",
        "%": r"\%", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
        ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", "[": "{[}", "]": "{]}",
        "*": "{*}",
    }
)  # fmt: skip


def latex_text(text: str) -> str:
    r"""Return a text in which LaTeX sees no command.

    >>> print(latex_text(r"\input{a} [2] *"))
    \textbackslash{}input\{a\} {[}2{]} {*}
    """
    return printable(text).translate(_SPECIAL)


def latex_of(document: Document) -> str:
    r"""Return a table in LaTeX; a long one goes on over pages.

    >>> print(latex_of(Document("Staff", {"job": ["chef"], "n": [12]}, ["made up"])), end="")
    % \usepackage[T1]{fontenc}\usepackage{longtable}
    \begin{longtable}{lr}
    \caption{Staff}\\
    \hline
    job & n \\
    \hline
    \endhead
    chef & 12 \\
    \hline
    \multicolumn{2}{p{0.9\linewidth}}{\footnotesize made up}\\
    \end{longtable}
    """
    marks = "".join("r" if document.is_number(name) else "l" for name in document.columns)
    width = rf"\multicolumn{{{len(marks)}}}{{p{{0.9\linewidth}}}}"
    lines = [r"% \usepackage[T1]{fontenc}\usepackage{longtable}", rf"\begin{{longtable}}{{{marks}}}"]
    lines += [rf"\caption{{{latex_text(document.title)}}}\\", r"\hline", _row(document.heads)]
    lines += [r"\hline", r"\endhead", *map(_row, document.rows), r"\hline"]
    lines += [rf"{width}{{\footnotesize {latex_text(note)}}}\\" for note in document.notes]
    return "\n".join([*lines, r"\end{longtable}"]) + "\n"


def _row(cells: list[str]) -> str:
    return " & ".join(map(latex_text, cells)) + r" \\"
