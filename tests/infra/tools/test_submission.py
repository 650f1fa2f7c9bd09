"""Submissions from end to end: one that is replayed, and those that are refused, each by the rule that it breaks."""

from __future__ import annotations

import hashlib
import io
import lzma
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bundles import Content, forge, of
from edition import pages
from edition.folders import EditionFolders
from plugin_files import LEAKY, written
from rich.console import Console
from submission.__main__ import check_submission, main
from submission.checks import check_code, read_licence, read_submission
from submission.limited import LimitError, Limits, run_limited
from submission.replays import Outcome, Replay, choose_label, draw_trials, judge, read_trained
from tree import ROOT

from longwave.platform.editions.publish import publish
from longwave.platform.editions.publish import read as read_edition
from longwave.platform.errors import ConfigError
from longwave.platform.exchange.bundle import read, seal, write
from longwave.platform.exchange.collect import collect
from longwave.platform.exchange.intake import import_bundle
from longwave.platform.exchange.replay import Retraced
from longwave.platform.plugins.known import add_plugin, forget_plugins
from longwave.platform.plugins.plugin import read_plugin
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run import driver

pytestmark = pytest.mark.integration  # all need two sweeps, and some train trials in processes of their own
SWEEP: dict[str, Any] = {
    "task": "adding", "variant": "N=20", "trials": 2, "retrain": 4, "hidden": 8, "batch": 10, "steps": 5, "epochs": 3,
}  # fmt: skip
MODEL = "# SPDX-License-Identifier: MIT\n" + LEAKY.replace('name="leaky"', 'name="model"')


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """The folder of a submission, and an edition with a row of LSTM on the same board."""
    made = tmp_path_factory.mktemp("made")
    written(made / "leaky/model.py", MODEL)
    try:
        add_plugin(made / "leaky")
        for name, model in (("lstm", "lstm"), ("leaky", "leaky-model")):
            with Store(f"sqlite:///{made / name}.db") as store:
                file = check_sweep({**SWEEP, "name": name, "models": [model]}, "tiny.toml")
                driver.start_sweep(file, store, Workers(1, made, here=True), None, Console(file=io.StringIO()))
                if model == "lstm":
                    publish(made / "edition", store, "Tiny", "0" * 40)
                else:
                    write(seal(collect(store)), made / "leaky/leaky.json.xz")
    finally:
        forget_plugins()
    return made / "leaky", made / "edition"


@pytest.fixture
def submitted(genuine: tuple[Path, Path], tmp_path: Path) -> Path:
    """The folder of a submission that may be changed."""
    folder = tmp_path / "leaky"
    folder.mkdir()
    for file in genuine[0].iterdir():
        if file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
    return folder


def forged(folder: Path, change: Callable[[Content], None]) -> None:
    """Change what a submission's bundle says, and make its hashes anew."""
    path = folder / "leaky.json.xz"
    write(forge(read(path), change), path)


def trust_line(folder: Path) -> str:
    """Return the line of a list of trusted bundles that has a submission's."""
    path = folder / f"{folder.name}.json.xz"
    return f"{read(path).name} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def an_error_below_zero(changed: Content) -> None:
    of(changed, "leaky-model")[0]["run"]["test"] = -1.0


def better_scores(changed: Content) -> None:
    for entry in of(changed, "leaky-model"):
        entry["run"]["test"] *= 0.9


