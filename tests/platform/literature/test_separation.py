"""Whether a task still separates models, in words."""

from __future__ import annotations

from typing import Any

import pytest

from longwave.platform.literature.separation import printed_for, separation
from longwave.platform.statistics.scale import scale_of

ERROR, ACCURACY = scale_of("mse", "min", "1", 0.0), scale_of("accuracy", "max", "%", 0.5)


def number(value: float, model: str = "lem") -> dict[str, Any]:
    return {"value": value, "printed": f"{value:g}", "model": model}


@pytest.mark.parametrize("best, saturated", [(0.0019, True), (0.002, True), (0.0021, False)])
def test_a_task_is_saturated_where_trivial_is_no_worse_than_the_best_printed_number(
    best: float, saturated: bool
) -> None:
    output = separation({"mean": 1.0, "cubic AR": best}, [number(0.01, "lstm"), number(0.002)], ERROR)
    assert output.startswith(f"Best trivial predictor: cubic AR, {best:.4g}. That is") and "0.002 of LEM" in output
    assert ("is saturated: it separates no models" in output) == saturated
    assert ("1.05 × the error of" in output and "still separates models" in output) == (not saturated)


def test_of_a_printed_error_of_zero_nothing_is_a_multiple() -> None:
    assert "mean, 1. That is above the error of the best published number, 0 of LEM," in separation(
        {"mean": 1.0}, [number(0)], ERROR
    )


def test_of_an_accuracy_the_larger_is_the_better_and_errors_are_compared() -> None:
    scores = {"majority": 10.0, "1-NN": 97.0}
    assert "saturated: it separates no models" in separation(scores, [number(96.0)], ACCURACY)
    assert "That is 3 × the error of the best published number, 99 of LEM," in separation(
        scores, [number(99.0)], ACCURACY
    )


def test_without_a_printed_number_or_a_predictor_it_says_so() -> None:
    assert separation({"mean": 0.5}, [], ERROR) == (
        "Best trivial predictor: mean, 0.5. No published number is comparable; the task's board shows how much better "
        "models are."
    )
    assert separation({}, [number(1.0)], ERROR) == "No trivial predictor can run here."


@pytest.mark.parametrize("score, blind", [(15.85, True), (18.0, True), (25.0, False)])
def test_a_predictor_no_better_than_chance_is_said_to_be_about_chance(score: float, blind: bool) -> None:
    assert (", about chance" in separation({"majority": score}, [], ACCURACY, chance=15.85)) == blind


def test_the_printed_numbers_of_a_task_are_those_of_its_variant_and_metric() -> None:
    actual = printed_for("fitzhugh_nagumo", "", "l2_error")
    assert actual and min(each["value"] for each in actual) == pytest.approx(0.002)
    assert printed_for("fitzhugh_nagumo", "", "accuracy") == [] == printed_for("enso", "h=25", "mse")
