"""The numbers that papers print find their row, and what differs between the two is told."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trials import present_trial

from longwave.models.base.block_options import OPTIONS
from longwave.platform.about import derived_facts
from longwave.platform.literature.pairing import (
    BLOCK,
    NOT_RUN,
    OTHER_PROTOCOL,
    belongs,
    block_of,
    credited,
    departures,
    pair_number,
    quoted,
    same_form,
    unpaired,
)
from longwave.platform.literature.published import NOWHERE, published_rows
from longwave.platform.records.about import About
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import all_models, get_model, get_task, metric_names, printed_forms
from longwave.platform.statistics.printed import Printed
from longwave.platform.statistics.scale import scale_of
from longwave.platform.statistics.tuning import chance_to_improve
from longwave.platform.statistics.verdict import verdict

PRINTED = published_rows()
METRICS, FORMS = metric_names(), printed_forms()


def trial(task: str, variant: str, model: str, options: Any = (), params: Any = (), **changes: Any) -> TrialConfig:
    """Return a trial by the recipe that the task has for the model, but for what is given."""
    spec = get_task(task)
    recipe = spec.recipe(model)
    numbers = {"lr": 0.01, **recipe.numbers, **dict(params)}
    fields = ("steps", "drops", "clip", "optimiser", "schedule")
    sizes = {name: changes.pop(name, getattr(recipe, name)) for name in ("hidden", "batch", "epochs")}
    config = present_trial(task, variant, "d", model, dict(options), numbers, **sizes, phase="retrain", seed=1)
    return replace(config, **{**{name: getattr(recipe, name) for name in fields}, **changes})


def on(task: str, variant: str, model: str, width: int | None = None, **options: Any) -> list[dict[str, Any]]:
    """Return the numbers that stand beside a model with these options, on a task and variant."""
    config = trial(task, variant, model, options, width=width)
    about = About(**derived_facts(config))
    near = [n for n in PRINTED if n["task"] == task and belongs(n, variant, about)]
    return [n for n in near if same_form(n, config, about)]


def read_block(cell: str) -> dict[str, Any]:
    """Return the options of a residual block and its width as a number names them."""
    pairs = dict(part.split("=") for part in cell.split())
    return {name: int(value) if name in ("depth", "width") else value for name, value in pairs.items()}


def judged(task: str, variant: str, model: str, scores: list[float | None], **changes: Any) -> list[dict[str, Any]]:
    """Return the numbers beside a trial of the model with these scores."""
    config = trial(task, variant, model, **changes)
    about = About(**derived_facts(config))
    mine = on(task, variant, model, config.width, **config.options)
    return [pair_number(n, scores, scale_of(about.metric, about.goal, about.unit), about, config) for n in mine]


def values(numbers: list[dict[str, Any]]) -> list[float]:
    return sorted(n["value"] for n in numbers)


def test_sources_named_in_a_model_variant_are_no_other_form() -> None:
    assert values(on("timit", "", "lstm")) == [9.37, 12.62]
    assert values(on("timit", "previous", "lipschitz_rnn", scheme="rk2")) == [2.76, 2.81, 2.84]
    assert values(on("ptb_char", "T=300", "tanh_rnn")) == [2.9]


def test_lems_characters_are_those_of_segments_of_150_and_lipschitz_words_of_300() -> None:
    assert values(on("ptb_char", "T=150", "lem")) == [1.25]
    assert values(on("ptb_char", "T=150", "lipschitz_rnn", scheme="euler")) == [1.42, 1.43]
    assert values(on("ptb_char", "T=300", "lem")) == []
    assert values(on("ptb_word", "T=300", "lipschitz_rnn")) == [115.36, 115.4]


def test_a_permutation_has_the_numbers_of_the_papers_that_drew_it() -> None:
    assert values(on("psmnist", "seed=5544", "lem")) == [96.6]
    assert values(on("psmnist", "seed=12008", "lem")) == []
    assert {n["paper"] for n in on("psmnist", "seed=12008", "cornn")} == {"cornn"}


def test_every_number_has_a_place_or_a_reason_to_have_none() -> None:
    message = Counter(unpaired(n, METRICS, FORMS) for n in PRINTED)
    assert message == {
        "": 324,
        "task not here": 447,
        "model not here": 277,
        "metric differs: ours is accuracy": 56,
        "metric differs: ours is nmse": 2,
        "validation split": 77,
        "form not here": 16,
        "variant not here": 34,
        "block not here": 18,
    }


def test_every_number_with_a_place_stands_beside_one_form_on_one_variant() -> None:
    for number in PRINTED:
        if not unpaired(number, METRICS, FORMS):
            form = get_model(number["model"]).printed.get(number["model_variant"], {})
            form = {**form, **read_block(number["block"])}
            variants = {number["ours"], get_task(number["task"]).variant, ""}
            actual = {variant for variant in variants if number in on(number["task"], variant, number["model"], **form)}
            assert actual == {number["ours"]}, number


CELL, ABOUT = trial("smnist", "", "lru", hidden=64), About(**derived_facts(trial("smnist", "", "lru")))
"""A trial of a linear recurrence, which is varied by its block."""
DEFAULTS = {name: choices[0] for name, choices in OPTIONS.items()}
chosen = st.fixed_dictionaries({name: st.sampled_from(choices) for name, choices in OPTIONS.items()})
widths = st.sampled_from((None, 64, 128))


def in_full(options: Any, width: int | None) -> dict[str, Any]:
    """Return all that tells one block from another, the hidden size being 64; nothing of a bare model."""
    full = {**DEFAULTS, **options}
    return {} if full["block"] == "none" else {**full, "width": width or 64}


def varied(options: Any, width: int | None) -> TrialConfig:
    """Return a trial with such a block, or a bare one, as a sweep would plan it."""
    full = in_full(options, width)
    short = {name: value for name, value in options.items() if full and value != DEFAULTS[name]}
    return replace(CELL, options=short, width=width if full else None)


def cell_of(options: Any, width: int | None) -> str:
    """Return how a table would name the block, in words of this test's own."""
    full = in_full(options, width)
    return " ".join(
        f"{k}={full[k]}" for k in ("block", *list(OPTIONS)[1:], "width") if full and full[k] != DEFAULTS.get(k)
    )


