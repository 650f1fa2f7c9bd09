"""A plugin is checked once a version before a sweep trains it; what breaks a rule is refused before anything runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from plugin_files import LEAKY, SIGN, written
from rich.console import Console

import longwave as lw
from longwave.models.kernels import using
from longwave.platform.cli.main import main
from longwave.platform.contracts import check
from longwave.platform.contracts.passed import facts_of, has_passed, note_passed
from longwave.platform.errors import ConfigError
from longwave.platform.plugins.known import add_plugin, forget_plugins
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import read_sweep
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import read_sweep_plan, store_plan
from longwave.platform.sweeps.run.driver import resume_sweep
from longwave.tasks.base.raw import DataError

SWEEP = """
name = "own"
task = "my-sign"
models = ["my-leaky"]
plugins = ["leaky.py", "sign.py"]
trials = 1
retrain = 0
"""
LEAK = LEAKY.replace("(y,) = state", "(y,) = state\n        y = y + 0.1 * y.mean(1, keepdim=True)")
REFUSED = (
    r"^The model my-leaky breaks a rule and cannot be trained: In evaluation, an example gives the same alone as in "
    r"any batch\. Here example 1 of 4 gives different outputs in a batch than alone: a layer must compute nothing over "
    r"the batch, such as a mean\. Check it: longwave check .*leaky\.py$"
)


@pytest.fixture(autouse=True)
def new_process() -> Iterator[None]:
    """What a process has checked in memory is forgotten."""
    clear = check._check_quickly.cache_clear
    clear()
    yield
    clear()


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models and tasks whose quick rules were run, in order."""
    ran, findings = list[str](), check._check_rules

    def noted(kind: str, name: str, variant: str, quick: bool) -> object:
        ran.append(f"{kind} {name}" if quick else f"{kind} {name}, all rules")
        return findings(kind, name, variant, quick)  # type: ignore[arg-type]

    monkeypatch.setattr(check, "_check_rules", noted)
    return ran


def sweep_of(folder: Path, model: str = LEAKY, task: str = SIGN) -> Path:
    """Write a sweep file beside its plugins."""
    written(folder / "leaky.py", model)
    written(folder / "sign.py", task)
    return written(folder / "own.toml", SWEEP)


def again(*plugins: Path) -> None:
    """Be another process, which is given these plugins."""
    forget_plugins()
    check._check_quickly.cache_clear()
    for path in plugins:
        add_plugin(path)


def test_a_sweep_of_a_plugin_that_leaks_is_refused_in_one_line_before_anything_runs(
    tmp_path: Path, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    file = sweep_of(tmp_path, LEAK)
    line = ["sweep", "run", str(file), "--here", "--mlflow", "off", "--store", str(store.engine.url)]
    assert main([*line, "--storage", str(tmp_path / "storage")]) == 2
    out, err = capsys.readouterr()
    assert (
        out == "" and err.count("\n") == 1 and err.startswith("longwave: The model my-leaky breaks a rule and cannot")
    )
    assert not store.sweeps() and not (tmp_path / "storage").exists()


def test_python_refuses_it_in_the_same_words(tmp_path: Path, store: Store) -> None:
    with pytest.raises(ConfigError, match=REFUSED):
        lw.sweep(sweep_of(tmp_path, LEAK), here=True, mlflow="off", store=str(store.engine.url))
    assert not store.sweeps()


def test_a_sweep_is_refused_before_it_is_sent_to_a_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "submit", str(sweep_of(tmp_path, LEAK)), "--address", "http://127.0.0.1:1"]) == 2
    assert capsys.readouterr().err.startswith("longwave: The model my-leaky breaks a rule and cannot be trained: ")


