"""The key from which seeds of retrainings are derived. Nothing here may change: published editions depend on it.

It hashes a configuration in an early format: with all fields and all options of the model, and without versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longwave.platform.records.identity import digest
from longwave.platform.records.trial import OF_ONE_TRIAL, TrialConfig

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
"""Defaults of the models' options in that format."""
FIELDS: Mapping[str, Any] = {
    "steps": None, "drops": [], "clip": None, "optimiser": "adam", "precision": "float32", "selection": "best",
    "halving": None,
}  # fmt: skip
"""Fields with defaults in that format."""


def seed_key(config: TrialConfig) -> str:
    """Return a hash of a configuration without versions and without what differs between its retrainings. So equal
    settings get equal seeds in every version, and results of two versions can be paired.
    """
    content = {**FIELDS, **config.to_dict(), "options": {**OPTIONS.get(config.model, {}), **config.options}}
    left_out = ("task_version", "model_version", "protocol", *OF_ONE_TRIAL)
    return digest({name: value for name, value in content.items() if name not in left_out})
