"""Reader of the .ts files of the UEA and TSER archives: header lines that begin with @, then one series per line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from longwave.tasks.base.raw import DataError, Source, check_ended, fingerprint


@dataclass(frozen=True)
class Series:
    """The content of a .ts file.

    Attributes:
        values: (N, T, p) float32, zero-padded after shorter series.
        lengths: (N,) int64, the steps of each series.
        labels: (N,) int64, indices into ``classes``; or (N, 1) float32 values for a regression.
        classes: The sorted names of the classes; empty for a regression.
    """

    values: np.ndarray
    lengths: np.ndarray
    labels: np.ndarray
    classes: tuple[str, ...]


def both_parts(files: Source, steps: int, features: int, classes: int = 0) -> dict[str, np.ndarray]:
    """Return ``values``, ``lengths`` and ``labels`` of the series of TRAIN, then of TEST, as in ``Series``.

    Args:
        files: Of TRAIN and TEST; its counts give their total number of ``series``.
        steps, features, classes: As for ``read_ts``.

    Raises:
        DataError: A file breaks a rule, TEST is TRAIN or has other classes, or there are more or fewer series.
    """
    train, test = paths = [files.root / name for name in files.needs]
    if fingerprint([train]) == fingerprint([test]):
        raise DataError(f"{test}: it must hold other series than TRAIN, got a copy of {train.name}.")
    parts = [read_ts(path, steps, features, classes) for path in paths]
    if parts[0].classes != parts[1].classes:
        names = " ".join(parts[0].classes)
        raise DataError(f"{test}: the classes must be those of TRAIN, {names}, got {' '.join(parts[1].classes)}.")
    files.check_count("series", sum(len(part.values) for part in parts))
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ("lengths", "labels")}
    longest = arrays["lengths"].max()
    values = [np.pad(part.values, [(0, 0), (0, longest - part.values.shape[1]), (0, 0)]) for part in parts]
    return {**arrays, "values": np.concatenate(values)}


@np.errstate(over="ignore")  # too large values become infinite, and are refused
def read_ts(path: Path, steps: int, features: int, classes: int = 0) -> Series:
    """Return the series of a file ``v,v,v:v,v,v:label``, dimension by dimension.

    Args:
        path: The file.
        steps: Values T of every dimension; 0 if series are of unequal length.
        features: Dimensions p.
        classes: Number of classes; 0 for a regression.

    Raises:
        DataError: A line breaks a rule: another size, a value that is missing or not finite, an unknown label, no
            end; or there are no data.
    """
    values, labels = [], []
    with path.open(encoding="utf-8", errors="replace") as file:
        lines = _number_lines(file)
        names = _check_header(_take_header(lines, path), path, steps, features, classes)
        for k, line in lines:
            *parts, label = line.split(":")
            values.append(_parse_values(parts, f"{path}, line {k}", steps, features))
            labels.append(_parse_label(label.strip(), f"{path}, line {k}", names))
    check_ended(path)
    if not values:
        raise DataError(f"{path}: there must be series after the line @data, found none.")
    targets = np.array(labels, dtype=np.int64) if names else np.array(labels, dtype=np.float32)[:, None]
    lengths = np.array([len(x) for x in values])
    padded = [np.pad(x, [(0, lengths.max() - len(x)), (0, 0)]) for x in values]
    return Series(np.stack(padded), lengths, targets, names)


def read_ts_header(path: Path) -> dict[str, list[str]]:
    """Return the values of each header tag, tags in lower case, and under ``@data`` the first series, if any.

    Raises:
        DataError: There is no line @data.
    """
    with path.open(encoding="utf-8", errors="replace") as file:
        lines = _number_lines(file)
        return _take_header(lines, path) | {"@data": [line for _, line in [*islice(lines, 1)]]}


def _number_lines(file: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank or comments, with their numbers."""
    for k, text in enumerate(file, 1):
        if (line := text.strip()) and not line.startswith("#"):
            yield k, line


def _take_header(lines: Iterator[tuple[int, str]], path: Path) -> dict[str, list[str]]:
    """Return the header, after which ``lines`` continues with the data."""
    header: dict[str, list[str]] = {}
    for _, line in lines:
        name, *words = line.split()
        header[name.lower()] = words
        if name.lower() == "@data":
            return header
    raise DataError(f"{path}: there must be a line @data after the header, found none: is the file complete?")


def _check_header(header: dict[str, list[str]], path: Path, steps: int, features: int, classes: int) -> tuple[str, ...]:
    """Return the sorted names of the classes. Raises DataError if the header declares another data set."""
    numbers = {"@dimensions": features, **({"@serieslength": steps} if steps else {})}
    rules = {name: [str(number)] for name, number in numbers.items()}
    rules |= {"@equallength": ["true" if steps else "false"], "@timestamps": ["false"]}
    for name, words in rules.items():
        if (actual := [word.lower() for word in header.get(name, words)]) != words:
            raise DataError(f"{path}: {name} must be {words[0]}, got {' '.join(actual) or 'nothing'}.")
    tag = "@classlabel" if classes else "@targetlabel"
    flag, *names = header.get(tag, ["nothing"])
    if flag.lower() != "true" or (classes and len(set(names)) != classes):
        expected = f"true and {classes} classes" if classes else "true"
        other = "" if classes or "@classlabel" not in header else " Series with classes need task classification."
        raise DataError(f"{path}: {tag} must be {expected}, got {' '.join([flag, *names])}.{other}")
    return tuple(sorted(names)) if classes else ()


def _parse_values(parts: list[str], where: str, steps: int, features: int) -> np.ndarray:
    """Return one series, (T, p) float32."""
    if len(parts) != features:
        raise DataError(f"{where}: a series must have {features} dimensions and a label, got {len(parts)} dimensions.")
    columns = [part.split(",") for part in parts]
    count = steps or len(columns[0])
    for column in columns:
        if len(column) != count:
            raise DataError(f"{where}: every dimension must have {count} values, got {len(column)}.")
    try:
        series = np.array(columns, dtype=np.float32).T
    except ValueError as error:
        raise DataError(f"{where}: every value must be a number: {error}.") from None
    if not np.isfinite(series).all():
        raise DataError(f"{where}: every value must be finite, got {series[~np.isfinite(series)][0]}.")
    return series


def _parse_label(label: str, where: str, names: tuple[str, ...]) -> float:
    """Return the index of a class, or the target value."""
    if names:
        if label not in names:
            raise DataError(f"{where}: the label must be one of {', '.join(names)}, got {label!r}.")
        return names.index(label)
    try:
        value = float(label)
    except ValueError:
        value = np.nan
    if not np.isfinite(np.float32(value)):
        raise DataError(f"{where}: the label must be a finite number, got {label!r}.")
    return value
