"""Data cards in the data folder: added, which makes them tasks like any other, and removed."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from longwave.files import atomic_file, own_folder
from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.plugins.discovery import folder
from longwave.platform.plugins.plugin import OWN, Plugin, read_plugin

if TYPE_CHECKING:
    from longwave.tasks.base.data import Data
    from longwave.tasks.base.sequences import Sequences
    from longwave.tasks.cards.guards import Remark


@dataclass(frozen=True)
class AddedCard:
    """What came of adding a card.

    Attributes:
        name: Of the task.
        version: Of the card.
        replaced: Version of the card that it took the place of; empty if there was none.
        data: What it feeds.
        remarks: What is to say of that.
    """

    name: str
    version: str
    replaced: str
    data: Data[Sequences]
    remarks: list[Remark]


def add(path: Path) -> AddedCard:
    """Make the task of a card known, after reading all its data; what the same name stood for before is replaced.

    Its files are read where they lie, each time: nothing of them is copied.

    Raises:
        ConfigError: It is no card.
        DataError: The card or its data break a rule; nothing has changed.
    """
    from longwave.tasks.cards.checked import read_card
    from longwave.tasks.cards.task import load_with_remarks
    from longwave.tasks.cards.write import to_toml

    if path.suffix != ".toml":
        raise ConfigError(
            f"{path} is not a data card, whose name must end in .toml. Write one with: longwave start {path}"
        )
    card, plugin = read_card(path), read_plugin(path)
    data, remarks = load_with_remarks(path.absolute())
    content = tomllib.loads(plugin.files[path.name]) | {"files": [str(path.absolute().parent / f) for f in card.files]}
    own_folder(folder())
    target = folder() / path.name
    replaced = read_plugin(target).version if target.exists() else ""
    with atomic_file(target, private=True) as partial:
        partial.write_text(to_toml(content), encoding="utf-8")
    return AddedCard(_name(plugin), plugin.version, replaced, data, remarks)


def remove(name: str) -> Path:
    """Have a task of a card no more, and return where the card lay; its data and its results stay.

    Raises:
        ConfigError: No card of this name was added.
    """
    known = {f"{OWN}-{path.stem}": path for path in folder().glob("*.toml")}
    full = name if name in known else f"{OWN}-{name}"
    if full not in known:
        raise ConfigError(did_you_mean("task that was added", name, known, "List all with: longwave tasks"))
    known[full].unlink()
    return known[full]


def _name(plugin: Plugin) -> str:
    return next(name for _, name in plugin.bound)
