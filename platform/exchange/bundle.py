"""A result bundle: rows with all their trials, in one file with hashes of its records. Reading it runs no code of it.

``submit`` writes what ``collect`` returns; ``import`` reads it, checks it and writes it to the store.
"""

from __future__ import annotations

import lzma
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    FailFast,
    PlainSerializer,
    ValidationError,
    ValidationInfo,
)

from longwave.files import atomic_file
from longwave.platform.errors import ConfigError
from longwave.platform.exchange import limits
from longwave.platform.exchange.curve import COLUMNS, Curve
from longwave.platform.exchange.reading import OLDER, StageReport, check_json, ignore_stage, read_file, unpack
from longwave.platform.records.about import About
from longwave.platform.records.identity import canonical_json, digest, sha256, sparse_fields
from longwave.platform.records.run import Point, Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.wording import describe_count
from longwave.rules import describe_rule

ENDING = ".json.xz"
"""Suffix of a bundle's file."""
VERSION: Final = 4
"""Version of the format, which every Longwave from 0.2.0 on reads; there was no release before."""


class _Strict(BaseModel):
    # By default pydantic writes non-finite numbers inside Any as null; as constants they make hashing fail.
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, ser_json_inf_nan="constants"
    )


Texts = Annotated[dict[str, str], FailFast()]
OF_TRIALS = ("content", "trials")
WIDE = frozenset(
    [("hashes",), OF_TRIALS, *(("content", part) for part in ("sweeps", "environments", "patches"))]
    + [("content", "sweeps", "", "trials"), *((*OF_TRIALS, "", "curve", column) for column in COLUMNS)]
)
"""Paths of objects and lists that may have more than ``limits.WIDE`` entries."""
SPARSE = PlainSerializer(sparse_fields, return_type=dict[str, Any])
"""New fields of a record have defaults, which are not written, so that hashes of older records are unchanged."""


def _share(about: About, info: ValidationInfo) -> About:
    """Return an equal object that was read before, because thousands of trials have the same."""
    seen: dict[str, About] = {} if info.context is None else info.context
    return seen.setdefault(repr(about), about)


class BundledTrial(_Strict):
    """A trial that has ended.

    Attributes:
        config, about: What was trained, and its description for readers.
        run: Its outcome, without environment and patch.
        place: Key of its environment in the bundle; None without one.
        curve: Its epochs.
        ended: Time of its end.
        rerun: Result of a stored re-run against its row; empty for other trials.
    """

    config: Annotated[TrialConfig, PlainSerializer(TrialConfig.to_dict, return_type=dict[str, Any])]
    about: Annotated[About, AfterValidator(_share), SPARSE]
    run: Annotated[Run, SPARSE]
    place: str | None
    curve: Curve
    ended: AwareDatetime
    rerun: Literal["", "inside", "outside", "undecided"] = ""

    @property
    def points(self) -> list[Point]:
        """Its epochs, one by one."""
        return self.curve.points(self.config.id)


class BundledSweep(_Strict):
    """A sweep's settings, and its trials in the bundle, in order."""

    content: dict[str, Any]
    trials: Annotated[list[str], FailFast()]


class Bundle(_Strict):
    """Retrainings of some rows, the search trials behind them, their sweeps and environments.

    Attributes:
        trials: By id.
        sweeps: By digest of their settings.
        environments: Environment facts, by digest.
        patches: Uncommitted changes of the code, by the name that environments have as ``diff``.
    """

    trials: Annotated[list[BundledTrial], FailFast()]
    sweeps: Annotated[list[BundledSweep], FailFast()]
    environments: Annotated[dict[str, Texts], FailFast()]
    patches: Texts

    @property
    def rows(self) -> set[str]:
        """Names of the rows whose retrainings it contains; none if it contains only a search."""
        return {entry.config.row for entry in self.trials if entry.config.phase == "retrain"}

    def hashes(self) -> dict[str, str]:
        """Return the SHA-256 of every record: trials by id, sweeps and environments by digest of their content."""
        hashes = {f"trial {entry.config.id}": sha256(entry.model_dump(mode="json")) for entry in self.trials}
        hashes |= self.sweep_hashes()
        hashes |= {f"environment {key}": sha256(facts) for key, facts in self.environments.items()}
        return hashes | {f"patch {key}": sha256(text) for key, text in self.patches.items()}

    def sweep_hashes(self) -> dict[str, str]:
        """Return the SHA-256 of every sweep."""
        return {f"sweep {digest(s.content)}": sha256(s.model_dump(mode="json")) for s in self.sweeps}