def test_a_sweep_that_was_planned_without_a_check_is_refused_when_it_goes_on(
    tmp_path: Path, store: Store, here: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(check, "check_plugin", lambda *what: None)
        store_plan(resolve(read_sweep(sweep_of(tmp_path, LEAK))), store)
    again()
    with pytest.raises(ConfigError, match=REFUSED):
        resume_sweep(read_sweep_plan(store, "own"), store, here, None, Console(quiet=True))
    assert not [a for a in store.planned("own") if not a.open]


def test_a_task_that_breaks_a_rule_is_refused_like_a_model(tmp_path: Path, store: Store) -> None:
    file = sweep_of(tmp_path, task=SIGN.replace("loss=cross_entropy", "loss=lambda o, t: cross_entropy(o, t).mean()"))
    message = (
        r"^The task my-sign breaks a rule .*Here the loss of 3 members is \(\): give one number .* check .*sign\.py$"
    )
    with pytest.raises(ConfigError, match=message):
        store_plan(resolve(read_sweep(file)), store)
    assert not store.sweeps()


def test_a_version_is_checked_once_whatever_process_trains_it(
    tmp_path: Path, store: Store, here: Workers, checks: list[str]
) -> None:
    file = sweep_of(tmp_path)
    resume_sweep(store_plan(resolve(read_sweep(file)), store), store, here, None, Console(quiet=True))
    assert checks == ["task my-sign", "model my-leaky"]
    again()
    store_plan(resolve(read_sweep(file)), store)
    assert checks == ["task my-sign", "model my-leaky"]


def test_another_version_is_checked_anew_and_the_one_before_is_not(tmp_path: Path, checks: list[str]) -> None:
    path = written(tmp_path / "leaky.py", LEAKY)
    for text in (LEAKY, LEAKY + "\n# another\n", LEAKY):
        again(written(path, text))
        check.check_plugin("model", "my-leaky")
    assert checks == ["model my-leaky"] * 2


def test_what_longwave_check_passes_counts_as_checked(tmp_path: Path, checks: list[str]) -> None:
    for path in (written(tmp_path / "leaky.py", LEAKY), written(tmp_path / "sign.py", SIGN)):
        assert main(["check", str(path)]) == 0
    again(tmp_path / "leaky.py", tmp_path / "sign.py")
    check.check_plugin("model", "my-leaky")
    check.check_plugin("task", "my-sign")
    assert checks == ["model my-leaky, all rules", "task my-sign, all rules"]


def test_what_longwave_check_does_not_pass_is_refused_after_it_too(tmp_path: Path) -> None:
    assert main(["check", str(written(tmp_path / "leaky.py", LEAK))]) == 1
    with pytest.raises(ConfigError, match=REFUSED):
        check.check_plugin("model", "my-leaky")


def test_what_takes_long_is_left_to_longwave_check(tmp_path: Path) -> None:
    texts = {
        "leaky": LEAKY.replace("affine(w.W, y, u[0])", "affine(w.W, y.sin().detach(), u[0])"),
        "sign": SIGN.replace("test=sequences(2**31 + 2, 50)", "test=sequences(0, 50)"),
    }
    for (name, text), kind in zip(texts.items(), ("model", "task"), strict=True):
        path = written(tmp_path / f"{name}.py", text)
        with using("reference"):
            assert main(["check", str(path)]) == 1
            check.check_plugin(kind, f"my-{name}")  # type: ignore[arg-type]


def test_what_is_shipped_is_not_checked(checks: list[str], home: Path) -> None:
    check.check_plugin("model", "lem")
    check.check_plugin("task", "adding", "N=20")
    assert not checks and not home.exists()


DAMAGED: dict[str, Callable[[str], str]] = {
    "empty": lambda text: "",
    "cut": lambda text: text[:-1],
    "another plugin's": lambda text: text.replace('"name": "my-leaky"', '"name": "my-other"'),
    "another version's": lambda text: json.dumps(json.loads(text) | {"version": "0123456789ab"}),
    "of fewer rules": lambda text: json.dumps(json.loads(text) | {"rules": []}),
    "another Longwave's": lambda text: json.dumps(json.loads(text) | {"longwave": "0.0.1"}),
    "another processor's": lambda text: json.dumps(json.loads(text) | {"device": "abacus"}),
    "no object": lambda text: "[true]",
    "too deep": lambda text: "[" * 100_000,
    "no text": lambda text: "\udcff",
}


@pytest.mark.parametrize("what", DAMAGED)
def test_a_note_that_is_damaged_or_says_anything_else_counts_for_nothing(
    what: str, tmp_path: Path, home: Path, checks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "_check_quickly", lambda *what: checks.append("again"))
    add_plugin(written(tmp_path / "leaky.py", LEAKY))
    check.check_plugin("model", "my-leaky")
    (note,) = (home / "plugins/checked").iterdir()
    text = note.read_text()
    note.write_bytes(DAMAGED[what](text).encode(errors="surrogateescape"))
    check.check_plugin("model", "my-leaky")
    check.check_plugin("model", "my-leaky")
    assert checks == ["again"] * 2 and note.read_text() == text


def test_where_nothing_can_be_noted_it_is_checked_once_a_process(tmp_path: Path, home: Path, checks: list[str]) -> None:
    written(home / "plugins/checked", "a file where the folder should be")
    add_plugin(written(tmp_path / "leaky.py", LEAKY))
    for _ in range(2):
        check.check_plugin("model", "my-leaky")
    assert checks == ["model my-leaky"]


def test_a_note_is_its_owners_alone_and_each_model_of_a_folder_has_its_own(tmp_path: Path, home: Path) -> None:
    for name in ("one", "two"):
        written(tmp_path / f"nets/{name}.py", LEAKY.replace('name="leaky"', f'name="{name}"'))
    add_plugin(tmp_path / "nets")
    for name in ("one", "two"):
        check.check_plugin("model", f"nets-{name}")
    notes = [*(home / "plugins/checked").iterdir()]
    assert len(notes) == 2 and {note.stat().st_mode & 0o777 for note in notes} == {0o600}


def test_each_variant_of_a_task_is_checked_for_itself(tmp_path: Path) -> None:
    text = SIGN.replace('check_variant("sign", variant)', 'check_variant("sign", variant, ("short", "long"))')
    text = text.replace('    licence="generated', '    variant="short", variants="short or long", licence="generated')
    broken = "valid=sequences(2**31 + 1, 50)", "valid=sequences(2**31 + 1, 50) if variant == 'short' else wide(1, 50)"
    wide = (
        "def wide(seed: int, n: int) -> Sequences:\n    return Sequences(torch.zeros(n, 12, 2), torch.ones(n).long())"
    )
    add_plugin(
        written(tmp_path / "sign.py", text.replace(*broken).replace("\n\n\n@cache", f"\n\n\n{wide}\n\n\n@cache"))
    )
    check.check_plugin("task", "my-sign")
    check.check_plugin("task", "my-sign", "short")
    with pytest.raises(ConfigError, match=r"Here valid: inputs are \(8, 12, 2\), not \(n, steps, 1\)\."):
        check.check_plugin("task", "my-sign", "long")


def test_a_task_whose_data_are_not_here_is_left_to_the_workers_and_not_noted(
    tmp_path: Path, home: Path, checks: list[str]
) -> None:
    text = SIGN.replace("    return Data(", "    raise DataError('not here')\n    return Data(").replace(
        "from longwave.tasks.base.sequences",
        "from longwave.tasks.base.raw import DataError\nfrom longwave.tasks.base.sequences",
    )
    add_plugin(written(tmp_path / "sign.py", text))
    check.check_plugin("task", "my-sign")
    assert not checks and not (home / "plugins/checked").exists()
    with pytest.raises(DataError, match=r"^not here$"):
        check.get_task("my-sign").load("")


def test_notes_that_are_written_at_once_leave_a_whole_one(tmp_path: Path, home: Path) -> None:
    facts = facts_of(add_plugin(written(tmp_path / "leaky.py", LEAKY)), "model", "my-leaky", "")
    with ThreadPoolExecutor(8) as drivers:
        for done in [drivers.submit(note_passed, facts) for _ in range(80)]:
            done.result()
    assert has_passed(facts) and len([*(home / "plugins/checked").iterdir()]) == 1


def test_a_check_leaves_the_random_numbers_of_its_process_alone(tmp_path: Path) -> None:
    torch.default_generator.manual_seed(3)
    expected = torch.rand(3)
    torch.default_generator.manual_seed(3)
    add_plugin(written(tmp_path / "leaky.py", LEAKY))
    check.check_plugin("model", "my-leaky")
    assert torch.equal(torch.rand(3), expected)
