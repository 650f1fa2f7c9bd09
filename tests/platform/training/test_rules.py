"""Every training number may differ by member inside one pack, survives a pause, and is checked before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from packs import PackRecorder, trained, trial
from tiers import mark_long

from longwave.platform.errors import ConfigError, WorkerError
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_task
from longwave.platform.training import train as train_module
from longwave.platform.training.checkpoint import Checkpoint
from longwave.platform.training.pack import Pack
from longwave.platform.training.rules import check_training, optimisers, schedules, training_params
from longwave.platform.training.train import train

COMMON = {
    "clip_value": (0.5, 0.02, 0.1), "warmup": (0.5, 2.0, 1.0), "input_dropout": (0.1, 0.5, 0.3),
    "output_dropout": (0.4, 0.1, 0.2), "label_smoothing": (0.1, 0.3, 0.2),
    "rate_readout": (0.5, 2.0, 0.3), "patience": (9.0, 2.0, 9.0),
    "solved": (99.0, 98.0, 97.0),
}  # fmt: skip
"""Each member's own."""
OWN = {
    "adam": {"beta1": (0.8, 0.95, 0.5), "beta2": (0.99, 0.9, 0.95), "weight_decay": (0.01, 0.1, 0.001)},
    "adamax": {"beta1": (0.8, 0.95, 0.5), "beta2": (0.99, 0.9, 0.95), "weight_decay": (0.01, 0.1, 0.001)},
    "adamw": {"beta1": (0.8, 0.95, 0.5), "beta2": (0.99, 0.9, 0.95), "weight_decay": (0.1, 0.5, 0.2)},
    "sgd": {"momentum": (0.9, 0.5, 0.8), "weight_decay": (0.01, 0.1, 0.001)},
    "rmsprop": {"rms_decay": (0.9, 0.95, 0.5), "weight_decay": (0.01, 0.1, 0.001)},
    "drops": {"drop_factor": (0.5, 0.2, 0.3)},
    "cosine": {"lr_final": (0.5, 0.2, 0.1)},
    "plateau": {"plateau_factor": (0.5, 0.2, 0.3), "plateau_patience": (1.0, 0.0, 2.0)},
}
EVERY = [(o, s) for o in OWN if o in optimisers() for s in schedules() if o == "sgd" or s == "plateau"]


def members(optimiser: str, schedule: str, **changes: Any) -> list[TrialConfig]:
    """Return three trials in which every number differs."""
    lr = {"sgd": 0.3}.get(optimiser, 0.003)
    actual = []
    for k in range(3):
        numbers = {n: v[k] for n, v in {**OWN[optimiser], **OWN[schedule], **COMMON}.items()}
        params = {"dt": 0.5 + 0.1 * k, "lr": lr * (k + 1), **numbers}
        drops = ((), (1,), (1, 2))[k] if schedule == "drops" else ()
        facts = {"batch": 200, "epochs": 4, "drops": drops, "clip": (0.1, 1.0, 0.3)[k], "optimiser": optimiser}
        facts |= {"schedule": schedule, "params": params, **changes}
        actual.append(trial("lem", "digits", k, **facts))
    return actual


PAIRS = {"-".join(pair): pair for pair in EVERY}


@pytest.mark.parametrize(("optimiser", "schedule"), mark_long(PAIRS, *(PAIRS.keys() - {"adam-plateau"})))
def test_numbers_that_all_differ_train_each_member_as_it_trains_alone(optimiser: str, schedule: str) -> None:
    requested = {p.name for p in training_params(optimiser, schedule, ["readout"])}
    precisions = [("float32", 1e-4), ("float64", 1e-6)]
    for precision, tolerance in precisions[: 1 + (optimiser == "sgd")]:  # test_optimisers.py has all in float64
        configs = members(optimiser, schedule, precision=precision)
        assert requested <= configs[0].params.keys()
        together = trained(configs)
        for config in configs:
            alone = trained([config])
            assert len(alone.curve(config)) > 2
            losses, others = ([loss for loss, _ in events.curve(config)] for events in (together, alone))
            np.testing.assert_allclose(losses, others, rtol=tolerance)
            assert together.run(config).epochs == alone.run(config).epochs


@pytest.mark.parametrize("name", sorted({n for own in (*OWN.values(), COMMON) for n in own} - {"patience", "solved"}))
def test_each_number_changes_what_a_member_learns(name: str) -> None:
    optimiser, schedule = next((o, s) for o, s in EVERY if name in {**OWN[o], **OWN[s], **COMMON})
    [config] = members(optimiser, schedule, clip=None)[1:2]
    plain = {n: v for n, v in config.params.items() if n in ("lr", "dt", "plateau_patience")}
    given = replace(config, params={**plain, name: config.params[name]})
    without = replace(config, params={n: v for n, v in plain.items() if n != name})
    assert not np.allclose(trained([given]).curve(given), trained([without]).curve(without), rtol=1e-6)


