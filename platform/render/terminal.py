"""The terminal: its width, text, tables, JSON and the pager."""

from __future__ import annotations

import io
import os
import pydoc
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any, Literal

from rich import box
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from longwave.platform.redaction import redacted
from longwave.platform.render import export
from longwave.platform.render.fit import column_widths, fitting_columns, is_empty, lines_beneath, total_width, wrap_text
from longwave.platform.render.harmless import escape_invisible
from longwave.platform.statistics.stats import arrow

if TYPE_CHECKING:
    pass


class Terminal(Console):
    """A console on which foreign text is text: whatever string is printed goes through ``render_str``.

    COLUMNS=0, which some programs set where they know no width, counts as not set: Rich would print nothing.
    """

    def __init__(self, **options: Any) -> None:
        variables = {name: value for name, value in os.environ.items() if name != "COLUMNS" or value.strip("0")}
        super().__init__(**options, _environ=variables)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return text to print: without passwords, and with what would act on the terminal written out."""
        return super().render_str(escape_invisible(redacted(text)), **options)


LEGIBLE = 80
"""Columns of what is read as a page."""
WIDER = "Show them with: COLUMNS=200"
JSON_HINT = "Show them with: COLUMNS=200 or --format json"
ANY_HINT = "Show them with: COLUMNS=200 or --format csv"
PIPED = 200
"""Columns of prose in a pipe, which has no width; a line of a table is one line there, however long."""
BESIDE = 3
"""Columns between two tables that stand side by side."""


def table_width() -> int | None:
    """Return how many columns a table may take: as COLUMNS says, else as the terminal has; None for a pipe."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and int(columns) else Terminal().width if sys.stdout.isatty() else None


def wide_console(least: int = 0) -> Terminal:
    """Return a console for prose, or for a table that takes at least so many columns."""
    return Terminal(width=max(table_width() or PIPED, least), force_jupyter=False)  # in a notebook text, too


@contextmanager
def show_waiting(what: str) -> Iterator[Callable[[str], None]]:
    """Show that something takes a while, on a terminal; what is yielded takes what is going on by then."""
    with Terminal(stderr=True).status(f"{what} …") as status:
        yield lambda now: status.update(f"{now} …")


class _Page(io.StringIO):
    """What a pager will show: printed as on the terminal that it is shown on."""

    def isatty(self) -> bool:
        """Return that it is a terminal."""
        return True


@contextmanager
def paging() -> Iterator[None]:
    """Show what the block prints in the user's pager (``PAGER``, else less); as it is in a pipe, or if it fits."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield
        return
    with redirect_stdout(_Page()) as page:
        yield
    text = page.getvalue()
    if text.count("\n") < Terminal().height:
        print(text, end="")
    else:
        os.environ.setdefault("LESS", "-R")  # else it writes colours out
        pydoc.pager(text)


def print_json(content: object) -> None:
    """Print JSON; text stays readable, and what is not finite would be an error."""
    print(export.as_json(content))


def metric_label(metric: str, unit: str, goal: str) -> str:
    """Return a metric with its unit, if it has one, and its direction: ``accuracy [%] ↑``."""
    return f"{metric.replace('_', ' ')}{'' if unit == '1' else f' [{unit}]'} {arrow(goal)}"


def print_line(text: str) -> None:
    """Print text as it is; what begins with spaces keeps them where its lines go on."""
    ahead = len(text) - len(text.lstrip(" "))
    if ahead and "\n" not in text.rstrip("\n"):
        _print_trimmed(
            wide_console(), Padding(Text(escape_invisible(redacted(text.strip(" ")))), (0, 0, 0, ahead), expand=False)
        )
    else:
        _print_trimmed(wide_console(), text)


def _print_trimmed(console: Terminal, drawn: object) -> None:
    """Print something without spaces at the ends of its lines."""
    with console.capture() as lines:
        console.print(drawn, highlight=False, markup=False)
    console.file.write(re.sub(" +$", "", lines.get(), flags=re.MULTILINE))


def print_markdown(text: str) -> None:
    """Print Markdown, at most ``LEGIBLE`` columns wide."""
    from rich.markdown import Markdown  # and with it Pygments

    _print_trimmed(Terminal(width=min(wide_console().width, LEGIBLE), force_jupyter=False), Markdown(text))


def print_table(
    columns: Sequence[str],
    lines: Sequence[Sequence[object]],
    title: str = "",
    right: Collection[int] = (),
    prose: Collection[int] = (),
    drop: Sequence[int] = (),
    hint: str = JSON_HINT,
) -> None:
    """Print a table; its cells may be Rich's texts. See ``export.Table`` for the rest.

    Args:
        hint: How columns are seen that a narrow terminal has no room for.
    """
    texts = [[cell.plain if isinstance(cell, Text) else str(cell) for cell in line] for line in lines]
    styles = {
        (i, k): cell.style for i, line in enumerate(lines) for k, cell in enumerate(line) if isinstance(cell, Text)
    }
    made = export.Table(title, columns, texts, right=frozenset(right), prose=frozenset(prose), drop=drop)
    _print_fitted(made, hint, styles)


def print_tables(tables: Sequence[export.Table], format: export.Format, content: object = None) -> None:
    """Print tables in any format; ``content`` is what JSON holds, by default the tables' records."""
    if format is not export.Format.table:
        print(export.format_tables(tables, format, content), end="")
        return
    for made in tables:
        if made.answer:
            print_line(f"{made.answer}\n")
        _print_fitted(made, ANY_HINT)
        if made.caption:
            print_line(f"  {made.caption}\n")


