"""Output to the terminal: width, text, tables, JSON and pager."""

from __future__ import annotations

import io
import os
import pydoc
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any, Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table as RichTable
from rich.text import Text

from longwave.platform.boards.texts import metric_words
from longwave.platform.redaction import redacted
from longwave.platform.render import export
from longwave.platform.render.fit import (
    column_widths,
    fitting_columns,
    is_empty,
    lines_beneath,
    total_width,
    width_needed,
    wrap_text,
)
from longwave.platform.render.harmless import escape_invisible
from longwave.platform.render.table import Table
from longwave.platform.statistics.stats import arrow


class Terminal(Console):
    """A console that escapes foreign text: every printed string passes through ``render_str``. COLUMNS=0, which some
    programs set for an unknown width, is ignored, because Rich would print nothing.
    """

    def __init__(self, **options: Any) -> None:
        variables = {name: value for name, value in os.environ.items() if name != "COLUMNS" or value.strip("0")}
        super().__init__(**options, _environ=variables)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return text to print, without passwords and with control characters escaped."""
        return super().render_str(escape_invisible(redacted(text)), **options)


LEGIBLE = 80
"""Width of pages of text, in columns."""
PIPED = 200
"""Width of prose in a pipe, in columns; lines of tables are not wrapped there."""
BESIDE = 3
"""Columns between two tables side by side."""


def table_width() -> int | None:
    """Return the maximal width of a table: COLUMNS if set, else that of the terminal; None in a pipe."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and int(columns) else Terminal().width if sys.stdout.isatty() else None


def wide_console(min_width: int = 0) -> Terminal:
    """Return a console for prose, or for a table of at least this width."""
    return Terminal(width=max(table_width() or PIPED, min_width), force_jupyter=False)  # text in notebooks too


@contextmanager
def show_waiting(what: str) -> Iterator[Callable[[str], None]]:
    """Show a status line on a terminal inside the block; yield a function that changes it."""
    with Terminal(stderr=True).status(Text(f"{what} …")) as status:
        yield lambda message: status.update(Text(f"{message} …"))


class CapturedOutput(io.StringIO):
    """Captured output; tables fit the terminal on which it will be shown, if ``terminal`` says that there is one."""

    def __init__(self, terminal: bool = True) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        """Return whether it will be shown on a terminal."""
        return self.terminal


@contextmanager
def paging() -> Iterator[None]:
    """Show the block's output in the user's pager (``PAGER``, else less), unless it fits or goes to a pipe."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield
        return
    with redirect_stdout(CapturedOutput()) as page:
        yield
    text = page.getvalue()
    if text.count("\n") < Terminal().height:
        print(text, end="")
    else:
        os.environ.setdefault("LESS", "-R")  # otherwise less shows colour codes as text
        pydoc.pager(text)


def print_json(content: object) -> None:
    """Print readable JSON; raise ValueError for numbers that are not finite."""
    print(export.as_json(content))


def metric_label(metric: str, unit: str, goal: str) -> str:
    """Return a metric with its unit, if it has one, and its direction: ``accuracy [%] ↑``."""
    return f"{metric_words(metric)}{'' if unit == '1' else f' [{unit}]'} {arrow(goal)}"


def print_line(text: str) -> None:
    """Print text; leading spaces indent wrapped lines too. In a pipe nothing is wrapped, so commands stay whole."""
    indent = len(text) - len(text.lstrip(" "))
    console = wide_console(0 if table_width() else cell_len(text))
    if indent and "\n" not in text.rstrip("\n"):
        unindented = Text(escape_invisible(redacted(text.strip(" "))))
        _print_trimmed(console, Padding(unindented, (0, 0, 0, indent), expand=False))
    else:
        _print_trimmed(console, text)


def print_unwrapped(text: str) -> None:
    """Print text whose lines are never wrapped, so that a command in them can be copied."""
    Terminal(force_jupyter=False).print(text, soft_wrap=True, highlight=False, markup=False, emoji=False)


def _print_trimmed(console: Terminal, renderable: object) -> None:
    """Print something without trailing spaces."""
    with console.capture() as lines:
        console.print(renderable, highlight=False, markup=False, emoji=False)
    console.file.write(re.sub(" +$", "", lines.get(), flags=re.MULTILINE))


def print_markdown(text: str) -> None:
    """Print Markdown, at most ``LEGIBLE`` columns wide."""
    from rich.markdown import Markdown  # imports Pygments

    _print_trimmed(Terminal(width=min(wide_console().width, LEGIBLE), force_jupyter=False), Markdown(text))


def print_table(
    columns: Sequence[str],
    lines: Sequence[Sequence[object]],
    title: str = "",
    right: Collection[int] = (),
    prose: Collection[int] = (),
    drop: Sequence[int] = (),
    complete_format: str = "json",
) -> None:
    """Print a table whose cells may be Rich texts. See ``Table`` for the other arguments.

    Args:
        complete_format: Format of the command's output that has all columns, named if some do not fit; empty if none.
    """
    texts = [[cell.plain if isinstance(cell, Text) else str(cell) for cell in line] for line in lines]
    styles = {
        (i, k): cell.style for i, line in enumerate(lines) for k, cell in enumerate(line) if isinstance(cell, Text)
    }
    table = Table(title, columns, texts, right=frozenset(right), prose=frozenset(prose), drop=drop)
    _print_fitted(table, complete_format, styles)


def print_tables(tables: Sequence[Table], format: export.Format, content: object = None) -> None:
    """Print tables in any format; ``content`` is the content of JSON, by default the tables' records."""
    if format is not export.Format.table:
        print(export.format_tables(tables, format, content), end="")
        return
    for shown_table in tables:
        if shown_table.answer:
            print_line(f"{shown_table.answer}\n")
        _print_fitted(shown_table, "csv")
        if shown_table.caption:
            print_line(f"  {shown_table.caption}\n")


