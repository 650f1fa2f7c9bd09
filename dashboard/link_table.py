"""Tables of texts with links: these open in the same tab, and texts can be copied and searched."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

from longwave.dashboard import page_frame
from longwave.platform.figures.svg import escape_text
from longwave.platform.render.harmless import escape_invisible

BEST = ' class="best"'


@dataclass(frozen=True)
class Link:
    """A text with a link to a page of the Lab.

    Attributes:
        text: The visible text.
        page: Name of the page.
        query: Query of its URL.
    """

    text: str
    page: str
    query: Mapping[str, str] = field(default_factory=dict)


def draw_link_table(
    head: Sequence[str],
    lines: Sequence[Sequence[str | Link]],
    label: str,
    bold: Collection[tuple[int, int]] = (),
) -> None:
    """Draw a table.

    Args:
        head: Headings of its columns.
        lines: Cells, line by line.
        label: Its content, for screen readers.
        bold: Cells (line, column) in bold on a coloured background.
    """
    headings = "".join(f"<th>{_escape(name)}</th>" for name in head)
    rows = "".join(
        "<tr>" + "".join(
            f"<td{BEST * ((i, j) in bold)}>{_cell(cell)}</td>" for j, cell in enumerate(line)
        ) + "</tr>"
        for i, line in enumerate(lines)
    )  # fmt: skip
    table = f'<table aria-label="{_escape(label)}"><thead><tr>{headings}</tr></thead><tbody>{rows}</tbody></table>'
    st.html(f'<div class="link-table" tabindex="0">{table}</div>')


def _cell(cell: str | Link) -> str:
    """Return a cell as HTML."""
    if isinstance(cell, str):
        return _escape(cell)
    return f'<a href="{_escape(page_frame.page_address(cell.page, cell.query))}">{_escape(cell.text)}</a>'


def _escape(text: str) -> str:
    return escape_text(escape_invisible(text))
