"""Pages of models and tasks: equation, ranges, recipes, published numbers, and our results in edition 1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any

from markdown_parts import code, contents, escape, flow, join, table

from longwave.models.base.param import Param
from longwave.models.base.spec import ModelSpec
from longwave.platform.about import describe_model
from longwave.platform.api.modules import modules
from longwave.platform.boards import answer
from longwave.platform.boards.columns import named_columns
from longwave.platform.boards.row import Row
from longwave.platform.editions.shipped import newest_rows, read_shipped
from longwave.platform.literature.published import as_printed, published_rows, title
from longwave.platform.registry import shipped_models, shipped_tasks
from longwave.platform.render.tasks import shape_facts
from longwave.tasks.base.spec import TaskSpec
from longwave.tasks.formats.packaged import Packaged

RESULT_COLUMNS = ("rank_low", "title", "median", "mean", "searched", "config")
"""Columns of our results."""


def describe_origin(spec: TaskSpec) -> str:
    """Return where the data of a task come from."""
    if isinstance(spec.files, Packaged):
        return f"come with {spec.files.package}: `pip install {spec.files.install}`"
    return "fetched, `longwave data fetch`" if spec.files else "need no download"


def catalogue_pages() -> dict[str, str]:
    """Return the text of each page by name."""
    models, tasks = shipped_models(), shipped_tasks()
    pages = {f"models/{name}": model_page(spec) for name, spec in sorted(models.items())}
    pages |= {f"tasks/{name}": task_page(spec) for name, spec in sorted(tasks.items())}
    pages["models/index"] = _index("Models", models.values(), lambda spec: spec.source)
    pages["tasks/index"] = _index("Tasks", tasks.values(), lambda spec: spec.summary)
    return pages


def _index(heading: str, specs: Iterable[Any], about: Any) -> str:
    by_family = groupby(sorted(specs, key=lambda spec: (spec.family, spec.name)), key=lambda spec: spec.family)
    parts, names = [], []
    for family, group in by_family:
        of_family = list(group)
        names += [spec.name for spec in of_family]
        lines = ((f"[{escape(spec.title)}]({spec.name}.md)", escape(about(spec))) for spec in of_family)
        parts.append(f"## {family[:1].upper()}{family[1:]}\n\n{table(('name', 'about'), lines)}")
    return join(f"# {heading}", *parts, contents(names, hidden=True))


@cache
def shipped_rows() -> Sequence[Row]:
    """Return the rows of each board in the newest edition that has it."""
    return newest_rows(read_shipped().values())


def model_page(spec: ModelSpec) -> str:
    """Return the page of a model."""
    layer = next((name for name, kind in modules().items() if kind.LAYER is spec.layer), "")
    rows = [row for row in shipped_rows() if row.model == spec.name and row.kind == "retrained" and not row.superseded]
    printed = [row for row in published_rows() if row["model"] == spec.name]
    ranges = [f"On {code(task)}: " + ", ".join(f"{code(k)} in [{a:g}, {b:g}]" for k, (a, b) in its.items())
              for task, its in spec.ranges.items()]  # fmt: skip
    options = [f"{code(name)}: {', '.join(code(str(c)) for c in choices)}" for name, choices in spec.options.items()]
    best = [(code(b.task), str(b.hidden), escape(" ".join(f"{k}={v:g}" for k, v in b.values.items())), escape(b.note))
            for b in spec.best]  # fmt: skip
    called = f"{code(spec.name)} in sweep files" + (f", {code(f'lw.{layer}')} in Python" if layer else "")
    return join(
        f"# {escape(spec.title)}",
        f"{called}; family: {escape(spec.family)}; version {spec.version}. Source: {escape(spec.source)}.",
        "## Equation",
        flow(describe_model(spec)),
        "## Parameters",
        table(("key", "symbol", "range", "draw", "unit", "meaning", "if not given", "range published in"),
              map(_parameter, (spec.lr, *spec.params))),
        "\n".join(f"- {line}" for line in ranges),
        *(["Options, the default first:", "\n".join(f"- {line}" for line in options)] if options else []),
        *([f"Published best settings, {escape(spec.best_source)}:",
           table(("task", "hidden", "setting", "note"), best)] if best else []),
        "## Our results",
        _which_editions("board"),
        _our_results(rows, by_board=False) or "No edition has one.",
        "## Published results",
        _published(printed, "task") or "No paper here prints one.",
    )  # fmt: skip


def _parameter(p: Param) -> tuple[str, ...]:
    ends = code(f"[{p.low:g}, {p.high:g}]")
    texts = (p.draw, p.unit, p.meaning, p.if_not_given, p.published or "—")
    return (code(p.name), escape(p.symbol), ends, *map(escape, texts))


def task_page(spec: TaskSpec) -> str:
    """Return the page of a task."""
    unit = f" in {spec.metric.unit}" * (spec.metric.unit != "1")
    metric = f"{spec.metric.name}{unit}, {'larger' if spec.metric.goal == 'max' else 'smaller'} is better: "
    facts = {
        "metric": metric + spec.metric.definition,
        **shape_facts(spec),
        "source": spec.source,
        "licence of the data": spec.licence,
        "data": describe_origin(spec),
        "variants": f"{spec.variants}; default {spec.variant or 'the plain one'}" if spec.variants else "",
        "trivial predictors": ", ".join(spec.baselines),
    }
    recipes = [
        (code(model) if model else "all others" if len(spec.recipes) > 1 else "all models", _recipe(spec, model))
        for model in spec.recipes
    ]
    rows = [row for row in shipped_rows() if row.task == spec.name and not row.superseded]
    printed = [row for row in published_rows() if row["task"] == spec.name]
    return join(
        f"# {escape(spec.title)}",
        f"{code(spec.id)}; family: {escape(spec.family)}. {escape(spec.summary)}",
        table(("", ""), ((name, text if "`" in text else escape(text)) for name, text in facts.items() if text)),
        "## Protocol",
        "\n".join(f"- {escape(note.text)}{' (minor)' if note.minor else ''}" for note in spec.protocols),
        table(("recipe for", "says"), recipes),
        "## Our results",
        _which_editions(f"board {spec.name}"),
        _our_results(rows, by_board=True) or "No edition has one.",
        "## Published results",
        _published(printed, "model") or "No paper here prints one.",
    )


def _recipe(spec: TaskSpec, model: str) -> str:
    recipe = spec.recipe(model)
    sizes = {"hidden": recipe.hidden, "batch": recipe.batch, "epochs": recipe.epochs, "steps an epoch": recipe.steps}
    sizes |= {"clip": recipe.clip, **recipe.numbers}
    parts = [f"{name} {value:g}" for name, value in sizes.items() if value is not None]
    return escape(
        f"{', '.join(parts)}; {recipe.optimiser}, {recipe.schedule} {list(recipe.drops) or ''} — {recipe.source}"
    )


def _our_results(rows: Sequence[Row], by_board: bool) -> str:
    """Return tables of the editions' results: for a task one per board, for a model one with the board in each line."""
    columns = named_columns(RESULT_COLUMNS)
    if by_board:
        parts = []
        for _, group in groupby(rows, key=lambda row: row.place):
            board = list(group)
            lines = ([escape(column.text(row)) for column in columns] for row in board)
            sentence = escape(answer.answer(board).sentence)
            parts += [f"### {escape(board[0].board)}", sentence, table([escape(c.heading) for c in columns], lines)]
        return join(*parts).rstrip()
    head = ("board", *(c.heading for c in columns))
    lines = (
        [f"[{escape(row.board)}](../tasks/{row.task}.md)", *(escape(c.text(row)) for c in columns)] for row in rows
    )
    return table([escape(text) for text in head], lines)


def _which_editions(command: str) -> str:
    """Return of which edition the results on a page are, and how to see their trainings."""
    shown = code(f"longwave import infra/board/edition-1 infra/board/edition-2 && longwave {command}")
    return f"Each board is that of the newest edition that has it. In a checkout, {shown} shows all of them."


def _published(rows: Sequence[Mapping[str, Any]], other: str) -> str:
    specs = {"task": shipped_tasks(), "model": shipped_models()}[other]
    lines = []
    for row in rows:
        name = title(row) if other == "model" else " ".join(filter(None, (row["task"], row["variant"])))
        target = f"[{escape(name)}](../{other}s/{row[other]}.md)" if row[other] in specs else escape(name)
        deviation = f" ± {row['std']:g}" if row["std"] is not None else ""
        statistic = row["statistic"] + (f" of {row['n']}" if row["n"] else "")
        number = f"{as_printed(row['printed'])}{deviation}"
        lines.append(
            (target, escape(row["metric"]), escape(number), statistic, escape(row["sources"]), escape(row["note"]))
        )
    return table((other, "metric", "printed", "statistic", "source", "note"), lines)