def test_members_differ_in_drops_and_norms_inside_one_pack() -> None:
    configs = members("adam", "drops")
    assert len({c.shape for c in configs}) == 1 and len({(c.drops, c.clip) for c in configs}) == 3
    assert replace(configs[0], clip=None).shape != configs[0].shape
    assert replace(configs[0], schedule="cosine").shape != configs[0].shape


@pytest.mark.parametrize(("optimiser", "schedule"), mark_long(PAIRS, *(PAIRS.keys() - {"adam-plateau", "sgd-drops"})))
def test_a_pack_taken_up_in_the_middle_of_an_epoch_goes_on_to_the_bit(
    optimiser: str, schedule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configs, file, real, saves = members(optimiser, schedule), Checkpoint(tmp_path / "pack"), Checkpoint.save, 0
    whole = trained(configs)
    monkeypatch.setattr(train_module, "CHECKPOINT_SECONDS", 0.0)

    def save_then_die(self: Checkpoint, saved: Any) -> None:
        nonlocal saves
        real(self, saved)
        saves += 1
        if saves == 15:  # of six steps an epoch
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "save", save_then_die)
    with pytest.raises(KeyboardInterrupt):
        train(configs, PackRecorder(), file)
    monkeypatch.setattr(Checkpoint, "save", real)
    actual = next(file.candidates(), None)
    assert actual and (actual.facts["epoch"], actual.facts["step"]) == (3, 3)
    second = trained(configs, file)
    for config in configs:
        assert second.curve(config) == whole.curve(config)
        assert second.run(config).epochs == whole.run(config).epochs


def test_a_pack_that_loses_a_member_keeps_the_numbers_of_the_others() -> None:
    configs = members("sgd", "plateau")
    worst = replace(configs[0], params={**configs[0].params, "lr": 1e30, "clip_value": 1e30}, clip=1e30)
    together, alone = trained([worst, *configs[1:]]), trained(configs[1:])
    assert together.run(worst).status == "diverged"
    for config in configs[1:]:
        np.testing.assert_allclose(together.curve(config), alone.curve(config), rtol=1e-4)


@pytest.mark.parametrize(
    ("changes", "numbers", "message"),
    [
        ({"optimiser": "adan"}, {}, r"^No optimiser 'adan'\. Did you mean adam"),
        ({"schedule": "cosin"}, {}, r"^No schedule 'cosin'\. Did you mean cosine\?"),
        ({}, {"momentum": 0.9}, r"^No training number 'momentum'\..* Of lem trained by adam with schedule drops\."),
        ({"optimiser": "sgd"}, {"momentun": 0.9}, r"^No training number 'momentun'\. Did you mean momentum\?"),
        ({"optimiser": "sgd"}, {"momentum": 1.5}, r"^μ \(momentum\) must be a finite number ≥ 0 and ≤ 1, got 1\.5\.$"),
        ({}, {"beta2": 1.0}, r"^β₂ \(beta2\) must be a finite number ≥ 0 and ≤ 0\.99999, got 1\.0\.$"),
        ({}, {"patience": 2.5}, r"^patience \(patience\) must be a whole number > 0, got 2\.5\.$"),
        ({}, {"clip_value": 0.0}, r"^clip \(clip_value\) must be a finite number > 0, got 0\.0\.$"),
        ({}, {"rate_readout": -1.0}, r"\(rate_readout\) must be a finite number ≥ 0, got -1\.0\.$"),
        ({}, {"rate_embedding": 2.0}, r"^No training number 'rate_embedding'\. "),
        ({}, {"weight_decay": 0.0}, r"^weight_decay 0 is the default and must be left out\.$"),
        ({"schedule": "cosine", "drops": (3,)}, {}, r"^Schedule .cosine. has no drops, got \[3\]\. Give drops = \[\]"),
        ({}, {"label_smoothing": 0.1}, r"^adding has no classes, so label_smoothing has no effect\. Leave it out\.$"),
    ],
)  # fmt: skip
def test_what_no_rule_knows_is_refused_in_one_line(changes: Any, numbers: Any, message: str) -> None:
    config = trial(**changes, params={**trial().params, **numbers})
    with pytest.raises(ConfigError, match=message):
        check_training(config)
    with pytest.raises(WorkerError, match="^A worker cannot train its trials: "):
        train([trial(params={**trial().params, "lr": 0.1}, **changes), config], PackRecorder())


def test_what_recipes_hold_today_passes() -> None:
    for model in ("lem", "unicornn", "lstm"):
        check_training(trial(model, drops=(3, 5), clip=1.0))
    check_training(trial(task="digits", params={**trial().params, "label_smoothing": 0.1, "rate_readout": 0.1}))


def test_dropout_at_the_ends_of_the_network_is_drawn_in_training_alone() -> None:
    config = trial(task="digits", params={**trial().params, "input_dropout": 0.5, "output_dropout": 0.5})
    data = get_task("digits").load("")
    with_, without = Pack([config], data), Pack([trial(task="digits")], data)
    assert torch.equal(with_.score(data.valid), without.score(data.valid))
