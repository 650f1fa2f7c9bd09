"""Output of models: one table of all, or one page per model."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from longwave.platform.about import describe_model
from longwave.platform.literature.published import published_rows
from longwave.platform.registry import all_tasks
from longwave.platform.render.export import Format
from longwave.platform.render.table import Table
from longwave.platform.render.terminal import (
    print_line,
    print_table,
    print_tables,
    print_unwrapped,
    wide_console,
)
from longwave.tasks.base.graphs import Graphs

if TYPE_CHECKING:
    from longwave.models.base.matrix_recurrence import MatrixRecurrence
    from longwave.models.base.param import Param
    from longwave.models.base.spec import Best, ModelSpec
    from longwave.models.kernels.compiler.plan import Plan
    from longwave.tasks.base.spec import TaskSpec

NO_BREAK = "\u00a0"
"""A space at which no line is broken."""


def print_models(specs: Sequence[ModelSpec], format: Format) -> None:
    """Print models, one per line."""
    lines = [(s.name, s.family, s.source, "; ".join(map(_range_text, s.space("")))) for s in specs]
    records = [] if format is Format.table else [_model_record(spec) for spec in specs]
    columns, prose = ("name", "family", "paper", "searched"), frozenset({2, 3})
    print_tables([Table("", columns, lines, records=records, prose=prose, drop=(3, 2))], format)
    if format is Format.table:
        print_unwrapped("  Details of one, with equation and published settings: longwave models NAME")
        if len({spec.family for spec in specs}) > 1:
            print_unwrapped("  The cells of torchrecurrent are models as well: longwave models --family torchrecurrent")


def print_model(spec: ModelSpec, format: Format, kernel: bool = False, task: TaskSpec | None = None) -> None:
    """Print one model in full, the plan of its fused loop, or its search ranges on a task. Formats for programs are as
    from ``print_models``.
    """
    if task:
        _print_space(spec, task, format)
        return
    if kernel:
        print_line(_kernel_plan(spec))
        return
    if format is not Format.table:
        print_models([spec], format)
        return
    print_line(f"{spec.title} ({spec.name}), {spec.family}\n")
    print_line(f"{fit_text(describe_model(spec), wide_console().width)}\n")
    print_table(
        ["key", "symbol", "range", "draw", "unit", "meaning", "if not given", "range published in"],
        [_parameter_record(p) for p in (spec.lr, *spec.params)],
        title="Parameters",
        prose=[5, 6, 7],
        drop=[4, 7, 6],
        complete_format="",
    )
    for name, ranges in spec.ranges.items():
        print_line(f"  on {name}: " + ", ".join(f"{k} in [{a:g}, {b:g}]" for k, (a, b) in ranges.items()))
    for name, choices in spec.options.items():
        print_line(f"  option {name}: {', '.join(map(str, choices))} (default {choices[0]})")
    if spec.best:
        print_line("")
        best = [(b.task, b.hidden, _settings_text(b), b.note) for b in spec.best]
        print_table(
            ["task", "hidden", "setting", "note"],
            best,
            title=f"Published best settings: {spec.best_source}",
            prose=[2, 3],
        )
    _print_sizes(spec)
    printed = count_published(spec)
    total = sum(printed.values())
    by_task = ", ".join(f"{task} {n}" for task, n in printed.items())
    print_line(f"  Published results of this model: {total}" + (f" ({by_task})" if total else ""))


def _print_space(spec: ModelSpec, task: TaskSpec, format: Format) -> None:
    """Print the search ranges under rule 2, for each variant with its own time scale."""
    tables = []
    for variant in task.time_scales or ("",):
        scale = task.time_scale(variant)
        params = spec.space(task.name, time_scale=scale)
        source = (
            "none: nothing is forecast" if scale is None else f"{scale} steps, the first lag of autocorrelation < 1/e"
        )
        origin = ", one of the tasks of the model's paper" if task.name in spec.papers_tasks else ""
        tables.append(
            Table(
                f"{spec.title} on {' '.join(filter(None, (task.name, variant)))}{origin}; time scale: {source}",
                ("key", "symbol", "range", "draw", "unit", "range from"),
                [
                    (p.name, p.symbol, f"[{p.low:.4g}, {p.high:.4g}]", p.draw, p.unit,
                     p.published or "Longwave")
                    for p in params
                ],
                records=[{"task": task.name, "variant": variant, "time_scale": scale, **p.to_dict()} for p in params],
                prose=frozenset({5}),
            )
        )  # fmt: skip
    print_tables(tables, format)


def _print_sizes(spec: ModelSpec) -> None:
    """Print the number of trainable parameters under the recipe of each task that the model can read."""
    reads_graphs = issubclass(Graphs, spec.layer.READS)
    tasks = [task for task in all_tasks().values() if (task.family == "graph") == reads_graphs]
    sizes = [(t, t.recipe(spec.name).hidden) for t in tasks]
    counts = [(t.title, d, f"{spec.parameters(t.inputs, d, t.outputs):,}") for t, d in sizes]
    print_table(
        ["task", "hidden", "trainable parameters"],
        counts,
        title="Size under each task's recipe, read-out included",
        prose=[0],
    )


def fit_text(text: str, width: int) -> str:
    """Return a docstring with each paragraph on one line, and the equations, which are indented, in so many columns."""
    parts = text.split("\n\n")
    return "\n\n".join(
        "\n".join(line for long in part.split("\n") for line in _fit_equations(long, width))
        if part.startswith(" ")
        else " ".join(part.split("\n"))
        for part in parts
    )


def _fit_equations(line: str, width: int) -> list[str]:
    """Return a line of equations, if it is too long with a line for each; longer ones break at a sign or a comma.

    A remark after an equation, such as a scheme's name, stays on its line if there is room.
    """
    if len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    fitted: list[str] = []
    for part in re.split(" {3,}", line.strip()):
        is_remark = fitted and not re.search("[=←]", part)
        if is_remark and len(fitted[-1]) + len(indent) + len(part) <= width:
            fitted[-1] += indent + part
            continue
        joined = re.sub(" +", " ", part) if is_remark else re.sub(r"(?<!,) +(?![−+=] )", NO_BREAK, part)
        first = indent * 2 if is_remark else indent
        lines = textwrap.wrap(joined, width, initial_indent=first, subsequent_indent=indent * 2, break_long_words=False)
        fitted += [equation.replace(NO_BREAK, " ") for equation in lines]
    return fitted


def count_published(spec: ModelSpec) -> Mapping[str, int]:
    """Return the number of published results of the model, by task."""
    return dict(Counter(row["task"] for row in published_rows() if row["model"] == spec.name).most_common())


def _model_record(spec: ModelSpec) -> dict[str, Any]:
    params = [asdict(p) for p in (spec.lr, *spec.params)]
    return {
        "name": spec.name,
        "title": spec.title,
        "family": spec.family,
        "source": spec.source,
        "about": describe_model(spec),
        "params": [{**p, "most": None if p["most"] == float("inf") else p["most"]} for p in params],
        "options": {name: list(choices) for name, choices in spec.options.items()},
        "ranges": {task: dict(ranges) for task, ranges in spec.ranges.items()},
        "best": [{**asdict(b), "source": spec.best_source} for b in spec.best],
        "published": dict(count_published(spec)),
    }


def _parameter_record(p: Param) -> tuple[str, ...]:
    return (p.name, p.symbol, f"[{p.low:g}, {p.high:g}]", p.draw, p.unit, p.meaning, p.if_not_given, p.published or "—")


def _range_text(p: Param) -> str:
    return f"{p.symbol} [{p.low:g}, {p.high:g}]{' log' if p.log else ''}"


def _settings_text(best: Best) -> str:
    return " ".join(f"{name}={value:g}" for name, value in best.values.items())


def _kernel_plan(spec: ModelSpec) -> str:
    """Return the plan of a model's loop on this machine, with defaults: blocks, saved values, and C++ code."""
    from longwave.models.base.fused import Fusable
    from longwave.models.base.matrix_recurrence import MatrixRecurrence
    from longwave.models.base.spec import Sizes
    from longwave.models.kernels.compiler.listing import listing as listed
    from longwave.models.kernels.compiler.recorder import Unsupported
    from longwave.models.kernels.cpu.emit import emit

    required: dict[str, Any] = {p.name: p.low for p in spec.params if p.searched and p.default is None}
    layer = spec.build(Sizes(inputs=2, hidden=16, outputs=1, length=100), **required)
    if isinstance(layer, MatrixRecurrence):
        return _matrix_plan(spec.title, layer)
    if not isinstance(layer, Fusable):
        return f"{spec.title}: {layer.why()}"
    texts = [f"# {spec.title}: {layer.why()}"]
    try:
        plans = {loop.name: loop.plan for loop, _ in itertools.starmap(layer.loop_of, enumerate(layer.loops()))}
    except Unsupported:
        return texts[0]
    for plan in plans.values():
        texts.append(_legend(plan, layer.STATE))
        texts += [listed(plan), "// The same for the CPU:", emit(plan)]
    return "\n".join(texts)


