"""Command that measures boards, and the Lab in a browser: bench board."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longwave.platform.cli.app import ListFormat
from longwave.platform.cli.tools import bench


@bench.command("board")
def bench_board(
    runs: Annotated[int, typer.Option(min=10_000, help="Runs in the store, about.")] = 100_000,
    repeats: Annotated[int, typer.Option(min=1, help="Turns of each line; the fastest counts, the Lab's median.")] = 5,
    dashboard: Annotated[bool, typer.Option(help="Measure the Lab in place of the boards, in a browser.")] = False,
    sessions: Annotated[int, typer.Option(min=1, help="Visitors of the Lab at once.")] = 20,
    clicks: Annotated[int, typer.Option(min=1, help="Clicks of each, one in ten seconds.")] = 6,
    out: Annotated[Path | None, typer.Option(help="File for the Lab's numbers and versions, JSON.")] = None,
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table,
) -> None:
    """Measure how long boards take over many generated runs. They come from SQLite and, with pgserver, from PostgreSQL.

    With --dashboard, how long the Lab takes in a headless Chromium: pages, filters, many visitors, memory.

    Example: longwave bench board --dashboard --out lab.json
    """
    from longwave.platform.bench.board import board_benchmark
    from longwave.platform.errors import ConfigError
    from longwave.platform.render import bench as render_bench
    from longwave.platform.render import terminal

    if out and not (dashboard and out.absolute().parent.is_dir() and not out.is_dir()):
        raise ConfigError("--out is a file in a folder that is there, and goes with --dashboard.")
    if dashboard:
        return _lab(runs, repeats, sessions, clicks, out, format.value)
    with terminal.waiting("Measuring"):
        measured = board_benchmark(runs, repeats)
    render_bench.boards(measured, format.value)


def _lab(runs: int, repeats: int, sessions: int, clicks: int, out: Path | None, format: str) -> None:
    import json

    from longwave.files import whole
    from longwave.platform.bench.lab import lab_benchmark
    from longwave.platform.render import bench as render_bench
    from longwave.platform.render import terminal

    with terminal.waiting("Measuring") as say:
        report = lab_benchmark(runs, repeats, sessions, clicks, say)
    if out is not None:
        with whole(out) as partial:
            partial.write_text(json.dumps(report.to_dict(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    render_bench.lab(report, format)