def print_beside(left: Table, right: Sequence[Table]) -> None:
    """Print a table with others stacked at its right if they fit, else in a row below it. Tables have their full width
    if the terminal has, and no titles, captions or notes.
    """
    width = table_width()
    widths = [total_width(column_widths(table, range(len(table.columns)), None)) for table in (left, *right)]
    first, *others = (_draw_table(table, range(len(table.columns)), width, rule=False) for table in (left, *right))
    rows: list[list[RenderableType]]
    if width is not None and widths[0] + BESIDE + max(widths[1:]) <= width:
        rows = [[first, Group(*(Padding(table, (k > 0, 0, 0, 0)) for k, table in enumerate(others)))]]
    elif width is not None and sum(widths[1:]) + BESIDE * (len(right) - 1) <= width:
        rows = [[first], [*others]]
    else:
        rows = [[table] for table in (first, *others)]
    for row in rows:
        grid = RichTable.grid(padding=(0, BESIDE, 0, 0), pad_edge=False)
        grid.add_row(*row)
        _print_trimmed(wide_console(sum(widths) + BESIDE * len(widths)), grid)
        print_line("")


def _print_fitted(
    table: Table, complete_format: str, styles: Mapping[tuple[int, int], str | Style] | None = None
) -> None:
    """Print the columns of a table that fit, its notes, and the names of columns left out, with what shows them."""
    shown = fitting_columns(table, table_width())
    if table.title:
        print_line(table.title)
    width = total_width(column_widths(table, shown, table_width()))
    _print_trimmed(wide_console(width), _draw_table(table, shown, table_width(), styles))
    for note in (*lines_beneath(table), *table.notes):
        print_line(f"  {note}")
    if left_out := [table.columns[k] for k in table.drop if k not in shown and not is_empty(table, k)]:
        needed = total_width([width_needed(table, k) for k in fitting_columns(table, None)])
        or_format = f" or --format {complete_format}" if complete_format else ""
        them = "them" if len(left_out) > 1 else "it"
        print_line(f"  Not shown: {', '.join(reversed(left_out))}. Show {them} with: COLUMNS={needed}{or_format}")
    print_line("")


def _draw_table(
    table: Table,
    shown: Sequence[int],
    width: int | None,
    styles: Mapping[tuple[int, int], str | Style] | None = None,
    rule: bool = True,
) -> RichTable:
    """Return some columns of a table as a Rich table of a width; without a rule its header is dim."""
    styles = styles or dict.fromkeys(table.bold, "bold")
    widths = column_widths(table, shown, width)
    drawn = RichTable(
        box=box.SIMPLE_HEAD if rule else None, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False,
        header_style="bold" if rule else "dim",
    )  # fmt: skip
    for k, column_width in zip(shown, widths, strict=True):
        side: Literal["left", "right"] = "right" if k in table.right else "left"
        drawn.add_column(
            Text(escape_invisible(redacted(table.columns[k]))), justify=side, overflow="fold", width=column_width
        )
    for i, line in enumerate(table.lines):
        cells = [escape_invisible(redacted(line[k])) for k in shown]
        texts = [
            wrap_text(cell, w) if k in table.prose else cell for k, cell, w in zip(shown, cells, widths, strict=True)
        ]
        drawn.add_row(*(Text(text, styles.get((i, k), "")) for k, text in zip(shown, texts, strict=True)))
    return drawn
