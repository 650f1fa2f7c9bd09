"""Output of tasks: one table of all, or one page per task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Any

from longwave.platform.boards.texts import duration, metric_words, plain
from longwave.platform.literature.published import published_rows
from longwave.platform.literature.separation import printed_for, separation
from longwave.platform.render.export import Format
from longwave.platform.render.table import Table
from longwave.platform.render.terminal import (
    metric_label,
    print_line,
    print_table,
    print_tables,
    print_unwrapped,
    show_waiting,
)
from longwave.platform.statistics.scale import scale_of
from longwave.platform.wording import describe_count
from longwave.tasks.base.raw import DataError

if TYPE_CHECKING:
    from longwave.tasks.base.batch import Batch
    from longwave.tasks.base.data import Data
    from longwave.tasks.base.metric import Further, Metric
    from longwave.tasks.base.predictor import Measured
    from longwave.tasks.base.spec import Recipe, TaskSpec


def print_tasks(specs: Sequence[TaskSpec], format: Format) -> None:
    """Print tasks, one per line."""
    lines = [
        (s.name, s.family, s.id, s.length, _metric_name(s.metric), _chance_text(s), _where_text(s), s.summary)
        for s in specs
    ]
    records = [] if format is Format.table else [_task_record(spec) for spec in specs]
    columns = ("name", "family", "id", "steps", "metric", "chance", "data", "tests")
    prose, drop = frozenset({3, 5, 6, 7}), (2, 6, 5, 1, 3)
    print_tables([Table("", columns, lines, records=records, prose=prose, drop=drop)], format)
    if format is Format.table:
        print_unwrapped("  Details of one, with recipes and trivial predictors: longwave tasks NAME")


def print_task(spec: TaskSpec, format: Format) -> None:
    """Print one task in full, with the scores of its trivial predictors if its data are here. Formats for programs are
    as from ``print_tasks``.
    """
    if format is not Format.table:
        print_tasks([spec], format)
        return
    print_line(f"{spec.title} ({spec.id}), {spec.family}\n\n{spec.summary}\n")
    for name, text in _task_facts(spec).items():
        print_line(f"  {name}: {text}")
    for note in spec.protocols:
        print_line(f"  protocol{' (minor)' if note.minor else ''}: {note.text}")
    others = "all others" if len(spec.recipes) > 1 else "all models"
    recipes = [(model or others, _recipe_text(spec.recipe(model))) for model in spec.recipes]
    print_line("")
    print_table(["recipe for", "says"], recipes, prose=[1])
    try:
        with show_waiting(f"loading {spec.name}"):
            data = spec.load(spec.variant)
            predictors = spec.measured(data)
    except DataError as error:
        print_line(f"  {error}")
        return
    print_line(f"  data version {data.version}: {_split_sizes(data)}")
    print_line(f"  the same inputs in two splits: {_repeated_text(data)}")
    scores = {name: trivial.score for name, trivial in predictors.items()}
    if (chance := spec.chance_at(spec.variant, scores)) is not None and spec.chance is None:
        print_line(f"  chance on these data: {chance:.4g}")
    print_line("")
    head = ["trivial predictor", metric_words(spec.metric.name), "numbers kept", "time", "chosen on validation"]
    print_table(
        head,
        [_predictor_line(name, trivial) for name, trivial in predictors.items()],
        prose=[0, 4],
        drop=[2, 3],
        complete_format="",
    )
    _print_further(spec, predictors)
    for line in spec.lacking().values():
        print_line(f"  {line}")
    metric = spec.metric
    scale = scale_of(metric.name, metric.goal, metric.unit, metric.floor(data.test.targets))
    printed = printed_for(spec.name, spec.variant, metric.name)
    print_line(f"  {separation(scores, printed, scale, chance)}")


def _predictor_line(name: str, predictor: Measured) -> tuple[str, ...]:
    """Return a trivial predictor's line, with a dash for each unknown value."""
    return name, *map(plain, (predictor.score, predictor.numbers)), duration(predictor.seconds), plain(predictor.chosen)


def _print_further(spec: TaskSpec, predictors: Mapping[str, Measured]) -> None:
    """Print further measures, in one table per metric and axis."""
    numbered = enumerate(spec.further)
    for (metric, axis), group in groupby(numbered, lambda pair: (_metric_name(pair[1].metric), pair[1].x_name)):
        scored = list(group)
        head = (
            [f"{metric}, {axis}", *(f"{further_metric.x:g}" for _, further_metric in scored)]
            if axis
            else ["trivial predictor", metric]
        )
        print_table(
            head, [(name, *(plain(measured.further[k]) for k, _ in scored)) for name, measured in predictors.items()]
        )


