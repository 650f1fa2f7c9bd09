"""What a sweep shows in the output of a notebook's cell, updated in place."""

from __future__ import annotations

import importlib
import io
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console, RenderableType

UPDATE_SECONDS = 0.5
"""Least seconds between two updates."""
WIDTH = 100
"""Columns of the output."""
FRAME = '<pre style="white-space:pre;line-height:1.3;font-family:monospace">{code}</pre>'


class NotebookLive:
    """Shows a renderable in the output of the notebook cell that runs.

    Args:
        render: Returns what to show now.
    """

    def __init__(self, render: Callable[[], RenderableType]) -> None:
        self.render, self._last = render, 0.0
        self._output: Any = None

    def start(self) -> None:
        """Start the output."""
        display_module: Any = importlib.import_module("IPython.display")
        self._output = display_module.display(display_module.HTML(self._html()), display_id=True)
        self._last = time.monotonic()

    def refresh(self) -> None:
        """Update the output, unless it was updated a moment ago."""
        if self._output is not None and time.monotonic() - self._last > UPDATE_SECONDS:
            self._show()

    def stop(self) -> None:
        """Update the output for the last time."""
        if self._output is not None:
            self._show()

    def _show(self) -> None:
        display_module: Any = importlib.import_module("IPython.display")
        self._output.update(display_module.HTML(self._html()))
        self._last = time.monotonic()

    def _html(self) -> str:
        page = Console(file=io.StringIO(), record=True, width=WIDTH, force_jupyter=False, force_terminal=True)
        page.print(self.render())
        return page.export_html(inline_styles=True, code_format=FRAME)
