"""The cases of contract tests: models of graphs and of sequences, the latter with each of their options."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from typing import Any

import pytest

from longwave.models.base.graph import GraphLayer
from longwave.models.base.param import OptionValue
from longwave.models.base.spec import ModelSpec
from longwave.platform.registry import all_models

Options = dict[str, OptionValue]


def graph_models() -> dict[str, ModelSpec]:
    """Return all models that read graphs, by name."""
    return {name: spec for name, spec in all_models().items() if issubclass(spec.layer, GraphLayer)}


def sequence_models() -> dict[str, ModelSpec]:
    """Return all models that read sequences, by name."""
    return {name: spec for name, spec in all_models().items() if name not in graph_models()}


def every_choice(spec: ModelSpec) -> list[Options]:
    """Return all combinations of a layer's options that the model accepts."""
    combinations = [
        dict(zip(spec.layer.OPTIONS, chosen, strict=True)) for chosen in product(*spec.layer.OPTIONS.values())
    ]
    accepted = []
    for options in combinations:
        with suppress(ValueError):
            spec.check(options)
            accepted.append(options)
    return accepted


def every_case() -> list[Any]:
    """Return all models of sequences, with their defaults and with one option changed at a time; of numbers, two."""
    cases = []
    for spec in sequence_models().values():
        cases.append(pytest.param(spec, {}, id=spec.name))
        for name, (default, *others) in spec.layer.OPTIONS.items():
            some = others[:2] if type(default) is int else others
            cases += [pytest.param(spec, {name: other}, id=f"{spec.name}-{name}={other}") for other in some]
    return cases
