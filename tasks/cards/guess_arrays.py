"""From an NPZ or a .ts file and a few answers to the content of a card."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from longwave.tasks.base.raw import DataError, open_bytes
from longwave.tasks.cards.arrays import load_arrays, to_words
from longwave.tasks.cards.content import MAX_CLASSES, sort_classes
from longwave.tasks.cards.examples import count_steps
from longwave.tasks.cards.guess import CHOICES, CLASSES, FEW, GROUP, TARGET, Open, check_choices
from longwave.tasks.cards.split import are_splits
from longwave.tasks.formats.ts_files import read_ts_header

INPUTS = ("inputs", "x", "data", "values", "series", "x_train")
ANSWERS = (*TARGET, "targets", "labels", "y", "answers", "outputs", "classes", "y_train")
LENGTHS = ("lengths", "length", "steps", "seq_lens")
"""Common names, in lower case, of arrays of each kind."""
LABELS = (*CLASSES, "labels", "classes", "y", "y_train")
"""Names of answers of which many whole numbers may be classes too."""
OPTIONS = ("task", "horizon")
"""Roles in an NPZ and in a .ts file alike."""


class ArraysDraft:
    """An NPZ: inputs (N, T, p) or (N, T), and other arrays of N entries."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.arrays = load_arrays(file)
        if not self.arrays or not all(array.size for array in self.arrays.values()):
            empty = ", ".join(name for name, array in self.arrays.items() if not array.size)
            has = f"{empty} has no entries" if empty else "it has no arrays"
            raise DataError(f"{file}: {has}. Save the inputs as an array (examples, steps, channels).")

    @property
    def names(self) -> Sequence[str]:
        """The arrays."""
        return [*self.arrays]

    def guess_roles(self, answers: Mapping[str, str]) -> tuple[dict[str, str], list[Open]]:
        """Return the roles of the arrays, and the open questions."""
        check_choices(self.file, answers, (*OPTIONS, "inputs", "target", "group", "time"))
        for role in ("inputs", "target", "group", "time"):
            if answers.get(role, self.names[0]) not in self.arrays:
                raise DataError(f"{self.file}: there is no array {answers[role]!r}. It has {', '.join(self.names)}.")
        roles = {**answers}
        if not roles.get("inputs"):
            blocks = [name for name, array in self.arrays.items() if array.ndim == 3]
            flat = [name for name, array in self.arrays.items() if array.ndim == 2]
            lone = (blocks if len(blocks) == 1 else flat if len(flat) == 1 and not blocks else [""])[0]
            roles["inputs"] = self._find(INPUTS, (2, 3), set(answers.values())) or lone
            self._check_test(roles["inputs"])
        if not roles["inputs"]:
            return {name: value for name, value in roles.items() if value}, [
                Open("inputs", "Which array has the inputs, (N, T, p) or (N, T)?")
            ]
        used = {*answers.values(), roles["inputs"]}
        if roles.get("task") != "forecasting":
            beside = [
                name for name in self._beside(roles["inputs"]) if name not in used and name.lower() not in LENGTHS
            ]
            lone = beside[0] if len(beside) == 1 else ""
            roles.setdefault("target", self._find(ANSWERS, (1, 2, 3), used) or lone)
        roles.setdefault("group", self._find(GROUP, (1,), used))
        if "task" not in roles:
            roles["task"] = self._guess_task(roles)
        roles = {name: value for name, value in roles.items() if value}
        return roles, [*_list_open(roles, "Which array is the target?")]

    def card_content(self, roles: Mapping[str, str], channels: Sequence[str]) -> dict[str, Any]:
        """Return the content of a card."""
        x = self.arrays[roles["inputs"]]
        features = x.shape[2] if x.ndim == 3 else 1
        content: dict[str, Any] = {"files": [self.file.name], "inputs": roles["inputs"]}
        lengths = self._find(LENGTHS, (1,), {*roles.values()})
        content |= {"lengths": lengths} if lengths and self.arrays[lengths].dtype.kind in "iuf" else {}
        content |= {name: roles[name] for name in ("time", "group") if name in roles}
        content["channels"] = [*channels] or [f"x{k}" for k in range(features)]
        content["task"] = roles["task"]
        if roles["task"] == "forecasting":
            content["horizon"] = int(roles["horizon"])
        else:
            y = self.arrays[roles["target"]]
            content["target"] = [roles["target"]]
            content |= {"every_step": True} if y.ndim > 1 and y.shape[:2] == x.shape[:2] else {}
            if roles["task"] == "classification":
                content["classes"] = sort_classes(self.file, roles["target"], to_words(y.flatten()))
        if x.dtype.kind == "f" and any(np.isnan(row[: count_steps(row)]).any() for row in x.reshape(*x.shape[:2], -1)):
            content["missing"] = "hold"
        return content | self._split(roles)

    def _check_test(self, inputs: str) -> None:
        """Check that inputs for training have no others for testing beside them.

        Raises:
            DataError: They do.
        """
        test = re.sub("train", "test", inputs, flags=re.IGNORECASE)
        if test != inputs and any(name.lower() == test.lower() for name in self.arrays):
            rule = f"an NPZ has one array of inputs, got {inputs} and {test}"
            steps = "Join them, and say in an array split, of the words train, valid and test, which is which"
            raise DataError(f"{self.file}: {rule}. {steps}; or leave {test} out with --inputs {inputs}.")

    def _split(self, roles: Mapping[str, str]) -> dict[str, Any]:
        split = self._find(("split",), (1,), {*roles.values()})
        if split and are_splits(to_words(self.arrays[split])):
            return {"split": {"by": "column", "column": split}}
        return {"split": {"by": "group"}} if "group" in roles else {}

    def _guess_task(self, roles: Mapping[str, str]) -> str:
        if "horizon" in roles:
            return "forecasting"
        if not roles["target"]:
            return "" if self._beside(roles["inputs"]) else "forecasting"
        y = self.arrays[roles["target"]]
        if y.dtype.kind not in "fiu":
            return "classification"
        many = len(np.unique(y))
        if y.dtype.kind == "f":
            return "" if many <= FEW and (y == np.round(y)).all() else "regression"
        if many <= FEW:
            return "classification"
        return "" if many <= MAX_CLASSES and roles["target"].lower() in LABELS else "regression"

    def _find(self, names: Sequence[str], sizes: Sequence[int], used: set[str]) -> str:
        """Return the array with the first of these names that exists and has one of these numbers of axes."""
        by_name = {name.lower(): name for name, array in self.arrays.items() if array.ndim in sizes}
        return next((by_name[name] for name in names if name in by_name and by_name[name] not in used), "")

    def _beside(self, inputs: str) -> list[str]:
        """Return the arrays with one entry per example."""
        many = len(self.arrays[inputs])
        return [name for name, array in self.arrays.items() if name != inputs and array.ndim and len(array) == many]


