"""What two rows differ in, line by line."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from boards import retrained, trials

from longwave.platform.boards.diff import OF_PROTOCOL, SUBJECT, compared
from longwave.platform.records.trial import OF_ONE_TRIAL, TrialConfig

A, B = retrained("a", [1.0, 2.0, 4.0]), retrained("a", [0.5, 1.0, 1.0], hidden=9, model_version="2", batch=4)


def told(**changes: str) -> dict[str, tuple[object, object]]:
    """Return what two rows say, by name, the second one's trials changed."""
    other = [replace(trial, **changes) for trial in trials(B)]
    return {line.what: (line.a, line.b) for line in compared(trials(A), other, (["s"], ["s", "t"]))}


def test_settings_versions_and_sweeps_stand_side_by_side() -> None:
    found = told()
    assert (found["hidden"], found["batch"], found["model_version"]) == ((8, 9), (2, 4), ("1", "2"))
    assert (found["task_version"], found["protocol"]) == (("1", "1"), ("1", "1"))
    assert (found["lr"], found["sweeps"], found["clip"]) == ((0.1, 0.1), (["s"], ["s", "t"]), (None, None))


def test_every_field_of_a_configuration_is_compared() -> None:
    assert {*OF_PROTOCOL, *SUBJECT, *OF_ONE_TRIAL} == {field.name for field in fields(TrialConfig)}
    assert {*OF_PROTOCOL} <= told().keys()


def test_scores_are_compared_seed_by_seed() -> None:
    found = told()
    assert found["mean"] == (pytest.approx(7 / 3), pytest.approx(2.5 / 3))
    gap, nothing = found["a − b, 3 equal seeds"]
    assert nothing is None and isinstance(gap, dict) and gap["value"] == pytest.approx(1.5)


def test_where_retrainings_came_from_and_how_re_runs_ended_is_said() -> None:
    found = told(origin="bundle 7", rerun="inside")
    assert found["origin"] == (["trained here"], ["bundle 7"])
    assert found["re-runs"] == ([], ["inside"] * 3)


def test_rows_of_different_metrics_have_no_difference_of_scores() -> None:
    other = trials(retrained("a", [1.0], metric="mae"))
    assert not [line for line in compared(trials(A), other) if line.what.startswith("a − b")]
