"""One HTML page with everything in it."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from experiments.paper.report.parts import Figure, Section, Table

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; max-width: 92rem;
  margin: 2rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; } h1 + section h2 { margin-top: 0; font-size: 1.15rem; }
h1 + section p { max-width: none; font-size: .9rem; } h1 + section th { white-space: normal; }
h1 + section table { font-size: .72rem; } h1 + section :is(th, td) { padding: .22rem .32rem; }
h2 { margin-top: 3rem; border-bottom: 2px solid #0072b2; padding-bottom: .2rem; }
p { max-width: 52rem; } nav a, .files a { margin-right: 1rem; white-space: nowrap; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .8rem; margin: 1rem 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { padding: .22rem .45rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; max-width: 15rem; }
thead th { border-bottom: 2px solid #888; }
tr.ours { background: #e3f0f8; font-weight: 600; } tr.published { background: #fdf1dc; }
tr.yardstick { color: #555; font-style: italic; }
td.inside { background: #d5ecd4; } td.off { background: #f6d3cb; font-weight: 600; }
td.unknown { background: #eee; }
td.omitted, td.absent { color: #666; background: #f7f7f7; font-style: italic; }
figure { margin: 1.5rem 0; } figure img { max-width: 100%; }
figcaption { font-size: .9rem; max-width: 52rem; }
"""


def page(
    title: str,
    lead: str,
    sections: Sequence[Section],
    pictures: Mapping[str, bytes],
    other: str,
    *,
    brief: bool,
    first: Section | None = None,
    files: Sequence[str] = (),
) -> str:
    """Return the page.

    Args:
        title: Its heading.
        lead: What is above all sections.
        sections: The sections.
        pictures: The figures' PNGs by name.
        other: The file of another page that belongs to it; empty if there is none.
        brief: Whether the findings are at the top.
        first: What is above everything else.
        files: Files beside the page that have the raw results.
    """
    links = "".join(f'<a href="#{_anchor(s.title)}">{escape(s.title)}</a> ' for s in sections)
    findings = "".join(f"<li>{escape(found)}</li>" for s in sections for found in s.findings)
    body = "".join(_section(section, pictures) for section in sections)
    summary = f"<h2>In short</h2><ul>{findings}</ul>" if findings and brief else ""
    links += f'<a href="{escape(other)}">{escape(other)}</a>' if other else ""
    raw = " ".join(f'<a href="{escape(file)}">{escape(file)}</a>' for file in files)
    raw = f"<p class=files>Raw results: {raw}</p>" if raw else ""
    opening = _section(first, pictures) if first else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        f"<h1>{escape(title)}</h1>{opening}{_paragraphs(lead)}{raw}<nav>{links}</nav>{summary}{body}"
        "</body></html>\n"
    )


def _section(section: Section, pictures: Mapping[str, bytes]) -> str:
    parts = "".join(_part(part, pictures) for part in section.parts)
    head = f'<h2 id="{_anchor(section.title)}">{escape(section.title)}</h2>'
    return f"<section>{head}{_paragraphs(section.about)}{parts}</section>"


def _part(part: Table | Figure | str, pictures: Mapping[str, bytes]) -> str:
    if isinstance(part, str):
        return _paragraphs(part)
    if isinstance(part, Figure):
        data = base64.b64encode(pictures[part.name]).decode()
        return (
            f'<figure><img alt="{escape(part.caption)}" src="data:image/png;base64,{data}">'
            f"<figcaption>{escape(part.caption)}</figcaption></figure>"
        )
    head = "".join(f"<th>{escape(cell)}</th>" for cell in part.header)
    return (
        f'<div class="wide"><table><caption>{escape(part.caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(_rows(part))}</tbody></table></div>"
    )


def _rows(table: Table) -> Iterator[str]:
    for row in table.rows:
        kind = f' class="{row.kind}"' if row.kind else ""
        marks = row.marks or ("",) * len(row.cells)
        cells = (
            f"<td{f' class={mark}' if mark else ''}>{_broken(cell)}</td>"
            for cell, mark in zip(row.cells, marks, strict=True)
        )
        yield f"<tr{kind}>{''.join(cells)}</tr>"


def _broken(cell: str) -> str:
    """Return a cell's text, with its line breaks."""
    return escape(cell).replace("\n", "<br>")


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{escape(' '.join(part.split()))}</p>" for part in text.split("\n\n") if part.strip())


def _anchor(title: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in title.lower())