def test_numbers_name_blocks_by_the_options_that_blocks_have() -> None:
    assert tuple(OPTIONS) == BLOCK
    assert block_of(CELL) == ""
    deep = replace(CELL, options={"norm": "batch", "depth": 6, "block": "pre", "ring": "0-1"}, width=512)
    assert block_of(deep) == "block=pre depth=6 norm=batch width=512"
    assert block_of(replace(deep, width=None)) == "block=pre depth=6 norm=batch width=64", "by default the hidden size"


def test_a_number_stands_beside_the_one_block_it_is_of_among_all_that_can_be_chosen() -> None:
    grid = [(dict(zip(OPTIONS, c, strict=True)), w) for c in product(*OPTIONS.values()) for w in (None, 64, 128)]
    rows = [(in_full(options, width), varied(options, width)) for options, width in grid]
    for own in ({}, {"block": "post"}, {"block": "pre", "depth": 6, "norm": "batch"}, {"block": "pre", "glu": "none"}):
        number = {"model": "lru", "model_variant": "", "block": cell_of(own, 64)}
        beside = [full for full, config in rows if same_form(number, config, ABOUT)]
        assert beside and all(full == in_full(own, 64) for full in beside)
        assert len(beside) == sum(full == in_full(own, 64) for full, _ in rows)
    unknown = {"model": "lru", "model_variant": "", "block": NOWHERE}
    assert not any(same_form(unknown, config, ABOUT) for _, config in rows)


@given(chosen, widths, chosen, widths)
def test_two_blocks_agree_in_print_if_and_only_if_nothing_differs(
    ours: Any, our_width: int | None, theirs: Any, their_width: int | None
) -> None:
    number = {"model": "lru", "model_variant": "", "block": cell_of(theirs, their_width)}
    assert same_form(number, varied(ours, our_width), ABOUT) == (
        in_full(ours, our_width) == in_full(theirs, their_width)
    )


@given(chosen, widths, st.sampled_from(sorted({n["model"] for n in PRINTED} & set(FORMS))))
def test_no_number_of_a_bare_model_stands_beside_a_row_in_a_block_nor_the_other_way_round(
    options: Any, width: int | None, model: str
) -> None:
    config = replace(varied(options, width), model=model)
    about = replace(ABOUT, called=tuple(FORMS[model]))
    for number in (n for n in PRINTED if n["model"] == model):
        if same_form(number, config, about):
            assert in_full(read_block(number["block"]), read_block(number["block"]).get("width")) == in_full(
                options, width
            )


