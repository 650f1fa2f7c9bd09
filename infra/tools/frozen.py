"""Frozen identities and results: at least one of each for every model, every task and the training rules.

``make freeze`` records new ones and new versions, and refuses changes under an old version. The tests compare with the
record in ``tests/platform/records/frozen.json``.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import stubs
import torch
from torch import Tensor
from tree import ROOT

from longwave.models.base.graph import GraphLayer
from longwave.models.base.layer import Layer
from longwave.models.base.spec import ModelSpec, Sizes
from longwave.models.kernels import using
from longwave.platform.records.report import Report
from longwave.platform.records.run import Point, Run
from longwave.platform.records.trial import PROTOCOL, TrialConfig, cohort_key, default_of
from longwave.platform.registry import shipped_models, shipped_tasks
from longwave.platform.training.rules import optimisers, schedules, training_params
from longwave.platform.training.train import train
from longwave.tasks.base.graphs import Graphs
from longwave.tasks.base.spec import TaskSpec

FILE = ROOT / "tests/platform/records/frozen.json"
PLAIN = TrialConfig(
    "adding", "N=20", "0" * 12, "lem", {}, {"lr": 0.01}, 8, 4, 3, "retrain", 7, task_version="1", model_version="1",
    protocol="1",
)  # fmt: skip
"""A minimal configuration."""
Frozen = dict[str, Any]


def present_record() -> Frozen:
    """Return the current versions, ids and results."""
    with using("reference"):
        return {
            "defaults": {f.name: default_of(f) for f in fields(TrialConfig) if isinstance(default_of(f), _JSON)},
            "rules": {
                "rules": {
                    "version": PROTOCOL,
                    "ids": {"plain": PLAIN.id, "row": PLAIN.row},
                    "results": _train_small(),
                    "declared": training_numbers(),
                }
            },
            "models": {name: _freeze_model(spec) for name, spec in shipped_models().items()},
            "tasks": {name: _freeze_task(spec) for name, spec in shipped_tasks().items()},
        }


def list_changes(before: Frozen, now: Frozen) -> list[str]:
    """Return, one per line, what changed or disappeared without a new version."""
    changes = []
    for name, value in before["defaults"].items():
        if now["defaults"].get(name, "gone") != value:
            changes.append(f"identities left out {name} {value!r}: keep that as `hashed` in the field's metadata")
    for kind in ("rules", "models", "tasks"):
        for name, old in before[kind].items():
            new = now[kind].get(name)
            if new is None or new["version"] != old["version"]:
                continue
            for field in ("ids", "results"):
                if lost := [k for k, v in old[field].items() if not _is_same(new[field].get(k), v)]:
                    changes.append(f"{name}: {field} {', '.join(lost)} changed; its version is still {old['version']}")
    return changes


def list_unrecorded(before: Frozen, now: Frozen) -> list[str]:
    """Return, one per line, what is not recorded in its current version."""
    return [
        f"{name} of version {new['version']} is not recorded: make freeze"
        for kind in ("rules", "models", "tasks")
        for name, new in now[kind].items()
        if before[kind].get(name, {}).get("version") != new["version"]
    ]


def merge_records(before: Frozen, now: Frozen) -> Frozen:
    """Return the new record: new results, and unchanged ones with their recorded digits."""
    merged = deepcopy(now)
    for kind in ("rules", "models", "tasks"):
        for name, new in merged[kind].items():
            old = before.get(kind, {}).get(name, {}).get("results", {})
            results = new["results"]
            results |= {k: old[k] for k in results if k in old and _is_same(results[k], old[k])}
    return merged


def read_record() -> Frozen:
    """Return the record."""
    record: Frozen = json.loads(FILE.read_text(encoding="utf-8"))
    return record


_JSON = (type(None), bool, int, float, str, list, dict)


def _freeze_model(spec: ModelSpec) -> Frozen:
    """Return ids of a model, with each non-default option, and results of its layer."""
    params = {p.name: 0.5 for p in spec.space("")}
    base = replace(PLAIN, model=spec.name, model_version=spec.version, params=params)
    variants: dict[str, dict[str, Any]] = {"plain": {}}
    for name, choices in spec.layer.OPTIONS.items():
        variants |= {f"{name} {choice}": {name: choice} for choice in choices[1:]}
    ids = {name: replace(base, options=options).id for name, options in variants.items()}
    few = {name: options for name, options in variants.items() if options.get("layers", 0) <= 32}
    return {"version": spec.version, "ids": ids, "results": {k: _run_layer(spec, o) for k, o in few.items()}}


def _run_layer(spec: ModelSpec, options: Mapping[str, Any]) -> list[float]:
    """Return a few numbers that depend on all of a layer: initialisation and equation, in training and evaluation."""
    hyper = {p.name: p.low if p.whole else (p.low + p.high) / 2 for p in spec.space("", options)[1:]}
    layer = spec.build(Sizes(2, 4, 1, 9), **options, **hyper).double()
    layer.reset_parameters([torch.Generator().manual_seed(3)])
    x = torch.linspace(-1.0, 1.0, 9 * 3 * 2, dtype=torch.float64).view(9, 3, 2).sin()
    numbers = []
    for mode in (True, False):
        outputs, state = _apply_layer(layer.train(mode), x)
        weights = torch.linspace(0.5, 1.5, outputs.numel(), dtype=torch.float64).view_as(outputs)
        numbers += [(outputs * weights).sum().item(), *((s * s).sum().item() for s in state)]
    return numbers


def _apply_layer(layer: Layer[Any], x: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return the outputs and the last state for x as sequences, or as nodes of graphs with two incoming edges each."""
    generators = [torch.Generator().manual_seed(5)]
    if not isinstance(layer, GraphLayer):
        return layer(x, None, generators)
    n, v, _ = x.shape
    edges = torch.tensor([(k, (k * step + 1) % v) for k in range(v) for step in (1, 2)]).expand(n, -1, -1)
    graphs = Graphs(x, torch.ones(n, v, dtype=torch.bool), edges, torch.zeros(n, v, dtype=torch.int64))
    return layer.features(graphs, None, generators)


