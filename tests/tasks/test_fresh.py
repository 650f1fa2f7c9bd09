"""Fresh test data: other series of the same law, while all that is trained and validated on stays."""

from __future__ import annotations

import inspect

import pytest
import torch

from longwave.platform.literature.published import published_rows
from longwave.platform.literature.separation import printed_for
from longwave.platform.registry import get_task
from longwave.tasks.base.data import Data, mark_inputs
from longwave.tasks.base.variants import FRESH, split_fresh, with_fresh

VARIANTS = [
    ("fitzhugh_nagumo", ""), ("enso", "h=1"), ("enso", "h=25"), ("mackey_glass", "h=1"), ("mackey_glass", "h=25"),
    ("lorenz96", "F=8"), ("lorenz96", "F=0.9"), ("fitzhugh_nagumo_free", ""), ("enso_free", ""),
    ("mackey_glass_free", ""), ("lorenz96_free", ""),
]  # fmt: skip
"""Of the tasks with generated series on which edition 1 shows results; symbols are in test_symbols.py."""


def load(task: str, variant: str) -> Data:
    data: Data = inspect.unwrap(get_task(task).load)(variant)
    return data


@pytest.mark.integration
@pytest.mark.parametrize(("task", "form"), VARIANTS)
def test_fresh_series_are_of_the_same_law_and_no_other_split_has_one_of_them(task: str, form: str) -> None:
    plain, fresh = load(task, form), load(task, ",".join(filter(None, (form, FRESH))))
    assert plain.train is not None and fresh.train is not None
    assert torch.equal(fresh.train.inputs, plain.train.inputs) and torch.equal(fresh.train.targets, plain.train.targets)
    assert torch.equal(fresh.valid.inputs, plain.valid.inputs) and torch.equal(fresh.valid.targets, plain.valid.targets)
    assert fresh.test.inputs.shape == plain.test.inputs.shape and fresh.version != plain.version
    seen = {mark for split in (plain.train, plain.valid, plain.test) for mark in mark_inputs(split)}
    assert not seen & set(mark_inputs(fresh.test))
    for of in (torch.mean, torch.std):
        assert of(fresh.test.inputs).item() == pytest.approx(of(plain.test.inputs).item(), rel=0.05, abs=0.05)


def test_a_variant_and_its_fresh_form_are_told_apart_and_nothing_else_is_cut_off() -> None:
    assert with_fresh() == ["", "test=2"] and with_fresh(["F=8"]) == ["F=8", "F=8,test=2"]
    for form in ("", "F=8", "T=64,kv=4"):
        assert [split_fresh(variant) for variant in with_fresh([form])] == [(form, False), (form, True)]
    assert split_fresh("test=22") == ("test=22", False)


@pytest.mark.parametrize(("task", "form"), VARIANTS[:7])
def test_printed_numbers_and_time_scales_of_a_variant_hold_for_its_fresh_form(task: str, form: str) -> None:
    spec, fresh = get_task(task), with_fresh([form])[1]
    wanted = [n for n in published_rows() if (n["task"], n["ours"], n["metric"]) == (task, form, spec.metric.name)]
    assert printed_for(task, fresh, spec.metric.name) == wanted and (wanted or form != "h=1")
    assert spec.time_scale(fresh) == spec.time_scale(form) is not None


@pytest.mark.parametrize(("task", "form"), VARIANTS)
def test_another_number_is_refused(task: str, form: str) -> None:
    with pytest.raises(ValueError, match=rf"^{task} takes a variant .*{FRESH}, got '.*test=3'\.$"):
        get_task(task).load(f"{form},test=3")
