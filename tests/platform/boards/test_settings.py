"""Settings and facts of an environment in words, the same on all pages."""

from __future__ import annotations

from longwave.platform.boards.settings import fact_words, setting_words


def test_settings_are_named_in_words_and_those_without_a_value_are_left_out() -> None:
    settings = {"data": "d1", "batch": 20, "steps": None, "drops": (30, 40), "clip": None, "selection": "best"}
    assert setting_words(settings | {"task_version": "1", "momentum": 0.25}) == {
        "data": "d1",
        "batch": "20",
        "lr drops after epochs": "30, 40",
        "gradient clip": "none",
        "scored at": "best epoch",
        "task version": "1",
        "momentum": "0.25",
    }
    assert setting_words({"steps": 200, "drops": (), "clip": 1.5, "selection": "last"}) == {
        "steps per epoch": "200",
        "lr drops after epochs": "never",
        "gradient clip": "1.5",
        "scored at": "last epoch",
    }


def test_facts_are_named_in_words_and_say_yes_or_no() -> None:
    facts = {"dirty": ["false"], "tf32": ["false", "true"], "torch": ["2.15.0"]}
    assert fact_words(facts) == {"uncommitted changes": "no", "tf32": "no or yes", "torch": "2.15.0"}
