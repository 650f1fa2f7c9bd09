"""A planned sweep: its file and its cells. The store keeps this plan, which is all that resuming needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from longwave.platform.records.about import About
from longwave.platform.records.trial import TrialConfig
from longwave.platform.search.space import Defaults, Dimension, Drawn
from longwave.platform.statistics.scale import Scale
from longwave.platform.sweeps.file.schema import SweepFile


@dataclass(frozen=True)
class WarmStart:
    """A setting with which a search begins.

    Attributes:
        source: Where it is from: ``"LEM, Appendix A, Table 8, ncifar"``, ``"row 0123456789ab, valid 0.02"``.
        values: Its values, by name, of what the search draws.
        differing: Sizes of the source that differ from the cell's: ``"hidden 128"``; empty if none does.
        out: Why the search cannot use it; empty if it lies inside the space.
    """

    source: str
    values: Mapping[str, Drawn]
    differing: str = ""
    out: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data, under the keys that stored plans have; ``from_dict`` restores it."""
        return {"source": self.source, "values": dict(self.values), "beside": self.differing, "out": self.out}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> WarmStart:
        """Rebuild from ``to_dict``."""
        return cls(data["source"], data["values"], data["beside"], data["out"])


@dataclass(frozen=True)
class CellPlan:
    """One cell of a sweep: a model on a task, with one choice of what a grid varies. Each cell has its own search.

    Attributes:
        base: The trial that all trials of the cell are copies of; its ``params`` holds what is fixed.
        space: What to draw.
        wider: The same over the wider ranges of a second search; empty without one.
        goal, metric: Whether the task's metric should be large (``"max"``) or small (``"min"``), and its name.
        label: Its name within the sweep: the model's, with the task and the cell if there are several.
        about: Description of its rows for readers; None until the sweep is written to a store.
        looped: Whether a pack trains its members one after another.
        positions: Positions of an example that a pack holds at a time, such as steps of a sequence; 0 if unknown.
        other_numbers: Numbers that training keeps of an example in addition to a layer's states; 0 if unknown.
        recipe: Fields of the recipe that rows are compared with, by name; None in plans of older versions.
        numbers: Defaults of the training numbers that are set or drawn.
        warm: Settings with which its search begins, including those outside its space.
        perfect, floor: Metric of a perfect model, None if there is none; and the least error that counts, as on boards.
        gate: Validation metric with a tenth less error than the constant predictor, which trials must beat at a rung;
            None without gates.
    """

    base: TrialConfig
    space: tuple[Dimension, ...]
    goal: str
    metric: str = ""
    label: str = ""
    about: About | None = None
    looped: bool = False
    positions: int = 0
    other_numbers: int = 0
    recipe: Mapping[str, Any] | None = None
    numbers: Defaults = field(default_factory=dict)
    warm: tuple[WarmStart, ...] = ()
    wider: tuple[Dimension, ...] = ()
    perfect: float | None = None
    floor: float = 0.0
    gate: float | None = None

    @property
    def starts(self) -> list[Mapping[str, Drawn]]:
        """What a warm start sets of its first trials, one mapping a trial."""
        return [start.values for start in self.warm if not start.out]

    @property
    def scale(self) -> Scale:
        """How validation metrics become errors, which a race compares."""
        return Scale(self.goal, self.perfect, self.floor)

    @property
    def drawn(self) -> frozenset[str]:
        """Names of what is drawn."""
        return frozenset(d.name for d in self.space)

    @property
    def epochs(self) -> int:
        """Epochs of its longest trial."""
        return int(max([self.base.epochs, *(d.largest for d in (*self.space, *self.wider) if d.name == "epochs")]))

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        fields = {name: getattr(self, name) for name in ("goal", "metric", "label", "looped", "recipe")}
        fields |= {"places": self.positions, "beside": self.other_numbers}
        space, about = [dimension.to_dict() for dimension in self.space], self.about and self.about.to_dict()
        numbers = {name: dict(defaults) for name, defaults in self.numbers.items()}
        optional: dict[str, Any] = {"warm": [start.to_dict() for start in self.warm]} if self.warm else {}
        optional |= {"wider": [dimension.to_dict() for dimension in self.wider]} if self.wider else {}
        scale = {"perfect": self.perfect, "floor": self.floor or None, "gate": self.gate}
        optional |= {name: value for name, value in scale.items() if value is not None}
        return {**fields, "base": self.base.to_dict(), "space": space, "about": about, "numbers": numbers, **optional}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CellPlan:
        """Rebuild from ``to_dict``."""
        return cls(
            TrialConfig.from_dict(data["base"]),
            tuple(map(Dimension.from_dict, data["space"])),
            data["goal"],
            data["metric"],
            data["label"],
            About.from_dict(data["about"]) if data["about"] else None,
            data["looped"],
            data["places"],
            data["beside"],
            data["recipe"],
            data["numbers"],
            tuple(map(WarmStart.from_dict, data.get("warm", ()))),
            tuple(map(Dimension.from_dict, data.get("wider", ()))),
            data.get("perfect"),
            data.get("floor", 0.0),
            data.get("gate"),
        )


@dataclass(frozen=True)
class Sweep:
    """A checked sweep: its file and its cells.

    Attributes:
        file: As the user wrote it.
        cells: In order; a position is the number of its cell.
    """

    file: SweepFile
    cells: tuple[CellPlan, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data without the file, which the store has by itself; ``from_dict`` restores it."""
        return {"entries": [cell.to_dict() for cell in self.cells]}

    @classmethod
    def from_dict(cls, file: SweepFile, plan: Mapping[str, Any]) -> Sweep:
        """Rebuild from the file and ``to_dict``."""
        return cls(file, tuple(map(CellPlan.from_dict, plan["entries"])))


def training_words(config: TrialConfig) -> str:
    """Return optimiser and schedule of a trial: ``adam/drops``."""
    return f"{config.optimiser}/{config.schedule}"


def recipe_to_dict(recipe: Any) -> dict[str, Any]:
    """Return the fields of a task's recipe as plain JSON data."""
    return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(recipe).items()}
