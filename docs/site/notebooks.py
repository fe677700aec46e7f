"""A notebook that has been run, as a page: its texts, its code, and what the code printed and drew."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import nbformat


def as_page(path: Path) -> tuple[str, dict[str, bytes]]:
    """Return a notebook as Markdown, and its pictures by name."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            name = f"{path.stem}_{len(pictures) + 1}.png"
            picture = output.get("data", {}).get("image/png")
            if picture is None:
                parts.append(_shown(output))
            else:
                pictures[name] = base64.b64decode(picture)
                parts.append(f"![{cell.metadata.get('alt', 'what the code draws')}]({name})")
    run = f"*This page is the notebook `examples/{path.name}`; its noise is drawn anew wherever it is run.*"
    return "\n\n".join([*parts, run, ""]), pictures


def _shown(output: Any) -> str:
    """Return what was printed, or a result as the notebook shows it."""
    if output.output_type == "stream":
        return f"```{{.text .printed}}\n{output.text.rstrip()}\n```"
    html = output.data.get("text/html")
    if html is not None:
        return f'<div class="shown" markdown="0">\n{html.strip()}\n</div>'
    return f"```{{.text .printed}}\n{output.data['text/plain'].rstrip()}\n```"
