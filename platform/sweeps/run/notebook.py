"""A view that is updated in place in a notebook, without widgets, so that any notebook shows it."""

from __future__ import annotations

import importlib
import io
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console, RenderableType

EVERY = 0.5
"""Least seconds between two updates."""
WIDTH = 100
FRAME = '<pre style="white-space:pre;line-height:1.3;font-family:monospace">{code}</pre>'


class NotebookLive:
    """Shows a renderable in the output of the notebook cell that runs.

    Args:
        picture: Returns what to show now.
    """

    def __init__(self, picture: Callable[[], RenderableType]) -> None:
        self.picture, self._last = picture, 0.0
        self._output: Any = None

    def start(self) -> None:
        """Start the output."""
        shown: Any = importlib.import_module("IPython.display")
        self._output, self._last = shown.display(shown.HTML(self._html()), display_id=True), time.monotonic()

    def refresh(self) -> None:
        """Update the output, unless that was done a moment ago."""
        if self._output is not None and time.monotonic() - self._last > EVERY:
            self._show()

    def stop(self) -> None:
        """Update the output for the last time."""
        if self._output is not None:
            self._show()

    def _show(self) -> None:
        shown: Any = importlib.import_module("IPython.display")
        self._output.update(shown.HTML(self._html()))
        self._last = time.monotonic()

    def _html(self) -> str:
        page = Console(file=io.StringIO(), record=True, width=WIDTH, force_jupyter=False, force_terminal=True)
        page.print(self.picture())
        return page.export_html(inline_styles=True, code_format=FRAME)
