"""Choose between the winners of a first and a second search by their retrainings, and train the better one again.

The median validation score of the retrainings decides; test scores are not used. As these retrainings selected the
winner, it is trained again with other seeds, by a sweep file NAME-again.toml that fixes its setting.
"""

from __future__ import annotations

import math
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from longwave.platform.records.group import Group
from longwave.platform.records.trial import FIELDS
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.trials import fixed_trial
from longwave.tasks.cards.write import to_toml

OF_A_SEARCH = {"name", "models", "trials", "halving", "race", "rounds", "sampler", "warm", "grid", "model", "space"}
"""Keys of a sweep file about the search, or about single models."""


def list_rechosen(groups: Sequence[Group]) -> list[tuple[Group, Group]]:
    """Return each row of a first search that validates better than that of the second, with the second's.

    Choices applied before are left out.
    """
    by_row = {group.row: group for group in groups}
    pairs = [(first, by_row[row]) for first in groups for row in first.succeeded_by]
    open_pairs = [(first, second) for first, second in pairs if not second.rejected_for]
    return [(first, second) for first, second in open_pairs if _median_error(first) < _median_error(second)]


def write_files(pairs: Sequence[tuple[Group, Group]], folder: Path) -> list[Path]:
    """Write a sweep file for each first search with rechosen rows, and return the files.

    Args:
        pairs: Each rechosen row, with the one that it replaces.
        folder: Of the sweep files of the first searches.
    """
    named = {tomllib.loads(path.read_text("utf-8"))["name"]: path for path in folder.glob("*.toml")}
    by_file: dict[Path, list[tuple[Group, Group]]] = defaultdict(list)
    for first, second in pairs:
        [sweep] = first.sweeps
        by_file[named[sweep.partition("@")[0]]].append((first, second))
    return [_write_file(path, pairs_of_file) for path, pairs_of_file in sorted(by_file.items())]


def _median_error(group: Group) -> float:
    """Return the median validation score of a row's retrainings, negated if larger is better.

    A retraining that did not succeed counts as infinitely bad.
    """
    sign = -1.0 if group.about.goal == "max" else 1.0
    return median(math.inf if run.status != "ok" or run.valid is None else sign * run.valid for run in group.runs)


def _write_file(path: Path, pairs: Sequence[tuple[Group, Group]]) -> Path:
    first_search = tomllib.loads(path.read_text("utf-8"))
    winners = {first.config.model: first for first, _ in pairs}
    hours = sum(run.seconds or 0.0 for first, _ in pairs for run in first.runs) / 2 / 3600
    content = {
        "name": f"{first_search['name']}-again",
        **{key: value for key, value in first_search.items() if key not in OF_A_SEARCH},
        "models": [*winners],
        "trials": 0,
        "instead_of": [second.row for _, second in pairs],
        "model": {name: table for name, group in winners.items() if (table := _options(group, first_search))},
        "space": {name: dict(group.config.params) for name, group in winners.items()},
    }
    file = check_sweep(content, path.name)
    _check_same_rows(file, winners)
    head = (
        f"# The settings that {path.stem} and {path.stem}-widened chose for these models were retrained ten times\n"
        "# each. Those of the first have the better median on validation, so they are retrained here with ten other\n"
        "# seeds.\n"
        f"# Expected: {max(hours, 0.01):.2f} hours of two cores.\n"
    )
    again = path.with_stem(f"{path.stem}-again")
    again.write_text(head + to_toml(content), encoding="utf-8")
    return again


def _options(group: Group, first_search: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first search's fixed settings for a row's model, with its options and grid choices."""
    table = first_search.get("model", {}).get(group.config.model, {})
    varied = {**first_search.get("grid", {}), **table.get("grid", {})}.keys() & FIELDS
    fixed = {key: value for key, value in table.items() if key != "grid"}
    return fixed | dict(group.config.options) | {name: getattr(group.config, name) for name in sorted(varied)}


def _check_same_rows(file: SweepFile, winners: Mapping[str, Group]) -> None:
    """Raise ValueError unless the file trains the rechosen rows."""
    for cell in resolve(file).cells:
        if (row := fixed_trial(cell).row) != winners[cell.base.model].row:
            raise ValueError(f"{file.name} trains row {row} of {cell.base.model}, not {winners[cell.base.model].row}.")
