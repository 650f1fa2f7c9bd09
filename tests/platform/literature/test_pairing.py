"""The numbers that papers print find their row: real models and tasks against the shipped tables."""

from __future__ import annotations

from typing import Any

from longwave.platform.literature.pairing import belongs, beside, quoted
from longwave.platform.literature.published import names, published_rows
from longwave.platform.records.about import About
from longwave.platform.registry import all_models, all_tasks, get_model, get_task

PRINTED = published_rows()


def on(task: str, variant: str, model: str, **options: Any) -> list[dict[str, Any]]:
    """Return the numbers that stand beside a model with these options, on a task and variant."""
    spec, form = get_task(task), get_model(model)
    metric = spec.metric
    about = About(task, model, metric.name, metric.unit, metric.goal, tuple(spec.called(variant)))
    called = form.called({**form.defaults, **options})
    near = [n for n in PRINTED if n["task"] == task and belongs(n, about)]
    return [n for n in near if n["model"] == model and n["model_variant"] in called]


def values(numbers: list[dict[str, Any]]) -> list[float]:
    return sorted(n["value"] for n in numbers)


def test_every_model_of_a_published_number_has_a_name_in_print_and_ours_have_our_own() -> None:
    assert {number["model"] for number in PRINTED} == set(names())
    assert {name: spec.title for name, spec in all_models().items() if name in names()} == {
        name: names()[name] for name in all_models() if name in names()
    }


def test_sources_named_in_a_model_variant_are_no_other_form() -> None:
    assert values(on("timit", "", "lstm")) == [9.37, 12.62]
    assert values(on("timit", "previous", "lipschitz_rnn", scheme="rk2")) == [2.76, 2.81, 2.84]
    assert values(on("ptb_char", "T=300", "tanh_rnn")) == [2.9]


def test_lems_characters_are_those_of_segments_of_150() -> None:
    assert values(on("ptb_char", "T=150", "lem")) == [1.25]
    assert values(on("ptb_char", "T=150", "lipschitz_rnn", scheme="euler")) == [1.42, 1.43]
    assert values(on("ptb_char", "T=300", "lem")) == []


def test_a_size_is_no_other_form_but_a_departure() -> None:
    numbers = on("psmnist", "seed=5544", "cornn")
    assert {n["model_variant"] for n in numbers} >= {"128 units", "256 units"}
    named = {n["units"]: beside(n, [96.0, 96.1], "max", 128)["departures"] for n in numbers if n["units"]}
    assert (named["128"], named["256"]) == ([], ["hidden 128 (printed 256)"])


def test_a_number_of_paper_and_thesis_is_one_row_that_cites_both() -> None:
    [number] = on("eigenworms", "", "cornn")
    sources = quoted(number)["sources"]
    assert (number["value"], number["std"], number["n"]) == (86.7, 3.0, 5)
    assert [source.partition(" (")[0] for source in sources] == ["lem, Table 2", "thesis, Table 3.3"]


def test_a_quote_without_its_statistic_is_the_number_it_quotes() -> None:
    [best] = [n for n in PRINTED if (n["task"], n["model"], n["value"]) == ("ncifar", "cornn", 59.0)]
    assert (best["statistic"], len(best["sources"].split("\n"))) == ("best", 4)
    same = [n for n in PRINTED if (n["task"], n["model_variant"], n["value"]) == ("timit", "rk2", 2.76)]
    assert [(n["statistic"], n["n"]) for n in same] == [("best", 10)], "the best of 10 is the least of 10"
    other = [n for n in PRINTED if (n["task"], n["model_variant"], n["value"]) == ("smnist", "rk2", 98.9)]
    assert {n["units"] for n in other} == {"64", "128"}, "two sizes are two numbers"


def test_only_these_numbers_of_our_tasks_stand_on_no_board() -> None:
    more = {"lorenz96": ["F=0.9"], "ptb_char": ["T=300"]}  # variants of ours with a printed name of their own
    left = set()
    for name, task in all_tasks().items():
        variants = [task.variant, *task.published, *more.get(name, [])]
        placed = {printed for variant in variants for printed in task.called(variant)}
        theirs = {n["variant"] for n in PRINTED if n["task"] == name and n["metric"] == task.metric.name}
        left |= {(name, variant) for variant in theirs - placed}
    assert left == {
        ("timit", "split=val"),
        ("ptb_word", "split=val, T=300"),
        ("eigenworms", "last 10k entries"),
        ("google12", "gates clipped to [1,1]"),
        ("google12", "gates clipped, one order of magnitude"),
        ("adding", "any N"),
        ("adding", "any T"),
    }


def test_what_a_model_is_called_is_printed_somewhere() -> None:
    called = {(spec.name, name) for spec in all_models().values() for name in spec.printed}
    assert called <= {(n["model"], n["model_variant"]) for n in PRINTED}
