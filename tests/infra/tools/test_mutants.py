"""Broken lines: which are drawn, whose tests run, what is written of them, and when the command fails."""

from __future__ import annotations

import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path

import changed
import pytest
import tree
from mutants import __main__ as mutants
from mutants import broken_lines, forked_tests, mutant_tests
from mutants.__main__ import check_excuses
from mutants.broken_lines import Mutant, draw_mutants, list_mutants
from mutants.forked_tests import Copy
from mutants.mutant_tests import OwnTests

TREE = {
    "tasks/adding.py": "LENGTH: int | None = 5\n",
    "tasks/base/cache.py": "def twice(n: int | float) -> int | float:\n    return 2 * n if n > 0 else 0\n",
    "tasks/base/used.py": "import longwave.tasks.base.cache\n",
    "tasks/cards/card.py": "N = 1\n",
    "tests/tasks/test_adding.py": "",
    "tests/tasks/base/test_cache.py": "",
    "tests/tasks/base/test_used.py": "import longwave.tasks.base.used",
    "tests/platform/test_far.py": "import longwave.tasks.base.used",
    "tests/platform/cli/test_bad_cards.py": "",
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for module in (tree, changed, broken_lines, mutant_tests, mutants):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_mutants_are_drawn_one_a_module_in_turn_and_always_the_same(root: Path) -> None:
    chosen = draw_mutants("tasks", 4)
    assert chosen == draw_mutants("tasks", 4) and len({m.id for m in chosen}) == 4
    assert {m.file for m in chosen[:2]} == {"tasks/adding.py", "tasks/base/cache.py"}
    assert {m.file for m in chosen} == {"tasks/adding.py", "tasks/base/cache.py"}, "cards are a folder of their own"
    assert {m.file for m in draw_mutants("tasks/cards")} == {"tasks/cards/card.py"}
    assert [m.file for m in draw_mutants("tasks", 99)].count("tasks/adding.py") == 1, (
        "types of annotations are not broken"
    )
    for mutant in chosen:
        assert mutant.before in TREE[mutant.file] and mutant.after in mutant.text and mutant.text != TREE[mutant.file]


def test_of_several_exceptions_those_with_a_dotted_name_are_not_broken(root: Path) -> None:
    (root / "tasks/reading.py").write_text("try:\n    pass\nexcept (csv.Error, OSError):\n    pass\n")
    after = [m.after for m in draw_mutants("tasks", 99) if "CosmicRay" in m.after]
    assert after == ["except (csv.Error, CosmicRayTestingException):"]


def test_a_mutant_of_a_file_that_changed_is_another(root: Path) -> None:
    before = {m.id for m in draw_mutants("tasks", 99) if m.file == "tasks/base/cache.py"}
    (root / "tasks/base/cache.py").write_text(TREE["tasks/base/cache.py"] + "\n# more\n")
    assert before.isdisjoint(m.id for m in draw_mutants("tasks", 99))


def test_a_listed_mutant_breaks_a_line_that_is_there_once(root: Path) -> None:
    path = root / "some.toml"
    entry = '[[mutant]]\nfile = "tasks/base/cache.py"\nline = "{}"\nbroken = "3 * n"\n'
    path.write_text(entry.format("2 * n"))
    [mutant] = list_mutants("tasks", path)
    assert (mutant.line, mutant.before) == (2, "return 2 * n if n > 0 else 0")
    assert mutant.text == TREE["tasks/base/cache.py"].replace("2 * n", "3 * n")
    for line, times in (("4 * n", 0), ("n", 6)):
        path.write_text(entry.format(line))
        with pytest.raises(ValueError, match=f"contains '.*' {times} times, not once: change some.toml"):
            list_mutants("tasks", path)


def test_the_lines_that_are_broken_by_hand_and_those_excused_are_in_the_source() -> None:
    assert len(list_mutants(mutants.CPP, mutants.LISTED)) >= 30
    check_excuses(tomllib.loads(mutants.EXCUSED.read_text(encoding="utf-8"))["excused"])


def test_a_files_own_tests_are_the_nearest_in_the_folder_that_mirrors_its_own(root: Path) -> None:
    tests = OwnTests("tasks", ["tasks/base/cache.py"])
    assert tests.nearest("tasks/base/cache.py") == ["tests/tasks/base/test_cache.py"]
    assert tests.others("tasks/base/cache.py") == ["tests/tasks/base/test_used.py"]
    assert tests.nearest("tasks/base/used.py") == ["tests/tasks/base/test_used.py"]
    assert tests.others("tasks/base/used.py") == ["tests/platform/test_far.py"]
    assert tests.nearest("tasks/adding.py") == ["tests/tasks/test_adding.py", "-k", "adding"]
    cards = OwnTests("tasks/cards", ["tasks/cards/card.py"])
    assert cards.others("tasks/cards/card.py") == ["tests/platform/cli/test_bad_cards.py"]


@pytest.fixture
def survivor(root: Path, monkeypatch: pytest.MonkeyPatch) -> Mutant:
    """Of two mutants the one that no test notices; they are tried by nobody."""
    noticed, survivor = draw_mutants("tasks", 2)
    for name, file in {"CACHE": "known.jsonl", "RESULT": "result.md", "EXCUSED": "excused.toml"}.items():
        monkeypatch.setattr(mutants, name, root / file)
    monkeypatch.setattr(mutants, "FOLDERS", ("tasks",))
    monkeypatch.setattr(mutants, "draw_mutants", lambda folder: [noticed, survivor])
    monkeypatch.setattr(mutants, "list_mutants", lambda folder, path: [])

    class Stub:
        def __init__(self, *_: object) -> None: ...

        def noticed_by(self, mutant: Mutant) -> tuple[str, str]:
            return ("its own", "tests/test_a.py::test_b[1]") if mutant == noticed else ("", "")

    monkeypatch.setattr(mutants, "Runner", Stub)
    (root / "excused.toml").write_text("")
    return survivor


def test_the_command_fails_where_a_survivor_has_no_reason(
    survivor: Mutant, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mutants.main([]) == 1
    assert capsys.readouterr().err == f"No test notices: {survivor}\n"
    report = (root / "result.md").read_text()
    assert "| tasks | 2 | 1 | 0 | 0 | 0 | 1 | 0 |\n| all | 2 | 1 | 0 | 0 | 0 | 1 | 0 |\n" in report
    assert report.endswith(f"\n\n- {survivor.file}: `{survivor.before}` → `{survivor.after}`: unnoticed\n")
    excuse = f"[[excused]]\nbefore = '''{survivor.before}'''\nafter = '''{survivor.after}'''\nreason = 'equal'\n"
    (root / "excused.toml").write_text(excuse + f"file = '{survivor.file}'\n")
    assert mutants.main([]) == 0
    result = (root / "result.md").read_text()
    assert "| tasks | 2 | 1 | 0 | 0 | 1 | 0 | 0 |" in result and result.endswith(": equal\n")
    (root / "excused.toml").write_text(excuse.replace("reason", "file = 'tasks/base/used.py'\nreason"))
    (root / "tasks/base/used.py").write_text(f"{survivor.before}\n")
    assert mutants.main(["tasks"]) == 1


@pytest.mark.parametrize("named", ["", "file = 'tasks/base/used.py'\n", "file = 'tasks/gone.py'\n"])
def test_an_excuse_of_a_line_that_is_not_there_is_an_error(survivor: Mutant, root: Path, named: str) -> None:
    before = "return 3 * n" if not named else survivor.before
    (root / "excused.toml").write_text(f"[[excused]]\nbefore = '{before}'\nafter = 'pass'\nreason = 'equal'\n{named}")
    with pytest.raises(ValueError, match="excused.toml excuses '.*', which .* does not contain: change or remove it"):
        mutants.main([])


Answers = dict[tuple[bool, bool], str]
"""What a pytest that is not run says, by whether the mutant is there and whether one test runs alone."""


@pytest.mark.parametrize(
    ("marks", "answers", "noticed"),
    [
        (mutants.QUICK, {(True, False): "a::b"}, True),
        (mutants.QUICK, {(True, False): "a::b", (False, True): "a::b"}, False),
        ("integration", {(True, False): "a::b", (True, True): "a::b"}, True),
        ("integration", {(True, False): "a::b"}, False),
        ("integration", {(True, False): "a"}, True),
    ],
)
def test_a_test_notices_a_mutant_if_it_fails_because_of_it_and_not_by_chance(
    marks: str, answers: Answers, noticed: bool, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [mutant] = draw_mutants("tasks/cards", 1)
    path = root / mutant.file

    class Stub:
        folder = root

        def first_failure(self, words: list[str], longest: int, generate: bool = False) -> str:
            assert generate or path.read_text() != mutant.text, "data from before the change would be used"
            there, alone = path.read_text() == mutant.text, words == ["a::b"]
            runs = alone or (marks in words and "--deselect=a::b" not in words)
            return answers.get((there, alone), "") if runs else ""

    monkeypatch.setattr(mutants, "import_large_libraries", lambda: None)
    monkeypatch.setattr(Copy, "of_tree", lambda folder: Stub())
    runner = mutants.Runner(root, [mutant])
    assert (runner.noticed_by(mutant)[1] == answers[True, False]) is noticed
    assert path.read_text() == TREE[mutant.file] and runner.unreliable == (set() if noticed else {"a::b"})


def test_what_is_known_is_not_tried_again_unless_asked(
    survivor: Mutant, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = []
    for words in ([], [], ["--survivors"], ["--all"], []):
        mutants.main(words)
        tried.append(len(capsys.readouterr().out.splitlines()))
    assert tried == [2, 0, 1, 2, 0]


def test_all_of_one_folder_are_tried_again_and_those_of_others_stay(
    survivor: Mutant, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutants.main([])
    monkeypatch.setattr(mutants, "list_mutants", lambda folder, path: [replace(survivor, folder=folder, text="other")])
    mutants.main([])
    assert "| models/kernels/cpu | 1 | 0 | 0 | 0 | 0 | 1 | 0 |" in (root / "result.md").read_text()
    mutants.main(["tasks", "--all"])
    assert "| models/kernels/cpu | 1 | 0 | 0 | 0 | 0 | 1 | 0 |" in (root / "result.md").read_text(), "not: not run"


def test_a_result_that_a_kill_cut_off_costs_itself_alone(
    survivor: Mutant, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mutants.main([])
    cache = root / "known.jsonl"
    cache.write_text(cache.read_text()[:-9])
    tried = []
    for _ in range(2):
        capsys.readouterr()
        mutants.main([])
        tried.append(len(capsys.readouterr().out.splitlines()))
    assert tried == [1, 0]


@pytest.mark.parametrize("word", ["plaform/boards", "--survivor"])
def test_an_unknown_word_is_refused_in_one_line(
    word: str, survivor: Mutant, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mutants.main([word]) == 2 and not (root / "result.md").exists()
    assert capsys.readouterr().err == (
        f"make mutants has no '{word}'; it has tasks, models/kernels/cpu, --survivors, --all.\n"
    )


@pytest.mark.integration  # a test that never ends is ended
@pytest.mark.parametrize(
    ("broken", "failing"),
    [
        ("VALUE = 1", ""),
        ("VALUE = 2", "tests/test_it.py::test_it"),
        ("VALUE = 1 / 0", "tests/test_it.py"),
        ("while True: pass", "the collection of tests"),
        ("import os; os._exit(7)", "the collection of tests"),
    ],
)
def test_what_fails_hangs_or_ends_the_process_in_a_copy_is_its_first_failure(
    broken: str, failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forked_tests, "ROOT", root := tmp_path / "tree")
    monkeypatch.setattr(forked_tests, "CACHES", {})
    for name, text in {
        "infra/typing/longwave_it.py": "VALUE = 1",
        "tests/test_it.py": "from longwave_it import VALUE\n\ndef test_it(): assert VALUE == 1\n",
        ".gitignore": ".mutants",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    copy = Copy.of_tree(tmp_path / "copy")
    (copy.folder / "infra/typing/longwave_it.py").write_text(broken)
    assert copy.first_failure(["tests"], 1) == failing
