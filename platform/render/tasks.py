"""How tasks are printed: one table of all, or one page a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Any

from longwave.platform.boards.texts import duration, plain
from longwave.platform.literature.published import published_rows
from longwave.platform.literature.separation import printed_for, separation
from longwave.platform.render.export import Format, Table
from longwave.platform.render.terminal import WIDER, measured, print_line, show, table, waiting
from longwave.platform.statistics.scale import scale_of
from longwave.tasks.base.raw import DataError

if TYPE_CHECKING:
    from longwave.tasks.base.batch import Batch
    from longwave.tasks.base.data import Data
    from longwave.tasks.base.metric import Further, Metric
    from longwave.tasks.base.predictor import Measured
    from longwave.tasks.base.spec import Recipe, TaskSpec


def listing(specs: Sequence[TaskSpec], format: Format) -> None:
    """Print tasks, a line each."""
    lines = [(s.name, s.family, s.id, s.length, _metric(s), _chance(s), _where(s), s.summary) for s in specs]
    records = [] if format is Format.table else [_task(spec) for spec in specs]
    columns = ("name", "family", "id", "steps", "metric", "chance", "data", "tests")
    prose, drop = frozenset({3, 5, 6, 7}), (2, 6, 5, 1, 3)
    show([Table("", columns, lines, records=records, prose=prose, drop=drop)], format)
    if format is Format.table:
        print_line("  One in full, with recipes and trivial predictors: longwave tasks NAME")


def page(spec: TaskSpec, format: Format) -> None:
    """Print one task in full, its trivial predictors measured, if its data is here, and how far they get.

    In a format for programs it is printed as ``listing`` does.
    """
    if format is not Format.table:
        listing([spec], format)
        return
    print_line(f"{spec.title} ({spec.id}), {spec.family}\n\n{spec.summary}\n")
    for name, text in _facts(spec).items():
        print_line(f"  {name}: {text}")
    for told in spec.protocols:
        print_line(f"  protocol{' (minor)' if told.minor else ''}: {told.text}")
    recipes = [(model or "all others", _recipe(spec.recipe(model))) for model in spec.recipes]
    print_line("")
    table(["recipe for", "says"], recipes, prose=[1])
    try:
        with waiting(f"loading {spec.name}"):
            data = spec.load(spec.variant)
            found = spec.measured(data)
    except DataError as error:
        print_line(f"  {error}")
        return
    print_line(f"  data version {data.version}: {_sizes(data)}")
    print_line(f"  the same inputs in two splits: {_repeated(data)}")
    scores = {name: each.score for name, each in found.items()}
    if (chance := spec.chance_at(spec.variant, scores)) is not None and spec.chance is None:
        print_line(f"  chance on these data: {chance:.4g}")
    print_line("")
    head = ["trivial predictor", spec.metric.name, "numbers kept", "time", "chosen on validation"]
    table(head, [_measured(name, each) for name, each in found.items()], prose=[0, 4], drop=[2, 3], hint=WIDER)
    _further(spec, found)
    for line in spec.lacking().values():
        print_line(f"  {line}")
    scale = scale_of(spec.metric.goal, spec.metric.unit, spec.metric.floor(data.test.targets))
    printed = printed_for(spec.name, spec.variant, spec.metric.name)
    print_line(f"  {separation(scores, printed, scale, spec.searched, chance)}")


def _measured(name: str, found: Measured) -> tuple[str, ...]:
    """Return a trivial predictor's line: a number it does not say, or nothing that was chosen, is a dash."""
    return name, *map(plain, (found.score, found.numbers)), duration(found.seconds), plain(found.chosen)


def _further(spec: TaskSpec, found: Mapping[str, Measured]) -> None:
    """Print what is measured beside the metric, a table for each that is measured along an axis."""
    numbered = enumerate(spec.further)
    for (metric, axis), group in groupby(numbered, lambda told: (_called(told[1].metric), told[1].x_name)):
        places = list(group)
        head = [f"{metric}, {axis}", *(f"{each.x:g}" for _, each in places)] if axis else ["trivial predictor", metric]
        table(head, [(name, *(plain(one.further[k]) for k, _ in places)) for name, one in found.items()])


