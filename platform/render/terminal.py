"""What the command line prints: tables for people, JSON and CSV for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from longwave.platform.records.run import ENDED
from longwave.platform.render import export
from longwave.platform.statistics.stats import arrow

if TYPE_CHECKING:
    from longwave.platform.doctor import Finding
    from longwave.platform.records.stored import Asked
    from longwave.platform.records.trial import TrialConfig
    from longwave.platform.sweeps.plan import Sweep

_terminal = Console()
console = _terminal if _terminal.is_terminal else Console(width=200)
"""Where tables go. A pipe has no width, so a table there gets room for its longest cells."""


@contextmanager
def waiting(what: str) -> Iterator[Callable[[str], None]]:
    """Show that something takes a while, on a terminal; what is yielded takes what is going on by then."""
    with Console(stderr=True).status(f"{what} …") as status:
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
        made.add_column(name, justify="right" if k in right else "left")
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


def plan(sweep: Sweep, trials: Sequence[TrialConfig], format: str) -> None:
    """Print the search trials of a sweep."""
    from longwave.platform.about import departures
    from longwave.platform.registry import get_task

    if format == "json":
        as_json([{"id": c.id, **c.to_dict()} for c in trials])
        return
    names = sorted({name for c in trials for name in c.params}, key=lambda name: (name != "lr", name))
    lines = [
        (c.id, c.model, c.hidden, *[f"{c.params[n]:.4g}" if n in c.params else "" for n in names], c.seed)
        for c in trials
    ]
    table(["trial", "model", "hidden", *names, "seed"], lines, title=f"{sweep.file.name}: search on {trials[0].task}")
    for model in sweep.file.models:
        first = next(c for c in trials if c.model == model)
        protocol = "; ".join(departures(first, get_task(first.task))) or "the published recipe"
        console.print(f"  {model}: batch {first.batch}, {first.epochs} epochs. Protocol: {protocol}", highlight=False)
    more = f"then {sweep.file.retrain} retrainings of each model's best"
    rounds = f" in {sweep.file.rounds} rounds (this is the first)" if sweep.file.rounds > 1 else ""
    console.print(
        f"  {sweep.file.trials} trials a model, drawn by {sweep.file.sampler}{rounds}, {more}.", highlight=False
    )


def status(name: str, trials: Sequence[Asked], failed: Sequence[tuple[str, str]], format: str) -> None:
    """Print how the trials of a sweep stand."""
    tally = Counter(t.status for t in trials)
    ended = {str(state): tally[state] for state in ENDED}
    counts: dict[str, int] = {
        "planned": tally["planned"],
        "running": tally["running"],
        "done": sum(ended.values()),
        **ended,
    }
    if format == "json":
        as_json(counts)
        return
    table(list(counts), [list(counts.values())], title=f"{name}: {len(trials)} trials asked for")
    for (model, reason), count in Counter(failed).most_common(5):
        console.print(f"  {model}: {count} failed: {reason}", highlight=False, markup=False)


def findings(found: Sequence[Finding]) -> None:
    """Print what the doctor found."""
    states = {True: Text("ok", "green"), False: Text("broken", "red")}
    lines = [(states[f.good], f.what, f.found) for f in found]
    table(["", "what", "found"], lines)