def test_lrus_numbers_stand_beside_six_blocks_of_their_width_and_beside_no_bare_row() -> None:
    block: dict[str, Any] = {"block": "pre", "depth": 6, "norm": "batch"}
    assert values(on("scifar", "", "lru", 512, **block)) == [89.0]
    assert values(on("listops", "", "lru", 128, **block)) == [60.2]
    for width, options in ((512, {}), (256, block), (512, {**block, "depth": 4}), (512, {**block, "norm": "layer"})):
        assert values(on("scifar", "", "lru", width if options else None, **options)) == []
    [number] = judged("scifar", "", "lru", [88.0, 88.5], options=block, hidden=384, width=512)
    assert number["verdict"] == OTHER_PROTOCOL
    assert "a run by others, whose recipe is unknown here: Orvieto et al. 2023" in number["departures"]


def test_a_block_is_no_form_of_a_model_and_leaves_its_names_as_they_are() -> None:
    for name in ("lru", "linoss", "lstm", "lipschitz_rnn"):
        spec = get_model(name)
        for form in ({}, *spec.printed.values()):
            assert spec.called({**form, "block": "pre", "depth": 2, "norm": "rms"}) == spec.called(form) != []
    assert get_model("linoss").called({"scheme": "imex", "block": "post"}) == ["imex"]


def test_tau_grus_own_forms_stand_beside_the_full_form_and_other_delays_are_told() -> None:
    [own] = judged("enso", "h=1", "tau_gru", [0.0017] * 5, params={"tau": 20})
    [other] = judged("mackey_glass", "h=1", "tau_gru", [0.0014] * 5, params={"tau": 7, "alpha": 0.5})
    assert (own["model_variant"], other["model_variant"]) == ("alpha=beta=1, tau=20", "alpha=beta=1, tau=10")
    assert not [message for message in own["departures"] if "printed 20" in message or "alpha" in message]
    assert other["departures"][:2] == ["alpha 0.5 (printed 1)", "tau 7 (printed 10)"]


def test_fitzhugh_nagumo_by_the_full_recipe_is_the_papers_protocol() -> None:
    # 0.2e-2 is anything from 0.0015 to 0.0025, and 0.0023 is 1.53 to 0.92 times that; all seeds are far below 1.15e-2.
    for model, printed, word in (("lem", "0.2 × 10⁻²", "undecided"), ("lstm", "1.2 × 10⁻²", "better")):
        [actual] = judged("fitzhugh_nagumo", "", model, [0.0021, 0.0022, 0.0023, 0.0024, 0.0025])
        assert (actual["printed"], actual["departures"], actual["kind"]) == (printed, [], "unlabelled")
        assert (actual["verdict"], "too few digits" in actual["why"]) == (word, model == "lem")
        assert actual["n_ours"] == 5 and actual["ratio_low"] < actual["ratio"] < actual["ratio_high"]


def test_fewer_epochs_are_another_protocol_whose_ratio_is_told_and_decides_nothing() -> None:
    [actual] = judged("fitzhugh_nagumo", "", "lem", [0.01, 0.011, 0.012, None], epochs=30)
    assert (actual["verdict"], actual["departures"]) == (OTHER_PROTOCOL, ["epochs 30 (published 400)"])
    assert actual["ratio"] == pytest.approx(5.49, rel=0.01) and (actual["n_ours"], actual["diverged_ours"]) == (3, 1)
    assert (actual["more"], actual["limit"], actual["why"]) == (None, False, "")


def test_the_word_is_that_of_the_verdict_with_the_digits_as_printed() -> None:
    [number] = [n for n in on("fitzhugh_nagumo", "", "lem") if n["value"] == 0.002]
    scores, scale = [0.0021, 0.0022, 0.0023, 0.0024, 0.0025], scale_of("mse", "min", "1")
    about = About(**derived_facts(trial("fitzhugh_nagumo", "", "lem")), trivial={"mean": 0.5, "persistence": 0.4})
    actual = pair_number(number, scores, scale, about, trial("fitzhugh_nagumo", "", "lem"))
    want = verdict(scores, Printed(0.002, "reported", rounding=0.0005), scale, 1.25, 0.4)
    assert (actual["verdict"], actual["more"], actual["limit"], actual["why"]) == (
        want.word, want.more, want.limit, want.why,
    )  # fmt: skip
    assert want.ratio and (actual["ratio"], actual["ratio_low"]) == (want.ratio.value, want.ratio.low)


