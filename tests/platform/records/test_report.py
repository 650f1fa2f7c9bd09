"""What packs say, and what follows from it for the trials that compete."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from longwave.platform.records.probe import Probe
from longwave.platform.records.report import Cohort, Report, Rung
from longwave.platform.records.run import Measure, Point, Run

POINTS = [Point(t, e, 0.5, 0.25, 1.0, 2.0) for t in "ab" for e in (1, 2)]
RUNS = [Run("a", "ok", epochs=2, valid=0.25, environment={"torch": "2"}, measures=(Measure("m", "1", 3.0),))]
RUNGS = [Rung("c", 1, "a", 0.25, True), Rung("c", 1, "b", 0.5)]
PROBES = [Probe("A100", "shape", 4, 2**20, 2**30, 0.1, 1.0, fits=False)]
SAID = Report(POINTS, RUNS, RUNGS, {"a": 0, "b": 1}, PROBES)


def test_a_report_comes_back_from_json() -> None:
    again = Report.from_dict(json.loads(json.dumps(SAID.to_dict())))
    assert again == SAID
    assert Report.from_dict(Report().to_dict()) == Report([], [], [], {}, [])


def test_a_report_of_some_trials_says_nothing_of_the_others() -> None:
    assert SAID.trials == {"a", "b"} and Report(began={"x": 1}).trials == {"x"}
    assert SAID.of(["b"]) == Report(POINTS[2:], [], RUNGS[1:], {"b": 1}, PROBES)


def test_two_reports_are_one_in_which_the_later_word_on_a_rung_counts() -> None:
    later = Report([Point("b", 3, 0.5, 0.25, 1.0, 2.0)], [], [replace(RUNGS[1], stays=False)], {"b": 2})
    both = SAID + later
    assert both == Report((*POINTS, *later.points), (*RUNS,), (RUNGS[0], later.rungs[0]), {"a": 0, "b": 2}, (*PROBES,))


decisions = st.sampled_from([None, True, False])
scores = st.lists(st.builds(Rung, st.just("c"), st.integers(1, 2), st.sampled_from("ab"), st.floats(0, 1), decisions))


@given(scores)
def test_the_first_score_and_the_first_decision_at_a_rung_stand(reported: list[Rung]) -> None:
    cohort = Cohort("c", ("a", "b"), {})
    for rung in reported:
        cohort = cohort.after(Report(rungs=[rung]))
    for rung in cohort.rungs:
        own = [r for r in reported if (r.epoch, r.trial) == (rung.epoch, rung.trial)]
        assert rung.valid == own[0].valid
        assert rung.stays == next((r.stays for r in own if r.stays is not None), None)
    assert len({(r.epoch, r.trial) for r in cohort.rungs}) == len(cohort.rungs)


def test_trials_that_end_are_gone_from_their_company_with_the_epochs_they_trained() -> None:
    stopped = Report(runs=[Run("c", "stopped", "halving", valid=0.1)])
    cohort = Cohort("c", ("a", "b", "c"), {"b": 1}).after(SAID).after(stopped)
    assert cohort.gone == {"a": 2, "b": 1, "c": 0} and cohort.scores == {"a": 0.25}, "who is stopped has no final score"