class SeriesDraft:
    """A .ts file and, if its name ends in _TRAIN, the _TEST file next to it as the test split."""

    def __init__(self, file: Path) -> None:
        open_bytes(file).close()
        self.file, self.header = file, read_ts_header(file)
        if not self.header["@data"]:
            raise DataError(f"{file}: there must be series after the line @data, found none.")
        if not any(self.header.get(tag, [""])[0].lower() == "true" for tag in ("@classlabel", "@targetlabel")):
            rule = "a header must say @classLabel true or @targetLabel true, and each series end in its label"
            raise DataError(f"{file}: {rule}. Save series without labels as an NPZ with one array (N, T, p).")
        test = file.with_name(file.name.replace("_TRAIN.", "_TEST."))
        self.files = [file, test] if test != file and test.exists() else [file]

    @property
    def names(self) -> Sequence[str]:
        """None: the target of a .ts file has no name."""
        return ()

    def guess_roles(self, answers: Mapping[str, str]) -> tuple[dict[str, str], list[Open]]:
        """Return what is known from the header, and what is open."""
        check_choices(self.file, answers, OPTIONS)
        roles = {**answers}
        if "task" not in roles:
            labelled = self.header.get("@classlabel", [""])[0].lower() == "true"
            roles["task"] = "forecasting" if "horizon" in roles else "classification" if labelled else "regression"
        return roles, [*_list_open({**roles, "target": "in the file"}, "")]

    def card_content(self, roles: Mapping[str, str], channels: Sequence[str]) -> dict[str, Any]:
        """Return the content of a card."""
        *parts, _ = self.header["@data"][0].split(":")
        equal = self.header.get("@equallength", ["true" if "@serieslength" in self.header else "false"])[0]
        content: dict[str, Any] = {"files": [file.name for file in self.files]}
        content["channels"] = [*channels] or [f"x{k}" for k in range(max(1, len(parts)))]
        if equal.lower() == "true" and parts:
            content["steps"] = len(parts[0].split(","))
        content["task"] = roles["task"]
        if roles["task"] == "forecasting":
            content["horizon"] = int(roles["horizon"])
        if roles["task"] == "classification":
            content["classes"] = sort_classes(self.file, "@classLabel", self.header.get("@classlabel", [""])[1:])
        return content | ({"split": {"by": "file"}} if len(self.files) > 1 else {})


def _list_open(roles: Mapping[str, str], target: str) -> Iterator[Open]:
    if "task" not in roles:
        yield Open("task", "What kind of task is it?", CHOICES["task"])
    if roles.get("task") != "forecasting" and "target" not in roles:
        yield Open("target", target)
    if roles.get("task") == "forecasting" and "horizon" not in roles:
        yield Open("horizon", "How many steps ahead?")