def shape_facts(spec: TaskSpec) -> dict[str, str]:
    """Return length, lag, inputs and outputs of a task's examples in words."""
    tokens = f" of {spec.tokens} tokens" if spec.tokens else ""
    return {
        "steps": spec.length,
        "lag": spec.lag,
        "inputs": f"{describe_count(spec.inputs, 'feature')}{tokens}",
        "outputs": f"{spec.outputs}, {spec.targets}",
    }


def _task_facts(spec: TaskSpec) -> dict[str, str]:
    facts = {
        "metric": f"{_metric_name(spec.metric)}: {spec.metric.definition}",
        "chance": _chance_text(spec),
        **shape_facts(spec),
        "source": spec.source,
        "licence": spec.licence,
        "data": _where_text(spec),
    }
    if spec.further:
        facts["measured beside"] = "; ".join(
            {further_metric.metric.name: _further_record(further_metric) for further_metric in spec.further}.values()
        )
    if spec.variants:
        facts["variants"] = f"{spec.variants}; default {spec.variant or 'the plain one'}"
    printed = sum(row["task"] == spec.name for row in published_rows())
    return {**facts, "published results": str(printed)}


def _split_sizes(data: Data[Batch]) -> str:
    kind = "places of one example" if len(data.test) == 1 else "examples"
    train = "fresh batches" if data.train is None else f"{_count_examples(data.train)} {kind}"
    return f"{train} to train, {_count_examples(data.valid)} to validate, {_count_examples(data.test)} to test"


def _count_examples(split: Batch) -> int:
    """Return the number of examples of a split; of a single example, that of its scored positions, such as nodes."""
    scored = split.targets.isfinite().all(-1) if split.targets.is_floating_point() else split.targets >= 0
    return int(scored.sum()) if len(split) == 1 else len(split)


def _repeated_text(data: Data[Batch]) -> str:
    names = {"train": "training", "valid": "validation", "test": "test"}
    overlaps = [f"{n} {names[a]} in {names[b]}" for (a, b), n in data.repeated().items() if n]
    return ", ".join(overlaps) or "none"


def _task_record(spec: TaskSpec) -> dict[str, Any]:
    plain = "name id title family summary variant length lag licence source version horizon margin".split()
    metric = {"name": spec.metric.name, "unit": spec.metric.unit, "goal": spec.metric.goal}
    return {
        **{name: getattr(spec, name) for name in plain},
        "chance": spec.chance_at(spec.variant),
        "metric": {**metric, "definition": spec.metric.definition},
        "protocols": [asdict(note) for note in spec.protocols],
        "recipes": {model: asdict(spec.recipe(model)) for model in spec.recipes},
        "trivial": list(spec.baselines),
        "missing": spec.files.missing() if spec.files else [],
    }


def _metric_name(metric: Metric) -> str:
    return metric_label(metric.name, metric.unit, metric.goal)


def _further_record(further: Further) -> str:
    return f"{_metric_name(further.metric)}: {further.metric.definition}"


def _chance_text(spec: TaskSpec) -> str:
    chance = spec.chance_at(spec.variant)
    return "from the data" if chance is None else f"{chance:.4g}"


def _where_text(spec: TaskSpec) -> str:
    if spec.files is None:
        return "need no download"
    return "here" if not spec.files.missing() else spec.files.command(spec.name)


def _recipe_text(r: Recipe) -> str:
    """Return a recipe on one line, and its source on the next."""
    numbers = dict(r.numbers)
    factor = numbers.pop("drop_factor", 0.1)
    sizes = {"hidden": r.hidden, "batch": r.batch, "epochs": r.epochs, "steps an epoch": r.steps, "clip": r.clip}
    parts = [f"{name} {value:g}" for name, value in sizes.items() if value is not None]
    parts += [r.optimiser, *([] if r.schedule == "drops" else [r.schedule])]
    parts += [f"η·{factor:g} after epoch {epoch}" for epoch in r.drops]
    parts += [f"{name} {value:.4g}" for name, value in numbers.items()]
    return f"{', '.join(parts)}\n{r.source}"