def print_beside(left: export.Table, right: Sequence[export.Table]) -> None:
    """Print a table and others: these below each other at its right where there is room, else beneath it in a row.

    Tables are as wide as their cells are, and have no titles, captions or notes.
    """
    needed = [total_width(column_widths(table, range(len(table.columns)), None)) for table in (left, *right)]
    first, *others = (_draw_table(table, range(len(table.columns)), None, rule=False) for table in (left, *right))
    width = table_width()
    rows: list[list[RenderableType]]
    if width is not None and needed[0] + BESIDE + max(needed[1:]) <= width:
        rows = [[first, Group(*(Padding(table, (k > 0, 0, 0, 0)) for k, table in enumerate(others)))]]
    elif width is not None and sum(needed[1:]) + BESIDE * (len(right) - 1) <= width:
        rows = [[first], [*others]]
    else:
        rows = [[table] for table in (first, *others)]
    for row in rows:
        grid = Table.grid(padding=(0, BESIDE, 0, 0), pad_edge=False)
        grid.add_row(*row)
        _print_trimmed(wide_console(sum(needed) + BESIDE * len(needed)), grid)
        print_line("")


def _print_fitted(made: export.Table, hint: str, styles: Mapping[tuple[int, int], str | Style] | None = None) -> None:
    """Print a table as far as there is room for it, and beneath it what it left out and what stands there anyway."""
    shown = fitting_columns(made, table_width())
    if made.title:
        print_line(made.title)
    width = total_width(column_widths(made, shown, table_width()))
    _print_trimmed(wide_console(width), _draw_table(made, shown, table_width(), styles))
    for note in (*lines_beneath(made), *made.notes):
        print_line(f"  {note}")
    if gone := [made.columns[k] for k in made.drop if k not in shown and not is_empty(made, k)]:
        print_line(f"  Not shown: {', '.join(reversed(gone))}. {hint}")
    print_line("")


def _draw_table(
    made: export.Table,
    shown: Sequence[int],
    width: int | None,
    styles: Mapping[tuple[int, int], str | Style] | None = None,
    rule: bool = True,
) -> Table:
    """Return some columns of a table as Rich draws it in a width; without a rule its head is dim."""
    styles = styles or dict.fromkeys(made.bold, "bold")
    wanted = column_widths(made, shown, width)
    drawn = Table(
        box=box.SIMPLE_HEAD if rule else None, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False,
        header_style="bold" if rule else "dim",
    )  # fmt: skip
    for k, wide in zip(shown, wanted, strict=True):
        side: Literal["left", "right"] = "right" if k in made.right else "left"
        drawn.add_column(escape(made.columns[k]), justify=side, overflow="fold", width=wide)
    for i, line in enumerate(made.lines):
        cells = [escape_invisible(redacted(line[k])) for k in shown]
        texts = [
            wrap_text(cell, w) if k in made.prose else cell for k, cell, w in zip(shown, cells, wanted, strict=True)
        ]
        drawn.add_row(*(Text(text, styles.get((i, k), "")) for k, text in zip(shown, texts, strict=True)))
    return drawn
