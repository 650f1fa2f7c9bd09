"""A sweep as it was planned: what its file says, and one entry a cell. The store keeps it, so nothing is looked up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from longwave.platform.records.about import About
from longwave.platform.records.trial import TrialConfig
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.file.space import Defaults, Dimension, Drawn


@dataclass(frozen=True)
class WarmStart:
    """A setting that a search is to begin with.

    Attributes:
        source: Where it is from: ``"LEM, Appendix A, Table 8, ncifar"``, ``"row 0123456789ab, valid 0.02"``.
        values: What it says of what is drawn, by name.
        beside: Of its sizes those that are others here, as there: ``"hidden 128"``; empty if none is.
        out: Why it lies outside the space, so that the search does without it; empty if it does not.
    """

    source: str
    values: Mapping[str, Drawn]
    beside: str = ""
    out: str = ""


@dataclass(frozen=True)
class CellPlan:
    """One cell of a sweep: a model on a task, with one choice of what a grid varies. It has a search of its own.

    Attributes:
        base: The trial that all trials of the cell are copies of; its ``params`` holds what is fixed.
        space: What to draw.
        wider: The same over the wider ranges of a second search; empty without one.
        goal, metric: Whether the task's metric should be large (``"max"``) or small (``"min"``), and its name.
        label: Its name within the sweep: the model's, with the task and the cell where there are several.
        about: What explains its rows to a reader; None until the sweep is written to a store.
        looped: Whether a pack trains its members one after another.
        places: Places of an example that a pack holds at a time, steps of a sequence; 0 where nobody has looked.
        beside: What training keeps of an example beside a layer's states, in numbers; 0 where nobody has looked.
        recipe: Fields of the recipe that rows are compared with, by name; None in plans of before.
        numbers: Defaults of the training numbers that are given or drawn.
        warm: Settings that its search is to begin with, and those that lie outside its space.
    """

    base: TrialConfig
    space: tuple[Dimension, ...]
    goal: str
    metric: str = ""
    label: str = ""
    about: About | None = None
    looped: bool = False
    places: int = 0
    beside: int = 0
    recipe: Mapping[str, Any] | None = None
    numbers: Defaults = field(default_factory=dict)
    warm: tuple[WarmStart, ...] = ()
    wider: tuple[Dimension, ...] = ()

    @property
    def starts(self) -> list[Mapping[str, Drawn]]:
        """What its first trials are, as far as a warm start says it."""
        return [start.values for start in self.warm if not start.out]

    @property
    def drawn(self) -> frozenset[str]:
        """Names of what is drawn."""
        return frozenset(d.name for d in self.space)

    @property
    def epochs(self) -> int:
        """Epochs of its longest trial."""
        return int(max([self.base.epochs, *(d.most for d in (*self.space, *self.wider) if d.name == "epochs")]))

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        found = {
            name: getattr(self, name) for name in ("goal", "metric", "label", "looped", "places", "beside", "recipe")
        }
        space, about = [dimension.to_dict() for dimension in self.space], self.about and self.about.to_dict()
        numbers = {name: dict(defaults) for name, defaults in self.numbers.items()}
        more: dict[str, Any] = {"warm": [asdict(start) for start in self.warm]} if self.warm else {}
        more |= {"wider": [dimension.to_dict() for dimension in self.wider]} if self.wider else {}
        return {**found, "base": self.base.to_dict(), "space": space, "about": about, "numbers": numbers, **more}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CellPlan:
        """Rebuild from ``to_dict``."""
        base = TrialConfig.from_dict(data["base"])
        return cls(
            base,
            tuple(map(Dimension.from_dict, data["space"])),
            data["goal"],
            data["metric"],
            data.get("label", base.model),
            About.from_dict(data["about"]) if data["about"] else None,
            data["looped"],
            data["places"],
            data.get("beside", 0),
            data.get("recipe"),
            data.get("numbers", {}),
            tuple(WarmStart(**start) for start in data.get("warm", ())),
            tuple(map(Dimension.from_dict, data.get("wider", ()))),
        )


@dataclass(frozen=True)
class Sweep:
    """A checked sweep: its file, and one entry a cell.

    Attributes:
        file: As the user wrote it.
        entries: In order; an entry's place is the number of its cell.
    """

    file: SweepFile
    entries: tuple[CellPlan, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data without the file, which the store has beside it; ``from_dict`` restores it."""
        return {"entries": [entry.to_dict() for entry in self.entries]}

    @classmethod
    def from_dict(cls, file: SweepFile, plan: Mapping[str, Any]) -> Sweep:
        """Rebuild from the file and ``to_dict``; plans from before there were cells say the task's facts once."""
        once = {"goal": plan.get("goal"), "metric": plan.get("metric"), "places": plan.get("length")}
        return cls(file, tuple(CellPlan.from_dict({**once, **entry}) for entry in plan["entries"]))


def training_words(config: TrialConfig) -> str:
    """Return the words a trial is trained by: ``adam/drops``."""
    return f"{config.optimiser}/{config.schedule}"


def recipe_to_dict(recipe: Any) -> dict[str, Any]:
    """Return the fields of a task's recipe as plain JSON data."""
    return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(recipe).items()}


def cell_labels(plan: Mapping[str, Any] | None) -> list[str]:
    """Return the labels of a stored plan's cells; none for one of before there were cells."""
    return [entry["label"] for entry in (plan or {"entries": ()})["entries"] if "label" in entry]