def test_the_trivial_predictor_that_the_margin_is_held_against_is_the_best_one() -> None:
    [number] = [n for n in on("fitzhugh_nagumo", "", "lem") if n["value"] == 0.002]
    config, scale = trial("fitzhugh_nagumo", "", "lem"), scale_of("mse", "min", "1")
    scores = [0.0021, 0.0022, 0.0021, 0.0023]
    about = replace(About(**derived_facts(config)), trivial={"mean": 0.5, "persistence": 0.0027})
    printed = Printed(0.002, "reported", rounding=0.0005)
    by_best, by_worst = (verdict(scores, printed, scale, about.margin, score) for score in (0.0027, 0.5))
    actual = pair_number(number, scores, scale, about, config)
    assert actual["why"] == by_best.why != by_worst.why


def test_a_size_is_no_other_form_but_a_departure() -> None:
    numbers = judged("psmnist", "seed=12008", "cornn", [96.0, 96.1])
    named = {n["units"]: n["departures"] for n in numbers if n["statistic"] == "best"}
    assert (named["128"], named["256"]) == ([], ["hidden 128 (printed 256)"])
    larger = judged("psmnist", "seed=12008", "cornn", [96.0, 96.1], hidden=256)
    named = {n["units"]: n["departures"] for n in larger if n["statistic"] == "best"}
    assert (named["128"], named["256"]) == (["hidden 256 (printed 128)"], []), "as printed, whatever the recipe says"


def test_layers_are_a_size_too() -> None:
    one, two, three = (
        {n["printed"]: n["departures"] for n in judged("eigenworms", "", "unicornn", [90.0] * 5, options=options)}
        for options in ({"layers": 1}, {"layers": 2}, {})
    )
    assert one.keys() == two.keys() == three.keys() == {"90.3", "94.9", "90"}
    assert "layers 1 (printed 2)" in one["90.3"]
    assert "layers 3 (printed 2)" in three["90.3"] and not [message for message in two["90.3"] if "layers" in message]


def test_a_recipe_of_another_paper_is_another_protocol() -> None:
    actual = {n["value"]: n["departures"] for n in judged("smnist", "", "lstm", [98.0] * 5)}
    others = "a run by others, whose recipe is unknown here: Helfrich et al. 2018"
    assert actual[98.9] == ["hidden 128 (printed 256)", others]
    [tau] = judged("har2", "", "lem", [97.0] * 5)
    assert "recipe of coRNN, Tables 3 and 7 and text; the number is a run of τ-GRU" in tau["departures"]
    delayed = judged("scifar", "", "simple_delay_gru", [57.0] * 5)
    assert any(message.startswith("recipe ours: LEM's nCIFAR-10") for n in delayed for message in n["departures"])


def test_known_differences_of_the_numbers_paper_are_told_but_for_minor_ones() -> None:
    actual = {n["units"]: n["departures"] for n in judged("smnist", "", "cornn", [99.0] * 5) if n["n"] is None}
    assert actual["128"] == ["coRNN prints the accuracy of the last epoch, not of the epoch that validates best"]
    [lem] = judged("smnist", "", "lem", [99.0] * 5)
    assert lem["departures"] == [], "the validation images of another seed change nothing that is measured"


def test_a_field_that_the_paper_does_not_state_is_told() -> None:
    numbers = judged("smnist", "", "tau_gru", [99.0] * 5)
    assert numbers and all("batch ours, not stated" in n["departures"] for n in numbers)


