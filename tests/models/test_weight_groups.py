"""Training rules of single weights, as each model's paper or its authors' code has them."""

from __future__ import annotations

from typing import Any

import pytest

from longwave.models.base.spec import Sizes
from longwave.platform.registry import get_model, shipped_models

NO_DECAY = {
    "mingru": "Wz bz Wh bh",
    "minlstm": "Wf bf Wi bi Wh bh",
    "slstm": "R b",
    "mlstm": "bo bi bf",
    "mamba": "dt_bias A_log D",
    "mamba2": "scale dt_bias A_log D",
    "deltanet": "scale",
    "gated_deltanet": "scale A_log dt_bias",
    "deltaproduct": "scale",
    "gated_deltaproduct": "scale A_log dt_bias",
    "rwkv7": "w0 w1 w2 a0 a1 a2 g1 g2 k_k k_a r_k scale shift",
    "s4d": "log_dt A_re A_im",
    "rg_lru": "br bi bx Lambda",
    "transformer": "before1 between1 before2 between2 behind",
    "lru": "nu theta gamma B_re B_im",
    "s5": "L_re L_im log_dt B_re B_im",
    "linoss": "A s",
    "d_linoss": "A G s",
}
"""Weights without weight decay, by model; all weights of a model that is not listed have it."""
RATES = {
    "rwkv7": {"w0": 2.0},
    "s4d": dict.fromkeys(("log_dt", "A_re", "A_im"), 0.1),
    "lru": dict.fromkeys(("nu", "theta", "gamma", "B_re", "B_im"), 0.5),
    "s5": dict.fromkeys(("L_re", "L_im", "log_dt", "B_re", "B_im"), 0.25),
}
"""Factors of the learning rate that are not 1."""


@pytest.mark.parametrize("name", NO_DECAY)
def test_a_model_trains_each_weight_by_the_rule_of_its_paper(name: str) -> None:
    layer: Any = get_model(name).build(Sizes(3, 8, 2, 9))
    rules = {weight: group for group in layer.groups().values() for weight in group.weights}
    assert {weight for weight, group in rules.items() if not group.decay} == set(NO_DECAY[name].split())
    assert {weight: group.rate for weight, group in rules.items() if group.rate != 1} == RATES.get(name, {})


def test_all_other_models_train_all_weights_alike() -> None:
    grouped = {name for name in shipped_models() if getattr(get_model(name).layer, "GROUPS", {})}
    assert grouped == set(NO_DECAY)