def _freeze_task(spec: TaskSpec) -> Frozen:
    """Return the id of a trial on a task, and its loss and metric on made-up outputs."""
    config = replace(PLAIN, task=spec.name, task_version=spec.version, variant=spec.variant)
    outputs = torch.linspace(-2.0, 2.0, 5 * 4 * spec.outputs, dtype=torch.float64).view(1, 5, 4, spec.outputs).sin()
    try:
        targets = torch.arange(20).view(1, 5, 4) % max(2, min(spec.outputs, 7))
        loss = spec.loss(outputs, targets)
    except (RuntimeError, TypeError, ValueError, IndexError):
        targets = outputs.cos()
        loss = spec.loss(outputs, targets)
    numbers = [loss.item(), spec.metric.score(outputs, targets).item()]
    results = {"loss and metric": numbers}
    return {
        "version": spec.version,
        "ids": {"plain": config.id},
        "results": results,
        "declared": declared_numbers(spec),
    }


def declared_numbers(spec: TaskSpec) -> Frozen:
    """Return the numbers that a task declares apart from its data: sizes, recipes, counts of its files."""
    recipes = {model: {k: v for k, v in asdict(spec.recipe(model)).items() if v} for model in spec.recipes}
    sizes = {name: getattr(spec, name) for name in ("inputs", "outputs", "tokens", "horizon", "margin")}
    minor = [note.minor for note in spec.protocols]
    counts = dict(spec.files.counts) if spec.files else {}
    numbers: Frozen = json.loads(json.dumps({**sizes, "minor": minor, "counts": counts, "recipes": recipes}))
    return numbers


def training_numbers() -> Frozen:
    """Return range and default of every hyper-parameter of training, by name."""
    words = [(optimiser, schedule) for optimiser in optimisers() for schedule in schedules()]
    params = {p.name: p for pair in words for p in training_params(*pair)}
    names = ("low", "high", "log", "zero", "most", "whole", "searched", "default")
    return {name: [_plain_number(getattr(p, field)) for field in names] for name, p in sorted(params.items())}


def _plain_number(value: Any) -> Any:
    return None if value == math.inf else value


def _train_small() -> dict[str, list[float]]:
    """Return the curves of a small sweep's worth of training: order, clipping, step drops, halving, selection."""
    task, model = shipped_tasks()["adding"], shipped_models()["lem"]
    versions = {"task_version": task.version, "model_version": model.version, "data": task.load("N=20").version}
    base = replace(PLAIN, **versions, protocol=PROTOCOL, precision="float64", epochs=4, steps=3, drops=(2,), clip=0.05)
    params = [{"lr": 0.05, "dt": 1.0}, {"lr": 0.01, "dt": 0.5}, {"lr": 0.002, "dt": 1.5}]
    search = [replace(base, phase="search", params=p, seed=k) for k, p in enumerate(params)]
    halving = {"eta": 3, "first": 2, "cohort": cohort_key(search)}
    last = replace(base, params=params[0], selection="last", drops=(), clip=None)
    curves: dict[str, list[float]] = {}
    for name, pack in {
        "halved": [replace(c, halving=halving) for c in search],
        "retrained": [replace(base, params=params[1])],
        "last": [last],
    }.items():
        points: list[Point] = []
        runs: list[Run] = []

        def emit(report: Report, points: list[Point] = points, runs: list[Run] = runs) -> None:
            points += report.points
            runs += report.runs

        train(pack, emit)
        order = {c.id: k for k, c in enumerate(pack)}
        points.sort(key=lambda p: (order[p.trial], p.epoch))
        runs.sort(key=lambda r: order[r.trial])
        curves[name] = [n for p in points for n in (p.loss, p.valid)]
        curves[f"{name}, ends"] = [float(n) for r in runs for n in (r.epochs, r.best_epoch or 0, r.test or 0.0)]
    return curves


def _is_same(new: Any, old: Any) -> bool:
    """Return whether ids are equal, or numbers are up to float64 differences between processors."""
    if isinstance(old, list):
        pairs = zip(new or [], old, strict=False)
        return len(new or []) == len(old) and all(abs(a - b) <= 1e-9 * max(1.0, abs(b)) for a, b in pairs)
    return bool(new == old)


def main(file: Path = FILE) -> int:
    """Record what is new; return 1, and record nothing, if something changed under an old version."""
    now = present_record()
    before = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if before and (wrong := list_changes(before, now)):
        print(
            "\n".join([*wrong, "Bump the version (MODEL or TASK, or PROTOCOL), or undo the change."]), file=sys.stderr
        )
        return 1
    file.write_text(json.dumps(merge_records(before, now), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    refused = main()
    if not refused:
        stubs.write_stubs()
    raise SystemExit(refused)
