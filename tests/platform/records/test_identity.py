"""Identities: what decides them, what does not, that they grow, and that none changes without a version."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import MISSING, field, fields, make_dataclass, replace
from pathlib import Path
from typing import Any

import frozen
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwave.platform.errors import StoreError
from longwave.platform.records.about import About
from longwave.platform.records.identity import digest, sparse_fields
from longwave.platform.records.run import Measure, Run
from longwave.platform.records.seeds import seed_key
from longwave.platform.records.trial import OF_ONE_TRIAL, TrialConfig, cohort_key, default_of

OTHER: dict[str, Any] = {
    "task": "u", "variant": "v", "data": "e", "model": "n", "hidden": 9, "batch": 9, "epochs": 9, "seed": 9,
    "phase": "search", "clip": 1.0, "params": {"lr": 0.2}, "precision": "float64", "selection": "last", "drops": (1,),
    "steps": 5, "options": {"a": "b"}, "halving": {"eta": 3}, "optimiser": "sgd", "task_version": "2",
    "model_version": "2", "protocol": "2", "schedule": "cosine", "width": 7,
}  # fmt: skip
"""For each field of a trial, another value than it has in ``PLAIN``."""
PLAIN = frozen.PLAIN


@pytest.mark.parametrize("name", [f.name for f in fields(TrialConfig)])
def test_everything_that_decides_a_result_decides_the_identity(name: str) -> None:
    changed = replace(PLAIN, **{name: OTHER[name]})
    assert changed.id != PLAIN.id
    assert (changed.shape == PLAIN.shape) == (name in ("params", "seed", "drops"))
    assert (changed.row == PLAIN.row) == (name in OF_ONE_TRIAL)
    assert TrialConfig.from_dict(json.loads(json.dumps(changed.to_dict()))) == changed


def test_trials_that_clip_share_a_pack_whatever_their_norms_and_none_that_does_not() -> None:
    one, other, none = (replace(PLAIN, clip=clip).shape for clip in (0.5, 2.0, None))
    assert one == other != none


def test_an_identity_is_the_hash_of_what_differs_from_the_defaults_and_of_three_versions() -> None:
    content = {
        "task": "adding", "variant": "N=20", "data": "0" * 12, "model": "lem", "options": {}, "params": {"lr": 0.01},
        "hidden": 8, "batch": 4, "epochs": 3, "phase": "retrain", "seed": 7, "clip": 0.5, "task_version": "1",
        "model_version": "1", "protocol": "1",
    }  # fmt: skip
    assert replace(PLAIN, clip=0.5).id == digest(content)


def test_the_order_of_the_parameters_is_no_part_of_the_identity() -> None:
    one, two = ({"lr": 0.1, "dt": 1.0}, {"dt": 1.0, "lr": 0.1})
    assert replace(PLAIN, params=one).id == replace(PLAIN, params=two).id


def test_a_new_field_with_a_default_changes_no_identity_and_decides_it_where_it_is_set() -> None:
    grown: Any = make_dataclass("Grown", [("weight_decay", float, 0.0)], bases=(TrialConfig,), frozen=True)
    every = {f.name: getattr(PLAIN, f.name) for f in fields(PLAIN)}
    for name, value in OTHER.items():
        config, more = replace(PLAIN, **{name: value}), grown(**{**every, name: value})
        assert (more.id, more.row, more.shape) == (config.id, config.row, config.shape)
        assert cohort_key([more]) == cohort_key([config])
    assert grown(**every, weight_decay=0.1).id != PLAIN.id


def test_a_default_that_changes_keeps_every_identity_if_its_old_value_stays_hashed() -> None:
    changed: Any = make_dataclass(
        "Changed", [("clip", float, field(default=1.0, metadata={"hashed": None}))], bases=(TrialConfig,), frozen=True
    )
    every = {f.name: getattr(PLAIN, f.name) for f in fields(PLAIN)}
    assert changed(**every).id == PLAIN.id
    assert changed.from_dict(PLAIN.to_dict()).clip is None  # what was said by saying nothing is still said
    assert changed(**{k: v for k, v in every.items() if k != "clip"}).to_dict()["clip"] == 1.0


@pytest.mark.integration
def test_no_recorded_identity_or_result_changed_without_its_version_and_all_are_recorded() -> None:
    now, before = frozen.present_record(), frozen.read_record()
    assert frozen.list_changes(before, now) == []
    assert frozen.list_unrecorded(before, now) == []
    assert len(before["models"]) >= 22 and len(before["tasks"]) >= 33


@pytest.mark.integration
def test_what_changed_under_an_old_version_is_named_and_not_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = frozen.read_record()
    then = deepcopy(before)
    then["models"]["lem"]["results"]["plain"][0] *= 1.001
    then["tasks"]["adding"]["results"]["loss and metric"][1] *= 2
    then["rules"]["rules"]["results"]["halved"][3] += 1e-6
    then["defaults"]["clip"] = 1.0
    assert frozen.list_changes(then, before) == [
        "identities left out clip 1.0: keep that as `hashed` in the field's metadata",
        "rules: results halved changed; its version is still 1",
        "lem: results plain changed; its version is still 1",
        "adding: results loss and metric changed; its version is still 2",
    ]
    file = tmp_path / "frozen.json"
    file.write_text(json.dumps(then))
    assert frozen.main(file) == 1 and json.loads(file.read_text()) == then
    assert "Bump the version" in capsys.readouterr().err
    then = deepcopy(before)
    then["models"]["lem"]["version"] = "0"
    assert frozen.list_changes(then, before) == []
    assert frozen.list_unrecorded(then, before) == ["lem of version 1 is not recorded: make freeze"]


def test_freezing_keeps_the_digits_of_what_is_the_same_and_takes_what_is_new() -> None:
    before = frozen.read_record()
    now = deepcopy(before)
    now["models"]["lem"]["results"]["plain"][0] *= 1 + 1e-12  # as another processor rounds
    assert now != before and frozen.merge_records(before, now) == before
    now["models"]["newer"] = deepcopy(now["models"]["lem"])
    assert frozen.merge_records(before, now)["models"]["newer"] == now["models"]["newer"]
    now["models"]["lem"]["results"]["plain"][0] *= 1.001
    assert frozen.merge_records(before, now)["models"] == now["models"]


def test_a_record_of_a_newer_longwave_or_a_damaged_one_is_refused_in_a_line() -> None:
    with pytest.raises(StoreError, match="has a field 'weight_decay' that this Longwave does not know. Upgrade"):
        TrialConfig.from_dict({**PLAIN.to_dict(), "weight_decay": 0.1})
    damaged = PLAIN.to_dict()
    del damaged["seed"]
    with pytest.raises(StoreError, match="has no field 'seed': its record is damaged"):
        TrialConfig.from_dict(damaged)


def test_an_identity_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(PLAIN)
    first = config.id
    monkeypatch.setattr(TrialConfig, "to_dict", lambda self: pytest.fail("computed again"))
    assert config.id is first


def test_a_sparse_record_holds_what_differs_from_its_defaults() -> None:
    assert sparse_fields(Run("a", "ok", valid=0.5)) == {"trial": "a", "status": "ok", "valid": 0.5}
    measured = Run("a", "ok", valid=0.5, measures=(Measure("accuracy", "%", 90.0, "length", 512.0),))
    assert Run.from_dict(json.loads(json.dumps(sparse_fields(measured)))) == measured


def test_a_measure_has_a_key_and_finite_numbers() -> None:
    for arguments in (("", "%", 1.0), ("a", "%", float("nan")), ("a", "%", 1.0, "length", float("inf"))):
        with pytest.raises(ValueError, match="A measure has a key and finite numbers"):
            Measure(*arguments)


@pytest.mark.parametrize(
    "margin, floor", [(float("inf"), 0.0), (float("nan"), 0.0), (1.25, float("inf")), (1.25, float("nan"))]
)
def test_a_margin_and_a_floor_are_finite(margin: float, floor: float) -> None:
    with pytest.raises(ValueError, match="both finite, got"):
        About("t", "m", "mse", "1", "min", margin=margin, floor=floor)


@given(
    clip=st.none() | st.floats(0.1, 2.0),
    drops=st.lists(st.integers(1, 50), max_size=3, unique=True).map(sorted),
    options=st.sampled_from([{}, {"start": "chrono"}, {"multiscale": False}, {"biases": 4, "start": "chrono"}]),
)
def test_seeds_are_derived_from_all_fields_and_options_and_from_no_version(
    clip: float | None, drops: list[int], options: dict[str, Any]
) -> None:
    config = replace(PLAIN, clip=clip, drops=tuple(drops), options=options)
    hashed = {
        "task": "adding", "variant": "N=20", "data": "0" * 12, "model": "lem", "params": {"lr": 0.01}, "hidden": 8,
        "batch": 4, "epochs": 3, "steps": None, "drops": drops, "clip": clip, "optimiser": "adam",
        "precision": "float32", "selection": "best",
        "options": {"start": "uniform", "multiscale": True, "biases": 8, **options},
    }  # fmt: skip
    assert seed_key(config) == digest(hashed)
    later = replace(config, task_version="9", model_version="9", protocol="9", phase="search", seed=1)
    assert seed_key(later) == seed_key(config)


def test_fields_that_are_always_said_have_no_value_to_leave_out() -> None:
    always = {f.name for f in fields(TrialConfig) if default_of(f) is MISSING}
    assert {"task_version", "model_version", "protocol", "seed", "phase"} <= always