class File(_Strict):
    """A bundle as stored in a file: with the hash of each record, and the hash of these as its name."""

    format: Literal["longwave bundle"]
    version: Literal[4]
    name: str
    hashes: Texts
    content: Bundle


def seal(bundle: Bundle) -> File:
    """Return the bundle with its hashes; equal content gives equal names."""
    hashes = bundle.hashes()
    return File(format="longwave bundle", version=VERSION, name=name_of(hashes), hashes=hashes, content=bundle)


def name_of(hashes: Mapping[str, str]) -> str:
    """Return the name of the bundle whose records have these hashes: the SHA-256 of them all."""
    return sha256(hashes)


def pack(file: File) -> bytes:
    """Return a file's bytes, JSON compressed by xz; equal content gives equal bytes.

    Raises:
        ConfigError: It would be larger than ``limits.BYTES``.
    """
    text = canonical_json(file.model_dump(mode="json")).encode()
    if len(text) > limits.BYTES:
        raise ConfigError(
            f"The bundle would have {len(text) >> 20} MiB, {limits.BYTES >> 20} at most: submit fewer rows."
        )
    return lzma.compress(text)


def check_target(path: Path) -> None:
    """Raise ConfigError if ``path`` is not a writable bundle: wrong suffix, a folder, or in no existing folder."""
    if not path.name.endswith(ENDING):
        raise ConfigError(f"A bundle is a file NAME{ENDING}, got {path}.")
    if path.is_dir() or not path.absolute().parent.is_dir():
        problem = "is a folder" if path.is_dir() else "is in a folder that does not exist"
        raise ConfigError(f"A bundle is a file NAME{ENDING}: {path} {problem}.")


def check_replaces(file: File, path: Path) -> None:
    """Raise ConfigError if ``path`` exists, unless it is a bundle of whose trials ``file`` contains every one."""
    if not path.exists():
        return
    step = "Write the new bundle to another file, or delete this one."
    try:
        old = read(path).hashes
    except ConfigError as error:
        raise ConfigError(f"{path} exists already: {error} {step}") from None
    if lost := [key for key in old.keys() - file.hashes.keys() if key.startswith("trial ")]:
        trials = describe_count(len(lost), "trial")
        raise ConfigError(f"{path} exists already, with {trials} that the new bundle would not have. {step}")


def write(file: File, path: Path) -> None:
    """Write a bundle atomically; an older file at ``path`` is replaced, see ``check_replaces``.

    Raises:
        ConfigError: The file cannot be written, or would be larger than ``limits.BYTES``.
    """
    packed = pack(file)
    try:
        with atomic_file(path, private=True) as partial:
            partial.write_bytes(packed)
    except OSError as error:
        raise ConfigError(f"Cannot write the bundle {path}: {error.strerror}.") from None


def read(path: Path) -> File:
    """Return the bundle in ``path``. Its format is checked, its content is not: see ``audit``.

    Raises:
        ConfigError: The file cannot be read, is too large, or is not in a bundle's format; the message names the field.
    """
    return read_together([path])[0]


def read_together(paths: Sequence[Path], report: StageReport = ignore_stage) -> list[File]:
    """Return bundles that are imported together; ``report`` is called with the progress.

    Raises:
        ConfigError: As ``read``; or together they are larger than ``limits.TOGETHER``.
    """
    files, size, abouts = list[File](), 0, dict[str, About]()
    for k, path in enumerate(paths):
        report("Reading bundles", k, len(paths))
        text = check_json(unpack(read_file(path), path), path, WIDE)
        if (size := size + len(text)) > limits.TOGETHER:
            raise ConfigError(f"The bundles up to {path} hold more than {limits.TOGETHER >> 20} MiB: import fewer.")
        try:
            files.append(File.model_validate_json(text, context=abouts))
        except ValidationError as error:
            raise ConfigError(f"{path} is not a bundle: {_describe_first(error)}") from None
    return files


def _describe_first(error: ValidationError) -> str:
    """Return the first validation error; a wrong format or version comes before its consequences."""
    errors = error.errors(include_url=False)
    first = next((e for e in errors if e["loc"] in (("format",), ("version",))), errors[0])
    key = ".".join(map(str, first["loc"]))
    step = f" {OLDER} A newer Longwave may read a newer one." if key == "version" else ""
    return f"{key}: {describe_rule(first)}.{step}".removeprefix(": ")
