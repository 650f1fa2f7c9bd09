"""Your own data in Python: a data frame, arrays or a file becomes a task and a sweep, as with ``longwave start``."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import move, rmtree
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from longwave.platform.api.arguments import check_counts, check_lists, check_texts
from longwave.platform.api.sweeping import SweptBoards, sweep
from longwave.platform.cli.start import MODELS, add_files, choose_files, sweep_text
from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.paths import home, make_folder
from longwave.platform.plugins.plugin import OWN
from longwave.tasks.base.raw import DataError
from longwave.tasks.cards.draft import fill_content, read_draft
from longwave.tasks.cards.guess import FEW
from longwave.tasks.cards.write import to_toml

if TYPE_CHECKING:
    import pandas

ROLES = ("layout", "series", "time", "task", "target", "inputs", "group", "horizon", "window", "stride")
"""Keys of a card about columns and arrays, as the options of ``longwave start``."""
COUNTS = ("horizon", "window", "stride")
"""Those that are numbers of steps."""


def start(
    data: pandas.DataFrame | np.ndarray[Any, Any] | str | Path,
    answers: Any = None,
    *,
    name: str = "",
    channels: Sequence[str] = (),
    models: Sequence[str] = tuple(MODELS.split(",")),
    trials: int = 8,
    seeds: int = 5,
    **roles: Any,
) -> StartedTask:
    """Make a task from your own data, and a sweep file for it; nothing is trained.

    Example::

        task = lw.start(frame, name="gestures", target="label")     # one row a step or an example
        task = lw.start(x, y, name="gestures")                      # x (N, T) or (N, T, p), y (N,)
        task.run().board

    Args:
        data: A data frame, or an array of N examples of T steps; or the path of a CSV, Parquet, NPZ or .ts file, next
            to which card and sweep file are written. A frame or an array is stored in the data folder with both;
            calling it again with the same data returns the existing task, with a warning if other arguments would
            change its files.
        answers: Targets for an array, one number or string per example; none for a forecast. Examples may end in NaN
            where they are shorter.
        name: Of the task, after ``my-``; for a file, the file's name.
        channels: Input columns; by default all other numeric ones.
        models, trials, seeds: Of the sweep: its models, search trials per model, and retrainings of each winner.
        roles: ``target``, ``task`` and whatever else columns do not show, as the options of ``longwave start``.

    Raises:
        ConfigError: An argument is wrong, or the columns do not determine the layout; the message says what to give.
        DataError: The data break a rule; nothing is written.
    """
    if unknown := [role for role in roles if role not in ROLES]:
        raise ConfigError(did_you_mean("argument of lw.start", unknown[0], [*ROLES, "name", "channels", "models"]))
    check_lists(models=models, channels=channels)
    check_texts(name=name)
    check_counts(1, trials=trials, seeds=seeds, **{role: roles[role] for role in COUNTS if roles.get(role) is not None})
    settings = {"models": [*models], "trials": trials, "rule": 2, "retrain": seeds}
    if isinstance(data, str | Path):
        if answers is not None or name:
            raise ConfigError(
                'For a file, leave out name, which is the file\'s, and give the column of the target: target="COLUMN".'
            )
        return _start_file(Path(data), roles, channels, settings)
    folder = _choose_folder(name)
    with TemporaryDirectory() as temporary:
        file = Path(temporary) / f"{name}.parquet"
        array_roles = _write_table(data, answers, roles, file)

        def texts() -> tuple[str, str]:
            return _texts_of(file, {**array_roles, **roles}, channels, settings)

        if folder.exists():
            return _find_started(folder, file, texts)
        written = texts()
        make_folder(folder)
        try:
            return _add_texts(Path(move(file, folder)), written)
        except BaseException:
            rmtree(folder)
            raise


def _start_file(
    file: Path, roles: Mapping[str, Any], channels: Sequence[str], settings: Mapping[str, Any]
) -> StartedTask:
    """Write card and sweep file next to a file, and add the card."""
    return _add_texts(file, _texts_of(file, roles, channels, settings))


def _texts_of(
    file: Path, roles: Mapping[str, Any], channels: Sequence[str], settings: Mapping[str, Any]
) -> tuple[str, str]:
    """Return the texts of the card and the sweep file for a file."""
    card, sweep_file = choose_files(file)
    draft = read_draft(file)
    answers = {role: str(value) for role, value in roles.items() if value is not None}
    settled, open_ = draft.guess_roles(answers)
    if open_:
        missing = ", ".join(f"{q.name}={' or '.join(map(repr, q.choices)) or '...'}" for q in open_)
        raise ConfigError(f"The names {', '.join(draft.names[:12])} do not determine the layout. Give {missing}.")
    content = fill_content(draft, answers, settled, channels)
    return to_toml(content), sweep_text(card.stem, settings, sweep_file)


def _add_texts(file: Path, texts: tuple[str, str]) -> StartedTask:
    """Write the texts of card and sweep file next to a file, and add the card."""
    card, sweep_file = choose_files(file)
    added = add_files(card, texts[0], sweep_file, texts[1])
    return StartedTask(added.name, card, sweep_file, tuple(remark.text for remark in added.remarks))


@dataclass(frozen=True)
class StartedTask:
    """Your own task, and the sweep file written for it.

    Attributes:
        name: Of the task.
        card, sweep_file: Both may be edited; after changing the card run ``longwave tasks add CARD``.
        remarks: Remarks on the data.
    """

    name: str
    card: Path
    sweep_file: Path
    remarks: Sequence[str] = ()

    def run(self, **options: Any) -> SweptBoards:
        """Run the sweep with the options of ``lw.sweep``."""
        return sweep(self.sweep_file, **options)


def _write_table(data: Any, answers: Any, roles: Mapping[str, Any], file: Path) -> Mapping[str, str]:
    """Write examples as a Parquet file; return the roles of its columns if they came from an array.

    Raises:
        ConfigError: As ``_frame_of``, or a column has several types or the name of another one.
    """
    try:
        frame, array_roles = _frame_of(data, answers, roles)
        frame.to_parquet(file, index=False)
    except (ValueError, TypeError, NotImplementedError, RuntimeError) as error:  # of pandas, pyarrow, numpy and torch
        reason = " ".join(str(error).split()).rstrip(".")
        raise ConfigError(
            f"The data cannot be stored as a table: {reason:.160}. Give each column one type and a name of its own."
        ) from None
    return array_roles


def _frame_of(data: Any, answers: Any, roles: Mapping[str, Any]) -> tuple[pandas.DataFrame, Mapping[str, str]]:
    """Return examples as a data frame, with the roles of its columns if they came from an array.

    Raises:
        ConfigError: It is neither a frame nor an array of such a shape, or targets do not go with the task.
    """
    import pandas

    if isinstance(data, pandas.DataFrame):
        if answers is not None:
            raise ConfigError('For a data frame, give the column of the target: target="COLUMN".')
        index = data.index
        are_row_numbers = index.name is None and pandas.api.types.is_numeric_dtype(index)
        return data.reset_index(drop=are_row_numbers).rename(columns=str), {}
    x = np.asarray(data)
    x = x[:, :, None] if x.ndim == 2 else x
    if x.ndim != 3 or 0 in x.shape:
        raise ConfigError(f"An array of examples is (N, T) or (N, T, p), got {np.asarray(data).shape}.")
    examples, steps, channels = x.shape
    columns = {f"x{k}": x[:, :, k].reshape(-1) for k in range(channels)}
    frame = {"series": np.arange(examples).repeat(steps), "step": np.tile(np.arange(steps), examples), **columns}
    array_roles = {"layout": "long", "series": "series", "time": "step", **_roles_of_answers(x, answers, roles)}
    if "target" in array_roles:
        frame[array_roles["target"]] = np.asarray(answers).repeat(steps)
    return pandas.DataFrame(frame)[_find_steps(x).reshape(-1)], array_roles


def _roles_of_answers(x: np.ndarray[Any, Any], answers: Any, roles: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the task of an array of examples, and the name of its target unless it is forecast.

    Raises:
        ConfigError: There is not one answer per example, there is one though the task has none, or the task is not
            clear.
    """
    forecasting = roles.get("task", "forecasting" if roles.get("horizon") else "") == "forecasting"
    if answers is None and forecasting:
        return {"task": "forecasting"}
    if forecasting and roles.get("task"):
        raise ConfigError("A forecast of an array predicts its own next values: leave out the answers.")
    y = np.asarray(answers)
    if answers is None or y.shape != x.shape[:1]:
        got = "none" if answers is None else f"{y.shape}"
        raise ConfigError(f"Give one answer an example, ({len(x)},), or horizon=STEPS for a forecast; got {got}.")
    task = roles.get("task") or _guess_task(y)
    return {"task": task, "target": "label" if task == "classification" else "target"}


