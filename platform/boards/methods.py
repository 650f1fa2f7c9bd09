"""The text on methods: what the numbers of a board claim, by which test, and how often they are wrong."""

from __future__ import annotations

from pathlib import Path


def methods() -> str:
    """Return the text as Markdown: its title, an introduction, and sections that begin with ``##``."""
    return Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
