"""Checks a submission: the results of a model, its code, and whether training it again here gives these results.

``make submission FOLDER=submissions/NAME`` reads ``NAME.json.xz``, a bundle of ``longwave submit``, and the Python
files beside it, of which ``model.py`` binds MODEL. In order: form and hashes of the bundle; code and licence of all
that it has trials of; every check of ``longwave import``; and three retrainings, drawn by the hash of the commit,
trained again from their first epoch to their last. The code runs in processes of its own alone; see ``limited.py``.

What breaks a rule is refused, in one line and with exit status 2. Else the last line is a label. ``replayed``: each of
the three is what it was, or, on another machine, falls inside the prediction interval of its row, as ``longwave
reproduce`` has it. ``guest``: here that cannot be said. A guest's rows are shown without a rank.

    submission.py FOLDER [--edition FOLDER] [--comment FILE] [--seconds 600] [--trust FILE]

The comment says in Markdown what the submission changes on the board; without a file it is printed. A maintainer who
has read the code accepts what is replayed with ``--trust platform/boards/trust.txt``: the next edition carries it.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from edition_folders import LONGWAVE, SHOWN, EditionFolders, trust_bundle
from licences import RULES, is_allowed
from limited import LimitError, Limits, run_limited
from pydantic import TypeAdapter, ValidationError

from longwave.platform.editions.changes import REASONS, Change, difference, list_changes
from longwave.platform.editions.edition import Edition, edition
from longwave.platform.errors import ConfigError, LongwaveError
from longwave.platform.exchange import bundle
from longwave.platform.exchange.bundle import ENDING, BundledTrial, File
from longwave.platform.exchange.inspection import check_hashes
from longwave.platform.exchange.replay import Retraced, compare
from longwave.platform.plugins.plugin import WORD, Plugin, is_plugin, read_plugin
from longwave.platform.records.group import Pool
from longwave.platform.registry import get_model
from longwave.platform.render.harmless import in_markdown, one_line
from longwave.platform.statistics.scale import scale_of
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.reproduce import agreement

Label = Literal["replayed", "guest"]
Outcome = Literal["same", "inside", "outside", "unknown"]
"""How a trial stands to its replay: ``inside`` and ``outside`` the interval of its row, on another machine."""
MOST = 2_000_000
"""Bytes of a bundle: the repository keeps it for good."""
DRAWN = 3
"""Trials that are trained again."""
CHECKS = Limits(seconds=1200)
"""Of the checks of a bundle, which make data and draw settings anew."""
LICENCE = re.compile(r"^# SPDX-License-Identifier: *(.+?) *$", re.MULTILINE)
TRIAL = Path(__file__).with_name("submission_trial.py")


@dataclass(frozen=True)
class Submission:
    """What lies in a submission's folder.

    Attributes:
        folder: The folder; its name is that of the submission, and of the models in it the namespace.
        path: Its bundle's file.
        file: Its bundle, with the hashes that it says.
        plugin: Its code, which is text until it is trained.
    """

    folder: Path
    path: Path
    file: File
    plugin: Plugin

    @property
    def retrainings(self) -> list[BundledTrial]:
        """Its retrainings that say how a training ends, by id."""
        trials = self.file.content.trials
        return sorted(
            (e for e in trials if e.config.phase == "retrain" and e.run.status != "failed"), key=lambda e: e.config.id
        )


@dataclass(frozen=True)
class Replay:
    """A trial that was to be trained again.

    Attributes:
        entry: The trial.
        test: Its test metric here; None where it has none.
        outcome: How it stands to the trial.
        why: That in words.
    """

    entry: BundledTrial
    test: float | None
    outcome: Outcome
    why: str


def find_bundle(folder: Path) -> Path:
    """Return where the bundle of a submission lies."""
    return folder / f"{folder.name}{ENDING}"


def read_submission(folder: Path) -> Submission:
    """Return what lies in a submission's folder, its form and hashes checked. Nothing in it is run.

    Raises:
        ConfigError: A rule is broken; the message names it, the value and the next step.
    """
    folder = folder.absolute()
    if not folder.is_dir() or not WORD.fullmatch(folder.name):
        rule = "a folder of small letters, digits and _ in submissions/, which begins with a letter"
        raise ConfigError(f"folder: a submission is {rule}, got {folder.name!r}. Name one that is there.")
    path = find_bundle(folder)
    write = f"Write it with: longwave submit {path.parent.name}/{path.name}"
    if not path.is_file():
        raise ConfigError(f"bundle: the results of {folder.name} lie in {path.name}, which is not there. {write}")
    if (size := path.stat().st_size) > MOST:
        raise ConfigError(f"bundle: {path.name} has at most {MOST:,} bytes, got {size:,}. Submit fewer rows: --row ROW")
    file = bundle.read(path)
    for _, message in check_hashes(file):
        raise ConfigError(f"hashes: {path.name}: {message.rstrip('.')}. {write}")
    if not file.content.rows:
        raise ConfigError(f"rows: {path.name} has no retraining, got a search alone. {write}")
    return Submission(folder, path, file, read_plugin(folder))


def check_code(submission: Submission) -> None:
    """Check that the code of all trials is here, as they were trained with it; nothing of it is run.

    Raises:
        ConfigError: It is not; the message names model or task and the next step.
    """
    folder, plugin = submission.folder.name, submission.plugin
    again = f"Train it again with: --plugins submissions/{folder}"
    if ("model", f"{folder}-model") not in plugin.bound:
        raise ConfigError(f"code: {folder}/model.py binds MODEL, got {', '.join(plugin.files)}. {again}")
    configs = [entry.config for entry in submission.file.content.trials]
    for task in sorted({config.task for config in configs}):
        if is_plugin(task):
            raise ConfigError(f"code: a task is one of Longwave's, got {task}. Add it first, as tasks/NAME.py.")
    for model, version in sorted({(config.model, config.model_version) for config in configs}):
        own = ("model", model) in plugin.bound
        if is_plugin(model) and not own:
            raise ConfigError(f"code: rows without code are refused, got rows of {model}. {again}")
        if version != (here := plugin.version if own else get_model(model).version):
            differs = f"the rows are of {model} of version {version}, the code is of version {here}"
            raise ConfigError(f"code: a model that differs from its rows is refused: {differs}. {again}")


def read_licence(plugin: Plugin) -> str:
    """Return the licence of a plugin's files, as SPDX.

    Raises:
        ConfigError: A file names none, or one that is not allowed.
    """
    allowed, stated = frozenset(RULES["licences"]["allow"]), dict[str, None]()
    for name, text in plugin.files.items():
        found = LICENCE.search(text)
        if not found or not is_allowed(found[1], allowed):
            got = repr(found[1]) if found else "none"
            step = "Begin the file with: # SPDX-License-Identifier: MIT"
            raise ConfigError(f"licence: {name} names a licence that pyproject.toml allows, got {got}. {step}")
        stated[found[1]] = None
    return " and ".join(stated)


def read_commit(submission: Submission) -> str:
    """Return the hash of the commit that the folder is at; without git the bundle's name."""
    command = ["git", "-C", str(submission.folder), "rev-parse", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else submission.file.name


def import_bundle(submission: Submission, store: str, home: Path) -> list[str]:
    """Check a submission's bundle and write it into the store, in a process of its own; return what that says.

    Raises:
        ConfigError: A check rejects it, or it runs into a limit.
    """
    plugins = ["--plugins", str(submission.folder)]
    command = [*LONGWAVE, "import", str(submission.path), *plugins, "--store", store]
    try:
        status, printed = run_limited(command, home, CHECKS)
    except LimitError as limit:
        raise ConfigError(
            f"checks: those of longwave import run to their end, but {limit}. Submit fewer rows."
        ) from None
    lines = [one_line(line) for line in printed.splitlines() if line]
    if status:
        rejected = [line.removeprefix("reject: ") for line in lines if line.startswith("reject: ")] or lines[-1:]
        more = f" And {len(rejected) - 1} more." if rejected[1:] else ""
        step = "Ask for all with: longwave import --dry-run"
        raise ConfigError(f"{rejected[0].rstrip('.')}.{more} {step}")
    return [line for line in lines if line.startswith(("flag: ", "Bundle "))]


def draw_trials(submission: Submission, commit: str) -> list[BundledTrial]:
    """Return the retrainings that the hash of a commit draws."""
    trials = submission.retrainings
    return random.Random(commit).sample(trials, min(DRAWN, len(trials)))


def replay_trial(submission: Submission, entry: BundledTrial, home: Path, limits: Limits) -> Replay:
    """Train a trial again in a process of its own, and compare.

    Raises:
        ConfigError: The code does not run, or on the same machine it gives another result.
    """
    there = submission.file.content.environments.get(entry.place or "", {})
    name, asked, answer = f"trial {entry.config.id}", home / "asked.json", home / "answer.json"
    asked.write_text(json.dumps({"config": entry.config.to_dict(), "packed": entry.run.members > 1}))
    answer.unlink(missing_ok=True)
    threads = there.get("threads", "")
    try:
        command = [sys.executable, *map(str, (TRIAL, submission.folder, asked, answer))]
        status, printed = run_limited(command, home, limits, int(threads) if threads.isdecimal() else 0)
    except LimitError as limit:
        return Replay(entry, None, "unknown", f"cannot be trained again here: {limit}")
    if status or not answer.is_file():
        last = one_line((printed.strip().splitlines() or ["nothing was printed"])[-1])
        raise ConfigError(f"replay: {name} is trained again, but its code fails: {last.rstrip('.')}. Submit what runs.")
    said = json.loads(answer.read_text())
    if "unable" in said:
        return Replay(entry, None, "unknown", f"cannot be trained again here: {one_line(str(said['unable']))}")
    return judge(submission, entry, read_trained(said.get("trained")))


def read_trained(said: object) -> Retraced:
    """Return what became of a trial, as another process wrote it.

    Raises:
        ConfigError: It is not what a training to the end gives.
    """
    try:
        trained = TypeAdapter(Retraced).validate_python(said)
    except ValidationError as error:
        reason = error.errors(include_url=False)[0]["msg"]
        raise ConfigError(f"replay: its code writes no training, got: {reason}. Submit what runs.") from None
    run = trained.run
    if run is None or len(trained.points) != run.epochs - (run.status == "diverged"):
        raise ConfigError(f"replay: a trial is trained to its end, got {len(trained.points)} epochs. Submit what runs.")
    return trained


def judge(submission: Submission, entry: BundledTrial, trained: Retraced) -> Replay:
    """Return how a trial stands to its replay.

    Raises:
        ConfigError: All facts that matter are the same, and its result is another.
    """
    test = trained.run.test if trained.run else None
    finding = compare(entry, trained, submission.file.content.environments.get(entry.place or "", {}))
    if finding is None:
        return Replay(entry, test, "same", f"is what it was in each of {len(trained.points)} epochs")
    if finding.severity == "reject":
        step = "A model that differs from its rows is refused; train it again."
        raise ConfigError(f"replay: {finding.message.rstrip('.')}. {step}")
    row = [other.run for other in submission.retrainings if other.config.row == entry.config.row]
    known = [run.test for run in row if run.test is not None]
    about, diverged = entry.about, sum(run.status == "diverged" for run in row)
    assert trained.run, "read_trained has seen it"
    found = agreement(trained.run, known, diverged, scale_of(about.goal, about.unit, about.floor))
    said = finding.message.removeprefix(f"trial {entry.config.id} ").rstrip(".")
    if found == "undecided":
        return Replay(entry, test, "unknown", f"{said}; the interval of its row decides nothing")
    return Replay(entry, test, found, f"{said}; {found} the interval of its row")


def choose_label(replays: Sequence[Replay]) -> Label:
    """Return the label of a submission whose drawn trials were trained again.

    Raises:
        ConfigError: Several were, and all fall outside the intervals of their rows: one honest seed in 20 does.
    """
    outcomes = {replay.outcome for replay in replays}
    if outcomes == {"outside"} and len(replays) > 1:
        all_of = f"all {len(replays)} trials fall outside the intervals of their rows"
        raise ConfigError(f"replay: a model that differs from its rows is refused: {all_of}. Train it again.")
    return "replayed" if outcomes and outcomes <= {"same", "inside"} else "guest"


def read_boards(store: str, tasks: Sequence[str], trust: Sequence[str]) -> Edition:
    """Return the boards of some tasks as an edition has them."""
    with Store(store, create=False) as known:
        rows = [row for task in tasks for row in read_board(known, task, Pool(trust=tuple(trust)))]
        return edition(rows, known.retrainings(), "", "", "")


def import_edition(folder: Path, store: str) -> list[str]:
    """Write an edition's results into a store and return the names of their bundles."""
    subprocess.run([*LONGWAVE, "import", str(folder), "--store", store], check=True, stdout=subprocess.DEVNULL)
    with Store(store, create=False) as known:
        return known.bundles()


def write_comment(
    submission: Submission, label: Label, replays: Sequence[Replay], checks: Sequence[str], changes: Sequence[Change]
) -> str:
    """Return the comment on a pull request, as Markdown: the label, the replays, and what changes on the board."""
    lines = [f"# Submission {submission.folder.name}: {label}", "", *(in_markdown(line) for line in checks), ""]
    lines += ["| trial | seed | test | trained again | |", "|---|---|---|---|---|"]
    for one in replays:
        config, run = one.entry.config, one.entry.run
        there, here = ("—" if value is None else f"{value:.6g}" for value in (run.test, one.test))
        lines.append(f"| {config.id} | {config.seed} | {there} | {here} | {in_markdown(one.why)} |")
    return "\n".join([*lines, "", f"It makes {len(changes)} changes. {REASONS}", *list_changes(changes), ""])


def check_submission(
    folder: Path, edition_folder: Path, limits: Limits, report: Callable[[str], object] = print
) -> tuple[Label, str]:
    """Return the label of a submission, and the comment; ``report`` takes each finding as it is made.

    Raises:
        ConfigError: It is refused.
    """
    submission = read_submission(folder)
    check_code(submission)
    file, plugin, licence = submission.file, submission.plugin, read_licence(submission.plugin)
    report(f"code: {', '.join(name for _, name in plugin.bound)} of version {plugin.version}, {licence}")
    report(f"hashes: {len(file.hashes)} records of bundle {file.name[:12]} are as it says")
    with tempfile.TemporaryDirectory(prefix="submission-") as made:
        home = Path(made)
        store, tasks = f"sqlite:///{home / 'longwave.db'}", sorted({e.config.task for e in file.content.trials})
        trusted = import_edition(edition_folder, store)
        before = read_boards(store, tasks, trusted)
        checks = import_bundle(submission, store, home)
        for line in checks:
            report(line)
        commit = read_commit(submission)
        drawn = draw_trials(submission, commit)
        report(f"replay: {len(drawn)} of {len(submission.retrainings)} retrainings, drawn by {commit[:12]}")
        replays = []
        for entry in drawn:
            replays.append(one := replay_trial(submission, entry, home, limits))
            report(f"replay: trial {entry.config.id} {one.why}")
        label = choose_label(replays)
        trusted += [file.name] if label == "replayed" else []
        after = read_boards(store, tasks, trusted)
    return label, write_comment(submission, label, replays, checks, difference(before, after))


def main(arguments: Sequence[str]) -> int:
    """Check what the arguments say, and return the exit status; see the module."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--edition", type=Path, default=EditionFolders.of_edition(SHOWN).edition)
    parser.add_argument("--comment", type=Path)
    parser.add_argument("--seconds", type=float, default=Limits().seconds, help="most that a replay of one trial takes")
    parser.add_argument("--trust", type=Path, help="list of trusted bundles; it is added there if it is replayed")
    chosen = parser.parse_args(arguments)
    try:
        label, comment = check_submission(chosen.folder, chosen.edition, Limits(seconds=chosen.seconds))
    except LongwaveError as error:
        label, comment = (
            "refused",
            f"# Submission {in_markdown(chosen.folder.name)}: refused\n\n{in_markdown(str(error))}\n",
        )
        print(f"submission: {error}", file=sys.stderr)
    if chosen.comment:
        chosen.comment.write_text(comment, encoding="utf-8")
    elif label != "refused":
        print(f"\n{comment}")
    if chosen.trust and label == "replayed":
        path = find_bundle(chosen.folder)
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        trust_bundle(chosen.trust, bundle.read(path).name, sha256, f"submission {chosen.folder.name}, replayed")
    print(label)
    return 2 if label == "refused" else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