def _guess_task(y: np.ndarray[Any, Any]) -> str:
    """Return whether answers are classes or values.

    Raises:
        ConfigError: They are a few values without decimals, or many different whole numbers.
    """
    if y.dtype.kind not in "fiu":
        return "classification"
    different = len(np.unique(y))
    if y.dtype.kind == "f" and not (y == np.round(y)).all():
        return "regression"
    if y.dtype.kind != "f" and different <= FEW:
        return "classification"
    kind = "numbers without decimals" if y.dtype.kind == "f" else "whole numbers"
    raise ConfigError(f'The answers are {different} different {kind}: give task="classification" or task="regression".')


def _find_steps(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return (N, T) which steps belong to an example (T, p): all but those after its last value, which are NaN.

    Raises:
        ConfigError: A value is infinite, or an example has none.
    """
    if x.dtype.kind != "f":
        return np.ones(x.shape[:2], bool)
    if len(places := np.argwhere(np.isinf(x))):
        example, step, channel = places[0]
        where = f"example {example}, step {step}, channel {channel}"
        raise ConfigError(f"A value must be finite, or NaN if it is missing; got {x[*places[0]]} at {where}.")
    present = ~np.isnan(x).all(2)
    if len(empty := np.flatnonzero(~present.any(1))):
        raise ConfigError(f"Each example needs a value, got none in example {empty[0]}. Leave it out.")
    return np.asarray(np.flip(np.maximum.accumulate(np.flip(present, 1), 1), 1))


def _choose_folder(name: str) -> Path:
    """Return the folder for the data of a task of this name.

    Raises:
        ConfigError: It is not a valid name.
    """
    if not name:
        raise ConfigError('A data frame and an array need a name: lw.start(data, name="gestures", ...).')
    if not re.fullmatch("[a-z][a-z0-9_]{0,49}", name):
        raise ConfigError(f"A name is small letters, digits and _, 50 at most, and begins with a letter; got {name!r}.")
    return home() / "own" / name


def _find_started(folder: Path, file: Path, texts: Callable[[], tuple[str, str]]) -> StartedTask:
    """Return the task that was started with the same data. If the arguments are complete and would give the card or the
    sweep file other ``texts``, warn: they were edited since, or the arguments differ.

    Raises:
        ConfigError: The folder holds other data.
    """
    name, existing = folder.name, folder / file.name
    if not existing.exists() or existing.read_bytes() != file.read_bytes():
        raise ConfigError(
            f"{folder} already contains other data named {name}. Give another name, or remove that folder."
        )
    started = StartedTask(f"{OWN}-{name}", folder / f"{name}.toml", folder / f"{name}.sweep.toml")
    if not started.card.exists():  # it was interrupted, or somebody removed the card
        started.sweep_file.unlink(missing_ok=True)
        return _add_texts(existing, texts())
    if not started.sweep_file.exists():
        started.sweep_file.write_text(texts()[1], encoding="utf-8")
    try:
        written = texts()
    except (ConfigError, DataError):
        return started
    for path, text in zip((started.card, started.sweep_file), written, strict=True):
        if path.read_text(encoding="utf-8") != text:
            told = f"{name} was started before, and {path} stays as it is, not as these arguments say"
            warnings.warn(f"{told}. Edit that file, or give another name.", stacklevel=3)
    return started
