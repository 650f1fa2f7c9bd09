"""What the command line prints: tables for people, JSON and CSV for programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from longwave.platform.records import ENDED

if TYPE_CHECKING:
    from longwave.models.spec import ModelSpec, Param
    from longwave.platform.bench import Measurement
    from longwave.platform.doctor import Finding
    from longwave.platform.plan import Sweep
    from longwave.platform.records import TrialConfig
    from longwave.platform.store import Trial
    from longwave.tasks.spec import Recipe, TaskSpec

_terminal = Console()
console = _terminal if _terminal.is_terminal else Console(width=200)
"""Where tables go. A pipe has no width, so a table there gets room for its longest cells."""


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show that something takes a while, on a terminal."""
    with Console(stderr=True).status(f"{what} …"):
        yield


def as_json(content: object) -> None:
    """Print JSON; text stays readable, and what is not finite would be an error."""
    print(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))


def table(columns: Sequence[str], lines: Sequence[Sequence[object]], title: str = "", **options: Any) -> None:
    """Print a table."""
    made = Table(
        *columns, title=title or None, title_justify="left", box=options.pop("box", box.SIMPLE_HEAD), **options
    )
    for line in lines:
        made.add_row(*[str(cell) for cell in line])
    console.print(made)


def models(specs: Sequence[ModelSpec], format: str, full: bool) -> None:
    """Print models."""
    if format == "json":
        as_json([_model(spec) for spec in specs])
        return
    lines = [(s.name, s.title, ", ".join(p.symbol for p in (s.lr, *s.params)), s.source) for s in specs]
    table(["name", "model", "searched", "source"], lines)
    for spec in specs if full else ():
        table(
            ["key", "symbol", "range", "draw", "unit", "meaning", "published in"],
            [_parameter(p) for p in (spec.lr, *spec.params)],
        )
        for task, ranges in spec.ranges.items():
            console.print(f"  on {task}: " + ", ".join(f"{k} in [{a:g}, {b:g}]" for k, (a, b) in ranges.items()))
        for name, choices in spec.options.items():
            console.print(f"  {name}: {' or '.join(choices)}")


def _model(spec: ModelSpec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "title": spec.title,
        "source": spec.source,
        "params": [asdict(p) for p in (spec.lr, *spec.params)],
        "options": {name: list(choices) for name, choices in spec.options.items()},
        "ranges": {task: dict(ranges) for task, ranges in spec.ranges.items()},
    }


def _parameter(p: Param) -> tuple[str, ...]:
    draw = "log" if p.log else "linear"
    return (p.name, p.symbol, f"[{p.low:g}, {p.high:g}]", draw, p.unit, p.meaning, p.published or "—")


def tasks(specs: Sequence[TaskSpec], format: str, full: bool) -> None:
    """Print tasks."""
    if format == "json":
        as_json([_task(spec) for spec in specs])
        return
    lines = [(s.name, s.title, f"{s.metric.name} [{s.metric.unit}] {s.metric.goal}", s.summary) for s in specs]
    table(["name", "task", "metric", "tests"], lines)
    for spec in specs if full else ():
        chance = "no fixed value" if spec.chance is None else f"{spec.chance:.4g}"
        console.print(f"  metric: {spec.metric.definition}; chance: {chance}")
        console.print(f"  source: {spec.source}")
        if spec.variants:
            console.print(f"  variants: {spec.variants}; default {spec.variant}")
        table(
            ["recipe for", "hidden", "batch", "epochs", "steps an epoch", "η/10 after", "clip", "source"],
            [_recipe(model or "all others", recipe) for model, recipe in spec.recipes.items()],
        )


def _task(spec: TaskSpec) -> dict[str, Any]:
    metric = {"name": spec.metric.name, "unit": spec.metric.unit, "goal": spec.metric.goal}
    return {
        "name": spec.name,
        "title": spec.title,
        "summary": spec.summary,
        "variant": spec.variant,
        "metric": {**metric, "definition": spec.metric.definition},
        "chance": spec.chance,
        "recipes": {model: asdict(recipe) for model, recipe in spec.recipes.items()},
        "source": spec.source,
    }


def _recipe(model: str, r: Recipe) -> tuple[object, ...]:
    drops = ", ".join(map(str, r.drops)) or "—"
    return (model, r.hidden, r.batch, r.epochs, r.steps or "—", drops, r.clip or "—", r.source)


def plan(sweep: Sweep, trials: Sequence[TrialConfig], format: str) -> None:
    """Print the search trials of a sweep."""
    from longwave.platform.plan import about

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
        departures = "; ".join(about(first)["departures"]) or "the published recipe"
        console.print(f"  {model}: batch {first.batch}, {first.epochs} epochs. Protocol: {departures}", highlight=False)
    more = f"then {sweep.file.retrain} retrainings of each model's best"
    rounds = f" in {sweep.file.rounds} rounds (this is the first)" if sweep.file.rounds > 1 else ""
    console.print(
        f"  {sweep.file.trials} trials a model, drawn by {sweep.file.sampler}{rounds}, {more}.", highlight=False
    )


def status(name: str, trials: Sequence[Trial], format: str) -> None:
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
    reasons = Counter((t.config.model, t.run.reason) for t in trials if t.run and t.status == "failed")
    for (model, reason), count in reasons.most_common(5):
        console.print(f"  {model}: {count} failed: {reason}", highlight=False, markup=False)


def findings(found: Sequence[Finding]) -> None:
    """Print what the doctor found."""
    lines = [("[green]ok[/]" if f.good else "[red]broken[/]", f.what, escape(f.found)) for f in found]
    table(["", "what", "found"], lines)


def benchmark(lines: Sequence[Measurement], format: str) -> None:
    """Print a benchmark."""
    if format == "json":
        as_json([asdict(line) for line in lines])
        return
    rows = [(m.name, m.shape, m.path, f"{m.ms:.1f}", f"{m.ratio:.2f}", f"{m.per_member:.1f}") for m in lines]
    table(["what", "shape", "kernel path", "ms", "ratio to the first", "ms a member"], rows)
