"""Which tests a change touches, in which order they run, and what happens when their time is over."""

from __future__ import annotations

import subprocess
from pathlib import Path

import changed
import pytest
import tree
from changed import Changed, changed_files, distances, used_files

TREE = {
    "models/lem.py": "from longwave.models.base.cells import Cell",
    "models/base/__init__.py": "",
    "models/base/cells.py": "def cell(): import longwave.files",
    "models/base/loop.h": "",
    "models/__init__.py": "",
    "platform/registry.py": 'collect("longwave.models", "MODEL")',
    "infra/package/__init__.py": "",
    "infra/sweeps/demo/one.toml": "",
    "tests/support/cases.py": "from longwave.models import lem",
    "tests/models/conftest.py": "",
    "tests/models/test_lem.py": "",
    "tests/models/test_cases.py": "import cases",
    "tests/test_demo.py": 'DEMO = "infra/sweeps/demo"',
    "tests/test_lock.py": "",
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for module in (tree, changed):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "touched"),
    [
        ("models/lem.py", {"tests/models/test_lem.py": 1, "tests/models/test_cases.py": 2}),
        ("models/base/cells.py", {"tests/models/test_lem.py": 2, "tests/models/test_cases.py": 3}),
        ("models/base/loop.h", {"tests/models/test_lem.py": 3, "tests/models/test_cases.py": 4}),
        ("tests/models/test_lem.py", {"tests/models/test_lem.py": 0}),
        ("tests/support/cases.py", {"tests/models/test_cases.py": 1}),
        ("tests/models/conftest.py", {"tests/models/test_lem.py": 1, "tests/models/test_cases.py": 1}),
        ("infra/sweeps/demo/one.toml", {"tests/test_demo.py": 1}),
        ("requirements.lock", dict.fromkeys([name for name in TREE if "/test_" in name], 1)),
        ("README.md", {}),
    ],
)
def test_a_change_touches_the_tests_of_what_uses_it(root: Path, name: str, touched: dict[str, int]) -> None:
    away = distances({root / name}, used_files({root / name}))
    assert {
        path: steps for path in TREE if "/test_" in path and (steps := away.get(root / path)) is not None
    } == touched


def test_what_collects_a_folder_by_its_name_uses_all_that_lies_in_it(root: Path) -> None:
    assert root / "models/lem.py" in used_files(set())[root / "platform/registry.py"]


def test_what_changed_are_the_files_that_differ_from_the_last_tag_or_all_of_them(root: Path) -> None:
    def git(*words: str) -> None:
        author = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *author, *words], cwd=root, check=True, capture_output=True)

    git("init")
    (root / ".gitignore").write_text("*.log")
    git("add", ".")
    git("commit", "-m", "first")
    assert changed_files() == {root / name for name in [*TREE, ".gitignore"]}
    git("tag", "v1")
    assert changed_files() == set()
    for name in ("models/lem.py", "platform/registry.py", "new.py", "ignored.log"):
        (root / name).write_text("changed")
    git("rm", "tests/test_lock.py")
    git("commit", "-m", "second", "models/lem.py")
    known = ("models/lem.py", "platform/registry.py", "new.py", "tests/test_lock.py")
    assert changed_files() == {root / name for name in known}


def test_files_that_nothing_touched_are_not_collected_and_the_nearest_run_first(pytester: pytest.Pytester) -> None:
    one, two, three = (
        pytester.makepyfile(**{f"test_{name}": f"def test_{name}(): assert {passes}"})
        for name, passes in (("one", True), ("two", True), ("three", False))
    )
    done = pytester.inline_run(plugins=[Changed({two: 1, one: 2})])
    done.assertoutcome(passed=2)
    assert [call.nodeid for call in done.getcalls("pytest_runtest_logstart")] == [
        "test_two.py::test_two", "test_one.py::test_one",
    ]  # fmt: skip
    assert pytester.inline_run(plugins=[Changed({})]).ret == 0


def test_tests_that_time_leaves_out_are_listed_and_fail_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import time\ndef test_quick(): pass\ndef test_long(): time.sleep(60)\ndef test_never(): assert False"
    )
    done = pytester.runpytest_inprocess("-p", "time_limit", "--stop-after", "0.5")
    assert done.ret == 0
    done.assert_outcomes(passed=1, skipped=2)
    listed = ["*2 tests did not finish: the time limit was reached*", "*.py::test_long", "*.py::test_never"]
    done.stdout.fnmatch_lines([*listed, "*1 passed, 2 skipped*"])


def test_tests_that_end_in_time_are_as_without_a_limit(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import time\ndef test_one(): time.sleep(0.1)\ndef test_two(): assert False")
    done = pytester.runpytest_inprocess("-p", "time_limit", "--stop-after", "60")
    done.assert_outcomes(passed=1, failed=1)
    assert "did not run" not in done.stdout.str()
