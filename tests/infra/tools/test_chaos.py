"""The harness of chaos: its auditor finds what is planted, and a short run of it is clean."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chaos import __main__ as chaos
from chaos.audit import FinalState, TrialRecord, audit, record_of_log

TRIALS = ("a", "b", "c")
CURVE = {1: (0.5, 0.6), 2: (0.4, 0.5), 3: (0.3, 0.4)}
ENDS = {"epochs": 3, "best_epoch": 3, "valid": 0.4, "test": None}


def record(**changes: Any) -> TrialRecord:
    return replace(TrialRecord("ok", CURVE, ENDS, "p"), **changes)


def log(*sessions: tuple[str, int, int], curve: dict[int, tuple[float, float]] = CURVE) -> list[dict[str, Any]]:
    """Return a log: by session its name, the last epoch that stood, and the last one said."""
    lines: list[dict[str, Any]] = []
    for session, began, last in sessions:
        lines.append({"session": session, "began": began})
        for epoch in range(1, last + 1):
            lines.append({"session": session, "epoch": epoch, "loss": curve[epoch][0], "valid": curve[epoch][1]})
        if last == 3:
            lines.append({"session": session, "end": "ok", **ENDS})
    return lines


def final_state(**changes: Any) -> FinalState:
    """Return one in which nothing is wrong."""
    trials = {trial: record() for trial in TRIALS}
    logs = {trial: log(("s", 0, 2), ("t", 1, 3)) for trial in TRIALS}
    copies = [(trial, record(status="FINISHED"), 0) for trial in TRIALS]
    return replace(FinalState(trials, trials, copies, logs), **changes)


def with_b(b: TrialRecord) -> dict[str, TrialRecord]:
    return {trial: b if trial == "b" else record() for trial in TRIALS}


def test_a_final_state_without_faults_is_clean_and_equal_to_the_bit() -> None:
    findings = audit(final_state())
    assert findings.clean and (findings.trials, findings.equal, findings.to_the_bit) == (3, 3, 3)


@pytest.mark.parametrize(
    ("planted", "line"),
    [
        ({"store": {t: record() for t in "ac"}}, "b has no row"),
        ({"store": with_b(record(status="running"))}, "b has not ended"),
        ({"store": with_b(record(curve={1: CURVE[1], 3: CURVE[3]}))}, r"b lacks epochs \[2\]"),
        ({"copies": [(t, record(status="FINISHED"), 0) for t in "ac"]}, "MLflow has no run of b"),
        ({"copies": [(t, record(curve={1: CURVE[1]}), 0) for t in TRIALS]}, r"MLflow's run of b lacks epochs \[2, 3\]"),
    ],
)
def test_a_planted_loss_is_found(planted: dict[str, Any], line: str) -> None:
    assert any(re.search(line, text) for text in audit(final_state(**planted)).lost)


@pytest.mark.parametrize(
    ("planted", "line"),
    [
        ({"store": {t: record() for t in "abcd"}, "logs": {t: log(("s", 0, 3)) for t in "abcd"}}, "d is in the store"),
        ({"again": ["b"]}, "b was trained again after it had ended"),
        ({"copies": [(t, record(), 0) for t in "abbc"]}, "MLflow has 2 runs of b"),
        ({"copies": [(t, record(), 2 * (t == "b")) for t in TRIALS]}, "MLflow's run of b has 2 values twice"),
    ],
)
def test_a_planted_duplicate_is_found(planted: dict[str, Any], line: str) -> None:
    assert any(re.search(line, text) for text in audit(final_state(**planted)).duplicated)


@pytest.mark.parametrize(
    ("planted", "line"),
    [
        (
            {"store": with_b(record(curve={**CURVE, 2: (0.4, 0.5000001)}))},
            r"b: epoch 2: .* instead of .* \(store against its log\)",
        ),
        ({"store": with_b(record(ends={**ENDS, "valid": 0.41}))}, "b: valid 0.41 instead of 0.4 .*reference"),
        ({"store": with_b(record(status="stopped"))}, "b: status stopped instead of ok"),
        ({"logs": {t: log(("s", 0, 3)) for t in "ac"}}, "b ended in the store, but none of its trainings left"),
        (
            {"copies": [(t, record(curve={**CURVE, 2: (0.4, 0.6)}), 0) for t in TRIALS]},
            "b: epoch 2 differs between MLflow",
        ),
        ({"copies": [(t, record(), 0) for t in "abcd"]}, "MLflow has a run of d, which is not in the store"),
    ],
)
def test_a_planted_difference_is_found(planted: dict[str, Any], line: str) -> None:
    findings = audit(final_state(**planted))
    assert any(re.search(line, text) for text in findings.wrong) and not findings.clean


def test_results_of_the_same_pack_are_equal_to_the_bit_and_of_another_within_a_tolerance() -> None:
    near = {e: (loss * (1 + 5e-5), valid * (1 + 5e-5)) for e, (loss, valid) in CURVE.items()}
    ends = {**ENDS, "valid": 0.4 * (1 + 5e-5)}
    logs = {t: log(("s", 0, 3)) for t in TRIALS}
    logs["b"] = [{**line, "valid": ends["valid"]} if "end" in line else line for line in log(("s", 0, 3), curve=near)]
    for pack, clean in (("p", False), ("q", True)):
        copies = [(t, record(status="FINISHED", curve=near if t == "b" else CURVE), 0) for t in TRIALS]
        findings = audit(final_state(store=with_b(record(curve=near, ends=ends, pack=pack)), logs=logs, copies=copies))
        assert findings.clean is clean and (findings.equal, findings.to_the_bit) == (2 + clean, 2)


@pytest.mark.parametrize(
    ("planted", "line"),
    [
        ({"leftovers": ["process 7: raylet"]}, "process 7: raylet"),
        (
            {"copies": [(t, record(status="RUNNING" if t == "b" else "FINISHED"), 0) for t in TRIALS]},
            "MLflow's run of b",
        ),
    ],
)
def test_a_planted_orphan_is_found(planted: dict[str, Any], line: str) -> None:
    assert [text for text in audit(final_state(**planted)).orphans if re.search(line, text)]


def test_what_makes_a_sweep_unusable_is_found() -> None:
    assert audit(final_state(broken=["exit 2: The store is damaged"])).unusable == ["exit 2: The store is damaged"]


def test_a_log_stands_on_its_newest_session_and_no_replaced_one_is_heard() -> None:
    late = [{"session": "s", "epoch": 3, "loss": 9.0, "valid": 9.0}]
    findings = record_of_log([*log(("s", 0, 2)), *log(("t", 1, 1)), *late])
    assert (findings.status, findings.curve) == ("", {1: CURVE[1]})
    assert record_of_log([*log(("s", 0, 3)), *log(("t", 1, 3))]) == TrialRecord("ok", CURVE, ENDS)


@pytest.fixture
def no_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of the page; nothing is trained."""
    (tmp_path / "infra").mkdir()
    monkeypatch.setattr(chaos, "ROOT", tmp_path)
    monkeypatch.setattr(chaos.Harness, "_read_setup", lambda _: None)
    monkeypatch.setattr(chaos.Harness, "run", lambda _, case, count: chaos.Line(case, 1, count))
    return tmp_path


