"""Data cards: those in the data folder, which make tasks like any other, and copies of cards that have changed."""

from __future__ import annotations

import tomllib
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from longwave.files import atomic_file
from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.paths import make_folder
from longwave.platform.plugins.discovery import folder, registered
from longwave.platform.plugins.kept import folder_of
from longwave.platform.plugins.known import by_binding
from longwave.platform.plugins.plugin import OWN, Plugin, read_plugin

if TYPE_CHECKING:
    from longwave.tasks.base.data import Data
    from longwave.tasks.base.sequences import Sequences
    from longwave.tasks.cards.card import Card
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
        ConfigError: It is not a card, or a plugin of the data folder binds the task's name.
        DataError: The card or its data break a rule; nothing has changed.
    """
    from longwave.tasks.cards.checked import read_card
    from longwave.tasks.cards.draft import split_ending
    from longwave.tasks.cards.task import load_with_remarks

    if path.suffix != ".toml":
        file = path if path.is_file() and split_ending(path.name)[1] else "DATA.csv"
        raise ConfigError(
            f"{path} is not a data card, whose name must end in .toml. Write one with: longwave start {file}"
        )
    plugin = _with_absolute_files(read_card(path), read_plugin(path))
    by_binding([*(other for other in registered() if Path(other.origin).name != path.name), plugin])
    data, remarks = load_with_remarks(path.absolute())
    make_folder(folder())
    target = folder() / path.name
    replaced = read_plugin(target).version if target.exists() else ""
    with atomic_file(target, private=True) as partial:
        partial.write_text(plugin.files[path.name], encoding="utf-8")
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


def card_path(plugin: Plugin) -> Path:
    """Return the path of a data card: the original if unchanged, else a stored copy that reads the same data files. A
    card that breaks a rule is copied as it is, and reading it names the rule.
    """
    from longwave.tasks.base.raw import DataError
    from longwave.tasks.cards.checked import check_card

    path, (text,) = Path(plugin.origin), plugin.files.values()
    with suppress(OSError, ValueError):
        if path.read_text(encoding="utf-8-sig") == text:
            return path
    with suppress(DataError, ValueError, RecursionError):
        plugin = _with_absolute_files(check_card(tomllib.loads(text), plugin.origin), plugin)
    return folder_of(plugin) / path.name


def _with_absolute_files(card: Card, plugin: Plugin) -> Plugin:
    """Return the plugin of a card with absolute paths of its data files, to be stored elsewhere; its version stays."""
    from longwave.tasks.cards.write import to_toml

    path, (text,) = Path(plugin.origin), plugin.files.values()
    content = tomllib.loads(text) | {"files": [str(path.parent / file) for file in card.files]}
    return replace(plugin, files={path.name: to_toml(content)})


def _name(plugin: Plugin) -> str:
    return next(name for _, name in plugin.bound)
