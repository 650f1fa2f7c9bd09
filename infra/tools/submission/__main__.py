"""Checks a submission: a model's results, its code, and whether training it again here reproduces them.

``make submission FOLDER=submissions/NAME`` reads ``NAME.json.xz``, a bundle of ``longwave submit``, and the Python
files next to it, of which ``model.py`` defines MODEL. In order: format and hashes of the bundle; code and licence of
everything with trials in it; every check of ``longwave import``; and three retrainings, drawn by the hash of the
commit, trained again in full. The code runs only in separate processes; see ``limited``.

A submission that breaks a rule is refused, in one line and with exit status 2. Else the last line is a label.
``replayed``: each of the three gives the same result or, on another machine, falls inside the prediction interval of
its row, as in ``longwave reproduce``. ``untrusted``: this cannot be decided here. Its rows are shown without a rank.

    python -m submission FOLDER [--edition FOLDER] [--comment FILE] [--seconds 600] [--trust FILE]

The comment, in Markdown, lists the changes on the board; without a file it is printed. A maintainer who has read the
code accepts a replayed submission with ``--trust platform/boards/trust.txt``: the next edition includes it.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from pathlib import Path

from edition.folders import FIRST, LONGWAVE, EditionFolders, trust_bundle

from longwave.platform.boards.row import SHORT
from longwave.platform.editions.changes import REASONS, Change, difference, list_changes
from longwave.platform.editions.edition import Edition, edition
from longwave.platform.errors import LongwaveError
from longwave.platform.exchange import bundle
from longwave.platform.records.group import Pool
from longwave.platform.render.harmless import in_markdown
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store
from longwave.platform.wording import describe_count
from submission.checks import (
    Submission,
    check_code,
    find_bundle,
    import_bundle,
    read_commit,
    read_licence,
    read_submission,
)
from submission.limited import Limits
from submission.replays import Label, Replay, choose_label, draw_trials, replay_trial


def read_boards(store: str, tasks: Sequence[str], trust: Sequence[str]) -> Edition:
    """Return an edition's boards of some tasks."""
    with Store(store, create=False) as board_store:
        rows = [row for task in tasks for row in read_board(board_store, task, Pool(trust=tuple(trust)))]
        return edition(rows, board_store.retrainings(), "", "", "")


def import_edition(folder: Path, store: str) -> list[str]:
    """Write an edition's results into a store and return the names of their bundles."""
    subprocess.run([*LONGWAVE, "import", str(folder), "--store", store], check=True, stdout=subprocess.DEVNULL)
    with Store(store, create=False) as board_store:
        return board_store.bundles()


def write_comment(
    submission: Submission, label: Label, replays: Sequence[Replay], checks: Sequence[str], changes: Sequence[Change]
) -> str:
    """Return the comment on a pull request, as Markdown: the label, the replays, and what changes on the board."""
    lines = [f"# Submission {submission.folder.name}: {label}", "", *(in_markdown(line) for line in checks), ""]
    lines += ["| trial | seed | test | trained again | |", "|---|---|---|---|---|"]
    for one in replays:
        config, run = one.entry.config, one.entry.run
        submitted, retrained = ("—" if value is None else f"{value:.6g}" for value in (run.test, one.test))
        lines.append(f"| {config.id} | {config.seed} | {submitted} | {retrained} | {in_markdown(one.why)} |")
    return "\n".join([*lines, "", f"It makes {len(changes)} changes. {REASONS}", *list_changes(changes), ""])


def check_submission(
    folder: Path, edition_folder: Path, limits: Limits, report: Callable[[str], object] = print
) -> tuple[Label, str]:
    """Return the label of a submission, and the comment; ``report`` is called with each finding.

    Raises:
        ConfigError: It is refused.
    """
    submission = read_submission(folder)
    check_code(submission)
    file, plugin, licence = submission.file, submission.plugin, read_licence(submission.plugin)
    report(f"code: {', '.join(name for _, name in plugin.bound)} of version {plugin.version}, {licence}")
    report(f"hashes: {describe_count(len(file.hashes), 'record')} of bundle {file.name[:SHORT]} match")
    with tempfile.TemporaryDirectory(prefix="submission-") as made:
        home = Path(made)
        store, tasks = f"sqlite:///{home / 'longwave.db'}", sorted({e.config.task for e in file.content.trials})
        trusted = import_edition(edition_folder, store)
        before = read_boards(store, tasks, trusted)
        checks = import_bundle(submission, store, home)
        for line in checks:
            report(line)
        commit = read_commit(submission)
        to_replay = draw_trials(submission, commit)
        report(f"replay: {len(to_replay)} of {len(submission.retrainings)} retrainings, drawn by {commit[:12]}")
        replays = []
        for entry in to_replay:
            replays.append(one := replay_trial(submission, entry, home, limits))
            report(f"replay: trial {entry.config.id} {one.why}")
        label = choose_label(replays)
        trusted += [file.name] if label == "replayed" else []
        after = read_boards(store, tasks, trusted)
    return label, write_comment(submission, label, replays, checks, difference(before, after))


def main(arguments: Sequence[str]) -> int:
    """Run the command line, and return the exit status; see the module."""
    parser = ArgumentParser("python -m submission", description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--edition", type=Path, default=EditionFolders.of_edition(FIRST).edition)
    parser.add_argument("--comment", type=Path)
    parser.add_argument("--seconds", type=float, default=Limits().seconds, help="most that a replay of one trial takes")
    parser.add_argument("--trust", type=Path, help="list of trusted bundles; it is added there if it is replayed")
    options = parser.parse_args(arguments)
    if options.comment and not options.comment.parent.is_dir():
        parser.error(f"--comment: no folder {options.comment.parent}")
    if not options.edition.is_dir():
        parser.error(f"--edition: no folder {options.edition}")
    if options.trust and not options.trust.is_file():
        parser.error(f"--trust: no file {options.trust}")
    try:
        label, comment = check_submission(options.folder, options.edition, Limits(seconds=options.seconds))
    except LongwaveError as error:
        label, comment = (
            "refused",
            f"# Submission {in_markdown(options.folder.name)}: refused\n\n{in_markdown(str(error))}\n",
        )
        print(f"submission: {error}", file=sys.stderr)
    if options.comment:
        options.comment.write_text(comment, encoding="utf-8")
    elif label != "refused":
        print(f"\n{comment}")
    if options.trust and label == "replayed":
        path = find_bundle(options.folder)
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        trust_bundle(options.trust, bundle.read(path).name, sha256, f"submission {options.folder.name}, replayed")
    elif options.trust and label == "untrusted":
        print(f"Not added to {options.trust}: only a replayed submission is trusted.")
    print(label)
    return 2 if label == "refused" else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