def test_a_new_sweep_or_new_code_has_a_reference_of_its_own(no_sweep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [chaos.Harness(no_sweep, short=True).folder for _ in range(2)]
    for name, value in (("CODE_HASH", "other"), ("SHORT", {**chaos.SHORT, "epochs": 61})):
        monkeypatch.setattr(chaos, name, value)
        folders.append(chaos.Harness(no_sweep, short=True).folder)
    assert len({*folders}) == 3 and folders[0] == folders[1]


def test_only_all_cases_with_all_faults_write_the_page(no_sweep: Path) -> None:
    page = no_sweep / "infra/chaos.md"
    for words in (["--faults", "1"], ["driver"], ["--short"]):
        assert chaos.main(words) == 0 and not page.exists()
    assert chaos.main([]) == 0 and "| driver kills " in page.read_text()


@pytest.mark.parametrize("words", [["drver"], ["driver", "drver"], ["--short", "drver"]])
def test_a_case_that_does_not_exist_is_refused_in_one_line(
    words: list[str], no_sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chaos.main(words) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("make chaos has no case 'drver'; it has: ") and err.count("\n") == 1


@pytest.mark.integration
def test_a_short_run_of_chaos_is_clean_is_not_done_twice_and_fails_for_a_planted_loss(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--short", "--folder", str(tmp_path)]
    code, first = chaos.main(command), capsys.readouterr().out
    assert code == 0, first
    [count] = re.findall(r"\| one of each +\| \d+ +\| (\d+) ", first)
    assert int(count) >= 5, "a driver with its checkpoints, a worker, a node, the database and the disk, if they can"
    done = next(tmp_path.glob("short-*/done/one*.json"))
    content = json.loads(done.read_text())
    content["found"]["lost"].append("a trial")
    done.write_text(json.dumps(content))
    again = chaos.main(command), capsys.readouterr().out
    assert again[0] == 1 and " faults in " not in again[1], again[1]
