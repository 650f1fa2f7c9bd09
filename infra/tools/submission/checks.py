"""A submission's folder, and the checks before training: hashes, code, licence, results."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from edition.folders import LONGWAVE
from licences import RULES, is_allowed

from longwave.platform.errors import ConfigError
from longwave.platform.exchange import bundle
from longwave.platform.exchange.bundle import ENDING, BundledTrial, File
from longwave.platform.exchange.inspection import check_hashes
from longwave.platform.plugins.plugin import WORD, Plugin, is_plugin, read_plugin
from longwave.platform.registry import get_model
from longwave.platform.render.harmless import one_line
from submission.limited import LimitError, Limits, run_limited

MAX_BYTES = 2_000_000
"""Largest bundle in bytes, as it stays in the repository for good."""
CHECKS = Limits(seconds=1200)
"""Limits of the checks of a bundle, which generate data and draw settings again."""
LICENCE = re.compile(r"^# SPDX-License-Identifier: *(.+?) *$", re.MULTILINE)


@dataclass(frozen=True)
class Submission:
    """The content of a submission's folder.

    Attributes:
        folder: The folder; its name is that of the submission, and of the models in it the namespace.
        path: Its bundle's file.
        file: Its bundle, with the hashes stated in it.
        plugin: Its code, not executed before training.
    """

    folder: Path
    path: Path
    file: File
    plugin: Plugin

    @property
    def retrainings(self) -> list[BundledTrial]:
        """Its finished retrainings, by id."""
        trials = self.file.content.trials
        return sorted(
            (e for e in trials if e.config.phase == "retrain" and e.run.status != "failed"), key=lambda e: e.config.id
        )


def find_bundle(folder: Path) -> Path:
    """Return the path of a submission's bundle."""
    return folder / f"{folder.name}{ENDING}"


def read_submission(folder: Path) -> Submission:
    """Return the content of a submission's folder, with format and hashes checked. No code in it is run.

    Raises:
        ConfigError: A rule is broken; the message names it, the value and the next step.
    """
    folder = folder.absolute()
    if not folder.is_dir() or not WORD.fullmatch(folder.name):
        rule = "a folder of small letters, digits and _ in submissions/, which begins with a letter"
        raise ConfigError(f"folder: a submission is {rule}, got {folder.name!r}. Name an existing one.")
    path = find_bundle(folder)
    write = f"Write it with: longwave submit {path.parent.name}/{path.name}"
    if not path.is_file():
        raise ConfigError(f"bundle: the results of {folder.name} must be in {path.name}, which does not exist. {write}")
    if (size := path.stat().st_size) > MAX_BYTES:
        raise ConfigError(
            f"bundle: {path.name} must have at most {MAX_BYTES:,} bytes, got {size:,}. Submit fewer rows: --row ROW"
        )
    file = bundle.read(path)
    for _, message in check_hashes(file):
        raise ConfigError(f"hashes: {path.name}: {message.rstrip('.')}. {write}")
    if not file.content.rows:
        raise ConfigError(f"rows: {path.name} has no retraining, only a search. {write}")
    return Submission(folder, path, file, read_plugin(folder))


def check_code(submission: Submission) -> None:
    """Check that the code of all trials is present in the version of their training; none of it is run.

    Raises:
        ConfigError: It is not; the message names model or task and the next step.
    """
    folder, plugin = submission.folder.name, submission.plugin
    again = f"Train it again with: --plugins submissions/{folder}"
    if ("model", f"{folder}-model") not in plugin.bound:
        raise ConfigError(f"code: {folder}/model.py must define MODEL, got {', '.join(plugin.files)}. {again}")
    configs = [entry.config for entry in submission.file.content.trials]
    for task in sorted({config.task for config in configs}):
        if is_plugin(task):
            raise ConfigError(f"code: the task must be one of Longwave's, got {task}. Add it first, as tasks/NAME.py.")
    for model, version in sorted({(config.model, config.model_version) for config in configs}):
        has_code = ("model", model) in plugin.bound
        if is_plugin(model) and not has_code:
            raise ConfigError(f"code: rows without code are refused, got rows of {model}. {again}")
        if version != (here := plugin.version if has_code else get_model(model).version):
            differs = f"the rows are of {model} of version {version}, the code is of version {here}"
            raise ConfigError(f"code: a model that differs from its rows is refused: {differs}. {again}")


def read_licence(plugin: Plugin) -> str:
    """Return the licence of a plugin's files, as SPDX.

    Raises:
        ConfigError: A file has none, or one that is not allowed.
    """
    allowed, stated = frozenset(RULES["licences"]["allow"]), dict[str, None]()
    for name, text in plugin.files.items():
        match = LICENCE.search(text)
        if not match or not is_allowed(match[1], allowed):
            got = repr(match[1]) if match else "none"
            step = "Begin the file with: # SPDX-License-Identifier: MIT"
            raise ConfigError(f"licence: {name} must name a licence that pyproject.toml allows, got {got}. {step}")
        stated[match[1]] = None
    return " and ".join(stated)


def read_commit(submission: Submission) -> str:
    """Return the hash of the folder's current commit; without git the bundle's name."""
    command = ["git", "-C", str(submission.folder), "rev-parse", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else submission.file.name


def import_bundle(submission: Submission, store: str, home: Path) -> list[str]:
    """Check a submission's bundle and write it into the store, in a separate process; return its output.

    Raises:
        ConfigError: A check rejects it, or it exceeds a limit.
    """
    plugins = ["--plugins", str(submission.folder)]
    command = [*LONGWAVE, "import", str(submission.path), *plugins, "--store", store]
    try:
        status, printed = run_limited(command, home, CHECKS)
    except LimitError as limit:
        raise ConfigError(f"checks: those of longwave import did not finish: {limit}. Submit fewer rows.") from None
    lines = [one_line(line) for line in printed.splitlines() if line]
    if status:
        rejected = [line.removeprefix("reject: ") for line in lines if line.startswith("reject: ")] or lines[-1:]
        more = f" And {len(rejected) - 1} more." if rejected[1:] else ""
        step = "Ask for all with: longwave import --dry-run"
        raise ConfigError(f"{rejected[0].rstrip('.')}.{more} {step}")
    return [line for line in lines if line.startswith(("flag: ", "Bundle "))]
