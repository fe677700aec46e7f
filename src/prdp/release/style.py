"""The style of all pictures: colours that colour-blind readers tell apart, a light grid, one type size."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from prdp.errors import InvalidRequest

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#999999"
"""Okabe and Ito's; they differ in lightness too, so that they survive a grey print."""

ENDINGS = (".png", ".svg", ".pdf", ".html")


def axes(count: int = 1, *, height: float = 3.5) -> list[Any]:
    """Return new axes side by side, in a figure of their own; a notebook shows it below its cell.

    Raises:
        InvalidRequest: matplotlib is not there; the message says how to get it.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  (an extra)
    except ImportError:
        raise InvalidRequest("plot needs matplotlib, which is not here: pip install 'prdp[plot]'.") from None
    make: Callable[..., Figure] = Figure
    if "ipykernel" in sys.modules:  # a notebook shows what pyplot has made
        from matplotlib.pyplot import figure as make  # noqa: PLC0415
    figure = make(figsize=(6.0 * count, height), layout="constrained")
    return list(figure.subplots(1, count, sharey=True, squeeze=False)[0])


def dress(panel: Any, title: str, across: str, up: str) -> None:
    """Give axes their title, names and grid."""
    panel.set_title(title, loc="left", fontsize="medium")
    panel.set_xlabel(across)
    panel.set_ylabel(up)
    panel.grid(alpha=0.3)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def refuse_unless_picture(path: Path | str) -> None:
    """Refuse a file that no picture can be written to."""
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        raise InvalidRequest(f"{path.name} has no ending of a picture: write {', '.join(ENDINGS)}.")
    if not path.parent.is_dir():
        raise InvalidRequest(f"there is no folder {path.parent} for the picture {path.name}.")


def save(panel: Any, path: Path | str) -> None:
    """Write the figure of some axes to a file: PNG, SVG, PDF, or an HTML page."""
    path = Path(path)
    figure = (panel[0] if hasattr(panel, "__len__") else panel).get_figure()
    refuse_unless_picture(path)
    if path.suffix.lower() != ".html":
        figure.savefig(path, dpi=150)
        return
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg")
    svg = drawn.getvalue()
    title = escape(str((panel[0] if hasattr(panel, "__len__") else panel).get_title(loc="left")))
    page = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
    page += "<style>svg { max-width: 100%; height: auto }</style>"
    path.write_text(page + svg[svg.index("<svg") :] + "</html>\n", encoding="utf-8")
