"""Data sets shipped with a Python package: read where it is installed, checked, never fetched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from longwave.tasks.base.raw import Source, check_md5


@dataclass(frozen=True)
class Packaged(Source):
    """Files inside an installed package, or in the folder given to ``longwave data fetch NAME --path``.

    Attributes:
        install: Argument of pip install: ``"'longwave[archive]'"``.
        package: The package, which is not imported.
        inside: Folder within it.
        sums: MD5 of each file, 32 hex digits, in the release for which the task was written.
    """

    install: str = ""
    package: str = ""
    inside: str = ""
    sums: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def folder(self) -> Path:
        """The folder in the package; without the package, that of a fetched data set."""
        spec = find_spec(self.package)
        homes = spec.submodule_search_locations if spec else None
        return Path(homes[0]) / self.inside if homes else super().folder

    @property
    def foreign(self) -> bool:
        """Whether the package is installed, in whose folder nothing may be written."""
        return find_spec(self.package) is not None

    def command(self, task: str) -> str:
        """Return the command that installs the package."""
        return f"pip install {self.install}"

    def locate(self, task: str) -> Path:
        """Return the folder with the files, each checked to be the one for which the task was written.

        Raises:
            DataError: As ``Source.locate``; or a file differs.
        """
        root = super().locate(task)
        for name, md5 in self.sums.items():
            check_md5(root / name, md5)
        return root
