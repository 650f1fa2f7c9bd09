"""Command that measures a driver at scale: bench scale."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longwave.platform.cli.app import ListFormat
from longwave.platform.cli.tools import bench


@bench.command("scale")
def bench_scale(
    trials: Annotated[int, typer.Option(min=20, help="Trials of the sweep.")] = 100_000,
    workers: Annotated[int, typer.Option(min=1, help="Simulated workers.")] = 1_000,
    pack: Annotated[int, typer.Option(min=1, help="Trials a pack.")] = 10,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of a trial.")] = 5,
    earlier: Annotated[int, typer.Option(min=0, help="Runs of other sweeps in the store, about.")] = 10_000,
    database: Annotated[str, typer.Option(help="sqlite or postgresql alone; empty for both.")] = "",
    out: Annotated[Path | None, typer.Option(help="File for all numbers and versions, JSON.")] = None,
    page: Annotated[Path | None, typer.Option(help="File for a page about them, Markdown.")] = None,
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table,
) -> int:
    """Measure one driver under simulated workers: plan, leases, store and resume are real, the training is not.

    The driver is killed halfway and another goes on. Exits with 1 if a trial is lost or trained twice.

    Example: longwave bench scale --trials 2000 --workers 50 --database sqlite
    """
    import json

    from longwave.files import whole
    from longwave.platform.bench.scale import scale_benchmark
    from longwave.platform.bench.scale_page import page as written
    from longwave.platform.bench.scale_parts import ScaleSize
    from longwave.platform.errors import ConfigError
    from longwave.platform.render import bench as render_bench
    from longwave.platform.render import terminal

    for file in (out, page):
        if file is not None and not file.absolute().parent.is_dir():
            raise ConfigError(f"{file}: no folder {file.absolute().parent}.")
    if database not in ("", "sqlite", "postgresql"):
        raise ConfigError(f"--database is sqlite or postgresql, got {database!r}.")
    with terminal.waiting("Measuring") as say:
        report = scale_benchmark(ScaleSize(trials, workers, pack, epochs, earlier), database, say)
    texts = {out: json.dumps(report.to_dict(), indent=2, ensure_ascii=False), page: written(report)}
    for file, text in texts.items():
        if file is not None:
            with whole(file) as partial:
                partial.write_text(text, encoding="utf-8")
    render_bench.scale(report, format.value)
    return 0 if report.sound else 1
