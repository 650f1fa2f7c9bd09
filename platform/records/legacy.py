"""Identities of before schema 0004, and what became of them. Frozen: nothing here may ever change.

A configuration then was hashed with all its fields, each option of its model included, and with no version but that of
its data. Stores and bundles of that time are carried over with these functions; seeds that were derived from an
identity of that time still are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from longwave.platform.records.identity import digest
from longwave.platform.records.trial import OF_ONE_TRIAL, TrialConfig, cohort_key

OPTIONS: Mapping[str, Mapping[str, str | int | bool]] = {
    "chrono_lstm": {"biases": 2},
    "cornn": {"damping": "explicit", "trainable": False},
    "dt_lstm": {"version": "v1", "biases": 2},
    "gru": {"biases": 2},
    "incremental_rnn": {"euler_steps": 5},
    "indrnn": {"layers": 2},
    "lem": {"start": "uniform", "multiscale": True, "biases": 8},
    "lipschitz_rnn": {"scheme": "euler"},
    "lstm": {"biases": 2},
    "multilayer_oscillator": {"layers": 3, "scheme": "imex", "activation": "tanh"},
    "neural_oscillator": {"scheme": "imex", "activation": "tanh"},
    "residual_unicornn": {"layers": 6, "skip": 2, "multiscale": True},
    "tanh_rnn": {"biases": 2},
    "tau_gru": {"form": "full"},
    "unicornn": {"layers": 3, "multiscale": True},
}
"""Default of each option of each model that had any."""
TASKS: Mapping[str, str] = {"adding": "2", "fitzhugh_nagumo": "2"}
"""Versions of the tasks that were not at their first."""
FIELDS: Mapping[str, Any] = {
    "steps": None, "drops": [], "clip": None, "optimiser": "adam", "precision": "float32", "selection": "best",
    "halving": None,
}  # fmt: skip
"""Fields that had a default, with it."""


def content(config: TrialConfig) -> dict[str, Any]:
    """Return the content of a configuration as it was hashed then: without versions, with every default."""
    found = {**FIELDS, **config.to_dict()}
    for name in ("task_version", "model_version", "protocol"):
        del found[name]
    return {**found, "options": {**OPTIONS.get(config.model, {}), **config.options}}


def seed_key(config: TrialConfig) -> str:
    """Return what the seeds of a configuration's retrainings are derived from: the identity it had then.

    It has no versions: the same settings meet the same seeds before and after a version, so the two can be paired.
    """
    return digest({k: v for k, v in content(config).items() if k not in OF_ONE_TRIAL})


def carried(old: Sequence[Mapping[str, Any]]) -> list[TrialConfig]:
    """Return the configurations that became of contents of that time, given a whole plan in its order.

    Cohorts of successive halving are named by their trials, so they get new names with them.
    """
    trials = [_carried(content) for content in old]
    cohorts: dict[str, list[TrialConfig]] = {}
    for config in trials:
        if config.halving:
            cohorts.setdefault(config.halving["cohort"], []).append(config)
    names = {old_name: cohort_key(members) for old_name, members in cohorts.items()}
    return [replace(c, halving={**c.halving, "cohort": names[c.halving["cohort"]]}) if c.halving else c for c in trials]


def _carried(content: Mapping[str, Any]) -> TrialConfig:
    """Return one configuration, its cohort still under its old name."""
    own = OPTIONS.get(content["model"], {})
    options = {name: value for name, value in content["options"].items() if repr(own.get(name)) != repr(value)}
    known = {**FIELDS, **content, "options": options}
    return TrialConfig(
        **{**known, "drops": tuple(known["drops"])},
        task_version=TASKS.get(content["task"], "1"),
        model_version="1",
        protocol="1",
    )