def test_a_submission_is_replayed_and_its_comment_says_what_changes_on_the_board(
    submitted: Path, genuine: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "secret")
    comment, trust = submitted.parent / "comment.md", written(submitted.parent / "trust.txt", "# none\n")
    options = ["--edition", str(genuine[1]), "--comment", str(comment), "--trust", str(trust)]
    assert main([str(submitted), *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    version = read_plugin(submitted).version
    assert lines[0] == f"code: leaky-model of version {version}, MIT" and lines[-1] == "replayed"
    assert sum("gives the same result in each of 3 epochs" in line for line in lines) == 3
    text = comment.read_text()
    assert text.startswith("# Submission leaky: replayed\n") and "schema-checked" in text
    assert "- Leaky [leaky-model" in text and "new row" in text and "rank 1" in text
    assert trust.read_text().splitlines()[1:] == [f"{trust_line(submitted)}  # submission leaky, replayed"]


@pytest.mark.parametrize(
    "change, message",
    [
        (
            an_error_below_zero,
            r"scores: trial \w+ has a metric outside \[0, 1e\+150\]\. Ask for all with: longwave import",
        ),
        (better_scores, r"replay: trial \w+ has the test metric [\d.]+; trained again it is [\d.]+\. A model that"),
    ],
    ids=["impossible value", "a model that differs from its rows"],
)
def test_a_submission_with_values_that_no_training_gave_is_refused(
    submitted: Path, genuine: tuple[Path, Path], change: Callable[[Content], None], message: str
) -> None:
    forged(submitted, change)
    with pytest.raises(ConfigError, match=message):
        check_submission(submitted, genuine[1], Limits(), str)


def test_a_comment_that_cannot_be_written_is_refused_before_any_replay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path), "--comment", str(tmp_path / "absent/comment.md")])
    assert f"error: --comment: no folder {tmp_path / 'absent'}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "name", "what"), [("--edition", "absent", "folder"), ("--trust", "absent.txt", "file")]
)
def test_a_file_or_folder_that_is_not_there_is_refused_before_any_replay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, name: str, what: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path), option, str(tmp_path / name)])
    assert f"error: {option}: no {what} {tmp_path / name}\n" in capsys.readouterr().err


