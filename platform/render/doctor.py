"""Output of ``longwave doctor``: findings, and what was saved from a damaged store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from longwave.platform.render.terminal import print_line, print_table

if TYPE_CHECKING:
    from longwave.platform.doctor import Finding
    from longwave.platform.storage.repair import RepairedStore


def print_findings(findings: Sequence[Finding]) -> None:
    """Print findings, one per line."""
    states = {True: Text("ok", "green"), False: Text("broken", "red"), None: Text("slow", "yellow")}
    lines = [(states[f.good], f.what, f.detail) for f in findings]
    print_table(["", "what", "found"], lines, prose=[2])


def print_repaired(repaired: RepairedStore) -> None:
    """Print what was saved from a damaged store, and what to do next."""
    lines = [
        (t.table, t.saved, "unknown" if t.lost is None else t.lost) for t in repaired.tables if t.saved or t.lost != 0
    ]
    print_table(["rows of", "saved", "lost"], lines, title=str(repaired.file), right=(1, 2))
    if repaired.again:
        print_line(f"  Trials to train again, by resuming their sweeps: {', '.join(repaired.again)}.")
    print_line(f"  The old store is unchanged. Use the new one with --store sqlite:///{repaired.file.absolute()}.")
