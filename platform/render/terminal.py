"""What the command line prints: tables for people, JSON and CSV for programs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from longwave.platform.boards.row import SHORT
from longwave.platform.records.search import searched_by
from longwave.platform.records.trial import FIELDS, TrialConfig
from longwave.platform.redaction import redacted
from longwave.platform.render import export
from longwave.platform.render.harmless import visible
from longwave.platform.statistics.stats import arrow

if TYPE_CHECKING:
    from longwave.platform.doctor import Finding
    from longwave.platform.storage.rescue import Rescued
    from longwave.platform.sweeps.entry import ModelPlan, Sweep


class Terminal(Console):
    """A console on which foreign text is text: whatever string is printed goes through ``render_str``."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Return text to print: without passwords, and with what would act on the terminal written out."""
        return super().render_str(visible(redacted(text)), **options)


_terminal = Terminal()
console = _terminal if _terminal.is_terminal else Terminal(width=200, force_jupyter=False)
"""Where tables go. A pipe has no width, so a table there gets room for its longest cells; a notebook gets text, too."""

LEGIBLE = 80
"""Columns of prose."""
WIDE = 100
"""Columns from which on a plan shows names in full, and seeds."""


@contextmanager
def waiting(what: str) -> Iterator[Callable[[str], None]]:
    """Show that something takes a while, on a terminal; what is yielded takes what is going on by then."""
    with Terminal(stderr=True).status(f"{what} …") as status:
        yield lambda now: status.update(f"{now} …")


def as_json(content: object) -> None:
    """Print JSON; text stays readable, and what is not finite would be an error."""
    print(export.as_json(content))


def measured(metric: str, unit: str, goal: str) -> str:
    """Return a metric with its unit and direction: ``accuracy [%] ↑``."""
    return f"{metric} [{unit}] {arrow(goal)}"


def say(text: str) -> None:
    """Print text as it is."""
    console.print(text, highlight=False, markup=False)


def markdown(text: str) -> None:
    """Print Markdown, at most ``LEGIBLE`` columns wide."""
    from rich.markdown import Markdown  # and with it Pygments

    console.print(Markdown(text), width=min(console.width, LEGIBLE))


def table(
    columns: Sequence[str],
    lines: Sequence[Sequence[object]],
    title: str = "",
    right: Collection[int] = (),
    **options: Any,
) -> None:
    """Print a table; cells are printed as they are, not as markup, those of the columns ``right`` to the right."""
    made = Table(title=title or None, title_justify="left", box=options.pop("box", box.SIMPLE_HEAD), **options)
    for k, name in enumerate(columns):
        made.add_column(name, justify="right" if k in right else "left", overflow="fold")
    for line in lines:
        made.add_row(*[cell if isinstance(cell, Text) else escape(str(cell)) for cell in line])
    console.print(made)


def show(tables: Sequence[export.Table], format: export.Format, content: object = None) -> None:
    """Print tables in any format; ``content`` is what JSON holds, by default the tables' records."""
    if format is not export.Format.table:
        print(export.write(tables, format, content), end="")
        return
    for made in tables:
        table(made.columns, made.lines, title=made.title, right=made.right, show_lines=False)
        if made.caption:
            say(f"  {made.caption}\n")


def plan(sweep: Sweep, first: Sequence[Sequence[TrialConfig]], format: str, where: str) -> None:
    """Print the trials that a sweep begins with, one table a cell, and where it would be trained."""
    if format == "json":
        as_json([{"id": c.id, **c.to_dict()} for trials in first for c in trials])
        return
    file = sweep.file
    for task, variant in file.places.items():
        say(f"{file.name}: {'search' if file.trials else 'retrainings'} on {task} {variant}".rstrip())
        for entry, trials in zip(sweep.entries, first, strict=True):
            if entry.base.task == task:
                say(f"  {_cell(entry)}")
                for line in _warm(entry) if file.warm else ():
                    say(f"  {line}")
                table(*_trials(entry, trials))
    each = "cell" if len(sweep.entries) > len(file.models) else "model"
    if file.trials:
        then = f"then {file.retrain} retrainings of each {each}'s best"
        begun = " This is the first round." if file.rounds > 1 else ""
        say(f"  {file.trials} trials a {each}: {searched_by(file.model_dump(exclude_defaults=True))}, {then}.{begun}")
    else:
        say(f"  Nothing is searched: {file.retrain} retrainings a {each}, of what the file fixes.")
    say(f"  On this machine: {where}.")


def _cell(entry: ModelPlan) -> str:
    """Return what all trials of a cell are trained by."""
    from longwave.platform.about import departed
    from longwave.platform.registry import get_task

    base, drawn = entry.base, entry.drawn & {*FIELDS, *entry.numbers}
    told = [f"{name} {getattr(base, name)}" for name in ("hidden", "batch", "epochs") if name not in drawn]
    protocol = [p for p in departed(base, get_task(base.task)) if p.partition(" ")[0] not in drawn]
    searched = f" Searched: {', '.join(sorted(drawn))}." if drawn else ""
    return f"{entry.label}: {', '.join(told)}. Protocol: {'; '.join(protocol) or 'the published recipe'}.{searched}"


def _warm(entry: ModelPlan) -> Iterator[str]:
    """Yield which settings the search of a cell begins with, in order, and which it leaves out and why."""
    if not entry.warm:
        yield "Warm start: no such setting is known."
    for k, start in enumerate(start for start in entry.warm if not start.out):
        yield f"Trial {k + 1}: {start.source}" + (f", there with {start.beside}." if start.beside else ".")
    for start in entry.warm:
        if start.out:
            yield f"Left out: {start.source}: {start.out}."


def _trials(entry: ModelPlan, trials: Sequence[TrialConfig]) -> tuple[list[str], list[list[object]]]:
    """Return heads and lines of a table of trials: what is drawn, parameters; names in full and seeds if it is wide."""
    wide = console.width >= WIDE
    fields = [name for name in FIELDS if name in entry.drawn]
    fixed = entry.numbers.keys() - entry.drawn
    params = sorted(
        {name for c in trials for name in c.params if name not in fixed}, key=lambda name: (name != "lr", name)
    )
    lines: list[list[object]] = []
    for c in trials:
        drawn = [value if isinstance(value := getattr(c, name), str) else f"{value:.4g}" for name in fields]
        told = [f"{c.params[n]:.4g}" if n in c.params else "" for n in params]
        lines.append([c.id, *drawn, *told, c.seed] if wide else [c.id[:SHORT], *drawn, *told])
    return ["trial", *fields, *params, *(["seed"] if wide else [])], lines


def findings(found: Sequence[Finding]) -> None:
    """Print what the doctor found."""
    states = {True: Text("ok", "green"), False: Text("broken", "red")}
    lines = [(states[f.good], f.what, f.found) for f in found]
    table(["", "what", "found"], lines)


def rescued(found: Rescued) -> None:
    """Print what was saved of a damaged store, and what is to be done next."""
    lines = [
        (t.table, t.saved, "unknown" if t.lost is None else t.lost) for t in found.tables if t.saved or t.lost != 0
    ]
    table(["rows of", "saved", "lost"], lines, title=str(found.file), right=(1, 2))
    if found.again:
        say(f"  To be trained again, by resuming their sweeps: {', '.join(found.again)}.")
    say(f"  The old store is as it was. Use the new one with --store sqlite:///{found.file.absolute()}.")
