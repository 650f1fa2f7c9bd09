"""How recipes are shown, and how a trial is told to depart from one."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest
from tree import ROOT
from trials import present_trial

from longwave.platform.about import about, departures_of
from longwave.platform.cli.main import main
from longwave.platform.records.about import list_departures
from longwave.platform.registry import get_task
from longwave.platform.render import tasks
from longwave.platform.sweeps.file.reading import read_sweep
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.trials import search_trials
from longwave.tasks.base.spec import Recipe, changes

PLAIN = present_trial("adding", "N=20", "", "lem", {}, {"lr": 0.1, "dt": 1.0}, 128, 50, 300, "search", 1, steps=100)


@pytest.mark.parametrize("width", [80, 200])
def test_a_recipe_is_shown_in_full_at_any_width(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    tasks.print_task(get_task("ptb_word"), tasks.Format.table)
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= width and "…" not in text
    flat = " ".join(text.split())
    assert "hidden 256, batch 64, epochs 962, clip 4, adam, input_dropout 0.4248, output_dropout 0.4568," in flat
    assert "rmsprop, rms_decay 0.9" in flat and "1000 turns of 200 steps" in flat


def test_what_a_schedule_does_is_part_of_what_is_shown() -> None:
    shown = tasks._recipe_text(get_task("scifar").recipe("lipschitz_rnn"))
    assert shown.startswith("hidden 256, batch 128, epochs 100, sgd, η·0.2 after epoch 90, momentum 0.9\n")
    recipe = Recipe(8, 4, 9, "here", schedule="cosine", numbers={"warmup": 2.0})
    assert tasks._recipe_text(recipe) == "hidden 8, batch 4, epochs 9, adam, cosine, warmup 2\nhere"


def test_programs_read_whole_recipes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "google12", "--format", "json"]) == 0
    [record] = json.loads(capsys.readouterr().out)
    spec = get_task("google12")
    for model in ("", "tau_gru"):
        assert record["recipes"][model] == json.loads(json.dumps(asdict(spec.recipe(model))))
    assert record["recipes"]["tau_gru"]["numbers"] == {"input_dropout": 0.03}
    assert record["recipes"]["tau_gru"].keys() >= {"optimiser", "schedule", "numbers", "hidden", "drops"}


def test_a_trial_as_published_departs_in_nothing() -> None:
    assert departures_of(PLAIN, get_task("adding")) == ()


@pytest.mark.parametrize(
    ("change", "departure"),
    [
        ({"optimiser": "sgd"}, "optimiser sgd (published adam)"),
        ({"schedule": "cosine"}, "schedule cosine (published drops)"),
        ({"params": {**PLAIN.params, "weight_decay": 0.1}}, "weight_decay 0.1 (published none)"),
        ({"clip": 1.0}, "clip 1 (published none)"),
        ({"drops": (100,)}, "η/10 after epochs [100] (published [])"),
    ],
)
def test_words_and_numbers_that_differ_from_the_recipe_are_told(change: dict[str, object], departure: str) -> None:
    assert about(replace(PLAIN, **change)).departures == (departure,)  # type: ignore[arg-type]


def test_a_published_number_that_a_trial_lacks_or_changes_is_told() -> None:
    source = {"numbers": {"input_dropout": 0.03, "momentum": 0.9}, "source": "here", "drops": (5,)}
    task = replace(get_task("adding"), recipes={"": replace(get_task("adding").recipe(""), **source)})  # type: ignore[arg-type]
    trial = replace(PLAIN, schedule="cosine", params={**PLAIN.params, "momentum": 0.5})
    assert departures_of(trial, task) == (
        "schedule cosine (published drops)",
        "input_dropout none (published 0.03)",
        "momentum 0.5 (published 0.9)",
    )


def test_drops_that_differ_are_told_with_the_factor_of_the_trial() -> None:
    recipe = {**asdict(get_task("adding").recipe("")), "numbers": {"drop_factor": 0.2}, "drops": (90,)}
    trial = replace(PLAIN, drops=(10,), params={**PLAIN.params, "drop_factor": 0.2})
    assert list_departures(trial, recipe) == ("η·0.2 after epochs [10] (published [90])",)


def test_a_recipe_of_ours_is_called_so() -> None:
    recipe = asdict(changes("ours", paper="", epochs=7).of(get_task("adding").recipe("")))
    assert list_departures(PLAIN, recipe) == ("epochs 300 (ours 7)",)


def test_the_depth_study_is_a_cell_a_combination() -> None:
    sweep = resolve(read_sweep(ROOT / "infra/sweeps/depth.toml"))
    assert len(sweep.cells) == 2 * (2 * 3 + 2) and len(sum(search_trials(sweep, {}), [])) == 16 * 8
    assert len({entry.label for entry in sweep.cells}) == 16
