"""Data cards in the data folder: adding them makes tasks like any other; removing them."""

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
    """The result of adding a card.

    Attributes:
        name: Name of the task.
        version: Version of the card.
        replaced: Version of the card that it replaced; empty if there was none.
        data: Data of the task.
        remarks: Remarks on the data.
    """

    name: str
    version: str
    replaced: str
    data: Data[Sequences]
    remarks: list[Remark]


def add(path: Path) -> AddedCard:
    """Register the task of a card, after reading all its data; a card of the same name is replaced. Its data files are
    not copied, but read in place each time.

    Raises:
        ConfigError: It is not a card.
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
    """Remove the task of a card and return the card's former path; data and results are kept.

    Raises:
        ConfigError: No card of this name was added.
    """
    cards = {f"{OWN}-{path.stem}": path for path in folder().glob("*.toml")}
    full_name = name if name in cards else f"{OWN}-{name}"
    if full_name not in cards:
        raise ConfigError(did_you_mean("task that was added", name, cards, "List all with: longwave tasks"))
    cards[full_name].unlink()
    return cards[full_name]


def _name(plugin: Plugin) -> str:
    return next(name for _, name in plugin.bound)