def _facts(spec: TaskSpec) -> dict[str, str]:
    facts = {
        "metric": f"{_metric(spec)}: {spec.metric.definition}",
        "chance": _chance(spec),
        "steps": spec.length,
        "lag": spec.lag,
        "inputs": f"{spec.inputs} features" + (f" of {spec.tokens} tokens" if spec.tokens else ""),
        "outputs": f"{spec.outputs}, {spec.asked}",
        "source": spec.source,
        "licence": spec.licence,
        "data": _where(spec),
    }
    if spec.further:
        facts["measured beside"] = "; ".join({each.metric.name: _beside(each) for each in spec.further}.values())
    if spec.variants:
        facts["variants"] = f"{spec.variants}; default {spec.variant or 'the plain one'}"
    printed = sum(row["task"] == spec.name for row in published_rows())
    return {**facts, "published results": str(printed)}


def _sizes(data: Data[Batch]) -> str:
    kind = "places of one example" if len(data.test) == 1 else "examples"
    train = "fresh batches" if data.train is None else f"{_many(data.train)} {kind}"
    return f"{train} to train, {_many(data.valid)} to validate, {_many(data.test)} to test"


def _many(split: Batch) -> int:
    """Return how many examples a split has; of a single one, how many places are asked, as nodes of a graph."""
    asked = split.targets.isfinite().all(-1) if split.targets.is_floating_point() else split.targets >= 0
    return int(asked.sum()) if len(split) == 1 else len(split)


def _repeated(data: Data[Batch]) -> str:
    names = {"train": "training", "valid": "validation", "test": "test"}
    found = [f"{n} {names[a]} in {names[b]}" for (a, b), n in data.repeated().items() if n]
    return ", ".join(found) or "none"


def _task(spec: TaskSpec) -> dict[str, Any]:
    plain = "name id title family summary variant length lag licence source version horizon margin".split()
    metric = {"name": spec.metric.name, "unit": spec.metric.unit, "goal": spec.metric.goal}
    return {
        **{name: getattr(spec, name) for name in plain},
        "chance": spec.chance_at(spec.variant),
        "metric": {**metric, "definition": spec.metric.definition},
        "protocols": [asdict(told) for told in spec.protocols],
        "recipes": {model: asdict(spec.recipe(model)) for model in spec.recipes},
        "trivial": list(spec.baselines),
        "missing": spec.files.missing() if spec.files else [],
    }


def _metric(spec: TaskSpec) -> str:
    return _called(spec.metric)


def _called(metric: Metric) -> str:
    return measured(metric.name, metric.unit, metric.goal)


def _beside(each: Further) -> str:
    return f"{_called(each.metric)}: {each.metric.definition}"


def _chance(spec: TaskSpec) -> str:
    chance = spec.chance_at(spec.variant)
    return "from the data" if chance is None else f"{chance:.4g}"


def _where(spec: TaskSpec) -> str:
    if spec.files is None:
        return "generated"
    return "here" if not spec.files.missing() else spec.files.command(spec.name)


def _recipe(r: Recipe) -> str:
    """Return a recipe in full on one line, and its source on the next."""
    numbers = dict(r.numbers)
    factor = numbers.pop("drop_factor", 0.1)
    sizes = {"hidden": r.hidden, "batch": r.batch, "epochs": r.epochs, "steps an epoch": r.steps, "clip": r.clip}
    said = [f"{name} {value:g}" for name, value in sizes.items() if value is not None]
    said += [r.optimiser, *([] if r.schedule == "drops" else [r.schedule])]
    said += [f"η·{factor:g} after epoch {epoch}" for epoch in r.drops]
    said += [f"{name} {value:.4g}" for name, value in numbers.items()]
    return f"{', '.join(said)}\n{r.source}"