def test_what_takes_longer_than_it_may_is_untrusted_and_its_rows_have_no_rank(
    submitted: Path, genuine: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (trust := tmp_path / "trust.txt").touch()
    assert main([str(submitted), "--edition", str(genuine[1]), "--seconds", "0.3", "--trust", str(trust)]) == 0
    out = capsys.readouterr().out
    assert trust.read_text() == ""
    assert out.endswith(f"\nNot added to {trust}: only a replayed submission is trusted.\nuntrusted\n")
    assert out.count("cannot be trained again here: it takes more than 0.3 s") == 6
    [row] = [line for line in out.splitlines() if line.startswith("- Leaky")]
    assert "rank" not in row


def test_the_next_edition_carries_a_submission_once_it_is_trusted(
    submitted: Path, genuine: tuple[Path, Path], tmp_path: Path
) -> None:
    names = ("sweeps", "board", "home", "trust.txt", "README.md", "edition.json.xz")
    folders = EditionFolders(*(tmp_path / name for name in names), tmp_path)
    shutil.copytree(genuine[1], folders.edition)
    written(folders.readme, "<!-- edition 1 -->\n<!-- /edition 1 -->\n")
    written(folders.trust, f"{'e' * 64} {'f' * 64}  # another\n")
    assert folders.submitted == []
    written(trusted := tmp_path / "trusted.txt", f"{trust_line(submitted)}\n")
    folders = replace(folders, trust=trusted)
    assert folders.submitted == [submitted / "leaky.json.xz"] and folders.plugins == ["--plugins", str(submitted)]
    folders.home.mkdir()
    try:
        pages.publish(folders)
    finally:
        forget_plugins()
    made = read_edition(folders.edition)
    assert {row["model"] for row in made.rows if row["rank_low"]} == {"lstm", "leaky-model"}
    assert (folders.edition / "results/leaky.json.xz").read_bytes() == (submitted / "leaky.json.xz").read_bytes()
    assert len(folders.results) == len(folders.carried) == 2 and submitted / "leaky.json.xz" in folders.carried


def test_rows_of_a_model_whose_code_is_not_here_are_stored_without_the_page_of_the_model(
    submitted: Path, store: Store
) -> None:
    assert import_bundle(store, read(submitted / "leaky.json.xz")) == 6
    assert [(known.kind, known.name) for known in store.catalogue()] == [("task", "adding")]
    assert [row.model for row in read_board(store) if row.kind == "retrained"] == ["leaky-model"]


def test_a_wrong_hash_is_refused_before_any_code_runs(submitted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mark = submitted.parent / "ran"
    (submitted / "model.py").write_text(f"{MODEL}\nopen({str(mark)!r}, 'w')\n")
    path = submitted / "leaky.json.xz"
    text = lzma.decompress(path.read_bytes()).decode()
    place = text.index('"test":0.') + len('"test":0.')
    path.write_bytes(lzma.compress((text[:place] + "0" + text[place + 1 :]).encode()))
    assert main([str(submitted)]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("submission: hashes: leaky.json.xz: trial ") and printed.err.count("\n") == 1
    assert "does not match its hash in the bundle. Write it with: longwave submit" in printed.err
    assert printed.out == "refused\n" and not mark.exists()


def test_a_model_that_is_not_the_one_of_its_rows_is_refused(submitted: Path) -> None:
    text = (submitted / "model.py").read_text()
    (submitted / "model.py").write_text(text.replace("tanh(affine", "2 * tanh(affine"))
    with pytest.raises(ConfigError, match=r"a model that differs from its rows is refused: .* of version \w{12}, the"):
        check_code(read_submission(submitted))


def test_rows_without_code_and_files_without_a_licence_are_refused(submitted: Path) -> None:
    submission = read_submission(submitted)
    other = read_plugin(written(submitted.parent / "other/model.py", LEAKY.replace('"leaky"', '"model"')).parent)
    with pytest.raises(ConfigError, match=r"code: leaky/model.py must define MODEL, got model.py. Train it again with"):
        check_code(replace(submission, plugin=other))
    with pytest.raises(
        ConfigError, match=r"licence: model.py must name a licence that .* allows, got none. Begin the file"
    ):
        read_licence(other)
    beside = written(submitted.parent / "foreign/leaky/model.py", MODEL).parent
    foreign = replace(read_submission(submitted), plugin=read_plugin(beside))
    check_code(foreign)
    entries = [
        e.model_copy(update={"config": replace(e.config, model="my-leaky")}) for e in submission.file.content.trials
    ]
    content = submission.file.content.model_copy(update={"trials": entries})
    with pytest.raises(ConfigError, match="code: rows without code are refused, got rows of my-leaky. Train it again"):
        check_code(replace(submission, file=submission.file.model_copy(update={"content": content})))
    assert read_licence(submission.plugin) == "MIT"


def test_a_folder_that_is_no_submission_is_refused_by_the_rule_it_breaks(submitted: Path) -> None:
    for folder, message in (
        (submitted.parent / "Leaky", "folder: a submission is a folder of small letters, digits and _ .* got 'Leaky'"),
        (submitted.parent / "absent", "folder: a submission is .*, got 'absent'. Name an existing one."),
        (
            written(submitted.parent / "empty/model.py", MODEL).parent,
            "bundle: the results of empty must be in empty.json",
        ),
    ):
        with pytest.raises(ConfigError, match=message):
            read_submission(folder)
    (submitted / "leaky.json.xz").write_bytes(b"0" * 2_000_001)
    with pytest.raises(
        ConfigError, match="bundle: leaky.json.xz must have at most 2,000,000 bytes, got 2,000,001. Submit"
    ):
        read_submission(submitted)


def test_the_hash_of_a_commit_draws_three_retrainings_and_another_draws_others(submitted: Path) -> None:
    submission = read_submission(submitted)
    drawn = draw_trials(submission, "0" * 40)
    assert drawn == draw_trials(submission, "0" * 40) and {e.config.phase for e in drawn} == {"retrain"}
    assert len({frozenset(e.config.id for e in draw_trials(submission, str(k))) for k in range(40)}) == 4, "of 4 three"


def test_on_another_machine_the_interval_of_its_row_decides(submitted: Path) -> None:
    submission = read_submission(submitted)
    entry = submission.retrainings[0]
    facts = submission.file.content.environments[entry.place or ""]
    again = Retraced(entry.points, entry.run, facts)
    assert judge(submission, entry, again).outcome == "same"
    near, far = (replace(entry.run, test=(entry.run.test or 0) * factor) for factor in (1.0001, 3.0))
    with pytest.raises(
        ConfigError, match=r"replay: trial \w+ has the test metric .* A model that differs from its rows"
    ):
        judge(submission, entry, replace(again, run=near))
    elsewhere = replace(again, facts={**facts, "device": "another"})
    assert judge(submission, entry, replace(elsewhere, run=near)).outcome == "inside"
    assert judge(submission, entry, replace(elsewhere, run=far)).outcome == "outside"


def test_a_label_says_what_all_replays_allow(submitted: Path) -> None:
    entry = read_submission(submitted).retrainings[0]

    def label(*outcomes: Outcome) -> str:
        return choose_label([Replay(entry, None, outcome, "") for outcome in outcomes])

    assert label("same", "inside", "same") == "replayed"
    assert label("same", "outside", "same") == label("unknown") == label("outside") == label() == "untrusted"
    with pytest.raises(ConfigError, match="all 3 trials fall outside the intervals of their rows. Train it again."):
        label("outside", "outside", "outside")


def test_what_is_no_training_to_the_end_is_refused(submitted: Path) -> None:
    entry = read_submission(submitted).retrainings[0]
    whole = {"points": [vars(point) for point in entry.points], "run": vars(entry.run), "facts": {}}
    assert read_trained(whole).points == entry.points
    for said, message in (
        ({**whole, "run": None}, "a trial must be trained to its end, got 3 epochs"),
        ({**whole, "points": whole["points"][:2]}, "a trial must be trained to its end, got 2 epochs"),
        ({**whole, "points": "all"}, "its code wrote no valid result: must be a list"),
    ):
        with pytest.raises(ConfigError, match=message):
            read_trained(said)


def test_a_pull_request_has_one_submission(submitted: Path) -> None:
    script, proposed, said = str(ROOT / ".ci/submission"), submitted.parent / "proposed", submitted.parent / "said"
    for name in ("leaky", "other"):
        written(proposed / "submissions" / name / "model.py", MODEL)
    done = subprocess.run([script, proposed, said], capture_output=True, text=True)
    assert done.returncode == 2 and (said / "log.txt").read_text() == "refused\n"
    assert (said / "comment.md").read_text() == "A pull request has one submission, got 2. Open one for each.\n"
    shutil.rmtree(proposed)
    done = subprocess.run([script, proposed, said], capture_output=True, text=True)
    assert done.returncode == 2 and "got 0. Open one for each" in done.stdout
    done = subprocess.run([Path(sys.executable).with_name("shellcheck"), script], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_a_submission_is_withdrawn_by_removing_its_folder(tmp_path: Path) -> None:
    script = shutil.copy(ROOT / ".ci/submission", written(tmp_path / "base/.ci/empty", "").parent / "submission")
    for checkout, names in (("base", ("leaky", "other")), ("proposed", ("leaky",))):
        for name in names:
            written(tmp_path / checkout / "submissions" / name / "model.py", MODEL)
    done = subprocess.run([script, tmp_path / "proposed", tmp_path / "said"], capture_output=True, text=True)
    assert done.returncode == 0 and (tmp_path / "said/log.txt").read_text() == "withdrawn\n"
    assert (tmp_path / "said/comment.md").read_text().startswith("Nothing was trained: this branch lacks other. To")


def test_a_limited_program_sees_no_variable_of_ours_and_stops_at_its_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "secret")

    def ran(code: str, **limits: Any) -> tuple[int, str]:
        return run_limited([sys.executable, "-c", code], tmp_path, Limits(**limits))

    assert ran("import os; print(os.environ.get('SOME_TOKEN'), os.environ['HOME'])") == (0, f"None {tmp_path}\n")
    status, printed = ran("x = bytearray(10**9)", memory=2**29)
    assert status == 1 and "MemoryError" in printed
    with pytest.raises(LimitError, match="it takes more than 0.2 s"):
        ran("import time; time.sleep(9)", seconds=0.2)
    with pytest.raises(LimitError, match="SIGXFSZ ended it"):
        ran("import signal; signal.signal(25, signal.SIG_DFL); open('x', 'wb').write(b'0' * 10**6)", written=1000)
