"""A result bundle: rows with all that is behind them, in one file that names its own hashes. Reading one runs nothing.

``submit`` writes what ``collect`` returns, ``import`` reads, inspects and takes it up.
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

ENDING = ".json.xz"
"""Of a bundle's file."""
VERSION: Final = 4
"""Of its form. Every Longwave from 0.2.0 on reads it; there was no release before."""


class _Strict(BaseModel):
    # Inside Any, pydantic would write what is not finite as null; written as it is, no hash can be made of it.
    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, ser_json_inf_nan="constants"
    )


Texts = Annotated[dict[str, str], FailFast()]
OF_TRIALS = ("content", "trials")
WIDE = frozenset(
    [("hashes",), OF_TRIALS, *(("content", part) for part in ("sweeps", "environments", "patches"))]
    + [("content", "sweeps", "", "trials"), *((*OF_TRIALS, "", "curve", column) for column in COLUMNS)]
)
"""Places of what may have more than ``limits.WIDE`` entries."""
SPARSE = PlainSerializer(sparse_fields, return_type=dict[str, Any])
"""A record grows by fields with defaults; written without these, it keeps its hash."""


def _share(about: About, info: ValidationInfo) -> About:
    """Return an equal explanation that was read before: thousands of trials have the same."""
    known: dict[str, About] = {} if info.context is None else info.context
    return known.setdefault(repr(about), about)


class BundledTrial(_Strict):
    """A trial that has ended.

    Attributes:
        config, about: What was to be trained, and what explains it to a reader.
        run: How it ended, without its environment and its patch.
        place: Its environment's key in the bundle; None if it has none.
        curve: Its epochs.
        ended: When.
        rerun: Of a re-run that was kept, how it stood to its row; else empty.
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
    """A sweep's settings, and the trials of the bundle that it asked for, in order."""

    content: dict[str, Any]
    trials: Annotated[list[str], FailFast()]


class Bundle(_Strict):
    """Retrainings of some rows, the search trials behind them, the sweeps that asked for them, and where they ran.

    Attributes:
        trials: By id.
        sweeps: By the digest of their settings.
        environments: Facts, by their digest.
        patches: How code differed from its commit, by the name that stands as ``diff`` in an environment.
    """

    trials: Annotated[list[BundledTrial], FailFast()]
    sweeps: Annotated[list[BundledSweep], FailFast()]
    environments: Annotated[dict[str, Texts], FailFast()]
    patches: Texts

    @property
    def rows(self) -> set[str]:
        """Names of the rows whose retrainings it holds; none where it holds a search alone."""
        return {entry.config.row for entry in self.trials if entry.config.phase == "retrain"}

    def hashes(self) -> dict[str, str]:
        """Return the SHA-256 of every record: of trials by id, of sweeps and environments by the digest of content."""
        hashes = {f"trial {entry.config.id}": sha256(entry.model_dump(mode="json")) for entry in self.trials}
        hashes |= self.sweep_hashes()
        hashes |= {f"environment {key}": sha256(facts) for key, facts in self.environments.items()}
        return hashes | {f"patch {key}": sha256(text) for key, text in self.patches.items()}

    def sweep_hashes(self) -> dict[str, str]:
        """Return the SHA-256 of every sweep."""
        return {f"sweep {digest(s.content)}": sha256(s.model_dump(mode="json")) for s in self.sweeps}


class File(_Strict):
    """A bundle as it lies in a file: with the hash of each record, and the hash of these as its name."""

    format: Literal["longwave bundle"]
    version: Literal[4]
    name: str
    hashes: Texts
    content: Bundle


def seal(bundle: Bundle) -> File:
    """Return the bundle with its hashes. Equal content gives an equal name."""
    hashes = bundle.hashes()
    return File(format="longwave bundle", version=VERSION, name=name_of(hashes), hashes=hashes, content=bundle)


def name_of(hashes: Mapping[str, str]) -> str:
    """Return the name of the bundle whose records have these hashes: the SHA-256 of them all."""
    return sha256(hashes)


def pack(file: File) -> bytes:
    """Return a file's bytes, JSON packed by xz; equal content gives equal bytes.

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
    """Raise ConfigError where a bundle cannot be written to ``path``: another ending, a folder, no folder around it."""
    if not path.name.endswith(ENDING):
        raise ConfigError(f"A bundle is a file NAME{ENDING}, got {path}.")
    if path.is_dir() or not path.absolute().parent.is_dir():
        what = "is a folder" if path.is_dir() else "is in a folder that does not exist"
        raise ConfigError(f"A bundle is a file NAME{ENDING}: {path} {what}.")


def write(file: File, path: Path) -> None:
    """Write what ``pack`` returns, whole or not at all.

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
    """Return what is in ``path``. Its form is checked, its content is not: see ``audit``.

    Raises:
        ConfigError: The file cannot be read, is too large, or has not a bundle's form; the message names the place.
    """
    return read_together([path])[0]


def read_together(paths: Sequence[Path], report: StageReport = ignore_stage) -> list[File]:
    """Return what is in bundles that are imported together; ``report`` takes how many were read.

    Raises:
        ConfigError: As ``read``; or together they would be larger than ``limits.TOGETHER``.
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
    """Return the first rule that is broken; a wrong format or version comes before all that follows from it."""
    errors = error.errors(include_url=False, include_context=False)
    first = next((e for e in errors if e["loc"] in (("format",), ("version",))), errors[0])
    key = ".".join(map(str, first["loc"]))
    got = f", got {str(first['input'])[:60]!r}" if key and first["type"] != "missing" else ""
    step = f" {OLDER} A newer Longwave may read a newer one." if key == "version" else ""
    return f"{key}: {first['msg']}{got}.{step}".removeprefix(": ")
