"""Tables as HTML pages that print well: no script, nothing loaded from elsewhere."""

from __future__ import annotations

import html

from prdp.release.formats.document import Document
from prdp.safety.plain_text import printable

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #1a1a1a;
  max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem; margin: 0 0 .3rem } h2 { font-size: 1.15rem; margin: 2rem 0 .4rem }
table { border-collapse: collapse; margin: .5rem 0; font-size: .93em }
caption { text-align: left; font-weight: 600; font-size: 1.1rem; padding: 1.2rem 0 .3rem }
caption span { display: inline-block; position: sticky; left: 0; max-width: calc(100vw - 2rem) }
th, td { padding: .22rem .9rem .22rem 0; text-align: left; vertical-align: top;
  max-width: 30rem; overflow-wrap: break-word; unicode-bidi: plaintext }
thead th { border-top: 2px solid #1a1a1a; border-bottom: 1px solid #1a1a1a; vertical-align: bottom }
tbody tr:last-child td { border-bottom: 1px solid #1a1a1a }
tbody tr.total td { font-weight: 600 }
.number { text-align: right; font-variant-numeric: tabular-nums } td.number { white-space: nowrap }
.notes { font-size: .84em; color: #444; margin: .3rem 0 0; padding-left: 1.1rem }
.wide { overflow-x: auto } svg, img { max-width: 100%; height: auto }
@media print {
  body { margin: 0; max-width: none; font-size: 10pt } thead { display: table-header-group }
  tr, h2 { break-inside: avoid; break-after: auto } .wide { overflow: visible } a { color: inherit }
  svg { break-inside: avoid; width: auto; max-height: 22cm }
}
"""


def escaped(text: object) -> str:
    r"""Return a text for HTML, harmless in a terminal too.

    >>> escaped('<script>"x"&\\x1b')
    '&lt;script&gt;&quot;x&quot;&amp;\\x1b'
    """
    return html.escape(printable(str(text)))


def html_section(document: Document) -> str:
    """Return a table with its notes as a part of a page."""
    marks = ['class="number"' if document.is_number(name) else "" for name in document.columns]
    head = "".join(
        f'<th scope="col" {mark}>{escaped(name)}</th>'
        for name, mark in zip(document.heads, marks, strict=True)
    )
    body = "\n".join(
        f"<tr{' class=total' if place in document.totals else ''}>"
        + "".join(f"<td {mark}>{escaped(cell)}</td>" for cell, mark in zip(row, marks, strict=True))
        + "</tr>"
        for place, row in enumerate(document.rows)
    )
    notes = "".join(f"<li>{escaped(note)}</li>" for note in document.notes)
    below = f'<ul class="notes">{notes}</ul>' if notes else ""
    return (
        f'<div class="wide"><table><caption><span>{escaped(document.title)}</span></caption>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>{below}\n"
    )


def html_page(title: str, body: str) -> str:
    """Return a page; ``body`` is HTML, the title is a text."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escaped(title)}</title><style>{_STYLE}</style></head>\n<body>\n{body}</body></html>\n"
    )
