"""What two rows differ in, line by line."""

from __future__ import annotations

from dataclasses import asdict, fields, replace

import pytest
from boards import retrained, trials

from longwave.platform.boards.diff import OF_PROTOCOL, SUBJECT, compared
from longwave.platform.records.trial import OF_ONE_TRIAL, TrialConfig
from longwave.platform.statistics.contrast import contrast
from longwave.platform.statistics.scale import Scale

CONTRAST = ("error of a / error of b", "P(better)", "a against b")
A, B = retrained("a", [1.0, 2.0, 4.0]), retrained("a", [0.5, 1.0, 1.0], hidden=9, model_version="2", batch=4)


def message(**changes: str) -> dict[str, tuple[object, object]]:
    """Return what two rows say, by name, the second one's trials changed."""
    other = [replace(trial, **changes) for trial in trials(B)]
    return {line.what: (line.a, line.b) for line in compared(trials(A), other, (["s"], ["s", "t"]))}


def test_settings_versions_and_sweeps_stand_side_by_side() -> None:
    actual = message()
    assert (actual["hidden"], actual["batch"], actual["model_version"]) == ((8, 9), (2, 4), ("1", "2"))
    assert (actual["task_version"], actual["protocol"]) == (("1", "1"), ("1", "1"))
    assert (actual["lr"], actual["sweeps"], actual["clip"]) == ((0.1, 0.1), (["s"], ["s", "t"]), (None, None))


def test_every_field_of_a_configuration_is_compared() -> None:
    assert {*OF_PROTOCOL, *SUBJECT, *OF_ONE_TRIAL} == {field.name for field in fields(TrialConfig)}
    assert {*OF_PROTOCOL} <= message().keys()


def test_errors_are_compared_seed_by_seed_and_the_rows_as_compare_does() -> None:
    actual = message()
    assert actual["mean"] == (pytest.approx(7 / 3), pytest.approx(2.5 / 3))
    assert actual["median"] == (2.0, 1.0)
    ratio, nothing = actual["error of a / error of b, 3 equal seeds"]
    assert nothing is None and isinstance(ratio, dict) and ratio["value"] == pytest.approx(16 ** (1 / 3))
    seeds = [1.0, 2.0, 4.0], [0.5, 1.0, 1.0]
    wanted = contrast(*seeds, Scale())
    assert actual["P(better)"] == (asdict(wanted.improvement), None)
    assert actual["a against b"] == (f"undecided ({wanted.hint})", None)


def test_a_diverged_seed_is_the_worst_and_no_part_of_the_ratio() -> None:
    other = trials(retrained("a", [0.5, "diverged", "failed", "diverged"], hidden=9))
    actual = {line.what: (line.a, line.b) for line in compared(trials(A), other)}
    assert (actual["median"], actual["diverged"], actual["n"]) == ((2.0, "diverged"), (0, 2), (3, 1))
    assert actual["P(better)"][0] == asdict(contrast([1.0, 2.0, 4.0], [0.5, None, None], Scale()).improvement)
    ratio = actual["error of a / error of b"][0]
    assert ratio["value"] == pytest.approx(4) and ratio["low"] is None, "one equal seed is no pairing"


def test_where_retrainings_came_from_and_how_re_runs_ended_is_said() -> None:
    actual = message(origin="bundle 7", rerun="inside")
    assert actual["origin"] == (["trained here"], ["bundle 7"])
    assert actual["re-runs"] == ([], ["inside"] * 3)


def test_a_retraining_that_does_not_count_describes_neither_row() -> None:
    [first, *others] = trials(retrained("a", [9.0, 2.0, 4.0]))
    forged = replace(first, about=replace(first.about, metric="mae", departures=("claimed",)))
    actual = {line.what: line.a for line in compared([forged, *others], trials(B), left_out=[first.config.id])}
    assert (actual["metric"], actual["differs from the recipe"], actual["n"]) == ("MSE [1]", [], 2)
    assert {*CONTRAST} <= actual.keys()


def test_rows_of_different_metrics_have_no_difference_of_scores() -> None:
    other = trials(retrained("a", [1.0], metric="mae"))
    assert not [line for line in compared(trials(A), other) if line.what in CONTRAST]
