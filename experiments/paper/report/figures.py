"""Figures as PNG pictures: logarithmic axes, and lines that colour-blind readers can tell apart."""

from __future__ import annotations

import io
import math

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from experiments.methods import METHODS
from experiments.paper.report.parts import Figure, Panel

# Chosen one after another to lie far apart in CIELAB, also as people without green cones see them (a test
# measures it); each line also has a marker and a dash of its own.
LOOKS = (
    ("#0072b2", "o", "-"),
    ("#e00000", "s", "--"),
    ("#00a080", "^", "-."),
    ("#e0a080", "D", ":"),
    ("#400000", "v", "--"),
    ("#0000e0", "P", "-."),
    ("#800060", "x", ":"),
    ("#e0a0e0", "*", "-"),
    ("#006000", "<", "--"),
    ("#c8a800", "h", "-."),
    ("#808080", ">", ":"),
    ("#000040", "X", "--"),
)


def png(figure: Figure) -> bytes:
    """Draw a figure; the same figure gives the same bytes."""
    mpl.use("Agg")
    looks = _looks(figure)
    drawn, axes = plt.subplots(
        1, len(figure.panels), figsize=(1 + 4.2 * len(figure.panels), 4.6), sharey=True, squeeze=False
    )
    for place, panel in enumerate(figure.panels):
        _draw(axes[0][place], panel, looks, figure.top or math.inf, first=place == 0)
    handles = {
        text: handle for one in axes[0] for handle, text in zip(*one.get_legend_handles_labels(), strict=True)
    }
    columns = len(figure.panels) + 1
    drawn.legend(handles.values(), handles.keys(), loc="lower center", ncols=columns, frameon=False)
    drawn.tight_layout(rect=(0, 0.06 + 0.05 * ((len(handles) - 1) // columns), 1, 1))
    out = io.BytesIO()
    drawn.savefig(out, format="png", dpi=130, metadata={"Software": None})
    plt.close(drawn)
    return out.getvalue()


def _looks(figure: Figure) -> dict[str, tuple[str, str, str]]:
    """Return a look for each line: a method has the same one in all figures."""
    names = list(dict.fromkeys(line.name for panel in figure.panels for line in panel.lines))
    places = {method.name: place for place, method in enumerate(METHODS)}
    return {name: LOOKS[places.get(name, place) % len(LOOKS)] for place, name in enumerate(names)}


def _draw(
    axes: Axes, panel: Panel, looks: dict[str, tuple[str, str, str]], top: float, *, first: bool
) -> None:
    for line in panel.lines:
        colour, marker, dash = looks[line.name]
        xs = [x for x, _ in line.points]
        ys = [min(y, top) for _, y in line.points]
        thick = 2.6 if line.kind == "ours" else 1.5
        axes.plot(
            xs,
            ys,
            label=line.name,
            color=colour,
            marker=marker,
            markersize=5,
            linestyle=dash,
            linewidth=thick,
        )
        if line.bars:
            floor = min(y for y in ys if y > 0) / 100  # a logarithmic axis has no zero
            least, greatest = (
                [min(max(y, floor), top) for y in ends] for ends in zip(*line.bars, strict=True)
            )
            axes.vlines(xs, least, greatest, color=colour, linewidth=1.2)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(panel.title)
    axes.set_xlabel(panel.across)
    if first:
        axes.set_ylabel(panel.up)
    axes.grid(visible=True, which="major", color="#dddddd")
