"""What the seeds of retrainings are derived from. Nothing here may change: those of published editions follow from it.

It hashes a configuration in an early form: with all its fields, each option of its model too, and without versions.
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
"""Default of each option of each model that had any in that form."""
FIELDS: Mapping[str, Any] = {
    "steps": None, "drops": [], "clip": None, "optimiser": "adam", "precision": "float32", "selection": "best",
    "halving": None,
}  # fmt: skip
"""Fields that had a default in that form, with it."""


def seed_key(config: TrialConfig) -> str:
    """Return a hash of a configuration without its versions and what differs between its retrainings.

    The same settings meet the same seeds before and after a version, so that the two can be paired.
    """
    content = {**FIELDS, **config.to_dict(), "options": {**OPTIONS.get(config.model, {}), **config.options}}
    left_out = ("task_version", "model_version", "protocol", *OF_ONE_TRIAL)
    return digest({name: value for name, value in content.items() if name not in left_out})