def _matrix_plan(title: str, layer: MatrixRecurrence[Any]) -> str:
    """Return the plan of a loop over matrix states: passes over rows, saved values, and C++ code."""
    from longwave.models.kernels.compiler.recorder import Unsupported
    from longwave.models.kernels.cpu.emit_matrix import emit
    from longwave.models.kernels.matrix.listing import listing

    form, head = layer.form(), f"# {title}: {layer.why()}"
    try:
        plan = layer.plan()
    except Unsupported:
        return head
    texts = list[str]()
    for kinds, axes_by_name in (
        ("before, after, adjoint", form.states),
        ("drive", form.drives),
        ("constant", form.constants),
    ):
        names = ", ".join(f"{k}: {name} ({axes or 'a number'})" for k, (name, axes) in enumerate(axes_by_name.items()))
        texts += [f"# {kinds}: {names}."] if names else []
    texts.append(f"# kept: {len(plan.kept)} values saved for the backward pass. part_j is a sum over columns j.")
    return "\n".join([head, *texts, listing(plan), "// The same for the CPU:", emit(plan)])


def _legend(plan: Plan, states: Sequence[str]) -> str:
    """Return the meaning of the names in a plan's text, as comments."""
    state_names = ", ".join(f"{k}: {name}" for k, name in enumerate(states[: plan.states]))
    meanings = {
        "before, after": f"the states before and after a step ({state_names})",
        "kept": f"{plan.kept} rows of d numbers that a step saves, first the drive's {len(plan.gates)}",
        "slot": f"{plan.slots} rows of adjoints written by the backward pass",
        "adjoint": "those of the states",
        "W, P, U": f"the step's {len(plan.matrices)} matrices, {len(plan.nums)} scalars and {len(plan.vecs)} vectors",
        "sum, unit": "the gradients of P and of U",
        "mm, mmT": "the product with a matrix and with its transpose",
    }
    return "\n".join(f"# {name}: {text}." for name, text in meanings.items())
