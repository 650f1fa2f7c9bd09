"""Tables of the command line in Python: printed as there, shown in a notebook, converted to pandas."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from rich.text import Text

from longwave.platform.render.export import Format
from longwave.platform.render.notebook import tables_html
from longwave.platform.render.table import Table
from longwave.platform.render.terminal import CapturedOutput, print_tables

if TYPE_CHECKING:
    import pandas


class PrintedTables:
    """Tables with the records behind them. Subclasses define ``tables``."""

    def tables(self) -> list[Table]:
        """Return the tables."""
        raise NotImplementedError

    def to_pandas(self) -> pandas.DataFrame:
        """Return the records, unrounded, one per line of the tables."""
        import pandas

        return pandas.DataFrame.from_records([dict(record) for table in self.tables() for record in table.records])

    def _repr_html_(self) -> str:
        return tables_html(self.tables())

    def __repr__(self) -> str:
        """Return the tables as printed by the command line."""
        page = CapturedOutput(sys.stdout.isatty())
        with redirect_stdout(page):
            self._print()
        return Text.from_ansi(page.getvalue()).plain.rstrip()

    def _print(self) -> None:
        print_tables(self.tables(), Format.table)
