"""What models and tasks say of themselves in a row's explanation: recipe, paper, known differences, least error."""

from __future__ import annotations

import json

import pytest
import torch
from trials import present_trial

from longwave.platform.about import about, derived_facts
from longwave.platform.records.about import VERSION, About, list_departures
from longwave.platform.registry import all_models, all_tasks, get_task
from longwave.tasks.base.losses import ACCURACY, MSE
from longwave.tasks.base.spec import Recipe, changes, note

RECIPE = {"source": "paper", "paper": "lem", "unstated": (), "numbers": {}, "drops": ()}


def test_a_row_is_told_its_recipe_its_paper_and_what_is_known_to_differ() -> None:
    config = present_trial("digits", "", "here", "lem", {}, {"lr": 0.1}, 128, 128, 120, "retrain", 1, drops=(100,))
    facts = about(config)
    assert (facts.recipe, facts.paper) == ("LEM's sequential MNIST, Table 8 and code", "lem")
    assert dict(facts.known) == {get_task("digits").protocols[0].text: []} and facts.minor == ()
    data = get_task("digits").load("")
    assert (facts.margin, facts.floor, facts.layers) == (1.25, 50 / len(data.test), 1)
    assert About.from_dict(json.loads(json.dumps(facts.to_dict()))) == facts and facts.version == VERSION


@pytest.mark.integration
def test_what_explains_a_row_of_any_model_and_task_is_well_formed_without_data() -> None:
    for task, spec in all_tasks().items():
        for model in all_models():
            recipe = spec.recipe(model)
            config = present_trial(
                task, spec.variant, "d", model, {}, {}, recipe.hidden, recipe.batch, recipe.epochs, "retrain", 1
            )
            facts = About(**derived_facts(config))
            assert About.from_dict(json.loads(json.dumps(facts.to_dict()))) == facts
            assert facts.recipe and set(facts.minor) <= facts.known.keys() and facts.margin > 1 and facts.layers >= 1


def test_unstated_fields_of_a_recipe_are_known_differences_of_its_paper() -> None:
    config = present_trial("enso", "h=1", "d", "tau_gru", {}, {"tau": 20.0}, 16, 32, 400, "retrain", 1)
    facts = derived_facts(config)
    assert facts["paper"] == "taugru" and facts["known"]["batch ours, not stated"] == ["taugru"]
    assert "batch ours, not stated" not in facts["minor"]


@pytest.mark.parametrize(
    ("recipe", "departure"),
    [
        ({}, "epochs 9 (published 3)"),
        ({"unstated": ("epochs",)}, "epochs 9 (ours 3)"),
        ({"paper": ""}, "epochs 9 (ours 3)"),
    ],
)
def test_a_departure_says_whether_a_paper_or_we_stated_the_field(recipe: dict[str, object], departure: str) -> None:
    config = present_trial("adding", "N=20", "d", "lem", {}, {}, 8, 4, 9, "retrain", 1)
    fields = {name: getattr(config, name) for name in ("hidden", "batch", "steps", "clip", "optimiser", "schedule")}
    assert list_departures(config, {**RECIPE, **fields, "epochs": 3, **recipe}) == (departure,)


def test_a_recipe_that_changes_its_paper_leaves_nothing_of_the_others_unstated() -> None:
    general = Recipe(8, 4, 9, "LEM, Table 8", paper="lem", unstated=("batch",))
    same, other = changes("LEM, Table 9", epochs=3).of(general), changes("coRNN", paper="cornn").of(general)
    assert (same.paper, same.unstated) == ("lem", ("batch",))
    assert (other.paper, other.unstated) == ("cornn", ())
    assert changes("τ-GRU", paper="taugru", unstated=("clip",)).of(general).unstated == ("clip",)


def test_the_least_error_of_an_accuracy_is_half_of_what_is_asked() -> None:
    classes = torch.tensor([[1, -100, 2], [0, -100, -100]])
    assert ACCURACY.floor(classes) == pytest.approx(100 / 3 / 2)
    assert ACCURACY.floor(torch.zeros(39, dtype=torch.long)) == pytest.approx(100 / 39 / 2)
    assert MSE.floor(torch.zeros(39, 2)) == 0.0


def test_a_note_is_of_the_papers_it_names() -> None:
    remark = note("one", "lem", "cornn", minor=True)
    assert (remark.text, remark.papers, remark.minor) == ("one", ("lem", "cornn"), True)
    assert (note("one").papers, note("one").minor) == ((), False)