def test_the_worst_of_several_runs_is_told_and_judged_by_nobody() -> None:
    numbers = judged("smnist", "", "tau_gru", [99.0, 99.1, 99.2, 99.3, 99.4])
    worst = {n["statistic"]: [t for t in n["departures"] if "worst" in t] for n in numbers}
    assert worst == {"min": ["the worst of 8 runs is printed"], "max": [], "mean": []}
    [number] = [n for n in on("timit", "previous", "lipschitz_rnn", scheme="rk2") if n["statistic"] == "max"]
    config = trial("timit", "previous", "lipschitz_rnn", {"scheme": "rk2"})
    message = departures(number, About(**derived_facts(config)), config, scale_of("mse", "min", "1"))
    assert message[0] == "the worst of 10 runs is printed"


def test_a_row_of_before_recipes_were_recorded_has_another_protocol() -> None:
    config = trial("fitzhugh_nagumo", "", "lem")
    old = About("FitzHugh-Nagumo", "LEM", "l2_error", "1", "min", departures=())
    [number] = [n for n in on("fitzhugh_nagumo", "", "lem") if n["value"] == 0.002]
    actual = pair_number(number, [0.002] * 5, scale_of("mse", "min", "1"), old, config)
    assert (actual["verdict"], actual["departures"]) == (OTHER_PROTOCOL, ["recipe not recorded"])


def test_a_row_without_scores_is_undecided() -> None:
    [actual] = judged("fitzhugh_nagumo", "", "lem", [])
    assert (actual["verdict"], actual["ratio"], actual["n_ours"]) == ("undecided", None, 0)


def test_a_number_of_paper_and_thesis_is_one_row_that_cites_both() -> None:
    [number] = on("eigenworms", "", "cornn")
    actual = quoted(number)
    assert (number["value"], number["std"], number["n"], actual["printed"]) == (86.7, 3.0, 5, "86.7")
    assert [source.partition(" (")[0] for source in actual["sources"]] == ["lem, Table 2", "thesis, Table 3.3"]
    assert (actual["verdict"], actual["departures"], credited(number)) == (NOT_RUN, [], "the thesis")
    [beside_ours] = judged("eigenworms", "", "cornn", [86.0] * 5)
    assert actual.keys() == beside_ours.keys()


def test_what_a_model_is_called_is_printed_somewhere() -> None:
    called = {(spec.name, name) for spec in all_models().values() for name in spec.printed}
    assert called <= {(n["model"], n["model_variant"]) for n in PRINTED}


def test_worse_is_said_only_where_a_longer_search_would_hardly_help() -> None:
    [number] = [n for n in on("fitzhugh_nagumo", "", "lem") if n["value"] == 0.002]
    config = trial("fitzhugh_nagumo", "", "lem")
    about, scale = About(**derived_facts(config)), scale_of("mse", "min", "1")
    scores = [0.02, 0.021, 0.022, 0.023, 0.024, 0.025]

    def word(drawn: list[float | None], *edges: str) -> tuple[str, str]:
        actual = pair_number(number, scores, scale, about, config, drawn, edges)
        return actual["verdict"], actual["why"]

    flat, steep = [0.02 + 1e-4 * k for k in range(32)], [0.02 * 1.4**k for k in range(32)]
    assert word([]) == word([*flat, None]) == ("worse", word([])[1]), (
        "a flat search is near its best; without one the setting is the paper's"
    )
    assert word([*flat], "lr at the high end of 0.0001 to 0.1") == (
        "not tuned", "a better setting may lie outside what was searched: lr at the high end of 0.0001 to 0.1"
    )  # fmt: skip
    unknown = pair_number(number, scores, scale, about, config, flat, None)
    assert (unknown["verdict"], unknown["why"]) == (
        "not tuned", "the ranges of the search are unknown, so a better setting may lie outside them"
    )  # fmt: skip
    assert pair_number(number, scores, scale, about, config, [], None)["verdict"] == "worse", "no search, no ranges"
    assert word([*flat[:8]])[0] == "worse"
    assert word([*flat[:7]]) == word([*flat[:7], None, None]) == (
        "not tuned", "too few trials of the search have a score to say whether a longer one would be better"
    )  # fmt: skip
    assert word([*steep]) == (
        "not tuned", "doubling the number of trials would improve the best validation error by 1.25 with a chance of "
        f"{100 * chance_to_improve(steep):.0f} %",
    )  # fmt: skip
    better = pair_number(number, [0.0001] * 5 + [0.00011], scale, about, config, steep)
    assert better["verdict"] != "not tuned", "only what is worse may be for want of a search"
