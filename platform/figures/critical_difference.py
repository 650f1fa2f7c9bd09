"""Critical-difference figures, drawn by scikit-posthocs and matplotlib."""

from __future__ import annotations

import io
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from longwave.files import atomic_file
from longwave.platform.boards.diagram import LEVEL, Diagram
from longwave.platform.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".svg", ".pdf", ".png")
WIDTH, LINE = 8.0, 0.26
"""Inches: width of the axis, height of a line of text."""
INK = "#010203"
"""Placeholder for ``currentColor``, which matplotlib does not support; replaced in the SVG."""
THEME = "<style>svg { color-scheme: light dark; color: CanvasText; }</style>\n"
"""Dark text on a light page and light text on a dark one, unless the embedding page overrides it."""


def save_diagram(diagram: Diagram, file: Path, note: str = "") -> None:
    """Write the figure as SVG, PDF or PNG, by the file's suffix; ``note`` is appended to its caption.

    Raises:
        ConfigError: Another suffix, or the file cannot be written.
    """
    kind = file.suffix.lower()
    if kind not in FORMATS:
        raise ConfigError(f"A figure is written as {', '.join(FORMATS)}, and {file.name!r} is none of them.")
    try:
        content = draw_diagram(diagram, note).encode() if kind == ".svg" else _written(diagram, note, kind[1:], "black")
        with atomic_file(file) as partial:
            partial.write_bytes(content)
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}. Name another file.") from None


def draw_diagram(diagram: Diagram, note: str = "") -> str:
    """Return the figure as SVG in ``currentColor``, with text as text; equal diagrams give equal bytes."""
    text = _written(diagram, note, "svg", INK).decode()
    head, marker, tail = text.replace(INK, "currentColor").partition(" <defs>\n")
    return f"{head} {THEME}{marker}{tail}"


def _written(diagram: Diagram, note: str, kind: str, ink: str) -> bytes:
    """Return the content of the figure's file in one format."""
    from matplotlib.style import context

    colours = dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color"), ink)
    reproducible = {"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "longwave", "pdf.fonttype": 42}
    omitted = {"svg": ("Date", "Creator", "Format", "Type"), "pdf": ("CreationDate",), "png": ()}[kind]
    file = io.BytesIO()
    with context({**colours, **reproducible}, after_reset=True):
        _drawn(diagram, note, ink).savefig(
            file,
            format=kind,
            metadata=dict.fromkeys(omitted),
            bbox_inches="tight",
            transparent=kind == "svg",
            dpi=200,
        )
    return file.getvalue()


def _drawn(diagram: Diagram, note: str, ink: str) -> Figure:
    """Return the figure: the axis above, bars, then models with their ranks, the caption below."""
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from scikit_posthocs import critical_difference_diagram  # type: ignore[import-untyped]

    names = [*diagram.ranks]
    figure = Figure()
    axes = figure.add_axes((0, 0, 1, 1))
    drawn = critical_difference_diagram(
        dict(diagram.ranks),
        DataFrame(diagram.pairs, index=names, columns=names),
        alpha=LEVEL,
        ax=axes,
        label_fmt_left="{label} {rank:.2f}",
        label_fmt_right="{rank:.2f} {label}",
        marker_props={"clip_on": False},
        elbow_props={"linewidth": 1, "color": ink, "clip_on": False},
        crossbar_props={"linewidth": 3, "color": ink, "marker": "o", "clip_on": False},
        text_h_margin=len(names) / 100,
    )
    for [bar] in drawn["crossbars"]:  # the library's order of dots is that of a set and differs between processes
        bar.set_xdata(sorted(bar.get_xdata()))
    depth = 1 - min(label.get_position()[1] for label in drawn["labels"])
    axes.set(xlim=(1, len(names)), ylim=(-depth, 0), xticks=range(1, len(names) + 1))
    axes.set_xlabel("mean rank: 1 is best")
    axes.xaxis.set_label_position("top")
    caption = textwrap.fill(" ".join(filter(None, (diagram.caption, note))), 120)
    axes.text(0.5, 0, caption, transform=axes.transAxes, ha="center", va="top", fontsize=9)
    figure.set_size_inches(WIDTH, LINE * depth)
    return figure
