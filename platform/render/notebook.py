"""Tables as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Sequence

from longwave.platform.render.fit import is_empty
from longwave.platform.render.harmless import in_html
from longwave.platform.render.table import Table

CELL = "padding:2px 8px;text-align:{};vertical-align:top"


def tables_html(tables: Sequence[Table]) -> str:
    """Return tables as HTML in the notebook's style, with all cells escaped."""
    return "\n".join(map(_table_html, tables))


def _table_html(table: Table) -> str:
    sides = {k: "right" if k in table.right else "left" for k in range(len(table.columns)) if not is_empty(table, k)}
    head = "".join(_cell_html("th", table.columns[k], side) for k, side in sides.items())
    lines = [
        "".join(_cell_html("td", line[k], side, (i, k) in table.bold) for k, side in sides.items())
        for i, line in enumerate(table.lines)
    ]
    rows = "\n".join(f"<tr>{line}</tr>" for line in (head, *lines))
    title = f"<b>{in_html(table.title)}</b>" if table.title else ""
    answer_html = f"<p>{in_html(table.answer)}</p>" if table.answer else ""
    caption = in_html(table.caption)
    note = f"<details><summary>How to read it</summary><small>{caption}</small></details>" if caption else ""
    notes = "".join(f"<div><small>{in_html(text)}</small></div>" for text in table.notes)
    return f"<div>{answer_html}{title}<table>\n{rows}\n</table>{notes}{note}</div>"


def _cell_html(kind: str, text: str, side: str, bold: bool = False) -> str:
    content = in_html(str(text))
    return f'<{kind} style="{CELL.format(side)}">{f"<b>{content}</b>" if bold else content}</{kind}>'
