"""The first trials of a sweep, one table per cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from longwave.platform.boards.row import SHORT
from longwave.platform.records.search import searched_by
from longwave.platform.records.trial import FIELDS, TrialConfig
from longwave.platform.render.terminal import print_json, print_line, print_table, table_width
from longwave.platform.wording import describe_count

if TYPE_CHECKING:
    from longwave.platform.sweeps.plan.cells import CellPlan, Sweep


WIDE = 100
"""Width of a terminal from which on a plan shows full names, and seeds."""


def print_plan(sweep: Sweep, first: Sequence[Sequence[TrialConfig]], format: str, where: str) -> None:
    """Print the first trials of a sweep, one table per cell, and where they would be trained."""
    if format == "json":
        print_json([{"id": c.id, **c.to_dict()} for trials in first for c in trials])
        return
    file = sweep.file
    for task, variant in file.variant_by_task.items():
        print_line(f"{file.name}: {'search' if file.trials else 'retrainings'} on {task} {variant}".rstrip())
        for cell, trials in zip(sweep.cells, first, strict=True):
            if cell.base.task == task:
                print_line(f"  {_cell_summary(cell)}")
                for line in _warm_lines(cell) if file.warm or file.study else ():
                    print_line(f"  {line}")
                head, lines, drop = _trial_table(cell, trials)
                print_table(head, lines, drop=drop)
    each = "cell" if len(sweep.cells) > len(file.models) else "model"
    retrainings = describe_count(file.retrain, "retraining")
    if file.trials:
        retrainings = f"then {retrainings} of each {each}'s best"
        first_round = " This is the first round." if file.rounds > 1 else ""
        search_text = searched_by(file.model_dump(exclude_defaults=True))
        print_line(f"  {file.trials_text} trials a {each}: {search_text}, {retrainings}.{first_round}")
    else:
        print_line(f"  No search: {retrainings} per {each} of the settings in the file.")
    print_line(f"  On this machine: {where}.")


def _cell_summary(cell: CellPlan) -> str:
    """Return the settings that all trials of a cell share."""
    from longwave.platform.about import departures_of
    from longwave.platform.registry import get_task

    base, drawn = cell.base, cell.drawn & {*FIELDS, *cell.numbers}
    sizes = [f"{name} {getattr(base, name)}" for name in ("hidden", "batch", "epochs") if name not in drawn]
    protocol = [p for p in departures_of(base, get_task(base.task)) if p.partition(" ")[0] not in drawn]
    searched = f" Searched: {', '.join(sorted(drawn))}." if drawn else ""
    return f"{cell.label}: {', '.join(sizes)}. Protocol: {'; '.join(protocol) or 'the recipe of the task'}.{searched}"


def _warm_lines(cell: CellPlan) -> Iterator[str]:
    """Yield the settings of a cell's warm start in order, and those left out, with the reason."""
    if not cell.warm:
        yield "Warm start: no known setting fits."
    for k, start in enumerate(start for start in cell.warm if not start.out):
        yield f"Trial {k + 1}: {start.source}" + (f", there with {start.differing}." if start.differing else ".")
    for start in cell.warm:
        if start.out:
            yield f"Left out: {start.source}: {start.out}."


def _trial_table(cell: CellPlan, trials: Sequence[TrialConfig]) -> tuple[list[str], list[list[object]], range]:
    """Return the headings and lines of a table of trials, and the columns that are dropped first if it is too wide.

    It has the sampled fields and parameters, and on a wide terminal seeds and unshortened ids as well.
    """
    full = (table_width() or WIDE) >= WIDE
    fields = [name for name in FIELDS if name in cell.drawn]
    fixed = cell.numbers.keys() - cell.drawn
    params = sorted(
        {name for c in trials for name in c.params if name not in fixed}, key=lambda name: (name != "lr", name)
    )
    lines: list[list[object]] = []
    for c in trials:
        drawn = [value if isinstance(value := getattr(c, name), str) else f"{value:.4g}" for name in fields]
        settings = [f"{c.params[n]:.4g}" if n in c.params else "" for n in params]
        lines.append([c.id, *drawn, *settings, c.seed] if full else [c.id[:SHORT], *drawn, *settings])
    head = ["trial", *fields, *params, *(["seed"] if full else [])]
    return head, lines, range(len(head) - 1, len(fields), -1)
