"""A test without a mark that takes long fails; one that sleeps, or pays for what is made once, does not."""

from __future__ import annotations

import pytest
import tiers

BURN = """
import subprocess, sys, time
import psutil, pytest

LOOP = "import time\\nwhile time.process_time() < 0.2: pass"

def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
"""
"""The limit in these tests is 0.05 s, and they are to take 0.2 s."""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr(tiers, "ALLOWED", 0.05)
    monkeypatch.setattr(tiers, "time_loop", lambda: tiers.LOOP_SECONDS)

    def run_one(text: str, *options: str) -> pytest.RunResult:
        pytester.makeini("[pytest]\nmarkers =\n    integration\n    slow\n")
        pytester.makepyfile(test_one=BURN + text)
        return pytester.runpytest_inprocess("-p", "tiers", *options)

    return run_one


@pytest.mark.parametrize("work", ["burn(0.2)", "subprocess.run([sys.executable, '-S', '-c', LOOP], check=True)"])
def test_a_test_without_a_mark_that_takes_long_fails_with_one_line(run, work: str) -> None:
    done = run(f"def test_one():\n    {work}\n")
    done.assert_outcomes(failed=1)
    line = "test_one.py::test_one takes 0.* CPU seconds of the reference machine; a test without a mark may take 0.05: "
    done.stdout.fnmatch_lines(line + "mark it @pytest.mark.integration.")


def test_what_a_child_takes_that_still_runs_counts(run) -> None:
    child = """
@pytest.fixture
def child():
    with subprocess.Popen([sys.executable, "-S", "-c", LOOP.replace("0.2", "60")]) as process:
        while sum(psutil.Process(process.pid).cpu_times()[:2]) < 0.2:
            time.sleep(0.01)
        yield
        process.kill()

def test_one(child):
    pass
"""
    run(child).assert_outcomes(failed=1)


def test_a_fixture_of_the_test_s_own_counts(run) -> None:
    run("@pytest.fixture\ndef own():\n    burn(0.2)\ndef test_one(own):\n    pass\n").assert_outcomes(failed=1)


@pytest.mark.parametrize("mark", ["integration", "slow"])
def test_a_marked_test_takes_what_it_needs(run, mark: str) -> None:
    run(f"@pytest.mark.{mark}\ndef test_one():\n    burn(0.2)\n").assert_outcomes(passed=1)


def test_time_asleep_is_no_time_of_the_processor(run) -> None:
    run("def test_one():\n    time.sleep(0.3)\n").assert_outcomes(passed=1)


def test_what_tests_share_is_charged_to_none_of_them(run) -> None:
    shared = "@pytest.fixture(scope='module')\ndef shared():\n    burn(0.2)\n"
    run(f"{shared}def test_one(shared):\n    pass\ndef test_two(shared):\n    pass\n").assert_outcomes(passed=2)
    run(f"{shared}def test_alone(shared):\n    pass\n").assert_outcomes(passed=1)  # it is made anew for the second run


def test_what_only_the_first_run_pays_for_is_charged_to_nobody(run) -> None:
    run("def test_one(paid=[]):\n    if not paid:\n        paid.append(burn(0.2))\n").assert_outcomes(passed=1)


def test_a_test_that_breaks_in_its_second_run_keeps_the_outcome_of_its_first(run) -> None:
    run("def test_one(runs=[]):\n    runs.append(burn(0.2))\n    assert len(runs) == 1\n").assert_outcomes(failed=1)


def test_a_machine_that_is_slow_then_fails_no_test_that_is_within_the_limit_elsewhere(
    run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiers, "time_loop", lambda: 8 * tiers.LOOP_SECONDS)
    run("def test_one():\n    burn(0.2)\n").assert_outcomes(passed=1)


def test_one_within_the_margin_passes_and_is_listed(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "MARGIN", 1e6)
    done = run("def test_one():\n    burn(0.2)\n")
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["*to be marked integration: more than 0.05 s of*", "*0.* s  test_one.py::test_one"])


@pytest.mark.parametrize(
    "options", [(), pytest.param(("-n", "1"), marks=pytest.mark.integration)], ids=["here", "worker"]
)
def test_the_tests_that_take_most_are_listed(run, options: tuple[str, ...]) -> None:
    text = "def test_one():\n    pass\n@pytest.mark.slow\ndef test_two():\n    burn(0.2)\n"
    done = run(text, "--processor-times", "1", *options)
    done.stdout.fnmatch_lines(["*the 1 slowest tests*", "*0.* s  test_one.py::test_two"])
    assert "test_one.py::test_one" not in done.stdout.str()
